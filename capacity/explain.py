"""Explanations: the sentence behind a number, or behind an error."""

import math
import re
from collections.abc import Sequence
from typing import Any

from .arguments import OMITTED, REQUIRED
from .call import ExcelError, coerce
from .errors import CapacityError
from .numeric import is_array
from .registry import Function, find

_OPTIONAL = re.compile(r"\[([^\]]*)\]")
_FIELD = re.compile(r"{(\w+)}")


def number(x: float) -> str:
    """A number as a sentence shows it.

    A number that is not whole never reads as a whole one: 26.004 keeps its digits, so that rounding up to 27 is seen.

    >>> [number(x) for x in (26.0, 16.6698, 0.524288, 3347.28, 150000, 2.5e-7, 26.004, 0.99999)]
    ['26', '16.67', '0.5243', '3,347.3', '150,000', '2.5e-07', '26.004', '0.99999']
    """
    size = abs(x)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{x:.4g}"
    if float(x).is_integer():
        return f"{x:,.0f}"
    fewest = 1 if size >= 1000 else 2 if size >= 1 else 3 - math.floor(math.log10(size))
    for decimals in range(fewest, 10):
        text = f"{x:,.{decimals}f}".rstrip("0").rstrip(".")
        if "." in text:
            return text
    return f"{x:,.0f}"


def explain(name: str, args: Sequence[Any]) -> str:
    """How a call comes to its result, or what is wrong with it; raises UnknownName for an unknown function."""
    spec = find(name)
    args = list(args)
    while args and args[-1] is OMITTED:
        args.pop()
    try:
        for argument, x in zip(spec.args, args, strict=False):
            if isinstance(x, ExcelError):
                return f"{argument} is the error {x} of another cell; mend that cell first"
        pairs = list(zip(spec.args.values(), args, strict=False))
        if any(is_array(x) for x in args):
            return f"{spec.name} can be explained for one value of each argument, not for an array"
        cells = [x if x is OMITTED else coerce(a, x) for a, x in pairs] + args[len(pairs) :]
        values = spec.check(spec.bind(cells))
        return derive(spec, values, spec.compute(values))
    except CapacityError as e:
        return str(e)


def derive(spec: Function, values: Sequence[Any], result: Any) -> str:
    """The derivation sentence of a function with its numbers."""
    if not spec.derivation:
        return str(result)
    shown = dict(zip(spec.args, values, strict=False))
    usual = {n for n, a in spec.args.items() if a.default is not REQUIRED and shown.get(n) == a.default}
    sentence = spec.derivation if isinstance(spec.derivation, str) else spec.derivation(*values)
    text = _OPTIONAL.sub(lambda m: "" if set(_FIELD.findall(m[1])) <= usual else m[1], sentence)
    if spec.unrounded:
        shown["unrounded"] = spec.unrounded(*values)
    shown["result"] = result
    return _FIELD.sub(lambda m: x if isinstance(x := shown[m[1]], str) else number(x), text)
