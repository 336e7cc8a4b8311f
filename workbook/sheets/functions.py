"""Functions: the reference of every function: each argument with its unit, bounds, default and example."""

import math
from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity import FUNCTIONS
from capacity.arguments import REQUIRED
from capacity.registry import Function

from ..frame import FIRST_ROW, Column, frame, put, put_text
from ..style import format_of

TITLE: Final = "Functions"
KIND: Final = "control"
PURPOSE: Final = "Reference of every function, with a formula to paste"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Function", 27),
    Column("Argument", 20),
    Column("Meaning", 62),
    Column("Unit", 14),
    Column("Bounds", 34),
    Column("Default", 9, "right"),
    Column("Worked example", 22, "right"),
    Column("Formula to paste, with the worked example's figures", 58),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Functions",
        "With the functions installed: paste a formula into any cell, with your cells in place of the figures; without "
        "arguments it answers for the worked example. Not installed (#NAME?): copy Take-away.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    row = FIRST_ROW
    for number, spec in enumerate(FUNCTIONS.values(), 1):
        row = _function(ws, row, number, spec)
    ws.print_area = f"A1:I{row - 1}"


def _digits(example: object, unit: str) -> str:
    """Decimals where the format of the unit would hide them: a count of 1.8 is not 2."""
    hidden = isinstance(example, float) and not example.is_integer() and abs(example) < 1000
    return "#,##0.00" if hidden and format_of(unit) == "#,##0" else ""


def _function(ws: Worksheet, row: int, number: int, spec: Function) -> int:
    """One function: a band with its name, result and formula, then a row per argument. Returns the next free row."""
    for column in range(1, len(COLUMNS) + 1):
        put(ws, (row, column), None, "Section")
    put(ws, (row, 1), number, "Section", align="center")
    put_text(ws, (row, 2), spec.name, "Section")
    put_text(ws, (row, 4), spec.doc, "Section")
    put_text(ws, (row, 5), spec.unit, "Section", "left")
    put_text(ws, (row, 6), f"result: {spec.label}", "Section", "left")
    result = spec(*spec.examples)
    shown = put(ws, (row, 8), result, "Section", spec.unit, "right", _digits(result, spec.unit))
    shown.alignment = Alignment(horizontal="right", vertical="center", wrap_text=spec.returns_text)
    put_text(ws, (row, 9), f"={spec.formula()}", "Code", "left")
    lines = max(len(spec.doc) / 60, len(spec.formula()) / 52, len(str(result)) / 24 if spec.returns_text else 1)
    ws.row_dimensions[row].height = 18 if lines <= 1 else 14 * math.ceil(lines)
    ws.cell(row, 4).alignment = Alignment(horizontal="left", vertical="center", wrap_text=True, indent=1)
    for name, argument in spec.args.items():
        row += 1
        default = "required" if argument.default is REQUIRED else argument.default
        put_text(ws, (row, 2), spec.name, "Note", "left")
        put_text(ws, (row, 3), name, "Label", "left")
        put_text(ws, (row, 4), argument.meaning, "Note", "left")
        put_text(ws, (row, 5), argument.unit, "Note", "left")
        put_text(ws, (row, 6), argument.bounds, "Note", "left")
        put(ws, (row, 7), default, "Note", align="right")
        digits = _digits(argument.example, argument.unit)
        put(ws, (row, 8), argument.example, "Reference figure", argument.unit, "right", digits)
        if len(argument.meaning) > 62:
            ws.row_dimensions[row].height = 27
    if spec.vararg:
        row += 1
        put_text(ws, (row, 2), spec.name, "Note", "left")
        put_text(ws, (row, 3), f"{spec.vararg}...", "Label", "left")
        put_text(ws, (row, 4), "the arguments of that function", "Note", "left")
        put_text(ws, (row, 5), "any", "Note", "left")
        put_text(ws, (row, 6), "anything", "Note", "left")
        put_text(ws, (row, 7), "omitted", "Note", "right")
        put_text(ws, (row, 8), "the worked example's", "Note", "right")
    return row + 1
