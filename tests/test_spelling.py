"""How each host stores a call of our functions: in single formulas, and in everything that a workbook holds."""

import io
import re
from functools import cache
from pathlib import Path

import openpyxl
import pytest
from conftest import audited
from openpyxl import Workbook
from openpyxl.formatting.rule import FormulaRule
from openpyxl.formula import Tokenizer
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

from capacity.errors import UnknownName
from capacity.registry import FUNCTIONS
from capacity.spelling import HOSTS, host, spell, stored_name
from workbook.build import build
from workbook.finish import finish
from workbook.package import Package

OFFICE_JS = [name for name, host in HOSTS.items() if host.prefix]
README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("GPUS(26,2)", "_xldudf_GPUS(26,2)"),
        (
            "=GPUS(REPLICAS(16.67),2)*COST_PER_HOUR(1)",
            "=_xldudf_GPUS(_xldudf_REPLICAS(16.67),2)*_xldudf_COST_PER_HOUR(1)",
        ),
        ("gpus(1)+Gpus(1)", "_xldudf_GPUS(1)+_xldudf_GPUS(1)"),
        ("-GPUS(1)^@GPUS(2)&+GPUS(3)%", "-_xldudf_GPUS(1)^@_xldudf_GPUS(2)&+_xldudf_GPUS(3)%"),
        ("SUM($A$1:GPUS(1))", "SUM($A$1:_xldudf_GPUS(1))"),
        ("{1,2}*GPUS(A1#)", "{1,2}*_xldudf_GPUS(A1#)"),
        # texts
        ('CAPACITY_EXPLAIN("GPUS(1)",A1)', '_xldudf_CAPACITY_EXPLAIN("GPUS(1)",A1)'),
        ('"a ""GPUS(1)"" b"&GPUS(1)', '"a ""GPUS(1)"" b"&_xldudf_GPUS(1)'),
        # sheets' names, tables' columns, other workbooks
        ("'GPUS(1)'!A1+GPUS('it''s GPUS(2)'!B2)", "'GPUS(1)'!A1+_xldudf_GPUS('it''s GPUS(2)'!B2)"),
        ("GPUs!A1+GPUS(GPUs!A1)", "GPUs!A1+_xldudf_GPUS(GPUs!A1)"),
        ("Models[[#This Row],[GPUS(n)]]*GPUS(1)", "Models[[#This Row],[GPUS(n)]]*_xldudf_GPUS(1)"),
        ("T[a '] GPUS(1)]+GPUS(1)", "T[a '] GPUS(1)]+_xldudf_GPUS(1)"),
        ("[1]Sheet1!GPUS(1)+'[1]S 1'!GPUS(1)", "[1]Sheet1!GPUS(1)+'[1]S 1'!GPUS(1)"),
        # names that only look like ours
        ("GPUS+gpus_in_use+GPUS1(2)", "GPUS+gpus_in_use+GPUS1(2)"),
        ("MY_GPUS(1)+GPUS_(1)+GPUS.X(1)+X.GPUS(1)", "MY_GPUS(1)+GPUS_(1)+GPUS.X(1)+X.GPUS(1)"),
        (r"_xlfn.GPUS(1)+\GPUS(1)+\u00e9GPUS(1)", r"_xlfn.GPUS(1)+\GPUS(1)+\u00e9GPUS(1)"),
        ("\u00e9GPUS(1)+_GPUS(1)", "\u00e9GPUS(1)+_GPUS(1)"),
        ("?GPUS(1)+GPU\u017f(1)+GPUS\u017f(1)+GPUS?(1)", "?GPUS(1)+GPU\u017f(1)+GPUS\u017f(1)+GPUS?(1)"),
        ("IF(A1>1E5,SUM(A1:B2),#N/A)", "IF(A1>1E5,SUM(A1:B2),#N/A)"),
        ('"not closed GPUS(1)', '"not closed _xldudf_GPUS(1)'),
        ("", ""),
    ],
)
def test_only_calls_of_our_functions_change(typed: str, stored: str) -> None:
    assert spell(typed, "lite") == spell(typed, "server") == stored
    assert spell(stored, "lite") == stored
    assert spell(typed, "desktop") == spell(typed, "libreoffice") == typed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_spelled(name: str) -> None:
    assert spell(f"1+{name}(A1)", "server") == f"1+{stored_name(name, 'server')}(A1)" == f"1+_xldudf_{name}(A1)"


def test_a_host_is_found_in_any_case_or_not_at_all() -> None:
    assert host(" Lite ") is HOSTS["lite"]
    with pytest.raises(UnknownName, match="no host is called 'lit'; did you mean 'lite'"):
        spell("GPUS(1)", "lit")


def called(formula: str) -> frozenset[str]:
    """The functions that a formula calls, as openpyxl reads it."""
    return _called(re.sub(r"(?<![\w.])(\$?[A-Z]{1,3}\$?)\d+(?![\w.(])", r"\g<1>1", formula))


@cache
def _called(formula: str) -> frozenset[str]:
    """As above: formulas that differ in the rows of their references alone are read once."""
    return frozenset(t.value[:-1] for t in Tokenizer(formula).items if t.type == "FUNC" and t.subtype == "OPEN")


@pytest.mark.parametrize("name", OFFICE_JS)
def test_the_workbook_is_spelled_and_otherwise_the_same(
    name: str, book: Workbook, shown: Workbook, tmp_path: Path
) -> None:
    """Formulas differ in the spelling alone; results, texts and shown formulas not at all."""
    path = build(tmp_path / "capacity.xlsx", host=name)
    spelled, values = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    ours = 0
    for ws in book:
        sheets = [other[ws.title] for other in (spelled, values, shown)]
        for cell in (c for row in ws for c in row):
            other, value, plain_value = (sheet.cell(cell.row, cell.column) for sheet in sheets)
            assert value.value == plain_value.value
            if cell.data_type != "f":
                assert other.value == cell.value
                continue
            functions = called(cell.value)
            wanted = {stored_name(f, name) if f in FUNCTIONS else f for f in functions}
            assert called(other.value) == wanted
            assert other.value.replace(host(name).prefix, "") == cell.value
            ours += len(functions & set(FUNCTIONS))
    assert ours > 100
    assert audited(path) == "expected to open cleanly"


def test_formulas_outside_of_cells() -> None:
    """Defined names, conditional formats and validations hold formulas, too."""
    book = openpyxl.Workbook()
    ws = book.active
    ws["A1"], ws["A2"], ws["A3"] = "=GPUS(1,2)", "'=GPUS(1,2)", "text GPUS(1,2)"
    book.defined_names["fleet"] = DefinedName("fleet", attr_text="GPUS(Sheet!$A$1,2)")
    ws.conditional_formatting.add("A1", FormulaRule(["GPUS(A1,1)>2"]))
    ws.add_data_validation(DataValidation("decimal", formula1="GPUS(1,1)", formula2="GPUS(9,9)", sqref="B1"))
    read = openpyxl.load_workbook(io.BytesIO(finish(Package.of(book), {("Sheet", "A1"): 2.0}, host="lite")))
    sheet = read["Sheet"]
    assert [sheet[a].value for a in ("A1", "A2", "A3")] == ["=_xldudf_GPUS(1,2)", "'=GPUS(1,2)", "text GPUS(1,2)"]
    assert read.defined_names["fleet"].value == "_xldudf_GPUS(Sheet!$A$1,2)"
    assert [r.formula for rules in sheet.conditional_formatting for r in rules.rules] == [["_xldudf_GPUS(A1,1)>2"]]
    (rule,) = sheet.data_validations.dataValidation
    assert (rule.formula1, rule.formula2) == ("_xldudf_GPUS(1,1)", "_xldudf_GPUS(9,9)")


def test_the_readme_names_every_host_with_its_license() -> None:
    for known in HOSTS.values():
        assert f"| {known.title} | {known.runs_on} | {known.license} |\n" in README
