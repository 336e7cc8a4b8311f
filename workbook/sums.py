"""A figure that adds up, counts or looks up cells, which is left to the sheet: no function has it."""

from collections.abc import Callable
from typing import NamedTuple

from capacity.plan import Step

Place = Callable[[str, int], str]  # of an engine and a row: a cell, or what cells give together


class Sum(NamedTuple):
    """The same formula in both engines but for the cells, which are each engine's own."""

    name: str
    quantity: str
    unit: str
    formula: Place
    words: str = ""


def unit_of(entry: Step | Sum) -> str:
    """Its unit."""
    return entry.unit if isinstance(entry, Sum) else entry.function.unit
