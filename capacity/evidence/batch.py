"""Many rows at once, with NumPy."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from .. import catalogue
from ..error_bands import METRICS
from ..errors import CapacityError
from .cases import setup_of, with_setup
from .constants import Constants, Fitted
from .model import Case, Ops, Outcome, run
from .rows import Row, Unusable

ARRAYS: Final = Ops(np.maximum, np.minimum, np.where)


class Group(NamedTuple):
    """What rows are compared by."""

    model: str
    gpu: str
    engine: str
    quant: str
    kind: str  # dense or MoE
    run: str  # closed loop or offline

    @property
    def series(self) -> tuple[str, str, str]:
        """Model, GPU and engine."""
        return self.model, self.gpu, self.engine


class Sample(NamedTuple):
    """Rows with their cases stacked into arrays, and what was measured: a column for each of METRICS, NaN: not."""

    rows: Sequence[Row]
    groups: Sequence[Group]
    case: Case
    measured: Any

    def taken(self, which: Any) -> "Sample":
        """The rows where a mask holds, or those of an array of places."""
        places = np.arange(len(self.rows))[which]
        return Sample(
            [self.rows[i] for i in places],
            [self.groups[i] for i in places],
            Case(*(field[places] for field in self.case)),
            self.measured[places],
        )

    def cases(self) -> Iterator[Case]:
        """The case of each row."""
        return (Case(*values) for values in zip(*(field.tolist() for field in self.case), strict=True))

    def by(self, *names: str) -> Any:
        """An array of labels: those fields of the groups, joined."""
        return np.array([" | ".join(str(getattr(g, n)) for n in names) for g in self.groups])


def sample(
    rows: Sequence[Row | Unusable], fitted: Fitted, models: catalogue.Table
) -> tuple[Sample | None, dict[int, str]]:
    """The rows that can be predicted, and for the others the reason by their place."""
    good, groups, cases, refused = [], [], [], {}
    for place, row in enumerate(rows):
        if isinstance(row, Unusable):
            refused[place] = row.reason
            continue
        try:
            deployment = setup_of(row, models)
            cases.append(with_setup(row, deployment, fitted))
        except CapacityError as error:
            refused[place] = str(error)
            continue
        kinds = "MoE" if deployment.moe else "dense", "closed loop" if row.concurrency else "offline"
        groups.append(Group(deployment.model, deployment.gpu, row.engine, row.quant, *kinds))
        good.append(row)
    if not good:
        return None, refused
    stacked = Case(*np.array(cases, dtype=float).T)
    measured = np.array([[getattr(r, m) or np.nan for m in METRICS] for r in good], dtype=float)
    return Sample(good, groups, stacked, measured), refused


def outcome(case: Case, constants: Constants) -> Outcome:
    """All rows at once."""
    return run(case, constants, ARRAYS)


def metrics(found: Outcome) -> Any:
    """A column for each of METRICS."""
    return np.column_stack([found.output_tokens_per_s, found.tpot * 1e3, found.ttft * 1e3])


def errors(data: Sample, found: Any) -> dict[str, dict[str, float]]:
    """For each metric: rows, median error, ninth decile, and the share of rows within 20%."""
    off = np.abs(found / data.measured - 1)
    figures = {}
    for i, metric in enumerate(METRICS):
        known = off[:, i][~np.isnan(off[:, i])]
        if len(known):
            figures[metric] = {
                "rows": len(known),
                "median": round(float(np.median(known)), 4),
                "p90": round(float(np.quantile(known, 0.9)), 4),
                "within_20": round(float(np.mean(known <= 0.2)), 4),
            }
    return figures
