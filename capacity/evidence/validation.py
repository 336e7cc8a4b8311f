"""How far predictions are off, by group, for three kinds of constants; and what has drifted since the last fit.

Constants: the worked example's fixed assumptions; those shipped; those of a fit that did not see the model.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import numpy as np

from .. import catalogue
from ..error_bands import METRICS
from .batch import Sample
from .calibration import numbers_of
from .constants import shipped
from .fitting import Vector, left_out, predicted
from .seed import seed_figures

FILE: Final = "validation.csv"
KINDS: Final = ("seed", "shipped", "left_out")
GROUPS: Final = {
    "all": (),
    "kind": ("kind",),
    "run": ("run",),
    "model": ("model",),
    "gpu": ("gpu",),
    "engine": ("engine",),
    "series": ("model", "gpu", "engine"),
}
LIMITS: Final = {"output_tokens_per_s": 0.2, "tpot_ms": 0.2, "ttft_ms": 0.4}  # median error up to which a group is OK
DRIFT: Final = 0.005  # change of a median error that is reported


class Score(NamedTuple):
    """The errors of a group in one metric: median for each kind of constants, and for the last the share in 20%."""

    dimension: str
    group: str
    metric: str
    rows: int
    seed: float
    shipped: float
    left_out: float
    within_20: float

    @property
    def ok(self) -> bool:
        """Do constants of other models predict the group?"""
        return self.left_out <= LIMITS[self.metric]


class Drift(NamedTuple):
    """A group whose error is not what it was."""

    before: Score
    now: Score

    @property
    def broken(self) -> bool:
        """Was the group OK, and is so no more?"""
        return self.before.ok and not self.now.ok

    def __str__(self) -> str:
        """One line: the group, and its median errors before and now."""
        moved = ", ".join(
            f"{kind} {old:.1%} -> {new:.1%}"
            for kind, old, new in zip(KINDS, _errors(self.before), _errors(self.now), strict=True)
            if abs(old - new) > DRIFT
        )
        return f"{'BROKEN' if self.broken else 'drift'}: {self.now.group}, {self.now.metric}: {moved}"


def scores(data: Sample) -> list[Score]:
    """The errors of all groups."""
    base = shipped()
    models = catalogue.models()
    found = {
        "seed": np.array([seed_figures(row, models) for row in data.rows]),
        "shipped": predicted(data, base.common, base.engines),
        "left_out": left_out(data, list(data.by("model")), numbers_of(base)),
    }
    return list(_scores(data, found))


def _scores(data: Sample, found: Mapping[str, Vector]) -> Iterator[Score]:
    off = {kind: np.abs(values / data.measured - 1) for kind, values in found.items()}
    for dimension, names in GROUPS.items():
        labels = data.by(*names) if names else np.full(len(data.rows), "all rows")
        for label in np.unique(labels):
            for i, metric in enumerate(METRICS):
                mine = (labels == label) & ~np.isnan(data.measured[:, i])
                if mine.any():
                    # where the seed has no answer its error counts as whole
                    errors = {kind: np.median(np.nan_to_num(off[kind][mine, i], nan=1.0)) for kind in KINDS}
                    errors["within_20"] = np.mean(off["left_out"][mine, i] <= 0.2)
                    rounded = {name: round(float(x), 4) for name, x in errors.items()}
                    yield Score(dimension, str(label) or "not known", metric, int(mine.sum()), **rounded)


@cache
def baseline() -> Sequence[Score]:
    """The scores when the constants were fitted."""
    text = files("capacity").joinpath("data", FILE).read_text("utf-8")
    return [_score(line) for line in csv.DictReader(text.splitlines())]


def _score(line: Mapping[str, str]) -> Score:
    errors = {name: float(line[name]) for name in (*KINDS, "within_20")}
    return Score(line["dimension"], line["group"], line["metric"], int(line["rows"]), **errors)


def drifts(now: Sequence[Score], before: Sequence[Score]) -> list[Drift]:
    """Groups whose error with any kind of constants has changed; those that are new or gone are not compared."""
    was = {score[:3]: score for score in before}
    pairs = [Drift(was[score[:3]], score) for score in now if score[:3] in was]
    return [d for d in pairs if any(abs(a - b) > DRIFT for a, b in zip(_errors(d.before), _errors(d.now), strict=True))]


def _errors(score: Score) -> tuple[Any, ...]:
    return score.seed, score.shipped, score.left_out
