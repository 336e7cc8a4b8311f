"""TTFT by percentile of published closed loops, beside what the functions of the sheet TTFT give for them.

How `data/ttft_percentiles.csv` was collected: outputs of vLLM bench serve and SGLang bench_serving as pasted into
guides, recipes and bug reports, found by the text of their reports ("Max request concurrency", "P99 TTFT"); kept where
the same text names model, GPU, count, weights, lengths, concurrency and prompts. Six runs of a page at most. None of
them is in the fit of the constants.

What is decisive is the number of prompts. A closed loop begins with all its slots at once, so that of N prompts at
concurrency C the share C/N is in one burst: of 500 prompts at 100 the P99 is a figure of the burst.

Suspect, and left out: runs of SGLang after another of the same page, since one seed draws the same prompts and the
prefix cache was not flushed, so that the burst was mostly read from the cache (70B on A100: 64 prompts of 4,000 tokens
within 1.9 s would be 19 PFLOP/s); pages whose figures contradict themselves; an engine that stood still. Runs whose
requests do not all fit at once wait for KV and are not of this kind either. What was not published is blank: P90
is in 7 of the rows that count, six of which are one source's, with attention by data parallelism and speculation.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from .. import catalogue
from ..constants import TTFT_ECHO
from ..ttft import prompts_before_at, ttft_closed_ms, wave_prompts
from .batch import Sample, outcome, sample
from .calibration import numbers_of
from .constants import ENGINE_TERMS, Constants, shipped
from .fitting import Vector, constants_at, fit
from .rows import Row, read, rows

FILE: Final = "ttft_percentiles.csv"
SCORES: Final = "ttft_validation.csv"
LONG: Final = 16  # prompts for each slot of a loop, from which its start is a small part of it
PERCENTILES: Final = {0.5: "ttft_p50_ms", 0.9: "ttft_p90_ms", 0.99: "ttft_p99_ms"}
DRIFT: Final = 0.01  # rise of a median error that is reported

Engines = Mapping[str, Mapping[str, float]]


class Runs(NamedTuple):
    """Published runs whose requests all fit at once, and the TTFT measured at each percentile, NaN: not."""

    data: Sample
    measured: Mapping[float, Vector]

    def taken(self, which: Any) -> "Runs":
        """The runs where a mask holds."""
        return Runs(self.data.taken(which), {p: values[which] for p, values in self.measured.items()})

    def given(self, percentile: float, echo: float, k: Constants, engines: Engines) -> Vector:
        """What the functions give, with constants of the model: of its step, of its prefill and of the engines."""
        case = self.data.case
        found = outcome(case, k)
        each = (found.prefill + case.layers * k.prefill_layer_us / 1e6) * 1e3
        own = {n: np.array([engines.get(g.engine, engines[""])[n] for g in self.data.groups]) for n in ENGINE_TERMS}
        together = np.array([min(1.0, float(r.concurrency or 1) / float(r.requests or 1)) for r in self.data.rows])
        wave = wave_prompts(found.batch, together, own["ttft_burst"], echo)
        before = prompts_before_at(found.batch, percentile, wave, together)
        return ttft_closed_ms(each, found.step * 1e3, before, own["ttft_steps"])


class PercentileScore(NamedTuple):
    """Median error at a percentile of a group of runs: with shipped constants, and leaving model or source out."""

    percentile: float
    group: str
    rows: int
    shipped: float
    left_out: float
    source_out: float

    def worse(self, before: "PercentileScore") -> str:
        """One line where an error is larger than it was, else nothing."""
        pairs = {name: (getattr(before, name), getattr(self, name)) for name in ("shipped", "left_out", "source_out")}
        moved = [f"{name} {old:.1%} -> {new:.1%}" for name, (old, new) in pairs.items() if new - old > DRIFT]
        return f"drift: TTFT at {self.percentile:.0%}, {self.group}: {', '.join(moved)}" if moved else ""


@cache
def runs() -> Runs:
    """The published runs that are not suspect and whose requests all fit."""
    lines = read(Path(str(files("capacity").joinpath("data", FILE))))
    believed = [r for r in rows(lines) if isinstance(r, Row) and not r.suspect]
    found, _ = sample(believed, shipped(), catalogue.models())
    assert found is not None
    at = {line["id"]: line for line in lines}
    measured = {
        p: np.array([float(at[r.id][column] or np.nan) for r in found.rows]) for p, column in PERCENTILES.items()
    }
    return Runs(found, measured).taken(found.case.wanted <= outcome(found.case, shipped().common).capacity)


def fitted_echo(of: Runs, k: Constants, engines: Engines) -> float:
    """The echo of the start for which the logs of given over measured are least, the sum of their sizes.

    Of runs with several requests at a time; at the percentiles together, to two digits.
    """
    some = of.taken(of.data.case.wanted > 1)

    def misfit(echo: float) -> float:
        logs = (np.log(some.given(p, echo, k, engines) / measured) for p, measured in some.measured.items())
        return sum(float(np.nansum(np.abs(x))) for x in logs)

    return min((float(x) for x in np.arange(1, 201) / 100), key=misfit)


@cache
def percentile_baseline() -> Sequence[PercentileScore]:
    """The errors when the constants were fitted."""
    text = files("capacity").joinpath("data", SCORES).read_text("utf-8")
    lines = (list(line.values()) for line in csv.DictReader(text.splitlines()))
    return [PercentileScore(float(p), group, int(n), *map(float, errors)) for p, group, n, *errors in lines]


def percentile_scores(fitted_to: Sample) -> list[PercentileScore]:
    """The errors at each percentile that was measured, of all runs and by group."""
    return list(_scores(runs(), fitted_to))


def _scores(all_runs: Runs, fitted_to: Sample) -> Iterator[PercentileScore]:
    base = shipped()
    shown = {p: all_runs.given(p, TTFT_ECHO.value, base.common, base.engines) for p in PERCENTILES}
    found = (shown, _left_out(all_runs, fitted_to, _models), _left_out(all_runs, fitted_to, _sources))
    several = all_runs.data.case.wanted > 1
    long = np.array([float(r.requests or 1) for r in all_runs.data.rows]) >= LONG * all_runs.data.case.wanted
    groups = {
        "all runs": several | True,
        "one request at a time": ~several,
        "several at a time": several,
        f"several, {LONG} prompts a slot and more": several & long,
        f"several, fewer than {LONG} prompts a slot": several & ~long,
    }
    for p, measured in all_runs.measured.items():
        for name, mask in groups.items():
            mine = mask & ~np.isnan(measured)
            if mine.any():
                errors = (float(np.median(np.abs(by[p][mine] / measured[mine] - 1))) for by in found)
                yield PercentileScore(p, name, int(mine.sum()), *(round(e, 4) for e in errors))


def _models(data: Sample) -> Any:
    return data.by("model")


def _sources(data: Sample) -> Any:
    return np.array([row.source for row in data.rows])


def _left_out(all_runs: Runs, fitted_to: Sample, labels: Callable[[Sample], Any]) -> dict[float, Vector]:
    """By the echo, and by constants of the model, that were fitted without the rows of a run's own label."""
    base, label, seen = shipped(), labels(all_runs.data), labels(fitted_to)
    found = {p: np.empty(len(label)) for p in PERCENTILES}
    for one in np.unique(label):
        constants: tuple[Constants, Engines] = base.common, base.engines
        if one in seen:
            constants = constants_at(fit(fitted_to.taken(seen != one), numbers_of(base), gain=1e-4))
        echo = fitted_echo(all_runs.taken(label != one), *constants)
        for p in PERCENTILES:
            found[p][label == one] = all_runs.taken(label == one).given(p, echo, *constants)
    return found
