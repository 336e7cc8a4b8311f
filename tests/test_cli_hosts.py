"""`capacity build --host`: for each host what it runs from, where it is put, and what comes next."""

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


def test_a_server_needs_a_folder_and_not_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "team").write_text("")
    assert main(["build", "team", "--host", "server"]) == 2
    assert capsys.readouterr().err.startswith("cannot write team: ")
