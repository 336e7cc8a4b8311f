"""Prefill is priced in FLOPs: 2 per parameter and prompt token, at the share of peak that MFU states."""

from typing import Annotated

from .arguments import Number
from .registry import function
from .terms import CacheHit, Mfu, ParamsB, PeakTflops, PromptTokens, Tp
from .traffic import PromptTps


@function(
    "Prefill time per prompt token",
    returns="us/token",
    words="2 x parameters / (TP x peak FLOP/s x MFU)",
    native="2*{params_b}*1E9/({tp}*{peak_tflops}*1E12*{mfu})*1E6",
    derivation="2 x {params_b} billion parameters / ({tp} GPUs x {peak_tflops} TFLOP/s x {mfu} MFU)"
    " = {result} us per prompt token",
    source="Worked example: 2 x 70.55e9 / (2 x 1,979e12 x 0.50) = 71.3 us of replica time",
)
def prefill_us(params_b: ParamsB, tp: Tp, peak_tflops: PeakTflops, mfu: Mfu = 0.5) -> float:
    """Replica time that one prompt token costs in prefill.

    >>> round(prefill_us(70.553706496, 2, 1979, 0.5), 3)
    71.302
    """
    return 2 * params_b * 1e9 / (tp * peak_tflops * 1e12 * mfu) * 1e6


PrefillUs = Annotated[float, Number("us/token", "prefill time per prompt token", example=prefill_us, gt=0)]


@function(
    "Prefill load",
    returns="replica-s/s",
    words="prompt tok/s x (1 - cache hit) x prefill time per token",
    native="{prompt_tps}*(1-{cache_hit})*{prefill_us}/1E6",
    derivation="{prompt_tps} prompt tok/s [x (1 - {cache_hit} cache hit) ]x {prefill_us} us = {result} replica-s per s",
    source="Worked example: 150,000 x 71.3 us = 10.7 replica-s per s",
)
def prefill_load(prompt_tps: PromptTps, prefill_us: PrefillUs, cache_hit: CacheHit = 0) -> float:
    """Replicas that prefill alone keeps 100% busy; a prefix-cache hit removes its share.

    >>> round(prefill_load(150000, 71.302, 0.5), 3)
    5.348
    """
    return prompt_tps * (1 - cache_hit) * prefill_us / 1e6


@function(
    "TTFT floor",
    returns="ms",
    words="prompt length x (1 - cache hit) x prefill time per token",
    native="{prompt_tokens}*(1-{cache_hit})*{prefill_us}/1E3",
    derivation="{prompt_tokens} tokens in [x (1 - {cache_hit} cache hit) ]x {prefill_us} us = {result} ms of compute",
    source="Worked example: 3,000 x 71.3 us = 214 ms of compute",
)
def ttft_floor_ms(prompt_tokens: PromptTokens, prefill_us: PrefillUs, cache_hit: CacheHit = 0) -> float:
    """Least time to first token: the compute of the prompt alone, without queueing or overhead.

    >>> round(ttft_floor_ms(3000, 71.302), 1)
    213.9
    """
    return prompt_tokens * (1 - cache_hit) * prefill_us / 1e3


PrefillLoad = Annotated[float, Number("replica-s/s", "replicas that prefill keeps busy", example=prefill_load, ge=0)]
