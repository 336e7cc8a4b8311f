"""Utilization: what a ceiling costs, what waiting it brings, and spare replicas, each for a reason of its own."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Final

from openpyxl.styles import Alignment
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity import cost, fleet, headroom
from capacity.headroom import HEADROOM_INPUTS
from capacity.plan import INPUTS, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, bar_chart, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import bounds
from ..lines import Lines, long_text
from ..plan_table import PlanTable
from ..style import color_checks
from . import refined
from .batch import only_one_engine
from .blocks import CEILING_LAST, CEILINGS, HEADROOM_FIRST, PLAN_ROWS, planned
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused
from .waiting import NO_FLEET, NO_PRICE, WAITING

TITLE: Final = "Utilization"
KIND: Final = "output"
PURPOSE: Final = "Ceilings from 50% to 95%: fleet, cost, waiting; spare replicas line by line; load factor and GPU busy"

SHOWN: Final = {
    "replicas": "Replicas",
    "gpus": "GPUs",
    "cost_per_hour": "Cost [USD/h]",
    "usd_per_m_tokens": "USD per M output tokens",
    "gpu_busy": "GPU busy at peak [fraction]",
    "delay_factor": "Delay factor 1/(1 - ceiling)",
    "ttft_first_order_ms": "First-order TTFT [ms]",
    "erlang_c": "Erlang C: share that waits [fraction]",
    "queue_wait_ms": "Erlang C: mean wait [ms]",
}
RESULT: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, 3)}
INPUT_CHECK, CHECK = "L", "M"
_FIRST_AGREE: Final = 14
AGREE: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, _FIRST_AGREE)}
_FIRST_WORKING: Final = _FIRST_AGREE + len(AGREE)
CEILING_TABLE: Final = PlanTable(
    {"utilization": "B"},
    ["replicas", "gpus", "cost_per_hour", "usd_per_m_tokens"],
    _FIRST_WORKING,
    range(FIRST_ROW, CEILING_LAST + 1),
    WAITING,
)
_STEPS_FIRST: Final = HEADROOM_FIRST + len(HEADROOM_INPUTS) + 2
STEPS: Final = (
    step_named("needed", fleet.replicas, "Replicas for the work alone", spares="0"),
    step_named("node_spares", headroom.node_spares),
    step_named("with_region", headroom.region_replicas, "Replicas that outlive a lost region", replicas="needed"),
    step_named(
        "with_all",
        headroom.region_replicas,
        "Replicas for all three at once",
        replicas="needed+drained_replicas+node_spares",
    ),
    step_named("load_factor", headroom.load_factor),
    step_named("busy_at_peak", headroom.gpu_busy, "GPU busy at peak, planned fleet", NO_FLEET),
    step_named("mean_busy_replicas", headroom.mean_busy_replicas),
    step_named(
        "busy_on_mean",
        headroom.gpu_busy,
        "GPU busy on the day's mean",
        NO_FLEET,
        busy_replicas="mean_busy_replicas",
    ),
    step_named("mean_output_tps", headroom.mean_output_tps),
    step_named(
        "usd_on_mean",
        cost.usd_per_m_tokens,
        "Cost per million output tokens over the day",
        NO_PRICE,
        tokens_per_s="mean_output_tps",
    ),
)
LINES: Final = Lines(
    HEADROOM_INPUTS,
    STEPS,
    (HEADROOM_FIRST, _STEPS_FIRST),
    {"check": CHECK, "agree": "N", ADDIN: "O", NATIVE: "P"},
    {"lost_regions": "{lost_regions}<{regions}"},
    fleet=IS_REFUSED,
    follows={name: planned(name) for name in HEADROOM_INPUTS if name in PLAN_ROWS},
)
NOTES: Final = {
    "drained_replicas": "illustrative: enter what your roll-outs take",
    "node_gpus": "follows Plan; an HGX or DGX node has 8",
    "failed_nodes": "illustrative",
    "regions": "illustrative; 1 region and 0 lost for a single site",
    "lost_regions": "illustrative; fewer than the regions",
    "peak_to_mean": "follows Plan; illustrative: the request rate is the peak's",
}
# What may be away -> the replicas that the fleet then needs, as names of lines.
FLEETS: Final = {
    "The work alone": ("needed",),
    "+ the plan's own spares": ("needed", "spares"),
    "+ drain": ("needed", "drained_replicas"),
    "+ failed nodes": ("needed", "node_spares"),
    "+ lost region": ("with_region",),
    "All at once": ("with_all",),
}
FLEETS_FIRST: Final = LINES.last + 3
FLEETS_LAST: Final = FLEETS_FIRST + len(FLEETS) - 1
_CEILING_ROWS: Final = (FIRST_ROW, CEILING_LAST)
_FLEET_ROWS: Final = (FLEETS_FIRST, FLEETS_LAST)
SPARES: Final = "H"
FLEET_SHOWN: Final = ("gpus", "cost_per_hour", "usd_per_m_tokens", "gpu_busy")
FLEET_TABLE: Final = PlanTable(
    {"replicas": "C"},
    FLEET_SHOWN[:3],
    _FIRST_WORKING,
    range(FLEETS_FIRST, FLEETS_LAST + 1),
    WAITING[:1],
)


def _agree_headers() -> list[Column]:
    return [Column(f"Engines agree: {CEILING_TABLE.label(name)}", 11.5, "center") for name in SHOWN]


COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Ceiling at peak [fraction]", 40, "right"),
    *(Column(words, 17.5, "right") for words in SHOWN.values()),
    Column("Input check", 9, "center"),
    Column("Check", 9, "center"),
    *_agree_headers(),
    *CEILING_TABLE.headers(),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "How busy may the fleet be, and what is spare?",
        "Three things are called utilization. Ceiling at peak: how busy replicas may be, an assumption. GPU busy: how "
        "busy they are. Load factor: mean load over peak load.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, IS_REFUSED)
    ws.row_dimensions[5].height = 46
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    for row, ceiling in enumerate(CEILINGS, FIRST_ROW):
        _ceiling(ws, row, ceiling)
    rule = bounds("utilization", INPUTS["utilization"], f"B{FIRST_ROW}")
    ws.add_data_validation(rule)
    rule.add(f"B{FIRST_ROW}:B{CEILING_LAST}")
    CEILING_TABLE.write(ws)
    _notes(ws)
    LINES.head(
        ws, HEADROOM_FIRST - 1, "Inputs bad", "What may be away, and how the day goes", "Value", "Unit", "Meaning"
    )
    LINES.head(
        ws,
        _STEPS_FIRST - 1,
        "Engines agree",
        "Headroom and load factor by step",
        "Value",
        "Unit",
        "In words",
    )
    LINES.write(ws, NOTES)
    alone = LINES.at("needed", "E").replace("$", "")
    ws[
        alone
    ].value = "busy replicas / ceiling at peak, rounded up; the plan's own spares are a fleet of their own below"
    _fleets(ws)
    for column, (first, last) in itertools.product((INPUT_CHECK, CHECK), (_CEILING_ROWS, _FLEET_ROWS)):
        color_checks(ws, f"{column}{first}:{column}{last}")
    _charts(ws)
    ws.row_breaks.append(Break(id=_STEPS_FIRST - 2))
    ws.print_area = f"A1:{CHECK}{FLEETS_LAST + 1 + CHART_ROWS}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${FLEETS_LAST}" for c in ("A", CHECK))
    return (
        Check(
            "Utilization rows that fail",
            "Inputs are within their bounds, engines agree, GPU busy is at most the ceiling",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the two check columns of Utilization",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*CEILING_TABLE.addin_cells(), *FLEET_TABLE.addin_cells(), *LINES.addin_cells()]


def _ceiling(ws: Worksheet, row: int, ceiling: float) -> None:
    put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
    put(ws, f"B{row}", ceiling, "Input", "fraction", "right")
    b = f"B{row}"
    good = f"AND({b}>0,{b}<1)"
    counts = f"AND(facts_bad+{IS_REFUSED}=0,COUNT({b})=1)"
    put(ws, f"{INPUT_CHECK}{row}", f'=IF({counts},CHOOSE(1+{good},"FAIL","PASS"),"FAIL")', "Check")
    _results(ws, CEILING_TABLE, row, RESULT)
    ws[f"{RESULT['delay_factor']}{row}"].number_format = '0.0"x"'
    _check(ws, row, list(RESULT), f"*(N({RESULT['gpu_busy']}{row})<={b}*(1+tolerance))")


def _results(ws: Worksheet, table: PlanTable, row: int, names: Iterable[str]) -> None:
    """What the engine in use has, and whether both have the same."""
    checked = f"{INPUT_CHECK}{row}"
    for name in names:
        value = f'=IF({checked}="FAIL",NA(),{table.worded(name, row)})'
        put(ws, f"{RESULT[name]}{row}", value, "Result", table.unit(name), "right")
        agree = only_one_engine(checked, table.agree(name, row))
        put(ws, f"{AGREE[name]}{row}", agree, "Calculation", align="center")
    ws.row_dimensions[row].height = 18


def _check(ws: Worksheet, row: int, names: Sequence[str], more: str = "") -> None:
    agree = f"AND({AGREE[names[0]]}{row}:{AGREE[names[-1]]}{row})"
    check = f'=IF({INPUT_CHECK}{row}="FAIL","FAIL",CHOOSE(1+{agree}{more},"FAIL","PASS"))'
    put(ws, f"{CHECK}{row}", check, "Check")


def _notes(ws: Worksheet) -> None:
    row = CEILING_LAST + 1
    batch = refined.cell("batch")
    for text in (
        "Notes, not predictions. Delay factor: how much longer a request stays in one server that all share (M/M/1). "
        "First-order TTFT: TTFT floor x delay factor.",
        "Published TTFTs are 7 (dense) to 25 (sparse) times the floor: measure one replica at the planned load.",
        "Erlang C is the M/M/c queue before the replicas, each taken for one server that does one request at a time.",
        "Overloaded: the load is all that the replicas can do, and no queue is stable at full load.",
        f'="A replica that runs "&{batch}&" sequences is not one server: it runs them at once. Read it as the least."',
    ):
        if text.startswith("="):
            cell = put(ws, f"B{row}", text, "Note")
            cell.alignment = Alignment(horizontal="left", vertical="center", indent=1)
        else:
            long_text(ws, f"B{row}", text)
        row += 1


def _fleets(ws: Worksheet) -> None:
    head = [*COLUMNS[: _FIRST_WORKING - 1], *FLEET_TABLE.headers()]
    head[1] = Column("Fleet", 0)
    head[7:11] = [Column("Spares", 0, "right"), *[Column("", 0)] * 3]
    header(ws, FLEETS_FIRST - 1, head)
    for row, (label, parts) in enumerate(FLEETS.items(), FLEETS_FIRST):
        put(ws, (row, 1), row - FLEETS_FIRST + 1, "Note", align="center")
        put_text(ws, f"B{row}", label, "Label", "left")
        cells = (refined.cell(part) if part == "spares" else LINES.at(part) for part in parts)
        put(ws, f"C{row}", "=" + "+".join(cells), "Result", "replicas", "right")
        put(ws, f"{INPUT_CHECK}{row}", f'=IF({LINES.stop()}>0,"FAIL","PASS")', "Check")
        _results(ws, FLEET_TABLE, row, FLEET_SHOWN)
        put(ws, f"{SPARES}{row}", f"=C{row}-{LINES.at('needed')}", "Calculation", "replicas", "right")
        _check(ws, row, FLEET_SHOWN)
    FLEET_TABLE.write(ws)


def _charts(ws: Worksheet) -> None:
    ceilings = f"B{FIRST_ROW}:B{CEILING_LAST}"

    def rows(name: str) -> str:
        return f"{RESULT[name]}{FIRST_ROW}:{RESULT[name]}{CEILING_LAST}"

    axis = "Ceiling at peak [fraction]"
    cost_axes, wait_axes = (axis, "Cost [USD/h]"), (axis, "First-order TTFT [ms]")
    below = FLEETS_LAST + 2
    bar_chart(ws, f"B{below}", "Cost by ceiling", cost_axes, ceilings, {"Cost [USD/h]": rows("cost_per_hour")})
    lines = {"First-order TTFT": rows("ttft_first_order_ms")}
    line_chart(ws, f"G{below}", "TTFT by ceiling", wait_axes, ceilings, lines)
