"""The workbook for Excel on Windows: a file that opens, holds these macros and no others, and keeps every result."""

import io
import re
import subprocess
import sys
import warnings
import zipfile
from importlib.resources import files
from pathlib import Path

import openpyxl
import pytest
from office import Office
from openxml_audit import OpenXmlValidator
from pyopenvba import ExcelFile

from addin import desktop
from addin.desktop import vba
from capacity import FUNCTIONS
from workbook.recalculate import recalculate
from workbook.sheets import about, audit

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # olevba still goes by pyparsing's old names
    from oletools.olevba import VBA_Parser, VBA_Scanner

OURS = ("ThisWorkbook.cls", *(f"{name}.bas" for name in vba.modules()))
THEIRS = ("xlwings.bas", "Dictionary.cls")

# words of VBA and Excel by which our macros reach anything outside themselves
REACH = {
    *("Application.DisplayAlerts", "Application.MacroOptions", "Me.Saved", "server.CallUDF", "XLPy", "MsgBox"),
    *("Err.Description", "Err.Number", "Err.Raise"),
}


@pytest.fixture(scope="module")
def macros(macro_workbook: Path) -> dict[str, str]:
    """Name and text of every module that olevba finds."""
    parser = VBA_Parser(str(macro_workbook))
    try:
        return {name: code for _, _, name, code in parser.extract_macros()}
    finally:
        parser.close()


def cells(path: Path, *, values: bool) -> dict[tuple[str, str], object]:
    """Every cell's formula, or its value."""
    book = openpyxl.load_workbook(path, data_only=values, keep_vba=path.suffix == ".xlsm")
    found = {(ws.title, c.coordinate): c.value for ws in book for row in ws for c in row if c.value is not None}
    return {at: getattr(x, "text", x) for at, x in found.items()}  # an array formula is an object with its text


def parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {name: package.read(name) for name in package.namelist()}


def test_excel_is_expected_to_open_it_cleanly(macro_workbook: Path) -> None:
    program = Path(sys.executable).with_name("openxml-audit")
    done = subprocess.run([program, macro_workbook], capture_output=True, text=True, check=False)
    assert "expected to open cleanly (no findings)" in done.stdout
    assert not OpenXmlValidator().validate(str(macro_workbook)).errors


def test_nothing_but_macros_and_names_for_them_is_added(macro_workbook: Path) -> None:
    """Every other part, with the results in it, is the finished workbook's to the byte."""
    plain, ready = parts(macro_workbook.with_suffix(".xlsx")), parts(macro_workbook)
    assert set(ready) - set(plain) == {"xl/vbaProject.bin"}
    sheets = {name for name in plain if name.startswith("xl/worksheets/sheet")}
    named = {"[Content_Types].xml", "xl/workbook.xml", "xl/_rels/workbook.xml.rels", *sheets}
    assert {name for name in plain if plain[name] != ready[name]} == named
    for name in {"xl/workbook.xml", *sheets}:
        assert re.sub(rb'(?:<sheetPr codeName="\w+"/>)| codeName="\w+"', b"", ready[name]) == plain[name]


@pytest.mark.parametrize("values", [False, True])
def test_every_formula_and_result_survives(macro_workbook: Path, values: bool) -> None:
    found = cells(macro_workbook, values=values)
    assert found == cells(macro_workbook.with_suffix(".xlsx"), values=values)
    empty = {cell for cell, x in recalculate(macro_workbook.with_suffix(".xlsx")).items() if x == ""}  # read as nothing
    assert set(found) | empty == set(cells(macro_workbook, values=False))


def test_no_formula_names_a_file(macro_workbook: Path) -> None:
    """Functions in an add-in show its path in the formulas on every other machine; here they are in the workbook."""
    texts = [str(v) for v in cells(macro_workbook, values=False).values() if str(v).startswith("=")]
    assert len(texts) > 500
    assert not [t for t in texts if re.search(r"\.xl\w+|\[\d+\]", t)]
    assert not [name for name in parts(macro_workbook) if "externalLink" in name]


def test_openpyxl_keeps_the_macros(macro_workbook: Path) -> None:
    book = openpyxl.load_workbook(macro_workbook, keep_vba=True)
    assert book.sheetnames == [*about.SHEETS, "xlwings.conf"]
    saved = io.BytesIO()
    book.save(saved)
    with zipfile.ZipFile(saved) as package:
        assert package.read("xl/vbaProject.bin") == parts(macro_workbook)["xl/vbaProject.bin"]


def test_the_modules_are_bound_to_workbook_and_sheets(macro_workbook: Path) -> None:
    book = openpyxl.load_workbook(macro_workbook, keep_vba=True)
    names = ["ThisWorkbook", *(ws.sheet_properties.codeName for ws in book)]
    assert book.code_name == "ThisWorkbook"
    assert names[1:] == [f"Sheet{i}" for i in range(1, len(book.sheetnames) + 1)]
    with ExcelFile(macro_workbook) as file:
        assert file.module_names() == [*names, *vba.modules(), "xlwings", "Dictionary"]
        assert file.validate() == []


def test_olevba_finds_these_modules(macros: dict[str, str]) -> None:
    sheets = [f"Sheet{i}.cls" for i in range(1, len(about.SHEETS) + 2)]
    assert set(macros) == {*OURS, *THEIRS, *sheets}
    assert all(re.fullmatch(r'(?:Attribute VB_\w+ = (?:".*"|\w+)\s*)+', macros[sheet]) for sheet in sheets)


def test_olevba_suspects_nothing_of_ours(macros: dict[str, str]) -> None:
    """But for opening by itself, and for words in the texts for the wizard. "Strings" are its guesses at encodings.

    What else it lists for the file is in xlwings' own module: it starts Python by cmd.exe, and has code for macOS, for
    files of settings and for its importer, which these macros do not use.
    """
    found = {name: {w for _, w, _ in VBA_Scanner(macros[name]).scan() if not w.endswith("Strings")} for name in OURS}
    assert found.pop("ThisWorkbook.cls") == {"Workbook_Open"}
    assert found.pop("LlmCapacityWizard.bas") <= {"Output", "windows"}
    assert set(map(len, found.values())) == {0}
    assert {"WScript.Shell", "cmd.exe"} <= {w for _, w, _ in VBA_Scanner(macros["xlwings.bas"]).scan()}


@pytest.mark.parametrize("name", OURS)
def test_our_macros_reach_nothing_but_python(macros: dict[str, str], name: str) -> None:
    """A closed list: no shell, file, network or other object, and no library of Windows."""
    code = re.sub(r"'.*|\"[^\"\r\n]*\"|^Attribute .*", "", macros[name], flags=re.MULTILINE)
    assert set(re.findall(r"\b\w+\.\w+|\b(?:XLPy|MsgBox)\b", code)) <= REACH
    assert set(re.findall(r"\)\.(\w+)", code)) <= {"Value"}
    assert not re.search(r"(?i)\b(?:Declare|Lib|CreateObject|GetObject|Shell|CallByName|Environ|Evaluate|Run)\b", code)
    assert not re.search(r"(?im)^\s*(?:Open|Kill|Print|Put|Get|MkDir|SendKeys|ChDir|Name)\b", code)


def test_no_name_stands_for_two_procedures(macros: dict[str, str]) -> None:
    """VBA would not compile a use of it."""
    heads = re.compile(r"(?im)^(?!Private)(?:Public )?(?:Function|Sub) (\w+)")
    names = [name.lower() for file in (*OURS, "xlwings.bas") for name in set(heads.findall(macros[file]))]
    assert len(names) > len(FUNCTIONS)
    assert not [name for name in names if names.count(name) > 1]


def test_xlwings_code_is_as_it_ships(macros: dict[str, str], macro_workbook: Path) -> None:
    with ExcelFile(Path(str(files("xlwings"))) / "quickstart_standalone.xlsm") as shipped:
        for file in THEIRS:
            theirs = shipped.get_module(Path(file).stem)
            assert (text_of(macro_workbook, file)).splitlines() == theirs.splitlines()
    assert "BSD 3-clause" in macros["xlwings.bas"]


def text_of(macro_workbook: Path, file: str) -> str:
    return (macro_workbook.parent / "plan-vba" / file).read_bytes().decode("utf-8")


def test_the_text_beside_it_is_what_is_inside(macro_workbook: Path) -> None:
    folder = macro_workbook.parent / "plan-vba"
    assert {path.name for path in folder.iterdir()} == {*OURS, *THEIRS}
    with ExcelFile(macro_workbook) as file:
        for name in (*OURS, *THEIRS):
            inside, beside = file.get_module(Path(name).stem), text_of(macro_workbook, name)
            assert inside.endswith(beside)
            assert inside.removesuffix(beside).count("\r\n") == inside.removesuffix(beside).count("Attribute VB_")
            assert "\n" not in beside.replace("\r\n", "")


def test_the_settings_are_in_sight(macro_workbook: Path) -> None:
    sheet = openpyxl.load_workbook(macro_workbook, keep_vba=True)["xlwings.conf"]
    assert sheet.sheet_state == "visible"
    rows = {name: value for name, value, _ in sheet.iter_rows(values_only=True)}
    assert rows["INTERPRETER_WIN"] == "pythonw"
    assert rows["ADD_WORKBOOK_TO_PYTHONPATH"] is False
    assert rows["PYTHONPATH"] is None
    assert all(cell.value for cell in sheet["C"])


def test_what_build_returns(macro_workbook: Path, tmp_path: Path) -> None:
    written = desktop.build(tmp_path / "my plan.xlsm", macro_workbook.with_suffix(".xlsx"))
    assert written[0] == tmp_path / "my plan.xlsm"
    assert [path.name for path in written[1:]] == [*OURS, *THEIRS]
    assert {path.parent for path in written[1:]} == {tmp_path / "my plan-vba"}
    assert all(path.is_file() for path in written)
    assert written[0].read_bytes() == macro_workbook.read_bytes()


def test_a_path_that_cannot_be_written_leaves_nothing(macro_workbook: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        desktop.build(tmp_path / "missing" / "plan.xlsm", macro_workbook.with_suffix(".xlsx"))
    assert not list(tmp_path.iterdir())


def test_the_plain_workbook_has_no_such_sheet(template: Path) -> None:
    assert "xlwings.conf" not in openpyxl.load_workbook(template, read_only=True).sheetnames


def in_office(office: Office, path: Path, *, recalculated: bool) -> dict[tuple[str, str], object]:
    office.open(path)
    try:
        if recalculated:
            office.recalculate()
        return office.cells()
    finally:
        office.close()


def test_libreoffice_opens_it_and_calculates_the_same(macro_workbook: Path, office_with_addin: Office) -> None:
    """There the functions come from the extension."""
    found = in_office(office_with_addin, macro_workbook, recalculated=True)
    assert found == in_office(office_with_addin, macro_workbook.with_suffix(".xlsx"), recalculated=True)
    assert found["Audit", f"F{audit.ROWS['gpus']}"] == 52


def test_without_the_extension_libreoffice_shows_its_results(
    macro_workbook: Path, office_without_addin: Office
) -> None:
    found = in_office(office_without_addin, macro_workbook, recalculated=False)
    assert found == in_office(office_without_addin, macro_workbook.with_suffix(".xlsx"), recalculated=False)
    assert found["Audit", f"F{audit.ROWS['gpus']}"] == 52
