"""Audit: the worked example step by step, each computed twice: by the function and by plain cell arithmetic."""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS, SECTIONS, STEPS, Step

from ..chain import ADDIN, DIFF, NATIVE, VALUE, Chain
from ..frame import FIRST_ROW, Column, frame, letter, put, section
from ..style import color_checks, format_of
from . import inputs

TITLE: Final = "Audit"
KIND: Final = "working"
PURPOSE: Final = "The worked example's chain step by step, each computed by the add-in and by cell arithmetic"
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
SEED, CHECK = (letter(COLUMNS, h) for h in ("Seed prints", "Check"))
PRINTED, DECIMALS, AGREE, AS_PRINTED, ANSWERED = "M", "N", "O", "P", "Q"
__all__ = ["ADDIN", "DIFF", "NATIVE", "ROWS", "VALUE"]

CHAIN: Final = Chain(TITLE, list(INPUTS), [[s.name for s in steps] for steps in SECTIONS.values()], "inputs_bad")
ROWS: Final = CHAIN.rows
FIRST_STEP: Final = CHAIN.first
LAST: Final = CHAIN.last
cell = CHAIN.cell
span = CHAIN.span


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
    for order, (name, argument) in enumerate(INPUTS.items(), 1):
        words = f"{name}, from {inputs.TITLE} row {inputs.ROWS[name]}"
        CHAIN.take(ws, name, order, inputs.cell(name), argument.label, words, argument.unit)
    for order, step in enumerate(STEPS, 1):
        CHAIN.step(ws, step, order)
        _compare(ws, ROWS[step.name], step)
    for title, steps in SECTIONS.items():
        section(ws, ROWS[steps[0].name] - 1, title, len(COLUMNS))
    color_checks(ws, f"{CHECK}{FIRST_STEP}:{CHECK}{LAST}")
    CHAIN.gray_idle_engine(ws)
    ws.row_breaks.append(Break(id=FIRST_STEP - 2))  # inputs on a page of their own, then all steps on one
    ws.print_area = f"A1:{letter(COLUMNS, 'Source')}{LAST}"


def _compare(ws: Worksheet, row: int, step: Step) -> None:
    """A step against the figure that the worked example prints."""
    seed = put(ws, f"{SEED}{row}", f'=IF(at_seed,{PRINTED}{row},"inputs changed")', "Reference figure", align="right")
    check = f'=CHOOSE(1+{AGREE}{row}*{AS_PRINTED}{row}*(1+at_seed),"FAIL","inputs changed","PASS")'
    put(ws, f"{CHECK}{row}", check, "Check")
    printed = put(
        ws, f"{PRINTED}{row}", NOT_PRINTED if step.prints is None else step.prints, "Reference figure", align="right"
    )
    places = "#,##0" + ("." + "0" * step.digits if step.digits else "")
    dollars = '"$"' if "$" in format_of(step.function.unit) else ""
    printed.number_format = dollars + places if isinstance(step.prints, int | float) else "General"
    seed.number_format = printed.number_format
    put(ws, f"{DECIMALS}{row}", step.digits, "Reference figure", align="right")
    put(ws, f"{AGREE}{row}", CHAIN.agree(row), "Calculation", align="center")
    same = f"AND(ROUND(N({VALUE}{row}),{DECIMALS}{row})=N({PRINTED}{row}),T({VALUE}{row})=T({PRINTED}{row}))"
    as_printed = f'=IF(inputs_bad>0,FALSE,OR(NOT(at_seed),{PRINTED}{row}="{NOT_PRINTED}",{same}))'
    put(ws, f"{AS_PRINTED}{row}", as_printed, "Calculation", align="center")
    answered = f"=OR(ISNUMBER({VALUE}{row}),ISTEXT({VALUE}{row}))"
    put(ws, f"{ANSWERED}{row}", answered, "Calculation", align="center")
