"""GPU memory: weights, the KV cache of one sequence, the pool that is left, and how many sequences it holds."""

import math
from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .numeric import as_float, floor, is_array, maximum, where
from .registry import function
from .terms import BytesPerParam, GpuGb, HeadDim, KvBytes, KvHeads, Layers, MemoryFraction, ParamsB, ReservedGb, Tp
from .traffic import ContextTokens


@function(
    "Weights per GPU",
    returns="GB/GPU",
    words="parameters x bytes per parameter / TP",
    native="{params_b}*{bytes_per_param}/{tp}",
    derivation="{params_b} billion parameters x {bytes_per_param} B / {tp} GPUs = {result} GB per GPU",
    source="Worked example: 70.55 GB / 2 = 35.3 GB",
)
def weights_gb(params_b: ParamsB, bytes_per_param: BytesPerParam, tp: Tp) -> float:
    """Weight bytes that one GPU of the replica holds.

    >>> round(weights_gb(70.553706496, 1, 2), 3)
    35.277
    """
    return params_b * bytes_per_param / tp


@function(
    "KV bytes per token, all ranks",
    returns="B/token",
    words="2 (K and V) x layers x KV heads x head size x bytes per element",
    native="2*{layers}*{kv_heads}*{head_dim}*{kv_bytes}",
    derivation="2 x {layers} layers x {kv_heads} KV heads x {head_dim} x {kv_bytes} B = {result} B per token",
    source="Worked example: 2 x 80 x 8 x 128 x 2 B = 327,680 B; per GPU at TP=2 = 163,840 B",
)
def kv_bytes_per_token(layers: Layers, kv_heads: KvHeads, head_dim: HeadDim, kv_bytes: KvBytes = 2) -> float:
    """KV cache of one token over the whole replica: one key and one value vector in each layer.

    >>> kv_bytes_per_token(80, 8, 128)
    327680.0
    """
    return 2 * layers * kv_heads * head_dim * kv_bytes


KvBytesPerToken = Annotated[float, Number("B/token", "KV bytes per token, all ranks", example=kv_bytes_per_token, ge=0)]
WeightsGb = Annotated[float, Number("GB/GPU", "weights on one GPU", example=weights_gb, ge=0)]


@function(
    "KV per sequence per GPU",
    returns="GB/GPU",
    words="mean context x KV bytes per token / TP",
    native="{context_tokens}*{kv_bytes_per_token}/{tp}/1E9",
    derivation="{context_tokens} tokens x {kv_bytes_per_token} B / {tp} GPUs = {result} GB per GPU",
    source="Worked example: 3,200 tokens (mean context mid-reply) x 163,840 B = 0.52 GB",
)
def kv_gb_per_seq(context_tokens: ContextTokens, kv_bytes_per_token: KvBytesPerToken, tp: Tp) -> float:
    """KV cache of one sequence of mean context on one GPU.

    >>> kv_gb_per_seq(3200, 327680, 2)
    0.524288
    """
    return context_tokens * kv_bytes_per_token / tp / 1e9


@function(
    "KV pool per GPU",
    returns="GB/GPU",
    words="GPU memory x memory fraction - reserved - weights",
    native="MAX(0,{gpu_gb}*{memory_fraction}-{reserved_gb}-{weights_gb})",
    derivation="{gpu_gb} GB x {memory_fraction} - {reserved_gb} GB reserved - {weights_gb} GB of weights"
    " = {result} GB per GPU",
    source="Worked example: 141 x 0.92 - 3 - 35.3 = 91.4 GB",
)
def kv_pool_gb(
    gpu_gb: GpuGb, weights_gb: WeightsGb, memory_fraction: MemoryFraction = 0.92, reserved_gb: ReservedGb = 3
) -> float:
    """Memory of one GPU that is left for KV cache; an error when the weights do not fit.

    >>> round(kv_pool_gb(141, 35.277), 3)
    91.443
    """
    pool = gpu_gb * memory_fraction - reserved_gb - weights_gb
    short = pool < -gpu_gb / 1e9  # an exact fit must not fail by the last bit, which differs between programs
    if is_array(pool):
        return as_float(where(short, math.nan, maximum(pool, 0.0)))  # the registry says where
    if short:
        raise Infeasible(
            f"{weights_gb:.4g} GB of weights and {reserved_gb:.4g} GB reserved do not fit"
            f" into {gpu_gb:.4g} GB x {memory_fraction:.4g}"
        )
    return maximum(pool, 0.0)


KvGbPerSeq = Annotated[float, Number("GB/GPU", "KV cache of one sequence on one GPU", example=kv_gb_per_seq, ge=0)]
KvGbPerSeqDivisor = Annotated[
    float, Number("GB/GPU", "KV cache of one sequence on one GPU", example=kv_gb_per_seq, gt=0)
]
KvPoolGb = Annotated[float, Number("GB/GPU", "memory for KV cache on one GPU", example=kv_pool_gb, ge=0)]


@function(
    "Resident sequences that fit",
    returns="sequences",
    words="KV pool / KV per sequence, rounded down",
    native="INT(ROUND({kv_pool_gb}/{kv_gb_per_seq},9))",
    derivation="{kv_pool_gb} GB / {kv_gb_per_seq} GB = {unrounded}, rounded down to {result} sequences",
    source="Worked example: 91.4 GB -> at most 174 resident sequences",
    unrounded=lambda kv_pool_gb, kv_gb_per_seq: kv_pool_gb / kv_gb_per_seq,
)
def max_seqs(kv_pool_gb: KvPoolGb, kv_gb_per_seq: KvGbPerSeqDivisor) -> float:
    """Sequences whose KV cache fits beside the weights at the same time.

    >>> max_seqs(91.443, 0.524288)
    174.0
    """
    return floor(kv_pool_gb / kv_gb_per_seq)
