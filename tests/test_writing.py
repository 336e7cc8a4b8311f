"""What a build writes: all of its files or none, and none over a file of the user's own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from addin import desktop, lite, server
from addin.libreoffice import build as build_extension
from capacity.errors import CallError
from capacity.writing import write_all

HOSTS = {"desktop": "plan.xlsm", "lite": "plan.xlsx", "server": "project"}
SAVED = (b"Z</dcterms:modified>", b"1Z</dcterms:modified>")


@pytest.fixture(scope="module")
def spelled(project: Path) -> Path:
    return project / "static/capacity.xlsx"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def build(host: str, workbook: Path) -> None:
    builder = {"desktop": desktop.build, "lite": lite.build, "server": server.build}[host]
    builder(Path(HOSTS[host]), workbook)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Everything that is in a folder, hidden files and empty folders, too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def changed(path: Path, before: bytes, after: bytes) -> None:
    """The workbook with other properties."""
    with zipfile.ZipFile(path) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    assert before in parts["docProps/core.xml"]
    parts["docProps/core.xml"] = parts["docProps/core.xml"].replace(before, after)
    with zipfile.ZipFile(path, "w") as package:
        for name, data in parts.items():
            package.writestr(name, data)


@pytest.mark.parametrize(
    ("host", "file"),
    [
        ("desktop", "plan.xlsm"),
        *(("desktop", f"plan-vba/{name}") for name in ("ThisWorkbook.cls", "xlwings.bas", "LlmCapacityBridge.bas")),
        ("lite", "plan.xlsx"),
        ("lite", "main.py"),
        *(("server", f"project/{name}") for name in ("README.md", "templates/manifest.xml", "templates/taskpane.html")),
        *(("server", f"project/static/{name}") for name in ("index.html", "capacity.xlsx")),
    ],
)
def test_a_file_of_other_origin_is_in_the_way(host: str, file: str, here: Path, spelled: Path) -> None:
    """One sentence that names it; nothing is written, and nothing left."""
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("# My own, for llm-capacity\n")
    before = contents(here)
    with pytest.raises(CallError, match=rf"^{file} is there, and is not as llm-capacity wrote it: move it away"):
        build(host, spelled)
    assert contents(here) == before


@pytest.mark.parametrize("host", HOSTS)
def test_what_we_wrote_before_is_written_anew(host: str, here: Path, spelled: Path) -> None:
    """Also that of another version, whatever came after its first line."""
    build(host, spelled)
    whole = contents(here)
    kept = {"project/pyproject.toml", "project/custom_functions/__init__.py"}
    for name, data in whole.items():
        if data and not data.startswith(b"PK") and name not in kept:
            first = data.partition(b"\n")[0].replace(b" 0.1.0", b" 0.0.9")
            Path(name).write_bytes(first + b"\nan older text\n")
    build(host, spelled)
    assert contents(here) == whole


@pytest.mark.parametrize("host", ["desktop", "lite"])
@pytest.mark.parametrize("change", [SAVED, (b">llm-capacity<", b">somebody<")])
def test_a_workbook_that_was_saved_since_is_its_owners(
    host: str, change: tuple[bytes, bytes], here: Path, spelled: Path
) -> None:
    build(host, spelled)
    changed(Path(HOSTS[host]), *change)
    before = contents(here)
    with pytest.raises(CallError, match=f"^{HOSTS[host]} is there"):
        build(host, spelled)
    assert contents(here) == before


def test_functions_and_settings_of_a_project_are_its_owners(here: Path, spelled: Path) -> None:
    build("server", spelled)
    own = {"custom_functions/__init__.py": "from mine import *\n", "pyproject.toml": "[tool.xlwings_server]\n"}
    for name, text in own.items():
        Path("project", name).write_text(text)
    build("server", spelled)
    assert {name: Path("project", name).read_text() for name in own} == own


def test_a_checkout_is_no_project(here: Path, spelled: Path) -> None:
    Path("pyproject.toml").write_text("[project]\n")
    before = contents(here)
    with pytest.raises(CallError, match=r"^pyproject.toml is there and stays as it is, but does not have \[tool"):
        server.build(".", spelled)
    assert contents(here) == before


@pytest.mark.parametrize(
    ("host", "blocked", "folder"),
    [
        ("desktop", "plan-vba", False),
        ("desktop", "plan.xlsm", True),
        ("desktop", "plan-vba/xlwings.bas", True),
        ("lite", "main.py", True),
        ("server", "project/static", False),
        ("server", "project", False),
        ("server", "project/README.md", True),
        ("server", "project/custom_functions", False),
    ],
)
def test_all_or_nothing(host: str, blocked: str, folder: bool, here: Path, spelled: Path) -> None:
    """A folder where a file is to be, or a file where a folder: the error names it, and nothing is left."""
    Path(blocked).parent.mkdir(parents=True, exist_ok=True)
    if folder:
        Path(blocked).mkdir()
    else:
        Path(blocked).touch()
    before = contents(here)
    with pytest.raises(OSError, match=r"Is a directory|File exists|Not a directory") as raised:
        build(host, spelled)
    assert raised.value.filename == blocked
    assert contents(here) == before


def test_an_extension_of_another(tmp_path: Path) -> None:
    path = build_extension(tmp_path / "a.oxt")
    build_extension(path)
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("description.xml", '<description><identifier value="org.example"/></description>')
    with pytest.raises(CallError, match="is there, and is not as llm-capacity wrote it"):
        build_extension(path)


def test_a_file_keeps_its_rights_and_its_links(tmp_path: Path) -> None:
    file, link = tmp_path / "a.txt", tmp_path / "link.txt"
    file.write_text("head 1.0\nold")
    file.chmod(0o600)
    link.symlink_to(file)
    write_all({link: b"head 1.1\nnew"})
    assert link.is_symlink()
    assert file.read_text() == "head 1.1\nnew"
    assert file.stat().st_mode & 0o777 == 0o600


def test_an_empty_file_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    write_all({tmp_path / "a.txt": b"text"})
    assert (tmp_path / "a.txt").read_bytes() == b"text"


@pytest.mark.skipif(os.name != "posix", reason="a limit on the size of files is set by the shell")
@pytest.mark.parametrize("host", ["", "lite", "desktop", "server"])
def test_a_disk_that_is_full(host: str, tmp_path: Path) -> None:
    """One sentence; openpyxl and lxml, which write the workbook first, add none of their own."""
    option = f"--host {host}" if host else ""
    command = f"ulimit -f 100; {sys.executable} -m capacity.cli build {option}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("cannot write ")
    assert done.stderr.endswith(": File too large\n")
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_at_the_last_step(tmp_path: Path) -> None:
    """The second file does not fit any more: the first is not there either."""
    program = f"""
import resource
from pathlib import Path
from capacity.writing import write_all
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
folder = Path({str(tmp_path)!r})
try:
    write_all({{folder / "a" / "1.txt": b"x" * 500, folder / "a" / "2.txt": b"x" * 2000}}, [folder / "a"])
except OSError as error:
    print(error.filename)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'a' / '2.txt'}\n"
    assert not list(tmp_path.iterdir())
