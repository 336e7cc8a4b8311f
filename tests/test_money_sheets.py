"""Demand, Week, Profile, Commit and Own: figures by hand, edges in words, sums to the cent, four ways."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, engines_differ, programs_differ, recalculate

from capacity.call import ExcelError
from workbook.sheets import commit_months, commit_tables, demand_months, own, profile
from workbook.sheets.money_blocks import CONTRACTS_FIRST, SHAPE_ROW

NA = ExcelError("#N/A")
MONTH_S = 730.5 * 3_600  # seconds of a month


def demand(**inputs: Any) -> Values:
    """Edits of Demand's inputs; `shape` is the name of a shape of the week."""
    rows = {**demand_months.LINES.rows, "shape": SHAPE_ROW}
    return {("Demand", f"C{rows[name]}"): x for name, x in inputs.items()}


def week(*spans: tuple[int, float]) -> Values:
    """The own shape, chosen: so many hours of such a load, one after the other."""
    loads = [load for hours, load in spans for _ in range(hours)]
    assert len(loads) == 168
    return demand(shape="own") | {("Week", f"G{6 + i}"): float(load) for i, load in enumerate(loads)}


def contract(number: int, **fields: float) -> Values:
    columns = commit_tables.CONTRACT_COLUMNS
    return {("Commit", f"{columns[name]}{CONTRACTS_FIRST + number - 1}"): float(x) for name, x in fields.items()}


def no_contracts() -> Values:
    return {at: x for number in range(1, 7) for at, x in contract(number, contract_gpus=0).items()}


def month(values: Mapping[tuple[str, str], Any], name: str, number: int = 1) -> Any:
    """A figure of a month, of Demand or of Commit."""
    module = demand_months if name in demand_months.PRINTED else commit_months
    sheet, _, at = module.at(name, number).partition("!")
    return values[sheet, at]


def total(values: Mapping[tuple[str, str], Any], name: str) -> float:
    """The sum of a figure over all months of Commit."""
    return float(values["Commit", f"{commit_months.PRINTED[name]}{commit_tables.TOTAL_ROW}"])


def line(values: Mapping[tuple[str, str], Any], sheet: str, name: str) -> Any:
    lines = {"Demand": demand_months.LINES, "Profile": profile.SUMMARY, "Commit": commit_tables.WEEK, "Own": own.LINES}
    return values[sheet, f"C{lines[sheet].rows[name]}"]


def test_the_first_months_by_hand(template: Path) -> None:
    """600,000 x 95% + 70,000 = 640,000 users x 20 x 4 x 1.5 x 1.02 = 78,336,000 requests; in the second month 3% more
    join, 70,000 x 60% + 570,000 x 95% = 583,500 are older. Prompts of 3,000 tokens grow by 1%.
    """
    values = recalculate(template)
    assert month(values, "active_users") == 640_000
    assert month(values, "requests_per_month") == pytest.approx(78_336_000, rel=1e-12)
    assert month(values, "mean_req_per_s") == pytest.approx(78_336_000 / MONTH_S, rel=1e-12)
    assert (month(values, "new_users", 2), month(values, "kept_users", 2)) == (pytest.approx(72_100), 583_500)
    assert [month(values, "prompt_tokens", m) for m in (1, 2)] == [3_000, pytest.approx(3_030)]
    factor = line(values, "Demand", "load_factor")
    assert month(values, "design_req_per_s") == pytest.approx(78_336_000 / MONTH_S / factor, rel=1e-12)
    assert month(values, "batch_prompt_tps") == 10_000  # 864 M tokens in 24 h
    assert values["About", "B3"] == "All checks PASS"


def test_the_months_fleet_is_the_plans(template: Path) -> None:
    """At the worked example's rate and lengths a month has its 26 replicas: 52 GPUs in 7 nodes, 56 GPUs."""
    edits = demand(shape="flat", start_users=0.0, first_new_users=50 * MONTH_S / (20 * 4 * 1.5 * 1.02))
    values = recalculate(template, changes=edits | demand(batch_prompt_tokens=0.0, batch_output_tokens=0.0))
    assert month(values, "design_req_per_s") == pytest.approx(50, rel=1e-12)
    names = ("replicas", "gpus", "nodes", "billed_gpus")
    assert [month(values, name) for name in names] == [26, 52, 7, 56]


def test_users_that_only_leave(template: Path) -> None:
    """Half of the new ones each month less: 1,000, 500, 250; with nobody before and no retention, no older ones."""
    edits = demand(user_growth=-0.5, first_new_users=1000.0, start_users=0.0, first_retention=0.0, later_retention=0.0)
    values = recalculate(template, changes=edits)
    assert [month(values, "active_users", m) for m in (1, 2, 3)] == [1_000, 500, 250]
    assert values["About", "B3"] == "All checks PASS"


def test_deepseeks_day_is_a_load_factor(template: Path) -> None:
    """Half of the hours at the peak of 278 nodes, half at 175.5: 226.75 on average, 226.75 / 278 = 81.6%."""
    values = recalculate(template, changes=week((84, 278), (84, 175.5)))
    assert line(values, "Demand", "load_factor") == pytest.approx(226.75 / 278, rel=1e-12)


WORKED = demand(start_users=0.0, batch_prompt_tokens=0.0, batch_output_tokens=0.0) | week((50, 56), (62, 40), (56, 24))


def worked_week() -> Values:
    """A load for which 27.9 replicas of 2 GPUs are needed at the peak, so 28, 20 and 12: 56, 40 and 24 GPUs."""
    design = 50 * 27.9 * 0.65 / 16.6698
    mean = design * (56 * 50 + 40 * 62 + 24 * 56) / 168 / 56
    return WORKED | demand(first_new_users=mean * MONTH_S / (20 * 4 * 1.5 * 1.02))


def test_the_worked_week_on_the_sheets(template: Path) -> None:
    """24 reserved for 168 h at $2.79, and on demand 32 GPUs for 50 h and 16 for 62 h at $3.99: $21,591.36."""
    values = recalculate(template, changes=worked_week())
    gpus = [values["Profile", f"{profile.PRINTED['running_gpus']}{profile.FIRST_HOUR + i}"] for i in (0, 50, 112)]
    assert gpus == [56, 40, 24]
    assert line(values, "Commit", "reserved_gpus") == 24
    assert line(values, "Commit", "needed_gpu_hours") == 6_624
    assert line(values, "Commit", "on_demand_gpu_hours") == 2_592
    assert line(values, "Commit", "mixed_bill_usd") == pytest.approx(21_591.36, abs=0.005)
    # Profile: a static fleet of 28 replicas for 168 h; starts of 16 replicas on Monday, from 12 on Sunday night
    assert line(values, "Profile", "static_gpu_hours") == 28 * 168 * 2
    assert line(values, "Profile", "starting_gpu_hours") == pytest.approx(16 * 10 / 60 * 2, rel=1e-12)
    assert line(values, "Profile", "following_gpu_hours") == pytest.approx(6_624 + 16 / 3, rel=1e-12)


def test_batch_work_in_the_valleys(template: Path) -> None:
    """What the valleys hold is done, to the last; where the mean with batch is above the peak, replicas are added."""
    values = recalculate(template)
    assert line(values, "Profile", "valley_gpu_hours") == pytest.approx(line(values, "Profile", "batch_gpu_hours"))
    values = recalculate(template, changes=demand(shape="flat"))
    factor = month(values, "built_replicas") / (month(values, "built_replicas") - 1)
    assert factor > 1  # a flat week has no valley: the batch work is on top of the peak
    assert line(values, "Profile", "valley_gpu_hours") == pytest.approx(line(values, "Profile", "batch_gpu_hours"))


def test_a_month_without_demand(template: Path) -> None:
    """Nobody comes: no replicas, coverage in words; contracts are paid for nothing, all of them stranded."""
    edits = demand(start_users=0.0, first_new_users=0.0, batch_prompt_tokens=0.0, batch_output_tokens=0.0)
    values = recalculate(template, changes=edits)
    assert (month(values, "replicas"), month(values, "billed_gpus")) == (0, 0)
    assert month(values, "contract_coverage") == "no demand"
    assert (month(values, "on_demand_usd"), month(values, "commitment_use")) == (0, 0)
    # the first month has the first contract only: 24 GPUs x 730.5 h x $2.79
    assert month(values, "stranded_usd") == pytest.approx(48_914.28, abs=0.005)
    assert month(values, "total_usd") == pytest.approx(48_914.28, abs=0.005)
    assert values["About", "B3"] == "All checks PASS"


def test_without_a_contract(template: Path) -> None:
    values = recalculate(template, changes=no_contracts())
    assert month(values, "commitment_use") == "no contract"
    assert [total(values, name) for name in ("committed_usd", "stranded_usd")] == [0, 0]
    assert month(values, "contract_coverage") == 0
    assert values["About", "B3"] == "All checks PASS"


def test_everything_reserved(template: Path) -> None:
    """A contract of more GPUs than any month needs: nothing on demand, coverage 100% in each month."""
    edits = no_contracts() | contract(1, contract_gpus=200, start_month=1, term_months=36, reserved_price=2)
    values = recalculate(template, changes=edits)
    assert [month(values, "contract_coverage", m) for m in (1, 36)] == [pytest.approx(1)] * 2
    assert total(values, "on_demand_usd") == pytest.approx(0, abs=0.005)
    assert total(values, "total_usd") == pytest.approx(200 * 36 * 730.5 * 2, abs=0.005)
    used = total(values, "used_gpu_hours")
    assert total(values, "stranded_usd") == pytest.approx(2 * (200 * 36 * 730.5 - used), abs=0.01)


def test_a_price_that_changes_in_mid_contract(template: Path) -> None:
    """Two rows, one after the other: 24 GPUs x 12 x 730.5 h = 210,384 h x $2.79, then x $2.59."""
    values = recalculate(template)
    within = [values["Commit", f"{c}{commit_tables.TOTAL_ROW + 1}"] for c in "CD"]
    assert within == [pytest.approx(586_971.36, abs=0.005), pytest.approx(544_894.56, abs=0.005)]
    assert month(values, "committed_usd", 12) == pytest.approx(48_914.28 + 8 * 730.5 * 3.29, abs=0.005)
    assert month(values, "contract_0", 13) == 0
    assert month(values, "contract_1", 13) == 24


def test_a_contract_longer_than_the_horizon(template: Path) -> None:
    """32 GPUs from month 13 for 36 months at 25% a month: 8 + 16 + 24 + 33 x 32 = 1,104 GPU-months, of which 8 + 16 +
    24 + 21 x 32 = 720 fall into months 13 to 36; x 730.5 h x $2.49.
    """
    values = recalculate(template)
    row = CONTRACTS_FIRST + 2
    assert values["Commit", f"K{row}"] == 1_104
    assert values["Commit", f"E{commit_tables.TOTAL_ROW}"] == 720
    within, outside = (values["Commit", f"E{commit_tables.TOTAL_ROW + i}"] for i in (1, 2))
    assert within == pytest.approx(720 * 730.5 * 2.49, abs=0.005)
    assert outside == pytest.approx(384 * 730.5 * 2.49, abs=0.005)


def test_cash_and_cost_of_a_contract_within_the_months(template: Path) -> None:
    """Half upfront, half by the month: over all months the same money, in the first month more of it."""
    edits = no_contracts() | contract(1, contract_gpus=16, start_month=2, term_months=10, upfront_share=0.5)
    values = recalculate(template, changes=edits)
    assert total(values, "cash_usd") == pytest.approx(total(values, "total_usd"), abs=0.005)
    assert total(values, "committed_usd") == pytest.approx(16 * 10 * 730.5 * 2.79, abs=0.005)
    paid = month(values, "cash_usd", 2) - month(values, "on_demand_usd", 2)
    assert paid == pytest.approx(16 * 730.5 * 2.79 * (5 + 0.5), abs=0.005)


def test_contracts_that_can_be_cancelled_are_not_stranded(template: Path) -> None:
    edits = no_contracts() | contract(1, contract_gpus=200, term_months=36, cancellable=1)
    values = recalculate(template, changes=edits)
    assert total(values, "stranded_usd") == 0
    assert month(values, "commitment_use") < 1


def test_on_demand_prices_fall(template: Path) -> None:
    """By half each month: $3.99, $1.995, $0.9975 for the hours of each."""
    edits = {("Commit", f"C{commit_tables.TOP.rows['price_growth']}"): -0.5}
    values = recalculate(template, changes=edits)
    for number, price in ((1, 3.99), (2, 1.995), (3, 0.9975)):
        hours = month(values, "on_demand_gpu_hours", number)
        assert month(values, "on_demand_usd", number) == pytest.approx(hours * price, abs=0.005)


def test_owning_by_hand(template: Path) -> None:
    """Without interest 345,000 x 90% / 5 = 62,100 a year, to run 9,116.64 + 14,400 + 15,000 = 38,516.64; 9 nodes over
    8 x 8 x 8,766 h x 60%. Rent saves 130,905.60 - 38,516.64 a year: 310,500 / 92,388.96 = 3.36 years.
    """
    values = recalculate(template, changes={("Own", f"C{own.LINES.rows['capital_rate']}"): 0.0})
    hours = 8 * 8 * 8_766 * 0.6
    assert line(values, "Own", "owned_usd_per_gpu_hour") == pytest.approx(9 * 100_616.64 / hours, rel=1e-12)
    assert line(values, "Own", "break_even_years") == pytest.approx(310_500 / 92_388.96, rel=1e-12)
    # what the life has cost: 9 x (310,500 + 5 x 38,516.64), in cash less what comes back and as P&L
    expense = values["Own", f"F{own.TOTAL_ROW}"]
    assert expense == pytest.approx(9 * (310_500 + 5 * 38_516.64), abs=0.005)


def test_owning_that_never_pays(template: Path) -> None:
    values = recalculate(template, changes={("Own", f"C{own.LINES.rows['load']}"): 0.2})
    assert line(values, "Own", "break_even_years") == "never"
    assert values["About", "B3"] == "All checks PASS"


@pytest.mark.parametrize(
    ("edit", "bad"),
    [
        (demand(turns=2.5), ("Demand", f"F{demand_months.FIRST_MONTH}")),
        (demand(user_growth=-1.0), ("Demand", f"F{demand_months.FIRST_MONTH}")),
        (demand(shape="round"), ("Demand", f"I{demand_months.FIRST_MONTH}")),
        ({("Week", "G10"): "many", **demand(shape="own")}, ("Demand", f"I{demand_months.FIRST_MONTH}")),
        ({("Week", "G10"): None, **demand(shape="own")}, ("Demand", f"I{demand_months.FIRST_MONTH}")),
        ({("Week", "G10"): -1.0, **demand(shape="own")}, ("Profile", f"G{profile.FIRST_HOUR}")),
        (week((168, 0)), ("Demand", f"I{demand_months.FIRST_MONTH}")),
        ({("Profile", "C6"): 37.0}, ("Profile", f"G{profile.FIRST_HOUR}")),
        ({("Commit", "C7"): 0.0}, ("Commit", f"C{commit_tables.WEEK.rows['mixed_bill_usd']}")),
        (contract(1, term_months=1.5), ("Commit", f"Q{commit_tables.FIRST_MONTH}")),
        (contract(2, ramp_share=0), ("Commit", f"Q{commit_tables.FIRST_MONTH}")),
        ({("Own", f"C{own.LINES.rows['pue']}"): 0.9}, ("Own", f"C{own.LINES.rows['owned_usd_per_gpu_hour']}")),
        ({("Own", "D33"): 1.2}, ("Own", f"D{own.LIVES_FIRST}")),
    ],
)
def test_bad_inputs_show_no_result(edit: Values, bad: tuple[str, str], template: Path) -> None:
    values = recalculate(template, changes=edit)
    assert values[bad] == NA
    assert values["About", "B3"] != "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "the worked week": worked_week(),
    "no demand": demand(start_users=0.0, first_new_users=0.0, batch_prompt_tokens=0.0, batch_output_tokens=0.0),
    "shrinking": demand(user_growth=-0.2, context_growth=-0.05, shape="office hours"),
    "all reserved": no_contracts() | contract(1, contract_gpus=300, term_months=60, upfront_share=1),
    "no contract, falling prices": no_contracts() | {("Commit", f"C{commit_tables.TOP.rows['price_growth']}"): -0.03},
    "owning": {("Own", f"C{own.LINES.rows[n]}"): x for n, x in {"capital_rate": 0.0, "life_years": 4.5}.items()},
    "never": {("Own", f"C{own.LINES.rows['load']}"): 0.2, ("Profile", "C6"): 30.0},
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
