"""Measurements: published runs with what is predicted for each, and how unlike the plan's run each is."""

import math
from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity.error_bands import METRICS
from capacity.published import COMPARED, UNLIKE, published

from ..frame import FIRST_ROW, HEADER_ROW, Column, frame, letter, put, put_text
from ..lines import long_text
from .evidence_blocks import (
    BAND_KEY,
    BAND_VALUE,
    BANDS,
    EVIDENCE,
    LIST_FIRST,
    LIST_LAST,
    MEASUREMENTS,
    PLACE,
    PLAN_ROW,
    RUN_ROWS,
    UNLIKE_ROW,
)

TITLE: Final = MEASUREMENTS
KIND: Final = "input"
PURPOSE: Final = "Published runs that are believed, each with what was measured, what is predicted, and its source"

# Field of a published run -> header, width, unit of its number format.
_TEXT: Final = {
    "model": ("Model", 26, ""),
    "gpu": ("GPU", 24, ""),
    "quant": ("Weights", 9, ""),
    "engine": ("Engine", 9, ""),
    "run": ("Run", 12, ""),
}
_COMPARED: Final = {
    "active_params_b": ("Active parameters [billion]", 12, "billion"),
    "bandwidth_tb_s": ("Memory bandwidth [TB/s]", 11, "TB/s"),
    "gpus": ("Of a replica [GPUs]", 9, "GPUs"),
    "prompt_tokens": ("Prompt [tokens]", 9, "tokens"),
    "output_tokens": ("Output [tokens]", 9, "tokens"),
    "concurrency": ("Concurrency, 1 if offline [sequences]", 13, "sequences"),
}
_FOUND: Final = {
    name: (f"{words}: {column}{bracket}", 13, unit)
    for metric, words, unit in zip(METRICS, ("Output rate", "TPOT", "TTFT"), ("tok/s", "ms", "ms"), strict=True)
    for name, column, bracket, unit in (
        (metric, "measured", f" [{unit}]", unit),
        (f"predicted_{metric}", "predicted", f" [{unit}]", unit),
        (f"ratio_{metric}", "measured / predicted", "", "count"),
    )
}
FIELDS: Final = _TEXT | _COMPARED | _FOUND | {"kind": ("Kind of model", 8, ""), "source": ("Source", 104, "")}
RATIO: Final = "0.00"
COLUMNS: Final = (
    Column("#", 6, "center"),
    *(Column(words, width, "left" if not unit else "right") for words, width, unit in FIELDS.values()),
    Column("Distance and place", 16, "right"),  # beside the printed area, as the next
    *(Column(f"log2 of {name}", 10, "right") for name in COMPARED),
    Column("", 4),
    Column("Error bands of", 52),
    Column("Measured / predicted", 12, "right"),
)
_LOGS: Final = [letter(COLUMNS, f"log2 of {name}") for name in COMPARED]
OF: Final = {name: letter(COLUMNS, words) for name, (words, _, _) in FIELDS.items()}


def span(name: str) -> str:
    """A field of all published runs, from another sheet."""
    return f"{TITLE}!${OF[name]}${LIST_FIRST}:${OF[name]}${LIST_LAST}"


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Published measurements",
        "Data, nothing to type. Predicted by the constants fitted to all of these rows (python -m "
        "capacity.evidence.fit); suspect rows are left out. The sheet Evidence takes the nearest three.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    ws.row_dimensions[HEADER_ROW].height = 46
    for name, far in UNLIKE.items():
        put(ws, f"{OF[name]}{UNLIKE_ROW}", far, "Fact", "count", "left")
    first = OF[METRICS[0]]
    long_text(ws, f"{first}{UNLIKE_ROW}", "how far another name is away; figures add (log2 of their ratio) squared")
    long_text(ws, f"{first}{PLAN_ROW}", f"the plan's run, from the sheet {EVIDENCE}")
    for name in (*UNLIKE, *COMPARED):
        unit, source = FIELDS[name][2], f"{EVIDENCE}!$C${RUN_ROWS[name]}"
        put(ws, f"{OF[name]}{PLAN_ROW}", f"={source}", "Calculation", unit, "right" if unit else "left")
    for name, column in zip(COMPARED, _LOGS, strict=True):
        own = f"{OF[name]}{PLAN_ROW}"
        least = f"MAX(1,{own})" if FIELDS[name][2] == "tokens" else own
        put(ws, f"{column}{PLAN_ROW}", f"=LN({least})/LN(2)", "Calculation", align="right")
    for row, run in enumerate(published(), LIST_FIRST):
        put(ws, (row, 1), row - LIST_FIRST + 1, "Note", align="center")
        for name, (_, _, unit) in FIELDS.items():
            value = run.value(name)
            if isinstance(value, str):
                put_text(ws, f"{OF[name]}{row}", value, "Fact", "right" if unit else "left")
            else:
                put(ws, f"{OF[name]}{row}", value, "Fact", unit, "right", RATIO if unit == "count" else "")
        for column, figure in zip(_LOGS, run.run.figures, strict=True):
            put(ws, f"{column}{row}", math.log2(figure), "Fact", align="right")
        put(ws, f"{PLACE}{row}", f"={_distance(row)}", "Calculation", "count", "right")
    for row, (key, value) in enumerate(BANDS.items(), FIRST_ROW):
        put_text(ws, f"{BAND_KEY}{row}", key, "Fact", "left")
        put(ws, f"{BAND_VALUE}{row}", value, "Fact", align="right")
    ws.print_area = f"A1:{OF['source']}{LIST_LAST}"


def _distance(row: int) -> str:
    """The distance to the plan's run in thousandths, and behind it the place in the list: no two rows have the same."""
    names = [OF[name] for name in UNLIKE]

    def cells(letters: list[str], at: str) -> str:
        return f"{letters[0]}{at}:{letters[-1]}{at}"

    other, own, far = (cells(names, at) for at in (str(row), f"${PLAN_ROW}", f"${UNLIKE_ROW}"))
    logs, own_logs = (cells(_LOGS, at) for at in (str(row), f"${PLAN_ROW}"))
    return f"ROUND((SUMPRODUCT(--({other}<>{own}),{far})+SUMXMY2({logs},{own_logs}))*1E3,0)*1E3+A{row}"
