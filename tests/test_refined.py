"""The refined chain: neutral when off, each switch by the size of the field notes, and alike in every program."""

from pathlib import Path

import pytest
from office import Office
from sheets import Case, FourWays, agree, cells, engines_differ, in_four_ways, programs_differ, recalculate, value

from capacity.call import ExcelError
from capacity.errors import Infeasible
from capacity.plan import STEPS, plan
from capacity.refined import REFINED_INPUTS, SWITCHES, refined_plan
from workbook.sheets import audit, inputs, refined, refined_inputs, requests

# A mixture of experts with MLA, roughly DeepSeek-R1 on 8 GPUs: parts that a dense model leaves at zero all count.
SPARSE = {
    "params_b": 671.0,
    "layers": 61.0,
    "kv_heads": 128.0,
    "head_dim": 192.0,
    "tp": 8.0,
    "active_params_b": 36.6,
    "embedding_params_b": 0.93,
    "lm_head_params_b": 0.93,
    "routed_params_b": 653.9,
    "experts": 256.0,
    "experts_per_token": 8.0,
    "moe_layers": 58.0,
    "hidden_size": 7168.0,
    "attention_width": 1_249_280.0,
    "kv_full_bytes": 70_272.0,
    "kv_replicated": 1.0,
    "kernels": 1500.0,
}
WINDOWED = {
    "windowed_width": 65_536.0,
    "window_tokens": 1024.0,
    "kv_windowed_bytes": 50_000.0,
    "state_bytes": 2e6,
    "tp": 16.0,
    "of_free": 1.0,
}
ALL_ON = dict.fromkeys(SWITCHES, True)
CASES: dict[str, Case] = {
    **{name: ({}, {name: True}) for name in SWITCHES},
    "all on": ({}, ALL_ON),
    "sparse, off": (SPARSE, {}),
    "sparse, on": (SPARSE, ALL_ON),
    "sparse, attention-DP and experts": (SPARSE | {"attention_dp": 8.0, "expert_parallel": 8.0}, ALL_ON),
    "windows and state": (WINDOWED, ALL_ON),
    "speculation": ({"drafts": 3.0, "accepted": 1.4, "draft_ms": 2.0}, ALL_ON),
    "no prompt": ({"prompt_tokens": 0.0}, ALL_ON),
    "half cached": (WINDOWED | {"cache_hit": 0.5}, ALL_ON),
    "all cached": (WINDOWED | {"cache_hit": 1.0}, ALL_ON),
    "weights apart": (SPARSE | {"dense_bytes": 2.0, "expert_bytes": 0.53125, "windowed_kv_heads": 4.0}, ALL_ON),
    "no output": ({"output_tokens": 0.0}, ALL_ON),
    "weights do not fit": ({"gpu_gb": 20.0, "usable_gb": 20.0}, ALL_ON),
    "at odds": ({"experts_per_token": 2.0}, ALL_ON),
}


def test_off_is_the_worked_example() -> None:
    rows = refined_plan()
    for result in plan():
        if result.step.name in rows:
            refined_value = value(rows[result.step.name])
            assert refined_value == result.value or refined_value == pytest.approx(result.value, rel=1e-12)


@pytest.mark.parametrize(
    ("switch", "row", "change"),
    [  # field notes: sizes for Llama 70B at 3,000 tokens in, 400 out
        ("active_params", "prefill_us", -0.030),
        ("attention_flops", "prefill_us", 0.028 * 1979 / 989),  # 2.8% of the FLOPs, at the BF16 peak
        ("stored_weights", "weights_gb", 72.655 / 70.554 - 1),
        ("usable_memory", "kv_pool_gb", (150.11 - 141) * 0.92 / 91.443),
        ("peak_residency", "max_seqs", 164 / 174 - 1),
    ],
)
def test_each_switch_moves_by_its_size(switch: str, row: str, change: float) -> None:
    off, on = refined_plan(), refined_plan(switches={switch: True})
    assert value(on[row]) / value(off[row]) - 1 == pytest.approx(change, abs=6e-4)


def test_coverage_of_the_field_notes() -> None:
    """DeepSeek-R1, 8 of 256 experts: 64% at batch 32, 98% at 128 when sequences choose independently."""
    for batch_size, share in ((32, 0.64), (128, 0.98)):
        given = SPARSE | {"batch": batch_size, "coverage_exponent": 1.0}
        assert value(refined_plan(given, {"coverage": True})["expert_coverage"]) == pytest.approx(share, abs=0.005)


def test_no_more_accepted_than_drafted() -> None:
    with pytest.raises(Infeasible, match="2 accepted tokens are more than the 1 drafts proposed"):
        refined_plan({"accepted": 2, "drafts": 1}, {"speculation": True})


def test_experts_over_more_gpus_than_a_replica_has() -> None:
    with pytest.raises(Infeasible, match="experts spread over 8 GPUs are on more than the 2 of a replica"):
        refined_plan({"expert_parallel": 8}, {"parallelism": True})


@pytest.mark.parametrize("cache_hit", [0.5, 0.9])
def test_behind_a_cached_prefix(cache_hit: float) -> None:
    """Computed tokens attend to the prefix too, in a window to what it holds; a prompt's fixed time is not cached."""
    on = {"attention_flops": True, "fixed_time": True}
    given = {"prompt_tokens": 30_000, "cache_hit": cache_hit, "windowed_width": 655_360, "window_tokens": 1_024}
    rows = refined_plan(given, on)
    computed = range(int(30_000 * cache_hit), 30_000)
    seen = sum(i + min(i, 1_024) for i in computed)  # of full and of windowed layers, which are of one width here
    attention_s = 4 * 655_360 * seen / (2 * 989e12 * 0.5)
    dense_s = len(computed) * 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)
    fixed_s = 80 * 107.4e-6
    per_prompt_s = rows["prefill_us"].value * len(computed) / 1e6
    assert per_prompt_s == pytest.approx(attention_s + dense_s + fixed_s, rel=1e-3)
    assert rows["prefill_load"].value == pytest.approx(50 * per_prompt_s)


def test_directions() -> None:
    """What adds time adds time; what leaves work out takes time away."""
    base = refined_plan(SPARSE)
    for switch, row, sign in (
        ("attention_flops", "prefill_us", 1),
        ("activations", "prefill_us", 1),
        ("fixed_time", "decode_step_ms", 1),
        ("communication", "decode_step_ms", 1),
        ("decode_flops", "decode_step_ms", 1),
        ("coverage", "decode_step_ms", -1),
        ("active_params", "prefill_us", -1),
        ("kv_layout", "kv_gb_per_seq", -1),
    ):
        moved = value(refined_plan(SPARSE, {switch: True})[row]) - value(base[row])
        assert moved * sign > 0, switch


@pytest.fixture(scope="module")
def four_ways(template: Path, office_with_addin: Office, office_without_addin: Office) -> FourWays:
    return in_four_ways(template, office_with_addin, office_without_addin, CASES)


@pytest.mark.parametrize("case", CASES)
def test_two_programs_agree_on_every_cell(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)


@pytest.mark.parametrize("case", CASES)
def test_results_agree_with_and_without_the_functions(case: str, four_ways: FourWays) -> None:
    assert not engines_differ(four_ways, case)


@pytest.mark.parametrize("case", CASES)
def test_every_row_equals_python(case: str, four_ways: FourWays) -> None:
    given, on = CASES[case]
    if case == "at odds":
        for way in four_ways.values():
            assert way[case]["Refined", f"F{refined.ROWS['gpus']}"] == ExcelError("#N/A")
            assert "FAIL" in way[case]["About", "B3"]
        return
    rows = refined_plan(given, on)
    for way in four_ways.values():
        for name, row in rows.items():
            assert agree(way[case]["Refined", f"F{refined.ROWS[name]}"], value(row)), name


@pytest.mark.parametrize("case", ["attention_flops", "all on", "windows and state", "half cached", "sparse, on"])
def test_a_request_is_priced_at_its_own_length(case: str, four_ways: FourWays) -> None:
    """On Requests a row costs what the plan says of a request when all are like that one."""
    given, on = CASES[case]
    step_rows = refined_plan(given, on)
    for row, request in enumerate(requests.REQUESTS, 6):
        lengths = {"prompt_tokens": request.prompt_tokens, "output_tokens": request.output_tokens}
        prefill_us = refined_plan({**given, **lengths}, on)["prefill_us"].value
        computed = request.prompt_tokens * (1 - given.get("cache_hit", 0))
        work = computed * prefill_us / 1e6 + request.output_tokens / step_rows["replica_tps"].value
        for way in four_ways.values():
            assert agree(way[case]["Requests", f"F{row}"], work)


def test_the_guard_of_sparse_models(four_ways: FourWays) -> None:
    """One parameter count for both phases fails with the ratio; with active parameters it passes."""
    from workbook.sheets import checks

    row = checks.cell(checks.GUARD).rpartition("$")[2]
    for way in four_ways.values():
        assert way["sparse, off"]["Checks", f"K{row}"] == "FAIL"
        assert way["sparse, off"]["Checks", f"F{row}"] == pytest.approx(671 / 36.6)
        assert way["sparse, on"]["Checks", f"K{row}"] == "PASS"


def test_seed_chain_ignores_switches_and_facts(template: Path) -> None:
    """With the chain Seed, switches and facts move nothing, and printed figures are still compared."""
    edits = cells(SPARSE | {"params_b": 70.553706496, "layers": 80, "kv_heads": 8, "head_dim": 128, "tp": 2}, ALL_ON)
    edits[("Inputs", f"F{inputs.ROWS['chain']}")] = "Seed"
    for name in ("routed_params_b", "kv_full_bytes"):  # two checks compare these with what the seed chain takes
        edits[("Facts", f"F{refined_inputs.ROWS[name]}")] = REFINED_INPUTS[name].example
    values = recalculate(template, changes=edits)
    for step in STEPS:
        if step.name in refined.ROWS:
            assert agree(
                values["Refined", f"F{refined.ROWS[step.name]}"], values["Audit", f"F{audit.ROWS[step.name]}"]
            ), step.name
    assert values["About", "B3"] == "All checks PASS"
