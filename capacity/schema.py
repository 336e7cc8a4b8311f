"""The planner's inputs as a pydantic model: for data that comes from outside, and for a JSON schema of it.

The model is generated from the registry, and so are its error messages: each is the registry's own sentence.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import PydanticCustomError

from .arguments import Number, typed
from .errors import CapacityError, UnknownName
from .plan import INPUTS, checked

__all__ = ["PlanInputs", "as_pydantic", "sentence"]


class _Inputs(BaseModel):
    """The planner's inputs; each has the worked example's value as its default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: Any) -> Any:
        """An unknown input gets the registry's sentence, which says what comes nearest."""
        for name in data if isinstance(data, Mapping) else ():
            if name not in INPUTS:
                raise as_pydantic(UnknownName("input", str(name), INPUTS))
        return data


def as_pydantic(error: CapacityError) -> PydanticCustomError:
    """The same sentence as pydantic reports it, without a prefix; the error value of a cell is its type."""
    return PydanticCustomError(error.code, "{sentence}", {"sentence": str(error)})


def _check(name: str, value: Any) -> float:
    """The registry's check; a number written as text, as command lines and CSV files have it, counts as a number."""
    if isinstance(value, str):
        value = typed(value)  # of text that is no number the check below says so
    try:
        return float(checked(name, value))
    except CapacityError as error:
        raise as_pydantic(error) from None


def _field(name: str, argument: Number) -> Any:
    """A field of the model. Its constraints only document the bounds: the check before them has the last word."""
    bounds = {key: getattr(argument, key) for key in ("gt", "ge", "lt", "le")}
    about = Field(
        default=argument.example,
        title=name,
        description=f"{argument.meaning} [{argument.unit}], {argument.bounds}",
        multiple_of=1 if argument.whole else None,
        json_schema_extra={"unit": argument.unit},
        **bounds,
    )
    return Annotated[float, about, BeforeValidator(partial(_check, name))]


PlanInputs: Any = create_model(
    "PlanInputs",
    __base__=_Inputs,
    __doc__=_Inputs.__doc__,
    **{name: _field(name, argument) for name, argument in INPUTS.items() if isinstance(argument, Number)},
)


def sentence(error: ValidationError) -> str:
    """What is wrong, in one sentence: that of the first fault found.

    >>> try:
    ...     PlanInputs(utilization=65)
    ... except ValidationError as error:
    ...     print(sentence(error))
    utilization must be > 0 and < 1: 65; did you mean 0.65?
    """
    return str(error.errors(include_url=False)[0]["msg"])
