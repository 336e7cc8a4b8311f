"""A team's own benchmark rows into constants of its own, with the error before and after.

Constants move from the shipped ones as far as the rows say. One that the rows do not tell stays as it is shipped. What
is then left over is carried to runs that are alike (`corrections.py`).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from .. import catalogue
from ..error_bands import METRICS
from ..errors import CallError
from .batch import Sample, errors, sample
from .constants import ENGINE_TERMS, ENGINES, TERMS, Fitted, shipped
from .corrections import Correction, Corrections, factors, likeness, place
from .fitting import CORNER, UNKNOWNS, WEIGHT, Vector, constants_at, least, misfits, predicted, rounded
from .rows import Row, Unusable

LEAST_ROWS: Final = 3
_NOISE: Final = 0.15  # log error of a row that constants leave, 1 sigma
_LEFT: Final = 0.2  # log ratio that constants leave among runs that are alike, 1 sigma
_SCATTER: Final = 0.05  # log ratio of one run measured twice, 1 sigma: 2% TPOT and 5% TTFT, more beyond the median
_TOLD: Final = 0.4  # a constant is told by rows that bring its uncertainty below this share of what it was
_FOLDS: Final = 10


class Calibration(NamedTuple):
    """The constants, which of them the rows do not tell, and the predictions of the rows that were used."""

    fitted: Fitted
    kept: Sequence[str]
    data: Sample
    before: Vector  # by the constants shipped
    after: Vector  # each row by a calibration to the others
    refused: dict[int, str]  # place of a row -> why it is not used


def calibrate(rows: Sequence[Row | Unusable], models: catalogue.Table) -> Calibration:
    """The constants of a team's own rows, from three rows up."""
    believed = [Unusable(f"suspect: {r.suspect}") if isinstance(r, Row) and r.suspect else r for r in rows]
    measured = [Unusable("nothing is measured") if isinstance(r, Row) and not _measures(r) else r for r in believed]
    base = shipped()
    data, refused = sample(measured, base, models)
    if data is None or len(data.rows) < LEAST_ROWS:
        raise CallError(
            f"a calibration needs {LEAST_ROWS} rows that can be used, not {0 if data is None else len(data.rows)}: "
            + "; ".join(dict.fromkeys(refused.values()))
        )
    start = numbers_of(base)
    free = told(data, start)
    x = _fit(data, start, free)
    common, engines = constants_at(x)
    before = predicted(data, base.common, base.engines)
    alone, after = _each_by_others(data, start, free)
    about = {
        "fitted_to": "a team's own rows",
        "rows": len(data.rows),
        "errors_before": errors(data, before),
        "errors_after": errors(data, after),
        "errors_after_by_constants_alone": errors(data, alone),
        "starting_from": dict(base.about),
    }
    fitted = Fitted(
        common._replace(**{name: rounded(getattr(common, name)) for name in TERMS}),
        {engine: {name: rounded(value) for name, value in own.items()} for engine, own in engines.items()},
        about,
        corrections(data, predicted(data, common, engines)),
    )
    return Calibration(fitted, _kept(free), data, before, after, refused)


def _kept(free: Vector) -> list[str]:
    """The constants that stay as they are shipped."""
    unknown = zip(UNKNOWNS, free, strict=True)
    return [u.name + (f" of {u.engine}" if u.engine else "") for u, moves in unknown if not moves]


def _measures(row: Row) -> bool:
    return any(getattr(row, metric) for metric in METRICS)


def numbers_of(fitted: Fitted) -> Vector:
    """The numbers of a fit that give these constants."""
    common = {name: np.log(getattr(fitted.common, name) / term.start) for name, term in TERMS.items()}
    shared = {name: np.log(fitted.engines[""][name] / term.start) for name, term in ENGINE_TERMS.items()}
    own = {
        (name, engine): np.log(fitted.engines[engine][name] / fitted.engines[""][name])
        for name in ENGINE_TERMS
        for engine in ENGINES
    }
    return np.array([own[u.name, u.engine] if u.engine else {**common, **shared}[u.name] for u in UNKNOWNS])


def _losses(data: Sample, x: Vector) -> Vector:
    log = misfits(data, predicted(data, *constants_at(x)))
    soft = np.sign(log) * CORNER * np.sqrt(np.log1p((log / CORNER) ** 2))
    each = WEIGHT * soft / _NOISE
    return each[~np.isnan(each)]


_SPREADS: Final = np.array([u.spread for u in UNKNOWNS])


def told(data: Sample, x: Vector) -> Vector:
    """Which constants the rows tell: a mask over UNKNOWNS."""
    at = _losses(data, x)
    slope = np.column_stack([(_losses(data, x + 1e-5 * unit) - at) / 1e-5 for unit in np.eye(len(x))])
    uncertain = np.linalg.inv(slope.T @ slope + np.diag(_SPREADS**-2.0))
    return np.sqrt(np.diag(uncertain)) < _TOLD * _SPREADS


def _fit(data: Sample, start: Vector, free: Vector) -> Vector:
    def residuals(moved: Vector) -> Vector:
        x = start.copy()
        x[free] += moved
        return np.concatenate([_losses(data, x), moved / _SPREADS[free]])

    found = start.copy()
    if free.any():
        found[free] += least(residuals, np.zeros(int(free.sum())), rounds=20, gain=1e-4)
    return found


def corrections(data: Sample, found: Vector) -> Corrections:
    """What the rows say beyond constants, by model, GPU and engine."""
    places = [place(r.quant, case) for r, case in zip(data.rows, data.cases(), strict=True)]
    left, made = -misfits(data, found), {}
    for series in dict.fromkeys(g.series for g in data.groups):
        mine = [i for i, g in enumerate(data.groups) if g.series == series]
        near = np.array([[likeness(places[i], places[j]) for j in mine] for i in mine]) * _LEFT**2
        weights = np.zeros((len(mine), len(METRICS)))
        for m in range(len(METRICS)):
            known = ~np.isnan(left[mine, m])
            own = near[np.ix_(known, known)] + _SCATTER**2 * np.eye(int(known.sum()))
            weights[known, m] = _LEFT**2 * np.linalg.solve(own, left[mine, m][known])
        made[series] = Correction([places[i] for i in mine], np.round(weights, 6).tolist())
    return made


def _each_by_others(data: Sample, start: Vector, free: Vector) -> tuple[Vector, Vector]:
    """Predictions of rows by calibrations that did not see them: in ten parts, or one by one where they are few.

    By their constants alone, and with their corrections.
    """
    count = len(data.rows)
    part = np.arange(count) % min(_FOLDS, count)
    alone, found = np.full_like(data.measured, np.nan), np.full_like(data.measured, np.nan)
    for one in np.unique(part):
        rest, these = data.taken(part != one), data.taken(part == one)
        x = _fit(rest, start, free)
        known = corrections(rest, predicted(rest, *constants_at(x)))
        alone[part == one] = predicted(these, *constants_at(x))
        found[part == one] = corrected(these, alone[part == one], known)
    return alone, found


def corrected(data: Sample, found: Vector, known: Corrections) -> Vector:
    """Predictions by constants with the corrections."""
    result = found.copy()
    for i, (row, group, case) in enumerate(zip(data.rows, data.groups, data.cases(), strict=True)):
        if group.series in known:
            result[i] *= factors(known[group.series], place(row.quant, case))
    return result
