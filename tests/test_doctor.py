"""`capacity doctor`: every finding has a verdict, what is amiss has a remedy, and nothing ends in a traceback."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import need
from office import install, soffice

import capacity.doctor
from addin.libreoffice import build as build_extension
from capacity import __version__
from capacity.cli import main
from capacity.doctor import AMISS, GOOD, MISSING, Finding, findings

NOWHERE = "/nowhere"


def asked(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict[str, Finding]]:
    code = main(["doctor", "--json", *args])
    found = [Finding(**entry) for entry in json.loads(capsys.readouterr().out)]
    assert len({f.what for f in found}) == len(found)
    assert all(f.remedy for f in found if f.verdict != GOOD)
    assert {f.verdict for f in found} <= {GOOD, MISSING, AMISS}
    assert code == any(f.verdict == AMISS for f in found)
    return code, {f.what: f for f in found}


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


def test_the_extension(public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the real extension manager lists it: not there, installed for all, of another version."""
    manager, wrapper = need("unopkg"), tmp_path / "unopkg"

    def extension(folder: Path) -> Finding:
        places = f"-env:UNO_SHARED_PACKAGES_CACHE={folder.as_uri()} -env:UserInstallation={folder.as_uri()}-profile"
        wrapper.write_text(f'#!/bin/sh\nexec {manager} "$@" {places}\n')
        wrapper.chmod(0o755)
        with monkeypatch.context() as patched:
            patched.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
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
    import textwrap

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        'lxml | not installed | pip install "lxml>=5"',
        'pandas | 0.1, needed is >=2.2 | pip install "pandas>=2.2"',
    ]


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


@pytest.mark.parametrize(("host", "suffix", "fact"), [("", ".xlsx", "every"), ("lite", ".xlsx", "xlwings Lite")])
def test_a_workbook(host: str, suffix: str, fact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"plan{suffix}"
    assert main(["build", str(path), *(["--host", host] if host else [])]) == 0
    capsys.readouterr()
    code, found = asked(capsys, str(path))
    assert code == 0
    assert found[path.name].found.startswith(f"built by version {__version__}, for {fact}")


def test_a_workbook_with_macros(macro_workbook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, str(macro_workbook))[1]
    assert found["Python of the macros"] == Finding("Python of the macros", "pythonw")


def rewritten(source: Path, target: Path, **texts: tuple[str, str]) -> Path:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                for before, after in texts.values():
                    assert before.encode() in data
                    data = data.replace(before.encode(), after.encode())
            new.writestr(name, data)
    return target


def test_a_workbook_of_another_version_or_origin(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = rewritten(template, tmp_path / "old.xlsx", v=(f">{__version__}<", ">0.0.9<"))
    assert asked(capsys, str(old))[1]["old.xlsx"] == Finding(
        "old.xlsx", f"built by version 0.0.9, installed is {__version__}", AMISS, f"capacity build {old}"
    )
    other = rewritten(template, tmp_path / "other.xlsx", v=(">llm-capacity<", ">somebody<"))
    assert asked(capsys, str(other))[1]["other.xlsx"].verdict == MISSING


@pytest.mark.parametrize("content", [None, b"", b"no workbook", b"PK\x03\x04 broken"])
def test_what_is_no_workbook(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.xlsx"
    if content is not None:
        path.write_bytes(content)
    code, found = asked(capsys, str(path))
    assert code == 1
    assert found["plan.xlsx"].found.startswith("cannot be read as a workbook: ")


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
