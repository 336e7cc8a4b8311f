"""Arithmetic that Python's floats and NumPy arrays share; NumPy is imported only when an array is passed.

Rounding: 16.9 / 0.65 is 25.999999999999996 in binary, so counts round at the ninth decimal first. The cell twin of
`ceil` is ROUNDUP(ROUND(x,9),0), that of `floor` is INT(ROUND(x,9)).
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

_SNAP = 5e-10  # half of the ninth decimal


def is_array(x: Any) -> bool:
    """True for NumPy arrays and pandas Series of at least one dimension."""
    return getattr(x, "ndim", 0) > 0


# The domain's functions are annotated for scalars: an array in, an array out, and a float to the type checker.


def ceil(x: Any) -> float:
    """Smallest whole number not below x, after rounding x to nine decimals."""
    if is_array(x):
        import numpy as np

        rounded = np.rint(x)
        return as_float(where(abs(x - rounded) < _SNAP, rounded, np.ceil(x)))
    nearest = float(round(x))
    return nearest if abs(x - nearest) < _SNAP else float(math.ceil(x))


def floor(x: Any) -> float:
    """Largest whole number not above x, after rounding x to nine decimals."""
    return 0.0 - ceil(-x)  # a plain minus would make 0 a -0, which shows


def maximum(a: Any, b: Any) -> float:
    """The larger of two, element by element."""
    if is_array(a) or is_array(b):
        import numpy as np

        return as_float(np.maximum(a, b))
    return as_float(a if a >= b else b)


def minimum(a: Any, b: Any) -> float:
    """The smaller of two, element by element."""
    return -maximum(-a, -b)


def log2(x: Any) -> float:
    """The logarithm to base 2, element by element: Python's own, from which NumPy's differs in the last bit."""
    return each(math.log2, x)


def log(x: Any) -> float:
    """The natural logarithm, element by element: Python's own, as above."""
    return each(math.log, x)


def power(base: Any, exponent: Any) -> float:
    """Base to the exponent, element by element: Python's own, from which NumPy's differs in the last bit."""
    return each(operator.pow, base, exponent)


def each(fn: Callable[..., float], *operands: Any) -> float:
    """What a function of plain floats gives for the operands, element by element where they are arrays."""
    if not any(map(is_array, operands)):
        return fn(*operands)
    import numpy as np

    def guarded(*elements: float) -> float:
        try:
            return fn(*elements)
        except (ArithmeticError, ValueError):
            return math.nan  # which the registry refuses, naming the place

    return as_float(np.frompyfunc(guarded, len(operands), 1)(*operands).astype(float))


def as_float(x: Any) -> float:
    """The value as it is, for the type checker a float."""
    result: float = x
    return result


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b, element by element; a Series stays a Series."""
    arrays = [x for x in (condition, a, b) if is_array(x)]
    if not arrays:
        return a if condition else b
    import numpy as np

    chosen = np.where(condition, a, b)
    series = next((x for x in arrays if hasattr(x, "index")), None)
    return chosen if series is None else type(series)(chosen, index=series.index)


def all_finite(xs: Sequence[float]) -> bool:
    """Is every one finite? Their sum tells so quicker than a look at each, save where it overflows.

    >>> all_finite([1e308, 1e308]), all_finite([math.inf, -math.inf]), all_finite([1.0, math.nan])
    (True, False, False)
    """
    return math.isfinite(sum(xs)) or all(map(math.isfinite, xs))


def misfit(arrays: Sequence[Any]) -> str:
    """What arrays would have to be to go together element by element; "" when they do."""
    import numpy as np

    shapes = " and ".join(str(x.shape) for x in arrays)
    series = [x for x in arrays if hasattr(x, "index")]
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        return f"arrays whose shapes broadcast: {shapes}"
    if series and any(x.shape != shape for x in arrays):
        return f"arrays of the Series' length beside it: {shapes}"
    # pandas pairs elements by label, NumPy by place: with different indexes the two would mix
    return "" if all(x.index.equals(series[0].index) for x in series) else "Series with one and the same index"
