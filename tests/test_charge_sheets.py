"""Chargeback and Actuals: lines that are the invoice, effects that are the difference, by hand and four ways."""

from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

from capacity.call import ExcelError
from workbook.sheets import actuals, budget_blocks, chargeback

NA = ExcelError("#N/A")
FIRST = budget_blocks.CHARGES_FIRST
MONTH = budget_blocks.FIRST_MONTH


def shown(template: Path, sheet: str, changes: Values | None = None, *, functions: bool = True) -> dict[str, Any]:
    values = recalculate(template, changes=changes, functions=functions)
    return {at: x for (title, at), x in values.items() if title == sheet} | {"master": values["About", "B3"]}


INVOICE = ("Chargeback", f"C{budget_blocks.INVOICE_FIRST}")
PEAK_TO_MEAN = ("Chargeback", f"C{budget_blocks.INVOICE_FIRST + 1}")


def charge(values: dict[str, Any], row: int) -> float:
    return float(values[f"G{row}"])


def test_the_invoice_by_hand(template: Path) -> None:
    """$182 x 730.5 h = $132,951 for 26 replicas. Chat is 30% of the tokens out: its decode is known without Mix.

    15,778.8 M tokens / 730.5 h / 3,600 s = 6,000 tok/s, of 3,347.3 of a replica 1.79250 busy; in are 10,500 tok/s,
    of 71.302 us each 0.748675; together 2.54118 of 26 replicas, where Mix has the same step as the plan.
    """
    values = shown(template, "Chargeback")
    assert values["C6"] == pytest.approx(132_951)
    busy = [values[f"F{row}"] for row in range(FIRST, chargeback.LAST + 1)]
    for row, x in enumerate(busy, FIRST):
        assert charge(values, row) == pytest.approx(132_951 * x / 26)
    assert charge(values, chargeback.IDLE_ROW) == pytest.approx(132_951 * (26 - sum(busy)) / 26)
    assert charge(values, chargeback.TOTAL_ROW) == pytest.approx(132_951)


def test_a_class_pays_for_its_tokens(template: Path) -> None:
    """Million tokens at their price, in and out, are the charge of the class."""
    values = shown(template, "Chargeback")
    for row in range(FIRST, FIRST + 4):
        tokens = values[f"C{row}"] * values[f"H{row}"] + values[f"E{row}"] * values[f"J{row}"]
        assert tokens == pytest.approx(charge(values, row))


def test_an_invoice_of_ones_own(template: Path) -> None:
    """Twice the invoice, twice every line; no peak above the mean, twice the busy time and less idle."""
    values, double = shown(template, "Chargeback"), shown(template, "Chargeback", {INVOICE: 265_902.0})
    for row in range(FIRST, chargeback.TOTAL_ROW + 1):
        assert charge(double, row) == pytest.approx(2 * charge(values, row))
    flat = shown(template, "Chargeback", {PEAK_TO_MEAN: 1.0})
    assert charge(flat, FIRST) == pytest.approx(2 * charge(values, FIRST))
    assert charge(flat, chargeback.TOTAL_ROW) == pytest.approx(132_951)


def test_cached_input_costs_nothing(template: Path) -> None:
    """Half of a class's prompts from the cache: half the charge for input, the rate of what is computed as before."""
    values, cached = shown(template, "Chargeback"), shown(template, "Chargeback", {("Mix", "F6"): 0.5})
    assert cached[f"D{FIRST}"] == pytest.approx(values[f"C{FIRST}"] / 2)
    assert cached[f"I{FIRST}"] == pytest.approx(cached[f"H{FIRST}"] / 2)


@pytest.mark.parametrize("functions", [True, False])
@pytest.mark.parametrize("edits", [{}, {INVOICE: 99_999.99}, {INVOICE: 0.0}, cells({"req_per_s": 0.0}, {})])
def test_lines_are_the_invoice_to_the_cent(edits: Values, functions: bool, template: Path) -> None:
    values = shown(template, "Chargeback", edits, functions=functions)
    lines = sum(charge(values, row) for row in range(FIRST, chargeback.IDLE_ROW + 1))
    invoice = edits.get(INVOICE, values.get("C6"))
    assert round(100 * lines) == round(100 * invoice)
    assert values[f"{chargeback.CHECK}{chargeback.TOTAL_ROW}"] == "PASS"


@pytest.mark.parametrize("edits", [{INVOICE: -1.0}, {PEAK_TO_MEAN: 0.5}, {("Mix", "C6"): 2.0}])
def test_bad_inputs_show_no_charge(edits: Values, template: Path) -> None:
    values = shown(template, "Chargeback", edits)
    assert values[f"G{FIRST}"] == NA
    assert values["master"] != "All checks PASS"


def came(requests: float, tokens: float, hours: float, usd: float, month: int = 1) -> Values:
    row = MONTH + month - 1
    return {("Actuals", f"{c}{row}"): x for c, x in zip("HIJK", (requests, tokens, hours, usd), strict=True)}


def test_effects_by_hand(template: Path) -> None:
    """80 million requests of 4,000 tokens in 35,000 GPU-hours for $105,000: 0.109375 GPU-h per M tokens, $3.00."""
    values = shown(template, "Actuals", came(80, 4_000, 35_000, 105_000))
    requests, tokens, hours, price, usd = (values[f"{c}{MONTH}"] for c in "CDEFG")
    assert requests * tokens * hours * price == pytest.approx(usd)
    effects = [
        (80 - requests) * tokens * hours * price,
        80 * (4_000 - tokens) * hours * price,
        80 * 4_000 * (0.109375 - hours) * price,
        80 * 4_000 * 0.109375 * (3 - price),
    ]
    assert [values[f"{c}{MONTH}"] for c in "LMNO"] == pytest.approx(effects)
    assert values[f"P{MONTH}"] == pytest.approx(105_000 - usd)
    assert sum(effects) == pytest.approx(105_000 - usd)
    assert values[f"{actuals.SUMS}{MONTH}"] == "PASS"


def test_as_planned_there_is_no_effect(template: Path) -> None:
    plan = shown(template, "Actuals")
    requests, tokens, hours, _, usd = (plan[f"{c}{MONTH}"] for c in "CDEFG")
    values = shown(template, "Actuals", came(requests, tokens, hours * requests * tokens, usd))
    assert [values[f"{c}{MONTH}"] for c in "LMNOP"] == pytest.approx([0] * 5, abs=1e-6)


def test_months_that_have_not_come(template: Path) -> None:
    """Nothing, or not all of it, is no figure; what has not come is not an effect of zero."""
    values = shown(template, "Actuals", {("Actuals", f"H{MONTH}"): 80.0})
    assert [values[f"{c}{MONTH}"] for c in "LMNOP"] == ["no figures"] * 5
    assert values[f"P{actuals.TOTAL_ROW}"] == 0


CASES: dict[str, Values] = {
    "as built": {},
    "an invoice and a month": {INVOICE: 150_000.0, **came(80, 4_000, 35_000, 105_000)},
    "no load": cells({"req_per_s": 0.0}, {}),
    "out of bounds": {PEAK_TO_MEAN: 0.5},
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
