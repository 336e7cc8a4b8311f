"""Calls functions in xlwings' COM server as the workbook's macros do: client.py COMMAND REQUEST.json ANSWER.json.

Runs in Windows' Python under Wine. COMMAND is a file with what xlwings' macro XLPyCommand gives; xlwings64.dll starts
the server with it and hands out its object, whose CallUDF the macros call.

    REQUEST  [[function, [argument, ...]], ...]; a function of addin.udfs, or of another module: "module.function"
    ANSWER   {"start_s": seconds, "results": [[result, seconds], ...]}; a call that fails gives {"failed": SENTENCE}

An argument is as excel_com.py takes it, without its {"range": rows}.
"""

import ctypes
import datetime
import json
import sys
import time
from decimal import Decimal
from pathlib import Path

import pythoncom
import win32com.client
import winerror


class Variant(ctypes.Structure):
    """VARIANT of the Windows API, as large as it is on 64 bits."""

    _fields_ = (
        ("kind", ctypes.c_ushort),
        ("reserved", ctypes.c_ushort * 3),
        ("pointer", ctypes.c_void_p),
        ("more", ctypes.c_void_p),
    )


TEXT = 8  # VT_BSTR


def start(command):
    """The server's object, as xlwings' macro XLPy gets it."""
    (library,) = Path(sys.executable).parent.glob("xlwings64-*.dll")
    activate = ctypes.WinDLL(str(library)).XLPyDLLActivateAuto
    activate.argtypes = (ctypes.POINTER(Variant), ctypes.c_char_p, ctypes.c_long)
    result = Variant()
    if activate(ctypes.byref(result), command.encode(), 1) != 0:
        raise RuntimeError(ctypes.wstring_at(result.pointer) if result.kind == TEXT else "the server did not start")
    dispatch = pythoncom.ObjectFromAddress(result.pointer, pythoncom.IID_IDispatch)
    return win32com.client.dynamic.Dispatch(dispatch)


def argument(x):
    """A value as VBA passes it.

    An error value goes as a plain integer: pywin32 cannot send one (its VARIANT(VT_ERROR, n) is always "left out"),
    and on the other side it makes the same integer of both.
    """
    if not isinstance(x, dict):
        return x
    ((kind, value),) = x.items()
    if kind == "values":
        return tuple(tuple(argument(cell) for cell in row) for row in value)
    if kind == "date":
        return win32com.client.VARIANT(pythoncom.VT_DATE, datetime.datetime.fromisoformat(value))
    if kind == "currency":
        return win32com.client.VARIANT(pythoncom.VT_CY, Decimal(value))
    return value if kind == "error" else win32com.client.VARIANT(pythoncom.VT_ERROR, winerror.DISP_E_PARAMNOTFOUND)


def timed(server, name, arguments):
    """The result of one call, and the seconds that it took."""
    module, _, function = name.rpartition(".")
    given = tuple(argument(x) for x in arguments)
    begin = time.perf_counter()
    try:
        result = server.CallUDF(module or "addin.udfs", function, given)
    except pythoncom.com_error as error:
        result = {"failed": str(error)}
    return result, time.perf_counter() - begin


def main(command, request, answer):
    """Start the server and call it."""
    begin = time.perf_counter()
    server = start(Path(command).read_text("utf-8"))
    start_s = time.perf_counter() - begin
    calls = json.loads(Path(request).read_text("utf-8"))
    results = [timed(server, name, arguments) for name, arguments in calls]
    Path(answer).write_text(json.dumps({"start_s": start_s, "results": results}), "utf-8")


if __name__ == "__main__":
    pythoncom.CoInitialize()
    main(*sys.argv[1:])
