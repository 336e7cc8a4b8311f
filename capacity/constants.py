"""Fitted constants of the refined model, as data: value, unit, meaning, and what they were fitted to.

One global set: constants per GPU generation, engine or cell make predictions for models left out worse. Source: fit to
the published serving benchmarks of the facts, 916 usable rows, leaving whole models out: output tok/s 10.3% median
error, TPOT 10.9%. Collected 2026-11-29; confidence medium: measure your own replica.
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
    "mfu_prefill_dense": Constant(0.6925, "fraction", "share of peak that dense layers reach in prefill", _SHARE),
    "mfu_prefill_experts": Constant(0.2633, "fraction", "share of peak that routed experts reach in prefill", _SHARE),
    "mfu_attention": Constant(0.5466, "fraction", "share of the BF16 peak that attention reaches in prefill", _SHARE),
    "mfu_decode": Constant(0.7409, "fraction", "share of peak that dense layers reach in decode", _SHARE),
    "mfu_experts": Constant(0.2952, "fraction", "share of peak that routed experts reach in decode", _SHARE),
    "mbu_dense": Constant(0.8829, "fraction", "share of bandwidth reached when reading dense weights", _SHARE),
    "mbu_experts": Constant(0.8164, "fraction", "share of bandwidth reached when reading expert weights", _SHARE),
    "mbu_kv": Constant(0.662, "fraction", "share of bandwidth reached when reading KV cache", _SHARE),
    "host_ms": Constant(0.7488, "ms", "host time per decode step"),
    "launch_us": Constant(4.244, "us", "launch of one kernel"),
    "prefill_base_ms": Constant(4.09, "ms", "fixed time per prompt"),
    "prefill_layer_us": Constant(22.43, "us", "fixed time per prompt and layer"),
    "activation_passes": Constant(26.32, "count", "times that a layer's activations cross the memory bus"),
    "allreduce_latency_us": Constant(2.181, "us", "latency of an all-reduce between two GPUs"),
    "allreduce_growth": Constant(0.3006, "fraction", "growth of that latency per doubling of the GPUs"),
    "link_efficiency": Constant(0.5979, "fraction", "share of the link's rate that a collective reaches", _SHARE),
    "one_shot_share": Constant(
        0.2612, "fraction", "share of decode all-reduces that send everything at once", {"ge": 0, "le": 1}
    ),
    "alltoall_latency_us": Constant(16.27, "us", "latency of an expert all-to-all"),
    "coverage_exponent": Constant(0.9306, "fraction", "correlation of the experts that sequences choose", {"gt": 0}),
    "expert_tokens": Constant(25.8, "tokens", "tokens for which a touched expert computes at least"),
    "expert_imbalance": Constant(0.1259, "fraction", "extra time of the busiest GPU under expert parallelism"),
    "overlap_power": Constant(3.0, "count", "sharpness of the roofline's corner between bytes and FLOPs", {"ge": 1}),
}


def value(name: str) -> float:
    """Value of a fitted constant.

    >>> value("mbu_dense")
    0.8829
    """
    return FITTED[name].value
