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
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.utils import get_column_letter

import capacity
from addin.libreoffice import build
from capacity.call import ExcelError

from .programs import environment, soffice, uno_python

SERVER = Path(__file__).with_name("server.py")
STARTS = 3
CLOSE_WITHIN_S = 60
IMPLEMENTATION = "org.llmcapacity.AddIn.python"  # as component.py names it
LINES = 5  # of what LibreOffice printed, in a message


class OfficeError(RuntimeError):
    """LibreOffice refused a request, or could not be started."""


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


class Office:
    """A running LibreOffice with one document at a time; a context manager."""

    second_starts: ClassVar[list[str]] = []  # why an office of this process was started again

    def __init__(
        self,
        addin: bool | Path = False,
        *,
        beside: Sequence[Path] = (),
        profile: Path | None = None,
        live: bool = True,
    ) -> None:
        """addin: with this project's functions, built from source or as an .oxt; beside: other extensions as well.

        profile: instead of a fresh one. live: an add-in that does not answer is an error.
        """
        self._addin, self._beside, self._profile, self._live = addin, beside, profile, live
        self._copies: dict[tuple[Path, int], Path] = {}  # of workbooks that are lent

    def __enter__(self) -> "Office":
        """With a fresh profile, what fails to start is started again; a profile that is given is itself on trial."""
        for starts_left in reversed(range(1 if self._profile else STARTS)):
            try:
                self._begin()
                break
            except OfficeError as e:
                if not starts_left:
                    raise
                self.second_starts.append(str(e))
                print(f"LibreOffice is started again: {e}", file=sys.stderr)
        return self

    def _begin(self) -> None:
        program, python = soffice(), uno_python()
        if program is None or python is None:
            raise OfficeError("LibreOffice, or a Python that can import uno, is not installed")
        with contextlib.ExitStack() as stack:
            scratch = tempfile.TemporaryDirectory(prefix="office-", ignore_cleanup_errors=True)
            folder = self._folder = Path(stack.enter_context(scratch))
            self._bundled, self._printed = folder / "bundled", folder / "stderr.txt"
            self._bundled.mkdir()
            if self._addin:
                self._ours = _unpack(build(folder / "addin.oxt") if self._addin is True else self._addin, self._bundled)
            for extension in self._beside:
                _unpack(extension, self._bundled)
            profile = self._profile or folder / "profile"
            self._server = stack.enter_context(_start(python, program, profile, self._bundled, self._printed))
            stack.callback(self._stop)
            self._answer()
            if self._addin and self._live:
                self._check()
            self._exit = stack.pop_all()

    def _check(self) -> None:
        """Let one function answer: an office whose add-in is broken starts all the same, and does not say why."""
        self.new()
        version = self.formula("Sheet1", "A1", "=CAPACITY_VERSION()")
        self.close()
        if version != capacity.__version__:
            raise OfficeError(f"LibreOffice runs without the add-in: =CAPACITY_VERSION() is {version}, {self._why()}")

    def _why(self) -> str:
        try:
            self._ask("load", url=(self._ours / "component.py").as_uri(), implementation=IMPLEMENTATION)
        except OfficeError as e:
            return f"because {e}"
        return "though its component loads"

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

    @contextlib.contextmanager
    def lent(self, path: Path) -> Iterator[None]:
        """A workbook, calculated, that stays loaded for the next who borrows it: put back whatever you change.

        After an exception it is loaded anew.
        """
        copy = self._copies.setdefault((path, path.stat().st_mtime_ns), self._folder / f"{len(self._copies)}.xlsx")
        if not copy.exists():  # a copy, since a document that is open locks its file
            shutil.copy(path, copy)
        self._ask("take", url=copy.as_uri())
        yield
        self._ask("shelve", url=copy.as_uri())

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
            at: value
            for sheet, column, row, rows in self._ask("formula_cells")
            for ats, line in zip(_addresses(sheet, column, row, len(rows), len(rows[0])), _decode(rows), strict=True)
            for at, value in zip(ats, line, strict=True)
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
            raise OfficeError(f"the driver ended with exit code {self._server.wait(CLOSE_WITHIN_S)}{self._stderr()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise OfficeError(answer["failed"] + self._stderr())
        return answer["ok"]

    def _stderr(self) -> str:
        """The last lines that LibreOffice and its driver printed, without those of a stack."""
        lines = self._printed.read_text(encoding="utf-8", errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip() and not line.startswith(("#", "Stack:"))]
        return f"; on stderr: {' | '.join(told[-LINES:])}" if told else ""


def _start(python: str, program: str, profile: Path, bundled: Path, printed: Path) -> "subprocess.Popen[str]":
    with printed.open("wb") as stderr:
        return subprocess.Popen(
            [python, str(SERVER), program, str(profile), str(bundled)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
            env=environment(),
        )


def _unpack(oxt: Path, bundled: Path) -> Path:
    """As an office-wide installation keeps an extension: unpacked, in a folder of its own, which is the result."""
    folder = bundled / oxt.stem
    with zipfile.ZipFile(oxt) as archive:
        archive.extractall(folder)
    return folder


@functools.cache
def _addresses(sheet: str, column: int, row: int, height: int, width: int) -> list[list[tuple[str, str]]]:
    """The addresses of a rectangle; column and row are counted from 0. Each is made once."""
    letters = [get_column_letter(column + j + 1) for j in range(width)]
    return [[(sheet, f"{letter}{row + i + 1}") for letter in letters] for i in range(height)]


def _decode(rows: list[list[Any]]) -> list[list[Any]]:
    return [[ExcelError(x["error"]) if isinstance(x, dict) else x for x in row] for row in rows]
