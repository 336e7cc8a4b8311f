"""Inputs: assumptions with bounds, units, sources and checks; chain, refinements, engine; the state of the model."""

from datetime import date
from typing import Final

from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.plan import INPUT_GROUPS, INPUTS
from capacity.refined import SWITCHES

from ..frame import FIRST_ROW, frame, grouped_rows, letter, put, put_text, section
from ..input_rows import CHECK, COLUMNS, ROW_HEIGHT, SEED, VALUE, Note, choice_row, number_row, read_notes
from ..style import CAUTION, color_checks, color_words
from .blocks import BATCH_CELLS, FACT_CELLS, REQUEST_CELLS

TITLE: Final = "Inputs"
KIND: Final = "input"
PURPOSE: Final = "Every assumption with unit, bounds, source and check; chain, refinements and engine"
NOT_INSTALLED: Final = "not installed"

# Lists from which choices are taken: each stands on the sheet.
LISTS: Final[dict[str, dict[str, str]]] = {
    "chain": {
        "Seed": "Seed: the worked example's first-order chain",
        "Refined": "Refined: with the refinements that are switched on",
    },
    "switch": {"on": "on: the refinement is in force", "off": "off: it is not"},
    "engine": {
        "Auto": "Auto: the add-in where it is installed, else cell arithmetic",
        "Add-in": "Add-in: the add-in's functions",
        "Native": "Native: cell arithmetic alone",
    },
}
ENGINES: Final = tuple(LISTS["engine"])

ROWS: Final = grouped_rows(
    [
        *INPUT_GROUPS.values(),
        [f"list {name} {value}" for name, values in LISTS.items() for value in values],
        ["chain", *SWITCHES],
        ["engine", "tolerance"],
        ["addin_version", "engine_active", "at_seed", "inputs_bad"],
    ]
)
LAST: Final = ROWS[list(INPUTS)[-1]]
ENGINE_ROW, TOLERANCE_ROW, STATE_ROW = (ROWS[name] for name in ("engine", "tolerance", "addin_version"))

_OURS: Final = date(2026, 11, 29)
TOLERANCE: Final = Number(
    "fraction", "tolerance between the two engines: relative difference that is let pass", example=1e-9, gt=0, lt=1
)


def cell(name: str) -> str:
    """Absolute address of an input's value, e.g. Inputs!$F$8."""
    return f"{TITLE}!${VALUE}${ROWS[name]}"


def choices(name: str) -> str:
    """The cells of a list, on the sheet itself."""
    rows = [ROWS[f"list {name} {value}"] for value in LISTS[name]]
    return f"${VALUE}${rows[0]}:${VALUE}${rows[-1]}"


def write(ws: Worksheet) -> None:
    """Write the sheet and its defined names."""
    frame(
        ws,
        "Inputs",
        "Blue on yellow is yours to change; everything else in this file is computed from these cells and from Facts.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    notes = read_notes(list(INPUTS))
    order = 0
    for group, names in INPUT_GROUPS.items():
        section(ws, ROWS[names[0]] - 1, group, len(COLUMNS))
        for order, name in enumerate(names, order + 1):  # noqa: B020  # the count goes on from group to group
            number_row(ws, ROWS[name], order, name, INPUTS[name], notes[name])
    _lists(ws)
    order = _chain(ws, order)
    _engine(ws, order)
    _state(ws)
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{TOLERANCE_ROW}")
    color_words(ws, f"{VALUE}{STATE_ROW}:{VALUE}{STATE_ROW + 3}", {NOT_INSTALLED: CAUTION})
    ws.print_area = f"A1:{letter(COLUMNS, 'Note')}{STATE_ROW + 3}"


def _lists(ws: Worksheet) -> None:
    section(ws, ROWS["list chain Seed"] - 1, "Choices", len(COLUMNS))
    for name, values in LISTS.items():
        for value, words in values.items():
            row = ROWS[f"list {name} {value}"]
            put_text(ws, (row, 2), words, "Label", "left")
            put_text(ws, f"{VALUE}{row}", value, "Calculation", "right")
            ws.row_dimensions[row].height = 16


def _chain(ws: Worksheet, order: int) -> int:
    section(ws, ROWS["chain"] - 1, "Chain, and the refinements of the refined one", len(COLUMNS))
    note = Note("llm-capacity", _OURS, "high", "Decides which chain feeds Batch, Requests and the results")
    choice_row(ws, ROWS["chain"], order + 1, "chain", "Chain that gives the results", "Seed", choices("chain"), note)
    for order, (name, words) in enumerate(SWITCHES.items(), order + 2):  # noqa: B020  # as above
        note = Note("Field notes of the project, 2026-11", _OURS, "medium", words)
        label = f"Refinement: {name.replace('_', ' ')}"
        choice_row(ws, ROWS[name], order, name, label, "off", choices("switch"), note)
    _name(ws, "chain")
    return order


def _engine(ws: Worksheet, order: int) -> None:
    section(ws, ENGINE_ROW - 1, "Engine and tolerance", len(COLUMNS))
    note = Note("llm-capacity", _OURS, "high", "Auto takes the add-in where it is installed, else cell arithmetic")
    choice_row(ws, ENGINE_ROW, order + 1, "engine", "Engine that computes the plan", "Auto", choices("engine"), note)
    note = Note("llm-capacity", _OURS, "high", "Differences of summation order are about 1E-16")
    number_row(ws, TOLERANCE_ROW, order + 2, "tolerance", TOLERANCE, note)
    for column in (VALUE, SEED):
        ws[f"{column}{TOLERANCE_ROW}"].number_format = "0E+00"
    _name(ws, "engine")
    _name(ws, "tolerance")


def _state(ws: Worksheet) -> None:
    """Computed cells that say in which state the model is; each has a defined name."""
    section(ws, STATE_ROW - 1, "State of the model (computed)", len(COLUMNS))
    first = ROWS[next(iter(INPUTS))]
    everything = f"{VALUE}{first}:{VALUE}{TOLERANCE_ROW}"
    # CAPACITY_VERSION takes every input as its argument: in a file that was saved with the add-in and is opened without
    # it, the first edit of any input then finds the add-in missing, and Auto falls to Native.
    watched = f"COUNTA({everything},{FACT_CELLS},{BATCH_CELLS},{REQUEST_CELLS})"
    version = f"{VALUE}{STATE_ROW}"
    states = (
        (
            "addin_version",
            "Version of the add-in",
            f'=IFERROR(CAPACITY_VERSION({watched}),"{NOT_INSTALLED}")',
            "Asks the add-in for its version; depends on every input, so that it is asked again at each edit",
        ),
        (
            "engine_active",
            "Engine in use",
            f'=IF(engine="Auto",CHOOSE(1+({version}="{NOT_INSTALLED}"),"Add-in","Native"),engine)',
            "What the Value columns take",
        ),
        (
            "at_seed",
            "Inputs are those of the worked example",
            f'=AND(chain="Seed",SUMPRODUCT(--({VALUE}{first}:{VALUE}{LAST}<>{SEED}{first}:{SEED}{LAST}))=0)',
            "While TRUE, results are compared with the printed figures",
        ),
        (
            "inputs_bad",
            "Inputs outside their bounds",
            f'=COUNTA(C{first}:C{TOLERANCE_ROW})-COUNTIF({CHECK}{first}:{CHECK}{TOLERANCE_ROW},"PASS")',
            "Above 0 every result shows #N/A",
        ),
    )
    for name, label, formula, note in states:
        state_row(ws, ROWS[name], name, label, formula, note)
        _name(ws, name)


def state_row(ws: Worksheet, row: int, name: str, label: str, formula: str, note: str) -> None:
    """A computed cell that says in which state the model is."""
    put_text(ws, (row, 2), label, "Label", "left")
    put_text(ws, (row, 3), name, "Code", "left")
    put(ws, f"{VALUE}{row}", formula, "Calculation", align="right")
    put_text(ws, (row, 13), note, "Note", "left")
    ws.row_dimensions[row].height = ROW_HEIGHT


def _name(ws: Worksheet, name: str) -> None:
    ws.parent.defined_names[name] = DefinedName(name, attr_text=f"{TITLE}!${VALUE}${ROWS[name]}")
