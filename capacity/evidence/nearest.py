"""The published measurements that are most like a run, each beside what is predicted for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from .. import catalogue
from ..error_bands import METRICS, RUNS
from ..published import PREDICTED, RATIOS, Published, Run, by_distance, published
from .cases import Setup, setup_of
from .rows import Row
from .rows import row as as_row

MEASURED: Final = Path(__file__).parents[1] / "data" / "measurements.csv"


class Measured(NamedTuple):
    """A published run: where it is from, what was measured, what is predicted for it, and measured / predicted."""

    row: Published
    measured: Mapping[str, float]  # by metric, those that were published
    predicted: Mapping[str, float]
    ratio: Mapping[str, float]
    distance: float  # 0: the same run


def nearest(cells: Mapping[str, Any] | Row, count: int = 3, *, models: catalogue.Table | None = None) -> list[Measured]:
    """The published measurements most like a run, the nearest first, as the function NEAREST ranks them.

    Arguments:
        cells: the run, as `capacity.predict` takes it
        count: how many
        models: where the run's model is looked up; by default the catalogue with a team's own

    >>> run = {"model": "Llama-3.3-70B", "gpu": "H200", "quant": "fp8", "engine": "vllm", "tp": 2, "isl": 1024}
    >>> [m.row.texts["model"] for m in nearest({**run, "osl": 1024, "concurrency": 64})]
    ['Llama-3.3-70B', 'Llama-3.3-70B', 'Llama-3.3-70B']
    """
    row = cells if isinstance(cells, Row) else as_row(cells)
    table = models or catalogue.known_models()
    run = run_of(row, setup_of(row, table), table)
    return [_beside(published()[i], distance) for distance, i in by_distance(run)[:count]]


def run_of(row: Row, deployment: Setup, models: catalogue.Table) -> Run:
    """What the run is compared by."""
    closed = row.concurrency is not None
    active = float(models.value(deployment.model, "active_params")) / 1e9
    bandwidth = float(catalogue.gpus().value(deployment.gpu, "bandwidth_tb_s"))
    lengths = (row.prompt_tokens, row.output_tokens, row.concurrency or 1.0)
    names = (deployment.model, deployment.gpu, row.quant, row.engine or "other", RUNS[0 if closed else 1])
    return Run(names, (active, bandwidth, gpus_of(row, deployment), *lengths))


def gpus_of(row: Row, deployment: Setup) -> float:
    """GPUs of the replica that was measured."""
    return deployment.fields["tp"] * deployment.fields["dp"] * row.pp


def _beside(row: Published, distance: float) -> Measured:
    def known(names: tuple[str, ...]) -> dict[str, float]:
        values = {metric: row.value(name) for metric, name in zip(METRICS, names, strict=True)}
        return {metric: x for metric, x in values.items() if isinstance(x, float)}

    return Measured(row, known(METRICS), known(PREDICTED), known(RATIOS), distance)
