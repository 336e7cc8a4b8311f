"""What our functions cost in LibreOffice Calc, beside an add-in that gives back what it gets, in the same session."""

from pathlib import Path
from typing import Annotated

from hosts import HERE, ROUNDS, Cost
from office import Office
from openpyxl import Workbook
from openpyxl.worksheet.formula import ArrayFormula

from addin.libreoffice import extension
from capacity.arguments import Number
from capacity.registry import Function

TURNS = 3
REST = {"IDENTITY": "", "GPUS": ",2"}  # further arguments


def in_calc(rows: int, folder: Path) -> tuple[Cost, Cost]:
    """One array formula over so many rows, and so many formulas over one cell each."""
    block = {name: _array(name, rows) for name in REST}
    cells = {name: _cells(name, rows) for name in REST}
    with Office(addin=True, beside=[_identity(folder / "identity.oxt")]) as office:
        return _cost(office, block, folder, ROUNDS), _cost(office, cells, folder, ROUNDS // 3)


def _array(name: str, rows: int) -> Workbook:
    book = _column(rows)
    book.active["B1"] = ArrayFormula(f"B1:B{rows}", f"={name}(A1:A{rows}{REST[name]})")
    return book


def _cells(name: str, rows: int) -> Workbook:
    book = _column(rows)
    for i in range(1, rows + 1):
        book.active.cell(i, 2, f"={name}(A{i}{REST[name]})")
    return book


def _column(rows: int) -> Workbook:
    """A workbook with the numbers from 1 in its first column."""
    book = Workbook()
    for i in range(rows):
        book.active.cell(i + 1, 1, float(i + 1))
    return book


def _cost(office: Office, books: dict[str, Workbook], folder: Path, rounds: int) -> Cost:
    """The time in which LibreOffice calculates each workbook; they take turns."""
    ms: dict[str, list[float]] = {name: [] for name in books}
    for name, book in books.items():
        book.save(folder / f"{name}.xlsx")
    for _ in range(TURNS):
        for name, book in books.items():
            office.open(folder / f"{name}.xlsx")
            ms[name] += [office.recalculate() * 1e3 for _ in range(rounds)]
            rows = book.active.max_row
            assert office.value("Sheet", f"B{rows}") == (2.0 * rows if name == "GPUS" else rows), name
    return Cost(min(ms["GPUS"]), min(ms["IDENTITY"]))


def _identity(path: Path) -> Path:
    """An extension with the function IDENTITY, declared as ours are, under names of its own."""

    def identity(x: Annotated[float, Number("GPUs", "what comes back", example=1)]) -> float:
        """What it gets."""
        return x

    function = Function(
        identity,
        "What it gets",
        returns="GPUs",
        words="",
        native="",
        derivation="",
        source="",
        unrounded=None,
        name="",
        spills=False,
    )
    ours = extension.declarations([function])
    files = {name: content.replace(b"llmcapacity", b"identity") for name, content in ours.items()}
    return extension.pack({**files, "component.py": (HERE / "identity_component.py").read_bytes()}, path)
