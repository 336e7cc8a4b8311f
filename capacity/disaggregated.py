"""Prefill and decode on pools of their own: each prompt's KV cache crosses a link, and no prefill delays a step."""

from typing import Annotated, Final

from .arguments import Number
from .decode import decode_load
from .fleet import replicas
from .memory import kv_gb_per_seq
from .numeric import maximum
from .prefill import prefill_load
from .queueing import TtftFloorMs
from .registry import function

PrefillTp = Annotated[
    float, Number("GPUs", "prefill TP: GPUs of one replica of the prefill pool", example=2, ge=1, whole=True)
]
DecodeTp = Annotated[
    float, Number("GPUs", "decode TP: GPUs of one replica of the decode pool", example=2, ge=1, whole=True)
]
PrefillReplicas = Annotated[
    float,
    Number(
        "replicas",
        "replicas of the prefill pool",
        example=lambda: replicas(prefill_load()),
        ge=0,
        whole=True,
    ),
]
DecodeReplicas = Annotated[
    float,
    Number("replicas", "replicas of the decode pool", example=lambda: replicas(decode_load()), ge=0, whole=True),
]
PromptKvGb = Annotated[
    float,
    Number(
        "GB/GPU",
        "KV cache of a whole prompt on one GPU of the prefill pool",
        example=lambda: kv_gb_per_seq(3000, 327680, 2),
        ge=0,
    ),
]
_LINK: Final = Number("GB/s", "link between the pools: of one GPU, one way; 400 Gbit/s is 50", example=50, gt=0)
PoolLinkGbS = Annotated[float, _LINK]


@function(
    "GPUs of both pools",
    returns="GPUs",
    words="prefill replicas x their TP + decode replicas x theirs",
    native="{prefill_replicas}*{prefill_tp}+{decode_replicas}*{decode_tp}",
    derivation="{prefill_replicas} replicas x {prefill_tp} GPUs for prefill + {decode_replicas} x {decode_tp}"
    " for decode = {result} GPUs",
    source="Worked example's load: 10.7 / 0.65 -> 17 and 6.0 / 0.65 -> 10 replicas: 54 GPUs, 52 colocated",
)
def disaggregated_gpus(
    prefill_replicas: PrefillReplicas, prefill_tp: PrefillTp, decode_replicas: DecodeReplicas, decode_tp: DecodeTp
) -> float:
    """GPUs of a prefill pool and a decode pool together; each pool rounds up for itself.

    >>> disaggregated_gpus(17, 2, 10, 2)
    54.0
    """
    return prefill_replicas * prefill_tp + decode_replicas * decode_tp


@function(
    "Prefill replicas to a decode replica",
    returns="count",
    words="prefill replicas / decode replicas",
    native="{prefill_replicas}/{decode_replicas}",
    derivation="{prefill_replicas} prefill replicas / {decode_replicas} decode replicas = {result}",
    source="Worked example's load: 17 / 10 = 1.7 prefill replicas to one that decodes",
)
def pool_ratio(prefill_replicas: PrefillReplicas, decode_replicas: DecodeReplicas) -> float:
    """How many prefill replicas feed one decode replica.

    >>> pool_ratio(17, 10)
    1.7
    """
    return prefill_replicas / decode_replicas


@function(
    "KV transfer time",
    returns="ms",
    words="KV cache of the prompt on a GPU / link rate, x prefill TP / decode TP where fewer GPUs receive than send",
    native="{prompt_kv_gb}*MAX(1,{prefill_tp}/{decode_tp})/{pool_link_gb_s}*1E3",
    derivation="{prompt_kv_gb} GB per GPU x max(1, {prefill_tp} / {decode_tp}) / {pool_link_gb_s} GB/s = {result} ms",
    source="Arithmetic: 3,000 tokens x 163,840 B on each of two GPUs / 50 GB/s = 9.8 ms",
)
def kv_transfer_ms(
    prompt_kv_gb: PromptKvGb, prefill_tp: PrefillTp, decode_tp: DecodeTp, pool_link_gb_s: PoolLinkGbS
) -> float:
    """Time in which the KV cache of one prompt moves from the prefill pool to the decode pool, every GPU on its link.

    >>> round(kv_transfer_ms(0.49152, 2, 2, 50), 2), round(kv_transfer_ms(0.49152, 2, 1, 50), 2)
    (9.83, 19.66)
    """
    return prompt_kv_gb * maximum(1.0, prefill_tp / decode_tp) / pool_link_gb_s * 1e3


KvTransferMs = Annotated[float, Number("ms", "KV transfer time of one prompt", example=kv_transfer_ms, ge=0)]


@function(
    "TTFT floor with the transfer",
    returns="ms",
    words="TTFT floor + KV transfer time",
    native="{ttft_floor_ms}+{kv_transfer_ms}",
    derivation="{ttft_floor_ms} ms of compute + {kv_transfer_ms} ms of transfer = {result} ms",
    source="Arithmetic: the decode pool cannot go on with a prompt before its cache is there",
)
def disaggregated_ttft_ms(ttft_floor_ms: TtftFloorMs, kv_transfer_ms: KvTransferMs) -> float:
    """Least time to first token where prefill and decode have pools of their own, without queueing or overhead.

    >>> round(disaggregated_ttft_ms(213.907, 9.83), 1)
    223.7
    """
    return ttft_floor_ms + kv_transfer_ms


# What is asked for beside the pools themselves; illustrative until a team enters its own.
POOL_INPUTS: Final[dict[str, Number]] = {"pool_link_gb_s": _LINK}
