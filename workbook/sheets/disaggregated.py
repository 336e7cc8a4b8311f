"""Disaggregated: prefill and decode on pools of their own, the KV cache sent over a link, against the colocated plan.

Each pool is a plan of the refined chain: prefill's makes no output, decode's finds every prompt in its cache.
"""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.disaggregated import POOL_INPUTS
from capacity.plan import INPUTS, NO_OUTPUT

from ..charts import CHART_ROWS, bar_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import bounds
from ..lines import long_text
from ..plan_table import no_load
from ..style import BAD, CAUTION, GOOD, color_checks, color_words
from . import refined
from .batch import only_one_engine
from .blocks import LINK_FIRST, POOL_LAST, POOLS
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused
from .pools import (
    AGREE,
    CHECK,
    DECODE,
    INPUT_CHECK,
    INPUTS_BAD,
    KV_FIT,
    LINES,
    NUMBERS,
    OWN,
    PREFILL,
    RESULT,
    SHOWN,
    TABLE,
    WORDED,
)

TITLE: Final = "Disaggregated"
KIND: Final = "output"
PURPOSE: Final = (
    "Prefill and decode on pools of their own, with the transfer of the KV cache, against the colocated plan"
)

BESIDE: Final = LINES.last + 3  # the first row of both layouts side by side
WORDS: Final = BESIDE + 4
# What stands side by side, and which step has it for both pools.
SHORT: Final = {
    "gpus": "GPUs",
    "cost_per_hour": "Cost [USD/h]",
    "usd_per_m_tokens": "USD per M output",
    "ttft_floor_ms": "TTFT floor [ms]",
    "tpot_worst_ms": "TPOT, worst case [ms]",
    "tpot_verdict": "TPOT at target",
}
_PAIRS: Final = {
    "gpus": "both_gpus",
    "cost_per_hour": "both_usd_per_hour",
    "usd_per_m_tokens": "both_usd_per_m",
    "ttft_floor_ms": "both_ttft_ms",
}
_PER_TOKEN: Final = ("usd_per_m_tokens", "tpot_worst_ms", "tpot_verdict")
_FLEET: Final = ("gpus", "cost_per_hour", "usd_per_m_tokens", "tpot_worst_ms")  # what a plan that is refused has not
# Where texts and states stand, to the right of the printed area.
_TEXTS: Final = LINK_FIRST + len(POOL_INPUTS) + 2
VERDICTS: Final = (
    (
        "neither meets the target: the decode step alone takes longer",
        "only colocated can meet the target, if a measurement shows it",
        "only colocated meets the target",
    ),
    (
        "only disaggregated meets the target",
        "disaggregated meets the target at any overlap, colocated needs a measurement",
        "both meet the target at any overlap",
    ),
)
_NO_OUTPUT: Final = no_load(f'"{NO_OUTPUT.words}"')
NO_DECODING: Final = f'={_NO_OUTPUT}&": there is nothing to decode"'
NO_ROOM: Final = "a pool does not fit in memory: smaller batch, FP8 KV, higher TP or a larger GPU"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Pool", 44),
    Column("TP [GPUs]", 14, "right"),
    Column("Ceiling at peak [fraction]", 14, "right"),
    Column("Batch [sequences]", 14, "right"),
    Column("Spares [replicas]", 12, "right"),
    Column("Output [tokens]", 12, "right"),
    Column("Prompt found in cache [fraction]", 21, "right"),
    *(Column(words, 21 if name == "tpot_verdict" else 17, "right") for name, words in SHOWN.items()),
    Column("KV cache", 11, "center"),
    Column("Input check", 9, "center"),
    Column("Check", 9, "center"),
    *(Column(f"Engines agree: {TABLE.label(name)}", 11.5, "center") for name in SHOWN),
    Column("Are numbers", 11.5, "center"),
    *TABLE.headers(),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Prefill and decode apart?",
        "A prefill and a decode pool, each with a TP, a ceiling and spares of its own, against the colocated plan. "
        "They follow the plan until you type over them.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    ws.row_dimensions[5].height = 46
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    for row, label in enumerate(POOLS, FIRST_ROW):
        _pool(ws, row, label)
    _validate(ws)
    TABLE.write(ws)
    for row, text in enumerate(
        (
            "The prefill pool makes no output tokens; the decode pool finds every prompt's cache there. So no prefill "
            "delays a step, and TPOT is the step.",
            "Batch: in the prefill pool the prompts whose cache waits to be sent, in the decode pool those decoded "
            "together. Every GPU sends its share over its own link.",
        ),
        POOL_LAST + 1,
    ):
        long_text(ws, f"B{row}", text)
    _head(ws, LINK_FIRST - 1, ("Link between the pools", "Value", "Unit", "Meaning"), ("Inputs bad",))
    _head(ws, _TEXTS - 1, ("Both pools by step", "Value", "Unit", "In words"), ("Engines agree", "Add-in", "Native"))
    LINES.write(ws, {"pool_link_gb_s": "illustrative: enter the rate that your network sustains"})
    for column in ("C", "U", "V"):
        ws[f"{column}{LINES.rows['pool_ratio']}"].number_format = "0.00"
    _beside(ws)
    _words(ws)
    for first, last in ((FIRST_ROW, POOL_LAST), (BESIDE, BESIDE + 1)):
        color_words(ws, f"H{first}:O{last}", {"safe": GOOD, "needs": CAUTION, "fails": BAD})
    color_words(ws, f"{KV_FIT}{FIRST_ROW}:{KV_FIT}{POOL_LAST}", {"overflows": BAD})
    for column in (INPUT_CHECK, CHECK):
        color_checks(ws, f"{column}{FIRST_ROW}:{column}{POOL_LAST}")
    _charts(ws)
    ws.print_area = f"A1:{CHECK}{WORDS + 5 + CHART_ROWS}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LINES.last}" for c in ("A", CHECK))
    return (
        Check(
            "Disaggregated rows that fail",
            "Both pools fit in memory, their inputs are within their bounds, engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the check columns of Disaggregated",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*TABLE.addin_cells(), *LINES.addin_cells()]


def _pool(ws: Worksheet, row: int, label: str) -> None:
    put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
    put_text(ws, f"B{row}", label, "Label", "left")
    for name in ("tp", "utilization", "batch", "spares"):
        alone = name == "batch" and row == PREFILL  # one prompt at a time
        follows = 1 if alone else f"={refined.cell(name)}"
        put(ws, f"{OWN[name]}{row}", follows, "Input", INPUTS[name].unit, "right")
    decodes = f'ISNUMBER(SEARCH("decode",$B{row}))'
    put(ws, f"G{row}", f"={refined.cell('output_tokens')}*{decodes}", "Calculation", "tokens", "right")
    cached = f"=MAX({refined.cell('cache_hit')},--{decodes})"
    put(ws, f"H{row}", cached, "Calculation", "fraction", "right")
    numbers = f"AND(facts_bad=0,COUNT(C{row}:F{row})=COLUMNS(C{row}:F{row}))"
    put(ws, f"{NUMBERS}{row}", f"={numbers}", "Calculation", align="center")
    tp, ceiling, batch, spares = (f"{OWN[name]}{row}" for name in ("tp", "utilization", "batch", "spares"))
    whole = f"{tp}>=1,{tp}=INT({tp}),{ceiling}>0,{ceiling}<1,{batch}>=1,{batch}=INT({batch})"
    good = f"AND({whole},{spares}>=0,{spares}=INT({spares}))"
    checked = f"{INPUT_CHECK}{row}"
    put(ws, checked, f'=IF({NUMBERS}{row},CHOOSE(1+{good},"FAIL","PASS"),"FAIL")', "Check")
    over = f'COUNTIF({KV_FIT}{row},"overflows")'
    for name, column in RESULT.items():
        none = f'{checked}="FAIL"' if name == "max_seqs" else f'({checked}="FAIL")+{over}>0'
        value = f"=IF({none},NA(),{TABLE.worded(name, row)})"
        put(ws, f"{column}{row}", value, "Result", TABLE.unit(name), "right")
        same = f"{TABLE.agree(name, row)}*{TABLE.same_words(name, row)}" if name in WORDED else TABLE.agree(name, row)
        put(ws, f"{AGREE[name]}{row}", only_one_engine(checked, same), "Calculation", align="center")
    resident = f"{RESULT['max_seqs']}{row}"
    fits = f'CHOOSE(1+OR({resident}="no tokens",{batch}<=N({resident})),"overflows","fits")'
    put(ws, f"{KV_FIT}{row}", f'=IF({checked}="FAIL",NA(),{fits})', "Check")
    agree = f"AND({AGREE['busy_replicas']}{row}:{AGREE['max_seqs']}{row})"
    put(ws, f"{CHECK}{row}", f'=IF({checked}="FAIL","FAIL",CHOOSE(1+{agree}*(1-{over}),"FAIL","PASS"))', "Check")
    ws.row_dimensions[row].height = 18


def _validate(ws: Worksheet) -> None:
    for name in ("tp", "utilization", "batch", "spares"):
        first, last = f"{OWN[name]}{FIRST_ROW}", f"{OWN[name]}{POOL_LAST}"
        rule = bounds(name, INPUTS[name], first)
        ws.add_data_validation(rule)
        rule.add(f"{first}:{last}")


def _head(ws: Worksheet, row: int, texts: tuple[str, ...], working: tuple[str, ...]) -> None:
    """Another header row; the last text runs over the columns up to the checks."""
    names = dict(zip("BCDE", texts, strict=True)) | dict(zip("TUV", working, strict=False)) | {CHECK: "Check"}
    header(ws, row, (Column("#", 5, "center"), *(Column(names.get(get_column_letter(i), ""), 0) for i in range(2, 27))))
    ws[f"C{row}"].alignment = Alignment(horizontal="right", vertical="center")


def _beside(ws: Worksheet) -> None:
    """Both layouts, a row each."""
    columns = [Column("#", 5, "center"), Column("Layout", 0), *(Column(words, 0, "right") for words in SHORT.values())]
    header(ws, BESIDE - 1, [*columns, *(Column("", 0) for _ in range(len(columns), column_index_from_string(CHECK)))])
    pools = {name: LINES.at(_PAIRS[name]) if name in _PAIRS else f"{RESULT[name]}{DECODE}" for name in SHORT}
    for row, label in enumerate(("Disaggregated", "Colocated: the plan"), BESIDE):
        put(ws, (row, 1), None, "Note")
        put_text(ws, f"B{row}", label, "Label", "left")
        for column, (name, cell) in zip("CDEFGH", pools.items(), strict=True):
            source = cell if row == BESIDE else refined.cell(name)
            if row != BESIDE and name in _PER_TOKEN:
                source = no_load(source)
            if row != BESIDE and name == "tpot_verdict":
                source = f'CHOOSE(1+{IS_REFUSED},{source},"no fleet")'
            bad = LINES.bad() if row == BESIDE else "facts_bad"
            if row != BESIDE and name in _FLEET:
                bad += f"+{IS_REFUSED}"
            value = f"=IF({bad}>0,NA(),{source})"
            put(ws, f"{column}{row}", value, "Result", TABLE.unit(name), "right")
        ws.row_dimensions[row].height = 18


def _words(ws: Worksheet) -> None:
    """Which layout at this target: by texts and states to the right of the printed area."""
    for i, texts in enumerate(VERDICTS):
        for column, text in zip("XYZ", texts, strict=True):
            put_text(ws, f"{column}{_TEXTS + i}", text, "Calculation")
    for i, text in enumerate((NO_DECODING, NO_ROOM), 2):
        (put if text.startswith("=") else put_text)(ws, f"X{_TEXTS + i}", text, "Calculation")
    both, plan = (f"H{BESIDE + i}" for i in (0, 1))
    pools = f"{KV_FIT}{FIRST_ROW}:{KV_FIT}{POOL_LAST}"
    safe = f'(LEFT({plan},LEN("safe"))="safe")'
    states = {
        "T": f"1+({refined.cell('output_tps')}=0)",
        "U": f'1+(LEFT({both},LEN("safe"))="safe")',
        "V": f"({refined.cell('batch')}<=N({refined.cell('max_seqs')}))+{refined.weightless()}>0",
        "W": f'1+V{WORDS}*((LEFT({plan},LEN("needs"))="needs")+2*{safe})',
        "X": f'IF({INPUTS_BAD}>0,NA(),COUNTIF({pools},"fits")=ROWS({pools}))',
    }
    for column, formula in states.items():
        put(ws, f"{column}{WORDS}", f"={formula}", "Calculation", align="center")
    meets = f"INDEX($X${_TEXTS}:$Z${_TEXTS + 1},U{WORDS},W{WORDS})"
    none, room = (f"$X${_TEXTS + i}" for i in (2, 3))
    gpus, usd = ((f"{c}{BESIDE}", f"{c}{BESIDE + 1}") for c in "CD")
    cheaper = f'CHOOSE(2+SIGN({usd[0]}-{usd[1]}),"disaggregated","the same","colocated")'
    by_safe = f'CHOOSE(U{WORDS}+2*V{WORDS}*{safe},"neither","disaggregated","colocated",C{WORDS + 1})'
    for row, (label, unit, formula) in enumerate(
        (
            ("At this target", "text", f"IF(X{WORDS},CHOOSE(T{WORDS},{meets},{none}),{room})"),
            ("Cheaper by the hour", "text", f"IF(X{WORDS},{cheaper},{room})"),
            ("Cheaper of those safe at any overlap", "text", f"IF(X{WORDS},{by_safe},{room})"),
            ("GPUs between them", "GPUs", f"ABS({gpus[0]}-{gpus[1]})"),
            ("Cost between them", "USD/h", f"ABS({usd[0]}-{usd[1]})"),
        ),
        WORDS,
    ):
        put(ws, (row, 1), None, "Note")
        put_text(ws, f"B{row}", label, "Label", "left")
        put(ws, f"C{row}", f"={formula}", "Result", unit, "left")
        ws.row_dimensions[row].height = 18


def _charts(ws: Worksheet) -> None:
    names = f"B{BESIDE}:B{BESIDE + 1}"
    for at, title, axis, column in (
        ("B", "GPUs by layout", "Fleet [GPUs]", "C"),
        ("H", "TPOT by layout", "TPOT, worst case [ms]", "G"),
    ):
        cells = {axis: f"{column}{BESIDE}:{column}{BESIDE + 1}"}
        bar_chart(ws, f"{at}{WORDS + 6}", title, ("Layout", axis), names, cells)
