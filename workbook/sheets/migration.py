"""Migration: what a change to another GPU costs, what it saves, and when it has paid for itself."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import budget, budget_costs
from capacity.budget_inputs import CONTRACTS, MIGRATION_INPUTS
from capacity.plan import Guard, step_named

from ..chain import ADDIN, NATIVE
from ..check import Check
from ..frame import FIRST_ROW, frame, put, put_text
from ..lines import Lines, columns, long_text
from . import demand_months, terms
from .budget_blocks import FIRST_MONTH, LAST_MONTH, MIGRATION_FIRST
from .budget_months import BAD, HOURS, PRINTED
from .budget_months import TITLE as BUDGET

TITLE: Final = "Migration"
KIND: Final = "output"
PURPOSE: Final = "A change to another GPU: overlap, contracts that run on, one-off cost, months until it has paid"

CHECK: Final = "H"
_LAST_INPUT: Final = MIGRATION_FIRST + len(MIGRATION_INPUTS) - 1
_OLD_ROW: Final = _LAST_INPUT + 3  # GPUs of the old fleet, new ones, and the old fleet's cost
_MONTH: Final = f"$C${MIGRATION_FIRST}"


def _budgeted(*names: str) -> str:
    """What Budget has in the last month of the old fleet."""
    spans = (f"{BUDGET}!${PRINTED[n]}${FIRST_MONTH}:${PRINTED[n]}${LAST_MONTH}" for n in names)
    return "+".join(f"INDEX({span},{_MONTH})" for span in spans)


NO_GAIN: Final = Guard("saves nothing", lambda v: v["old_usd"] <= v["new_usd"], "{old_usd}<={new_usd}")
STEPS: Final = (
    step_named(
        "new_usd", budget.month_gpu_usd, "New fleet's GPUs per month", gpus="new_gpus", usd_per_gpu_hour="new_gpu_usd"
    ),
    *(
        step_named(
            f"tail_{k}",
            budget.contract_tail_usd,
            f"Contract {k}: due after the overlap",
            contract_gpus=f"contract_{k}_gpus",
            usd_per_gpu_hour=f"contract_{k}_usd",
            start_month=f"contract_{k}_start",
            term_months=f"contract_{k}_term",
            month="migration_month+overlap_months",
        )
        for k in range(1, CONTRACTS + 1)
    ),
    step_named(
        "migration_usd",
        budget_costs.migration_usd,
        tail_usd="+".join(f"tail_{k}" for k in range(1, CONTRACTS + 1)),
    ),
    step_named("payback_months", budget_costs.payback_months, "", NO_GAIN),
)
LINES: Final = Lines(
    MIGRATION_INPUTS,
    STEPS,
    (MIGRATION_FIRST, _OLD_ROW + 3),
    {"check": CHECK, "agree": "I", ADDIN: "J", NATIVE: "K"},
    taken={
        **{name: terms.cell(name) for name in terms.LINES.inputs if name.startswith("contract_")},
        "running_share": "1",
        "month_hours": HOURS,
        "new_gpus": f"$C${_OLD_ROW + 1}",
        "old_usd": f"$C${_OLD_ROW + 2}",
    },
    bad=BAD,
    fleet=demand_months.NO_FLEET,
    free=[f"tail_{k}" for k in range(1, CONTRACTS + 1)],
)
NOTES: Final = {
    "migration_month": "illustrative",
    "new_gpu_share": "illustrative",
    "new_gpu_usd": "illustrative",
    "one_off_usd": "illustrative",
    "overlap_months": "illustrative",
}
TEXTS: Final = (
    "GPUs alone: what else a month costs is taken to stay. A case to decide upon: Budget has the old fleet.",
    "Contracts on old GPUs are paid to their end, used or not, unless the new fleet's price counts them already.",
)
COLUMNS: Final = columns("The change")


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "When does another GPU pay for itself?",
        "Both fleets are paid in the overlap, contracts on old GPUs to their end; then the difference is saved.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    demand_months.say_no_fleet(ws)
    ws.print_title_rows = "1:3"
    LINES.head(ws, _OLD_ROW - 1, "Engines agree", "Month by month, from Budget", "Value", "Unit", "In words")
    LINES.write(ws, NOTES)
    looked_up = (
        ("Old GPUs", _budgeted("billed_gpus"), "GPUs", "of Budget, in whole nodes, in that month"),
        ("New GPUs", f"$C${_OLD_ROW}*{LINES.at('new_gpu_share')}", "GPUs", "old GPUs x new GPUs per old one"),
        ("Old fleet's GPUs per month", _budgeted("contract_usd", "on_demand_usd"), "USD/month", "of Budget"),
    )
    for row, (label, formula, unit, words) in enumerate(looked_up, _OLD_ROW):
        put_text(ws, f"B{row}", label, "Label", "left")
        put(ws, f"C{row}", f"=IF({LINES.stop()}>0,NA(),{formula})", "Result", unit, "right")
        put_text(ws, f"D{row}", unit, "Note", "left")
        long_text(ws, f"E{row}", words)
        ws.row_dimensions[row].height = 18
    for row, text in enumerate(TEXTS, LINES.last + 1):
        long_text(ws, f"B{row}", text)
    ws[LINES.at("payback_months").replace("$", "")].number_format = "#,##0.0"
    ws.print_area = f"A1:{CHECK}{LINES.last + len(TEXTS)}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LINES.last}" for c in ("A", CHECK))
    return (
        Check(
            "Migration rows that fail",
            "Inputs are within their bounds, engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Migration",
            TITLE,
            waits=demand_months.NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions."""
    return LINES.addin_cells()
