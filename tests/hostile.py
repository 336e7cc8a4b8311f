"""Files that are no workbook, or made to hurt, each made from the template, with what the refusal must say."""

import os
import random
import struct
import zipfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path

import openpyxl

from workbook.sheets import about, inputs

# the part of a sheet is numbered by its tab
INPUTS = f"xl/worksheets/sheet{list(about.SHEETS).index(inputs.TITLE) + 1}.xml"
STRINGS, BOOK, LINKS = (f"xl/{name}" for name in ("sharedStrings.xml", "workbook.xml", "_rels/workbook.xml.rels"))
NS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET = f'<worksheet xmlns="{NS}"><sheetData>{{}}</sheetData></worksheet>'
LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>{}]>".format(
    "".join(f"<!ENTITY a{i} '{f'&a{i - 1};' * 10}'>" for i in range(1, 10))
)


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


def packed(path: Path, parts: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression, compresslevel=1) as package:
        for name, data in parts.items():
            package.writestr(name, data)
    return path


def with_part(name: str, data: bytes | str) -> Callable[[Path, Path], Path]:
    """The template with a part in place of its own, or added."""
    content = data.encode() if isinstance(data, str) else data
    return lambda template, folder: packed(folder / "a.xlsx", parts_of(template) | {name: content})


def changed(name: str, old: str, new: str) -> Callable[[Path, Path], Path]:
    """The template with a piece of a part changed."""

    def make(template: Path, folder: Path) -> Path:
        parts = parts_of(template)
        assert old.encode() in parts[name]
        return packed(folder / "a.xlsx", parts | {name: parts[name].replace(old.encode(), new.encode(), 1)})

    return make


def raw(data: bytes) -> Callable[[Path, Path], Path]:
    def make(template: Path, folder: Path) -> Path:
        (folder / "a.xlsx").write_bytes(data)
        return folder / "a.xlsx"

    return make


def zeros(megabytes: int) -> Callable[[Path, Path], Path]:
    """A part that nobody reads, large unpacked and small in the file."""

    def make(template: Path, folder: Path) -> Path:
        path = with_part("xl/media/image1.png", b"")(template, folder)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as package, package.open("xl/a.bin", "w") as part:
            for _ in range(megabytes):
                part.write(bytes(1_000_000))
        return path

    return make


def small(template: Path, folder: Path) -> Path:
    """The template without its sheets."""
    return packed(folder / "small.xlsx", {n: x for n, x in parts_of(template).items() if "/worksheets/" not in n})


def lying(template: Path, folder: Path) -> Path:
    """The list of parts says that the sheet has 1,000 bytes; it unpacks to 200 MB."""
    head, _, tail = SHEET.partition("{}")
    path, size = folder / "a.xlsx", 200_000_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as package:
        for name, data in parts_of(template).items():
            if name != INPUTS:
                package.writestr(name, data)
        with package.open(INPUTS, "w") as part:
            part.write(head.encode())
            for _ in range(200):
                part.write(b" " * 1_000_000)
            part.write(tail.encode())
    size += len(head + tail)
    data = path.read_bytes()
    assert data.count(struct.pack("<I", size)) == 2
    path.write_bytes(data.replace(struct.pack("<I", size), struct.pack("<I", 1_000)))
    return path


def overlapping(template: Path, folder: Path) -> Path:
    """Ninety parts in the list whose data is one and the same megabyte."""
    path = packed(folder / "a.xlsx", {"xl/a000.bin": bytes(1_000_000)})
    data = path.read_bytes()
    at = data.index(b"PK\1\2")
    entry, end = data[at : at + 46 + 11], data[at + 46 + 11 :]
    entries = b"".join(entry.replace(b"a000", b"a%03d" % i) for i in range(90))
    end = end[:8] + struct.pack("<HHI", 90, 90, len(entries)) + end[16:]
    path.write_bytes(data[:at] + entries + end)
    with zipfile.ZipFile(path) as package:
        assert len(package.infolist()) == 90
    return path


def many(count: int, name: str) -> Callable[[Path, Path], Path]:
    return lambda template, folder: packed(
        folder / "a.xlsx", {name.format(i): b"" for i in range(count)}, zipfile.ZIP_STORED
    )


def encrypted(template: Path, folder: Path) -> Path:
    """A part that says it needs a password."""
    path = packed(folder / "a.xlsx", parts_of(template))
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    path.write_bytes(data)
    return path


def twice(template: Path, folder: Path) -> Path:
    path = packed(folder / "a.xlsx", parts_of(template))
    with zipfile.ZipFile(path, "a") as package:
        package.writestr(INPUTS.replace("xl/", "XL/"), "<a/>")
    return path


def foreign_macros(template: Path, folder: Path) -> Path:
    """The workbook with macros of somebody else: those that xlwings ships."""
    with resources.as_file(resources.files("xlwings") / "quickstart_standalone.xlsm") as shipped:
        macros = parts_of(shipped)["xl/vbaProject.bin"]
    return packed(folder / "a.xlsm", parts_of(template) | {"xl/vbaProject.bin": macros})


def many_strings(template: Path, folder: Path) -> Path:
    """A million shared strings, the last of them in a cell."""
    cell = '<sheetData><row r="900"><c r="A900" t="s"><v>999999</v></c></row>'
    strings = f'<sst xmlns="{NS}">' + "<si><t>x</t></si>" * 1_000_000 + "</sst>"
    path = changed(INPUTS, "<sheetData>", cell)(template, folder)
    return packed(path, parts_of(path) | {STRINGS: strings.encode()})


def pipe(template: Path, folder: Path) -> Path:
    os.mkfifo(folder / "a.xlsx")
    return folder / "a.xlsx"


def cells(count: int, cell: str) -> str:
    return SHEET.format(f"<row>{''.join(cell.format(i) for i in range(1, count + 1))}</row>")


NAMESPACE = 'xmlns:a{}="u"'.format
RELATION = '<Relationship Id="x" Type="http://x/{}" Target="{}" TargetMode="{}"/></Relationships>'

# what the file is -> how it is made, and what the sentence says of it
HOSTILE: dict[str, tuple[Callable[[Path, Path], Path], str]] = {
    "empty": (raw(b""), "is no .xlsx workbook, or is damaged"),
    "text": (raw(b"Argument,Value\nmfu,0.5\n" * 1000), "is no .xlsx workbook, or is damaged"),
    "noise": (raw(random.Random(1).randbytes(300_000)), "is no .xlsx workbook, or is damaged"),
    "half": (lambda t, f: raw(t.read_bytes()[: t.stat().st_size // 2])(t, f), "is no .xlsx workbook, or is damaged"),
    "missing": (lambda t, f: f / "b.xlsx", "cannot read "),
    "folder": (lambda t, f: f, "is no file"),
    "pipe": (pipe, "is no file"),
    "xls or a password": (raw(bytes.fromhex("D0CF11E0A1B11AE1") + bytes(9_000)), "is an old .xls or has a password"),
    "xlsb": (many(3, "xl/workbook{}.bin"), "is no .xlsx workbook: it has no part xl/workbook.xml"),
    "another workbook": (
        lambda t, f: (openpyxl.Workbook().save(f / "a.xlsx"), f / "a.xlsx")[1],
        "is no planning workbook",
    ),
    "110 MB": (zeros(110), "is more than 100 MB unpacked"),
    "ratio": (lambda t, f: zeros(90)(small(t, f), f), "unpacks to more than 200 times its size"),
    "overlapping": (overlapping, "unpacks to more than 200 times its size"),
    "lying": (lying, "is no .xlsx workbook, or is damaged: Bad CRC-32"),
    "parts": (many(5_001, "{}"), "has more than 5,000 parts"),
    "list of parts": (many(60_000, "xl/{}"), "is damaged: the list of its parts is too long"),
    "two parts of one name": (twice, f"has two parts called '{INPUTS}'"),
    "encrypted part": (encrypted, "has a part that is encrypted or packed as no workbook is"),
    "lzma": (
        lambda t, f: packed(f / "a.xlsx", parts_of(t), zipfile.ZIP_LZMA),
        "has a part that is encrypted or packed as no workbook is",
    ),
    "macros": (foreign_macros, "has macros that `capacity build --host desktop` did not write"),
    "macros elsewhere": (with_part("evil/VBAPROJECT.BIN", b"x"), "has macros that"),
    "sheet of macros": (with_part("xl/macrosheets/sheet1.xml", "<a/>"), "has a sheet of macros"),
    "external links": (with_part("xl/externalLinks/externalLink1.xml", "<a/>"), "has links to other files"),
    "external relation": (
        changed(LINKS, "</Relationships>", RELATION.format("oleObject", "file:///etc/passwd", "External")),
        "has links to other files",
    ),
    "connections": (with_part("xl/connections.xml", "<a/>"), "has connections to data elsewhere"),
    "embedded": (with_part("xl/embeddings/oleObject1.bin", b"x"), "has embedded objects"),
    "controls": (with_part("xl/activeX/activeX1.bin", b"x"), "has controls"),
    "laughs in the sheet": (with_part(INPUTS, LAUGHS + SHEET.format("&a9;")), "declares a document type"),
    "laughs in an attribute": (with_part(BOOK, LAUGHS + '<workbook a="&a9;"/>'), "declares a document type"),
    "laughs in the strings": (with_part(STRINGS, LAUGHS + "<sst><si><t>&a9;</t></si></sst>"), "declares a document"),
    "laughs in the relations": (with_part(LINKS, LAUGHS + "<Relationships>&a9;</Relationships>"), "declares a docu"),
    "laughs in UTF-16": (
        with_part(INPUTS, (LAUGHS + SHEET.format("&a9;")).encode("utf-16")),
        "declares a document type",
    ),
    "quadratic": (
        with_part(INPUTS, f"<!DOCTYPE x [<!ENTITY a '{'a' * 100_000}'>]>" + SHEET.format("&a;" * 100_000)),
        "declares a document type",
    ),
    "external entity": (
        with_part(INPUTS, '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + SHEET.format("&a;")),
        "declares a document type",
    ),
    "external subset": (with_part(INPUTS, '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x">' + SHEET), "declares a docu"),
    "undeclared entity": (changed(INPUTS, "<sheetData>", "<sheetData>&a;"), "is damaged: undefined entity"),
    "a million styled cells": (
        with_part(INPUTS, cells(1_000_000, '<c r="A{}" s="1"/>')),
        "more than 400,000 tags and attributes",
    ),
    "a million numbers": (
        with_part(INPUTS, cells(700_000, '<c r="A{}"><v>1</v></c>')),
        "more than 400,000 tags and attributes",
    ),
    "a million strings": (many_strings, "more than 400,000 tags and attributes"),
    "a million attributes": (
        with_part(INPUTS, SHEET.format("<c " + " ".join(f'a{i}=""' for i in range(1_000_000)) + "/>")),
        "has a tag of more than 1 MB",
    ),
    "a million namespaces": (
        with_part(INPUTS, SHEET.format(f"<c {' '.join(map(NAMESPACE, range(40_000)))}/>" * 25)),
        "more than 400,000 tags and attributes",
    ),
    "a million levels": (with_part(INPUTS, "<a>" * 1_000_000), "more than 400,000 tags and attributes"),
    "a long name": (with_part(INPUTS, f"<{'a' * 20_000_000}/>"), "has a tag of more than 1 MB"),
    "a long text": (
        with_part(INPUTS, SHEET.format(f'<c r="A1" t="str"><v>{"x" * 20_000_000}</v></c>')),
        "has a cell with more than 32,767 characters",
    ),
    "many long texts": (
        with_part(INPUTS, cells(1_000, '<c r="A{}" t="str"><v>' + "x" * 30_000 + "</v></c>")),
        "Inputs has no row with req_per_s",
    ),
    "blank lines": (with_part(INPUTS, SHEET.format("\n" * 31_000_000)), "Inputs has no row with req_per_s"),
    "a comment": (with_part(INPUTS, SHEET.format(f"<!--{'x' * 20_000_000}-->")), "has a tag of more than 1 MB"),
    "a large sheet": (with_part(INPUTS, SHEET.format(" " * 33_000_000)), "has a part of more than 32 MB"),
    "a cell twice": (
        changed(INPUTS, "<sheetData>", '<sheetData><row><c r="F7"><v>1</v></c></row>'),
        "has a cell twice, or one that is nowhere: 'F7'",
    ),
    "a cell nowhere": (
        changed(INPUTS, "<sheetData>", '<sheetData><row><c r="F0"><v>1</v></c></row>'),
        "has a cell twice, or one that is nowhere: 'F0'",
    ),
    "a cell without address": (
        changed(INPUTS, "<sheetData>", "<sheetData><row><c><v>1</v></c></row>"),
        "is no .xlsx workbook, or is damaged",
    ),
    "a string that is not there": (
        changed(INPUTS, "<sheetData>", '<sheetData><row><c r="A900" t="s"><v>-1</v></c></row>'),
        "is no .xlsx workbook, or is damaged",
    ),
    "no number of a string": (
        changed(INPUTS, "<sheetData>", f'<sheetData><row><c r="A900" t="s"><v>{"9" * 9_000}</v></c></row>'),
        "is no .xlsx workbook, or is damaged",
    ),
    "two sheets": (
        changed(BOOK, "<sheets>", '<sheets><sheet name="INPUTS" xmlns:r="urn:r" r:id="rId1"/>'),
        "has two sheets called",
    ),
    "a sheet outside": (changed(LINKS, f"/{INPUTS}", "../../../etc/passwd"), "or is damaged"),
    "no strings": (
        changed(LINKS, "sharedStrings.xml", INPUTS.removeprefix("xl/")),
        "is no .xlsx workbook, or is damaged",
    ),
    "an unknown encoding": (with_part(INPUTS, '<?xml version="1.0" encoding="x-none"?><a/>'), "or is damaged"),
    "not well-formed": (changed(INPUTS, "</row>", "</rwo>"), "is damaged: mismatched tag"),
}
