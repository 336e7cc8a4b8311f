"""Where the cases stand: a column for each, beside it both engines and what is sound; a row for each input and step."""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS, SECTIONS, STEPS, Step

from .chain import ADDIN, NATIVE, guarded
from .frame import HEADER_ROW, Column, grouped_rows, letter, put
from .sheets.blocks import CASE_GROUPS
from .style import BAD, color_words

WORKED, PLAN = "Worked example", "Plan"
# What each case of one's own changes of the worked example, to begin with: illustrative.
OWN: Final[dict[str, dict[str, float]]] = {
    "Base": {},
    "Peak": {"req_per_s": 100},
    "Cheap": {"kv_bytes": 1, "usd_per_gpu_hour": 2.5},
}
NAMES: Final = (WORKED, PLAN, *OWN)
# Rows about each case beside the active one: label, unit, and the formula with {name} for the case's own cells.
COMPARED: Final = {
    "kv_fit": (
        "KV cache of the batch",
        "text",
        "CHOOSE(1+OR(({kv_gb_per_seq}=0)*ISNUMBER({kv_pool_gb}),{batch}<=N({max_seqs})),"
        'CHOOSE(1+ISTEXT({max_seqs}),"at most "&{max_seqs}&" fit",{max_seqs}),"fits")',
    ),
    "gpus_more": ("GPUs more than in the active case", "GPUs", "MAX(0,{gpus}-{active_gpus})"),
    "gpus_fewer": ("GPUs fewer than in the active case", "GPUs", "MAX(0,{active_gpus}-{gpus})"),
    "usd_more": ("Cost above the active case's", "USD/h", "MAX(0,{cost_per_hour}-{active_cost_per_hour})"),
    "usd_less": ("Cost below the active case's", "USD/h", "MAX(0,{active_cost_per_hour}-{cost_per_hour})"),
    "usd_times": (
        "Cost as a multiple of the active case's",
        "count",
        'IF({active_cost_per_hour}=0,"nothing to divide",{cost_per_hour}/{active_cost_per_hour})',
    ),
}
ROWS: Final = grouped_rows(
    [*CASE_GROUPS, ["bad", "first_bad"], *([s.name for s in steps] for steps in SECTIONS.values()), [*COMPARED]]
)
FIRST_INPUT, LAST_INPUT = ROWS["req_per_s"], ROWS["target_ms"]
FIRST_STEP, LAST_STEP = ROWS[STEPS[0].name], ROWS[STEPS[-1].name]
LAST: Final = max(ROWS.values())
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 42),
    Column("Unit", 15),
    *(Column(name, 24, "right") for name in NAMES),
    Column("Active", 24, "right"),
    Column("Check", 9, "center"),
    *(Column(f"{engine}: {name}", 14, "right") for engine in ("Add-in", "Native") for name in NAMES),
    *(Column(f"Check: {name}", 11, "center") for name in NAMES),
    *(Column(header, 11, "center") for header in ("At least", "At most", "Kind", "As printed", "As planned")),
)
CASE: Final = {name: letter(COLUMNS, name) for name in NAMES}
ACTIVE, CHECK, LOW, HIGH, WHOLE, AS_PRINTED, AS_PLANNED = (
    letter(COLUMNS, h) for h in ("Active", "Check", "At least", "At most", "Kind", "As printed", "As planned")
)
FIRST_CASE, LAST_CASE = CASE[WORKED], CASE[NAMES[-1]]
ENGINE: Final = {
    (engine, name): letter(COLUMNS, f"{word}: {name}")
    for engine, word in ((ADDIN, "Add-in"), (NATIVE, "Native"))
    for name in NAMES
}
SOUND: Final = {name: letter(COLUMNS, f"Check: {name}") for name in NAMES}


def at(name: str, case: str) -> str:
    """The cell of an input or step in a case's printed column."""
    return f"{CASE[case]}{ROWS[name]}"


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    missing = [f"{SOUND[case]}{ROWS['bad']}" for case in NAMES]  # whether there is nothing to compare
    return [f"{ENGINE[ADDIN, case]}{ROWS[step.name]}" for case in NAMES for step in STEPS] + missing


def span(first: str, last: str = "") -> str:
    """The rows of all steps, from another sheet: of one column, or of all columns up to the last."""
    return f"Cases!${first}${FIRST_STEP}:${last or first}${LAST_STEP}"


def formula(step: Step, engine: str, case: str) -> str:
    """What an engine has as a step of a case."""

    def ref(name: str) -> str:
        return f"{CASE[case] if name in INPUTS else ENGINE[engine, case]}{ROWS[name]}"

    cells = {a: "+".join(ref(n) for n in source.split("+")) for a, source in step.sources().items()}
    text = step.function.formula(cells) if engine == ADDIN else step.function.native_formula(cells)
    return guarded(step, text, ref)


def say_which_do_not_fit(ws: Worksheet) -> None:
    """Which cases have no fleet, above the table; the row about the KV cache says why."""
    row = ROWS["kv_fit"]
    for case, column in CASE.items():
        name = f'CHOOSE(1+({column}{row}="fits"),", "&{column}${HEADER_ROW},"")'
        put(ws, f"{SOUND[case]}{row}", f'=IF({column}${ROWS["bad"]}>0,"",{name})', "Calculation")
    names = f"{AS_PLANNED}{row}"
    put(ws, names, "=" + "&".join(f"{column}{row}" for column in SOUND.values()), "Calculation")
    words = f'=IF({names}="","","no fleet: "&MID({names},1+2,LEN({names}))&", see "&B{row})'
    put(ws, "B4", words, "Note").alignment = Alignment(horizontal="left", vertical="center", indent=1)
    color_words(ws, "B4:B4", {"no fleet": BAD})
