"""Rows of a calculation chain: each step twice, by the add-in's function and by cell arithmetic, and the value used.

Two complete chains: an Add-in cell refers to the Add-in cells above it, a Native cell to the Native cells above it, and
Value takes one of them. The first row that differs is the fault.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import Step
from capacity.registry import atom

from .frame import fit_row, grouped_rows, put, put_text
from .style import gray_when

ADDIN, NATIVE, VALUE, DIFF = "D", "E", "F", "J"
DIFFERENCE_FORMAT: Final = '0.0E+00;-0.0E+00;"0"'


class Chain:
    """Where the rows of a chain stand: what it takes from other sheets, then its own rows."""

    def __init__(
        self,
        title: str,
        taken: Sequence[str],
        groups: Sequence[Sequence[str]],
        bad: str,
        constants: Mapping[str, str] | None = None,
    ) -> None:
        """taken: what stands on other sheets; bad: name of the count of bad inputs; constants: name -> literal."""
        self.title, self.taken, self.bad, self.constants = title, frozenset(taken), bad, constants or {}
        self.shared: set[str] = set()  # rows taken from another chain, engine by engine
        self.rows = grouped_rows([taken, *groups])
        self.first = self.rows[groups[0][0]]
        self.last = max(self.rows.values())

    def cell(self, name: str, column: str = VALUE) -> str:
        """Absolute address from another sheet, e.g. Audit!$F$40."""
        return self.constants.get(name) or f"{self.title}!${column}${self.rows[name]}"

    def span(self, column: str) -> str:
        """The chain's own rows of one column, from another sheet."""
        return f"{self.title}!${column}${self.first}:${column}${self.last}"

    def ref(self, name: str, column: str) -> str:
        """A cell on the sheet itself: what was taken from Value, own rows from the same engine's column."""
        taken = name in self.taken and name not in self.shared
        return self.constants.get(name) or f"{VALUE if taken else column}{self.rows[name]}"

    def refs(self, step: Step, column: str) -> dict[str, str]:
        """Argument -> cell or sum of cells."""
        return {a: "+".join(self.ref(n, column) for n in s.split("+")) for a, s in step.sources().items()}

    def paste(self, step: Step) -> str:
        """The call with addresses that hold on any sheet of this workbook."""
        return step.function.formula(
            {a: "+".join(self.cell(n) for n in s.split("+")) for a, s in step.sources().items()}
        )

    def take(self, ws: Worksheet, name: str, order: int, source: str, label: str, words: str, unit: str) -> None:
        """A row whose value stands on another sheet."""
        row = self.rows[name]
        put(ws, (row, 1), f"i{order}", "Note", align="center")
        put_text(ws, (row, 2), label, "Label", "left")
        put_text(ws, (row, 3), words, "Note", "left")
        put(ws, f"{VALUE}{row}", f"={source}", "Result", unit, "right")
        put_text(ws, (row, 7), unit, "Note", "left")
        for column in (ADDIN, NATIVE, *"HIJKL"):
            put(ws, f"{column}{row}", None, "Note")
        fit_row(ws, row, {"B": label, "C": words}, 16)

    def share(self, ws: Worksheet, step: Step, order: int, other: "Chain") -> None:
        """A row that is a step of another chain: each engine's figure and the value."""
        unit = step.function.unit
        words = f"{step.name}, from {other.title} row {other.rows[step.name]}"
        self.take(ws, step.name, order, other.cell(step.name), step.quantity, words, unit)
        for column in (ADDIN, NATIVE):
            put(
                ws, f"{column}{self.rows[step.name]}", f"={other.cell(step.name, column)}", "Calculation", unit, "right"
            )

    def step(self, ws: Worksheet, step: Step, order: int) -> None:
        """A step: words, both engines, value, unit, formula to paste, difference, source."""
        spec = step.function
        formulas = {
            ADDIN: spec.formula(self.refs(step, ADDIN)),
            NATIVE: spec.native_formula(self.refs(step, NATIVE)),
        }
        for column, formula in formulas.items():
            formulas[column] = guarded(step, formula, partial(self.ref, column=column))
        self._line(ws, step.name, order, step.quantity, spec.words, spec.unit, formulas)
        row = self.rows[step.name]
        put_text(ws, (row, 8), f"={self.paste(step)}", "Code", "left")
        source = step.source or spec.source
        put_text(ws, (row, 12), source, "Note", "left")
        code = self.paste(step).replace(",", ", ")  # breaks at commas; the font is small but wide
        fit_row(ws, row, {"C": spec.words, "H": code, "L": source}, 27)

    def choice(self, ws: Worksheet, name: str, order: int, label: str, words: str, unit: str, formula: str) -> None:
        """A row that takes one of two cells: {name} in its formula stands for a cell of the same engine."""
        formulas = {c: formula.format(**{n: self.ref(n, c) for n in self.rows}) for c in (ADDIN, NATIVE)}
        self._line(ws, name, order, label, words, unit, formulas)
        put_text(ws, (self.rows[name], 8), "-", "Code", "left")
        put_text(ws, (self.rows[name], 12), "A switch on Inputs", "Note", "left")

    def gray_idle_engine(self, ws: Worksheet) -> None:
        """Gray the column of the engine that is not in use."""
        gray_when(ws, f"{ADDIN}{self.first}:{ADDIN}{self.last}", 'engine_active="Native"')
        gray_when(ws, f"{NATIVE}{self.first}:{NATIVE}{self.last}", 'engine_active<>"Native"')

    def agree(self, row: int) -> str:
        """Whether the engines of a row agree within the tolerance; never for bad inputs."""
        return f"=IF({self.bad}>0,FALSE,ABS(N({DIFF}{row}))<=tolerance*MAX(1,ABS(N({NATIVE}{row}))))"

    def _line(
        self, ws: Worksheet, name: str, order: int, label: str, words: str, unit: str, formulas: Mapping[str, str]
    ) -> None:
        row = self.rows[name]
        put(ws, (row, 1), order, "Note", align="center")
        put_text(ws, (row, 2), label, "Label", "left")
        put_text(ws, (row, 3), words, "Note", "left")
        for column, formula in formulas.items():
            put(ws, f"{column}{row}", formula, "Calculation", unit, "right")
        value = f'=IF({self.bad}>0,NA(),IF(engine_active="Native",{NATIVE}{row},{ADDIN}{row}))'
        put(ws, f"{VALUE}{row}", value, "Result", unit, "right")
        put_text(ws, (row, 7), unit, "Note", "left")
        difference = f"N({ADDIN}{row})-N({NATIVE}{row})+(T({ADDIN}{row})<>T({NATIVE}{row}))"
        shown = f'=IF(addin_version="not installed","no add-in",{difference})'
        put(ws, f"{DIFF}{row}", shown, "Calculation", align="right").number_format = DIFFERENCE_FORMAT
        ws.row_dimensions[row].height = 27


class _Names(dict[str, str]):
    """The cells of names, each looked up when a text asks for it: a chain has many, and a guard few."""

    def __init__(self, ref: Callable[[str], str]) -> None:
        super().__init__()
        self._ref = ref

    def __missing__(self, name: str) -> str:
        return atom(self._ref(name))


def guarded(step: Step, formula: str, ref: Callable[[str], str]) -> str:
    """The formula, or the guard's words where it has no number; ref: where a name's figure stands."""
    if step.guard is None:
        return f"={formula}"
    names = _Names(ref)
    words = step.guard.shows.format_map(names) if step.guard.shows else f'"{step.guard.words}"'
    return f"=IF({step.guard.native.format_map(names)},{words},{formula})"
