"""Options: each GPU at each TP, step by step in both engines; the sheet Compare ranks them."""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.options import FITS, FOLLOWED, LINK_UNKNOWN, NO_LINK, NO_OUTPUT, NO_PRICE
from capacity.plan import INPUTS
from capacity.refined import SWITCHES
from capacity.sizing import BATCH_LIMIT

from ..chain import ADDIN, NATIVE
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import bounds
from ..lines import long_text
from ..plan_table import ENGINES
from ..style import color_checks, gray_when
from . import inputs, offers, refined, utilization
from .blocks import BATCH_LIMIT_ROW, OPTION_TPS
from .option_cells import (
    AGREE,
    BAD_ROW,
    BATCH,
    BLOCKS,
    BY_TP_TABLE,
    COLUMNS,
    COST,
    FIRST,
    FIRST_WORKING,
    KEY,
    LAST,
    LINKED,
    NAMES,
    PLAN_ROW,
    PLANS_ROW,
    SAME_ROW,
    SHARED_FIRST,
    SHARED_ROWS,
    STATUS,
    UNITS,
    WORDS,
    Cells,
    at,
    pick,
    shared,
    shared_source,
    words_at,
    working_headers,
)

TITLE: Final = "Options"
KIND: Final = "working"
PURPOSE: Final = "Each GPU at each TP step by step: what fits, batch, fleet, cost; edit the TPs and the batch limit"

# What of the plan's option the plan has, too.
_SAME: Final = tuple(name for name in NAMES if name in refined.ROWS)  # batch among them
_LABELS: Final = {
    "prefill_routed_active_b": "Routed experts active per token",
    "dense_prefill_b": "Dense parameters per prompt token",
    "target_limit_ms": "TPOT target, missed by a billionth",
    "prefill_share": "Prefill's share of the target, by load and sequence",
    "prompt_tps": "Prompt tokens per second",
    "output_tps": "Output tokens per second",
    "node_gpus": "GPUs of a node, from Utilization",
}
_UNITS: Final = {
    "prefill_routed_active_b": "billion",
    "dense_prefill_b": "billion",
    "target_limit_ms": "ms",
    "prompt_tps": "tok/s",
    "output_tps": "tok/s",
    "node_gpus": "GPUs",
    "prefill_share": "fraction",
}


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    head = [Column("", c.width, c.align) for c in COLUMNS]
    head[:3] = [COLUMNS[0], Column("TP [GPUs]", 46, "right"), Column("Input check", 12, "center")]
    frame(
        ws,
        "Options: each GPU at each TP",
        "Batch: the largest whose worst-case TPOT meets the target. Of the refinements, those of the model count "
        f"({', '.join(FOLLOWED)}); the others are left out.",
        [*head, *BY_TP_TABLE.headers()],
        freeze=f"C{FIRST_ROW}",
    )
    ws.row_dimensions[5].height = 46
    ws.print_title_rows = "1:3"
    for i in range(FIRST_WORKING, FIRST_WORKING + 2 * len(NAMES)):
        ws.column_dimensions[get_column_letter(i)].width = 11.5
    _tps(ws)
    BY_TP_TABLE.write(ws)
    _shared(ws)
    _plan(ws)
    for tp_row, rows in enumerate(BLOCKS, FIRST_ROW):
        _head(ws, rows[0] - 1)
        for place, row in enumerate(rows):
            _option(ws, row, tp_row, place)
    for engine, idle in ((ADDIN, '="Native"'), (NATIVE, '<>"Native"')):
        block = f"{at(NAMES[0], engine, PLAN_ROW)}:{at(NAMES[-1], engine, LAST)}"
        gray_when(ws, block, f"engine_active{idle}")
    ws.print_area = f"A1:{AGREE}{LAST}"


def checks() -> tuple[Check, ...]:
    """The sheet's rows on Checks."""
    a, k = (f"{TITLE}!${c}${FIRST}:${c}${LAST}" for c in ("A", AGREE))
    first, last = (at(name, ADDIN, SAME_ROW).rstrip("0123456789") for name in (_SAME[0], _SAME[-1]))
    same = f"{TITLE}!${first}${SAME_ROW}:${last}${SAME_ROW}"
    left_out, batch = f"{TITLE}!$C${BAD_ROW + 1}", f"{TITLE}!{at('batch', ADDIN, PLAN_ROW + 1)}"
    return (
        Check(
            "Options whose engines differ",
            "For each GPU and TP both engines have the same batch, work, TPOT and cost",
            f"COUNT({a})-COUNTIF({k},TRUE)",
            "count",
            "Look at the column Engines agree of Options",
            TITLE,
        ),
        Check(
            "Steps in which the plan as an option differs from the plan",
            "At the plan's GPU, TP, batch and price an option is the plan; not compared with other refinements on",
            f"({left_out}=0)*COUNT({batch})*(COUNTA({same})-COUNTIF({same},TRUE))",
            "count",
            "Look at the plan's row of Options, and at Refined",
            TITLE,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    rows = [PLAN_ROW, *(row for block in BLOCKS for row in block)]
    shared_ = [f"C{row}" for row in SHARED_ROWS.values()]
    return [*BY_TP_TABLE.addin_cells(), *shared_, *(at(name, ADDIN, row) for name in NAMES for row in rows)]


def _head(ws: Worksheet, row: int) -> None:
    header(ws, row, [*COLUMNS, *working_headers()])
    ws.row_dimensions[row].height = 46


def _rule(ws: Worksheet, name: str, argument: Number, first: str, cells: str) -> None:
    rule: DataValidation = bounds(name, argument, first)
    ws.add_data_validation(rule)
    rule.add(cells)


def _tps(ws: Worksheet) -> None:
    for row, tp in enumerate(OPTION_TPS, FIRST_ROW):
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        put(ws, f"B{row}", tp, "Input", "GPUs", "right")
        good = f'CHOOSE(1+AND(B{row}>=1,B{row}=INT(B{row})),"FAIL","PASS")'
        put(ws, f"C{row}", f'=IF(COUNT(B{row})=1,{good},"FAIL")', "Check")
    _rule(ws, "tp", INPUTS["tp"], f"B{FIRST_ROW}", f"B{FIRST_ROW}:B{PLANS_ROW - 1}")
    put_text(ws, (PLANS_ROW, 1), "P", "Note", "center")
    put(ws, f"B{PLANS_ROW}", f"={refined.cell('tp')}", "Calculation", "GPUs", "right")
    put_text(ws, f"D{PLANS_ROW}", "The plan's TP, from Inputs", "Note", "left")
    color_checks(ws, f"C{FIRST_ROW}:C{PLANS_ROW - 1}")


def _shared(ws: Worksheet) -> None:
    head = [Column("#", 0, "center"), Column("What all options share", 0), Column("Add-in", 0, "right")]
    head += [Column("Native", 0, "right"), Column("Unit", 0), *[Column("", 0)] * 4]
    header(ws, SHARED_FIRST - 1, [*head, Column("Words for what does not serve", 0)])
    for order, (name, row) in enumerate(SHARED_ROWS.items(), 1):
        known = INPUTS.get(name)
        label, unit = _LABELS.get(name) or (known and known.label), _UNITS.get(name) or (known and known.unit)
        if name == "batch_limit":
            label, unit = BATCH_LIMIT.label, BATCH_LIMIT.unit
        put(ws, (row, 1), order, "Note", align="center")
        put_text(ws, f"B{row}", str(label), "Label", "left")
        put_text(ws, f"E{row}", str(unit), "Note", "left")
        for engine, letter in ((ADDIN, "C"), (NATIVE, "D")):
            source = f"=$C${row}" if name == "batch_limit" else f"={shared_source(name, engine)}"
            put(ws, f"{letter}{row}", source, "Calculation", str(unit), "right")
    row = SHARED_ROWS["batch_limit"]
    assert row == BATCH_LIMIT_ROW
    put(ws, f"C{row}", int(BATCH_LIMIT.example), "Input", BATCH_LIMIT.unit, "right")
    _rule(ws, "batch_limit", BATCH_LIMIT, f"C{row}", f"C{row}")
    long_text(ws, f"F{row}", "vLLM's own on GPUs of 80 GB and more; 256 on smaller ones")
    for words, words_row in WORDS.items():
        put_text(ws, f"{STATUS}{words_row}", words, "Note", "left")
    bad = f'{utilization.TITLE}!{utilization.LINES.bad()}+COUNTIF($C${FIRST_ROW}:$C${PLANS_ROW - 1},"FAIL")'
    limit = f"$C${row}"
    wrong = f"(COUNT({limit})=0)+(COUNT({limit})=1)*((N({limit})<1)+(MOD(N({limit}),1)>0))"
    put_text(ws, f"B{BAD_ROW}", "Inputs bad, of the plan and those above", "Label", "left")
    put(ws, f"C{BAD_ROW}", f"={bad}+{wrong}", "Calculation", "count", "right")
    on = f"COUNTIF({refined.cell(next(iter(SWITCHES)))}:{_plain(list(SWITCHES)[-1])},TRUE)"
    followed = "".join(f"-{refined.cell(name)}" for name in FOLLOWED)
    put_text(ws, f"B{BAD_ROW + 1}", "Refinements on that options leave out", "Label", "left")
    put(ws, f"C{BAD_ROW + 1}", f"={on}{followed}", "Calculation", "count", "right")


def _plain(name: str) -> str:
    """The cell of Refined without the sheet's name: the end of a range."""
    return refined.cell(name).partition("!")[2]


def _plan(ws: Worksheet) -> None:
    """The plan as an option: its GPU, TP, batch and price; then its values, and whether Refined has the same."""
    _head(ws, PLAN_ROW - 1)
    put_text(ws, (PLAN_ROW, 1), "P", "Note", "center")
    put(ws, f"B{PLAN_ROW}", f"={inputs.cell('gpu')}", "Calculation", align="left")
    put(ws, f"C{PLAN_ROW}", f"=$B${PLANS_ROW}", "Calculation", "GPUs", "right")
    output = f'=IF({shared("output_tps", NATIVE)}>0,1,"{NO_OUTPUT}")'
    put(ws, f"{LINKED}{PLAN_ROW}", output, "Calculation", "count", "right")
    cells = Cells(PLAN_ROW, PLANS_ROW, refined.cell)
    room = cells.ref("room", NATIVE)
    cells.write(ws, {"batch": f'=IF(ISTEXT({room}),"-",{refined.cell("batch")})'})
    put_text(ws, f"B{PLAN_ROW + 1}", "Of the engine in use", "Label", "left")
    put_text(ws, f"B{SAME_ROW}", "The plan on Refined has the same", "Label", "left")
    for name in _SAME:
        value = at(name, ADDIN, PLAN_ROW + 1)
        put(ws, value, pick(name, PLAN_ROW), "Calculation", UNITS[name], "right")
        same = f"=ABS(N({value})-N({refined.cell(name)}))<=tolerance*ABS(N({value}))"
        put(ws, at(name, ADDIN, SAME_ROW), same, "Calculation", align="center")


def _option(ws: Worksheet, row: int, tp_row: int, place: int) -> None:
    number = (tp_row - FIRST_ROW) * offers.GPU_COUNT + place + 1
    put(ws, (row, 1), number, "Note", align="center")
    name = offers.cell("ready", place).replace("$G", "$B")
    put(ws, f"B{row}", f"=T({name})", "Calculation", align="left")
    put(ws, f"C{row}", f"=$B${tp_row}", "Calculation", "GPUs", "right")
    ready, linked = offers.cell("ready", place), offers.cell("linked", place)
    words = f"CHOOSE(1+(C{row}>MAX(1,{linked}))*(1+({linked}=0)),1,{words_at(NO_LINK)},{words_at(LINK_UNKNOWN)})"
    put(ws, f"{LINKED}{row}", f"=IF(ISTEXT({ready}),{ready},{words})", "Calculation", align="right")
    Cells(row, tp_row, lambda own: offers.cell(own, place)).write(ws)
    put(ws, f"{BATCH}{row}", pick("batch", row), "Result", "sequences", "right")
    put(ws, f"{COST}{row}", pick("cost_per_hour", row), "Result", "USD/h", "right")
    b, c, price = f"{BATCH}{row}", f"{COST}{row}", offers.cell("usd_per_gpu_hour", place)
    status = f'=IF(ISTEXT({b}),{b},CHOOSE(1+ISTEXT({price}),"{FITS}","{NO_PRICE}"))'
    put(ws, f"{STATUS}{row}", status, "Result", align="left")
    # by cost, of equals the first; then what has no price, what does not fit, free rows
    rest = f'(1+ISTEXT({b})+(B{row}=""))*1E12+A{row}+0*N({b})'
    key = f"=IF(ISNUMBER({c}),(1+{c})*(1+A{row}/1E12),{rest})"
    put(ws, f"{KEY}{row}", key, "Calculation", align="right").number_format = "0.000"
    sums = [f"SUM({at('busy_replicas', e, row)}:{at('usd_per_m_tokens', e, row)})" for e in ENGINES]
    near = f"ABS({sums[0]}-{sums[1]})<=tolerance*{sums[1]}"
    bad = f"$C${BAD_ROW}"  # of which nothing is right
    agree = f'=IF((addin_version="not installed")+{bad}>0,{bad}=0,{near})'
    put(ws, f"{AGREE}{row}", agree, "Calculation", align="center")
