"""`capacity doctor FILE`: for which host a workbook was built, by which version, and every file that is none."""

import shutil
import time
import zipfile
from pathlib import Path

import pytest
from doctors import asked

from capacity import __version__
from capacity.cli import main
from capacity.finding import AMISS, MISSING, Finding


@pytest.mark.parametrize(
    ("host", "suffix", "fact"), [("", ".xlsx", "every program"), ("lite", ".xlsx", "xlwings Lite")]
)
def test_a_workbook(host: str, suffix: str, fact: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"plan{suffix}"
    assert main(["build", str(path), *(["--host", host] if host else [])]) == 0
    capsys.readouterr()
    code, found = asked(capsys, str(path))
    assert code == 0
    assert found[path.name].found.startswith(f"built by version {__version__}, for {fact}")


def test_the_workbook_of_a_server(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "static").mkdir()
    path = shutil.copy(project / "static/capacity.xlsx", tmp_path / "static")
    assert asked(capsys, str(path))[1]["capacity.xlsx"].found == f"built by version {__version__}, for xlwings Server"
    old = rewritten(Path(path), tmp_path / "static/old.xlsx", v=(f">{__version__}<", ">0.0.9<"))
    assert asked(capsys, str(old))[1]["old.xlsx"].remedy == f"capacity build --host server {tmp_path}"


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
    found = asked(capsys, str(other))[1]["other.xlsx"]
    assert (found.verdict, found.remedy) == (MISSING, f"capacity build {tmp_path / 'new-capacity.xlsx'}")


def test_what_was_entered_in_an_old_workbook_is_not_built_over(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = ("T00:00:00Z</dcterms:modified>", "T09:41:00Z</dcterms:modified>")
    old = rewritten(template, tmp_path / "old.xlsx", v=(f">{__version__}<", ">0.0.9<"), saved=later)
    remedy = asked(capsys, str(old))[1]["old.xlsx"].remedy
    assert remedy == f"capacity build {tmp_path / f'old-{__version__}.xlsx'}"


def zipped(path: Path, parts: dict[str, bytes]) -> bytes:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in parts.items():
            package.writestr(name, data)
    return path.read_bytes()


@pytest.mark.parametrize("content", [None, b"", b"no workbook", b"PK\x03\x04 broken"])
def test_what_is_no_workbook(content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.xlsx"
    if content is not None:
        path.write_bytes(content)
    code, found = asked(capsys, str(path))
    assert code == 1
    assert found["plan.xlsx"].found.startswith("cannot be read as a workbook: ")
    assert found["plan.xlsx"].remedy == "name a file that `capacity build` wrote"


@pytest.mark.parametrize(
    ("path", "what", "reason"),
    [(".", ".", "it is a folder"), ("/", "/", "it is a folder"), ("/dev/zero", "zero", "it is no file")],
)
def test_what_is_no_file(path: str, what: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, path)[1][what].found == f"cannot be read as a workbook: {reason}"


def test_a_workbook_with_a_password_or_of_the_old_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.xls").write_bytes(bytes.fromhex("D0CF11E0A1B11AE1") + bytes(5000))
    found = asked(capsys, str(tmp_path / "plan.xls"))[1]["plan.xls"]
    assert found.found.startswith("has a password, or is of the old kind .xls")
    assert found.remedy == "in Excel, save it as .xlsx or .xlsm and without a password"


@pytest.mark.parametrize("part", ["docProps/core.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet13.xml"])
def test_a_workbook_that_unpacks_without_end(
    part: str, macro_workbook: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bomb.xlsm"
    with zipfile.ZipFile(macro_workbook) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    assert part in parts
    zipped(path, parts | {part: b" " * 100_000_001})
    began = time.monotonic()
    found = asked(capsys, str(path))[1]["bomb.xlsm"]
    assert found.found == f"cannot be read as a workbook: its part {part} unpacks to more than 100 MB"
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "docProps/core.xml", "[Content_Types].xml", "xl/sharedStrings.xml"]
)
def test_a_damaged_workbook(
    part: str, macro_workbook: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes of a part are not what they were when it was packed."""
    path = shutil.copy(macro_workbook, tmp_path / "damaged.xlsm")
    with zipfile.ZipFile(path) as package:
        info = package.getinfo(part)
    data = bytearray(path.read_bytes())
    begin = info.header_offset + 30 + len(part)
    data[begin : begin + info.compress_size] = bytes(info.compress_size)
    path.write_bytes(data)
    found = asked(capsys, str(path))[1]["damaged.xlsm"]
    assert found.found.startswith("cannot be read as a workbook: ")
    assert found.remedy == "name a file that `capacity build` wrote"
