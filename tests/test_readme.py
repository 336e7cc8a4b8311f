"""What the README, the change log and the CI script say is so."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from parity_differences import DIFFERENCES, EXCEL
from test_libreoffice_addin import OF_FORMULAS

import capacity
from capacity.cli import app
from workbook.sheets import about

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def sessions() -> list[tuple[str, str]]:
    """Each command that the README shows, with the output that it shows."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), sessions(), ids=lambda x: x if x.startswith("capacity") else "")
def test_commands_print_what_is_shown(command: str, output: str) -> None:
    assert command.startswith("capacity ")
    shell = f"{sys.executable} -m capacity.cli {command.removeprefix('capacity ')}"
    assert subprocess.run(shell, shell=True, capture_output=True, text=True, check=True, cwd=ROOT).stdout == output


def test_python_examples() -> None:
    """The Python session runs and prints what it shows."""
    (text,) = blocks("python")
    test = doctest.DocTestParser().get_doctest(text, {}, "README", "README.md", 0)
    assert len(test.examples) > 5
    assert doctest.DocTestRunner().run(test).failed == 0


def test_formulas_to_paste() -> None:
    """Every formula that the README shows is a call of existing functions."""
    from openpyxl.formula import Tokenizer

    formulas = re.findall(r"^    (=.*)$|`(=[A-Z_]+\(.*?\))`", README.partition("## Functions")[0], re.MULTILINE)
    assert len(formulas) >= 4
    for formula in (a or b for a, b in formulas):
        names = [t.value[:-1] for t in Tokenizer(formula).items if t.type == "FUNC" and t.subtype == "OPEN"]
        assert names
        assert set(names) <= set(capacity.FUNCTIONS), formula


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("In Excel, through xlwings", [d.what for d in DIFFERENCES if set(d.hosts) & set(EXCEL)]),
        ("In LibreOffice", [d.what for d in DIFFERENCES if "LibreOffice" in d.hosts] + [d.what for d in OF_FORMULAS]),
    ],
)
def test_what_is_different_in_a_host_is_said(head: str, expected: list[str]) -> None:
    """Each difference that the tests show stands in the README in the same words, and no other."""
    bullets = README.partition(head)[2].split("\n\n")[1].removeprefix("- ").split("\n- ")
    assert sorted(bullets) == sorted(expected)


def test_every_command_is_described() -> None:
    for command in app.registered_commands:
        assert command.callback is not None
        assert f"`capacity {command.callback.__name__}" in README


def test_every_sheet_is_described() -> None:
    """The README's table of sheets names each of them, in the order of the tabs."""
    table = README.partition("| Sheet | What it holds |\n|---|---|\n")[2].partition("\n\n")[0]
    assert [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()] == list(about.SHEETS)


def test_a_fault_is_an_answer_of_explain_alone() -> None:
    """What the README says of exit codes: `explain` says what is wrong on stdout, every other command on stderr."""
    for args, code in ((["explain", "REPLICAS", "16.67", "65"], 0), (["plan", "--set", "utilization=65"], 2)):
        command = [sys.executable, "-m", "capacity.cli", *args]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == code
        assert (result.stderr if code else result.stdout).startswith("utilization must be")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    """Every file that a document links to is in the repository."""
    for target in re.findall(r"\]\(([^)#]+)\)", (ROOT / name).read_text("utf-8")):
        assert target.startswith("https://") or (ROOT / target).is_file(), target


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_plain(name: str) -> None:
    """Lines fit on a screen, save tables, links and what is generated; no typographic characters to trip over."""
    text = (ROOT / name).read_text("utf-8")
    text = re.sub(r"<!-- (\w+): begin.*?<!-- \1: end -->", "", text, flags=re.DOTALL)
    assert text.isascii()
    assert not [line for line in text.splitlines() if len(line) > 120 and not line.startswith(("|", "![", "    "))]


def test_the_change_log_begins_with_this_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0] == capacity.__version__
    assert headings == sorted(headings, key=lambda v: [int(x) for x in v.split(".")], reverse=True)


def test_ci_runs_what_the_readme_says() -> None:
    """The CI script installs what the README's own command does, with the server, and tests after the linters."""
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    install, _, test = 'pip install ".[test]" && pytest -n auto --dist loadfile'.partition(" && ")
    assert f"    {install} && {test}\n" in README
    assert script.count("pip install") == 1
    assert 'pip install --quiet ".[test,server]"' in script
    assert f'step "pytest" {test}\n' in script
    assert all(f'" {check}\n' in script for check in ("ruff check", "ruff format --check", "mypy"))
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "set -euo pipefail" in script


DEB822 = "Types: deb\nSuites: bookworm bookworm-updates{}\nComponents: main\n"
ONE_LINE = "deb [signed-by=/k.gpg] https://example.org/debian bookworm-updates main\n"
ADDED = ONE_LINE.replace("-updates", "-backports")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"debian.sources": DEB822.format("")}, {"debian.sources": DEB822.format(" bookworm-backports")}),
        ({"debian.sources": DEB822.format(" bookworm-backports")}, {}),
        (
            {"debian.sources": "# bookworm-backports is off\n" + DEB822.format("")},
            {"debian.sources": "# bookworm-backports is off\n" + DEB822.format(" bookworm-backports")},
        ),
        ({"sources.list": ONE_LINE}, {"backports.list": ADDED}),
        ({"sources.list": ONE_LINE + "# " + ADDED}, {"backports.list": ADDED}),
        ({"sources.list": ONE_LINE + ADDED}, {}),
        ({"sources.list": "# " + ONE_LINE}, None),
        ({}, None),
    ],
)
def test_ci_takes_the_backports_from_where_the_machine_gets_the_rest(
    before: dict[str, str], after: dict[str, str] | None, tmp_path: Path
) -> None:
    """Either form of apt's sources; a commented line counts for nothing, and without a source there is one sentence."""
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    places = {"sources.list": tmp_path / "sources.list"}
    for name, text in before.items():
        places.get(name, parts / name).write_text(text)
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    function = script[script.index("add_backports() {") :].partition("\n}\n")[0] + "\n}\n"
    command = f"set -euo pipefail\n{function}add_backports {tmp_path}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    if after is None:
        assert result.returncode != 0
        assert len(result.stderr.splitlines()) == 1
        assert "bookworm-updates" in result.stderr
        return
    assert (result.returncode, result.stderr) == (0, "")
    found = {p.name: p.read_text() for p in (*tmp_path.glob("*.list"), *parts.iterdir())}
    assert found == before | after


def run_by_bash(script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = ["bash", "-c", f"set -euo pipefail\n{script}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def programs(folder: Path, **texts: str) -> str:
    """A search path with programs that do so, before the system's own."""
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize("home", [{"HOME": "/home/me"}, {}, {"XDG_CACHE_HOME": "/caches", "HOME": "/home/me"}])
def test_ci_and_the_tests_look_in_the_same_cache(home: dict[str, str], tmp_path: Path) -> None:
    """Also where no home is set."""
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    exports = "\n".join(line for line in lines if line.startswith(("export HOME=", "export CAPACITY_WINE=")))
    (folder,) = [x for x in (ROOT / ".ci" / "node.sh").read_text("utf-8").splitlines() if x.startswith("folder=")]
    done = run_by_bash(f'{exports}\n{folder}\necho "$folder"; echo "$CAPACITY_WINE"', PATH="/usr/bin:/bin", **home)
    program = (
        "from caches import cache; print(cache('node', 'LLM_CAPACITY_NODE')); print(cache('wine', 'CAPACITY_WINE'))"
    )
    command, environment = [sys.executable, "-c", program], {"PYTHONPATH": str(ROOT / "tests"), **home}
    expected = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert (done.stdout, done.stderr) == (expected.stdout, "")


@pytest.mark.parametrize(("version", "code"), [("v16.20.2", 1), ("v18.0.0", 0), ("v20.1.0", 0)])
def test_ci_wants_a_node_that_runs_pyodide(version: str, code: int, tmp_path: Path) -> None:
    path = programs(tmp_path, node=f"echo {version}", npm="exit 0")
    script = (ROOT / ".ci" / "node.sh").read_text("utf-8")
    done = run_by_bash(script, PATH=path, HOME=str(tmp_path))
    sentence = f"Pyodide needs Node 18 or later, and node is {version}\n" if code else ""
    assert (done.returncode, done.stderr) == (code, sentence)


def test_what_wineboot_says_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    path = programs(tmp_path / "bin", wineboot="echo could not load kernel32.dll; exit 1")
    script = (ROOT / "tests" / "wine" / "setup.sh").read_text("utf-8")
    check = script[script.index("check() {") :].partition("\n}\n")[0] + "\n}\n"
    done = run_by_bash(f"{check}wheels={tmp_path}\ncheck", PATH=path)
    assert (done.returncode, done.stderr) == (1, "wineboot failed: could not load kernel32.dll\n")


def test_the_readme_says_how_to_begin() -> None:
    """The doctor first, the word that is the noncommercial key, and what else a newcomer would have to guess."""
    _, _, installing = README.partition("## Installing the functions\n\n")
    assert "`capacity doctor`" in installing.partition("\n\n")[0]
    assert "export XLWINGS_LICENSE_KEY=noncommercial" in installing
