"""The real COM server under Wine: xlwings' DLL starts Windows' Python, and its answers become the cells' values."""

from pathlib import Path
from typing import Any

import pytest
from conftest import wine_folder
from office.macros import Macros
from parity_hosts import com_argument
from test_parity import same
from wine import Windows

from capacity.call import OMITTED, call
from capacity.registry import FUNCTIONS

ROWS = 10_000
COLUMN = [[float(i)] for i in range(1, ROWS + 1)]
TABLE = [[float(10 * i + j) for j in range(10)] for i in range(1, ROWS // 10 + 1)]

CALLS: list[tuple[str, list[Any]]] = [
    *((name, list(f.examples)) for name, f in FUNCTIONS.items()),
    *((name, [OMITTED] * len(f.args)) for name, f in FUNCTIONS.items() if not f.vararg),
    ("GPUS", [TABLE, 2.0]),
    ("GPUS", [COLUMN, 2.0]),
    ("DECODE_STEP_MS", [COLUMN, 4.8, [[0.5, 0.75]]]),
]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Windows:
    return Windows(wine_folder(), tmp_path_factory.mktemp("wine"))


@pytest.fixture(scope="module")
def macros(macro_workbook: Path) -> Macros:
    return Macros(macro_workbook)


@pytest.fixture(scope="module")
def answer(windows: Windows, macros: Macros) -> dict[str, Any]:
    """The server, started as xlwings' own macro starts it from the sheet of settings, and its answers to CALLS."""
    command = macros.command(windows.interpreter)
    return windows.call(command, [[name, list(map(com_argument, args))] for name, args in CALLS])


def test_every_answer_becomes_the_value_of_its_cell(answer: dict[str, Any], macros: Macros) -> None:
    assert len(answer["results"]) == len(CALLS)
    for (name, arguments), (result, _) in zip(CALLS, answer["results"], strict=True):
        expected = call(name, arguments)
        assert same(macros.cell_values(result), expected), (name, str(arguments)[:200], str(result)[:200])


def test_the_worked_examples_figure(answer: dict[str, Any]) -> None:
    (first, *_) = [
        result for (name, _), (result, _) in zip(CALLS, answer["results"], strict=True) if name == "PREFILL_US"
    ]
    assert first == pytest.approx(call("PREFILL_US", []), rel=1e-12)
    assert first == pytest.approx(71.302, abs=5e-4)


def test_how_long_it_takes(answer: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Times for the log; a bound only where a workbook would no longer be usable."""
    seconds = {name: s for (name, args), (_, s) in zip(CALLS, answer["results"], strict=True) if len(str(args)) > 9999}
    single = sorted(s for _, s in answer["results"])[len(CALLS) // 2]
    with capsys.disabled():
        print(f"\nWine: start {answer['start_s']:.1f} s, a call {single * 1e3:.1f} ms, {ROWS:,} rows in", end=" ")
        print(", ".join(f"{s * 1e3:.0f} ms ({name})" for name, s in seconds.items()))
    assert len(seconds) == 2
    assert max(seconds.values()) < 10


def test_a_missing_package_is_named(windows: Windows, macros: Macros) -> None:
    """The reason in the message that the macros show."""
    answer = windows.call(macros.command(windows.interpreter), [["CAPACITY_VERSION", [0]]], path=())
    failed = answer["results"][0][0]["failed"]
    assert "No module named" in failed
    assert "addin" in failed
