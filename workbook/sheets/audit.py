"""Audit: the worked example step by step, each computed twice: by the add-in's function and by plain cell arithmetic.

Two complete chains: an Add-in cell refers to the Add-in cells above it, a Native cell to the Native cells above it, and
Value takes one of them. The first row that differs is the fault.
"""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS, SECTIONS, STEPS, Step
from capacity.registry import atom

from ..frame import FIRST_ROW, Column, frame, grouped_rows, letter, put, put_text, section
from ..style import color_checks, format_of, gray_when
from . import inputs

TITLE: Final = "Audit"
KIND: Final = "working"
PURPOSE: Final = "The plan step by step, each computed by the add-in and by cell arithmetic"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 34),
    Column("Formula in words", 44),
    Column("Add-in", 21, "right"),
    Column("Native", 21, "right"),
    Column("Value", 21, "right"),
    Column("Unit", 13),
    Column("Formula to paste", 50),
    Column("Seed prints", 21, "right"),
    Column("Difference", 11, "right"),
    Column("Check", 14, "center"),
    Column("Source", 50),
)
WORKING: Final = (  # beside the printed area: what Seed prints and Check are made of
    Column("Printed figure", 19, "right"),
    Column("Decimals", 10, "right"),
    Column("Engines agree", 10, "center"),
    Column("As printed", 10, "center"),
    Column("Has a result", 10, "center"),
)
NOT_PRINTED: Final = "not printed"
ADDIN, NATIVE, VALUE, SEED, DIFF, CHECK = (
    letter(COLUMNS, h) for h in ("Add-in", "Native", "Value", "Seed prints", "Difference", "Check")
)
PRINTED, DECIMALS, AGREE, AS_PRINTED, ANSWERED = "M", "N", "O", "P", "Q"


ROWS: Final = grouped_rows([list(INPUTS), *([s.name for s in steps] for steps in SECTIONS.values())])
FIRST_STEP: Final = ROWS[STEPS[0].name]
LAST: Final = max(ROWS.values())


def cell(name: str) -> str:
    """Absolute address of a value from another sheet, e.g. Audit!$F$40."""
    return f"{TITLE}!${VALUE}${ROWS[name]}"


def span(column: str) -> str:
    """The step rows of one column, from another sheet."""
    return f"{TITLE}!${column}${FIRST_STEP}:${column}${LAST}"


def weightless() -> str:
    """Whether a sequence takes no room at all: no tokens, and weights that fit."""
    return f"AND({cell('kv_gb_per_seq')}=0,ISNUMBER({cell('kv_pool_gb')}))"


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Audit: every step twice",
        "Add-in is the function, Native the same quantity in cell arithmetic; Value is the one that the plan uses.",
        COLUMNS + WORKING,
        freeze=f"C{FIRST_ROW}",
    )
    section(ws, FIRST_ROW, "Inputs used", len(COLUMNS))
    for number, name in enumerate(INPUTS, 1):
        _input_row(ws, number, name)
    number = 0
    for title, steps in SECTIONS.items():
        section(ws, ROWS[steps[0].name] - 1, title, len(COLUMNS))
        for step in steps:
            number += 1
            _step_row(ws, number, step)
    color_checks(ws, f"{CHECK}{FIRST_STEP}:{CHECK}{LAST}")
    gray_when(ws, f"{ADDIN}{FIRST_STEP}:{ADDIN}{LAST}", 'engine_active="Native"')
    gray_when(ws, f"{NATIVE}{FIRST_STEP}:{NATIVE}{LAST}", 'engine_active<>"Native"')
    ws.row_breaks.append(Break(id=FIRST_STEP - 2))  # inputs on a page of their own, then all steps on one
    ws.print_area = f"A1:{letter(COLUMNS, 'Source')}{LAST}"


def _input_row(ws: Worksheet, number: int, name: str) -> None:
    row, argument = ROWS[name], INPUTS[name]
    put(ws, (row, 1), f"i{number}", "Note", align="center")
    put_text(ws, (row, 2), argument.label, "Label", "left")
    put_text(ws, (row, 3), f"{name}, from {inputs.TITLE} row {inputs.ROWS[name]}", "Note", "left")
    put(ws, f"{VALUE}{row}", f"={inputs.cell(name)}", "Result", argument.unit, "right")
    put_text(ws, (row, 7), argument.unit, "Note", "left")
    for column in (ADDIN, NATIVE, "H", SEED, DIFF, CHECK, "L"):
        put(ws, f"{column}{row}", None, "Note")
    ws.row_dimensions[row].height = 16


def refs(step: Step, column: str) -> dict[str, str]:
    """Argument -> cell on this sheet: inputs from Value, steps from the same engine's column."""
    return {a: "+".join(_ref(n, column) for n in source.split("+")) for a, source in step.sources().items()}


def _ref(name: str, column: str) -> str:
    return f"{VALUE if name in INPUTS else column}{ROWS[name]}"


def guarded(step: Step, formula: str, names: dict[str, str]) -> str:
    """The formula, or the guard's words where it has no number."""
    if step.guard is None:
        return f"={formula}"
    words = step.guard.shows.format(**names) if step.guard.shows else f'"{step.guard.words}"'
    return f"=IF({step.guard.native.format(**names)},{words},{formula})"


def _step_row(ws: Worksheet, number: int, step: Step) -> None:
    row, spec = ROWS[step.name], step.function
    put(ws, (row, 1), number, "Note", align="center")
    put_text(ws, (row, 2), step.quantity, "Label", "left")
    put_text(ws, (row, 3), spec.words, "Note", "left")
    for column, formula in (
        (ADDIN, spec.formula(refs(step, ADDIN))),
        (NATIVE, spec.native_formula(refs(step, NATIVE))),
    ):
        names = {n: atom(_ref(n, column)) for n in ROWS}
        put(ws, f"{column}{row}", guarded(step, formula, names), "Calculation", spec.unit, "right")
    value = f'=IF(inputs_bad>0,NA(),IF(engine_active="Native",{NATIVE}{row},{ADDIN}{row}))'
    put(ws, f"{VALUE}{row}", value, "Result", spec.unit, "right")
    put_text(ws, (row, 7), spec.unit, "Note", "left")
    put_text(ws, (row, 8), f"={paste(step)}", "Code", "left")
    seed = put(ws, f"{SEED}{row}", f'=IF(at_seed,{PRINTED}{row},"inputs changed")', "Reference figure", align="right")
    difference = f"N({ADDIN}{row})-N({NATIVE}{row})+(T({ADDIN}{row})<>T({NATIVE}{row}))"
    shown = put(
        ws, f"{DIFF}{row}", f'=IF(addin_version="not installed","no add-in",{difference})', "Calculation", align="right"
    )
    shown.number_format = '0.0E+00;-0.0E+00;"0"'
    check = f'=CHOOSE(1+{AGREE}{row}*{AS_PRINTED}{row}*(1+at_seed),"FAIL","inputs changed","PASS")'
    put(ws, f"{CHECK}{row}", check, "Check")
    put_text(ws, (row, 12), step.source or spec.source, "Note", "left")
    _working(ws, row, step)
    seed.number_format = ws[f"{PRINTED}{row}"].number_format
    ws.row_dimensions[row].height = 27


def _working(ws: Worksheet, row: int, step: Step) -> None:
    printed = put(
        ws, f"{PRINTED}{row}", NOT_PRINTED if step.prints is None else step.prints, "Reference figure", align="right"
    )
    places = "#,##0" + ("." + "0" * step.digits if step.digits else "")
    dollars = '"$"' if "$" in format_of(step.function.unit) else ""
    printed.number_format = dollars + places if isinstance(step.prints, int | float) else "General"
    put(ws, f"{DECIMALS}{row}", step.digits, "Reference figure", align="right")
    agree = f"=IF(inputs_bad>0,FALSE,ABS(N({DIFF}{row}))<=tolerance*MAX(1,ABS(N({NATIVE}{row}))))"
    put(ws, f"{AGREE}{row}", agree, "Calculation", align="center")
    same = f"AND(ROUND(N({VALUE}{row}),{DECIMALS}{row})=N({PRINTED}{row}),T({VALUE}{row})=T({PRINTED}{row}))"
    as_printed = f'=IF(inputs_bad>0,FALSE,OR(NOT(at_seed),{PRINTED}{row}="{NOT_PRINTED}",{same}))'
    put(ws, f"{AS_PRINTED}{row}", as_printed, "Calculation", align="center")
    answered = f"=OR(ISNUMBER({VALUE}{row}),ISTEXT({VALUE}{row}))"
    put(ws, f"{ANSWERED}{row}", answered, "Calculation", align="center")


def paste(step: Step) -> str:
    """The call with addresses that hold on any sheet of this workbook."""
    return step.function.formula(
        {a: "+".join(cell(n) for n in source.split("+")) for a, source in step.sources().items()}
    )
