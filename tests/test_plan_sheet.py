"""The sheet Plan: the answer by hand, four forms of the load, what is shared with other sheets, four ways."""

from pathlib import Path

import pytest
from plan_cells import DECODE, NA, OSS, PREFILL, of, shown, typed, words
from sheets import FourWays, Values, cells, engines_differ, held, programs_differ, recalculate

import capacity
from workbook.sheets import inputs, plan_answer, plan_rows, plan_sheet, utilization
from workbook.sheets.blocks import PLAN_ROWS


def test_it_is_the_first_screen(template: Path) -> None:
    book = held(template)
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
