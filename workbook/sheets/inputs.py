"""Inputs: assumptions with bounds, units, sources and checks; chain, refinements, engine; the state of the model."""

from datetime import date
from typing import Final

from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.error_bands import RUNS
from capacity.plan import INPUT_GROUPS, INPUTS
from capacity.published import ENGINES as ENGINES_PUBLISHED
from capacity.refined import SWITCHES
from capacity.selection import FORMATS, KV_TYPES, NATIVE, QUANTIZATIONS

from .. import states
from ..frame import FIRST_ROW, HEADER_ROW, frame, grouped_rows, letter, put, put_text, section
from ..input_rows import CHECK, COLUMNS, ROW_HEIGHT, SEED, VALUE, Note, choice_row, number_row, read_notes
from ..lookups import of_inputs, peaks, row_of, stored_bytes, stored_format
from ..style import CAUTION, color_checks, color_words
from . import gpus, models
from .blocks import PLAN_ROWS, planned

TITLE: Final = "Inputs"
KIND: Final = "input"
PURPOSE: Final = "Every assumption with unit, bounds, source and check; chain, refinements and engine"

# Lists from which choices are taken: each stands on the sheet, to the right of the printed area.
LISTS: Final[dict[str, tuple[str, ...]]] = {
    "chain": ("Seed", "Refined"),
    "switch": ("on", "off"),
    "engine": ("Auto", "Add-in", "Native"),
    "quantization": FORMATS,
    "kv_type": tuple(KV_TYPES),
    "published_engine": ENGINES_PUBLISHED,
    "published_run": RUNS,
    "load_form": ("requests per second", "concurrent requests", "users and requests per day", "tokens per month"),
}
DEFAULTS: Final = {
    "model": "Llama-3.3-70B",
    "gpu": "H200 SXM",
    "quantization": "fp8",
    "kv_type": "bf16",
    "load_form": LISTS["load_form"][0],
}
ENGINES: Final = LISTS["engine"]
LIST_COLUMNS: Final = dict(zip((*LISTS, "bytes", "peak", "kv bytes"), [*"QRSTUVWXYZ", "AA"], strict=True))
SELECTION: Final = ("model", "gpu", "quantization", "kv_type")

_LOAD, *_REST = INPUT_GROUPS.values()
ROWS: Final = grouped_rows(
    [
        _LOAD,
        [*SELECTION, "model_row", "gpu_row", "weight_format", "native_bytes"],
        *_REST,
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


PEAK_ROW: Final = ROWS["gpu_row"] + 2  # the peaks stand below the row that they depend on


def cell(name: str) -> str:
    """Absolute address of an input's value, e.g. Inputs!$F$8."""
    return f"{TITLE}!${VALUE}${ROWS[name]}"


def choices(name: str) -> str:
    """The cells of a list, or of the figures beside it."""
    figures = {"bytes": len(QUANTIZATIONS), "kv bytes": len(KV_TYPES)}
    last = FIRST_ROW + (figures.get(name) or len(LISTS[name])) - 1
    return f"${LIST_COLUMNS[name]}${FIRST_ROW}:${LIST_COLUMNS[name]}${last}"


def _follows() -> dict[str, str]:
    def found(cells: str, chosen: str, among: str) -> str:
        return f"INDEX({cells},MATCH(${VALUE}${ROWS[chosen]},{choices(among)},0))"

    listed = found(choices("bytes"), "weight_format", "quantization")
    peak = LIST_COLUMNS["peak"]
    peak_cells = f"${peak}${PEAK_ROW}:${peak}${PEAK_ROW + len(QUANTIZATIONS) - 1}"
    return of_inputs(
        f"${VALUE}${ROWS['model_row']}",
        f"${VALUE}${ROWS['gpu_row']}",
        f'CHOOSE(1+(${VALUE}${ROWS["quantization"]}="{NATIVE}"),{listed},${VALUE}${ROWS["native_bytes"]})',
        found(peak_cells, "weight_format", "quantization"),
        found(choices("kv bytes"), "kv_type", "kv_type"),
    )


FOLLOWS: Final = _follows() | {name: planned(name) for name in PLAN_ROWS if name in INPUTS}


def write(ws: Worksheet) -> None:
    """Write the sheet and its defined names."""
    frame(
        ws,
        "Inputs",
        "Blue on yellow is yours to change. Where the column Follows has a figure (of Plan, Models or GPUs), Value "
        "follows it until you type over it.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    notes = read_notes(list(INPUTS))
    _lists(ws)
    order = 0
    for group, names in INPUT_GROUPS.items():
        if group == "Model":
            order = _selection(ws, order)
        section(ws, ROWS[names[0]] - 1, group, len(COLUMNS))
        if group == "Hardware":
            ws.row_breaks.append(Break(id=ROWS[names[0]] - 2))
        for name in names:
            order += 1
            note, where = notes[name], "Plan" if name in PLAN_ROWS else "Models or GPUs"
            number_row(ws, ROWS[name], order, name, INPUTS[name], note, FOLLOWS.get(name, ""), where)
    order = _chain(ws, order)
    _engine(ws, order)
    _state(ws)
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{TOLERANCE_ROW}")
    color_words(ws, f"{VALUE}{STATE_ROW}:{VALUE}{STATE_ROW + 3}", {states.NOT_INSTALLED: CAUTION})
    ws.print_area = f"A1:{letter(COLUMNS, 'Note')}{STATE_ROW + 3}"


def _lists(ws: Worksheet) -> None:
    heads = {"bytes": "Bytes per weight", "peak": "Peak by type [TFLOP/s]", "kv bytes": "Bytes per element"}
    for name, letter_ in LIST_COLUMNS.items():
        ws.column_dimensions[letter_].width = 15
        row = PEAK_ROW - 1 if name == "peak" else HEADER_ROW
        put_text(ws, f"{letter_}{row}", heads.get(name, f"List: {name}"), "Column header")
    for name, values in LISTS.items():
        for row, value in enumerate(values, FIRST_ROW):
            put_text(ws, f"{LIST_COLUMNS[name]}{row}", value, "Calculation")
    weights = [quantization.bytes_per_param for quantization in QUANTIZATIONS.values()]
    for name, figures in (("bytes", weights), ("kv bytes", list(KV_TYPES.values()))):
        for row, figure in enumerate(figures, FIRST_ROW):
            put(ws, f"{LIST_COLUMNS[name]}{row}", figure, "Reference figure", "B/param", "right")


def _selection(ws: Worksheet, order: int) -> int:
    """Model, GPU, quantization and KV type; the facts below follow them until they are typed over."""
    section(ws, ROWS["model"] - 1, "Model and GPU: facts below and on Facts follow these", len(COLUMNS))
    lists = {
        "model": f"{models.SHEET.cells('name')}",
        "gpu": f"{gpus.SHEET.cells('name')}",
        "quantization": choices("quantization"),
        "kv_type": choices("kv_type"),
    }
    labels = {
        "model": ("Model", "The sheet Models has ten free rows for your own"),
        "gpu": ("GPU", "The sheet GPUs has ten free rows for your own"),
        "quantization": ("Type of the weights", "Bytes per weight, and the peak at which they multiply"),
        "kv_type": ("Type of the KV cache", "Bytes per element"),
    }
    for name in SELECTION:
        order += 1
        label, note = labels[name]
        follows = planned(name) if name in PLAN_ROWS else ""
        cited = Note("Worked example", _OURS, "example", note)
        choice_row(ws, ROWS[name], order, name, label, DEFAULTS[name], lists[name], cited, follows)
    for name, sheet, chosen in (("model_row", models.SHEET, "model"), ("gpu_row", gpus.SHEET, "gpu")):
        formula = f"={row_of(sheet, f'{VALUE}{ROWS[chosen]}')}"
        note = f"Its row in the table of the sheet {sheet.title}"
        put_text(ws, (ROWS[name], 2), f"Row of the {chosen.replace('gpu', 'GPU')}", "Label", "left")
        put(ws, f"{VALUE}{ROWS[name]}", formula, "Calculation", align="right")
        put_text(ws, (ROWS[name], 13), note, "Note", "left")
    model_row = f"${VALUE}${ROWS['model_row']}"
    quantization = f"{VALUE}{ROWS['quantization']}"
    form = f'CHOOSE(1+({quantization}="{NATIVE}"),{quantization},{stored_format(model_row)})'
    for name, label, formula, note in (
        ("weight_format", "Type in which weights multiply", form, "For native that in which most of them are stored"),
        ("native_bytes", "Bytes per weight as stored", stored_bytes(model_row), "Mean of the checkpoint, for native"),
    ):
        put_text(ws, (ROWS[name], 2), label, "Label", "left")
        put(ws, f"{VALUE}{ROWS[name]}", f"={formula}", "Calculation", "B/param", "right")
        put_text(ws, (ROWS[name], 13), note, "Note", "left")
    for row, formula in enumerate(peaks(f"${VALUE}${ROWS['gpu_row']}").values(), PEAK_ROW):
        put(ws, f"{LIST_COLUMNS['peak']}{row}", f"={formula}", "Calculation", "TFLOP/s", "right")
    return order


def switch_label(name: str) -> str:
    """What a refinement is called, from the name of its switch."""
    return " ".join({"kv": "KV", "flops": "FLOPs"}.get(word, word) for word in name.split("_"))


def _chain(ws: Worksheet, order: int) -> int:
    ws.row_breaks.append(Break(id=ROWS["chain"] - 2))  # assumptions before, how they are used from here on
    section(ws, ROWS["chain"] - 1, "Chain, and the refinements of the refined one", len(COLUMNS))
    note = Note("llm-capacity", _OURS, "high", "Decides which chain feeds Batch, Requests and the results")
    choice_row(ws, ROWS["chain"], order + 1, "chain", "Chain that gives the results", "Seed", choices("chain"), note)
    for order, (name, words) in enumerate(SWITCHES.items(), order + 2):  # noqa: B020  # it goes on counting
        note = Note("Field notes of the project, 2026-11", _OURS, "medium", words)
        label = f"Refinement: {switch_label(name)}"
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
    elsewhere = f"{states.WATCHED}{states.CORE_ROWS[0]}:{states.WATCHED}{states.CORE_ROWS[-1]}"
    version = f"{VALUE}{STATE_ROW}"
    facts = ROWS["params_b"]
    numbers = f"{VALUE}{facts}:{VALUE}{LAST}<>{SEED}{facts}:{SEED}{LAST}"
    load = f"{VALUE}{first}:{VALUE}{ROWS['cache_hit']}<>{SEED}{first}:{SEED}{ROWS['cache_hit']}"
    computed = (
        (
            "addin_version",
            "Version of the add-in",
            states.version(f"{everything},{elsewhere}"),
            "Asks the add-in for its version again at each edit of the plan; other sheets have cells like this one",
        ),
        (
            "engine_active",
            "Engine in use",
            states.engine(version),
            "What the Value columns take",
        ),
        (
            "at_seed",
            "Inputs are those of the worked example",
            f'=AND(chain="Seed",SUMPRODUCT(--({load}))+SUMPRODUCT(--({numbers}))=0)',
            "While TRUE, results are compared with the printed figures",
        ),
        (
            "inputs_bad",
            "Inputs outside their bounds",
            f'=COUNTA(C{first}:C{TOLERANCE_ROW})-COUNTIF({CHECK}{first}:{CHECK}{TOLERANCE_ROW},"PASS")',
            "Above 0 every result shows #N/A",
        ),
    )
    for name, label, formula, note in computed:
        state_row(ws, ROWS[name], name, label, formula, note)
        _name(ws, name)


def write_states(ws: Worksheet) -> None:
    """Of the other sheets, version and engine: for the end, since they depend on what all formulas read."""
    for column, head in states.HEADS.items():
        ws.column_dimensions[column].width = 15
        put_text(ws, f"{column}{HEADER_ROW if column == states.WATCHED else states.FIRST - 1}", head, "Column header")
    for at, value in states.cells(ws.parent).items():
        put(ws, at, value, "Calculation", align="left" if at.startswith(states.TITLES) else "right")


def state_row(ws: Worksheet, row: int, name: str, label: str, formula: str, note: str) -> None:
    """A computed cell that says in which state the model is."""
    put_text(ws, (row, 2), label, "Label", "left")
    put_text(ws, (row, 3), name, "Code", "left")
    put(ws, f"{VALUE}{row}", formula, "Calculation", align="right")
    put_text(ws, (row, 13), note, "Note", "left")
    ws.row_dimensions[row].height = ROW_HEIGHT


def _name(ws: Worksheet, name: str) -> None:
    ws.parent.defined_names[name] = DefinedName(name, attr_text=f"{TITLE}!${VALUE}${ROWS[name]}")
