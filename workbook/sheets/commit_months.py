"""Commit: the chain of a month: what contracts give, what is needed, what is used, and what both kinds of GPUs cost."""

from typing import Final

from openpyxl.utils import get_column_letter

from capacity import commit, users
from capacity.plan import Step, step_named

from ..row_table import RowTable
from ..sums import Place, Sum
from . import demand_months as months
from .commit_tables import (
    BAD,
    CHECK,
    CONTRACT_COLUMNS,
    FIRST_MONTH,
    HOURS_PER_MONTH,
    LAST_MONTH,
    NO_CONTRACT,
    NO_NEED,
    STOP,
    TITLE,
    TOP,
    across,
    clipped,
)
from .money_blocks import CONTRACTS, CONTRACTS_FIRST
from .week import cells as hours

_WORKING: Final = 24
_FIELDS: Final = ("contract_gpus", "start_month", "term_months", "ramp_share")
_OF_CONTRACT: Final = tuple(f"contract_{i}" for i in range(len(CONTRACTS)))


def _contract(i: int) -> Step:
    refs = {field: f"{field}_{i}" for field in _FIELDS}
    return step_named(f"contract_{i}", commit.month_contract_gpus, f"GPUs of contract {i + 1}", **refs)


def _cells(engine: str, row: int) -> str:
    """The GPUs of all contracts in a month, side by side."""
    return f"{TABLE.at(_OF_CONTRACT[0], engine, row)}:{TABLE.at(_OF_CONTRACT[-1], engine, row)}"


def _at(name: str) -> Place:
    return lambda engine, row: TABLE.at(name, engine, row)


def _demand(name: str) -> Place:
    return lambda engine, row: f"{months.TITLE}!{months.TABLE.at(name, engine, row - FIRST_MONTH + months.FIRST_MONTH)}"


def _top_of_load(of: str) -> Place:
    """A number of GPUs as load of an hour of the week, in Week's unit."""

    def place(engine: str, row: int) -> str:
        needed = TABLE.at("needed_gpus", engine, row)
        return f"{TABLE.at(of, engine, row)}*MAX({hours()})/MAX({needed},({needed}=0)*1)"

    return place


def _used(top: str) -> Place:
    """The load of all hours below that top, as GPUs on the mean."""

    def place(engine: str, row: int) -> str:
        return clipped(hours(), TABLE.at(top, engine, row))

    return place


def _mean(load: str) -> Place:
    """The same as GPUs on the mean of the week."""

    def place(engine: str, row: int) -> str:
        needed, summed = TABLE.at("needed_gpus", engine, row), TABLE.at(load, engine, row)
        return f"{needed}*{summed}/MAX({hours()})/ROWS({hours()})"

    return place


def _load_factor(engine: str) -> str:
    return f"{months.TITLE}!{months.LINES.at('load_factor', months.SIDES[engine])}"


SHOWN: Final = {
    **{name: f"Contract {i}" for i, name in enumerate(_OF_CONTRACT, 1)},
    "committed_gpus": "GPUs under contract",
    "needed_gpus": "GPUs needed, busiest hour",
    "needed_gpu_hours": "Needed [GPU-h]",
    "committed_gpu_hours": "Under contract [GPU-h]",
    "used_gpu_hours": "of that used [GPU-h]",
    "on_demand_gpu_hours": "On demand [GPU-h]",
    "committed_usd": "Contracts [USD]",
    "on_demand_usd": "On demand [USD]",
    "total_usd": "Together [USD]",
    "contract_coverage": "Coverage [fraction]",
    "commitment_use": "Use of the commitment [fraction]",
    "stranded_usd": "Stranded [USD]",
    "cash_usd": "Cash out [USD]",
}
PRINTED: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, 3)}
TABLE: Final = RowTable(
    (
        *(_contract(i) for i in range(len(CONTRACTS))),
        Sum("committed_gpus", "GPUs under contract", "GPUs", lambda e, row: f"SUM({_cells(e, row)})"),
        Sum(
            "firm_gpus",
            "of which cannot be cancelled",
            "GPUs",
            lambda e, row: f"SUMPRODUCT({_cells(e, row)}*(1-{across('cancellable')}))",
        ),
        Sum("needed_gpus", "GPUs needed, in whole nodes", "GPUs", _demand("billed_gpus")),
        Sum(
            "needed_mean",
            "GPUs needed on the mean",
            "GPUs",
            lambda e, row: f"{TABLE.at('needed_gpus', e, row)}*{_load_factor(e)}",
        ),
        step_named("needed_gpu_hours", commit.month_gpu_hours, "GPU-hours needed", gpu_months="needed_mean"),
        step_named(
            "committed_gpu_hours", commit.month_gpu_hours, "GPU-hours under contract", gpu_months="committed_gpus"
        ),
        step_named(
            "firm_gpu_hours", commit.month_gpu_hours, "GPU-hours that cannot be cancelled", gpu_months="firm_gpus"
        ),
        Sum("all_top", "Contracts as load", "count", _top_of_load("committed_gpus")),
        Sum("firm_top", "Firm contracts as load", "count", _top_of_load("firm_gpus")),
        Sum("all_load", "Load under contract", "count", _used("all_top")),
        Sum("firm_load", "Load under firm contracts", "count", _used("firm_top")),
        Sum("all_used", "GPUs used under contract, mean", "GPUs", _mean("all_load")),
        Sum("firm_used", "GPUs used under firm contracts, mean", "GPUs", _mean("firm_load")),
        step_named("used_gpu_hours", commit.month_gpu_hours, "GPU-hours used", gpu_months="all_used"),
        step_named("firm_used_gpu_hours", commit.month_gpu_hours, "Firm GPU-hours used", gpu_months="firm_used"),
        step_named("on_demand_gpu_hours", commit.on_demand_gpu_hours),
        step_named("price_factor", users.growth_factor, "Change of on-demand prices", growth="price_growth"),
        Sum(
            "on_demand_now",
            "On-demand price",
            "USD/GPU-h",
            lambda e, row: f"{TOP.at('on_demand_price')}*{TABLE.at('price_factor', e, row)}",
        ),
        Sum(
            "committed_usd",
            "Cost of contracts",
            "USD",
            lambda e, row: f"SUMPRODUCT({_cells(e, row)}*{across('reserved_price')})*{HOURS_PER_MONTH}",
        ),
        step_named(
            "on_demand_usd",
            commit.gpu_hours_usd,
            "Cost on demand",
            gpu_hours="on_demand_gpu_hours",
            usd_per_gpu_hour="on_demand_now",
        ),
        Sum(
            "total_usd",
            "Contracts and on demand",
            "USD",
            lambda e, row: f"{TABLE.at('committed_usd', e, row)}+{TABLE.at('on_demand_usd', e, row)}",
        ),
        Sum(
            "firm_usd_per_hour",
            "Cost of firm contracts per hour",
            "USD/h",
            lambda e, row: f"SUMPRODUCT({_cells(e, row)}*(1-{across('cancellable')})*{across('reserved_price')})",
        ),
        Sum("firm_price", "Mean price of firm contracts", "USD/GPU-h", lambda e, row: _firm_price(e, row)),
        step_named(
            "stranded_usd",
            commit.stranded_usd,
            committed_gpu_hours="firm_gpu_hours",
            used_gpu_hours="firm_used_gpu_hours",
            reserved_price="firm_price",
        ),
        Sum(
            "monthly_usd",
            "Contracts paid by the month",
            "USD",
            lambda e, row: (
                f"SUMPRODUCT({_cells(e, row)}*{across('reserved_price')}*(1-{across('upfront_share')}))"
                f"*{HOURS_PER_MONTH}"
            ),
        ),
        Sum(
            "upfront_usd",
            "Contracts paid upfront",
            "USD",
            lambda _, row: f"SUMPRODUCT(({across('start_month')}=$A{row})*{across('upfront_usd')})",
        ),
        Sum(
            "cash_usd",
            "Cash out",
            "USD",
            lambda e, row: "+".join(TABLE.at(n, e, row) for n in ("monthly_usd", "upfront_usd", "on_demand_usd")),
        ),
        step_named("contract_coverage", commit.contract_coverage, guard=NO_NEED),
        step_named("commitment_use", commit.commitment_use, guard=NO_CONTRACT),
    ),
    range(FIRST_MONTH, LAST_MONTH + 1),
    {
        **{
            f"{field}_{i}": f"${CONTRACT_COLUMNS[field]}${CONTRACTS_FIRST + i}"
            for field in _FIELDS
            for i in range(len(CONTRACTS))
        },
        "month": lambda _, row: f"$A{row}",
        "months": lambda _, row: f"$A{row}-1",
        "price_growth": TOP.at("price_growth"),
        "hours_per_month": HOURS_PER_MONTH,
    },
    PRINTED,
    (_WORKING, CHECK, BAD),
    STOP,
    (*_OF_CONTRACT, "committed_gpus", "committed_gpu_hours", "committed_usd"),
)


def _firm_price(engine: str, row: int) -> str:
    gpus = TABLE.at("firm_gpus", engine, row)
    return f"{TABLE.at('firm_usd_per_hour', engine, row)}/MAX({gpus},({gpus}=0)*1)"


def at(name: str, month: int, engine: str = "") -> str:
    """The cell of a month, the first is 1, from another sheet: an engine's own, or the value in use."""
    return f"{TITLE}!{TABLE.at(name, engine, FIRST_MONTH + month - 1)}"
