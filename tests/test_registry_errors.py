"""The definitions' errors: one sentence each, what is missing, the nearest name, and in another process."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import capacity
import capacity.plan
from capacity.arguments import REQUIRED
from capacity.plan import INPUTS
from capacity.registry import FUNCTIONS, Function, find

NUMERIC = [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items() if spec.native]


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("utilization", 65, "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        ("utilization", 1, "utilization must be > 0 and < 1: 1"),
        ("utilization", 0, "utilization must be > 0 and < 1: 0"),
        ("mfu", 50, "mfu must be > 0 and <= 1: 50; did you mean 0.5?"),
        ("mfu", 500, "mfu must be > 0 and <= 1: 500"),
        ("mfu", 5, "mfu must be > 0 and <= 1: 5; did you mean 0.05?"),
        ("mfu", 1.5, "mfu must be > 0 and <= 1: 1.5"),
        ("mfu", "50%", "mfu must be a number: '50%'"),
        ("mfu", True, "mfu must be a number: True"),
        ("mfu", None, "mfu must be a number: None"),
        ("mfu", float("nan"), "mfu must be a finite number: nan"),
        ("tp", 0, "tp must be a whole number >= 1: 0"),
        ("tp", 1.5, "tp must be a whole number >= 1: 1.5"),
        ("tp", float("inf"), "tp must be a finite number: inf"),
        ("tp", 10**400, "tp must be a finite number: 100000000000000000000000000000000000000000000000000000000..."),
        ("cache_hit", -0.1, "cache_hit must be >= 0 and <= 1: -0.1"),
        ("gpu_gb", -1, "gpu_gb must be > 0: -1"),
        ("prompt_tokens", -1, "prompt_tokens must be >= 0: -1"),
    ],
)
def test_rule_sentences(name: str, value: Any, sentence: str) -> None:
    """One sentence: argument, rule, value, and a guess where a percentage was typed."""
    with pytest.raises(capacity.InputError) as caught:
        INPUTS[name].check(name, value)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("spec", NUMERIC)
def test_missing_arguments(spec: Function) -> None:
    """With any argument given, those without a default are required; too many and unknown ones are refused."""
    by_name = dict(zip(spec.args, spec.examples, strict=True))
    for name, argument in spec.args.items():
        others = {n: x for n, x in by_name.items() if n != name}
        if argument.default is REQUIRED and others:  # without any argument it is the worked example
            with pytest.raises(capacity.InputTypeError, match=f"^{name} is required: it was left out$"):
                spec.public(**others)
        else:
            assert spec.public(**others) == spec.public()
    with pytest.raises(capacity.CapacityError, match="takes at most"):
        spec.public(*spec.examples, 1.0)
    with pytest.raises(capacity.CapacityError, match="has no argument nonsense"):
        spec.public(*spec.examples, nonsense=1.0)
    assert spec.public(**by_name) == spec.public() == spec.public(*spec.examples)


@pytest.mark.parametrize(
    ("call", "family"),
    [
        (lambda: capacity.replicas(16.67, 65), capacity.InputError),
        (lambda: capacity.replicas("x"), capacity.InputTypeError),
        (lambda: capacity.kv_pool_gb(24, 35), capacity.Infeasible),
        (lambda: find("replica"), capacity.UnknownName),
    ],
)
def test_errors_survive_another_process(call: Callable[[], Any], family: type[capacity.CapacityError]) -> None:
    """An error raised in a worker process arrives with its family, sentence and details."""
    with pytest.raises(family) as caught:
        call()
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), vars(copy)) == (type(caught.value), str(caught.value), vars(caught.value))


def test_find_says_what_comes_nearest() -> None:
    assert find(" replicas ").name == "REPLICAS"
    with pytest.raises(capacity.UnknownName, match="no function is called 'REPLICA'; did you mean 'REPLICAS'"):
        find("replica")


def test_a_cell_pays_for_no_search_of_the_nearest_name() -> None:
    """A cell shows #N/A only; a column of unknown names would take seconds otherwise."""
    program = (
        "import sys; from capacity.call import call\n"
        "print(call('MODEL', [[['Llam'], ['x']], 'layers']), call('CAPACITY_EXPLAIN', ['REPLICA']))\n"
        "print('difflib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[[#N/A], [#N/A]] #N/A\nFalse\n"


def test_nothing_comes_near_a_name_that_is_far_too_long() -> None:
    error = capacity.UnknownName("model", "a" * 101, ["a" * 99])
    assert (error.near, capacity.UnknownName("model", "a" * 100, ["a" * 99]).near) == ("", "a" * 99)
    assert str(error).endswith(f"...; the models are {'a' * 99}")
