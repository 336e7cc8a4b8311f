"""Whatever goes in: a finite number, a text of the closed list or an error comes out; and physics is monotone."""

import math
from collections.abc import Callable
from typing import Any

import formualizer
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import capacity
from capacity.arguments import OMITTED, Number
from capacity.call import NA, NUM, VALUE, ExcelError, call
from capacity.plan import INPUTS, plan
from capacity.registry import FUNCTIONS, Function
from capacity.tpot import FAILS, MEASURE, SAFE

# derandomized: a red run means that the code changed, not that luck did
FAST = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
NUMERIC = [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items() if spec.native]
SPECS = [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items()]
VERDICTS = {SAFE, MEASURE, FAILS}
ERRORS = {VALUE, NUM, NA}

anything = st.one_of(
    st.floats(),
    st.integers(),
    st.sampled_from([0.0, -0.0, 5e-324, 1e-300, 1e300, 1.7976931348623157e308, 10**400, math.nan, math.inf, -math.inf]),
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.sampled_from([OMITTED, *ERRORS, ExcelError("#DIV/0!")]),
)
ranges = st.tuples(st.integers(1, 3), st.integers(1, 3)).flatmap(
    lambda shape: st.lists(
        st.lists(anything, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)


def within(argument: Number) -> st.SearchStrategy[float]:
    """Values within the argument's bounds, from tiny to huge, near the worked example more often."""
    if argument.high:
        bounds: st.SearchStrategy[float] = st.floats(0, 1, exclude_min=argument.gt == 0, exclude_max=argument.lt == 1)
        return bounds
    if argument.whole:
        return st.integers(int(argument.ge or 0), 10**6).map(float)
    low = 0.0 if argument.ge == 0 else 1e-12
    return st.one_of(st.floats(low, 1e12), st.floats(0.1, 10).map(lambda f: f * (argument.example or 1)))


def plausible(argument: Number) -> st.SearchStrategy[float]:
    """Values within a factor of 100 of the worked example, and 0 where it is allowed."""
    if argument.meaning.startswith("cost of capital"):  # PMT and NPER of a cell lose a rate near 0 to rounding
        return st.one_of(st.just(0.0), st.floats(1e-3, 1))
    if argument.high or argument.whole:
        return within(argument)
    near = st.floats(0.01, 100).map(lambda f: f * (argument.example or 1))
    return st.one_of(st.just(0.0), near) if argument.ge == 0 else near


# what tells a difference, or a share that a loss makes negative
SIGNED = {"MARKUP", "MARGIN", "VARIANCE", *(name for name in FUNCTIONS if name.endswith("_EFFECT"))}


def assert_answer(spec: Function, cell: Any) -> None:
    """A finite number; for text functions a text, for facts either; or an error value."""
    if isinstance(cell, ExcelError):
        return
    if spec.returns_text or (spec.may_be_text and isinstance(cell, str)):
        assert isinstance(cell, str)
        assert spec.name != "TPOT_VERDICT" or cell in VERDICTS
        assert spec.name != "CAPACITY_VERSION" or cell == capacity.__version__
    else:
        assert type(cell) is float
        assert math.isfinite(cell)
        assert cell >= 0 or spec.name in SIGNED
        assert cell < 0 or math.copysign(1, cell) == 1  # not -0 either


def assert_sentence(error: capacity.CapacityError) -> None:
    """One line, and a value that a cell can show."""
    assert len(str(error).splitlines()) == 1
    assert ExcelError(error.code) in ERRORS


@pytest.mark.parametrize("spec", SPECS)
@FAST
@given(data=st.data())
def test_any_cell(spec: Function, data: st.DataObject) -> None:
    """A call with anything at all, as cells and as ranges."""
    most = len(spec.args) + (2 if spec.vararg else 1)
    args = data.draw(st.lists(st.one_of(anything, ranges), max_size=most))
    result = call(spec.name, args)
    for row in result if isinstance(result, list) else [[result]]:
        for cell in row:
            assert_answer(spec, cell)


@pytest.mark.parametrize("spec", NUMERIC)
@FAST
@given(data=st.data())
def test_numbers_within_bounds(spec: Function, data: st.DataObject) -> None:
    """Within the bounds there is a number, unless these arguments together have no finite answer."""
    args = [data.draw(within(a)) for a in spec.args.values() if isinstance(a, Number)]
    result = call(spec.name, args)
    assert_answer(spec, result)
    assert result in (NUM,) or not isinstance(result, ExcelError)
    sentence = call("CAPACITY_EXPLAIN", [spec.name, *args])
    assert isinstance(sentence, str)
    assert "\n" not in sentence
    assert "{" not in sentence


@pytest.mark.parametrize("spec", SPECS)
@FAST
@given(data=st.data())
def test_any_python_value(spec: Function, data: st.DataObject) -> None:
    """The Python function answers with a number or raises the one family of errors, never another."""
    values = st.one_of(anything, st.lists(st.floats(), max_size=3), st.complex_numbers(), st.dates(), st.decimals())
    args = data.draw(st.lists(values, max_size=len(spec.args) + 1))
    try:
        result = spec.public(*args)
    except capacity.CapacityError as error:
        assert_sentence(error)
    else:
        assert_answer(spec, result)


@FAST
@given(inputs=st.fixed_dictionaries({}, optional={n: within(a) for n, a in INPUTS.items() if isinstance(a, Number)}))
def test_any_plan(inputs: dict[str, float]) -> None:
    """Every step of a plan has a finite number or words, or the plan says in one sentence why it has none."""
    try:
        results = plan(inputs)
    except capacity.CapacityError as error:
        assert_sentence(error)
    else:
        assert all(isinstance(r.value, str) or (math.isfinite(r.value) and r.value >= 0) for r in results)


@pytest.mark.parametrize("spec", NUMERIC)
@settings(FAST, max_examples=10)
@given(data=st.data())
def test_cell_arithmetic_agrees(spec: Function, data: st.DataObject) -> None:
    """The hand-written cell twin gives what the function gives, wherever that is a number."""
    arguments = [a for a in spec.args.values() if isinstance(a, Number)]
    rows = data.draw(st.lists(st.tuples(*map(plausible, arguments)), min_size=20, max_size=20))
    book = formualizer.Workbook()
    book.add_sheet("S")
    for i, row in enumerate(rows, 1):
        for j, x in enumerate(row, 1):
            book.set_value("S", i, j, x)
        cells = {name: f"{chr(ord('A') + j)}{i}" for j, name in enumerate(spec.args)}
        book.set_formula("S", i, len(row) + 1, "=" + spec.native_formula(cells))
    book.evaluate_all()
    for i, row in enumerate(rows, 1):
        expected, found = call(spec.name, row), book.get_value("S", i, len(row) + 1)
        if isinstance(expected, float):
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), row
        elif isinstance(expected, str):
            assert found == expected, row


# function, argument, direction of the result when the argument grows
MONOTONE = [
    ("PROMPT_TPS", "req_per_s", 1),
    ("PROMPT_TPS", "prompt_tokens", 1),
    ("OUTPUT_TPS", "output_tokens", 1),
    ("PREFILL_US", "mfu", -1),
    ("PREFILL_US", "peak_tflops", -1),
    ("PREFILL_US", "tp", -1),
    ("PREFILL_US", "params_b", 1),
    ("PREFILL_LOAD", "cache_hit", -1),
    ("PREFILL_LOAD", "prompt_tps", 1),
    ("TTFT_FLOOR_MS", "prompt_tokens", 1),
    ("WEIGHTS_GB", "tp", -1),
    ("WEIGHTS_GB", "bytes_per_param", 1),
    ("KV_BYTES_PER_TOKEN", "layers", 1),
    ("KV_GB_PER_SEQ", "context_tokens", 1),
    ("KV_GB_PER_SEQ", "tp", -1),
    ("KV_POOL_GB", "gpu_gb", 1),
    ("KV_POOL_GB", "weights_gb", -1),
    ("MAX_SEQS", "kv_pool_gb", 1),
    ("MAX_SEQS", "kv_gb_per_seq", -1),
    ("STEP_GB", "batch", 1),
    ("DECODE_STEP_MS", "step_gb", 1),
    ("DECODE_STEP_MS", "mbu", -1),
    ("DECODE_STEP_MS", "bandwidth_tb_s", -1),
    ("REPLICA_TPS", "batch", 1),
    ("REPLICA_TPS", "step_ms", -1),
    ("DECODE_LOAD", "replica_tps", -1),
    ("BUSY_REPLICAS", "prefill_load", 1),
    ("REPLICAS", "busy_replicas", 1),
    ("REPLICAS", "utilization", -1),
    ("REPLICAS", "spares", 1),
    ("GPUS", "tp", 1),
    ("COST_PER_HOUR", "usd_per_gpu_hour", 1),
    ("USD_PER_M_TOKENS", "tokens_per_s", -1),
    ("TPOT_WORST_MS", "prefill_load", 1),
    ("TPOT_WORST_MS", "decode_load", -1),
    ("TPOT_BEST_MS", "prefill_load", 1),
    ("OVERLAP_NEEDED", "target_ms", -1),
    ("OVERLAP_NEEDED", "step_ms", 1),
    ("REQUEST_REPLICA_S", "output_tokens", 1),
    ("REQUEST_REPLICA_S", "cache_hit", -1),
    ("WORK_SHARE", "busy_replicas", -1),
    ("CHUNK_TPOT_MS", "chunk_tokens", 1),
    ("CHUNK_TPOT_BEST_MS", "chunk_tokens", 1),
    ("MAX_CHUNK_TOKENS", "target_ms", 1),
    ("MAX_CHUNK_TOKENS", "prefill_us", -1),
    ("KEEP_UP_CHUNK_TOKENS", "batch", 1),
    ("REQUEST_CHUNK_TOKENS", "budget_share", 1),
    ("MIXED_STEPS", "request_chunk_tokens", -1),
]

# input of the plan, step, direction
MONOTONE_PLANS = [
    ("mfu", "prefill_us", -1),
    ("mfu", "gpus", -1),
    ("mbu", "gpus", -1),
    ("batch", "decode_step_ms", 1),
    ("batch", "replica_tps", 1),
    ("batch", "gpus", -1),
    ("batch", "tpot_worst_ms", 1),
    ("utilization", "gpus", -1),
    ("cache_hit", "gpus", -1),
    ("req_per_s", "gpus", 1),
    ("prompt_tokens", "gpus", 1),
    ("output_tokens", "gpus", 1),
    ("spares", "cost_per_hour", 1),
    ("kv_bytes", "max_seqs", -1),
]


def assert_monotone(f: Callable[[float], Any], a: float, b: float, direction: int) -> None:
    """f does not move against the direction between two arguments, beyond the last bits."""
    low, high = sorted((a, b))
    before, after = f(low), f(high)
    if isinstance(before, float) and isinstance(after, float):
        assert direction * (after - before) >= -1e-12 * max(abs(before), abs(after))


@pytest.mark.parametrize(("name", "argument", "direction"), MONOTONE)
@FAST
@given(data=st.data())
def test_monotone(name: str, argument: str, direction: int, data: st.DataObject) -> None:
    spec = FUNCTIONS[name]
    args = {n: data.draw(within(a)) for n, a in spec.args.items() if isinstance(a, Number)}
    other = data.draw(within(spec.args[argument]))
    assert_monotone(lambda x: call(name, list({**args, argument: x}.values())), args[argument], other, direction)


@pytest.mark.parametrize(("name", "step", "direction"), MONOTONE_PLANS)
@settings(FAST, max_examples=60)
@given(data=st.data())
def test_plans_are_monotone(name: str, step: str, direction: int, data: st.DataObject) -> None:
    argument = INPUTS[name]
    a, b = data.draw(within(argument)), data.draw(within(argument))

    def value(x: float) -> Any:
        try:
            return next(r.value for r in plan({name: x}) if r.step.name == step)
        except capacity.CapacityError:
            return None  # an input so extreme that the plan has no finite answer

    assert_monotone(value, a, b, direction)


@FAST
@given(target=within(INPUTS["target_ms"]), worst=within(INPUTS["target_ms"]), share=st.floats(0.01, 1))
def test_verdicts(target: float, worst: float, share: float) -> None:
    """The verdict is what the two ends of the range say; a target met to the ninth digit is met."""
    best = worst * share
    limit = 1 + 1e-9
    expected = SAFE if worst / target <= limit else FAILS if best / target > limit else MEASURE
    assert call("TPOT_VERDICT", [target, worst, best]) == expected
