"""Refined decode step: dense and expert weights by bytes and FLOPs, KV, activations, kernel launches, all-reduce."""

from typing import Annotated

from .arguments import Number
from .decode import StepMs
from .numeric import power
from .refined_links import TrafficUs, allreduce_latency_ms, alltoall_latency_ms
from .refined_memory import experts_gb
from .refined_terms import Accepted, DraftMs, Drafts, ExpertParallel, Experts, ExpertsPerToken, Kernels, fitted
from .refined_work import flops_us, share
from .registry import function
from .terms import BandwidthTbS, Batch


@function(
    "Tokens verified per step",
    returns="sequences",
    words="batch x (drafts + 1)",
    native="{batch}*({drafts}+1)",
    derivation="{batch} sequences x ({drafts} drafts + 1) = {result} tokens in a step",
    source="Field notes: verify batch = (drafts + 1) x B",
)
def verify_batch(batch: Batch, drafts: Drafts) -> float:
    """Tokens that one decode step computes: the batch, and the drafts of speculation to verify.

    >>> verify_batch(64, 3)
    256.0
    """
    return batch * (drafts + 1)


VerifyBatch = Annotated[float, Number("sequences", "tokens verified per step", example=verify_batch, ge=1)]


@function(
    "Expert coverage",
    returns="fraction",
    words="1 - (1 - experts per token / experts) ^ (exponent x batch)",
    native="1-(1-{experts_per_token}/{experts})^({coverage_exponent}*{verify_batch})",
    derivation="1 - (1 - {experts_per_token} / {experts}) ^ ({coverage_exponent} x {verify_batch})"
    " = {result} of the experts",
    source="Field notes: DeepSeek-R1, 8 of 256: 64% at batch 32, 98% at 128 with exponent 1",
)
def expert_coverage(
    experts: Experts,
    experts_per_token: ExpertsPerToken,
    verify_batch: VerifyBatch,
    coverage_exponent: Annotated[float, fitted("coverage_exponent")] = 1,
) -> float:
    """Share of the routed experts that a decode step touches; 1 for a dense model.

    >>> [round(expert_coverage(256, 8, batch, 1), 2) for batch in (32, 128)], expert_coverage(1, 1, 64)
    ([0.64, 0.98], 1.0)
    """
    return 1 - power(1 - share(experts_per_token, experts), coverage_exponent * verify_batch)


Coverage = Annotated[
    float, Number("fraction", "expert coverage: share of the experts touched", example=expert_coverage, ge=0, le=1)
]


@function(
    "Time to read",
    returns="ms",
    words="bytes / (bandwidth x efficiency)",
    native="{read_gb}/({bandwidth_tb_s}*{read_efficiency})",
    derivation="{read_gb} GB / ({bandwidth_tb_s} TB/s x {read_efficiency}) = {result} ms",
    source="As the decode step of the worked example, for a part of the bytes",
)
def read_ms(
    read_gb: Annotated[float, Number("GB/GPU", "bytes read on one GPU", example=experts_gb, ge=0)],
    bandwidth_tb_s: BandwidthTbS,
    read_efficiency: Annotated[
        float, Number("fraction", "read efficiency: share of the bandwidth that is reached", example=0.75, gt=0, le=1)
    ],
) -> float:
    """Time to read a part of the step's bytes: dense weights, routed experts, or one sequence's KV.

    >>> round(read_ms(35.277, 4.8, 0.75), 2)
    9.8
    """
    return read_gb / (bandwidth_tb_s * read_efficiency)


BytesMs = Annotated[float, Number("ms", "bytes: time to read", example=read_ms, ge=0)]
FlopsUs = Annotated[float, Number("us/token", "FLOPs: time per token", example=flops_us, ge=0)]
Power = Annotated[float, fitted("overlap_power")]


def _joined(bytes_ms: float, flops_ms: float, sharpness: float) -> float:
    """The larger of two times, with a rounded corner."""
    return power(power(bytes_ms, sharpness) + power(flops_ms, sharpness), 1 / sharpness)


@function(
    "Dense part of the step",
    returns="ms",
    words="bytes and FLOPs joined: (bytes ^ p + (FLOPs x tokens) ^ p) ^ (1 / p)",
    native="({bytes_ms}^{overlap_power}+({flops_us}*{verify_batch}/1E3)^{overlap_power})^(1/{overlap_power})",
    derivation="{bytes_ms} ms of bytes joined with {flops_us} us x {verify_batch} tokens of FLOPs"
    " at power {overlap_power} = {result} ms",
    source="Field notes: dense = (mem^3 + comp^3)^(1/3)",
)
def joined_ms(bytes_ms: BytesMs, flops_us: FlopsUs, verify_batch: VerifyBatch, overlap_power: Power = 3) -> float:
    """The larger of the time for bytes and the time for FLOPs, with a rounded corner.

    >>> round(joined_ms(8.32, 47.4, 64), 2), round(joined_ms(8.32, 47.4, 512), 2)
    (8.45, 24.59)
    """
    flops_ms = flops_us * verify_batch / 1e3
    return _joined(bytes_ms, flops_ms, overlap_power)


@function(
    "Tokens that the experts compute",
    returns="tokens",
    words="batch x experts per token / experts + coverage x tokens that a touched expert computes at least",
    native="{verify_batch}*{experts_per_token}/{experts}+{coverage}*{expert_tokens}",
    derivation="{verify_batch} x {experts_per_token} / {experts} + {coverage} x {expert_tokens} = {result} tokens",
    source="Field notes: comp = 2(active x B + total x coverage x 26)/(F x 0.30)",
)
def expert_load(
    verify_batch: VerifyBatch,
    experts_per_token: ExpertsPerToken,
    experts: Experts,
    coverage: Coverage,
    expert_tokens: Annotated[float, fitted("expert_tokens")] = 18.06,
) -> float:
    """Tokens for which all routed experts together compute: the batch's share, and a least for each expert touched.

    >>> round(expert_load(64, 8, 256, 0.85), 2)
    17.35
    """
    return verify_batch * share(experts_per_token, experts) + coverage * expert_tokens


@function(
    "Expert part of the step",
    returns="ms",
    words="(covered bytes and FLOPs joined) x (1 + imbalance x (1 - 1 / expert-parallel size))",
    native="(({bytes_ms}*{coverage})^{overlap_power}+({flops_us}*{expert_load}/1E3)^{overlap_power})"
    "^(1/{overlap_power})*(1+{imbalance}*(1-1/{expert_parallel}))",
    derivation="{bytes_ms} ms x {coverage} of bytes joined with {flops_us} us x {expert_load} tokens of FLOPs"
    " at power {overlap_power}, imbalance {imbalance} over {expert_parallel} GPUs = {result} ms",
    source="Field notes: experts with mem = expert bytes x coverage, imbalance 1 + 0.13(1-1/ep)",
)
def expert_step_ms(
    bytes_ms: BytesMs,
    coverage: Coverage,
    flops_us: FlopsUs,
    expert_load: Annotated[float, Number("tokens", "tokens that the experts compute", example=expert_load, ge=0)],
    expert_parallel: ExpertParallel,
    imbalance: Annotated[float, fitted("expert_imbalance")] = 0,
    overlap_power: Power = 3,
) -> float:
    """Time of the routed experts in a step; 0 for a dense model.

    >>> expert_step_ms(0, 1, 0, 0, 1), round(expert_step_ms(20, 0.9, 30, 25, 8), 2)
    (0.0, 18.0)
    """
    bytes_part, flops_part = bytes_ms * coverage, flops_us * expert_load / 1e3
    return _joined(bytes_part, flops_part, overlap_power) * (1 + imbalance * (1 - 1 / expert_parallel))


@function(
    "Kernel launches and host",
    returns="ms",
    words="host time + kernels x launch time",
    native="{host_ms}+{kernels}*{launch_us}/1E3",
    derivation="{host_ms} ms + {kernels} kernels x {launch_us} us = {result} ms",
    source="Field notes: host 0.75 ms, launch 4.2 us; fixed overhead about 2.5 ms per step",
)
def step_fixed_ms(
    kernels: Kernels,
    launch_us: Annotated[float, fitted("launch_us")] = 4.532,
    host_ms: Annotated[float, fitted("host_ms")] = 0.7621,
) -> float:
    """Time of a step that no byte and no FLOP explains.

    >>> round(step_fixed_ms(1040), 2)
    5.48
    """
    return host_ms + kernels * launch_us / 1e3


@function(
    "Time of a step that no batch changes",
    returns="ms",
    words="kernel launches and host + latency of all-reduces and all-to-alls",
    native="{fixed_ms}+{allreduce_latency_ms}+{alltoall_latency_ms}",
    derivation="{fixed_ms} ms of launches + {allreduce_latency_ms} + {alltoall_latency_ms} ms of latency = {result} ms",
    source="Field notes: decode step = host + kernels x launch + ... + all-reduce latency",
)
def step_constant_ms(
    fixed_ms: Annotated[float, Number("ms", "kernel launches and host", example=step_fixed_ms, ge=0)],
    allreduce_latency_ms: Annotated[
        float, Number("ms", "all-reduce latency of a step", example=allreduce_latency_ms, ge=0)
    ],
    alltoall_latency_ms: Annotated[
        float, Number("ms", "all-to-all latency of a step", example=alltoall_latency_ms, ge=0)
    ],
) -> float:
    """What a decode step takes for any batch, besides reading weights.

    >>> round(step_constant_ms(5.16, 0.349, 0), 3)
    5.509
    """
    return fixed_ms + allreduce_latency_ms + alltoall_latency_ms


@function(
    "Refined decode step",
    returns="ms",
    words="dense + experts + batch x KV + tokens x traffic + time that no batch changes",
    native="{dense_ms}+{experts_ms}+{batch}*{kv_ms}+{verify_batch}*{traffic_us}/1E3+{constant_ms}",
    derivation="{dense_ms} dense + {experts_ms} experts + {batch} x {kv_ms} KV + {verify_batch} x {traffic_us} us"
    " + {constant_ms} constant = {result} ms",
    source="Field notes: decode step = host + kernels x launch + dense + experts x imbalance + KV + all-reduce",
)
def refined_step_ms(
    dense_ms: Annotated[float, Number("ms", "dense part", example=joined_ms, ge=0)],
    experts_ms: Annotated[float, Number("ms", "expert part", example=expert_step_ms, ge=0)],
    batch: Batch,
    kv_ms: Annotated[float, Number("ms", "KV: time to read one sequence", example=read_ms, ge=0)],
    verify_batch: VerifyBatch,
    traffic_us: TrafficUs,
    constant_ms: Annotated[float, Number("ms", "time that no batch changes", example=step_constant_ms, ge=0)],
) -> float:
    """Time of one decode step, all terms together.

    >>> round(refined_step_ms(9.8, 0, 64, 0.1456, 64, 0, 0), 2)
    19.12
    """
    return dense_ms + experts_ms + batch * kv_ms + verify_batch * traffic_us / 1e3 + constant_ms


@function(
    "Step per output token",
    returns="ms",
    words="(decode step + draft time) / (1 + accepted tokens)",
    native="({step_ms}+{draft_ms})/(1+{accepted})",
    derivation="({step_ms} ms + {draft_ms} ms of drafting) / (1 + {accepted} accepted) = {result} ms per token",
    source="Field notes: tokens per step = 1 + accepted, plus the draft's cost",
)
def token_step_ms(step_ms: StepMs, draft_ms: DraftMs, accepted: Accepted) -> float:
    """Time per token of a sequence while it decodes: the step, unless speculation gives more than one token in it.

    >>> token_step_ms(20, 0, 0), token_step_ms(20, 4, 1.4)
    (20.0, 10.0)
    """
    return (step_ms + draft_ms) / (1 + accepted)
