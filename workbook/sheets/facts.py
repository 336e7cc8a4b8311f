"""What the sheets Models, GPUs and Prices share: a table of facts with free rows below for a team's own.

A cell is blank where a fact is not known, and 0 where there is none of it.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

from openpyxl.cell import Cell
from openpyxl.styles import Alignment
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.table import Table, TableStyleInfo
from openpyxl.worksheet.worksheet import Worksheet

from ..frame import FIRST_ROW, HEADER_ROW, Column, frame, lines_of, put, put_text
from ..input_rows import FIRST_DATE, rule

KIND: Final = "input"
OWN_ROWS: Final = 10  # for a team's own
_BUTTON: Final = 18  # points that the buttons of the filter take below the header
_LINE: Final = 13.5  # points of a line of text
_MONTH: Final = "yyyy-mm"
_STAYS_TEXT: Final = "@"  # whatever is typed into a cell of this format, also where it begins with =

Row = Mapping[str, Any]


class Rule(NamedTuple):
    """What a cell must hold: in words, and as a data validation. A formula may name {at}, {names} and fields."""

    words: str
    kind: str
    formula1: str
    operator: str | None = None
    formula2: str | None = None


def at_least(limit: int, *, whole: bool = False) -> Rule:
    """A number not under the limit."""
    kind = "whole" if whole else "decimal"
    return Rule(f"a {'whole ' if whole else ''}number >= {limit}", kind, str(limit), "greaterThanOrEqual")


POSITIVE: Final = Rule("a number > 0", "decimal", "0", "greaterThan")
YES: Final = Rule("1 for yes or 0 for no", "whole", "0", "between", "1")
TEXT: Final = Rule("a text of at most 250 characters", "textLength", "250", "lessThanOrEqual")
DATE: Final = Rule("a date from 2020 on", "date", FIRST_DATE, "greaterThanOrEqual")
NAME: Final = Rule(
    "a text of at most 60 characters that is not in the table yet",
    "custom",
    "AND(ISTEXT({at}),LEN({at})<=60,SUMPRODUCT(--({names}={at}))=1)",
)


class Fact(NamedTuple):
    """A column: the catalogue's field, what the sheet calls it, its width, meaning and unit, what it must be."""

    field: str
    header: str
    width: float
    meaning: str
    unit: str
    rule: Rule
    per: float = 1  # so many of the catalogue's units are one of the sheet's

    @property
    def align(self) -> str:
        """Texts stand left, dates in the middle, numbers right."""
        return {"text": "left", "date": "center"}.get(self.unit, "right")

    def shown(self, value: Any) -> Any:
        """The catalogue's value as the cell holds it; None stays blank."""
        if value is None or self.unit == "text":
            return value
        if self.unit == "date":
            return _date(str(value))
        number = value / self.per
        return int(number) if number.is_integer() else number


class FactSheet:
    """A sheet of facts: a row for each of the package's, then the free rows. The first column holds the names."""

    first_row: Final = FIRST_ROW

    def __init__(self, title: str, facts: Sequence[Fact], packaged: int, last_printed: str) -> None:
        self.title, self.facts, self._last_printed = title, facts, last_printed
        self.first_own_row = FIRST_ROW + packaged
        self.last_row = self.first_own_row + OWN_ROWS - 1
        self.columns = (Column("#", 5, "center"), *(Column(f.header, f.width, f.align) for f in facts))

    def column(self, field: str) -> str:
        """The letter of a field's column; raises ValueError for a field that the sheet does not show."""
        return get_column_letter([f.field for f in self.facts].index(field) + 2)

    def cells(self, field: str) -> str:
        """A field's column as a formula takes it, free rows included: Models!$D$6:$D$53."""
        letter = self.column(field)
        return f"{self.title}!${letter}${FIRST_ROW}:${letter}${self.last_row}"

    def write(self, ws: Worksheet, heading: str, subtitle: str, rows: Sequence[Row]) -> None:
        """Write the sheet; rows beyond the package's stand in the free ones."""
        free = f"Rows {self.first_own_row} to {self.last_row} are free for your own. Blank: not known; 0: none of it."
        frame(ws, heading, f"{subtitle} {free}", self.columns, freeze=f"C{FIRST_ROW}")
        lines = max(lines_of(c.header, c.width - 1) for c in self.columns)
        ws.row_dimensions[HEADER_ROW].height = _BUTTON + _LINE * lines
        for cell in ws[HEADER_ROW]:
            cell.alignment = Alignment(
                horizontal=cell.alignment.horizontal, vertical="top", wrap_text=True, indent=cell.alignment.indent
            )
        for row in range(FIRST_ROW, self.last_row + 1):
            i = row - FIRST_ROW
            self._row(ws, row, rows[i] if i < len(rows) else {})
        for fact in self.facts:
            self._validate(ws, fact)
        table = Table(displayName=f"{self.title}_table", ref=f"A{HEADER_ROW}:{self._last_letter}{self.last_row}")
        table.tableStyleInfo = TableStyleInfo(name="TableStyleLight1", showRowStripes=False)
        ws.add_table(table)
        ws.protection.autoFilter = False  # filtering is allowed
        ws.print_area = f"A1:{self.column(self._last_printed)}{self.last_row}"

    @property
    def _last_letter(self) -> str:
        return get_column_letter(len(self.columns))

    def _row(self, ws: Worksheet, row: int, facts: Row) -> None:
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        own = row >= self.first_own_row
        lines = 1
        for column, fact in enumerate(self.facts, 2):
            value = fact.shown(facts.get(fact.field))
            _put(ws.cell(row, column), fact, value, own=own)
            if isinstance(value, str):
                lines = max(lines, lines_of(value, fact.width))
        ws.row_dimensions[row].height = 5 + _LINE * lines

    def _validate(self, ws: Worksheet, fact: Fact) -> None:
        own = {f.field: f"{self.column(f.field)}{self.first_own_row}" for f in self.facts}
        names = self.cells(self.facts[0].field).partition("!")[2]
        formula = fact.rule.formula1.format(at=own[fact.field], names=names, **own)
        words = f"{fact.header} must be {fact.rule.words}, or blank"
        prompt = f"{fact.meaning}: {fact.rule.words}; blank where it is not known"
        limits = {"operator": fact.rule.operator, "formula1": formula, "formula2": fact.rule.formula2}
        validation = rule(fact.rule.kind, fact.header, words, prompt, blank=True, **limits)
        ws.add_data_validation(validation)
        letter = self.column(fact.field)
        validation.add(f"{letter}{self.first_own_row}:{letter}{self.last_row}")


def _put(cell: Cell, fact: Fact, value: Any, *, own: bool) -> None:
    """A fact of the package, or of a team: that one may be changed."""
    style = "Input" if own else {"text": "Note", "date": "Note"}.get(fact.unit, "Fact")
    if fact.rule is NAME and not own:
        style = "Label"
    at = (cell.row, cell.column)
    if isinstance(value, str):
        put_text(cell.parent, at, value, style, fact.align)
    else:
        put(cell.parent, at, value, style, fact.unit, fact.align)
    if own and fact.unit == "text":
        cell.number_format = _STAYS_TEXT
        cell.alignment = Alignment(horizontal="left", vertical="center", wrap_text=True, indent=1)
    elif isinstance(value, _Month):
        cell.number_format = _MONTH


class _Month(date):
    """A month, of which no day is known: its first day, shown without it."""


def _date(text: str) -> date | str:
    """A date, a month, or the text itself where it is neither."""
    for kind, full in ((date, text), (_Month, f"{text}-01")):
        try:
            return kind.fromisoformat(full)
        except ValueError:
            continue
    return text
