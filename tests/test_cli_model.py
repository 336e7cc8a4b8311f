"""`capacity model`: facts of a config.json as a table, as JSON, and as a row of a team's own file."""

import csv
import json
from pathlib import Path

import pytest
from configs import CATALOGUE, CONFIGS, DATA

from capacity import catalogue
from capacity.cli import main
from capacity.families import model_facts

R1 = CATALOGUE["DeepSeek-R1"]


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    code = main(["model", *map(str, args)])
    return code, *capsys.readouterr()


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Exactly the dictionary of the facts."""
    code, out, err = run(capsys, R1, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == model_facts(R1).as_dict()
    assert json.loads(out)["total_params"] == 671_026_419_200


def test_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure of the facts, with its unit."""
    code, out, err = run(capsys, CONFIGS["gpt-oss-120b"])
    assert (code, err) == (0, "")
    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in out.splitlines()]
    for row in (
        ["Parameters", "116,829,156,672"],
        ["Active for one token, without the input embedding", "5,132,849,472"],
        ["Experts for each token", "4 of 128"],
        ["Layers", "36"],
        ["KV cache that grows", "36,864", "B/token, all ranks"],
        ["Window", "128", "tokens"],
        ["As stored (mxfp4)", "65.2", "GB"],
    ):
        assert row in cells
    _, out, _ = run(capsys, R1)
    assert "B/token, the same on every rank" in out
    assert "none   tokens" in out


def test_add_a_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The catalogue's columns, with header, source and date; the facts are printed all the same."""
    path = tmp_path / "own.csv"
    code, out, err = run(capsys, R1, "--json", "--add", path, "--name", "Our R1")
    assert (code, err) == (0, f"Added Our R1 to {path}\n")
    assert json.loads(out)["layers"] == 61
    with path.open(encoding="utf-8", newline="") as file:
        header, row = list(csv.reader(file))
    assert header == list(catalogue.models().columns)
    cells = dict(zip(header, row, strict=True))
    assert (cells["name"], cells["total_params"], cells["source"]) == ("Our R1", "671026419200", "DeepSeek-R1.json")
    assert catalogue.models(path).value("our r1", "native_quantization") == "fp8"
    assert run(capsys, CONFIGS["gpt-oss-20b"], "--add", path)[0] == 0
    assert catalogue.models(path).names[-2:] == ["Our R1", "gpt-oss-20b"]


def test_a_checkpoint_is_called_as_its_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    assert run(capsys, DATA / "Qwen3-235B-A22B-NVFP4" / "config.json", "--add", path)[0] == 0
    assert catalogue.models(path).names[-1] == "Qwen3-235B-A22B-NVFP4"


@pytest.mark.parametrize(
    ("config", "more", "sentence"),
    [
        ("nowhere.json", [], "nowhere.json cannot be read: No such file or directory"),
        (DATA / "hub.csv", [], f"{DATA / 'hub.csv'} must be a JSON file, as a config.json is"),
        (
            R1,
            ["--add", "own.csv"],
            "there is a model called 'DeepSeek-R1' already, in own.csv or in the catalogue itself",
        ),
        (R1, ["--add", "own.csv", "--name", "=1"], "name must not begin with =, +, - or @, as a formula does: '=1'"),
        (R1, ["--add", "own.csv", "--name", "a\nb"], "name must be one line of printable characters: 'a\\nb'"),
        (R1, ["--add", "no/own.csv", "--name", "x"], "cannot write no/own.csv: No such file or directory"),
        (R1, ["--add", ".", "--name", "x"], "cannot read .: Is a directory"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    config: str | Path,
    more: list[str],
    sentence: str,
) -> None:
    """On stderr, exit code 2, nothing printed or written."""
    monkeypatch.chdir(tmp_path)
    assert run(capsys, config, *more) == (2, "", sentence + "\n")
    assert list(tmp_path.iterdir()) == []
