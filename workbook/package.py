"""The parts of an .xlsx file that this project wrote, or a spreadsheet saved for it."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

from lxml import etree
from openpyxl import Workbook
from openpyxl.writer.excel import ExcelWriter

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


class Package:
    """The parts of a file in memory; each sheet is parsed once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            self.parts = {name: zipped.read(name) for name in zipped.namelist()}
        self.sheets = {title: etree.fromstring(self.parts[part]) for title, part in sheet_parts(self.parts).items()}

    @classmethod
    def of(cls, book: Workbook) -> Self:
        """What openpyxl writes of a workbook."""
        packed = io.BytesIO()
        ExcelWriter(book, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED)).save()  # it is read again at once
        return cls(packed.getvalue())

    def formula_cells(self) -> Iterator[Cell]:
        """Where it has formulas, by sheet and row."""
        for sheet, tree in self.sheets.items():
            for formula in tree.iter(q("f")):
                yield sheet, formula.getparent().get("r")


@lru_cache(maxsize=4)
def read(path: Path, modified_ns: int) -> tuple[bytes, tuple[Cell, ...]]:
    """A file as it was then, and where it has formulas: kept, since one file is often opened again."""
    package = Package(path.read_bytes())
    return package.data, tuple(package.formula_cells())
