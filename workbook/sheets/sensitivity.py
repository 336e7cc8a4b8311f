"""Sensitivity: one assumption at a time at a low and a high value, each a whole plan; the tornado by swing.

Low and high follow the plan's own value by a spread until they are typed over. What depends on the assumption is
computed by both engines beside the printed area; everything else comes from the sheet Refined.
"""

from collections.abc import Iterator
from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.plan import INPUTS

from ..charts import CHART_ROWS
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text, section
from ..input_rows import bounds, criterion
from ..plan_table import PlanTable
from ..style import BAD, color_checks, color_words
from . import refined, tornado
from .batch import only_one_engine
from .blocks import SPREADS, VARIED_HEAD, VARIED_LAST, VARIED_ROWS
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = "Sensitivity"
KIND: Final = "output"
PURPOSE: Final = "Ten assumptions at low, base and high: GPUs, cost per hour and per M output tokens; tornado by swing"

CASES: Final = ("low", "base", "high")
SPREAD: Final = Number(
    "fraction",
    "spread: share of the plan's value by which low and high differ from it; a fraction goes up by that share of its "
    "rest to 1",
    example=0,
    ge=0,
    lt=1,
)
TRIED, UNIT, SPREAD_COLUMN = "C", "D", "E"
SHOWN: Final = {
    "gpus": "GPUs",
    "cost_per_hour": "Cost [USD/h]",
    "usd_per_m_tokens": "USD per M output tokens",
    "max_seqs": "Resident sequences that fit",
    "tpot_worst_ms": "Worst-case TPOT [ms]",
}
RESULT: Final = dict(zip(SHOWN, "FGHIJ", strict=True))
KV_FIT, INPUT_CHECK, CHECK = "K", "L", "M"
AGREE: Final = dict(zip(SHOWN, "NOPQR", strict=True))
_FIRST_WORKING: Final = 19
_FITS: Final = "fits"


def _table(name: str) -> PlanTable:
    """The plans of low and high of one assumption; between them stands the plan itself."""
    head = VARIED_HEAD[name]
    return PlanTable({name: TRIED}, list(SHOWN), _FIRST_WORKING, range(head + 1, head + VARIED_ROWS, 2))


TABLES: Final = {name: _table(name) for name in SPREADS}
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Assumption", 34),
    Column("Value", 25, "right"),
    Column("Unit", 12),
    Column("Spread [fraction]", 14, "right"),
    *(Column(words, 18 if words.endswith("fit") else 14, "right") for words in SHOWN.values()),
    Column("KV cache", 26),
    Column("Input check", 9, "center"),
    Column("Check", 9, "center"),
    *(Column(f"Engines agree: {words}", 11.5, "center") for words in SHOWN.values()),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "What moves the answer most?",
        "One assumption at a time, everything else as planned. The spreads are illustrative: low and high follow the "
        "plan by them until you type over them.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
        landscape=False,
    )
    ws.row_dimensions[5].height = 46
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    for i in range(_FIRST_WORKING, max(table.next_column for table in TABLES.values())):
        ws.column_dimensions[get_column_letter(i)].width = 11.5
    for order, name in enumerate(SPREADS):
        _block(ws, name, 2 * order)
    rows = f"{FIRST_ROW}:{{0}}{VARIED_LAST}"
    for column in (INPUT_CHECK, CHECK):
        color_checks(ws, column + rows.format(column))
    color_words(ws, KV_FIT + rows.format(KV_FIT), {"overflows": BAD, "weights": BAD})
    tornado.write(ws)
    ws.row_breaks.append(Break(id=VARIED_LAST))
    ws.print_area = f"A1:{CHECK}{tornado.LAST + CHART_ROWS + 4}"


def checks() -> tuple[Check, ...]:
    """The sheet's rows on Checks: each plan has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${VARIED_LAST}" for c in ("A", CHECK))
    return (
        Check(
            "Sensitivity rows that fail",
            "Low and high are within their bounds, on both sides of the plan's value, engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the two check columns of Sensitivity: a range typed in may no longer hold the plan",
            TITLE,
            waits=NOT_JUDGED,
        ),
        Check(
            "Swings that the tornado leaves out",
            "The sum of all swings is the sum of those sorted; relative difference",
            tornado.unsorted(),
            "fraction",
            "An assumption stands twice among the sorted ones, or not at all",
            TITLE,
            high="tolerance",
            tolerance="tolerance",
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold functions of the add-in, and those that follow them."""
    return [at for table in TABLES.values() for at in table.addin_cells()]


def _block(ws: Worksheet, name: str, order: int) -> None:
    """An assumption: its spread, then the plan at low, as it is, and at high."""
    head, argument = VARIED_HEAD[name], INPUTS[name]
    low, base, high = range(head + 1, head + VARIED_ROWS)
    header(ws, head, TABLES[name].headers(), _FIRST_WORKING)
    section(ws, head, argument.label, len(COLUMNS) - len(AGREE))
    at = f"{SPREAD_COLUMN}{head}"
    put(ws, at, SPREADS[name], "Input", "fraction", "right")
    _validate(ws, "spread", SPREAD, at)
    put(ws, f"{INPUT_CHECK}{head}", _bounds_check("COUNT({0})=1", at, SPREAD), "Check")
    for row, case in zip((low, base, high), CASES, strict=True):
        put_text(ws, (row, 2), f"{argument.label}, {case}", "Label", "left")
        put_text(ws, f"{UNIT}{row}", argument.unit, "Note", "left")
        put(ws, f"{SPREAD_COLUMN}{row}", None, "Note")
        ws.row_dimensions[row].height = 16
    _base(ws, name, base)
    sides = ("<={}*(1+tolerance)", ">={}*(1-tolerance)")
    for row, formula, side in zip((low, high), _ranges(name, at), sides, strict=True):
        order += 1
        put(ws, (row, 1), order, "Note", align="center")
        cell = put(ws, f"{TRIED}{row}", formula, "Input", argument.unit, "right")
        _validate(ws, name, argument, cell.coordinate)
        _plan(ws, name, row, side.format(refined.cell(name)))
    TABLES[name].write(ws)


def _base(ws: Worksheet, name: str, row: int) -> None:
    """The plan as it is."""
    put(ws, f"{TRIED}{row}", f"={refined.cell(name)}", "Calculation", INPUTS[name].unit, "right")
    for result, column in RESULT.items():
        value = refined.cell(result) if result == "max_seqs" else f"IF({IS_REFUSED},NA(),{refined.cell(result)})"
        put(ws, f"{column}{row}", f"={value}", "Calculation", TABLES[name].unit(result), "right")
    put(ws, f"{KV_FIT}{row}", f"={_fit(row, refined.cell('batch'))}", "Calculation", align="left")


def _ranges(name: str, spread: str) -> Iterator[str]:
    """Low and high, until they are typed over."""
    base, argument = refined.cell(name), INPUTS[name]
    low, high = f"{base}*(1-{spread})", f"{base}*(1+{spread})"
    if argument.unit == "fraction":
        high = f"{base}+(1-{base})*{spread}"
    yield f"=MAX(1,INT({low}))" if argument.whole else f"={low}"
    yield f"=INT({high})" if argument.whole else f"={high}"


def _validate(ws: Worksheet, name: str, argument: Number, at: str) -> None:
    rule = bounds(name, argument, at)
    ws.add_data_validation(rule)
    rule.add(at)


def _bounds_check(first: str, at: str, argument: Number) -> str:
    limits = [f'COUNTIF({at},"{criterion(bound)}")' for bound in (argument.low, argument.high) if bound]
    limits += [f"{at}=INT({at})"] * argument.whole
    return f'=IF({first.format(at)},CHOOSE(1+AND({",".join(limits)}),"FAIL","PASS"),"FAIL")'


def _plan(ws: Worksheet, name: str, row: int, ordered: str) -> None:
    """The results at a low or high value; ordered: on which side of the plan's own value it must be."""
    table, checked = TABLES[name], f"{INPUT_CHECK}{row}"
    at, stopped = f"{TRIED}{row}", f'({checked}="FAIL")+{IS_REFUSED}>0'
    first = f'AND(facts_bad=0,{INPUT_CHECK}{VARIED_HEAD[name]}="PASS",COUNT({{0}})=1)'
    put(ws, checked, _bounds_check(first, at, INPUTS[name]), "Check")
    for result, column in RESULT.items():
        none = f'{checked}="FAIL"' if result == "max_seqs" else stopped
        formula = f"=IF({none},NA(),{table.pick(result, row)})"
        put(ws, f"{column}{row}", formula, "Result", table.unit(result), "right")
        if result in table.names:
            same = only_one_engine(checked, table.agree(result, row))
            put(ws, f"{AGREE[result]}{row}", same, "Calculation", align="center")
    batch = at if name == "batch" else refined.cell("batch")
    put(ws, f"{KV_FIT}{row}", f'=IF({checked}="FAIL",NA(),{_fit(row, batch)})', "Result", align="left")
    agree = f"AND({AGREE['gpus']}{row}:{AGREE['tpot_worst_ms']}{row},{at}{ordered})"
    put(ws, f"{CHECK}{row}", f'=IF({stopped},"FAIL",CHOOSE(1+{agree},"FAIL","PASS"))', "Check")


def _fit(row: int, batch: str) -> str:
    """Whether the batch fits into the KV pool, and else how many sequences do."""
    fit = f"{RESULT['max_seqs']}{row}"
    return f'CHOOSE(1+ISTEXT({fit})+2*(N({fit})>={batch}),"overflows: at most "&{fit},{fit},"{_FITS}")'
