"""The sheet Sensitivity: plans by hand, ranges that follow the plan, order of the tornado, words, four ways."""

import math
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

from capacity.call import ExcelError
from workbook.sheets import tornado
from workbook.sheets.blocks import MEASURE_ROW, SPREADS, VARIED_HEAD

NA = ExcelError("#N/A")
LABELS = dict(zip(SPREADS, range(tornado.SWING_ROWS[0], tornado.SWING_ROWS[1] + 1), strict=True))
PREFILL_LOAD = 150_000 * 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # 10.695
WEIGHTS_GB = 70.553706496 / 2  # of a GPU


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits, and the master check."""
    values = recalculate(template, changes=changes)
    return {at: x for (sheet, at), x in values.items() if sheet == "Sensitivity"} | {"master": values["About", "B3"]}


def low(name: str) -> int:
    return VARIED_HEAD[name] + 1


def high(name: str) -> int:
    return VARIED_HEAD[name] + 3


def typed(name: str, least: Any, most: Any) -> Values:
    """A range typed over."""
    return {("Sensitivity", f"C{low(name)}"): least, ("Sensitivity", f"C{high(name)}"): most}


def measure(name: str) -> Values:
    return {("Sensitivity", f"C{MEASURE_ROW}"): name}


def decode_load(output_tps: float, batch: float, context: float, mbu: float) -> float:
    """Step: weights and the batch's KV of 163,840 B a token, over 4.8 TB/s; one token of each sequence a step."""
    return output_tps * (WEIGHTS_GB + batch * context * 163_840 / 1e9) / (4_800 * mbu) / batch


# Each plan worked out from the article's sentences: what differs of (prefill load, decode load, ceiling, price).
HAND = {
    ("mfu", 0.35): (PREFILL_LOAD * 0.5 / 0.35, decode_load(20_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("mfu", 0.65): (PREFILL_LOAD * 0.5 / 0.65, decode_load(20_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("mbu", 0.6): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.6), 0.65, 3.5),
    ("mbu", 0.8): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.8), 0.65, 3.5),
    ("utilization", 0.52): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.52, 3.5),
    ("utilization", 0.72): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.72, 3.5),
    ("prompt_tokens", 2_100): (PREFILL_LOAD * 0.7, decode_load(20_000, 64, 2_300, 0.75), 0.65, 3.5),
    ("prompt_tokens", 3_900): (PREFILL_LOAD * 1.3, decode_load(20_000, 64, 4_100, 0.75), 0.65, 3.5),
    ("output_tokens", 280): (PREFILL_LOAD, decode_load(14_000, 64, 3_140, 0.75), 0.65, 3.5),
    ("output_tokens", 520): (PREFILL_LOAD, decode_load(26_000, 64, 3_260, 0.75), 0.65, 3.5),
    ("cache_hit", 0): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("cache_hit", 0.5): (PREFILL_LOAD * 0.5, decode_load(20_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("req_per_s", 35): (PREFILL_LOAD * 0.7, decode_load(14_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("req_per_s", 65): (PREFILL_LOAD * 1.3, decode_load(26_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("usd_per_gpu_hour", 2.1): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.65, 2.1),
    ("usd_per_gpu_hour", 4.9): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.65, 4.9),
    ("batch", 32): (PREFILL_LOAD, decode_load(20_000, 32, 3_200, 0.75), 0.65, 3.5),
    ("batch", 96): (PREFILL_LOAD, decode_load(20_000, 96, 3_200, 0.75), 0.65, 3.5),
    ("memory_fraction", 0.874): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.65, 3.5),
    ("memory_fraction", 0.924): (PREFILL_LOAD, decode_load(20_000, 64, 3_200, 0.75), 0.65, 3.5),
}
OUTPUT_TPS = {("output_tokens", 280): 14_000, ("output_tokens", 520): 26_000, ("req_per_s", 35): 14_000}
OUTPUT_TPS[("req_per_s", 65)] = 26_000


def test_every_plan_by_hand(template: Path) -> None:
    """The ranges follow from the spreads: MFU 0.5 x 0.7 and 0.5 + 0.5 x 0.3; price 3.50 x 0.6 and x 1.4; and so on."""
    values = shown(template)
    for i, ((name, tried), (prefill, decode, ceiling, price)) in enumerate(HAND.items()):
        row = (low, high)[i % 2](name)
        gpus = 2 * math.ceil((prefill + decode) / ceiling)
        usd = gpus * price
        hand = {"C": tried, "F": gpus, "G": usd, "H": usd / (OUTPUT_TPS.get((name, tried), 20_000) * 3_600 / 1e6)}
        for column, x in hand.items():
            assert values[f"{column}{row}"] == pytest.approx(x, rel=1e-12), (name, column)


def test_memory_moves_the_pool_alone(template: Path) -> None:
    """141 x 0.874 - 3 - 35.277 = 84.957 GB hold 162 sequences of 0.524288 GB; 141 x 0.924 - 38.277 = 92.007: 175."""
    values = shown(template)
    assert [values[f"I{row}"] for row in (low("memory_fraction"), high("memory_fraction"))] == [162, 175]
    assert values[f"E{LABELS['memory_fraction']}"] == 0
    assert values[f"K{low('memory_fraction')}"] == "fits"


def test_order_and_swings(template: Path) -> None:
    """In USD/h: price 7 x 2 x 26 x 0.4 = 145.6, rate 16 replicas x 7 = 112, prompt 12 x 7 = 84, MFU 11 x 7 = 77, ..."""
    values = shown(template, measure("USD per hour"))
    first = tornado.SORTED_ROWS[0]
    names = [values[f"B{first + i}"] for i in range(4)]
    assert names == ["Price of a GPU-hour", "Request rate", "Mean prompt length", "MFU"]
    assert [values[f"F{first + i}"] for i in range(4)] == pytest.approx([145.6, 112, 84, 77])
    bar = [values[f"{c}{first}"] for c in "OPQ"]
    assert bar == pytest.approx([109.2, 72.8, 72.8])  # 182 - 109.2 and 254.8 - 182


def test_equal_swings_keep_the_order_of_the_table(template: Path) -> None:
    """Output length (46 to 58) and batch (62 to 50) both swing 12 GPUs; price and memory fraction swing none."""
    values = shown(template)
    names = [values[f"B{row}"] for row in range(tornado.SORTED_ROWS[0], tornado.LAST + 1)]
    assert names.index("Mean output length") + 1 == names.index("Decode batch")
    assert names[-2:] == ["Price of a GPU-hour", "Memory fraction"]


def test_both_ends_on_one_side(template: Path) -> None:
    """MBU 0.6 to 0.8: 56 and 52 GPUs, the plan 52: a bar to the right alone."""
    values = shown(template)
    row = next(r for r in range(tornado.SORTED_ROWS[0], tornado.LAST + 1) if values[f"B{r}"] == "MBU")
    assert [values[f"{c}{row}"] for c in "OPQ"] == [52, 0, 4]


def test_a_range_typed_over_recalculates(template: Path) -> None:
    """At MFU 0.25 prefill takes twice as long: 2 x 10.695 + 5.975 = 27.366 / 0.65 = 42.1: 43 replicas, 86 GPUs."""
    values = shown(template, typed("mfu", 0.25, 0.5))
    assert values[f"F{low('mfu')}"] == 86
    assert values[f"E{LABELS['mfu']}"] == 86 - 52
    assert values[f"B{tornado.SORTED_ROWS[0]}"] == "MFU"
    assert values["master"] == "All checks PASS"


def test_ranges_follow_the_plan(template: Path) -> None:
    values = shown(template, cells({"req_per_s": 200.0, "batch": 33.0, "utilization": 0.9}, {}))
    assert [values[f"C{r}"] for r in (low("req_per_s"), high("req_per_s"))] == pytest.approx([140, 260])
    assert [values[f"C{r}"] for r in (low("batch"), high("batch"))] == [16, 49]  # 16.5 and 49.5 are no batches
    assert [values[f"C{r}"] for r in (low("utilization"), high("utilization"))] == pytest.approx([0.72, 0.92])
    assert values["master"] == "All checks PASS"


@pytest.mark.parametrize(("least", "most", "failing"), [(0.55, 0.7, low), (0.3, 0.4, high), (0.7, 0.3, low)])
def test_a_range_without_the_plan_fails(least: float, most: float, failing: Any, template: Path) -> None:
    """MFU is 0.5: such a range would make the tornado mislead; its results are right all the same."""
    values = shown(template, typed("mfu", least, most))
    assert values[f"M{failing('mfu')}"] == "FAIL"
    assert values[f"L{failing('mfu')}"] == "PASS"
    assert isinstance(values[f"F{failing('mfu')}"], float)
    assert values["master"] != "All checks PASS"


@pytest.mark.parametrize(
    "edit",
    [
        typed("mfu", 0, 0.6),
        typed("mfu", 0.4, 1.1),
        typed("utilization", 0.5, 1),
        typed("batch", 32, 96.5),
        typed("req_per_s", -1, 60),
        typed("prompt_tokens", "few", 4_000),
        {("Sensitivity", f"E{VARIED_HEAD['mfu']}"): 1.0},
        {("Sensitivity", f"E{VARIED_HEAD['mfu']}"): -0.1},
    ],
)
def test_out_of_bounds_shows_no_result(edit: Values, template: Path) -> None:
    values = shown(template, edit)
    bad = [row for row in range(6, 46) if values.get(f"L{row}") == "FAIL"]
    assert bad
    assert all(values.get(f"F{row}", NA) == NA for row in bad)
    assert values["master"] != "All checks PASS"


def test_a_batch_beyond_the_pool_is_said_in_words(template: Path) -> None:
    """The pool holds 174 sequences; the plan with 200 is priced all the same."""
    values = shown(template, typed("batch", 32, 200))
    assert values[f"K{high('batch')}"] == "overflows: at most 174"
    row = next(r for r in range(tornado.SORTED_ROWS[0], tornado.LAST + 1) if values[f"B{r}"] == "Decode batch")
    assert values[f"K{row}"] == "overflows: at most 174"


def test_words_where_there_is_no_number(template: Path) -> None:
    values = shown(template, cells({"gpu_gb": 40.0}, {}))  # 40 x 0.92 - 3 = 33.8 GB, less than 35.3
    assert values[f"K{low('mfu')}"] == "weights do not fit"
    values = shown(template, typed("memory_fraction", 0.2, 0.95))  # 141 x 0.2 - 3 = 25.2 GB
    assert values[f"K{low('memory_fraction')}"] == "weights do not fit"
    values = shown(template, {**cells({"req_per_s": 0.0}, {}), **measure("USD per M output tokens")})
    assert values[f"H{high('mfu')}"] == "no output tokens"
    assert values[f"F{high('mfu')}"] == 0
    assert values[f"K{LABELS['mfu']}"] == "no output tokens"
    assert [values[f"{c}{tornado.SORTED_ROWS[0]}"] for c in "OPQ"] == [0, 0, 0]
    assert values["master"] == "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "another measure": measure("USD per M output tokens"),
    "ranges": typed("mfu", 0.25, 0.5) | typed("batch", 8, 200) | typed("memory_fraction", 0.2, 1),
    "no load": {**cells({"req_per_s": 0.0}, {}), **measure("USD per M output tokens")},
    "no output at low": typed("output_tokens", 0, 500) | measure("USD per M output tokens"),
    "does not fit": cells({"gpu_gb": 20.0}, {}),
    "bad": typed("mfu", 0, 1.5),
    "refined": cells({"cache_hit": 0.9}, {"attention_flops": True, "kv_layout": True, "peak_residency": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
