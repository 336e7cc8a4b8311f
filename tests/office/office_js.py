"""Values as Office.js hands them over and takes them back; the same calls for every host that stands on it."""

from collections.abc import Sequence
from typing import Any

from capacity.call import OMITTED, ExcelError, call

_KINDS = {
    "Div0": "#DIV/0!",
    "NotAvailable": "#N/A",
    "Num": "#NUM!",
    "Ref": "#REF!",
    "Value": "#VALUE!",
    "Name": "#NAME?",
}

NA = ExcelError("#N/A")

# function, arguments as `capacity.call` takes them
CALLS: list[tuple[str, list[Any]]] = [
    ("PREFILL_US", []),
    ("PREFILL_US", [70.553706496, 2.0, 1979.0]),
    ("PREFILL_LOAD", [150_000, 71.3]),
    ("REPLICAS", [16.67]),
    ("REPLICAS", [16.67, OMITTED, 2]),
    ("REPLICAS", [16.67, 65]),
    ("REPLICAS", ["x"]),
    ("GPUS", [[[26.0], [31.0]], [[2.0, 4.0]]]),
    ("GPUS", [[[26.0, 31.0, None]], 2.0]),
    ("GPUS", [[[26.0], [NA], ["x"], [True]], 2.0]),
    ("GPUS", [NA, 2.0]),
    ("GPUS", [None, 2.0]),
    ("REPLICAS", [16.67, None]),
    ("GPUS", [[[float(i)] for i in range(1000)], 2.0]),
    ("COST_PER_HOUR", [52, 3.5]),
    ("TPOT_VERDICT", [50.0, [[40.0], [60.0]], 30.0]),
    ("CAPACITY_VERSION", [1.0]),
    ("CAPACITY_EXPLAIN", ["REPLICAS", 16.67, 65]),
    ("CAPACITY_EXPLAIN", ["NOPE"]),
    ("MODEL", ["Llama-3.3-70B", "total_params"]),
    ("MODEL", [[["Llama-3.3-70B"], ["no such model"]], "num_hidden_layers"]),
    ("GPU", ["H200 SXM", "bandwidth_tb_s"]),
    ("PLAN", ["gpus", "Llama-3.3-70B", "H200 SXM", 50, 3000, 400]),
    ("PLAN", ["usd_per_m_output", "DeepSeek-R1", "H200 SXM", [[50], [100]], 3000, 400, 8, 64, "fp8", "fp8"]),
    ("PLAN", ["table", "Llama-3.3-70B", "H200 SXM", 50, 3000, 400]),
]


def sent(args: Sequence[Any], vararg: bool) -> list[Any]:
    """Arguments as Office.js sends them: everything is rows; a function's further arguments come in one list."""
    ranges = [[[None]] if x is OMITTED else [[_cell(c) for c in row] for row in _rows(x)] for x in args]
    return [ranges[0], ranges[1:]] if vararg and ranges else ranges


def expected(name: str, args: Sequence[Any]) -> list[list[Any]]:
    """What comes back when the function answers as `capacity.call` does."""
    return [[x.code if isinstance(x, ExcelError) else x for x in row] for row in _rows(call(name, args))]


def received(result: Any) -> Any:
    """A result that Office.js was given, with error values as their texts."""
    return [[_KINDS[x["errorType"]] if isinstance(x, dict) else x for x in row] for row in result]


def _rows(x: Any) -> Any:
    return x if isinstance(x, list) else [[x]]


def _cell(x: Any) -> Any:
    if isinstance(x, ExcelError):
        return {"type": "Error", "basicValue": x.code, "errorType": "NotAvailable"}
    return "" if x is None else x
