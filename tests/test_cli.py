"""The command line as a user runs it: output, exit codes, one sentence for whatever is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import capacity
from capacity.cli import main
from capacity.plan import INPUTS, STEPS, plan
from capacity.tables import headline


def run(*args: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """The installed command in a process of its own, its output no terminal."""
    command = [sys.executable, "-m", "capacity.cli", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **env}, timeout=60)


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """What a command that succeeds prints."""
    assert main(args) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A list of steps with name, exact value, unit and formula."""
    steps = json.loads(printed(capsys, "plan", "--json"))
    assert [s["name"] for s in steps] == [s.name for s in STEPS]
    assert [s["value"] for s in steps] == [r.value for r in plan()]
    assert all(set(s) == {"name", "value", "unit", "formula", "fits", "note"} for s in steps)
    by_name = {s["name"]: s for s in steps}
    assert by_name["gpus"] == {
        "name": "gpus",
        "value": 52.0,
        "unit": "GPUs",
        "formula": "GPUS(26,2)",
        "fits": True,
        "note": "",
    }
    assert by_name["tpot_verdict"]["value"] == "needs a measurement"


def test_plan_with_inputs_set(capsys: pytest.CaptureFixture[str]) -> None:
    steps = json.loads(printed(capsys, "plan", "--json", "--set", "cache_hit=0.5", "--set", "spares = 2"))
    assert {s["name"]: s["value"] for s in steps}["gpus"] == 40
    steps = json.loads(printed(capsys, "plan", "--json", "--set", "output_tokens=0"))
    assert {s["name"]: s["value"] for s in steps}["usd_per_m_tokens"] == "no output tokens"


def test_plan_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Every quantity with its value and unit, the formula in words, and the answer below."""
    out = printed(capsys, "plan")
    for result in plan():
        row = next(line for line in out.splitlines() if line.strip().startswith(result.step.quantity + "  "))
        assert result.step.function.words in row
    assert "KV per sequence per GPU                                 0.5243   GB/GPU" in out
    assert "26 replicas, 52 GPUs, $182.00 per hour\n" in out
    assert "Per million output tokens: $2.53; per million tokens, prompt included: $0.30\n" in out
    assert "Batch 64: 174 sequences fit; TPOT 34.23 to 53.34 ms against 50 ms: needs a measurement\n" in out


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["batch=192"], "Batch 192: TPOT 102.68 to 140.44 ms against 50 ms: fails"),
        (["output_tokens=0"], "Batch 64: 186 sequences fit; TPOT no output tokens"),
        (["output_tokens=0", "prompt_tokens=0"], "prompt included: no tokens"),
    ],
)
def test_what_the_plan_warns_of(settings: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in printed(capsys, "plan", *(x for s in settings for x in ("--set", s)))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["batch=192"], "Does not run as planned: only 174 sequences fit beside the weights, the batch is 192"),
        (["gpu_gb=42"], "Does not run as planned: only 0 sequences fit beside the weights, the batch is 64"),
        (["gpu_gb=42.3"], "Does not run as planned: only 1 sequence fits beside the weights, the batch is 64"),
        (["gpu_gb=24"], "Does not run: the weights do not fit"),
        (["gpu_gb=24", "output_tokens=0", "prompt_tokens=0"], "Does not run: the weights do not fit"),
    ],
)
def test_what_does_not_run_is_said_first(
    settings: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the fleet, which is priced all the same, and before any price."""
    lines = printed(capsys, "plan", *(x for s in settings for x in ("--set", s))).splitlines()
    assert lines[-4] == sentence
    assert lines[-3].endswith(" per hour")
    given = {name: float(value) for name, _, value in (s.partition("=") for s in settings)}
    text = headline(plan(given), {name: a.example for name, a in INPUTS.items()} | given)
    first = text.spans[0]
    assert (text.plain[first.start : first.end], first.style) == (sentence + "\n", "bold red")


@pytest.mark.parametrize("setting", ["utilization=65%", "UTILIZATION = 65 %", "utilization=0.65"])
def test_a_setting_is_read_as_a_cell_is(setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A percentage is its hundredth; names are the same in any case."""
    assert printed(capsys, "plan", "--json", "--set", setting) == printed(capsys, "plan", "--json")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["plan", "--set", "req_per_s=1,000"], "req_per_s must be a number: '1,000'; did you mean 1000?"),
        (
            ["plan", "--set", "prompt_tokens=1,234,567.5"],
            "prompt_tokens must be a number: '1,234,567.5'; did you mean 1234567.5?",
        ),
        (["plan", "--set", "utilization=0,65"], "utilization must be a number: '0,65'; did you mean 0.65?"),
        (["plan", "--set", "mfu=1,2,3"], "mfu must be a number: '1,2,3'"),
        (["plan", "--set", "mfu=%"], "mfu must be a number: '%'"),
        (["plan", "--set", "utilization=6500%"], "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        (["plan", "--set", "utilization=65"], "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        (["plan", "--set", "mfu=abc"], "mfu must be a number: 'abc'"),
        (["plan", "--set", "mfu="], "mfu must be a number: ''"),
        (["plan", "--set", "mfu=nan"], "mfu must be a finite number: nan"),
        (["plan", "--set", "tp=1.5"], "tp must be a whole number >= 1: 1.5"),
        (["plan", "--set", "mfo=1"], "no input is called 'mfo'; did you mean 'mfu'?"),
        (["plan", "--set", "mfu"], "--set takes NAME=VALUE, e.g. batch=32: 'mfu'"),
        (["plan", "--set", "req_per_s=1e308"], "PROMPT_TPS has no finite result for these arguments"),
        (["explain", "REPLICA"], "no function is called 'REPLICA'; did you mean 'REPLICAS'?"),
        (["build", "plan.ods"], "PATH must end in .xlsx: 'plan.ods'"),
        (["addin", "plan.xlsx"], "PATH must end in .oxt: 'plan.xlsx'"),
        (["build", "/no/such/folder/x.xlsx"], "cannot write /no/such/folder/x.xlsx: No such file or directory"),
        (["addin", "/no/such/folder/x.oxt"], "cannot write /no/such/folder/x.oxt: No such file or directory"),
    ],
)
def test_a_wrong_value(args: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence on stderr, nothing on stdout, exit code 2."""
    assert main(args) == 2
    assert capsys.readouterr() == ("", sentence + "\n")


@pytest.mark.parametrize(
    "args",
    [
        *(["nonsense"], ["plan", "--jsn"], ["plan", "--set"], ["plan", "x"], ["explain"], ["addin"], ["--nonsense"]),
        *(["plan", "--set", "foo=1"], ["explain", "FOO"], ["build", "a.xlsx", "b.xlsx"]),
    ],
)
def test_a_wrong_call(args: list[str]) -> None:
    """A wrong option, command or argument: one line that names it, no traceback, no usage box."""
    result = run(*args)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert any(a.lower().partition("=")[0].lstrip("-") in result.stderr.lower() for a in [args[-1], "missing argument"])


def test_every_input_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    """Setting each input to its example changes nothing."""
    args = [x for name, a in INPUTS.items() for x in ("--set", f"{name}={a.example}")]
    assert printed(capsys, "plan", "--json", *args) == printed(capsys, "plan", "--json")


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["REPLICAS", "16.67", "0.65"], "16.67 busy replicas / 0.65 = 25.65, rounded up to 26 replicas"),
        (["REPLICAS", "16.67", "65%"], "16.67 busy replicas / 0.65 = 25.65, rounded up to 26 replicas"),
        (["REPLICAS", "1,000"], "busy_replicas must be a number: '1,000'; did you mean 1000?"),
        (["replicas", "16.67", "65"], "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        (
            ["REPLICAS", "16.67", "", "2"],
            "16.67 busy replicas / 0.65 = 25.65, rounded up and 2 spares added, to 28 replicas",
        ),
        (["REPLICAS", "-1"], "busy_replicas must be >= 0: -1"),
        (["REPLICAS", "x"], "busy_replicas must be a number: 'x'"),
        (["GPUS"], "26 replicas x 2 GPUs = 52 GPUs"),
    ],
)
def test_explain(args: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "explain", *args) == sentence + "\n"


def test_functions(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "functions")
    for spec in capacity.FUNCTIONS.values():
        assert f"  {spec.signature}  {spec.unit}\n" in out
        assert all(f"\n {name} " in out for name in spec.args)


def test_functions_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    from capacity import reference

    assert printed(capsys, "functions", "--markdown") == reference.markdown() + "\n"


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "--version") == f"llm-capacity {capacity.__version__}\n"
    for args in ([], ["--help"]):
        out = printed(capsys, *args)
        assert all(command in out for command in ("plan", "build", "addin", "functions", "explain"))


def test_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`capacity build` writes capacity.xlsx where it stands, or the path given."""
    path = tmp_path / "my plan.xlsx"
    assert f"Wrote the workbook {path} (" in printed(capsys, "build", str(path))
    assert path.read_bytes()[:2] == b"PK"
    result = subprocess.run(
        [sys.executable, "-m", "capacity.cli", "build"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("Wrote the workbook capacity.xlsx (")
    assert (tmp_path / "capacity.xlsx").stat().st_size > 10_000


def test_addin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my functions.oxt"
    assert f"unopkg add -f '{path}'\n" in printed(capsys, "addin", str(path))
    assert path.read_bytes()[:2] == b"PK"


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "d.xlsx"
    folder.mkdir()
    assert main(["build", str(folder)]) == 2
    assert capsys.readouterr().err == f"cannot write {folder}: Is a directory\n"
    assert list(tmp_path.iterdir()) == [folder]  # and nothing is left behind


@pytest.mark.parametrize("env", [{"COLUMNS": "40"}, {"NO_COLOR": "1"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {}])
def test_output_that_is_no_terminal(env: dict[str, str]) -> None:
    """Plain text, nothing wrapped or cut, whatever the environment says about the terminal."""
    result = run("plan", **env)
    assert result.returncode == 0
    assert "\x1b" not in result.stdout
    assert "…" not in result.stdout
    assert any("TPOT verdict" in line and "else needs a measurement" in line for line in result.stdout.splitlines())


@pytest.mark.parametrize("command", ["plan", "functions"])
def test_nothing_but_text_goes_into_a_pipe(command: str) -> None:
    """No blanks that fill a line up, and no empty line before the first or after the last."""
    lines = run(command).stdout.split("\n")
    assert [line for line in lines if line != line.rstrip()] == []
    assert lines[0]
    assert lines[-1] == ""
    assert lines[-2]


@pytest.mark.parametrize("args", ["plan", "plan --json", "functions", "functions --markdown", "explain GPUS", "--help"])
def test_a_closed_pipe_is_no_error(args: str) -> None:
    """`capacity plan | true`: the reader is gone before the first line."""
    command = f"set -o pipefail; (sleep 0.1; {sys.executable} -m capacity.cli {args}) | true"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("args", ["plan", "plan --json", "functions", "explain GPUS", "--version"])
def test_a_full_disk_is_one_sentence(args: str) -> None:
    command = f"{sys.executable} -m capacity.cli {args} > /dev/full"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (2, "cannot write the output: No space left on device\n")


def test_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("capacity.plan.plan", interrupt)
    assert main(["plan"]) == 130
    assert capsys.readouterr() == ("", "")
