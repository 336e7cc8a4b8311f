"""The component: runs inside LibreOffice, in its own Python, and is never imported by anything else.

It translates LibreOffice's values into those of `capacity.call` and back, and does nothing more:

    left out            void -> OMITTED
    range               rows, where blank cells and empty texts both come as "" -> None
    blank cell          0.0
    TRUE, FALSE         1.0, 0.0
    error value         never comes: LibreOffice answers such a call itself; it goes back as a NaN with a payload
"""

import struct

import unohelper
from com.sun.star.lang import XServiceInfo

from capacity import FUNCTIONS
from capacity.call import OMITTED, ExcelError, call, types

try:
    from org.llmcapacity import Functions
except ImportError:  # `unopkg add --shared` loads this file before it knows the extension's types
    Functions = object

SERVICE = "org.llmcapacity.AddIn"
IMPLEMENTATION = "org.llmcapacity.AddIn.python"

# Calc takes a NaN for an error whose number is its low 32 bits
_ERRORS = {"#NULL!": 521, "#DIV/0!": 532, "#VALUE!": 519, "#REF!": 524, "#NAME?": 525, "#NUM!": 503, "#N/A": 32767}
_NAN = {code: struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0000 | n))[0] for code, n in _ERRORS.items()}


def _argument(x):
    if x is None:
        return OMITTED
    if isinstance(x, tuple) and str in types(x):
        return [[None if c == "" else c for c in row] for row in x]
    return x


def _result(x):
    return _NAN[x.code] if type(x) is ExcelError else x


def _answer(spec, args):
    """The result in the form that the function's UNO type asks for: alone, or as rows.

    A text within rows never equals anything in Calc, so that checks would pass in silence: where the answer is texts
    only, an error is honest. Beside numbers they are labels.

    Should anything be raised here, Calc shows #VALUE! in the one cell.
    """
    result = call(spec.name, [_argument(x) for x in args])
    if spec.comes_alone:
        return _NAN["#VALUE!"] if isinstance(result, list) else _result(result)
    rows = result if isinstance(result, list) else [[result]]
    found = types(rows)
    if found != {float}:
        wrong = _NAN["#VALUE!"]
        rows = [[wrong if isinstance(x, str) and float not in found else _result(x) for x in row] for row in rows]
    return tuple(map(tuple, rows))


def _method(spec):
    if spec.vararg:  # the last UNO argument is a sequence of all the rest
        return lambda self, *args: _answer(spec, (*args[:-1], *args[-1]))
    return lambda self, *args: _answer(spec, args)


class AddIn(unohelper.Base, XServiceInfo, Functions):
    """The functions as methods under their own names; Calc reads everything else about them from CalcAddIns.xcu."""

    def __init__(self, context):
        """The office's context is not needed: a function depends on its arguments only."""

    def getImplementationName(self):  # noqa: N802  # this and the following names are UNO's
        """XServiceInfo."""
        return IMPLEMENTATION

    def supportsService(self, name):  # noqa: N802  # the name is UNO's
        """XServiceInfo."""
        return name == SERVICE

    def getSupportedServiceNames(self):  # noqa: N802  # the name is UNO's
        """XServiceInfo."""
        return (SERVICE,)


for _spec in FUNCTIONS.values():
    setattr(AddIn, _spec.name, _method(_spec))

g_ImplementationHelper = unohelper.ImplementationHelper()  # noqa: N816  # the name under which LibreOffice looks for it
g_ImplementationHelper.addImplementation(AddIn, IMPLEMENTATION, (SERVICE,))
