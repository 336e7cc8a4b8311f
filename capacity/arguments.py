"""What an argument is: unit, meaning, bounds, default and the worked example's value. A check is a sentence."""

import math
import re
from collections.abc import Callable, Sequence
from copy import copy
from numbers import Real
from typing import Any, Final

from .errors import InputError, InputTypeError
from .numeric import all_finite, is_array
from .units import UNITS

_LARGEST: Final = 1.7976931348623157e308


class _Sentinel:
    """An argument that was left out (as opposed to a blank cell, which counts as 0)."""

    def __repr__(self) -> str:
        return "it was left out"


OMITTED: Final = _Sentinel()
REQUIRED: Final = OMITTED  # as a default: there is none


class Number:
    """A finite number with a unit. `example` is the worked example's value, or the function that yields it."""

    kind = "number"

    def __init__(
        self,
        unit: str,
        meaning: str,
        *,
        example: float | Callable[..., Any],
        default: Any = REQUIRED,
        gt: float | None = None,
        ge: float | None = None,
        lt: float | None = None,
        le: float | None = None,
        whole: bool = False,
    ) -> None:
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}: add it to capacity/units.py")
        self.unit, self.meaning, self.default, self.whole = unit, meaning, default, whole
        self.gt, self.ge, self.lt, self.le = gt, ge, lt, le
        self._example = example
        # the least and the greatest float allowed: an open bound is the next float beside it
        self._low = math.nextafter(gt, math.inf) if gt is not None else ge if ge is not None else -_LARGEST
        self._high = math.nextafter(lt, -math.inf) if lt is not None else le if le is not None else _LARGEST

    @property
    def example(self) -> float:
        """The worked example's value; computed through the chain, so that it stays exact."""
        return float(self._example()) if callable(self._example) else float(self._example)

    @property
    def label(self) -> str:
        """The meaning's first words, as a row is called: 'MFU', 'Mean prompt length'."""
        short = self.meaning.partition(":")[0]
        return short[:1].upper() + short[1:]

    @property
    def low(self) -> str:
        """Lower bound as a criterion: '> 0', '>= 1', or '' without one."""
        return f"> {self.gt:g}" if self.gt is not None else f">= {self.ge:g}" if self.ge is not None else ""

    @property
    def high(self) -> str:
        """Upper bound as a criterion: '< 1', '<= 1', or '' without one."""
        return f"< {self.lt:g}" if self.lt is not None else f"<= {self.le:g}" if self.le is not None else ""

    @property
    def bounds(self) -> str:
        """Both bounds in words, e.g. 'a whole number >= 1'."""
        limits = " and ".join(x for x in (self.low, self.high) if x)
        return f"{'a whole number' if self.whole else 'a number'} {limits}".strip()

    @property
    def rule(self) -> str:
        """The rule of an error sentence, e.g. 'must be > 0 and < 1'."""
        limits = " and ".join(x for x in (self.low, self.high) if x)
        return f"must be {self.bounds if self.whole or not limits else limits}"

    def or_example(self) -> "Number":
        """The same argument where it may be left out: then it is the worked example's."""
        other = copy(self)
        other.default = self.example
        return other

    def fits(self, x: float) -> bool:
        """Is x finite and within the bounds?"""
        return self._low <= x <= self._high and (not self.whole or x.is_integer())

    def holds(self, x: Any) -> Any:
        """`fits` for each element of an array of floats."""
        inside = (x >= self._low) & (x <= self._high)
        return inside & (x.round() == x) if self.whole else inside

    def floats(self, cells: Sequence[Any]) -> list[float] | None:
        """Cells as floats, blank as 0; None when `check` would refuse one of them."""
        if not set(map(type, cells)) <= {float, int, type(None)}:
            return None
        try:
            xs = [0.0 if x is None else x + 0.0 for x in cells]  # never -0
        except OverflowError:
            return None
        good = self._low <= min(xs) and max(xs) <= self._high and all_finite(xs)
        return xs if good and (not self.whole or all(map(float.is_integer, xs))) else None

    def check(self, name: str, x: Any) -> Any:
        """x as a float (arrays: as floats), or an InputError that names the argument, the rule and the value."""
        if type(x) is not float:
            x = self._to_float(name, x)
        if type(x) is float:
            if not self.fits(x):
                raise InputError(name, x, self.rule if math.isfinite(x) else "must be a finite number", self._hint(x))
            return x or 0.0  # never -0
        if not (ok := self.holds(x)).all():
            self._blame(name, x, ok)
        return x + 0.0

    def _to_float(self, name: str, x: Any) -> Any:
        if is_array(x):
            return _float_array(name, x)
        if _wraps_a_number(x):
            x = x.item()
        if type(x) is int or _is_number(x):
            try:
                return float(x)
            except OverflowError:
                raise InputError(name, x, "must be a finite number") from None
        if x is OMITTED:
            raise InputTypeError(name, x, "is required")
        raise InputTypeError(name, x, "must be a number", _comma_hint(x))

    def _hint(self, x: float) -> str:
        """A percentage typed as a whole number is the commonest slip: say so; 1.5 is hardly meant as 1.5%."""
        return f"did you mean {x / 100:.6g}?" if self.unit == "fraction" and x >= 5 and self.fits(x / 100) else ""

    def _blame(self, name: str, x: Any, ok: Any) -> None:
        at = tuple(int(i[0]) for i in (~(ok.to_numpy() if hasattr(ok, "to_numpy") else ok)).nonzero())
        bad = float((x.to_numpy() if hasattr(x, "to_numpy") else x)[at])
        where = ", ".join(map(str, at))
        rule = self.rule if math.isfinite(bad) else "must be a finite number"
        raise InputError(f"{name}[{where}]", bad, rule, self._hint(bad))


class Text:
    """A text argument, e.g. the name of a function; `bounds` says which texts there are."""

    kind = "text"
    unit = "text"
    whole = False
    low = high = ""

    def __init__(self, meaning: str, *, example: str, default: Any = REQUIRED, bounds: str = "text") -> None:
        self.meaning, self.example, self.default, self.bounds = meaning, example, default, bounds

    def check(self, name: str, x: Any) -> str:
        """x, or an InputTypeError."""
        if isinstance(x, str):
            return x
        raise InputTypeError(name, x, "is required" if x is OMITTED else "must be text")


class Ignored:
    """An argument that takes any value and uses none: it makes a spreadsheet recalculate the call."""

    kind = "any"
    unit = "any"
    whole = False
    low = high = ""
    bounds = "anything"

    def __init__(self, meaning: str, *, example: Any = 0.0, default: Any = 0.0) -> None:
        self.meaning, self.example, self.default = meaning, example, default

    def check(self, name: str, x: Any) -> Any:
        """x as it is."""
        return x


Argument = Number | Text | Ignored


def typed(text: str) -> float | str:
    """A text as a cell takes it when it is typed: a number, a percentage as its hundredth, or the text itself.

    >>> typed("2.5"), typed("65%"), typed("H200")
    (2.5, 0.65, 'H200')
    """
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return text


def _comma_hint(x: Any) -> str:
    """What a number with commas may mean: groups of thousands, or a decimal comma."""
    if not isinstance(x, str) or "," not in x:
        return ""
    thousands = re.fullmatch(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?%?", x)
    plain = x.replace(",", "") if thousands else x.replace(",", ".")
    return "" if isinstance(typed(plain), str) else f"did you mean {plain}?"


def _is_number(x: Any) -> bool:
    """A real number; Python counts a boolean among them, and NumPy a span of time."""
    return isinstance(x, Real) and not isinstance(x, bool) and type(x).__name__ != "timedelta64"


def _wraps_a_number(x: Any) -> bool:
    """True for a NumPy array without dimensions; not for a masked value, a date or a span of time."""
    return getattr(x, "ndim", None) == 0 and not hasattr(x, "mask") and x.dtype.kind in "iufbO"


def _float_array(name: str, x: Any) -> Any:
    """An array of numbers as float64: no boolean, no text, no wrap-around of small integers."""
    import numpy as np

    # what is masked would count as a number, and a matrix multiplies in another sense
    odd = isinstance(x, np.ma.MaskedArray | np.matrix) or not hasattr(x, "dtype")
    if odd or x.dtype.kind not in "iufO":
        raise InputTypeError(name, type(x).__name__ if odd else x.dtype, "must be numbers, as an array or a Series")
    if x.dtype.kind == "O":
        for at, e in np.ndenumerate(np.asarray(x)):
            if not _is_number(e):
                raise InputTypeError(f"{name}[{', '.join(map(str, at))}]", e, "must be a number")
    try:
        return x.astype(float)
    except (TypeError, ValueError):  # pandas' missing value
        raise InputError(name, x.tolist(), "must hold no missing value") from None
    except OverflowError:
        raise InputError(name, x.tolist(), "must hold finite numbers") from None
