"""The constants of a calibration in the workbook and in the plan: what is shown, what is refused, every host."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from sheets import cells, formulas, recalculate

from capacity.cli import main
from capacity.evidence import read_constants, shipped
from capacity.evidence.chain import own_constants
from capacity.evidence.constants import as_text
from capacity.refined import SWITCHES, refined_plan
from workbook.build import build
from workbook.sheets import refined_inputs

OWN = {"mbu_weights": 0.8, "host_ms": 1.5}  # what a calibration moved
MOVED = {"mbu_dense": 0.8, "mbu_experts": 0.8, "host_ms": 1.5}  # what that is on Facts
ABOUT = {
    "calibrated": "2026-10-31",
    "rows": 40,
    "errors_before": {"output_tokens_per_s": {"median": 0.3142}},
    "errors_after_by_constants_alone": {"output_tokens_per_s": {"median": 0.071}},
}


def written(path: Path, change: Callable[[dict[str, Any]], Any] = lambda d: None, **about: Any) -> Path:
    """A file as `capacity calibrate` makes it."""
    data = json.loads(as_text(shipped()._replace(about={**ABOUT, **about})))
    for name, x in OWN.items():
        data["constants"][name]["value"] = x
    change(data)
    path.write_text(json.dumps(data))
    return path


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbook with a team's constants."""
    folder = tmp_path_factory.mktemp("calibrated")
    return build(folder / "own.xlsx", constants=own_constants(written(folder / "=our runs.json")))


def facts(path: Path, name: str) -> dict[str, Any]:
    """Cells of a row of Facts by column."""
    ws = load_workbook(path)["Facts"]
    row = refined_inputs.ROWS[name]
    return {column: ws[f"{column}{row}"].value for column in "FIJLM"}


def test_facts_have_the_values_and_say_where_they_are_from(calibrated: Path) -> None:
    source = (
        "Calibrated: =our runs.json, 40 rows; median error of output tok/s 31.4% before, 7.1% by these constants on "
        "rows left out"
    )
    assert facts(calibrated, "mbu_experts") == {
        "F": 0.8,
        "I": 0.9349,
        "J": datetime(2026, 10, 31),
        "L": source,
        "M": "Medium: by your own rows; shipped is 0.9349",
    }
    kept = facts(calibrated, "mbu_kv")
    assert (kept["F"], kept["M"]) == (0.6542, "Medium: as shipped; =our runs.json does not move it")
    assert kept["L"].startswith("Fit to 917 published benchmark rows")
    values = {name: facts(calibrated, name)["F"] for name in ("mbu_dense", "host_ms", "mfu_decode", "overlap_power")}
    assert values == {"mbu_dense": 0.8, "host_ms": 1.5, "mfu_decode": 0.7615, "overlap_power": 3}


def test_only_the_constants_are_others(calibrated: Path, template: Path) -> None:
    """The same formulas on all sheets: no text of the file is one."""
    own, plain = (
        {(ws.title, cell.coordinate): cell.value for ws, cell in formulas(load_workbook(path))}
        for path in (calibrated, template)
    )
    assert own == plain
    assert facts(template, "mbu_dense")["F"] == 0.9349


@pytest.mark.parametrize("functions", [True, False])
def test_the_plan_follows_and_all_checks_pass(calibrated: Path, functions: bool) -> None:
    """As built, and by both engines with every refinement on."""
    assert recalculate(calibrated, functions=functions)["About", "B3"] == "All checks PASS"
    shown = recalculate(calibrated, functions=functions, changes=cells({}, dict.fromkeys(SWITCHES, True)))
    by_hand = refined_plan(MOVED, dict.fromkeys(SWITCHES, True))["decode_step_ms"].value
    assert by_hand > refined_plan({}, dict.fromkeys(SWITCHES, True))["decode_step_ms"].value
    found = {x for (sheet, at), x in shown.items() if sheet == "Refined" and at.startswith("F") and x == by_hand}
    assert found == {by_hand}
    assert shown["About", "B3"] == "All checks PASS"


@pytest.mark.parametrize(
    ("host", "place"), [("", "own.xlsx"), ("desktop", "own.xlsm"), ("lite", "own.xlsx"), ("server", "own")]
)
def test_every_host(
    host: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = written(tmp_path / "c.json")
    assert main(["build", place, *(["--host", host] if host else []), "--constants", str(given)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "Facts has the constants of c.json for the chain Refined; functions typed into other cells take those shipped."
    )
    made = next((tmp_path / place).rglob("*.xlsx")) if host == "server" else tmp_path / place
    assert facts(made, "host_ms")["F"] == 1.5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["constants"].pop("mbu_kv"), "mbu_kv must be a number > 0 and <= 1: None"),
        (lambda d: d["constants"]["host_ms"].update(value=float("nan")), "host_ms must be a number > 0: nan"),
        (lambda d: d["constants"]["host_ms"].update(value="=1+1"), "host_ms must be a number > 0: '=1+1'"),
        (lambda d: d["about"].pop("rows"), "rows must be a whole number >= 1 and <= 1000000000: None"),
        (lambda d: d["about"].update(rows="=1+1"), "rows must be a whole number >= 1 and <= 1000000000: '=1+1'"),
        (lambda d: d["about"].update(calibrated="yesterday"), "calibrated must be a date from 2020 on, as 2026-11-30"),
        (lambda d: d["about"].update(calibrated=20261130), "calibrated must be a date from 2020 on, as 2026-11-30"),
        (lambda d: d["about"].update(calibrated="1899-12-31"), "calibrated must be a date from 2020 on, as 2026-11-30"),
        (lambda d: d["about"].update(errors_before=[1]), "errors_before must be errors by metric: [1]"),
        (
            lambda d: d["about"]["errors_before"].update(output_tokens_per_s={"median": "=1+1"}),
            "errors_before of output_tokens_per_s must have a median that is a number >= 0: '=1+1'",
        ),
        (lambda d: d.update(format="x"), "must be a file that capacity calibrate wrote"),
    ],
)
@pytest.mark.parametrize("command", ["build", "plan"])
def test_a_bad_file_is_one_sentence_and_nothing_is_written(
    command: str, change: Any, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, out = written(tmp_path / "c.json", change), tmp_path / "own.xlsx"
    asked = ["build", str(out)] if command == "build" else ["plan", "--refine", "all"]
    assert main([*asked, "--constants", str(given)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing.json"
    assert main(["build", str(tmp_path / "own.xlsx"), "--constants", str(missing)]) == 2
    assert capsys.readouterr().err == f"cannot read {missing}: No such file or directory\n"


def test_what_a_file_need_not_say(tmp_path: Path) -> None:
    """Neither date nor errors: the day of the build, and that the error is not there. A name may hold anything."""
    given = written(tmp_path / "a\tb\x07\n.json", lambda d: d.update(about={"rows": 7}))
    own = own_constants(given)
    assert (own.file, own.rows, own.as_of) == ("a?b??.json", 7, None)
    made = build(tmp_path / "own.xlsx", constants=own)
    assert facts(made, "host_ms")["L"] == "Calibrated: a?b??.json, 7 rows; error before and after not in the file"
    assert facts(made, "host_ms")["J"] == load_workbook(made).properties.created


def test_the_first_metric_that_was_measured_counts(tmp_path: Path) -> None:
    errors = {"tpot_ms": {"median": 0.2}, "ttft_ms": {"median": 0.4}}
    given = written(
        tmp_path / "c.json", errors_before=errors, errors_after_by_constants_alone={"tpot_ms": {"median": 0.1}}
    )
    assert own_constants(given).errors == "median error of TPOT 20.0% before, 10.0% by these constants on rows left out"


def test_a_plan_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = written(tmp_path / "c.json")
    assert main(["plan", "--json", "--refine", "all", "--constants", str(given), "--set", "host_ms=2"]) == 0
    steps = {step["name"]: step["value"] for step in json.loads(capsys.readouterr().out)}
    by_hand = refined_plan({**MOVED, "host_ms": 2.0}, dict.fromkeys(SWITCHES, True))
    assert steps["decode_step_ms"] == by_hand["decode_step_ms"].value
    assert main(["plan", "--constants", str(given)]) == 2
    sentence = "--constants goes with --refine: without refinements no step has a fitted constant\n"
    assert capsys.readouterr().err == sentence


def test_what_a_calibration_writes_can_be_built_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs that few rows cannot tell from others move nothing, and that is said."""
    run = {"model": "Llama-3.3-70B", "gpu": "H200", "quant": "fp8", "tp": 2, "isl": 1000, "osl": 500}
    rows = [{**run, "concurrency": 2**i, "tpot_ms": 15.0 + i} for i in range(4)]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    out = tmp_path / "c.json"
    assert main(["calibrate", str(tmp_path / "mine.json"), "--out", str(out)]) == 0
    own = own_constants(out)
    assert (own.rows, own.moved) == (4, False)
    assert own.as_of is not None
    assert own.errors.startswith("median error of TPOT ")
    alone = read_constants(out).about["errors_after_by_constants_alone"]["tpot_ms"]["median"]
    assert f"before, {alone:.1%} by these constants" in own.errors
    capsys.readouterr()
    assert main(["build", str(tmp_path / "own.xlsx"), "--constants", str(out)]) == 0
    told = "The rows of c.json tell none of the constants on Facts, which stay as shipped."
    assert capsys.readouterr().out.splitlines()[-1] == told
