"""Week: the load of each hour of a week in three ready shapes and one of your own; Demand says which is in use."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from ..check import Check
from ..frame import FIRST_ROW, Column, frame, put, put_text
from ..input_rows import rule
from .money_blocks import DAYS, SHAPE_NUMBER, SHAPES, WEEK_LAST

TITLE: Final = "Week"
KIND: Final = "input"
PURPOSE: Final = "Load of each hour of a week: flat, office hours, consumer, and one of your own"

OWN, IN_USE, NAMES = "G", "H", "J"
COLUMNS: Final = (
    Column("#", 6, "center"),
    Column("Day", 18),
    Column("Hour from [h]", 9, "right"),
    *(Column(f"{name.capitalize()} [count]", 12, "right") for name in SHAPES),
    Column("In use [count]", 12, "right"),
    Column("", 3),
    Column("Shapes", 16),
)


def cells(column: str = IN_USE) -> str:
    """A column of all hours, from another sheet."""
    return f"{TITLE}!${column}${FIRST_ROW}:${column}${WEEK_LAST}"


NAME_CELLS: Final = f"{TITLE}!${NAMES}${FIRST_ROW}:${NAMES}${FIRST_ROW + len(SHAPES) - 1}"


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Hours of a week",
        "Only the proportions count. Type your requests per hour of a week under Own, and choose it on Demand.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
        landscape=False,
    )
    for row in range(FIRST_ROW, WEEK_LAST + 1):
        day, hour = divmod(row - FIRST_ROW, 24)
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        put_text(ws, (row, 2), DAYS[day], "Note", "left")
        put(ws, (row, 3), hour, "Note", "h", "right").number_format = "0"
        for column, shape in enumerate(SHAPES.values(), 4):
            style = "Input" if column == len(SHAPES) + 3 else "Fact"
            put(ws, (row, column), shape[row - FIRST_ROW], style, "count", "right").number_format = "0.00"
        load = f"INDEX(D{row}:{OWN}{row},{SHAPE_NUMBER})"  # a blank hour is not known: it is not an hour without load
        in_use = f'=IF(COUNTIF({load},">=0")=1,{load},NA())'
        put(ws, f"{IN_USE}{row}", in_use, "Calculation", "count", "right")
        ws[f"{IN_USE}{row}"].number_format = "0.00"
    for row, name in enumerate(SHAPES, FIRST_ROW):
        put_text(ws, f"{NAMES}{row}", name, "Label", "left")
    prompt = "load of the hour in any unit, >= 0; only the proportions count"
    limit = {"operator": "greaterThanOrEqual", "formula1": "0"}
    loads = rule("decimal", "load", "load must be a number >= 0", prompt, **limit)
    ws.add_data_validation(loads)
    loads.add(f"{OWN}{FIRST_ROW}:{OWN}{WEEK_LAST}")
    ws.print_area = f"A1:{IN_USE}{WEEK_LAST}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    return (
        Check(
            "Hours of Week without a load",
            "Each hour of the week has a number >= 0 in the shape in use",
            f"ROWS({cells()})-COUNT({cells()})",
            "count",
            "Look for #N/A in the column In use of Week",
            TITLE,
        ),
    )
