"""Terms, Budget and Migration: months by hand, edge cases that reconcile to the cent in both engines, four ways."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

from capacity.call import ExcelError
from workbook.chain import ADDIN, NATIVE
from workbook.sheets import budget, budget_blocks, demand_months, migration, terms
from workbook.sheets.blocks import PLAN_ROWS
from workbook.sheets.budget_months import PARTS, PRINTED, TABLE

NA = ExcelError("#N/A")
FIRST, LAST = budget_blocks.FIRST_MONTH, budget_blocks.LAST_MONTH
MONTHS = range(FIRST, LAST + 1)
HOURS = 730.5


def shown(template: Path, changes: Values | None = None, *, functions: bool = True) -> dict[tuple[str, str], Any]:
    return recalculate(template, changes=changes, functions=functions)


def term(name: str, value: float) -> Values:
    return {("Terms", f"C{terms.LINES.rows[name]}"): value}


def wanted(name: str, value: float) -> Values:
    return {("Demand", f"C{demand_months.LINES.rows[name]}"): value}


def month(values: dict[tuple[str, str], Any], name: str, number: int) -> Any:
    """The value in use."""
    return values["Budget", f"{PRINTED[name]}{FIRST + number - 1}"]


def of_demand(values: dict[tuple[str, str], Any], name: str, number: int) -> float:
    sheet, _, at = demand_months.at(name, number).partition("!")
    return float(values[sheet, at])


def test_the_first_month_by_hand(template: Path) -> None:
    """24 replicas of 2 are 48 GPUs, 6 nodes of 8; 32 under contract at $2.79, 16 on demand at $3.50, 730.5 h.

    32 x 2.79 x 730.5 = 65,219.04; 16 x 3.50 x 730.5 = 40,908.00; 48 x 50 + 3% of 106,127.04 = 5,583.81.
    """
    values = shown(template)
    assert of_demand(values, "replicas", 1) == 24
    assert month(values, "billed_gpus", 1) == 48
    assert values["Budget", f"{budget.NODES}{FIRST}"] == 6
    assert month(values, "contract_usd", 1) == pytest.approx(65_219.04)
    assert month(values, "on_demand_usd", 1) == pytest.approx(40_908)
    assert month(values, "license_support_usd", 1) == pytest.approx(5_583.8112)
    output_m = (of_demand(values, "output_tokens_per_month", 1) + 86.4e6 * HOURS / 24) / 1e6
    overhead = output_m * 0.01 + 1_500 + 30_000
    assert month(values, "overhead_usd", 1) == pytest.approx(overhead)
    before = 65_219.04 + 40_908 + overhead + 5_583.8112
    assert month(values, "contingency_usd", 1) == pytest.approx(before / 10)
    assert month(values, "month_usd", 1) == pytest.approx(before * 1.1)
    assert month(values, "usd_per_m_all", 1) * (
        output_m + (of_demand(values, "prompt_tokens_per_month", 1) + 864e6 * HOURS / 24) / 1e6
    ) == pytest.approx(before * 1.1)


@pytest.mark.parametrize("number", [2, 13, 25, 36])
def test_later_months_by_hand(number: int, template: Path) -> None:
    """The price falls by 10% a year; from month 13 there are 32 GPUs more under contract, at $2.59."""
    values = shown(template)
    billed = 8 * -(-2 * of_demand(values, "replicas", number) // 8)
    contracts = 32 * 2.79 + 32 * 2.59 * (number >= 13)
    contracted = 32 + 32 * (number >= 13)
    price = 3.5 * 0.9 ** ((number - 1) / 12)
    assert month(values, "billed_gpus", number) == billed
    assert month(values, "contract_usd", number) == pytest.approx(contracts * HOURS)
    assert month(values, "month_price", number) == pytest.approx(price)
    assert month(values, "on_demand_usd", number) == pytest.approx((billed - contracted) * price * HOURS)


def test_input_and_output_by_work_are_the_bill(template: Path) -> None:
    """Million tokens x USD per million, input and output, in each month; tokens as Demand has them."""
    values = shown(template)
    for number in (1, 18, 36):
        grown = of_demand(values, "new_users", number) / of_demand(values, "new_users", 1)
        tokens = {
            "input": of_demand(values, "prompt_tokens_per_month", number) + 864e6 * grown * HOURS / 24,
            "output": of_demand(values, "output_tokens_per_month", number) + 86.4e6 * grown * HOURS / 24,
        }
        bill = sum(x / 1e6 * month(values, f"usd_per_m_{kind}", number) for kind, x in tokens.items())
        assert bill == pytest.approx(month(values, "month_usd", number), rel=1e-9)


def test_fiscal_quarters(template: Path) -> None:
    """From January 2027, in a fiscal year from February: one month of FY2027's fourth quarter, then whole quarters."""
    values = shown(template)
    labels = [values["Budget", f"{budget.QUARTER}{row}"] for row in MONTHS]
    assert labels[:5] == ["FY2027 Q4", "FY2028 Q1", "FY2028 Q1", "FY2028 Q1", "FY2028 Q2"]
    assert labels[-2:] == ["FY2030 Q4", "FY2030 Q4"]
    calendar = shown(template, term("fiscal_start", 1.0))
    assert [calendar["Budget", f"{budget.QUARTER}{FIRST + i}"] for i in (0, 2, 3, 35)] == [
        "FY2027 Q1",
        "FY2027 Q1",
        "FY2027 Q2",
        "FY2029 Q4",
    ]
    last = budget_blocks.QUARTERS_FIRST + budget_blocks.QUARTERS - 1
    assert calendar["Budget", f"B{last}"] == "no more"
    assert calendar["Budget", f"{PRINTED['month_usd']}{last}"] == 0


NO_DEMAND: Values = {
    **wanted("first_new_users", 0.0),
    **wanted("start_users", 0.0),
    **wanted("batch_prompt_tokens", 0.0),
    **wanted("batch_output_tokens", 0.0),
}
EDGES: dict[str, Values] = {
    "as built": {},
    "no demand": NO_DEMAND,
    "a contract beyond the horizon": term("contract_1_term", 120.0),
    "all reserved": term("contract_1_gpus", 1000.0),
    "nothing reserved": {**term("contract_1_gpus", 0.0), **term("contract_2_gpus", 0.0)},
    "negative growth": {**wanted("user_growth", -0.05), **wanted("context_growth", -0.02)},
    "a price step in a contract": {**term("step_month", 10.0), **term("step_price", 0.5)},
    "three regions, one lost": {**term("budget_regions", 3.0), **term("budget_lost_regions", 1.0)},
    "a ramp": term("contract_2_ramp", 0.25),
    "no cost": {**cells({"usd_per_gpu_hour": 0.0}, {}), **term("staff_usd", 0.0), **term("storage_usd", 0.0)},
}


def cents(values: dict[tuple[str, str], Any], engine: str) -> Iterator[tuple[int, int]]:
    """What must be equal, in cents: the parts of a month and their sum, the months and their running sum."""

    def of(name: str, row: int) -> float:
        return float(values["Budget", TABLE.at(name, engine, row)])

    so_far = 0.0
    for row in MONTHS:
        total = of("month_usd", row)
        so_far += total
        yield round(100 * sum(of(name, row) for name in PARTS)), round(100 * total)
        yield round(100 * of("cumulative_usd", row)), round(100 * so_far)
        used = of("billed_gpus", row) - of("on_demand_gpus", row)
        assert 0 <= used <= of("contracted_gpus", row)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("functions", [True, False], ids=["with functions", "without"])
def test_sums_reconcile_to_the_cent(edge: str, functions: bool, template: Path) -> None:
    """Parts, months, quarters and kinds of cost; in cell arithmetic, and by the functions where they are there."""
    values = shown(template, EDGES[edge], functions=functions)
    for engine in (NATIVE, ADDIN) if functions else (NATIVE,):
        assert [a for a, b in cents(values, engine) if a != b] == []
    total = values["Budget", f"{PRINTED['month_usd']}{budget_blocks.TOTAL_ROW}"]
    quarters = range(budget_blocks.QUARTERS_FIRST, budget_blocks.QUARTERS_FIRST + budget_blocks.QUARTERS)
    by_quarter = sum(values["Budget", f"{PRINTED['month_usd']}{row}"] for row in quarters)
    assert round(100 * by_quarter) == round(100 * total) == round(100 * values["Budget", f"F{budget.KINDS_LAST}"])
    found = {values["Budget", f"X{row}"] for row in (*MONTHS, budget_blocks.TOTAL_ROW, budget.KINDS_LAST)}
    assert found == {"PASS"}


def test_a_month_without_demand(template: Path) -> None:
    """No GPUs; the contract is paid all the same, for nothing; words in the place of a cost per token."""
    values = shown(template, NO_DEMAND)
    assert month(values, "billed_gpus", 1) == 0
    assert month(values, "on_demand_usd", 1) == 0
    assert month(values, "contract_usd", 1) == pytest.approx(65_219.04)
    assert [month(values, f"usd_per_m_{kind}", 1) for kind in ("input", "output", "all")] == [
        "no input tokens",
        "no output tokens",
        "no tokens",
    ]


def test_a_contract_beyond_the_horizon(template: Path) -> None:
    """120 months from the first: 84 of them behind month 36, 84 x 65,219.04 = $5,478,399.36; the months stay."""
    values, before = shown(template, EDGES["a contract beyond the horizon"]), shown(template)
    assert values["Terms", f"C{terms.LINES.rows['beyond_1']}"] == pytest.approx(5_478_399.36)
    assert [month(values, "month_usd", n) for n in (1, 36)] == [month(before, "month_usd", n) for n in (1, 36)]


def test_all_reserved(template: Path) -> None:
    values = shown(template, EDGES["all reserved"])
    assert {month(values, "on_demand_usd", n) for n in range(1, 37)} == {0}
    assert month(values, "contract_usd", 1) == pytest.approx(1_000 * 2.79 * HOURS)


def test_a_price_step_leaves_contracts_alone(template: Path) -> None:
    """From month 10 on an on-demand GPU-hour costs half; GPUs under contract cost what was signed."""
    values, before = shown(template, EDGES["a price step in a contract"]), shown(template)
    for number, factor in ((9, 1), (10, 0.5), (36, 0.5)):
        assert month(values, "on_demand_usd", number) == pytest.approx(factor * month(before, "on_demand_usd", number))
        assert month(values, "contract_usd", number) == month(before, "contract_usd", number)


def test_regions_have_whole_nodes_each(template: Path) -> None:
    """Two of three regions hold the 24 replicas of the first month: 12 each, 24 GPUs, 3 nodes; 72 GPUs in all."""
    values = shown(template, EDGES["three regions, one lost"])
    assert month(values, "region_replicas", 1) == 36
    assert month(values, "billed_gpus", 1) == 72
    bad = shown(template, term("budget_lost_regions", 1.0))
    assert month(bad, "month_usd", 1) == NA


def test_regions_hold_whole_replicas_in_nodes(template: Path) -> None:
    """At TP 5 a node of 8 holds one replica: as many nodes as replicas, in Demand and in Budget."""
    edits: Values = {("Plan", f"C{PLAN_ROWS['tp']}"): 5.0}
    values = shown(template, edits)
    assert month(values, "billed_gpus", 1) == 8 * month(values, "region_replicas", 1)
    assert of_demand(values, "nodes", 1) == of_demand(values, "replicas", 1) > 0


def test_what_was_submitted(template: Path) -> None:
    """All months, an approver and a date, or none of them."""
    rows = {("Budget", f"{budget_blocks.SUBMITTED}{row}"): 150_000.0 for row in MONTHS}
    approved: Values = {
        ("Budget", f"F{budget_blocks.APPROVED_ROW}"): "Finance",
        ("Budget", f"F{budget_blocks.APPROVED_ROW + 1}"): 46_400.0,
    }
    check = ("Budget", f"X{budget_blocks.APPROVED_ROW + 1}")
    assert shown(template, {**rows, **approved})[check] == "PASS"
    assert shown(template, rows)[check] == "FAIL"
    assert shown(template, approved)[check] == "FAIL"
    values = shown(template, {**rows, **approved})
    over = values["Budget", f"{budget.AGAINST}{FIRST}"]
    assert over == pytest.approx(month(values, "month_usd", 1) - 150_000)
    assert shown(template)["Budget", f"{budget.AGAINST}{FIRST}"] == "not submitted"


def test_the_migration_by_hand(template: Path) -> None:
    """In month 18 88 GPUs: 44 new ones at $3.99 x 730.5 = 128,246.58. Behind month 19 contract 1 has 17 months left.

    17 x 65,219.04 = 1,108,723.68; contract 2, to month 48, 29 x 32 x 2.59 x 730.5 = 1,755,771.36.
    """
    values = shown(template)

    def of(name: str) -> Any:
        return values["Migration", f"C{migration.LINES.rows[name]}"]

    assert month(values, "billed_gpus", 18) == 88
    assert of("new_usd") == pytest.approx(128_246.58)
    assert of("tail_1") == pytest.approx(1_108_723.68)
    assert of("tail_2") == pytest.approx(1_755_771.36)
    extra = 60_000 + 128_246.58 + 1_108_723.68 + 1_755_771.36
    assert of("migration_usd") == pytest.approx(extra)
    old = month(values, "contract_usd", 18) + month(values, "on_demand_usd", 18)
    assert of("payback_months") == pytest.approx(1 + extra / (old - 128_246.58))
    dear = shown(template, {("Migration", f"C{migration.LINES.rows['new_gpu_usd']}"): 9.0})
    assert dear["Migration", f"C{migration.LINES.rows['payback_months']}"] == "saves nothing"


@pytest.mark.parametrize("edits", [term("contingency", -0.1), term("step_month", 0.5), wanted("user_growth", -2.0)])
def test_bad_inputs_show_no_result(edits: Values, template: Path) -> None:
    values = shown(template, edits)
    assert month(values, "month_usd", 1) == NA
    assert values["Migration", f"C{migration.LINES.rows['payback_months']}"] == NA
    assert values["About", "B3"] != "All checks PASS"


CASES: dict[str, Values] = {
    name: EDGES[name] for name in EDGES if name not in ("nothing reserved", "a ramp", "no cost")
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
