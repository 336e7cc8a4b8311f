"""Constants of the evidence model as the refined chain of the workbook spells them.

The chain tells apart what the model does not: prefill and decode, dense and expert weights. Its terms without which
models left out are predicted no worse have a neutral value.
"""

from typing import Final

from .constants import Fitted

_SAME: Final = {
    "mfu_prefill_dense": "mfu_dense",
    "mfu_decode": "mfu_dense",
    "mfu_prefill_experts": "mfu_experts",
    "mbu_dense": "mbu_weights",
    "mbu_experts": "mbu_weights",
}
_ALIKE: Final = (
    *("mfu_experts", "mfu_attention", "mbu_kv", "host_ms", "launch_us", "prefill_layer_us", "activation_passes"),
    *("allreduce_latency_us", "alltoall_latency_us", "link_efficiency", "expert_tokens", "overlap_power"),
)
_NEUTRAL: Final = {
    "prefill_base_ms": 0.0,
    "allreduce_growth": 0.0,
    "one_shot_share": 0.0,
    "expert_imbalance": 0.0,
    "coverage_exponent": 1.0,
}


def chain_values(fitted: Fitted) -> dict[str, float]:
    """Values of the refined chain's inputs by name, from shipped constants or those of a calibration.

    >>> from .constants import shipped
    >>> values = chain_values(shipped())
    >>> values["mbu_dense"] == values["mbu_experts"] == shipped().common.mbu_weights
    True
    """
    common = fitted.common._asdict()
    same = {name: common[source] for name, source in _SAME.items()}
    return same | {name: common[name] for name in _ALIKE} | _NEUTRAL
