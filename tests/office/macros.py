"""The workbook's own macros in pyOpenVBA's interpreter, with the functions in this process in place of the COM server.

    macros = Macros("plan.xlsm")
    macros.call("REPLICAS", 16.67, 65.0)        # ExcelError("#NUM!")
    macros.call("GPUS", Cells([[26.0], [31.0]]), 2.0)
    macros.open()                               # what happens when the workbook opens
    macros.command("C:\\\\Python\\\\python.exe")    # what xlwings starts it with

Values cross as they do between Excel and xlwings' server: rows, one row flat, one value alone, errors as numbers.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from pyopenvba import ExcelFile, VBAModuleKind
from pyopenvba.apps.excel import ExcelApplication
from pyopenvba.interpreter._objects import MemberSpec, VBAObject, member, method
from pyopenvba.interpreter._values import EMPTY, MISSING, VBAArray, VBAErrorValue, error

from addin import udfs
from addin.desktop.settings import SHEET
from capacity.call import OMITTED, ExcelError

NUMBERS = {"#NULL!": 2000, "#DIV/0!": 2007, "#VALUE!": 2015, "#REF!": 2023, "#NAME?": 2029, "#NUM!": 2036, "#N/A": 2042}
NEWER = {"#SPILL!": 2045}  # one of those that only newer versions of Excel can show
_TEXTS = {number: code for code, number in NUMBERS.items()}
_START = 'Public Function XLPy()\r\nSet XLPy = CreateObject("Python")\r\nEnd Function\r\n'
_SCODE = 0x800A0000 - 2**32


class Cells(NamedTuple):
    """A reference of a formula, by the values of its cells."""

    rows: Sequence[Sequence[Any]]


class _Reference(VBAObject):
    """Excel's Range, as far as the macros need it."""

    vba_type_name = "Range"

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows = rows

    @member(name="Value")
    def value(self) -> object:
        return to_vba(self._rows[0][0]) if len(self._rows) == len(self._rows[0]) == 1 else _table(self._rows)


class _Python(VBAObject):
    """xlwings' object: its CallUDF, and how often it was called."""

    def __init__(self, macros: "Macros") -> None:
        self._macros = macros

    @method(name="CallUDF")
    def call_udf(self, module: str, name: str, arguments: VBAArray) -> object:
        self._macros.calls.append(name)
        if self._macros.lost:
            self._macros.lost -= 1
            raise error(462, "The remote server machine does not exist or is unavailable")
        assert module == "addin.udfs"
        plain = len(udfs.FUNCTIONS[name].args)
        given = [_to_python(x, omitted=OMITTED if i < plain else None) for i, x in enumerate(arguments.items)]
        answers = self._macros.answers
        return _from_server(answers[name] if name in answers else getattr(udfs, name)(*given))


class _Shell(VBAObject):
    """WScript.Shell, of which xlwings expands environment variables with."""

    @method(name="ExpandEnvironmentStrings")
    def expand(self, text: object) -> object:
        return text


class Macros:
    """The macros of one workbook file; `calls`, `starts`, `wizard` and `messages` tell what they did."""

    def __init__(self, path: Path) -> None:
        self.calls: list[str] = []
        self.starts = 0
        self.wizard: dict[str, tuple[str, str, list[str]]] = {}  # category, text and arguments' texts of a function
        self.refuses_texts = False
        self.lost = 0  # calls that fail as they do when Python was ended
        self.missing = ""  # why Python cannot be started
        self.answers: dict[str, Any] = {}  # in place of what a function gives
        self._app = ExcelApplication.open(path, with_vba=False)
        self._app.interpreter.host.create = self._create
        self._take_wizard_texts()
        with ExcelFile(path) as file:
            for module in file.vba_project().modules:
                self._add(module)

    def call(self, name: str, *arguments: Any) -> Any:
        """A function's value in a cell."""
        return from_vba(self._app.interpreter.run(name, [to_vba(x) for x in arguments]))

    def cell_values(self, answer: Any) -> Any:
        """What cells show for an answer of the COM server: a value, a flat row, or rows."""
        given = answer
        if isinstance(answer, list):
            given = _table(answer, first=0) if isinstance(answer[0], list) else _row(answer)
        return from_vba(self._app.interpreter.run("CellValues", [given]))

    def open(self) -> None:
        """What happens when the workbook opens."""
        self._app.interpreter.run("Workbook_Open", module="ThisWorkbook")

    @property
    def saved(self) -> bool:
        """Whether Excel would close the workbook without asking."""
        return bool(self._app.workbook.vba_get("Saved"))

    @saved.setter
    def saved(self, value: bool) -> None:
        self._app.workbook.vba_set("Saved", value)

    def show_alerts(self, shown: bool) -> None:
        """Set Application.DisplayAlerts."""
        self._app.application.vba_set("DisplayAlerts", shown)

    @property
    def messages(self) -> list[str]:
        """The message boxes so far."""
        return [text for _, text, _, _ in self._app.dialogs]

    def command(self, interpreter: str) -> str:
        """What xlwings' macros start Python with, for an interpreter in the sheet of settings."""
        sheet = self._app.sheet(SHEET)
        names = [row[0] for row in sheet.rows()]
        sheet.set_value(f"B{names.index('INTERPRETER_WIN') + 1}", interpreter)
        sheet.set_value(f"B{names.index('SHOW CONSOLE') + 1}", 0)  # "False" = True is an error in this interpreter
        command: str = self._app.run("XLPyCommand")
        return command

    def _take_wizard_texts(self) -> None:
        """Give Excel's Application the method that the interpreter lacks."""

        def describe(_: object, name: str, text: str, category: str, arguments: VBAArray) -> None:
            if self.refuses_texts:
                raise error(1004, "Method 'MacroOptions' of object '_Application' failed")
            self.wizard[name] = (category, text, list(arguments.items))
            self.saved = False

        application = self._app.application
        parameters = ("Macro", "Description", "Category", "ArgumentDescriptions")
        spec = MemberSpec("MacroOptions", "method", describe, parameters=parameters)
        application._vba_members = {**application._vba_members, "macrooptions": spec}

    def _add(self, module: Any) -> None:
        document = module.name == "ThisWorkbook" or module.name.startswith("Sheet")
        standard = module.kind is VBAModuleKind.standard
        kind = "document" if document else "standard" if standard else "class"
        source = _without_comments_on_directives(module.source)
        if module.name == "xlwings":
            source, replaced = re.subn(r"(?ms)^Function XLPy\(\)\s.*?^End Function\s", _START, source)
            assert replaced == 1
        self._app.add_module(source, name=module.name, kind=kind)

    def _create(self, name: str) -> object:
        if name == "WScript.Shell":
            return _Shell()
        self.starts += 1
        if self.missing:
            raise error(1000, self.missing)
        return _Python(self)


def _without_comments_on_directives(source: str) -> str:
    """The interpreter cannot read `#If Mac Then ' comment`, which VBA can."""
    return re.sub(r"(?m)^(\s*#[^'\r\n]*)'[^\r\n]*", r"\1", source)


def scode(x: ExcelError) -> int:
    """An error value among plain values, as COM carries it."""
    return _SCODE + (NUMBERS | NEWER)[x.code]


def to_vba(x: Any) -> object:
    """A cell's value, a reference or an argument left out, as a macro gets it."""
    if isinstance(x, Cells):
        return _Reference(x.rows)
    if isinstance(x, ExcelError):
        return VBAErrorValue((NUMBERS | NEWER)[x.code])
    return MISSING if x is OMITTED else EMPTY if x is None else x


def from_vba(x: object) -> Any:
    """What a macro returns, as a cell shows it; an array as rows, of which Excel shows a flat one as a row."""
    if isinstance(x, VBAArray):
        rows = _rows(x)
        return [[from_vba(cell) for cell in row] for row in rows]
    return ExcelError(_TEXTS[x.number]) if isinstance(x, VBAErrorValue) else x


def _to_python(x: object, omitted: Any) -> Any:
    """An argument as the COM server makes it of what the macros hand over."""
    if x is MISSING:
        return omitted
    value = [list(map(_plain, row)) for row in _rows(x)] if isinstance(x, VBAArray) else _plain(x)
    context = SimpleNamespace(range=None, value=value, meta={}, engine=SimpleNamespace(name="excel"))
    udfs.Cells.reader({})(context)
    return context.value


def _plain(x: object) -> Any:
    return _SCODE + x.number if isinstance(x, VBAErrorValue) else None if x is EMPTY else x


def _from_server(x: Any) -> object:
    """As XLPython.CallUDF returns it."""
    if not isinstance(x, list):
        return x
    if len(x) == 1:
        return x[0][0] if len(x[0]) == 1 else _row(x[0])
    return _table(x, first=0)


def _row(cells: Sequence[Any]) -> VBAArray:
    return VBAArray([(0, len(cells) - 1)], items=list(cells))


def _table(rows: Sequence[Sequence[Any]], first: int = 1) -> VBAArray:
    made = VBAArray([(first, first + len(rows) - 1), (first, first + len(rows[0]) - 1)])
    for i, row in enumerate(rows, first):
        for j, cell in enumerate(row, first):
            made.set([i, j], to_vba(cell))
    return made


def _rows(array: VBAArray) -> list[list[object]]:
    if array.dimensions == 1:
        return [list(array.items)]
    (top, bottom), (left, right) = array.bounds
    return [[array.get([i, j]) for j in range(left, right + 1)] for i in range(top, bottom + 1)]
