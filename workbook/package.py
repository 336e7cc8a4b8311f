"""The parts of an .xlsx file that this project wrote, or a spreadsheet saved for it."""

import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from lxml import etree

Cell = tuple[str, str]  # sheet, coordinate

MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def q(tag: str) -> str:
    """A tag of SpreadsheetML with its namespace."""
    return f"{{{MAIN}}}{tag}"


def sheet_parts(parts: Mapping[str, bytes]) -> dict[str, str]:
    """Sheet name -> name of its part in the package."""
    book = etree.fromstring(parts["xl/workbook.xml"])
    relations = etree.fromstring(parts["xl/_rels/workbook.xml.rels"])
    target = {r.get("Id"): r.get("Target").removeprefix("/xl/") for r in relations}
    return {s.get("name"): f"xl/{target[s.get(f'{{{RELATIONS}}}id')]}" for s in book.iter(q("sheet"))}


def formula_cells(path: Path) -> tuple[Cell, ...]:
    """Where a file has formulas, by sheet and row."""
    return _formula_cells(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _formula_cells(path: Path, modified_ns: int) -> tuple[Cell, ...]:
    """Kept, since one file is often opened again."""
    with zipfile.ZipFile(path) as zipped:
        parts = {name: zipped.read(name) for name in zipped.namelist() if name.endswith((".xml", ".rels"))}
    return tuple(
        (sheet, formula.getparent().get("r"))
        for sheet, part in sheet_parts(parts).items()
        for formula in etree.fromstring(parts[part]).iter(q("f"))
    )
