"""The functions for Excel through xlwings: one module for its COM server, Server and Lite.

Each function of the registry is an attribute under its Excel name. Called from Python, ranges are lists of rows, and
an error value is its text, which is how xlwings passes errors in; each host turns that text into the error value.

>>> from addin import udfs
>>> udfs.REPLICAS(16.67, [[0.5, 65, "#N/A"]])
[[34.0, '#NUM!', '#N/A']]
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import chain
from typing import Any, Final

import xlwings as xw

from capacity import FUNCTIONS
from capacity.call import OMITTED, ExcelError, call
from capacity.registry import Function

# Outside Pyodide, xlwings 0.37.8 tries `from pyodide.ffi import JsNull` again for every cell (utils.is_jsnull);
# each failing search costs some 40 us, with a None in its place it fails at once.
if sys.platform != "emscripten":
    sys.modules.setdefault("pyodide.ffi", None)

CATEGORY: Final = "LLM capacity"
_AS_THEY_ARE: Final = {float, int, bool, type(None)}  # the same here and in `capacity.call`
_ERROR: Final = re.compile(r"#(?:N/A|DIV/0!|GETTING_DATA|[A-Z]+[!?])")

# Errors that every host can show. A newer one, such as #SPILL!, is #VALUE!: Office.js would show its text, and xlwings
# leaves it to us as COM hands it over, which is 0x800A0000 and its number as a signed integer.
_SHOWN: Final = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}
_NEWER: Final = frozenset(range(0x800A0000 - 2**32 + 2000, 0x800A0000 - 2**32 + 2100))


def _cell(x: Any) -> Any:
    """A cell's value as `capacity.call` takes it."""
    if type(x) is str:
        return ExcelError(x if x in _SHOWN else "#VALUE!") if _ERROR.fullmatch(x) else x
    if type(x) is int and x in _NEWER:
        return ExcelError("#VALUE!")
    return float(x) if type(x) is Decimal else x  # COM hands over cells in currency format as decimals


def _argument(x: Any) -> Any:
    if not isinstance(x, list | tuple):
        return _cell(x)
    if _types(x) <= _AS_THEY_ARE and _NEWER.isdisjoint(chain.from_iterable(x)):
        return x
    return [[_cell(c) for c in row] for row in x]


def _result(x: Any) -> Any:
    if not isinstance(x, list):
        return x.code if type(x) is ExcelError else x
    return [[c.code if type(c) is ExcelError else c for c in row] for row in x] if ExcelError in _types(x) else x


def _types(rows: Iterable[Iterable[Any]]) -> set[type]:
    """What types the cells of a block have: where none needs a translation, the block stays as it is."""
    return set(map(type, chain.from_iterable(rows)))


def _signature(spec: Function) -> inspect.Signature:
    """Every argument may be left out, save before varargs, where xlwings allows no default; no annotation.

    xlwings would take the metadata of `Annotated` for converter options.
    """
    default = inspect.Parameter.empty if spec.vararg else OMITTED
    shown = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default) for n in spec.args]
    if spec.vararg:
        shown.append(inspect.Parameter(spec.vararg, inspect.Parameter.VAR_POSITIONAL))
    return inspect.Signature(shown)


def _excel_function(spec: Function) -> Callable[..., Any]:
    """The function under its Excel name, with what xlwings and the function wizard need to know."""
    signature, plain = _signature(spec), len(spec.args)

    def udf(*args, **kwargs):  # no annotations: xlwings reads them as converters
        if kwargs:
            bound = signature.bind_partial(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        # Excel's blank cells come as [[None]] here; a bare None is what COM makes of a vararg that was left out
        given = [OMITTED if x is None and i >= plain else _argument(x) for i, x in enumerate(args)]
        return _result(call(spec.name, given))

    udf.__name__ = udf.__qualname__ = spec.name
    udf.__doc__ = f"{spec.doc} [{spec.unit}]"
    udf.__signature__ = signature
    for name in signature.parameters:
        # ndim: a row and a column must not both arrive flat; err_to_str: an error cell must not arrive as a blank
        udf = xw.arg(name, ndim=2, err_to_str=True, doc=spec.help(name))(udf)
    return xw.func(category=CATEGORY)(udf)  # last: `arg` alone would register it under xlwings' own category


globals().update({name: _excel_function(spec) for name, spec in FUNCTIONS.items()})

__all__ = list(FUNCTIONS)
