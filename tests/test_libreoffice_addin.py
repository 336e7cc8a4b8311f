"""The add-in in a real LibreOffice: each function answers there what `capacity.call` answers."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from office import Office
from openpyxl.utils import get_column_letter

from capacity.arguments import REQUIRED, Number
from capacity.call import OMITTED, ExcelError, call
from capacity.registry import FUNCTIONS, Function, literal

VALUE, NUM, NA = ExcelError("#VALUE!"), ExcelError("#NUM!"), ExcelError("#N/A")
ERROR_FORMULAS = {"#N/A": "=NA()", "#DIV/0!": "=1/0", "#VALUE!": '="x"+1'}
ALL = pytest.mark.parametrize("name", FUNCTIONS)
NUMERIC = [name for name, f in FUNCTIONS.items() if all(isinstance(a, Number) for a in f.args.values())]
BROADCAST = [name for name in NUMERIC if not FUNCTIONS[name].returns_text and len(FUNCTIONS[name].args) > 1]


class Difference(NamedTuple):
    """Where it matters how a formula stands in LibreOffice; the README lists these rows."""

    what: str
    cells: dict[str, Any]
    formula: str
    libreoffice: Any
    elsewhere: Any  # what `call` answers
    args: list[Any]  # with these values


# what a function itself answers otherwise is in parity_differences.py
OF_FORMULAS = [
    Difference(
        "an error within a nested block is answered with that error as a whole",
        {"A1": 16.0, "A2": -1.0},
        "=INDEX(GPUS(REPLICAS(A1:A2,0.65),2),1)",
        NUM,
        [[50.0], [NUM]],
        [[[25.0], [NUM]], 2.0],
    ),
    Difference(
        'names and units in the rows of PLAN("table", ...) show, but equal no text: put &"" behind them to compare',
        {},
        '=PLAN("table","Llama-3.3-70B","H200 SXM",50,3000,400)="prompt_tps"',
        0.0,
        call("PLAN", ["table", "Llama-3.3-70B", "H200 SXM", 50.0, 3000.0, 400.0]),
        ["table", "Llama-3.3-70B", "H200 SXM", 50.0, 3000.0, 400.0],
    ),
    Difference(
        "a plain formula shows the first value of a block; enter it with Ctrl+Shift+Enter to see all",
        {"A1": 26.0, "A2": 31.0},
        "=GPUS(A1:A2,2)",
        52.0,
        [[52.0], [62.0]],
        [[[26.0], [31.0]], 2.0],
    ),
    Difference(
        "too many arguments are Err:504 (Excel does not accept the formula)",
        {},
        "=GPUS(26,2,1)",
        ExcelError("Err:504"),
        VALUE,
        [26.0, 2.0, 1.0],
    ),
]


def put(office: Office, address: str, value: Any) -> None:
    """Write a value of `call` into a cell; errors and an empty text only come out of formulas."""
    if isinstance(value, ExcelError):
        office.formula("Sheet1", address, ERROR_FORMULAS[value.code])
    elif value == "":
        office.formula("Sheet1", address, '=""')
    elif isinstance(value, str) and value.startswith("="):
        office.formula("Sheet1", address, value)
    else:
        office.set("Sheet1", address, value)


def calculate(office: Office, name: str, args: list[Any], rows: int = 1, columns: int = 1) -> Any:
    """The function's answer in a fresh sheet, with each argument in cells of its own."""
    office.new()
    shown, column = [], 1
    for x in args:
        block = x if isinstance(x, list) else [[x]]
        first, last = get_column_letter(column), get_column_letter(column + len(block[0]) - 1)
        if x is not OMITTED:
            for i, row in enumerate(block, 1):
                for j, cell in enumerate(row):
                    put(office, f"{get_column_letter(column + j)}{i}", cell)
        reference = f"{first}1:{last}{len(block)}" if isinstance(x, list) else f"{first}1"
        shown.append("" if x is OMITTED else reference)
        column += len(block[0])
    formula = f"={name}({','.join(shown)})"
    if (rows, columns) == (1, 1):
        return office.formula("Sheet1", "Z20", formula)
    block = f"Z20:{get_column_letter(25 + columns)}{19 + rows}"
    office.formula("Sheet1", block, formula)
    return office.range("Sheet1", block)


def examples(name: str) -> list[Any]:
    """The worked example's arguments."""
    return list(FUNCTIONS[name].examples)


def outside(function: Function) -> Iterator[tuple[int, float]]:
    """Position of each bounded argument, with a number outside its bounds."""
    for i, a in enumerate(function.args.values()):
        if isinstance(a, Number):
            yield i, next(x for x in (-1.0, 0.0, 2.0, 0.5) if not a.fits(x))


@ALL
def test_no_argument_is_the_worked_example(office_with_addin: Office, name: str) -> None:
    assert calculate(office_with_addin, name, []) == call(name, [])


@ALL
def test_the_worked_examples_arguments(office_with_addin: Office, name: str) -> None:
    args = examples(name)
    assert calculate(office_with_addin, name, args) == call(name, args)


@ALL
def test_literals_in_the_formula(office_with_addin: Office, name: str) -> None:
    """The call as the registry writes it for a cell."""
    office_with_addin.new()
    answer = office_with_addin.formula("Sheet1", "A1", f"={FUNCTIONS[name].formula()}")
    assert answer == call(name, [float(literal(x)) if isinstance(x, float) else x for x in examples(name)])


@pytest.mark.parametrize(
    ("name", "position"),
    [(n, i) for n, f in FUNCTIONS.items() for i, a in enumerate(f.args.values()) if a.default is not REQUIRED],
)
def test_an_argument_left_out_takes_its_default(office_with_addin: Office, name: str, position: int) -> None:
    """In the middle `=F(1,,3)`, and at the end."""
    args = examples(name)
    args[position] = OMITTED
    assert calculate(office_with_addin, name, args) == call(name, args)


@pytest.mark.parametrize("name", BROADCAST)
def test_a_column_times_a_row_is_a_block(office_with_addin: Office, name: str) -> None:
    first, second, *rest = examples(name)
    args = [[[first], [2 * first], [3 * first]], [[second, 2 * second]], *rest]
    expected = call(name, args)
    assert (len(expected), len(expected[0])) == (3, 2)
    assert calculate(office_with_addin, name, args, rows=3, columns=2) == expected


@pytest.mark.parametrize("name", BROADCAST)
def test_an_error_in_one_element_stays_there(office_with_addin: Office, name: str) -> None:
    first, *rest = examples(name)
    column = [[first], ["text"], [-1.0], [first]]
    expected = [[call(name, [cell, *rest])] for [cell] in column]
    assert {VALUE, NUM} <= {cell for [cell] in expected}
    assert calculate(office_with_addin, name, [column, *rest], rows=4) == expected


@pytest.mark.parametrize("name", NUMERIC)
def test_text_is_value_and_a_number_out_of_bounds_is_num(office_with_addin: Office, name: str) -> None:
    for i, bad in outside(FUNCTIONS[name]):
        for wrong, error in ("text", VALUE), (bad, NUM):
            args = examples(name)
            args[i] = wrong
            assert calculate(office_with_addin, name, args) == call(name, args) == error


@pytest.mark.parametrize("name", NUMERIC)
def test_a_blank_cell_counts_as_zero(office_with_addin: Office, name: str) -> None:
    for i in range(len(FUNCTIONS[name].args)):
        args = examples(name)
        args[i] = None
        assert calculate(office_with_addin, name, args) == call(name, args)


@ALL
@pytest.mark.parametrize("code", ERROR_FORMULAS)
def test_an_error_cell_gives_the_same_error(office_with_addin: Office, name: str, code: str) -> None:
    args = [ExcelError(code), *examples(name)[1:]]
    assert calculate(office_with_addin, name, args) == ExcelError(code)


def test_texts_compare_equal_in_cells(office_with_addin: Office) -> None:
    """A text that looks right and equals nothing would let every check of a workbook pass."""
    office_with_addin.new()
    office_with_addin.formula("Sheet1", "A1", "=TPOT_VERDICT()")
    assert office_with_addin.formula("Sheet1", "B1", '=A1="needs a measurement"') == 1.0
    assert office_with_addin.formula("Sheet1", "B1", '=TPOT_VERDICT()="needs a measurement"') == 1.0
    assert office_with_addin.formula("Sheet1", "B1", '=COUNTIF(A1:A2,"needs a measurement")') == 1.0


@pytest.mark.parametrize("row", OF_FORMULAS, ids=lambda row: row.what)
def test_differences_that_libreoffice_forces(office_with_addin: Office, row: Difference) -> None:
    """Each is still there: where one has gone, its row here and in the README must go too."""
    office_with_addin.new()
    for address, value in row.cells.items():
        put(office_with_addin, address, value)
    assert office_with_addin.formula("Sheet1", "Z20", row.formula) == row.libreoffice
    name = row.formula.removeprefix("=INDEX(").removeprefix("=").partition("(")[0]
    assert call(name, row.args) == row.elsewhere != row.libreoffice


CELL = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-3, 300).map(float),
    st.floats(0, 1),
    st.sampled_from([None, OMITTED, "", "text", "12"]),
)


@settings(
    max_examples=200,
    deadline=None,  # the first call may wait for the office
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # one office for the session, a fresh sheet a call
)
@given(data=st.data(), name=st.sampled_from(list(FUNCTIONS)))
def test_whatever_the_cells_hold(office_with_addin: Office, data: st.DataObject, name: str) -> None:
    args = [data.draw(st.one_of(st.just(x), CELL)) for x in examples(name)]
    assert calculate(office_with_addin, name, args) == call(name, args)
