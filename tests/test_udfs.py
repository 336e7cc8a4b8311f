"""The Excel functions: from Python, and through xlwings' own COM code as Excel for Windows calls them."""

import datetime
import inspect
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from office.macros import scode
from xlwings.utils import is_jsnull

import capacity
from addin import udfs
from capacity.call import OMITTED, ExcelError, call
from capacity.registry import FUNCTIONS

ALL = pytest.mark.parametrize("name", FUNCTIONS)
COM = Path(__file__).parent / "office" / "excel_com.py"

# what VBA keeps for itself, so that it cannot name a parameter ([MS-VBAL] 3.3.5.2)
VBA_RESERVED = """
    abs addressof and any array as attribute boolean byref byte byval call case cbool cbyte ccur cdate cdbl cdec cdecl
    cint circle clng clnglng clngptr close const csng cstr currency cvar cverr date debug decimal declare defbool
    defbyte defcur defdate defdbl defdec defint deflng deflnglng deflngptr defobj defsng defstr defvar dim do doevents
    double each else elseif empty end endif enum eqv erase event exit false fix for friend function get global gosub
    goto if imp implements in input inputb instr int integer is lbound len lenb let like linput local lock long
    longlong longptr loop lset me mid midb mod new next not nothing null object on open option optional or paramarray
    preserve print private property pset public put raiseevent redim rem resume return rset scale seek select set sgn
    shared single spc static stop string sub tab then to true type typeof ubound unlock until variant vb_attribute
    wend while with withevents write xor
"""

NA = ExcelError("#N/A")

# function, arguments as excel_com.py takes them, the same for `call`: references, as xlwings' own wrappers pass them
COM_CALLS: list[tuple[str, list[Any], list[Any]]] = [
    *((name, [], []) for name in FUNCTIONS),
    ("GPUS", [{"range": [[26.0]]}, 2], [26.0, 2]),
    ("GPUS", [{"range": [[26.0], [31.0]]}, {"range": [[2.0, 4.0]]}], [[[26.0], [31.0]], [[2.0, 4.0]]]),
    ("GPUS", [{"range": [[26.0, {"error": scode(NA)}, "x", None]]}, 2.0], [[[26.0, NA, "x", None]], 2.0]),
    ("GPUS", [{"range": [[{"error": scode(NA)}]]}, 2.0], [NA, 2.0]),
    ("GPUS", [{"range": [[None]]}, 2.0], [None, 2.0]),
    ("GPUS", [{"range": [[{"date": "2026-11-29"}]]}, 2.0], [datetime.datetime(2026, 11, 29), 2.0]),
    ("COST_PER_HOUR", [52.0, {"range": [[{"currency": "3.5"}]]}], [52.0, 3.5]),
    ("CAPACITY_EXPLAIN", ["REPLICAS", {"range": [[None]]}], ["REPLICAS", None]),
    ("TPOT_VERDICT", [50.0, {"range": [[40.0], [60.0]]}, 30.0], [50.0, [[40.0], [60.0]], 30.0]),
]


def shown(result: Any) -> Any:
    """A result of `call` as the module returns it: error values as their texts."""
    if isinstance(result, list):
        return [[shown(x) for x in row] for row in result]
    return result.code if isinstance(result, ExcelError) else result


@ALL
def test_no_argument_is_the_worked_example(name: str) -> None:
    assert getattr(udfs, name)() == call(name, [])


def test_the_seeds_figure() -> None:
    assert udfs.PREFILL_US() == pytest.approx(71.302, abs=5e-4)


@ALL
def test_the_worked_examples_arguments(name: str) -> None:
    assert getattr(udfs, name)(*FUNCTIONS[name].examples) == call(name, FUNCTIONS[name].examples)


def test_the_module_has_the_functions_and_no_other() -> None:
    assert sorted(udfs.__all__) == sorted(FUNCTIONS)
    assert {n for n in vars(udfs) if n.isupper() and callable(getattr(udfs, n))} == set(FUNCTIONS)


def test_ranges_are_lists_of_rows() -> None:
    assert udfs.GPUS([[26], [31]], [[2, 4]]) == [[52.0, 104.0], [62.0, 124.0]]
    assert udfs.GPUS(((26,), (31,)), 2) == [[52.0], [62.0]]


@pytest.mark.parametrize("given", [[1, 2], [None], [], [[1], 2], [[1], [2, 3]], [[]]])
def test_what_is_no_range_is_a_wrong_value(given: Any) -> None:
    """As `capacity.call` has it: a caller in Python may hand over anything."""
    assert call("REPLICAS", [given, 0.5]) == ExcelError("#VALUE!")
    assert udfs.REPLICAS(given, 0.5) == udfs.REPLICAS(16.67, given) == "#VALUE!"


@pytest.mark.parametrize("code", ["#N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"])
def test_an_error_value_in_is_its_text_out(code: str) -> None:
    assert udfs.GPUS(ExcelError(code), 2) == code
    assert udfs.GPUS([[26, ExcelError(code)]], 2) == [[52.0, code]]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ({"type": "Error", "basicValue": "#REF!", "errorType": "Ref"}, ExcelError("#REF!")),
        ({"type": "Error", "basicValue": "#SPILL!", "errorType": "Spill"}, ExcelError("#VALUE!")),
        ({"type": "FormattedNumber", "basicValue": 3.5, "numberFormat": "$0.00"}, 3.5),
        (type("JsNull", (), {})(), None),
        ("", None),
        ("#REF!", "#REF!"),
    ],
)
def test_what_office_js_hands_over(cell: Any, expected: Any) -> None:
    """In a cell alone, in a row, which comes flat, and among numbers."""
    for given, rows in ((cell, [[expected]]), ([cell, 1], [[expected, 1]]), ([[cell], [2.0]], [[expected], [2.0]])):
        context = SimpleNamespace(range=None, value=given, meta={}, engine=SimpleNamespace(name="officejs"))
        udfs.Cells.reader({})(context)
        assert context.value == rows


def test_errors_come_back_as_their_texts() -> None:
    assert udfs.REPLICAS(16.67, 65) == "#NUM!"
    assert udfs.REPLICAS("x") == "#VALUE!"
    assert udfs.CAPACITY_EXPLAIN("NOPE") == "#N/A"
    assert udfs.REPLICAS([[16.67], [-1], ["x"]]) == [[26.0], ["#NUM!"], ["#VALUE!"]]


def test_blank_left_out_and_named_arguments() -> None:
    assert udfs.GPUS(None, 2) == udfs.GPUS([[None]], 2) == 0.0
    assert udfs.REPLICAS(16.67, OMITTED, 2) == udfs.REPLICAS(16.67, spares=2) == 28.0
    with pytest.raises(TypeError, match="spare"):
        udfs.REPLICAS(16.67, spare=2)


def test_explanations() -> None:
    assert udfs.CAPACITY_EXPLAIN("REPLICAS", 16.67, 65) == capacity.capacity_explain("REPLICAS", 16.67, 65)
    assert udfs.CAPACITY_EXPLAIN("GPUS", NA, 2).startswith("replicas is the error #N/A")
    assert udfs.CAPACITY_EXPLAIN("REPLICAS", 16.67, None, 2) == udfs.CAPACITY_EXPLAIN("REPLICAS", 16.67, OMITTED, 2)


def test_xlwings_does_not_look_for_pyodide_in_each_argument() -> None:
    """Should this fail, the lines about it in addin/udfs.py can go."""
    assert "pyodide.ffi" in sys.modules
    assert sys.modules["pyodide.ffi"] is None
    assert "from pyodide.ffi import JsNull" in inspect.getsource(is_jsnull)


@pytest.fixture(scope="module")
def com() -> dict[str, Any]:
    """What xlwings' COM code knows of the functions and answers for COM_CALLS, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(COM)],
        input=json.dumps([[name, args] for name, args, _ in COM_CALLS]),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_com_calls(com: dict[str, Any]) -> None:
    assert len(com["results"]) == len(COM_CALLS)
    for (name, args, values), result in zip(COM_CALLS, com["results"], strict=True):
        expected = shown(call(name, values))
        assert result == (expected if isinstance(expected, list) else [[expected]]), (name, args)


@ALL
def test_com_registration(com: dict[str, Any], name: str) -> None:
    """Each function is registered under its name, with texts and options for every argument."""
    known, function = com["functions"][name], FUNCTIONS[name]
    names = [*function.args, *([function.vararg] if function.vararg else [])]
    assert (known["name"], known["category"], known["volatile"]) == (name, "LLM capacity", False)
    assert known["ret"] == {"doc": f"{function.doc} [{function.unit}]", "options": {}}
    assert [a["name"] for a in known["args"]] == names
    assert [a["doc"] for a in known["args"]] == [function.help(n) for n in names]
    assert all(list(a["options"]) == ["convert"] for a in known["args"])
    assert [a["vararg"] for a in known["args"]] == [n == function.vararg for n in names]
    assert all(("optional" in a) != bool(function.vararg) for a in known["args"])


@ALL
def test_what_excel_can_show(com: dict[str, Any], name: str) -> None:
    """The function wizard cuts texts at 255 characters; it breaks when names and their number come to more than 254."""
    known = com["functions"][name]
    assert all(0 < len(text) <= 255 for text in [known["ret"]["doc"], *(a["doc"] for a in known["args"])])
    assert len(known["args"]) + sum(len(a["name"]) for a in known["args"]) <= 254


@ALL
def test_the_vba_wrapper_compiles(com: dict[str, Any], name: str) -> None:
    """No parameter is a word that VBA keeps for itself, or the name of its own function."""
    parameters = [a["name"].lower() for a in com["functions"][name]["args"]]
    assert not set(parameters) & {*VBA_RESERVED.split(), name.lower()}
    assert f"Function {name}(" in com["vba"]
