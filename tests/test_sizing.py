"""BEST_BATCH, MAX_RATE, BILLED_GPUS: figures by hand, and the chain's own functions for what they are to find."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import capacity
from capacity.plan import plan
from capacity.tpot import SAFE

WEIGHTS, KV, PREFILL = 70.553706496 / 2, 0.524288, 150_000 * 71.30237e-6  # of the worked example


def worst_ms(batch: float, target: dict[str, float]) -> float:
    """By the functions of the chain, one after the other."""
    step = capacity.decode_step_ms(
        capacity.step_gb(target["weights_gb"], batch, target["kv_gb_per_seq"]), target["bandwidth_tb_s"], target["mbu"]
    )
    load = capacity.decode_load(target["output_tps"], capacity.replica_tps(batch, step))
    return capacity.tpot_worst_ms(step, target["prefill_load"], load)


def test_the_worked_example_by_hand() -> None:
    """a = 35.277 / 3.6 = 9.799 ms, b = 0.5243 / 3.6 = 0.1456, c = 10.695 / 20 = 0.5348: 40.201 / 0.6804 = 59.08."""
    a, b, c = WEIGHTS / 3.6, KV / 3.6, PREFILL / 20
    assert (50 - a) / (b + c) == pytest.approx(59.08, abs=0.005)
    assert capacity.best_batch() == 59
    verdicts = {batch: plan({"batch": batch})[-1].value for batch in (32, 59, 60, 64)}
    assert [verdicts[n] == SAFE for n in (32, 59, 60, 64)] == [True, True, False, False]


def test_caps() -> None:
    """What fits, and what the engine runs; the smaller of the two."""
    example = (1e4, WEIGHTS, KV, 4.8, PREFILL, 20_000)
    assert capacity.best_batch(*example, 174) == 174
    assert capacity.best_batch(*example, 5_000) == 1_024
    assert capacity.best_batch(*example, 5_000, batch_limit=256) == 256


def test_no_prompt() -> None:
    """Without prefill the step alone counts: (20 - 10) / 0.25 = 40, with 30 GB, 0.75 GB and 3 GB a millisecond."""
    assert capacity.best_batch(20, 30, 0.75, 4, 0, 1_000, 999, 0.75) == 40


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"target_ms": 9.9}, r"^the TPOT target of 9\.9 ms is below the step floor of 9\.945 ms$"),
        ({"target_ms": 10}, r"^a batch of 1 has a worst-case TPOT of 10\.48 ms, above the target of 10 ms$"),
        ({"max_seqs": 0}, r"^no sequence fits the KV pool, so there is no batch$"),
        ({"output_tps": 0}, r"^output_tps must be > 0: 0$"),
    ],
)
def test_where_there_is_no_batch(changes: dict[str, float], sentence: str) -> None:
    """35.801 GB / 3.6 = 9.945 ms for one sequence; with 0.535 ms of prefill 10.48 ms."""
    args = dict(zip(capacity.FUNCTIONS["BEST_BATCH"].args, capacity.FUNCTIONS["BEST_BATCH"].examples, strict=True))
    with pytest.raises(capacity.CapacityError, match=sentence):
        capacity.best_batch(**args | changes)


def test_arrays() -> None:
    targets = np.array([20.0, 50.0])
    assert capacity.best_batch(targets, WEIGHTS, KV, 4.8, PREFILL, 20_000, 174).tolist() == [14, 59]
    with pytest.raises(capacity.Infeasible, match=r"^BEST_BATCH has no finite result at \[1\] of these arrays$"):
        capacity.best_batch(np.array([50.0, 5.0]), WEIGHTS, KV, 4.8, PREFILL, 20_000, 174)
    assert capacity.max_rate(np.array([52.0, 26.0]), 2, 0.5).tolist() == pytest.approx([33.8, 16.9])
    with pytest.raises(capacity.Infeasible, match="no finite result"):
        capacity.max_rate(np.array([2.0, 8.0]), 2, 0.5, 0.65, 3)


@given(
    st.fixed_dictionaries(
        {
            "target_ms": st.floats(1, 500),
            "weights_gb": st.floats(0.1, 500),
            "kv_gb_per_seq": st.floats(1e-3, 10),
            "bandwidth_tb_s": st.floats(0.3, 30),
            "prefill_load": st.floats(0, 1e4),
            "output_tps": st.floats(1, 1e7),
            "mbu": st.floats(0.1, 1),
        }
    )
)
def test_the_largest_that_is_safe(case: dict[str, float]) -> None:
    """Its worst case is within the target, that of one more is not, in the arithmetic of the verdict."""
    limit = case["target_ms"] * (1 + 1e-9)
    try:
        batch = capacity.best_batch(**case, max_seqs=1_000_000, batch_limit=1_000_000)
    except capacity.Infeasible:
        assert worst_ms(1, case) > limit * (1 - 1e-9)
        return
    assert worst_ms(batch, case) <= limit * (1 + 1e-9)
    assert batch == 1_000_000 or worst_ms(batch + 1, case) > limit * (1 - 1e-9)


@pytest.mark.parametrize("batch", [1, 7, 59, 64, 173])
def test_a_target_met_exactly_is_met(batch: int) -> None:
    """The TPOT of a batch as the target gives that batch again."""
    case = {"weights_gb": WEIGHTS, "kv_gb_per_seq": KV, "bandwidth_tb_s": 4.8, "prefill_load": PREFILL}
    case |= {"output_tps": 20_000, "mbu": 0.75}
    assert capacity.best_batch(worst_ms(batch, case), **case, max_seqs=174) == batch


def test_rates_by_hand() -> None:
    """26 replicas x 0.65 / 0.5 replica-s = 33.8 req/s; two spares take 2.6; an odd GPU is no replica."""
    assert capacity.max_rate(52, 2, 0.5) == pytest.approx(33.8)
    assert capacity.max_rate(53, 2, 0.5) == pytest.approx(33.8)
    assert capacity.max_rate(26, 1, 0.5) == pytest.approx(33.8)
    assert capacity.max_rate(52, 2, 0.5, 0.65, 2) == pytest.approx(31.2)
    assert capacity.max_rate(4, 2, 0.5, 0.65, 2) == 0
    with pytest.raises(capacity.Infeasible, match=r"^3 spares are more than the 2 replicas of the fleet$"):
        capacity.max_rate(4, 2, 0.5, 0.65, 3)


def test_a_rate_is_what_the_plan_needs_the_fleet_for() -> None:
    """At the rate that 52 GPUs hold the plan needs just these; at a little more it needs the next replica."""
    rate = capacity.max_rate()
    assert rate == pytest.approx(26 * 0.65 / (16.6698 / 50), rel=1e-4)

    def gpus(req_per_s: float) -> float | str:
        return next(r.value for r in plan({"req_per_s": req_per_s}) if r.step.name == "gpus")

    assert [gpus(rate * x) for x in (1, 1.001)] == [52, 54]


@pytest.mark.parametrize(
    ("gpus", "node", "billed"), [(52, 8, 56), (56, 8, 56), (57, 8, 64), (0, 8, 0), (52, 1, 52), (3, 4, 4)]
)
def test_whole_nodes(gpus: int, node: int, billed: int) -> None:
    assert capacity.billed_gpus(gpus, node) == billed == math.ceil(gpus / node) * node


@pytest.mark.parametrize(
    ("gpus", "node", "tp", "nodes"),
    [
        (52, 8, 2, 7),  # 26 replicas, 4 to a node: 6.5
        (78, 8, 3, 13),  # 26 replicas, 2 to a node
        (75, 8, 3, 13),  # 25 replicas, 2 to a node: 12.5
        (130, 8, 5, 26),  # 26 replicas, 1 to a node, as with 6 and 7
        (156, 8, 6, 26),
        (182, 8, 7, 26),
        (208, 8, 8, 26),
        (312, 8, 12, 52),  # 26 replicas, each 12 / 8 rounded up: 2 nodes
        (16, 8, 16, 2),
        (0, 8, 3, 0),
        (16, 1, 4, 16),  # GPUs that are rented one by one
    ],
)
def test_a_node_holds_whole_replicas(gpus: int, node: int, tp: int, nodes: int) -> None:
    assert capacity.nodes(gpus, node, tp) == nodes
    assert capacity.billed_gpus(gpus, node, tp) == nodes * node
