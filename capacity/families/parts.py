"""What models are made of: tensors with their size, and what a layer keeps in memory for each sequence."""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

BF16: Final = 2  # bytes of an element of the KV cache
FP32: Final = 4


class Kind(Enum):
    """What a part of a layer does."""

    MIXER = "attention, or what stands in its place"
    DENSE = "a feed-forward network"
    EXPERTS = "a mixture of experts"
    OTHER = "norms and the like"


class Tensor(NamedTuple):
    """A weight, or several alike: the name as checkpoints spell it, the parameters, whether quantization may apply."""

    name: str
    size: int
    linear: bool = False
    routed: bool = False  # of the experts among which the router chooses


class Cache(NamedTuple):
    """What one layer keeps, in bytes at BF16, and the shape of its attention."""

    growing: int = 0  # per token of the context
    windowed: int = 0  # per token, for at most `window` tokens
    window: int = 0
    state: int = 0  # per sequence, whatever its length
    indexed: int = 0  # per token: keys of a sparse-attention indexer
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0  # of the keys
    width: int = 0  # query heads x (dimension of the keys + of the values) / 2
    replicated: bool = False  # the same on every tensor-parallel rank, since there are no heads to divide
    qk_norm: bool = False


class Experts(NamedTuple):
    """A mixture: how many experts, how many of them each token takes, their width, and the experts that all take."""

    total: int
    chosen: int
    width: int
    shared: int = 0


class Part(NamedTuple):
    """A part of a layer."""

    kind: Kind
    tensors: tuple[Tensor, ...]
    cache: Cache | None = None
    experts: Experts | None = None


def linear(name: str, outputs: int, inputs: int, *, bias: bool = False, copies: int = 1) -> list[Tensor]:
    """A matrix that quantization may shrink; a bias never is."""
    matrix = Tensor(name, outputs * inputs * copies, linear=True)
    return [matrix, Tensor(f"{name}.bias", outputs * copies)] if bias else [matrix]


def vector(name: str, size: int) -> Tensor:
    """Anything that stays as it is: norms, convolutions, routers, scales."""
    return Tensor(name, size)


def norms(hidden: int, count: int) -> Part:
    """Norms of the width of the model."""
    return Part(Kind.OTHER, (vector("norms", count * hidden),))


def named(prefix: str, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Tensors within a module."""
    return tuple(t._replace(name=f"{prefix}.{t.name}") for t in tensors)
