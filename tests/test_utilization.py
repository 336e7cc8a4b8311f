"""The sheet Utilization: figures by hand, formulas against a simulated queue, four ways, edits."""

import heapq
import math
import random
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from capacity.headroom import HEADROOM_INPUTS
from capacity.plan import run
from workbook.sheets import utilization
from workbook.sheets.blocks import CEILINGS, PLAN_ROWS

PREFILL_S = 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # of a prompt token
STEP_S = (70.553706496e9 / 2 + 64 * 0.524288e9) / (4.8e12 * 0.75)
BUSY = 150_000 * PREFILL_S + 20_000 * STEP_S / 64  # 10.7 + 6.0
NA = ExcelError("#N/A")


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits."""
    return {at: x for (sheet, at), x in recalculate(template, changes=changes).items() if sheet == "Utilization"}


def master(template: Path, changes: Values) -> Any:
    return recalculate(template, changes=changes)["About", "B3"]


def of(values: dict[str, Any], name: str) -> Any:
    """The value of a step of the sheet."""
    return values[f"C{utilization.LINES.rows[name]}"]


def at(name: str) -> tuple[str, str]:
    """The cell of an input of the sheet."""
    return "Utilization", f"C{utilization.LINES.rows[name]}"


@pytest.mark.parametrize("row", range(len(CEILINGS)))
def test_ceilings_by_hand(row: int, template: Path) -> None:
    """16.670 busy replicas of 2 GPUs at $3.50, 20,000 output tok/s, and the prompt's 213.907 ms of compute."""
    ceiling, values = CEILINGS[row], shown(template)
    replicas = math.ceil(BUSY / ceiling)
    hand = {
        "replicas": replicas,
        "gpus": 2 * replicas,
        "cost_per_hour": 7 * replicas,
        "usd_per_m_tokens": 7 * replicas / (20_000 * 3_600 / 1e6),
        "gpu_busy": BUSY / replicas,
        "delay_factor": 1 / (1 - ceiling),
        "ttft_first_order_ms": 3_000 * PREFILL_S * 1e3 / (1 - ceiling),
    }
    for name, x in hand.items():
        assert values[f"{utilization.RESULT[name]}{row + 6}"] == pytest.approx(x, rel=1e-12), name


def test_what_the_article_prints(template: Path) -> None:
    """At 65%: 25.6 -> 26 replicas, 52 GPUs, $182/h, $2.53; and a delay that grows like 1/(1 - utilization)."""
    values, columns = shown(template), utilization.RESULT
    assert values[f"{columns['replicas']}9"] == 26
    assert values[f"{columns['gpus']}9"] == 52
    assert values[f"{columns['cost_per_hour']}9"] == 182
    assert round(values[f"{columns['usd_per_m_tokens']}9"], 2) == 2.53
    assert values[f"{columns['delay_factor']}14"] == pytest.approx(10)


def erlang_c(busy: float, servers: int) -> float:
    """The textbook's sum: all states below the servers against those in which all of them are busy."""
    full = busy**servers / math.factorial(servers) / (1 - busy / servers)
    return full / (full + sum(busy**k / math.factorial(k) for k in range(servers)))


@pytest.mark.parametrize(("busy", "servers"), [(0.65, 1), (1, 2), (16.67, 26), (16.67, 18), (90, 100), (1e-9, 3)])
def test_erlang_c_by_the_textbook(busy: float, servers: int) -> None:
    assert capacity.erlang_c(busy, servers) == pytest.approx(erlang_c(busy, servers), rel=1e-12)


def test_erlang_c_without_an_answer() -> None:
    with pytest.raises(capacity.Infeasible, match=r"^26 busy replicas on 26 servers: the queue grows without end$"):
        capacity.erlang_c(26, 26)
    with pytest.raises(capacity.Infeasible, match=r"^2 busy replicas on 1 servers: the queue grows without end$"):
        capacity.queue_wait_ms(1, 2, 1, 0.3)
    with pytest.raises(capacity.Infeasible, match=r"^1e\+10 servers are more than the 1e\+09 for which Erlang C"):
        capacity.erlang_c(1e9, 1e10)


def queue(servers: int, busy: float, service_s: float, customers: int) -> tuple[float, float]:
    """An M/M/c queue, first come first served: share of arrivals that wait, and mean wait in s."""
    chance = random.Random(1917)
    free_at = [0.0] * servers
    now = waits = waited = 0.0
    for _ in range(customers):
        now += chance.expovariate(busy / service_s)
        start = max(now, heapq.heappop(free_at))
        heapq.heappush(free_at, start + chance.expovariate(1 / service_s))
        waits += start > now
        waited += start - now
    return waits / customers, waited / customers


@pytest.mark.parametrize(("servers", "busy"), [(1, 0.65), (4, 3.2), (18, 15.3), (26, 20.8)])
def test_erlang_c_against_a_simulated_queue(servers: int, busy: float) -> None:
    service_s, customers = 0.3334, 400_000
    waits, wait_s = queue(servers, busy, service_s, customers)
    share = capacity.erlang_c(busy, servers)
    assert share == pytest.approx(waits, rel=0.04)
    assert capacity.queue_wait_ms(share, busy, servers, service_s) == pytest.approx(wait_s * 1e3, rel=0.08)


@pytest.mark.parametrize("ceiling", [0.5, 0.65, 0.8])
def test_the_delay_factor_against_a_simulated_queue(ceiling: float) -> None:
    """One server: time in the system over the time of service."""
    _, wait = queue(1, ceiling, 1, 400_000)
    assert capacity.delay_factor(ceiling) == pytest.approx(1 + wait, rel=0.03)


def test_spares_by_hand(template: Path) -> None:
    """26 for the work; 1 drains; a node of 8 GPUs is 4 replicas; 3 x ceil(26 / 2) = 39; 3 x ceil(31 / 2) = 48."""
    values = shown(template)
    first = utilization.FLEETS_FIRST
    assert [values[f"C{first + i}"] for i in range(6)] == [26, 26, 27, 30, 39, 48]
    assert [values[f"{utilization.SPARES}{first + i}"] for i in range(6)] == [0, 0, 1, 4, 13, 22]
    assert [values[f"D{first + i}"] for i in range(6)] == [52, 52, 54, 60, 78, 96]
    assert [values[f"E{first + i}"] for i in range(6)] == [182, 182, 189, 210, 273, 336]
    assert values[f"G{first + 5}"] == pytest.approx(BUSY / 48, rel=1e-12)


def test_nodes_and_regions() -> None:
    assert capacity.node_spares(8, 3, 2) == 4  # two whole replicas of 3 to a node, and 2 GPUs idle
    assert capacity.node_spares(8, 16, 1) == 1
    assert capacity.region_replicas(26, 3, 1) == 39
    assert capacity.region_replicas(26, 2, 1) == 52
    assert capacity.region_replicas(0, 3, 1) == 0
    with pytest.raises(capacity.Infeasible, match=r"^2 lost of 2 regions leave none that does the work$"):
        capacity.region_replicas(26, 2, 2)


def test_peak_and_mean(template: Path) -> None:
    """At a peak of 4 times the mean: a quarter of the tokens pays the same bill."""
    values = shown(template, {at("peak_to_mean"): 4.0})
    assert of(values, "load_factor") == 0.25
    assert of(values, "busy_at_peak") == pytest.approx(BUSY / 26, rel=1e-12)
    assert of(values, "busy_on_mean") == pytest.approx(BUSY / 26 / 4, rel=1e-12)
    assert of(values, "mean_output_tps") == 5_000
    assert of(values, "usd_on_mean") == pytest.approx(182 / (5_000 * 3_600 / 1e6))


def test_spares_of_the_plan_are_not_counted_twice(template: Path) -> None:
    """Spares on Inputs stand on top in the table of ceilings; here each is a line of its own."""
    values = shown(template, cells({"spares": 3.0}, {}))
    assert values[f"{utilization.RESULT['replicas']}9"] == 29
    assert of(values, "needed") == 26


def test_words_where_there_is_no_load(template: Path) -> None:
    values = shown(template, cells({"req_per_s": 0.0}, {}))
    assert [values[f"{utilization.RESULT[n]}9"] for n in ("gpu_busy", "erlang_c", "queue_wait_ms")] == ["no load"] * 3
    assert values[f"{utilization.RESULT['usd_per_m_tokens']}9"] == "no load"
    assert of(values, "usd_on_mean") == "no load"
    assert values[f"C{utilization.FLEETS_FIRST}"] == 0
    assert {values[f"{utilization.CHECK}{row}"] for row in range(6, 16)} == {"PASS"}
    values = shown(template, cells({"output_tokens": 0.0}, {}))  # there is a load, of prompts alone
    assert values[f"{utilization.RESULT['usd_per_m_tokens']}9"] == "no output tokens"
    assert of(values, "usd_on_mean") == "no output tokens"


@pytest.mark.parametrize(
    ("edit", "bad"),
    [
        ({("Utilization", "B6"): 1.0}, "D6"),
        ({("Utilization", "B6"): 0.0}, "D6"),
        ({("Utilization", "B6"): "half"}, "D6"),
        ({at("peak_to_mean"): 0.9}, f"C{utilization.LINES.rows['load_factor']}"),
        ({at("node_gpus"): 7.5}, f"D{utilization.FLEETS_FIRST}"),
        ({at("lost_regions"): 3.0}, f"C{utilization.FLEETS_FIRST + 3}"),
        ({at("regions"): "many"}, f"C{utilization.FLEETS_FIRST + 3}"),
        ({("Inputs", f"F{7}"): -1.0}, "D6"),
    ],
)
def test_bad_inputs_show_no_result(edit: Values, bad: str, template: Path) -> None:
    assert shown(template, edit)[bad] == NA
    assert master(template, edit) != "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "a ceiling": {("Utilization", "B8"): 0.62},
    "no load": cells({"req_per_s": 0.0}, {}),
    "no load, spares": cells({"req_per_s": 0.0, "spares": 2.0}, {}),
    "no output": cells({"output_tokens": 0.0}, {}),
    "does not fit": cells({"gpu_gb": 20.0}, {}),
    "large": cells({"req_per_s": 3000.0, "tp": 16.0}, {}),
    "headroom": dict(zip(map(at, HEADROOM_INPUTS), (2.0, 4.0, 2.0, 4.0, 2.0, 3.5), strict=True)),
    "a region too many": {at("lost_regions"): 3.0},
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)


def test_a_full_load_has_no_stable_queue() -> None:
    """2 busy replicas at a ceiling of all but 1E-12 are 2 replicas: GPU busy is 100%, and the queue has words."""
    steps = {s.name: s for s in utilization.WAITING}
    values: dict[str, Any] = {"busy_replicas": 2.0, "replicas": 2.0, "request_replica_s": 0.3}
    for name in ("gpu_busy", "queue_busy", "erlang_c", "queue_wait_ms"):
        run(steps[name], values)
    assert [values[n] for n in ("gpu_busy", "erlang_c", "queue_wait_ms")] == [1, "overloaded", "overloaded"]
    values |= {"busy_replicas": 0.0}
    for name in ("queue_busy", "erlang_c", "queue_wait_ms"):
        run(steps[name], values)
    assert [values[n] for n in ("erlang_c", "queue_wait_ms")] == ["no load", "no load"]


def test_a_ceiling_of_almost_all(template: Path) -> None:
    """At 50 req/s / 16.67 the work is one replica; at a ceiling of all but 1E-12 the fleet is one as well."""
    rate = 50 / BUSY
    edits: Values = {("Plan", f"C{PLAN_ROWS['req_per_s']}"): rate, ("Utilization", "B15"): 1 - 1e-12}
    for functions in (True, False):
        values = recalculate(template, changes=edits, functions=functions)
        row = [values["Utilization", f"{utilization.RESULT[n]}15"] for n in ("replicas", "erlang_c", "queue_wait_ms")]
        assert row == [1, "overloaded", "overloaded"]


def test_the_plans_own_spares_are_a_fleet(template: Path) -> None:
    """26 for the work and 3 spares: 29, of 58 GPUs; the others come on top of the work alone."""
    values = shown(template, cells({"spares": 3.0}, {}))
    first = utilization.FLEETS_FIRST
    assert [values[f"C{first + i}"] for i in range(3)] == [26, 29, 27]
    assert [values[f"D{first + i}"] for i in range(2)] == [52, 58]
