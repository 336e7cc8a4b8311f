"""The plan's inputs from outside: a model generated from the registry, with the registry's sentences."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import capacity
from capacity.plan import INPUTS, plan
from capacity.schema import PlanInputs, sentence


def test_defaults_are_the_worked_example() -> None:
    assert PlanInputs().model_dump() == {name: a.example for name, a in INPUTS.items()}


def test_what_it_holds_is_what_the_plan_takes() -> None:
    inputs = PlanInputs(req_per_s="100", tp=4)
    assert plan(dict(inputs)) == plan({"req_per_s": 100, "tp": 4})


@pytest.mark.parametrize("name", INPUTS)
def test_schema_documents_each_input(name: str) -> None:
    """Unit, meaning and bounds stand in the JSON schema."""
    argument, shown = INPUTS[name], PlanInputs.model_json_schema()["properties"][name]
    assert shown["unit"] == argument.unit
    assert argument.meaning in shown["description"]
    bounds = {"exclusiveMinimum": argument.gt, "minimum": argument.ge, "exclusiveMaximum": argument.lt}
    bounds |= {"maximum": argument.le, "multipleOf": 1 if argument.whole else None}
    assert {key: shown.get(key) for key in bounds} == bounds


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"utilization": 65}, "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        ({"utilization": "65"}, "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        ({"mfu": "half"}, "mfu must be a number: 'half'"),
        ({"mfu": None}, "mfu must be a number: None"),
        ({"mfu": True}, "mfu must be a number: True"),
        ({"mfu": "inf"}, "mfu must be a finite number: inf"),
        ({"tp": 1.5}, "tp must be a whole number >= 1: 1.5"),
        ({"tp": np.array([1, 2])}, "tp must be one number: 'ndarray'"),
        ({"mfo": 0.5}, "no input is called 'mfo'; did you mean 'mfu'?"),
        ({"model_config": 1}, "no input is called 'model_config'; the inputs are req_per_s, prompt_tokens"),
    ],
)
def test_sentences(data: dict[str, Any], expected: str) -> None:
    """The model says what the registry says, and so does the plan itself of what is no text."""
    with pytest.raises(ValidationError) as caught:
        PlanInputs.model_validate(data)
    assert sentence(caught.value).startswith(expected)
    if not any(isinstance(x, str) for x in data.values()):
        with pytest.raises(capacity.CapacityError) as direct:
            plan(data)
        assert str(direct.value) == sentence(caught.value)


def test_data_that_is_no_mapping() -> None:
    with pytest.raises(ValidationError):
        PlanInputs.model_validate([1, 2])


def test_inputs_do_not_change() -> None:
    with pytest.raises(ValidationError):
        PlanInputs().mfu = 0.4
