"""Take-away: the worked example's chain as a block of plain cells that computes in any workbook, and in one cell.

The block holds its inputs as figures and refers to nothing but itself: no name, no other sheet, no function of the
add-in, relative addresses only. What stands beside it compares it with this workbook and is not to be copied.
"""

from collections.abc import Callable
from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS, SECTIONS, STEPS, Step

from ..chain import guarded
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, put, put_text
from ..input_rows import bounds, passes, plain
from ..style import BAD, CAUTION, GOOD, color_checks, color_words
from . import inputs, refined
from .blocks import TAKEAWAY_FIRST, TAKEAWAY_LAST
from .plan_answer import OVER

TITLE: Final = "Take-away"
KIND: Final = "output"
PURPOSE: Final = "The plan as a block of plain cells to copy into any budget, and in one PLAN cell"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 42),
    Column("Value", 36, "right"),
    Column("Unit", 14),
    Column("Check", 9, "center"),
    Column("", 3),
    Column("", 42),
    Column("", 20, "right"),
    Column("", 76),
    Column("Differs", 11.5, "center"),  # beside the printed area, as the next
    Column("As the worked example", 11.5, "center"),
)
ROWS: Final = {name: TAKEAWAY_FIRST + i for i, name in enumerate(INPUTS)}
BAD_ROW: Final = TAKEAWAY_LAST + 1
_MEMORY: Final = [step.name for step in STEPS].index("max_seqs") + 1  # steps above the row that says whether it fits
ROWS.update({step.name: BAD_ROW + 2 + i + (i >= _MEMORY) for i, step in enumerate(STEPS)})
FIT: Final = ROWS["max_seqs"] + 1
REFUSED: Final = tuple(s for title in ("Fleet", "Cost", "TPOT check") for s in SECTIONS[title])
LAST: Final = ROWS[STEPS[-1].name]
BLOCK: Final = f"B{FIRST_ROW}:E{LAST}"
# Beside the block, no higher than what is compared: names, PLAN, and whether block, PLAN and plan agree.
_BESIDE: Final = ROWS["cost_per_hour"] - 6
_NAMED: Final = {name: _BESIDE + 1 + i for i, name in enumerate(inputs.SELECTION)}
ASKED: Final = {name: _BESIDE + 5 + i for i, name in enumerate(("gpus", "cost_per_hour"))}
AGREE, SAME, DIFFER, FAILING = range(_BESIDE + 7, _BESIDE + 11)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Take-away",
        f"Copy {BLOCK} into any workbook: it computes there as here, without add-in, names or links. It starts as the "
        "worked example and keeps its figures until they are typed over: it does not follow Plan.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    _head(ws, FIRST_ROW, "LLM capacity plan: inputs")
    for order, name in enumerate(INPUTS, 1):
        _input(ws, order, name)
    _total(ws)
    _head(ws, BAD_ROW + 1, "LLM capacity plan: results")
    for order, step in enumerate(STEPS, 1):
        row = ROWS[step.name]
        cells = {name: f"C{r}" for name, r in ROWS.items()}
        given = {a: "+".join(cells[n] for n in s.split("+")) for a, s in step.sources().items()}
        formula = step.function.native_formula(given)
        formula = (_refused if step in REFUSED else guarded)(step, formula, cells.__getitem__)
        _texts(ws, row, order, step.quantity, step.function.unit)
        if all(source in INPUTS for source in step.sources().values()):  # the others take #N/A from their own
            formula = f"=IF(C{BAD_ROW}>0,NA(),{formula.removeprefix('=')})"
        put(ws, f"C{row}", formula, "Result", step.function.unit, "right")
    _fit(ws)
    _beside(ws)
    color_checks(ws, f"E{TAKEAWAY_FIRST}:E{TAKEAWAY_LAST}")
    ws.page_setup.fitToHeight = 1
    ws.print_area = f"A1:I{LAST}"


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and the one that follows them."""
    return [*(f"{column}{row}" for row in ASKED.values() for column in "HJ"), f"H{AGREE}", f"J{AGREE}"]


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    return (
        Check(
            "Take-away block that is out of bounds, or differs from the plan with the same inputs",
            "Its inputs are within bounds; with the inputs of the plan and the chain Seed it gives the same answer",
            f"'{TITLE}'!$H${FAILING}",
            "count",
            "Mend the inputs marked FAIL on Take-away; else build the file anew",
            TITLE,
            waits=f"(facts_bad>0)*('{TITLE}'!$C${BAD_ROW}=0)",
        ),
    )


def _head(ws: Worksheet, row: int, title: str) -> None:
    for column in "ABCDE":
        put(ws, f"{column}{row}", None, "Section")
    put_text(ws, f"B{row}", title, "Section")


def _texts(ws: Worksheet, row: int, order: int, label: str, unit: str) -> None:
    put(ws, (row, 1), order, "Note", align="center")
    put_text(ws, f"B{row}", label, "Label", "left")
    put_text(ws, f"D{row}", unit, "Note", "left")


def _input(ws: Worksheet, order: int, name: str) -> None:
    row, argument = ROWS[name], INPUTS[name]
    at = f"C{row}"
    _texts(ws, row, order, argument.label, argument.unit)
    put(ws, at, plain(argument.example), "Input", argument.unit, "right")
    rule = bounds(name, argument, at)
    ws.add_data_validation(rule)
    rule.add(at)
    put(ws, f"E{row}", f"={passes(at, argument)}", "Check")
    put(ws, f"J{row}", f"=--({at}<>{refined.cell(name)})", "Calculation", "count", "center")


def _total(ws: Worksheet) -> None:
    put_text(ws, f"B{BAD_ROW}", "Inputs that fail: above 0 there is no result", "Label", "left")
    rows = f"E{TAKEAWAY_FIRST}:E{TAKEAWAY_LAST}"
    put(ws, f"C{BAD_ROW}", f'=ROWS({rows})-COUNTIF({rows},"PASS")', "Result", "count", "right")
    put_text(ws, f"D{BAD_ROW}", "count", "Note", "left")


def _fit(ws: Worksheet) -> None:
    """Whether weights and batch have room: the block leaves this file, so that it must say so itself."""
    pool, each, most, batch = (f"C{ROWS[n]}" for n in ("kv_pool_gb", "kv_gb_per_seq", "max_seqs", "batch"))
    put_text(ws, f"B{FIT}", "In GPU memory", "Label", "left")
    over = f'CHOOSE(1+({each}>0)*({batch}>N({most})),"fits","{OVER}: at most "&{most}&" fit")'
    put(ws, f"C{FIT}", f"=IF(ISTEXT({pool}),{pool},{over})", "Result", "text", "right")
    put_text(ws, f"D{FIT}", "text", "Note", "left")
    color_words(ws, f"C{FIT}:C{FIT}", {"fits": GOOD, "": BAD})


def _refused(step: Step, formula: str, ref: Callable[[str], str]) -> str:
    """The formula or the guard's words, and before both what does not fit."""
    fit = f"C{FIT}"
    if step.guard is None:
        return f'=IF({fit}<>"fits",{fit},{formula})'
    cells = {name: ref(name) for name in ROWS}
    if step in SECTIONS["TPOT check"][1:]:  # the first of them has these words, or what does not fit
        said = cells["tpot_worst_ms"]
        return f'=IF(T({said})>"",{said},{formula})'
    holds = step.guard.native.format_map(cells)
    return f'=IF(OR({fit}<>"fits",{holds}),CHOOSE(1+({fit}<>"fits"),"{step.guard.words}",{fit}),{formula})'


def _beside(ws: Worksheet) -> None:
    """The plan in one cell, and whether block, PLAN and plan agree."""
    for column in "GHI":
        put(ws, f"{column}{_BESIDE}", None, "Section")
    put_text(ws, f"G{_BESIDE}", "The same in one cell (not part of the block)", "Section")
    labels = {"model": "Model", "gpu": "GPU", "quantization": "Type of the weights", "kv_type": "Type of the KV cache"}
    for name, row in _NAMED.items():
        _line(ws, row, labels[name], f"={inputs.cell(name)}", "follows Inputs")
    model, gpu, quant, kv = (f"H{row}" for row in _NAMED.values())
    names = ("usd_per_gpu_hour", "mfu", "mbu", "utilization", "target_ms", "cache_hit", "spares")
    load = [f"C{ROWS[name]}" for name in ("req_per_s", "prompt_tokens", "output_tokens", "tp", "batch")]
    rest = ",".join([model, gpu, *load, quant, kv, *(f"C{ROWS[name]}" for name in names)])
    for name, row in ASKED.items():
        step = next(s for s in STEPS if s.name == name)
        formula = f'=PLAN("{name}",{rest})'
        _line(ws, row, f"{step.quantity}, by PLAN", formula, "", step.function.unit)
        put_text(ws, f"I{row}", formula, "Code")
        ws.row_dimensions[row].height = 26
    _compare(ws)


def _compare(ws: Worksheet) -> None:
    for name, row in ASKED.items():
        here = f"C{ROWS[name]}"
        same = f'=IF(COUNT(H{row},{here})=2,ABS(H{row}-{here})<=tolerance*{here},"no figure")'
        put(ws, f"J{row}", same, "Calculation", align="center")
    rows = f"J{ASKED['gpus']}:J{ASKED['cost_per_hour']}"
    state = f'=1+(COUNTIF({rows},TRUE)=2)+2*(COUNTIF({rows},"no figure")>0)'
    put(ws, f"J{AGREE}", state, "Calculation", "count", "center")
    _line(
        ws,
        AGREE,
        "Block and PLAN",
        f'=IF(addin_version="not installed","no add-in",CHOOSE(J{AGREE},"differ","agree","no figure"))',
        "they agree where the block has the facts of that model and GPU, and all layers alike",
    )
    color_words(ws, f"H{AGREE}:H{AGREE}", {"agree": GOOD, "": CAUTION})
    plan = "*".join(f"(C{ROWS[name]}={refined.cell(name)})" for name in ASKED)
    _line(
        ws,
        SAME,
        "Block and plan: same GPUs and cost now",
        f'=CHOOSE(1+((COUNT(C{ROWS["gpus"]})=0)+facts_bad>0),CHOOSE(1+{plan},"no","yes"),"no result")',
        "the block keeps its figures when the plan changes",
    )
    color_words(ws, f"H{SAME}:H{SAME}", {"yes": GOOD, "no result": BAD, "": CAUTION})
    count = f"=SUM(J{TAKEAWAY_FIRST}:J{TAKEAWAY_LAST})"
    _line(
        ws, DIFFER, "Inputs that differ from those on Inputs", count, "above 0 the block is a plan of its own", "count"
    )
    first, last = (inputs.ROWS[inputs.SELECTION[i]] for i in (0, -1))
    chosen = f"SUMPRODUCT(--({inputs.TITLE}!F{first}:F{last}<>{inputs.TITLE}!I{first}:I{last}))=0"
    put(ws, f"K{DIFFER}", f"=at_seed*({chosen})", "Calculation", "count", "center")
    comparable = f"(H{DIFFER}=0)"
    _line(
        ws,
        FAILING,
        "Out of bounds, or different without a cause",
        f'=C{BAD_ROW}+{comparable}*((chain="Seed")*(H{SAME}="no")+K{DIFFER}*(H{AGREE}="differ"))',
        "a row of Checks",
        "count",
    )


def _line(ws: Worksheet, row: int, label: str, formula: str, words: str, unit: str = "") -> None:
    put_text(ws, f"G{row}", label, "Label", "left")
    put(ws, f"H{row}", formula, "Result", unit, "right")
    if words:
        put_text(ws, f"I{row}", words, "Note", "left")
