"""Rows of one pattern, such as months or hours: each row is a small chain, computed by both engines.

A row may read the row above it, inputs of its sheet, and other sheets, engine by engine. The values in use stand in
the printed area, both engines beside it, and one cell says whether they agree.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import Step

from .chain import ADDIN, NATIVE, guarded
from .frame import Column, put
from .plan_table import elsewhere
from .style import color_checks, gray_when
from .sums import Place, Sum, unit_of

ENGINES: Final = (ADDIN, NATIVE)


class RowTable:
    """The working cells of rows of one pattern, and what of them is printed."""

    def __init__(
        self,
        entries: Sequence[Step | Sum],
        rows: range,
        places: Mapping[str, Place | str],
        printed: Mapping[str, str],
        beside: tuple[int, str, str | Callable[[int], str]],
        stop: str = "",
        free: Collection[str] = (),
        row_stop: Callable[[int], str] | None = None,
    ) -> None:
        """places: what the entries take from elsewhere; printed: entry -> column of the value in use.

        beside: the first working column, the column of checks, and what counts bad inputs: a cell, or of a row.
        stop: the cell that counts what leaves the rows without a result, if that is more than bad inputs; free: entries
        that have one all the same; row_stop: what else leaves a row without a result.
        """
        self._stop, self._free, self._row_stop = stop, frozenset(free), row_stop
        if not self._free <= set(printed):
            raise ValueError(f"not printed: {', '.join(self._free - set(printed))}")
        self.entries, self.rows, self.printed = tuple(entries), rows, dict(printed)
        self.places = dict(places)
        self.names = tuple(entry.name for entry in self.entries)
        words = tuple(entry.name for entry in self.entries if isinstance(entry, Step) and entry.guard)
        self._numbers = self.names[: len(self.names) - len(words)]
        if words != self.names[len(self._numbers) :]:
            raise ValueError(f"what may be words comes last: {', '.join(words)}")
        self._agree, (self._first, self._check, self._bad) = get_column_letter(beside[0]), beside
        self._first += 1

    @property
    def next_column(self) -> int:
        """The number of the first column behind the working cells."""
        return self._first + 2 * len(self.names)

    def headers(self) -> list[Column]:
        """Of the working columns."""
        words = ("Add-in", "Native")
        names = [f"{word}: {entry.quantity}" for word in words for entry in self.entries]
        return [Column("Engines agree", 11.5, "center"), *(Column(name, 11.5, "right") for name in names)]

    def at(self, name: str, engine: str, row: int) -> str:
        """The cell in which an engine has an entry; without an engine the value in use."""
        if not engine:
            return f"{self.printed[name]}{row}"
        place = self._first + ENGINES.index(engine) * len(self.names) + self.names.index(name)
        return f"{get_column_letter(place)}{row}"

    def unit(self, name: str) -> str:
        """The unit of an entry."""
        return unit_of(self.entries[self.names.index(name)])

    def span(self, name: str, engine: str = "") -> str:
        """An entry in all rows, in absolute terms."""
        letter = self.at(name, engine, self.rows[0]).rstrip("0123456789")
        return f"${letter}${self.rows[0]}:${letter}${self.rows[-1]}"

    def addin_cells(self) -> list[str]:
        """The cells that hold calls of the add-in's functions, and those that follow them."""
        return [self.at(name, ADDIN, row) for name in self.names for row in self.rows]

    def write(self, ws: Worksheet) -> None:
        """All cells of the rows but what the rows are called."""
        for row in self.rows:
            for entry in self.entries:
                for engine in ENGINES:
                    at = self.at(entry.name, engine, row)
                    put(ws, at, self._formula(entry, engine, row), "Calculation", unit_of(entry), "right")
                if entry.name in self.printed:
                    native, addin = (self.at(entry.name, engine, row) for engine in (NATIVE, ADDIN))
                    stop = self._bad_of(row) if entry.name in self._free else self._none(row)
                    value = f'=IF({stop}>0,NA(),IF(engine_active="Native",{native},{addin}))'
                    put(ws, f"{self.printed[entry.name]}{row}", value, "Result", unit_of(entry), "right")
            self._checks(ws, row)
            ws.row_dimensions[row].height = 15
        first, last = self.rows[0], self.rows[-1]
        for engine, idle in ((ADDIN, '="Native"'), (NATIVE, '<>"Native"')):
            block = f"{self.at(self.names[0], engine, first)}:{self.at(self.names[-1], engine, last)}"
            gray_when(ws, block, f"engine_active{idle}")
        color_checks(ws, f"{self._check}{first}:{self._check}{last}")

    def lead(self, ws: Worksheet, row: int, names: Sequence[str]) -> None:
        """Some entries of a row above the first, from which that takes what was before."""
        for entry in (entry for entry in self.entries if entry.name in names):
            for engine in ENGINES:
                at = self.at(entry.name, engine, row)
                put(ws, at, self._formula(entry, engine, row), "Calculation", unit_of(entry), "right")

    def _bad_of(self, row: int) -> str:
        return self._bad if isinstance(self._bad, str) else self._bad(row)

    def _stop_of(self, row: int) -> str:
        return self._stop or self._bad_of(row)

    def _none(self, row: int) -> str:
        """What leaves a row without a result: engines are compared where the table has one."""
        return self._stop_of(row) + (f"+{self._row_stop(row)}" if self._row_stop else "")

    def _checks(self, ws: Worksheet, row: int) -> None:
        # what may be words comes of the numbers before it, and each engine's is compared where it prints
        first, last = self._numbers[0], self._numbers[-1]
        a, b = (f"{self.at(first, engine, row)}:{self.at(last, engine, row)}" for engine in ENGINES)
        agree = f"{self._agree}{row}"
        # squares: a sum of absolute values of a range is not the same in every program
        same = f"SUMPRODUCT(--(({a}-{b})^2>tolerance^2*({b}^2+1)))=0"
        alone = f'(addin_version="not installed")+{self._stop_of(row)}'
        put(ws, agree, f"=IF({alone},TRUE,{same})", "Calculation", align="center")
        check = f'=IF({self._none(row)}>0,"FAIL",CHOOSE(1+{agree},"FAIL","PASS"))'
        put(ws, f"{self._check}{row}", check, "Check")

    def _formula(self, entry: Step | Sum, engine: str, row: int) -> str:
        if isinstance(entry, Sum):
            return f"={entry.formula(engine, row)}"
        spec = entry.function
        cells = {a: self._ref(source, engine, row) for a, source in entry.sources().items()}
        formula = spec.formula(cells) if engine == ADDIN else spec.native_formula(cells)
        return guarded(entry, formula, partial(self._ref, engine=engine, row=row))

    def _ref(self, name: str, engine: str, row: int) -> str:
        if name in self.names:
            return self.at(name, engine, row)
        place = self.places.get(name)
        if place is None:
            return elsewhere(name, engine)
        return place if isinstance(place, str) else place(engine, row)
