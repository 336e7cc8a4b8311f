"""A plan that is refused: no sheet shows a figure of a fleet, all others stay, one check says why; in four ways."""

from pathlib import Path
from typing import Any, Final

import pytest
from openpyxl.utils import coordinate_to_tuple, range_boundaries
from sheets import FourWays, Values, cells, engines_differ, held, programs_differ, recalculate

from capacity.call import ExcelError
from capacity.cli import main
from workbook.sheets import (
    actuals,
    budget,
    budget_blocks,
    budget_months,
    buy,
    caching,
    chargeback,
    checks,
    commit_tables,
    demand_months,
    migration,
    profile,
    ttft,
)
from workbook.sheets.blocks import PLAN_ROWS

NA: Final = ExcelError("#N/A")
MONTH: Final = budget_blocks.FIRST_MONTH
# Typed in as well: an invoice, a month that has come, what was submitted.
TYPED: Final[Values] = {
    ("Chargeback", f"C{budget_blocks.INVOICE_FIRST}"): 150_000.0,
    ("Budget", f"{budget_blocks.SUBMITTED}{MONTH}"): 100_000.0,
    **{
        ("Actuals", f"{column}{MONTH}"): x
        for (column, _), x in zip(actuals.ACTUAL.values(), (80.0, 4_000.0, 35_000.0, 105_000.0), strict=True)
    },
}
REFUSED: Final[dict[str, Values]] = {
    "weights do not fit": cells({"params_b": 400.0}, {}) | TYPED,  # 200 GB of each GPU
    "batch over the pool": cells({"batch": 200.0}, {}) | TYPED,  # 174 fit
}
# 10% more prompt tokens each month: from the 12th month on, with 8,559 and more, 64 sequences do not fit
OVERFLOWS: Final[Values] = {("Demand", f"C{demand_months.LINES.rows['context_growth']}"): 0.1} | TYPED
CASES: Final = {**REFUSED, "months overflow": OVERFLOWS}
SHEETS: Final = ("Demand", "Profile", "Commit", "Terms", "Budget", "Migration", "Actuals", "Chargeback", buy.TITLE)
PLANS: Final = ("Sensitivity", "TTFT", "Caching")
_DEMAND: Final = demand_months.PRINTED
_BUDGET: Final = budget_months.PRINTED
# Sheet and row -> columns of what a fleet costs or is, and of what is there without one.
FLEET_AND_REST: Final = {
    ("Demand", demand_months.FIRST_MONTH): ("NOPQR", "CDEFGHIJKLM"),
    ("Demand", demand_months.TOTAL_ROW): ("", "FJK"),
    ("Profile", profile.FIRST_HOUR): ("EFGHIJK", "D"),
    ("Profile", profile.TOP.rows["peak_load"]): ("", "C"),
    ("Profile", profile.SUMMARY.rows["static_usd"]): ("C", ""),
    ("Commit", commit_tables.LEVELS_FIRST): ("CDE", "B"),
    ("Commit", commit_tables.WEEK.rows["mixed_bill_usd"]): ("C", ""),
    ("Commit", commit_tables.CONTRACTS_FIRST): ("", "JKLMN"),
    ("Commit", commit_tables.FIRST_MONTH): ("JKMNPQRSTU", "CDEFGHILO"),
    ("Commit", commit_tables.TOTAL_ROW): ("KMNPQTU", "CLO"),
    ("Budget", MONTH): ("FGHJMNOPQRSTUW", "CDEIKL"),
    ("Budget", budget_blocks.TOTAL_ROW): ("MNOPQ", "L"),
    ("Budget", budget_blocks.QUARTERS_FIRST): ("MNOPQ", "L"),
    ("Budget", budget.KINDS_LAST): ("F", ""),
    ("Migration", migration.LINES.rows["new_usd"]): ("C", ""),
    ("Migration", migration.LINES.rows["tail_1"]): ("", "C"),
    ("Migration", migration.LINES.rows["payback_months"]): ("C", ""),
    ("Actuals", MONTH): ("EFGLMNOP", "CDHIJK"),
    ("Chargeback", budget_blocks.CHARGES_FIRST): ("FGHIJ", "CDE"),
    ("Chargeback", chargeback.TOTAL_ROW): ("FG", "CDE"),
    (buy.TITLE, buy.LINES.rows["api_cost"]): ("", "C"),
    (buy.TITLE, buy.LINES.rows["whole_on_mean"]): ("C", ""),
    (buy.TITLE, buy.LINES.rows["rate"]): ("C", ""),
    (buy.TITLE, buy.SHARES_FIRST): ("EF", "CD"),
    ("Sensitivity", 7): ("FGHJ", "C"),
    ("Sensitivity", 8): ("FGHJ", "C"),
    ("TTFT", ttft.STEPS_FIRST): ("C", ""),
    ("Caching", caching.HITS_FIRST): ("EFGHIJKLMNO", "CD"),
}


def failing(values: Values, template: Path) -> set[str]:
    named = held(template)["Checks"]
    return {named[f"B{r}"].value for r in range(6, checks.LAST + 1) if values["Checks", f"K{r}"] != "PASS"}


@pytest.mark.parametrize("functions", [True, False], ids=["with functions", "without"])
@pytest.mark.parametrize("why", REFUSED)
def test_a_fleets_figures_are_away_and_all_others_stay(why: str, functions: bool, template: Path) -> None:
    """To the last digit: the demand, the API's bill and contracts are those of the plan that fits."""
    values = recalculate(template, changes=REFUSED[why], functions=functions)
    fits = recalculate(template, changes=TYPED, functions=functions)
    found: dict[tuple[str, str], tuple[Any, Any]] = {}
    for (title, row), (fleet, rest) in FLEET_AND_REST.items():
        for at in ((title, f"{column}{row}") for column in fleet):
            assert fits[at] != NA
            if values[at] != NA:
                found[at] = values[at], NA
        for at in ((title, f"{column}{row}") for column in rest):
            if at in values and not values[at] == fits[at] != NA:
                found[at] = values[at], fits[at]
    assert found == {}
    for title in (*SHEETS, *PLANS):
        assert title == "Terms" or values[title, "B4"] == f"no fleet: {why}, see Plan"
    assert values["Budget", f"{_BUDGET['contract_usd']}{MONTH}"] == pytest.approx(32 * 2.79 * 730.5)
    assert values["Demand", f"{_DEMAND['requests_per_month']}{demand_months.FIRST_MONTH}"] == pytest.approx(78.336e6)
    assert failing(values, template) == {"Resident sequences left beside the batch"}
    assert values["About", "B3"] == "1 FAIL: see Checks"


@pytest.mark.parametrize("why", REFUSED)
def test_no_number_follows_what_was_refused(why: str, template: Path) -> None:
    """A printed number that is another one than in the plan that fits would be a fleet's."""
    values, fits = (recalculate(template, changes=edits) for edits in (REFUSED[why], TYPED))
    book = held(template)
    for title in SHEETS:
        last = range_boundaries(book[title].print_area.rpartition("!")[2])[2]
        printed = (at for at in values if at[0] == title and coordinate_to_tuple(at[1])[1] <= last)
        assert not {at for at in printed if isinstance(values[at], float) and values[at] != fits[at]}


def test_cases_that_do_not_fit_are_named(template: Path) -> None:
    """The plan and the active case, which is the plan; the worked example, Base, Peak and Cheap fit."""
    for edits in REFUSED.values():
        values = recalculate(template, changes=edits)
        assert values["Cases", "B4"] == "no fleet: Plan, see KV cache of the batch"
    assert recalculate(template)["Cases", "B4"] == ""


@pytest.mark.parametrize("why", REFUSED)
def test_the_command_line_says_it_in_one_sentence(
    why: str, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a workbook that a spreadsheet has saved, here its cells with the results."""
    import openpyxl

    book, values = openpyxl.load_workbook(template), recalculate(template, changes=REFUSED[why])
    for (title, at), x in values.items():
        book[title][at].value = str(x) if isinstance(x, ExcelError) else x
    for (title, at), x in REFUSED[why].items():
        book[title][at].value = x
    book.save(tmp_path / "refused.xlsx")
    assert main(["budget", str(tmp_path / "refused.xlsx")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"{tmp_path / 'refused.xlsx'} has no budget, for it has no fleet: {why}, see Plan\n"
    assert main(["plan", "--workbook", str(tmp_path / "refused.xlsx")]) == 0
    printed = capsys.readouterr()
    says = {
        "weights do not fit": "Does not run: the weights do not fit\n",
        "batch over the pool": "Does not run as planned: only 174 sequences fit beside the weights, the batch is 200\n",
    }
    assert printed.out == says[why]


@pytest.mark.parametrize("functions", [True, False], ids=["with functions", "without"])
def test_months_whose_batch_overflows_have_no_fleet(functions: bool, template: Path) -> None:
    """Those that fit keep theirs on Demand; what adds up months has none, and one check says why."""
    values = recalculate(template, changes=OVERFLOWS, functions=functions)
    fits = recalculate(template, changes=TYPED, functions=functions)
    first, last = demand_months.FIRST_MONTH, demand_months.LAST_MONTH
    over = [row for row in range(first, last + 1) if values["Demand", f"{demand_months.KV_FIT}{row}"] == "overflows"]
    # 174 sequences of 3,200 tokens fit and 175 do not: 560,000 tokens are too many, 64 x (3,000 x 1.1^11 + 200) 560,598
    assert over == list(range(first + 11, last + 1))
    for name in demand_months.OF_FLEET:
        column = _DEMAND[name]
        assert {values["Demand", f"{column}{row}"] for row in over} == {NA}
        assert values["Demand", f"{column}{first}"] == fits["Demand", f"{column}{first}"] != NA
    for title in ("Demand", "Profile", "Commit", "Budget", "Migration", "Actuals"):
        assert values[title, "B4"] == f"no fleet: the batch overflows in {len(over)} months, see Demand"
    for name in ("month_usd", "cumulative_usd", "usd_per_m_all"):
        assert values["Budget", f"{_BUDGET[name]}{MONTH}"] == NA
    assert values["Budget", f"{_BUDGET['contract_usd']}{MONTH}"] == pytest.approx(32 * 2.79 * 730.5)
    assert values["Plan", f"C{PLAN_ROWS['rate']}"] == 50
    assert failing(values, template) == {"Demand rows that fail"}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
