"""Plan: the first screen: the answer in the head, what a team types below it, then what the answer means.

Inputs follows what is typed here until it is typed over there, as facts follow the model chosen. The load is converted
in cell arithmetic whatever the engine: the engine in use depends on every input, so none may depend on it.
"""

from typing import Final

from openpyxl.formatting.rule import FormulaRule
from openpyxl.styles import Font, PatternFill
from openpyxl.worksheet.worksheet import Worksheet

from capacity import demand
from capacity.demand import LOAD_INPUTS
from capacity.plan import INPUTS, Guard, Step, step_named
from capacity.terms import ReqPerS

from ..chain import ADDIN, NATIVE, guarded
from ..charts import CHART_ROWS
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, one_page, put, put_text, section
from ..input_rows import choose
from ..lines import Lines, long_text, number_line
from ..style import CAUTION, color_checks, gray_when
from . import gpus, inputs, models
from .blocks import LOADS, PLAN_ROWS, PLANNED
from .plan_answer import LAST, NODE_GPUS, STEPS, STEPS_FIRST, headline, write_answer
from .plan_rows import HEAD_ROW, KNOWN

TITLE: Final = "Plan"
KIND: Final = "output"
PURPOSE: Final = "The first screen: type load, lengths, model, GPU, TP, weights, target and price; read the answer"
CHECK, AGREE, ADDINS, NATIVES = "H", "I", "J", "K"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("What you plan for", 40),
    Column("Value", 25, "right"),
    Column("Unit", 18),
    Column("Meaning", 31),
    Column("", 31),
    Column("In use", 31, "right"),
    Column("Check", 9, "center"),
    Column("Engines agree", 11.5, "center"),  # beside the printed area, as the next
    Column("Add-in", 13, "right"),
    Column("Native", 13, "right"),
    Column("", 26),
    Column("", 60),
)
NO_LENGTH: Final = Guard(
    "no tokens", lambda v: v["prompt_tokens"] + v["output_tokens"] == 0, "{prompt_tokens}+{output_tokens}=0"
)
# How the load is given -> the row whose figure is then converted, and the function that does it.
FORMS: Final[dict[str, tuple[str, Step | None]]] = dict(
    zip(
        inputs.LISTS["load_form"],
        (
            ("req_per_s", None),
            ("concurrent_requests", step_named("rate_from_concurrency", demand.rate_from_concurrency)),
            ("users", step_named("rate_from_users", demand.rate_from_users)),
            ("m_tokens_per_month", step_named("rate_from_tokens", demand.rate_from_tokens, guard=NO_LENGTH)),
        ),
        strict=True,
    )
)
IN_FLIGHT: Final = step_named("in_flight", demand.concurrency, "Requests in flight at that rate")
NUMBERS: Final = {"req_per_s": ReqPerS.__metadata__[0]} | LOAD_INPUTS
NOTES: Final = {
    "req_per_s": "in the busiest hour",
    "request_s": "illustrative: 400 tokens at 50 ms",
    "concurrent_requests": "illustrative",
    "peak_to_mean": "illustrative; for the two forms below",
    "requests_per_user_day": "illustrative",
    "users": "illustrative",
    "hours_per_month": "",
    "m_tokens_per_month": "illustrative",
    "prompt_tokens": "a mean; long prompts own the TTFT tail",
    "output_tokens": "a mean; count reasoning tokens as output",
    "tp": "",
    "target_ms": "",
    "usd_per_gpu_hour": "illustrative until you enter yours",
    "node_gpus": "an HGX or DGX node has 8",
}
LABELS: Final = {
    "load_form": ("The load is given in", "one of four forms; the others rest"),
    "model": ("Model", "a name on Models; ten free rows there for your own"),
    "gpu": ("GPU", "a name on GPUs; ten free rows there for your own"),
    "quantization": ("Type of the weights", "bytes per weight, and the peak at which they multiply"),
}
LINES: Final = Lines(
    {"node_gpus": NODE_GPUS},
    STEPS,
    (PLAN_ROWS["node_gpus"], STEPS_FIRST),
    {"check": CHECK, "agree": AGREE, ADDIN: ADDINS, NATIVE: NATIVES},
    taken={**KNOWN, "tp": f"$G${PLAN_ROWS['tp']}", "hours_per_month": f"$C${PLAN_ROWS['hours_per_month']}"},
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Plan",
        "Type on blue and yellow; the answer stands in the head. Every other assumption is on Inputs, every step on "
        "Audit.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    section(ws, FIRST_ROW, "The load", 8)
    for order, name in enumerate(LOADS, 1):
        _typed(ws, order, name)
    _rates(ws)
    section(ws, PLAN_ROWS[PLANNED[0]] - 1, "What serves it, and at what price", 8)
    for order, name in enumerate(PLANNED, len(LOADS) + 3):
        _typed(ws, order, name)
        _in_use(ws, name)
    _in_use(ws, "rate")
    _typed_over(ws)
    write_answer(ws, LINES)
    LINES.write(ws, NOTES)
    ws.cell(PLAN_ROWS["node_gpus"], 1).value = len(LOADS) + len(PLANNED) + 3
    headline(ws, LINES)
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{PLAN_ROWS['node_gpus']}")
    ws.print_title_rows = "1:3"  # the header row is that of what is typed only
    one_page(ws)
    ws.print_area = f"A1:{CHECK}{LAST + CHART_ROWS + 1}"


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions."""
    rates = [f"{ADDINS}{PLAN_ROWS[name]}" for name, step in FORMS.values() if step]
    return [*rates, f"{ADDINS}{PLAN_ROWS['in_flight']}", *LINES.addin_cells()]


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks: each row that has a number has a check."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LINES.last}" for c in ("A", CHECK))
    return (
        Check(
            "Plan rows that fail",
            "What is typed is within its bounds, and the engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the Check column of Plan",
            TITLE,
        ),
    )


def _typed(ws: Worksheet, order: int, name: str) -> None:
    row = PLAN_ROWS[name]
    if name not in LABELS:
        number_line(ws, (row, CHECK), order, name, NUMBERS.get(name) or INPUTS[name], NOTES[name])
        return
    label, note = LABELS[name]
    choices = {
        "load_form": f"{inputs.TITLE}!{inputs.choices('load_form')}",
        "model": models.SHEET.cells("name"),
        "gpu": gpus.SHEET.cells("name"),
        "quantization": f"{inputs.TITLE}!{inputs.choices('quantization')}",
    }[name]
    options = inputs.LISTS.get(name, ())
    default = inputs.DEFAULTS[name]
    put(ws, (row, 1), order, "Note", align="center")
    put_text(ws, (row, 2), label, "Label", "left")
    put_text(ws, (row, 4), "text", "Note", "left")
    long_text(ws, f"E{row}", note)
    ws.row_dimensions[row].height = 18
    value = put(ws, f"C{row}", default, "Input", align="right")
    choose(ws, value, (name, label, note), choices, options, f"{CHECK}{row}")


def _rates(ws: Worksheet) -> None:
    """Each form as a request rate, the one that counts, and Little's law the other way."""
    cells = {name: f"$C${PLAN_ROWS[name]}" for name in LOADS}
    cells |= {name: inputs.cell(name) for name in ("prompt_tokens", "output_tokens")}
    rates = {}
    for form, (name, step) in FORMS.items():
        row = PLAN_ROWS[name]
        rates[form] = _both(ws, row, step, cells) if step else cells[name]
        shown = put(ws, f"G{row}", f"={rates[form]}", "Calculation", align="right")
        shown.number_format = '#,##0.0##" req/s"'
        gray_when(ws, f"B{row}:G{row}", f'{cells["load_form"]}<>"{form}"')
    row, first = PLAN_ROWS["rate"], PLAN_ROWS[LOADS[0]]
    _label(ws, row, len(LOADS) + 1, "Request rate of the plan", "req/s", "Inputs follows it; cell arithmetic")
    bad = f'COUNTIF({CHECK}{first}:{CHECK}{row - 1},"PASS")<ROWS({CHECK}{first}:{CHECK}{row - 1})'
    listed = f"{inputs.TITLE}!{inputs.choices('load_form')}"
    chosen = f"CHOOSE(MATCH({cells['load_form']},{listed},0),{','.join(rates.values())})"
    put(ws, f"{AGREE}{row}", f"={bad}", "Calculation", align="center")
    put(ws, f"C{row}", f"=IF({AGREE}{row},NA(),{chosen})", "Result", "req/s", "right")
    same = f"{AGREE}{first}:{AGREE}{row - 1}"
    check = f'=IF({AGREE}{row},"FAIL",CHOOSE(1+(COUNTIF({same},FALSE)=0),"FAIL","PASS"))'
    put(ws, f"{CHECK}{row}", check, "Check")
    row = PLAN_ROWS["in_flight"]
    _label(ws, row, len(LOADS) + 2, IN_FLIGHT.quantity, "count", IN_FLIGHT.function.words)
    _both(ws, row, IN_FLIGHT, cells | {"req_per_s": inputs.cell("req_per_s")})
    value = f'=IF(inputs_bad>0,NA(),IF(engine_active="Native",{NATIVES}{row},{ADDINS}{row}))'
    put(ws, f"C{row}", value, "Result", "count", "right")
    put(ws, f"{CHECK}{row}", f'=IF(inputs_bad>0,"FAIL",CHOOSE(1+{AGREE}{row},"FAIL","PASS"))', "Check")


def _label(ws: Worksheet, row: int, order: int, label: str, unit: str, words: str) -> None:
    put(ws, (row, 1), order, "Note", align="center")
    put_text(ws, (row, 2), label, "Label", "left")
    put_text(ws, (row, 4), unit, "Note", "left")
    long_text(ws, f"E{row}", words)
    ws.row_dimensions[row].height = 18


def _both(ws: Worksheet, row: int, step: Step, cells: dict[str, str]) -> str:
    """Both engines and whether they agree; the cell of cell arithmetic."""
    given = {a: cells[name] for a, name in step.sources().items()}
    unit, formulas = step.function.unit, {ADDINS: step.function.formula(given)}
    formulas[NATIVES] = step.function.native_formula(given)
    for column, formula in formulas.items():
        put(ws, f"{column}{row}", guarded(step, formula, cells.__getitem__), "Calculation", unit, "right")
    same = f"ABS(N({ADDINS}{row})-N({NATIVES}{row}))<=tolerance*(1+N({NATIVES}{row}))"
    typed = f"{CHECK}${PLAN_ROWS[LOADS[0]]}:{CHECK}{min(row, PLAN_ROWS['rate'])}"
    alone = f'(addin_version="not installed")+inputs_bad+COUNTIF({typed},"FAIL")'
    put(ws, f"{AGREE}{row}", f"=IF({alone}>0,TRUE,{same})", "Calculation", align="center")
    return f"${NATIVES}${row}"


def _in_use(ws: Worksheet, name: str) -> None:
    """What the plan takes: amber where that is typed over on Inputs."""
    source = "req_per_s" if name == "rate" else name
    row = PLAN_ROWS[name]
    unit = INPUTS[source].unit if source in INPUTS else ""
    put(ws, f"G{row}", f"={inputs.cell(source)}", "Calculation", unit, "right")
    fill, text = CAUTION
    rule = FormulaRule(formula=[f"$G{row}<>$C{row}"], fill=PatternFill("solid", bgColor=fill), font=Font(color=text))
    ws.conditional_formatting.add(f"G{row}", rule)


def _typed_over(ws: Worksheet) -> None:
    first, last, rate = PLAN_ROWS[PLANNED[0]], PLAN_ROWS[PLANNED[-1]], PLAN_ROWS["rate"]
    differ = f"SUMPRODUCT(--(C{first}:C{last}<>G{first}:G{last}))+(C{rate}<>G{rate})"
    row = HEAD_ROW - 1
    put(ws, f"{AGREE}{row}", f"={differ}", "Calculation", "count", "center")
    words = f'=IF({AGREE}{row}=0,"",{AGREE}{row}&" of these are typed over on Inputs: what is in use stands in amber")'
    put(ws, f"B{row}", words, "Note")
