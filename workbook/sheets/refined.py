"""Refined: the same plan with refinements, each a switch on Inputs; it feeds Batch, Requests and the results.

With all switches off, or the chain Seed chosen, it gives the worked example's results by its own formulas.
"""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS, STEPS
from capacity.refined import NEUTRAL, REFINED_INPUTS, SECTIONS, SHARED, SWITCHES, Choice

from ..chain import VALUE, Chain
from ..frame import FIRST_ROW, Column, frame, letter, put, section
from ..style import color_checks
from . import audit, inputs, refined_inputs

TITLE: Final = "Refined"
KIND: Final = "working"
PURPOSE: Final = "The chain with refinements step by step; it feeds Batch, Requests and the results"
COLUMNS: Final = tuple(c._replace(header="Seed chain") if c.header == "Seed prints" else c for c in audit.COLUMNS)
WORKING: Final = (Column("Row agrees", 10, "center"), Column("Row answers", 10, "center"))
SEED, CHECK = (letter(COLUMNS, h) for h in ("Seed chain", "Check"))
AGREE, ANSWERED = "M", "N"

# Inputs of both chains, what comes from Audit, and the switches that are in force.
TAKEN: Final = (*SWITCHES, *SHARED, *INPUTS, *REFINED_INPUTS)
_GROUPS: Final = [[e.name for e in rows] for rows in SECTIONS.values()]
CHAIN: Final = Chain(TITLE, TAKEN, _GROUPS, "facts_bad", dict.fromkeys(NEUTRAL, "0"))
CHAIN.shared.update(SHARED)
ROWS: Final = CHAIN.rows
cell = CHAIN.cell
span = CHAIN.span


def weightless() -> str:
    """Whether a sequence takes no room at all: no tokens, and weights that fit."""
    return f"({cell('kv_gb_per_seq')}=0)*ISNUMBER({cell('kv_pool_gb')})"


def one_count_for_both() -> str:
    """How many times its active parameters a sparse model is, where one count prices both phases; 0 where two do."""
    whole, active = cell("params_b"), cell("active_params_b")
    return f"IF(AND({cell('routed_params_b')}>0,{cell('active_used_b')}={whole}),{whole}/{active},0)"


def kv_beside_formula() -> str:
    """By how much 2 x layers x KV heads x head size misses the model's own KV cache, where that prices it."""
    own = cell("kv_mean_bytes")
    return f"IF(OR({cell('kv_layout')},{own}=0),0,ABS({cell('kv_bytes_per_token')}/({own})-1))"


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Refined: the plan with the refinements that are on",
        "A switch gates inputs: where it is off, its row takes a neutral figure and the formulas give the worked "
        "example's results.",
        COLUMNS + WORKING,
        freeze=f"C{FIRST_ROW}",
    )
    _taken(ws)
    order = 0
    for title, entries in SECTIONS.items():
        section(ws, ROWS[entries[0].name] - 1, title, len(COLUMNS))
        if title in ("Memory", "Fleet"):
            ws.row_breaks.append(Break(id=ROWS[entries[0].name] - 2))
        for entry in entries:
            order += 1
            if isinstance(entry, Choice):
                _choice(ws, entry, order)
            else:
                CHAIN.step(ws, entry, order)
            _compare(ws, entry.name)
    color_checks(ws, f"{CHECK}{CHAIN.first}:{CHECK}{CHAIN.last}")
    CHAIN.gray_idle_engine(ws)
    ws.row_breaks.append(Break(id=CHAIN.first - 2))
    ws.print_area = f"A1:{letter(COLUMNS, 'Source')}{CHAIN.last}"


def _taken(ws: Worksheet) -> None:
    section(ws, FIRST_ROW, "Switches in force, and inputs used", len(COLUMNS))
    for order, name in enumerate(TAKEN, 1):
        if name in SWITCHES:
            source, label = f'AND(chain="Refined",{inputs.cell(name)}="on")', inputs.switch_label(name)
            label = label[:1].upper() + label[1:]
            CHAIN.take(ws, name, order, source, label, f"switch {name} on {inputs.TITLE}, and the chain", "text")
        elif name in SHARED:
            CHAIN.share(ws, next(s for s in STEPS if s.name == name), order, audit.CHAIN)
        else:
            sheet = inputs if name in INPUTS else refined_inputs
            argument = INPUTS[name] if name in INPUTS else REFINED_INPUTS[name]
            words = f"{name}, from {sheet.TITLE} row {sheet.ROWS[name]}"
            CHAIN.take(ws, name, order, sheet.cell(name), argument.label, words, argument.unit)


def _choice(ws: Worksheet, choice: Choice, order: int) -> None:
    off = f"{{{choice.off}}}" if choice.off in ROWS else choice.off
    words = f"{choice.on} where {choice.switch} is on, else {choice.off}"
    formula = f"=IF({{{choice.switch}}},{{{choice.on}}},{off})"
    CHAIN.choice(ws, choice.name, order, choice.quantity, words, unit(choice), formula)


def unit(choice: Choice) -> str:
    """Unit of what a choice takes."""
    if choice.on in INPUTS or choice.on in REFINED_INPUTS:
        return (INPUTS.get(choice.on) or REFINED_INPUTS[choice.on]).unit
    return next(e.function.unit for rows in SECTIONS.values() for e in rows if e.name == choice.on)


def _compare(ws: Worksheet, name: str) -> None:
    """The seed chain's result beside a row of the same name, and whether the row is sound."""
    row = ROWS[name]
    step = next((s for s in STEPS if s.name == name), None)
    if step:
        put(ws, f"{SEED}{row}", f"={audit.cell(name)}", "Reference figure", step.function.unit, "right")
    else:
        put(ws, f"{SEED}{row}", "-", "Reference figure", align="right")
    put(ws, f"{CHECK}{row}", f'=IF({AGREE}{row}*{ANSWERED}{row}=1,"PASS","FAIL")', "Check")
    put(ws, f"{AGREE}{row}", CHAIN.agree(row), "Calculation", align="center")
    answered = f"=OR(ISNUMBER({VALUE}{row}),ISTEXT({VALUE}{row}))"
    put(ws, f"{ANSWERED}{row}", answered, "Calculation", align="center")
