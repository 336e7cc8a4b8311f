"""The same answers in every host: one table of calls, and one of the differences that hosts force."""

import math
from typing import Any

import pytest
from parity import Call, calls_of
from parity_differences import DIFFERENCES, forced
from parity_hosts import HOSTS

from capacity.arguments import Text
from capacity.call import ExcelError
from capacity.errors import CapacityError
from capacity.registry import FUNCTIONS


@pytest.fixture(scope="module", params=HOSTS)
def host(request: pytest.FixtureRequest) -> tuple[str, list[tuple[Call, Any]]]:
    """A host's name, and what its cells show for each call; it is started once."""
    calls = calls_of(request.param)
    answers = HOSTS[request.param](calls, request.getfixturevalue)
    return request.param, list(zip(calls, answers, strict=True))


def same(a: Any, b: Any) -> bool:
    """Numbers to 1e-12, whether whole or not; all else alike. A block of one cell is that cell."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, list) or isinstance(b, list):
        block, alone = (a, b) if isinstance(a, list) else (b, a)
        return same(block, [[alone]])
    if isinstance(a, int | float) and isinstance(b, int | float):
        return isinstance(a, bool) == isinstance(b, bool) and math.isclose(a, b, rel_tol=1e-12)
    return bool(a == b)


def test_every_call_is_answered_as_the_table_says(host: tuple[str, list[tuple[Call, Any]]]) -> None:
    name, answers = host
    otherwise = forced(name)
    wrong = [
        f"{call.text} is {shown}, not {expected}"
        for call, shown in answers
        if not same(shown, expected := otherwise.get(call.text, call.expected))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", HOSTS)
def test_a_difference_is_of_a_call_and_differs(name: str) -> None:
    """A row that says what the table says, or names no call of it, is of no use."""
    calls = {call.text: call for call in calls_of(name)}
    otherwise = forced(name)
    assert otherwise.keys() <= calls.keys()
    assert not [text for text, shown in otherwise.items() if same(shown, calls[text].expected)]


def test_the_table() -> None:
    """No call stands there twice, and there are as many as the README says."""
    texts = [call.text for call in calls_of("xlwings Lite")]
    assert len(texts) == len(set(texts)) >= 200
    assert {host for d in DIFFERENCES for host in d.hosts} <= set(HOSTS)


def python_takes(c: Call) -> bool:
    """Python has no blank or error cells and no ranges, and takes no number for a text."""
    pairs = zip(FUNCTIONS[c.function].args.values(), c.args, strict=False)
    texts = [x for argument, x in pairs if isinstance(argument, Text)]
    return all(isinstance(x, int | float | str) for x in c.args) and all(isinstance(x, str) for x in texts)


@pytest.mark.parametrize("c", list(filter(python_takes, calls_of("Python"))), ids=lambda c: c.text[:60])
def test_a_function_in_python_raises_what_cells_show(c: Call) -> None:
    """`capacity.gpus(26, 2)` and its like: the same numbers, and the error whose value a cell shows."""
    try:
        answer = FUNCTIONS[c.function].public(*c.args)
    except CapacityError as error:
        answer = ExcelError(error.code)
    assert same(answer, c.expected)
