"""The sheet xlwings.conf: which Python the macros start, and from where it imports, for everyone to see.

xlwings reads column A from the first row to the first blank cell, and a setting here goes before the same in a user's
own xlwings.conf.
"""

import sys
from typing import Any, Final

SHEET: Final = "xlwings.conf"
_WIDTHS: Final = {"A": 32, "B": 70, "C": 90}


def interpreter() -> str:
    """The full path of this Python on Windows; elsewhere blank, which makes xlwings look for pythonw on the PATH."""
    return sys.executable if sys.platform == "win32" else ""


def settings() -> tuple[tuple[str, str, str], ...]:
    """Name, value and meaning of each setting."""
    return (
        (
            "INTERPRETER_WIN",
            interpreter(),
            "Full path of python.exe, in which llm-capacity is installed. Blank: pythonw of the PATH.",
        ),
        (
            "ADD_WORKBOOK_TO_PYTHONPATH",
            "false",
            "Python must not import what happens to lie in the workbook's folder.",
        ),
        ("PYTHONPATH", "", "No further folder to import from: llm-capacity is an installed package."),
        ("CONDA PATH", "", "With CONDA ENV in place of INTERPRETER_WIN, where Python comes from conda."),
        ("CONDA ENV", "", "Name of the environment, in which llm-capacity is installed."),
    )


def add_settings(book: Any) -> None:
    """Append the sheet to an openpyxl workbook; visible, so that who reviews the file finds it."""
    sheet = book.create_sheet(SHEET)
    for row in settings():
        sheet.append([value or None for value in row])
    for column, width in _WIDTHS.items():
        sheet.column_dimensions[column].width = width
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
