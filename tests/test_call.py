"""A spreadsheet's call semantics, as tables: blank, omitted, errors, types, ranges."""

import datetime
import sys
from itertools import cycle, islice
from typing import Any, Final

import pytest

import capacity.call
from capacity.arguments import Number
from capacity.call import MAX_CELLS, NA, NUM, OMITTED, VALUE, VECTOR_FROM, ExcelError, call
from capacity.registry import FUNCTIONS

DIV0, REF = ExcelError("#DIV/0!"), ExcelError("#REF!")
EXAMPLE = 2 * 70.553706496e9 / (2 * 1979e12 * 0.5) * 1e6


@pytest.fixture
def loop_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block element by element, as without NumPy."""
    monkeypatch.setattr(capacity.call, "VECTOR_FROM", MAX_CELLS + 1)


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        # no argument at all: the worked example; trailing omitted ones count as none
        ("PREFILL_US", [], EXAMPLE),
        ("PREFILL_US", [OMITTED, OMITTED], EXAMPLE),
        ("REPLICAS", [], 26.0),
        ("TPOT_VERDICT", [], "needs a measurement"),
        # with arguments: defaults fill what is left out, required ones are missed
        ("REPLICAS", [16.67], 26.0),
        ("REPLICAS", [16.67, OMITTED, 2.0], 28.0),
        ("REPLICAS", [OMITTED, 0.65], VALUE),
        ("GPUS", [26.0], VALUE),
        ("REPLICAS", [16.67, 0.65, 0.0, 1.0], VALUE),
        # a blank cell is 0, and then the bounds speak
        ("PROMPT_TPS", [None, 3000.0], 0.0),
        ("REPLICAS", [16.67, None], NUM),
        ("REPLICAS", [16.67, 0.65, None], 26.0),
        # an error in is the same error out; the first one wins
        ("GPUS", [DIV0, 2.0], DIV0),
        ("GPUS", [26.0, REF], REF),
        ("GPUS", [REF, DIV0], REF),
        ("GPUS", ["x", DIV0], VALUE),
        ("GPUS", [DIV0, "x"], DIV0),
        # types: whole numbers as they are; booleans, text and dates are no numbers
        ("GPUS", [26, 2], 52.0),
        ("GPUS", [26.0, True], VALUE),
        ("GPUS", ["26", 2.0], VALUE),
        ("GPUS", ["", 2.0], VALUE),
        ("PROMPT_TPS", [datetime.datetime(2026, 1, 1), 1.0], VALUE),
        # bounds
        ("GPUS", [26.0, 1.5], NUM),
        ("GPUS", [26.0, 0.0], NUM),
        ("REPLICAS", [16.67, 65.0], NUM),
        ("REPLICAS", [float("nan")], NUM),
        ("REPLICAS", [float("inf")], NUM),
        ("REPLICAS", [10**400], NUM),
        # no answer
        ("USD_PER_M_TOKENS", [182.0, 0.0], NUM),
        ("TPOT_WORST_MS", [19.1, 10.7, 0.0], NUM),
        ("KV_POOL_GB", [24.0, 35.3], NUM),
        ("PROMPT_TPS", [1e200, 1e200], NUM),
        # names
        ("NO_SUCH_FUNCTION", [1.0], ExcelError("#NAME?")),
        ("CAPACITY_EXPLAIN", ["NO_SUCH_FUNCTION"], NA),
        ("CAPACITY_EXPLAIN", [None], NA),
        ("CAPACITY_EXPLAIN", [1.0], NA),
        ("CAPACITY_EXPLAIN", [10**400], NA),
        ("CAPACITY_EXPLAIN", [True], VALUE),
        ("CAPACITY_EXPLAIN", [DIV0, 1.0], DIV0),
        ("CAPACITY_VERSION", [], capacity.__version__),
        ("CAPACITY_VERSION", ["anything"], capacity.__version__),
        ("CAPACITY_VERSION", [DIV0], DIV0),
    ],
)
def test_single_call(name: str, args: list[Any], result: Any) -> None:
    assert call(name, args) == result


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["REPLICAS", 16.67, 0.65], "16.67 busy replicas / 0.65 = 25.65, rounded up to 26 replicas"),
        (["replicas"], "16.67 busy replicas / 0.65 = 25.65, rounded up to 26 replicas"),
        (["REPLICAS", 16.67, OMITTED, 2], "16.67 busy replicas / 0.65 = 25.65, rounded up and 2 spares added, to 28"),
        (["REPLICAS", 16.67, 65], "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        (["REPLICAS", 16.67, None], "utilization must be > 0 and < 1: 0"),
        (["REPLICAS", "x"], "busy_replicas must be a number: 'x'"),
        (["REPLICAS", OMITTED, 0.65], "busy_replicas is required: it was left out"),
        (["REPLICAS", DIV0], "busy_replicas is the error #DIV/0! of another cell; mend that cell first"),
        (["REPLICAS", 1, 0.5, 0, 0], "REPLICAS takes at most 3 arguments: 4 were given"),
        (["KV_POOL_GB", 24, 35.3], "35.3 GB of weights and 3 GB reserved do not fit into 24 GB x 0.92"),
        (["MAX_SEQS", 0.3, 1], "0.3 GB / 1 GB = 0.3, rounded down to 0 sequences"),
        (["CAPACITY_VERSION"], f"the functions of llm-capacity {capacity.__version__} answer"),
        (["CAPACITY_EXPLAIN", "GPUS"], "26 replicas x 2 GPUs = 52 GPUs"),
    ],
)
def test_explanation(args: list[Any], sentence: str) -> None:
    """One sentence: the derivation with its numbers, or what is wrong."""
    assert call("CAPACITY_EXPLAIN", args).startswith(sentence)


@pytest.mark.parametrize(
    ("args", "block"),
    [
        # row x column gives a block, one row or one column repeats
        ([[[26], [31]], [[2, 4]]], [[52.0, 104.0], [62.0, 124.0]]),
        ([[[26, 31]], 2], [[52.0, 62.0]]),
        ([[[26], [31]], 2], [[52.0], [62.0]]),
        ([[[26, 31], [1, 2]], [[2, 4]]], [[52.0, 124.0], [2.0, 8.0]]),
        ([((26,), (31,)), 2], [[52.0], [62.0]]),
        # a range of one cell is that cell
        ([[[26]], [[2]]], 52.0),
        ([[[26]], [[2, 4]]], [[52.0, 104.0]]),
        # beyond an edge that neither fits nor repeats is #N/A
        ([[[26], [31], [40]], [[2], [4]]], [[52.0], [124.0], [NA]]),
        ([[[26, 31, 40]], [[2, 4]]], [[52.0, 124.0, NA]]),
        ([[[26, 31], [1, 2]], [[2, 4, 8]]], [[52.0, 124.0, NA], [2.0, 8.0, NA]]),
        # an error, a wrong type or a value out of bounds stays in its element
        ([[[26], [DIV0], ["x"], [True], [None], [-1]], 2], [[52.0], [DIV0], [VALUE], [VALUE], [0.0], [NUM]]),
        ([[[26], [31]], [[2, REF]]], [[52.0, REF], [62.0, REF]]),
        ([[[26], [31]], REF], [[REF], [REF]]),
        ([[[26], [31]], OMITTED], [[VALUE], [VALUE]]),
    ],
)
def test_ranges(args: list[Any], block: Any) -> None:
    assert call("GPUS", args) == block


@pytest.mark.parametrize(
    "malformed",
    [[], [[]], (), [26, 31], [26], [[26], [31, 2]], [[26, 31], [2]], [[26], 31], [[[26]]], [[[[26]]]], [""]],
)
def test_what_is_no_range(malformed: Any) -> None:
    """Callers in Python may hand over anything: a list that is no block of cells is a wrong type, in any place."""
    assert call("GPUS", [malformed, 2]) == VALUE
    assert call("GPUS", [[[26], [31]], malformed]) in (VALUE, [[VALUE], [VALUE]])
    assert call("CAPACITY_EXPLAIN", ["GPUS", malformed, 2]) == VALUE


def test_explanations_of_a_range() -> None:
    sentences = call("CAPACITY_EXPLAIN", ["GPUS", [[26], [-1], [DIV0]], 2])
    assert sentences == [
        ["26 replicas x 2 GPUs = 52 GPUs"],
        ["replicas must be a whole number >= 0: -1"],
        ["replicas is the error #DIV/0! of another cell; mend that cell first"],
    ]


def test_a_block_that_is_too_large() -> None:
    """A slip such as a whole column times a whole row is refused before it fills the memory."""
    side = 1025
    assert side * side > MAX_CELLS
    assert call("GPUS", [[[1.0]] * side, [[2.0] * side]]) == NUM


# what must go with the other arguments' examples
FITTING: Final = {
    "experts_per_token": (1.0,),
    "lost_regions": (0.0, 1.0, 2.0),
    "busy_replicas": (0.5, 8.25, 16.5, 25.0),
    "spares": (0.0, 1.0, 13.0),
    "output_tps": (2e3, 20_000.5, 3e6),
    "calendar_year": (2026.0, 2027.0, 2030.0),
    "calendar_month": tuple(map(float, range(1, 13))),
    "fiscal_start": (1.0, 2.0, 4.0, 10.0),
    "old_usd": (100_001.0, 140_000.5),
    "all_busy": (0.5, 8.25, 25.0),
}


def column_of_everything(argument: Number, name: str = "") -> list[list[Any]]:
    """Numbers within the argument's bounds, with one of each other kind of cell among them."""
    odd = [None, "", "x", True, False, DIV0, NA, -1.0, -0.0, float("nan"), float("inf"), 1e308, 5e-324, 10**400, 3, 1.5]
    good = [1.0 + i if argument.whole else (1 + i) / 500 if argument.high else 40 + i / 7 for i in range(VECTOR_FROM)]
    if argument.whole and argument.high:  # yes or no
        good = [float(i % 2) for i in range(VECTOR_FROM)]
    if name in FITTING:
        good = list(islice(cycle(FITTING[name]), VECTOR_FROM))
    column: list[list[Any]] = [[x] for x in good]
    for i, cell in enumerate(odd):
        column[5 * i] = [cell]
    return column


def bits(block: list[list[Any]]) -> list[list[str]]:
    """Elements told apart to the last bit, the sign of zero included."""
    return [[x.hex() if isinstance(x, float) else repr(x) for x in row] for row in block]


@pytest.mark.parametrize("name", [s.name for s in FUNCTIONS.values() if s.native])
def test_vector_and_loop_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole columns and element by element: the same to the last bit, bad elements included."""
    spec, numbers = FUNCTIONS[name], []
    for position, (argument_name, argument) in enumerate(spec.args.items()):
        args: list[Any] = list(spec.examples)
        args[position] = column_of_everything(argument, argument_name)
        fast = call(name, args)
        monkeypatch.setattr(capacity.call, "VECTOR_FROM", MAX_CELLS + 1)
        slow = call(name, args)
        monkeypatch.undo()
        assert bits(fast) == bits(slow)
        numbers.append(sum(not isinstance(x, ExcelError) for [x] in fast))
    assert max(numbers) > 100  # the comparison was not of errors alone; some arguments have few values with an answer


def test_vector_and_loop_agree_on_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column against a row, with odd cells in both."""
    row = [[0.5, None, 0.65, 2.0, "x", 0.3]]
    args = [column_of_everything(FUNCTIONS["REPLICAS"].args["busy_replicas"]), row, OMITTED]
    fast = call("REPLICAS", args)
    monkeypatch.setattr(capacity.call, "VECTOR_FROM", MAX_CELLS + 1)
    assert bits(fast) == bits(call("REPLICAS", args))
    assert fast[1][0] == 81.0


def by_elements(name: str, args: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """The block with neither NumPy nor a loop over the whole of it."""
    with monkeypatch.context() as patch:
        patch.setattr(capacity.call, "VECTOR_FROM", MAX_CELLS + 1)
        return call(name, args)


@pytest.mark.parametrize("name", [s.name for s in FUNCTIONS.values() if s.native])
def test_whole_columns_in_plain_python_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without NumPy a block of good cells is one loop, the same to the last bit; odd ones get their errors."""
    spec = FUNCTIONS[name]
    monkeypatch.setitem(sys.modules, "numpy", None)
    for position, (argument_name, argument) in enumerate(spec.args.items()):
        args: list[Any] = list(spec.examples)
        args[position] = column_of_everything(argument, argument_name)
        assert bits(call(name, args)) == bits(by_elements(name, args, monkeypatch))
        args[position] = [row for row in args[position] for _ in range(2) if argument.floats(row)]
        slow = by_elements(name, args, monkeypatch)
        if not any(isinstance(x, ExcelError) for [x] in slow):
            with monkeypatch.context() as patch:
                patch.setattr(capacity.call, "_prepare", lambda *_: pytest.fail("done element by element"))
                assert bits(call(name, args)) == bits(slow)


@pytest.mark.parametrize(
    "args",
    [
        [[[float(i)] for i in range(VECTOR_FROM)], [[2.0, 4.0, 8.0]]],
        [[[2.0, 4.0, 8.0]], [[float(i + 1)] for i in range(VECTOR_FROM)]],
        [[[float(i + j) for j in range(3)] for i in range(VECTOR_FROM)], [[2.0], *[[4.0]] * (VECTOR_FROM - 1)]],
        [[[float(i + j) for j in range(3)] for i in range(VECTOR_FROM)], [[1.0, 2.0, 4.0]]],
        [[[None, 3, -0.0]] * VECTOR_FROM, 2],
        [[[1.0] * VECTOR_FROM], [[2.0] * VECTOR_FROM]],
    ],
    ids=["column by row", "row by column", "block by column", "block by row", "blank, whole, minus zero", "rows"],
)
def test_blocks_in_plain_python_agree(args: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    slow = by_elements("GPUS", args, monkeypatch)
    monkeypatch.setattr(capacity.call, "_prepare", lambda *_: pytest.fail("done element by element"))
    assert bits(call("GPUS", args)) == bits(slow)


def test_blocks_that_do_not_fit_agree(loop_only: None) -> None:
    """Shapes that neither match nor repeat: #N/A beyond the edge, however large the block is."""
    long, short = [[1.0]] * (VECTOR_FROM + 2), [[2.0]] * VECTOR_FROM
    assert call("GPUS", [long, short]) == [[2.0]] * VECTOR_FROM + [[NA]] * 2


def test_a_missing_argument_in_a_large_block() -> None:
    assert call("GPUS", [[[1.0]] * VECTOR_FROM]) == [[VALUE]] * VECTOR_FROM


def test_error_values_are_values() -> None:
    assert ExcelError("#N/A") == NA != NUM
    assert len({ExcelError("#N/A"), NA, NUM}) == 2
    assert repr(NA) == "#N/A"
