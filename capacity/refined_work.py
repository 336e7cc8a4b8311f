"""Refined work per token: FLOPs that are really done, attention, activations, fixed time, all-reduce."""

import math
from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .numeric import as_float, is_array, maximum, minimum, where
from .refined_terms import (
    ActiveParamsB,
    AttentionDp,
    AttentionWidth,
    Bf16Tflops,
    Experts,
    ExpertsPerToken,
    HiddenSize,
    LmHeadParamsB,
    RoutedParamsB,
    WindowedWidth,
    WindowTokens,
    fitted,
)
from .registry import function
from .terms import BandwidthTbS, CacheHit, Layers, PeakTflops, PromptTokens, Tp

Efficiency = Annotated[
    float, Number("fraction", "FLOP efficiency: share of the peak that is reached", example=0.5, gt=0, le=1)
]


@function(
    "Routed experts active per token",
    returns="billion",
    words="routed experts x experts per token / experts",
    native="{routed_params_b}*{experts_per_token}/{experts}",
    derivation="{routed_params_b} billion x {experts_per_token} of {experts} experts = {result} billion",
    source="Field notes: prefill FLOPs use active parameters, decode bytes use total",
)
def routed_active_b(routed_params_b: RoutedParamsB, experts_per_token: ExpertsPerToken, experts: Experts) -> float:
    """Expert parameters that multiply one token.

    >>> routed_active_b(654, 8, 256)
    20.4375
    """
    return routed_params_b * share(experts_per_token, experts)


def share(experts_per_token: float, experts: float) -> float:
    """Share of the experts that a token chooses, which cannot be more than all."""
    chosen = experts_per_token / experts
    if is_array(chosen):
        return as_float(where(chosen > 1, math.nan, chosen))  # the registry says where
    if chosen > 1:
        raise Infeasible(f"a token cannot choose {experts_per_token:g} of {experts:g} experts")
    return chosen


RoutedActiveB = Annotated[
    float, Number("billion", "routed active: expert parameters per token", example=routed_active_b, ge=0)
]


@function(
    "Dense parameters per prompt token",
    returns="billion",
    words="active parameters - LM head - active routed experts",
    native="{active_params_b}-{lm_head_params_b}-{routed_active_b}",
    derivation="{active_params_b} billion active - {lm_head_params_b} in the LM head - {routed_active_b} in experts"
    " = {result} billion",
    source="Field notes: the embedding is a look-up, the LM head runs once per sequence; 3% of Llama 70B's FLOPs",
)
def dense_prefill_b(
    active_params_b: ActiveParamsB, lm_head_params_b: LmHeadParamsB, routed_active_b: RoutedActiveB
) -> float:
    """Parameters outside the routed experts that multiply each prompt token.

    >>> round(dense_prefill_b(69.503033344, 1.050673152, 0), 3)
    68.452
    """
    rest = active_params_b - lm_head_params_b - routed_active_b
    if is_array(rest):
        return as_float(where(rest < 0, math.nan, rest))  # the registry says where
    if rest < 0:
        raise Infeasible("the LM head and the active experts together exceed the active parameters")
    return as_float(rest)


@function(
    "FLOP time per token",
    returns="us/token",
    words="2 x parameters / (TP x peak FLOP/s x MFU)",
    native="2*{flop_params_b}*1E9/({tp}*{peak_tflops}*1E12*{flop_efficiency})*1E6",
    derivation="2 x {flop_params_b} billion / ({tp} GPUs x {peak_tflops} TFLOP/s x {flop_efficiency})"
    " = {result} us per token",
    source="As the prefill time of the worked example, for a part of the parameters",
)
def flops_us(
    flop_params_b: Annotated[
        float, Number("billion", "parameters that multiply a token", example=dense_prefill_b, ge=0)
    ],
    tp: Tp,
    peak_tflops: PeakTflops,
    flop_efficiency: Efficiency,
) -> float:
    """Replica time that a part of the parameters costs a token, in prefill or decode; 0 for no parameters.

    >>> round(flops_us(68.452, 2, 1979, 0.5), 2)
    69.18
    """
    return 2 * flop_params_b * 1e9 / (tp * peak_tflops * 1e12 * flop_efficiency) * 1e6


@function(
    "Tokens of a prompt in the cache",
    returns="tokens",
    words="prompt x cache hit rate",
    native="{prompt_tokens}*{cache_hit}",
    derivation="{prompt_tokens} tokens x {cache_hit} = {result} tokens in the cache",
    source="Field notes: the hit rate of the prefix cache multiplies prefill by (1 - h)",
)
def cached_tokens(prompt_tokens: PromptTokens, cache_hit: CacheHit = 0) -> float:
    """Tokens of a prompt that prefill need not compute: a prefix that the cache holds.

    >>> cached_tokens(3000, 0.5)
    1500.0
    """
    return prompt_tokens * cache_hit


CachedTokens = Annotated[
    float, Number("tokens", "cached: tokens of a prompt that the cache holds", example=cached_tokens, ge=0)
]


@function(
    "Tokens seen in a window, added up",
    returns="count",
    words="min(tokens, window) x (2 x tokens - min(tokens, window))",
    native="MIN({tokens},{window_tokens})*(2*{tokens}-MIN({tokens},{window_tokens}))",
    derivation="each of {tokens} tokens sees those before it, at most {window_tokens}: {result}, counted twice",
    source="Tokens within the window see 1, 2, 3, ..., those behind it see the window: twice the area under that line",
)
def seen_area(
    tokens: Annotated[float, Number("tokens", "tokens: length of a prompt or a prefix", example=3000, ge=0)],
    window_tokens: WindowTokens,
) -> float:
    """Twice the tokens that so many tokens see together in a windowed layer.

    >>> seen_area(3000, 4096), seen_area(3000, 128)
    (9000000.0, 751616.0)
    """
    seen = minimum(tokens, window_tokens)
    return seen * (2 * tokens - seen)


SeenArea = Annotated[float, Number("count", "area: twice the tokens seen together", example=seen_area, ge=0)]


@function(
    "Tokens seen in a window",
    returns="tokens",
    words="(area up to the end of the prompt - area up to the end of the cached prefix) / tokens computed",
    native="MAX(0,{prompt_area}-{cached_area})"
    "/MAX({prompt_tokens}-{cached_tokens},({prompt_tokens}<={cached_tokens})*1)",
    derivation="({prompt_area} up to token {prompt_tokens} - {cached_area} up to token {cached_tokens})"
    " / tokens between = {result} tokens",
    source="A token sees its window, those at the start of the prompt less; equals the prompt where it fits the window",
)
def seen_tokens(
    prompt_area: SeenArea, cached_area: SeenArea, prompt_tokens: PromptTokens, cached_tokens: CachedTokens
) -> float:
    """Twice the mean number of tokens that a computed one sees in a windowed layer; 0 where none is computed.

    >>> seen_tokens(9e6, 0, 3000, 0), round(seen_tokens(751616, 0, 3000, 0), 1), seen_tokens(751616, 367616, 3000, 1500)
    (3000.0, 250.5, 256.0)
    """
    computed = prompt_tokens - cached_tokens
    return as_float(maximum(0.0, prompt_area - cached_area) / where(computed > 0, computed, 1.0))


SeenTokens = Annotated[
    float, Number("tokens", "seen: twice the mean tokens that a windowed layer sees", example=seen_tokens, ge=0)
]


@function(
    "Attention time per prompt token",
    returns="us/token",
    words="2 x (width of full layers x prompt x (1 + cache hit rate) + width of windowed layers x tokens seen)"
    " / (TP x BF16 peak x MFU)",
    native="2*({attention_width}*{prompt_tokens}*(1+{cache_hit})+{windowed_width}*{seen_tokens})"
    "/({tp}*{bf16_tflops}*1E12*{flop_efficiency})*1E6",
    derivation="2 x ({attention_width} x {prompt_tokens} tokens x (1 + {cache_hit} cached)"
    " + {windowed_width} x {seen_tokens})"
    " / ({tp} GPUs x {bf16_tflops} TFLOP/s x {flop_efficiency}) = {result} us",
    source="Field notes: 2 x layers x heads x head size x prompt; 2.8% of 2N at 3k tokens, 28% at 30k for Llama 70B",
)
def attention_us(
    prompt_tokens: PromptTokens,
    attention_width: AttentionWidth,
    windowed_width: WindowedWidth,
    seen_tokens: SeenTokens,
    tp: Tp,
    bf16_tflops: Bf16Tflops,
    flop_efficiency: Efficiency,
    cache_hit: CacheHit = 0,
) -> float:
    """Replica time of causal attention per computed token, at the BF16 peak even when weights are FP8.

    A token behind a cached prefix attends to that prefix as well.

    >>> round(attention_us(3000, 655360, 0, 0, 2, 989, 0.5), 2)
    3.98
    >>> round(attention_us(3000, 655360, 0, 0, 2, 989, 0.5, 0.5), 2)
    5.96
    """
    seen = attention_width * prompt_tokens * (1 + cache_hit) + windowed_width * seen_tokens
    return 2 * seen / (tp * bf16_tflops * 1e12 * flop_efficiency) * 1e6


@function(
    "Activation traffic per token",
    returns="us/token",
    words="passes x layers x hidden size x 2 B / bandwidth / attention-DP, not divided by TP",
    native="{activation_passes}*{layers}*{hidden_size}*2/({bandwidth_tb_s}*1E12)/{attention_dp}*1E6",
    derivation="{activation_passes} passes x {layers} layers x {hidden_size} x 2 B / {bandwidth_tb_s} TB/s"
    " / {attention_dp} groups = {result} us",
    source="Field notes: 26 x L x H x 2 / BW per token",
)
def activation_us(
    layers: Layers,
    hidden_size: HiddenSize,
    bandwidth_tb_s: BandwidthTbS,
    attention_dp: AttentionDp,
    activation_passes: Annotated[float, fitted("activation_passes")] = 23.36,
) -> float:
    """Replica time that a token's activations spend on the memory bus.

    >>> round(activation_us(80, 8192, 4.8, 1), 2)
    6.38
    """
    return activation_passes * layers * hidden_size * 2 / (bandwidth_tb_s * 1e12) / attention_dp * 1e6


@function(
    "Fixed time per prompt",
    returns="ms",
    words="fixed time + layers x fixed time per layer",
    native="{prefill_base_ms}+{layers}*{prefill_layer_us}/1E3",
    derivation="{prefill_base_ms} ms + {layers} layers x {prefill_layer_us} us = {result} ms per prompt",
    source="Field notes: 4.1 ms + L x 22 us per prompt",
)
def prefill_fixed_ms(
    layers: Layers,
    prefill_base_ms: Annotated[float, fitted("prefill_base_ms")] = 0,
    prefill_layer_us: Annotated[float, fitted("prefill_layer_us")] = 107.4,
) -> float:
    """Time of a prompt that does not depend on its length.

    >>> round(prefill_fixed_ms(80), 2)
    8.59
    """
    return prefill_base_ms + layers * prefill_layer_us / 1e3


ActivationUs = Annotated[float, Number("us/token", "activations", example=activation_us, ge=0)]


@function(
    "Refined prefill time per prompt token",
    returns="us/token",
    words="dense + experts + attention + traffic + fixed time / tokens computed",
    native="{dense_us}+{experts_us}+{attention_us}+{prompt_traffic_us}"
    "+{prefill_fixed_ms}*1E3/MAX({prompt_tokens}-{cached_tokens},({prompt_tokens}<={cached_tokens})*1)",
    derivation="{dense_us} dense + {experts_us} experts + {attention_us} attention + {prompt_traffic_us} traffic"
    " + {prefill_fixed_ms} ms / ({prompt_tokens} tokens - {cached_tokens} cached) = {result} us per prompt token",
    source="Field notes: prefill of one request",
)
def refined_prefill_us(
    dense_us: Annotated[float, Number("us/token", "dense layers", example=flops_us, gt=0)],
    experts_us: Annotated[float, Number("us/token", "routed experts", example=0, ge=0)],
    attention_us: Annotated[float, Number("us/token", "attention", example=attention_us, ge=0)],
    prompt_traffic_us: Annotated[float, Number("us/token", "traffic per prompt token", example=16.93, ge=0)],
    prefill_fixed_ms: Annotated[float, Number("ms", "fixed time per prompt", example=prefill_fixed_ms, ge=0)],
    prompt_tokens: PromptTokens,
    cached_tokens: CachedTokens,
) -> float:
    """Replica time that a computed prompt token costs in prefill, all terms together.

    >>> round(refined_prefill_us(69.18, 0, 3.98, 16.93, 5.88, 3000, 0), 2)
    92.05
    """
    computed = prompt_tokens - cached_tokens
    fixed = prefill_fixed_ms * 1e3 / where(computed > 0, computed, 1.0)
    return as_float(dense_us + experts_us + attention_us + prompt_traffic_us + fixed)
