"""What every sheet has: title, subtitle, master check, header row, frozen panes, print setup, protection."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.styles import Alignment
from openpyxl.styles.cell_style import StyleArray
from openpyxl.utils import get_column_letter
from openpyxl.utils.cell import coordinate_to_tuple
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.worksheet.worksheet import Worksheet

from capacity import __version__

from . import states
from .style import BAD, GOOD, color_words, format_of

HEADER_ROW: Final = 5
FIRST_ROW: Final = 6
MASTER: Final = '=IF(checks_failed=0,"All checks PASS",checks_failed&" FAIL: see Checks")'


# What openpyxl makes of a style, a unit and an alignment, by workbook: to make it for each cell takes most of a build.
_LOOKS: Final[WeakKeyDictionary[Workbook, dict[tuple[str, str, str, str], StyleArray]]] = WeakKeyDictionary()


class Column(NamedTuple):
    """A column of a sheet: header, width in characters, horizontal alignment."""

    header: str
    width: float
    align: str = "left"


def letter(columns: Sequence[Column], header: str) -> str:
    """The letter of the column with that header."""
    return get_column_letter([c.header for c in columns].index(header) + 1)


def grouped_rows(groups: Iterable[Sequence[str]]) -> dict[str, int]:
    """The row of each name, where every group has a section line above it."""
    rows: dict[str, int] = {}
    row = FIRST_ROW
    for names in groups:
        rows.update(zip(names, range(row + 1, row + 1 + len(names)), strict=True))
        row += len(names) + 1
    return rows


def frame(
    ws: Worksheet, title: str, subtitle: str, columns: Sequence[Column], *, freeze: str, landscape: bool = True
) -> None:
    """Title rows with the master check, the header row, and everything about print and protection."""
    for i, column in enumerate(columns, 1):
        ws.column_dimensions[get_column_letter(i)].width = column.width
    put(ws, "A1", title, "Sheet title")
    put(ws, "A2", subtitle, "Subtitle")
    put(ws, "B3", MASTER, "Check").alignment = Alignment(horizontal="left", indent=1, vertical="center")
    color_words(ws, "B3:B3", {"All checks PASS": GOOD, "": BAD})
    ws.row_dimensions[1].height, ws.row_dimensions[3].height = 26, 18
    header(ws, HEADER_ROW, columns)
    ws.freeze_panes = freeze
    ws.sheet_view.showGridLines = False
    ws.print_title_rows = f"{HEADER_ROW}:{HEADER_ROW}"
    ws.page_setup.orientation = "landscape" if landscape else "portrait"
    ws.page_setup.paperSize = ws.PAPERSIZE_A4
    ws.page_setup.fitToWidth, ws.page_setup.fitToHeight = 1, 0
    ws.sheet_properties.pageSetUpPr.fitToPage = True
    ws.page_margins.left = ws.page_margins.right = 0.4
    ws.page_margins.top, ws.page_margins.bottom = 0.5, 0.7
    ws.oddFooter.left.text = f"LLM capacity plan {__version__}"
    ws.oddFooter.center.text, ws.oddFooter.right.text = "&A", "Page &P of &N"
    ws.protection.sheet = True  # no password: it guards against slips, not against people
    ws.protection.formatColumns = ws.protection.formatRows = ws.protection.formatCells = False


def one_page(ws: Worksheet) -> None:
    """Print the sheet on one page, upright."""
    ws.page_setup.orientation = "portrait"
    ws.page_setup.fitToHeight = 1


def header(ws: Worksheet, row: int, columns: Iterable[Column], first: int = 1) -> None:
    """A header row from a column on, aligned like the cells below it."""
    for i, column in enumerate(columns, first):
        put(ws, (row, i), column.header or None, "Column header", align=column.align)
    ws.row_dimensions[row].height = 32


def section(ws: Worksheet, row: int, title: str, width: int) -> None:
    """A section line across the table."""
    for i in range(1, width + 1):
        put(ws, (row, i), None, "Section")
    put(ws, (row, 2), title, "Section")
    ws.row_dimensions[row].height = 18


def put(
    ws: Worksheet,
    at: str | tuple[int, int],
    value: Any,
    style: str,
    unit: str = "",
    align: str = "",
    number_format: str = "",
) -> Cell:
    """Write a cell in a named style; a text is a formula only if this package wrote it as one.

    number_format: another than that of the unit.
    """
    cell: Cell = ws.cell(*(coordinate_to_tuple(at) if isinstance(at, str) else at))
    if isinstance(value, str) and (states.ENGINE in value or states.VERSION in value):
        value = states.own(ws, value)
    cell.value = value
    looks = _LOOKS.setdefault(ws.parent, {})
    look = (style, unit, align, number_format)
    if look in looks:
        cell._style = StyleArray(looks[look])
        return cell
    cell.style = style
    if unit or number_format:
        cell.number_format = number_format or format_of(unit)
    if align:
        figure = align == "right" and style in ("Result", "Calculation")
        cell.alignment = Alignment(
            horizontal=align,
            vertical="center",
            wrap_text=cell.alignment.wrap_text,
            shrink_to_fit=figure,  # words in its place are read whole
            indent=1 if align == "left" else 0,
        )
    looks[look] = StyleArray(cell._style)
    return cell


def lines_of(text: str, width: float) -> int:
    """How many lines a text takes in a column of that width."""
    return len(textwrap.wrap(text, int(width)))


def fit_row(ws: Worksheet, row: int, texts: Mapping[str, str], least: float) -> None:
    """Make a row as high as the longest of its texts needs, by column letter."""
    lines = max(lines_of(text, ws.column_dimensions[letter_].width) for letter_, text in texts.items())
    ws.row_dimensions[row].height = max(least, 13 * lines)


def link(cell: Cell, sheet: str) -> None:
    """Make a cell jump to a sheet of this workbook."""
    cell.hyperlink = Hyperlink(ref=cell.coordinate, location=f"'{sheet}'!A1", display=sheet)


def put_text(ws: Worksheet, at: str | tuple[int, int], text: str, style: str, align: str = "") -> Cell:
    """Write text that stays text, even where it begins with = + - or @."""
    cell = put(ws, at, None, style, align=align)
    cell.value = text
    cell.data_type = "s"
    cell.quotePrefix = text[:1] in "=+-@"  # so that editing the cell does not turn it into a formula
    return cell
