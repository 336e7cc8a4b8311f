"""xlwings' own code for Excel's COM server, run on any system: the real decorators, converters and call path.

pywin32 exists for Windows only, so its modules are stand-ins here; all of xlwings is the real thing. A program of its
own, because the stand-ins would reach every later test:

    stdin   [[function, [argument, ...]], ...]
    stdout  {"functions": {name: xlwings' metadata}, "results": [...], "vba": the wrapper module's text}

An argument is a number, text or boolean, or one of {"range": rows}, {"values": rows}, {"error": SCODE},
{"date": "2026-11-29"}, {"currency": "3.5"}, {"left out": true}; a blank cell is null, both within a range and as
{"range": [[null]]}. Our own macros pass the values of a range, xlwings' wrappers the range itself.
"""

import asyncio
import atexit
import concurrent.futures
import ctypes
import datetime
import io
import json
import multiprocessing
import subprocess
import sys
import tempfile
import types
from decimal import Decimal
from unittest.mock import MagicMock

# imported before the platform is disguised: each of these looks at it when it is imported
_ = asyncio, concurrent.futures, multiprocessing, subprocess, tempfile

MISSING = -2147352572  # DISP_E_PARAMNOTFOUND, as xlwings' VBA passes it
RANGE_IID = "{00020846-0000-0000-C000-000000000046}"


def excel_range(rows):
    """What Excel hands over for a reference: xlwings asks for the interface, then for sheet, place and value."""
    value = rows[0][0] if len(rows) == len(rows[0]) == 1 else tuple(map(tuple, rows))
    reference = MagicMock(Value=value, Row=1, Column=1)
    reference._oleobj_.GetTypeInfo().GetTypeAttr().iid = RANGE_IID
    reference.Rows.Count, reference.Columns.Count = len(rows), len(rows[0])
    return reference


def module(name, **content):
    """Put a stand-in for a module in its place."""
    made = types.ModuleType(name)
    made.__dict__.update(content)
    sys.modules[name] = made
    return made


def load_xlwings():
    """xlwings as it imports on Windows."""
    error = type("com_error", (Exception,), {})
    dispatch = type("CDispatch", (), {})
    module("pywintypes", TimeType=datetime.datetime, com_error=error, IID=str)
    module("pythoncom", com_error=error, CoInitialize=int, IID_IDispatch="dispatch", TypeIIDs={"dispatch": object})
    sys.modules["pythoncom"].__file__ = "pythoncom.dll"
    for name in ("win32api", "win32con", "win32event", "win32gui", "win32process", "win32timezone"):
        sys.modules[name] = MagicMock()
    client = module(
        "win32com.client",
        CDispatch=dispatch,
        CoClassBaseClass=dispatch,
        DispatchBaseClass=dispatch,
        Dispatch=lambda x, *_: x,
        DispatchEx=dispatch,
        gencache=MagicMock(),
    )
    parts = ("util", "dispatcher", "policy")
    server = module("win32com.server", **{part: module(f"win32com.server.{part}") for part in parts})
    sys.modules["win32com.server.policy"].DesignatedWrapPolicy = object
    module("win32com", client=client, server=server)
    for name in ("windll", "oledll", "WINFUNCTYPE", "PyDLL"):
        setattr(ctypes, name, MagicMock())
    platform, sys.platform = sys.platform, "win32"
    try:
        import xlwings
    finally:
        sys.platform = platform
    atexit.unregister(xlwings._xlwindows.cleanup)  # it would ask Windows for Excel's processes
    return xlwings


def argument(x):
    """An argument as Excel's COM interface passes it."""
    if not isinstance(x, dict):
        return x
    ((kind, value),) = x.items()
    if kind == "range":
        return excel_range([[argument(cell) for cell in row] for row in value])
    if kind == "values":
        return tuple(tuple(argument(cell) for cell in row) for row in value)
    if kind == "date":
        return datetime.datetime.fromisoformat(value)
    if kind == "currency":
        return Decimal(value)
    return value if kind == "error" else MISSING


def main():
    """Answer the calls."""
    xlwings = load_xlwings()
    from addin import udfs

    calls = json.load(sys.stdin)
    call = xlwings.udfs.call_udf
    results = [call("addin.udfs", name, [argument(x) for x in args], None, None) for name, args in calls]
    vba = io.StringIO()
    xlwings.udfs.generate_vba_wrapper("addin.udfs", udfs, vba, MagicMock(Name="capacity.xlsm"))
    functions = {name: getattr(udfs, name).__xlfunc__ for name in udfs.__all__}
    json.dump({"functions": functions, "results": results, "vba": vba.getvalue()}, sys.stdout, default=repr)


if __name__ == "__main__":
    main()
