"""The functions for Excel through xlwings: one module for its COM server, Server and Lite.

Each function of the registry is an attribute under its Excel name. It takes what `capacity.call` takes, and gives an
error value as its text, which each host turns into the error value.

>>> from addin import udfs
>>> udfs.REPLICAS(16.67, [[0.5, 65, ExcelError("#N/A")]])
[[34.0, '#NUM!', '#N/A']]
"""

import inspect
import sys
from collections.abc import Callable
from decimal import Decimal
from itertools import chain
from typing import Any, Final

import xlwings as xw
from xlwings.conversion import Accessor, Ensure2DStage, Pipeline, ReadValueFromRangeStage

from capacity import FUNCTIONS
from capacity.call import OMITTED, ExcelError, call, types
from capacity.registry import Function

# Outside Pyodide, xlwings 0.37.8 tries `from pyodide.ffi import JsNull` again for every argument (utils.is_jsnull);
# each failing search costs some 40 us, with a None in its place it fails at once.
if sys.platform != "emscripten":
    sys.modules.setdefault("pyodide.ffi", None)

CATEGORY: Final = "LLM capacity"
_AS_THEY_ARE: Final = {float, int, bool, type(None)}  # the same in every host and in `capacity.call`

# COM carries an error value as 0x800A0000 and its number, a signed integer. A newer one, such as #SPILL!, is #VALUE!,
# for xlwings cannot hand it back.
_COM_ERRORS: Final = {0x800A0000 - 2**32 + number: "#VALUE!" for number in range(2000, 2100)} | {
    0x800A0000 - 2**32 + number: code
    for number, code in (
        *((2000, "#NULL!"), (2007, "#DIV/0!"), (2015, "#VALUE!"), (2023, "#REF!"), (2029, "#NAME?")),
        *((2036, "#NUM!"), (2042, "#N/A")),
    )
}
_CODES: Final = set(_COM_ERRORS.values())


class Cells(Accessor):
    """How xlwings reads an argument: as rows of what `capacity.call` takes.

    Its own conversion tells neither an empty text from a blank cell, nor the text #N/A from the error.
    """

    @classmethod
    def reader(cls, options):
        """The stages from what the host hands over to the argument of the function."""
        return Pipeline([ReadValueFromRangeStage(options), Ensure2DStage(), _translate])


def _translate(c):
    rows = c.value
    if not types(rows) <= _AS_THEY_ARE or not _COM_ERRORS.keys().isdisjoint(chain.from_iterable(rows)):
        # Office.js: some versions of Excel hand over a blank cell as an empty text
        blank = "" if c.engine.name == "officejs" else None
        c.value = [[None if x == blank else _cell(x) for x in row] for row in rows]


def _cell(x: Any) -> Any:
    """A cell's value as `capacity.call` takes it."""
    kind = type(x)
    if kind is int and x in _COM_ERRORS:
        return ExcelError(_COM_ERRORS[x])
    if kind is dict:  # Office.js: an error, or a number with its format
        value = x["basicValue"]
        return ExcelError(value if value in _CODES else "#VALUE!") if x["type"] == "Error" else value
    if kind is Decimal:  # COM: a cell in currency format
        return float(x)
    return None if kind.__name__ == "JsNull" else x  # Pyodide's null


def _result(x: Any) -> Any:
    if not isinstance(x, list):
        return x.code if type(x) is ExcelError else x
    return [[c.code if type(c) is ExcelError else c for c in row] for row in x] if ExcelError in types(x) else x


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
        given = [OMITTED if x is None and i >= plain else x for i, x in enumerate(args)]
        return _result(call(spec.name, given))

    udf.__name__ = udf.__qualname__ = spec.name
    udf.__doc__ = f"{spec.doc} [{spec.unit}]"
    udf.__signature__ = signature
    for name in signature.parameters:
        udf = xw.arg(name, Cells, doc=spec.help(name))(udf)
    return xw.func(category=CATEGORY)(udf)  # last: `arg` alone would register it under xlwings' own category


globals().update({name: _excel_function(spec) for name, spec in FUNCTIONS.items()})

__all__ = list(FUNCTIONS)
