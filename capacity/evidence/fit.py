"""The fit of the shipped constants: measurements in; constants, error bands, errors by group and predictions out.

    python -m capacity.evidence.fit

fits the constants to the published rows, leaving out those that are marked suspect, and writes
the files.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from .. import catalogue
from ..error_bands import CHAINS, HEADER, METRICS, RUNS
from ..error_bands import FILE as BANDS
from ..published import FILE as PUBLISHED
from ..published import HEADER as PUBLISHED_HEADER
from .batch import Sample, errors, sample
from .cases import setup_of
from .constants import TERMS, Fitted, as_text, shipped
from .fitting import UNKNOWNS, Vector, constants_at, fit, left_out, predicted, rounded
from .nearest import MEASURED, gpus_of
from .percentiles import SCORES as PERCENTILE_SCORES
from .percentiles import PercentileScore, fitted_echo, percentile_scores, runs
from .prediction import Prediction, predict_rows
from .rows import Row, read, rows
from .seed import seed_figures
from .validation import FILE as SCORES
from .validation import Score, scores

DATA: Final = Path(__file__).parents[1] / "data"

CONSTANTS: Final = "constants.json"
COLLECTED: Final = "2026-11-29"


@cache
def published() -> Sample:
    """The published rows that can be predicted and are not suspect."""
    believed = [r for r in rows(read(MEASURED)) if isinstance(r, Row) and not r.suspect]
    found, _ = sample(believed, _start(), catalogue.models())
    assert found is not None
    return found


def _start() -> Fitted:
    common, engines = constants_at(np.zeros(len(UNKNOWNS)))
    return Fitted(common, engines, {})


def fitted_constants(data: Sample, x: Vector, about: dict[str, Any]) -> Fitted:
    """The constants as the file has them: rounded, with what they were fitted to."""
    common, engines = constants_at(x)
    return Fitted(
        common._replace(**{name: rounded(getattr(common, name)) for name in TERMS}),
        {engine: {name: rounded(v) for name, v in own.items()} for engine, own in engines.items()},
        about,
    )


def band_rows(data: Sample, found: Vector, chain: str = CHAINS[0]) -> list[dict[str, Any]]:
    """The error bands of predictions: by a chain's constants, for models that were left out of their fit."""
    ratio, kinds = data.measured / found, data.by("kind", "run")
    made = []
    for i, metric in enumerate(METRICS):
        for kind in np.unique(kinds):
            known = ratio[(kinds == kind) & ~np.isnan(ratio[:, i]), i]
            if len(known):
                p10, p50, p90 = np.quantile(known, [0.1, 0.5, 0.9])
                cells = (chain, metric, *kind.split(" | "), len(known), *(rounded(q) for q in (p10, p50, p90)))
                made.append(dict(zip(HEADER, cells, strict=True)))
    return made


def seed_bands(data: Sample) -> list[dict[str, Any]]:
    """The error bands of the worked example's fixed assumptions, of the rows for which they have an answer."""
    models = catalogue.models()
    return band_rows(data, np.array([seed_figures(row, models) for row in data.rows]), CHAINS[1])


def published_rows(data: Sample) -> list[dict[str, Any]]:
    """Each row with what the shipped constants predict for it, where its model is in the catalogue."""
    models = catalogue.models()
    made = []
    for row, found in zip(data.rows, predict_rows(data.rows, models=models), strict=True):
        assert isinstance(found, Prediction)
        setup = setup_of(row, models)
        ranges = (found.output_tokens_per_s, found.tpot_ms, found.ttft_ms)
        cells = {
            **{name: getattr(row, name) for name in PUBLISHED_HEADER if name in type(row).model_fields},
            "model": setup.model,
            "gpu": setup.gpu,
            "engine": row.engine or "other",
            "run": RUNS[1 if row.concurrency is None else 0],
            "gpus": gpus_of(row, setup),
            **{f"predicted_{m}": f"{r.value:.6g}" if r else None for m, r in zip(METRICS, ranges, strict=True)},
        }
        made.append({name: f"{x:.10g}" if isinstance(x, float) else x for name, x in cells.items()})
    return made


def main() -> None:
    """Fit, and write constants, error bands, the errors by group, and the rows with predictions."""
    data = published()
    x = fit(data)
    others = left_out(data, list(data.by("model")), x)
    about = {
        "fitted_to": "the rows of measurements.csv that are not suspect",
        "collected": COLLECTED,
        "rows": len(data.rows),
        "models": len(set(data.by("model"))),
        "errors": errors(data, predicted(data, *constants_at(x))),
        "errors_leaving_each_model_out": errors(data, others),
        "ttft_echo": fitted_echo(runs(), *constants_at(x)),
    }
    (DATA / CONSTANTS).write_text(as_text(fitted_constants(data, x, about)), "utf-8")
    shipped.cache_clear()
    _write(BANDS, HEADER, band_rows(data, others) + seed_bands(data))
    _write(PUBLISHED, PUBLISHED_HEADER, published_rows(data))
    _write(SCORES, Score._fields, [score._asdict() for score in scores(data)])
    _write(PERCENTILE_SCORES, PercentileScore._fields, [score._asdict() for score in percentile_scores(data)])


def _write(file: str, header: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    (DATA / file).write_text(out.getvalue(), "utf-8")


if __name__ == "__main__":
    main()
