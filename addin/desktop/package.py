"""Puts the macros into a finished workbook; every other part of the file, results included, stays as it is."""

import tempfile
import zipfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Final

from lxml import etree
from pyopenvba import ExcelFile, VBAModuleKind

from capacity.writing import write_all

from .vba import modules, workbook_code

XLWINGS_MODULE: Final = "xlwings"
DICTIONARY_CLASS: Final = "Dictionary"  # xlwings uses it on macOS, and its module does not compile without
WORKBOOK_MODULE: Final = "ThisWorkbook"

_TYPES: Final = "[Content_Types].xml"
_BOOK: Final = "/xl/workbook.xml"
_MACRO_BOOK: Final = "application/vnd.ms-excel.sheet.macroEnabled.main+xml"


def build(path: str | Path, workbook: str | Path) -> list[Path]:
    """Write the workbook with the macros inside, and their text beside it, in the folder NAME-vba, for who reviews it.

    Arguments:
        path: the .xlsm file to write
        workbook: a finished .xlsx file, to which `add_settings` was applied before it was finished
    Returns the files written, the workbook first.
    """
    path = Path(path)
    texts = _texts()
    with tempfile.TemporaryDirectory(prefix="llm-capacity-") as folder:
        plain, ready = Path(folder) / "plain.xlsm", Path(folder) / "ready.xlsm"
        _allow_macros(Path(workbook), plain)
        _add_project(plain, ready, texts)
        beside = path.with_name(f"{path.stem}-vba")
        written = {path: ready.read_bytes(), **{beside / name: text.encode() for name, text in texts.items()}}
    write_all(written, [beside])
    return list(written)


def _texts() -> dict[str, str]:
    """File name and text of every module that holds code; xlwings' as they come, but for the line ends."""
    source = files("xlwings") / "quickstart_standalone.xlsm"
    with as_file(source) as example, ExcelFile(example) as shipped:
        theirs = {name: shipped.get_module(name) for name in (XLWINGS_MODULE, DICTIONARY_CLASS)}
    return {
        f"{WORKBOOK_MODULE}.cls": _lines(workbook_code()),
        **{f"{name}.bas": _lines(text) for name, text in modules().items()},
        f"{XLWINGS_MODULE}.bas": _lines(theirs[XLWINGS_MODULE]),
        f"{DICTIONARY_CLASS}.cls": _lines(theirs[DICTIONARY_CLASS]),
    }


def _lines(text: str) -> str:
    """Line ends as VBA has them."""
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _allow_macros(source: Path, target: Path) -> None:
    """Copy the package, declared as a workbook with macros."""
    with zipfile.ZipFile(source) as read, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as write:
        for info in read.infolist():
            data = read.read(info)
            write.writestr(info, _declared(data) if info.filename == _TYPES else data, zipfile.ZIP_DEFLATED)


def _declared(types_xml: bytes) -> bytes:
    types: Any = etree.fromstring(types_xml)
    (book,) = (part for part in types if part.get("PartName") == _BOOK)
    book.set("ContentType", _MACRO_BOOK)
    return etree.tostring(types, xml_declaration=True, encoding="UTF-8", standalone=True)


def _add_project(source: Path, target: Path, texts: dict[str, str]) -> None:
    """Add the VBA project with its modules, and the names by which it knows workbook and sheets."""
    with ExcelFile(source) as book:
        project = book.add_vba_project()
        for file, text in texts.items():
            name, _, suffix = file.partition(".")
            if name == WORKBOOK_MODULE:
                project.get_module(name).body = text
            else:
                kind = VBAModuleKind.standard if suffix == "bas" else VBAModuleKind.other
                project.add_module(name, text, kind=kind)
        book.save(target)
