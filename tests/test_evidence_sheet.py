"""The sheet Evidence, and what Plan and Budget take from it: by hand, four ways, edits."""

import math
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

import capacity
from capacity import catalogue
from capacity.call import ExcelError
from capacity.published import published
from workbook.sheets import budget, evidence_nearest, models, plan_answer
from workbook.sheets.blocks import PLAN_ROWS
from workbook.sheets.evidence_blocks import (
    BAND_ROWS,
    CHOSEN,
    CONTINGENCY_ROW,
    FLEET_ROWS,
    LIST_FIRST,
    LIST_LAST,
    PLACE,
    RUN_ROWS,
)

PREFILL_S = 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # of a prompt token
STEP_S = (70.553706496e9 / 2 + 64 * 0.524288e9) / (4.8e12 * 0.75)
BUSY = 150_000 * PREFILL_S + 20_000 * STEP_S / 64  # 10.7 + 6.0
NA = ExcelError("#N/A")


def plan(name: str) -> tuple[str, str]:
    return "Plan", f"C{PLAN_ROWS[name]}"


def chosen(name: str) -> tuple[str, str]:
    return "Evidence", f"C{RUN_ROWS[name]}"


R1: Values = {
    **{plan(name): x for name, x in {"model": "DeepSeek-R1", "gpu": "B200", "tp": 8.0}.items()},
    **cells({}, {"active_params": True, "kv_layout": True}),
    plan("quantization"): "fp4",
    chosen("engine"): "trtllm",
}


def near(values: Values, name: str) -> list[Any]:
    """A row of the three nearest runs."""
    return [values["Evidence", f"{column}{evidence_nearest.ROWS[name]}"] for column in "DEF"]


@pytest.mark.parametrize(("share", "chain"), [(s, c) for c, s in FLEET_ROWS])
def test_fleets_by_hand(share: str, chain: str, template: Path) -> None:
    """16.670 busy replicas / measured share / 65%, whole replicas of 2 GPUs at $3.50, 20,000 output tok/s."""
    ratio = capacity.error_band("output_tokens_per_s", "dense", "closed loop", share, chain)
    gpus = 2 * math.ceil(BUSY / ratio / 0.65)
    row = FLEET_ROWS[chain, share]
    values = recalculate(template)
    found = [values["Evidence", f"{column}{row}"] for column in "CDEF"]
    assert found == pytest.approx([gpus / 2, gpus, 3.5 * gpus, 3.5 * gpus / (20_000 * 3_600 / 1e6)])


def test_the_worked_example(template: Path) -> None:
    """16.670/0.8731/0.65 = 29.4 -> 30 replicas, 60 GPUs; /1.175 = 21.8 -> 22, 44 GPUs; 60/52 - 1 = 15.4%."""
    values = recalculate(template)
    assert values["Evidence", "C3"] == "52 GPUs, 44 to 60 in 8 of 10, fitted constants"
    words = [values["Plan", f"C{row}"] for row in plan_answer.BAND_ROWS.values()]
    assert words == ["44 to 60", "$154 to $210", "$2.14 to $2.92"]
    assert values["Evidence", f"C{CONTINGENCY_ROW}"] == pytest.approx(60 / 52 - 1)
    first, last = budget.BANDS_FIRST, budget.CONTINGENCY_ROW
    assert [values["Budget", f"{c}{first}"] for c in "FGH"] == [52, 44, 60]
    assert values["Budget", f"J{first}"] == "52 GPUs, 44 to 60 in 8 of 10, fitted constants"
    assert [values["Budget", f"{c}{last}"] for c in "FH"] == pytest.approx([0.1, 60 / 52 - 1])


def test_a_lower_share_is_a_dearer_plan(template: Path) -> None:
    """A mixture of experts has a wider band than a dense model, and its own."""
    values = recalculate(template, changes=R1)
    band = [values["Evidence", f"{c}{BAND_ROWS['Refined', 'output_tokens_per_s']}"] for c in "DEF"]
    assert band == [capacity.error_band("output_tokens_per_s", "MoE", "closed loop", s) for s in ("p10", "p50", "p90")]
    fleets = [values["Evidence", f"D{FLEET_ROWS['Refined', share]}"] for share in ("p90", "p50", "p10")]
    assert fleets == sorted(fleets)
    assert len(set(fleets)) == 3
    assert set(near(values, "model")) == {"DeepSeek-R1"}


def test_every_distance_is_that_of_the_function(template: Path) -> None:
    """Each row of Measurements: the distance in thousandths, and its place."""
    for changes in ({}, R1, {chosen("run"): "offline", plan("prompt_tokens"): 0.0}):
        values = recalculate(template, changes=changes)
        mine = [name for name in RUN_ROWS if name not in ("kind", "active_params_b", "bandwidth_tb_s", *CHOSEN)]
        run = {name: values[chosen(name)] for name in mine}
        run |= {name: changes.get(chosen(name), x) for name, x in zip(CHOSEN, ("vllm", "closed loop"), strict=True)}
        given = run | {"tp": run.pop("gpus"), "run_kind": run.pop("run")}
        keys = sorted(values["Measurements", f"{PLACE}{row}"] for row in range(LIST_FIRST, LIST_LAST + 1))
        for rank in (1, 2, 3, 50, len(keys)):
            far, place = divmod(keys[rank - 1], 1000)
            assert capacity.nearest("distance", rank, **given) == far / 1000
            assert capacity.nearest("id", rank, **given) == published()[int(place) - 1].texts["id"]


# a team's own row: a model of the catalogue under another name
OWN: Values = {
    ("Models", f"{models.SHEET.column(fact.field)}{models.SHEET.first_own_row}"): fact.shown(value)
    for fact in models.SHEET.facts
    if fact.unit != "date"
    and (value := dict(catalogue.models().row("Llama-3.1-8B"), name="Ours-8B").get(fact.field)) is not None
}
CASES: dict[str, Values] = {
    "experts": R1,
    "offline": {chosen("run"): "offline", chosen("engine"): "sglang"},
    "refused": cells({"batch": 512.0}, {}),
    "no output": {plan("output_tokens"): 0.0},
    "no load": {plan("req_per_s"): 0.0},
    "own model": {**OWN, plan("model"): "Ours-8B"},
    "another run": {
        plan("gpu"): "H100 SXM",
        plan("tp"): 4.0,
        plan("quantization"): "bf16",
        plan("output_tokens"): 99.0,
    },
    "not on the list": {chosen("run"): "open loop"},
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)


def test_edges_are_words(template: Path) -> None:
    """A plan that is refused has no fleet; no output tokens have no price; an unknown run is not guessed."""
    values = recalculate(template, changes=CASES["refused"])
    assert values["Evidence", "C3"] == "no fleet"
    assert values["Plan", f"C{plan_answer.BAND_ROWS['gpus']}"] == "batch over the pool"
    assert values["Evidence", f"D{FLEET_ROWS['Refined', 'p10']}"] == NA
    values = recalculate(template, changes=CASES["no output"])
    assert values["Evidence", f"F{FLEET_ROWS['Refined', 'p10']}"] == "no output tokens"
    values = recalculate(template, changes=CASES["no load"])
    assert values["Evidence", f"C{CONTINGENCY_ROW}"] == "no load"
    values = recalculate(template, changes=CASES["not on the list"])
    assert near(values, "model") == [NA, NA, NA]
    assert values["About", "B3"] != "All checks PASS"


def test_offline_runs_have_no_times(template: Path) -> None:
    """Of 92 offline runs of dense models the rate was published, but no TPOT."""
    values = recalculate(template, changes=CASES["offline"])
    assert values["Evidence", f"C{BAND_ROWS['Refined', 'output_tokens_per_s']}"] == 92
    assert [values["Evidence", f"{c}{BAND_ROWS['Refined', 'tpot_ms']}"] for c in "CDEF"] == [0, 0, 0, 0]
    assert near(values, "tpot_ms") == ["not published"] * 3
    assert values["About", "B3"] == "All checks PASS"
