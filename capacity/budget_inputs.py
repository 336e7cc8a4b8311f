"""What a budget is planned from, beside the demand; illustrative until a team enters its own."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from .arguments import Number
from .budget import fiscal_quarter, month_gpu_usd, month_price
from .budget_costs import contingency_usd, license_support_usd, migration_usd, overhead_usd
from .registry import spec_of

CONTRACTS: Final = 3
# GPUs, first month, months, USD per GPU-hour
_SIGNED: Final = ((32, 1, 36, 2.79), (32, 13, 36, 2.59), (0, 25, 12, 2.69))


def _of(function: Callable[..., Any], *names: str) -> Iterator[tuple[str, Number]]:
    for name in names:
        argument = spec_of(function).args[name]
        if isinstance(argument, Number):
            yield name, argument


def _contract(k: int, gpus: float, start: float, term: float, price: float) -> dict[str, Number]:
    """The terms of a contract, each with the bounds that its function has."""
    return {
        f"contract_{k}_gpus": Number("GPUs", f"contract {k}, GPUs: once all have come", example=gpus, ge=0),
        f"contract_{k}_start": Number(
            "months", f"contract {k}, first month: of the plan; 0 is the one before", example=start, ge=-600, whole=True
        ),
        f"contract_{k}_term": Number(
            "months", f"contract {k}, term: also beyond the plan's horizon", example=term, ge=1, whole=True
        ),
        f"contract_{k}_ramp": Number(
            "fraction", f"contract {k}, ramp: share of the GPUs that comes with each month", example=1, gt=0, le=1
        ),
        f"contract_{k}_usd": Number(
            "USD/GPU-h", f"contract {k}, price: for all hours, whatever the path", example=price, ge=0
        ),
    }


BUDGET_INPUTS: Final[dict[str, Number]] = {
    **dict(_of(fiscal_quarter, "fiscal_start")),
    "budget_regions": Number(
        "count", "regions: that share the load evenly, each with whole nodes", example=1, ge=1, whole=True
    ),
    "budget_lost_regions": Number(
        "count", "lost regions: that the others take over at once", example=0, ge=0, whole=True
    ),
    **dict(_of(month_price, "yearly_price", "step_month", "step_price")),
    **{name: x for k, terms in enumerate(_SIGNED, 1) for name, x in _contract(k, *terms).items()},
    **dict(_of(month_gpu_usd, "running_share")),
    **dict(_of(overhead_usd, "egress_usd", "storage_usd", "staff_usd")),
    **dict(_of(license_support_usd, "license_usd", "vendor_support")),
    **dict(_of(contingency_usd, "contingency")),
}
MIGRATION_INPUTS: Final[dict[str, Number]] = {
    "migration_month": Number(
        "months", "last month before the migration: month of the plan", example=18, ge=1, le=36, whole=True
    ),
    "new_gpu_share": Number(
        "fraction",
        "new GPUs per old one: that do the same work, by measurement or the sheet Compare",
        example=0.5,
        gt=0,
    ),
    "new_gpu_usd": Number("USD/GPU-h", "price of a new GPU's hour", example=3.99, ge=0),
    **dict(_of(migration_usd, "one_off_usd", "overlap_months")),
}
