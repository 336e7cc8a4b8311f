"""Refined work per token: FLOPs that are really done, attention, activations, fixed time, all-reduce."""

import math
from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .numeric import as_float, is_array, minimum, where
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
from .terms import BandwidthTbS, Layers, PeakTflops, PromptTokens, Tp

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
    "Tokens seen in a window",
    returns="tokens",
    words="min(prompt, window) x (2 - min(prompt, window) / prompt)",
    native="MIN({prompt_tokens},{window_tokens})"
    "*(2-MIN({prompt_tokens},{window_tokens})/({prompt_tokens}+({prompt_tokens}=0)))",
    derivation="a window of {window_tokens} in a prompt of {prompt_tokens} tokens = {result} tokens",
    source="A token sees its window, those at the start of the prompt less; equals the prompt where it fits the window",
)
def seen_tokens(prompt_tokens: PromptTokens, window_tokens: WindowTokens) -> float:
    """Twice the mean number of tokens that a windowed layer sees, which is the prompt where no window bites.

    >>> seen_tokens(3000, 4096), round(seen_tokens(3000, 128), 1)
    (3000.0, 250.5)
    """
    seen = minimum(prompt_tokens, window_tokens)
    return seen * (2 - seen / (prompt_tokens + (prompt_tokens == 0)))


SeenTokens = Annotated[
    float, Number("tokens", "seen: twice the mean tokens that a windowed layer sees", example=seen_tokens, ge=0)
]


@function(
    "Attention time per prompt token",
    returns="us/token",
    words="2 x (width of full layers x prompt + width of windowed layers x tokens seen) / (TP x BF16 peak x MFU)",
    native="2*({attention_width}*{prompt_tokens}+{windowed_width}*{seen_tokens})"
    "/({tp}*{bf16_tflops}*1E12*{flop_efficiency})*1E6",
    derivation="2 x ({attention_width} x {prompt_tokens} tokens + {windowed_width} x {seen_tokens})"
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
) -> float:
    """Replica time of causal attention per prompt token, at the BF16 peak even when weights are FP8.

    >>> round(attention_us(3000, 655360, 0, 0, 2, 989, 0.5), 2)
    3.98
    """
    seen = attention_width * prompt_tokens + windowed_width * seen_tokens
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
    activation_passes: Annotated[float, fitted("activation_passes")] = 26.32,
) -> float:
    """Replica time that a token's activations spend on the memory bus.

    >>> round(activation_us(80, 8192, 4.8, 1), 2)
    7.19
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
    prefill_base_ms: Annotated[float, fitted("prefill_base_ms")] = 4.09,
    prefill_layer_us: Annotated[float, fitted("prefill_layer_us")] = 22.43,
) -> float:
    """Time of a prompt that does not depend on its length.

    >>> round(prefill_fixed_ms(80), 2)
    5.88
    """
    return prefill_base_ms + layers * prefill_layer_us / 1e3


ActivationUs = Annotated[float, Number("us/token", "activations", example=activation_us, ge=0)]


@function(
    "Refined prefill time per prompt token",
    returns="us/token",
    words="dense + experts + attention + traffic + fixed time / prompt",
    native="{dense_us}+{experts_us}+{attention_us}+{prompt_traffic_us}"
    "+{prefill_fixed_ms}*1E3/({prompt_tokens}+({prompt_tokens}=0))",
    derivation="{dense_us} dense + {experts_us} experts + {attention_us} attention + {prompt_traffic_us} traffic"
    " + {prefill_fixed_ms} ms / {prompt_tokens} tokens = {result} us per prompt token",
    source="Field notes: prefill of one request",
)
def refined_prefill_us(
    dense_us: Annotated[float, Number("us/token", "dense layers", example=flops_us, gt=0)],
    experts_us: Annotated[float, Number("us/token", "routed experts", example=0, ge=0)],
    attention_us: Annotated[float, Number("us/token", "attention", example=attention_us, ge=0)],
    prompt_traffic_us: Annotated[float, Number("us/token", "traffic per prompt token", example=16.93, ge=0)],
    prefill_fixed_ms: Annotated[float, Number("ms", "fixed time per prompt", example=prefill_fixed_ms, ge=0)],
    prompt_tokens: PromptTokens,
) -> float:
    """Replica time that one prompt token costs in prefill, all terms together.

    >>> round(refined_prefill_us(69.18, 0, 3.98, 16.93, 5.88, 3000), 2)
    92.05
    """
    fixed = prefill_fixed_ms * 1e3 / (prompt_tokens + (prompt_tokens == 0))
    return dense_us + experts_us + attention_us + prompt_traffic_us + fixed
