"""Demand: 36 months from users to a mean rate, a design rate, and the nodes that the design rate takes."""

from datetime import date
from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import choose, date_rule
from ..lines import long_text
from ..style import BAD, GOOD, color_checks, color_words
from . import refined, week
from .demand_months import (
    CHECK,
    FIRST_MONTH,
    KV_FIT,
    LAST_MONTH,
    LINES,
    MONTHS_HEAD,
    OVERFLOW_WORDS,
    OVERFLOWS,
    PRINTED,
    SHOWN,
    STEPS_FIRST,
    TABLE,
    TITLE,
    TODAY_ROW,
    TOTAL_ROW,
    say_no_fleet,
)
from .money_blocks import DEMAND_FIRST, FIRST_MONTH_ROW, SHAPE_ROW, SHAPES
from .plan_rows import IS_REFUSED, NOT_JUDGED

__all__ = ["KIND", "PURPOSE", "TITLE", "addin_cells", "checks", "write"]

KIND: Final = "output"
PURPOSE: Final = "36 months from users to mean rate, design rate and nodes: cohorts, turns, growth, batch work"

NOTES: Final = {
    "first_new_users": "illustrative",
    "start_users": "illustrative",
    "first_retention": "illustrative: measure a cohort of yours",
    "later_retention": "illustrative",
    "user_growth": "illustrative",
    "sessions_per_user": "illustrative",
    "turns": "illustrative",
    "requests_per_turn": "illustrative",
    "retry_share": "illustrative: read it from the gateway's log",
    "system_tokens": "illustrative",
    "per_turn": "illustrative",
    "reply_tokens": "illustrative",
    "reasoning_tokens": "illustrative",
    "context_growth": "illustrative",
    "batch_prompt_tokens": "illustrative; grows with new users",
    "batch_output_tokens": "illustrative; grows with new users",
    "deadline_h": "a batch tier usually promises 24 h",
    "node_gpus": "follows Plan",
    "hours_per_month": "follows Plan",
}
TEXTS: Final = (
    "Mean rate: all hours of the month; it is what is sold. Design rate: the busiest hour of the week; it is what the "
    "fleet is built for.",
    "Batch work waits for the valleys: replicas are for the larger of the peak, and of the mean with the batch work.",
    "Model, GPU, batch, ceiling and spares are those of Inputs; cache hits too: history that is resent is cached at "
    "best, so compare.",
)
MILLIONS: Final = '#,##0.0,,"M"'
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 40),
    Column("Value", 14, "right"),
    Column("Unit", 12),
    Column("Meaning", 12),
    *(Column("", 13) for _ in range(len(SHOWN) - 3)),
    Column("", 10),
    Column("Check", 9, "center"),
    Column("Inputs bad", 11.5, "center"),
    *(Column("", 11.5, "right") for _ in range(2 * len(TABLE.names))),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Demand by month",
        "From users to requests, tokens, rates and nodes. The rate on the mean of a month is not the rate that the "
        "fleet is designed for.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_no_fleet(ws)
    ws.print_title_rows = "1:3"  # the header row is that of the inputs only
    _shape(ws)
    _first_month(ws)
    LINES.write(ws, NOTES)
    for i, name in enumerate(LINES.inputs, 4):
        ws.cell(LINES.rows[name], 1).value = i
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{LINES.last}")
    LINES.head(ws, STEPS_FIRST - 1, "Engines agree", "Step", "Value", "Unit", "In words")
    header(
        ws,
        MONTHS_HEAD,
        (
            Column("#", 0, "center"),
            Column("Month", 0),
            *(Column(words, 0, "right") for words in SHOWN.values()),
            Column("KV cache", 0, "center"),
            Column("Check", 0, "center"),
            *TABLE.headers(),
        ),
    )
    ws.row_dimensions[MONTHS_HEAD].height = 46
    _today(ws)
    for row in TABLE.rows:
        put(ws, (row, 1), row - FIRST_MONTH + 1, "Note", align="center")
        month = f"=N(DATE(YEAR($C${FIRST_MONTH_ROW}),MONTH($C${FIRST_MONTH_ROW})+$A{row}-1,1))"
        put(ws, f"B{row}", month, "Label", align="left").number_format = "yyyy-mm"
        _fits(ws, row)
    TABLE.write(ws)
    _totals(ws)
    for name in ("requests_per_month", "prompt_tokens_per_month", "output_tokens_per_month"):
        for row in range(FIRST_MONTH, TOTAL_ROW + 1):
            ws[f"{PRINTED[name]}{row}"].number_format = MILLIONS
    for name in ("mean_req_per_s", "design_req_per_s"):
        for row in TABLE.rows:
            ws[f"{PRINTED[name]}{row}"].number_format = "#,##0.00"
    color_words(ws, f"{KV_FIT}{FIRST_MONTH}:{KV_FIT}{LAST_MONTH}", {"fits": GOOD, "overflows": BAD})
    for row, text in enumerate(TEXTS, TOTAL_ROW + 1):
        long_text(ws, f"B{row}", text)
    for name in ("requests_per_turn", "peak_to_mean"):
        ws[LINES.at(name).replace("$", "")].number_format = "0.00"
    _charts(ws)


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LAST_MONTH}" for c in ("A", CHECK))
    return (
        Check(
            "Demand rows that fail",
            "Inputs are within their bounds; in each month the batch fits and engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Demand; where the batch overflows, plan a smaller one",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*LINES.addin_cells(), *TABLE.addin_cells()]


def _shape(ws: Worksheet) -> None:
    at = f"C{SHAPE_ROW}"
    put(ws, (SHAPE_ROW, 1), 1, "Note", align="center")
    put_text(ws, f"B{SHAPE_ROW}", "Shape of the week", "Label", "left")
    put_text(ws, f"D{SHAPE_ROW}", "text", "Note", "left")
    long_text(ws, f"E{SHAPE_ROW}", "one of the shapes on Week; edit the own one there")
    value = put(ws, at, "consumer", "Input", align="right")
    texts = ("shape", "Shape of the week", "a shape on Week")
    choose(ws, value, texts, week.NAME_CELLS, list(SHAPES), f"{CHECK}{SHAPE_ROW}")
    row, hours = DEMAND_FIRST - 1, week.cells()
    put(ws, (row, 1), 3, "Note", align="center")
    put_text(ws, f"B{row}", "Number of the shape", "Label", "left")
    put_text(ws, f"D{row}", "count", "Note", "left")
    long_text(ws, f"E{row}", "its place in the list; checks that each hour on Week has a load, and one of them some")
    put(ws, f"C{row}", f"=MATCH({at},{week.NAME_CELLS},0)", "Calculation", "count", "right")
    whole = f'(COUNTIF({hours},">=0")=ROWS({hours}))*COUNTIF({hours},">0")'
    put(ws, f"{CHECK}{row}", f'=IF({whole},"PASS","FAIL")', "Check")
    ws.row_dimensions[SHAPE_ROW].height = ws.row_dimensions[row].height = 18


def _first_month(ws: Worksheet) -> None:
    row = FIRST_MONTH_ROW
    put(ws, (row, 1), 2, "Note", align="center")
    put_text(ws, f"B{row}", "First month", "Label", "left")
    put_text(ws, f"D{row}", "date", "Note", "left")
    long_text(ws, f"E{row}", "any day of the first of the 36 months")
    put(ws, f"C{row}", date(2027, 1, 1), "Input", "date", "right")
    rule = date_rule("first month", "any day of the first of the 36 months")
    ws.add_data_validation(rule)
    rule.add(f"C{row}")
    put(ws, f"{CHECK}{row}", f'=IF(COUNT(C{row})=1,CHOOSE(1+(C{row}>0),"FAIL","PASS"),"FAIL")', "Check")
    ws.row_dimensions[row].height = 18


def _today(ws: Worksheet) -> None:
    """The month before the first: those who are there, none of whom is new."""
    put_text(ws, f"B{TODAY_ROW}", "Before", "Note", "left")
    start = f"={LINES.at('start_users')}"
    for engine in (ADDIN, NATIVE):
        put(ws, TABLE.at("kept_users", engine, TODAY_ROW), start, "Calculation", "users", "right")
    for name in ("kept_users", "active_users"):
        put(ws, f"{PRINTED[name]}{TODAY_ROW}", start, "Calculation", "users", "right")


def _fits(ws: Worksheet, row: int) -> None:
    """Whether the batch fits at the month's mean context: where it does not, the month has no fleet."""
    need = f"{refined.cell('batch')}*{TABLE.at('kv_gb_per_seq', NATIVE, row)}"
    fits = f'CHOOSE(1+({need}<=N({refined.cell("kv_pool_gb")})),"overflows","fits")'
    put(ws, f"{KV_FIT}{row}", f"=IF({LINES.bad()}>0,NA(),{fits})", "Check")


def _totals(ws: Worksheet) -> None:
    put_text(ws, f"B{TOTAL_ROW}", "All months", "Label", "left")
    count, words = (at.rpartition("!")[2].replace("$", "") for at in (OVERFLOWS, OVERFLOW_WORDS))
    over = f'COUNTIF({KV_FIT}{FIRST_MONTH}:{KV_FIT}{LAST_MONTH},"overflows")'
    put(ws, count, f"={over}*(1-{IS_REFUSED})", "Calculation", "count", "center", '0;-0;"all fit"')
    sentence = f'"no fleet: the batch overflows in "&{count}&" months, see Demand"'
    put(ws, words, f'=IF({count}=0,"",{sentence})', "Calculation")
    for name, unit in (
        ("requests_per_month", "requests"),
        ("prompt_tokens_per_month", "tokens"),
        ("output_tokens_per_month", "tokens"),
    ):
        column = PRINTED[name]
        total = f"=SUM({column}{FIRST_MONTH}:{column}{LAST_MONTH})"
        put(ws, f"{column}{TOTAL_ROW}", total, "Result", unit, "right")
    ws.row_dimensions[TOTAL_ROW].height = 18


def _charts(ws: Worksheet) -> None:
    below = TOTAL_ROW + len(TEXTS) + 2
    months = f"B{FIRST_MONTH}:B{LAST_MONTH}"

    def rows(name: str) -> str:
        return f"{PRINTED[name]}{FIRST_MONTH}:{PRINTED[name]}{LAST_MONTH}"

    rates = {"Design rate": rows("design_req_per_s"), "Mean rate": rows("mean_req_per_s")}
    line_chart(ws, f"B{below}", "Request rates by month", ("Month [months]", "Rate [req/s]"), months, rates)
    fleet = {"GPUs": rows("gpus"), "GPUs in whole nodes": rows("billed_gpus")}
    line_chart(ws, f"K{below}", "GPUs by month", ("Month [months]", "GPUs [GPUs]"), months, fleet)
    for row in (MONTHS_HEAD - 1, below - 2):
        ws.row_breaks.append(Break(id=row))
    ws.print_area = f"A1:{CHECK}{below + CHART_ROWS}"
