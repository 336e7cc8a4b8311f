"""The pools of the sheet Disaggregated: a table of two plans, and the steps from both of them to one fleet."""

from typing import Final

from openpyxl.utils import get_column_letter

from capacity import cost, disaggregated
from capacity.disaggregated import POOL_INPUTS
from capacity.plan import Guard, step_named

from ..chain import ADDIN, NATIVE
from ..frame import FIRST_ROW
from ..lines import Lines
from ..plan_table import PlanTable
from .blocks import LINK_FIRST, POOL_LAST
from .waiting import NO_PRICE

SHOWN: Final = {
    "busy_replicas": "Busy replicas [replica-s/s]",
    "replicas": "Replicas",
    "gpus": "GPUs",
    "cost_per_hour": "Cost [USD/h]",
    "ttft_floor_ms": "TTFT floor [ms]",
    "tpot_worst_ms": "TPOT [ms]",
    "tpot_verdict": "TPOT at target",
    "max_seqs": "Resident sequences",
}
OWN: Final = {"tp": "C", "utilization": "D", "batch": "E", "spares": "F", "output_tokens": "G", "cache_hit": "H"}
WORDED: Final = ("tpot_verdict", "max_seqs")
RESULT: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, 9)}
KV_FIT, INPUT_CHECK, CHECK = "Q", "R", "S"
_FIRST_AGREE: Final = 20
AGREE: Final = {name: get_column_letter(i) for i, name in enumerate(SHOWN, _FIRST_AGREE)}
NUMBERS: Final = get_column_letter(_FIRST_AGREE + len(SHOWN))
TABLE: Final = PlanTable(OWN, [*SHOWN, "kv_gb_per_seq"], _FIRST_AGREE + len(SHOWN) + 1, range(FIRST_ROW, POOL_LAST + 1))
PREFILL, DECODE = FIRST_ROW, POOL_LAST

NO_DECODE: Final = Guard("no decode pool", lambda v: v["decode_replicas"] == 0, "{decode_replicas}=0")
STEPS: Final = (
    step_named("both_gpus", disaggregated.disaggregated_gpus),
    step_named("both_usd_per_hour", cost.cost_per_hour, "Cost of both pools", gpus="both_gpus"),
    step_named(
        "both_usd_per_m",
        cost.usd_per_m_tokens,
        "Cost per million output tokens, both pools",
        NO_PRICE,
        cost_per_hour="both_usd_per_hour",
        tokens_per_s="output_tps",
    ),
    step_named("pool_ratio", disaggregated.pool_ratio, "", NO_DECODE),
    step_named("kv_transfer_ms", disaggregated.kv_transfer_ms),
    step_named("both_ttft_ms", disaggregated.disaggregated_ttft_ms, ttft_floor_ms="prefill_ttft_ms"),
)
# What the steps take from the pools: name -> row of the chain or column of the input, and the pool.
_TAKEN: Final = {
    "prefill_replicas": ("replicas", PREFILL),
    "decode_replicas": ("replicas", DECODE),
    "prompt_kv_gb": ("kv_gb_per_seq", PREFILL),
    "prefill_ttft_ms": ("ttft_floor_ms", PREFILL),
}
_GIVEN: Final = {
    **{(n, e): TABLE.at(source, e, row) for n, (source, row) in _TAKEN.items() for e in (ADDIN, NATIVE)},
}
INPUTS_BAD: Final = f'facts_bad+COUNTIF(${INPUT_CHECK}${FIRST_ROW}:${INPUT_CHECK}${POOL_LAST},"FAIL")'
LINES: Final = Lines(
    POOL_INPUTS,
    STEPS,
    (LINK_FIRST, LINK_FIRST + len(POOL_INPUTS) + 2),
    {"check": CHECK, "agree": "T", ADDIN: "U", NATIVE: "V"},
    {},
    {"prefill_tp": f"$C${PREFILL}", "decode_tp": f"$C${DECODE}"},
    given=_GIVEN,
    bad=f'{INPUTS_BAD}+COUNTIF(${KV_FIT}${FIRST_ROW}:${KV_FIT}${POOL_LAST},"overflows")',
)
