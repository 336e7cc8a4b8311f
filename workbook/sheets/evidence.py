"""Evidence: how far published runs are from what is predicted for them, and what that means for the plan."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity.error_bands import CHAINS, KINDS
from capacity.plan import INPUTS
from capacity.published import COMPARED
from capacity.refined import REFINED_INPUTS

from ..check import Check
from ..frame import FIRST_ROW, Column, frame, one_page, put, put_text
from ..input_rows import choose
from ..lines import long_text
from ..style import color_checks
from . import inputs, refined
from .evidence_bands import BAD, BANDS, CHECK, CONTINGENCY, FLEETS, NO_FLEET, at, write_bands
from .evidence_blocks import (
    BAND_ROWS,
    CHOSEN,
    CONTINGENCY_ROW,
    EVIDENCE,
    FLEET_ROWS,
    RUN_LAST,
    RUN_ROWS,
)
from .evidence_nearest import LAST, write_nearest
from .evidence_nearest import addin_cells as nearest_addin_cells
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = EVIDENCE
KIND: Final = "output"
PURPOSE: Final = "How far to trust the plan: error bands of published runs on GPUs and dollars; the nearest three runs"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("The run of the plan", 62),
    Column("Value", 24, "right"),
    Column("Unit", 28),
    Column("Meaning", 28),
    Column("", 28),
    Column("Check", 9, "center"),
    Column("Inputs bad", 11.5, "center"),  # beside the printed area, as the next
    Column("No fleet", 14, "center"),
    *(Column("", 14) for _ in range(11)),
)
# What runs are compared by -> label, the plan's cell, meaning.
_CHOICES: Final = {
    "engine": ("Engine of the published runs", "published_engine", "vllm", "yours, or the one you mean to use"),
    "run": ("Kind of run", "published_run", "closed loop", "offline: all requests are queued at once"),
}
_TAKEN: Final = {
    "model": ("Model", "Plan chooses it"),
    "gpu": ("GPU", "Plan chooses it"),
    "quant": ("Type of the weights", "Plan chooses it"),
    "kind": ("Kind of model", "dense, or mixture of experts: each has bands of its own"),
    "gpus": ("GPUs of a replica", "TP of the plan"),
    "concurrency": ("Requests at once on a replica", "decode batch of the plan; 1 if offline: not compared"),
}
_FROM: Final = {"gpus": "tp", "concurrency": "batch"}
TEXTS: Final = (
    "P10 to P90: 8 of 10 comparable runs. At 70% of the predicted rate the same tokens take 1/0.7 of the replicas, "
    "rounded up to whole ones.",
    "The bands of the fitted constants are those of models that the fit did not see. They hold for the chain Refined "
    "with its constants, or where MFU and MBU were measured on your replica (Calibrate).",
    "The chain Seed with MFU 50% and MBU 75% missed the same runs by more: the rows of that name have its own busy "
    "replicas and its own band.",
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "How far to trust the plan",
        "Published benchmarks beside what is predicted for them. All of them are on Measurements, with their sources.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    put(ws, "C3", f'=IF({IS_REFUSED},"no fleet",{sentence()})', "Result", align="left")
    say_refused(ws, IS_REFUSED)
    for name, row in RUN_ROWS.items():
        _run(ws, name, row)
    count = f'=facts_bad+COUNTIF({CHECK}{FIRST_ROW}:{CHECK}{RUN_LAST},"FAIL")'
    put(ws, BAD.replace("$", ""), count, "Calculation", "count", "center")
    put(ws, NO_FLEET.replace("$", ""), f"={BAD}+{IS_REFUSED}", "Calculation", "count", "center")
    write_bands(ws, len(CHOSEN) + 1)
    for row, text in enumerate(TEXTS, CONTINGENCY_ROW + 2):
        long_text(ws, f"B{row}", text)
    write_nearest(ws, len(CHOSEN) + len(BAND_ROWS) + len(FLEET_ROWS) + 2)
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{LAST}")
    one_page(ws)
    ws.print_area = f"A1:{CHECK}{LAST}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that has a check says PASS."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LAST}" for c in ("A", CHECK))
    return (
        Check(
            "Evidence rows that fail",
            "What is chosen is on its list, and the engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Evidence",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*BANDS.addin_cells(), *FLEETS.addin_cells(), *CONTINGENCY.addin_cells(), *nearest_addin_cells()]


def cell(name: str, share: str, chain: str = CHAINS[0]) -> str:
    """A fleet's value in use, from another sheet."""
    return f"{TITLE}!{at(name, share, chain)}"


def contingency() -> str:
    """What the band gives as contingency, from another sheet."""
    return f"{TITLE}!{CONTINGENCY.at('band_contingency')}"


def sentence() -> str:
    """The plan's GPUs and their band in words, from any sheet."""
    low, high = (cell("gpus", share) for share in ("p90", "p10"))
    return f'{refined.cell("gpus")}&" GPUs, "&{low}&" to "&{high}&" in 8 of 10, fitted constants"'


def _run(ws: Worksheet, name: str, row: int) -> None:
    """What the plan's run is compared by: the plan's own, or typed here."""
    ws.row_dimensions[row].height = 15
    if name in CHOSEN:
        put(ws, (row, 1), CHOSEN.index(name) + 1, "Note", align="center")
        label, listed, default, note = _CHOICES[name]
        value = put(ws, f"C{row}", default, "Input", align="right")
        listing = f"{inputs.TITLE}!{inputs.choices(listed)}"
        choose(ws, value, (name, label, note), listing, inputs.LISTS[listed], f"{CHECK}{row}")
        unit = "text"
    elif name in COMPARED:
        source = _FROM.get(name, name)
        argument = INPUTS.get(source) or REFINED_INPUTS[source]
        label, note = _TAKEN.get(name, (argument.label, "of the plan"))
        unit, value = argument.unit, refined.cell(source)
        if name == "concurrency":
            value = f'CHOOSE(1+($C${RUN_ROWS["run"]}="offline"),{value},1)'
        put(ws, f"C{row}", f"={value}", "Result", unit, "right")
    else:
        label, note = _TAKEN[name]
        source = {"quant": "quantization"}.get(name, name)
        words = f'=CHOOSE(1+({refined.cell("routed_params_b")}>0),"{KINDS[0]}","{KINDS[1]}")'
        value = words if name == "kind" else f"={inputs.cell(source)}"
        put(ws, f"C{row}", value, "Result", align="right")
        unit = "text"
    put_text(ws, f"B{row}", label, "Label", "left")
    put_text(ws, f"D{row}", unit, "Note", "left")
    long_text(ws, f"E{row}", note)
