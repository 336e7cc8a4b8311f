"""Terms: what the budget's months are priced by, and what is signed beyond their horizon."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import budget
from capacity.budget_inputs import BUDGET_INPUTS, CONTRACTS
from capacity.plan import step_named

from ..chain import ADDIN, NATIVE
from ..check import Check
from ..frame import FIRST_ROW, frame
from ..lines import Lines, columns
from . import demand_months
from .budget_blocks import TERMS_LAST

TITLE: Final = "Terms"
KIND: Final = "output"
PURPOSE: Final = "Terms of the budget: fiscal year, regions, price path, contracts, costs beyond GPUs, contingency"

CHECK: Final = "H"
_HOURS: Final = f"{demand_months.TITLE}!{demand_months.LINES.at('hours_per_month')}"
_MONTHS: Final = f"ROWS({demand_months.TITLE}!{demand_months.TABLE.span('replicas')})"
STEPS: Final = tuple(
    step_named(
        f"beyond_{k}",
        budget.contract_tail_usd,
        f"Contract {k}: due beyond the horizon",
        contract_gpus=f"contract_{k}_gpus",
        usd_per_gpu_hour=f"contract_{k}_usd",
        start_month=f"contract_{k}_start",
        term_months=f"contract_{k}_term",
        month="months_planned",
    )
    for k in range(1, CONTRACTS + 1)
)
LINES: Final = Lines(
    BUDGET_INPUTS,
    STEPS,
    (FIRST_ROW, TERMS_LAST + 3),
    {"check": CHECK, "agree": "I", ADDIN: "J", NATIVE: "K"},
    {"budget_lost_regions": "{budget_lost_regions}<{budget_regions}"},
    {"month_hours": _HOURS, "months_planned": _MONTHS},
    bad=f"{demand_months.TITLE}!{demand_months.LINES.bad()}",
    fleet=demand_months.NO_FLEET,  # of Budget
    free=[step.name for step in STEPS],
)
NOTES: Final = {
    **dict.fromkeys(BUDGET_INPUTS, "illustrative"),
    **{
        name: "illustrative; as signed: the sheet Commit weighs what is not"
        for name in BUDGET_INPUTS
        if name.startswith("contract_") and name.endswith("_gpus")
    },
    "budget_regions": "illustrative; regions of the plan",
    "yearly_price": "illustrative; contracts keep their price",
    "step_price": "a price list that changes, also in the middle of a contract",
    "running_share": "see Profile",
    "contingency": "Evidence and Budget show what the error band gives",
}
COLUMNS: Final = columns("Terms of the budget")


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "What the budget is priced by",
        "On-demand GPU-hours follow the price path from the price on Inputs; a contract keeps its own price for all of "
        "its hours. The load is that of Demand.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    ws.print_title_rows = "1:3"
    LINES.head(ws, TERMS_LAST + 2, "Engines agree", "Signed beyond the horizon", "Value", "Unit", "In words")
    LINES.write(ws, NOTES)
    ws.page_setup.fitToHeight = 1
    ws.print_area = f"A1:{CHECK}{LINES.last}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LINES.last}" for c in ("A", CHECK))
    return (
        Check(
            "Terms that fail",
            "Inputs are within their bounds, engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Terms",
            TITLE,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions."""
    return LINES.addin_cells()


def cell(name: str) -> str:
    """An input, from another sheet."""
    return f"{TITLE}!{LINES.at(name)}"
