"""Budget: 36 months with fiscal quarters, from rates to dollars; what was submitted; where every dollar goes."""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, stacked_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import bounds, date_rule, name_rule
from ..lines import long_text
from ..style import color_checks
from . import demand_months, evidence, refined, terms
from .budget_blocks import (
    APPROVED_ROW,
    FIRST_MONTH,
    KINDS_FIRST,
    LAST_MONTH,
    QUARTERS,
    QUARTERS_FIRST,
    SUBMITTED,
    TOTAL_ROW,
)
from .budget_months import BAD, CHECK, FREE, NODE_GPUS, PARTS, PRINTED, SHOWN, STOP, TABLE, TITLE
from .plan_rows import IS_REFUSED

__all__ = ["KIND", "PURPOSE", "TITLE", "addin_cells", "checks", "write"]

KIND: Final = "output"
PURPOSE: Final = "36 months with fiscal quarters: rates, fleet, contracts, costs, cost per million tokens; as submitted"

MONTH, QUARTER, MEAN, DESIGN, NODES, AGAINST = "B", "C", "D", "E", "G", "W"
TOTAL: Final = PRINTED["month_usd"]
HEADS: Final = {
    "A": "#",
    MONTH: "Month",
    QUARTER: "Fiscal quarter",
    MEAN: "Mean rate [req/s]",
    DESIGN: "Design rate [req/s]",
    NODES: "Nodes",
    **dict(SHOWN.values()),
    SUBMITTED: "Submitted [USD]",
    AGAINST: "Over what was submitted [USD]",
    CHECK: "Check",
}
WHOLE_USD: Final = '"$"#,##0'
SUBMITTED_USD: Final = Number("USD", "submitted: cost of the month as it was approved", example=0, ge=0)
# What is paid beyond GPUs, each by its own terms: quantity -> formula of all months.
_SUM: Final = "SUM({0}${1}:{0}${2})"


def _sum(column: str) -> str:
    return _SUM.format(column, FIRST_MONTH, LAST_MONTH)


def _span(column: str) -> str:
    return f"{column}{FIRST_MONTH}:{column}{LAST_MONTH}"


def _output() -> str:
    """Output tokens of all months, by the engine in use."""
    native, addin = (TABLE.span("output_m", engine) for engine in (NATIVE, ADDIN))
    return f'IF(engine_active="Native",SUM({native}),SUM({addin}))'


def _kinds() -> dict[str, str]:
    """Each kind of cost -> its sum over the months, by its own terms."""
    t, months = terms.cell, f"ROWS({_span(MONTH)})"
    gpus = f"({_sum(PRINTED['contract_usd'])}+{_sum(PRINTED['on_demand_usd'])})"
    return {
        "Contracts": _sum(PRINTED["contract_usd"]),
        "On demand": _sum(PRINTED["on_demand_usd"]),
        "Egress": f"{_output()}*{t('egress_usd')}",
        "Storage": f"{months}*{t('storage_usd')}",
        "Staff": f"{months}*{t('staff_usd')}",
        "Licenses": f"{_sum(PRINTED['billed_gpus'])}*{t('license_usd')}",
        "Support": f"{gpus}*{t('vendor_support')}",
        "Contingency": _sum(PRINTED["contingency_usd"]),
    }


KINDS: Final = _kinds()
KINDS_LAST: Final = KINDS_FIRST + len(KINDS)  # their sum
# The plan in 8 of 10 comparable runs: quantity of the fleets on Evidence -> label and unit.
BANDS: Final = {
    "gpus": ("GPUs", "GPUs"),
    "cost_per_hour": ("Cost per hour [USD/h]", "USD/h"),
    "usd_per_m_tokens": ("Bill per M output tokens [USD/M tokens]", "USD/M tokens"),
}
BANDS_FIRST: Final = KINDS_LAST + 3
CONTINGENCY_ROW: Final = BANDS_FIRST + len(BANDS)
CHART_ROW: Final = CONTINGENCY_ROW + 3
TEXTS: Final = (
    "Over what was submitted is positive, under it negative. Months have equal hours, those of Demand.",
    "A contract is paid for all hours, used or not. The on-demand rest is paid for its own hours alone.",
    "Contingency is yours to set on Terms. By the band it is the GPUs at the band's high end over the plan's, less 1.",
    "Per M input and per M output, by work, together are the whole bill; batch tokens are counted with the rest.",
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    wide = {QUARTER: 13, MONTH: 18, NODES: 9, "R": 14.5, AGAINST: 15}
    printed = [get_column_letter(i) for i in range(1, 25)]
    columns = [
        Column(HEADS[c], 5 if c == "A" else wide.get(c, 12.5), "center" if c in ("A", CHECK) else "right")
        for c in printed
    ]
    frame(
        ws,
        "Budget by month",
        "Design rate: the busiest hour, for which the fleet is built. Mean rate: all hours, which are sold.",
        [*columns, *TABLE.headers()],
        freeze=f"D{FIRST_ROW}",
    )
    demand_months.say_no_fleet(ws)
    ws.print_title_rows = "1:3"  # the header row is that of the months only
    ws.row_dimensions[5].height = 46
    for row in TABLE.rows:
        _month(ws, row)
    TABLE.write(ws)
    for name in (*PARTS, "month_usd", "cumulative_usd"):
        for row in TABLE.rows:
            ws[f"{PRINTED[name]}{row}"].number_format = WHOLE_USD
    _total(ws)
    _approved(ws)
    _quarters(ws)
    _kind_rows(ws)
    _band_rows(ws)
    parts = {SHOWN[name][1].partition(" [")[0]: _span(PRINTED[name]) for name in PARTS}
    axes = ("Month [months]", "Cost of the month [USD]")
    stacked_chart(ws, f"B{CHART_ROW}", "Budget by month and kind of cost", axes, _span(MONTH), parts)
    for row, text in enumerate(TEXTS, CHART_ROW + CHART_ROWS):
        long_text(ws, f"B{row}", text)
    ws.row_breaks.append(Break(id=APPROVED_ROW + 2))
    ws.print_area = f"A1:{CHECK}{CHART_ROW + CHART_ROWS + len(TEXTS)}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${KINDS_LAST}" for c in ("A", CHECK))
    return (
        Check(
            "Budget rows that fail",
            "Inputs are within their bounds, engines agree; months, quarters and kinds of cost sum to the cent",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Budget, and at Terms and Demand",
            TITLE,
            waits=demand_months.NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return TABLE.addin_cells()


def _month(ws: Worksheet, row: int) -> None:
    month = row - FIRST_MONTH + 1
    put(ws, (row, 1), month, "Note", align="center")
    there = f"{demand_months.TITLE}!B{demand_months.FIRST_MONTH + month - 1}"
    put(ws, f"{MONTH}{row}", f"={there}", "Label", align="right").number_format = "yyyy-mm"
    native, addin = (
        f'"FY"&{TABLE.at("fiscal_year", engine, row)}&" Q"&{TABLE.at("fiscal_quarter", engine, row)}'
        for engine in (NATIVE, ADDIN)
    )
    label = f'=IF({BAD}>0,NA(),IF(engine_active="Native",{native},{addin}))'
    put(ws, f"{QUARTER}{row}", label, "Label", align="right")
    for column, name in ((MEAN, "mean_req_per_s"), (DESIGN, "design_req_per_s")):
        put(ws, f"{column}{row}", f"={demand_months.at(name, month)}", "Result", "req/s", "right")
        ws[f"{column}{row}"].number_format = "#,##0.0"
    put(ws, f"{NODES}{row}", f"={PRINTED['billed_gpus']}{row}/{NODE_GPUS}", "Result", "nodes", "right")
    put(ws, f"{SUBMITTED}{row}", None, "Input", "USD", "right").number_format = WHOLE_USD
    submitted, total = f"{SUBMITTED}{row}", f"{TOTAL}{row}"
    over = f'=CHOOSE(1+COUNT({submitted}),"not submitted",{total}-{submitted})'
    put(ws, f"{AGAINST}{row}", over, "Result", "USD", "right").number_format = WHOLE_USD


def _total(ws: Worksheet) -> None:
    row = TOTAL_ROW
    put(ws, (row, 1), TABLE.rows[-1] - FIRST_MONTH + 1 + 1, "Note", align="center")
    put_text(ws, f"{MONTH}{row}", "All months", "Label", "right")
    for name in (*PARTS, "month_usd"):
        column = PRINTED[name]
        put(ws, f"{column}{row}", f"={_sum(column)}", "Result", "USD", "right").number_format = WHOLE_USD
    put(ws, f"{SUBMITTED}{row}", f"={_sum(SUBMITTED)}", "Result", "USD", "right").number_format = WHOLE_USD
    parts = "+".join(f"{PRINTED[name]}{row}" for name in PARTS)
    so_far = f"ROUND({PRINTED['cumulative_usd']}{LAST_MONTH}-{TOTAL}{row},2)=0"
    same = f"AND(ROUND({parts}-{TOTAL}{row},2)=0,{so_far})"
    put(ws, f"{CHECK}{row}", f'=IF({STOP}>0,"FAIL",CHOOSE(1+{same},"FAIL","PASS"))', "Check")
    rule = bounds("submitted", SUBMITTED_USD, f"{SUBMITTED}{FIRST_MONTH}")
    rule.allow_blank = True
    ws.add_data_validation(rule)
    rule.add(_span(SUBMITTED))
    ws.row_dimensions[row].height = 18


def _approved(ws: Worksheet) -> None:
    """Who has approved what was submitted, and when; a column of figures without both fails."""
    row = APPROVED_ROW
    long_text(ws, f"{MONTH}{row}", "Submitted figures were approved by")
    long_text(ws, f"{MONTH}{row + 1}", "on (date)")
    put(ws, f"F{row}", None, "Input", align="left")
    put(ws, f"F{row + 1}", None, "Input", "date", "left")
    long_text(ws, f"H{row}", "Paste the values of the months' cost under Submitted; enter who approved them and when.")
    name = name_rule("approved by", 60, "who approved the submitted figures", blank=True)
    day = date_rule("approved on", "day on which the submitted figures were approved", blank=True)
    for rule, at in ((name, f"F{row}"), (day, f"F{row + 1}")):
        ws.add_data_validation(rule)
        rule.add(at)
    put(ws, (row + 1, 1), TOTAL_ROW - FIRST_MONTH + 2, "Note", align="center")
    figures = _span(SUBMITTED)
    none = f"COUNTA({figures})+COUNTA(F{row}:F{row + 1})=0"
    whole = f"AND(COUNT({figures})=ROWS({figures}),COUNTA(F{row})=1,COUNT(F{row + 1})=1)"
    put(ws, f"{CHECK}{row + 1}", f'=CHOOSE(1+OR({none},{whole}),"FAIL","PASS")', "Check")
    color_checks(ws, f"{CHECK}{TOTAL_ROW}:{CHECK}{KINDS_LAST}")


def _quarters(ws: Worksheet) -> None:
    """Sums by fiscal quarter; the last is there where the months do not begin with a quarter."""
    names = (*PARTS, "month_usd")
    letters = [get_column_letter(i) for i in range(1, 25)]
    heads = {"A": "#", MONTH: "Fiscal quarter", CHECK: "Check"} | {PRINTED[n]: HEADS[PRINTED[n]] for n in names}
    heads[TOTAL] = "Cost of the quarter [USD]"
    aligned = {"A": "center", CHECK: "center"}
    header(ws, QUARTERS_FIRST - 1, [Column(heads.get(c, ""), 0, aligned.get(c, "right")) for c in letters])
    ws.row_dimensions[QUARTERS_FIRST - 1].height = 46
    of_quarter = 3
    for i in range(QUARTERS):
        row = QUARTERS_FIRST + i
        month = min(FIRST_MONTH + of_quarter * i, LAST_MONTH)
        label = f"={QUARTER}{month}"
        if month == LAST_MONTH:
            label = f'=IF({QUARTER}{month}={MONTH}{row - 1},"no more",{QUARTER}{month})'
        put(ws, f"{MONTH}{row}", label, "Label", align="right")
        for name in names:
            column = PRINTED[name]
            quarters, figures = (f"${c}${FIRST_MONTH}:${c}${LAST_MONTH}" for c in (QUARTER, column))
            stop = BAD if name in FREE else STOP  # a sum by quarter would leave out errors
            summed = f"=IF({stop}>0,NA(),SUMIF({quarters},${MONTH}{row},{figures}))"
            put(ws, f"{column}{row}", summed, "Result", "USD", "right").number_format = WHOLE_USD
    last = QUARTERS_FIRST + QUARTERS - 1
    put(ws, (last, 1), TOTAL_ROW - FIRST_MONTH + 3, "Note", align="center")
    same = f"ROUND(SUM({TOTAL}{QUARTERS_FIRST}:{TOTAL}{last})-{TOTAL}{TOTAL_ROW},2)=0"
    put(ws, f"{CHECK}{last}", f'=IF({STOP}>0,"FAIL",CHOOSE(1+({same}),"FAIL","PASS"))', "Check")


def _kind_rows(ws: Worksheet) -> None:
    """All months by kind of cost, each by its own terms, and their sum against that of the months."""
    letters = [get_column_letter(i) for i in range(1, 25)]
    heads = {"A": "#", MONTH: "Kind of cost", "F": "All months [USD]", "H": "Share [fraction]", CHECK: "Check"}
    aligned = {"A": "center", MONTH: "left", CHECK: "center"}
    header(ws, KINDS_FIRST - 1, [Column(heads.get(c, ""), 0, aligned.get(c, "right")) for c in letters])
    for row, (kind, formula) in enumerate(KINDS.items(), KINDS_FIRST):
        put_text(ws, f"{MONTH}{row}", kind, "Label", "left")
        put(ws, f"F{row}", f"={formula}", "Result", "USD", "right").number_format = WHOLE_USD
        share = f'=IF({TOTAL}${TOTAL_ROW}=0,"no cost",F{row}/{TOTAL}${TOTAL_ROW})'
        put(ws, f"H{row}", share, "Result", "fraction", "right")
    put_text(ws, f"{MONTH}{KINDS_LAST}", "All kinds", "Label", "left")
    put(ws, (KINDS_LAST, 1), TOTAL_ROW - FIRST_MONTH + 4, "Note", align="center")
    total = f"=SUM(F{KINDS_FIRST}:F{KINDS_LAST - 1})"
    put(ws, f"F{KINDS_LAST}", total, "Result", "USD", "right").number_format = WHOLE_USD
    same = f"ROUND(F{KINDS_LAST}-{TOTAL}{TOTAL_ROW},2)=0"
    put(ws, f"{CHECK}{KINDS_LAST}", f'=IF({STOP}>0,"FAIL",CHOOSE(1+({same}),"FAIL","PASS"))', "Check")


def _band_rows(ws: Worksheet) -> None:
    """The plan between the ends of the error band, and the contingency beside that of the band."""
    letters = [get_column_letter(i) for i in range(1, 25)]
    heads = {MONTH: "8 of 10 runs", "F": "Plan", "G": "From", "H": "To"}
    header(ws, BANDS_FIRST - 1, [Column(heads.get(c, ""), 0, "left" if c == MONTH else "right") for c in letters])
    for row, (name, (label, unit)) in enumerate(BANDS.items(), BANDS_FIRST):
        long_text(ws, f"{MONTH}{row}", label)
        low, high = (evidence.cell(name, share) for share in ("p90", "p10"))
        planned = f"IF({IS_REFUSED},NA(),{refined.cell(name)})"
        for column, source in zip("FGH", (planned, low, high), strict=True):
            put(ws, f"{column}{row}", f"={source}", "Result", unit, "right")
    words = f'=IF({IS_REFUSED},"no fleet",{evidence.sentence()})'
    put(ws, f"J{BANDS_FIRST}", words, "Note").alignment = Alignment(horizontal="left", vertical="center", indent=1)
    row = CONTINGENCY_ROW
    long_text(ws, f"{MONTH}{row}", "Contingency: as set on Terms, and by the band")
    for column, source in (("F", terms.cell("contingency")), ("H", evidence.contingency())):
        put(ws, f"{column}{row}", f"={source}", "Result", "of cost", "right")
