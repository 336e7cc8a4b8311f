"""Buy or run: what the plan's tokens cost at an API's prices, and where that bill and the fleet's are equal."""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity import buying, cost, headroom
from capacity.buying import BUY_INPUTS
from capacity.plan import NO_OUTPUT, Guard, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, line_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, one_page, put
from ..input_rows import bounds
from ..lines import Lines, long_text
from ..plan_table import PlanTable
from ..style import color_checks
from .batch import only_one_engine
from .blocks import BUY_FIRST, LOAD_SHARES, SHARES_FIRST, planned
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused
from .refined import cell as at

TITLE: Final = "Buy or run"
KIND: Final = "output"
PURPOSE: Final = "An API's bill for the same tokens against this fleet's: by work, mark-up and margin, break-even"

NO_PROMPT: Final = Guard("no prompt", lambda v: v["prompt_tps"] == 0, "{prompt_tps}=0")
NO_BILL: Final = Guard("nothing to buy", lambda v: v["api_cost"] == 0, "{api_cost}=0")
NO_COST: Final = Guard("no fleet", lambda v: v["cost_per_hour"] == 0, "{cost_per_hour}=0")
NO_GPUS: Final = Guard("no fleet", lambda v: v["gpus"] == 0, "{gpus}=0")
RATES: Final = (
    step_named("mean_prompt_tps", buying.mean_prompt_tps),
    step_named("mean_output_tps", headroom.mean_output_tps),
    step_named("api_cost", buying.api_cost),
)
STEPS: Final = (
    step_named("load_factor", headroom.load_factor),
    step_named("mean_rate", buying.mean_of_design),
    *RATES,
    step_named("input_at_design", cost.usd_per_m_input, "Fleet per M input, by work, at the design rate", NO_PROMPT),
    step_named(
        "output_at_design",
        cost.usd_per_m_output_split,
        "Fleet per M output, by work, at the design rate",
        NO_OUTPUT._replace(words="no output"),  # a shorter formula
    ),
    step_named(
        "input_on_mean",
        cost.usd_per_m_input,
        "Fleet per M input, by work, on the mean",
        NO_PROMPT,
        prompt_tps="mean_prompt_tps",
    ),
    step_named(
        "output_on_mean",
        cost.usd_per_m_output_split,
        "Fleet per M output, by work, on the mean",
        NO_OUTPUT,
        output_tps="mean_output_tps",
    ),
    step_named(
        "whole_on_mean",
        cost.usd_per_m_tokens,
        "Fleet per M output, whole bill, on the mean",
        NO_OUTPUT,
        tokens_per_s="mean_output_tps",
    ),
    step_named(
        "markup",
        buying.markup,
        "API over fleet: mark-up on the fleet's cost",
        NO_COST,
        revenue_usd="api_cost",
        cost_usd="cost_per_hour",
    ),
    step_named(
        "margin",
        buying.margin,
        "API over fleet: margin on the API's price",
        NO_BILL,
        revenue_usd="api_cost",
        cost_usd="cost_per_hour",
    ),
    step_named("price", buying.break_even_usd_per_gpu_hour, "", NO_GPUS),
    step_named("rate", buying.break_even_req_per_s, "", NO_BILL, mean_req_per_s="mean_rate"),
    step_named("tokens", buying.break_even_m_tokens, "", NO_BILL, break_even_req_per_s="rate"),
)
CHECK: Final = "H"
LINES: Final = Lines(
    BUY_INPUTS,
    STEPS,
    (BUY_FIRST, BUY_FIRST + len(BUY_INPUTS) + 2),
    {"check": CHECK, "agree": "I", ADDIN: "J", NATIVE: "K"},
    follows={name: planned(name) for name in ("peak_to_mean", "hours_per_month")},
    fleet=IS_REFUSED,
    free=["load_factor", "mean_rate", *(step.name for step in RATES)],
)
_SHARES_LAST: Final = SHARES_FIRST + len(LOAD_SHARES) - 1
SHOWN: Final = {
    "mean_rate": ("C", "Mean rate [req/s]"),
    "api_cost": ("D", "At the API [USD/h]"),
    "cost_per_hour": ("E", "This fleet [USD/h]"),
}
CHEAPER, INPUT_CHECK = "F", "G"
AGREE: Final = {"mean_rate": "I", "api_cost": "J"}
TABLE: Final = PlanTable(
    {"load_factor": "B"},
    [],
    11,
    range(SHARES_FIRST, _SHARES_LAST + 1),
    (STEPS[1], *RATES),
    {key: at for key, at in LINES.by_engine().items() if key[0] in BUY_INPUTS},
)
NOTES: Final = {
    "api_input_usd": "illustrative: DeepSeek-R1, February 2025; enter your API's",
    "api_cached_usd": "illustrative, as above",
    "api_output_usd": "illustrative, as above",
    "api_cached_share": "illustrative; read it from the API's own usage report",
    "batch_share": "illustrative; only what can wait",
    "batch_discount": "illustrative; 50% is common",
    "peak_to_mean": "follows Plan",
    "hours_per_month": "follows Plan",
}
TEXTS: Final = (
    "Mark-up is on cost, margin on revenue: DeepSeek's published day earned 545% on its cost, a margin of 84.5%.",
    "The fleet's bill here is GPUs alone, all hours: Budget adds contracts, nodes and costs beyond GPUs.",
    "Break-even: other things stay as they are. A mean rate above the design rate needs a larger fleet.",
)
assert LINES.last + len(TEXTS) + 4 == SHARES_FIRST
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Prices of the API, and how the load goes", 44),
    Column("Value", 15, "right"),
    Column("Unit", 16),
    Column("Meaning", 18),
    Column("", 62),
    Column("", 11, "center"),
    Column("Check", 9, "center"),
    *(Column(words, 12, "center") for words in ("Inputs bad", "Add-in", "Native")),
    *(Column("", 12, "right") for _ in range(12, TABLE.next_column)),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Buy the tokens, or run the fleet?",
        "An API is paid by the token, on the mean of the load; the fleet by the hour, for the design rate.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    LINES.head(ws, LINES.last - len(STEPS), "Engines agree", "Bills and break-even", "Value", "Unit", "In words")
    LINES.write(ws, NOTES)
    for name in ("input_at_design", "output_at_design", "input_on_mean", "output_on_mean", "whole_on_mean"):
        ws[LINES.at(name).replace("$", "")].number_format = '"$"0.0000'
    _whole_bill(ws)
    for row, text in enumerate(TEXTS, LINES.last + 2):
        long_text(ws, f"B{row}", text)
    _shares(ws)
    below = _SHARES_LAST + 2
    lines = {words.partition(" [")[0]: _span(column) for column, words in list(SHOWN.values())[1:]}
    line_chart(ws, f"B{below}", "Bill by load", ("Load factor [fraction]", "Cost [USD/h]"), _span("B"), lines)
    one_page(ws)
    ws.print_area = f"A1:{CHECK}{below + CHART_ROWS}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"'{TITLE}'!${c}${FIRST_ROW}:${c}${_SHARES_LAST}" for c in ("A", CHECK))
    return (
        Check(
            "Buy-or-run rows that fail",
            "Inputs are within their bounds, engines agree, input and output by work are the whole bill",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Buy or run",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*LINES.addin_cells(), *TABLE.addin_cells()]


def _whole_bill(ws: Worksheet) -> None:
    """The two costs by work, each times its tokens, against the fleet's cost per hour."""
    row = LINES.last + 1
    tokens = {"input_at_design": "prompt_tps", "output_at_design": "output_tps"}
    parts = "+".join(f"N({LINES.at(name)})*{at(rate)}" for name, rate in tokens.items())
    put(ws, (row, 1), len(STEPS) + 1, "Note", align="center")
    put(ws, f"B{row}", "Input and output by work against the whole bill", "Label", align="left")
    bill = f"ABS(({parts})*3600/1E6-{at('cost_per_hour')}*SIGN({at('busy_replicas')}))"
    put(ws, f"C{row}", f"=IF({LINES.stop()}>0,NA(),{bill})", "Result", "USD/h", "right")
    put(ws, f"D{row}", "USD/h", "Note", align="left")
    long_text(ws, f"E{row}", "tokens of an hour at their cost, less the fleet's cost per hour")
    put(ws, f"{CHECK}{row}", f'=IF({LINES.stop()}>0,"FAIL",CHOOSE(1+(C{row}<=tolerance),"FAIL","PASS"))', "Check")
    color_checks(ws, f"{CHECK}{row}:{CHECK}{row}")
    ws.row_dimensions[row].height = 18


def _span(column: str) -> str:
    return f"{column}{SHARES_FIRST}:{column}{_SHARES_LAST}"


def _shares(ws: Worksheet) -> None:
    """Both bills at other mean loads of the same fleet."""
    head = {"A": "#", "B": "Load factor: mean over design rate [fraction]", CHEAPER: "Cheaper"}
    head |= {INPUT_CHECK: "Input check", CHECK: "Check"} | dict(SHOWN.values())
    head |= {column: f"Engines agree: {TABLE.label(name)}" for name, column in AGREE.items()}
    letters = [get_column_letter(i) for i in range(1, 11)]
    header(
        ws,
        SHARES_FIRST - 1,
        [Column(head.get(c, ""), 0, "right" if c in "CDE" else COLUMNS[i].align) for i, c in enumerate(letters)],
    )
    header(ws, SHARES_FIRST - 1, TABLE.headers(), 11)
    ws.row_dimensions[SHARES_FIRST - 1].height = 46
    for order, share in enumerate(LOAD_SHARES, 1):
        row = SHARES_FIRST + order - 1
        put(ws, (row, 1), order, "Note", align="center")
        put(ws, f"B{row}", share, "Input", "fraction", "right")
        good = f'AND({LINES.bad()}=0,COUNT(B{row})=1,COUNTIF(B{row},">0"),COUNTIF(B{row},"<=1"))'
        checked = f"{INPUT_CHECK}{row}"
        put(ws, checked, f'=CHOOSE(1+{good},"FAIL","PASS")', "Check")
        for name, (column, _) in SHOWN.items():
            stop = f'({checked}="FAIL")+{LINES.stop()}>0' if name == "cost_per_hour" else f'{checked}="FAIL"'
            value = f"=IF({stop},NA(),{TABLE.pick(name, row)})"
            put(ws, f"{column}{row}", value, "Result", TABLE.unit(name), "right")
        for name, column in AGREE.items():
            put(ws, f"{column}{row}", only_one_engine(checked, TABLE.agree(name, row)), "Calculation", align="center")
        words = f'CHOOSE(2+SIGN(D{row}-E{row}),"API","as much","this fleet")'
        put(ws, f"{CHEAPER}{row}", f"={words}", "Result", align="left")
        agree, stop = f"AND(I{row}:J{row})", f'({checked}="FAIL")+{LINES.stop()}>0'
        put(ws, f"{CHECK}{row}", f'=IF({stop},"FAIL",CHOOSE(1+{agree},"FAIL","PASS"))', "Check")
        ws.row_dimensions[row].height = 18
    TABLE.write(ws)
    rule = bounds("load_factor", LOAD_FACTOR, f"B{SHARES_FIRST}")
    ws.add_data_validation(rule)
    rule.add(_span("B"))
    for column in (INPUT_CHECK, CHECK):
        color_checks(ws, _span(column))


_argument = STEPS[1].function.args["load_factor"]
assert not isinstance(_argument, str)
LOAD_FACTOR: Final = _argument
