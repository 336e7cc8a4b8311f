"""The engine of each sheet: every edit that reaches a sheet's functions asks for the add-in again, others do not."""

import re
from collections.abc import Iterable
from datetime import date
from functools import cache, cached_property

import pytest
from openpyxl import Workbook
from openpyxl.formula import Tokenizer
from openpyxl.utils.cell import coordinate_to_tuple, range_boundaries

from capacity import FUNCTIONS
from workbook import states
from workbook.build import compose

Cell = tuple[str, int, int]
OURS = re.compile(rf"\b(?:{'|'.join(FUNCTIONS.keys() - {'CAPACITY_VERSION'})})\(")


class Graph:
    """What each formula of a workbook reads."""

    def __init__(self, book: Workbook) -> None:
        self.book = book
        self._names = {name: defined.attr_text for name, defined in book.defined_names.items()}
        self._cells_of = cache(self._cells)

    def behind(self, cells: Iterable[Cell]) -> set[Cell]:
        """The cells, and all from which they come."""
        seen, places, ahead = set(cells), set(), list(cells)
        while ahead:
            for place in self._places(ahead.pop()) - places:
                places.add(place)
                ahead += (new := self._cells_of(place) - seen)
                seen |= new
        return seen

    def _places(self, at: Cell) -> set[str]:
        cell = self.book[at[0]]._cells[at[1:]]
        if cell.data_type != "f":
            return set()
        tokens = (t.value for t in Tokenizer(cell.value).items if t.type == "OPERAND" and t.subtype == "RANGE")
        texts = (self._names.get(text, text) for text in tokens)
        return {text if "!" in text else f"{at[0]}!{text}" for text in texts}

    def _cells(self, place: str) -> frozenset[Cell]:
        sheet, _, at = place.replace("$", "").rpartition("!")
        ws = self.book[sheet.strip("'")]
        left, top, right, bottom = range_boundaries(at)
        everywhere = ((row, column) for row in range(top, bottom + 1) for column in range(left, right + 1))
        return frozenset((ws.title, *at) for at in everywhere if at in ws._cells)

    @cached_property
    def editable(self) -> set[Cell]:
        return {
            (ws.title, *at)
            for ws in self.book
            for at, cell in ws._cells.items()
            if cell.style == "Input" and not cell.protection.locked
        }

    def calls(self, title: str) -> list[Cell]:
        """The cells of a sheet with functions of ours."""
        cells = self.book[title]._cells.items()
        return [(title, *at) for at, cell in cells if cell.data_type == "f" and OURS.search(cell.value)]

    def version(self, title: str) -> Cell:
        """The cell that says for a sheet whether the add-in is there."""
        if title in states.CORE:
            sheet, _, at = self.book.defined_names["addin_version"].attr_text.replace("$", "").partition("!")
        else:
            sheet, at = states.SHEET, f"{states.VERSIONS}{states.FIRST + self.book.sheetnames.index(title)}"
        return (sheet, *coordinate_to_tuple(at))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph(compose(date(2026, 11, 29)))


def test_an_edit_that_reaches_a_call_of_ours_asks_for_the_add_in(graph: Graph) -> None:
    with_calls = {title: calls for title in graph.book.sheetnames if (calls := graph.calls(title))}
    assert len(with_calls) > 20
    for title, calls in with_calls.items():
        edits = graph.behind(calls) & graph.editable
        asked = graph.behind([graph.version(title)])
        assert edits
        assert edits <= asked, title


def test_an_edit_outside_the_plan_asks_for_no_other_sheet(graph: Graph) -> None:
    assert {sheet for sheet, _, _ in graph.behind([graph.version("Plan")])} <= states.CORE
    for title, other in (("Compare", "Demand"), ("Mix", "Demand"), ("Demand", "Mix"), ("Commit", "Terms")):
        behind = graph.behind([*graph.calls(title), graph.version(title)])
        assert not {cell for cell in behind & graph.editable if cell[0] == other}, (title, other)
