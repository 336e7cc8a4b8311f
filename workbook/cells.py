"""The cells of some sheets of a workbook file: values only, streamed, a formula by its stored result.

The standard library's parser reads the parts. A document type, and with it every entity, ends the reading where it
begins; nothing outside the file is ever looked up.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from xml.parsers import expat
from zipfile import ZipFile

from capacity.call import ExcelError
from capacity.errors import show

from .archive import opened, refuse

Value = float | str | bool | ExcelError | None

_CHUNK: Final = 1 << 16
_MAX_PART: Final = 32_000_000  # bytes of a part that is read
_MAX_TOKEN: Final = 1_000_000  # bytes of a tag with its attributes
_MAX_MARKS: Final = 400_000  # tags and attributes; this project's workbook has 13,000
_MAX_TEXT: Final = 32_767  # characters of a cell, as in Excel
_ADDRESS: Final = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_ERROR: Final = re.compile(r"#[A-Z0-9/_]{1,20}[!?]?")


class Cell(NamedTuple):
    """What a cell holds, and whether by a formula: with one, None means that no result is stored."""

    value: Value
    formula: bool = False


class Place(NamedTuple):
    """Where a cell stands on its sheet."""

    column: str
    row: int


Sheet = Mapping[Place, Cell]


def sheets(path: Path, titles: Collection[str]) -> dict[str, Sheet]:
    """The cells of the sheets with these titles that the workbook has, blank ones left out."""
    with opened(path) as package:
        parts = _Parts(package)
        names = _names(parts)
        raw = {
            title: parts.feed(names[title.casefold()], _Cells()).found for title in titles if title.casefold() in names
        }
        wanted = {int(cell.text) for cells in raw.values() for cell in cells.values() if cell.kind == "s"}
        strings = parts.feed(names[_STRINGS], _Strings(wanted)).found if wanted else {}
        return {
            title: {place: Cell(_value(cell, strings), cell.formula) for place, cell in cells.items()}
            for title, cells in raw.items()
        }


class _Raw(NamedTuple):
    """A cell as the part spells it."""

    kind: str
    text: str
    formula: bool


def _value(cell: _Raw, strings: Mapping[int, str]) -> Value:
    if cell.kind == "s":
        return strings[int(cell.text)]
    if cell.kind == "e":
        return ExcelError(cell.text if _ERROR.fullmatch(cell.text) else "#VALUE!")
    if cell.kind == "b":
        return cell.text.strip() == "1"
    if cell.kind != "n":
        return cell.text
    try:
        return float(cell.text) if cell.text.strip() else None
    except ValueError:
        return cell.text


_STRINGS: Final = "\0strings"  # no title of a sheet


def _names(parts: "_Parts") -> dict[str, str]:
    """Title of each sheet, without regard to case, -> name of its part; and that of the shared strings."""
    relations: dict[str, str] = {}
    found: dict[str, str] = {}

    def relation(name: str, attributes: Mapping[str, str]) -> None:
        if name == "Relationship":
            if attributes.get("TargetMode") == "External":
                refuse("has links to other files: save it without them")
            part = posixpath.normpath(posixpath.join("/xl", attributes["Target"])).lstrip("/")
            relations[attributes["Id"]] = part
            if attributes["Type"].endswith("/sharedStrings"):
                found[_STRINGS] = part

    def sheet(name: str, attributes: Mapping[str, str]) -> None:
        if name == "sheet":
            title = attributes["name"].casefold()
            if title in found:
                refuse(f"has two sheets called {show(title)}")
            # without an id there is no such relation, as with a wrong one
            found[title] = relations[next((x for key, x in attributes.items() if key.endswith(" id")), "")]

    parts.feed("xl/_rels/workbook.xml.rels", _Handler(start=relation))
    parts.feed("xl/workbook.xml", _Handler(start=sheet))
    return found


class _Handler:
    """What is done at a tag and at its end; `text` collects what stands between those named in `collects`."""

    collects: Collection[str] = ()
    done = False

    def __init__(self, start: Callable[[str, Mapping[str, str]], None] | None = None) -> None:
        self.text: list[str] = []
        self._start = start

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._start:
            self._start(name, attributes)

    def end(self, name: str) -> None:
        pass

    def take(self) -> str:
        """What has been collected; then it is begun anew."""
        text = "".join(self.text)
        self.text.clear()
        return text


class _Cells(_Handler):
    """The cells of a sheet's part; what follows its data is left unread."""

    collects = ("v", "t")

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[Place, _Raw] = {}
        self._formula = False
        self._attributes: Mapping[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "c":
            self._attributes, self._formula = attributes, False
            self.take()
        elif name == "f":
            self._formula = True

    def end(self, name: str) -> None:
        if name == "sheetData":
            self.done = True
        elif name == "c" and (self.text or self._formula):
            self._add(self._attributes["r"], self._attributes.get("t", "n"))

    def _add(self, address: str, kind: str) -> None:
        match = _ADDRESS.fullmatch(address)
        place = Place(match[1], int(match[2])) if match else None
        if place is None or place in self.found:
            refuse(f"has a cell twice, or one that is nowhere: {show(address)}")
        else:
            self.found[place] = _Raw(kind, self.take(), self._formula)


class _Strings(_Handler):
    """Those of the shared strings that are wanted; phonetic readings beside them are no part of them."""

    collects = ("t",)

    def __init__(self, wanted: Iterable[int]) -> None:
        super().__init__()
        self.found: dict[int, str] = {}
        self._wanted = set(wanted)
        self._last = max(self._wanted)
        self._at = 0
        self._before = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "rPh":
            self._before = self.take()

    def end(self, name: str) -> None:
        if name == "rPh":
            self.text[:] = [self._before]
        elif name == "si":
            text = self.take()
            if self._at in self._wanted:
                self.found[self._at] = text
            self.done = self._at == self._last
            self._at += 1


_AnyHandler = TypeVar("_AnyHandler", bound=_Handler)


class _Parts:
    """The parts of a file as they are read: in pieces, and not more of all of them together than a budget."""

    def __init__(self, package: ZipFile) -> None:
        self._package, self._left = package, _MAX_MARKS

    def feed(self, part: str, handler: _AnyHandler) -> _AnyHandler:
        """The handler, when it has been through a part or has what it wants."""
        info = self._package.getinfo(part)
        if info.file_size > _MAX_PART:
            refuse(f"has a part of more than {_MAX_PART / 1e6:g} MB: {show(part)}")
        parser = self._parser(part, handler)
        fed = 0
        with self._package.open(info) as stream:
            while not handler.done and (chunk := stream.read(_CHUNK)):
                parser.Parse(chunk, False)
                fed += len(chunk)
                if fed - parser.CurrentByteIndex > _MAX_TOKEN:
                    refuse(f"has a tag of more than {_MAX_TOKEN / 1e6:g} MB in {show(part)}")
        if not handler.done:
            parser.Parse(b"", True)
        return handler

    def _parser(self, part: str, handler: _Handler) -> Any:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        length = 0

        def spend(marks: int) -> None:
            self._left -= marks
            if self._left < 0:
                refuse(f"has more than {_MAX_MARKS:,} tags and attributes where inputs are read, up to {show(part)}")

        def start(name: str, attributes: Mapping[str, str]) -> None:
            nonlocal length
            spend(1 + len(attributes))
            if not handler.done:
                local = name.rpartition(" ")[2]
                handler.start(local, attributes)
                if local in handler.collects:
                    length, parser.CharacterDataHandler = 0, text

        def end(name: str) -> None:
            if not handler.done:
                local = name.rpartition(" ")[2]
                if local in handler.collects:
                    parser.CharacterDataHandler = None
                handler.end(local)

        def text(data: str) -> None:
            nonlocal length
            length += len(data)
            if length > _MAX_TEXT:
                refuse(f"has a cell with more than {_MAX_TEXT:,} characters in {show(part)}")
            handler.text.append(data)

        def doctype(*_: object) -> None:
            refuse(f"declares a document type, as no workbook does, in {show(part)}")

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.StartDoctypeDeclHandler = doctype
        parser.StartNamespaceDeclHandler = lambda prefix, uri: spend(1)
        return parser
