"""The macros of the workbook for Excel on Windows, run in pyOpenVBA's interpreter against the functions themselves."""

import re
from pathlib import Path
from typing import Any

import pytest
from office.macros import NUMBERS, Macros
from test_udfs import VBA_RESERVED

from addin.desktop import settings, vba
from capacity.call import OMITTED, ExcelError, call
from capacity.registry import FUNCTIONS

ALL = pytest.mark.parametrize("name", FUNCTIONS)
NA, VALUE, DIV = (ExcelError(code) for code in ("#N/A", "#VALUE!", "#DIV/0!"))

# what stands in the formula itself; parity.py has what stands in cells
LITERALS: list[tuple[str, list[Any]]] = [
    ("GPUS", [26.0, 2.0]),
    ("GPUS", [NA, 2.0]),
    ("GPUS", [DIV, NA]),
    ("GPUS", [True, 2.0]),
    ("GPUS", ["26", 2.0]),
    ("CAPACITY_EXPLAIN", ["REPLICAS", 16.67, OMITTED, 2.0]),
    ("CAPACITY_EXPLAIN", ["GPUS", NA, 2.0]),
]


@pytest.fixture(scope="module")
def opened(macro_workbook: Path) -> Macros:
    """The macros after the workbook was opened; for tests that leave them as they are."""
    macros = Macros(macro_workbook)
    macros.open()
    return macros


@pytest.fixture
def macros(macro_workbook: Path) -> Macros:
    """The macros of a workbook that is not open yet."""
    return Macros(macro_workbook)


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if not f.vararg])
def test_no_argument_is_the_worked_example(opened: Macros, name: str) -> None:
    """CAPACITY_EXPLAIN wants its first: VBA has no optional argument before further ones."""
    assert opened.call(name) == call(name, [])


@ALL
def test_the_worked_examples_arguments(opened: Macros, name: str) -> None:
    examples = list(FUNCTIONS[name].examples)
    assert opened.call(name, *examples) == call(name, examples)


@pytest.mark.parametrize(("name", "arguments"), LITERALS, ids=lambda x: str(x)[:60])
def test_literals(opened: Macros, name: str, arguments: list[Any]) -> None:
    assert opened.call(name, *arguments) == call(name, arguments)


@pytest.mark.parametrize("code", NUMBERS)
def test_every_error_becomes_an_error_value(macros: Macros, code: str) -> None:
    error = ExcelError(code)
    for answer, expected in (
        (code, error),
        ([["text", code, 1.0]], [["text", error, 1.0]]),
        ([["text", code], [code, ""]], [["text", error], [error, ""]]),
        ([[code], [2.0]], [[error], [2.0]]),
    ):
        macros.answers["CAPACITY_VERSION"] = answer
        assert macros.call("CAPACITY_VERSION") == expected


@pytest.mark.parametrize("text", ["", "#n/a", "N/A", " #N/A", "#N/A ", "#NUM", "see #REF!", "#VALUE!!", "#SPILL", "0"])
def test_any_other_text_stays_text(macros: Macros, text: str) -> None:
    for answer in (text, [[text, 1.0]], [[text], [1.0]]):
        macros.answers["CAPACITY_VERSION"] = answer
        assert macros.call("CAPACITY_VERSION") == answer


def test_opening_starts_python_and_loads_the_functions(macros: Macros) -> None:
    macros.open()
    assert macros.starts == 1
    assert macros.calls == ["CAPACITY_VERSION"]
    macros.call("GPUS", 26.0, 2.0)
    assert macros.starts == 1
    assert macros.messages == []


def test_a_missing_python_is_told_once(macros: Macros) -> None:
    macros.missing = "Could not load xlwings64.dll from either of the following folders"
    macros.open()
    assert [macros.call("GPUS", 26.0, 2.0) for _ in range(3)] == [VALUE] * 3
    assert macros.starts == 1
    (message,) = macros.messages
    assert "Python could not be started" in message
    assert macros.missing in message


def test_a_missing_package_is_told_once(macros: Macros) -> None:
    macros.lost = 99
    macros.open()
    assert macros.call("GPUS", 26.0, 2.0) == VALUE
    assert len(macros.messages) == macros.starts == len(macros.calls) == 1


def test_a_script_that_wants_no_alerts_gets_none(macros: Macros) -> None:
    macros.missing = "no Python"
    macros.show_alerts(False)
    macros.open()
    assert macros.messages == []
    assert macros.call("GPUS", 26.0, 2.0) == VALUE


def test_a_python_that_was_ended_is_started_again(macros: Macros) -> None:
    macros.open()
    macros.lost = 1
    assert macros.call("GPUS", 26.0, 2.0) == 52.0
    assert macros.starts == 2
    assert macros.messages == []


def test_the_function_wizard_gets_all_texts(opened: Macros) -> None:
    assert list(opened.wizard) == list(FUNCTIONS)
    for name, function in FUNCTIONS.items():
        category, text, arguments = opened.wizard[name]
        names = [*function.args, *([function.vararg] if function.vararg else [])]
        assert (category, text) == (vba.CATEGORY, f"{function.doc} [{function.unit}]")
        assert arguments == [function.help(n) for n in names]
        assert all(len(t) <= 255 for t in (text, *arguments))


def test_a_long_text_is_cut_for_the_wizard() -> None:
    assert vba._text("x" * 255) == f'"{"x" * 255}"'
    assert vba._text("x" * 256) == f'"{"x" * 252}..."'
    assert vba._text('a "b"') == '"a ""b"""'


def test_what_excel_has_against_a_text_keeps_no_workbook_from_opening(macros: Macros) -> None:
    macros.refuses_texts = True
    macros.open()
    assert macros.starts == 1


def test_opening_is_no_reason_to_save(macros: Macros) -> None:
    macros.saved = True
    macros.open()
    assert macros.saved


@pytest.mark.parametrize(("module", "text"), vba.modules().items(), ids=list(vba.modules()))
def test_limits_of_vba(module: str, text: str) -> None:
    """A line has at most 1,023 characters, a statement 25 lines, a procedure 64 kB; texts are in no code page."""
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 120 or module == vba.WIZARD_MODULE
    assert max(map(len, text.splitlines())) <= 1023
    assert max(len(s) for s in re.findall(r"(?:.* _\n)*", text)) < 8_000
    assert max(s.count("\n") for s in re.findall(r"(?:.* _\n)+", text) or [""]) <= 24
    procedures = re.findall(r"(?ms)^(?:Public|Private) (?:Function|Sub) .*?^End (?:Function|Sub)$", text)
    assert procedures
    assert max(map(len, procedures)) < 32_000


@ALL
def test_names_that_vba_allows(name: str) -> None:
    function = FUNCTIONS[name]
    names = {name.lower(), *function.args, function.vararg} - {""}
    assert not names & set(VBA_RESERVED.split())
    assert name.lower() not in function.args
    assert all(re.fullmatch(r"[a-z]\w{0,254}", n) for n in names)


def test_the_settings_are_all_that_xlwings_reads(macros: Macros) -> None:
    """xlwings' own macro, which would look for a file of settings: this interpreter refuses that."""
    command = macros.command(r"C:\Program Files\Python\python.exe")
    assert command.startswith(r'cmd.exe  /K ""C:\Program Files\Python\python.exe" -B -c "import sys, os;import xlwings')
    assert 'prepare_sys_path(\\"False;' in command
    assert command.endswith(';;;;\\");import xlwings; xlwings.serve(\'$(CLSID)\')""')


def test_the_interpreter_is_this_one_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", r"C:\Python\python.exe")
    monkeypatch.setattr("sys.platform", "linux")
    assert settings.interpreter() == "pythonw"
    monkeypatch.setattr("sys.platform", "win32")
    assert settings.interpreter() == r"C:\Python\python.exe"
    assert settings.settings()[0][:2] == ("INTERPRETER_WIN", r"C:\Python\python.exe")
