"""Mix: the headers of its tables, and its notes."""

from collections.abc import Iterator
from typing import Final

from openpyxl.utils import get_column_letter

from ..frame import FIRST_ROW, Column
from .mix_tables import BLOCKS, LINES, POOLS_FIRST, STEPS_FIRST, WORK_FIRST, Block

HEADS: Final = {
    FIRST_ROW - 1: (
        "Class",
        "Share of requests [fraction]",
        "Prompt [tokens]",
        "Output [tokens]",
        "Cache hit [fraction]",
        "Prompt at p99 / mean",
        "Requests [req/s]",
        "Prompt [tok/s]",
        "Output [tok/s]",
        "Context mid-reply [tokens]",
        "KV per sequence [GB/GPU]",
        "Input check",
        "Check",
    ),
    LINES.rows["long_prompt_tokens"] - 1: ("Pools and chunks", "Value", "Unit", "Meaning", *[""] * 8, "Check"),
    POOLS_FIRST - 1: (
        "Pool",
        "Decode context [tokens]",
        "Sequences that fit",
        "Decode batch [sequences]",
        "KV cache",
        "Decode step [ms]",
        "Busy replicas [replica-s/s]",
        "Replicas",
        "GPUs",
        "Cost [USD/h]",
        "Worst-case TPOT [ms]",
        "Input check",
        "Check",
    ),
    STEPS_FIRST - 1: ("Chunked prefill, one pool", "Value", "Unit", "In words", *[""] * 8, "Check"),
    WORK_FIRST - 1: (
        "Class, in one pool",
        "Share of requests [fraction]",
        "Work of one request [replica-s]",
        "Share of work [fraction]",
        "State",
        "TTFT floor at p50 [ms]",
        "First-order TTFT at p50 [ms]",
        "TTFT floor at p99 [ms]",
        "First-order TTFT at p99 [ms]",
        "TTFT floor at p99, in chunks [ms]",
        "The same under the cap [ms]",
        "Input check",
        "Check",
    ),
}
_TEXTS: Final = ("Class", "Pool", "Chunked", "State", "KV cache", "Meaning", "In words", "Unit", "Pools and chunks")
_WIDTH: Final = 13.5
_WIDE: Final = {
    "Class": 38,
    "Share of requests [fraction]": 20,
    "Prompt [tokens]": 17,
    "Cache hit [fraction]": 22,
}  # words stand below them
LAST_COLUMN: Final = max(block.tables[-1].next_column for block in BLOCKS)


def columns(row: int) -> Iterator[Column]:
    """The header of a table: what prints, then agreements, values, what is taken, and the chains."""
    yield Column("#", 5, "center")
    for head in HEADS[row]:
        left = head.startswith(_TEXTS)
        align = "center" if "heck" in head else "left" if left else "right"
        wide = _WIDE.get(head, 9 if "heck" in head else _WIDTH)
        yield Column(head, wide, align)
    block = next((b for b in BLOCKS if b.rows[0] == row + 1), None)
    if block is None:
        yield from (Column(h, 0) for h in ("Inputs bad" if "Pools" in HEADS[row][0] else "Engines agree", "Add-in"))
        yield Column("Native", 0)
        return
    heads = {column: f"Engines agree: {_label(block, name)}" for name, column in block.agree.items()}
    heads |= {column: f"Value: {_label(block, name)}" for name, (column, _) in block.values.items()}
    heads |= {column: f"Taken: {name}" for name, column in block.own.items()}
    first_chain = block.tables[0]._first
    for i in range(15, first_chain):
        yield Column(heads[get_column_letter(i)], 11.5, "right")
    for table in block.tables:
        yield from table.headers()


def _label(block: Block, name: str) -> str:
    return block.values[name][1].label(name)


CLASS_NOTE: Final = (
    "Illustrative classes; their mean lengths are the worked example's. The mean prompt stands for the median: with a "
    "long tail the median is shorter."
)
LINE_NOTES: Final = {
    "long_prompt_tokens": "illustrative",
    "chunk_tokens": "illustrative: what the engine's batched-token limit leaves beside decode",
    "budget_share": "illustrative; 1 for none",
}
WORK_NOTES: Final = (
    "First-order TTFT is a note, not a prediction: TTFT floor x 1/(1 - ceiling at peak). Published TTFTs are 7 (dense) "
    "to 25 (sparse) times the floor.",
    "In chunks, a prompt takes one mixed step for each chunk, with no other prompt in the way; the cap leaves the rest "
    "of each step to other prompts.",
    "Windowed layers are priced at the mean context, which errs on the safe side. With speculation a step is that of "
    "one output token: the engine's own chunk is larger.",
)
