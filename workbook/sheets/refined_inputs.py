"""Facts: model, hardware and engine as the refined chain needs them, and the constants fitted to measurements."""

from datetime import date
from typing import TYPE_CHECKING, Final

from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.worksheet import Worksheet

from capacity.constants import FITTED
from capacity.refined import INPUT_GROUPS, REFINED_INPUTS

from ..frame import FIRST_ROW, frame, letter, section
from ..input_rows import CHECK, COLUMNS, VALUE, Note, number_row, plain, read_notes
from ..lookups import of_facts
from ..style import color_checks
from . import inputs
from .blocks import FACT_LAST, FACT_ROWS

if TYPE_CHECKING:  # it brings pydantic, which a build does without
    from capacity.evidence.chain import OwnConstants

TITLE: Final = "Facts"
KIND: Final = "input"
PURPOSE: Final = "Model, hardware and engine as the refined chain needs them; fitted constants"
ROWS: Final = FACT_ROWS
LAST: Final = FACT_LAST
AT_ODDS_ROW: Final = LAST + 2
STATE_ROW: Final = LAST + 3

_FITTED: Final = Note(
    "Fit to 917 published benchmark rows, leaving whole models out: 9.9% median error of output tok/s",
    date(2026, 11, 29),
    "medium",
    "Measure one replica, then put your own figure here",
)


def cell(name: str) -> str:
    """Absolute address of a fact's value, e.g. Facts!$F$8."""
    return f"{TITLE}!${VALUE}${ROWS[name]}"


FOLLOWS: Final = of_facts(
    inputs.cell("model_row"),
    inputs.cell("gpu_row"),
    (inputs.cell("quantization"), inputs.cell("weight_format"), inputs.cell("bytes_per_param")),
    (inputs.cell("kv_heads"), inputs.cell("kv_bytes")),
)


def write(ws: Worksheet, own: "OwnConstants | None", built: date) -> None:
    """Write the sheet and the name of its count of bad cells.

    own: a team's constants in place of those shipped; built: their date where their file says none.
    """
    frame(
        ws,
        "Facts for the refined chain",
        "Used only where the chain on Inputs is Refined and a refinement is on. Blue on yellow is yours to change."
        + " Functions typed elsewhere take the shipped constants unless they are given these cells." * bool(own),
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    notes = read_notes([name for name in REFINED_INPUTS if name not in FITTED]) | _notes(own, built)
    order = 0
    for group, names in INPUT_GROUPS.items():
        section(ws, ROWS[names[0]] - 1, group, len(COLUMNS))
        for name in names:
            order += 1
            value = number_row(ws, ROWS[name], order, name, REFINED_INPUTS[name], notes[name], FOLLOWS.get(name, ""))
            if own and name in FITTED:
                value.value = plain(float(own.values[name]))
    section(ws, AT_ODDS_ROW - 1, "State of the model (computed)", len(COLUMNS))
    checks = f"{CHECK}{FIRST_ROW}:{CHECK}{LAST}"
    inputs.state_row(
        ws,
        STATE_ROW,
        "facts_bad",
        "Inputs and facts outside their bounds or at odds",
        f'=inputs_bad+COUNTA(C{FIRST_ROW}:C{LAST})-COUNTIF({checks},"PASS")+F{AT_ODDS_ROW}',
        "Above 0 every result of the refined chain shows #N/A",
    )
    _at_odds(ws)
    name = DefinedName("facts_bad", attr_text=f"{TITLE}!${VALUE}${STATE_ROW}")
    ws.parent.defined_names["facts_bad"] = name
    color_checks(ws, checks)
    ws.print_area = f"A1:{letter(COLUMNS, 'Note')}{STATE_ROW}"


def _notes(own: "OwnConstants | None", built: date) -> dict[str, Note]:
    """Where the constants are from; those that a team's rows do not tell stay as they are shipped."""
    if own is None:
        return dict.fromkeys(FITTED, _FITTED)
    source = f"Calibrated: {own.file}, {own.rows:,} rows; {own.errors}"
    return {
        name: _FITTED._replace(note=f"as shipped; {own.file} does not move it")
        if own.values[name] == constant.value
        else Note(source, own.as_of or built, "medium", f"by your own rows; shipped is {constant.value:g}")
        for name, constant in FITTED.items()
    }


def _at_odds(ws: Worksheet) -> None:
    """Facts that are each in bounds, but cannot be true together: the functions refuse them, cells would not."""
    f = {name: f"N({VALUE}{row})" for name, row in ROWS.items()}
    tp, params = (f"{inputs.TITLE}!{VALUE}{inputs.ROWS[name]}" for name in ("tp", "params_b"))
    parts = ",".join(f"{VALUE}{ROWS[name]}" for name in ("routed_params_b", "embedding_params_b", "lm_head_params_b"))
    outside = f"SUM({parts})"
    chosen = f"{f['experts_per_token']}>{f['experts']}"
    groups = f"MOD(N({tp}),MAX(1,{f['attention_dp']}))>0"
    more = f"{f['accepted']}>{f['drafts']}"
    spread = f"{f['expert_parallel']}>{tp}"
    formula = f"=({chosen})+({outside}>{params})+({groups})+({more})+({spread})"
    inputs.state_row(
        ws,
        AT_ODDS_ROW,
        "facts_at_odds",
        "Facts that cannot be true together",
        formula,
        "Experts chosen, parts, groups, accepted tokens: at most experts, parameters, GPUs, drafts",
    )
