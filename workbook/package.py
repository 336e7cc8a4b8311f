"""The parts of an .xlsx file that this project wrote, or a spreadsheet saved for it."""

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
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
    """A file in memory: its parts, and where it has formulas, by sheet and row."""

    def __init__(self, data: bytes, formulas: Iterable[Cell] | None = None) -> None:
        """formulas: where they are, if that is known without a look at each cell."""
        self.data = data
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            self.parts = {name: zipped.read(name) for name in zipped.namelist()}
        self.formulas = tuple(self._find() if formulas is None else formulas)

    @classmethod
    def of(cls, book: Workbook) -> Self:
        """What openpyxl writes of a workbook."""
        packed = io.BytesIO()
        ExcelWriter(book, zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED)).save()  # it is read again at once
        formulas = ((ws.title, cell.coordinate) for ws in book for cell in ws._cells.values() if cell.data_type == "f")
        return cls(packed.getvalue(), formulas)

    def _find(self) -> Iterator[Cell]:
        for sheet, part in sheet_parts(self.parts).items():  # one tree at a time: together they take 100 MB
            for formula in etree.fromstring(self.parts[part]).iter(q("f")):
                yield sheet, formula.getparent().get("r")


@lru_cache(maxsize=4)
def read(path: Path, modified_ns: int) -> tuple[bytes, tuple[Cell, ...]]:
    """A file as it was then, and where it has formulas: kept, since one file is often opened again."""
    package = Package(path.read_bytes())
    return package.data, package.formulas
