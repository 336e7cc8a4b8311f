"""Batch: the TPOT table. Bigger decode batches buy throughput and cost TPOT; the KV pool caps them.

Each row carries both engines: results on the left, the Add-in and the Native chain to the right of the printed area.
"""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS, Step
from capacity.refined import REFINED_STEPS
from capacity.registry import literal
from capacity.tpot import FAILS, MEASURE, SAFE

from ..charts import CHART_ROWS, bar_chart, line_chart
from ..check import Check, not_in
from ..frame import FIRST_ROW, Column, frame, put
from ..input_rows import rule
from ..plan_table import PlanTable
from ..style import BAD, CAUTION, GOOD, color_checks, color_words
from . import refined
from .blocks import BATCH_LAST, BATCHES
from .plan_rows import NONE_FITS, NOT_JUDGED, say_refused

TITLE: Final = "Batch"
KIND: Final = "output"
PURPOSE: Final = "Fleet, cost and TPOT for four decode batches, editable"
SHORT: Final = {
    "decode_step_ms": "Step floor [ms]",
    "replica_tps": "Output rate [tok/s]",
    "decode_load": "Decode load [replica-s/s]",
    "busy_replicas": "Busy replicas [replica-s/s]",
    "cost_per_hour": "Cost [USD/h]",
    "usd_per_m_tokens": "USD per M output tokens",
    "usd_per_m_tokens_all": "USD per M tokens, prompt included",
    "tpot_worst_ms": "Worst-case TPOT [ms]",
    "tpot_best_ms": "Best-case TPOT [ms]",
    "overlap_needed": "Overlap needed [fraction]",
    "tpot_verdict": "Verdict at target",
}


# What the sheet shows of each batch, in the order of the chain.
SHOWN: Final = tuple(s for s in REFINED_STEPS if s.name in SHORT or s.name in ("replicas", "gpus"))
_FIRST_RESULT: Final = 4
KV_FIT: Final = get_column_letter(_FIRST_RESULT + len(SHOWN))
INPUT_CHECK: Final = get_column_letter(_FIRST_RESULT + len(SHOWN) + 1)
CHECK: Final = get_column_letter(_FIRST_RESULT + len(SHOWN) + 2)
TABLE: Final = PlanTable(
    {"batch": "B", "target_ms": "C"},
    [s.name for s in SHOWN],
    _FIRST_RESULT + len(SHOWN) + 3,
    range(FIRST_ROW, BATCH_LAST + 1),
)


def _columns(first: int, names: tuple[str, ...]) -> dict[str, str]:
    return {name: get_column_letter(i) for i, name in enumerate(names, first)}


def _columns(first: int, names: tuple[str, ...]) -> dict[str, str]:
    return {name: get_column_letter(i) for i, name in enumerate(names, first)}


RESULT: Final = _columns(_FIRST_RESULT, tuple(s.name for s in SHOWN))
PRINTED: Final = _columns(
    TABLE.next_column,
    ("batch", "decode_step_ms", "gpus", "tpot_worst_ms", "usd_per_m_tokens", "as_printed", "agree_fleet", "agree_tpot"),
)


def _headers() -> tuple[Column, ...]:
    def column(step: Step) -> Column:
        return Column(SHORT.get(step.name, step.quantity), 20 if step.function.returns_text else 11.5, "right")

    return (
        Column("#", 5, "center"),
        Column("Decode batch [sequences]", 22, "right"),
        Column("TPOT target [ms]", 10, "right"),
        *map(column, SHOWN),
        Column("KV cache", 11, "center"),
        Column("Input check", 9, "center"),
        Column("Check", 14, "center"),
        *TABLE.headers(),
        *(Column(f"Printed: {h}", 10, "right") for h in ("batch", "step", "GPUs", "worst TPOT", "per M output")),
        Column("As printed", 10, "center"),
        Column("Fleets agree", 10, "center"),
        Column("TPOTs agree", 10, "center"),
    )


COLUMNS: Final = _headers()


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Which decode batch?",
        "Fleet, cost and TPOT for each batch, everything else as on Inputs. Worst case: no prefill hides under decode; "
        "best case: all that can hide does.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, NONE_FITS)
    ws.row_dimensions[5].height = 46
    for row, sizes in enumerate(BATCHES, FIRST_ROW):
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        put(ws, f"B{row}", sizes.batch, "Input", "sequences", "right")
        put(ws, f"C{row}", f"={refined.cell('target_ms')}", "Calculation", "ms", "right")
        _results(ws, row)
        _printed(ws, row, sizes)
        ws.row_dimensions[row].height = 20
    _validate(ws)
    verdict = RESULT["tpot_verdict"]
    color_words(ws, _rows(verdict), {SAFE: GOOD, MEASURE: CAUTION, FAILS: BAD})
    color_words(ws, _rows(KV_FIT), {"overflows": BAD})
    color_checks(ws, _rows(INPUT_CHECK))
    color_checks(ws, _rows(CHECK))
    TABLE.write(ws)
    add_charts(ws)
    ws.print_area = f"A1:{CHECK}{BATCH_LAST + CHART_ROWS}"


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return TABLE.addin_cells()


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    return (
        Check(
            "Batch rows that fail",
            "Sizes are whole and at least 1, engines agree, printed figures match",
            not_in(f"{TITLE}!{_rows(CHECK)}", "PASS", "inputs changed"),
            "count",
            "Look at the Check column of Batch",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def add_charts(ws: Worksheet) -> None:
    """TPOT against its target, and the price, by batch."""
    sizes = f"B{FIRST_ROW}:B{BATCH_LAST}"
    below = BATCH_LAST + 2
    lines = {
        "Worst-case TPOT": RESULT["tpot_worst_ms"],
        "Best-case TPOT": RESULT["tpot_best_ms"],
        "TPOT target": "C",
    }
    axes = ("Decode batch [sequences]", "TPOT [ms]")
    line_chart(ws, f"B{below}", "TPOT by decode batch", axes, sizes, {n: _rows(c) for n, c in lines.items()})
    axes = ("Decode batch [sequences]", "USD per M output tokens")
    price = {"USD per M output tokens": _rows(RESULT["usd_per_m_tokens"])}
    bar_chart(ws, f"K{below}", "Cost by decode batch", axes, sizes, price)


def _rows(column: str) -> str:
    return f"{column}{FIRST_ROW}:{column}{BATCH_LAST}"


def _results(ws: Worksheet, row: int) -> None:
    for step in SHOWN:
        formula = f'=IF(${INPUT_CHECK}{row}="FAIL",NA(),{TABLE.worded(step.name, row)})'
        put(ws, f"{RESULT[step.name]}{row}", formula, "Result", step.function.unit, "right")
    fits = f'CHOOSE(1+OR({refined.weightless()},B{row}<=N({refined.cell("max_seqs")})),"overflows","fits")'
    put(ws, f"{KV_FIT}{row}", f'=IF({INPUT_CHECK}{row}="FAIL",NA(),{fits})', "Check")
    b = f"B{row}"
    good = f"AND({b}>=1,{b}=INT({b}))"
    counts = f"AND(facts_bad+{NONE_FITS}=0,COUNT({b})=1)"
    put(ws, f"{INPUT_CHECK}{row}", f'=IF({counts},CHOOSE(1+{good},"FAIL","PASS"),"FAIL")', "Check")
    seed = f"AND(at_seed,{b}={PRINTED['batch']}{row})"
    states = (
        f"1+{PRINTED['agree_fleet']}{row}*{PRINTED['agree_tpot']}{row}*(1+{seed}*(2*{PRINTED['as_printed']}{row}-1))"
    )
    put(ws, f"{CHECK}{row}", f'=CHOOSE({states},"FAIL","inputs changed","PASS")', "Check")


def _printed(ws: Worksheet, row: int, sizes: tuple[float, ...]) -> None:
    formats = ("#,##0", "0.0", "#,##0", "#,##0", '"$"0.00')
    for (name, column), value, shown in zip(PRINTED.items(), sizes, formats, strict=False):
        put(ws, f"{column}{row}", value, "Reference figure", align="right").number_format = shown
        assert name in PRINTED
    digits = {"decode_step_ms": 1, "gpus": 0, "tpot_worst_ms": 0, "usd_per_m_tokens": 2}
    same = ",".join(f"ROUND(N({RESULT[n]}{row}),{d})={PRINTED[n]}{row}" for n, d in digits.items())
    put(
        ws,
        f"{PRINTED['as_printed']}{row}",
        f'=IF({INPUT_CHECK}{row}="FAIL",FALSE,AND({same}))',
        "Calculation",
        align="center",
    )
    fleet, times = (
        TABLE.agree("gpus", row),
        f"{TABLE.agree('tpot_worst_ms', row)}*{TABLE.same_words('tpot_verdict', row)}",
    )
    for column, words in (("agree_fleet", fleet), ("agree_tpot", times)):
        agree = only_one_engine(f"{INPUT_CHECK}{row}", words)
        put(ws, f"{PRINTED[column]}{row}", agree, "Calculation", align="center")


def only_one_engine(input_check: str, agree: str) -> str:
    """Whether the engines agree: never for bad inputs, always where there is only one of them."""
    return f'=IF((addin_version="not installed")+({input_check}="FAIL")>0,{input_check}="PASS",{agree})'


def _validate(ws: Worksheet) -> None:
    batch = INPUTS["batch"]
    limit = {"operator": "greaterThanOrEqual", "formula1": literal(1)}
    text = f"batch must be {batch.bounds}", f"{batch.meaning}: {batch.bounds}"
    sizes = rule("whole", "batch", *text, **limit)
    ws.add_data_validation(sizes)
    sizes.add(f"B{FIRST_ROW}:B{BATCH_LAST}")
