"""`capacity doctor`: every finding has a verdict, what is amiss has a remedy, and nothing ends in a traceback."""

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import need
from doctors import asked
from office import install, soffice

import capacity.doctor
from addin.libreoffice import build as build_extension
from capacity import __version__
from capacity.cli import main
from capacity.doctor import findings
from capacity.finding import AMISS, GOOD, MISSING, Finding

NOWHERE = "/nowhere"


def test_this_machine_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = asked(capsys)
    assert code == 0
    assert found["Python"].found.endswith(sys.executable)
    assert found["llm-capacity"].found.startswith(f"{__version__}, ")
    assert found["xlwings"] == Finding("xlwings", "0.37.8")


def test_libreoffice_is_found_with_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    need("soffice")
    found = asked(capsys)[1]["LibreOffice"]
    said = subprocess.run([soffice() or "", "--version"], capture_output=True, text=True, check=True).stdout
    assert found.verdict == GOOD
    assert found.found.partition(",")[0] in said


def test_without_libreoffice(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", NOWHERE)
    found = asked(capsys)[1]
    assert found["LibreOffice"].verdict == MISSING
    assert "LibreOffice add-in" not in found


@pytest.mark.parametrize(
    ("said", "verdict", "fact"),
    [
        ("LibreOffice 7.4.7.2 40(Build:2)", AMISS, "7.4.7.2"),
        ("LibreOffice 26.2.0.1", GOOD, "26.2.0.1, "),
        ("cannot open display", AMISS, "does not say its version: cannot open display"),
    ],
)
def test_an_old_or_broken_libreoffice(
    said: str, verdict: str, fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program of that name that says so."""
    program = tmp_path / "soffice"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = [f for f in findings() if f.what == "LibreOffice"]
    assert found.verdict == verdict
    assert fact in found.found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system has no /proc")
def test_an_office_that_hangs_ends_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "soffice"
    program.write_text(f"#!/bin/sh\n(sleep 300 & echo $! > {tmp_path}/child; wait)\n")
    program.chmod(0o755)
    monkeypatch.setattr(capacity.doctor, "_office_program", {"soffice": str(program)}.get)
    monkeypatch.setattr(capacity.doctor, "_WITHIN_S", 1)
    found = {f.what: f for f in findings()}["LibreOffice"]
    assert found.found == f"{program} does not say its version: no answer within 1 s"
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":  # nobody waits for it
            return
        time.sleep(0.1)
    pytest.fail("its child still runs")


def test_a_failing_extension_manager_is_not_a_missing_extension(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, does in (
        ("soffice", "echo LibreOffice 25.2.3.2"),
        ("unopkg", "echo terminate: std::bad_alloc; exit 134"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {f.what: f for f in findings()}["LibreOffice add-in"]
    assert (found.verdict, found.found) == (AMISS, "unopkg fails: terminate: std::bad_alloc")
    assert found.remedy.endswith("try: unopkg list")


def test_the_extension(public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the real extension manager lists it: not there, installed for all, of another version."""
    manager, wrapper = need("unopkg"), tmp_path / "unopkg"

    def extension(folder: Path) -> Finding:
        places = f"-env:UNO_SHARED_PACKAGES_CACHE={folder.as_uri()} -env:UserInstallation={folder.as_uri()}-profile"
        wrapper.write_text(f'#!/bin/sh\nexec {manager} "$@" {places}\n')
        wrapper.chmod(0o755)
        with monkeypatch.context() as patched:
            active = Path(sys.executable).parent  # an environment that is active, which would keep unopkg from loading
            patched.setenv("PATH", os.pathsep.join([str(tmp_path), str(active), os.environ["PATH"]]))
            (found,) = [f for f in findings() if f.what == "LibreOffice add-in"]
            return found

    assert extension(tmp_path / "none").verdict == MISSING
    done = install(build_extension(tmp_path / "llm-capacity.oxt"), public, shared=True)
    assert done.returncode == 0, done.stderr
    assert extension(public / "shared") == Finding("LibreOffice add-in", __version__)
    monkeypatch.setattr(capacity.doctor, "VERSION", "9.9.9")
    assert extension(public / "shared").found == f"{__version__}, this package is 9.9.9"


def test_packages_that_lack_or_do_not_fit(tmp_path: Path) -> None:
    """In a Python where one dependency has another version and one is missing: read from what is installed there."""
    code = """
        import importlib.metadata as metadata
        import capacity.doctor as doctor
        known = metadata.version
        def version(name):
            if name == "lxml":
                raise metadata.PackageNotFoundError(name)
            return "0.1" if name == "pandas" else known(name)
        metadata.version = version
        for f in doctor.findings():
            if f.verdict == doctor.AMISS:
                print(f.what, "|", f.found, "|", f.remedy)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        'lxml | not installed | pip install "lxml>=5"',
        'pandas | 0.1, needed is >=2.2 | pip install "pandas>=2.2"',
    ]


def test_a_package_that_cannot_be_imported(tmp_path: Path) -> None:
    """Its metadata alone say nothing; of Rich even the table of the findings is made."""
    for name in ("rich", "pandas"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('libstdc++.so.6:\\nnot found')\n")
    command = [sys.executable, "-m", "capacity.cli", "doctor"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    lines = [line.split("  ") for line in done.stdout.splitlines() if "  amiss  " in line]
    assert [line[0] for line in lines] == ["pandas", "rich"]
    assert all("cannot be imported: libstdc++.so.6: not found" in line[1] for line in lines)
    assert all(line[3].startswith(f"pip install --force-reinstall {line[0]}==") for line in lines)


@pytest.mark.parametrize("name", ["rich", "packaging"])
def test_a_package_that_is_gone(name: str) -> None:
    program = f"import sys; sys.modules[{name!r}] = None; from capacity.cli import main; sys.exit(main(['doctor']))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert name in done.stdout
    assert "amiss" in done.stdout


def test_a_server_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = capacity.doctor.metadata.version

    def version(name: str) -> str:
        if name == "xlwings-server":
            raise capacity.doctor.metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(capacity.doctor.metadata, "version", version)
    (found,) = [f for f in findings() if f.what == "xlwings-server"]
    assert found == Finding("xlwings-server", "not installed", MISSING, 'pip install ".[server]"')


def test_from_a_copy_that_is_not_installed(tmp_path: Path) -> None:
    """Where nothing but the standard library can be imported."""
    shutil.copytree(Path(capacity.__file__).parent, tmp_path / "capacity")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from capacity.doctor import findings
for f in findings():
    print(f.what, "|", f.verdict, "|", f.remedy)
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "llm-capacity | amiss | pip install ." in done.stdout.splitlines()
    assert done.stdout.count("| amiss |") == 1


def test_own_models(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.csv"
    file.write_text("name,total_params\nmine,1\n")
    monkeypatch.setenv("CAPACITY_MODELS", str(file))
    assert asked(capsys)[1]["Your own models"].found == f"1 in {file}"
    file.write_text("name,total_params\nmine,many\n")
    assert asked(capsys)[1]["Your own models"].verdict == AMISS


def test_a_look_that_fails_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("out of order")

    monkeypatch.setattr(capacity.doctor, "_office_program", broken)
    assert Finding("LibreOffice", "RuntimeError: out of order", AMISS, "pip install .") in list(findings())


def test_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0].strip() == "Looked at"
    assert any(line.split()[:2] == ["xlwings", "0.37.8"] for line in lines)
