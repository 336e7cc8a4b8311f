"""Helpers that read a workbook's formulas (tokens, references, patterns) and its values in both programs."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from office import Office
from openpyxl import Workbook, load_workbook
from openpyxl.cell import Cell
from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter, range_boundaries
from openpyxl.utils.cell import coordinate_to_tuple
from openpyxl.worksheet.worksheet import Worksheet

from capacity.call import ExcelError
from capacity.plan import Result
from capacity.refined import REFINED_INPUTS
from workbook import states
from workbook.build import build_date, compose
from workbook.recalculate import Session
from workbook.sheets import about, audit, inputs, order, refined, refined_inputs

Values = dict[tuple[str, str], Any]
FourWays = dict[str, dict[str, Values]]  # program and state of the add-in -> case -> values of all formula cells
Case = tuple[Mapping[str, float], Mapping[str, bool]]  # inputs of both chains, switches

# cells that show the add-in itself: its columns, the differences, version and engine
ADDIN_CELLS = {
    *((s.TITLE, f"{c}{r}") for s in (audit, refined) for c in (audit.ADDIN, audit.DIFF) for r in s.ROWS.values()),
    *((m.TITLE, at) for m in order.MODULES if hasattr(m, "addin_cells") for at in m.addin_cells()),
    *(("Inputs", f"F{inputs.STATE_ROW + i}") for i in (0, 1)),
    *(
        ("Inputs", f"{c}{states.FIRST + i}")
        for c in (states.VERSIONS, states.ENGINES)
        for i in range(len(about.SHEETS))
    ),
}


def engine_of(sheet: str) -> tuple[str, str]:
    """The cell that says which engine computes a sheet."""
    if sheet in states.CORE:
        return "Inputs", f"F{inputs.STATE_ROW + 1}"
    return "Inputs", f"{states.ENGINES}{states.FIRST + list(about.SHEETS).index(sheet)}"


def formulas(book: Workbook, *sheets: str) -> Iterator[tuple[Worksheet, Cell]]:
    """Every formula cell, of the named sheets or of all."""
    for ws in book:
        if not sheets or ws.title in sheets:
            for row in ws.iter_rows():
                yield from ((ws, cell) for cell in row if cell.data_type == "f")


def tokens(cell: Cell) -> tuple[Token, ...]:
    return _tokens(cell.value)


@cache
def _tokens(formula: str) -> tuple[Token, ...]:
    """Each of tens of thousands of formulas is read once, however many tests look at it."""
    return tuple(Tokenizer(formula).items)


def functions(cell: Cell) -> list[str]:
    """Names of the functions that a formula calls."""
    return [t.value.rstrip("(").upper() for t in tokens(cell) if t.type == Token.FUNC and t.subtype == Token.OPEN]


def numbers(cell: Cell) -> list[float]:
    """Literal numbers of a formula."""
    return [float(t.value) for t in tokens(cell) if t.type == Token.OPERAND and t.subtype == Token.NUMBER]


def depth_of_ifs(cell: Cell) -> int:
    """How many IFs stand inside each other at most."""
    stack: list[str] = []
    deepest = 0
    for t in tokens(cell):
        if t.type in (Token.FUNC, Token.PAREN) and t.subtype == Token.OPEN:
            stack.append(t.value.upper())
            deepest = max(deepest, stack.count("IF("))
        elif t.type in (Token.FUNC, Token.PAREN) and t.subtype == Token.CLOSE:
            stack.pop()
    return deepest


def references(book: Workbook, ws: Worksheet, cell: Cell) -> Iterator[tuple[str, int, int, int, int]]:
    """Ranges that a formula reads, names resolved: (sheet, first column, first row, last column, last row)."""
    for t in tokens(cell):
        if t.type == Token.OPERAND and t.subtype == Token.RANGE:
            text = book.defined_names[t.value].attr_text if t.value in book.defined_names else t.value
            sheet, _, area = text.rpartition("!")
            yield (sheet.strip("'") or ws.title, *range_boundaries(area.replace("$", "")))  # type: ignore[misc]  # no blanks


def precedents(book: Workbook, ws: Worksheet, cell: Cell) -> set[tuple[str, str]]:
    """Cells that a formula reads."""
    return set().union(*(_cells_of(*area) for area in references(book, ws, cell)))


@cache
def _cells_of(sheet: str, c1: int, r1: int, c2: int, r2: int) -> list[tuple[str, str]]:
    return [(sheet, f"{get_column_letter(c)}{r}") for r in range(r1, r2 + 1) for c in range(c1, c2 + 1)]


def pattern(cell: Cell) -> str:
    """A formula as it would stand in row 1: equal for cells of one pattern down a column."""
    return str(Translator(cell.value, origin=cell.coordinate).translate_formula(f"{cell.column_letter}500"))


def pattern_across(cell: Cell) -> str:
    """A formula as it would stand in a column far to the right: equal for cells of one pattern across a row."""
    return str(Translator(cell.value, origin=cell.coordinate).translate_formula(f"ZZ{cell.row}"))


def headers(ws: Worksheet, row: int = 5) -> dict[str, str]:
    """Header text -> column letter."""
    return {c.value: c.column_letter for c in ws[row] if c.value is not None}


def table(ws: Worksheet, key: str, row: int = 5) -> dict[Any, dict[str, Cell]]:
    """Rows under the header by their cell in one column: {key: {header: cell}}."""
    columns = headers(ws, row)
    lines = ((ws[f"{columns[key]}{r}"].value, r) for r in range(row + 1, ws.max_row + 1))
    return {value: {h: ws[f"{c}{r}"] for h, c in columns.items()} for value, r in lines if value is not None}


def looks_like_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?%?", text) is not None


def value(row: Any) -> Any:
    """The value of a row of the refined chain, be it a step or a choice."""
    return row.value if isinstance(row, Result) else row


def agree(a: Any, b: Any) -> bool:
    """Equal values; numbers to a billionth."""
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    return bool(a == b)


def cells(given: Mapping[str, float], on: Mapping[str, bool]) -> Values:
    """The edits that make a case of the workbook."""
    edits: Values = {("Inputs", f"F{inputs.ROWS['chain']}"): "Refined"}
    edits |= {("Inputs", f"F{inputs.ROWS[name]}"): "on" for name in on}
    for name, x in given.items():
        sheet = refined_inputs if name in REFINED_INPUTS else inputs
        edits[sheet.TITLE, f"F{sheet.ROWS[name]}"] = x
    return edits


def in_four_ways(template: Path, with_addin: Office, without_addin: Office, cases: Mapping[str, Case]) -> FourWays:
    """Values of all formula cells for each case: in both programs, with the functions and without."""
    return edited_in_four_ways(
        template, with_addin, without_addin, {name: cells(*case) for name, case in cases.items()}
    )


def edited_in_four_ways(
    template: Path, with_addin: Office, without_addin: Office, cases: Mapping[str, Values]
) -> FourWays:
    """The same for edits of any cells."""
    found: FourWays = {}
    for name, office in (("office with", with_addin), ("office without", without_addin)):
        with office.lent(template):
            before, found[name] = office.cells(), {}
            for case, edits in cases.items():
                for (sheet, at), x in edits.items():
                    office.set(sheet, at, x)
                found[name][case] = office.cells() if edits else before
                for sheet, at in edits:
                    put_back(office, held(template), sheet, at)
            assert office.cells() == before, "the edits taken back give the first result again"
    for name, functions in (("formualizer with", True), ("formualizer without", False)):
        found[name] = {c: recalculate(template, functions=functions, changes=edits) for c, edits in cases.items()}
    return found


@lru_cache(maxsize=4)
def _read(path: Path, modified_ns: int) -> Workbook:
    return load_workbook(path)


def held(path: Path) -> Workbook:
    """What the cells of a file hold, as openpyxl reads it; tests must not change it."""
    return _read(path, path.stat().st_mtime_ns)


def value_in(book: Workbook, sheet: str, at: str) -> Any:
    """What a cell holds; one that is not there does not come to be, as it does when openpyxl is asked for it."""
    cell = book[sheet]._cells.get(coordinate_to_tuple(at))
    return None if cell is None else cell.value


@lru_cache(maxsize=4)
def _opened(path: Path, modified_ns: int, functions: bool) -> Session:
    """A file open for edits."""
    session = Session(path, functions=functions)
    session.values()
    return session


def recalculate(path: Path, *, functions: bool = True, changes: Mapping[tuple[str, str], Any] | None = None) -> Values:
    """As the package's own, from a file that stays open: only what an edit reaches is calculated again.

    The latest results are kept: many tests look at the same ones.
    """
    edits = tuple((*cell, type(x), x) for cell, x in (changes or {}).items())  # by type as well: 1 and True are equal
    return dict(_recalculated(path, path.stat().st_mtime_ns, functions, edits))


@lru_cache(maxsize=16)
def _recalculated(
    path: Path, modified_ns: int, functions: bool, edits: tuple[tuple[str, str, type, Any], ...]
) -> Values:
    session = _opened(path, modified_ns, functions)
    for sheet, at, _, x in edits:
        session.set((sheet, at), x)
    values = session.values()
    for sheet, at, *_ in edits:
        session.set((sheet, at), value_in(_read(path, modified_ns), sheet, at))
    return values


def put_back(office: Office, book: Workbook, sheet: str, at: str) -> None:
    """What a cell held before, as openpyxl reads it: opening the file anew takes longer."""
    value = value_in(book, sheet, at)
    if isinstance(value, str) and value.startswith("="):
        office.formula(sheet, at, value)
    else:
        office.set(sheet, at, value)


@lru_cache
def _printed() -> dict[str, int]:
    """The last column that each sheet prints."""
    book = compose(build_date())
    return {ws.title: range_boundaries(ws.print_area.rpartition("!")[2])[2] for ws in book}


def two_errors_beside_the_print(cell: tuple[str, str], values: tuple[Any, Any]) -> bool:
    """Which of two errors a working cell shows, each program chooses; what is printed must be the same."""
    errors = all(isinstance(x, ExcelError) for x in values)
    return errors and coordinate_to_tuple(cell[1])[1] > _printed()[cell[0]]


def programs_differ(ways: FourWays, case: str) -> dict[Any, Any]:
    """Cells that the two programs calculate differently, with the functions or without; {} when all agree."""
    found = {}
    for state in ("with", "without"):
        a, b = ways[f"office {state}"][case], ways[f"formualizer {state}"][case]
        pairs = {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys()}
        found |= {
            (state, *k): pair
            for k, pair in pairs.items()
            if not agree(*pair) and not two_errors_beside_the_print(k, pair)
        }
    return found


def engines_differ(ways: FourWays, case: str) -> dict[Any, Any]:
    """Cells that come out differently without the functions, but those that show the add-in itself."""
    found = {}
    for program in ("office", "formualizer"):
        a, b = ways[f"{program} with"][case], ways[f"{program} without"][case]
        found |= {(program, *k): (a[k], b[k]) for k in a if k not in ADDIN_CELLS and not agree(a[k], b[k])}
    return found
