"""Where the cells of an option stand, and the formulas of its steps, for both engines."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.decode import step_gb
from capacity.options import (
    BELOW_FLOOR,
    BEST,
    BY_TP,
    FLEET,
    LINK_UNKNOWN,
    NO_BATCH,
    NO_LINK,
    NO_SEQUENCE,
    OWN,
    ROOM,
    WEIGHTS,
)
from capacity.plan import Step, step_named

from ..chain import ADDIN, NATIVE, guarded
from ..frame import FIRST_ROW, Column, put
from ..plan_table import ENGINES, PlanTable, elsewhere
from . import offers, utilization
from .blocks import BATCH_LIMIT_ROW, OPTION_TP_LAST, OPTION_TPS

# The columns of an option before its working cells.
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("GPU", 30),
    Column("TP [GPUs]", 12, "right"),
    Column("Linked: 1, or why not", 26, "right"),
    Column("Weights fit: 1, or why not", 20, "right"),
    Column("Bandwidth [TB/s]", 11, "right"),
    Column("Readable within the target [GB/GPU]", 15, "right"),
    Column("Batch [sequences], or why none", 32, "right"),
    Column("Cost [USD/h]", 12, "right"),
    Column("Status", 32),
    Column("Order of the ranking", 18, "right"),
    Column("Engines agree", 10, "center"),
)
LINKED, ROOM_AT, BANDWIDTH, READABLE, BATCH, COST, STATUS, KEY, AGREE = "DEFGHIJKL"
FIRST_WORKING: Final = len(COLUMNS) + 1

OBSTACLE: Final = "obstacle"
STEPS: Final = (*ROOM, OBSTACLE, BEST, *FLEET)
NAMES: Final = tuple(step if isinstance(step, str) else step.name for step in STEPS)
LABELS: Final = {s.name: s.quantity for s in STEPS if isinstance(s, Step)} | {OBSTACLE: "Batch possible: 1, or why not"}
UNITS: Final = {s.name: s.function.unit for s in STEPS if isinstance(s, Step)} | {OBSTACLE: "count"}

PLANS_ROW: Final = OPTION_TP_LAST + 1  # the plan's own TP
BY_TP_TABLE: Final = PlanTable(
    {"tp": "B"},
    BY_TP,
    FIRST_WORKING,
    range(FIRST_ROW, PLANS_ROW + 1),
    (
        step_named(
            "read_gb",
            step_gb,
            "Weights read in a step",
            weights_gb="dense_read_gb",
            batch="1",
            kv_gb_per_seq="experts_gb",
        ),
        step_named("first_gb", step_gb, "Bytes of a step at batch 1", weights_gb="read_gb", batch="1"),
    ),
)
_HERE: Final = (*BY_TP, "read_gb", "first_gb")

# What all options share: rows of Refined, and two of others.
SHARED: Final = (
    "batch_limit",
    *("prompt_tps", "output_tps", "cache_hit", "dense_prefill_b", "prefill_routed_active_b", "mfu", "mbu"),
    *("memory_fraction", "reserved_gb", "target_ms", "utilization", "spares"),
    *("node_gpus", "target_limit_ms", "prefill_share"),
)
SHARED_FIRST: Final = BATCH_LIMIT_ROW
SHARED_ROWS: Final = {name: SHARED_FIRST + i for i, name in enumerate(SHARED)}
BAD_ROW: Final = SHARED_FIRST + len(SHARED)
PLAN_ROW: Final = BAD_ROW + 3  # the plan as an option, the values of the engine in use, what Refined has
SAME_ROW: Final = PLAN_ROW + 2
_BLOCK: Final = offers.GPU_COUNT + 2
FIRST: Final = SAME_ROW + 3
LAST: Final = FIRST + len(OPTION_TPS) * _BLOCK - 3
BLOCKS: Final = tuple(range(FIRST + i * _BLOCK, FIRST + i * _BLOCK + offers.GPU_COUNT) for i in range(len(OPTION_TPS)))
_SHARED_COLUMN: Final = {ADDIN: "C", NATIVE: "D"}


def shared(name: str, engine: str) -> str:
    """A figure that all options share."""
    return f"{_SHARED_COLUMN[engine]}${SHARED_ROWS[name]}"


def shared_source(name: str, engine: str) -> str:
    """Where it is from."""
    if name == "node_gpus":
        return f"{utilization.TITLE}!{utilization.LINES.at(name)}"
    if name == "target_limit_ms":
        return f"{shared('target_ms', engine)}*(1+1/1E9)"
    if name == "prefill_share":
        output, limit = shared("output_tps", engine), shared("target_limit_ms", engine)
        return f"IF({output}>0,1E3/{output}/{limit},0)"
    return elsewhere(name, engine)


def by_tp(name: str, engine: str, tp_row: int) -> str:
    """A figure that depends on TP alone."""
    at = BY_TP_TABLE.at(name, engine, tp_row)
    letters = at.rstrip("0123456789")
    return f"{letters}${tp_row}"


def at(name: str, engine: str, row: int) -> str:
    """The cell of a step."""
    place = FIRST_WORKING + ENGINES.index(engine) * len(NAMES) + NAMES.index(name)
    return f"{get_column_letter(place)}{row}"


def column(name: str, engine: str) -> str:
    """The cells of a step over all options, from another sheet."""
    letter = at(name, engine, 1).rstrip("1")
    return f"Options!${letter}${FIRST}:${letter}${LAST}"


def pick(name: str, row: int) -> str:
    """What the engine in use has, for good inputs."""
    engines = f'IF(engine_active="Native",{at(name, NATIVE, row)},{at(name, ADDIN, row)})'
    return f"=IF($C${BAD_ROW}>0,NA(),{engines})"


def working_headers() -> list[Column]:
    """Of the working columns."""
    return [Column(f"{word}: {LABELS[name]}", 11.5, "right") for word in ("Add-in", "Native") for name in NAMES]


class Cells:
    """The cells that one option refers to: its row, the row of its TP, and its GPU's figures."""

    def __init__(self, row: int, tp_row: int, own: Callable[[str], str]) -> None:
        self.row, self.tp_row, self._own = row, tp_row, own

    def ref(self, name: str, engine: str) -> str:
        """The cell of an input, of a figure by TP or of all, or of a step."""
        if name == "tp":
            return f"B${self.tp_row}"
        if name == "room":
            return f"{ROOM_AT}{self.row}"
        if name == "bandwidth_tb_s":
            return f"{BANDWIDTH}{self.row}"
        if name in OWN:
            return self._own(name)
        if name in NAMES:
            return at(name, engine, self.row)
        return by_tp(name, engine, self.tp_row) if name in _HERE else shared(name, engine)

    def write(self, ws: Worksheet, instead: Mapping[str, str] | None = None) -> None:
        """The shared cells of the row, and both engines' steps; instead: formulas in place of a step's."""
        put(ws, f"{ROOM_AT}{self.row}", self._room(), "Calculation", align="right")
        put(ws, f"{BANDWIDTH}{self.row}", f"={self._own('bandwidth_tb_s')}", "Calculation", "TB/s", "right")
        put(ws, f"{READABLE}{self.row}", self._readable(), "Calculation", "GB/GPU", "right")
        for engine in ENGINES:
            for step in STEPS:
                name = step if isinstance(step, str) else step.name
                formula = self._obstacle(engine) if isinstance(step, str) else self._formula(step, engine)
                formula = (instead or {}).get(name, formula)
                put(ws, at(name, engine, self.row), formula, "Calculation", UNITS[name], "right")

    def _formula(self, step: Step, engine: str) -> str:
        sources = {a: s.replace("dense_read_gb+experts_gb", "read_gb") for a, s in step.sources().items()}
        cells = {a: "+".join(self.ref(n, engine) for n in s.split("+")) for a, s in sources.items()}
        formula = step.function.formula(cells) if engine == ADDIN else step.function.native_formula(cells)
        return guarded(step, formula, partial(self.ref, engine=engine))

    def _room(self) -> str:
        linked, memory = f"{LINKED}{self.row}", self.ref("gpu_gb", NATIVE)
        left = f"{memory}*{shared('memory_fraction', NATIVE)}-{shared('reserved_gb', NATIVE)}"
        short = f"{left}-{by_tp('weights_gb', NATIVE, self.tp_row)}<-{memory}/1E9"
        return f'=IF(ISTEXT({linked}),{linked},CHOOSE(1+({short}),1,"{WEIGHTS}"))'

    def _readable(self) -> str:
        rate = f"{self.ref('bandwidth_tb_s', NATIVE)}*{shared('mbu', NATIVE)}"
        return f"={shared('target_limit_ms', NATIVE)}*{rate}"

    def _obstacle(self, engine: str) -> str:
        room, first = self.ref("room", engine), self.ref("first_gb", engine)
        share = f"{self.ref('prefill_load', engine)}*{shared('prefill_share', engine)}"
        left = f"{READABLE}{self.row}*(1-{share})"
        can = f"({self.ref('max_seqs', engine)}>=1)*(1+({first}<={READABLE}{self.row})*(1+({first}<={left})))"
        return f"=IF(ISTEXT({room}),{room},CHOOSE(1+{can},{_WORDS[0]},{_WORDS[1]},{_WORDS[2]},1))"


def words_at(words: str) -> str:
    """The cell that has these words."""
    return f"{STATUS}${WORDS[words]}"


# The words of an obstacle stand beside the shared figures: formulas stay short.
WORDS: Final = {
    words: SHARED_FIRST + i for i, words in enumerate((NO_SEQUENCE, BELOW_FLOOR, NO_BATCH, NO_LINK, LINK_UNKNOWN))
}
_WORDS: Final = tuple(words_at(words) for words in WORDS)
