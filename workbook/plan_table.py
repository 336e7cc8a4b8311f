"""Many plans side by side: which of the refined chain changes with the inputs of each, computed by both engines.

A table has inputs of its own, e.g. the decode batch. What depends on them is computed anew for each plan, in the two
blocks of cells beside the printed area; everything else comes from the sheet Refined, engine by engine.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.plan import INPUTS, NO_OUTPUT, NO_TOKENS, NO_VERDICT, STEPS, Choice, Step
from capacity.refined import REFINED_INPUTS, SECTIONS, SHARED

from .chain import ADDIN, NATIVE, VALUE, guarded
from .frame import Column, put
from .sheets import refined
from .style import gray_when

ENGINES: Final = (ADDIN, NATIVE)
NO_LOAD: Final = "no load"  # where a price or a time of a token has no number since the rate is 0
_LONGEST: Final = 120  # characters of a formula
_ENTRIES: Final[tuple[Step | Choice, ...]] = (
    *(step for step in STEPS if step.name in SHARED),
    *(entry for entries in SECTIONS.values() for entry in entries),
)


def sources(entry: Step | Choice) -> set[str]:
    """Names of the inputs and rows from which a row comes."""
    if isinstance(entry, Choice):
        return {entry.switch, entry.on, entry.off}
    guard = {name for name in refined.ROWS if entry.guard and f"{{{name}}}" in _guard_text(entry)}
    return {n for source in entry.sources().values() for n in source.split("+")} | guard


def _guard_text(step: Step) -> str:
    assert step.guard is not None
    return step.guard.native + step.guard.shows


def changing(own: Sequence[str], wanted: Sequence[str]) -> tuple[Step | Choice, ...]:
    """The rows that depend on inputs of one's own and on which the wanted ones depend, in order."""
    moved = set(own)
    for entry in _ENTRIES:
        if sources(entry) & moved:
            moved.add(entry.name)
    needed = set(wanted)
    for entry in reversed(_ENTRIES):
        if entry.name in needed:
            needed |= sources(entry)
    return tuple(e for e in _ENTRIES if e.name in (moved & needed) - set(own))


class PlanTable:
    """The working cells of a table whose plans stand in rows."""

    def __init__(
        self,
        own: Mapping[str, str],
        wanted: Sequence[str],
        first: int,
        rows: range,
        extra: Sequence[Step] = (),
        above: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        """own: input -> its column, or the cell that all plans take; first: number of the first working column.

        extra: steps of the table's own, behind those of the chain that it wants; above: (what they take of the sheet
        beside that, engine) -> its cell.
        """
        self.own, self.rows, self.above = dict(own), rows, dict(above or {})
        self.entries: tuple[Step | Choice, ...] = (*changing(list(own), wanted), *extra)
        self.called_up = self._too_long(first)
        self.names = (*self.called_up, *(entry.name for entry in self.entries))
        self._first = first

    @property
    def next_column(self) -> int:
        """The number of the first column behind the working cells."""
        return self._first + 2 * len(self.names)

    def headers(self) -> list[Column]:
        """Of the working columns."""
        return [
            Column(f"{word}: {self.label(name)}", 11.5, "right") for word in ("Add-in", "Native") for name in self.names
        ]

    def at(self, name: str, engine: str, row: int) -> str:
        """The cell in which an engine has a row of the chain, for the plan of a row of this sheet."""
        place = self._first + ENGINES.index(engine) * len(self.names) + self.names.index(name)
        return f"{get_column_letter(place)}{row}"

    def pick(self, name: str, row: int) -> str:
        """What the engine in use has; from the sheet Refined where it does not change."""
        if name not in self.names:
            return refined.cell(name)
        return f'IF(engine_active="Native",{self.at(name, NATIVE, row)},{self.at(name, ADDIN, row)})'

    def worded(self, name: str, row: int) -> str:
        """The same; where the rate is 0, that is said, and not that no request has output tokens."""
        entry = self._entry(name)
        none = isinstance(entry, Step) and entry.guard in (NO_OUTPUT, NO_TOKENS, NO_VERDICT)
        return no_load(self.pick(name, row)) if none else self.pick(name, row)

    def agree(self, name: str, row: int) -> str:
        """Whether both engines have the same number, within the tolerance; words count as 0."""
        a, b = (self.at(name, engine, row) for engine in ENGINES)
        return f"(ABS(N({a})-N({b}))<=tolerance*ABS(N({b})))"

    def same_words(self, name: str, row: int) -> str:
        """Whether both engines have the same words."""
        a, b = (self.at(name, engine, row) for engine in ENGINES)
        return f"({a}={b})"

    def addin_cells(self) -> list[str]:
        """The cells that hold calls of the add-in's functions, and those that follow them."""
        return [self.at(name, ADDIN, row) for name in self.names for row in self.rows]

    def write(self, ws: Worksheet) -> None:
        """All working cells."""
        for row in self.rows:
            for engine in ENGINES:
                for name in self.called_up:
                    put(
                        ws,
                        self.at(name, engine, row),
                        f"={elsewhere(name, engine)}",
                        "Calculation",
                        self.unit(name),
                        "right",
                    )
                for entry in self.entries:
                    put(
                        ws,
                        self.at(entry.name, engine, row),
                        self._formula(entry, engine, row),
                        "Calculation",
                        self.unit(entry.name),
                        "right",
                    )
        last = len(self.names) - 1
        for engine, idle in ((ADDIN, '="Native"'), (NATIVE, '<>"Native"')):
            block = f"{self.at(self.names[0], engine, self.rows[0])}:{self.at(self.names[last], engine, self.rows[-1])}"
            gray_when(ws, block, f"engine_active{idle}")

    def label(self, name: str) -> str:
        """What a row of the chain, or of the table's own, is called."""
        entry = self._entry(name) or _input(name)
        return name if entry is None else entry.label if isinstance(entry, Number) else entry.quantity

    def unit(self, name: str) -> str:
        """Its unit."""
        entry = self._entry(name) or _input(name)
        if isinstance(entry, Choice):
            return refined.unit(entry)
        return entry.function.unit if isinstance(entry, Step) else entry.unit if entry else "count"

    def _entry(self, name: str) -> Step | Choice | None:
        return next((e for e in (*self.entries, *_ENTRIES) if e.name == name), None)

    def _ref(self, name: str, engine: str, row: int) -> str:
        if name.isdigit():  # a neutral figure in the place of an input
            return name
        if (name, engine) in self.above:
            return self.above[name, engine]
        if name in self.own:
            own = self.own[name]
            return own if own[-1].isdigit() else f"${own}{row}"
        return self.at(name, engine, row) if name in self.names else elsewhere(name, engine)

    def _formula(self, entry: Step | Choice, engine: str, row: int) -> str:
        if isinstance(entry, Choice):
            off = self._ref(entry.off, engine, row) if entry.off in refined.ROWS else entry.off
            return f"=IF({refined.cell(entry.switch)},{self._ref(entry.on, engine, row)},{off})"
        spec = entry.function
        cells = {a: "+".join(self._ref(n, engine, row) for n in s.split("+")) for a, s in entry.sources().items()}
        formula = spec.formula(cells) if engine == ADDIN else spec.native_formula(cells)
        return guarded(entry, formula, partial(self._ref, engine=engine, row=row))

    def _too_long(self, first: int) -> tuple[str, ...]:
        """What must stand in the row itself, so that no formula is longer than the standard has it."""
        called: list[str] = []
        self._first, self.names = first, tuple(entry.name for entry in self.entries)
        row = self.rows[-1]
        for entry in self.entries:
            while any(len(self._formula(entry, engine, row)) > _LONGEST for engine in ENGINES):
                away = sorted(n for n in sources(entry) if n in refined.ROWS and n not in (*self.names, *self.own))
                if not away:
                    raise ValueError(f"the formula of {entry.name} is too long for a table")
                called.append(away[0])
                self.names = (*called, *(entry.name for entry in self.entries))
        return tuple(called)


def no_load(value: str) -> str:
    """A price or a time of a token, or the words where the plan's rate is 0."""
    return f'CHOOSE(1+({refined.cell("req_per_s")}=0),{value},"{NO_LOAD}")'


def elsewhere(name: str, engine: str) -> str:
    """The cell on the sheet Refined: an engine's own, or what both take."""
    taken = name in refined.CHAIN.taken - refined.CHAIN.shared
    return refined.cell(name, VALUE if taken else engine)


def _input(name: str) -> Number | None:
    return INPUTS.get(name) or REFINED_INPUTS.get(name)
