"""Each host of the functions, as test_parity.py calls it: a table of calls in, what the cells show out.

Every host gets its arguments as it does in a cell: LibreOffice and formualizer from the cells of one workbook file, the
others as Excel hands over the values of cells.
"""

import datetime
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
from conftest import found, need, wine_folder
from office import node
from office.macros import Cells, Macros, scode
from office.office_js import received, sent
from office.own_server import serving, xlwings_server
from openpyxl.cell import Cell
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.formula import ArrayFormula
from parity import Call, Currency, Date
from wine import Windows

from addin.lite.script import main_py
from capacity.call import OMITTED, ExcelError, call
from capacity.registry import FUNCTIONS
from workbook.recalculate import Session, _from_engine

Fixture = Callable[[str], Any]  # pytest's getfixturevalue
DAY_0 = datetime.datetime(1899, 12, 30)
COM = Path(__file__).parent / "office" / "excel_com.py"
RESULTS = 60  # the column of the results, right of all arguments


def in_python(calls: Sequence[Call], _: Fixture) -> list[Any]:
    """The layer on which all the others stand."""
    return [call(c.function, [_each(_python_value, x) for x in c.args]) for c in calls]


def in_macros(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """The macros of the workbook for Excel on Windows, in a VBA interpreter."""
    macros = Macros(fixture("macro_workbook"))
    return [macros.call(c.function, *map(_reference, c.args)) for c in calls]


def in_com(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """xlwings' COM code on this system, pywin32 stubbed; the macros make cells' values of its answers."""
    asked = [[c.function, list(map(com_argument, c.args))] for c in calls]
    done = subprocess.run(
        [sys.executable, "-W", "error", COM],
        input=json.dumps(asked),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(map(Macros(fixture("macro_workbook")).cell_values, json.loads(done.stdout)["results"]))


def in_wine(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """The real COM server in Windows' Python; the macros make cells' values of its answers."""
    windows = Windows(wine_folder(), fixture("tmp_path_factory").mktemp("wine"))
    macros = Macros(fixture("macro_workbook"))
    asked = [[c.function, list(map(com_argument, c.args))] for c in calls]
    answer = windows.call(macros.command(windows.interpreter), asked)
    return [macros.cell_values(result) for result, _ in answer["results"]]


def in_server(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """xlwings' own JavaScript against the running server."""
    need("node")
    found("xlwings-server", xlwings_server())
    found("xlwings' license key (XLWINGS_LICENSE_KEY)", node.license_key())
    with serving(fixture("project"), workers=1) as server:
        answer = node.run("excel_client.mjs", {"address": server.address, "calls": list(map(_sent, calls))})
    assert sorted(answer["associated"]) == sorted(answer["meta"]) == sorted(FUNCTIONS)
    return [received(r["value"]) if "value" in r else r for r in answer["results"]]


def in_lite(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """The script for xlwings Lite in Pyodide, called through xlwings' own code."""
    found("pyodide for Node (.ci/node.sh installs it)", node.pyodide())
    found("xlwings' license key (XLWINGS_LICENSE_KEY)", node.license_key())
    archive = node.xlwings_archive(fixture("tmp_path_factory").mktemp("lite") / "xlwings.zip")
    request = {"script": main_py(), "xlwings": str(archive), "calls": list(map(_sent, calls))}
    answer = node.run("pyodide_host.mjs", request)
    assert sorted(answer["functions"]) == sorted(FUNCTIONS)
    return list(map(received, answer["results"]))


def in_libreoffice(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """The extension in a real LibreOffice."""
    office = fixture("office_with_addin")
    path = fixture("tmp_path_factory").mktemp("libreoffice") / "calls.xlsx"
    blocks = write(calls, path)
    office.open(path)
    try:
        office.recalculate()
        return [office.range("Sheet", f"{get_column_letter(RESULTS)}{r[0]}:{_address(r, c)}") for r, c in blocks]
    finally:
        office.close()


def in_formualizer(calls: Sequence[Call], fixture: Fixture) -> list[Any]:
    """The functions as the build recalculates the workbook, in process."""
    path = fixture("tmp_path_factory").mktemp("formualizer") / "calls.xlsx"
    blocks = write(calls, path)
    session = Session(path)
    session.values()
    read = session._book.get_value  # no formula stands in the cells of a spill
    return [[[_from_engine(read("Sheet", i, j)) for j in columns] for i in rows] for rows, columns in blocks]


HOSTS: dict[str, Callable[[Sequence[Call], Fixture], list[Any]]] = {
    "Python": in_python,
    "Excel macros": in_macros,
    "xlwings COM": in_com,
    "COM under Wine": in_wine,
    "xlwings Server": in_server,
    "xlwings Lite": in_lite,
    "LibreOffice": in_libreoffice,
    "formualizer": in_formualizer,
}


def write(calls: Sequence[Call], path: Path) -> list[tuple[range, range]]:
    """A workbook with the calls below each other, their arguments in cells; rows and columns of each result."""
    book = openpyxl.Workbook()
    sheet, top, blocks = book.worksheets[0], 1, []
    for c in calls:
        arguments, column, height = [], 1, 1
        for x in c.args:
            rows = _rows(x)
            last = f"{get_column_letter(column + len(rows[0]) - 1)}{top + len(rows) - 1}"
            first = f"{get_column_letter(column)}{top}"
            arguments.append("" if x is OMITTED else f"{first}:{last}" if isinstance(x, list) else first)
            for i, row in enumerate([] if x is OMITTED else rows):
                for j, value in enumerate(row):
                    _put(sheet.cell(top + i, column + j), value)
            column, height = column + len(rows[0]), max(height, len(rows))
        shown = _rows(c.expected)
        rows, columns = range(top, top + len(shown)), range(RESULTS, RESULTS + len(shown[0]))
        formula = f"={c.function}({','.join(arguments)})"
        block = f"{get_column_letter(RESULTS)}{top}:{_address(rows, columns)}"
        sheet.cell(top, RESULTS).value = ArrayFormula(block, formula) if isinstance(c.expected, list) else formula
        blocks.append((rows, columns))
        top += max(height, len(shown)) + 1
    book.save(path)
    return blocks


def _address(rows: range, columns: range) -> str:
    return f"{get_column_letter(columns[-1])}{rows[-1]}"


def _put(cell: Cell, x: Any) -> None:
    if x == "":
        cell.value = '=""'  # only a formula leaves an empty text
    elif isinstance(x, Date):
        cell.value, cell.number_format = x.serial, "yyyy-mm-dd"
    elif isinstance(x, Currency):
        cell.value, cell.number_format = x.amount, '"$"#,##0.00'
    elif isinstance(x, ExcelError):
        cell.value, cell.data_type = x.code, "e"
    else:
        cell.value = x
        if isinstance(x, str):
            cell.data_type = "s"  # openpyxl would make an error of the text #N/A


def _rows(x: Any) -> list[list[Any]]:
    return x if isinstance(x, list) else [[x]]


def _each(convert: Callable[[Any], Any], x: Any) -> Any:
    """An argument with each of its cells converted."""
    return [list(map(convert, row)) for row in x] if isinstance(x, list) else convert(x)


def _python_value(x: Any) -> Any:
    """What Python has for a cell."""
    return x.amount if isinstance(x, Currency) else _macro_value(x)


def _macro_value(x: Any) -> Any:
    """What Excel's macros get from a cell."""
    if isinstance(x, Date):
        return DAY_0 + datetime.timedelta(x.serial)
    return Decimal(str(x.amount)) if isinstance(x, Currency) else x


def _reference(x: Any) -> Any:
    return x if x is OMITTED else Cells(_rows(_each(_macro_value, x)))


def com_argument(x: Any) -> Any:
    """As the macros hand an argument to xlwings' server: a range by its values, a single cell by its own."""
    if x is OMITTED:
        return {"left out": True}
    rows = _each(_com_value, _rows(x))
    return rows[0][0] if len(rows) == len(rows[0]) == 1 else {"values": rows}


def _com_value(x: Any) -> Any:
    if isinstance(x, Date):
        return {"date": (DAY_0 + datetime.timedelta(x.serial)).isoformat()}
    if isinstance(x, Currency):
        return {"currency": str(x.amount)}
    return {"error": scode(x)} if isinstance(x, ExcelError) else x


def _sent(c: Call) -> list[Any]:
    """A call as Office.js sends it, which knows no formats of cells."""
    args = [_each(lambda cell: cell[0] if isinstance(cell, Date | Currency) else cell, x) for x in c.args]
    return [c.function, sent(args, bool(FUNCTIONS[c.function].vararg))]
