"""Caching: hit rates of the prefix cache with work, residency and fleet; the larger of the two needs sets the fleet."""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity import caching, fleet, mix
from capacity import cost as money
from capacity import refined_memory as rm
from capacity.caching import CACHING_INPUTS
from capacity.plan import INPUTS, Guard, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put
from ..input_rows import bounds
from ..lines import Lines, long_text
from ..plan_table import PlanTable
from ..style import CAUTION, color_checks, color_words
from . import refined
from .batch import only_one_engine
from .blocks import CACHING_LAST, HIT_RATES, HITS_FIRST, HITS_LAST
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = "Caching"
KIND: Final = "output"
PURPOSE: Final = "Prefix-cache hits from 0 to 99%: loads, fleet, USD saved; whether work or live sessions set the fleet"


def _as_words(name: str) -> Guard:
    """What follows from a row that has words has the same words."""
    return Guard(lambda v: v[name], lambda v: isinstance(v[name], str), f"ISTEXT({{{name}}})", shows=f"T({{{name}}})")


NO_SESSION: Final = Guard(
    lambda v: v["resident_sessions"] or "no session fits",
    lambda v: isinstance(v["resident_sessions"], str) or v["resident_sessions"] == 0,
    "OR(ISTEXT({resident_sessions}),{resident_sessions}=0)",
    shows='CHOOSE(1+ISTEXT({resident_sessions}),"no session fits",T({resident_sessions}))',
)


STEPS: Final = (
    step_named(
        "prefix_kv_gb",
        rm.kv_seq_gb,
        "KV of the shared prefixes per GPU",
        context_tokens="prefix_tokens",
        kv_full_bytes="kv_full_used",
        kv_windowed_bytes="kv_windowed_used",
        state_bytes="state_used",
    ),
    step_named(
        "resident_sessions",
        caching.resident_sessions,
        guard=_as_words("max_seqs_peak"),
        kv_gb_per_seq="kv_gb_per_seq_peak",
    ),
)
_STEPS_FIRST: Final = CACHING_LAST + 3
INPUT_CHECK, CHECK = "P", "Q"
LINES: Final = Lines(
    CACHING_INPUTS,
    STEPS,
    (FIRST_ROW, _STEPS_FIRST),
    {"check": CHECK, "agree": "R", ADDIN: "S", NATIVE: "T"},
    fleet=IS_REFUSED,
    free=[step.name for step in STEPS],
)
NOTES: Final = {
    "tool_s": "illustrative; agents wait for tools, people think; 0 where a session ends with its reply",
    "prefix_tokens": "illustrative; system prompts, tools and documents",
}
OWN: Final = (
    step_named("cached_tps", caching.cached_tps),
    step_named("computed_tps", mix.computed_tps),
    step_named("service_s", caching.service_s),
    step_named("live_sessions", caching.live_sessions),
    step_named("work_replicas", fleet.replicas, "Replicas for the work", spares="0"),
    step_named("session_replicas", caching.session_replicas, guard=NO_SESSION),
    step_named("binding", caching.binding, guard=_as_words("session_replicas")),
    step_named("session_fleet", caching.session_fleet, guard=_as_words("session_replicas")),
    step_named(
        "session_gpus", fleet.gpus, "GPUs for work and sessions", _as_words("session_fleet"), replicas="session_fleet"
    ),
    step_named(
        "session_cost", money.cost_per_hour, "Cost of that fleet", _as_words("session_gpus"), gpus="session_gpus"
    ),
)
_TOKENS: Final = ("cached_tps", "computed_tps")  # what is there without a fleet
SHOWN: Final = {
    "cached_tps": "Cached [tok/s]",
    "computed_tps": "Computed [tok/s]",
    "prefill_load": "Prefill load [replica-s/s]",
    "busy_replicas": "Busy replicas [replica-s/s]",
    "service_s": "Service time [s]",
    "live_sessions": "Live sessions",
    "work_replicas": "Replicas for the work",
    "session_replicas": "Replicas for the sessions",
    "binding": "What binds",
    "session_fleet": "Replicas",
    "session_gpus": "GPUs",
    "session_cost": "Cost [USD/h]",
}
RESULT: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, 3)}
SAVED: Final = "O"
_FIRST_AGREE: Final = 18
AGREE: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, _FIRST_AGREE)}
WORK_GPUS, SESSION_GPUS = (get_column_letter(_FIRST_AGREE + len(SHOWN) + i) for i in (0, 1))
TABLE: Final = PlanTable(
    {"cache_hit": "B"},
    ["prefill_load", "busy_replicas", "ttft_floor_ms"],
    _FIRST_AGREE + len(SHOWN) + 2,
    range(HITS_FIRST, HITS_LAST + 1),
    OWN,
    LINES.by_engine(),
)
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Cache hits [fraction]", 40, "right"),
    *(Column(words, 18 if name in ("session_replicas", "binding") else 13, "right") for name, words in SHOWN.items()),
    Column("Saved against no hits [USD/h]", 14, "right"),
    Column("Input check", 9, "center"),
    Column("Check", 9, "center"),
    *(Column(f"Engines agree: {words}", 11.5, "center") for words in SHOWN.values()),
    Column("GPUs for the work", 11.5, "right"),
    Column("GPUs for the sessions", 11.5, "right"),
    *TABLE.headers(),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "What do prefix-cache hits save?",
        "Hits save prefill, not memory: a live session keeps its KV cache between turns. The fleet must do the work and"
        " hold the sessions.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"  # the header rows are those of their tables
    LINES.head(ws, FIRST_ROW - 1, "Inputs bad", "Sessions and prefixes", "Value", "Unit", "Meaning")
    LINES.head(ws, _STEPS_FIRST - 1, "Engines agree", "Memory by step", "Value", "Unit", "In words")
    LINES.write(ws, NOTES)
    _notes(ws)
    header(ws, HITS_FIRST - 1, COLUMNS)
    ws.row_dimensions[HITS_FIRST - 1].height = 46
    _rates(ws)
    for row in TABLE.rows:
        _results(ws, row)
    TABLE.write(ws)
    for column in (INPUT_CHECK, CHECK):
        color_checks(ws, _rows(column))
    color_words(ws, _rows(RESULT["binding"]), {caching.RESIDENCY: CAUTION})
    axes = ("Cache hits [fraction]", "Fleet [GPUs]")
    lines = {"GPUs for the sessions": SESSION_GPUS, "GPUs for the work": WORK_GPUS}
    at, hits = f"B{HITS_LAST + 2}", f"B{HITS_FIRST}:B{HITS_LAST - 1}"
    cells = {name: f"{column}{HITS_FIRST}:{column}{HITS_LAST - 1}" for name, column in lines.items()}
    line_chart(ws, at, "GPUs by cache hits: the higher line sets the fleet", axes, hits, cells)
    ws.page_setup.fitToHeight = 1
    ws.print_area = f"A1:{CHECK}{HITS_LAST + CHART_ROWS + 2}"


def checks() -> tuple[Check, ...]:
    """The sheet's rows on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${HITS_LAST}" for c in ("A", CHECK))
    first, last = RESULT["cached_tps"], RESULT["computed_tps"]
    tokens = f"{TITLE}!${first}${HITS_FIRST}:${last}${HITS_LAST}"
    prompt = refined.cell("prompt_tps")
    return (
        Check(
            "Caching rows that fail",
            "Inputs are within their bounds, engines agree, cached and computed tokens are the prompt's",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the two check columns of Caching",
            TITLE,
            waits=NOT_JUDGED,
        ),
        Check(
            "Cached and computed tokens against prompt tokens",
            "Cached tokens are a part of the input, never an addition to it; relative difference",
            f"IF({prompt}=0,SUM({tokens}),ABS(SUM({tokens})/(ROWS({tokens})*{prompt})-1))",
            "fraction",
            "Cached tokens are counted twice or not at all",
            TITLE,
            high="tolerance",
            tolerance="tolerance",
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold functions of the add-in, and those that follow them."""
    return [*LINES.addin_cells(), *TABLE.addin_cells()]


def _rows(column: str) -> str:
    return f"{column}{HITS_FIRST}:{column}{HITS_LAST}"


def _notes(ws: Worksheet) -> None:
    texts = (
        "Service time: output x decode step + batch x TTFT floor, that is output x worst-case TPOT; without queues.",
        "A session is counted with its prompt and its reply, shared prefixes on top: the safe side. An engine that "
        "shares the prefix's blocks among sessions holds more.",
        "The row without hits is fixed; the last row is the plan's own hit rate. Predictions often exceed real ones.",
    )
    for row, text in enumerate(texts, LINES.last + 2):
        long_text(ws, f"B{row}", text)


def _rates(ws: Worksheet) -> None:
    """No hits, the rates to edit, the plan's own."""
    put(ws, f"B{HITS_FIRST}", "=0", "Calculation", "fraction", "right")
    for row, rate in enumerate(HIT_RATES, HITS_FIRST + 1):
        put(ws, f"B{row}", rate, "Input", "fraction", "right")
    put(ws, f"B{HITS_LAST}", f"={refined.cell('cache_hit')}", "Calculation", "fraction", "right")
    rule = bounds("cache_hit", INPUTS["cache_hit"], f"B{HITS_FIRST + 1}")
    ws.add_data_validation(rule)
    rule.add(f"B{HITS_FIRST + 1}:B{HITS_LAST - 1}")


def _results(ws: Worksheet, row: int) -> None:
    put(ws, (row, 1), row - HITS_FIRST + 1, "Note", align="center")
    b, checked = f"B{row}", f"{INPUT_CHECK}{row}"
    good = f"AND({b}>=0,{b}<=1)"
    put(ws, checked, f'=IF(({LINES.bad()}=0)*COUNT({b})=1,CHOOSE(1+{good},"FAIL","PASS"),"FAIL")', "Check")
    stopped = f'({checked}="FAIL")+{LINES.stop()}>0'
    for name, column in RESULT.items():
        none = f'{checked}="FAIL"' if name in _TOKENS else stopped
        formula = f"=IF({none},NA(),{TABLE.pick(name, row)})"
        put(ws, f"{column}{row}", formula, "Result", TABLE.unit(name), "right")
        if name == "service_s":
            ws[f"{column}{row}"].number_format = "#,##0.00"
        agree = TABLE.same_words(name, row) if name == "binding" else TABLE.agree(name, row)
        put(ws, f"{AGREE[name]}{row}", only_one_engine(checked, agree), "Calculation", align="center")
    cost = RESULT["session_cost"]
    saved = f"=IF(ISTEXT({cost}{row}),{cost}{row},{cost}${HITS_FIRST}-{cost}{row})"
    put(ws, f"{SAVED}{row}", saved, "Result", "USD/h", "right")
    for column, name in ((WORK_GPUS, "work_replicas"), (SESSION_GPUS, "session_replicas")):
        gpus = f"=N({RESULT[name]}{row})*{refined.cell('tp')}"
        put(ws, f"{column}{row}", gpus, "Calculation", "GPUs", "right")
    agree = f"{AGREE['cached_tps']}{row}:{AGREE['session_cost']}{row},{LINES.stop()}=0"
    prompt = refined.cell("prompt_tps")
    cached, computed = (f"{RESULT[name]}{row}" for name in ("cached_tps", "computed_tps"))
    part = f"ABS({cached}+{computed}-{prompt})<=tolerance*{prompt}"
    put(ws, f"{CHECK}{row}", f'=IF({checked}="FAIL","FAIL",CHOOSE(1+AND({agree},{part}),"FAIL","PASS"))', "Check")
    ws.row_dimensions[row].height = 18
