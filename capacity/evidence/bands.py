"""Error bands: between what shares of a prediction 8 of 10 comparable measurements lie.

Comparable are rows of dense models or of mixtures of experts, closed loops or offline runs. The shares are those of
models that were left out of the fit, so a model that nobody measured is covered. They are data, written by the fit.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

FILE: Final = "error_bands.csv"
HEADER: Final = ("metric", "kind", "run", "rows", "p10", "p50", "p90")


class Band(NamedTuple):
    """Measured over predicted: a tenth of comparable rows lies below p10, half below p50, a tenth above p90."""

    rows: int
    p10: float
    p50: float
    p90: float


@cache
def bands() -> Mapping[tuple[str, str, str], Band]:
    """By metric, kind of model (dense, MoE) and kind of run (closed loop, offline)."""
    text = files("capacity").joinpath("data", FILE).read_text("utf-8")
    return {
        (r["metric"], r["kind"], r["run"]): Band(int(r["rows"]), float(r["p10"]), float(r["p50"]), float(r["p90"]))
        for r in csv.DictReader(text.splitlines())
    }
