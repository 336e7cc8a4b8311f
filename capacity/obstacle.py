"""Why a plan does not run as it stands, in one sentence for all outputs of the command line."""

from collections.abc import Mapping

from .explain import number


def plan_obstacle(value: Mapping[str, float | str], batch: float) -> str:
    """Why the plan does not run as it stands; "" when it does. It is priced all the same.

    value: the plan's steps by name
    """
    pool, most = value["kv_pool_gb"], value["max_seqs"]
    if isinstance(pool, str):
        return f"Does not run: the {pool}"
    if isinstance(most, str) or batch <= most:  # words: a sequence without tokens takes no room
        return ""
    return f"Does not run as planned: only {room_words(most)} beside the weights, the batch is {number(batch)}"


def room_words(most: float | str) -> str:
    """How many sequences fit, or the words in place of the number."""
    return most if isinstance(most, str) else f"{number(most)} {'sequence fits' if most == 1 else 'sequences fit'}"
