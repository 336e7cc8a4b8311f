"""What a row of a benchmark should measure, with the range of 8 in 10 comparable measurements."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from .. import catalogue
from ..error_bands import Band, bands
from ..errors import CapacityError
from .cases import Setup, setup_of, with_setup
from .constants import Fitted, shipped
from .corrections import factors, place
from .model import FLOATS, Case, run
from .rows import Row, Unusable
from .rows import row as as_row

COLUMNS: Final = tuple(
    f"predicted_{metric}{end}"
    for metric in ("output_tokens_per_s", "tpot_ms", "ttft_ms")
    for end in ("", "_p10", "_p90")
)


class Range(NamedTuple):
    """A prediction, and between what 8 of 10 comparable measurements lie."""

    value: float
    p10: float
    p90: float


class Prediction(NamedTuple):
    """What a run should measure. TTFT of an offline run is not predicted: it is the wait in a queue of all requests."""

    output_tokens_per_s: Range
    tpot_ms: Range
    ttft_ms: Range | None
    batch: float  # sequences that run at once
    capacity: float  # sequences that the KV pool holds
    assumed: str  # what the row does not say, and was taken for it

    def cells(self) -> dict[str, float | str]:
        """The values under COLUMNS; what is not predicted is blank."""
        ranges = (self.output_tokens_per_s, self.tpot_ms, self.ttft_ms)
        values = [x for r in ranges for x in (r or ("", "", ""))]
        return dict(zip(COLUMNS, values, strict=True))


def predict(
    cells: Mapping[str, Any] | Row, *, models: catalogue.Table | None = None, constants: Fitted | None = None
) -> Prediction:
    """The output rate, TPOT and TTFT that a benchmark of a deployment should measure.

    Arguments:
        cells: what was run, by the columns of benchmark exports (capacity/evidence/columns.py): model, gpu, quant,
            isl and osl at least; concurrency for a closed loop, none for an offline run
        models: where the model is looked up; by default the catalogue with a team's own
        constants: of a calibration; by default those shipped
    Returns: rates of the whole deployment in tokens per second, times in ms
    Errors: CapacityError with one sentence where a name, a fact or a figure does not do

    >>> run = {"model": "Llama-3.3-70B", "gpu": "H200", "quant": "fp8", "tp": 2, "isl": 3000, "osl": 400}
    >>> found = predict({**run, "concurrency": 64})
    >>> found.output_tokens_per_s.p10 < found.output_tokens_per_s.value < found.output_tokens_per_s.p90
    True
    """
    row = cells if isinstance(cells, Row) else as_row(cells)
    deployment = setup_of(row, models or catalogue.known_models())
    return _predicted(row, deployment, constants or shipped())


def _predicted(row: Row, deployment: Setup, fitted: Fitted) -> Prediction:
    case = with_setup(row, deployment, fitted)
    found = run(case, fitted.common, FLOATS)
    values = (found.output_tokens_per_s, found.tpot * 1e3, found.ttft * 1e3)
    return _ranged(row, deployment, _corrected(row, deployment, case, values, fitted), found.batch, found.capacity)


def _corrected(row: Row, deployment: Setup, case: Case, values: Sequence[float], fitted: Fitted) -> Sequence[float]:
    """The values by what a team's own runs of the same model, GPU and engine say beyond constants."""
    if not fitted.corrections:
        return values
    known = fitted.corrections.get((deployment.model, deployment.gpu, row.engine))
    if known is None:
        return values
    return [value * factor for value, factor in zip(values, factors(known, place(row.quant, case)), strict=True)]


def _ranged(row: Row, deployment: Setup, values: Sequence[float], batch: float, capacity: float) -> Prediction:
    closed = row.concurrency is not None
    kinds = "MoE" if deployment.moe else "dense", "closed loop" if closed else "offline"
    known = bands()
    rate, tpot, ttft = (
        _range(value, known.get(("Refined", metric, *kinds)) or known["Refined", metric, kinds[0], "closed loop"])
        for metric, value in zip(("output_tokens_per_s", "tpot_ms", "ttft_ms"), values, strict=True)
    )
    return Prediction(rate, tpot, ttft if closed else None, batch, capacity, deployment.assumed)


def _range(value: float, band: Band) -> Range:
    return Range(value, value * band.p10, value * band.p90)


def predict_rows(
    rows: Sequence[Row | Unusable], *, models: catalogue.Table | None = None, constants: Fitted | None = None
) -> list[Prediction | Unusable]:
    """All rows at once, with NumPy: a prediction for each, or why there is none."""
    import numpy as np

    from .batch import outcome

    table, fitted = models or catalogue.known_models(), constants or shipped()
    found: list[Prediction | Unusable] = []
    good, cases = [], []
    for row in rows:
        if isinstance(row, Unusable):
            found.append(row)
            continue
        try:
            deployment = setup_of(row, table)
            cases.append(with_setup(row, deployment, fitted))
        except CapacityError as error:
            found.append(Unusable(str(error)))
            continue
        good.append((len(found), row, deployment, cases[-1]))
        found.append(Unusable(""))  # its place, until all are computed
    if good:
        out = outcome(Case(*np.array(cases, dtype=float).T), fitted.common)
        figures = np.column_stack([out.output_tokens_per_s, out.tpot * 1e3, out.ttft * 1e3, out.batch, out.capacity])
        for (at, row, deployment, case), (*values, batch, capacity) in zip(good, figures.tolist(), strict=True):
            own = _corrected(row, deployment, case, values, fitted)
            found[at] = _ranged(row, deployment, own, batch, capacity)
    return found
