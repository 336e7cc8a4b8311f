"""The sheets Models, GPUs and Prices: the catalogue's figures, free rows for a team's own, what those may hold."""

import subprocess
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from configs import CATALOGUE
from office import Office
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from sheets import held, recalculate

from capacity import catalogue
from capacity.call import ExcelError
from capacity.cli import main
from capacity.errors import CallError
from capacity.families import model_facts
from capacity.model_row import append, row
from workbook.build import build
from workbook.sheets import gpus, models, prices
from workbook.sheets.facts import OWN_ROWS, Fact

SHEETS = (models, gpus, prices)
ROWS: dict[str, list[dict[str, Any]]] = {
    "Models": [dict(r) for r in catalogue.models().rows],
    "GPUs": [dict(r) for r in catalogue.gpus().rows],
    "Prices": [
        {"name": f"{price['provider']}, {price['gpu']}, {price['commitment']}", **price} for price in catalogue.prices()
    ],
}
FACTS = [(module, fact) for module in SHEETS for fact in module.FACTS]
IDS = [f"{module.TITLE}-{fact.field}" for module, fact in FACTS]


@pytest.fixture(scope="module")
def book(template: Path) -> Workbook:
    return openpyxl.load_workbook(template)


def column(ws: Worksheet, module: Any, field: str) -> list[Any]:
    """A field's values, from the first row to the last free one."""
    return [c.value for (c,) in ws[module.cells(field).partition("!")[2].replace("$", "")]]


@pytest.mark.parametrize(("module", "fact"), FACTS, ids=IDS)
def test_every_figure_is_the_catalogues(module: Any, fact: Fact, book: Workbook) -> None:
    """In the unit that the header names; blank where there is none, and in the free rows."""
    expected = [entry[fact.field] for entry in ROWS[module.TITLE]]
    shown = column(book[module.TITLE], module, fact.field)
    assert shown[len(expected) :] == [None] * OWN_ROWS
    for value, kept in zip(shown, expected, strict=False):
        if kept is None or fact.unit == "text":
            assert value == kept
        elif fact.unit == "date":
            assert value == datetime.fromisoformat(kept if len(kept) == 10 else f"{kept}-01")
        else:
            assert value * fact.per == pytest.approx(kept, rel=1e-15, abs=0)
            assert isinstance(value, int) == (kept / fact.per).is_integer()


def test_what_a_plan_takes_is_exact(book: Workbook) -> None:
    """The worked example's model and GPU are its inputs to the last digit."""
    at = models.FIRST_ROW + catalogue.models().names.index("Llama-3.3-70B")
    assert book["Models"][f"{models.column('total_params')}{at}"].value == 70.553706496
    at = gpus.FIRST_ROW + catalogue.gpus().names.index("H200 SXM")
    facts = [book["GPUs"][f"{gpus.column(f)}{at}"].value for f in ("fp8_tflops", "bandwidth_tb_s", "memory_gb")]
    assert facts == [1979, 4.8, 141]
    assert book["GPUs"][f"{gpus.column('interconnect_gb_s_bidir')}{at}"].value == 450


def test_only_the_month_is_shown_where_only_the_month_is_known(book: Workbook) -> None:
    cells = [c for (c,) in book["Prices"][prices.cells("date").partition("!")[2].replace("$", "")]]
    formats = {str(entry["date"]): c.number_format for entry, c in zip(ROWS["Prices"], cells, strict=False)}
    assert formats.pop("2026-05") == "yyyy-mm"
    assert set(formats.values()) == {"yyyy-mm-dd"}


@pytest.mark.parametrize("module", SHEETS, ids=lambda m: m.TITLE)
def test_tables(module: Any, book: Workbook) -> None:
    """An Excel table from the header to the last free row, which may be filtered; names are unique."""
    ws = book[module.TITLE]
    (table,) = ws.tables.values()
    assert table.displayName == f"{module.TITLE}_table"
    first, last = table.ref.split(":")
    assert (first, last) == ("A5", f"{ws.cell(1, len(module.COLUMNS)).column_letter}{module.LAST_ROW}")
    heads = [c.value for c in ws[5]][: len(module.COLUMNS)]  # Prices has flags beside its table
    assert [c.name for c in table.tableColumns] == heads == [c.header for c in module.COLUMNS]
    assert table.autoFilter.ref == table.ref
    assert not ws.protection.autoFilter  # it is not forbidden
    names = [name.casefold() for name in column(ws, module, "name") if name]
    assert len(set(names)) == len(names)
    assert ws[f"{module.NAME_COLUMN}5"].value == module.FACTS[0].header


@pytest.mark.parametrize("module", SHEETS, ids=lambda m: m.TITLE)
def test_free_rows(module: Any, book: Workbook) -> None:
    """All cells of the free rows, and no others, may be changed; a text typed there stays a text."""
    ws = book[module.TITLE]
    for cells in ws.iter_rows(min_row=module.FIRST_ROW, max_row=module.LAST_ROW, max_col=len(module.COLUMNS)):
        own = cells[0].row >= module.SHEET.first_own_row
        assert {c.style == "Input" for c in cells[1:]} == {own}
        for c, fact in zip(cells[1:], module.FACTS, strict=True):
            assert (c.number_format == "@") == (own and fact.unit == "text")


def test_every_cell_of_the_sources_is_explained(book: Workbook) -> None:
    """Below the GPUs stands what the keys mean."""
    below = [(r[1].value, r[2].value) for r in book["GPUs"].iter_rows(min_row=gpus.LAST_ROW + 3)]
    assert dict(below) == catalogue.gpu_sources()


RULES = [
    ("Models", "name", {"name": "Ours"}, True),
    ("Models", "name", {"name": "qwen3-8b"}, False),
    ("Models", "name", {"name": 8}, False),
    ("Models", "name", {"name": "x" * 61}, False),
    ("Models", "active_params", {"total_params": 70, "active_params": 70}, True),
    ("Models", "active_params", {"total_params": 70, "active_params": 71}, False),
    ("Models", "active_params", {"total_params": 70, "active_params": 0}, False),
    ("Models", "routed_expert_params", {"total_params": 70, "routed_expert_params": 0}, True),
    ("Models", "routed_expert_params", {"total_params": 70, "routed_expert_params": -1}, False),
    ("GPUs", "name", {"name": "H200 SXM"}, False),
    ("GPUs", "confidence", {"confidence": "low"}, True),
    ("GPUs", "confidence", {"confidence": "perhaps"}, False),
    ("Prices", "usd_per_gpu_hour_high", {"usd_per_gpu_hour_low": 2.5, "usd_per_gpu_hour_high": 2.5}, True),
    ("Prices", "usd_per_gpu_hour_high", {"usd_per_gpu_hour_low": 2.5, "usd_per_gpu_hour_high": 2}, False),
    ("Prices", "usd_per_gpu_hour_high", {"usd_per_gpu_hour_low": 2.5, "usd_per_gpu_hour_high": "3"}, False),
]


@pytest.mark.parametrize(("sheet", "field", "typed", "allowed"), RULES)
def test_rules_that_are_formulas(
    sheet: str, field: str, typed: dict[str, Any], allowed: bool, template: Path, book: Workbook
) -> None:
    """Typed into the first free row, calculated in process: what each formula lets through."""
    module = {m.TITLE: m for m in SHEETS}[sheet]
    at = f"{module.column(field)}{module.SHEET.first_own_row}"
    (rule,) = (v for v in book[sheet].data_validations.dataValidation if at in v.sqref)
    assert rule.type == "custom"
    row = module.SHEET.first_own_row
    changes = {(sheet, f"{module.column(name)}{row}"): value for name, value in typed.items()}
    assert recalculate(template, changes=changes | {(sheet, "BZ1"): f"={rule.formula1}"})[sheet, "BZ1"] is allowed


def test_every_other_rule_bounds_its_cells(book: Workbook) -> None:
    """No cell that takes anything; numbers have a lower bound, dates are dates, prompts fit Excel's limits."""
    for module in SHEETS:
        rules = book[module.TITLE].data_validations.dataValidation
        assert len(rules) == len(module.FACTS) + (module is prices)  # the date before which a price is stale
        for rule, fact in zip(rules, module.FACTS, strict=False):
            kinds = {"text": {"textLength", "custom", "list"}, "date": {"date"}}
            assert rule.type in kinds.get(fact.unit, {"decimal", "whole", "custom"})
            assert rule.allowBlank
            assert len(rule.promptTitle) <= 32
            assert len(rule.prompt) <= 255
            assert len(rule.error) <= 255
            assert fact.rule.words in rule.error
            if fact.unit == "date":  # Excel counts days
                assert date(1899, 12, 30) + timedelta(int(rule.formula1)) == date(2020, 1, 1)


def own_file(path: Path, *names: str) -> Path:
    for name in names:
        append(path, row(model_facts(CATALOGUE["Qwen3-8B"]), name, source="config.json", date="2026-12-01"))
    return path


@pytest.fixture(scope="module")
def own_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook with two models of a team, by the command line."""
    folder = tmp_path_factory.mktemp("own")
    file = own_file(folder / "own.csv", "Ours-8B", "Ours, the second")
    assert main(["build", str(folder / "own.xlsx"), "--models", str(file)]) == 0
    return folder / "own.xlsx"


def test_own_models_stand_in_free_rows(own_book: Path) -> None:
    ws = openpyxl.load_workbook(own_book)["Models"]
    names = column(ws, models, "name")
    assert names == [*catalogue.models().names, "Ours-8B", "Ours, the second", *[None] * (OWN_ROWS - 2)]
    at = models.FIRST_ROW + names.index("Ours-8B")
    assert ws[f"{models.column('total_params')}{at}"].value == 8.190735360
    assert ws[f"{models.column('date')}{at}"].value == datetime(2026, 12, 1)
    assert {c.style for c in ws[at][1:]} == {"Input"}
    run = subprocess.run(
        [Path(sys.executable).with_name("openxml-audit"), own_book], capture_output=True, text=True, check=False
    )
    assert "expected to open cleanly (no findings)" in run.stdout


LOOKUPS = {
    "Ours-8B": 8.190735360,
    "ours-8b": 8.190735360,
    "Llama-3.3-70B": 70.553706496,
    "Another": ExcelError("#N/A"),
}


@pytest.mark.parametrize("name", LOOKUPS)
def test_two_programs_look_a_model_up(name: str, own_book: Path, office_without_addin: Office) -> None:
    """As formulas of other sheets do: by the ranges that the sheet's module gives, free rows included."""
    formula = f'=INDEX({models.cells("total_params")},MATCH("{name}",{models.cells("name")},0))'
    assert recalculate(own_book, changes={("Checks", "P1"): formula})["Checks", "P1"] == LOOKUPS[name]
    with office_without_addin.lent(own_book):
        assert office_without_addin.formula("Checks", "P1", formula) == LOOKUPS[name]
        office_without_addin.set("Checks", "P1", None)


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("x")']


@pytest.fixture(scope="module")
def book_of_formulas(tmp_path_factory: pytest.TempPathFactory) -> Workbook:
    """A workbook in whose free rows such a text came in all the same, one a row."""
    table = catalogue.models()
    blank = dict.fromkeys(table.columns)
    ours = [{**blank, "name": text, "note": text, "source": text, "date": text} for text in FORMULAS]
    known = catalogue.Table("model", table.columns, [*table.rows, *ours], {})
    return openpyxl.load_workbook(build(tmp_path_factory.mktemp("formulas") / "own.xlsx", known))


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_becomes_a_formula(
    text: str, book_of_formulas: Workbook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file with such a text is refused; and where one came in all the same, its cell holds the text."""
    file = tmp_path / "own.csv"
    cell = text.replace('"', '""')
    file.write_text(f'name,note\nOurs,"{cell}"\n', "utf-8")
    assert main(["build", str(tmp_path / "own.xlsx"), "--models", str(file)]) == 2
    assert "must not begin with =, +, - or @" in capsys.readouterr().err
    assert not (tmp_path / "own.xlsx").exists()
    at = models.SHEET.first_own_row + FORMULAS.index(text)
    for field in ("name", "note", "source", "date"):
        found = book_of_formulas["Models"][f"{models.column(field)}{at}"]
        assert (found.value, found.data_type, found.quotePrefix) == (text, "s", True)


def test_too_many_models(tmp_path: Path) -> None:
    """Ten fill the free rows; an eleventh is one sentence, and no workbook is written."""
    names = [f"Ours {i}" for i in range(OWN_ROWS)]
    file = own_file(tmp_path / "own.csv", *names)
    ws = openpyxl.load_workbook(build(tmp_path / "ten.xlsx", catalogue.models(file)))["Models"]
    assert column(ws, models, "name")[-OWN_ROWS:] == names
    own_file(file, "One more")
    with pytest.raises(CallError, match=r"^the workbook has room for 10 models of your own: 11 are given$"):
        build(tmp_path / "own.xlsx", catalogue.models(file))
    assert not (tmp_path / "own.xlsx").exists()


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.csv"
    assert main(["build", str(tmp_path / "own.xlsx"), "--models", str(missing)]) == 2
    assert capsys.readouterr().err == f"cannot read {missing}: No such file or directory\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("title", "needed"), [("Models", "B, D, E, G, U, AD, AF"), ("GPUs", "B, D, G, H, L")])
def test_a_sheet_says_what_a_plan_needs_of_a_free_row(title: str, needed: str, template: Path) -> None:
    assert f"In a free row a plan needs columns {needed}" in str(held(template)[title]["A2"].value)
