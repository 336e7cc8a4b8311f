"""Own: what a GPU-hour of owned nodes costs against rent, by life and load, and cash and P&L by year."""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity import own, renting
from capacity.money_inputs import OWN_INPUTS
from capacity.plan import Guard, Step, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..input_rows import bounds
from ..lines import Lines, long_text
from ..plan_table import elsewhere
from ..row_table import RowTable
from ..style import color_checks
from ..sums import Place, Sum
from .blocks import planned
from .money_blocks import LIVES, LOADS_ROW, OWN_FIRST, OWN_LOADS, YEARS

TITLE: Final = "Own"
KIND: Final = "output"
PURPOSE: Final = "Owned nodes: USD per GPU-hour by life and load, the life that beats rent, cash and P&L by year"

CHECK: Final = "J"
SIDES: Final = {"check": CHECK, "agree": "K", ADDIN: "L", NATIVE: "M"}
_WORKING: Final = 11

NEVER: Final = Guard(
    "never",
    lambda v: v["rented_usd_per_year"] - v["running_usd_per_year"] <= v["node_capital_usd"] * v["capital_rate"],
    "{rented_usd_per_year}-{running_usd_per_year}<={node_capital_usd}*{capital_rate}",
)
STEPS: Final = (
    step_named("node_capital_usd", own.node_capital_usd),
    step_named("capital_usd_per_year", own.capital_usd_per_year),
    step_named("power_usd_per_year", own.power_usd_per_year),
    step_named("colocation_usd_per_year", own.colocation_usd_per_year),
    step_named("support_usd_per_year", own.support_usd_per_year),
    step_named("running_usd_per_year", own.running_usd_per_year),
    step_named("owned_usd_per_gpu_hour", renting.owned_usd_per_gpu_hour, "Owned GPU-hour, of those used"),
    step_named("rented_usd_per_year", renting.rented_usd_per_year),
    step_named("break_even_years", renting.break_even_years, guard=NEVER),
)
STEPS_FIRST: Final = OWN_FIRST + len(OWN_INPUTS) + 2
LIVES_FIRST: Final = LOADS_ROW + 2
LIVES_LAST: Final = LIVES_FIRST + LIVES - 1
YEARS_FIRST: Final = LIVES_LAST + 4
YEARS_LAST: Final = YEARS_FIRST + YEARS
TOTAL_ROW: Final = YEARS_LAST + 1
LINES: Final = Lines(
    OWN_INPUTS,
    STEPS,
    (OWN_FIRST, STEPS_FIRST),
    SIDES,
    follows={"node_gpus": planned("node_gpus")},
)
assert LINES.last + 3 == LOADS_ROW, "money_blocks has the loads elsewhere"
LOAD_COLUMNS: Final = dict(zip(OWN_LOADS, "CDE", strict=True))
BAD: Final = f"${SIDES['agree']}${LOADS_ROW}"  # how many inputs are out of bounds, the loads included


def _line(name: str) -> Place:
    return lambda engine, _: LINES.at(name, SIDES[engine])


def _hour(load: str) -> Step:
    return step_named(load, renting.owned_usd_per_gpu_hour, f"Owned GPU-hour, {load}", load=f"load_of_{load}")


_KNOWN: Final = {
    **{name: LINES.at(name) for name in OWN_INPUTS},
    **{step.name: _line(step.name) for step in STEPS},
}
LIFE_TABLE: Final = RowTable(
    (
        step_named("capital_usd_per_year", own.capital_usd_per_year),
        *(_hour(load) for load in OWN_LOADS),
        Sum("rent", "Rent", "USD/GPU-h", lambda engine, _: elsewhere("usd_per_gpu_hour", engine)),
    ),
    range(LIVES_FIRST, LIVES_LAST + 1),
    {
        **_KNOWN,
        **{f"load_of_{load}": f"${column}${LOADS_ROW}" for load, column in LOAD_COLUMNS.items()},
        "life_years": lambda _, row: f"$A{row}",
    },
    {**LOAD_COLUMNS, "rent": "F", "capital_usd_per_year": "G"},
    (_WORKING, CHECK, BAD),
)


def _running_total(name: str, *parts: str) -> Place:
    def place(engine: str, row: int) -> str:
        above = YEAR_TABLE.at(name, engine, row - 1)
        return f"N({above})" + "".join(part[0] + YEAR_TABLE.at(part[1:], engine, row) for part in parts)

    return place


YEAR_SHOWN: Final = {
    "service_share": "In service [fraction]",
    "owning_cash_usd": "Cash out, owning [USD]",
    "cash_back_usd": "Cash back [USD]",
    "owning_pl_usd": "P&L, owning [USD]",
    "renting_usd": "Rent, cash and P&L [USD]",
    "owning_total": "Owning so far [USD]",
    "renting_total": "Renting so far [USD]",
}
YEAR_PRINTED: Final = dict(zip(YEAR_SHOWN, "CDEFGHI", strict=True))
YEAR_TABLE: Final = RowTable(
    (
        step_named("service_share", renting.service_share),
        step_named("owning_cash_usd", renting.owning_cash_usd),
        step_named("cash_back_usd", renting.cash_back_usd),
        step_named("owning_pl_usd", renting.owning_pl_usd),
        step_named("renting_usd", renting.renting_usd),
        Sum(
            "owning_total",
            "Owning so far",
            "USD",
            _running_total("owning_total", "+owning_cash_usd", "-cash_back_usd"),
        ),
        Sum("renting_total", "Renting so far", "USD", _running_total("renting_total", "+renting_usd")),
    ),
    range(YEARS_FIRST, YEARS_LAST + 1),
    {**_KNOWN, "year": lambda _, row: f"$A{row}-1"},
    YEAR_PRINTED,
    (_WORKING, CHECK, BAD),
)
NOTES: Final = {
    "node_usd": "illustrative: ask for a quote",
    "extra_share": "illustrative",
    "life_years": "illustrative",
    "residual_share": "illustrative; the same share whatever the life",
    "capital_rate": "illustrative: ask your treasury",
    "node_kw": "illustrative: below the nameplate, measured at the wall",
    "pue": "illustrative; 1 where colocation has cooling",
    "usd_per_kwh": "illustrative",
    "usd_per_kw_month": "illustrative; 0 in a hall of your own",
    "support_share": "illustrative",
    "work_nodes": "illustrative; Demand has the nodes of each month",
    "spare_nodes": "illustrative",
    "node_gpus": "follows Plan",
    "load": "illustrative: Demand has the load factor",
}
TEXTS: Final = (
    "Owned GPU-hours that are used against rented ones: rent by the hour stops when the load does, a node does not.",
    "P&L: straight-line depreciation and running cost, no interest. Capital per year and USD per GPU-hour have it.",
    "Not in it: staff, taxes, insurance, and what newer GPUs do to the price of rent in the years of the life.",
)
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 40),
    Column("Value", 16, "right"),
    Column("Unit", 16),
    Column("Meaning", 16),
    *(Column("", 16) for _ in range(4)),
    Column("Check", 9, "center"),
    Column("Inputs bad", 11.5, "center"),
    *(Column("", 11.5, "right") for _ in range(2 * len(YEAR_TABLE.names))),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Own or rent",
        "What a used GPU-hour of an owned node costs, from which life on it is less than rent, and when cash goes out.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
        landscape=False,
    )
    ws.print_title_rows = "1:3"
    LINES.write(ws, NOTES)
    LINES.head(ws, STEPS_FIRST - 1, "Engines agree", "Step", "Value", "Unit", "In words")
    ws[LINES.at("pue").replace("$", "")].number_format = "0.00"
    _lives(ws)
    _years(ws)
    for row, text in enumerate(TEXTS, TOTAL_ROW + 1):
        long_text(ws, f"B{row}", text)
    _charts(ws)


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${TOTAL_ROW}" for c in ("A", CHECK))
    return (
        Check(
            "Own rows that fail",
            "Inputs are within their bounds, engines agree, cash less what comes back is the P&L of the life",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Own",
            TITLE,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*LINES.addin_cells(), *LIFE_TABLE.addin_cells(), *YEAR_TABLE.addin_cells()]


def _heads(ws: Worksheet, row: int, texts: dict[str, str], working: list[Column]) -> None:
    letters = "ABCDEFGHIJ"
    columns = [Column(texts.get(c, ""), 0, "center" if c in ("A", CHECK) else "right") for c in letters]
    columns[1] = columns[1]._replace(align="left")
    header(ws, row, (*columns, *working))
    ws.row_dimensions[row].height = 32


def _lives(ws: Worksheet) -> None:
    """USD per GPU-hour by life, a column for each load; the loads stand above."""
    row = LOADS_ROW
    put(ws, (row, 1), 1, "Note", align="center")
    put_text(ws, f"B{row}", "Loads to compare", "Label", "left")
    argument = OWN_INPUTS["load"]
    first, *_, last = LOAD_COLUMNS.values()
    for load, column in zip(OWN_LOADS.values(), LOAD_COLUMNS.values(), strict=True):
        put(ws, f"{column}{row}", load, "Input", "fraction", "right")
    rule = bounds("load", argument, f"{first}{row}")
    ws.add_data_validation(rule)
    rule.add(f"{first}{row}:{last}{row}")
    cells = f"{first}{row}:{last}{row}"
    inside = f'(COUNTIF({cells},">0")=COLUMNS({cells}))*(COUNTIF({cells},"<=1")=COLUMNS({cells}))'
    put(ws, f"{CHECK}{row}", f'=IF({inside},"PASS","FAIL")', "Check")
    color_checks(ws, f"{CHECK}{row}:{CHECK}{row}")
    put(ws, BAD.replace("$", ""), f'={LINES.bad()}+({CHECK}{row}="FAIL")', "Calculation", "count", "center")
    texts = {"A": "#", "B": "Life", CHECK: "Check", "F": "Rent [USD/GPU-h]", "G": "Capital, a node [USD/year]"}
    texts |= {column: f"{load.capitalize()} [USD/GPU-h]" for load, column in LOAD_COLUMNS.items()}
    _heads(ws, LIVES_FIRST - 1, texts, LIFE_TABLE.headers())
    for row in LIFE_TABLE.rows:
        put(ws, (row, 1), row - LIVES_FIRST + 1, "Note", align="center")
        put(ws, f"B{row}", f"=A{row}", "Label", "years", "left").number_format = '[=1]0" year";0" years"'
    LIFE_TABLE.write(ws)


def _years(ws: Worksheet) -> None:
    """Cash and P&L of all nodes by year, and their sums."""
    texts = {"A": "#", "B": "Year", CHECK: "Check"}
    texts |= {YEAR_PRINTED[name]: words for name, words in YEAR_SHOWN.items()}
    _heads(ws, YEARS_FIRST - 1, texts, YEAR_TABLE.headers())
    for row in YEAR_TABLE.rows:
        put(ws, (row, 1), row - YEARS_FIRST + 1, "Note", align="center")
        put(ws, f"B{row}", f"=A{row}-1", "Label", align="left").number_format = '"year "0'
    YEAR_TABLE.write(ws)
    row = TOTAL_ROW
    put(ws, (row, 1), len(YEAR_TABLE.rows) + 1, "Note", align="center")
    put_text(ws, f"B{row}", "Over the life", "Label", "left")
    for name in ("owning_cash_usd", "cash_back_usd", "owning_pl_usd", "renting_usd"):
        column = YEAR_PRINTED[name]
        put(ws, f"{column}{row}", f"=SUM({column}{YEARS_FIRST}:{column}{YEARS_LAST})", "Result", "USD", "right")
    cash, back, expense = (YEAR_PRINTED[n] for n in ("owning_cash_usd", "cash_back_usd", "owning_pl_usd"))
    cent = f"ABS({cash}{row}-{back}{row}-{expense}{row})*1E3<9"  # less than a cent
    put(ws, f"{CHECK}{row}", f'=IF({BAD}>0,"FAIL",CHOOSE(1+({cent}),"FAIL","PASS"))', "Check")
    color_checks(ws, f"{CHECK}{row}:{CHECK}{row}")
    ws.row_dimensions[row].height = 18


def _charts(ws: Worksheet) -> None:
    below = TOTAL_ROW + len(TEXTS) + 2

    def lives(column: str) -> str:
        return f"{column}{LIVES_FIRST}:{column}{LIVES_LAST}"

    lines = {load.capitalize(): lives(column) for load, column in LOAD_COLUMNS.items()} | {"Rent": lives("F")}
    axes = ("Life [years]", "Used GPU-hour [USD/GPU-h]")
    line_chart(ws, f"B{below}", "Used GPU-hour by life and load", axes, lives("A"), lines)
    years = f"B{YEARS_FIRST}:B{YEARS_LAST}"
    totals = {
        words: f"{YEAR_PRINTED[name]}{YEARS_FIRST}:{YEAR_PRINTED[name]}{YEARS_LAST}"
        for name, words in (("owning_total", "Owning so far"), ("renting_total", "Renting so far"))
    }
    axes = ("Year [years]", "Cash [USD]")
    line_chart(ws, f"B{below + CHART_ROWS}", "Cash of owning and of renting", axes, years, totals)
    ws.row_breaks.append(Break(id=YEARS_FIRST - 3))
    ws.print_area = f"A1:{CHECK}{below + 2 * CHART_ROWS}"
