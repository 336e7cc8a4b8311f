"""A serving benchmark in closed form: decode step, prefill, batch that fits, closed loop and offline run.

One set of formulas, for one row of floats and for arrays of rows: `Ops` holds what the two spell differently. Times
are in seconds, sizes in bytes, rates per second.
"""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from .constants import Constants


class Ops(NamedTuple):
    """What floats and arrays spell differently."""

    maximum: Callable[[Any, Any], Any]
    minimum: Callable[[Any, Any], Any]
    where: Callable[[Any, Any, Any], Any]


FLOATS: Final = Ops(
    lambda a, b: a if a > b else b,
    lambda a, b: a if a < b else b,
    lambda condition, a, b: a if condition else b,
)
ENDLESS: Final = math.inf  # requests of an offline run of which only the steady state is known


class Case(NamedTuple):
    """What a row is to the formulas (`cases.case`): each a float, or an array with an element for each row."""

    layers: Any
    hidden: Any
    moe_layers: Any
    chosen_share: Any  # experts per token / experts; 1 where there are none
    kernels: Any  # launched in a decode step
    dense_read: Any  # bytes per GPU and step: dense weights and LM head
    experts_read: Any  # bytes per GPU: all routed experts
    stored: Any  # bytes per GPU: all weights
    dense_params: Any  # per GPU: multiply each token of the GPU's own batch; LM head included
    expert_params: Any  # per GPU: all routed experts
    prompt_dense_params: Any  # per GPU of the replica: multiply each prompt token; without LM head
    prompt_expert_params: Any  # per GPU of the replica: the chosen experts
    tp: Any
    dp: Any  # attention-DP groups
    bandwidth: Any
    link: Any  # one way
    memory: Any  # usable
    bf16_flops: Any
    dense_flops: Any
    expert_flops: Any
    attention_flops: Any  # per GPU, of one prompt
    kv_mean: Any  # bytes per GPU and sequence in the middle of its reply
    kv_peak: Any  # bytes per GPU and sequence at its end
    prompt: Any  # tokens
    reply: Any  # tokens
    wanted: Any  # sequences that the client keeps running: the concurrency, or all requests of an offline run
    requests: Any  # of an offline run
    offline: Any  # 1 or 0
    ttft_steps: Any  # the engine's own constant
    ttft_burst: Any  # the engine's own constant
    ttft_queue: Any  # the engine's own constant


class Outcome(NamedTuple):
    """What a run yields."""

    output_tokens_per_s: Any
    tpot: Any
    ttft: Any
    batch: Any  # sequences that run at once
    capacity: Any  # sequences that the KV pool holds
    step: Any
    prefill: Any


def step(c: Case, k: Constants, batch: Any) -> Any:
    """Time of one decode step of a batch that is spread over the replica."""
    own = batch / c.dp
    read = c.dense_read / (c.bandwidth * k.mbu_weights)
    computed = 2 * c.dense_params * own / (c.dense_flops * k.mfu_dense)
    dense = _joined(read, computed, k.overlap_power)
    covered = 1 - (1 - c.chosen_share) ** batch
    read = c.experts_read * covered / (c.bandwidth * k.mbu_weights)
    load = c.chosen_share * batch + covered * k.expert_tokens
    computed = 2 * c.expert_params * load / (c.expert_flops * k.mfu_experts)
    experts = _joined(read, computed, k.overlap_power)
    kv = batch * c.kv_mean / (c.bandwidth * k.mbu_kv)
    latency = (c.tp > 1) * (c.dp <= 1) * 2 * c.layers * k.allreduce_latency_us / 1e6
    latency = latency + (c.dp > 1) * 2 * c.moe_layers * k.alltoall_latency_us / 1e6
    fixed = k.host_ms / 1e3 + c.kernels * k.launch_us / 1e6
    return dense + experts + kv + _reduced(c, k, batch) + _activations(c, k, own) + latency + fixed


def prefill(c: Case, k: Constants) -> Any:
    """Time that one prompt takes of the replica, without what it costs whatever its length."""
    dense = 2 * c.prompt * c.prompt_dense_params / (c.dense_flops * k.mfu_dense)
    experts = 2 * c.prompt * c.prompt_expert_params / (c.expert_flops * k.mfu_experts)
    attention = c.attention_flops / (c.bf16_flops * k.mfu_attention)
    return dense + experts + attention + _reduced(c, k, c.prompt) + _activations(c, k, c.prompt / c.dp)


def _joined(read: Any, computed: Any, power: Any) -> Any:
    """The larger of two times, with a rounded corner."""
    return (read**power + computed**power) ** (1 / power)


def _reduced(c: Case, k: Constants, tokens: Any) -> Any:
    """All-reduces over the links: two per layer, around a ring; none under attention-DP."""
    ring = 2 * (c.tp - 1) / c.tp
    return (c.dp <= 1) * 2 * c.layers * ring * tokens * c.hidden * 2 / (c.link * k.link_efficiency)


def _activations(c: Case, k: Constants, tokens: Any) -> Any:
    """Activations over the memory bus, on every GPU of a tensor-parallel group alike."""
    return k.activation_passes * c.layers * c.hidden * 2 * tokens / c.bandwidth


def pool(c: Case, k: Constants) -> Any:
    """Bytes per GPU for KV."""
    return (c.memory - c.stored - k.reserve_gb * 1e9) * k.memory_fraction


def run(c: Case, k: Constants, x: Ops) -> Outcome:
    """The run: in a cycle a batch decodes its replies and prefills as many prompts, with no overlap between the two.

    An offline run packs short prompts into one pass, and its batch is not full while it begins and ends. In a closed
    loop a request waits for the steps that run, for its own prefill and those before it, and above capacity for a seat.
    """
    capacity = x.minimum(x.maximum(pool(c, k) / c.kv_peak, 1.0), k.largest_batch * c.dp)
    batch = x.minimum(c.wanted, capacity)
    one = step(c, k, batch)
    own = prefill(c, k)
    packed = x.where(c.offline, 1 + x.minimum(k.pass_tokens / c.prompt, 8.0), 1.0)
    each = own + c.layers * k.prefill_layer_us / 1e6 / packed
    cycle = c.reply * one + batch * each
    whole = batch * c.reply / (cycle * (1 + k.ramp * batch / c.requests))

    first = c.ttft_steps * one + each * (1 + c.ttft_burst * (1 - 1 / batch) + c.ttft_queue * (batch - 1))
    first = x.minimum(first, k.longest_first * cycle)
    later = x.maximum(c.reply - 1, 1.0)
    tpot = (cycle - first) / later
    asked = x.where(c.offline, batch, c.wanted)
    ttft = first + (asked - batch) / batch * cycle
    closed = asked * c.reply / (ttft + tpot * later)
    return Outcome(x.where(c.offline, whole, closed), tpot, ttft, batch, capacity, one, own)
