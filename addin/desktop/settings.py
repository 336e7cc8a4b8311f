"""The sheet xlwings.conf: which Python the macros start, and from where it imports, for everyone to see.

xlwings reads column A from the first row to the first blank cell. Each setting that its macros ask for when they start
Python is here, so that they read none from a file elsewhere.
"""

import sys
from typing import Any, Final

from openpyxl.styles import Alignment

SHEET: Final = "xlwings.conf"
ON_PATH: Final = "pythonw"  # xlwings' own default
_WIDTHS: Final = {"A": 32, "B": 60, "C": 100}
_NOT_NEEDED: Final = "Not needed: the functions use neither this nor the place of the workbook."


def settings() -> tuple[tuple[str, str | bool | None, str], ...]:
    """Name, value and meaning of each setting."""
    return (
        (
            "INTERPRETER_WIN",
            interpreter(),
            "Full path of the python.exe in which llm-capacity is installed; pythonw takes the first one of the PATH.",
        ),
        ("PYTHONPATH", None, "No further folder to import from: llm-capacity is an installed package."),
        ("ADD_WORKBOOK_TO_PYTHONPATH", False, "Python must not import what happens to lie beside the workbook."),
        ("CONDA PATH", None, "Python from conda: its folder, with CONDA ENV, and pythonw as INTERPRETER_WIN."),
        ("CONDA ENV", None, "Python from conda: the environment in which llm-capacity is installed."),
        ("SHOW CONSOLE", False, "TRUE shows the console of Python, with the reason when it does not start."),
        ("DEBUG UDFS", False, "TRUE takes a Python that was started by hand with xlwings.serve()."),
        ("LICENSE_KEY", None, "Not needed: this part of xlwings is BSD-3."),
        ("ONEDRIVE_CONSUMER_WIN", None, _NOT_NEEDED),
        ("ONEDRIVE_COMMERCIAL_WIN", None, _NOT_NEEDED),
        ("SHAREPOINT_WIN", None, _NOT_NEEDED),
    )


def interpreter() -> str:
    """The full path of this Python on Windows; a workbook that is built elsewhere finds one on the PATH."""
    return sys.executable if sys.platform == "win32" else ON_PATH


def add_settings(book: Any) -> None:
    """Append the sheet to an openpyxl workbook; visible, so that who reviews the file finds it."""
    sheet = book.create_sheet(SHEET)
    for row in settings():
        sheet.append(row)
        sheet.cell(sheet.max_row, 2).alignment = Alignment(horizontal="left")
    for column, width in _WIDTHS.items():
        sheet.column_dimensions[column].width = width
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 1, 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
