"""What our functions cost in xlwings' hosts, beside a function that gives back what it gets, in the same run."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import wine
from office import node
from office.macros import Macros
from office.own_server import serving, xlwings_server

from addin import desktop
from addin.lite.script import main_py
from addin.server import build
from workbook.build import build as build_workbook

HERE = Path(__file__).parent
ROUNDS = 31


class Cost(NamedTuple):
    """Milliseconds, at best."""

    ours: float
    identity: float


def missing_office_js() -> str:
    """What is not installed here for Lite and Server; "" when both can be measured."""
    needs = {
        "pyodide for Node": node.pyodide(),
        "xlwings-server": xlwings_server(),
        "XLWINGS_LICENSE_KEY": node.license_key(),
    }
    return ", ".join(what for what, found in needs.items() if found is None)


def missing_wine() -> str:
    """What is not installed here for the COM server; "" when it can be measured."""
    return "" if wine.folder() else "Wine with Windows' Python (tests/wine/setup.sh)"


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
    functions.write_text(functions.read_text("utf-8") + (HERE / "identity.py").read_text("utf-8"), "utf-8")
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


def in_com_server(rows: int, folder: Path) -> Cost:
    """In Windows' Python under Wine, started as the workbook with macros starts it."""
    windows = wine.Windows(Path(wine.folder() or ""), folder)
    plain = build_workbook(folder / "plan.xlsx", extra=desktop.add_settings)
    macros = Macros(desktop.build(folder / "plan.xlsm", plain)[0])
    column = {"values": [[float(i)] for i in range(rows)]}
    calls: list[Any] = [["identity.IDENTITY", [column]], ["GPUS", [column, 2.0]]] * ROUNDS
    answer = windows.call(macros.command(windows.interpreter), calls, path=(wine.ROOT, HERE))
    ms = [seconds * 1e3 for _, seconds in answer["results"]]
    assert all(len(result) == rows for result, _ in answer["results"])
    return Cost(min(ms[1::2]), min(ms[::2]))
