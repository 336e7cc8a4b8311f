"""Results of a plan as rows, and as a pandas DataFrame; pandas is imported only when a frame is asked for."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .plan import Result, plan
from .refined import refined_results

if TYPE_CHECKING:
    from pandas import DataFrame


def record(result: Result) -> dict[str, Any]:
    """A step as `capacity plan --json` and `--csv` give it."""
    return {
        "name": result.step.name,
        "value": result.value,
        "unit": result.step.function.unit,
        "formula": result.formula,
    }


def frame(results: Iterable[Result]) -> "DataFrame":
    """A row for each step: name, quantity, value, unit, formula. A value is a number, or words where there is none."""
    from pandas import DataFrame

    rows = [record(result) | {"quantity": result.step.quantity} for result in results]
    return DataFrame(rows, columns=["name", "quantity", "value", "unit", "formula"])


def plan_frame(inputs: Mapping[str, Any] | None = None) -> "DataFrame":
    """The worked example's plan as a frame, with the inputs given put in their place.

    >>> plan_frame({"req_per_s": 100}).set_index("name").value["gpus"]
    104.0
    """
    return frame(plan(inputs))


def refined_frame(inputs: Mapping[str, Any] | None = None, switches: Mapping[str, bool] | None = None) -> "DataFrame":
    """The same with refinements switched on; inputs of both chains may be set.

    >>> refined_frame(switches={"peak_residency": True}).set_index("name").value["max_seqs"]
    164.0
    """
    return frame(refined_results(inputs, switches)[0])


def compare_frame(model: str, inputs: Mapping[str, Any] | None = None, **choices: Any) -> "DataFrame":
    """The options of capacity.compare.compare as a frame, a row each, the cheapest first.

    >>> compare_frame("Llama-3.3-70B").gpu[0]
    'MI300X'
    """
    from pandas import DataFrame

    from .compare import Option, compare

    return DataFrame(compare(model, inputs, **choices), columns=list(Option._fields))
