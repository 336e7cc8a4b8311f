"""What `capacity doctor` finds: Python and packages, Excel, LibreOffice with the extension, keys, a workbook.

Each finding is a fact with a verdict and, where something is amiss, the one command or step that mends it. Whatever
goes wrong while looking is itself a finding.
"""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module, metadata, util
from pathlib import Path
from typing import Any, Final

from ._version import VERSION
from .catalogue import OWN_MODELS, models
from .doctor_workbook import workbook_findings
from .errors import CapacityError
from .finding import AMISS, MISSING, Finding
from .registry import FUNCTIONS
from .spelling import EXTENSION, LIBREOFFICE

PACKAGE: Final = "llm-capacity"
_LEAST_PYTHON: Final = (3, 11)
_WITHIN_S: Final = 60
_MAC_EXCEL: Final = Path("/Applications/Microsoft Excel.app")
_OFFICES: Final = (  # where LibreOffice is installed when it is not on the PATH
    "/Applications/LibreOffice.app/Contents/MacOS",
    r"C:\Program Files\LibreOffice\program",
)


def findings(workbook: Path | None = None) -> Iterator[Finding]:
    """Everything, one after the other: some looks take seconds."""
    for look in _NAMES:
        yield from _safely(look)
    if workbook is not None:
        yield from workbook_findings(workbook)


def _safely(look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from look()
    except Exception as error:  # a doctor reports what it trips over
        yield Finding(_NAMES[look], f"{type(error).__name__}: {error}", AMISS, "pip install .")


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
    module = requirement.name.lower().replace("-", "_")
    try:
        if module != "xlwings_server":  # which sets up this process for a server when it is imported
            import_module(module)
    except Exception as error:  # whatever a damaged package raises
        found = f"{version}, cannot be imported: {' '.join(str(error).split()) or type(error).__name__}"
        return Finding(requirement.name, found, AMISS, f"pip install --force-reinstall {requirement.name}=={version}")
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
    said, _ = _output(program, "--version")
    version = re.search(r"(\d+)\.(\d+)[\d.]*", said)
    if version is None:
        yield Finding(
            "LibreOffice",
            f"{program} does not say its version: {' '.join(said.split())[:80]}",
            AMISS,
            "install it again",
        )
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
    root = hasattr(os, "geteuid") and os.geteuid() == 0  # for whom alone unopkg lists nothing
    answers = [
        _output(program, "list", *scope) for scope in ([()] if not root else []) + [("--shared",), ("--bundled",)]
    ]
    listed = "\n".join(said for said, _ in answers)
    block = re.search(rf"Identifier: {re.escape(EXTENSION)}\s+Version: (\S+)(.*?)(?=Identifier:|\Z)", listed, re.DOTALL)
    if block is None:
        failed = next((said for said, good in answers if not good), None)
        if failed is not None:
            tried = "close LibreOffice, leave a virtual environment (deactivate), and try: unopkg list"
            return Finding(what, f"unopkg fails: {' '.join(failed.split())[:200] or 'without a word'}", AMISS, tried)
        return Finding(what, "not installed", MISSING, remedy)
    if block[1] != VERSION:
        return Finding(what, f"{block[1]}, this package is {VERSION}", AMISS, remedy)
    if "is registered: no" in block[2]:
        return Finding(what, f"{block[1]}, not enabled", AMISS, "enable it under Tools, Extensions")
    return Finding(what, block[1])


def _office_program(name: str) -> str | None:
    found = shutil.which(name)
    return found or next((p for folder in _OFFICES if (p := shutil.which(name, path=folder))), None)


def _output(*command: str) -> tuple[str, bool]:
    """What a program prints, and whether it ended well; one that hangs is ended with all that it has started."""
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
            start_new_session=True,  # a process group of its own
        ) as process:
            try:
                return process.communicate(timeout=_WITHIN_S)[0], process.returncode == 0
            except BaseException:
                _end(process)
                raise
    except subprocess.TimeoutExpired:
        return f"no answer within {_WITHIN_S:g} s", False
    except OSError as error:
        return str(error), False


def _environment() -> dict[str, str]:
    """Ours without virtual environments: LibreOffice takes the first python3 of the PATH, and fails with theirs."""
    folders = [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    kept = [str(folder) for folder in folders if not (folder.parent / "pyvenv.cfg").is_file()]
    return {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"} | {"PATH": os.pathsep.join(kept)}


def _end(process: "subprocess.Popen[str]") -> None:
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


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


_NAMES: Final[dict[Callable[[], Iterator[Finding]], str]] = {
    _python: "Python",
    _packages: "packages",
    _excel: "Excel",
    _libreoffice: "LibreOffice",
    _server: "xlwings Server",
    _own_models: "your own models",
}
