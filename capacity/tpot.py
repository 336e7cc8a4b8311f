"""The TPOT check: on a colocated replica prefill shares the GPUs with decode, so a step is not the time per token."""

from typing import Annotated, Final

from .arguments import Number
from .decode import DecodeLoadDivisor, StepMs
from .numeric import as_float, maximum, where
from .prefill import PrefillLoad
from .registry import function
from .terms import TargetMs

# A target met exactly must not be lost to the last bit, which differs between programs: both twins allow 1e-9 more.
_LIMIT: Final = 1 + 1 / 1e9

SAFE: Final = "safe at any overlap"
MEASURE: Final = "needs a measurement"
FAILS: Final = "fails"


@function(
    "Worst-case TPOT",
    returns="ms",
    words="step x (prefill load + decode load) / decode load: no prefill hides",
    native="{step_ms}*({prefill_load}+{decode_load})/{decode_load}",
    derivation="{step_ms} ms x ({prefill_load} + {decode_load}) / {decode_load} = {result} ms: no prefill hides",
    source="Worked example: TPOT is the step time scaled by how much of the busy time is decode; B=64: 53 ms",
)
def tpot_worst_ms(step_ms: StepMs, prefill_load: PrefillLoad, decode_load: DecodeLoadDivisor) -> float:
    """Time per output token when no prefill hides under decode's memory time.

    >>> round(tpot_worst_ms(19.12, 10.695, 5.975), 1)
    53.3
    """
    return step_ms * (prefill_load + decode_load) / decode_load


@function(
    "Best-case TPOT",
    returns="ms",
    words="step x the larger of prefill and decode load / decode load: all that can hide does",
    native="{step_ms}*MAX({prefill_load},{decode_load})/{decode_load}",
    derivation="{step_ms} ms x max({prefill_load}, {decode_load}) / {decode_load}"
    " = {result} ms: all prefill that can hide does",
    source="Field notes: best = step x max(prefill, decode) / decode; B=64: 34.2 ms",
)
def tpot_best_ms(step_ms: StepMs, prefill_load: PrefillLoad, decode_load: DecodeLoadDivisor) -> float:
    """Time per output token when all the prefill that can hide under decode's memory time does.

    >>> round(tpot_best_ms(19.12, 10.695, 5.975), 1)
    34.2
    """
    return step_ms * maximum(prefill_load, decode_load) / decode_load


def _overlap_sentence(target_ms: float, step_ms: float, prefill_load: float, decode_load: float) -> str:
    if prefill_load == 0:
        return "there is no prefill, so none must hide"
    sentence = "1 - ({target_ms} ms - {step_ms} ms) / {step_ms} ms x {decode_load} / {prefill_load} = {unrounded}"
    if 1 - (target_ms - step_ms) / step_ms * decode_load / prefill_load < 0:
        return sentence + ", below 0: no prefill must hide"
    return sentence + " of prefill must hide"


@function(
    "Overlap needed",
    returns="fraction",
    words="1 - (target / step x decode load - decode load) / prefill load, at least 0",
    native="({prefill_load}>0)*"
    "MAX(0,1-({target_ms}-{step_ms})/{step_ms}*{decode_load}/({prefill_load}+({prefill_load}=0)))",
    derivation=_overlap_sentence,
    unrounded=lambda target_ms, step_ms, prefill_load, decode_load: (
        1 - (target_ms - step_ms) / step_ms * decode_load / prefill_load if prefill_load else 0.0
    ),
    source="Field notes: h = 1 - (target/step x decode - decode) / prefill; B=64 at 50 ms: 9.8%",
)
def overlap_needed(
    target_ms: TargetMs, step_ms: StepMs, prefill_load: PrefillLoad, decode_load: DecodeLoadDivisor
) -> float:
    """Share of prefill that must hide under decode to meet the target; 0 when there is no prefill.

    It is not cut off above: at most min(prefill, decode) / prefill can hide, and a plan that needs more fails.

    >>> round(overlap_needed(50, 19.12, 10.695, 5.975), 3)
    0.098
    """
    spread = where(prefill_load == 0, 1.0, prefill_load)
    needed = 1 - (target_ms - step_ms) / step_ms * decode_load / spread
    return as_float(where(prefill_load == 0, 0.0, maximum(0.0, needed)))


TpotWorstMs = Annotated[float, Number("ms", "worst-case TPOT", example=tpot_worst_ms, gt=0)]
TpotBestMs = Annotated[float, Number("ms", "best-case TPOT", example=tpot_best_ms, gt=0)]


@function(
    "TPOT verdict",
    returns="text",
    words="worst <= target: safe at any overlap; best > target: fails; else needs a measurement",
    native="CHOOSE(1+({tpot_worst_ms}/{target_ms}>1+1/1E9)*(1+({tpot_best_ms}/{target_ms}>1+1/1E9)),"
    '"safe at any overlap","needs a measurement","fails")',
    derivation="worst case {tpot_worst_ms} ms, best case {tpot_best_ms} ms, target {target_ms} ms: {result}",
    source="Worked example at 50 ms: batch 32 safe at any overlap, 64 needs a measurement, 128 fails",
)
def tpot_verdict(target_ms: TargetMs, tpot_worst_ms: TpotWorstMs, tpot_best_ms: TpotBestMs) -> str:
    """Does the batch meet the TPOT target: always, only if enough prefill hides, or never?

    >>> tpot_verdict(50, 53.3, 34.2)
    'needs a measurement'
    """
    unless_all_hides = where(tpot_best_ms / target_ms > _LIMIT, FAILS, MEASURE)
    verdict: str = where(tpot_worst_ms / target_ms > _LIMIT, unless_all_hides, SAFE)
    return verdict
