"""Facts of the catalogue as functions: one figure or text of a model or a GPU."""

from typing import Annotated

from . import catalogue
from .arguments import Text
from .registry import function

_SOURCE = "The catalogue (capacity/data), where each row names its source and date"


@function(
    "Fact of a model",
    returns="number or text",
    words="the model's entry in that column of the catalogue",
    native="",
    derivation="{field} of {name} is {result} in the catalogue",
    source=_SOURCE,
)
def model(
    name: Annotated[str, Text("name or alias", bounds="a model of the catalogue", example="Llama-3.3-70B")],
    field: Annotated[str, Text("fact that is asked for", bounds="a column of the models", example="total_params")],
) -> float | str:
    """One fact of a model; #N/A for an unknown model or column, and where there is no figure.

    >>> model("llama-3.3-70b", "kv_bytes_per_token_full")
    327680.0
    """
    return catalogue.known_models().value(name, field)


@function(
    "Fact of a GPU",
    returns="number or text",
    words="the GPU's entry in that column of the catalogue",
    native="",
    derivation="{field} of {name} is {result} in the catalogue",
    source=_SOURCE,
)
def gpu(
    name: Annotated[str, Text("name or alias", bounds="an accelerator of the catalogue", example="H200 SXM")],
    field: Annotated[
        str, Text("fact that is asked for", bounds="a column of the accelerators", example="bandwidth_tb_s")
    ],
) -> float | str:
    """One fact of a GPU; #N/A for an unknown GPU or column, and where there is no figure.

    >>> gpu("H200", "fp8_tflops")
    1979.0
    """
    return catalogue.gpus().value(name, field)
