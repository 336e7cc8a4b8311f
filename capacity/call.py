"""A spreadsheet's call semantics, the same in every host: blank, omitted, error in, error out, broadcasting.

Hosts translate their own values into these and back: float, int, str, bool, None (a blank cell), OMITTED (an argument
left out), ExcelError, and ranges as lists (or tuples) of rows.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any, Final

from .arguments import OMITTED, REQUIRED, Argument, Number, Text
from .errors import CapacityError, show
from .numeric import all_finite
from .registry import FUNCTIONS, Function

__all__ = ["MAX_CELLS", "OMITTED", "ExcelError", "call", "coerce", "types"]

MAX_CELLS: Final = 1_048_576  # one full column; a larger block is refused before it fills the memory
VECTOR_FROM: Final = 256  # cells from which NumPy pays, where it is installed
_RANGE: Final = (list, tuple)


class ExcelError:
    """An error value of a cell, e.g. #NUM!"""

    __slots__ = ("code",)

    def __init__(self, code: str) -> None:
        self.code = code

    def __repr__(self) -> str:
        return self.code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExcelError) and other.code == self.code

    def __hash__(self) -> int:
        return hash(self.code)


VALUE, NUM, NA = ExcelError("#VALUE!"), ExcelError("#NUM!"), ExcelError("#N/A")


def coerce(argument: Argument, cell: Any) -> Any:
    """A cell's value as Excel hands it to an argument: blank is 0 or "", a number where text is wanted its text."""
    if isinstance(argument, Text):
        if cell is None:
            return ""
        if isinstance(cell, float):
            return f"{cell:.15g}"
        return show(cell) if type(cell) is int else cell
    return 0.0 if cell is None else cell


def types(rows: Iterable[Iterable[Any]]) -> set[type]:
    """What types the cells of a block have: where none needs a translation, the block can stay as it is."""
    return set(map(type, chain.from_iterable(rows)))


def call(name: str, args: Sequence[Any]) -> Any:
    """Call a function as a cell does; the result is a number, a text, an ExcelError, or rows of these.

    >>> call("PREFILL_US", [])
    71.302...
    >>> call("REPLICAS", [16.67, 65])
    #NUM!
    >>> call("GPUS", [[[26], [31]], [[2, 4]]])
    [[52.0, 104.0], [62.0, 124.0]]
    """
    spec = FUNCTIONS.get(name)
    if spec is None:
        return ExcelError("#NAME?")
    given = list(args)
    while given and given[-1] is OMITTED:
        given.pop()
    if not given:
        return _guarded(spec, spec.examples)
    if len(given) > len(spec.args) and not spec.vararg:
        return VALUE
    given += [OMITTED] * (len(spec.args) - len(given))
    ranges = [x for x in given if type(x) is not float and isinstance(x, _RANGE)]
    if ranges:
        if not all(map(_is_block, ranges)):
            return VALUE
        given = [_single(x) for x in given]
        ranges = [x for x in given if isinstance(x, _RANGE)]
    if not ranges:
        return _one(spec, _prepare(spec, given))
    rows, columns = max(map(len, ranges)), max(len(x[0]) for x in ranges)
    if rows * columns > MAX_CELLS:
        return NUM
    if rows * columns >= VECTOR_FROM and (block := _at_once(spec, given, rows, columns)) is not None:
        return block
    ready = _prepare(spec, given)
    return [[_element(spec, [_at(x, i, j) for x in ready]) for j in range(columns)] for i in range(rows)]


def _is_block(x: Sequence[Any]) -> bool:
    """Rows of one length, as every host hands over a range; a caller in Python may hand over anything."""
    rows_alike = bool(x) and set(map(type, x)) <= set(_RANGE) and set(map(len, x)) == {len(x[0])} != {0}
    return rows_alike and not isinstance(x[0][0], _RANGE)


def _single(x: Any) -> Any:
    """A range of one cell is that cell."""
    return x[0][0] if isinstance(x, _RANGE) and len(x) == 1 and len(x[0]) == 1 else x


def _at(x: Any, i: int, j: int) -> Any:
    """Element of a broadcast range: one row or column repeats, beyond any other edge is #N/A, as in Excel."""
    if not isinstance(x, _RANGE):
        return x
    i = 0 if len(x) == 1 else i
    j = 0 if len(x[0]) == 1 else j
    return x[i][j] if i < len(x) and j < len(x[0]) else NA


def _prepare(spec: Function, given: Sequence[Any]) -> list[Any]:
    """Each argument checked once: a float, a text, an ExcelError, or rows of these. Varargs stay as they are."""
    ready: list[Any] = []
    for x, (name, argument) in zip(given, spec.args.items(), strict=False):
        if type(x) is not float and isinstance(x, _RANGE):
            ready.append([[_checked(name, argument, cell) for cell in row] for row in x])
        else:
            ready.append(_checked(name, argument, x))
    return [*ready, *given[len(ready) :]] if spec.vararg else ready


def _checked(name: str, argument: Argument, cell: Any) -> Any:
    if type(cell) is not float or type(argument) is not Number:
        if type(cell) is ExcelError:
            return cell
        if cell is OMITTED:
            return VALUE if argument.default is REQUIRED else argument.default
        cell = coerce(argument, cell)
    try:
        return argument.check(name, cell)
    except CapacityError as e:
        return ExcelError(e.code)


def _one(spec: Function, values: Sequence[Any]) -> Any:
    """The result for one checked value of each argument; the first error among them is the result."""
    for x in values[: len(spec.args)] if spec.vararg else values:
        if type(x) is ExcelError:
            return x
    return _guarded(spec, values)


def _element(spec: Function, values: Sequence[Any]) -> Any:
    """The result in one element of a block, which has no room for rows."""
    result = _one(spec, values)
    return VALUE if isinstance(result, list) else result


def _guarded(spec: Function, values: Sequence[Any]) -> Any:
    try:
        return spec.compute(values)
    except CapacityError as e:
        return ExcelError(e.code)


def _at_once(spec: Function, given: Sequence[Any], rows: int, columns: int) -> list[list[Any]] | None:
    """The whole block without a look at each element; None where that does not go."""
    numbers = [a for a in spec.args.values() if isinstance(a, Number)]
    if spec.vararg or len(numbers) < len(spec.args):
        return None
    try:
        import numpy as np
    except ImportError:
        return _loop(spec, numbers, given, rows, columns)
    return _vector(np, spec, numbers, given, rows, columns)


def _loop(
    spec: Function, numbers: Sequence[Number], given: Sequence[Any], rows: int, columns: int
) -> list[list[Any]] | None:
    """The block in Python's own loop, where every cell is good and every result a finite number."""
    operands: list[Iterable[float]] = []
    for argument, x in zip(numbers, given, strict=True):
        block = x if isinstance(x, _RANGE) else ((argument.default if x is OMITTED else x,),)
        if len(block) not in (1, rows) or len(block[0]) not in (1, columns):
            return None
        column = argument.floats(list(chain.from_iterable(block)))
        if column is None:
            return None
        operands.append(_spread(column, len(block[0]), rows, columns))
    try:
        results = list(map(spec.fn, *operands))
    except (CapacityError, ArithmeticError):
        return None
    kinds = set(map(type, results))
    if kinds != {str if spec.returns_text else float} or (kinds == {float} and not all_finite(results)):
        return None
    return list(map(list, zip(*[iter(results)] * columns, strict=True)))  # rows of so many


def _spread(cells: list[float], width: int, rows: int, columns: int) -> Iterable[float]:
    """The cells of a range, row by row, in each element of the block that it is repeated to fill."""
    if len(cells) == 1:
        return repeat(cells[0], rows * columns)
    if width < columns:
        cells = [x for x in cells for _ in range(columns)]
    return cells if len(cells) == rows * columns else cells * rows


def _vector(
    np: Any, spec: Function, numbers: Sequence[Number], given: Sequence[Any], rows: int, columns: int
) -> list[list[Any]] | None:
    """The block in one NumPy call; elements without a plain answer are done one by one."""
    operands: list[Any] = []
    good: Any = np.ones((1, 1), dtype=bool)
    for argument, x in zip(numbers, given, strict=True):
        if not isinstance(x, _RANGE):
            x = ((argument.default if x is OMITTED else x,),)
        if len(x) not in (1, rows) or len(x[0]) not in (1, columns):
            return None
        column = _floats(np, x)
        ok = argument.holds(column)
        good = good & ok
        operands.append(np.where(ok, column, argument.example))
    with np.errstate(all="ignore"):
        result = np.broadcast_to(spec.fn(*operands), (rows, columns))
    if result.dtype.kind == "f":
        good = good & np.isfinite(result)
    block: list[list[Any]] = result.tolist()
    for i, j in np.argwhere(~np.broadcast_to(good, (rows, columns))).tolist():
        block[i][j] = _alone(spec, [_at(x, i, j) for x in given])
    return block


def _alone(spec: Function, cells: Sequence[Any]) -> Any:
    """The result for one cell of each argument; the first that is wrong ends it, for a whole block may be wrong."""
    values = []
    for cell, (name, argument) in zip(cells, spec.args.items(), strict=True):
        value = _checked(name, argument, cell)
        if type(value) is ExcelError:
            return value
        values.append(value)
    return _guarded(spec, values)


def _floats(np: Any, x: Sequence[Sequence[Any]]) -> Any:
    """A range as an array of floats: blank as 0, anything that is no number as NaN, which no bound admits."""
    if not types(x) <= {float}:
        x = [[c if type(c) is float else _float(c) for c in row] for row in x]
    return np.array(x, dtype=float) + 0.0  # never -0


def _float(cell: Any) -> float:
    if type(cell) is int:
        try:
            return float(cell)
        except OverflowError:
            return float("nan")
    return 0.0 if cell is None else float("nan")
