"""The published measurements, each with what is predicted for it, and how unlike a run they are.

The rows and their predictions are data, written by the fit (capacity/evidence/fit.py) from measurements.csv: those
that are believed and whose model is in the catalogue.
"""

import csv
import math
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Annotated, Final, NamedTuple

from . import catalogue
from .arguments import Number, Text
from .error_bands import KINDS, METRICS, RUNS, one_of
from .errors import InputTypeError, NotKnown
from .numeric import floor, is_array
from .one_cell import optional
from .registry import function
from .terms import OutputTokens, PromptTokens, Tp

FILE: Final = "published.csv"
TEXTS: Final = ("id", "source", "model", "gpu", "quant", "engine", "run")
NUMBERS: Final = ("gpus", "prompt_tokens", "output_tokens", "concurrency")
PREDICTED: Final = tuple(f"predicted_{metric}" for metric in METRICS)
HEADER: Final = (*TEXTS, *NUMBERS, *METRICS, *PREDICTED)
RATIOS: Final = tuple(f"ratio_{metric}" for metric in METRICS)
ENGINES: Final = ("vllm", "sglang", "trtllm", "other")
QUANTS: Final = ("bf16", "fp8", "int4", "fp4", "mxfp4", "native")
NOT_PUBLISHED: Final = "not published"

# How unlike another name makes two runs; each figure adds the square of the log2 of their ratio.
UNLIKE: Final = {"model": 4.0, "gpu": 2.0, "quant": 1.0, "engine": 1.0, "run": 4.0}
COMPARED: Final = ("active_params_b", "bandwidth_tb_s", *NUMBERS)
_DIGITS: Final = 1e3  # distances count to a thousandth: of equal ones the first in the file is nearer


class Run(NamedTuple):
    """What two runs are compared by."""

    names: tuple[str, ...]  # as UNLIKE, as the catalogue spells them
    figures: tuple[float, ...]  # as COMPARED, each above 0; an offline run's concurrency is 1


class Published(NamedTuple):
    """A published run: where it is from, what was run, measured and predicted; None where that was not published."""

    texts: Mapping[str, str]
    figures: Mapping[str, float | None]
    run: Run

    def value(self, name: str) -> float | str:
        """A text, a figure or a ratio measured over predicted; words where there is none."""
        if name in self.texts:
            return self.texts[name]
        if name not in RATIOS:
            found = self.figures[name]
            return NOT_PUBLISHED if found is None else found
        metric = METRICS[RATIOS.index(name)]
        measured, predicted = self.figures[metric], self.figures[f"predicted_{metric}"]
        return NOT_PUBLISHED if measured is None or predicted is None else round(measured / predicted, 6)


@cache
def published() -> tuple[Published, ...]:
    """All of them, in the order of the file."""
    from importlib.resources import files  # slow to import, and only needed when a measurement is asked for

    text = files("capacity").joinpath("data", FILE).read_text("utf-8")
    return tuple(map(_read, csv.DictReader(text.splitlines())))


def _read(cells: Mapping[str, str]) -> Published:
    texts = {name: cells[name] for name in TEXTS}
    figures = {name: float(text) if (text := cells[name]) else None for name in HEADER if name not in TEXTS}
    figures["active_params_b"] = float(catalogue.models().value(texts["model"], "active_params")) / 1e9
    figures["bandwidth_tb_s"] = float(catalogue.gpus().value(texts["gpu"], "bandwidth_tb_s"))
    figures["concurrency"] = figures["concurrency"] or 1.0  # offline: all are queued at once
    compared = tuple(figures[name] or 1.0 for name in COMPARED)
    texts["kind"] = KINDS[1 if catalogue.models().value(texts["model"], "routed_expert_params") else 0]
    return Published(texts, figures, Run(tuple(texts[name] for name in UNLIKE), compared))


def distance(a: Run, b: Run) -> float:
    """How unlike two runs are: 0 for the same."""
    names = sum(far for x, y, far in zip(a.names, b.names, UNLIKE.values(), strict=True) if x != y)
    figures = sum((math.log2(x) - math.log2(y)) ** 2 for x, y in zip(a.figures, b.figures, strict=True))
    return floor((names + figures) * _DIGITS + 0.5) / _DIGITS


@lru_cache(256)
def by_distance(run: Run) -> tuple[tuple[float, int], ...]:
    """The distance of each published run and its place in the file, the nearest first."""
    return tuple(sorted((distance(run, other.run), i) for i, other in enumerate(published())))


DISTANCE: Final = "distance"
FIELDS: Final = (*TEXTS, "kind", *COMPARED, *METRICS, *PREDICTED, *RATIOS, DISTANCE)
_SINGLE: Final = (
    "rank",
    "prompt_tokens",
    "output_tokens",
    "concurrency",
    "tp",
    "own_active_params_b",
    "own_bandwidth_tb_s",
)


@function(
    "Nearest published measurement",
    returns="number or text",
    words="of the published measurement that is that near to one's own: its source, a figure, or measured / predicted",
    native="",
    derivation="{what} of number {rank} of the published runs by nearness is {result}",
    source="The published runs (capacity/data/measurements.csv), each with its source",
)
def nearest(
    what: Annotated[
        str,
        Text("what is asked for", bounds="a field of a measurement, e.g. ratio_output_tokens_per_s", example="model"),
    ],
    rank: Annotated[float, Number("count", "rank: 1 for the nearest", example=1, ge=1, whole=True)],
    model: Annotated[str, Text("model: name or alias", bounds="any name", example="Llama-3.3-70B")],
    gpu: Annotated[str, Text("GPU: name or alias", bounds="any name", example="H200 SXM")],
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    concurrency: Annotated[float, Number("sequences", "concurrency: requests at once", example=64, ge=1)],
    tp: Annotated[float, optional(Tp)] = 2,
    quant: Annotated[
        str, Text("format of the weights", bounds=", ".join(QUANTS), example="fp8", default="fp8")
    ] = "fp8",
    engine: Annotated[str, Text("engine", bounds=", ".join(ENGINES), example="vllm", default="vllm")] = "vllm",
    run_kind: Annotated[
        str, Text("kind of benchmark", bounds=" or ".join(RUNS), example=RUNS[0], default=RUNS[0])
    ] = RUNS[0],
    own_active_params_b: Annotated[
        float,
        Number("billion", "active parameters: 0 for those of the catalogue", example=0, default=0, ge=0),
    ] = 0,
    own_bandwidth_tb_s: Annotated[
        float,
        Number("TB/s", "memory bandwidth of one GPU: 0 for that of the catalogue", example=0, default=0, ge=0),
    ] = 0,
) -> float | str:
    """One figure or text of the published measurement that is nearest, second nearest and so on; #N/A beyond the last.

    A name that the catalogue does not have needs its figure: active parameters, or bandwidth.

    >>> nearest("model", 1, "Llama-3.3-70B", "H200", 1024, 1024, 64)
    'Llama-3.3-70B'
    """
    given = (rank, prompt_tokens, output_tokens, concurrency, tp, own_active_params_b, own_bandwidth_tb_s)
    for name, x in zip(_SINGLE, given, strict=True):
        if is_array(x):
            raise InputTypeError(name, type(x).__name__, "must be one number")
    field = one_of("field", what, FIELDS)
    quant, engine = one_of("quant", quant, QUANTS), one_of("engine", engine, ENGINES)
    run_kind = one_of("run_kind", run_kind, RUNS)
    name, active = _known(catalogue.known_models(), model, "active_params", 1e9, own_active_params_b)
    there, bandwidth = _known(catalogue.gpus(), gpu, "bandwidth_tb_s", 1.0, own_bandwidth_tb_s)
    at_once = concurrency if run_kind == RUNS[0] else 1.0
    figures = (active, bandwidth, tp, max(1.0, prompt_tokens), max(1.0, output_tokens), at_once)
    ranked = by_distance(Run((name, there, quant, engine, run_kind), figures))
    if rank > len(ranked):
        raise NotKnown(f"published run {rank:g} by nearness", f"{len(ranked)} that there are")
    far, place = ranked[int(rank) - 1]
    return far if field == DISTANCE else published()[place].value(field)


def _known(table: catalogue.Table, name: str, fact: str, of: float, given: float) -> tuple[str, float]:
    """A name as the catalogue spells it, and what was given of it or else the catalogue's figure."""
    if name not in table and given:
        return name.strip(), given
    return str(table.row(name)["name"]), given or float(table.value(name, fact)) / of
