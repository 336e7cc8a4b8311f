"""Refined memory: weights as stored, KV cache per architecture, the pool by what the engine's fraction applies to."""

import math
from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .memory import WeightsGb
from .numeric import as_float, is_array, maximum, minimum, where
from .refined_terms import (
    AttentionDp,
    DenseBytes,
    EmbeddingParamsB,
    ExpertBytes,
    KvFullBytes,
    KvReplicated,
    KvWindowedBytes,
    LmHeadParamsB,
    MemoryGb,
    OfFree,
    RoutedParamsB,
    StateBytes,
    WindowTokens,
)
from .registry import function
from .terms import KvBytes, KvHeads, MemoryFraction, OutputTokens, ParamsB, PromptTokens, ReservedGb, Tp
from .traffic import ContextTokens


def _rest(params_b: float) -> float:
    """What is left of the parameters without their parts, which cannot be more than the whole."""
    if is_array(params_b):
        return as_float(where(params_b < 0, math.nan, params_b))  # the registry says where
    if params_b < 0:
        raise Infeasible("routed experts, embedding and LM head together exceed the parameters")
    return params_b


@function(
    "Weights per GPU as stored",
    returns="GB/GPU",
    words="(dense x bytes + embedding and LM head x 2 B) x attention-DP / TP + routed experts x their bytes / TP",
    native="(({params_b}-{routed_params_b}-{embedding_params_b}-{lm_head_params_b})*{dense_bytes}"
    "+({embedding_params_b}+{lm_head_params_b})*2)*{attention_dp}/{tp}+{routed_params_b}*{expert_bytes}/{tp}",
    derivation="({params_b} billion parameters at {dense_bytes} B, of them {embedding_params_b} +"
    " {lm_head_params_b} billion at 2 B and {routed_params_b} billion in experts at {expert_bytes} B)"
    " / {tp} GPUs, dense ones held {attention_dp} times = {result} GB per GPU",
    source="Field notes: FP8 checkpoints keep LM head and embedding in BF16: Llama 70B is 72.7 GB, not 70.55",
)
def stored_weights_gb(
    params_b: ParamsB,
    routed_params_b: RoutedParamsB,
    embedding_params_b: EmbeddingParamsB,
    lm_head_params_b: LmHeadParamsB,
    dense_bytes: DenseBytes,
    expert_bytes: ExpertBytes,
    tp: Tp,
    attention_dp: AttentionDp,
) -> float:
    """Weight bytes of one GPU: embedding and LM head stay in BF16; attention-DP holds all but the experts whole.

    >>> round(stored_weights_gb(70.553706496, 0, 1.050673152, 1.050673152, 1, 1, 2, 1) * 2, 2)
    72.66
    """
    outside = embedding_params_b + lm_head_params_b
    dense = _rest(params_b - routed_params_b - outside) * dense_bytes + outside * 2
    return dense * attention_dp / tp + routed_params_b * expert_bytes / tp


@function(
    "Dense weights read per step",
    returns="GB/GPU",
    words="((parameters - routed experts - embedding - LM head) x bytes + LM head x 2 B) x attention-DP / TP",
    native="(({params_b}-{routed_params_b}-{embedding_params_b}-{lm_head_params_b})*{dense_bytes}"
    "+{lm_head_params_b}*2)*{attention_dp}/{tp}",
    derivation="({params_b} - {routed_params_b} - {embedding_params_b} - {lm_head_params_b} billion"
    " at {dense_bytes} B + LM head at 2 B) / {tp} GPUs, held {attention_dp} times = {result} GB per GPU",
    source="Field notes: weights read once a step, without the input embedding, LM head in BF16",
)
def dense_read_gb(
    params_b: ParamsB,
    routed_params_b: RoutedParamsB,
    embedding_params_b: EmbeddingParamsB,
    lm_head_params_b: LmHeadParamsB,
    dense_bytes: DenseBytes,
    tp: Tp,
    attention_dp: AttentionDp,
) -> float:
    """Bytes of dense weights that one GPU reads in a decode step.

    >>> round(dense_read_gb(70.553706496, 0, 1.050673152, 1.050673152, 1, 2, 1), 3)
    35.277
    """
    dense = _rest(params_b - routed_params_b - embedding_params_b - lm_head_params_b)
    return (dense * dense_bytes + lm_head_params_b * 2) * attention_dp / tp


@function(
    "Routed experts per GPU",
    returns="GB/GPU",
    words="routed experts x bytes / TP",
    native="{routed_params_b}*{expert_bytes}/{tp}",
    derivation="{routed_params_b} billion x {expert_bytes} B / {tp} GPUs = {result} GB per GPU",
    source="Field notes: decode reads the routed experts that a batch touches",
)
def experts_gb(routed_params_b: RoutedParamsB, expert_bytes: ExpertBytes, tp: Tp) -> float:
    """Bytes of routed experts that one GPU holds; 0 for a dense model.

    >>> experts_gb(654, 1, 8)
    81.75
    """
    return routed_params_b * expert_bytes / tp


@function(
    "KV bytes per token by type",
    returns="B/token",
    words="BF16 bytes x KV bytes per element / 2",
    native="{kv_full_bytes}*{kv_bytes}/2",
    derivation="{kv_full_bytes} B in BF16 x {kv_bytes} / 2 = {result} B per token",
    source="Field notes: KV dtype is an explicit input, worth up to 15 points of error",
)
def kv_typed_bytes(kv_full_bytes: KvFullBytes, kv_bytes: KvBytes = 2) -> float:
    """KV bytes of a token at the type that the engine stores.

    >>> kv_typed_bytes(327680, 1)
    163840.0
    """
    return kv_full_bytes * kv_bytes / 2


@function(
    "Copies of the KV cache",
    returns="count",
    words="ranks / KV heads, at least 1; every rank when replicated",
    native="MAX(1,{tp}/{attention_dp}/({kv_heads}^(1-{kv_replicated})))",
    derivation="{tp} GPUs in {attention_dp} groups against {kv_heads} KV heads, replicated {kv_replicated}:"
    " {result} copies",
    source="Field notes: KV heads per rank = max(1, kv_heads/tp); MLA is replicated unless attention-DP",
)
def kv_copies(kv_heads: KvHeads, tp: Tp, kv_replicated: KvReplicated, attention_dp: AttentionDp) -> float:
    """GPUs of a replica that hold the same KV cache.

    >>> kv_copies(8, 2, 0, 1), kv_copies(8, 16, 0, 1), kv_copies(1, 8, 1, 1), kv_copies(1, 8, 1, 8)
    (1.0, 2.0, 8.0, 1.0)
    """
    return maximum(1.0, tp / attention_dp / where(kv_replicated == 1, 1.0, kv_heads))


KvCopies = Annotated[float, Number("count", "KV copies: GPUs that hold the same KV cache", example=kv_copies, ge=1)]
WindowedCopies = Annotated[
    float, Number("count", "windowed copies: GPUs that hold the same KV of windowed layers", example=kv_copies, ge=1)
]


@function(
    "KV bytes per token at a context",
    returns="B/token",
    words="growing + (windowed x min(context, window) + state) / context, at least 1 token",
    native="{kv_full_bytes}+({kv_windowed_bytes}*MIN({context_tokens},{window_tokens})+{state_bytes})"
    "/MAX(1,{context_tokens})",
    derivation="{kv_full_bytes} B + ({kv_windowed_bytes} B x at most {window_tokens} tokens + {state_bytes} B of state)"
    " / {context_tokens} tokens = {result} B per token",
    source="Field notes: windowed layers hold min(context, window), hybrids a constant state per sequence",
)
def kv_mean_bytes(
    context_tokens: ContextTokens,
    kv_full_bytes: KvFullBytes,
    kv_windowed_bytes: KvWindowedBytes,
    window_tokens: WindowTokens,
    state_bytes: StateBytes,
) -> float:
    """KV bytes per token of a sequence of some length: what it holds, shared by its tokens, each held once.

    >>> kv_mean_bytes(3200, 81920, 425984, 1024, 0)
    218234.88
    """
    capped = kv_windowed_bytes * minimum(context_tokens, window_tokens)
    return kv_full_bytes + (capped + state_bytes) / maximum(1.0, context_tokens)


@function(
    "KV per sequence per GPU, by architecture",
    returns="GB/GPU",
    words="(growing x context x copies + windowed x min(context, window) x windowed copies + state) / TP",
    native="({kv_full_bytes}*{context_tokens}*{kv_copies}"
    "+{kv_windowed_bytes}*MIN({context_tokens},{window_tokens})*{windowed_copies}+{state_bytes})/{tp}/1E9",
    derivation="({kv_full_bytes} B x {context_tokens} tokens x {kv_copies} copies"
    " + {kv_windowed_bytes} B x at most {window_tokens} tokens x {windowed_copies} copies"
    " + {state_bytes} B of state) / {tp} GPUs = {result} GB per GPU",
    source="Field notes: windowed layers hold min(context, window), hybrids a constant state per sequence",
)
def kv_seq_gb(
    context_tokens: ContextTokens,
    kv_full_bytes: KvFullBytes,
    kv_windowed_bytes: KvWindowedBytes,
    window_tokens: WindowTokens,
    state_bytes: StateBytes,
    kv_copies: KvCopies,
    windowed_copies: WindowedCopies,
    tp: Tp,
) -> float:
    """KV cache of one sequence on one GPU: full attention grows, windows are capped, hybrids keep a state.

    >>> kv_seq_gb(3200, 327680, 0, 0, 0, 1, 1, 2)
    0.524288
    """
    windowed = kv_windowed_bytes * minimum(context_tokens, window_tokens)
    return (kv_full_bytes * context_tokens * kv_copies + windowed * windowed_copies + state_bytes) / tp / 1e9


@function(
    "Peak context",
    returns="tokens",
    words="prompt length + output length",
    native="{prompt_tokens}+{output_tokens}",
    derivation="{prompt_tokens} tokens in + {output_tokens} tokens out = {result} tokens",
    source="Field notes: residency peaks at prompt + output tokens, the mean is mid-reply",
)
def peak_context_tokens(prompt_tokens: PromptTokens, output_tokens: OutputTokens) -> float:
    """Tokens that a sequence holds in the KV cache when its reply is complete.

    >>> peak_context_tokens(3000, 400)
    3400.0
    """
    return prompt_tokens + output_tokens


@function(
    "KV pool per GPU, by memory basis",
    returns="GB/GPU",
    words="of total: memory x fraction - reserved - weights; of free: (memory - weights) x fraction - reserved",
    native="MAX(0,{memory_gb}*{memory_fraction}-{reserved_gb}-{weights_gb}*(1-{of_free}*(1-{memory_fraction})))",
    derivation="{memory_gb} GB x {memory_fraction} - {reserved_gb} GB reserved - {weights_gb} GB of weights"
    "[ (fraction of free: {of_free})] = {result} GB per GPU",
    source="Field notes: vLLM takes the fraction of total, TensorRT-LLM of what is free after weights",
)
def usable_pool_gb(
    memory_gb: MemoryGb,
    weights_gb: WeightsGb,
    of_free: OfFree,
    memory_fraction: MemoryFraction = 0.92,
    reserved_gb: ReservedGb = 3,
) -> float:
    """Memory of one GPU that is left for KV cache; an error when the weights do not fit.

    >>> round(usable_pool_gb(150.11, 35.277, 0), 2), round(usable_pool_gb(150.11, 35.277, 1, 0.9), 2)
    (99.82, 100.35)
    """
    pool = memory_gb * memory_fraction - reserved_gb - weights_gb * (1 - of_free * (1 - memory_fraction))
    short = pool < -memory_gb / 1e9
    if is_array(pool):
        return as_float(where(short, math.nan, maximum(pool, 0.0)))  # the registry says where
    if short:
        raise Infeasible(
            f"{weights_gb:.4g} GB of weights and {reserved_gb:.4g} GB reserved do not fit into"
            f" {memory_gb:.4g} GB x {memory_fraction:.4g}"
        )
    return maximum(pool, 0.0)


PeakContextTokens = Annotated[
    float, Number("tokens", "peak context: prompt and output", example=peak_context_tokens, ge=0)
]
