"""The calls that every host must answer alike: one table, with results that were worked out by hand.

An argument is what a cell holds (number, text, boolean, ExcelError, BLANK, Date, Currency), a range of cells as rows,
or OMITTED. test_parity.py puts the table to every host; parity_differences.py has what a host forces to be otherwise.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import capacity
from capacity.call import OMITTED, ExcelError

BLANK = None
DIV0, NA, NAME, NULL, NUM, REF, VALUE = map(
    ExcelError, ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
)
SPILL = ExcelError("#SPILL!")
NEWER = "errors that only newer Excels have"


class Date(NamedTuple):
    """A number in a date format."""

    serial: int


class Currency(NamedTuple):
    """A number in a currency format."""

    amount: float


class Call(NamedTuple):
    """A function, its arguments, and what the cell shows."""

    group: str
    function: str
    args: Sequence[Any]
    expected: Any

    @property
    def text(self) -> str:
        """The call in one line, ranges in braces: how parity_differences.py names it."""
        return f"{self.function}({', '.join(map(_spelled, self.args))})"


def _spelled(x: Any) -> str:
    if isinstance(x, list):
        return "{" + "; ".join(", ".join(map(_spelled, row)) for row in x) + "}"
    if isinstance(x, str):
        return f'"{x}"'
    if isinstance(x, Date | Currency):
        return f"{type(x).__name__.lower()} {x[0]}"
    return "" if x is OMITTED else "blank" if x is BLANK else str(x).upper() if isinstance(x, bool) else repr(x)


LLAMA, H200 = "Llama-3.3-70B", "H200 SXM"
LOAD = [LLAMA, H200, 50, 3000, 400]
R1 = ["DeepSeek-R1", H200, 50, 3000, 400]

PLAN_TABLE = [
    ["prompt_tps", 150_000, "tok/s"],
    ["output_tps", 20_000, "tok/s"],
    ["prefill_us", 71.30238150176856, "us/token"],
    ["prefill_load", 10.695357225265285, "replica-s/s"],
    ["ttft_floor_ms", 213.90714450530572, "ms"],
    ["weights_gb", 35.276853248, "GB/GPU"],
    ["kv_bytes_per_token", 327_680, "B/token"],
    ["context_tokens", 3200, "tokens"],
    ["kv_gb_per_seq", 0.524288, "GB/GPU"],
    ["kv_pool_gb", 91.443146752, "GB/GPU"],
    ["max_seqs", 174, "sequences"],
    ["step_gb", 68.831285248, "GB/GPU"],
    ["decode_step_ms", 19.11980145777778, "ms"],
    ["replica_tps", 3347.315093272861, "tok/s"],
    ["decode_load", 5.974937955555555, "replica-s/s"],
    ["busy_replicas", 16.67029518082084, "replica-s/s"],
    ["replicas", 26, "replicas"],
    ["gpus", 52, "GPUs"],
    ["request_replica_s", 0.3334059036164168, "replica-s"],
    ["cost_per_hour", 182, "USD/h"],
    ["usd_per_m_tokens", 2.5277777777777777, "USD/M tokens"],
    ["usd_per_m_tokens_all", 0.2973856209150327, "USD/M tokens"],
    ["tpot_worst_ms", 53.344944578626695, "ms"],
    ["tpot_best_ms", 34.22514312084891, "ms"],
    ["overlap_needed", 0.09773354538842098, "fraction"],
    ["tpot_verdict", "needs a measurement", "text"],
]

GROUPS: dict[str, list[tuple[str, list[Any], Any]]] = {
    "numbers": [
        ("PROMPT_TPS", [50, 3000], 150_000),
        ("OUTPUT_TPS", [50, 400], 20_000),
        ("CONTEXT_TOKENS", [3000, 400], 3200),
        ("PREFILL_US", [70, 2, 1000, 0.5], 140),
        ("PREFILL_LOAD", [150_000, 71.3, 0.5], 5.3475),
        ("TTFT_FLOOR_MS", [3000, 70], 210),
        ("WEIGHTS_GB", [70, 1, 2], 35),
        ("KV_BYTES_PER_TOKEN", [80, 8, 128, 2], 327_680),
        ("KV_GB_PER_SEQ", [3200, 327_680, 2], 0.524288),
        ("KV_POOL_GB", [141, 35, 0.92, 3], 91.72),
        ("MAX_SEQS", [91.72, 0.524288], 174),
        ("STEP_GB", [35, 64, 0.5], 67),
        ("DECODE_STEP_MS", [72, 4.8, 0.75], 20),
        ("REPLICA_TPS", [64, 20], 3200),
        ("DECODE_LOAD", [20_000, 3200], 6.25),
        ("BUSY_REPLICAS", [10.5, 6.25], 16.75),
        ("REPLICAS", [16.9, 0.65], 26),  # 25.999999999999996 in binary
        ("REPLICAS", [16.75, 0.65, 1], 27),
        ("GPUS", [26, 2], 52),
        ("REQUEST_REPLICA_S", [3000, 400, 70, 3200, 0.5], 0.23),
        ("COST_PER_HOUR", [52, 3.5], 182),
        ("USD_PER_M_TOKENS", [182, 20_000], 2.5277777777777777),
        ("TPOT_WORST_MS", [20, 10, 6], 53.333333333333336),
        ("TPOT_BEST_MS", [20, 10, 6], 33.333333333333336),
        ("OVERLAP_NEEDED", [50, 20, 10, 6], 0.1),
        ("TPOT_VERDICT", [50, 40, 30], "safe at any overlap"),
        ("TPOT_VERDICT", [50, 60, 55], "fails"),
        ("EXPERT_COVERAGE", [256, 8, 64, 0.9], 0.8393817781656707),
        ("JOINED_MS", [3, 1000, 4, 3], 4.497941445275415),
        ("ALLREDUCE_LATENCY_MS", [80, 8, 2, 0.3], 0.512),
    ],
    "integer and float": [
        ("GPUS", [26.0, 2.0], 52),
        ("GPUS", [26, 2.0], 52),
        ("GPUS", [26.5, 2], NUM),
        ("GPUS", [26, 1.5], NUM),
        ("COST_PER_HOUR", [52, Currency(3.5)], 182),
        ("GPUS", [Date(46355), 2], 92_710),
    ],
    "large, small, negative, zero": [
        ("PROMPT_TPS", [1e300, 1e-300], 1),
        ("PROMPT_TPS", [1e150, 1e150], 1e300),
        ("PROMPT_TPS", [1e200, 1e200], NUM),
        ("PROMPT_TPS", [1e-200, 1e-200], 0),
        ("PROMPT_TPS", [123_456_789, 1_000_003], 123_457_159_370_367),
        ("BUSY_REPLICAS", [0.1, 0.2], 0.3),
        ("GPUS", [9e15, 2], 1.8e16),
        ("GPUS", [0, 2], 0),
        ("GPUS", [0.0, 2.0], 0),
        ("GPUS", [-1, 2], NUM),
        ("GPUS", [-1e-300, 2], NUM),
        ("PROMPT_TPS", [-0.0, 3000], 0),
        ("USD_PER_M_TOKENS", [182, 0], NUM),
    ],
    "out of bounds": [
        ("REPLICAS", [16.67, 65], NUM),
        ("REPLICAS", [16.67, 1], NUM),
        ("REPLICAS", [16.67, 0], NUM),
        ("PREFILL_LOAD", [150_000, 71.3, 1], 0),
        ("PREFILL_LOAD", [150_000, 71.3, 1.0000001], NUM),
        ("GPUS", [26, 0], NUM),
        ("KV_POOL_GB", [24, 35.3], NUM),
        ("TPOT_WORST_MS", [19.1, 10.7, 0], NUM),
    ],
    "omitted": [
        ("GPUS", [], 52),
        ("REPLICAS", [], 26),
        ("PREFILL_US", [], 71.30238150176856),
        ("TPOT_VERDICT", [], "needs a measurement"),
        ("MODEL", [], 70_553_706_496),
        ("GPU", [], 4.8),
        ("PLAN", [], 52),
        ("REPLICAS", [16.67], 26),
        ("REPLICAS", [16.67, OMITTED, 2], 28),
        ("REPLICAS", [16.67, 0.65, OMITTED], 26),
        ("KV_POOL_GB", [100, 35, OMITTED, 3], 54),
        ("KV_POOL_GB", [100, 35], 54),
        ("REPLICAS", [OMITTED, 0.65], VALUE),
        ("GPUS", [26], VALUE),
        ("GPUS", [OMITTED, 2], VALUE),
    ],
    "blank": [
        ("GPUS", [BLANK, 2], 0),
        ("GPUS", [26, BLANK], NUM),
        ("REPLICAS", [16.67, BLANK], NUM),
        ("REPLICAS", [16.67, 0.65, BLANK], 26),
        ("GPUS", [BLANK, BLANK], NUM),
        ("GPUS", [BLANK], VALUE),
        ("PREFILL_LOAD", [150_000, 71.3, BLANK], 10.695),
        ("GPUS", [[[26], [BLANK]], 2], [[52], [0]]),
        ("GPUS", [[[26, BLANK]], 2], [[52, 0]]),
        ("GPUS", [[[BLANK], [BLANK]], 2], [[0], [0]]),
        ("TPOT_VERDICT", [50, BLANK, 30], NUM),
        ("MODEL", [BLANK, "layers"], NA),
    ],
    "text for a number": [
        ("GPUS", ["26", 2], VALUE),
        ("GPUS", [26, "2"], VALUE),
        ("REPLICAS", [16.67, "65%"], VALUE),
        ("GPUS", ["many", 2], VALUE),
        ("GPUS", ["", 2], VALUE),
        ("GPUS", [" ", 2], VALUE),
        ("GPUS", ["NaN", 2], VALUE),
        ("GPUS", ["inf", 2], VALUE),
        ("GPUS", ["1e3", 2], VALUE),
        ("GPUS", ["TRUE", 2], VALUE),
        ("GPUS", ["2026-11-29", 2], VALUE),
        ("GPUS", ["#n/a", 2], VALUE),
        ("GPUS", ["#N/A", 2], VALUE),
        ("GPUS", [[["#N/A"], [26]], 2], [[VALUE], [52]]),
        ("GPUS", [[[26], ["26"]], 2], [[52], [VALUE]]),
        ("GPUS", [[[26], [""]], 2], [[52], [VALUE]]),
        ("TPOT_VERDICT", [50, "60", 30], VALUE),
    ],
    "booleans": [
        ("GPUS", [True, 2], VALUE),
        ("GPUS", [26, False], VALUE),
        ("GPUS", [[[26], [True]], 2], [[52], [VALUE]]),
        ("MODEL", [True, "layers"], VALUE),
        ("CAPACITY_EXPLAIN", [True], VALUE),
    ],
    "error cells": [
        *(("GPUS", [error, 2], error) for error in (DIV0, NA, NAME, NULL, NUM, REF, VALUE)),
        ("GPUS", [26, REF], REF),
        ("GPUS", [REF, DIV0], REF),
        ("GPUS", [DIV0, "x"], DIV0),
        ("GPUS", ["x", DIV0], VALUE),
        ("GPUS", [-1, NA], NUM),
        ("REPLICAS", [16.67, OMITTED, NA], NA),
        ("GPUS", [[[26], [31]], REF], [[REF], [REF]]),
        ("GPUS", [[[26], [NA]], 2], [[52], [NA]]),
        ("GPUS", [[[26, DIV0]], 2], [[52, DIV0]]),
        ("GPUS", [[[26], [NA]], [[2, REF]]], [[52, REF], [NA, NA]]),
        ("TPOT_VERDICT", [50, NA, 30], NA),
        ("MODEL", [DIV0, "layers"], DIV0),
        ("CAPACITY_VERSION", [DIV0], DIV0),
    ],
    NEWER: [
        ("GPUS", [SPILL, 2], SPILL),
        ("GPUS", [[[26], [SPILL]], 2], [[52], [SPILL]]),
    ],
    "ranges": [
        ("GPUS", [[[26]], 2], 52),
        ("GPUS", [[[26]], [[2]]], 52),
        ("GPUS", [[[BLANK]], 2], 0),
        ("GPUS", [[[26], [31], [40]], 2], [[52], [62], [80]]),
        ("GPUS", [[[26, 31, 40]], 2], [[52, 62, 80]]),
        ("GPUS", [26, [[2], [4]]], [[52], [104]]),
        ("GPUS", [[[26, 31], [40, 1]], 2], [[52, 62], [80, 2]]),
        ("GPUS", [[[26], [31]], [[2], [4]]], [[52], [124]]),
        ("GPUS", [[[26], [31]], [[2, 4]]], [[52, 104], [62, 124]]),
        ("GPUS", [[[26, 31]], [[2], [4]]], [[52, 62], [104, 124]]),
        ("GPUS", [[[26, 31], [1, 2]], [[2, 4]]], [[52, 124], [2, 8]]),
        ("GPUS", [[[26, 31], [1, 2]], [[2], [4]]], [[52, 62], [4, 8]]),
        ("GPUS", [[[26], [31], [40]], [[2], [4]]], [[52], [124], [NA]]),
        ("GPUS", [[[26, 31, 40]], [[2, 4]]], [[52, 124, NA]]),
        ("GPUS", [[[26, 31], [1, 2]], [[2, 4, 8]]], [[52, 124, NA], [2, 8, NA]]),
        ("GPUS", [[[26], [31]], OMITTED], [[VALUE], [VALUE]]),
        ("GPUS", [[[26], ["x"], [-1], [1.5]], 2], [[52], [VALUE], [NUM], [NUM]]),
        ("REPLICAS", [[[16.67], [1]], OMITTED, [[0, 2]]], [[26, 28], [2, 4]]),
        ("DECODE_STEP_MS", [[[36], [72]], 4.8, [[0.5, 0.75]]], [[15, 10], [30, 20]]),
        ("GPUS", [[[i] for i in range(300)], 2], [[2 * i] for i in range(300)]),  # large enough for NumPy
    ],
    "text functions": [
        ("TPOT_VERDICT", [50, [[40], [60]], 30], [["safe at any overlap"], ["needs a measurement"]]),
        ("TPOT_VERDICT", [50, [[40], ["x"]], 30], [["safe at any overlap"], [VALUE]]),
        ("TPOT_VERDICT", [50, [[40, 60]], 30], [["safe at any overlap", "needs a measurement"]]),
        ("CAPACITY_VERSION", [1], capacity.__version__),
        ("CAPACITY_VERSION", [[[1], [2]]], [[capacity.__version__]] * 2),
        ("CAPACITY_VERSION", ["any text"], capacity.__version__),
        ("CAPACITY_VERSION", [BLANK], capacity.__version__),
    ],
    "explanations": [
        ("CAPACITY_EXPLAIN", ["GPUS", 26, 2], "26 replicas x 2 GPUs = 52 GPUs"),
        ("CAPACITY_EXPLAIN", ["gpus"], "26 replicas x 2 GPUs = 52 GPUs"),
        ("CAPACITY_EXPLAIN", ["REPLICAS", 16.67, 65], "utilization must be > 0 and < 1: 65; did you mean 0.65?"),
        ("CAPACITY_EXPLAIN", ["REPLICAS", 16.67, BLANK], "utilization must be > 0 and < 1: 0"),
        ("CAPACITY_EXPLAIN", ["REPLICAS", "x"], "busy_replicas must be a number: 'x'"),
        ("CAPACITY_EXPLAIN", ["GPUS", BLANK, 2], "0 replicas x 2 GPUs = 0 GPUs"),
        ("CAPACITY_EXPLAIN", ["REPLICAS", OMITTED, 0.65], "busy_replicas is required: it was left out"),
        (
            "CAPACITY_EXPLAIN",
            ["REPLICAS", 16.67, OMITTED, 2],
            "16.67 busy replicas / 0.65 = 25.65, rounded up and 2 spares added, to 28 replicas",
        ),
        ("CAPACITY_EXPLAIN", ["GPUS", 26, 2, 1], "GPUS takes at most 2 arguments: 3 were given"),
        ("CAPACITY_EXPLAIN", ["GPUS", NA, 2], "replicas is the error #N/A of another cell; mend that cell first"),
        (
            "CAPACITY_EXPLAIN",
            ["GPUS", [[26], [-1]], 2],
            [["26 replicas x 2 GPUs = 52 GPUs"], ["replicas must be a whole number >= 0: -1"]],
        ),
        ("CAPACITY_EXPLAIN", ["CAPACITY_VERSION"], f"the functions of llm-capacity {capacity.__version__} answer"),
        ("CAPACITY_EXPLAIN", ["NOPE"], NA),
        ("CAPACITY_EXPLAIN", ["NOPE", 1], NA),
        ("CAPACITY_EXPLAIN", [""], NA),
        ("CAPACITY_EXPLAIN", [3], NA),
        ("CAPACITY_EXPLAIN", [DIV0, 1], DIV0),
    ],
    "catalogue": [
        ("MODEL", ["DeepSeek-R1", "kv_bytes_per_token_full"], 70_272),
        ("MODEL", ["deepseek-r1", "Model_Type"], "deepseek_v3"),
        ("MODEL", [LLAMA, "n_experts"], 0),
        ("MODEL", ["no such model", "n_experts"], NA),
        ("MODEL", [LLAMA, "color"], NA),
        ("MODEL", [3, "n_experts"], NA),
        ("MODEL", [LLAMA], VALUE),
        ("MODEL", [[[LLAMA], ["DeepSeek-R1"]], "n_experts"], [[0], [256]]),
        ("GPU", ["H200", "vendor"], "NVIDIA"),
        ("GPU", ["A10G", "fp8_tflops"], NA),
        ("GPU", [[["H200"], ["H999"]], [["memory_gb", "vendor"]]], [[141, "NVIDIA"], [NA, NA]]),
        ("CAPACITY_EXPLAIN", ["GPU", "A10G", "fp8_tflops"], "fp8_tflops of A10G is not known"),
    ],
    "PLAN": [
        ("PLAN", ["gpus", *LOAD], 52),
        ("PLAN", [" GPUS ", "llama-3.3-70b", "H200", 50, 3000, 400], 52),
        ("PLAN", ["usd_per_m_output", *LOAD], 2.5277777777777777),
        ("PLAN", ["kv_gb_per_seq", *R1, 8], 0.2248704),
        ("PLAN", ["kv_gb_per_seq", *R1, 8, OMITTED, OMITTED, "fp8"], 0.1124352),
        ("PLAN", ["gpus", *LOAD, *[OMITTED] * 9, 0.5], 36),
        ("PLAN", ["replicas", *LOAD, *[OMITTED] * 10, 3], 29),
        ("PLAN", ["gpus", LLAMA, H200, BLANK, 3000, 400], 0),
        ("PLAN", ["gpus", LLAMA, H200, [[50], [100]], 3000, 400], [[52], [104]]),
        ("PLAN", ["gpus", LLAMA, H200, [[50], ["x"]], 3000, 400], [[52], [VALUE]]),
        ("PLAN", ["tpot_verdict", *LOAD], "needs a measurement"),
        ("PLAN", ["table", *LOAD], PLAN_TABLE),
        ("PLAN", ["table", LLAMA, H200, [[50], [100]], 3000, 400], [[VALUE], [VALUE]]),
        ("PLAN", ["nope", *LOAD], NA),
        ("PLAN", ["gpus", "no such model", H200, 50, 3000, 400], NA),
        ("PLAN", ["gpus", LLAMA, "H999", 50, 3000, 400], NA),
        ("PLAN", ["gpus", *LOAD, 1.5], NUM),
        ("PLAN", ["gpus", *LOAD, 2, 64, "fp16"], NA),
        ("PLAN", ["gpus", *R1], NUM),  # the weights do not fit into two GPUs
        ("PLAN", ["gpus", LLAMA, H200], VALUE),
        ("PLAN", ["gpus", LLAMA, H200, "50", 3000, 400], VALUE),
        ("PLAN", ["gpus", LLAMA, H200, REF, 3000, 400], REF),
        ("PLAN", ["usd_per_m_output", LLAMA, H200, 50, 3000, 0], NUM),
    ],
}

# groups with cells that a host cannot have
WITHOUT = {"LibreOffice": {NEWER}, "formualizer": {NEWER}}


def calls_of(host: str) -> list[Call]:
    """The calls that a host can be asked."""
    return [Call(group, *row) for group, rows in GROUPS.items() for row in rows if group not in WITHOUT.get(host, ())]
