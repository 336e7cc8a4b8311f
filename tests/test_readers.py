"""Programs that read the built file without calculating it: every value is there, and Excel is expected to open it."""

import os
import shutil
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import openpyxl
import pandas
import pytest
import python_calamine
from openxml_audit import OpenXmlValidator

from capacity.call import ExcelError
from capacity.plan import plan
from workbook.build import build, compose
from workbook.finish import finish
from workbook.package import Package
from workbook.recalculate import recalculate
from workbook.sheets import about, audit


def test_expected_to_open_cleanly(template: Path) -> None:
    program = shutil.which("openxml-audit", path=Path(sys.executable).parent)
    run = subprocess.run([program, str(template)], capture_output=True, text=True)
    assert "expected to open cleanly (no findings)" in run.stdout
    assert run.returncode == 0
    assert not OpenXmlValidator().validate(str(template)).errors


@pytest.mark.parametrize("engine", ["openpyxl", "calamine"])
def test_pandas_reads_every_value(engine: str, template: Path) -> None:
    sheets = pandas.read_excel(template, sheet_name=None, header=4, engine=engine)
    assert list(sheets) == list(about.SHEETS)
    steps = sheets["Audit"].set_index("Quantity")["Value"]
    assert steps["Replicas"] == 26
    assert steps["GPUs"] == 52
    assert steps["TPOT verdict"] == "needs a measurement"
    verdicts = sheets["Batch"]["Verdict at target"].dropna().tolist()
    assert verdicts == ["safe at any overlap", "needs a measurement", "fails", "fails"]
    assert sheets["Batch"]["KV cache"].dropna().tolist() == ["fits", "fits", "fits", "overflows"]
    assert sheets["Requests"]["Times the first"].dropna().round(1).tolist() == [1.0, 6.9]
    assert set(sheets["Checks"]["Check"].dropna()) == {"PASS"}


def test_calamine_reads_every_value(template: Path) -> None:
    rows = python_calamine.CalamineWorkbook.from_path(template).get_sheet_by_name("Audit").to_python()
    for result in plan():
        value = rows[audit.ROWS[result.step.name] - 1][5]
        assert value == (result.value if isinstance(result.value, str) else pytest.approx(result.value, rel=1e-9))


def test_openpyxl_reads_a_value_for_every_formula(template: Path) -> None:
    formulas, values = openpyxl.load_workbook(template), openpyxl.load_workbook(template, data_only=True)
    cells = [(ws.title, c.coordinate) for ws in formulas for row in ws for c in row if c.data_type == "f"]
    assert len(cells) > 500
    calculated = recalculate(template)
    for sheet, at in cells:
        value = values[sheet][at].value
        assert value is not None or calculated[sheet, at] == "", (sheet, at)  # as it reads an empty text
        assert not str(value).startswith("#"), (sheet, at)


def test_text_that_looks_like_a_formula_stays_text(template: Path) -> None:
    book = openpyxl.load_workbook(template)
    texts = [c for row in book["Audit"][f"H{audit.FIRST_STEP}:H{audit.LAST}"] for c in row if c.value]
    assert texts
    for cell in texts:
        assert cell.value.startswith("=")
        assert cell.data_type == "s"
        assert cell.quotePrefix


def test_build_is_reproducible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795910400")
    first, second = build(tmp_path / "a.xlsx"), build(tmp_path / "b.xlsx")
    with zipfile.ZipFile(first) as a, zipfile.ZipFile(second) as b:
        assert a.namelist() == b.namelist()
        for name in a.namelist():
            assert a.read(name) == b.read(name), name
    assert openpyxl.load_workbook(first)["About"]["C21"].value.date() == date(2026, 11, 29)


def test_an_unwritable_path_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "capacity.xlsx"
    with pytest.raises(OSError, match="missing"):
        build(target)
    assert os.listdir(tmp_path) == []


def test_finish_refuses_a_value_that_no_cell_can_hold() -> None:
    plain = Package.of(compose(date(2026, 11, 29)))
    with pytest.raises(TypeError, match="which no cell can hold"):
        finish(plain, dict.fromkeys(plain.formulas))


def test_finish_writes_errors_as_error_values(tmp_path: Path) -> None:
    out = tmp_path / "out.xlsx"
    book = compose(date(2026, 11, 29))
    plain = Package.of(book)
    texts = ["a text"] * sum(len(ws._charts) for ws in book)
    out.write_bytes(finish(plain, recalculate(plain, functions=False), texts))
    cell = openpyxl.load_workbook(out, data_only=True)["Audit"][f"D{audit.ROWS['gpus']}"]
    assert (cell.value, cell.data_type) == ("#NAME?", "e")
    assert recalculate(out, functions=False)["Audit", cell.coordinate] == ExcelError("#NAME?")
