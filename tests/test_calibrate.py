"""The sheet Calibrate: efficiencies by hand, the plan redone, the round trip, what is impossible, edits four ways."""

import math
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, held, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from workbook.frame import FIRST_ROW
from workbook.sheets import audit, calibrate, cases, checks, inputs
from workbook.sheets.blocks import PLAN_ROWS

NA = ExcelError("#N/A")
PARAMS_B, PEAK, BANDWIDTH = 70.553706496, 1_979.0, 4.8
STEP_GB = PARAMS_B / 2 + 64 * 0.524288


def at(name: str) -> tuple[str, str]:
    """The cell of an input or a step."""
    return "Calibrate", f"C{calibrate.LINES.rows[name]}"


def failing(template: Path, values: dict[tuple[str, str], Any]) -> set[str]:
    """The checks that do not pass."""
    ws = held(template)["Checks"]
    rows = range(FIRST_ROW, checks.LAST + 1)
    return {ws[f"B{row}"].value for row in rows if values["Checks", f"{checks.CHECK}{row}"] != "PASS"}


def met(values: dict[tuple[str, str], Any]) -> Any:
    return values["Calibrate", f"C{calibrate.BESIDE + 5}"]


def measured(prefill_tps: float, step_ms: float, overlap: float = 0.0) -> Values:
    names = ("measured_prefill_tps", "measured_step_ms", "measured_overlap")
    return dict(zip(map(at, names), (prefill_tps, step_ms, overlap), strict=True))


def test_efficiencies_by_hand(template: Path) -> None:
    """2 x 70.55e9 x 12,500 / (2 x 1,979e12) = 44.6%; 68.83 GB / (20.5 ms x 4.8 TB/s) = 70.0%."""
    values = recalculate(template, changes=measured(12_500, 20.5))
    assert values[at("measured_mfu")] == pytest.approx(PARAMS_B * 12_500 / PEAK / 1e3, rel=1e-12)
    assert values[at("measured_mbu")] == pytest.approx(STEP_GB / 20.5 / BANDWIDTH, rel=1e-12)
    assert values[at("assumed_prefill_tps")] == pytest.approx(PEAK * 1e3 * 0.5 / PARAMS_B)
    assert values[at("assumed_step_ms")] == pytest.approx(STEP_GB / (BANDWIDTH * 0.75))


def test_the_plan_redone_by_hand(template: Path) -> None:
    """150,000/12,500 = 12 for prefill, 20,000 x 20.5 ms/64 = 6.406 for decode: 18.406/0.65 = 28.3 -> 29, 58 GPUs, $203.

    TPOT without overlap 20.5 x 18.406/6.406 = 58.9 ms; 23.2% must hide; with 25% it is 20.5 x 15.406/6.406 = 49.3 ms.
    """
    values = recalculate(template, changes=measured(12_500, 20.5, 0.25))
    decode = 20_000 * 20.5e-3 / 64
    assert values[at("replicas")] == math.ceil((12 + decode) / 0.65) == 29
    assert (values[at("gpus")], values[at("cost_per_hour")]) == (58, 203)
    assert values[at("tpot_worst_ms")] == pytest.approx(20.5 * (12 + decode) / decode)
    assert values[at("overlap_needed")] == pytest.approx(1 - (50 / 20.5 - 1) * decode / 12)
    assert values[at("tpot_at_overlap_ms")] == pytest.approx(20.5 * (9 + decode) / decode)
    assert met(values) == "met: enough hides"


def test_until_typed_over_it_is_the_plan(template: Path) -> None:
    """1e6 / 71.3 us = 14,025 tok/s and 68.83 GB / (4.8 TB/s x 0.75) = 19.12 ms: 52 GPUs; at batch 96 the check passes.

    Batch 96: 35.277 GB + 96 x 0.524288 GB = 85.608 GB, / 3.6 TB/s = 23.78 ms. A measurement of Qwen is not Llama's.
    """
    qwen = {("Plan", f"C{PLAN_ROWS['model']}"): "Qwen3-32B"}
    values = recalculate(template)
    assert values[at("measured_prefill_tps")] == pytest.approx(PEAK * 1e3 * 0.5 / PARAMS_B)
    assert values[at("measured_step_ms")] == pytest.approx(STEP_GB / 3.6)
    assert (values[at("measured_batch")], values[at("measured_context_tokens")]) == (64, 3_200)
    assert (values[at("gpus")], values[at("cost_per_hour")]) == (52, 182)
    for edits in (cells({"batch": 96.0}, {}), qwen):
        values = recalculate(template, changes=edits)
        assert (values[at("measured_mfu")], values[at("measured_mbu")]) == (pytest.approx(0.5), pytest.approx(0.75))
        assert values[at("gpus")] == values["Audit", f"F{audit.ROWS['gpus']}"]
        assert not {name for name in failing(template, values) if name.startswith(("Calibrate", "Round trip"))}
    assert recalculate(template, changes=cells({"batch": 96.0}, {}))[at("measured_step_ms")] == pytest.approx(
        (PARAMS_B / 2 + 96 * 0.524288) / 3.6
    )


def test_a_bad_measurement_is_the_only_accusation(template: Path) -> None:
    for edit in (measured(50_000, 20), measured(-1, 20), measured(12_500, "fast")):  # type: ignore[arg-type]  # typed
        assert failing(template, recalculate(template, changes=edit)) == {"Calibrate rows that fail"}


def test_the_round_trip(template: Path) -> None:
    """What the plan assumes, measured: its efficiencies, its fleet, its overlap; also with other inputs."""
    edits = cells({"mfu": 0.41, "mbu": 0.62, "batch": 32.0, "tp": 4.0}, {})
    assumed = recalculate(template, changes=edits)
    rate, step = assumed[at("assumed_prefill_tps")], assumed[at("assumed_step_ms")]
    assert assumed[at("back_mfu")] == pytest.approx(0.41, rel=1e-12)
    assert assumed[at("back_mbu")] == pytest.approx(0.62, rel=1e-12)
    values = recalculate(template, changes=edits | measured(rate, step))
    for name in ("replicas", "gpus", "cost_per_hour", "tpot_worst_ms", "overlap_needed", "tpot_verdict"):
        planned = values["Audit", f"F{audit.ROWS[name]}"]
        assert values[at(name)] == (planned if isinstance(planned, str) else pytest.approx(planned, rel=1e-9)), name


@pytest.mark.parametrize(
    ("overlap", "words"),
    [(0.0, "missed"), (0.097, "missed"), (0.098, "met: enough hides"), (1.0, "met: enough hides")],
)
def test_the_overlap_that_the_worked_example_needs(overlap: float, words: str, template: Path) -> None:
    """At batch 64 and 50 ms it is 9.8%: 0.0977."""
    values = recalculate(template, changes=measured(1e6 / 71.30238150176858, 19.11980145777778, overlap))
    assert values[at("overlap_needed")] == pytest.approx(0.09773, abs=1e-5)
    assert met(values) == words


@pytest.mark.parametrize(
    ("given", "words"),
    [({"batch": 32.0}, "met at any overlap"), ({"batch": 128.0}, "missed"), ({"target_ms": 15.0}, "missed")],
)
def test_words_at_a_target(given: dict[str, float], words: str, template: Path) -> None:
    """At batch 128 the best case takes 68 ms; a step of 19 ms cannot give a token each 15 ms."""
    typed = measured(14_024.8, 19.1198, 1.0) | {at("measured_batch"): 64.0}
    values = recalculate(template, changes=cells(given, {}) | typed)
    assert met(values) == words


def test_words_without_a_load(template: Path) -> None:
    for name in ("req_per_s", "output_tokens"):
        values = recalculate(template, changes=cells({name: 0.0}, {}))
        assert met(values) == values[at("tpot_verdict")] == "no output tokens"
        assert values["Calibrate", f"{calibrate.CHECK}{calibrate.LINES.rows['tpot_verdict']}"] == "PASS"


def test_more_than_the_hardware_has(template: Path) -> None:
    """At most 1,979e12/70.55e9 = 28,050 tok/s, and at least 68.83 GB / 4.8 TB/s = 14.34 ms."""
    for edit, row, words in (
        (measured(28_060, 20), 0, "impossible, MFU above 1: check that the rate is one replica's"),
        (measured(12_500, 14.3), 1, "impossible, MBU above 1: check batch and context of the measurement"),
    ):
        values = recalculate(template, changes=edit)
        assert values["Calibrate", f"C{calibrate.WORDS + row}"].startswith(words)
        assert values["Calibrate", f"C{calibrate.WORDS + 1 - row}"] == "possible"
        assert values[at("gpus")] == values[at("measured_mfu")] == met(values) == NA
        assert values["About", "B3"] != "All checks PASS"
    best = recalculate(template, changes=measured(28_049, 14.34))
    assert best[at("measured_mfu")] == pytest.approx(1, abs=1e-4)
    assert best[at("measured_mbu")] == pytest.approx(1, abs=1e-4)
    with pytest.raises(capacity.Infeasible, match=r"^an MFU of 1\.783 is above 1, more than the hardware has: check"):
        capacity.measured_mfu(50_000, PARAMS_B, 2, PEAK)
    with pytest.raises(capacity.Infeasible, match=r"^an MBU of 1\.434 is above 1, .*: check batch and context"):
        capacity.measured_mbu(68.831, 10, BANDWIDTH)


@pytest.mark.parametrize("name", calibrate.CALIBRATION_INPUTS)
@pytest.mark.parametrize("x", [-1.0, "fast", None])
def test_bad_inputs_show_no_result(name: str, x: object, template: Path) -> None:
    values = recalculate(template, changes={at(name): x})
    assert values[at("gpus")] == NA
    assert values["About", "B3"] != "All checks PASS"


def test_no_more_hides_than_decode_has_room_for() -> None:
    assert capacity.tpot_at_overlap_ms(20, 12, 6, 1) == capacity.tpot_best_ms(20, 12, 6)
    assert capacity.tpot_at_overlap_ms(20, 12, 6, 0) == capacity.tpot_worst_ms(20, 12, 6)
    assert capacity.tpot_at_overlap_ms(20, 3, 6, 1) == 20


@pytest.mark.parametrize(
    ("edit", "accused"),
    [
        (cells({"mfu": 2.0}, {}), {"Inputs outside their bounds"}),
        (cells({"gpu_gb": "text"}, {}), {"Inputs outside their bounds"}),  # type: ignore[dict-item]  # typed
        ({("Facts", f"F{FIRST_ROW + 4}"): -1.0}, {"Facts outside their bounds, or at odds"}),
        ({("Plan", f"C{PLAN_ROWS['prompt_tokens']}"): -1.0}, {"Inputs outside their bounds"}),
        (cells({"mfu": 2.0}, {}) | {("Take-away", f"C{FIRST_ROW + 1}"): -1.0}, {"Inputs", "Take-away"}),
    ],
)
def test_one_bad_input_is_one_accusation(edit: Values, accused: set[str], template: Path) -> None:
    """All that follows from it is not judged; a cell of the block Take-away, which is not the plan's, still is."""
    values = recalculate(template, changes=edit)
    found = failing(template, values)
    assert len(found) == len(accused)
    assert all(any(name.startswith(a) for name in found) for a in accused)
    assert values["About", "B3"] == f"{len(accused)} FAIL: see Checks"
    shown = [values["Checks", f"{checks.VALUE}{row}"] for row in range(FIRST_ROW, checks.LAST + 1)]
    assert shown.count("not judged") >= len(shown) - 5 - len(accused)


CASES: dict[str, Values] = {
    "as built": {},
    "measured": measured(9_000, 30, 0.5),
    "bad input": cells({"mfu": 2.0}, {}),
    "impossible": measured(50_000, 20),
    "no output": cells({"output_tokens": 0.0}, {}),
    "refined": cells({"batch": 32.0, "cache_hit": 1.0}, dict.fromkeys(("attention_flops", "fixed_time"), True)),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)


def test_where_the_simple_formula_does_not_apply(template: Path) -> None:
    """All parameters and the first chain's KV count here: said for experts, and for the chain Refined."""
    refined_ = {("Inputs", f"F{inputs.ROWS['chain']}"): "Refined"}
    sparse = {("Inputs", f"F{inputs.ROWS['model']}"): "DeepSeek-R1"}
    assert recalculate(template)["Calibrate", "E4"] == ""
    for edits in (refined_, sparse):
        assert recalculate(template, changes=edits)["Calibrate", "E4"] == calibrate.NOT_SIMPLE
    assert recalculate(template)["Cases", "D4"] == ""
    assert recalculate(template, changes=refined_)["Cases", "D4"] == cases.NOT_REFINED
