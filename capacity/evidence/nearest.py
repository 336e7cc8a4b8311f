"""The published measurements that are most like a run, each beside what is predicted for it."""

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from .. import catalogue
from .cases import Setup, setup_of
from .prediction import predict
from .rows import METRICS, Row, read, rows
from .rows import row as as_row

MEASURED: Final = Path(__file__).parents[1] / "data" / "measurements.csv"

# How unlike each difference makes two runs; lengths and counts add the square of their log2 ratio
_MODEL, _GPU, _ENGINE, _QUANT, _RUN = 4.0, 2.0, 1.0, 1.0, 4.0


class Measured(NamedTuple):
    """A published run: where it is from, what was measured, what is predicted for it, and measured / predicted."""

    row: Row
    measured: Mapping[str, float]  # by metric, those that were published
    predicted: Mapping[str, float]
    ratio: Mapping[str, float]
    distance: float  # 0: the same run


class _Known(NamedTuple):
    row: Row
    deployment: Setup


@cache
def _published() -> tuple[_Known, ...]:
    believed = [r for r in rows(read(MEASURED)) if isinstance(r, Row) and not r.suspect]
    models = catalogue.models()
    return tuple(_Known(r, setup_of(r, models)) for r in believed if r.model in models)


def nearest(cells: Mapping[str, Any] | Row, count: int = 3, *, models: catalogue.Table | None = None) -> list[Measured]:
    """The published measurements most like a run, the nearest first.

    Arguments:
        cells: the run, as `capacity.predict` takes it
        count: how many
        models: where the run's model is looked up; by default the catalogue with a team's own

    >>> run = {"model": "Llama-3.3-70B", "gpu": "H200", "quant": "fp8", "engine": "vllm", "tp": 2, "isl": 1024}
    >>> [m.row.model for m in nearest({**run, "osl": 1024, "concurrency": 64})]
    ['Llama-3.3-70B', 'Llama-3.3-70B', 'Llama-3.3-70B']
    """
    row = cells if isinstance(cells, Row) else as_row(cells)
    deployment = setup_of(row, models or catalogue.known_models())
    distances = [(_distance(row, deployment, known), i) for i, known in enumerate(_published())]
    return [_beside(_published()[i].row, distance) for distance, i in sorted(distances)[:count]]


def _distance(row: Row, deployment: Setup, known: _Known) -> float:
    other, there = known
    unlike = (
        _MODEL * (deployment.model != there.model)
        + _GPU * (deployment.gpu != there.gpu)
        + _ENGINE * (row.engine != other.engine)
        + _QUANT * (row.quant != other.quant)
        + _RUN * ((row.concurrency is None) != (other.concurrency is None))
    )
    a, b = deployment.fields, there.fields
    pairs = [
        (a["prompt_dense_params"] + a["prompt_expert_params"], b["prompt_dense_params"] + b["prompt_expert_params"]),
        (a["bandwidth"], b["bandwidth"]),
        (a["tp"] * a["dp"], b["tp"] * b["dp"]),
        (row.prompt_tokens, other.prompt_tokens),
        (row.output_tokens, other.output_tokens),
        (row.concurrency or 1.0, other.concurrency or 1.0),
    ]
    return unlike + sum(math.log2(x / y) ** 2 for x, y in pairs)


def _beside(row: Row, distance: float) -> Measured:
    found = predict(row, models=catalogue.models())
    ranges = dict(zip(METRICS, (found.output_tokens_per_s, found.tpot_ms, found.ttft_ms), strict=True))
    predicted = {metric: r.value for metric, r in ranges.items() if r}
    measured = {metric: float(x) for metric in METRICS if (x := getattr(row, metric)) is not None}
    ratio = {metric: x / predicted[metric] for metric, x in measured.items() if metric in predicted}
    return Measured(row, measured, predicted, ratio, distance)
