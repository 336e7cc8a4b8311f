"""What our functions cost in xlwings Lite and Server, beside a function that gives back what it gets."""

import time
from pathlib import Path
from typing import NamedTuple

from office import node
from office.own_server import serving, xlwings_server

from addin.lite.script import main_py
from addin.server import build

ROUNDS = 31
_IDENTITY = """
import xlwings as xw


@xw.func
@xw.arg("x", ndim=2, err_to_str=True)
def IDENTITY(x):
    return x
"""


class Cost(NamedTuple):
    """Milliseconds of one call, at best."""

    ours: float
    identity: float


def missing() -> str:
    """What is not installed here; "" when both can be measured."""
    needs = {
        "pyodide for Node": node.pyodide(),
        "xlwings-server": xlwings_server(),
        "XLWINGS_LICENSE_KEY": node.license_key(),
    }
    return ", ".join(what for what, found in needs.items() if found is None)


def in_lite(rows: int, folder: Path) -> Cost:
    """In Pyodide."""
    column = [[float(i)] for i in range(rows)]
    request = {
        "script": main_py(),
        "xlwings": str(node.xlwings_archive(folder / "xlwings.zip")),
        "calls": [["IDENTITY", [column]], ["GPUS", [column, [[2]]]]],
        "clock": ROUNDS,
    }
    ms = node.run("pyodide_host.mjs", request)["ms"]
    return Cost(min(ms["GPUS"]), min(ms["IDENTITY"]))


def on_server(rows: int, folder: Path, workbook: Path) -> Cost:
    """Over HTTP, on this computer."""
    column = [[float(i)] for i in range(rows)]
    project = build(folder / "server", workbook)
    functions = project / "custom_functions/__init__.py"
    functions.write_text(functions.read_text("utf-8") + _IDENTITY, "utf-8")
    calls = {"IDENTITY": [column], "GPUS": [column, [[2]]]}
    ms: dict[str, list[float]] = {name: [] for name in calls}
    with serving(project, workers=1) as server:
        for _ in range(ROUNDS):
            for name, args in calls.items():
                began = time.perf_counter()
                status, answer = server.call(name, args)
                ms[name].append((time.perf_counter() - began) * 1e3)
                assert (status, len(answer)) == (200, rows)
    return Cost(min(ms["GPUS"]), min(ms["IDENTITY"]))
