"""The Python functions take NumPy arrays and pandas Series as they take numbers, and refuse what would mix them up."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import capacity
from capacity.registry import FUNCTIONS, Function

NUMERIC = [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items() if spec.native]


@pytest.mark.parametrize("spec", NUMERIC)
def test_arrays_give_what_numbers_give(spec: Function) -> None:
    """A one-dimensional array, a two-dimensional one and a Series hold the scalar results, in their own shape."""
    values = [[x if a.whole or a.high else x * f for f in (1, 1.25, 1.5)] for x, a in zip(*columns(spec), strict=True)]
    expected = [spec.public(*row) for row in zip(*values, strict=True)]
    assert spec.public(*map(np.array, values)).tolist() == expected
    assert spec.public(*(np.array([v]).T for v in values)).tolist() == [[x] for x in expected]
    series = spec.public(*(pd.Series(v, index=["a", "b", "c"]) for v in values))
    assert isinstance(series, pd.Series)
    assert series.to_dict() == dict(zip("abc", expected, strict=True))
    mixed = spec.public(pd.Series(values[0]), *(np.array(v) for v in values[1:]))
    assert list(mixed) == expected


def columns(spec: Function) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return spec.examples, tuple(spec.args.values())


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "float32", "object"])
def test_array_types(kind: str) -> None:
    """Small integers do not wrap around: 100 replicas x 2 GPUs is more than an int8 holds."""
    assert capacity.gpus(np.array([100, 26], dtype=kind), np.array([2, 2], dtype=kind)).tolist() == [200, 52]


def test_shapes_broadcast() -> None:
    assert capacity.gpus(np.array([[26], [31]]), np.array([2, 4])).tolist() == [[52, 104], [62, 124]]


@pytest.mark.parametrize(
    "number",
    [26, np.int64(26), np.float32(26), Fraction(26), np.array(26), np.array(26.0), np.array(26, dtype=object)],
)
def test_scalars_of_other_types(number: Any) -> None:
    result = capacity.gpus(number, 2)
    assert (type(result), result) == (float, 52.0)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((np.array([26.0, -1.0]), 2), r"replicas[1] must be a whole number >= 0: -1"),
        ((np.array([[26.0, 1.5]]), 2), r"replicas[0, 1] must be a whole number >= 0: 1.5"),
        ((np.array([26.0, np.nan]), 2), r"replicas[1] must be a finite number: nan"),
        ((np.array([True, False]), 2), r"replicas must be numbers, as an array or a Series: dtype('bool')"),
        ((np.array(["26"]), 2), r"replicas must be numbers, as an array or a Series: dtype('<U2')"),
        ((np.array([26, None]), 2), r"replicas[1] must be a number: None"),
        ((np.array([26, True], dtype=object), 2), r"replicas[1] must be a number: True"),
        ((np.array([[26], ["x"]], dtype=object), 2), r"replicas[1, 0] must be a number: 'x'"),
        ((pd.Series([26, "x"], index=[7, 8]), 2), r"replicas[1] must be a number: 'x'"),
        ((np.array(True), 2), r"replicas must be a number: True"),
        ((np.array("26"), 2), r"replicas must be a number: array('26'"),
        ((np.timedelta64(26, "ns"), 2), r"replicas must be a number: "),
        (
            (np.ma.array([26.0, 31.0], mask=[True, False]), 2),
            r"replicas must be numbers, as an array or a Series: 'Mas",
        ),
        ((np.ma.masked, 2), r"replicas must be a number: masked"),
        ((np.ones((1, 2)).view(np.matrix), 2), r"replicas must be numbers, as an array or a Series: 'matrix'"),
        ((np.array([26, 10**400], dtype=object), 2), r"replicas must hold finite numbers: [26, 1000"),
        ((pd.DataFrame({"replicas": [26]}), 2), r"replicas must be numbers, as an array or a Series: 'DataFrame'"),
        ((pd.array([26, None], dtype="Float64"), 2), r"replicas[1] must be a finite number: nan"),
        ((np.ones(3), np.ones(2)), r"GPUS takes arrays whose shapes broadcast: (3,) and (2,)"),
        ((pd.Series([1.0, 2.0]), np.ones(3)), r"GPUS takes arrays whose shapes broadcast: (2,) and (3,)"),
        (
            (pd.Series([1.0, 2.0]), np.ones((2, 1))),
            r"GPUS takes arrays of the Series' length beside it: (2,) and (2, 1)",
        ),
        (
            (pd.Series([1.0, 2.0]), pd.Series([1.0, 2.0], index=[1, 0])),
            r"GPUS takes Series with one and the same index",
        ),
        (([26, 31], 2), r"replicas must be a number: [26, 31]"),
        ((np.array(26.0) + 0j, 2), r"replicas must be a number: "),
    ],
)
def test_refused(args: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(capacity.CapacityError) as caught:
        capacity.gpus(*args)
    assert str(caught.value).startswith(sentence)


def test_no_finite_result_says_where() -> None:
    with pytest.raises(capacity.Infeasible, match=r"KV_POOL_GB has no finite result at \[1\] of these arrays"):
        capacity.kv_pool_gb(np.array([141.0, 24.0]), 35.3)
    with pytest.raises(capacity.Infeasible, match=r"PROMPT_TPS has no finite result at \[0\] of these arrays"):
        capacity.prompt_tps(np.array([1e200]), 1e200)


def test_an_array_is_not_explained() -> None:
    sentence = capacity.capacity_explain("REPLICAS", np.array([1.0, 2.0]))
    assert sentence == "REPLICAS can be explained for one value of each argument, not for an array"
