"""The tests' side of a real LibreOffice.

    with Office(addin=True) as office:
        office.open("capacity.xlsx")
        office.set("Inputs", "F7", 0.4)
        office.recalculate()
        office.cells()["Audit", "D7"]       # 71.302...
        office.range("Audit", "A1:C3")      # rows; errors as capacity.call.ExcelError
        office.formula("Audit", "Z1", "=PREFILL_US(70.55,2,1979)")   # as Excel spells it
        office.pdf("capacity.pdf")

The office runs with a profile of its own, and with an empty folder of bundled extensions unless the add-in is wanted.
"""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.utils import get_column_letter

from addin.libreoffice import build
from capacity.call import ExcelError

SERVER = Path(__file__).with_name("server.py")
START_WITHIN_S = 120
CLOSE_WITHIN_S = 60


class OfficeError(RuntimeError):
    """LibreOffice refused a request, or could not be started."""


def soffice() -> str | None:
    """The program itself, not the shell script that starts it: that one would survive a kill of its child."""
    script = shutil.which("soffice") or shutil.which("libreoffice")
    if script is None:
        return None
    binary = Path(script).resolve().with_name("soffice.bin")
    return str(binary) if binary.exists() else script


def unopkg() -> str | None:
    """The extension manager."""
    return shutil.which("unopkg")


@functools.cache
def uno_python() -> str | None:
    """A Python that can `import uno`: this one, the system's or the one that LibreOffice ships."""
    beside = [str(Path(program).with_name("python")) for program in [soffice()] if program]
    for python in [sys.executable, "/usr/bin/python3", *beside]:
        if shutil.which(python) and subprocess.run([python, "-c", "import uno"], capture_output=True).returncode == 0:
            return python
    return None


def in_libreoffice(formula: str) -> str:
    """A formula as Excel stores it, in the spelling that LibreOffice's programming interface takes.

    >>> in_libreoffice('=SUM(Audit!A1:B2,"a,b",{1,2;3,4})')
    '=SUM(Audit.A1:B2;"a,b";{1;2|3;4})'
    """
    tokens = Tokenizer(formula).items
    array = 0
    spelled = []
    for token in tokens:
        if token.type == Token.ARRAY:
            array += 1 if token.subtype == Token.OPEN else -1
        if token.type == Token.SEP:
            spelled.append("|" if array and token.subtype == Token.ROW else ";")
        elif token.type == Token.OPERAND and token.subtype == Token.RANGE:
            spelled.append(token.value.replace("!", "."))
        else:
            spelled.append(token.value)
    return "=" + "".join(spelled)


def install(oxt: Path, home: Path, *, shared: bool = False) -> "subprocess.CompletedProcess[str]":
    """`unopkg add` into the profile home/profile, or for all users, who are those of home; it is open to everyone.

    unopkg refuses to add an extension for root alone, so there it runs as nobody.
    """
    import pwd  # there is none on Windows

    copy = shutil.copy(oxt, home)
    nobody = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    folders = [f"-env:UserInstallation={(home / 'profile').as_uri()}"]
    if shared:
        folders += ["--shared", f"-env:UNO_SHARED_PACKAGES_CACHE={(home / 'shared').as_uri()}"]
    return subprocess.run(
        [unopkg() or "unopkg", "add", copy, *folders],
        capture_output=True,
        encoding="utf-8",
        env={**_environment(), "HOME": str(home)},
        cwd=home,
        timeout=START_WITHIN_S,
        **({"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()} if nobody else {}),
    )


class Office:
    """A running LibreOffice with one document at a time; a context manager."""

    def __init__(self, addin: bool | Path = False, *, profile: Path | None = None) -> None:
        """addin: with this project's functions, built from source or as an .oxt. profile: instead of a fresh one."""
        self._addin, self._profile = addin, profile

    def __enter__(self) -> "Office":
        program, python = soffice(), uno_python()
        if program is None or python is None:
            raise OfficeError("LibreOffice, or a Python that can import uno, is not installed")
        with contextlib.ExitStack() as stack:
            scratch = tempfile.TemporaryDirectory(prefix="office-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(scratch))
            bundled = folder / "bundled"
            bundled.mkdir()
            if self._addin:
                _unpack(build(folder / "addin.oxt") if self._addin is True else self._addin, bundled)
            profile = self._profile or folder / "profile"
            self._server = stack.enter_context(_start(python, program, profile, bundled))
            stack.callback(self._stop)
            self._answer()
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    def _stop(self) -> None:
        """The end of its stdin tells the server to end the office and itself."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        try:
            self._server.wait(CLOSE_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._server.kill()

    def open(self, path: str | Path) -> None:
        """Load a workbook in place of the current one. Cached values stay until `recalculate`."""
        self._ask("open", url=Path(path).resolve().as_uri())

    def new(self) -> None:
        """Start an empty workbook with one sheet, Sheet1."""
        self._ask("open", url="private:factory/scalc")

    def close(self) -> None:
        """Close the workbook without saving."""
        self._ask("close")

    def sheets(self) -> list[str]:
        """Names of the sheets, in order."""
        names: list[str] = self._ask("sheets")
        return names

    def add_sheet(self, name: str) -> None:
        """Append an empty sheet."""
        self._ask("add_sheet", name=name)

    def set(self, sheet: str, address: str, value: float | str | bool | None) -> None:
        """Write a value; None blanks the cell. Dependent cells are calculated at once, as when a user types."""
        self._ask("put", sheet=sheet, address=address, value=value)

    def formula(self, sheet: str, address: str, text: str) -> Any:
        """Write a formula in Excel's spelling ("=GPUS(A1,2)"), as an array formula if address is a range; its value.

        The value is that of the first cell; `range` reads a block.
        """
        verb = "put_block" if ":" in address else "put_formula"
        self._ask(verb, sheet=sheet, address=address, text=in_libreoffice(text))
        return self.value(sheet, address.partition(":")[0])

    def value(self, sheet: str, address: str) -> Any:
        """Value of one cell: float, str, None (blank) or ExcelError; a boolean reads as 1.0 or 0.0."""
        return self.range(sheet, address)[0][0]

    def range(self, sheet: str, address: str) -> list[list[Any]]:
        """Values of a range, as rows."""
        return _decode(self._ask("read", sheet=sheet, address=address))

    def text(self, sheet: str, address: str) -> str:
        """What a cell shows, formatted."""
        shown: str = self._ask("text", sheet=sheet, address=address)
        return shown

    def cells(self) -> dict[tuple[str, str], Any]:
        """Every formula cell of the workbook: {(sheet, address): value}."""
        return {
            (sheet, f"{get_column_letter(column + j + 1)}{row + i + 1}"): value
            for sheet, column, row, rows in self._ask("formula_cells")
            for i, line in enumerate(_decode(rows))
            for j, value in enumerate(line)
        }

    def recalculate(self) -> float:
        """Calculate every formula again (Ctrl+Shift+F9); the seconds that it took, measured beside the office."""
        seconds: float = self._ask("recalculate")
        return seconds

    def pdf(self, path: str | Path) -> None:
        """Print the workbook into a PDF."""
        self.store(path)

    def store(self, path: str | Path) -> None:
        """Save a copy as .pdf, .xlsx or .ods."""
        self._ask("store", url=Path(path).resolve().as_uri())

    def functions(self, *names: str) -> dict[str, dict[str, Any] | None]:
        """What the function wizard shows: {name: {"category", "description", "arguments"}}, None for no function.

        An argument is [name, description, is optional].
        """
        found: dict[str, dict[str, Any] | None] = self._ask("functions", names=names)
        return found

    def _ask(self, do: str, **details: Any) -> Any:
        assert self._server.stdin is not None
        print(json.dumps({"do": do, **details}), file=self._server.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self._server.stdout is not None
        line = self._server.stdout.readline()
        if not line:
            raise OfficeError(f"LibreOffice's driver ended with exit code {self._server.wait(CLOSE_WITHIN_S)}")
        answer = json.loads(line)
        if "failed" in answer:
            raise OfficeError(answer["failed"])
        return answer["ok"]


def _start(python: str, program: str, profile: Path, bundled: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [python, str(SERVER), program, str(profile), str(bundled)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    """Our environment, without what would make the Python inside the office take a virtual environment for its home."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    folders = kept.get("PATH", os.defpath).split(os.pathsep)
    kept["PATH"] = os.pathsep.join(f for f in folders if not Path(f).is_relative_to(sys.prefix))
    return kept


def _unpack(oxt: Path, bundled: Path) -> None:
    """As an office-wide installation keeps an extension: unpacked, in a folder of its own."""
    with zipfile.ZipFile(oxt) as archive:
        archive.extractall(bundled / oxt.stem)


def _decode(rows: list[list[Any]]) -> list[list[Any]]:
    return [[ExcelError(x["error"]) if isinstance(x, dict) else x for x in row] for row in rows]
