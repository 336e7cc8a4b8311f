"""Every figure of the worked example: as printed there, to the digits of its full-precision table, and to 1e-9.

The third comparison is an independent calculation in exact fractions, written from the equation, not from the code.
"""

import math
from fractions import Fraction

import pytest

import capacity
from capacity.plan import STEPS, plan

# step, the full-precision table's figure, the worked example's printed figure ("" where it prints none)
FIGURES = [
    ("prompt_tps", "150,000", "150,000"),
    ("output_tps", "20,000", "20,000"),
    ("prefill_us", "71.302", "71.3"),
    ("prefill_load", "10.695", "10.7"),
    ("ttft_floor_ms", "213.907", "214"),
    ("weights_gb", "35.277", "35.3"),
    ("kv_bytes_per_token", "327,680", "327,680"),
    ("context_tokens", "3,200", "3,200"),
    ("kv_gb_per_seq", "0.524288", "0.52"),
    ("kv_pool_gb", "91.443", "91.4"),
    ("max_seqs", "174", "174"),
    ("step_gb", "68.831", "68.8"),
    ("decode_step_ms", "19.120", "19.1"),
    ("replica_tps", "3,347.3", "3,347"),
    ("decode_load", "5.975", "6.0"),
    ("busy_replicas", "16.670", "16.7"),
    ("replicas", "26", "26"),
    ("gpus", "52", "52"),
    ("cost_per_hour", "182.00", "182"),
    ("usd_per_m_tokens", "2.5278", "2.53"),
    ("usd_per_m_tokens_all", "0.2974", "0.30"),
    ("tpot_worst_ms", "53.345", "53"),
    ("tpot_best_ms", "34.225", ""),
    ("overlap_needed", "0.098", ""),
]

# batch, step ms, GPUs, worst TPOT, best TPOT, $ per M output, verdict; then the printed step, worst TPOT and $
BATCHES = [
    (32, "14.459", 62, "31.572", "17.113", "3.014", "safe at any overlap", "14.5", "32", "3.01"),
    (64, "19.120", 52, "53.345", "34.225", "2.528", "needs a measurement", "19.1", "53", "2.53"),
    (128, "28.440", 48, "96.891", "68.450", "2.333", "fails", "28.4", "97", "2.33"),
    (192, "37.761", 46, "140.437", "102.675", "2.236", "fails", "37.8", "140", "2.24"),
]


def exact(
    *,
    req_per_s: Fraction = Fraction(50),
    prompt: Fraction = Fraction(3000),
    output: Fraction = Fraction(400),
    hit: Fraction = Fraction(0),
    batch: Fraction = Fraction(64),
    params: Fraction = Fraction(70_553_706_496),
) -> dict[str, Fraction]:
    """The worked example in SI units and exact fractions: parameters, bytes, seconds."""
    tp, peak, bandwidth, memory = Fraction(2), Fraction(1979) * 10**12, Fraction(48, 10) * 10**12, Fraction(141) * 10**9
    mfu, mbu, fraction, reserved, ceiling = (
        Fraction(1, 2),
        Fraction(3, 4),
        Fraction(92, 100),
        Fraction(3) * 10**9,
        Fraction(65, 100),
    )
    prefill_s = 2 * params / (tp * peak * mfu)
    weights, kv_token = params / tp, Fraction(2 * 80 * 8 * 128 * 2)
    kv_seq = (prompt + output / 2) * kv_token / tp
    pool = memory * fraction - reserved - weights
    step_bytes = weights + batch * kv_seq
    step_s = step_bytes / (bandwidth * mbu)
    prefill, decode = req_per_s * prompt * (1 - hit) * prefill_s, req_per_s * output * step_s / batch
    replicas = Fraction(math.ceil((prefill + decode) / ceiling))
    hourly = replicas * tp * Fraction(7, 2)
    return {
        "prompt_tps": req_per_s * prompt,
        "output_tps": req_per_s * output,
        "prefill_us": prefill_s * 10**6,
        "prefill_load": prefill,
        "ttft_floor_ms": prompt * (1 - hit) * prefill_s * 1000,
        "weights_gb": weights / 10**9,
        "kv_bytes_per_token": kv_token,
        "context_tokens": prompt + output / 2,
        "kv_gb_per_seq": kv_seq / 10**9,
        "kv_pool_gb": pool / 10**9,
        "max_seqs": Fraction(math.floor(pool / kv_seq)),
        "step_gb": step_bytes / 10**9,
        "decode_step_ms": step_s * 1000,
        "replica_tps": batch / step_s,
        "decode_load": decode,
        "busy_replicas": prefill + decode,
        "replicas": replicas,
        "gpus": replicas * tp,
        "cost_per_hour": hourly,
        "usd_per_m_tokens": hourly / (req_per_s * output * 3600) * 10**6,
        "usd_per_m_tokens_all": hourly / (req_per_s * (prompt + output) * 3600) * 10**6,
        "tpot_worst_ms": step_s * 1000 * (prefill + decode) / decode,
        "tpot_best_ms": step_s * 1000 * max(prefill, decode) / decode,
        "overlap_needed": max(Fraction(0), 1 - (Fraction(50) / (step_s * 1000) * decode - decode) / prefill),
        "request_replica_s": prompt * (1 - hit) * prefill_s + output * step_s / batch,
    }


def printed(value: float | Fraction, like: str) -> str:
    """The value with as many decimals as the figure that it is compared with."""
    return f"{float(value):,.{len(like.partition('.')[2])}f}"


def values(**inputs: float) -> dict[str, float | str]:
    return {r.step.name: r.value for r in plan(inputs)}


def assert_exact(found: dict[str, float | str], expected: dict[str, Fraction]) -> None:
    numbers = {name: value for name, value in found.items() if not isinstance(value, str)}
    assert numbers.keys() == expected.keys()
    for name, value in numbers.items():
        assert value == pytest.approx(float(expected[name]), rel=1e-9), name


@pytest.mark.parametrize(("name", "figure", "seed"), FIGURES)
def test_worked_example(name: str, figure: str, seed: str) -> None:
    """Each step shows the table's digits, and the printed figure where the worked example prints one."""
    value = values()[name]
    assert printed(value, figure) == figure
    assert not seed or printed(value, seed) == seed


def test_worked_example_exactly() -> None:
    assert_exact(values(), exact())


def test_every_step_is_compared() -> None:
    """No step of the plan is left out of the table above but the verdict and the work of the mean request."""
    assert {s.name for s in STEPS} - {name for name, _, _ in FIGURES} == {"tpot_verdict", "request_replica_s"}


def test_printed_figures_of_the_plan() -> None:
    """What a step claims that the worked example prints is what it prints."""
    seeds = {name: seed for name, _, seed in FIGURES} | {"tpot_verdict": "needs a measurement", "request_replica_s": ""}
    for step in STEPS:
        claimed = step.prints if isinstance(step.prints, str | None) else f"{step.prints:,.{step.digits}f}"
        assert (claimed or "") == seeds[step.name], step.name


def test_figures_between_the_steps() -> None:
    """Figures of the worked example that stand inside a line."""
    v = values()
    assert printed(v["kv_bytes_per_token"] / 2, "163,840") == "163,840"
    assert printed(v["busy_replicas"] / 0.65, "25.647") == "25.647"
    assert printed(v["prefill_load"] / v["busy_replicas"] * 100, "64") == "64"
    assert printed(v["usd_per_m_tokens"] / v["usd_per_m_tokens_all"], "8.5") == "8.5"


@pytest.mark.parametrize(
    ("batch", "step", "gpus", "worst", "best", "dollars", "verdict", "seed_step", "seed_worst", "seed_dollars"), BATCHES
)
def test_batch_table(
    batch: int,
    step: str,
    gpus: int,
    worst: str,
    best: str,
    dollars: str,
    verdict: str,
    seed_step: str,
    seed_worst: str,
    seed_dollars: str,
) -> None:
    """The TPOT table, a line per batch, to its digits and as printed."""
    v = values(batch=batch)
    assert_exact(v, exact(batch=Fraction(batch)))
    assert [printed(v["decode_step_ms"], x) for x in (step, seed_step)] == [step, seed_step]
    assert v["gpus"] == gpus
    assert [printed(v["tpot_worst_ms"], x) for x in (worst, seed_worst)] == [worst, seed_worst]
    assert printed(v["tpot_best_ms"], best) == best
    assert [printed(v["usd_per_m_tokens"], x) for x in (dollars, seed_dollars)] == [dollars, seed_dollars]
    assert v["tpot_verdict"] == verdict
    assert (batch > v["max_seqs"]) == (batch == 192)  # only 192 overflows the pool


def test_two_requests() -> None:
    """A long prompt with a short answer costs 6.9 times a short turn with a long one."""
    rag = capacity.request_replica_s(30_000, 50, capacity.prefill_us(), capacity.replica_tps())
    chat = capacity.request_replica_s(200, 1_000, capacity.prefill_us(), capacity.replica_tps())
    assert [f"{rag:.3f}", f"{chat:.3f}", f"{rag / chat:.1f}"] == ["2.154", "0.313", "6.9"]
    assert [f"{rag:.2f}", f"{chat:.2f}"] == ["2.15", "0.31"]


def test_half_of_the_prompt_cached() -> None:
    """A 50% prefix hit halves the first term: 36 GPUs."""
    v = values(cache_hit=0.5)
    assert_exact(v, exact(hit=Fraction(1, 2)))
    assert (f"{v['prefill_load']:.3f}", v["gpus"]) == ("5.348", 36)


def test_rounded_parameters() -> None:
    """70.55 billion instead of all digits shows in the third decimal."""
    assert f"{capacity.prefill_us(70.55, 2, 1979):.3f}" == "71.299"
    assert_exact(values(params_b=70.55), exact(params=Fraction(70_550_000_000)))


def test_functions_without_arguments() -> None:
    """Each function without an argument answers the plan's step, bit for bit."""
    v = values()
    for step in STEPS:
        if step.name != "usd_per_m_tokens_all":  # the same function for another denominator
            assert step.function.public() == v[step.name], step.name
