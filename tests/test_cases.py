"""The sheet Cases: columns by hand and against the plan in Python, the active case, faults, edits four ways."""

import math
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl import Workbook
from sheets import FourWays, Values, cells, engines_differ, held, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from capacity.plan import INPUTS, plan
from workbook import case_columns
from workbook.sheets import audit

PREFILL_S = 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # of a prompt token
NA = ExcelError("#N/A")


def at(name: str, case: str) -> tuple[str, str]:
    """The cell of an input, a step or another row for a case."""
    return "Cases", f"{case_columns.CASE.get(case, case_columns.ACTIVE)}{case_columns.ROWS[name]}"


ACTIVE = at("active", "Active")


def shown(template: Path, changes: Values | None = None, **more: Any) -> dict[tuple[str, str], Any]:
    return recalculate(template, changes=changes, **more)


def across(values: dict[tuple[str, str], Any], name: str) -> list[Any]:
    """A row: the five cases, then the active one."""
    return [values[at(name, case)] for case in (*case_columns.NAMES, "Active")]


def test_the_cases_by_hand(template: Path) -> None:
    """Peak is the double rate; Cheap holds the KV cache in FP8, half of its bytes, on GPUs at $2.50.

    Prefill 50 x 3,000 x 71.302 us = 10.695 busy replicas. Decode at batch 64: 35.277 GB + 64 x 0.524 GB over 3.6 TB/s
    is a step of 19.120 ms, with half of the KV bytes 14.459 ms: 20,000 tok/s x step / 64.
    """
    values = shown(template)
    weights, kv = 70.553706496 / 2, 64 * 0.524288
    steps = [(weights + kv) / 3.6] * 4 + [(weights + kv / 2) / 3.6]  # ms
    rates, prices = [50, 50, 50, 100, 50], [3.5, 3.5, 3.5, 3.5, 2.5]
    for i, (rate, step, usd) in enumerate(zip(rates, steps, prices, strict=True)):
        prefill, decode = rate * 3_000 * PREFILL_S, rate * 400 * step / 1e3 / 64
        gpus = 2 * math.ceil((prefill + decode) / 0.65)
        assert gpus == (52, 52, 52, 104, 48)[i]
        assert across(values, "gpus")[i] == gpus
        assert across(values, "cost_per_hour")[i] == usd * gpus
        worst = step * (prefill + decode) / decode
        assert across(values, "tpot_worst_ms")[i] == pytest.approx(worst, rel=1e-12)
    assert across(values, "tpot_verdict")[4] == "safe at any overlap"
    assert across(values, "max_seqs")[4] == 348


def test_beside_the_active_case(template: Path) -> None:
    """Against Peak, 104 GPUs at $364: Cheap is 56 GPUs and $244 less, 120/364 of the bill."""
    values = shown(template, {ACTIVE: "Peak"})
    assert values[at("gpus", "Active")] == 104
    assert values[at("req_per_s", "Active")] == 100
    assert across(values, "gpus_more") == [0] * 6
    assert across(values, "gpus_fewer") == [52, 52, 52, 0, 56, 0]
    assert across(values, "usd_less") == [182, 182, 182, 0, 244, 0]
    assert values[at("usd_times", "Cheap")] == pytest.approx(120 / 364)
    values = shown(template, {ACTIVE: "Cheap"})
    assert across(values, "gpus_more") == [4, 4, 4, 56, 0, 0]
    assert across(values, "usd_more") == [62, 62, 62, 244, 0, 0]
    assert values["Audit", f"F{audit.ROWS['gpus']}"] == 52  # the plan stays with Inputs


@pytest.mark.parametrize("case", case_columns.NAMES)
def test_every_step_is_the_plans(case: str, template: Path) -> None:
    edits = {"req_per_s": 7.5, "prompt_tokens": 900.0, "tp": 4.0, "batch": 16.0, "cache_hit": 0.25, "spares": 3.0}
    changed = {at(name, own): x for own in case_columns.OWN for name, x in edits.items()}
    values = shown(template, changed | cells({"mbu": 0.6, "batch": 32.0}, {}))
    given: dict[str, float] = {"mbu": 0.6, "batch": 32.0} if case == "Plan" else {}
    if case in case_columns.OWN:
        given = case_columns.OWN[case] | edits
    for result in plan(given):
        value = values[at(result.step.name, case)]
        assert value == (result.value if isinstance(result.value, str) else pytest.approx(result.value, rel=1e-9))


def test_the_worked_example_stays(template: Path) -> None:
    """26 replicas, 52 GPUs, $182, whatever is edited; the plan's column follows Inputs, whatever the chain."""
    edits = cells({"req_per_s": 80.0, "usd_per_gpu_hour": 2.0}, {"active_params": True})
    edits |= {at(name, case): 0.4 for name in ("mfu", "mbu") for case in case_columns.OWN} | {ACTIVE: "Base"}
    values = shown(template, edits)
    row = [values[at(name, "Worked example")] for name in ("replicas", "gpus", "cost_per_hour")]
    assert row == [26, 52, 182]
    assert values[at("gpus", "Plan")] == values["Audit", f"F{audit.ROWS['gpus']}"] == 84  # 26.672 / 0.65 = 41.03
    for name in ("gpus", "usd_per_m_tokens"):
        assert values["Cases", f"{case_columns.CHECK}{case_columns.ROWS[name]}"] == "PASS"


def failed(template: Path, values: Values) -> set[str]:
    """Names of the checks that fail."""
    book = held(template)
    last = book["Checks"].max_row - 2
    return {book["Checks"][f"B{r}"].value for r in range(6, last + 1) if values.get(("Checks", f"K{r}")) == "FAIL"}


@pytest.mark.parametrize("x", [0.0, 1.5, "half", True, None])
def test_a_bad_cell_spoils_its_own_case_only(x: object, template: Path) -> None:
    values = shown(template, {at("mfu", "Base"): x})
    assert across(values, "gpus") == [52, 52, NA, 104, 48, 52]
    assert across(values, "bad")[:5] == [0, 0, 1, 0, 0]
    assert across(values, "first_bad")[:5] == ["none", "none", "MFU", "none", "none"]
    assert across(values, "usd_times")[1:4] == [1, NA, 2]
    assert values["Cases", f"{case_columns.CHECK}{case_columns.ROWS['mfu']}"] == "FAIL"
    assert "Inputs of cases outside their bounds" in failed(template, values)


@pytest.fixture(scope="module")
def book(template: Path) -> Workbook:
    return openpyxl.load_workbook(template)


@pytest.mark.parametrize("name", INPUTS)
def test_the_registrys_bounds(name: str, book: Workbook, template: Path) -> None:
    """Validation of the three editable cells, and the check in the sheet, say what the registry says."""
    argument, editable = INPUTS[name], [at(name, case)[1] for case in case_columns.OWN]
    rules = [r for r in book["Cases"].data_validations.dataValidation if editable[0] in r.sqref]
    assert [str(r.sqref) for r in rules] == [f"{editable[0]}:{editable[-1]}"]
    assert rules[0].error == f"{name} {argument.rule} [{argument.unit}]"
    for x in (-1.0, 0.0, 0.5, 1.0, 1.5):
        values = shown(template, {at(name, "Cheap"): x}, functions=False)
        assert values[at("bad", "Cheap")] == (0 if argument.fits(x) else 1), x


def test_a_case_that_is_none(template: Path) -> None:
    values = shown(template, {ACTIVE: "Lean"})
    assert values[at("gpus", "Active")] == NA
    assert across(values, "gpus")[:5] == [52, 52, 52, 104, 48]
    assert failed(template, values) == {"Inputs of cases outside their bounds"}


def test_words_where_a_case_has_no_number(template: Path) -> None:
    changes: Values = {
        at("output_tokens", "Base"): 0.0,
        at("gpu_gb", "Peak"): 30.0,
        at("batch", "Cheap"): 400.0,
    }
    values = shown(template, changes)
    assert values[at("usd_per_m_tokens", "Base")] == "no output tokens"
    assert values[at("tpot_verdict", "Base")] == "no output tokens"
    assert across(values, "kv_fit") == ["fits", "fits", "fits", "weights do not fit", "at most 348 fit", "fits"]
    assert values["About", "B3"] == "All checks PASS"
    nothing = shown(template, {at("req_per_s", "Base"): 0.0, ACTIVE: "Base"})
    assert nothing[at("gpus", "Base")] == 0
    assert across(nothing, "usd_times") == ["nothing to divide"] * 6
    assert nothing["About", "B3"] == "All checks PASS"


def test_a_target_below_the_step_floor(template: Path) -> None:
    """A step of 14.459 ms cannot give a token each 10 ms."""
    values = shown(template, {at("target_ms", "Cheap"): 10.0})
    assert values[at("tpot_verdict", "Cheap")] == capacity.tpot_verdict(10, 48.68, 34.23) == "fails"


CASES: dict[str, Values] = {
    "as built": {},
    "a bad cell": {at("tp", "Peak"): 2.5, ACTIVE: "Cheap"},
    "no case": {ACTIVE: "Lean"},
    "words": {
        at("output_tokens", "Base"): 0.0,
        at("req_per_s", "Peak"): 0.0,
        at("gpu_gb", "Cheap"): 20.0,
        ACTIVE: "Peak",
    },
    "plan edited": cells({"req_per_s": 80.0, "batch": 200.0, "cache_hit": 0.5}, {"attention_flops": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
