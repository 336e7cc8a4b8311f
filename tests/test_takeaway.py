"""The sheet Take-away: copied into a budget it still computes; it agrees with PLAN and with the plan, or says not."""

import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from office import Office
from openpyxl.formula.translate import Translator
from openpyxl.utils import get_column_letter
from sheets import FourWays, Values, cells, engines_differ, held, programs_differ, recalculate

from capacity.call import ExcelError
from capacity.plan import INPUTS, plan
from workbook.sheets import inputs, takeaway
from workbook.sheets.blocks import PLAN_ROWS

CHAIN = ("Inputs", f"F{inputs.ROWS['chain']}")


def typed(**values: Any) -> Values:
    return {("Take-away", f"C{takeaway.ROWS[name]}"): x for name, x in values.items()}


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    return {at: x for (sheet, at), x in recalculate(template, changes=changes).items() if sheet == "Take-away"}


def copied(template: Path, budget: Path, by: tuple[int, int]) -> Path:
    """The block, pasted somewhere else in another workbook: rows and columns further on."""
    ws = held(template)["Take-away"]
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Budget"
    for row in ws[takeaway.BLOCK]:
        for cell in row:
            to = f"{get_column_letter(cell.column + by[1])}{cell.row + by[0]}"
            formula = cell.data_type == "f"
            sheet[to] = Translator(cell.value, cell.coordinate).translate_formula(to) if formula else cell.value
    book.save(budget)
    return budget


def at(name: str, by: tuple[int, int]) -> tuple[str, str]:
    """Where a value of the block stands after that."""
    return "Budget", f"{get_column_letter(3 + by[1])}{takeaway.ROWS[name] + by[0]}"


@pytest.mark.parametrize("by", [(0, 0), (31, 7), (-5, 40)])
def test_a_copy_computes_elsewhere(by: tuple[int, int], template: Path, tmp_path: Path) -> None:
    """Another workbook, no add-in: 26 replicas, 52 GPUs, $182; at 100 req/s and $2 104 GPUs and $208."""
    budget = copied(template, tmp_path / "budget.xlsx", by)
    values = recalculate(budget, functions=False)
    assert [values[at(name, by)] for name in ("replicas", "gpus", "cost_per_hour")] == [26, 52, 182]
    for result in plan():
        expected = result.value if isinstance(result.value, str) else pytest.approx(result.value, rel=1e-12)
        assert values[at(result.step.name, by)] == expected, result.step.name
    values = recalculate(budget, functions=False, changes={at("req_per_s", by): 100.0, at("usd_per_gpu_hour", by): 2.0})
    assert [values[at(name, by)] for name in ("gpus", "cost_per_hour")] == [104, 208]


def test_a_copy_computes_in_libreoffice(template: Path, tmp_path: Path, office_without_addin: Office) -> None:
    budget = copied(template, tmp_path / "budget.xlsx", (12, 3))
    own = recalculate(budget, functions=False)
    office_without_addin.open(budget)
    office_without_addin.recalculate()
    found = office_without_addin.cells()
    office_without_addin.close()
    assert found[at("gpus", (12, 3))] == 52
    assert found[at("cost_per_hour", (12, 3))] == 182
    assert {k: found[k] for k in own} == {k: x if isinstance(x, str) else pytest.approx(x) for k, x in own.items()}


def test_the_block_refers_to_nothing_but_itself(template: Path) -> None:
    first, last = takeaway.BLOCK.split(":")
    for row in held(template)["Take-away"][first:last]:
        for cell in row:
            if cell.data_type == "f":
                bare = re.sub(r'"[^"]*"', "", cell.value)
                assert not re.search(r"[!$\[]|[a-z]|CAPACITY|PLAN", bare), cell.coordinate
                for column, number in re.findall(r"\b([A-Z]{1,2})(\d+)\b(?!\()", re.sub(r"\d+E\d+", "", bare)):
                    assert column in "CE", cell.coordinate
                    assert takeaway.FIRST_ROW <= int(number) <= cell.row


def test_it_agrees_with_plan_and_with_the_plan(template: Path) -> None:
    values = shown(template)
    assert [values[f"H{row}"] for row in takeaway.ASKED.values()] == [52, 182]
    assert values[f"H{takeaway.AGREE}"] == "agree"
    assert values[f"H{takeaway.SAME}"] == "yes"
    assert values[f"H{takeaway.DIFFER}"] == 0


def test_it_says_when_it_is_another_plan(template: Path) -> None:
    values = shown(template, cells({"req_per_s": 100.0}, {}))
    assert values[f"C{takeaway.ROWS['gpus']}"] == 52
    assert values[f"H{takeaway.SAME}"] == "no"
    assert values[f"H{takeaway.DIFFER}"] == 1
    # DeepSeek-R1 on Plan: the block still holds Llama's facts, and R1 does not fit two GPUs
    values = shown(template, {("Plan", f"C{PLAN_ROWS['model']}"): "DeepSeek-R1"})
    assert values[f"H{takeaway.SAME}"] == "no"
    assert isinstance(values[f"H{takeaway.ASKED['gpus']}"], ExcelError)
    assert values[f"H{takeaway.AGREE}"] == "no figure"
    everywhere = cells({"batch": 32.0}, {}) | typed(batch=32.0)
    values = shown(template, everywhere)
    assert [values[f"C{takeaway.ROWS['gpus']}"], values[f"H{takeaway.ASKED['gpus']}"]] == [62, 62]
    assert values[f"H{takeaway.SAME}"] == "yes"


@pytest.mark.parametrize(
    ("edit", "fit"),
    [
        ({"batch": 5_000.0}, "batch over the pool: at most 174 fit"),
        ({"batch": 175.0}, "batch over the pool: at most 174 fit"),
        ({"gpu_gb": 41.61}, "batch over the pool: at most 0 fit"),
        ({"gpu_gb": 41.60}, "weights do not fit"),
        ({"gpu_gb": 41.60, "output_tokens": 0.0}, "weights do not fit"),
        ({"batch": 174.0}, "fits"),
        ({"batch": 5_000.0, "prompt_tokens": 0.0, "output_tokens": 0.0}, "fits"),
    ],
)
def test_the_block_says_itself_what_does_not_fit(edit: dict[str, float], fit: str, template: Path) -> None:
    """35.277 GB of weights and 3 GB reserved need 38.277 / 0.92 = 41.605 GB; 91.44 GB hold 91.44 / 0.5243 = 174.4."""
    values = shown(template, typed(**edit))
    assert values[f"C{takeaway.FIT}"] == fit
    for step in takeaway.REFUSED:
        value = values[f"C{takeaway.ROWS[step.name]}"]
        assert (value == fit) == (fit != "fits"), step.name
    assert [step.name for step in takeaway.REFUSED][:3] == ["busy_replicas", "replicas", "gpus"]
    assert takeaway.REFUSED[-1].name == "tpot_verdict"
    assert values[f"H{takeaway.FAILING}"] == 0


def test_a_batch_over_the_pool_on_inputs_too_is_no_difference(template: Path) -> None:
    """The same plan on both sides: the block has no figure, so that nothing is compared."""
    values = shown(template, cells({"batch": 5_000.0}, {}) | {CHAIN: "Seed"} | typed(batch=5_000.0))
    assert values[f"H{takeaway.DIFFER}"] == values[f"H{takeaway.FAILING}"] == 0
    assert values[f"H{takeaway.SAME}"] == "no result"


def test_the_subtitle_says_that_it_keeps_its_figures(template: Path) -> None:
    subtitle = held(template)["Take-away"]["A2"].value
    assert subtitle.endswith(
        "It starts as the worked example and keeps its figures until they are typed over: it does not follow Plan."
    )


@pytest.mark.parametrize("name", INPUTS)
def test_a_bad_input_leaves_no_result(name: str, template: Path) -> None:
    for bad in (-1.0, "text"):
        values = recalculate(template, changes=typed(**{name: bad}))
        assert values["Take-away", f"E{takeaway.ROWS[name]}"] == "FAIL"
        assert values["Take-away", f"C{takeaway.ROWS['gpus']}"] == ExcelError("#N/A")
        assert values["About", "B3"] != "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "no output": typed(output_tokens=0.0),
    "does not fit": typed(gpu_gb=20.0),
    "batch over the pool": typed(batch=5000.0),
    "other figures": typed(req_per_s=77.0, tp=4.0, batch=100.0, cache_hit=0.3, spares=2.0),
    "bad": typed(mfu=1.5),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
