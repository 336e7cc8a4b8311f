"""Decode is priced in bytes: one step reads the weights once and every running sequence's KV cache."""

from typing import Annotated

from .arguments import Number
from .memory import KvGbPerSeq, WeightsGb
from .registry import function
from .terms import BandwidthTbS, Batch, Mbu
from .traffic import OutputTps


@function(
    "Bytes per GPU and decode step",
    returns="GB/GPU",
    words="weights + batch x KV per sequence",
    native="{weights_gb}+{batch}*{kv_gb_per_seq}",
    derivation="{weights_gb} GB of weights + {batch} x {kv_gb_per_seq} GB of KV = {result} GB per GPU",
    source="Worked example: decode, B=64: 35.3 + 64 x 0.52 = 68.8 GB",
)
def step_gb(weights_gb: WeightsGb, batch: Batch, kv_gb_per_seq: KvGbPerSeq) -> float:
    """Bytes that one GPU reads in one decode step.

    >>> round(step_gb(35.277, 64, 0.524288), 3)
    68.831
    """
    return weights_gb + batch * kv_gb_per_seq


StepGb = Annotated[float, Number("GB/GPU", "bytes read per GPU and decode step", example=step_gb, ge=0)]


@function(
    "Decode step",
    returns="ms",
    words="bytes per step / (bandwidth x MBU)",
    native="{step_gb}/({bandwidth_tb_s}*{mbu})",
    derivation="{step_gb} GB / ({bandwidth_tb_s} TB/s x {mbu} MBU) = {result} ms per step",
    source="Worked example: 68.8e9 / (4.8e12 x 0.75) = 19.1 ms",
)
def decode_step_ms(step_gb: StepGb, bandwidth_tb_s: BandwidthTbS, mbu: Mbu = 0.75) -> float:
    """Floor of one decode step, which gives one token to each sequence of the batch.

    >>> round(decode_step_ms(68.831, 4.8, 0.75), 2)
    19.12
    """
    return step_gb / (bandwidth_tb_s * mbu)


StepMs = Annotated[float, Number("ms", "decode step", example=decode_step_ms, gt=0)]


@function(
    "Replica output rate",
    returns="tok/s",
    words="batch / decode step",
    native="{batch}/{step_ms}*1E3",
    derivation="{batch} sequences / {step_ms} ms = {result} tok/s",
    source="Worked example: 64 / 19.1 ms = 3,347 tok/s",
)
def replica_tps(batch: Batch, step_ms: StepMs) -> float:
    """Output tokens per second of one replica that does nothing but decode.

    >>> round(replica_tps(64, 19.12), 1)
    3347.3
    """
    return batch / step_ms * 1e3


ReplicaTps = Annotated[
    float, Number("tok/s", "output rate of one replica that only decodes", example=replica_tps, gt=0)
]


@function(
    "Decode load",
    returns="replica-s/s",
    words="output tok/s / replica output rate",
    native="{output_tps}/{replica_tps}",
    derivation="{output_tps} output tok/s / {replica_tps} tok/s = {result} replica-s per s",
    source="Worked example: 20,000 / 3,347 = 6.0 replica-s per s",
)
def decode_load(output_tps: OutputTps, replica_tps: ReplicaTps) -> float:
    """Replicas that decode alone keeps 100% busy.

    >>> round(decode_load(20000, 3347.3), 3)
    5.975
    """
    return output_tps / replica_tps


DecodeLoad = Annotated[float, Number("replica-s/s", "replicas that decode keeps busy", example=decode_load, ge=0)]
DecodeLoadDivisor = Annotated[
    float, Number("replica-s/s", "replicas that decode keeps busy", example=decode_load, gt=0)
]
