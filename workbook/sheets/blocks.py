"""The editable blocks of the list sheets: their rows, and the figures that the worked example prints for them."""

from typing import Final, NamedTuple

from capacity.caching import CACHING_INPUTS
from capacity.chunked import CHUNK_INPUTS
from capacity.headroom import HEADROOM_INPUTS
from capacity.plan import INPUT_GROUPS as PLAN_GROUPS
from capacity.plan import INPUTS
from capacity.refined import INPUT_GROUPS
from capacity.ttft import TTFT_INPUTS

from ..frame import FIRST_ROW, grouped_rows


def planned(name: str) -> str:
    """The cell on Plan that an input follows until it is typed over, from another sheet."""
    return f"Plan!$C${PLAN_ROWS['rate' if name == 'req_per_s' else name]}"


class BatchRow(NamedTuple):
    """A decode batch and what the worked example prints for it."""

    batch: int
    step_ms: float
    gpus: int
    tpot_worst_ms: int
    usd_per_m_output: float


class RequestRow(NamedTuple):
    """A single request and what the worked example prints for it."""

    label: str
    prompt_tokens: int
    output_tokens: int
    replica_s: float
    times_first: float


class ClassRow(NamedTuple):
    """A workload class: its name and what an editor sets."""

    name: str
    request_share: float
    prompt_tokens: int
    output_tokens: int
    cache_hit: float
    p99_multiple: float


BATCHES: Final = (
    BatchRow(32, 14.5, 62, 32, 3.01),
    BatchRow(64, 19.1, 52, 53, 2.53),
    BatchRow(128, 28.4, 48, 97, 2.33),
    BatchRow(192, 37.8, 46, 140, 2.24),
)
REQUESTS: Final = (
    RequestRow("Short chat turn, long reply", 200, 1_000, 0.31, 1),
    RequestRow("Long prompt, short answer", 30_000, 50, 2.15, 7),
)
# Input of the plan -> how far it is varied: by that share of itself; a fraction goes up by that share of what is left.
SPREADS: Final = {
    "mfu": 0.3,
    "mbu": 0.2,
    "utilization": 0.2,
    "prompt_tokens": 0.3,
    "output_tokens": 0.3,
    "cache_hit": 0.5,
    "req_per_s": 0.3,
    "usd_per_gpu_hour": 0.4,
    "batch": 0.5,
    "memory_fraction": 0.05,
}
CEILINGS: Final = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)

# Illustrative; together they have the worked example's mean lengths: 3,000 tokens in, 400 out.
CLASSES: Final = (
    ClassRow("Chat", 0.6, 700, 400, 0, 4),
    ClassRow("RAG", 0.1, 18_000, 300, 0, 2),
    ClassRow("Agent", 0.2, 3_000, 300, 0, 3),
    ClassRow("Batch", 0.1, 1_800, 700, 0, 2),
    ClassRow("Free 1", 0, 0, 0, 0, 1),
    ClassRow("Free 2", 0, 0, 0, 0, 1),
)
HIT_RATES: Final = (*(i / 10 for i in range(1, 10)), 0.95, 0.97, 0.99)  # behind the row without hits

BATCH_LAST: Final = FIRST_ROW + len(BATCHES) - 1
REQUEST_LAST: Final = FIRST_ROW + len(REQUESTS) - 1
VARIED_ROWS: Final = 4  # of a varied quantity: its head, low, base, high
VARIED_HEAD: Final = {name: FIRST_ROW + VARIED_ROWS * i for i, name in enumerate(SPREADS)}
VARIED_LAST: Final = FIRST_ROW + VARIED_ROWS * len(SPREADS) - 1
MEASURE_ROW: Final = VARIED_LAST + 4
CEILING_LAST: Final = FIRST_ROW + len(CEILINGS) - 1
HEADROOM_FIRST: Final = CEILING_LAST + 8  # notes stand between
HEADROOM_LAST: Final = HEADROOM_FIRST + len(HEADROOM_INPUTS) - 1
TTFT_LAST: Final = FIRST_ROW + len(TTFT_INPUTS) - 1
CACHING_LAST: Final = FIRST_ROW + len(CACHING_INPUTS) - 1
HITS_FIRST: Final = CACHING_LAST + 11  # steps and notes stand between
HITS_LAST: Final = HITS_FIRST + len(HIT_RATES) + 1  # the row without hits, and that of the plan
CLASS_LAST: Final = FIRST_ROW + len(CLASSES) - 1
CHUNK_FIRST: Final = CLASS_LAST + 6  # sums, shares and a note stand between
CHUNK_LAST: Final = CHUNK_FIRST + len(CHUNK_INPUTS)  # and the length of a long prompt
# What is typed on Plan: the load in any of its forms, then what Inputs follows, then what only Plan needs.
LOADS: Final = (
    "load_form",
    "req_per_s",
    "request_s",
    "concurrent_requests",
    "peak_to_mean",
    "requests_per_user_day",
    "users",
    "hours_per_month",
    "m_tokens_per_month",
)
PLANNED: Final = (
    "prompt_tokens",
    "output_tokens",
    "model",
    "gpu",
    "tp",
    "quantization",
    "target_ms",
    "usd_per_gpu_hour",
)
PLAN_ROWS: Final = grouped_rows([[*LOADS, "rate", "in_flight"], [*PLANNED, "node_gpus"]])
OPTION_TPS: Final = (1, 2, 4, 8)
OPTION_TP_LAST: Final = FIRST_ROW + len(OPTION_TPS) - 1
BATCH_LIMIT_ROW: Final = OPTION_TP_LAST + 4  # the plan's own TP and a header stand between
POOLS: Final = ("Prefill pool", "Decode pool")
POOL_LAST: Final = FIRST_ROW + len(POOLS) - 1
LINK_FIRST: Final = POOL_LAST + 5  # notes stand between
TAKEAWAY_FIRST: Final = FIRST_ROW + 1
TAKEAWAY_LAST: Final = FIRST_ROW + len(INPUTS)
FACT_ROWS: Final = grouped_rows(INPUT_GROUPS.values())
FACT_LAST: Final = max(FACT_ROWS.values())
# The cases compared: which of them is active, then the inputs of each.
CASE_GROUPS: Final = (("active", "active_number"), *PLAN_GROUPS.values())
CASE_ROWS: Final = grouped_rows(CASE_GROUPS)
# Buy or run: an API's prices, and load factors of the fleet.
LOAD_SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
BUY_FIRST: Final = FIRST_ROW
SHARES_FIRST: Final = 37  # the steps and a header stand between
