"""The months of a workbook's sheet Budget: the results that are stored in the file, by the headers of their columns.

Nothing is recalculated: a budget is what the workbook showed when it was saved. A formula without a result, as of a
file that no spreadsheet has saved, is refused, and so is an error in the place of a figure.
"""

from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from capacity.call import ExcelError
from capacity.errors import CallError

from .cells import Cell, Place, Sheet, sheets

_TITLE: Final = "Budget"
# header of the column -> name of the figure
COLUMNS: Final = {
    "Month": "month",
    "Fiscal quarter": "fiscal_quarter",
    "Mean rate [req/s]": "mean_req_per_s",
    "Design rate [req/s]": "design_req_per_s",
    "Replicas": "replicas",
    "Nodes": "nodes",
    "GPUs in whole nodes": "gpus",
    "GPUs under contract": "gpus_under_contract",
    "GPUs on demand": "gpus_on_demand",
    "On demand [USD/GPU-h]": "on_demand_usd_per_gpu_hour",
    "Contracts [USD]": "contracts_usd",
    "On demand [USD]": "on_demand_usd",
    "Egress, storage, staff [USD]": "egress_storage_staff_usd",
    "Licenses, support [USD]": "licenses_support_usd",
    "Contingency [USD]": "contingency_usd",
    "Cost of the month [USD]": "usd",
    "Cost so far [USD]": "usd_so_far",
    "USD per M input, by work": "usd_per_m_input",
    "USD per M output, by work": "usd_per_m_output",
    "USD per M tokens, whole bill": "usd_per_m_all",
}
_WORDS: Final = ("fiscal_quarter", "usd_per_m_input", "usd_per_m_output", "usd_per_m_all")
_REFUSED: Final = "no fleet"  # how the line above the months begins where the plan is refused
_FIRST_DAY: Final = date(1899, 12, 30)  # day 0 of a spreadsheet


class Budget(NamedTuple):
    """The months, each name -> figure or words, and what to know about them."""

    months: list[dict[str, Any]]
    notes: tuple[str, ...]


def read(path: str | Path) -> Budget:
    """The months as the workbook has them; raises CallError for a file that is no such workbook, or has no results."""
    path = Path(path)
    cells = sheets(path, (_TITLE,)).get(_TITLE)
    if not cells:
        raise CallError(f"{path} has no sheet {_TITLE}: build one with `capacity build`")
    refused = cells.get(Place("B", 4), Cell(None)).value
    if isinstance(refused, str) and refused.startswith(_REFUSED):
        raise CallError(f"{path} has no budget, for it has {refused}")
    header = min((place.row for place, cell in cells.items() if cell.value == "Design rate [req/s]"), default=None)
    columns = {str(cell.value): place.column for place, cell in cells.items() if place.row == header}
    missing = [words for words in COLUMNS if words not in columns]
    if header is None or missing:
        raise CallError(f"{path}: {_TITLE} has no column {(missing or list(COLUMNS))[0]!r}")
    months = []
    row = header + 1
    while isinstance(cells.get(Place(columns["Mean rate [req/s]"], row), Cell(None)).value, float) or (
        row == header + 1
    ):
        months.append({name: _held(cells, Place(columns[words], row), name) for words, name in COLUMNS.items()})
        row += 1
    return Budget(months, tuple(_notes(cells)))


def _held(cells: Sheet, place: Place, name: str) -> float | str:
    """What a cell holds: a figure, or words where those may stand; the month as a date."""
    where, cell = f"{_TITLE}!{place.column}{place.row}", cells.get(place, Cell(None))
    x = cell.value
    if x is None:
        raise CallError(f"{where} is a formula without a result: open the workbook in a spreadsheet and save it")
    if isinstance(x, ExcelError):
        raise CallError(f"{where} is the error {x}: the sheet Checks says what is wrong")
    if isinstance(x, str) and name in _WORDS:
        return x
    if not isinstance(x, float):
        raise CallError(f"{where} must be a number: {x!r}")
    return f"{_FIRST_DAY + timedelta(days=x):%Y-%m}" if name == "month" else x


def _notes(cells: Sheet) -> list[str]:
    """The workbook's own verdict, which stands in the head of each sheet."""
    verdict = cells.get(Place("B", 3), Cell(None)).value
    return [] if verdict == "All checks PASS" else [f"the workbook says: {verdict}"]
