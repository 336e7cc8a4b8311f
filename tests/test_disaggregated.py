"""The sheet Disaggregated: pools by hand, words at every state, edges, edits four ways."""

from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from workbook.sheets import disaggregated, pools

NA = ExcelError("#N/A")
BATCH, LINK = ("Disaggregated", "E7"), ("Disaggregated", f"C{pools.LINES.rows['pool_link_gb_s']}")


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits."""
    return {at: x for (sheet, at), x in recalculate(template, changes=changes).items() if sheet == "Disaggregated"}


def words(values: dict[str, Any], row: int = 0) -> Any:
    """The verdict in words, or a row below it."""
    return values[f"C{disaggregated.WORDS + row}"]


def of(values: dict[str, Any], name: str) -> Any:
    return values[f"C{pools.LINES.rows[name]}"]


def test_the_pools_by_hand(template: Path) -> None:
    """Prefill 10.695/0.65 = 16.45 -> 17; decode 5.975/0.65 = 9.19 -> 10; 27 replicas of 2 GPUs, $189 against $182."""
    values = shown(template)
    assert [values[f"J{row}"] for row in (6, 7)] == [17, 10]
    assert [values[f"K{row}"] for row in (6, 7)] == [34, 20]
    assert (of(values, "both_gpus"), of(values, "both_usd_per_hour")) == (54, 189)
    assert of(values, "both_usd_per_m") == pytest.approx(189 / 72)
    assert of(values, "pool_ratio") == 1.7
    first = disaggregated.BESIDE
    assert [values[f"{c}{first + 1}"] for c in "CD"] == [52, 182]
    assert values[f"G{first}"] == pytest.approx((35.276853248 + 64 * 0.524288) / 3.6)  # 19.1 ms: the step alone
    assert (values[f"H{first}"], values[f"H{first + 1}"]) == ("safe at any overlap", "needs a measurement")
    assert words(values) == "disaggregated meets the target at any overlap, colocated needs a measurement"
    assert [words(values, row) for row in (1, 2, 3, 4)] == ["colocated", "disaggregated", 2, 7]


def test_the_transfer_by_hand(template: Path) -> None:
    """3,000 tokens x 327,680 B are 983 MB, half on each GPU: 0.49152 GB at 50 GB/s is 9.83 ms, on top of 213.9 ms."""
    values = shown(template)
    assert of(values, "kv_transfer_ms") == pytest.approx(3_000 * 327_680 / 2 / 50e9 * 1e3)
    assert of(values, "both_ttft_ms") == pytest.approx(3_000 * 2 * 70.553706496e9 / (1_979e12) * 1e3 + 9.8304)
    # one GPU takes what two send; 53 sequences fit beside all weights
    slow = shown(template, {LINK: 10.0, ("Disaggregated", "C7"): 1.0, BATCH: 32.0})
    assert of(slow, "kv_transfer_ms") == pytest.approx(983.04 / 10)
    assert capacity.kv_transfer_ms(0.49152, 2, 4, 50) == pytest.approx(9.8304)  # no faster than the senders
    assert capacity.disaggregated_gpus(3, 8, 4, 2) == 32


def test_own_sizes_of_the_pools(template: Path) -> None:
    """Prefill on 4 GPUs at 80%: 5.348/0.8 = 6.68 -> 7 replicas, 28 GPUs; decode at 50% and a spare: 11.95 -> 12 + 1."""
    edits: Values = {("Disaggregated", at): x for at, x in (("C6", 4.0), ("D6", 0.8), ("D7", 0.5), ("F7", 1.0))}
    values = shown(template, edits)
    assert [values[f"J{row}"] for row in (6, 7)] == [7, 13]
    assert of(values, "both_gpus") == 28 + 26


@pytest.mark.parametrize(
    ("given", "own", "verdict", "safe"),
    [
        # 17 + 14 replicas, as many as colocated: 9.037/0.65 = 13.9, 19.733/0.65 = 30.4 -> 31
        ({"batch": 32.0}, {}, "both meet the target at any overlap", "the same"),
        ({"batch": 128.0}, {}, "only disaggregated meets the target", "disaggregated"),
        ({"target_ms": 10.0}, {}, "neither meets the target: the decode step alone takes longer", "neither"),
        # a decode batch of 174 is a step of 35.1 ms; colocated at 32 takes at most 31.6 ms, at 64 between 34.2 and 53.3
        ({"batch": 32.0, "target_ms": 32.0}, {BATCH: 174.0}, "only colocated meets the target", "colocated"),
        (
            {"target_ms": 34.5},
            {BATCH: 174.0},
            "only colocated can meet the target, if a measurement shows it",
            "neither",
        ),
        ({"req_per_s": 0.0}, {}, "no load: there is nothing to decode", "neither"),
        ({"output_tokens": 0.0}, {}, "no output tokens: there is nothing to decode", "neither"),
        ({}, {BATCH: 175.0}, disaggregated.NO_ROOM, disaggregated.NO_ROOM),
        ({"gpu_gb": 20.0}, {}, disaggregated.NO_ROOM, disaggregated.NO_ROOM),
        ({"cache_hit": 1.0}, {}, "both meet the target at any overlap", "the same"),
    ],
)
def test_words_at_a_target(given: dict[str, float], own: Values, verdict: str, safe: str, template: Path) -> None:
    values = shown(template, cells(given, {}) | own)
    assert words(values) == verdict
    assert words(values, 2) == safe
    assert ("FAIL" in {values[f"S{row}"] for row in (6, 7)}) == (verdict == disaggregated.NO_ROOM)


def test_a_pool_that_does_not_fit_is_no_fleet(template: Path) -> None:
    """175 sequences of 174 that fit: no fleet of that pool, none of both; the plan itself at batch 64 has one."""
    values = shown(template, {BATCH: 175.0})
    assert (values["K6"], values["K7"], values["J7"]) == (34, NA, NA)
    assert (values[f"C{disaggregated.BESIDE}"], values[f"C{disaggregated.BESIDE + 1}"]) == (NA, 52)
    assert of(values, "both_gpus") == NA
    # the pools of their own batches fit, and the plan's 200 sequences do not
    values = shown(template, cells({"batch": 200.0}, {}) | {BATCH: 64.0})
    assert (values["K7"], values[f"C{disaggregated.BESIDE}"], values[f"C{disaggregated.BESIDE + 1}"]) == (20, 54, NA)


def test_no_pool_to_divide_by(template: Path) -> None:
    values = shown(template, cells({"output_tokens": 0.0}, {}))
    assert (of(values, "pool_ratio"), values["J7"]) == ("no decode pool", 0)


@pytest.mark.parametrize("at", ["C6", "D6", "E7", "F7", LINK[1]])
@pytest.mark.parametrize("x", [-1.0, "two", None])
def test_bad_inputs_show_no_result(at: str, x: object, template: Path) -> None:
    values = recalculate(template, changes={("Disaggregated", at): x})
    assert values["Disaggregated", f"C{pools.LINES.rows['both_gpus']}"] == NA
    assert values["Disaggregated", f"C{disaggregated.WORDS}"] == NA
    assert values["About", "B3"] == "1 FAIL: see Checks"


CASES: dict[str, Values] = {
    "as built": {},
    "sizes": {("Disaggregated", "C6"): 4.0, ("Disaggregated", "D7"): 0.5, ("Disaggregated", "F7"): 1.0, LINK: 10.0},
    "bad": {("Disaggregated", "D6"): 1.5},
    "no output": cells({"output_tokens": 0.0}, {}),
    "does not fit": cells({"gpu_gb": 20.0}, {}),
    "refined": cells({"batch": 32.0}, dict.fromkeys(("attention_flops", "communication", "fixed_time"), True)),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
