"""TTFT: time to first token by percentile, of a closed loop and of open arrivals, beside the floor."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import headroom, ttft
from capacity.plan import step_named
from capacity.ttft import TTFT_INPUTS

from ..chain import ADDIN, NATIVE
from ..check import Check
from ..frame import FIRST_ROW, frame
from ..lines import Lines, columns, long_text
from .blocks import TTFT_LAST
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused
from .utilization import NO_FLEET

TITLE: Final = "TTFT"
KIND: Final = "output"
PURPOSE: Final = "Time to first token at 50%, 90% and 99% of requests: a closed loop of the batch, and open arrivals"

CHECK: Final = "H"
_PLACES: Final = {"1": "typical", "2": "high", "3": "tail"}
_PROMPTS: Final = ("prompts_before", "wave_prompts", *(f"before_{i}" for i in _PLACES))
STEPS: Final = (
    step_named("prompts_before", ttft.prompts_before, "Prompts before, closed loop, mean"),
    step_named("closed_mean_ms", ttft.ttft_closed_ms, "TTFT of a closed loop, mean"),
    step_named("wave_prompts", ttft.wave_prompts),
    *(
        step_named(
            f"before_{i}",
            ttft.prompts_before_at,
            f"Prompts before, closed loop, {place}",
            percentile=f"percentile_{i}",
        )
        for i, place in _PLACES.items()
    ),
    *(
        step_named(
            f"closed_{i}_ms",
            ttft.ttft_closed_ms,
            f"TTFT of a closed loop, {place}",
            prompts_before=f"before_{i}",
        )
        for i, place in _PLACES.items()
    ),
    step_named(
        "prefill_busy", headroom.gpu_busy, "Prefill busy, planned fleet", NO_FLEET, busy_replicas="prefill_load"
    ),
    *(
        step_named(
            f"open_{i}_ms",
            ttft.ttft_open_ms,
            f"TTFT of open arrivals, {place}",
            NO_FLEET,
            percentile=f"percentile_{i}",
        )
        for i, place in _PLACES.items()
    ),
)
STEPS_FIRST: Final = TTFT_LAST + 3
LINES: Final = Lines(
    TTFT_INPUTS,
    STEPS,
    (FIRST_ROW, STEPS_FIRST),
    {"check": CHECK, "agree": "I", ADDIN: "J", NATIVE: "K"},
    fleet=IS_REFUSED,
)
NOTES: Final = {
    "ttft_steps": "fitted; vLLM 4.58, SGLang 15.2, TensorRT-LLM 9.11",
    "ttft_burst": "fitted; vLLM 0.331, SGLang 0.719, TensorRT-LLM 0.193",
    "ttft_queue": "fitted; vLLM 0.054, SGLang 0.160, TensorRT-LLM 0.050",
    "ttft_echo": "fitted to 18 runs, of all engines",
    "startup_share": "a service: 0",
    "prompt_cv": "0: all of one length; 1: spread by their mean",
    "percentile_1": "half of them",
    "percentile_2": "9 in 10",
    "percentile_3": "99 in 100",
}
TEXTS: Final = (
    "Closed loop: a client keeps the plan's batch in flight on one replica, as benchmarks do. The mean is off by 26%",
    "(median of 759 published closed loops, model left out, constants of the engine; 36% for an engine not known).",
    "A benchmark begins with all its batch at once, and its slowest requests are those. 99% is off by 32%, 50% by 41%",
    "(median of 18 published runs with several requests at a time, model left out). 90% was 2 to 4 times as late in 7.",
    "Open arrivals: requests come at random, and prompts go before decode. Prefill and wait are off by -10% to +19%",
    "against a simulated queue at 30% to 90% busy, for prompts of one length. The prompt is of mean length.",
    "The constants were fitted with step and prefill of the chain Refined, all refinements on; those of Seed are less.",
)
COLUMNS: Final = columns("Time to first token")


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "When does the first token come?",
        "The TTFT floor is the compute of the prompt alone. Here is what a share of requests does not exceed, with the "
        "prompts and steps before its own.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"
    LINES.head(ws, STEPS_FIRST - 1, "Engines agree", "By step", "Value", "Unit", "In words")
    LINES.write(ws, NOTES)
    for name in (*(n for n in TTFT_INPUTS if "percentile" not in n), *_PROMPTS):
        ws[LINES.at(name).replace("$", "")].number_format = "0.000"
    ws[LINES.at("prefill_busy", "E").replace("$", "")].value = "prefill load / replicas"
    for row, text in enumerate(TEXTS, LINES.last + 1):
        long_text(ws, f"B{row}", text)
    ws.print_area = f"A1:{CHECK}{LINES.last + len(TEXTS)}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LINES.last}" for c in ("A", CHECK))
    return (
        Check(
            "TTFT rows that fail",
            "Inputs are within their bounds, engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of TTFT",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions."""
    return LINES.addin_cells()
