"""How constants are fitted to measurements (`capacity.evidence.fit` does it for the shipped ones).

What is minimized: the log of predicted over measured, by a loss that lets rows which disagree with all others go
(Cauchy), plus the distance of each constant from its plausible start. A series with many rows counts by their root.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from .batch import Sample, metrics, outcome
from .constants import ENGINE_SPREAD, ENGINE_TERMS, ENGINES, TERMS, Constants, Term

# Rows of one series err together, so that they tell less than their number: what is known before counts so much more.
# Chosen among 1 to 6 by the error on models left out; below 3 a fit without gpt-oss gives its experts half the speed.
PRIOR_STRENGTH: Final = 4.0
_NOISE: Final = 0.15  # log error of a row, 1 sigma
CORNER: Final = np.array([0.3, 0.3, 0.45])  # log error from which a row counts less and less, for each metric
WEIGHT: Final = np.array([1.0, 1.0, 0.5])  # of each metric
_DIGITS: Final = 4

Vector = Any  # an array of floats


class Unknown(NamedTuple):
    """One number to find: log(value / start) of a constant, or of an engine's own beyond what all have in common."""

    name: str
    engine: str | None  # None: of all
    term: Term
    spread: float


UNKNOWNS: Final = (
    *(Unknown(name, None, term, term.spread) for name, term in {**TERMS, **ENGINE_TERMS}.items()),
    *(Unknown(name, engine, term, ENGINE_SPREAD) for name, term in ENGINE_TERMS.items() for engine in ENGINES),
)


def constants_at(x: Vector) -> tuple[Constants, dict[str, dict[str, float]]]:
    """The constants for the numbers found."""
    at = {(u.name, u.engine): float(value) for u, value in zip(UNKNOWNS, x, strict=True)}
    common = {name: min(term.start * np.exp(at[name, None]), term.most * 0.97) for name, term in TERMS.items()}
    engines = {
        engine: {n: t.start * float(np.exp(at[n, None] + at.get((n, engine), 0.0))) for n, t in ENGINE_TERMS.items()}
        for engine in ("", *ENGINES)
    }
    return Constants(**{name: float(value) for name, value in common.items()}), engines


def predicted(data: Sample, constants: Constants, engines: Mapping[str, Mapping[str, float]]) -> Vector:
    """A column for each metric."""
    own = {name: np.array([engines.get(g.engine, engines[""])[name] for g in data.groups]) for name in ENGINE_TERMS}
    return metrics(outcome(data.case._replace(**own), constants))


def weights(data: Sample) -> Vector:
    """Of each row: the rows of a series together weigh as their root."""
    series = list(data.by("model", "gpu", "engine", "quant"))
    size = Counter(series)
    raw = np.array([size[s] ** -0.25 for s in series])
    return raw / np.sqrt(np.mean(raw**2))


def misfits(data: Sample, found: Vector) -> Vector:
    """Log of predicted over measured, NaN where nothing was measured."""
    return np.log(np.maximum(found, 1e-12) / data.measured)


def _losses(data: Sample, found: Vector, weight: Vector) -> Vector:
    """What each measured figure adds, as the root of its loss."""
    log = misfits(data, found)
    soft = np.sign(log) * CORNER * np.sqrt(np.log1p((log / CORNER) ** 2))
    each = WEIGHT * weight[:, None] * soft / _NOISE
    return each[~np.isnan(each)]


def objective(data: Sample, center: Vector | None = None, spreads: Vector | None = None) -> Callable[[Vector], Vector]:
    """The vector whose squares are summed; center and spreads are what is known of the numbers before."""
    weight = weights(data)
    middle = np.zeros(len(UNKNOWNS)) if center is None else center
    near = np.array([u.spread for u in UNKNOWNS]) / PRIOR_STRENGTH if spreads is None else spreads

    def residuals(x: Vector) -> Vector:
        return np.concatenate([_losses(data, predicted(data, *constants_at(x)), weight), (x - middle) / near])

    return residuals


def least(residuals: Callable[[Vector], Vector], x: Vector, *, rounds: int = 60, gain: float = 1e-7) -> Vector:
    """The x of the least sum of squares (Levenberg-Marquardt), from a start."""
    damping, at = 1e-3, residuals(x)
    best = float(at @ at)
    for _ in range(rounds):
        slope = _slope(residuals, x, at)
        square, downhill = slope.T @ slope, slope.T @ at
        while True:
            move = np.clip(-np.linalg.solve(square + damping * np.diag(np.diag(square)), downhill), -1, 1)
            tried = residuals(x + move)
            total = float(tried @ tried)
            if total < best:
                break
            damping *= 4
            if damping > 1e8:
                return x
        won, x, at, best, damping = (best - total) / best, x + move, tried, total, max(damping / 5, 1e-7)
        if won < gain:
            break
    return x


def _slope(residuals: Callable[[Vector], Vector], x: Vector, at: Vector, width: float = 1e-5) -> Vector:
    return np.column_stack([(residuals(x + width * unit) - at) / width for unit in np.eye(len(x))])


def fit(data: Sample, start: Vector | None = None, *, gain: float = 1e-7) -> Vector:
    """The numbers that fit the rows best."""
    return least(objective(data), np.zeros(len(UNKNOWNS)) if start is None else start, gain=gain)


def left_out(data: Sample, labels: Sequence[str], start: Vector) -> Vector:
    """Predictions for all rows, those of each label by constants that were fitted to the other rows only."""
    found, label = np.full_like(data.measured, np.nan), np.array(labels)
    for one in np.unique(label):
        rest = fit(data.taken(label != one), start, gain=1e-4)
        found[label == one] = predicted(data.taken(label == one), *constants_at(rest))
    return found


def rounded(value: float) -> float:
    """To four digits, as the file has them."""
    return float(f"{value:.{_DIGITS}g}")
