"""Demand, weeks, contracts and owned nodes: figures worked out by hand, sums against their closed forms."""

import pytest

import capacity


@pytest.mark.parametrize(("turns", "by_hand"), [(1, 1_600), (2, 1_600 + 2_500), (3, 1_600 + 2_500 + 3_400)])
def test_a_session_resends_its_history(turns: int, by_hand: int) -> None:
    """System 1,000, 600 a turn, replies of 300: the prompts are 1,600, then 1,000 + 1,200 + 300, then 3,400."""
    assert capacity.session_tokens(turns, 1_000, 600, 300) == by_hand


@pytest.mark.parametrize("turns", [1, 4, 25, 200])
def test_the_closed_form_is_the_sum_over_the_turns(turns: int) -> None:
    summed = sum(800 + 35 * t + 120 * (t - 1) for t in range(1, turns + 1))
    assert capacity.session_tokens(turns, 800, 35, 120) == summed


def test_requests_of_a_month_by_hand() -> None:
    """1,000 users x 20 sessions x 4 turns x 1.5 requests x 1.02 = 122,400; over 730.5 h x 3,600 s: 0.0465 req/s."""
    requests = capacity.requests_per_month(1_000, 20, 4, 1.5, 0.02)
    assert requests == pytest.approx(122_400, rel=1e-12)
    assert capacity.mean_req_per_s(requests) == pytest.approx(122_400 / 2_629_800, rel=1e-12)
    assert capacity.mean_req_per_s(requests, 672) == pytest.approx(122_400 / 2_419_200, rel=1e-12)
    assert capacity.requests_per_month(0, 20, 4, 1.5, 0.02) == 0


def test_cohorts_by_hand() -> None:
    """100 join each month, 60% are back in the next, 50% of the older stay: 0, 60, 30 + 60 = 90, 45 + 60 = 105."""
    kept, seen = 0.0, []
    for _ in range(4):
        seen.append(kept)
        kept = capacity.kept_users(kept, 100, 0.6, 0.5)
    assert seen == [0, 60, 90, 105]


def test_growth_below_zero() -> None:
    """Half of it goes each month: 1, 1/2, 1/4; a month in which all goes is no growth."""
    assert [capacity.growth_factor(-0.5, m) for m in (0, 1, 2)] == [1, 0.5, 0.25]
    with pytest.raises(capacity.InputError, match=r"^growth must be > -1: -1$"):
        capacity.growth_factor(-1, 2)


def test_mean_and_design_rate() -> None:
    """At a load factor of 40% the busiest hour has 2.5 times the mean."""
    assert capacity.design_req_per_s(20, 0.4) == 50
    with pytest.raises(capacity.InputError, match=r"^load_factor must be > 0 and <= 1: 1.2$"):
        capacity.design_req_per_s(20, 1.2)


def test_a_batch_by_its_deadline() -> None:
    """864 M tokens in 24 h of 3,600 s are 10,000 tok/s; in 12 h twice that."""
    assert (capacity.deadline_tps(864e6, 24), capacity.deadline_tps(864e6, 12)) == (10_000, 20_000)
    assert capacity.deadline_tps(0, 24) == 0
    with pytest.raises(capacity.InputError, match="deadline_h must be > 0 and <= 24"):
        capacity.deadline_tps(864e6, 48)  # at 5,000 tok/s a second day's batch would come before the first is done


def test_deepseeks_published_day() -> None:
    """278 nodes at the peak, 226.75 on average: 226.75 / 278 = 81.6%; 226.75 x 8 x 24 h x $2 = $87,072."""
    assert round(capacity.load_factor(capacity.peak_to_mean(278, 226.75)), 3) == 0.816
    hours = capacity.gpu_hours(226.75 * 24, 8)
    assert hours == 43_536
    assert capacity.gpu_hours_usd(hours, 2) == 87_072


def test_a_fleet_that_follows_the_load_by_hand() -> None:
    """Peak 16 busy at a share of 4: a share of 1 has 4 busy, at 65% 7 replicas; 8 are kept warm."""
    busy = capacity.hour_busy_replicas(16, 1, 4)
    assert busy == 4
    assert capacity.running_replicas(capacity.replicas(busy, 0.65), 8) == 8
    assert capacity.running_replicas(capacity.replicas(busy, 0.65), 2) == 7
    # from 7 to 25 replicas of 20 minutes each: 18 x 1/3 h; none for those that stop
    assert capacity.starting_replica_hours(25, 7, 20) == pytest.approx(6, rel=1e-12)
    assert capacity.starting_replica_hours(7, 25, 20) == 0


def test_batch_work_in_the_valleys() -> None:
    """25 replicas at 64% hold 16 busy: beside 4 there is room for 12 an hour; 30 take three hours, 12 + 12 + 6."""
    room = capacity.valley_room(25, 4, 0.64)
    left, done = 30.0, []
    for _ in range(4):
        done.append(capacity.valley_work(room, left))
        left -= done[-1]
    assert done == [12, 12, 6, 0]
    assert capacity.valley_room(25, 20, 0.64) == 0
    assert capacity.busy_with_batch(16, 0.5, 8) == 16
    assert capacity.busy_with_batch(16, 0.5, 9) == 17


WEEK = ((56, 50), (40, 62), (24, 56))  # GPUs, hours: 168 h together


def levels(reserved: float, on_demand: float) -> float:
    """The largest level that pays, of all levels of 8 GPUs."""
    found = 0.0
    for level in range(8, 57, 8):
        hours = sum(h for gpus, h in WEEK if gpus >= level)
        found = max(found, capacity.reserve_level(level, hours, 168, reserved, on_demand))
    return found


def test_the_worked_week() -> None:
    """2.79 / 3.99 x 168 h = 117.5 h: GPUs 25 to 40 run 112 h, so 24 are reserved.

    24 x 168 x 2.79 = 11,249.28; on demand 32 x 50 + 16 x 62 = 2,592 h x 3.99 = 10,342.08; together 21,591.36.
    """
    assert levels(2.79, 3.99) == 24
    needed = sum(gpus * hours for gpus, hours in WEEK)
    assert needed == 56 * 50 + 40 * 62 + 24 * 56 == 6_624
    used = sum(min(gpus, 24) * hours for gpus, hours in WEEK)
    on_demand = capacity.on_demand_gpu_hours(needed, used)
    assert on_demand == 2_592
    assert capacity.mixed_bill_usd(24 * 168, 2.79, on_demand, 3.99) == pytest.approx(21_591.36, abs=0.005)
    # the next level costs more: 40 reserved, and 16 x 50 h on demand
    assert capacity.mixed_bill_usd(40 * 168, 2.79, 800, 3.99) == pytest.approx(18_748.80 + 3_192.00, abs=0.005)


def test_reserve_all_or_nothing() -> None:
    """A free reservation holds every level that runs at all; one as dear as on demand holds none."""
    assert levels(0, 3.99) == 56
    assert levels(3.99, 3.99) == 0
    assert levels(1.18, 3.99) == 56  # 49.7 h: the last level runs 50
    assert levels(1.19, 3.99) == 40  # 50.1 h


@pytest.mark.parametrize(("term", "ramp"), [(12, 1), (12, 0.25), (3, 0.25), (36, 0.3), (60, 0.07), (1, 0.5)])
def test_a_contracts_months_sum_to_its_closed_form(term: int, ramp: float) -> None:
    """Also where the term goes beyond a horizon of 36 months, and where it ends before all GPUs have come."""
    months = [capacity.month_contract_gpus(64, 3, term, ramp, m) for m in range(1, term + 5)]
    assert months[:2] == [0, 0]
    assert months[-2:] == [0, 0]
    by_hand = sum(64 * min(1, ramp * age) for age in range(1, term + 1))
    total = capacity.contract_gpu_months(64, term, ramp, capacity.ramp_months(term, ramp))
    assert total == pytest.approx(by_hand, rel=1e-12)
    assert sum(months) == pytest.approx(by_hand, rel=1e-12)


def test_a_contract_that_began_before_the_plan() -> None:
    """Twelve months from the sixth before month 1: months -5 to 6."""
    assert [capacity.month_contract_gpus(8, -5, 12, 1, m) for m in (1, 6, 7)] == [8, 8, 0]


def test_use_and_stranding() -> None:
    """24 GPUs for 168 h, used for 3,024 h: 75%; 1,008 h x $2.79 = $2,812.32 stranded; coverage of 6,048 h is half."""
    assert capacity.commitment_use(3_024, 4_032) == 0.75
    assert capacity.stranded_usd(4_032, 3_024, 2.79) == pytest.approx(2_812.32, abs=0.005)
    assert capacity.contract_coverage(3_024, 6_048) == 0.5
    for call in (lambda: capacity.commitment_use(0, 0), lambda: capacity.contract_coverage(0, 0)):
        with pytest.raises(capacity.InputError, match="must be > 0: 0"):
            call()


def annuity(price: float, residual: float, rate: float, years: int) -> float:
    """The payment at which the balance ends at the residual, by halving."""
    low, high = 0.0, 2 * price
    for _ in range(200):
        pay, balance = (low + high) / 2, price
        for _ in range(years):
            balance = balance * (1 + rate) - pay
        low, high = (pay, high) if balance > residual else (low, pay)
    return low


@pytest.mark.parametrize(("rate", "years", "residual"), [(0.1, 5, 0.1), (0.04, 3, 0.5), (0.25, 8, 0), (1e-9, 5, 0.1)])
def test_capital_is_the_payment_that_clears_the_balance(rate: float, years: int, residual: float) -> None:
    paid = capacity.capital_usd_per_year(345_000, years, residual, rate)
    assert paid == pytest.approx(annuity(345_000, 345_000 * residual, rate, years), rel=1e-7)


def test_an_owned_gpu_hour_by_hand() -> None:
    """No interest: 345,000 x 0.9 / 5 = 62,100 a year, to run 8 x 1.25 x 8,766 x 0.1 + 14,400 + 15,000 = 38,166.

    9 nodes x 100,266 / (8 x 8 GPUs x 8,766 h x 50%) = $3.2170 per GPU-hour used; twice that at half the load.
    """
    capital = capacity.capital_usd_per_year(capacity.node_capital_usd(300_000, 0.15), 5, 0.1, 0)
    power = capacity.power_usd_per_year(8, 1.25, 0.1)
    running = capacity.running_usd_per_year(
        power, capacity.colocation_usd_per_year(8, 150), capacity.support_usd_per_year(300_000, 0.05)
    )
    assert (capital, power, running) == (pytest.approx(62_100), pytest.approx(8_766), pytest.approx(38_166))
    price = capacity.owned_usd_per_gpu_hour(capital, running, 8, 1, 8, 0.5)
    assert price == pytest.approx(9 * 100_266 / 280_512, rel=1e-12)
    assert capacity.owned_usd_per_gpu_hour(capital, running, 8, 1, 8, 0.25) == pytest.approx(2 * price)


@pytest.mark.parametrize("rate", [0, 0.08, 0.2])
def test_at_the_break_even_life_owning_costs_the_rent(rate: float) -> None:
    rented = capacity.rented_usd_per_year(3.5, 8, 1, 8, 0.8)
    years = capacity.break_even_years(345_000, 38_160, rented, 0.1, rate)
    capital = capacity.capital_usd_per_year(345_000, years, 0.1, rate)
    assert capacity.owned_usd_per_gpu_hour(capital, 38_160, 8, 1, 8, 0.8) == pytest.approx(3.5, rel=1e-9)


def test_owning_that_never_pays() -> None:
    with pytest.raises(capacity.Infeasible, match=r"^30000 USD saved a year on 345000 USD: the saving never pays"):
        capacity.break_even_years(345_000, 38_000, 68_000, 0.1, 0.1)
    with pytest.raises(capacity.Infeasible, match="never pays"):
        capacity.break_even_years(345_000, 38_000, 38_000, 0.1, 0)


@pytest.mark.parametrize("life", [5, 4.5, 0.5, 1])
def test_cash_and_p_and_l_are_the_same_over_the_life(life: float) -> None:
    """All cash out less what comes back is all expense; they differ in when."""
    cash = back = expense = 0.0
    for year in range(7):
        share = capacity.service_share(life, year)
        cash += capacity.owning_cash_usd(year, 345_000, 38_000, share, 8, 1)
        back += capacity.cash_back_usd(year, 345_000, 0.1, life, 8, 1)
        expense += capacity.owning_pl_usd(345_000, 0.1, life, 38_000, share, 8, 1)
    assert back == 9 * 34_500
    assert cash - back == pytest.approx(expense, rel=1e-12)
    assert expense == pytest.approx(9 * (310_500 + 38_000 * life), rel=1e-12)


def test_rent_by_hand() -> None:
    """8 nodes x 8 GPUs x 8,766 h x 50% x $3.50 = 981,792 a year, over 10 owned nodes 98,179.20."""
    assert capacity.rented_usd_per_year(3.5, 8, 2, 8, 0.5) == pytest.approx(98_179.2)
    assert capacity.renting_usd(100_000, 0.5, 8, 1) == 450_000
