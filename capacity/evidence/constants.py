"""Constants of the evidence model: what each means, where its fit starts, and the file that holds the fitted values.

One global set: constants per GPU generation or engine predict models that were left out worse. Only those of TTFT
are the engine's own, as engines schedule prompts differently. `python -m capacity.evidence.fit` writes the file.
"""

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..errors import CallError, InputError
from .corrections import NONE, Corrections, as_data, from_data

FORMAT: Final = "llm-capacity constants 1"


class Term(NamedTuple):
    """A constant to fit: a plausible value before any measurement, and how far from it (log, 1 sigma) it may lie."""

    unit: str
    meaning: str
    start: float
    spread: float
    most: float = math.inf


TERMS: Final[dict[str, Term]] = {
    "mbu_weights": Term("fraction", "share of bandwidth reached when reading weights", 0.85, 0.15, 1),
    "mbu_kv": Term("fraction", "share of bandwidth reached when reading KV cache", 0.7, 0.25, 1),
    "mfu_dense": Term("fraction", "share of peak that dense layers reach", 0.6, 0.25, 1),
    "mfu_experts": Term("fraction", "share of peak that routed experts reach", 0.4, 0.4, 1),
    "mfu_attention": Term("fraction", "share of the BF16 peak that attention reaches in prefill", 0.5, 0.4, 1),
    "host_ms": Term("ms", "host time per decode step", 1, 0.7),
    "launch_us": Term("us", "launch of one kernel", 4, 0.5),
    "activation_passes": Term("count", "times that a layer's activations cross the memory bus", 20, 0.6),
    "expert_tokens": Term("tokens", "tokens for which a touched expert computes at least", 16, 0.5),
    "allreduce_latency_us": Term("us", "latency of an all-reduce", 2, 0.5),
    "alltoall_latency_us": Term("us", "latency of an expert all-to-all", 15, 0.6),
    "link_efficiency": Term("fraction", "share of the link's rate that a collective reaches", 0.6, 0.4, 1),
    "prefill_layer_us": Term("us", "fixed time per prompt and layer", 40, 0.8),
    "ramp": Term("fraction", "part of an offline batch's time lost while it begins and ends", 0.5, 0.5),
}
# of an engine, and of one that is not known
ENGINE_TERMS: Final[dict[str, Term]] = {
    "ttft_steps": Term("steps", "decode steps that pass before a request's prefill begins", 1.5, 0.8),
    "ttft_burst": Term("prompts", "prompts that arrive with a request and are read before it", 1, 0.8),
    "ttft_queue": Term("fraction", "share of the other prompts of a batch that a request waits for", 0.05, 0.6),
}
ENGINE_SPREAD: Final = 3.0  # of an engine from what all have in common
ENGINES: Final = ("vllm", "sglang", "trtllm")


class Setting(NamedTuple):
    """What engines are set to unless somebody changes it, and the shape of a formula; not fitted."""

    value: float
    unit: str
    meaning: str
    source: str


SETTINGS: Final[dict[str, Setting]] = {
    "overlap_power": Setting(
        3, "count", "sharpness of the roofline's corner", "a round value: the rows do not tell it"
    ),
    "memory_fraction": Setting(0.92, "fraction", "share of free memory given to KV", "vLLM: 0.92 in recent versions"),
    "reserve_gb": Setting(2.5, "GB", "memory that neither weights nor KV take", "engines' start-up logs, low end"),
    "largest_batch": Setting(
        2048, "sequences", "per attention group", "TensorRT-LLM: max_batch_size of its benchmarks"
    ),
    "pass_tokens": Setting(8192, "tokens", "prompt tokens of one pass", "max_num_tokens and chunked prefill: 8192"),
    "longest_first": Setting(0.9, "fraction", "of a cycle, that TTFT may take before waiting", "keeps TPOT positive"),
}


class Constants(NamedTuple):
    """Values by name, as the formulas read them; see TERMS and SETTINGS."""

    mbu_weights: float
    mbu_kv: float
    mfu_dense: float
    mfu_experts: float
    mfu_attention: float
    host_ms: float
    launch_us: float
    activation_passes: float
    expert_tokens: float
    allreduce_latency_us: float
    alltoall_latency_us: float
    link_efficiency: float
    prefill_layer_us: float
    ramp: float
    overlap_power: float = SETTINGS["overlap_power"].value
    memory_fraction: float = SETTINGS["memory_fraction"].value
    reserve_gb: float = SETTINGS["reserve_gb"].value
    largest_batch: float = SETTINGS["largest_batch"].value
    pass_tokens: float = SETTINGS["pass_tokens"].value
    longest_first: float = SETTINGS["longest_first"].value


class Fitted(NamedTuple):
    """Constants with those of each engine ("" for one that is not known), and what they were fitted to.

    A calibration has corrections as well: what a team's own runs say beyond constants.
    """

    common: Constants
    engines: Mapping[str, Mapping[str, float]]
    about: Mapping[str, Any]
    corrections: Corrections = NONE

    def of_engine(self, engine: str) -> Mapping[str, float]:
        """The constants of TTFT of an engine, or what engines have in common."""
        return self.engines.get(engine, self.engines[""])


@cache
def shipped() -> Fitted:
    """The constants that come with the package."""
    return read_constants(Path(__file__).parents[1] / "data" / "constants.json")


def read_constants(path: Path) -> Fitted:
    """The constants of a file that `capacity calibrate` or the fit wrote.

    >>> 0.5 < shipped().common.mbu_weights < 1
    True
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CallError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise CallError(f"{path} must be a JSON file in UTF-8 that capacity calibrate wrote") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CallError(f"{path} must be a file that capacity calibrate wrote: its format must be {FORMAT!r}")
    common = {name: _value(path, data.get("constants"), name, term) for name, term in TERMS.items()}
    engines = data.get("engines")
    return Fitted(
        Constants(**common),
        {
            engine: {name: _value(path, _part(engines, engine), name, term) for name, term in ENGINE_TERMS.items()}
            for engine in ("", *ENGINES)
        },
        _part(data, "about"),
        _corrections(path, data),
    )


def _corrections(path: Path, data: Mapping[str, Any]) -> Corrections:
    try:
        return from_data(data.get("corrections"))
    except (ValueError, TypeError, KeyError):
        raise CallError(f"{path}: corrections must be as capacity calibrate wrote them") from None


def _part(data: Any, name: str) -> dict[str, Any]:
    part = data.get(name) if isinstance(data, dict) else None
    return part if isinstance(part, dict) else {}


def _value(path: Path, data: Any, name: str, term: Term) -> float:
    value = _part(data, name).get("value")
    rule = "must be a number > 0" + (f" and <= {term.most:g}" if term.most < math.inf else "")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= min(term.most, 1e9):
        raise InputError(f"{path}: {name}", value, rule)
    return float(value)


def as_text(fitted: Fitted) -> str:
    """The file: each constant with unit and meaning, to four digits, and what they were fitted to."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "about": fitted.about,
        "constants": {name: _entry(getattr(fitted.common, name), term) for name, term in TERMS.items()},
        "engines": {
            engine: {name: _entry(values[name], term) for name, term in ENGINE_TERMS.items()}
            for engine, values in fitted.engines.items()
        },
    }
    if fitted.corrections:
        data["corrections"] = as_data(fitted.corrections)
    return json.dumps(data, indent=1) + "\n"


def _entry(value: float, term: Term) -> dict[str, Any]:
    return {"value": value, "unit": term.unit, "meaning": term.meaning}
