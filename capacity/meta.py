"""Functions about the functions: which version answers, and why a result is what it is."""

from typing import Annotated, Any

from ._version import VERSION
from .arguments import Ignored, Text
from .explain import explain
from .registry import function


@function(
    "Version of the add-in",
    returns="text",
    words="version of the installed functions",
    native="",
    derivation="the functions of llm-capacity {result} answer",
    source="CHANGELOG",
)
def capacity_version(
    ignored: Annotated[Any, Ignored("any value: a cell that depends on it is calculated again when it changes")] = 0,
) -> str:
    """Version of the functions that answer; #NAME? in a cell where the add-in is missing.

    >>> capacity_version() == capacity_version("anything")
    True
    """
    return VERSION


@function(
    "Explanation",
    returns="text",
    words="the derivation of a result with its numbers, or what is wrong with an argument",
    native="",
    derivation="",
    source="The definitions of the functions",
)
def capacity_explain(
    function_name: Annotated[str, Text("name of a function, e.g. REPLICAS", example="REPLICAS")],
    *args: Any,
) -> str:
    """One sentence: how the result comes about, or which argument breaks which rule.

    >>> capacity_explain("REPLICAS")
    '16.67 busy replicas / 0.65 = 25.65, rounded up to 26 replicas'
    >>> capacity_explain("REPLICAS", 16.67, 65)
    'utilization must be > 0 and < 1: 65; did you mean 0.65?'
    """
    return explain(function_name, args)
