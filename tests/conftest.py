"""Fixtures and helpers of all tests."""

import contextlib
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import wine
from office import Office, OfficeError, node, soffice, uno_python
from office.own_server import Server, serving, xlwings_server
from openpyxl import Workbook
from sheets import FourWays, edited_in_four_ways

from addin import desktop
from addin.libreoffice import build as build_extension
from addin.server import build as build_project
from workbook.build import build

# A workbook is hundreds of thousands of objects, none of them garbage: the collector looked through them for a sixth
# of the time.
gc.set_threshold(200_000, 20, 20)

# Modules that take longest, by their seconds: they go first, so that no process is left alone with one at the end.
LONG = ("test_engines", "test_cli_hosts", "test_refined", "test_standard", "test_evidence_build", "test_reader")


def pytest_configure(config: pytest.Config) -> None:
    """The processes of pytest-xdist take the modules in our order, not by their number of tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first, each whole; the others as they were."""
    items.sort(key=lambda item: (*LONG, item.path.stem).index(item.path.stem))


def need(program: str) -> str:
    """Path of a program; where it is missing the test is skipped with the reason, under CI it fails."""
    return found(program, shutil.which(program))


def found(what: str, path: str | None) -> str:
    """path, or the end of the test when there is none."""
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed")
    return path


def wine_folder() -> Path:
    """Where tests/wine/setup.sh has put Windows' Python; without it the test is skipped, under CI it fails."""
    return Path(found("Wine with Windows' Python (tests/wine/setup.sh)", wine.folder()))


def audited(workbook: Path) -> str:
    """What openxml-audit expects Excel to do with a file."""
    program = Path(sys.executable).with_name("openxml-audit")
    done = subprocess.run([program, workbook], capture_output=True, text=True, check=False)
    verdict = next((line for line in done.stdout.splitlines() if line.startswith("Microsoft Excel: ")), done.stdout)
    return verdict.removeprefix("Microsoft Excel: ").removesuffix(" (no findings)")


def need_office() -> str:
    """Path of LibreOffice's program, where all that drives it is there too."""
    found("a Python that can import uno (python3-uno)", uno_python())
    return found("LibreOffice (soffice)", soffice())


def _office(addin: bool) -> Iterator[Office]:
    """Where it cannot start, the run ends: each of its hundreds of tests would fail of that."""
    need_office()
    with contextlib.ExitStack() as stack:
        try:
            office = stack.enter_context(Office(addin=addin))
        except OfficeError as e:
            pytest.exit(f"LibreOffice is not fit for the tests: {e}", returncode=1)
        yield office


@pytest.fixture(scope="session")
def office_with_addin() -> Iterator[Office]:
    """LibreOffice with this project's functions; one for the whole session, so leave no document open."""
    yield from _office(addin=True)


@pytest.fixture(scope="session")
def office_without_addin() -> Iterator[Office]:
    """LibreOffice as it comes."""
    yield from _office(addin=False)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template workbook, built once; tests must not change it."""
    return build(tmp_path_factory.mktemp("template") / "capacity.xlsx")


@pytest.fixture(scope="module")
def book(template: Path) -> Workbook:
    """The built file's formulas."""
    return openpyxl.load_workbook(template)


@pytest.fixture(scope="module")
def shown(template: Path) -> Workbook:
    """The built file's cached values."""
    return openpyxl.load_workbook(template, data_only=True)


@pytest.fixture(scope="module")
def four_ways(
    request: pytest.FixtureRequest, template: Path, office_with_addin: Office, office_without_addin: Office
) -> FourWays:
    """The module's CASES, which are edits of the template, in both programs, with the functions and without."""
    return edited_in_four_ways(template, office_with_addin, office_without_addin, request.module.CASES)


@pytest.fixture(scope="session")
def macro_workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook for Excel on Windows with the .xlsx that it was made of beside it; tests must not change it."""
    folder = tmp_path_factory.mktemp("desktop")
    plain = build(folder / "plan.xlsx", extra=desktop.add_settings)
    return desktop.build(folder / "plan.xlsm", plain)[0]


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder of xlwings Server; tests must not change it."""
    spelled = build(tmp_path_factory.mktemp("spelled") / "capacity.xlsx", host="server")
    return build_project(tmp_path_factory.mktemp("server"), spelled)


@pytest.fixture(scope="session")
def server(project: Path) -> Iterator[Server]:
    """That project, run by our command with two workers, for the whole session."""
    found("xlwings-server", xlwings_server())
    found("xlwings' license key (XLWINGS_LICENSE_KEY)", node.license_key())
    with serving(project, workers=2) as running:
        yield running


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may write to."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """An extension whose Python cannot be imported."""
    path = tmp_path / "broken.oxt"
    with zipfile.ZipFile(build_extension(tmp_path / "whole.oxt")) as whole, zipfile.ZipFile(path, "w") as oxt:
        for name in set(whole.namelist()) - {"pythonpath/capacity/registry.py"}:
            oxt.writestr(name, whole.read(name))
    return path


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A test process beside others hands its own share of the summary to the one that writes it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["second_starts"] = Office.second_starts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what such a process has handed over."""
    Office.second_starts += getattr(node, "workeroutput", {}).get("second_starts", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A test that passed shows nothing that was printed; that LibreOffice failed to start must be seen all the same."""
    for reason in Office.second_starts:
        terminalreporter.write_line(f"LibreOffice was started again: {reason}")
