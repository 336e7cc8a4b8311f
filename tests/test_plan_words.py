"""The sheet Plan: words for edge cases, what is refused, and what is typed over."""

from pathlib import Path
from typing import Any

import pytest
from plan_cells import NA, OSS, shown, typed, words
from sheets import Values, cells, held, recalculate

from capacity.call import ExcelError
from workbook.sheets import batch, calibrate, checks, mix_tables, plan_answer, plan_rows, plan_sheet, utilization
from workbook.sheets.blocks import LOADS, PLAN_ROWS, PLANNED


@pytest.mark.parametrize(
    ("edit", "head", "row", "sentence"),
    [
        (typed(req_per_s=0.0), 0, plan_answer.DRIVER, "no fleet, no driver"),
        (typed(output_tokens=0.0), 34, plan_answer.VERDICT, "no output tokens: nothing to time"),
        (typed(prompt_tokens=0.0), 10, plan_answer.DRIVER, "decode is 100% of the work"),
        (
            cells({"batch": 192.0}, {}),
            "batch over the pool",
            plan_rows.FIT,
            "batch 192 is refused: at most 174 sequences fit the KV pool",
        ),
        (typed(model="DeepSeek-R1"), "weights do not fit", plan_rows.FIT, "weights take 335.5 GB of each GPU"),
        (typed(target_ms=10.0), 52, plan_answer.VERDICT, "the target is below the step floor of 19.1 ms"),
        (typed(target_ms=30.0), 52, plan_answer.VERDICT, "beyond the target even if all prefill"),
        (typed(target_ms=60.0), 52, plan_answer.FALLBACK, "nothing can fail"),
        (typed(target_ms=20.0) | cells({"batch": 32.0}, {}), 62, plan_answer.FALLBACK, "no smaller batch on the sheet"),
        (cells({"cache_hit": 1.0}, {}), 20, plan_answer.DRIVER, "decode is 100% of the work"),
    ],
)
def test_edge_cases_in_words(edit: Values, head: Any, row: int, sentence: str, template: Path) -> None:
    values = shown(template, edit)
    assert values["B4"] == head
    assert words(values, row).startswith(sentence)
    errors = {at: x for at, x in values.items() if isinstance(x, ExcelError) and at[0] in "ABCDEFGH"}
    assert not errors


OSS_B, OSS_BYTES = 116.829156672e9, 0.53125  # parameters, bytes of each; 0.57913344e9 of them are an embedding
# 36 layers x 2 x 8 heads x 64 x 2 bytes at 3,200 tokens; half of them see at most 128
OSS_SEED = 150_000 * 2 * OSS_B / (4_500e12 * 0.5) + 20_000 / 64 * (OSS_B * OSS_BYTES + 64 * 3_200 * 73_728) / 6e12
OSS_READ = (OSS_B - 0.57913344e9) * OSS_BYTES + 64 * (3_200 * 36_864 + 128 * 36_864)
OSS_OWN = 150_000 * 2 * (5.132849472e9 - 0.57913344e9) / (4_500e12 * 0.5) + 20_000 / 64 * OSS_READ / 6e12


@pytest.mark.parametrize(
    ("edit", "gpus", "sentence"),
    [
        ({}, 52, "the chain fits this model"),
        (OSS, 31, "this model needs the chain Refined with active_params and kv_layout on"),
        (OSS | cells({}, {"kv_layout": True}), 30, "this model needs the chain Refined with active_params on"),
        (OSS | cells({}, {"active_params": True}), 8, "this model needs the chain Refined with kv_layout on"),
        (OSS | cells({}, {"active_params": True, "kv_layout": True}), 7, "the chain fits this model"),
    ],
)
def test_a_chain_that_does_not_fit_the_model_is_said(edit: Values, gpus: int, sentence: str, template: Path) -> None:
    """19.6 busy replicas / 0.65 = 30.1 when one count prices both phases, 4.2 / 0.65 = 6.5 when each has its own."""
    values = recalculate(template, changes=edit)
    fits = sentence.startswith("the chain fits")
    for sheet, at in (("Plan", f"C{plan_rows.CHAIN}"), ("About", "C7")):
        assert values[sheet, at] == ("fits" if fits else "does not fit")
    assert values["Plan", "B4"] == gpus
    assert values["Plan", f"E{plan_rows.CHAIN}"].startswith(sentence)
    assert values["Plan", "E3"].startswith("the month bills GPUs alone" if fits else sentence)
    assert [-(-busy // 0.65) for busy in (OSS_SEED, OSS_OWN)] == [31, 7]


@pytest.mark.parametrize(
    ("edit", "state", "sentence"),
    [
        ({}, "as chosen", "within bounds, and none differs"),
        (cells({"mfu": 0.4}, {}), "as chosen", "within bounds"),  # it follows nothing
        (cells({"peak_tflops": 900.0}, {}), "typed over: 1", "1 input typed over: see Value"),
        (cells({"tp": 4.0, "experts": 2.0}, {}), "typed over: 2", "2 inputs typed over: see Value"),
        (typed(tp=-1.0), "out of bounds", "out of bounds: 1 on Inputs, marked FAIL there"),
        (typed(model="none such"), "out of bounds", "out of bounds: "),
        (typed(node_gpus=-1.0), "out of bounds", "out of bounds: see the first FAIL on Facts, or above"),
        (cells({"experts": 0.0}, {}), "out of bounds", "out of bounds: see the first FAIL on Facts"),
        (typed(gpu="A100 80GB SXM"), "out of bounds", "the GPU has no peak for fp8: choose another type of weights"),
    ],
)
def test_typed_over_and_out_of_bounds_in_words(edit: Values, state: str, sentence: str, template: Path) -> None:
    values = shown(template, edit)
    assert values[f"C{plan_rows.GIVEN}"] == state
    assert words(values, plan_rows.GIVEN).startswith(sentence)
    if state == "out of bounds":
        assert values["E3"].startswith(sentence)
        assert values["C3"] == "TPOT: no result"


def test_the_head_names_the_verdict_and_what_the_month_bills(template: Path) -> None:
    """56 GPUs of whole nodes x $3.50 x 730.5 h = $143,178."""
    values = shown(template)
    assert values["C3"] == "TPOT: needs a measurement"
    assert values["E3"].startswith("the month bills GPUs alone, whole nodes $143,178; per M tokens at peak load")
    book = held(template)
    assert [book["Plan"][at].number_format for at in ("B4", "C4")] == [
        '[=1]#,##0" GPU";#,##0" GPUs"',
        '[=1]"in "#,##0" node";"in "#,##0" nodes"',
    ]
    labels = [book["Plan"][f"B{plan_sheet.LINES.rows[name]}"].value for name in ("usd_per_m_input", "usd_per_m_output")]
    labels += [book["Plan"][f"B{row}"].value for name, row in plan_answer.TAKEN_ROWS.items() if "usd" in name]
    assert len(labels) == 4
    assert all(label.endswith("at peak load") for label in labels)


def test_a_batch_over_the_pool_is_refused_on_about_too(template: Path) -> None:
    values = recalculate(template, changes=cells({"batch": 192.0}, {}))
    assert [values["About", f"C{row}"] for row in range(9, 15)] == ["batch over the pool"] * 6
    assert values["Plan", "C3"] == "TPOT: refused"
    assert values["Plan", f"E{plan_rows.FIT}"].endswith("batch is on Inputs")
    assert values["Plan", f"E{plan_answer.FALLBACK}"] == "batch 32 fits and is safe: 62 GPUs"


@pytest.mark.parametrize(
    ("edit", "value"),
    [
        (typed(target_ms=60.0), "none needed"),
        (typed(output_tokens=0.0), "none needed"),
        (typed(target_ms=30.0), "none on Batch"),
        (typed(model="DeepSeek-R1"), "none on Batch"),
    ],
)
def test_no_fleet_in_place_of_one_that_cannot_fail(edit: Values, value: str, template: Path) -> None:
    assert shown(template, edit)[f"C{plan_answer.FALLBACK}"] == value


def test_no_price_for_what_is_not_there(template: Path) -> None:
    assert [shown(template, typed(req_per_s=0.0))[f"{c}4"] for c in "EFG"] == [0, "no load", "no load"]
    assert shown(template, typed(output_tokens=0.0))["G4"] == "no output tokens"
    assert shown(template, typed(prompt_tokens=0.0))["F4"] == "no prompt tokens"
    assert shown(template, cells({"batch": 192.0}, {}))["E4"] == "batch over the pool"


@pytest.mark.parametrize("name", [*LOADS, *PLANNED, "node_gpus"])
def test_bad_inputs_show_no_result(name: str, template: Path) -> None:
    values = recalculate(template, changes=typed(**{name: -1.0}))
    assert values["Plan", f"H{PLAN_ROWS[name]}"] == "FAIL"
    assert values["Plan", "C4"] == NA
    assert values["About", "B3"] != "All checks PASS"


REFUSED = {
    "weights do not fit": cells({"params_b": 400.0}, {}),  # 200 GB of each GPU
    "no sequence fits": cells({"prompt_tokens": 900_000.0}, {}),  # 147 GB of KV on each GPU
    "batch over the pool": cells({"batch": 200.0}, {}),  # 174 fit
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_plan_that_is_refused_has_no_fleet_anywhere(why: str, template: Path) -> None:
    """Utilization, Requests and Calibrate take the plan's batch; Batch and Mix have their own, but no other memory."""
    values = recalculate(template, changes=REFUSED[why])
    assert values["Plan", f"C{plan_rows.FIT}"] == why
    rows = utilization.FLEETS_FIRST, utilization.LINES.rows["needed"], calibrate.BESIDE, calibrate.BESIDE + 1
    sheets = [("Utilization", f"D{rows[0]}"), ("Utilization", f"C{rows[1]}"), ("Utilization", "C6"), ("Requests", "I6")]
    sheets += [("Calibrate", f"E{row}") for row in rows[2:]]
    for title, at in sheets:
        assert values[title, at] == NA, (title, at)
        assert values[title, "B4"] == f"no fleet: {why}, see Plan"
    own = "" if why == "batch over the pool" else f"no fleet: {why}, see Plan"
    assert values["Batch", "B4"] == own
    assert (values["Batch", f"{batch.RESULT['gpus']}6"] == NA) == bool(own)
    gpus = mix_tables.POOL_BLOCK.at("gpus", mix_tables.POOLS_FIRST)
    assert (values["Mix", gpus] == NA) == (why == "weights do not fit")  # its classes have prompts of their own
    named = held(template)["Checks"]
    failing = {named[f"B{row}"].value for row in range(6, checks.LAST + 1) if values["Checks", f"K{row}"] != "PASS"}
    assert "Resident sequences left beside the batch" in failing  # other sheets are not judged
    assert not [quantity for quantity in failing if quantity.endswith("rows that fail")]
    assert not failing & {"Options whose engines differ", "Rows of Compare that fail"}
