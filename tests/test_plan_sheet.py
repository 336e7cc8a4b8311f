"""The sheet Plan: the answer by hand, four forms of the load, words for edge cases, typed over, four ways."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from workbook.sheets import (
    batch,
    calibrate,
    checks,
    inputs,
    mix_tables,
    plan_answer,
    plan_rows,
    plan_sheet,
    utilization,
)
from workbook.sheets.blocks import LOADS, PLAN_ROWS, PLANNED

PREFILL = 150_000 * 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # busy replicas: 10.7
STEP_S = (70.553706496e9 / 2 + 64 * 0.524288e9) / (4.8e12 * 0.75)
DECODE = 20_000 * STEP_S / 64  # 6.0
NA = ExcelError("#N/A")


def typed(**values: Any) -> Values:
    """What is typed on the sheet."""
    return {("Plan", f"C{PLAN_ROWS[name]}"): x for name, x in values.items()}


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits."""
    return {at: x for (sheet, at), x in recalculate(template, changes=changes).items() if sheet == "Plan"}


def of(values: dict[str, Any], name: str) -> Any:
    """A row of the answer."""
    return values[f"C{plan_answer.TAKEN_ROWS.get(name) or plan_sheet.LINES.rows[name]}"]


def words(values: dict[str, Any], row: int) -> Any:
    return values[f"E{row}"]


def test_it_is_the_first_screen(template: Path) -> None:
    book = openpyxl.load_workbook(template)
    assert book.active is not None
    assert book.active.title == "Plan"
    assert [ws.title for ws in book if ws.sheet_view.tabSelected] == ["Plan"]
    assert book.sheetnames[:3] == ["About", "Plan", "Inputs"]


def test_the_answer_by_hand(template: Path) -> None:
    """52 GPUs stand in 7 nodes of 8, which are 56; $182 x 730.5 h; the bill split by 10.7 to 6.0 replicas of work."""
    values = shown(template)
    hand = {
        "replicas": 26,
        "gpus": 52,
        "nodes": 7,
        "billed_gpus": 56,
        "cost_per_hour": 182,
        "billed_per_hour": 196,
        "usd_per_month": 132_951,
        "billed_per_month": 143_178,
        "usd_per_m_input": 182 * PREFILL / (PREFILL + DECODE) / 540,
        "usd_per_m_output": 182 * DECODE / (PREFILL + DECODE) / 72,
        "prefill_share": PREFILL / (PREFILL + DECODE),
        "usd_per_m_tokens": 182 / 72,
        "usd_per_m_tokens_all": 182 / 612,
    }
    for name, x in hand.items():
        assert of(values, name) == pytest.approx(x, rel=1e-12), name
    assert round(of(values, "usd_per_m_input"), 4) == 0.2162
    assert round(of(values, "usd_per_m_output"), 4) == 0.9060
    # 540 and 72 million tokens an hour, each at its price, are the whole bill
    assert of(values, "usd_per_m_input") * 540 + of(values, "usd_per_m_output") * 72 == pytest.approx(182)


def test_a_node_holds_whole_replicas(template: Path) -> None:
    """TP 3: (10.695 x 2 + 6.0 x 2) / 3 of work is 11.1 busy, / 0.65 = 17.1: 18 replicas of 3, two to a node of 8.

    9 nodes bill 72 GPUs, though 54 GPUs would fit into 7; at TP 16 each replica takes two nodes.
    """
    values = shown(template, typed(tp=3.0))
    assert [of(values, name) for name in ("replicas", "gpus", "nodes", "billed_gpus")] == [18, 54, 9, 72]
    assert of(values, "billed_per_hour") == 72 * 3.5
    values = shown(template, typed(tp=16.0))
    assert of(values, "nodes") == 2 * of(values, "replicas")


@pytest.mark.parametrize(
    "edits", [typed(request_s=0.0), typed(users=-1.0, peak_to_mean="x"), cells({"req_per_s": -1.0}, {})]
)
def test_engines_are_not_compared_on_bad_inputs(edits: Values, template: Path) -> None:
    """Then the checks say FAIL, and no cell beside the print an error."""
    values = shown(template, edits)
    agree = [values[f"{plan_sheet.AGREE}{row}"] for row in (10, 13, 15, 17)]
    assert all(isinstance(x, bool) for x in agree), agree


def test_the_head_shows_it(template: Path) -> None:
    values = shown(template)
    assert [values[f"{c}4"] for c in "BCE"] == [52, 7, 132_951]
    assert [round(values[f"{c}4"], 4) for c in "FG"] == [0.2162, 0.9060]


def test_the_answer_in_words(template: Path) -> None:
    values = shown(template)
    assert values[f"C{plan_rows.FIT}"] == "fits"
    assert words(values, plan_rows.FIT) == "batch 64 of the 174 sequences that fit the KV pool"
    assert words(values, plan_answer.DRIVER).startswith("prefill is 64% of the work")
    assert values[f"C{plan_answer.VERDICT}"] == "needs a measurement"
    assert words(values, plan_answer.MEASUREMENT).startswith("hidden prefill fraction >= 9.8% at batch 64")
    assert values[f"C{plan_answer.FALLBACK}"] == 62
    assert words(values, plan_answer.FALLBACK) == "batch 32: 52 -> 62 GPUs"


@pytest.mark.parametrize(
    ("form", "given", "rate"),
    [
        ("requests per second", {"req_per_s": 60.0}, 60),
        ("concurrent requests", {"concurrent_requests": 1_800.0, "request_s": 30.0}, 60),
        ("users and requests per day", {"users": 64_800.0, "requests_per_user_day": 20.0, "peak_to_mean": 4.0}, 60),
        # 133,920 M tokens / 3,400 in 744 h of 3,600 s are 14.706 req/s on the mean
        ("tokens per month", {"m_tokens_per_month": 133_920.0, "hours_per_month": 744.0, "peak_to_mean": 3.4}, 50),
    ],
)
def test_a_load_in_four_forms(form: str, given: dict[str, float], rate: float, template: Path) -> None:
    values = recalculate(template, changes=typed(load_form=form, **given))
    assert values["Inputs", f"F{inputs.ROWS['req_per_s']}"] == pytest.approx(rate, rel=1e-12)
    request_s = given.get("request_s", 20)
    assert values["Plan", f"C{PLAN_ROWS['in_flight']}"] == pytest.approx(rate * request_s)  # Little, the other way
    assert values["Plan", f"C{plan_answer.TAKEN_ROWS['gpus']}"] == {60: 62, 50: 52}[rate]  # 16.67 x 1.2 / 0.65 = 30.8


def test_tokens_of_requests_without_any_are_no_rate(template: Path) -> None:
    values = shown(template, typed(load_form="tokens per month", prompt_tokens=0.0, output_tokens=0.0))
    assert values[f"C{PLAN_ROWS['rate']}"] == "no tokens"
    assert values["B4"] == NA


def test_a_form_that_rests_changes_nothing(template: Path) -> None:
    assert of(shown(template, typed(users=1.0, concurrent_requests=3.0, m_tokens_per_month=9.0)), "gpus") == 52


def test_little_both_ways() -> None:
    assert capacity.concurrency(12, 2.5) == 30
    assert capacity.rate_from_concurrency(30, 2.5) == 12
    assert capacity.rate_from_users(86_400, 3, 1) == 3
    # 2,629.8 million tokens in 730.5 h x 3,600 s are 1,000 tok/s: 10 req/s of 100 tokens on the mean, 15 at the peak
    assert capacity.rate_from_tokens(2_629.8, 60, 40, 1.5) == pytest.approx(15, rel=1e-12)
    with pytest.raises(capacity.Infeasible):
        capacity.rate_from_tokens(1, 0, 0)
    with pytest.raises(capacity.InputError):
        capacity.rate_from_concurrency(1, 0)


def test_price_and_model_are_changed_here(template: Path) -> None:
    """At $2 a GPU-hour 52 GPUs cost $104; Qwen3-8B takes its own facts."""
    assert of(shown(template, typed(usd_per_gpu_hour=2.0)), "cost_per_hour") == 104
    values = recalculate(template, changes=typed(model="Qwen3-8B"))
    assert values["Inputs", f"F{inputs.ROWS['model']}"] == "Qwen3-8B"
    assert values["Inputs", f"F{inputs.ROWS['layers']}"] == 36


def test_what_is_typed_over_on_inputs_is_said(template: Path) -> None:
    values = shown(template, cells({"prompt_tokens": 6_000.0}, {}))
    assert values[f"B{plan_rows.HEAD_ROW - 1}"].startswith("1 of these are typed over on Inputs")
    assert (values[f"G{PLAN_ROWS['prompt_tokens']}"]) == 6_000
    assert shown(template)[f"B{plan_rows.HEAD_ROW - 1}"] == ""


def test_utilization_follows_what_it_shares(template: Path) -> None:
    values = recalculate(template, changes=typed(peak_to_mean=4.0, node_gpus=4.0))
    assert values["Utilization", f"C{utilization.LINES.rows['load_factor']}"] == 0.25
    assert values["Utilization", f"C{utilization.LINES.rows['node_spares']}"] == 2


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


OSS = typed(model="gpt-oss-120b", gpu="B200", tp=1.0, quantization="mxfp4")
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
    book = openpyxl.load_workbook(template)
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


CASES: dict[str, Values] = {
    "as built": {},
    "concurrent": typed(load_form="concurrent requests", concurrent_requests=777.0, request_s=3.5),
    "users": typed(load_form="users and requests per day", users=5e6, peak_to_mean=3.3),
    "tokens": typed(load_form="tokens per month", m_tokens_per_month=1e5, prompt_tokens=900.0),
    "batch over the pool": cells({"batch": 192.0}, {}),
    "no load": typed(req_per_s=0.0),
    "a sparse model": OSS | cells({"peak_tflops": 4_000.0}, {}),
    "another model": typed(model="DeepSeek-R1", tp=8.0, node_gpus=3.0, target_ms=12.0),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)


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
    named = openpyxl.load_workbook(template)["Checks"]
    failing = {named[f"B{row}"].value for row in range(6, checks.LAST + 1) if values["Checks", f"K{row}"] != "PASS"}
    assert "Resident sequences left beside the batch" in failing  # other sheets are not judged
    assert not [quantity for quantity in failing if quantity.endswith("rows that fail")]
    assert not failing & {"Options whose engines differ", "Rows of Compare that fail"}
