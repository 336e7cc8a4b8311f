"""Benchmarks: each figure with the one that it is compared with, both measured in this run, so that machines compare.

    python tests/benchmarks/run.py

Prints a table; a target that is missed is said there and fails nothing, and so is a program that is not installed.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

import capacity.call
from capacity import FUNCTIONS
from capacity.call import call

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `office` and `wine`, the tests' hosts

import calc  # these two import from there
import hosts
from office import Office, soffice, uno_python

ROWS = 10_000
ARGS = (70.553706496, 2.0, 1979.0, 0.5)


class Row(NamedTuple):
    """One measurement: what, how long, against what; amounts in milliseconds unless the unit says otherwise."""

    what: str
    amount: float
    baseline: str = ""
    base: float | None = None
    target: float | None = None
    unit: str = "ms"


def fastest(f: Callable[[], Any], *, number: int = 1, repeat: int = 5) -> float:
    """Milliseconds of one run, at best."""
    return min(timeit.repeat(f, number=number, repeat=repeat)) / number * 1e3


def import_ms(module: str) -> float:
    """Milliseconds of an import in a fresh interpreter: the median of nine."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(9)]
    return statistics.median(float(r.stdout) for r in runs) * 1e3


def imports() -> Iterator[Row]:
    yield Row("import capacity", import_ms("capacity"), "import numpy", import_ms("numpy"), target=60)


def commands() -> Iterator[Row]:
    """Counting a model as a user does, against the start of Python alone."""
    config = Path(__file__).parents[1] / "data" / "configs" / "DeepSeek-R1.json"

    def run(*args: str) -> float:
        return fastest(lambda: subprocess.run([sys.executable, *args], capture_output=True, check=True))

    yield Row("capacity model", run("-m", "capacity.cli", "model", str(config)), "python", run("-c", ""), target=500)


def calls() -> Iterator[Row]:
    """One call with checked arguments, against the arithmetic alone."""
    spec = FUNCTIONS["PREFILL_US"]
    bare, checked, cell = spec.fn, spec.public, list(ARGS)
    whole = (70.553706496, 2, 1979, 0.5)
    base = fastest(lambda: bare(*ARGS), number=50_000) * 1e3
    for what, f in (
        ("prefill_us(floats)", lambda: checked(*ARGS)),
        ("prefill_us(some integers)", lambda: checked(*whole)),
        ("PREFILL_US as a cell calls it", lambda: call("PREFILL_US", cell)),
    ):
        amount = fastest(f, number=50_000) * 1e3
        yield Row(what, amount, "bare arithmetic", base, unit="us")
        yield Row("  over the bare arithmetic", amount - base, target=3, unit="us")


def blocks() -> Iterator[Row]:
    """10,000 rows at once, against a bare loop over them."""
    spec = FUNCTIONS["PREFILL_US"]
    column = [[1 + i / 25] for i in range(ROWS)]
    base = fastest(lambda: [[spec.fn(x, 2.0, 1979.0, 0.5)] for [x] in column])
    name, threshold = f"loop over {ROWS:,} rows", capacity.call.VECTOR_FROM
    cells = [column, 2.0, 1979.0, 0.5]
    try:
        capacity.call.VECTOR_FROM = ROWS + 1
        yield Row(f"{ROWS:,} rows as lists, cell by cell", fastest(lambda: call("PREFILL_US", cells)), name, base, 40)
    finally:
        capacity.call.VECTOR_FROM = threshold
    with without_numpy():
        yield Row(f"{ROWS:,} rows as lists, pure Python", fastest(lambda: call("PREFILL_US", cells)), name, base, 10)
    yield Row(f"{ROWS:,} rows as lists, through NumPy", fastest(lambda: call("PREFILL_US", cells)), name, base, 5)
    import numpy as np

    array = np.array([x for [x] in column])
    yield Row(f"{ROWS:,} rows as an array", fastest(lambda: spec.public(array, *ARGS[1:]), number=20), name, base, 5)


@contextmanager
def without_numpy() -> Iterator[None]:
    """As in LibreOffice and xlwings Lite, where NumPy cannot be imported."""
    loaded = sys.modules.get("numpy")
    sys.modules["numpy"] = None  # type: ignore[assignment]  # which is how Python is told that there is none
    try:
        yield
    finally:
        sys.modules.pop("numpy")
        if loaded:
            sys.modules["numpy"] = loaded


def build(path: Path) -> Iterator[Row]:
    """`capacity build` in a process of its own: time and peak memory."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "capacity.cli", "build", str(path)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("capacity build failed")
    process.returncode = 0
    yield Row("capacity build", (time.perf_counter() - began) * 1e3, target=5_000)
    peak = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)  # bytes there, KiB elsewhere
    yield Row("capacity build, peak memory", peak, target=250, unit="MB")


def in_process(path: Path) -> Iterator[Row]:
    """The template recalculated by formualizer: opened and calculated as a whole, and after an edit."""
    from workbook.recalculate import Session
    from workbook.sheets import blocks, demand_months, terms

    def opened(functions: bool) -> float:
        runs = []
        for _ in range(5):
            session = Session(path, functions=functions)
            began = time.perf_counter()
            session.calculate()
            runs.append(time.perf_counter() - began)
        return statistics.median(runs) * 1e3

    session = Session(path)
    session.calculate()

    def edited(sheet: str, cell: str, *values: float) -> float:
        runs = []
        for value in values:
            session.set((sheet, cell.replace("$", "")), value)
            began = time.perf_counter()
            session.calculate()
            runs.append(time.perf_counter() - began)
        return statistics.median(runs) * 1e3

    native = opened(False)
    yield Row("template in process, with the functions", opened(True), "without them", native)
    yield Row("template in process, without them", native)
    yield Row("  and its loading", fastest(lambda: Session(path), repeat=3))
    rate = f"C{blocks.PLAN_ROWS['req_per_s']}"
    yield Row("  the rate on Plan edited: all sheets", edited("Plan", rate, 40, 60, 80, 70, 50), target=250)
    users = demand_months.LINES.at("first_new_users")
    yield Row(
        "  the users edited: 36 months of all sheets", edited("Demand", users, 6e4, 8e4, 9e4, 1e5, 7e4), target=100
    )
    price = terms.LINES.at("yearly_price")
    yield Row("  the price path edited: 36 months", edited("Terms", price, -0.2, 0.1, 0, 0.05, -0.1), target=100)


def in_libreoffice(path: Path) -> Iterator[Row]:
    """The template recalculated by LibreOffice."""

    def recalculation(addin: bool) -> float:
        with Office(addin=addin) as office:
            office.open(path)
            office.recalculate()
            return statistics.median(office.recalculate() for _ in range(5)) * 1e3

    native = recalculation(False)
    yield Row("template in LibreOffice, with the functions", recalculation(True), "without them", native)
    yield Row("template in LibreOffice, without them", native)


def missing_office() -> str:
    """What LibreOffice lacks here; "" when it can be measured."""
    if soffice() is None:
        return "LibreOffice"
    return "" if uno_python() else "a Python that can import uno (python3-uno)"


def in_office_js(path: Path) -> Iterator[Row]:
    """A block in xlwings Lite and Server."""
    yield beside_identity(f"{ROWS:,} rows in xlwings Lite", hosts.in_lite(ROWS, path.parent))
    yield beside_identity(f"{ROWS:,} rows in xlwings Server", hosts.on_server(ROWS, path.parent, path))


def in_com_server(path: Path) -> Iterator[Row]:
    """A block in xlwings' COM server."""
    yield beside_identity(f"{ROWS:,} rows in xlwings' COM server, Wine", hosts.in_com_server(ROWS, path.parent))


def in_calc(path: Path) -> Iterator[Row]:
    """A block in LibreOffice, and as many formulas for a cell each."""
    block, cells = calc.in_calc(ROWS, path.parent)
    yield beside_identity(f"{ROWS:,} rows in LibreOffice", block)
    yield beside_identity(f"{ROWS:,} cells in LibreOffice, one by one", cells, target=False)


def beside_identity(what: str, cost: hosts.Cost, *, target: bool = True) -> Row:
    """Ours against a function that does nothing in the same host: a block in at most 1.5 times its time."""
    base = cost.identity
    return Row(what, cost.ours, "identity function there", base, target=1.5 * base if target else None)


def add(table: Table, rows: Iterator[Row]) -> None:
    for r in rows:
        ratio = f"{r.amount / r.base:.2f}" if r.base else ""
        verdict = "" if r.target is None else "yes" if r.amount <= r.target else "NO"
        table.add_row(
            r.what,
            f"{r.amount:,.2f} {r.unit}",
            ratio,
            f"{r.baseline} ({r.base:,.2f} {r.unit})" if r.base else "",
            "" if r.target is None else f"<= {r.target:,.4g} {r.unit}",
            verdict,
        )
    table.add_section()


def main() -> None:
    """Measure everything and print it."""
    console = Console(width=None if sys.stdout.isatty() else 140)
    table = Table(box=box.SIMPLE_HEAD)
    for heading, justify in (("Measured", "left"), ("", "right"), ("Ratio", "right"), ("to", "left")):
        table.add_column(heading, justify=justify)
    table.add_column("Target", justify="right")
    table.add_column("met")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capacity.xlsx"
        for measure in (imports, commands, calls, blocks):
            add(table, measure())
        for measure_file in (build, in_process):
            add(table, measure_file(path))
        for host, missing, measures in (
            ("LibreOffice", missing_office(), (in_libreoffice, in_calc)),
            ("xlwings Lite and Server", hosts.missing_office_js(), (in_office_js,)),
            ("xlwings' COM server", hosts.missing_wine(), (in_com_server,)),
        ):
            if missing:
                table.add_row(host, f"missing: {missing}")
            else:
                for measure_host in measures:
                    add(table, measure_host(path))
    console.print(table)
    console.print("Advisory: a target that is missed fails nothing.")


if __name__ == "__main__":
    main()
