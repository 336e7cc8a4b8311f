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
NO_TOKENS: Final = "no tokens"
NO_SEQUENCE: Final = "no sequence fits"
BELOW_FLOOR: Final = "TPOT target below the step floor"
NO_BATCH: Final = "TPOT target missed at batch 1"
WEIGHTS: Final = "weights do not fit"

_READ: Final = "dense_read_gb+experts_gb"
_DIVIDED: Final = {"weights_gb": _READ}


def _words(name: str) -> Guard:
    """Where a row before has words, the same words."""
    return Guard(lambda v: v[name], lambda v: isinstance(v[name], str), f"ISTEXT({{{name}}})", shows=f"{{{name}}}")


def _gated(name: str, fn: Callable[..., Any], label: str = "", **refs: str) -> Step:
    return step_named(name, fn, label, _words("batch"), **refs)


# Until the batch is known.
ROOM: Final = (
    step_named("prefill_us", prefill.prefill_us, params_b="dense_prefill_b+prefill_routed_active_b"),
    step_named("prefill_load", prefill.prefill_load),
    step_named("kv_pool_gb", memory.kv_pool_gb, guard=NO_ROOM),
    step_named("max_seqs", memory.max_seqs, guard=_words("kv_pool_gb")),
)
BEST: Final = step_named("batch", sizing.best_batch, "", _words("obstacle"), **_DIVIDED)
# With the batch.
FLEET: Final = (
    _gated("step_gb", decode.step_gb, **_DIVIDED),
    _gated("decode_step_ms", decode.decode_step_ms),
    _gated("replica_tps", decode.replica_tps),
    _gated("decode_load", decode.decode_load),
    _gated("busy_replicas", fleet.busy_replicas),
    _gated("replicas", fleet.replicas),
    _gated("gpus", fleet.gpus),
    _gated("billed_gpus", sizing.billed_gpus),
    _gated("tpot_worst_ms", tpot.tpot_worst_ms),
)
PRICED: Final = (
    _gated("cost_per_hour", cost.cost_per_hour),
    _gated("billed_per_hour", cost.cost_per_hour, "Cost per hour of whole nodes", gpus="billed_gpus"),
    _gated("usd_per_m_tokens", cost.usd_per_m_tokens, tokens_per_s="output_tps"),
)


def obstacle(values: Mapping[str, Any]) -> str | float:
    """Why a replica whose weights fit has no batch, in words; 1 where it has one."""
    seqs = values["max_seqs"]
    if isinstance(seqs, str):
        return seqs
    if seqs < 1:
        return NO_SEQUENCE
    limit_ms = values["target_ms"] * (1 + 1 / 1e9)
    floor_ms = (values["dense_read_gb"] + values["experts_gb"] + values["kv_gb_per_seq"]) / (
        values["bandwidth_tb_s"] * values["mbu"]
    )
    if floor_ms > limit_ms:
        return BELOW_FLOOR
    worst_ms = floor_ms + values["prefill_load"] / values["output_tps"] * 1e3
    return NO_BATCH if worst_ms > limit_ms else 1.0


def worked(values: dict[str, Any]) -> dict[str, Any]:
    """The values, and those of the option's steps as far as it goes: words where there is no number."""
    if values["output_tps"] == 0:
        return values | {"batch": NO_OUTPUT}
    if values["kv_gb_per_seq"] == 0:
        return values | {"batch": NO_TOKENS}
    for step in ROOM:
        run(step, values)
    values["obstacle"] = obstacle(values)
    run(BEST, values)
    steps = FLEET + PRICED if values["usd_per_gpu_hour"] is not None else FLEET
    for step in steps:
        run(step, values)
    return values
