"""Chargeback: the invoice of a month by workload class, by replica-seconds; idle time is a line of its own."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import budget, budget_costs, chargeback, cost, decode, headroom
from capacity.arguments import Number
from capacity.plan import Guard, step_named
from capacity.registry import spec_of

from ..chain import ADDIN, NATIVE
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..lines import Lines, long_text
from ..row_table import Place, RowTable, Sum
from ..style import color_checks
from ..worded_rows import WordedRows
from . import mix, mix_tables
from .blocks import CLASSES, planned
from .budget_blocks import CHARGES_FIRST, INVOICE_FIRST
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = "Chargeback"
KIND: Final = "output"
PURPOSE: Final = "The invoice by workload class: replica time, USD per million tokens in, cached, out; idle apart"

CHECK: Final = "K"
_WORKING: Final = 12
_POOL: Final = mix_tables.POOLS_FIRST


def _argument(function: object, name: str) -> Number:
    found = spec_of(function).args[name]  # type: ignore[arg-type]  # registered functions
    assert isinstance(found, Number)
    return found


_COST: Final = f"{mix.TITLE}!{mix_tables.POOL_BLOCK.at('cost_per_hour', _POOL)}"
INPUTS: Final = {
    "invoice_usd": _argument(chargeback.charge_usd, "invoice_usd"),
    "peak_to_mean": _argument(headroom.load_factor, "peak_to_mean"),
    "hours_per_month": _argument(cost.usd_per_month, "hours_per_month"),
}
LINES: Final = Lines(
    INPUTS,
    (step_named("load_factor", headroom.load_factor),),
    (INVOICE_FIRST, INVOICE_FIRST + len(INPUTS) + 2),
    {"check": CHECK, "agree": "L", ADDIN: "M", NATIVE: "N"},
    # the invoice of no fleet, which is an error, is no bad input: tokens stay, and what it stops is counted beside
    bad=f"{mix.TITLE}!{mix_tables.BAD}-{IS_REFUSED}*(COUNT($C${INVOICE_FIRST})=0)",
    follows={
        "invoice_usd": f"IF({IS_REFUSED},NA(),{_COST}*{planned('hours_per_month')})",
        "peak_to_mean": planned("peak_to_mean"),
        "hours_per_month": planned("hours_per_month"),
    },
    fleet=IS_REFUSED,
    free=["load_factor"],
)
LAST: Final = CHARGES_FIRST + len(CLASSES) - 1
IDLE_ROW, TOTAL_ROW = LAST + 1, LAST + 2


def _class(name: str) -> Place:
    """What Mix has of the class, engine by engine."""
    block = mix_tables.CLASS_BLOCK

    def place(engine: str, row: int) -> str:
        return f"{mix.TITLE}!{block.values[name][1].at(name, engine, row - CHARGES_FIRST + FIRST_ROW)}"

    return place


def _pool(name: str) -> Place:
    table = mix_tables.POOL_BLOCK.values[name][1]
    letters = {engine: table.at(name, engine, _POOL).rstrip("0123456789") for engine in (ADDIN, NATIVE)}
    return lambda engine, _: f"{mix.TITLE}!${letters[engine]}${_POOL}"


def _mean(name: str, less: str = "") -> Place:
    """Tokens per second on the mean of the month, some of them left out."""

    def place(engine: str, row: int) -> str:
        rate = _class(name)(engine, row)
        rate = f"({rate}-{_class(less)(engine, row)})" if less else rate
        return f"{rate}*{_line(engine, row)}"

    return place


def _line(engine: str, _: int) -> str:
    return LINES.at("load_factor", LINES.columns[engine])


def _replicas(engine: str, row: int) -> str:
    return f"MAX(1,{_pool('replicas')(engine, row)})"  # a fleet of none has nothing to share, and no one to blame


NO_COMPUTED: Final = Guard("no input", lambda v: v["computed_m"] == 0, "{computed_m}=0")
NO_OUTPUT: Final = Guard("no output", lambda v: v["output_m"] == 0, "{output_m}=0")
NO_PROMPT: Final = Guard("no input", lambda v: v["computed_m"] + v["cached_m"] == 0, "{computed_m}+{cached_m}=0")
WORDED: Final = (
    step_named(
        "per_computed",
        budget_costs.month_usd_per_m,
        "Per M input computed",
        NO_COMPUTED,
        tokens_usd="prefill_usd",
        m_tokens="computed_m",
        cost_share="1",
    ),
    step_named(
        "per_input",
        budget_costs.month_usd_per_m,
        "Per M input, cached included",
        NO_PROMPT,
        tokens_usd="prefill_usd",
        m_tokens="input_m",
        cost_share="1",
    ),
    step_named(
        "per_output",
        budget_costs.month_usd_per_m,
        "Per M output",
        NO_OUTPUT,
        tokens_usd="decode_usd",
        m_tokens="output_m",
        cost_share="1",
    ),
)
SHOWN: Final = {
    "computed_m": ("C", "Input computed [M tokens/month]"),
    "cached_m": ("D", "Input cached [M tokens/month]"),
    "output_m": ("E", "Output [M tokens/month]"),
    "class_busy": ("F", "Busy replicas, mean"),
    "class_usd": ("G", "Charge [USD]"),
    "per_computed": ("H", "USD per M input computed"),
    "per_input": ("I", "USD per M input, cached included"),
    "per_output": ("J", "USD per M output"),
}
TABLE: Final = WordedRows(
    (
        step_named("computed_m", budget.month_m_tokens, "Input computed", mean_tps="computed_mean"),
        step_named("cached_m", budget.month_m_tokens, "Input cached", mean_tps="cached_mean"),
        step_named("output_m", budget.month_m_tokens, "Output", mean_tps="output_mean"),
        step_named("prefill_busy", headroom.mean_busy_replicas, "Prefill, mean", busy_replicas="prefill_load"),
        step_named("decode_load", decode.decode_load),
        step_named("decode_busy", headroom.mean_busy_replicas, "Decode, mean", busy_replicas="decode_load"),
        Sum(
            "class_busy", "Busy replicas, mean", "replica-s/s", lambda e, r: _both("prefill_busy", "decode_busy", e, r)
        ),
        step_named("prefill_usd", chargeback.charge_usd, "Charge for prefill", class_busy="prefill_busy"),
        step_named("decode_usd", chargeback.charge_usd, "Charge for decode", class_busy="decode_busy"),
        Sum("class_usd", "Charge", "USD", lambda e, r: _both("prefill_usd", "decode_usd", e, r)),
        *WORDED,
    ),
    range(CHARGES_FIRST, LAST + 1),
    {
        "computed_mean": _mean("computed_tps"),
        "cached_mean": _mean("prompt_tps", "computed_tps"),
        "output_mean": _mean("output_tps"),
        "month_hours": LINES.at("hours_per_month"),
        "prefill_load": _class("prefill_load"),
        "output_tps": _class("output_tps"),
        "replica_tps": _pool("replica_tps"),
        "load_factor": _line,
        "invoice_usd": LINES.at("invoice_usd"),
        "replicas": _replicas,
        "input_m": lambda e, r: _both("computed_m", "cached_m", e, r),
        "1": "1",
    },
    {name: column for name, (column, _) in SHOWN.items()},
    (_WORKING, CHECK, LINES.bad()),
    [step.name for step in WORDED],
    LINES.stop(),
    ("computed_m", "cached_m", "output_m"),
)


def _both(one: str, other: str, engine: str, row: int) -> str:
    return f"{TABLE.at(one, engine, row)}+{TABLE.at(other, engine, row)}"


IDLE: Final = RowTable(
    (
        Sum(
            "all_busy",
            "Busy replicas of all classes",
            "replica-s/s",
            lambda e, _: f"SUM({TABLE.span('class_busy', e)})",
        ),
        step_named("idle_usd", chargeback.idle_usd),
    ),
    range(IDLE_ROW, IDLE_ROW + 1),
    {"invoice_usd": LINES.at("invoice_usd"), "replicas": _replicas},
    {"idle_usd": "G"},
    (_WORKING, CHECK, LINES.stop()),
)
NOTES: Final = {
    "invoice_usd": "follows Mix: its pool's cost for all hours of a month; enter the provider's invoice",
    "peak_to_mean": "follows Plan",
    "hours_per_month": "follows Plan",
}
TEXTS: Final = (
    "A class pays for the replica time that it takes on the mean of the month. Cached input takes none: $0.",
    "Idle time is the ceiling at peak, spares and the hours below the peak: no class has caused it alone.",
)
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("The invoice", 40),
    *(Column(head, width, align) for head, width, align in (("Value", 16, "right"), ("Unit", 16, "left"))),
    Column("Meaning", 16),
    *(Column("", 16) for _ in range(5)),
    Column("Check", 9, "center"),
    *(Column(words, 12, "center") for words in ("Inputs bad", "Add-in", "Native")),
    *(Column("", 12, "right") for _ in range(15, TABLE.next_column)),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Who pays for the fleet?",
        "The classes of Mix share the invoice by replica time; idle time is a line of its own; all lines are it.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"
    LINES.head(ws, LINES.last - 1, "Engines agree", "Of the peak, on the mean", "Value", "Unit", "In words")
    LINES.write(ws, NOTES)
    heads = ["#", "Class", *(words for _, words in SHOWN.values()), "Check"]
    aligned = ["center", "left", *["right"] * len(SHOWN), "center"]
    header(ws, CHARGES_FIRST - 1, map(Column, heads, [0.0] * len(heads), aligned))
    header(ws, CHARGES_FIRST - 1, TABLE.headers(), _WORKING)
    ws.row_dimensions[CHARGES_FIRST - 1].height = 46
    for order, row in enumerate(TABLE.rows, 1):
        put(ws, (row, 1), order, "Note", align="center")
        put(ws, f"B{row}", f"={mix.TITLE}!B{FIRST_ROW + order - 1}", "Label", align="left")
    TABLE.write(ws)
    IDLE.write(ws)
    for column, row in ((SHOWN[step.name][0], row) for step in WORDED for row in TABLE.rows):
        ws[f"{column}{row}"].number_format = '"$"0.0000'
    put(ws, (IDLE_ROW, 1), len(CLASSES) + 1, "Note", align="center")
    put_text(ws, f"B{IDLE_ROW}", "Idle time", "Label", "left")
    put(ws, (TOTAL_ROW, 1), len(CLASSES) + 2, "Note", align="center")
    put_text(ws, f"B{TOTAL_ROW}", "All lines: the invoice", "Label", "left")
    for column, unit in (
        ("C", "M tokens/month"),
        ("D", "M tokens/month"),
        ("E", "M tokens/month"),
        ("F", "replica-s/s"),
    ):
        put(ws, f"{column}{TOTAL_ROW}", f"=SUM({column}{CHARGES_FIRST}:{column}{LAST})", "Result", unit, "right")
    put(ws, f"G{TOTAL_ROW}", f"=SUM(G{CHARGES_FIRST}:G{IDLE_ROW})", "Result", "USD", "right")
    same = f"ROUND(G{TOTAL_ROW}-{LINES.at('invoice_usd')},2)=0"
    put(ws, f"{CHECK}{TOTAL_ROW}", f'=IF({LINES.stop()}>0,"FAIL",CHOOSE(1+({same}),"FAIL","PASS"))', "Check")
    color_checks(ws, f"{CHECK}{TOTAL_ROW}:{CHECK}{TOTAL_ROW}")
    for row, text in enumerate(TEXTS, TOTAL_ROW + 1):
        long_text(ws, f"B{row}", text)
    ws.print_area = f"A1:{CHECK}{TOTAL_ROW + len(TEXTS)}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${TOTAL_ROW}" for c in ("A", CHECK))
    return (
        Check(
            "Chargeback rows that fail",
            "Inputs are within their bounds, engines agree, all lines together are the invoice to the cent",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Chargeback, and at Mix",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    return [*LINES.addin_cells(), *TABLE.addin_cells(), *IDLE.addin_cells()]
