"""Constants of the evidence model as the refined chain of the workbook spells them, and a team's own in their place.

The chain tells apart what the model does not: prefill and decode, dense and expert weights. Its terms without which
models left out are predicted no worse have a neutral value.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple

from ..constants import FITTED
from ..error_bands import METRICS
from ..errors import InputError
from .constants import Fitted, read_constants

_SAME: Final = {
    "mfu_prefill_dense": "mfu_dense",
    "mfu_decode": "mfu_dense",
    "mfu_prefill_experts": "mfu_experts",
    "mbu_dense": "mbu_weights",
    "mbu_experts": "mbu_weights",
}
_ALIKE: Final = (
    *("mfu_experts", "mfu_attention", "mbu_kv", "host_ms", "launch_us", "prefill_layer_us", "activation_passes"),
    *("allreduce_latency_us", "alltoall_latency_us", "link_efficiency", "expert_tokens", "overlap_power"),
)
_NEUTRAL: Final = {
    "prefill_base_ms": 0.0,
    "allreduce_growth": 0.0,
    "one_shot_share": 0.0,
    "expert_imbalance": 0.0,
    "coverage_exponent": 1.0,
}


def chain_values(fitted: Fitted) -> dict[str, float]:
    """Values of the refined chain's inputs by name, from shipped constants or those of a calibration.

    >>> from .constants import shipped
    >>> values = chain_values(shipped())
    >>> values["mbu_dense"] == values["mbu_experts"] == shipped().common.mbu_weights
    True
    """
    common = fitted.common._asdict()
    same = {name: common[source] for name, source in _SAME.items()}
    return same | {name: common[name] for name in _ALIKE} | _NEUTRAL


class OwnConstants(NamedTuple):
    """A team's constants for the refined chain, and what they are calibrated to."""

    values: Mapping[str, float]
    file: str  # its name alone, in printable characters
    rows: int
    errors: str  # by constants alone, before and after, in words
    as_of: date | None  # of the calibration, where the file says it

    @property
    def moved(self) -> bool:
        """Whether any constant is not the one shipped."""
        return any(self.values[name] != constant.value for name, constant in FITTED.items())


_NAMES: Final = dict(zip(METRICS, ("output tok/s", "TPOT", "TTFT"), strict=True))
_FIRST_YEAR: Final = 2020  # before which no cell of a date goes


def own_constants(path: Path) -> OwnConstants:
    """The constants of a file that `capacity calibrate` wrote.

    Raises CapacityError with one sentence for a file that is not such a one, or says no number of rows.
    """
    fitted = read_constants(path)
    about = fitted.about
    rows = about.get("rows")
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= 10**9:
        raise InputError(f"{path}: rows", rows, "must be a whole number >= 1 and <= 1000000000")
    name = "".join(c if c.isprintable() else "?" for c in path.name)
    return OwnConstants(chain_values(fitted), name, rows, _errors(path, about), _as_of(path, about))


def _errors(path: Path, about: Mapping[str, Any]) -> str:
    """The median error of the first metric that the rows measure. Corrections do not reach the workbook's chain."""
    found = [_medians(path, name, about.get(name)) for name in ("errors_before", "errors_after_by_constants_alone")]
    metric = next((name for name in METRICS if all(name in medians for medians in found)), None)
    if metric is None:
        return "error before and after not in the file"
    before, after = (medians[metric] for medians in found)
    return f"median error of {_NAMES[metric]} {before:.1%} before, {after:.1%} by these constants on rows left out"


def _medians(path: Path, name: str, errors: Any) -> dict[str, float]:
    if errors is None:
        return {}
    if not isinstance(errors, dict):
        raise InputError(f"{path}: {name}", errors, "must be errors by metric")
    medians: dict[str, float] = {}
    for metric in (m for m in METRICS if m in errors):
        x = errors[metric].get("median") if isinstance(errors[metric], dict) else None
        if isinstance(x, bool) or not isinstance(x, int | float) or not 0 <= x <= 10**9:
            raise InputError(f"{path}: {name} of {metric}", x, "must have a median that is a number >= 0")
        medians[metric] = float(x)
    return medians


def _as_of(path: Path, about: Mapping[str, Any]) -> date | None:
    given = about.get("calibrated")
    if given is None:
        return None
    try:
        day = date.fromisoformat(given)
    except (TypeError, ValueError):
        day = date.min
    if day.year < _FIRST_YEAR:
        raise InputError(f"{path}: calibrated", given, f"must be a date from {_FIRST_YEAR} on, as 2026-11-30")
    return day
