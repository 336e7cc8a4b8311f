"""What `capacity doctor` finds: Python and packages, Excel, LibreOffice with the extension, keys, a workbook.

Each finding is a fact with a verdict and, where something is amiss, the one command or step that mends it. Whatever
goes wrong while looking is itself a finding.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any, Final, NamedTuple

from ._version import VERSION
from .catalogue import OWN_MODELS, models
from .errors import CapacityError
from .registry import FUNCTIONS
from .spelling import EXTENSION, HOSTS, LIBREOFFICE

GOOD, MISSING, AMISS = "good", "optional", "amiss"
PACKAGE: Final = "llm-capacity"
_LEAST_PYTHON: Final = (3, 11)
_WITHIN_S: Final = 60
_MAC_EXCEL: Final = Path("/Applications/Microsoft Excel.app")
_OFFICES: Final = (  # where LibreOffice is installed when it is not on the PATH
    "/Applications/LibreOffice.app/Contents/MacOS",
    r"C:\Program Files\LibreOffice\program",
)


class Finding(NamedTuple):
    """What was looked at, what was found, the verdict, and what mends it."""

    what: str
    found: str
    verdict: str = GOOD
    remedy: str = ""


def findings(workbook: Path | None = None) -> Iterator[Finding]:
    """Everything, one after the other: some looks take seconds."""
    for look in _NAMES:
        yield from _safely(look)
    if workbook is not None:
        yield from _safely(lambda: _workbook(workbook))


def _safely(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except Exception as error:  # a doctor reports what it trips over
        yield Finding(_NAMES.get(look, "workbook"), f"{type(error).__name__}: {error}", AMISS, "pip install .")


def _python() -> Iterator[Finding]:
    found = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info >= _LEAST_PYTHON:
        yield Finding("Python", found)
    else:
        least = ".".join(map(str, _LEAST_PYTHON))
        yield Finding("Python", found, AMISS, f"install Python {least} or later, and {PACKAGE} in it")


def _packages() -> Iterator[Finding]:
    try:
        metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        yield Finding(PACKAGE, f"{VERSION}, not installed in this Python", AMISS, "pip install .")
        return
    yield Finding(PACKAGE, f"{VERSION}, {len(FUNCTIONS)} functions, {Path(__file__).parent}")
    for requirement in _requirements():
        yield _package(requirement, f'pip install "{requirement.name}{requirement.specifier}"')


def _requirements(extra: str = "") -> Iterator[Any]:
    """What this package needs, or what an extra of it needs beyond that; nothing where it is not installed."""
    try:
        declared = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return
    from packaging.requirements import Requirement

    for requirement in map(Requirement, declared):
        marker = requirement.marker
        plain, asked = (marker is None or marker.evaluate({"extra": name}) for name in ("", extra))
        if plain if not extra else asked and not plain:
            yield requirement


def _package(requirement: Any, remedy: str, when_missing: str = AMISS) -> Finding:
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return Finding(requirement.name, "not installed", when_missing, remedy)
    if not requirement.specifier.contains(version, prereleases=True):
        return Finding(requirement.name, f"{version}, needed is {requirement.specifier}", AMISS, remedy)
    return Finding(requirement.name, version)


def _excel() -> Iterator[Finding]:
    version = _excel_version()
    if version:
        yield Finding("Excel", version)
    elif sys.platform in ("win32", "darwin"):
        yield Finding("Excel", "not installed", MISSING, "install Excel, or use LibreOffice")
    else:
        yield Finding(
            "Excel", f"does not run on {platform.system()}", MISSING, "the workbook opens in LibreOffice, too"
        )
    if sys.platform == "win32":
        com = util.find_spec("win32com")
        yield (
            Finding("COM for Excel (pywin32)", "installed")
            if com
            else Finding("COM for Excel (pywin32)", "not installed", AMISS, "pip install pywin32")
        )


def _excel_version() -> str:
    """Of the desktop program, as Windows' registry or the Mac's folder has it; "" for none."""
    if sys.platform == "win32":
        import winreg

        try:
            return winreg.QueryValue(winreg.HKEY_CLASSES_ROOT, r"Excel.Application\CurVer")
        except OSError:
            return ""
    return str(_MAC_EXCEL) if sys.platform == "darwin" and _MAC_EXCEL.exists() else ""


def _libreoffice() -> Iterator[Finding]:
    program = _office_program("soffice")
    if program is None:
        yield Finding(
            "LibreOffice", "not installed", MISSING, f"install LibreOffice {LIBREOFFICE} or later, or use Excel"
        )
        return
    said = _output(program, "--version")
    version = re.search(r"(\d+)\.(\d+)[\d.]*", said)
    if version is None:
        yield Finding("LibreOffice", f"{program} does not say its version: {said[:80]}", AMISS, "install it again")
        return
    if tuple(map(int, version.groups())) < tuple(map(int, LIBREOFFICE.split("."))):
        remedy = f"install LibreOffice {LIBREOFFICE} or later: this one does not find the functions in .xlsx files"
        yield Finding("LibreOffice", version[0], AMISS, remedy)
    else:
        yield Finding("LibreOffice", f"{version[0]}, {program}")
    yield _extension()


def _extension() -> Finding:
    what, remedy = "LibreOffice add-in", "capacity addin llm-capacity.oxt && unopkg add -f llm-capacity.oxt"
    program = _office_program("unopkg")
    if program is None:
        return Finding(what, "the extension manager unopkg is not installed", MISSING, remedy)
    listed = "\n".join(_output(program, "list", *scope) for scope in ((), ("--shared",), ("--bundled",)))
    block = re.search(rf"Identifier: {re.escape(EXTENSION)}\s+Version: (\S+)(.*?)(?=Identifier:|\Z)", listed, re.DOTALL)
    if block is None:
        return Finding(what, "not installed", MISSING, remedy)
    if block[1] != VERSION:
        return Finding(what, f"{block[1]}, this package is {VERSION}", AMISS, remedy)
    if "is registered: no" in block[2]:
        return Finding(what, f"{block[1]}, not enabled", AMISS, "enable it under Tools, Extensions")
    return Finding(what, block[1])


def _office_program(name: str) -> str | None:
    found = shutil.which(name)
    return found or next((p for folder in _OFFICES if (p := shutil.which(name, path=folder))), None)


def _output(*command: str) -> str:
    """What a program prints; a program that hangs or cannot be started says so."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_WITHIN_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stdout


def _server() -> Iterator[Finding]:
    for requirement in _requirements("server"):
        yield _package(requirement, 'pip install ".[server]"', MISSING)
    key = os.environ.get("XLWINGS_LICENSE_KEY")
    yield (
        Finding("Key for xlwings Server", "XLWINGS_LICENSE_KEY is set")
        if key
        else Finding(
            "Key for xlwings Server", "XLWINGS_LICENSE_KEY is not set", MISSING, "only `capacity serve` needs one"
        )
    )


def _own_models() -> Iterator[Finding]:
    path = os.environ.get(OWN_MODELS)
    if path:
        try:
            own = len(models(path).names) - len(models().names)
        except CapacityError as error:
            yield Finding("Your own models", str(error), AMISS, f"correct the file, or unset {OWN_MODELS}")
        else:
            yield Finding("Your own models", f"{own} in {path}")


def _workbook(path: Path) -> Iterator[Finding]:
    what = path.name
    try:
        with zipfile.ZipFile(path) as package:
            names = set(package.namelist())
            core = package.read("docProps/core.xml").decode() if "docProps/core.xml" in names else ""
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        yield Finding(what, f"cannot be read as a workbook: {reason}", AMISS, "name a file that `capacity build` wrote")
        return
    version = re.search(r"<(?:\w+:)?version>([^<]*)<", core)
    host = _host(names)
    command = f"capacity build --host {host} {path}" if host else f"capacity build {path}"
    if "llm-capacity" not in core or version is None:
        yield Finding(what, "was not built by llm-capacity, or was saved by another program", MISSING, command)
    elif version[1] != VERSION:
        yield Finding(what, f"built by version {version[1]}, installed is {VERSION}", AMISS, command)
    else:
        yield Finding(what, f"built by version {version[1]}, for {HOSTS[host].title if host else 'every program'}")
    if host == "desktop":
        yield _interpreter(path)


def _host(parts: set[str]) -> str:
    """For which host a workbook was built; "" for none in particular."""
    if "xl/vbaProject.bin" in parts:
        return "desktop"
    return "lite" if any(name.startswith("xl/webextensions/") for name in parts) else ""


def _interpreter(path: Path) -> Finding:
    """The Python that the macros of a workbook start."""
    from openpyxl import load_workbook

    what, sheet = "Python of the macros", "xlwings.conf"
    book = load_workbook(path, read_only=True)
    try:
        rows = book[sheet].iter_rows(max_col=2, values_only=True) if sheet in book.sheetnames else ()
        named = next((value for name, value in rows if name == "INTERPRETER_WIN"), None)
    finally:
        book.close()
    if not named:
        return Finding(what, f"the sheet {sheet} names none", AMISS, f"enter the path of python.exe on {sheet}")
    if sys.platform == "win32" and not (Path(str(named)).is_file() or shutil.which(str(named))):
        return Finding(what, f"{named} does not exist", AMISS, f"enter {sys.executable} on the sheet {sheet}")
    return Finding(what, str(named))


_NAMES: Final[dict[Callable[[], Iterator[Finding]], str]] = {
    _python: "Python",
    _packages: "packages",
    _excel: "Excel",
    _libreoffice: "LibreOffice",
    _server: "xlwings Server",
    _own_models: "your own models",
}
