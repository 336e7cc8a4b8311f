"""What `capacity doctor` finds in a workbook. It may be any file: only what is needed is read, and none without end."""

import re
import shlex
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ._version import VERSION
from .errors import CallError
from .finding import AMISS, MISSING, Finding
from .spelling import HOSTS

_CORE: Final = "docProps/core.xml"
_SETTINGS: Final = "xlwings.conf"  # the sheet that names the Python of the macros
_SETTINGS_ROWS: Final = 100
_LARGEST: Final = 100_000_000  # bytes of the file, or of a part of it when it is unpacked
_OLE: Final = bytes.fromhex("D0CF11E0A1B11AE1")  # how an .xls file begins, and a workbook with a password
_ANOTHER: Final = "name a file that `capacity build` wrote"


def workbook_findings(path: Path) -> Iterator[Finding]:
    """Its origin and host, and the Python of its macros; whatever is wrong with the file is a finding."""
    what = path.name or str(path)
    try:
        _check(path)
        if _is_ole(path):
            remedy = "in Excel, save it as .xlsx or .xlsm and without a password"
            yield Finding(what, "has a password, or is of the old kind .xls: it cannot be looked at", AMISS, remedy)
            return
        yield from _package(path, what)
    except Exception as error:  # zipfile, zlib and openpyxl raise whatever comes to their minds
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        yield Finding(what, f"cannot be read as a workbook: {' '.join(reason.split())}", AMISS, _ANOTHER)


def _check(path: Path) -> None:
    """It must be a file, and not too large; a pipe would be waited for."""
    size = path.stat().st_size
    if not path.is_file():
        raise CallError("it is a folder" if path.is_dir() else "it is no file")
    if size > _LARGEST:
        raise CallError(f"it has more than {_LARGEST / 1e6:.0f} MB")


def _is_ole(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_OLE)) == _OLE


def _package(path: Path, what: str) -> Iterator[Finding]:
    with zipfile.ZipFile(path) as package:
        for part in package.infolist():
            if part.file_size > _LARGEST:
                raise CallError(f"its part {part.filename} unpacks to more than {_LARGEST / 1e6:.0f} MB")
        names = set(package.namelist())
        if "xl/workbook.xml" not in names:
            raise CallError("it has no part xl/workbook.xml")
        core = package.read(_CORE).decode(errors="replace") if _CORE in names else ""
    host = "desktop" if "xl/vbaProject.bin" in names else _property(core, "category")
    python = [_interpreter(path)] if host == "desktop" else []  # before the rest: it may find the file damaged
    yield _origin(path, what, core, host if host in HOSTS else "")
    yield from python


def _property(core: str, name: str) -> str:
    found = re.search(rf"<(?:\w+:)?{name}\b[^>]*>([^<]*)<", core)
    return found[1] if found else ""


def _origin(path: Path, what: str, core: str, host: str) -> Finding:
    version, suffix = _property(core, "version"), ".xlsm" if host == "desktop" else ".xlsx"
    if _property(core, "creator") != "llm-capacity" or not version:
        new = _command(path.with_name(f"new-capacity{suffix}"), host)
        return Finding(what, "was not built by llm-capacity, or was saved by another program", MISSING, new)
    if version != VERSION:
        kept = _property(core, "created") != _property(core, "modified")  # with what its owner has entered
        place = path.with_name(f"{path.stem}-{VERSION}{suffix}") if kept else path
        return Finding(what, f"built by version {version}, installed is {VERSION}", AMISS, _command(place, host))
    return Finding(what, f"built by version {version}, for {HOSTS[host].title if host else 'every program'}")


def _command(path: Path, host: str) -> str:
    """What builds a workbook at that path, or the project of a server whose folder it is in."""
    if host == "server":
        path = path.resolve().parent
        path = path.parent if path.name == "static" else path / "capacity-server"
    option = f"--host {host} " if host else ""
    return f"capacity build {option}{shlex.quote(str(path))}"


def _interpreter(path: Path) -> Finding:
    """The Python that the macros of a workbook start."""
    from openpyxl import load_workbook

    what = "Python of the macros"
    book = load_workbook(path, read_only=True)
    try:
        sheet = book[_SETTINGS] if _SETTINGS in book.sheetnames else None
        rows = sheet.iter_rows(max_row=_SETTINGS_ROWS, max_col=2, values_only=True) if sheet else ()
        named = next((row[1] for row in rows if len(row) > 1 and row[0] == "INTERPRETER_WIN"), None)
    finally:
        book.close()
    if not named:
        remedy = f"enter the path of python.exe on {_SETTINGS}"
        return Finding(what, f"the sheet {_SETTINGS} names none", AMISS, remedy)
    if sys.platform == "win32" and not (Path(str(named)).is_file() or shutil.which(str(named))):
        return Finding(what, f"{named} does not exist", AMISS, f"enter {sys.executable} on the sheet {_SETTINGS}")
    return Finding(what, str(named))
