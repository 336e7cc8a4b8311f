"""A row of the sheet Checks; a sheet with rows of its own to check says so in its `checks` function."""

from typing import NamedTuple


class Check(NamedTuple):
    """A value that must lie between two limits (formulas without '=')."""

    quantity: str
    meaning: str
    value: str
    unit: str
    remedy: str
    where: str
    low: str = "0"
    high: str = "0"
    tolerance: str = "0"
    waits: str = "facts_bad>0"  # when it is not judged: a bad input has a check of its own, and others would accuse


def not_in(cells: str, *words: str) -> str:
    """How many cells of a column hold none of these words (an error value holds none)."""
    return f"ROWS({cells})" + "".join(f'-COUNTIF({cells},"{w}")' for w in words)
