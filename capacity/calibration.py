"""From a measured replica to the efficiencies that a plan assumes: MFU, MBU, and how much prefill hides."""

from typing import Annotated, Final

from .arguments import Number
from .decode import DecodeLoadDivisor, StepGb, StepMs
from .errors import Infeasible
from .numeric import is_array, minimum, where
from .prefill import PrefillLoad, PrefillUs
from .registry import function
from .terms import BandwidthTbS, ParamsB, PeakTflops, Tp

_LIMIT: Final = 1 + 1 / 1e9  # an efficiency of exactly 1 must not be lost to the last bit


@function(
    "Prefill rate of one replica",
    returns="tok/s",
    words="1 / prefill time per prompt token",
    native="1E6/{prefill_us}",
    derivation="1e6 / {prefill_us} us = {result} prompt tok/s",
    source="Arithmetic: 71.3 us a token are 14,025 tok/s",
)
def prefill_tps(prefill_us: PrefillUs) -> float:
    """Prompt tokens per second of one replica that does nothing but prefill: what a benchmark measures.

    >>> prefill_tps(80)
    12500.0
    """
    return 1e6 / prefill_us


PrefillTps = Annotated[
    float, Number("tok/s", "prompt tokens per second of one replica that only prefills", example=prefill_tps, gt=0)
]


@function(
    "MFU measured",
    returns="fraction",
    words="2 x parameters x prefill rate / (TP x peak FLOP/s); none above 1",
    native="2*{params_b}*{prefill_tps}/{tp}/{peak_tflops}/1E3"
    "/(2*{params_b}*{prefill_tps}/{tp}/{peak_tflops}/1E3<=1+1/1E9)",
    derivation="2 x {params_b} billion parameters x {prefill_tps} tok/s / ({tp} GPUs x {peak_tflops} TFLOP/s)"
    " = {result} of the peak",
    source="Worked example the other way round: 2 x 70.55e9 x 14,025 / (2 x 1,979e12) = 0.50",
)
def measured_mfu(prefill_tps: PrefillTps, params_b: ParamsB, tp: Tp, peak_tflops: PeakTflops) -> float:
    """MFU of a measured prefill rate; above the peak there is none, and one of the facts is wrong.

    >>> round(measured_mfu(12500, 70.553706496, 2, 1979), 4)
    0.4456
    """
    return _efficiency(
        2 * params_b * 1e9 * prefill_tps / (tp * peak_tflops * 1e12),
        "an MFU",
        "check that the rate is one replica's, the GPUs of it (TP), and the dense peak at the weights' type",
    )


@function(
    "MBU measured",
    returns="fraction",
    words="bytes per step / (step x bandwidth); none above 1",
    native="{step_gb}/({step_ms}*{bandwidth_tb_s})/({step_gb}<={step_ms}*{bandwidth_tb_s}*(1+1/1E9))",
    derivation="{step_gb} GB / ({step_ms} ms x {bandwidth_tb_s} TB/s) = {result} of the bandwidth",
    source="Worked example the other way round: 68.8e9 B / (19.1 ms x 4.8e12 B/s) = 0.75",
)
def measured_mbu(step_gb: StepGb, step_ms: StepMs, bandwidth_tb_s: BandwidthTbS) -> float:
    """MBU of a measured decode step; above the bandwidth there is none, and one of the facts is wrong.

    >>> round(measured_mbu(68.831, 20.5, 4.8), 4)
    0.6995
    """
    return _efficiency(
        step_gb / (step_ms * bandwidth_tb_s),
        "an MBU",
        "check batch and context of the measurement, bytes per weight and KV element, TP and bandwidth",
    )


def _efficiency(share: float, what: str, remedy: str) -> float:
    """A share of what the hardware can do."""
    if is_array(share):
        impossible: float = where(share <= _LIMIT, share, float("nan"))  # the registry says where
        return impossible
    if share > _LIMIT:
        raise Infeasible(f"{what} of {share:.4g} is above 1, more than the hardware has: {remedy}")
    return share


_OVERLAP: Final = Number(
    "fraction", "hidden prefill: share of prefill measured to hide under decode", example=0.25, ge=0, le=1
)
MeasuredOverlap = Annotated[float, _OVERLAP]


@function(
    "TPOT at the measured overlap",
    returns="ms",
    words="step x (prefill load + decode load - what hides) / decode load; at most the decode load hides",
    native="{step_ms}*({prefill_load}+{decode_load}-MIN({measured_overlap}*{prefill_load},{decode_load}))/{decode_load}",
    derivation="{step_ms} ms x ({prefill_load} + {decode_load} - min({measured_overlap} x {prefill_load},"
    " {decode_load})) / {decode_load} = {result} ms",
    source="Field notes: worst case without overlap, best case when all that can hide does; between them by the share",
)
def tpot_at_overlap_ms(
    step_ms: StepMs, prefill_load: PrefillLoad, decode_load: DecodeLoadDivisor, measured_overlap: MeasuredOverlap
) -> float:
    """Time per output token when a measured share of prefill hides under decode.

    >>> round(tpot_at_overlap_ms(20, 12, 6, 0.25), 6), tpot_at_overlap_ms(20, 12, 6, 1)
    (50.0, 40.0)
    """
    hidden = minimum(measured_overlap * prefill_load, decode_load)
    return step_ms * (prefill_load + decode_load - hidden) / decode_load


# What is measured on one replica; illustrative until a team enters its own.
CALIBRATION_INPUTS: Final[dict[str, Number]] = {
    "measured_prefill_tps": Number(
        "tok/s", "measured prefill rate: prompt tokens per second of one replica", example=12_500, gt=0
    ),
    "measured_batch": Number(
        "sequences", "measured batch: sequences that were decoded together", example=64, ge=1, whole=True
    ),
    "measured_context_tokens": Number(
        "tokens", "measured context: mean length of those sequences", example=3_200, ge=0
    ),
    "measured_step_ms": Number("ms", "measured decode step: time per token of each sequence", example=20.5, gt=0),
    "measured_overlap": _OVERLAP,
}
