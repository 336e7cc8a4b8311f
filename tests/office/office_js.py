"""Values as Office.js hands them over and takes them back; the same calls for every host that stands on it."""

from collections.abc import Sequence
from typing import Any

from capacity.call import OMITTED, ExcelError

_KINDS = {
    "Div0": "#DIV/0!",
    "NotAvailable": "#N/A",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
    "Name": "#NAME?",
    "Null": "#NULL!",
}


def sent(args: Sequence[Any], vararg: bool) -> list[Any]:
    """Arguments as Office.js sends them: everything is rows; a function's further arguments come in one list."""
    ranges = [[[None]] if x is OMITTED else [[_cell(c) for c in row] for row in _rows(x)] for x in args]
    return [ranges[0], ranges[1:]] if vararg and ranges else ranges


def received(result: Any) -> Any:
    """What the cells show for a result that Office.js was given."""
    return [[ExcelError(_KINDS[x["errorType"]]) if isinstance(x, dict) else x for x in row] for row in result]


def _rows(x: Any) -> Any:
    return x if isinstance(x, list) else [[x]]


def _cell(x: Any) -> Any:
    if isinstance(x, ExcelError):
        return {"type": "Error", "basicValue": x.code, "errorType": "NotAvailable"}
    return "" if x is None else x
