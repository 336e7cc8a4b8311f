"""Buy or run, budget, chargeback and variance: the functions' figures by hand."""

import pytest

import capacity
from capacity.call import ExcelError, call

# DeepSeek's published day, 2025-02-27/28: tokens in billions, API prices of its R1, average nodes of 8 H800 at $2
INPUT_B, HIT_B, OUTPUT_B = 608.0, 342.0, 168.0
FRESH_USD, HIT_USD, OUTPUT_USD = 0.55, 0.14, 2.19
DAY_S = 86_400.0
COST = 226.75 * 8 * 2 * 24


def deepseek_api_day(**more: float) -> float:
    per_hour = capacity.api_cost(
        INPUT_B * 1e9 / DAY_S,
        OUTPUT_B * 1e9 / DAY_S,
        FRESH_USD,
        HIT_USD,
        OUTPUT_USD,
        HIT_B / INPUT_B,
        **more,
    )
    return float(per_hour) * 24


def test_deepseeks_day() -> None:
    """342,000 M x $0.14 + 266,000 M x $0.55 + 168,000 M x $2.19 = 47,880 + 146,300 + 367,920 = $562,100.

    Published is $562,027, of token counts that are not rounded to billions; cost 226.75 x 8 x $2 x 24 h = $87,072.
    """
    assert deepseek_api_day() == pytest.approx(562_100, rel=1e-12)
    assert deepseek_api_day() == pytest.approx(562_027, rel=1.5e-4)
    assert COST == 87_072


def test_markup_is_no_margin() -> None:
    """(562,027 - 87,072) / 87,072 = 5.4548; / 562,027 = 0.84508. A mark-up of 545% is a margin of 84.5%."""
    up, left = capacity.markup(562_027, COST), capacity.margin(562_027, COST)
    assert (round(up, 3), round(left, 3)) == (5.455, 0.845)
    assert left == pytest.approx(up / (1 + up), rel=1e-12)
    assert capacity.FUNCTIONS["MARKUP"].unit != capacity.FUNCTIONS["MARGIN"].unit
    assert capacity.margin(100, 120) == pytest.approx(-0.2)  # a loss
    with pytest.raises(capacity.Infeasible):
        capacity.margin(0, 120)
    with pytest.raises(capacity.Infeasible):
        capacity.markup(100, 0)


def test_batch_jobs_at_the_api() -> None:
    """30% of the tokens at half price: 0.3 x 0.5 = 15% less, 562,100 x 0.85 = $477,785."""
    assert deepseek_api_day(batch_share=0.3, batch_discount=0.5) == pytest.approx(477_785, rel=1e-12)
    assert deepseek_api_day(batch_share=0, batch_discount=1) == pytest.approx(562_100, rel=1e-12)


def test_break_even_by_hand() -> None:
    """At $227.50/h the API costs as much as 52 GPUs at $4.375; $182 of it is bought at 25 x 182 / 227.5 = 20 req/s.

    20 x 3,400 tokens x 730.5 h x 3,600 s = 178,826.4 million tokens.
    """
    given = (182, 52, 227.5, 25, 3_000, 400, 730.5)
    assert capacity.break_even("usd_per_gpu_hour", *given) == 4.375
    assert capacity.break_even("req_per_s", *given) == pytest.approx(20)
    assert capacity.break_even(" Tokens_per_month ", *given) == pytest.approx(178_826.4e6)


def test_the_bills_are_equal_at_the_break_even() -> None:
    """Put back in, each figure makes the API's bill the fleet's."""
    prices = (0.55, 0.14, 2.19, 0.4)
    api = capacity.api_cost(25 * 3_000, 25 * 400, *prices)
    given = (182, 52, api, 25, 3_000, 400, 730.5)
    assert 52 * capacity.break_even("usd_per_gpu_hour", *given) == pytest.approx(api, rel=1e-12)
    rate = capacity.break_even("req_per_s", *given)
    assert capacity.api_cost(rate * 3_000, rate * 400, *prices) == pytest.approx(182, rel=1e-12)


def test_break_even_without_an_answer() -> None:
    assert call("BREAK_EVEN", ["price", 182.0, 52.0, 227.5, 25.0, 3000.0, 400.0, 730.5]) == ExcelError("#N/A")
    assert call("BREAK_EVEN", ["req_per_s", 182.0, 52.0, 0.0, 25.0, 3000.0, 400.0, 730.5]) == ExcelError("#NUM!")
    assert call("BREAK_EVEN", ["usd_per_gpu_hour", 0.0, 0.0, 9.0, 25.0, 3000.0, 400.0, 730.5]) == ExcelError("#NUM!")


@pytest.mark.parametrize(
    ("month", "start", "quarter", "year"),
    [(1, 1, 1, 2027), (12, 1, 4, 2027), (1, 2, 4, 2027), (2, 2, 1, 2028), (9, 10, 4, 2027), (10, 10, 1, 2028)],
)
def test_fiscal_quarters(month: int, start: int, quarter: int, year: int) -> None:
    """A year from February: January is the last month of the one before; October begins the US government's."""
    assert capacity.fiscal_quarter(month, start) == quarter
    assert capacity.fiscal_year(2027, month, start) == year


def test_the_price_path() -> None:
    """$4 that falls by 19% a year: 4 x 0.9 = $3.60 after half a year; a step of -50% halves all that follows."""
    assert capacity.month_price(4, 0.81, 13, 1, 7) == pytest.approx(3.6)
    assert capacity.month_price(4, 0.81, 7, 0.5, 6) == pytest.approx(4 * 0.81 ** (5 / 12))
    assert capacity.month_price(4, 0.81, 7, 0.5, 7) == pytest.approx(1.8)
    with pytest.raises(capacity.InputError, match=r"^yearly_price must be > 0: 0$"):
        capacity.month_price(4, 0, 7, 1, 7)


def test_a_contract_is_paid_in_every_month_of_its_term() -> None:
    """8 GPUs from month 3 for 4 months: months 3 to 6; behind month 4 two months are due, behind month 6 none."""
    paid = [capacity.month_contract_gpus(8, 3, 4, 1, month) for month in range(1, 9)]
    assert paid == [0, 0, 8, 8, 8, 8, 0, 0]
    due = [capacity.contract_tail_usd(8, 2, 3, 4, month, 700) for month in range(1, 9)]
    assert due == [16 * 700 * n for n in (4, 4, 3, 2, 1, 0, 0, 0)]


def test_what_contracts_do_not_cover() -> None:
    """52 GPUs in nodes of 8 are 56; of them 32 under contract, 24 on demand, and nothing idle."""
    billed = capacity.billed_gpus(52, 8)
    assert (billed, capacity.on_demand_gpus(billed, 32), capacity.stranded_gpus(billed, 32)) == (56, 24, 0)
    assert (capacity.on_demand_gpus(0, 32), capacity.stranded_gpus(0, 32)) == (0, 32)
    for contracted in (0, 32, 56, 80):
        used = contracted - capacity.stranded_gpus(billed, contracted)
        assert used + capacity.on_demand_gpus(billed, contracted) == billed


def test_on_demand_has_hours_of_its_own() -> None:
    """24 GPUs at $3.99 in 168 of 730.5 hours: 24 x 3.99 x 168 = $16,087.68, not 24 x 3.99 x 730.5."""
    assert capacity.month_gpu_usd(24, 3.99, 730.5, 168 / 730.5) == pytest.approx(16_087.68)
    assert capacity.month_gpu_usd(52, 3.5, 730.5) == 132_951


def test_costs_beyond_gpus() -> None:
    """26,298 x 0.01 + 1,500 + 30,000 = 31,762.98; 56 x 50 + 3% of 132,951 = 2,800 + 3,988.53."""
    assert capacity.month_m_tokens(10_000, 730.5) == 26_298
    assert capacity.overhead_usd(26_298, 0.01, 1_500, 30_000) == pytest.approx(31_762.98)
    assert capacity.license_support_usd(56, 50, 132_951, 0.03) == pytest.approx(6_788.53)
    assert capacity.contingency_usd(200_000, 0.1) == pytest.approx(20_000)


def test_payback_by_hand() -> None:
    """60,000 + 1 x 100,000 + 40,000 = 200,000; saved are 40,000 a month from the second: 1 + 5 = 6 months."""
    assert capacity.migration_usd(60_000, 1, 100_000, 40_000) == 200_000
    assert capacity.payback_months(200_000, 1, 140_000, 100_000) == 6
    with pytest.raises(
        capacity.Infeasible, match=r"^a new fleet at \$140,000 a month saves nothing against \$140,000$"
    ):
        capacity.payback_months(200_000, 1, 140_000, 140_000)


def test_payback_in_a_ledger() -> None:
    """Month by month: with the migration as much has been paid as without it, when it has paid itself back."""
    months = capacity.payback_months(200_000, 1, 140_000, 100_000)
    stayed = 140_000 * months
    moved = 140_000 * 1 + 100_000 * months + 60_000 + 40_000  # the old fleet is paid in the month of overlap
    assert moved == stayed


def test_charges_and_idle_time_are_the_invoice() -> None:
    """$26,000 for 26 replicas: $1,000 each. Classes of 4 and 3.5 busy replicas, 18.5 idle."""
    charges = [capacity.charge_usd(26_000, busy, 26) for busy in (4, 3.5)]
    assert charges == [4_000, 3_500]
    assert capacity.idle_usd(26_000, 7.5, 26) == 18_500
    assert sum(charges) + capacity.idle_usd(26_000, 7.5, 26) == 26_000
    with pytest.raises(capacity.Infeasible, match=r"^27 busy replicas are more than the 26 of the fleet$"):
        capacity.idle_usd(26_000, 27, 26)


def test_the_worked_examples_bill_by_work() -> None:
    """$182 x 10.6954 / 16.6705 / 540 M input = $0.2162; x 5.9751 / 16.6705 / 72 M output = $0.9060; both are $182."""
    prefill = capacity.prefill_load() / capacity.busy_replicas()
    per_input = capacity.month_usd_per_m(182, 540, prefill)
    per_output = capacity.month_usd_per_m(182, 72, 1 - prefill)
    assert (round(per_input, 4), round(per_output, 4)) == (0.2162, 0.9060)
    assert per_input * 540 + per_output * 72 == pytest.approx(182, rel=1e-12)


DRIVERS = ("requests", "tokens_per_request", "gpu_hours_per_m_tokens", "usd_per_gpu_hour")
PLAN, ACTUAL = (10, 1_000, 0.5, 2), (12, 1_100, 0.4, 3)


def test_variance_by_hand() -> None:
    """10,000 planned, 12 x 1,100 x 0.4 x 3 = 15,840 came.

    (12 - 10) x 1,000 x 0.5 x 2 = 2,000; 12 x 100 x 0.5 x 2 = 1,200; 12 x 1,100 x -0.1 x 2 = -2,640;
    12 x 1,100 x 0.4 x 1 = 5,280: in all 5,840.
    """
    effects = [capacity.variance(driver, *PLAN, *ACTUAL) for driver in DRIVERS]
    assert effects == pytest.approx([2_000, 1_200, -2_640, 5_280])
    assert capacity.variance("total", *PLAN, *ACTUAL) == pytest.approx(5_840)
    with pytest.raises(capacity.UnknownName, match=r"^no driver is called 'price'"):
        capacity.variance("price", *PLAN, *ACTUAL)


@pytest.mark.parametrize("actual", [PLAN, (0, 0, 0, 0), (5, 3_000, 0.9, 1.5), (10, 1_000, 0.5, 0)])
def test_effects_sum_to_the_total(actual: tuple[float, ...]) -> None:
    effects = [capacity.variance(driver, *PLAN, *actual) for driver in DRIVERS]
    assert sum(effects) == pytest.approx(capacity.variance("total", *PLAN, *actual), abs=1e-9)
