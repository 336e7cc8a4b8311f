"""Commit: what to reserve for a week, a row for each contract, and 36 months of contracts against the need."""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.money_inputs import CONTRACT_INPUTS

from ..charts import CHART_ROWS, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import bounds, name_rule
from ..lines import long_text
from ..style import color_checks
from . import demand_months as months
from .commit_months import PRINTED, SHOWN, TABLE
from .commit_tables import (
    ACROSS_ROWS,
    BAD,
    CHECK,
    CONTRACT_COLUMNS,
    CONTRACT_SHOWN,
    CONTRACT_TABLE,
    CONTRACTS_LAST,
    FIRST_MONTH,
    HOURS_PER_MONTH,
    INPUT_CHECK,
    LAST_MONTH,
    LEVEL_SHOWN,
    LEVEL_TABLE,
    LEVELS_FIRST,
    MONTHS_HEAD,
    OWN_COLUMNS,
    SIDES,
    STOP,
    TITLE,
    TOP,
    TOTAL_ROW,
    WEEK,
    WEEK_FIRST,
)
from .money_blocks import CONTRACTS, CONTRACTS_FIRST

__all__ = ["KIND", "PURPOSE", "TITLE", "addin_cells", "checks", "write"]

KIND: Final = "output"
PURPOSE: Final = "The level that pays reserved, a row per contract, 36 months: coverage, use, stranded cost, on demand"

NOTES: Final = {
    "reserved_price": "illustrative; the row of levels, and no contract, takes it",
    "on_demand_price": "illustrative",
    "level_nodes": "raise it for a fleet that goes beyond the levels below",
    "price_growth": "illustrative; contracts keep their price",
}
HEADS: Final = {
    "contract_gpus": "GPUs once all have come",
    "start_month": "Start [months]",
    "term_months": "Term [months]",
    "ramp_share": "Ramp a month [fraction]",
    "reserved_price": "Price [USD/GPU-h]",
    "upfront_share": "Upfront [fraction]",
    "cancellable": "Can be cancelled",
}
TEXTS: Final = (
    "A price that changes in mid-contract: end the row with the old price, and begin another with the new one.",
    "GPUs above the contracts are taken by the hour, as the load of Week goes: each for its own hours, never for all. "
    "For a fleet that stands for the peak choose the flat shape.",
    "Stranded: paid for firm contracts in hours in which no load runs; those that can be cancelled are used last.",
)
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 36),
    Column("Value", 13, "right"),
    Column("Unit", 13),
    Column("Meaning", 13),
    *(Column("", 14) for _ in range(16)),
    Column("Check", 9, "center"),
    Column("Inputs bad", 11.5, "center"),
    *(Column("", 11.5, "right") for _ in range(2 * len(TABLE.names) + 2)),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Contracts",
        "A GPU pays reserved when it runs more than reserved / on-demand price of the hours. Below, each contract, and "
        "what all of them cover in 36 months.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    months.say_no_fleet(ws)
    ws.print_title_rows = "1:3"
    TOP.write(ws, NOTES)
    _levels(ws)
    WEEK.head(ws, WEEK_FIRST - 1, "Engines agree", "The week", "Value", "Unit", "In words")
    WEEK.write(ws, {})
    _contracts(ws)
    _across(ws)
    _months(ws)
    _totals(ws)
    _charts(ws)


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${TOTAL_ROW + 1}" for c in ("A", CHECK))
    return (
        Check(
            "Commit rows that fail",
            "Inputs are within their bounds, engines agree, contracts sum to what their months cost",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Commit",
            TITLE,
            waits=months.NOT_JUDGED,
        ),
        Check(
            "GPUs above the levels of Commit",
            "The levels reach the busiest hour, so that what pays reserved is found",
            f"{TITLE}!{WEEK.at('missing_gpus')}",
            "GPUs",
            "Raise the nodes of a level on Commit",
            TITLE,
            waits=months.NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    tables = (TOP, LEVEL_TABLE, WEEK, CONTRACT_TABLE, TABLE)
    return [cell for table in tables for cell in table.addin_cells()]


def _heads(ws: Worksheet, row: int, texts: dict[str, str], working: list[Column]) -> None:
    """A header row: texts by column letter, and the working columns from the first one beside the print on."""
    letters = list("ABCDEFGHIJKLMNOPQRSTUV")
    columns = [Column(texts.get(c, ""), 0, "center" if c in ("A", INPUT_CHECK, CHECK) else "right") for c in letters]
    columns[1] = columns[1]._replace(align="left")
    header(ws, row, (*columns, *working))
    ws.row_dimensions[row].height = 46


def _levels(ws: Worksheet) -> None:
    texts = {"A": "#", CHECK: "Check"} | dict(zip("BCDE", LEVEL_SHOWN.values(), strict=True))
    _heads(ws, LEVELS_FIRST - 1, texts, LEVEL_TABLE.headers())
    for row in LEVEL_TABLE.rows:
        put(ws, (row, 1), row - LEVELS_FIRST + 1, "Note", align="center")
    LEVEL_TABLE.write(ws)
    for row in LEVEL_TABLE.rows:
        ws[f"C{row}"].number_format = ws[f"D{row}"].number_format = "#,##0.00"


def _contracts(ws: Worksheet) -> None:
    texts = {"A": "#", "B": "Contract", INPUT_CHECK: "Input check", CHECK: "Check"}
    texts |= {CONTRACT_COLUMNS[name]: words for name, words in HEADS.items()}
    texts |= dict(zip("JKLMN", CONTRACT_SHOWN.values(), strict=True))
    working = [Column("Inputs bad", 0, "center"), *CONTRACT_TABLE.headers()]
    _heads(ws, CONTRACTS_FIRST - 1, texts, [*working, Column("Check: whole numbers", 0, "center")])
    odd_column = get_column_letter(CONTRACT_TABLE.next_column)
    for row, (name, *figures) in enumerate(CONTRACTS, CONTRACTS_FIRST):
        put(ws, (row, 1), row - CONTRACTS_FIRST + 1, "Note", align="center")
        put(ws, f"B{row}", name, "Input", align="left")
        for argument, figure in zip(CONTRACT_INPUTS, figures, strict=True):
            at = f"{CONTRACT_COLUMNS[argument]}{row}"
            put(ws, at, figure, "Input", CONTRACT_INPUTS[argument].unit, "right")
        given = f"C{row}:I{row}"
        whole = f"(INT(D{row})=D{row})*(INT(E{row})=E{row})*(INT(I{row})=I{row})"
        inside = f"(MIN(C{row},G{row}:I{row})>=0)*(E{row}>=1)*(F{row}>0)*(MAX(F{row},H{row}:I{row})<=1)"
        counts = f"COUNT({given})=COLUMNS({given})"
        odd = f"{odd_column}{row}"
        put(ws, odd, f"=IF({counts},1-{whole},1)", "Calculation", "count", "center")
        put(ws, f"{INPUT_CHECK}{row}", f'=IF({odd}=0,CHOOSE(1+{inside},"FAIL","PASS"),"FAIL")', "Check")
        bad = f'={TOP.bad()}+({INPUT_CHECK}{row}="FAIL")'
        put(ws, f"{SIDES['agree']}{row}", bad, "Calculation", "count", "center")
    rows = f"{CONTRACTS_FIRST}:{{c}}{CONTRACTS_LAST}"
    failing = f'COUNTIF({INPUT_CHECK}{rows.format(c=INPUT_CHECK)},"FAIL")'
    put(ws, BAD.replace("$", ""), f"={TOP.bad()}+{failing}", "Calculation", "count", "center")
    put(ws, STOP.replace("$", ""), f"={BAD}+{months.NO_FLEET}", "Calculation", "count", "center")
    for name, argument in CONTRACT_INPUTS.items():
        column = CONTRACT_COLUMNS[name]
        rule = bounds(name, argument, f"{column}{CONTRACTS_FIRST}")
        ws.add_data_validation(rule)
        rule.add(f"{column}{rows.format(c=column)}")
    rule = name_rule("contract", 40, "name of a contract")
    ws.add_data_validation(rule)
    rule.add(f"B{rows.format(c='B')}")
    CONTRACT_TABLE.write(ws)
    color_checks(ws, f"{INPUT_CHECK}{rows.format(c=INPUT_CHECK)}")


def _across(ws: Worksheet) -> None:
    """The contracts once more, a column each."""
    first = min(ACROSS_ROWS.values())
    texts = {"B": "The contracts side by side"} | {c: f"Contract {i}" for i, c in enumerate(OWN_COLUMNS, 1)}
    _heads(ws, first - 1, texts, [])
    ws.row_dimensions[first - 1].height = 18
    for name, row in ACROSS_ROWS.items():
        argument = CONTRACT_INPUTS.get(name)
        label, unit = (argument.label, argument.unit) if argument else ("Paid upfront", "USD")
        put_text(ws, f"B{row}", label, "Label", "left")
        for column, contract in zip(OWN_COLUMNS, CONTRACT_TABLE.rows, strict=True):
            source = f"${CONTRACT_COLUMNS[name]}${contract}" if argument else f"$N${contract}"
            put(ws, f"{column}{row}", f"={source}", "Calculation", unit, "right")


def _months(ws: Worksheet) -> None:
    texts = {"A": "#", "B": "Month", CHECK: "Check"} | {PRINTED[n]: words for n, words in SHOWN.items()}
    _heads(ws, MONTHS_HEAD, texts, [Column("", 0), *TABLE.headers()])
    for row in TABLE.rows:
        put(ws, (row, 1), row - FIRST_MONTH + 1, "Note", align="center")
        month = f"={months.TITLE}!$B{row - FIRST_MONTH + months.FIRST_MONTH}"
        put(ws, f"B{row}", month, "Label", align="left").number_format = "yyyy-mm"
    TABLE.write(ws)


def _totals(ws: Worksheet) -> None:
    """Sums of the months; of each contract what falls into them, and what does not."""
    put_text(ws, f"B{TOTAL_ROW}", "All months", "Label", "left")
    for name, column in PRINTED.items():
        if name in ("committed_gpus", "needed_gpus", "contract_coverage", "commitment_use"):
            continue
        unit = "GPU-months" if name.startswith("contract_") else TABLE.unit(name)
        put(ws, f"{column}{TOTAL_ROW}", f"=SUM({TABLE.span(name).replace('$', '')})", "Result", unit, "right")
    within, beyond = TOTAL_ROW + 1, TOTAL_ROW + 2
    put(ws, (within, 1), len(TABLE.rows) + 1, "Note", align="center")
    put_text(ws, f"B{within}", "Cost within these months [USD]", "Label", "left")
    put_text(ws, f"B{beyond}", "Cost before and after them [USD]", "Label", "left")
    for column, contract in zip(OWN_COLUMNS, CONTRACT_TABLE.rows, strict=True):
        usd = f"={column}{TOTAL_ROW}*$G${contract}*{HOURS_PER_MONTH}"
        put(ws, f"{column}{within}", usd, "Result", "USD", "right")
        put(ws, f"{column}{beyond}", f"=MAX(0,$M${contract}-{column}{within})", "Result", "USD", "right")
    summed = f"ABS(SUM({OWN_COLUMNS[0]}{within}:{OWN_COLUMNS[-1]}{within})-{PRINTED['committed_usd']}{TOTAL_ROW})"
    cent = f"{summed}*1E3<9"  # less than a cent
    check = f'=IF({BAD}>0,"FAIL",CHOOSE(1+({cent}),"FAIL","PASS"))'
    put(ws, f"{CHECK}{within}", check, "Check")
    color_checks(ws, f"{CHECK}{within}:{CHECK}{within}")
    for row, text in enumerate(TEXTS, beyond + 1):
        long_text(ws, f"B{row}", text)


def _charts(ws: Worksheet) -> None:
    below = TOTAL_ROW + len(TEXTS) + 4
    x = f"B{FIRST_MONTH}:B{LAST_MONTH}"

    def rows(name: str) -> str:
        return f"{PRINTED[name]}{FIRST_MONTH}:{PRINTED[name]}{LAST_MONTH}"

    lines = {"GPUs needed, busiest hour": rows("needed_gpus"), "GPUs under contract": rows("committed_gpus")}
    line_chart(ws, f"B{below}", "GPUs needed and under contract", ("Month [months]", "GPUs [GPUs]"), x, lines)
    lines = {"Together": rows("total_usd"), "Contracts": rows("committed_usd"), "Stranded": rows("stranded_usd")}
    line_chart(ws, f"J{below}", "Cost by month", ("Month [months]", "Cost [USD]"), x, lines)
    ws.row_breaks.append(Break(id=CONTRACTS_FIRST - 2))
    ws.row_breaks.append(Break(id=TOTAL_ROW + 2))
    ws.print_area = f"A1:{CHECK}{below + CHART_ROWS}"
