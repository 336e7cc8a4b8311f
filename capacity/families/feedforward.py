"""Feed-forward networks: one for all tokens, or a mixture of experts among which a router chooses."""

from .config import Config
from .parts import Experts, Kind, Part, Tensor, linear, named, vector

GATED = ("gate_proj", "up_proj", "down_proj")
UNGATED = ("up_proj", "down_proj")
MIXTRAL = ("w1", "w3", "w2")


def ffn(
    c: Config, width: int | None = None, *, matrices: tuple[str, ...] = GATED, bias: bool = False, module: str = "mlp"
) -> Part:
    """A feed-forward network; the width of the inner layer is the config's intermediate_size unless given."""
    hidden = c.whole("hidden_size")
    width = width or c.whole("intermediate_size")
    return Part(Kind.DENSE, named(module, _matrices(hidden, width, matrices, bias=bias)))


def moe(
    c: Config,
    *,
    experts: str,
    chosen: str = "num_experts_per_tok",
    width: int,
    shared: int = 0,
    shared_width: int = 0,
    shared_gate: bool = False,
    router_bias: bool = False,
    bias: bool = False,
    latent: int | None = None,
    matrices: tuple[str, ...] = GATED,
    module: str = "mlp",
    shared_module: str = "shared_experts",
) -> Part:
    """A mixture of experts.

    experts, chosen   the config's fields for the number of experts, and of those that each token takes
    width             of the inner layer of an expert
    shared            experts that every token takes; shared_width is that of all of them together
    shared_gate       their output is weighted by a gate
    router_bias       one further number per expert: a bias, or a correction of its score
    latent            width of what the experts take and yield, where it is not the model's
    """
    hidden, count = c.whole("hidden_size"), c.whole(experts)
    taken = c.whole(chosen)
    if taken > count:
        raise c.error(chosen, f"must be at most {experts} ({count})", taken)
    tensors = [vector("gate", count * (hidden + router_bias))]
    if shared:
        tensors += named(shared_module, _matrices(hidden, shared_width or shared * width, matrices))
        tensors += [vector(f"{shared_module}_gate", hidden)] if shared_gate else []
    if latent:
        tensors += linear("fc1_latent_proj", latent, hidden) + linear("fc2_latent_proj", hidden, latent)
    routed = _matrices(latent or hidden, width, matrices, bias=bias, copies=count)
    tensors += named("experts.0", [t._replace(routed=True) for t in routed])  # one name stands for all experts
    return Part(Kind.EXPERTS, named(module, tensors), experts=Experts(count, taken, width, shared))


def _matrices(hidden: int, width: int, names: tuple[str, ...], *, bias: bool = False, copies: int = 1) -> list[Tensor]:
    *up, down = names
    tensors = [t for name in up for t in linear(name, width, hidden, bias=bias, copies=copies)]
    return tensors + linear(down, hidden, width, bias=bias, copies=copies)
