"""The sheet Caching and its functions: figures by hand, what binds, words, edits, four ways."""

import math
from pathlib import Path
from typing import Any

import pytest
from sheets import FourWays, Values, cells, engines_differ, programs_differ, recalculate

import capacity
from capacity.call import ExcelError
from workbook.sheets import caching
from workbook.sheets.blocks import HIT_RATES, HITS_FIRST, HITS_LAST

NA = ExcelError("#N/A")
TTFT_S = 3_000 * 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # 0.2139 without hits
STEP_S = (70.553706496e9 / 2 + 64 * 0.524288e9) / (4.8e12 * 0.75)  # 0.01912
RATES = (0, *HIT_RATES, 0)  # without hits, as listed, the plan's own
AT_97 = HITS_FIRST + 1 + HIT_RATES.index(0.97)


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits, and the master check."""
    values = recalculate(template, changes=changes)
    return {at: x for (sheet, at), x in values.items() if sheet == "Caching"} | {"master": values["About", "B3"]}


def at(name: str) -> tuple[str, str]:
    """The cell of an input of the sheet."""
    return "Caching", f"C{caching.LINES.rows[name]}"


def of(values: dict[str, Any], name: str, row: int) -> Any:
    return values[f"{caching.RESULT[name]}{row}"]


def step(values: dict[str, Any], name: str) -> Any:
    return values[f"C{caching.LINES.rows[name]}"]


def test_memory_by_hand(template: Path) -> None:
    """20,000 tokens x 163,840 B = 3.2768 GB; (91.443 - 3.277) GB / (3,400 x 163,840 B = 0.557 GB) = 158.27."""
    values = shown(template)
    assert step(values, "prefix_kv_gb") == pytest.approx(3.2768, rel=1e-12)
    assert step(values, "resident_sessions") == 158


@pytest.mark.parametrize("row", range(len(RATES)))
def test_hit_rates_by_hand(row: int, template: Path) -> None:
    """Prefill shrinks by (1 - h); a request runs 400 steps and sees 64 prefills; 30 s of tools; 158 sessions fit."""
    hit, values = RATES[row], shown(template)
    prefill, decode = 50 * TTFT_S * (1 - hit), 50 * 400 * STEP_S / 64
    service = 400 * STEP_S + 64 * TTFT_S * (1 - hit)
    work, held = math.ceil((prefill + decode) / 0.65), math.ceil(50 * (service + 30) / 158)
    hand = {
        "cached_tps": 150_000 * hit,
        "computed_tps": 150_000 * (1 - hit),
        "prefill_load": prefill,
        "busy_replicas": prefill + decode,
        "service_s": service,
        "live_sessions": 50 * (service + 30),
        "work_replicas": work,
        "session_replicas": held,
        "binding": "residency" if held > work else "work",
        "session_fleet": max(work, held),
        "session_gpus": 2 * max(work, held),
        "session_cost": 7 * max(work, held),
    }
    for name, x in hand.items():
        found = of(values, name, HITS_FIRST + row)
        assert found == (x if isinstance(x, str) else pytest.approx(x, rel=1e-12, abs=1e-9)), name
    assert values[f"{caching.SAVED}{HITS_FIRST + row}"] == 182 - 7 * max(work, held)


def test_agents_with_97_percent_hits_are_bound_by_residency(template: Path) -> None:
    """Work 0.321 + 5.975 = 6.296 / 0.65: 10 replicas; 50 x (8.06 + 30) s = 1,903 sessions / 158 = 12.04: 13."""
    values = shown(template)
    assert of(values, "work_replicas", AT_97) == 10
    assert of(values, "live_sessions", AT_97) == pytest.approx(1_902.9, abs=0.05)
    assert of(values, "session_replicas", AT_97) == 13
    assert of(values, "binding", AT_97) == "residency"
    assert of(values, "binding", HITS_FIRST) == "work"


def test_long_agents_by_hand(template: Path) -> None:
    """5 req/s, 30,000 tokens in, 300 out, 20 s of tools, no prefix beside them.

    Step at 30,150 tokens, batch 18: (35.277 + 18 x 4.940 GB) / 3,600 GB/s = 34.50 ms. At 97%: TTFT 64.2 ms, service
    300 x 0.03450 + 18 x 0.0642 = 11.50 s, sessions 5 x 31.50 = 157.5; on a replica 91.443 / (30,300 x 163,840 B =
    4.964 GB) = 18, so 9 replicas. Work: prefill 5 x 0.0642 = 0.321, decode 1,500 / (18 / 0.03450 s) = 2.875; 5.
    """
    edits = cells({"req_per_s": 5.0, "prompt_tokens": 30_000.0, "output_tokens": 300.0, "batch": 18.0}, {})
    values = shown(template, edits | {at("tool_s"): 20.0, at("prefix_tokens"): 0.0})
    assert step(values, "resident_sessions") == 18
    assert of(values, "service_s", AT_97) == pytest.approx(11.50, abs=0.01)
    assert of(values, "live_sessions", AT_97) == pytest.approx(157.5, abs=0.1)
    assert [of(values, n, AT_97) for n in ("work_replicas", "session_replicas", "binding")] == [5, 9, "residency"]
    assert of(values, "session_fleet", AT_97) == 9


def test_functions() -> None:
    assert capacity.cached_tps(1_000, 0.25) + capacity.computed_tps(1_000, 0.25) == 1_000
    assert capacity.resident_sessions(10, 1, 3) == 3  # 9 / 3 exactly
    assert capacity.resident_sessions(10, 11, 3) == 0
    assert capacity.service_s(100, 10, 1, 500) == 1.5  # 100 steps of 10 ms, one prefill of 0.5 s
    assert capacity.live_sessions(2, 1.5, 8.5) == 20
    assert capacity.session_replicas(20, 6) == 4
    assert capacity.session_replicas(0, 6) == 0
    assert capacity.session_fleet(3, 4, 2) == 6
    assert [capacity.binding(*x) for x in ((3, 4), (4, 4), (5, 4), (0, 0))] == ["residency", "work", "work", "neither"]
    with pytest.raises(capacity.InputError, match=r"^resident_sessions must be a whole number >= 1: 0"):
        capacity.session_replicas(20, 0)


def test_service_time_is_the_worst_case_tpot() -> None:
    """Output x worst-case TPOT: 400 x 53.345 ms = 21.338 s; and sessions in service are batch x busy replicas."""
    assert capacity.service_s() == pytest.approx(400 * capacity.tpot_worst_ms() / 1e3, rel=1e-12)
    assert capacity.live_sessions(50, capacity.service_s(), 0) == pytest.approx(64 * capacity.busy_replicas())


def test_spares_stand_on_top(template: Path) -> None:
    values = shown(template, cells({"spares": 2.0}, {}))
    assert of(values, "work_replicas", HITS_FIRST) == 26
    assert of(values, "session_fleet", HITS_FIRST) == 28


def test_the_last_row_is_the_plans_own(template: Path) -> None:
    """Half of the prompt cached: 5.348 + 5.975 = 11.323 / 0.65 = 17.4: 18 replicas."""
    values = shown(template, cells({"cache_hit": 0.5}, {}))
    assert values[f"B{HITS_LAST}"] == 0.5
    assert of(values, "work_replicas", HITS_LAST) == 18
    assert of(values, "prefill_load", HITS_FIRST) == pytest.approx(50 * TTFT_S)  # still without hits


@pytest.mark.parametrize(
    ("edits", "name", "words"),
    [
        ({("Caching", "B30"): 1.0}, "binding", "residency"),
        (cells({"req_per_s": 0.0}, {}), "binding", "neither"),
        ({at("prefix_tokens"): 600_000.0}, "session_gpus", "no session fits"),  # 98.3 GB
        (cells({"prompt_tokens": 0.0, "output_tokens": 0.0}, {}), "session_replicas", "no tokens"),
    ],
)
def test_words(edits: Values, name: str, words: str, template: Path) -> None:
    values = shown(template, edits)
    assert of(values, name, HITS_LAST - 1) == words
    assert values[f"{caching.CHECK}{HITS_LAST - 1}"] == "PASS"


def test_a_plan_that_is_refused_has_tokens_and_no_fleet(template: Path) -> None:
    """20 GB hold no 35.3 GB of weights; tokens are those of 50 requests of 3,000 all the same."""
    values = shown(template, cells({"gpu_gb": 20.0}, {}))
    assert of(values, "computed_tps", HITS_FIRST) == 50 * 3000
    for name in ("work_replicas", "session_fleet", "session_cost"):
        assert of(values, name, HITS_FIRST) == NA, name
    assert values[f"{caching.CHECK}{HITS_FIRST}"] == "FAIL"


def test_all_hits_and_no_output(template: Path) -> None:
    values = shown(template, {("Caching", "B30"): 1.0})
    assert of(values, "prefill_load", HITS_LAST - 1) == 0
    assert of(values, "service_s", HITS_LAST - 1) == pytest.approx(400 * STEP_S)
    values = shown(template, cells({"output_tokens": 0.0}, {}))
    assert of(values, "service_s", HITS_FIRST) == pytest.approx(64 * TTFT_S)
    assert values["master"] == "All checks PASS"


@pytest.mark.parametrize(
    ("edit", "bad"),
    [
        ({("Caching", "B19"): 1.01}, "C19"),
        ({("Caching", "B19"): -0.1}, "C19"),
        ({("Caching", "B19"): "half"}, "C19"),
        ({at("tool_s"): -1.0}, "C18"),
        ({at("prefix_tokens"): "many"}, "C18"),
        ({("Inputs", "F7"): -1.0}, "C18"),
    ],
)
def test_bad_inputs_show_no_result(edit: Values, bad: str, template: Path) -> None:
    values = shown(template, edit)
    assert values[bad] == NA
    assert values["master"] != "All checks PASS"


CASES: dict[str, Values] = {
    "as built": {},
    "agents": {at("tool_s"): 90.0, at("prefix_tokens"): 0.0, ("Caching", "B30"): 1.0},
    "no load": cells({"req_per_s": 0.0, "spares": 1.0}, {}),
    "no output": cells({"output_tokens": 0.0}, {}),
    "does not fit": cells({"gpu_gb": 20.0}, {}),
    "no session fits": {at("prefix_tokens"): 600_000.0},
    "bad": {at("tool_s"): "long", ("Caching", "B20"): 2.0},
    "refined": cells({"cache_hit": 0.9}, {"attention_flops": True, "kv_layout": True, "fixed_time": True}),
}


@pytest.mark.parametrize("case", CASES)
def test_four_ways_agree(case: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, case)
    assert not engines_differ(four_ways, case)
