"""What a team's own rows say beyond constants: measured over predicted, carried over to runs that are alike.

Runs of the same model, GPU and engine are alike in so far as concurrency, lengths, GPUs, format and kind of run are:
eight times the concurrency are a step, as are 32 times the prompt, 1,000 times the reply and 2.8 times the GPUs. A
prediction between measured runs takes the ratio of its neighbors, one that is steps away from all of them none
(kriging with a Gaussian likeness). The steps are those with which parts of the published rows foretell the rest best.
"""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

METRICS: Final = 3  # those of rows.METRICS: output rate, TPOT, TTFT

_MOST: Final = 4096.0  # sequences: an offline run asks for more, and gets no more


class Correction(NamedTuple):
    """The measured runs of one model, GPU and engine: where they are, and what each weighs for each metric."""

    places: Sequence[Sequence[float]]
    weights: Sequence[Sequence[float]]  # a row for each place, a column for each metric; 0 where not measured


Corrections = Mapping[tuple[str, str, str], Correction]


NONE: Final[Corrections] = MappingProxyType({})


def place(quant: str, case: Any) -> tuple[float, ...]:
    """Where a run (a Case) is among those of its model, GPU and engine; a step of 1 makes it another kind of run."""
    return (
        math.log2(min(case.wanted, _MOST)) / 3,
        math.log2(case.prompt) / 5,
        math.log2(case.reply) / 10,
        math.log2(case.tp * case.dp) / 1.5,
        math.log2(case.dp),
        float(quant in ("fp4", "mxfp4", "int4")),
        2 * float(case.offline),
    )


def likeness(a: Sequence[float], b: Sequence[float]) -> float:
    """1 for the same run, 0 for one that has nothing to do with it."""
    return math.exp(-sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / 2)


def factors(known: Correction, at: Sequence[float]) -> list[float]:
    """What to multiply each metric by."""
    totals = [0.0] * METRICS
    for there, weights in zip(known.places, known.weights, strict=True):
        near = likeness(at, there)
        for i, weight in enumerate(weights):
            totals[i] += near * weight
    return [math.exp(total) for total in totals]


def as_data(corrections: Corrections) -> list[dict[str, Any]]:
    """For a file of constants."""
    return [
        {"model": model, "gpu": gpu, "engine": engine, "places": c.places, "weights": c.weights}
        for (model, gpu, engine), c in corrections.items()
    ]


def from_data(data: Any) -> dict[tuple[str, str, str], Correction]:
    """From a file of constants; raises ValueError, TypeError or KeyError where it is not as `as_data` made it."""
    found = {}
    for entry in data or []:
        places, weights = ([[_finite(x) for x in line] for line in entry[name]] for name in ("places", "weights"))
        if len(places) != len(weights) or {len(w) for w in weights} - {METRICS} or {len(p) for p in places} - {7}:
            raise ValueError("places and weights must be lists of one length")
        found[str(entry["model"]), str(entry["gpu"]), str(entry["engine"])] = Correction(places, weights)
    return found


def _finite(x: Any) -> float:
    if isinstance(x, bool) or not abs(float(x)) < 100:
        raise ValueError("must be a number below 100")
    return float(x)
