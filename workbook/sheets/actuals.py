"""Actuals: the plan of each month and what came, and which driver made the difference."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import variances
from capacity.arguments import Number
from capacity.plan import Guard, Step, step_named

from ..check import Check
from ..frame import FIRST_ROW, Column, frame, put, put_text
from ..input_rows import bounds
from ..lines import long_text
from ..row_table import Place, Sum
from ..style import color_checks
from ..worded_rows import WordedRows
from . import budget_months, demand_months
from .budget_blocks import FIRST_MONTH, LAST_MONTH

TITLE: Final = "Actuals"
KIND: Final = "output"
PURPOSE: Final = "Plan and actual by month; the difference by driver: requests, tokens, GPU-hours, price"

SUMS, CHECK = "Q", "R"
_WORKING: Final = 19
TOTAL_ROW: Final = LAST_MONTH + 1
# What came: typed in, blank until the month is over.
ACTUAL: Final = {
    "actual_requests": ("H", Number("M requests", "actual requests: of the month", example=0, ge=0)),
    "actual_tokens": ("I", Number("tokens", "actual tokens: per request, prompt and output", example=0, ge=0)),
    "actual_hours": ("J", Number("GPU-h", "actual GPU-hours: paid in the month", example=0, ge=0)),
    "actual_usd": ("K", Number("USD", "actual cost: of GPUs in the month", example=0, ge=0)),
}
_GIVEN: Final = "$H{0}:$K{0}"


def _budget(name: str) -> Place:
    table = budget_months.TABLE
    return lambda engine, row: f"{budget_months.TITLE}!{table.at(name, engine, row)}"


def _requests(engine: str, row: int) -> str:
    return f"{demand_months.at('requests_per_month', row - FIRST_MONTH + 1, engine)}/1E6"


def _hours(engine: str, row: int) -> str:
    """GPU-hours that the plan pays for."""
    contracted, on_demand = (_budget(name)(engine, row) for name in ("contracted_gpus", "on_demand_gpus"))
    running = budget_months.terms.cell("running_share")
    return f"({contracted}+{on_demand}*{running})*{budget_months.HOURS}"


def _usd(engine: str, row: int) -> str:
    return "+".join(_budget(name)(engine, row) for name in ("contract_usd", "on_demand_usd"))


def _share(top: str, bottom: str) -> Place:
    """A quotient; 0 where there is nothing to divide by."""

    def formula(engine: str, row: int) -> str:
        a, b = (TABLE.at(name, engine, row) for name in (top, bottom))
        return f"IF({b}=0,0,{a}/{b})"

    return formula


def _ready(engine: str, row: int) -> str:
    """Whether the month is planned and has come: 1 or 0."""
    given = _GIVEN.format(row)
    planned = "*".join(TABLE.at(name, engine, row) for name in ("plan_requests", "plan_m", "plan_hours"))
    return f"(COUNT({given})=COLUMNS({given}))*(MIN({given})>0)*({planned}>0)"


def _actual(top: str, bottom: tuple[str, ...]) -> Place:
    """A quotient of what came, 0 before it has come."""

    def formula(engine: str, row: int) -> str:
        ready = TABLE.at("ready", engine, row)
        divisor = "*".join(f"{ACTUAL[name][0]}{row}" for name in bottom)
        return f"IF({ready}=0,0,{ACTUAL[top][0]}{row}/({divisor}))"

    return formula


NOT_YET: Final = Guard("no figures", lambda v: v["ready"] == 0, "{ready}=0")


def _effect(name: str, function: object, label: str) -> Step:
    return step_named(name, function, label, NOT_YET)  # type: ignore[arg-type]  # registered functions


EFFECTS: Final = (
    _effect("requests", variances.requests_effect, "Requests"),
    _effect("tokens", variances.tokens_effect, "Tokens per request"),
    _effect("gpu_hours", variances.gpu_hours_effect, "GPU-hours per M tokens"),
    _effect("price", variances.price_effect, "USD per GPU-hour"),
)
SHOWN: Final = {
    "plan_requests": ("C", "Plan: requests [M requests]"),
    "plan_tokens": ("D", "Plan: tokens per request [tokens]"),
    "plan_gpu_hours": ("E", "Plan: [GPU-h/M tokens]"),
    "plan_price": ("F", "Plan: [USD/GPU-h]"),
    "plan_usd": ("G", "Plan: GPUs [USD]"),
    "requests": ("L", "Effect of requests [USD]"),
    "tokens": ("M", "Effect of tokens per request [USD]"),
    "gpu_hours": ("N", "Effect of GPU-hours per M tokens [USD]"),
    "price": ("O", "Effect of USD per GPU-hour [USD]"),
}
TOTAL: Final = "P"
TABLE: Final = WordedRows(
    (
        Sum("plan_requests", "Planned requests", "M requests", _requests),
        Sum("plan_m", "Planned tokens", "M tokens/month", lambda e, r: _budget("all_m")(e, r)),
        Sum("plan_hours", "Planned GPU-hours", "GPU-h", _hours),
        Sum("plan_usd", "Planned cost of GPUs", "USD", _usd),
        Sum("plan_tokens", "Planned tokens per request", "tokens", _share("plan_m", "plan_requests")),
        Sum("plan_gpu_hours", "Planned GPU-hours per M tokens", "GPU-h/M tokens", _share("plan_hours", "plan_m")),
        Sum("plan_price", "Planned USD per GPU-hour", "USD/GPU-h", _share("plan_usd", "plan_hours")),
        Sum("ready", "Planned, and has come", "count", _ready),
        Sum(
            "actual_gpu_hours",
            "Actual GPU-hours per M tokens",
            "GPU-h/M tokens",
            _actual("actual_hours", ("actual_requests", "actual_tokens")),
        ),
        Sum("actual_price", "Actual USD per GPU-hour", "USD/GPU-h", _actual("actual_usd", ("actual_hours",))),
        *EFFECTS,
    ),
    range(FIRST_MONTH, LAST_MONTH + 1),
    {
        "actual_requests": lambda _, row: f"$H{row}",
        "actual_tokens": lambda _, row: f"$I{row}",
    },
    {name: column for name, (column, _) in SHOWN.items()},
    (_WORKING, CHECK, budget_months.BAD),
    [step.name for step in EFFECTS],
    budget_months.STOP,
    ("plan_requests", "plan_tokens"),
)
TEXTS: Final = (
    "Cost of GPUs = requests x tokens per request x GPU-hours per M tokens x USD per GPU-hour; batch tokens count "
    "with the requests.",
    "The drivers change one after the other, from left to right: those before as they came, those behind as planned.",
    "So the effects sum to the difference. More than planned is positive, less is negative; another order would share "
    "joint effects otherwise.",
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    heads = {"A": "#", "B": "Month", TOTAL: "Actual less plan [USD]", SUMS: "Check: effects sum", CHECK: "Check"}
    heads |= dict(SHOWN.values())
    heads |= {column: f"{argument.label} [{argument.unit}]" for column, argument in ACTUAL.values()}
    center = ("A", SUMS, CHECK)
    widths = {"A": 5, "B": 18}
    columns = [Column(heads[c], widths.get(c, 13.5), "center" if c in center else "right") for c in sorted(heads)]
    frame(
        ws,
        "Plan and actual, by driver",
        "Enter what came, month by month; the difference to the plan's GPUs is shared among four drivers.",
        [*columns, *TABLE.headers()],
        freeze=f"C{FIRST_ROW}",
    )
    demand_months.say_no_fleet(ws)
    ws.row_dimensions[5].height = 60
    for row in TABLE.rows:
        put(ws, (row, 1), row - FIRST_MONTH + 1, "Note", align="center")
        put(ws, f"B{row}", f"={budget_months.TITLE}!B{row}", "Label", align="right").number_format = "yyyy-mm"
        for column, argument in ACTUAL.values():
            put(ws, f"{column}{row}", None, "Input", argument.unit, "right")
    TABLE.write(ws)
    for row in TABLE.rows:
        none = f"ISTEXT(L{row})"  # an error stays one
        less = f'=IF({none},"no figures",K{row}-G{row})'
        put(ws, f"{TOTAL}{row}", less, "Result", "USD", "right")
        same = f"ROUND(SUM(L{row}:O{row})-{TOTAL}{row},2)=0"
        sums = f'=IF(ISNUMBER(L{row}),CHOOSE(1+({same}),"FAIL","PASS"),CHOOSE(1+{none},"FAIL","PASS"))'
        put(ws, f"{SUMS}{row}", sums, "Check")
    for name, (column, argument) in ACTUAL.items():
        rule = bounds(name, argument, f"{column}{FIRST_MONTH}")
        rule.allow_blank = True
        ws.add_data_validation(rule)
        rule.add(f"{column}{FIRST_MONTH}:{column}{LAST_MONTH}")
    put_text(ws, f"B{TOTAL_ROW}", "All", "Label", "right")
    for column in "LMNOP":
        total = f"=SUM({column}{FIRST_MONTH}:{column}{LAST_MONTH})"
        put(ws, f"{column}{TOTAL_ROW}", total, "Result", "USD", "right")
    color_checks(ws, f"{SUMS}{FIRST_MONTH}:{SUMS}{LAST_MONTH}")
    for row, text in enumerate(TEXTS, TOTAL_ROW + 1):
        long_text(ws, f"B{row}", text)
    ws.print_area = f"A1:{CHECK}{TOTAL_ROW + len(TEXTS)}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each month passes twice."""
    months, found = (
        f"{TITLE}!{c}{FIRST_MONTH}:{d}{LAST_MONTH}" for c, d in (("$A$", "$A$"), (f"${SUMS}$", f"${CHECK}$"))
    )
    return (
        Check(
            "Actuals that fail",
            "Engines agree, and the effects of the four drivers sum to the difference to the cent",
            f'2*ROWS({months})-COUNTIF({found},"PASS")',
            "count",
            "Look at the two check columns of Actuals, and at Budget",
            TITLE,
            waits=demand_months.NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return TABLE.addin_cells()
