"""The editable blocks of the list sheets: their rows, and the figures that the worked example prints for them."""

from typing import Final, NamedTuple

from capacity.refined import INPUT_GROUPS

from ..frame import FIRST_ROW, grouped_rows


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

BATCH_LAST: Final = FIRST_ROW + len(BATCHES) - 1
REQUEST_LAST: Final = FIRST_ROW + len(REQUESTS) - 1
BATCH_CELLS: Final = f"Batch!$B${FIRST_ROW}:$B${BATCH_LAST}"
REQUEST_CELLS: Final = f"Requests!$C${FIRST_ROW}:$D${REQUEST_LAST}"
FACT_ROWS: Final = grouped_rows(INPUT_GROUPS.values())
FACT_LAST: Final = max(FACT_ROWS.values())
FACT_CELLS: Final = f"Facts!$F${FIRST_ROW}:$F${FACT_LAST}"
