"""An option: a number of one kind of GPU as a replica. Its steps, for Python and for the workbook's table alike.

The chain is the worked example's, with the KV cache, the parameters and the weights by architecture; the batch is the
largest that meets the TPOT target. What depends on the model and on TP alone comes from the refined chain's rows.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from . import cost, decode, fleet, memory, prefill, sizing, tpot
from .plan import NO_ROOM, Guard, Step, run, step_named

# Rows of the refined chain that change with TP, not with the GPU.
BY_TP: Final = ("weights_gb", "dense_read_gb", "experts_gb", "kv_gb_per_seq")
# What an option has of its own.
OWN: Final = ("tp", "peak_tflops", "bandwidth_tb_s", "gpu_gb", "usd_per_gpu_hour")

FITS: Final = "fits"
NO_PRICE: Final = "fits, no price"
NO_OUTPUT: Final = "no output tokens"
NO_LINK: Final = "TP beyond the fast domain"
LINK_UNKNOWN: Final = "fast domain not known"
NO_FACT: Final = "memory or bandwidth not known"
NO_PEAK: Final = "no peak for {} weights"
NO_SEQUENCE: Final = "no sequence fits"
BELOW_FLOOR: Final = "TPOT target below the step floor"
NO_BATCH: Final = "TPOT target missed at batch 1"
WEIGHTS: Final = "weights do not fit"

# Refinements that an option follows, since they change with the model, not with the GPU.
FOLLOWED: Final = ("active_params", "stored_weights", "kv_layout")

_DIVIDED: Final = {"weights_gb": "dense_read_gb+experts_gb"}


def _none(name: str) -> Guard:
    """No number where that row has words."""
    return Guard("-", lambda v: isinstance(v[name], str), f"ISTEXT({{{name}}})")


_NO_ROOM: Final = _none("room")
_OBSTACLE: Final = Guard(
    lambda v: v["obstacle"], lambda v: isinstance(v["obstacle"], str), "ISTEXT({obstacle})", shows="{obstacle}"
)
_NO_BATCH: Final = _none("batch")
_NO_COST: Final = Guard(
    "-",
    lambda v: v["usd_per_gpu_hour"] is None or isinstance(v["gpus"], str),
    "COUNT({gpus},{usd_per_gpu_hour})<1+1",
)


def _gated(name: str, fn: Callable[..., Any], guard: Guard, label: str = "", **refs: str) -> Step:
    return step_named(name, fn, label, guard, **refs)


# Until the batch is known.
ROOM: Final = (
    _gated("prefill_us", prefill.prefill_us, _NO_ROOM, params_b="dense_prefill_b+prefill_routed_active_b"),
    _gated("prefill_load", prefill.prefill_load, _NO_ROOM),
    _gated("kv_pool_gb", memory.kv_pool_gb, _NO_ROOM),
    _gated("max_seqs", memory.max_seqs, _NO_ROOM),
)
BEST: Final = _gated("batch", sizing.best_batch, _OBSTACLE, **_DIVIDED)
# With the batch.
FLEET: Final = (
    _gated("step_gb", decode.step_gb, _NO_BATCH, **_DIVIDED),
    _gated("decode_step_ms", decode.decode_step_ms, _NO_BATCH),
    _gated("replica_tps", decode.replica_tps, _NO_BATCH),
    _gated("decode_load", decode.decode_load, _NO_BATCH),
    _gated("busy_replicas", fleet.busy_replicas, _NO_BATCH),
    _gated("replicas", fleet.replicas, _NO_BATCH),
    _gated("gpus", fleet.gpus, _NO_BATCH),
    _gated("billed_gpus", sizing.billed_gpus, _NO_BATCH, replica_gpus="tp"),
    _gated("tpot_worst_ms", tpot.tpot_worst_ms, _NO_BATCH),
    _gated("cost_per_hour", cost.cost_per_hour, _NO_COST),
    _gated("usd_per_m_tokens", cost.usd_per_m_tokens, _NO_COST, tokens_per_s="output_tps"),
)


def linked(tp: float, gpus_linked: float | None) -> str | float:
    """1 where a fast link connects so many GPUs, else words; what is not known counts as none."""
    if tp <= max(1.0, gpus_linked or 0.0):
        return 1.0
    return NO_LINK if gpus_linked else LINK_UNKNOWN


def _room(values: Mapping[str, Any]) -> str | float:
    """1 where the weights fit, else words."""
    return WEIGHTS if NO_ROOM.holds(values) else 1.0


def _obstacle(values: Mapping[str, Any]) -> str | float:
    """Why a replica has no batch, in words; 1 where it has one."""
    if isinstance(values["room"], str):
        return values["room"]
    if values["max_seqs"] < 1:
        return NO_SEQUENCE
    first_gb = values["dense_read_gb"] + values["experts_gb"] + values["kv_gb_per_seq"]
    readable_gb = values["target_ms"] * (1 + 1 / 1e9) * values["bandwidth_tb_s"] * values["mbu"]
    if first_gb > readable_gb:
        return BELOW_FLOOR
    prefill_share = values["prefill_load"] / values["output_tps"] * 1e3 / (values["target_ms"] * (1 + 1 / 1e9))
    return NO_BATCH if first_gb > readable_gb * (1 - prefill_share) else 1.0


def worked(values: dict[str, Any]) -> dict[str, Any]:
    """The values with those of the option's steps: words where there is no number."""
    values["room"] = _room(values)
    for step in ROOM:
        run(step, values)
    values["obstacle"] = _obstacle(values)
    for step in (BEST, *FLEET):
        run(step, values)
    return values
