"""Rows of one pattern of which some entries have words in the place of a number: those are compared one by one."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import Step

from .frame import Column, put
from .row_table import ENGINES, Place, RowTable, Sum

_AGREE: Final = "Engines agree"


class WordedRows(RowTable):
    """Rows whose last entries may have words."""

    def __init__(
        self,
        entries: Sequence[Step | Sum],
        rows: range,
        places: Mapping[str, Place | str],
        printed: Mapping[str, str],
        beside: tuple[int, str, str],
        worded: Sequence[str],
        stop: str = "",
        free: Collection[str] = (),
    ) -> None:
        """worded: the last entries, which may have words."""
        super().__init__(entries, rows, places, printed, beside, stop, free)
        self.worded = tuple(worded)

    @property
    def next_column(self) -> int:
        """The number of the first column behind the working cells."""
        return super().next_column + len(self.worded)

    def headers(self) -> list[Column]:
        """Of the working columns."""
        quantities = {entry.name: entry.quantity for entry in self.entries}
        more = (Column(f"{_AGREE}: {quantities[name]}", 11.5, "center") for name in self.worded)
        return [*super().headers(), *more]

    def _checks(self, ws: Worksheet, row: int) -> None:
        plain = [name for name in self.names if name not in self.worded]
        a, b = (f"{self.at(plain[0], engine, row)}:{self.at(plain[-1], engine, row)}" for engine in ENGINES)
        alone = f'(addin_version="not installed")+{self._stop_of(row)}>0'
        same = f"SUMPRODUCT(--(({a}-{b})^2>(tolerance*{b})^2))=0"
        put(ws, f"{self._agree}{row}", f"=IF({alone},TRUE,{same})", "Calculation", align="center")
        first = super().next_column
        for i, name in enumerate(self.worded, first):
            one, other = (self.at(name, engine, row) for engine in ENGINES)
            same = f"ABS(N({one})-N({other}))<=tolerance*ABS(N({other}))"
            put(ws, f"{get_column_letter(i)}{row}", f"=IF({alone},TRUE,{same})", "Calculation", align="center")
        last = get_column_letter(first + len(self.worded) - 1)
        agree = f"AND({self._agree}{row},{get_column_letter(first)}{row}:{last}{row})"
        check = f'=IF({self._stop_of(row)}>0,"FAIL",CHOOSE(1+{agree},"FAIL","PASS"))'
        put(ws, f"{self._check}{row}", check, "Check")
