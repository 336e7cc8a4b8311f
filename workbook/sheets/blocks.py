"""The editable blocks of the list sheets: their rows, and the figures that the worked example prints for them."""

from typing import Final, NamedTuple

from capacity.buying import BUY_INPUTS
from capacity.caching import CACHING_INPUTS
from capacity.calibration import CALIBRATION_INPUTS
from capacity.chunked import CHUNK_INPUTS
from capacity.headroom import HEADROOM_INPUTS
from capacity.plan import INPUT_GROUPS as PLAN_GROUPS
from capacity.plan import INPUTS
from capacity.refined import INPUT_GROUPS
from capacity.ttft import TTFT_INPUTS

from ..frame import FIRST_ROW, grouped_rows
from .evidence_blocks import CHOSEN_CELLS
from .money_blocks import MONEY_CELLS


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
BATCH_CELLS: Final = f"Batch!$B${FIRST_ROW}:$B${BATCH_LAST}"
REQUEST_CELLS: Final = f"Requests!$C${FIRST_ROW}:$D${REQUEST_LAST}"
VARIED_ROWS: Final = 4  # of a varied quantity: its head, low, base, high
VARIED_HEAD: Final = {name: FIRST_ROW + VARIED_ROWS * i for i, name in enumerate(SPREADS)}
VARIED_LAST: Final = FIRST_ROW + VARIED_ROWS * len(SPREADS) - 1
MEASURE_ROW: Final = VARIED_LAST + 4
CEILING_LAST: Final = FIRST_ROW + len(CEILINGS) - 1
HEADROOM_FIRST: Final = CEILING_LAST + 8  # notes stand between
HEADROOM_LAST: Final = HEADROOM_FIRST + len(HEADROOM_INPUTS) - 1
CEILING_CELLS: Final = f"Utilization!$B${FIRST_ROW}:$B${CEILING_LAST}"
TTFT_LAST: Final = FIRST_ROW + len(TTFT_INPUTS) - 1
TTFT_CELLS: Final = f"TTFT!$C${FIRST_ROW}:$C${TTFT_LAST}"
HEADROOM_CELLS: Final = f"Utilization!$C${HEADROOM_FIRST}:$C${HEADROOM_LAST}"
CACHING_LAST: Final = FIRST_ROW + len(CACHING_INPUTS) - 1
HITS_FIRST: Final = CACHING_LAST + 11  # steps and notes stand between
HITS_LAST: Final = HITS_FIRST + len(HIT_RATES) + 1  # the row without hits, and that of the plan
CACHING_CELLS: Final = f"Caching!$C${FIRST_ROW}:$C${CACHING_LAST}"
HIT_CELLS: Final = f"Caching!$B${HITS_FIRST + 1}:$B${HITS_LAST - 1}"
VARIED_CELLS: Final = f"Sensitivity!$C${FIRST_ROW}:$E${MEASURE_ROW}"
CLASS_LAST: Final = FIRST_ROW + len(CLASSES) - 1
CLASS_CELLS: Final = f"Mix!$B${FIRST_ROW}:$G${CLASS_LAST}"
CHUNK_FIRST: Final = CLASS_LAST + 6  # sums, shares and a note stand between
CHUNK_LAST: Final = CHUNK_FIRST + len(CHUNK_INPUTS)  # and the length of a long prompt
CHUNK_CELLS: Final = f"Mix!$C${CHUNK_FIRST}:$C${CHUNK_LAST}"
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
LOAD_CELLS: Final = f"Plan!$C${PLAN_ROWS[LOADS[0]]}:$C${PLAN_ROWS[LOADS[-1]]}"
PLANNED_CELLS: Final = f"Plan!$C${PLAN_ROWS[PLANNED[0]]}:$C${PLAN_ROWS['node_gpus']}"
OPTION_TPS: Final = (1, 2, 4, 8)
OPTION_TP_LAST: Final = FIRST_ROW + len(OPTION_TPS) - 1
BATCH_LIMIT_ROW: Final = OPTION_TP_LAST + 4  # the plan's own TP and a header stand between
OPTION_TP_CELLS: Final = f"Options!$B${FIRST_ROW}:$B${OPTION_TP_LAST}"
BATCH_LIMIT_CELL: Final = f"Options!$C${BATCH_LIMIT_ROW}"
POOLS: Final = ("Prefill pool", "Decode pool")
POOL_LAST: Final = FIRST_ROW + len(POOLS) - 1
POOL_CELLS: Final = f"Disaggregated!$C${FIRST_ROW}:$F${POOL_LAST}"
LINK_FIRST: Final = POOL_LAST + 5  # notes stand between
LINK_CELLS: Final = f"Disaggregated!$C${LINK_FIRST}"
MEASURED_CELLS: Final = f"Calibrate!$C${FIRST_ROW}:$C${FIRST_ROW + len(CALIBRATION_INPUTS) - 1}"
TAKEAWAY_FIRST: Final = FIRST_ROW + 1
TAKEAWAY_LAST: Final = FIRST_ROW + len(INPUTS)
TAKEAWAY_CELLS: Final = f"'Take-away'!$C${TAKEAWAY_FIRST}:$C${TAKEAWAY_LAST}"
FACT_ROWS: Final = grouped_rows(INPUT_GROUPS.values())
FACT_LAST: Final = max(FACT_ROWS.values())
FACT_CELLS: Final = f"Facts!$F${FIRST_ROW}:$F${FACT_LAST}"
# The cases compared: which of them is active, then the inputs of each.
CASE_GROUPS: Final = (("active", "active_number"), *PLAN_GROUPS.values())
CASE_ROWS: Final = grouped_rows(CASE_GROUPS)
ACTIVE_CASE: Final = f"Cases!$I${CASE_ROWS['active']}"
CASE_CELLS: Final = f"Cases!$F${CASE_ROWS['req_per_s']}:$H${max(CASE_ROWS.values())}"
# Buy or run: an API's prices, and load factors of the fleet.
LOAD_SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
BUY_FIRST: Final = FIRST_ROW
SHARES_FIRST: Final = 37  # the steps and a header stand between
BUY_CELLS: Final = f"'Buy or run'!$C${BUY_FIRST}:$C${BUY_FIRST + len(BUY_INPUTS) - 1}"
SHARE_CELLS: Final = f"'Buy or run'!$B${SHARES_FIRST}:$B${SHARES_FIRST + len(LOAD_SHARES) - 1}"
# Every editable cell outside Inputs: at an edit of any of them the add-in is asked whether it is there.
WATCHED: Final = (
    LOAD_CELLS,
    PLANNED_CELLS,
    FACT_CELLS,
    ACTIVE_CASE,
    CASE_CELLS,
    VARIED_CELLS,
    BATCH_CELLS,
    REQUEST_CELLS,
    CLASS_CELLS,
    CHUNK_CELLS,
    CACHING_CELLS,
    HIT_CELLS,
    CEILING_CELLS,
    HEADROOM_CELLS,
    TTFT_CELLS,
    *MONEY_CELLS,
    OPTION_TP_CELLS,
    BATCH_LIMIT_CELL,
    POOL_CELLS,
    LINK_CELLS,
    MEASURED_CELLS,
    CHOSEN_CELLS,
    TAKEAWAY_CELLS,
)
