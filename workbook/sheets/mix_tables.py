"""Mix: where everything stands, and the chains of its tables: classes, pools, chunks, and each class's work."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from openpyxl.utils import get_column_letter

from capacity import chunked, fleet, mix, queueing, tpot
from capacity.chunked import CHUNK_INPUTS
from capacity.mix import LONG_PROMPT
from capacity.plan import NO_OUTPUT, Guard, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS
from ..frame import FIRST_ROW
from ..lines import Lines
from ..plan_table import PlanTable
from .blocks import CHUNK_FIRST, CHUNK_LAST, CLASS_LAST, CLASSES

INPUT_CHECK, CHECK = "M", "N"
_WORKING: Final = 15  # the first column beside the printed area

NO_WORK: Final = Guard("no load", lambda v: v["busy_replicas"] == 0, "{busy_replicas}=0")
NO_PREFILL: Final = Guard("no prefill", lambda v: v["computed_tps"] == 0, "{computed_tps}=0")
NO_CHUNKS: Final = Guard(
    lambda v: "no prefill" if isinstance(v["mix_prefill_us"], str) else NO_OUTPUT.says(v),
    lambda v: isinstance(v["mix_prefill_us"], str) or NO_OUTPUT.holds(v),
    f"OR(ISTEXT({{mix_prefill_us}}),{NO_OUTPUT.native})",
    shows=f'CHOOSE(1+ISTEXT({{mix_prefill_us}}),"{NO_OUTPUT.words}","no prefill")',
)
NO_MIXED_STEP: Final = Guard(
    lambda v: str(v["chunk_tpot_ms"]),
    lambda v: isinstance(v["chunk_tpot_ms"], str),
    "ISTEXT({chunk_tpot_ms})",
    shows="{chunk_tpot_ms}",
)
NO_CHUNK_FITS: Final = Guard(
    "no chunk",
    lambda v: isinstance(v["chunk_tpot_ms"], str) or v["target_ms"] < v["decode_step_ms"],
    "OR(ISTEXT({chunk_tpot_ms}),{target_ms}<{decode_step_ms})",
)


class Block(NamedTuple):
    """Rows of one pattern: values that print, values beside the print, whether engines agree, chains."""

    rows: range
    values: Mapping[str, tuple[str, PlanTable]]  # of a step: the column of its value, and the chain that has it
    agree: Mapping[str, str]  # of a step: the column that says whether both engines have the same
    own: Mapping[str, str]  # what a chain takes from elsewhere, by the column in which it stands

    @property
    def tables(self) -> tuple[PlanTable, ...]:
        """Its chains, each once."""
        return tuple(dict.fromkeys(table for _, table in self.values.values()))

    def at(self, name: str, row: int) -> str:
        """The value of a step, or what is taken from elsewhere."""
        return f"{self.own[name] if name in self.own else self.values[name][0]}{row}"

    def span(self, name: str) -> str:
        """The same for all rows, in absolute terms."""
        column = self.own[name] if name in self.own else self.values[name][0]
        return f"${column}${self.rows[0]}:${column}${self.rows[-1]}"


def _letters(first: int, names: Iterable[str]) -> dict[str, str]:
    return {name: get_column_letter(i) for i, name in enumerate(names, first)}


# Classes: lengths and hits from the editor; rates, context and prefill of each.
SUM_ROW: Final = CLASS_LAST + 1
SHARES_ROW: Final = CLASS_LAST + 2
BAD: Final = f"$O${SUM_ROW}"  # how many inputs of classes, of Inputs and of Facts are out of bounds
_CLASS_ROWS: Final = range(FIRST_ROW, CLASS_LAST + 1)
_CLASS_PRINTED: Final = {
    "class_req_per_s": "H",
    "prompt_tps": "I",
    "output_tps": "J",
    "context_tokens": "K",
    "kv_gb_per_seq": "L",
}
_CLASS_BESIDE: Final = (
    "prompt_p99_tokens",
    "prefill_us",
    "prefill_load",
    "ttft_floor_ms",
    "kv_read_tps",
    "kv_peak_read_tps",
    "computed_tps",
)
_CLASS_NAMES: Final = (*_CLASS_PRINTED, *_CLASS_BESIDE)
_CLASS_AGREE: Final = _letters(_WORKING, _CLASS_NAMES)
_CLASS_VALUES: Final = _CLASS_PRINTED | _letters(_WORKING + len(_CLASS_NAMES), _CLASS_BESIDE)
RATE_STEPS: Final = (
    step_named("class_req_per_s", mix.class_req_per_s),
    step_named("prompt_p99_tokens", mix.prompt_p99_tokens),
)
CLASS_STEPS: Final = (
    step_named("kv_read_tps", mix.kv_read_tps),
    step_named("kv_peak_read_tps", mix.kv_read_tps, "The same at the end", context_tokens="peak_context_tokens"),
    step_named("computed_tps", mix.computed_tps),
)
_RATES: Final = PlanTable(
    {"request_share": "C", "prompt_tokens": "D", "p99_multiple": "G"},
    [],
    _WORKING + len(_CLASS_NAMES) + len(_CLASS_BESIDE),
    _CLASS_ROWS,
    RATE_STEPS,
)
_CLASS: Final = PlanTable(
    {"prompt_tokens": "D", "output_tokens": "E", "cache_hit": "F", "req_per_s": "H"},
    [*list(_CLASS_PRINTED)[1:], "peak_context_tokens", "prefill_us", "prefill_load", "ttft_floor_ms"],
    _RATES.next_column,
    _CLASS_ROWS,
    CLASS_STEPS,
)
CLASS_BLOCK: Final = Block(
    _CLASS_ROWS,
    {n: (_CLASS_VALUES[n], _RATES if n in _RATES.names else _CLASS) for n in _CLASS_NAMES},
    _CLASS_AGREE,
    {},
)

# Pools: all classes in one, and those of short and of long prompts apart.
POOLS: Final = ("One pool for all classes", "Separate: short prompts", "Separate: long prompts")
POOLS_FIRST: Final = CHUNK_LAST + 3 + CHART_ROWS  # the chart stands between
POOLS_LAST: Final = POOLS_FIRST + len(POOLS) - 1
_POOL_ROWS: Final = range(POOLS_FIRST, POOLS_LAST + 1)
BATCH, KV_FIT = "E", "F"
_POOL_PRINTED: Final = {
    "decode_context": "C",
    "max_seqs": "D",
    "decode_step_ms": "G",
    "busy_replicas": "H",
    "replicas": "I",
    "gpus": "J",
    "cost_per_hour": "K",
    "tpot_worst_ms": "L",
}
# what a replica does and a fleet is: no number where no sequence fits
OF_A_REPLICA: Final = (*list(_POOL_PRINTED)[2:], "replica_tps")
_POOL_BESIDE: Final = ("decode_peak_context", "kv_gb_per_seq", "replica_tps")
_POOL_NAMES: Final = (*_POOL_PRINTED, *_POOL_BESIDE)
SUMMED: Final = ("req_per_s", "output_tps", "prefill_load", "kv_read_tps", "kv_peak_read_tps", "computed_tps")
_POOL_OWN: Final = ("prompts", *SUMMED, "context_tokens", "peak_context_tokens", "spares", "target_ms", "planned_batch")
_POOL_FIRST_OWN: Final = _WORKING + len(_POOL_NAMES) + len(_POOL_BESIDE)
_POOL_VALUES: Final = _POOL_PRINTED | _letters(_WORKING + len(_POOL_NAMES), _POOL_BESIDE)
_POOL_COLUMNS: Final = _letters(_POOL_FIRST_OWN, _POOL_OWN)
CONTEXT_STEPS: Final = (
    step_named("decode_context", mix.decode_context, guard=NO_OUTPUT),
    step_named(
        "decode_peak_context", mix.decode_context, "Context at the end", NO_OUTPUT, kv_read_tps="kv_peak_read_tps"
    ),
)
_CONTEXT: Final = PlanTable(
    {name: _POOL_COLUMNS[name] for name in ("output_tps", "kv_read_tps", "kv_peak_read_tps")},
    [],
    _POOL_FIRST_OWN + len(_POOL_OWN),
    _POOL_ROWS,
    CONTEXT_STEPS,
)
_FIT: Final = PlanTable(
    {name: _POOL_COLUMNS[name] for name in ("context_tokens", "peak_context_tokens")},
    ["kv_gb_per_seq", "max_seqs"],
    _CONTEXT.next_column,
    _POOL_ROWS,
)
_POOL: Final = PlanTable(
    {name: _POOL_COLUMNS[name] for name in ("output_tps", "prefill_load", "spares")}
    | {"batch": BATCH, "kv_gb_per_seq": _POOL_VALUES["kv_gb_per_seq"]},
    OF_A_REPLICA,
    _FIT.next_column,
    _POOL_ROWS,
)
POOL_BLOCK: Final = Block(
    _POOL_ROWS,
    {
        n: (_POOL_VALUES[n], next(t for t in (_CONTEXT, _FIT, _POOL) if n in t.names and n not in t.own))
        for n in _POOL_NAMES
    },
    _letters(_WORKING, _POOL_NAMES),
    _POOL_COLUMNS | {"batch": BATCH},
)

# Chunked prefill in the pool for all classes.
BOTH_ROW: Final = POOLS_LAST + 1
APART_ROW: Final = POOLS_LAST + 2
STEPS_FIRST: Final = APART_ROW + 3
CHUNK_STEPS: Final = (
    step_named("mix_prefill_us", mix.mix_prefill_us, guard=NO_PREFILL),
    step_named("chunk_tpot_ms", chunked.chunk_tpot_ms, guard=NO_CHUNKS, prefill_us="mix_prefill_us"),
    step_named("chunk_tpot_best_ms", chunked.chunk_tpot_best_ms, guard=NO_CHUNKS, prefill_us="mix_prefill_us"),
    step_named(
        "chunk_verdict",
        tpot.tpot_verdict,
        "Verdict on that chunk",
        NO_MIXED_STEP._replace(native="N({chunk_tpot_ms})=0"),  # a shorter formula
        tpot_worst_ms="chunk_tpot_ms",
        tpot_best_ms="chunk_tpot_best_ms",
    ),
    step_named("max_chunk_tokens", chunked.max_chunk_tokens, guard=NO_CHUNK_FITS, prefill_us="mix_prefill_us"),
    step_named("keep_up_chunk_tokens", chunked.keep_up_chunk_tokens, guard=NO_OUTPUT),
    step_named("token_budget", chunked.token_budget),
    step_named("request_chunk_tokens", chunked.request_chunk_tokens),
    step_named("delay_factor", queueing.delay_factor, "Delay factor 1/(1 - ceiling)"),
)
TARGET: Final = f"R{CHUNK_FIRST}"  # near by, for shorter formulas
LINES: Final = Lines(
    {"long_prompt_tokens": LONG_PROMPT, **CHUNK_INPUTS},
    CHUNK_STEPS,
    (CHUNK_FIRST, STEPS_FIRST),
    {"check": CHECK, "agree": "O", ADDIN: "P", NATIVE: "Q"},
    taken={
        name: POOL_BLOCK.at(name, POOLS_FIRST)
        for name in ("output_tps", "prefill_load", "computed_tps", "batch", "decode_step_ms")
    }
    | {"target_ms": TARGET},
    bad=BAD,
    stop=f"$O${BOTH_ROW}",
)

# The classes once more: work and time to first token of each, in the pool for all.
WORK_FIRST: Final = LINES.last + 3
WORK_LAST: Final = WORK_FIRST + len(CLASSES) - 1
_WORK_ROWS: Final = range(WORK_FIRST, WORK_LAST + 1)
SHARE, STATE, FLOOR = "C", "F", "G"
_WORK_PRINTED: Final = {
    "request_replica_s": "D",
    "work_share": "E",
    "ttft_first_order_ms": "H",
    "ttft_floor_ms": "I",
    "p99_first_order_ms": "J",
    "p99_chunked_ms": "K",
    "p99_capped_ms": "L",
}
# What each row takes: from the class's row and from its editor, and from the pool for all and the lines.
FROM_CLASS: Final = {
    "req_per_s": "class_req_per_s",
    "prompt_p99": "prompt_p99_tokens",
    "prefill_us": "prefill_us",
    "mean_floor_ms": "ttft_floor_ms",
}
FROM_EDITOR: Final = {"prompt_tokens": "D", "output_tokens": "E", "cache_hit": "F"}
_FROM_POOL: Final = {name: f"${POOL_BLOCK.values[name][0]}${POOLS_FIRST}" for name in ("replica_tps", "busy_replicas")}
_FROM_LINES: Final = {
    name: LINES.at(name) for name in ("delay_factor", "chunk_tokens", "request_chunk_tokens", "chunk_tpot_ms")
}
BUSY: Final = _FROM_POOL["busy_replicas"]
_WORK_COLUMNS: Final = _letters(_WORKING + len(_WORK_PRINTED), (*FROM_CLASS, *FROM_EDITOR))
WORK_STEPS: Final = (
    step_named("request_replica_s", fleet.request_replica_s),
    step_named("work_share", mix.work_share, guard=NO_WORK),
    step_named("ttft_first_order_ms", queueing.ttft_first_order_ms, ttft_floor_ms="mean_floor_ms"),
)
TAIL_STEPS: Final = (
    step_named("p99_first_order_ms", queueing.ttft_first_order_ms),
    step_named("p99_steps", chunked.mixed_steps, request_chunk_tokens="chunk_tokens"),
    step_named("p99_chunked_ms", chunked.chunked_ttft_ms, guard=NO_MIXED_STEP, mixed_steps="p99_steps"),
    step_named("p99_capped_steps", chunked.mixed_steps, "Mixed steps under the cap"),
    step_named("p99_capped_ms", chunked.chunked_ttft_ms, guard=NO_MIXED_STEP, mixed_steps="p99_capped_steps"),
)
_WORK: Final = PlanTable(
    {**_WORK_COLUMNS, **_FROM_POOL, "delay_factor": _FROM_LINES["delay_factor"]},
    [],
    _WORKING + len(_WORK_PRINTED) + len(_WORK_COLUMNS),
    _WORK_ROWS,
    WORK_STEPS,
)
_TAIL: Final = PlanTable(
    {**_FROM_LINES, "prompt_tokens": _WORK_COLUMNS["prompt_p99"], "cache_hit": _WORK_COLUMNS["cache_hit"]},
    ["ttft_floor_ms"],
    _WORK.next_column,
    _WORK_ROWS,
    TAIL_STEPS,
)
WORK_BLOCK: Final = Block(
    _WORK_ROWS,
    {n: (column, _WORK if n in _WORK.names else _TAIL) for n, column in _WORK_PRINTED.items()},
    _letters(_WORKING, _WORK_PRINTED),
    _WORK_COLUMNS,
)
BLOCKS: Final = (CLASS_BLOCK, POOL_BLOCK, WORK_BLOCK)
ALL_STEPS: Final = (*RATE_STEPS, *CLASS_STEPS, *CONTEXT_STEPS, *CHUNK_STEPS, *WORK_STEPS, *TAIL_STEPS)
