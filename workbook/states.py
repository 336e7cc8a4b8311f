"""Which engine computes a sheet: found sheet by sheet, so that an edit recalculates only what follows from it.

The add-in is asked for its version by cells that depend on inputs: in a file that was saved with the add-in and is
opened without it, the first edit then finds it missing, and Auto falls to Native. With one such cell for all, every
sheet would depend on every input, and each edit would recalculate the whole workbook, in any program. So the sheets of
the plan share the cells behind the names engine_active and addin_version, and every other sheet has cells of its own,
which depend on the plan's and on the inputs of the sheets that it reads. A formula is written with the names.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Final

from openpyxl import Workbook
from openpyxl.utils import get_column_letter, quote_sheetname
from openpyxl.worksheet.worksheet import Worksheet

ENGINE: Final = "engine_active"
VERSION: Final = "addin_version"
NOT_INSTALLED: Final = "not installed"
SHEET: Final = "Inputs"
# The sheets that every other may read, those that they read, and those which say something of the whole workbook.
CORE: Final = frozenset(
    {"About", "Plan", SHEET, "Facts", "Audit", "Refined", "Batch", "Evidence", "Measurements"}
    | {"Functions", "Models", "GPUs", "Checks"}
)
WATCHED: Final = "AB"  # of the sheet Inputs: counts of editable cells, those of the plan's sheets first
CORE_ROWS: Final = range(6, 18)
TITLES: Final = "AC"
VERSIONS: Final = "AD"
ENGINES: Final = "AE"
FIRST: Final = 66  # row of the first sheet's cells: below all that they depend on
HEADS: Final = {
    WATCHED: "Editable cells of other sheets",
    TITLES: "Sheet",
    VERSIONS: "Version of the add-in",
    ENGINES: "Engine in use",
}
_LONGEST: Final = 120  # characters of a formula


def own(ws: Worksheet, formula: str) -> str:
    """A formula with the sheet's own cells in the place of the names."""
    if ws.title in CORE:
        return formula
    row = _row(ws)
    return formula.replace(ENGINE, f"{SHEET}!${ENGINES}${row}").replace(VERSION, f"{SHEET}!${VERSIONS}${row}")


def version(depends: str) -> str:
    """The version of the add-in, which is asked for it again whenever one of these cells changes."""
    return f'=IFERROR(CAPACITY_VERSION(COUNTA({depends})),"{NOT_INSTALLED}")'


def engine(version_at: str) -> str:
    """The engine in use: the one that is wanted, and by itself the add-in where it has a version."""
    return f'=IF(engine="Auto",CHOOSE(1+({version_at}="{NOT_INSTALLED}"),"Add-in","Native"),engine)'


def cells(book: Workbook) -> dict[str, str]:
    """All cells of the states, when every other cell is written: address on the sheet Inputs -> formula, or a title."""
    counts = {ws.title: _counts(ws) for ws in book if ws.title != SHEET}
    rows = _places(counts)
    out = {
        f"{WATCHED}{row}": f"=COUNTA({cells})"
        for title in counts
        for row, cells in zip(rows[title], counts[title], strict=True)
    }
    texts = {ws.title: _text(ws) for ws in book if ws.title not in CORE}
    reads = {title: {other for other in texts if _prefix(other) in text} for title, text in texts.items()}
    for title, text in texts.items():
        row = _row(book[title])
        if any(f"{SHEET}!${column}${row}" in text for column in (VERSIONS, ENGINES)):
            runs = _runs(sorted(row for sheet in _behind(title, reads) for row in rows[sheet]))
            depends = [VERSION, *(_block(f"{WATCHED}{first}", f"{WATCHED}{last}") for first, last in runs)]
            out |= {
                f"{TITLES}{row}": title,
                f"{VERSIONS}{row}": version(",".join(depends)),
                f"{ENGINES}{row}": engine(f"{VERSIONS}{row}"),
            }
    return out


def _row(ws: Worksheet) -> int:
    """The row of a sheet's own cells."""
    return FIRST + int(ws.parent._sheets.index(ws))


def _counts(ws: Worksheet) -> list[str]:
    """The editable cells of a sheet from another, so many at a time as a formula has room for."""
    counts: list[str] = []
    for block in _editable(ws):
        at = f"{_prefix(ws.title)}{block}"
        if counts and len(f"=COUNTA({counts[-1]},{at})") <= _LONGEST:
            counts[-1] += f",{at}"
        else:
            counts.append(at)
    return counts


def _editable(ws: Worksheet) -> Iterator[str]:
    """The blocks of editable cells of a sheet: equal runs of rows side by side are one."""
    locked = [protection.locked for protection in ws.parent._protections]
    free = sorted((c, r) for (r, c), cell in ws._cells.items() if cell._style and not locked[cell._style.protectionId])
    runs: dict[tuple[int, int], list[int]] = {}
    for column, at in groupby(free, key=itemgetter(0)):
        for rows in _runs(row for _, row in at):
            runs.setdefault(rows, []).append(column)
    for (top, bottom), columns in runs.items():
        for left, right in _runs(columns):
            yield _block(f"${get_column_letter(left)}${top}", f"${get_column_letter(right)}${bottom}")


def _block(first: str, last: str) -> str:
    return first if first == last else f"{first}:{last}"


def _prefix(title: str) -> str:
    """A sheet's name as it stands in a formula."""
    return f"{title if title.isalnum() else quote_sheetname(title)}!"


def _places(watched: Mapping[str, list[str]]) -> dict[str, list[int]]:
    """The rows in which the counts of each sheet stand."""
    core, others = iter(CORE_ROWS), iter(range(CORE_ROWS[-1] + 1, FIRST))
    return {title: [next(core if title in CORE else others) for _ in counts] for title, counts in watched.items()}


def _text(ws: Worksheet) -> str:
    """All formulas of a sheet."""
    return "\n".join(cell.value for cell in ws._cells.values() if cell.data_type == "f")


def _behind(title: str, reads: Mapping[str, set[str]]) -> set[str]:
    """A sheet and all that it reads, directly or by another."""
    seen: set[str] = set()
    ahead = [title]
    while ahead:
        sheet = ahead.pop()
        if sheet not in seen:
            seen.add(sheet)
            ahead += reads[sheet]
    return seen


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of whole numbers that follow one another."""
    for _, run in groupby(enumerate(numbers), key=lambda at: at[1] - at[0]):
        of_run = [number for _, number in run]
        yield of_run[0], of_run[-1]
