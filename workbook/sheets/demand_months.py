"""Demand: where everything stands, the chain of its steps, and that of a month from users to whole nodes."""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity import conversation, fleet, headroom, sizing, users, week
from capacity.decode import decode_load
from capacity.money_inputs import DEMAND_INPUTS
from capacity.plan import Step, step_named
from capacity.prefill import prefill_load

from ..chain import ADDIN, NATIVE
from ..lines import Lines
from ..plan_table import changing, elsewhere
from ..row_table import RowTable
from ..sums import Place, Sum
from .blocks import planned
from .money_blocks import DEMAND_FIRST, DEMAND_LAST, MONTHS, SHAPE_ROW
from .plan_rows import IS_REFUSED, say_refused
from .week import cells as hours

TITLE: Final = "Demand"
CHECK: Final = "T"
_WORKING: Final = 21  # the first column beside the printed area
SIDES: Final = {"check": CHECK, "agree": "U", ADDIN: "V", NATIVE: "W"}

STEPS: Final = (
    step_named("peak_to_mean", week.peak_to_mean, "Peak to mean of the week"),
    step_named("load_factor", headroom.load_factor, "Load factor of the week"),
    step_named("session_tokens", conversation.session_tokens),
    step_named("first_prompt", conversation.turn_prompt_tokens, "Mean prompt of a request, first month"),
    step_named("output_tokens", conversation.turn_output_tokens),
)
STEPS_FIRST: Final = DEMAND_LAST + 3
LINES: Final = Lines(
    DEMAND_INPUTS,
    STEPS,
    (DEMAND_FIRST, STEPS_FIRST),
    SIDES,
    taken={"peak_load": f"MAX({hours()})", "mean_load": f"AVERAGE({hours()})"},
    bad=f'facts_bad+COUNTIF({CHECK}{SHAPE_ROW}:{CHECK}{DEMAND_FIRST - 1},"FAIL")',
    follows={name: planned(name) for name in ("node_gpus", "hours_per_month")},
    fleet=IS_REFUSED,
    free=[step.name for step in STEPS],
)

MONTHS_HEAD: Final = LINES.last + 3
TODAY_ROW: Final = MONTHS_HEAD + 1  # the month before the first
FIRST_MONTH: Final = TODAY_ROW + 1
LAST_MONTH: Final = FIRST_MONTH + MONTHS - 1
TOTAL_ROW: Final = LAST_MONTH + 1

_USERS: Final = (
    step_named("user_factor", users.growth_factor, "Growth of users", growth="user_growth"),
    step_named("new_users", users.new_users, growth_factor="user_factor"),
    step_named("kept_users", users.kept_users),
    step_named("active_users", users.active_users),
    step_named("requests_per_month", users.requests_per_month),
    step_named("context_factor", users.growth_factor, "Growth of prompts", growth="context_growth"),
    step_named(
        "grown_session",
        conversation.grown_tokens,
        "Prompt tokens of a session, grown",
        first_tokens="session_tokens",
        growth_factor="context_factor",
    ),
    step_named("prompt_tokens", conversation.turn_prompt_tokens, session_tokens="grown_session"),
    step_named("mean_req_per_s", users.mean_req_per_s),
    step_named("design_req_per_s", users.design_req_per_s),
    step_named(
        "prompt_tokens_per_month", conversation.tokens_per_month, "Prompt tokens", tokens_per_request="prompt_tokens"
    ),
    step_named(
        "output_tokens_per_month", conversation.tokens_per_month, "Output tokens", tokens_per_request="output_tokens"
    ),
)


def _batch(kind: str) -> tuple[Step, Step]:
    grown = step_named(
        f"grown_batch_{kind}",
        conversation.grown_tokens,
        f"Batch {kind}, grown",
        first_tokens=f"batch_{kind}_tokens",
        growth_factor="user_factor",
    )
    rate = step_named(
        f"batch_{kind}_tps", conversation.deadline_tps, f"Batch {kind} rate", batch_tokens=f"grown_batch_{kind}"
    )
    return grown, rate


_WANTED: Final = ["prefill_us", "replica_tps", "prefill_load", "decode_load", "busy_replicas"]
_CHAIN: Final = tuple(
    entry for entry in changing(["req_per_s", "prompt_tokens", "output_tokens"], _WANTED) if isinstance(entry, Step)
)
_FLEET: Final = (
    step_named("batch_prefill", prefill_load, "Batch prefill load", prompt_tps="batch_prompt_tps"),
    step_named("batch_decode", decode_load, "Batch decode load", output_tps="batch_output_tps"),
    step_named(
        "batch_replicas",
        fleet.busy_replicas,
        "Replicas that batch work keeps busy",
        prefill_load="batch_prefill",
        decode_load="batch_decode",
    ),
    step_named("built_replicas", week.busy_with_batch),
    step_named("replicas", fleet.replicas, busy_replicas="built_replicas"),
    step_named("gpus", fleet.gpus),
    step_named("nodes", headroom.nodes, replica_gpus="tp"),
    step_named("billed_gpus", sizing.billed_gpus, replica_gpus="tp"),
)


def _above(name: str) -> Place:
    return lambda engine, row: TABLE.at(name, engine, row - 1)


def _line(name: str) -> Place:
    return lambda engine, _: LINES.at(name, SIDES[engine])


# entry -> column and header of the value in use
SHOWN: Final = {
    "new_users": "New users",
    "kept_users": "Older users",
    "active_users": "Active users",
    "requests_per_month": "Requests of the month",
    "prompt_tokens": "Prompt of a request [tokens]",
    "mean_req_per_s": "Mean rate [req/s]",
    "design_req_per_s": "Design rate [req/s]",
    "prompt_tokens_per_month": "Prompt tokens of the month",
    "output_tokens_per_month": "Output tokens of the month",
    "batch_prompt_tps": "Batch prompts [tok/s]",
    "batch_output_tps": "Batch output [tok/s]",
    "built_replicas": "Busy replicas to build for",
    "replicas": "Replicas",
    "gpus": "GPUs",
    "nodes": "Nodes",
    "billed_gpus": "GPUs in whole nodes",
}
OF_FLEET: Final = ("built_replicas", "replicas", "gpus", "nodes", "billed_gpus")
PRINTED: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, 3)}
KV_FIT: Final = get_column_letter(len(SHOWN) + 3)
# In how many months the batch does not fit, and what is said then: sheets that add up months have no fleet.
OVERFLOWS: Final = f"{TITLE}!${KV_FIT}${TOTAL_ROW}"
OVERFLOW_WORDS: Final = f"{TITLE}!${SIDES[ADDIN]}${TOTAL_ROW}"
NO_FLEET: Final = f"{IS_REFUSED}+{OVERFLOWS}"
NOT_JUDGED: Final = f"facts_bad+{NO_FLEET}>0"

TABLE: Final = RowTable(
    (
        *_USERS,
        *_batch("prompt"),
        *_batch("output"),
        Sum("kv_copies", "KV copies", "count", lambda engine, _: elsewhere("kv_copies", engine)),  # a shorter formula
        *_CHAIN,
        *_FLEET,
    ),
    range(FIRST_MONTH, LAST_MONTH + 1),
    {
        **{name: LINES.at(name) for name in DEMAND_INPUTS},
        **{step.name: _line(step.name) for step in STEPS},
        "months": lambda _, row: f"$A{row}-1",
        "new_before": _above("new_users"),
        "kept_before": _above("kept_users"),
        "req_per_s": lambda engine, row: TABLE.at("design_req_per_s", engine, row),
    },
    PRINTED,
    (_WORKING, CHECK, LINES.bad()),
    LINES.stop(),
    set(PRINTED) - set(OF_FLEET),
    lambda row: f'COUNTIF(${KV_FIT}{row},"overflows")',
)


def at(name: str, month: int, engine: str = "") -> str:
    """The cell of a month, the first is 1, from another sheet: an engine's own, or the value in use."""
    return f"{TITLE}!{TABLE.at(name, engine, FIRST_MONTH + month - 1)}"


def say_no_fleet(ws: Worksheet) -> None:
    """Above a table of what all months need: why there is no fleet in one of them, or in none."""
    say_refused(ws, IS_REFUSED, OVERFLOW_WORDS)
