"""Profile: the hours of a week in a month of Demand: replicas that follow the load, batch work in the valleys."""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity import commit, fleet, headroom, week
from capacity.money_inputs import PROFILE_INPUTS
from capacity.plan import Guard, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..lines import Lines, long_text
from ..plan_table import elsewhere
from ..row_table import RowTable
from ..sums import Sum
from . import demand_months as months
from .money_blocks import DAYS, PROFILE_FIRST, WEEK_LAST
from .week import cells as hours

TITLE: Final = "Profile"
KIND: Final = "output"
PURPOSE: Final = "168 hours of a week: a static fleet against one that follows the load, batch work in the valleys"

CHECK: Final = "L"
SIDES: Final = {"check": CHECK, "agree": "M", ADDIN: "N", NATIVE: "O"}
_WORKING: Final = 13


def _of_month(name: str, quantity: str, unit: str) -> Sum:
    def formula(engine: str, _: int) -> str:
        return f"INDEX({months.TITLE}!{months.TABLE.span(name, engine)},{TOP.at('plan_month')})"

    return Sum(name, quantity, unit, formula, "of the month shown, from Demand")


TAKEN: Final = (
    _of_month("busy_replicas", "Busy replicas in the busiest hour", "replica-s/s"),
    _of_month("batch_replicas", "Replicas that batch work keeps busy", "replica-s/s"),
    _of_month("replicas", "Replicas of a static fleet", "replicas"),
    Sum("peak_load", "Load of the busiest hour", "count", lambda *_: f"MAX({hours()})", "from Week, in its unit"),
    Sum(
        "batch_hours",
        "Batch work of a week",
        "replica-h",
        lambda engine, row: f"{SIDES[engine]}{row - 3}*ROWS({hours()})",
        "replicas that batch work keeps busy x hours of the week",
    ),
)
TOP: Final = Lines(
    PROFILE_INPUTS,
    TAKEN,
    (PROFILE_FIRST, PROFILE_FIRST + len(PROFILE_INPUTS)),
    SIDES,
    fleet=months.NO_FLEET,
    free=["peak_load"],
)
HOURS_HEAD: Final = TOP.last + 2
BEFORE_ROW: Final = HOURS_HEAD + 1  # the last hour of the week, from which the first starts
FIRST_HOUR: Final = BEFORE_ROW + 1
LAST_HOUR: Final = FIRST_HOUR + WEEK_LAST - FIRST_ROW

SHARE, STANDING = "D", "H"  # load of the hour, and the static fleet: the same for both engines
SHOWN: Final = {
    "hour_busy_replicas": ("E", "Busy replicas"),
    "running_replicas": ("F", "Replicas running"),
    "running_gpus": ("G", "GPUs running"),
    "starting": ("I", "Starting [replica-h]"),
    "valley_room": ("J", "Room for batch work [replica-h]"),
    "valley_work": ("K", "Batch work [replica-h]"),
}
PRINTED: Final = {name: column for name, (column, _) in SHOWN.items()}
HEADS: Final = {
    "A": "#",
    "B": "Day",
    "C": "Hour from",
    SHARE: "Load [count]",
    STANDING: "Replicas of a static fleet",
    CHECK: "Check",
    **dict(SHOWN.values()),
}
TABLE: Final = RowTable(
    (
        step_named("hour_busy_replicas", week.hour_busy_replicas),
        step_named("needed", fleet.replicas, "Replicas", busy_replicas="hour_busy_replicas"),
        step_named("running_replicas", week.running_replicas, replicas="needed"),
        step_named("running_gpus", fleet.gpus, "GPUs running", replicas="running_replicas"),
        step_named("starting", week.starting_replica_hours),
        step_named("valley_room", week.valley_room),
        step_named("valley_work", week.valley_work),
    ),
    range(FIRST_HOUR, LAST_HOUR + 1),
    {
        **{name: TOP.at(name) for name in PROFILE_INPUTS},
        **{
            name: lambda engine, _, name=name: TOP.at(name, SIDES[engine])
            for name in ("busy_replicas", "replicas", "peak_load")
        },
        "hour_share": lambda _, row: f"${SHARE}{row}",
        "running_before": lambda engine, row: TABLE.at("running_replicas", engine, row - 1),
        "batch_left": lambda engine, row: _left(engine, row),
    },
    PRINTED,
    (_WORKING, CHECK, TOP.stop()),
)
STEPS_FIRST: Final = LAST_HOUR + 3


def _week_row(row: int) -> int:
    """The hour's row on Week; before the first hour comes the last."""
    return WEEK_LAST if row == BEFORE_ROW else row - FIRST_HOUR + FIRST_ROW


def _left(engine: str, row: int) -> str:
    """Batch work of the week less what the hours above have done."""
    above = TABLE.at("valley_work", engine, row - 1)
    letter = above.rstrip("0123456789")
    return f"MAX(0,{TOP.at('batch_hours', SIDES[engine])}-SUM({letter}${BEFORE_ROW}:{above}))"


def _sum(name: str, engine: str) -> str:
    return f"SUM({TABLE.span(name, engine)})"


def _hours(engine: str) -> dict[str, str]:
    """What the steps below the hours take from them."""
    return {
        "standing_hours": f"{TOP.at('replicas', SIDES[engine])}*ROWS({hours()})",
        "running_hours": f"{_sum('running_replicas', engine)}+{_sum('starting', engine)}",
        "batch_run_hours": f"{TOP.at('batch_hours', SIDES[engine])}/{elsewhere('utilization', engine)}",
        "starting_hours": _sum("starting", engine),
        "valley_hours": _sum("valley_work", engine),
        "batch_work_hours": TOP.at("batch_hours", SIDES[engine]),
        "running_peak": f"MAX({TABLE.span('running_replicas', engine)})",
        "running_mean": f"AVERAGE({TABLE.span('running_replicas', engine)})",
    }


NONE_RUN: Final = Guard("no replicas", lambda v: v["running_peak"] == 0, "{running_peak}=0")
STEPS: Final = (
    step_named("static_gpu_hours", week.gpu_hours, "GPU-hours, static fleet", replica_hours="standing_hours"),
    step_named(
        "following_gpu_hours",
        week.gpu_hours,
        "GPU-hours, following the load",
        replica_hours="running_hours+batch_run_hours",
    ),
    step_named("starting_gpu_hours", week.gpu_hours, "of which starting", replica_hours="starting_hours"),
    step_named("batch_run_gpu_hours", week.gpu_hours, "of which batch work", replica_hours="batch_run_hours"),
    step_named("saved_gpu_hours", week.saved_gpu_hours),
    step_named("static_usd", commit.gpu_hours_usd, "Cost of a week, static fleet", gpu_hours="static_gpu_hours"),
    step_named(
        "following_usd", commit.gpu_hours_usd, "Cost of a week, following the load", gpu_hours="following_gpu_hours"
    ),
    step_named(
        "running_peak_to_mean",
        week.peak_to_mean,
        "Peak to mean of running replicas",
        NONE_RUN,
        peak_load="running_peak",
        mean_load="running_mean",
    ),
    step_named(
        "running_load_factor",
        headroom.load_factor,
        "Load factor of running replicas",
        NONE_RUN,
        peak_to_mean="running_peak_to_mean",
    ),
    step_named("batch_gpu_hours", week.gpu_hours, "Batch work of a week", replica_hours="batch_work_hours"),
    step_named("valley_gpu_hours", week.gpu_hours, "Batch work done in the valleys", replica_hours="valley_hours"),
)
SUMMARY: Final = Lines(
    {},
    STEPS,
    (STEPS_FIRST, STEPS_FIRST),
    SIDES,
    bad=TOP.stop(),
    given={(name, engine): cell for engine in (ADDIN, NATIVE) for name, cell in _hours(engine).items()},
)
NOTES: Final = {
    "plan_month": "the hours below are of that month",
    "warm_replicas": "illustrative",
    "start_minutes": "illustrative: weights to load, kernels to compile; measure it",
}
TEXTS: Final = (
    "Following the load saves only where GPUs go back by the hour. A static fleet takes batch work into its valleys; "
    "one that follows runs replicas for it, below the same ceiling.",
    "Batch work takes what is free below the ceiling, from Monday on; what finds no room has raised the replicas.",
)
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 40),
    Column("Value", 14, "right"),
    Column("Unit", 13),
    Column("Meaning", 13),
    *(Column("", 13) for _ in range(6)),
    Column("Check", 9, "center"),
    Column("Inputs bad", 11.5, "center"),
    *(Column("", 11.5, "right") for _ in range(2 * len(TABLE.names))),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Hours of a week",
        "How many replicas each hour takes, what a fleet that stands for the busiest hour costs against one that "
        "follows, and what is free for batch work.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
        landscape=False,
    )
    months.say_no_fleet(ws)
    ws.print_title_rows = "1:3"
    TOP.write(ws, NOTES)
    aligned = {"A": "center", "B": "left", "C": "left", CHECK: "center"}
    heads = (Column(HEADS[c], 0, aligned.get(c, "right")) for c in sorted(HEADS))
    header(ws, HOURS_HEAD, (*heads, *TABLE.headers()))
    ws.row_dimensions[HOURS_HEAD].height = 46
    put(ws, f"B{BEFORE_ROW}", "Before", "Note", align="left")
    put(ws, f"{SHARE}{BEFORE_ROW}", f"=Week!$H{_week_row(BEFORE_ROW)}", "Calculation", "count", "right")
    TABLE.lead(ws, BEFORE_ROW, ("hour_busy_replicas", "needed", "running_replicas"))
    for row in TABLE.rows:
        day, hour = divmod(row - FIRST_HOUR, 24)
        put(ws, (row, 1), row - FIRST_HOUR + 1, "Note", align="center")
        put_text(ws, f"B{row}", DAYS[day], "Label", "left")
        put_text(ws, f"C{row}", f"{hour:02}:00", "Label", "left")
        put(ws, f"{SHARE}{row}", f"=Week!$H{_week_row(row)}", "Calculation", "count", "right")
        put(ws, f"{STANDING}{row}", f"={TOP.at('replicas')}", "Calculation", "replicas", "right")
    for row in (BEFORE_ROW, *TABLE.rows):
        ws[f"{SHARE}{row}"].number_format = "0.00"
    TABLE.write(ws)
    SUMMARY.head(ws, STEPS_FIRST - 1, "Engines agree", "The week", "Value", "Unit", "In words")
    SUMMARY.write(ws, {})
    for at in (TOP.at("peak_load"), SUMMARY.at("running_peak_to_mean")):
        ws[at.replace("$", "")].number_format = "0.00"
    for row, text in enumerate(TEXTS, SUMMARY.last + 1):
        long_text(ws, f"B{row}", text)
    _chart(ws)


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${SUMMARY.last}" for c in ("A", CHECK))
    return (
        Check(
            "Profile rows that fail",
            "Inputs are within their bounds, engines agree in each hour",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Profile",
            TITLE,
            waits=months.NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    before = [TABLE.at(name, ADDIN, BEFORE_ROW) for name in TABLE.names]
    return [*TOP.addin_cells(), *TABLE.addin_cells(), *before, *SUMMARY.addin_cells()]


def _chart(ws: Worksheet) -> None:
    below = SUMMARY.last + len(TEXTS) + 2
    columns = {
        "Static fleet": STANDING,
        "Following the load": PRINTED["running_replicas"],
        "Busy": PRINTED["hour_busy_replicas"],
    }
    lines = {words: f"{column}{FIRST_HOUR}:{column}{LAST_HOUR}" for words, column in columns.items()}
    axes = ("Hours of the week [h]", "Replicas [replicas]")
    line_chart(ws, f"B{below}", "Replicas by hour", axes, f"A{FIRST_HOUR}:A{LAST_HOUR}", lines)
    tuesday, friday = (FIRST_HOUR + 24 * days - 1 for days in (2, 5))
    for row in (tuesday, friday, STEPS_FIRST - 2):  # whole days, and the answer with its chart
        ws.row_breaks.append(Break(id=row))
    ws.print_area = f"A1:{CHECK}{below + CHART_ROWS}"
