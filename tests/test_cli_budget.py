"""`capacity budget`: the months of a workbook as JSON, CSV, a table, a picture; what is no budget, in a sentence."""

import csv
import io
import json
import sys
from pathlib import Path

import openpyxl
import pytest

from capacity.cli import main


def test_months_as_json(template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """36 months; the first has 32 GPUs at $2.79 and 16 at $3.50 for 730.5 h, 65,219.04 + 40,908.00."""
    assert main(["budget", str(template), "--json"]) == 0
    months = json.loads(capsys.readouterr().out)
    assert len(months) == 36
    assert (months[0]["month"], months[0]["fiscal_quarter"], months[-1]["month"]) == ("2027-01", "FY2027 Q4", "2029-12")
    assert months[0]["contracts_usd"] == pytest.approx(65_219.04)
    assert months[0]["on_demand_usd"] == pytest.approx(40_908)
    assert months[-1]["usd_so_far"] == pytest.approx(sum(month["usd"] for month in months))


def test_months_as_csv_and_table(template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", str(template), "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 36
    assert float(rows[0]["gpus"]) == 48
    assert main(["budget", str(template)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split()[0] == "2029-12"
    assert main(["budget", str(template), "--csv", "--json"]) == 2


def test_a_file_without_results(template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Saved by a program that does not calculate."""
    book = openpyxl.load_workbook(template)
    book.save(tmp_path / "bare.xlsx")
    assert main(["budget", str(tmp_path / "bare.xlsx")]) == 2
    assert "is a formula without a result: open the workbook in a spreadsheet" in capsys.readouterr().err
    del book["Budget"]
    book.save(tmp_path / "none.xlsx")
    assert main(["budget", str(tmp_path / "none.xlsx")]) == 2
    assert "has no sheet Budget" in capsys.readouterr().err


def test_the_picture(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A PNG where matplotlib is there; without it one sentence, and the months all the same."""
    picture = tmp_path / "budget.png"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.figure", None)
        assert main(["budget", str(template), "--plot", str(picture)]) == 2
        printed = capsys.readouterr()
        assert 'the picture needs matplotlib: pip install "llm-capacity[plot]"' in printed.err
        assert "2029-12" in printed.out
    assert main(["budget", str(template), "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
