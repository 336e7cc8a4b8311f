"""The families by model_type. A family is a function that says what one layer of it consists of.

To add one, write such a function with @family in dense.py, sparse.py or hybrid.py.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from .config import MOST_LAYERS, Config
from .parts import Part

Layer = list[Part]

FAMILIES: Final[dict[str, "Family"]] = {}


class Family(NamedTuple):
    """How to count the models of one kind."""

    layer: Callable[[Config, int], Layer]  # what layer number i consists of
    depth: Callable[[Config], int]  # the number of layers
    draft: Callable[[Config], Layer]  # the layers for multi-token prediction, which totals leave out
    outside: Callable[[Config], Layer]  # beyond layers, embedding, last norm and head
    tied: bool  # is the embedding the head too, where the config does not say?
    vocabulary: int | None  # its size, where the config does not say


def depth(c: Config) -> int:
    """The number of layers, as most configs give it."""
    return c.whole("num_hidden_layers", most=MOST_LAYERS)


def _nothing(c: Config) -> Layer:
    return []


def family(
    *model_types: str,
    depth: Callable[[Config], int] = depth,
    draft: Callable[[Config], Layer] = _nothing,
    outside: Callable[[Config], Layer] = _nothing,
    tied: bool = False,
    vocabulary: int | None = None,
) -> Callable[[Callable[[Config, int], Layer]], Callable[[Config, int], Layer]]:
    """Enter a family under its model types: of the text model, and of wrappers that leave the former out."""

    def enter(layer: Callable[[Config, int], Layer]) -> Callable[[Config, int], Layer]:
        for model_type in model_types:
            FAMILIES[model_type] = Family(layer, depth, draft, outside, tied, vocabulary)
        return layer

    return enter


FULL: Final = "full_attention"
SLIDING: Final = "sliding_attention"
CHUNKED: Final = "chunked_attention"
LINEAR: Final = "linear_attention"


def is_full(c: Config, i: int, otherwise: str, by_rule: bool) -> bool:
    """Does layer i see the whole context? As `layer_types` says; without that field, as the rule of the kind does."""
    if not c.has("layer_types"):
        return by_rule
    return c.words("layer_types", depth(c), (FULL, otherwise))[i] == FULL


def nth(i: int, interval: int) -> bool:
    """Is layer i, counted from 1, a multiple of the interval?"""
    return (i + 1) % interval == 0
