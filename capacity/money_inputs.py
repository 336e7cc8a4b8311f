"""What the money's sheets are planned from; illustrative until a team enters its own."""

from collections.abc import Callable
from typing import Any, Final

from .arguments import Number
from .conversation import deadline_tps, session_tokens, turn_output_tokens
from .headroom import HEADROOM_INPUTS
from .registry import spec_of
from .users import kept_users, mean_req_per_s, new_users, requests_per_month


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
    **_of(session_tokens, "system", "per_turn", "output"),
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
