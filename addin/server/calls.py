"""Whether a request is a call of a function that xlwings can make, and that does not keep a worker for long."""

import json
import re
from types import ModuleType
from typing import Any, Final

from capacity.call import types
from capacity.errors import UnknownName, show
from capacity.registry import FUNCTIONS

from .refusal import Refusal

MAX_ARGUMENTS: Final = 255  # Excel's own
# Seconds of a worker's processor for as many cells, from request to answer (CPython 3.11, a small cloud machine): 1.0
# for two arguments, 2.1 where each result is an error. Of this the arithmetic is 0.2, the rest xlwings and JSON.
MAX_CELLS: Final = 100_000
_MAX_LOOKUPS: Final = 10_000  # 0.2 s
_MAX_PLANS: Final = 2_000  # 1.1 s: each is a whole plan, and an explanation may be of one
_PLANS: Final = ("PLAN", "CAPACITY_EXPLAIN")
_MAX_COMPARISONS: Final = 50  # 1.1 s: each has plans for all GPUs of the catalogue
_COMPARISON: Final = "CHEAPEST"

_NEEDED: Final = ("func_name", "args", "client", "version", "runtime")  # that xlwings reads without asking
_TEXTS: Final = ("client", "version", "caller_address", "culture_info_name", "date_format", "session_id")
_VALUES: Final = {float, int, str, bool, type(None)}


def check(body: bytes, functions: ModuleType) -> None:
    """Raise a Refusal when the body is no call of one of these functions, or too large a one."""
    data = _json(body)
    missing = [field for field in _NEEDED if field not in data] if isinstance(data, dict) else list(_NEEDED)
    if missing:
        raise _no_call(f"{missing[0]} is missing")
    name, args = data["func_name"], data["args"]
    if not isinstance(name, str) or not isinstance(args, list):
        raise _no_call("func_name must be text, and args a list")
    for field in _TEXTS:
        if not isinstance(data.get(field), str | None):
            raise _no_call(f"{field} must be text")
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}", str(data["runtime"])):
        raise _no_call("runtime must be a version such as 1.4")
    given = _flat(name, args, _described(functions, name))
    _check_size(name, given)
    if name in FUNCTIONS:
        for number, argument in enumerate(given, 1):
            _check_cells(number, argument)


def _no_call(what: str) -> Refusal:
    return Refusal(f"the request is no call of a function: {what}")


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise Refusal(f"the request is not JSON: {error.msg} column {error.colno}") from None
    except (UnicodeDecodeError, RecursionError):
        raise Refusal("the request is not JSON: it must be UTF-8, and not nested without end") from None
    except ValueError:  # Python refuses to read a whole number of that many digits
        raise Refusal("the request has a number of thousands of digits") from None


def _described(functions: ModuleType, name: str) -> list[dict[str, Any]]:
    """What xlwings knows of the function's arguments."""
    function = getattr(functions, name, None)
    if hasattr(function, "__xlfunc__"):
        arguments: list[dict[str, Any]] = function.__xlfunc__["args"]
        return arguments
    near = UnknownName("function", name, FUNCTIONS).near
    raise Refusal(f"no function is called {show(name)}" + (f"; did you mean {near!r}?" if near else ""))


def _flat(name: str, args: list[Any], described: list[dict[str, Any]]) -> list[Any]:
    """The arguments as xlwings will count them: a repeated one comes as the list of its values."""
    if args and not described:
        raise Refusal(f"{name} takes no arguments")
    given = []
    for i, argument in enumerate(args):
        if not described[min(i, len(described) - 1)]["vararg"]:
            given.append(argument)
        elif isinstance(argument, list):
            given += argument
        else:
            raise _no_call(f"argument {i + 1} of {name} must be a list of its values")
    if len(given) > MAX_ARGUMENTS:
        raise Refusal(f"a call takes at most {MAX_ARGUMENTS} arguments: {len(given):,}")
    return given


def _most_cells(name: str, given: list[Any]) -> int:
    """How many cells a call may fill; a team's own functions have the limit of arithmetic."""
    if name == _COMPARISON or (name == "CAPACITY_EXPLAIN" and _COMPARISON in str(given[:1]).upper()):
        return _MAX_COMPARISONS
    if name in _PLANS:
        return _MAX_PLANS
    return _MAX_LOOKUPS if name in FUNCTIONS and not FUNCTIONS[name].native else MAX_CELLS


def _check_size(name: str, given: list[Any]) -> None:
    """The block that ranges span together, where each is a list of rows, and what they hold."""
    ranges = [argument for argument in given if isinstance(argument, list)]
    widths = [max((len(row) for row in block if isinstance(row, list)), default=0) for block in ranges]
    rows, columns = max(map(len, ranges), default=0), max(widths, default=0)
    held = sum(len(block) * width for block, width in zip(ranges, widths, strict=True) if len(block) * width > 1)
    most = _most_cells(name, given)
    if rows * columns > most:
        size = f"{rows:,} rows by {columns:,} columns"
        raise Refusal(f"a call of {name} takes at most {most:,} cells: {size}; refer to the rows that are in use")
    if held > MAX_CELLS:
        raise Refusal(f"the ranges of a call have at most {MAX_CELLS:,} cells: {held:,}; refer to the rows in use")


def _check_cells(number: int, argument: Any) -> None:
    """A value, or rows of one length; a value is plain, or an object that Excel sends for an error or a format."""
    rows = argument if isinstance(argument, list) else [[argument]]
    if not rows or set(map(type, rows)) != {list} or set(map(len, rows)) != {len(rows[0])} or not rows[0]:
        raise Refusal(f"argument {number} must be a value, or rows of one length")
    if types(rows) <= _VALUES:
        return
    for cell in (cell for row in rows for cell in row):
        if type(cell) not in _VALUES and not _has_value(cell):
            raise Refusal(f"argument {number} has a cell without a value: {show(cell)}")


def _has_value(cell: Any) -> bool:
    fields = isinstance(cell, dict) and {"type", "basicValue"} <= cell.keys()
    return fields and isinstance(cell["type"], str) and type(cell["basicValue"]) in _VALUES
