"""The last step of every build: put the calculated results into the file, so that every reader shows numbers.

openpyxl writes formulas without results; previews, Protected View, pandas and machines without the add-in would show
blanks. Saving the file with openpyxl again drops all of this.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lxml import etree

from capacity.call import ExcelError

from .recalculate import Cell

_MAIN: Final = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_CALC_ENGINE: Final = "191029"  # Excel's calculation engine since 2019: an older number makes it recalculate on opening


def finish(source: Path, target: Path, values: Mapping[Cell, Any]) -> None:
    """Copy a workbook, filling each formula cell's cached value."""
    with zipfile.ZipFile(source) as zipped:
        parts = {info.filename: zipped.read(info) for info in zipped.infolist()}
    for sheet, part in _sheet_parts(parts).items():
        tree = etree.fromstring(parts[part])
        for cell in tree.iter(f"{{{_MAIN}}}c"):
            if cell.find(f"{{{_MAIN}}}f") is not None:
                _fill(cell, values[sheet, cell.get("r")])
        parts[part] = _serialize(tree)
    parts["xl/workbook.xml"] = _trust_results(parts["xl/workbook.xml"])
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in parts.items():
            zipped.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def _sheet_parts(parts: Mapping[str, bytes]) -> dict[str, str]:
    """Sheet name -> name of its part in the package."""
    book = etree.fromstring(parts["xl/workbook.xml"])
    relations = etree.fromstring(parts["xl/_rels/workbook.xml.rels"])
    target = {r.get("Id"): r.get("Target").removeprefix("/xl/") for r in relations}
    return {s.get("name"): f"xl/{target[s.get(f'{{{_REL}}}id')]}" for s in book.iter(f"{{{_MAIN}}}sheet")}


def _fill(cell: Any, value: Any) -> None:
    for old in cell.findall(f"{{{_MAIN}}}v"):
        cell.remove(old)
    kind, text = _encode(value)
    if kind:
        cell.set("t", kind)
    else:
        cell.attrib.pop("t", None)
    etree.SubElement(cell, f"{{{_MAIN}}}v").text = text


def _encode(value: Any) -> tuple[str, str]:
    """Cell type and text of a result, as SpreadsheetML spells them."""
    if isinstance(value, bool):
        return "b", str(int(value))
    if isinstance(value, ExcelError):
        return "e", value.code
    if isinstance(value, str):
        return "str", value
    if isinstance(value, int | float):
        return "", str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
    raise TypeError(f"a formula gave {value!r}, which no cell can hold")


def _trust_results(workbook_xml: bytes) -> bytes:
    """The results are in the file: Excel need not calculate it on opening."""
    tree = etree.fromstring(workbook_xml)
    calc = tree.find(f"{{{_MAIN}}}calcPr")
    calc.attrib.clear()
    calc.set("calcId", _CALC_ENGINE)
    return _serialize(tree)


def _serialize(tree: Any) -> bytes:
    data: bytes = etree.tostring(tree, xml_declaration=True, encoding="UTF-8", standalone=True)
    return data
