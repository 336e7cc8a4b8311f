"""The sheet Buy or run: both bills by hand, DeepSeek's day, words where there is nothing to buy, four ways."""

from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

from capacity.call import ExcelError
from workbook.sheets import buy
from workbook.sheets.blocks import LOAD_SHARES, SHARES_FIRST

NA = ExcelError("#N/A")


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits, with whether all checks of the workbook pass."""
    values = recalculate(template, changes=changes)
    found = {at: x for (sheet, at), x in values.items() if sheet == buy.TITLE}
    return found | {"master": values["About", "B3"]}


def of(values: dict[str, Any], name: str) -> Any:
    return values[f"C{buy.LINES.rows[name]}"]


def at(name: str) -> tuple[str, str]:
    return buy.TITLE, f"C{buy.LINES.rows[name]}"


def test_the_worked_example_by_hand(template: Path) -> None:
    """75,000 x 0.55 + 10,000 x 2.19 = $0.06315 a second, x 3,600 = $227.34 an hour against $182.

    $182 x 10.6954 / 16.6705 / 540 M = $0.2162 per M input, x 5.9751 / 16.6705 / 72 M = $0.9060 per M output; on half
    of the load twice as much; $182 / 36 M = $5.0556 per M output for the whole bill.
    """
    values = shown(template)
    assert of(values, "api_cost") == pytest.approx(227.34)
    assert round(of(values, "input_at_design"), 4) == 0.2162
    assert round(of(values, "output_at_design"), 4) == 0.9060
    assert of(values, "input_at_design") * 540 + of(values, "output_at_design") * 72 == pytest.approx(182)
    assert of(values, "input_on_mean") == pytest.approx(2 * of(values, "input_at_design"))
    assert of(values, "output_on_mean") == pytest.approx(2 * of(values, "output_at_design"))
    assert of(values, "whole_on_mean") == pytest.approx(182 / 36)
    assert of(values, "markup") == pytest.approx(227.34 / 182 - 1)
    assert of(values, "margin") == pytest.approx(1 - 182 / 227.34)


def test_break_even_by_hand(template: Path) -> None:
    """227.34 / 52 GPUs = $4.3719; 25 x 182 / 227.34 = 20.0141 req/s; x 3,400 x 730.5 x 3,600 = 178,952 M tokens."""
    values = shown(template)
    assert of(values, "price") == pytest.approx(227.34 / 52)
    assert of(values, "rate") == pytest.approx(25 * 182 / 227.34)
    assert of(values, "tokens") == pytest.approx(25 * 182 / 227.34 * 3_400 * 730.5 * 3_600 / 1e6)


def test_at_the_break_even_the_bills_are_equal(template: Path) -> None:
    """The price of a GPU-hour that the sheet names, put in on Inputs."""
    price = of(shown(template), "price")
    values = shown(template, cells({"usd_per_gpu_hour": price}, {}))
    assert of(values, "markup") == pytest.approx(0, abs=1e-12)
    assert of(values, "rate") == pytest.approx(25)


@pytest.mark.parametrize("order", range(len(LOAD_SHARES)))
def test_loads_by_hand(order: int, template: Path) -> None:
    """At full load the API takes 150,000 x 0.55 + 20,000 x 2.19 = $0.1263 a second, $454.68 an hour."""
    values, share, row = shown(template), LOAD_SHARES[order], SHARES_FIRST + order
    assert values[f"C{row}"] == pytest.approx(50 * share)
    assert values[f"D{row}"] == pytest.approx(454.68 * share)
    assert values[f"E{row}"] == 182
    assert values[f"F{row}"] == ("this fleet" if 454.68 * share > 182 else "API")


def test_deepseeks_day(template: Path) -> None:
    """608 B tokens in, 168 B out in 24 h: $562,100 at the prices of the day, x 365.25 / 12 in a month's hours."""
    rate = 1e9 / 86_400
    edits = cells({"req_per_s": rate, "prompt_tokens": 608, "output_tokens": 168}, {})
    edits |= {at("peak_to_mean"): 1.0, at("api_cached_share"): 342 / 608}
    assert of(shown(template, edits), "api_cost") * 24 == pytest.approx(562_100)


def test_words_where_there_is_nothing_to_buy(template: Path) -> None:
    values = shown(template, cells({"req_per_s": 0.0}, {}))
    assert of(values, "input_at_design") == "no prompt"
    assert of(values, "output_on_mean") == "no output tokens"
    assert [of(values, n) for n in ("markup", "margin", "price", "rate", "tokens")] == [
        "no fleet",
        "nothing to buy",
        "no fleet",
        "nothing to buy",
        "nothing to buy",
    ]
    assert values[f"F{SHARES_FIRST}"] == "as much"


@pytest.mark.parametrize("edits", [{at("api_output_usd"): -1.0}, {at("batch_share"): 1.5}, {at("peak_to_mean"): "x"}])
def test_bad_inputs_show_no_result(edits: Values, template: Path) -> None:
    values = shown(template, edits)
    assert of(values, "api_cost") == NA
    assert values[f"D{SHARES_FIRST}"] == NA
    assert values["master"] != "All checks PASS"


def test_a_bad_load_spoils_its_row_only(template: Path) -> None:
    values = shown(template, {(buy.TITLE, f"B{SHARES_FIRST}"): 1.5})
    assert values[f"D{SHARES_FIRST}"] == NA
    assert values[f"D{SHARES_FIRST + 1}"] == pytest.approx(90.936)
    assert values["master"] != "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "no load": cells({"req_per_s": 0.0}, {}),
    "no output": cells({"output_tokens": 0.0}, {}),
    "free": {at(name): 0.0 for name in ("api_input_usd", "api_cached_usd", "api_output_usd")},
    "all at once": {
        at("api_cached_share"): 0.56,
        at("batch_share"): 0.3,
        at("batch_discount"): 0.4,
        at("peak_to_mean"): 1.3,
        (buy.TITLE, f"B{SHARES_FIRST + 2}"): 0.35,
    },
    "out of bounds": {at("api_cached_share"): 2.0},
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
