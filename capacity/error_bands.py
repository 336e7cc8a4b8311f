"""Error bands: between what shares of a prediction 8 of 10 comparable measurements lie, and the fleets they mean.

Comparable are rows of dense models or of mixtures of experts, closed loops or offline runs. The shares of the chain
Refined are those of models that were left out of the fit, so a model that nobody measured is covered; those of the
chain Seed have nothing fitted. They are data, written by the fit (capacity/evidence/fit.py).
"""

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Final, NamedTuple

from .arguments import Number, Text
from .errors import NotKnown, UnknownName
from .fleet import BusyReplicas, Gpus
from .numeric import ceil, maximum
from .registry import function
from .terms import Spares, Utilization

FILE: Final = "error_bands.csv"
HEADER: Final = ("chain", "metric", "kind", "run", "rows", "p10", "p50", "p90")
METRICS: Final = ("output_tokens_per_s", "tpot_ms", "ttft_ms")  # what a run measures
KINDS: Final = ("dense", "MoE")
RUNS: Final = ("closed loop", "offline")
SHARES: Final = ("p10", "p50", "p90", "rows")
CHAINS: Final = ("Refined", "Seed")  # with the fitted constants; with MFU 50% and MBU 75%


class Band(NamedTuple):
    """Measured over predicted: a tenth of comparable rows lies below p10, half below p50, a tenth above p90."""

    rows: float
    p10: float
    p50: float
    p90: float


@cache
def bands() -> Mapping[tuple[str, str, str, str], Band]:
    """By chain, metric, kind of model and kind of run."""
    from importlib.resources import files  # slow to import, and only needed when a band is asked for

    text = files("capacity").joinpath("data", FILE).read_text("utf-8")
    return {
        (r["chain"], r["metric"], r["kind"], r["run"]): Band(*(float(r[name]) for name in Band._fields))
        for r in csv.DictReader(text.splitlines())
    }


def one_of(what: str, text: str, known: Iterable[str]) -> str:
    """The text as it is spelled among those known, in any case; raises UnknownName."""
    spelled = {name.casefold(): name for name in known}
    key = text.strip().casefold()
    if key not in spelled:
        raise UnknownName(what, text, spelled.values())
    return spelled[key]


@function(
    "Error band",
    returns="number or text",
    words="measured / predicted of comparable published runs, at that share of them",
    native="",
    derivation="measured / predicted {metric}, {kind}, {run_kind}: {share} is {result}",
    source="The published runs (capacity/data/measurements.csv), each predicted without its model",
)
def error_band(
    metric: Annotated[
        str,
        Text("what is measured", bounds=f"one of {', '.join(METRICS)}", example=METRICS[0]),
    ],
    kind: Annotated[str, Text("kind of model", bounds=" or ".join(KINDS), example=KINDS[0])],
    run_kind: Annotated[str, Text("kind of benchmark", bounds=" or ".join(RUNS), example=RUNS[0])],
    share: Annotated[
        str,
        Text(
            "share of the measurements that lie below, or how many there are", bounds=", ".join(SHARES), example="p10"
        ),
    ],
    chain: Annotated[
        str,
        Text(
            "whose predictions: with fitted constants, or with MFU 50% and MBU 75%",
            bounds=" or ".join(CHAINS),
            example=CHAINS[0],
            default=CHAINS[0],
        ),
    ] = CHAINS[0],
) -> float:
    """Measured over predicted at a share of comparable published runs; #N/A where nobody has measured it.

    >>> error_band("output_tokens_per_s", "dense", "closed loop", "p10") < 1
    True
    """
    metric, kind, run_kind = (
        one_of(what, text, known)
        for what, text, known in (("metric", metric, METRICS), ("kind", kind, KINDS), ("run_kind", run_kind, RUNS))
    )
    key = one_of("chain", chain, CHAINS), metric, kind, run_kind
    share = one_of("share", share, SHARES)
    if key not in bands():
        raise NotKnown(metric, f"{kind} {run_kind} runs")
    return float(getattr(bands()[key], share))


MeasuredShare = Annotated[
    float, Number("count", "measured share: measured over predicted output rate", example=error_band, gt=0)
]


@function(
    "Replicas at a measured share",
    returns="replicas",
    words="busy replicas / measured share / ceiling at peak, rounded up, + spares",
    native="ROUNDUP(ROUND({busy_replicas}/{measured_share}/{utilization},9),0)+{spares}",
    derivation="{busy_replicas} busy replicas / {measured_share} measured over predicted / {utilization} = {unrounded},"
    " rounded up[ and {spares} spares added,] to {result} replicas",
    source="Arithmetic: at 70% of the predicted rate the same tokens take 1/0.7 of the time",
    unrounded=lambda busy_replicas, measured_share, utilization, spares: busy_replicas / measured_share / utilization,
)
def measured_replicas(
    busy_replicas: BusyReplicas, measured_share: MeasuredShare, utilization: Utilization = 0.65, spares: Spares = 0
) -> float:
    """Whole replicas where engines reach that share of the predicted output rate.

    >>> measured_replicas(13, 0.8, 0.65), measured_replicas(13, 1, 0.65, 2)
    (25.0, 22.0)
    """
    return ceil(busy_replicas / measured_share / utilization) + spares


@function(
    "Contingency that the error band gives",
    returns="of cost",
    words="GPUs of the high end of the band / GPUs of the plan - 1, at least 0",
    native="MAX(0,{band_gpus}/{gpus}-1)",
    derivation="{band_gpus} GPUs at the high end of the band / {gpus} planned - 1 = {result}, at least 0",
    source="Arithmetic: 60 GPUs for 52 are 15.4% more",
)
def band_contingency(
    band_gpus: Annotated[
        float, Number("GPUs", "GPUs of the band: that 9 of 10 comparable runs would need at most", example=60, ge=0)
    ],
    gpus: Gpus,
) -> float:
    """What the dearer end of the band costs more than the plan, as a share of the plan.

    >>> band_contingency(65, 52)
    0.25
    """
    return maximum(0.0, band_gpus / gpus - 1)
