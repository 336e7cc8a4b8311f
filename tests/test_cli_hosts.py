"""`capacity build --host`: for each host what it runs from, where it is put, and what comes next."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from addin import desktop, lite
from capacity.cli import main
from workbook.build import build

LINES = {
    "desktop": (
        "Wrote the workbook with macros capacity.xlsm (",
        "Open it in Excel for Windows and enable macros; capacity-vba beside it holds their text, for review.",
    ),
    "lite": (
        "Wrote the workbook for xlwings Lite capacity-lite.xlsx (",
        "Open it in Excel with the add-in xlwings Lite; main.py beside it is the script, for pasting by hand.",
    ),
    "server": (
        "Wrote the project for xlwings Server capacity-server",
        "Start it with: capacity serve capacity-server",
    ),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764460800")  # a build can be repeated to the byte
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("host", LINES)
def test_what_is_written_is_said(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--host", host]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(LINES[host][0])
    assert second == LINES[host][1]


def test_for_desktop_excel(here: Path) -> None:
    assert main(["build", "my plan.xlsm", "--host", "Desktop"]) == 0
    plain = build(here / "plain.xlsx", extra=desktop.add_settings)
    (expected, *texts) = desktop.build(here / "expected.xlsm", plain)
    assert (here / "my plan.xlsm").read_bytes() == expected.read_bytes()
    assert sorted(p.name for p in (here / "my plan-vba").iterdir()) == sorted(p.name for p in texts)


def test_for_xlwings_lite(here: Path) -> None:
    assert main(["build", "plan.xlsx", "--host", "lite"]) == 0
    (here / "expected").mkdir()
    plain = build(here / "plain.xlsx", host="lite")
    workbook, script = lite.build(here / "expected" / "plan.xlsx", plain)
    assert (here / "plan.xlsx").read_bytes() == workbook.read_bytes()
    assert (here / "main.py").read_bytes() == script.read_bytes()


def test_for_xlwings_server(here: Path) -> None:
    assert main(["build", "team", "--host", "server"]) == 0
    assert (here / "team/static/capacity.xlsx").read_bytes() == build(here / "p.xlsx", host="server").read_bytes()
    assert (here / "team/custom_functions/__init__.py").is_file()


def test_a_server_folder_keeps_what_is_in_it(here: Path) -> None:
    (here / "team").mkdir()
    (here / "team/.env").write_text("MINE=1\n")
    assert main(["build", "team", "--host", "server"]) == 0
    assert (here / "team/.env").read_text() == "MINE=1\n"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["build", "--host", "dekstop"], "no host is called 'dekstop'; did you mean 'desktop'?"),
        (["build", "--host", "mac"], "no host is called 'mac'; the hosts are desktop, lite, server"),
        (["build", "plan.xlsx", "--host", "desktop"], "PATH must end in .xlsm: 'plan.xlsx'"),
        (["build", "plan.xlsm", "--host", "lite"], "PATH must end in .xlsx: 'plan.xlsm'"),
        (["build", ""], "PATH must not be empty: ''"),
        (["build", "", "--host", "server"], "PATH must not be empty: ''"),
        (["build", "none/plan.xlsm", "--host", "desktop"], "cannot write none/plan.xlsm: No such file or directory"),
        (["serve", "nowhere"], "{here}/nowhere must be a folder that `capacity build --host server` wrote"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    args: list[str], sentence: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(args) == 2
    assert capsys.readouterr() == ("", sentence.format(here=here) + "\n")
    assert not list(here.iterdir())


OWN = "name,total_params,num_hidden_layers,kv_bytes_per_token_full\nours,7e9,32,131072\n"
LOADED = {
    "lite": "import runpy, types; f = types.SimpleNamespace(**runpy.run_path('main.py'))",
    "server": "import sys; sys.path.insert(0, 'capacity-server'); import custom_functions as f",
}


@pytest.mark.parametrize("asked_by", ["option", "environment"])
@pytest.mark.parametrize("host", LOADED)
def test_a_teams_models_reach_the_functions(
    host: str, asked_by: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go with the script, and with the project, so that no other computer needs a file or a setting."""
    file = here / "own.csv"
    file.write_text("\ufeff" + OWN, "utf-8")
    if asked_by == "environment":
        monkeypatch.setenv("CAPACITY_MODELS", str(file))
    assert main(["build", "--host", host, *(["--models", "own.csv"] if asked_by == "option" else [])]) == 0
    file.unlink()
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{LOADED[host]}; print(f.MODEL('ours', 'total_params'), f.MODEL('Qwen3-4B', 'layers'))",
        ],
        env={k: v for k, v in os.environ.items() if k != "CAPACITY_MODELS"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "7000000000.0 36.0\n"


def test_on_a_desktop_the_models_need_a_setting(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "own.csv").write_text(OWN)
    assert main(["build", "--host", "desktop", "--models", "own.csv"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "MODEL and PLAN know your models where the environment variable CAPACITY_MODELS names their file."


def test_a_project_whose_functions_do_not_look_for_models(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was the owner's stays, and that they would not be found is said."""
    (here / "own.csv").write_text(OWN)
    (here / "team/custom_functions").mkdir(parents=True)
    (here / "team/custom_functions/__init__.py").write_text("from addin.udfs import *\n")
    assert main(["build", "--host", "server", "team", "--models", "own.csv"]) == 2
    kept = "team/custom_functions/__init__.py is there and stays as it is, but does not have models.csv"
    assert capsys.readouterr().err.startswith(kept)
    assert not (here / "team/models.csv").exists()


def test_the_models_of_a_project_are_its_owners(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They may be built from, and are not replaced by others."""
    (here / "own.csv").write_text(OWN)
    assert main(["build", "--host", "server", "team", "--models", "own.csv"]) == 0
    kept, more = here / "team/models.csv", OWN + "another,1e9,10,1000\n"
    kept.write_text(more)
    assert main(["build", "--host", "server", "team", "--models", "team/models.csv"]) == 0
    capsys.readouterr()
    assert main(["build", "--host", "server", "team", "--models", "own.csv"]) == 2
    assert capsys.readouterr().err.startswith("team/models.csv is there")
    assert kept.read_text() == more


@pytest.mark.parametrize("epoch", ["abc", "1e9", "-1", "99999999999999", "9" * 40])
def test_a_wrong_build_date_is_one_sentence(
    epoch: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert main(["build"]) == 2
    rule = "must be a whole number of seconds since 1970, before the year 10000"
    assert capsys.readouterr() == ("", f"SOURCE_DATE_EPOCH {rule}: {epoch!r}\n")
    assert not list(here.iterdir())


def test_help_says_what_the_path_depends_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--help"]) == 0
    words = " ".join(capsys.readouterr().out.replace("\u2502", " ").split())
    assert "with the suffix that the host has" in words
    assert "capacity.xlsx, capacity.xlsm for desktop, capacity-lite.xlsx for lite, capacity-server for server." in words


def test_a_server_needs_a_folder_and_not_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "team").write_text("")
    assert main(["build", "team", "--host", "server"]) == 2
    assert capsys.readouterr().err == "cannot write team: File exists\n"
