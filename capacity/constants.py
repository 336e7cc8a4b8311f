"""Fitted constants of the refined model, as data: value, unit, meaning, and what they were fitted to.

One global set: constants per GPU generation, engine or cell make predictions for models left out worse. Source: those
of capacity/data/constants.json, which `python -m capacity.evidence.fit` fits to 917 published benchmark rows, as this
chain spells them (`evidence/chain.py`). Leaving whole models out: output tok/s 9.9% median error, TPOT 10.1%. Constants
without which models left out are predicted no worse are neutral: 0, or 1 for the exponent. Collected 2026-11-29;
confidence medium: measure your own replica.
"""

from typing import Final, NamedTuple


class Constant(NamedTuple):
    """A fitted constant."""

    value: float
    unit: str
    meaning: str
    bounds: dict[str, float] = {"ge": 0}  # noqa: RUF012  # a default of a tuple, never changed


_SHARE: Final[dict[str, float]] = {"gt": 0, "le": 1}

FITTED: Final[dict[str, Constant]] = {
    "mfu_prefill_dense": Constant(0.7615, "fraction", "share of peak that dense layers reach in prefill", _SHARE),
    "mfu_prefill_experts": Constant(0.226, "fraction", "share of peak that routed experts reach in prefill", _SHARE),
    "mfu_attention": Constant(0.5111, "fraction", "share of the BF16 peak that attention reaches in prefill", _SHARE),
    "mfu_decode": Constant(0.7615, "fraction", "share of peak that dense layers reach in decode", _SHARE),
    "mfu_experts": Constant(0.226, "fraction", "share of peak that routed experts reach in decode", _SHARE),
    "mbu_dense": Constant(0.9349, "fraction", "share of bandwidth reached when reading dense weights", _SHARE),
    "mbu_experts": Constant(0.9349, "fraction", "share of bandwidth reached when reading expert weights", _SHARE),
    "mbu_kv": Constant(0.6542, "fraction", "share of bandwidth reached when reading KV cache", _SHARE),
    "host_ms": Constant(0.7621, "ms", "host time per decode step"),
    "launch_us": Constant(4.532, "us", "launch of one kernel"),
    "prefill_base_ms": Constant(0, "ms", "fixed time per prompt"),
    "prefill_layer_us": Constant(107.4, "us", "fixed time per prompt and layer"),
    "activation_passes": Constant(23.36, "count", "times that a layer's activations cross the memory bus"),
    "allreduce_latency_us": Constant(2.1, "us", "latency of an all-reduce between two GPUs"),
    "allreduce_growth": Constant(0, "fraction", "growth of that latency per doubling of the GPUs"),
    "link_efficiency": Constant(0.5679, "fraction", "share of the link's rate that a collective reaches", _SHARE),
    "one_shot_share": Constant(
        0, "fraction", "share of decode all-reduces that send everything at once", {"ge": 0, "le": 1}
    ),
    "alltoall_latency_us": Constant(16.8, "us", "latency of an expert all-to-all"),
    "coverage_exponent": Constant(1, "fraction", "correlation of the experts that sequences choose", {"gt": 0}),
    "expert_tokens": Constant(18.06, "tokens", "tokens for which a touched expert computes at least"),
    "expert_imbalance": Constant(0, "fraction", "extra time of the busiest GPU under expert parallelism"),
    "overlap_power": Constant(3.0, "count", "sharpness of the roofline's corner between bytes and FLOPs", {"ge": 1}),
}

# Of TTFT in closed loops, for an engine that is not known: engines schedule prompts differently.
TTFT_FITTED: Final[dict[str, Constant]] = {
    "ttft_steps": Constant(2.039, "count", "steps before: decode steps that pass before a request's prefill begins"),
    "ttft_burst": Constant(0.8347, "count", "wave: prompts that arrive with a request and are read before it"),
    "ttft_queue": Constant(
        0.05227, "fraction", "share that queues: of the other prompts of a batch, those that a request waits for"
    ),
}
# Of all engines: fitted to TTFT by percentile, evidence.percentiles.
TTFT_ECHO: Final = Constant(0.29, "fraction", "echo of the start: share of its burst that comes together again")


def value(name: str) -> float:
    """Value of a fitted constant.

    >>> value("mbu_dense")
    0.9349
    """
    return FITTED[name].value
