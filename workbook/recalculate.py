"""Recalculate a workbook in process with formualizer, with our functions registered or without them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import formualizer
import openpyxl

from capacity import FUNCTIONS
from capacity.call import ExcelError, call

from .package import Cell, Package, read

# formualizer's names of the error values
_CODES: Final = {
    "Null": "#NULL!",
    "Div": "#DIV/0!",
    "Value": "#VALUE!",
    "Ref": "#REF!",
    "Name": "#NAME?",
    "Num": "#NUM!",
    "Na": "#N/A",
    "Spill": "#SPILL!",
    "Calc": "#CALC!",
    "NImpl": "#NAME?",
    "Circ": "#REF!",
}
_KINDS: Final = {code: kind for kind, code in reversed(_CODES.items())}


def recalculate(
    source: str | Path | Package, *, functions: bool = True, changes: Mapping[Cell, Any] | None = None
) -> dict[Cell, Any]:
    """Values of all formula cells of a workbook file, after changing the given cells.

    Args:
        source: an .xlsx file
        functions: whether the add-in's functions are there; without them each call is #NAME?
        changes: (sheet, coordinate) -> new value (a text that begins with '=' is a formula)

    Returns:
        (sheet, coordinate) -> number, text, boolean or ExcelError
    """
    session = Session(source, functions=functions)
    for cell, value in (changes or {}).items():
        session.set(cell, value)
    return session.values()


class Session:
    """A workbook that stays open for changes; `values` recalculates."""

    def __init__(self, source: str | Path | Package, *, functions: bool = True) -> None:
        if isinstance(source, Package):
            data, cells = source.data, source.formulas
        else:
            path = Path(source)
            data, cells = read(path, path.stat().st_mtime_ns)
        self._formulas = {cell: _place(cell) for cell in cells}
        self._book = formualizer.Workbook.from_bytes(data, config=_settings())
        if functions:
            for name in FUNCTIONS:
                self._book.register_function(name, _adapter(name), min_args=0, max_args=None)

    def set(self, cell: Cell, value: Any) -> None:
        """Change one cell."""
        sheet, row, column = place = _place(cell)
        if isinstance(value, str) and value.startswith("="):
            self._book.set_formula(sheet, row, column, value)
            self._formulas[cell] = place
        else:
            self._book.set_value(sheet, row, column, value)
            self._formulas.pop(cell, None)  # typed over

    def calculate(self) -> None:
        """Calculate what the changes reach; the first time, everything."""
        self._book.evaluate_all()

    def values(self) -> dict[Cell, Any]:
        """Recalculate and read every formula cell."""
        self.calculate()
        value = self._book.get_value
        return {cell: _from_engine(value(*place)) for cell, place in self._formulas.items()}


def _place(cell: Cell) -> tuple[str, int, int]:
    """Sheet, row and column."""
    return (cell[0], *openpyxl.utils.cell.coordinate_to_tuple(cell[1]))


def _settings() -> formualizer.WorkbookConfig:
    """Formulas are read when a file is loaded, not at the first calculation, and calculated by one thread.

    Threads wait for each other wherever a function is Python: on two cores a third of the time goes into that.
    """
    evaluation = formualizer.EvaluationConfig()
    evaluation.enable_parallel = False
    return formualizer.WorkbookConfig(mode=formualizer.WorkbookMode.Ephemeral, eval_config=evaluation)


def _adapter(name: str) -> Callable[..., Any]:
    return lambda *args: _to_engine(call(name, [_from_engine(x) for x in args]))


def _from_engine(x: Any) -> Any:
    if isinstance(x, dict) and x.get("type") == "Error":
        return ExcelError(_CODES.get(x["kind"], "#VALUE!"))
    return [[_from_engine(c) for c in row] for row in x] if isinstance(x, list) else x


def _to_engine(x: Any) -> Any:
    if isinstance(x, ExcelError):
        return {"type": "Error", "kind": _KINDS.get(x.code, "Value")}
    return [[_to_engine(c) for c in row] for row in x] if isinstance(x, list) else x
