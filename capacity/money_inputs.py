"""What the money's sheets are planned from; illustrative until a team enters its own."""

from collections.abc import Callable
from typing import Any, Final

from .arguments import Number
from .commit import month_contract_gpus, reserve_level
from .conversation import deadline_tps, session_tokens, turn_output_tokens
from .headroom import HEADROOM_INPUTS
from .own import (
    capital_usd_per_year,
    colocation_usd_per_year,
    node_capital_usd,
    power_usd_per_year,
    support_usd_per_year,
)
from .registry import spec_of
from .renting import owned_usd_per_gpu_hour
from .users import kept_users, mean_req_per_s, new_users, requests_per_month
from .week import running_replicas, starting_replica_hours


def _of(function: Callable[..., Any], *names: str) -> dict[str, Number]:
    found = {name: spec_of(function).args[name] for name in names}
    return {name: argument for name, argument in found.items() if isinstance(argument, Number)}


DEMAND_INPUTS: Final[dict[str, Number]] = {
    **_of(new_users, "first_new_users"),
    "start_users": Number("users", "users today: active in the month before the first", example=600_000, ge=0),
    **_of(kept_users, "first_retention", "later_retention"),
    "user_growth": Number(
        "fraction", "growth of new users: per month, below 0 where they get fewer", example=0.03, gt=-1
    ),
    **_of(requests_per_month, "sessions_per_user", "turns", "requests_per_turn", "retry_share"),
    **_of(session_tokens, "system_tokens", "per_turn", "reply_tokens"),
    **_of(turn_output_tokens, "reasoning_tokens"),
    "context_growth": Number(
        "fraction", "growth of prompts: per month, below 0 where they shrink", example=0.01, gt=-1
    ),
    "batch_prompt_tokens": Number(
        "tokens", "batch prompts: tokens of a day's batch in the first month", example=864e6, ge=0
    ),
    "batch_output_tokens": Number(
        "tokens", "batch output: tokens of a day's batch in the first month", example=86.4e6, ge=0
    ),
    **_of(deadline_tps, "deadline_h"),
    "node_gpus": HEADROOM_INPUTS["node_gpus"],
    **_of(mean_req_per_s, "hours_per_month"),
}
PROFILE_INPUTS: Final[dict[str, Number]] = {
    "plan_month": Number("months", "month shown: of those on Demand", example=1, ge=1, le=36, whole=True),
    **_of(running_replicas, "warm_replicas"),
    **_of(starting_replica_hours, "start_minutes"),
}
COMMIT_INPUTS: Final[dict[str, Number]] = {
    **_of(reserve_level, "reserved_price", "on_demand_price"),
    "level_nodes": Number("nodes", "nodes of a level: reserved together", example=1, ge=1, whole=True),
    "price_growth": Number(
        "fraction", "change of on-demand prices: per month, below 0 where they fall", example=0, gt=-1
    ),
}
CONTRACT_INPUTS: Final[dict[str, Number]] = {
    **_of(month_contract_gpus, "contract_gpus", "start_month", "term_months", "ramp_share"),
    **_of(reserve_level, "reserved_price"),
    "upfront_share": Number("fraction", "upfront: share of the contract, paid as it begins", example=0, ge=0, le=1),
    "cancellable": Number("count", "cancellable: 1 for yes, 0 for no", example=0, ge=0, le=1, whole=True),
}
OWN_INPUTS: Final[dict[str, Number]] = {
    **_of(node_capital_usd, "node_usd", "extra_share"),
    **_of(capital_usd_per_year, "life_years", "residual_share", "capital_rate"),
    **_of(power_usd_per_year, "node_kw", "pue", "usd_per_kwh"),
    **_of(colocation_usd_per_year, "usd_per_kw_month"),
    **_of(support_usd_per_year, "support_share"),
    **_of(owned_usd_per_gpu_hour, "work_nodes", "spare_nodes", "node_gpus", "load"),
}
