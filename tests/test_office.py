"""The tests' own LibreOffice: what keeps it from starting is one error with its reason, not a failure of every test."""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from conftest import need_office
from office import Office, OfficeError

import capacity

ABORT = 'echo "out of luck" >&2; kill -ABRT $$'


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch) -> str:
    """LibreOffice; what these tests start again on purpose is not for the summary."""
    monkeypatch.setattr(Office, "second_starts", [])
    return need_office()


def first_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def wrapped(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a shell script started in place of LibreOffice."""
    script = folder / "soffice"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    first_on_path(folder, monkeypatch)


def test_an_extension_that_cannot_be_imported_is_one_error(broken: Path) -> None:
    reason = r"without the add-in: =CAPACITY_VERSION\(\) is Err:504, because .*No module named 'capacity.registry'"
    with pytest.raises(OfficeError, match=reason), Office(broken):
        pass
    assert len(Office.second_starts) == 2


@pytest.mark.parametrize("fixture", ["office_with_addin", "office_without_addin"])
def test_a_run_without_an_office_ends_with_one_sentence(
    fixture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of tests share the office, and none of them would tell the reason."""
    wrapped(ABORT, tmp_path, monkeypatch)
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_it.py").write_text(f"def test_1({fixture}): pass\ndef test_2({fixture}): pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", tmp_path],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 1
    sentence = "LibreOffice is not fit for the tests: soffice ended with exit code -6 while it started"
    assert done.stdout.count(f"Exit: {sentence}; on stderr: out of luck") == 1
    assert done.stdout.count("LibreOffice was started again") == 2


def test_what_aborts_once_is_started_again(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wrapped(f'mkdir "{tmp_path}/tried" && {{ {ABORT}; }}\nexec "{program}" "$@"', tmp_path, monkeypatch)
    with Office(addin=True) as office:
        office.new()
        assert office.formula("Sheet1", "A1", "=CAPACITY_VERSION()") == capacity.__version__
    [reason] = Office.second_starts
    assert reason == "soffice ended with exit code -6 while it started; on stderr: out of luck"
    assert capfd.readouterr().err == f"LibreOffice is started again: {reason}\n"


def test_what_always_aborts_is_started_three_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped(f'echo >>"{tmp_path}/starts"; {ABORT}', tmp_path, monkeypatch)
    with pytest.raises(OfficeError, match="exit code -6 while it started; on stderr: out of luck"), Office():
        pass
    assert (tmp_path / "starts").read_text() == 3 * "\n"


def test_a_given_profile_is_tried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds what the test is about, so a second try could hide a fault."""
    wrapped(f'echo >>"{tmp_path}/starts"; {ABORT}', tmp_path, monkeypatch)
    with pytest.raises(OfficeError, match="exit code -6"), Office(profile=tmp_path / "profile"):
        pass
    assert (tmp_path / "starts").read_text() == "\n"


def test_another_python_on_path_does_not_reach_the_office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after `activate` in a shell: the Python inside LibreOffice took that one for its own and found no uno."""
    venv.create(tmp_path, symlinks=True)
    first_on_path(tmp_path / "bin", monkeypatch)
    with Office(addin=True) as office:
        office.new()
        assert office.formula("Sheet1", "A1", "=CAPACITY_VERSION()") == capacity.__version__
