"""Requests: what a single request costs, in replica-seconds and dollars. Two requests can differ by 7x."""

from collections.abc import Mapping
from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import FUNCTIONS
from capacity.plan import Step
from capacity.refined import SECTIONS, SHARED
from capacity.registry import Function

from ..chain import ADDIN, NATIVE, VALUE
from ..check import Check, not_in
from ..frame import FIRST_ROW, Column, frame, letter, put, put_text
from ..input_rows import rule
from ..style import color_checks, gray_when
from . import refined
from .batch import only_one_engine
from .blocks import REQUEST_LAST, REQUESTS, RequestRow
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = "Requests"
KIND: Final = "output"
PURPOSE: Final = "Work and cost of single requests, editable"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Request", 30),
    Column("Prompt [tokens]", 12, "right"),
    Column("Output [tokens]", 12, "right"),
    Column("Input check", 9, "center"),
    Column("Work [replica-s]", 14, "right"),
    Column("Prefill share", 12, "right"),
    Column("Times the first", 12, "right"),
    Column("Cost of 1,000 requests [USD]", 16, "right"),
    Column("Check", 14, "center"),
)
# What a prompt token costs depends on the length of its prompt: these steps are done for each request.
PREFILL: Final = tuple(
    step
    for step in SECTIONS["Prefill"]
    if step.name in ("cached_tokens", "prompt_area", "cached_area", "seen_tokens", "attention_us", "prefill_us")
    and isinstance(step, Step)
)
WORKING: Final = (
    Column("Add-in", 14, "right"),
    Column("Native", 14, "right"),
    Column("Printed: prompt", 10, "right"),
    Column("Printed: output", 10, "right"),
    Column("Printed: work", 10, "right"),
    Column("Printed: times", 10, "right"),
    Column("As printed", 10, "center"),
    Column("Engines agree", 10, "center"),
    *(Column(f"{step.quantity}, {engine}", 14, "right") for step in PREFILL for engine in ("add-in", "native")),
)
# Where the steps of PREFILL stand, by step and engine.
OWN: Final = {
    (step.name, engine): letter(COLUMNS + WORKING, f"{step.quantity}, {word}")
    for step in PREFILL
    for engine, word in ((ADDIN, "add-in"), (NATIVE, "native"))
}
CHECK: Final = letter(COLUMNS, "Check")


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "What does one request cost?",
        "Replica time: prefill in FLOPs, at the request's own length, and decode in bytes, in the planned batch. "
        "Dollars: the fleet's bill, shared by work.",
        COLUMNS + WORKING,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, IS_REFUSED)
    for row, request in enumerate(REQUESTS, FIRST_ROW):
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        put_text(ws, f"B{row}", request.label, "Label", "left")
        put(ws, f"C{row}", request.prompt_tokens, "Input", "tokens", "right")
        put(ws, f"D{row}", request.output_tokens, "Input", "tokens", "right")
        _row(ws, row)
        _working(ws, row, request)
    for name in ("prompt_tokens", "output_tokens"):
        _validate(ws, name)
    color_checks(ws, f"E{FIRST_ROW}:E{REQUEST_LAST}")
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{REQUEST_LAST}")
    gray_when(ws, f"K{FIRST_ROW}:K{REQUEST_LAST}", 'engine_active="Native"')
    gray_when(ws, f"L{FIRST_ROW}:L{REQUEST_LAST}", 'engine_active<>"Native"')
    ws.print_area = f"A1:{CHECK}{REQUEST_LAST}"


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    columns = ("K", *(column for (_, engine), column in OWN.items() if engine == ADDIN))
    return [f"{column}{row}" for column in columns for row in range(FIRST_ROW, REQUEST_LAST + 1)]


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    return (
        Check(
            "Request rows that fail",
            "Lengths are at least 0, engines agree, printed figures match",
            not_in(f"{TITLE}!{CHECK}{FIRST_ROW}:{CHECK}{REQUEST_LAST}", "PASS", "inputs changed"),
            "count",
            "Look at the Check column of Requests",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def _row(ws: Worksheet, row: int) -> None:
    c, d = f"C{row}", f"D{row}"
    numbers = f"COUNT({c}:{d})=2"
    good = f"AND({c}>=0,{d}>=0)"
    put(ws, f"E{row}", f'=IF(AND(facts_bad+{IS_REFUSED}=0,{numbers}),CHOOSE(1+{good},"FAIL","PASS"),"FAIL")', "Check")
    work = f'=IF(E{row}="FAIL",NA(),IF(engine_active="Native",L{row},K{row}))'
    put(ws, f"F{row}", work, "Result", "replica-s", "right")
    cell = refined.cell
    prefill_us = f'CHOOSE(1+(engine_active="Native"),{OWN["prefill_us", ADDIN]}{row},{OWN["prefill_us", NATIVE]}{row})'
    prefill = f"{c}*(1-{cell('cache_hit')})*{prefill_us}/1E6"
    put(ws, f"G{row}", f"=IF(F{row}=0,0,{prefill}/F{row})", "Calculation", "fraction", "right")
    first = f"F${FIRST_ROW}"
    times = put(ws, f"H{row}", f'=IF({first}=0,"no work",F{row}/{first})', "Calculation", align="right")
    times.number_format = '0.0"x"'
    busy = cell("busy_replicas")
    share = f"F{row}/({busy}*3600)*{cell('cost_per_hour')}*1E3"
    usd = put(ws, f"I{row}", f'=IF({busy}=0,"no load",{share})', "Calculation", align="right")
    usd.number_format = '"$"#,##0.00'
    lengths = f"$C${FIRST_ROW}:$D{row}<>$M${FIRST_ROW}:$N{row}"
    seed = f"AND(at_seed,SUMPRODUCT(--({lengths}))=0)"
    put(ws, f"{CHECK}{row}", f'=CHOOSE(1+R{row}*(1+{seed}*(2*Q{row}-1)),"FAIL","inputs changed","PASS")', "Check")


def _working(ws: Worksheet, row: int, request: RequestRow) -> None:
    """Both engines and the printed figures, to the right of the printed area."""
    for column, engine in (("K", ADDIN), ("L", NATIVE)):
        _step(ws, row, f"{column}{row}", FUNCTIONS["REQUEST_REPLICA_S"], engine)
    for step in PREFILL:
        for engine in (ADDIN, NATIVE):
            _step(ws, row, f"{OWN[step.name, engine]}{row}", step.function, engine, step.sources())
    for column, value, shown in zip("MNOP", request[1:], ("#,##0", "#,##0", "0.00", '0"x"'), strict=True):
        put(ws, f"{column}{row}", value, "Reference figure", align="right").number_format = shown
    same = f"AND(ROUND(N(F{row}),2)=O{row},ROUND(N(H{row}),0)=P{row})"
    put(ws, f"Q{row}", f'=IF(COUNTIF(E${FIRST_ROW}:E{row},"FAIL")>0,FALSE,{same})', "Calculation", align="center")
    agree = only_one_engine(f"E{row}", f"ABS(K{row}-L{row})<=tolerance*L{row}")
    put(ws, f"R{row}", agree, "Calculation", align="center")


def _step(
    ws: Worksheet, row: int, at: str, spec: Function, engine: str, sources: Mapping[str, str] | None = None
) -> None:
    """A function for the request of a row: by the lengths and steps of that row, and the plan's other rows."""
    refs = {}
    for argument, source in (sources or {name: name for name in spec.args}).items():
        own = {"prompt_tokens": "$C", "output_tokens": "$D"}.get(source) or OWN.get((source, engine))
        taken = source in refined.TAKEN and source not in SHARED
        refs[argument] = f"{own}{row}" if own else refined.cell(source, VALUE if taken else engine)
    formula = spec.formula(refs) if engine == ADDIN else spec.native_formula(refs)
    put(ws, at, f"={formula}", "Calculation", spec.unit, "right")


def _validate(ws: Worksheet, name: str) -> None:
    argument = FUNCTIONS["REQUEST_REPLICA_S"].args[name]
    error = f"{name} must be {argument.bounds} [{argument.unit}]"
    prompt = f"length of this request [{argument.unit}]: {argument.bounds}"
    lengths = rule("decimal", name, error, prompt, operator="greaterThanOrEqual", formula1="0")
    ws.add_data_validation(lengths)
    column = "C" if name == "prompt_tokens" else "D"
    lengths.add(f"{column}{FIRST_ROW}:{column}{REQUEST_LAST}")
