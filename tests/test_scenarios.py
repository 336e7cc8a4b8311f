"""Five models on the hardware that teams run them on, derived by hand; six of them in the workbook, in four ways.

Facts of a model are the figures of its config.json, and what a matrix holds is written out. What follows from them
(`Hand`) is the field notes' arithmetic once more, in bytes, FLOPs and seconds, with no function of the package.
"""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from office import Office
from sheets import Case, FourWays, agree, engines_differ, in_four_ways, programs_differ, value

import capacity
from capacity.refined import SWITCHES, refined_plan
from capacity.selection import chosen
from workbook.sheets import refined

MFU, MBU = 0.5, 0.75
PROMPT, OUTPUT = 3_000, 400
CONTEXT = 3_000 + 400 / 2
ON = dict.fromkeys(("active_params", "kv_layout", "coverage", "stored_weights"), True)


class Model(NamedTuple):
    """What a config says, multiplied out."""

    layers: int  # matrices of all layers and the last norm, without routed experts, embedding and head
    experts: int  # all routed experts
    table: int  # the embedding; the head has the same size
    kv_bytes: int  # per token in BF16: what grows
    windowed_bytes: int = 0
    window: int = 0
    chosen: int = 1
    of: int = 1
    tied: bool = False  # the embedding is the head
    replicated: bool = False  # the cache is the same on every rank


class Rig(NamedTuple):
    """A GPU of the catalogue, how many of them, and how the weights are stored."""

    gpu: str
    count: int
    quant: str
    weight_bytes: float
    peak: float  # FLOP/s at that format, dense
    bandwidth: float  # B/s
    memory: float  # B, as the vendor prints it
    batch: int


class Scenario(NamedTuple):
    """A model on a rig, with the figures that come out to the digits shown."""

    model: Model
    rig: Rig
    prints: dict[str, str]


DEEPSEEK_R1 = Model(
    layers=61
    * (
        (7_168 * 1_536 + 1_536)  # queries down to rank 1,536, its norm
        + 1_536 * 128 * (128 + 64)  # and up to 128 heads of 128 + 64 for the positions
        + (7_168 * (512 + 64) + 512)  # keys and values down to rank 512, with 64 for the positions
        + 512 * 128 * (128 + 128)  # and up
        + 128 * 128 * 7_168  # out
        + 2 * 7_168  # norms
    )
    + 3 * 3 * 7_168 * 18_432  # the first three layers are dense
    + 58 * (3 * 7_168 * 2_048 + 256 * 7_168 + 256)  # the others: a shared expert, the router and its bias
    + 7_168,
    experts=58 * 256 * 3 * 7_168 * 2_048,
    table=129_280 * 7_168,
    kv_bytes=61 * (512 + 64) * 2,
    chosen=8,
    of=256,
    replicated=True,
)
GPT_OSS_120B = Model(
    layers=36
    * (
        2_880 * (64 * 64 + 2 * 8 * 64)  # queries of 64 heads, keys and values of 8, each of 64
        + (64 * 64 + 2 * 8 * 64)  # with a bias
        + (64 * 64 * 2_880 + 2_880)  # out
        + 64  # sinks
        + (128 * 2_880 + 128)  # router
        + 2 * 2_880
    )
    + 2_880,
    experts=36 * 128 * ((2_880 * 2 * 2_880 + 2 * 2_880) + (2_880 * 2_880 + 2_880)),
    table=201_088 * 2_880,
    kv_bytes=18 * 2 * 8 * 64 * 2,  # every other layer
    windowed_bytes=18 * 2 * 8 * 64 * 2,
    window=128,
    chosen=4,
    of=128,
)
LLAMA_8B = Model(
    layers=32 * (4_096 * (4_096 + 2 * 8 * 128) + 4_096 * 4_096 + 3 * 4_096 * 14_336 + 2 * 4_096) + 4_096,
    experts=0,
    table=128_256 * 4_096,
    kv_bytes=32 * 2 * 8 * 128 * 2,
)
QWEN3_235B = Model(
    layers=94
    * (4_096 * 128 * (64 + 2 * 4) + 64 * 128 * 4_096 + 2 * 128 + 128 * 4_096 + 2 * 4_096)  # 2 x 128: norms of q and k
    + 4_096,
    experts=94 * 128 * 3 * 4_096 * 1_536,
    table=151_936 * 4_096,
    kv_bytes=94 * 2 * 4 * 128 * 2,
    chosen=8,
    of=128,
)
GEMMA_27B = Model(
    layers=62 * (5_376 * 128 * (32 + 2 * 16) + 32 * 128 * 5_376 + 2 * 128 + 3 * 5_376 * 21_504 + 4 * 5_376) + 5_376,
    experts=0,
    table=262_208 * 5_376,
    kv_bytes=10 * 2 * 16 * 128 * 2,  # every sixth of 62 layers
    windowed_bytes=52 * 2 * 16 * 128 * 2,
    window=1_024,
    tied=True,
)

SCENARIOS = {
    "DeepSeek-R1": Scenario(
        DEEPSEEK_R1,
        Rig("H200 SXM", 8, "fp8", 1, 1_979e12, 4.8e12, 141e9, batch=64),
        {
            "total_b": "671.026",
            "active_b": "36.626",
            "weights_gb": "84.11",
            "kv_bytes_per_token": "70,272",
            "kv_gb_per_seq": "0.2249",
            "max_seqs": "189",
            "prefill_us": "9.02",
            "expert_coverage": "0.869",
            "decode_step_ms": "24.32",
        },
    ),
    "gpt-oss-120b": Scenario(
        GPT_OSS_120B,
        Rig("H100 SXM", 1, "mxfp4", 0.53125, 989e12, 3.35e12, 80e9, batch=32),
        {
            "total_b": "116.829",
            "active_b": "5.133",
            "weights_gb": "63.77",
            "kv_bytes_per_token": "36,864",
            "kv_gb_per_seq": "0.1227",
            "max_seqs": "55",
            "prefill_us": "18.42",
            "expert_coverage": "0.638",
            "decode_step_ms": "17.70",
        },
    ),
    "Llama-3.1-8B": Scenario(
        LLAMA_8B,
        Rig("L40S", 1, "bf16", 2, 362e12, 0.864e12, 48e9, batch=32),
        {
            "total_b": "8.030",
            "active_b": "7.505",
            "weights_gb": "16.06",
            "kv_bytes_per_token": "131,072",
            "kv_gb_per_seq": "0.4194",
            "max_seqs": "59",
            "prefill_us": "77.12",
            "expert_coverage": "1",
            "decode_step_ms": "43.88",
        },
    ),
    "Qwen3-235B-A22B": Scenario(
        QWEN3_235B,
        Rig("B200", 4, "fp8", 1, 4_500e12, 8e12, 180e9, batch=64),
        {
            "total_b": "235.094",
            "active_b": "21.568",
            "weights_gb": "59.08",
            "kv_bytes_per_token": "192,512",
            "kv_gb_per_seq": "0.1540",
            "max_seqs": "672",
            "prefill_us": "4.65",
            "expert_coverage": "0.984",
            "decode_step_ms": "11.29",
        },
    ),
    "gemma-3-27b": Scenario(
        GEMMA_27B,
        Rig("A100 80GB SXM", 2, "bf16", 2, 312e12, 2.039e12, 80e9, batch=64),
        {
            "total_b": "27.009",
            "active_b": "27.009",
            "weights_gb": "27.01",
            "kv_bytes_per_token": "81,920",
            "kv_gb_per_seq": "0.3492",
            "max_seqs": "124",
            "prefill_us": "164.10",
            "expert_coverage": "1",
            "decode_step_ms": "32.28",
        },
    ),
}


class Hand:
    """The figures of a scenario by hand, in the units of the plan."""

    def __init__(self, m: Model, rig: Rig) -> None:
        embedding = 0 if m.tied else m.table
        share = m.chosen / m.of
        self.total_b = (m.layers + m.experts + embedding + m.table) / 1e9
        self.active_b = (m.layers + m.experts * share + m.table) / 1e9
        # embedding and head stay in BF16
        stored = (m.layers + m.experts) * rig.weight_bytes + (embedding + m.table) * 2
        self.weights_gb = stored / rig.count / 1e9
        self.kv_bytes_per_token = m.kv_bytes
        self.held = m.kv_bytes * CONTEXT + m.windowed_bytes * min(CONTEXT, m.window)
        on_one_gpu = self.held if m.replicated else self.held / rig.count
        self.kv_gb_per_seq = on_one_gpu / 1e9
        pool = rig.memory * 0.92 - 3e9 - stored / rig.count
        self.max_seqs = pool // on_one_gpu
        # the head runs once per prompt, the embedding is a look-up
        self.prefill_us = 2 * (m.layers + m.experts * share) / (rig.count * rig.peak * MFU) * 1e6
        self.expert_coverage = 1 - (1 - share) ** rig.batch
        read = (m.layers + m.experts * self.expert_coverage) * rig.weight_bytes + m.table * 2
        moved = read / rig.count + rig.batch * on_one_gpu
        self.decode_step_ms = moved / (rig.bandwidth * MBU) * 1e3


def given(name: str) -> dict[str, float]:
    """The inputs of a scenario, chosen by name."""
    rig = SCENARIOS[name].rig
    return chosen(name, rig.gpu, quant=rig.quant, tp=rig.count) | {"batch": float(rig.batch)}


def rows(name: str) -> dict[str, Any]:
    return {row: value(x) for row, x in refined_plan(given(name), ON).items()}


NAMES = pytest.mark.parametrize("name", SCENARIOS)


@NAMES
def test_figures_by_hand(name: str) -> None:
    """The arithmetic above comes to the figures beside it."""
    model, rig, prints = SCENARIOS[name]
    for figure, text in prints.items():
        assert f"{vars(Hand(model, rig))[figure]:,.{len(text.partition('.')[2])}f}" == text, figure


@NAMES
def test_the_refined_chain_gives_them(name: str) -> None:
    hand, found, inputs = vars(Hand(*SCENARIOS[name][:2])), rows(name), given(name)
    found |= {"total_b": inputs["params_b"], "active_b": inputs["active_params_b"]}
    found |= {"kv_bytes_per_token": found["kv_full_typed"]}
    found |= {"held": found["kv_mean_bytes"] * CONTEXT}
    for figure, x in hand.items():
        assert found[figure] == pytest.approx(x, rel=1e-12), figure


@NAMES
def test_the_plan_in_one_cell_gives_them(name: str) -> None:
    """It has the cache by architecture, and active parameters for a mixture of experts."""
    model, rig, _ = SCENARIOS[name]
    hand = Hand(model, rig)

    def ask(what: str) -> Any:
        return capacity.plan_for(what, name, rig.gpu, 10, PROMPT, OUTPUT, rig.count, rig.batch, rig.quant)

    assert ask("kv_gb_per_seq") == pytest.approx(hand.kv_gb_per_seq, rel=1e-12)
    assert ask("kv_bytes_per_token") == pytest.approx(hand.held / CONTEXT, rel=1e-12)
    assert ask("weights_gb") == pytest.approx(hand.total_b * rig.weight_bytes / rig.count, rel=1e-12)
    # dense models as the worked example has them: with embedding and head
    multiplied_b = hand.total_b if model.of == 1 else (model.layers + model.experts * model.chosen / model.of) / 1e9
    flops = 2 * multiplied_b * 1e9
    assert ask("prefill_us") == pytest.approx(flops / (rig.count * rig.peak * MFU) * 1e6, rel=1e-12)


def test_latent_attention_is_held_by_every_rank() -> None:
    """DeepSeek-R1: more GPUs hold less of the weights each, and the same cache; with attention-DP its share of it."""
    for tp in (1, 8, 16):
        inputs = given("DeepSeek-R1") | {"tp": tp}
        assert value(refined_plan(inputs, ON)["kv_gb_per_seq"]) == pytest.approx(70_272 * CONTEXT / 1e9)
    apart = refined_plan(given("DeepSeek-R1") | {"attention_dp": 8}, ON | {"parallelism": True})
    assert value(apart["kv_gb_per_seq"]) == pytest.approx(70_272 * CONTEXT / 8 / 1e9)


def test_windowed_layers_have_their_own_copies() -> None:
    """gemma-4-31B at TP 8: a KV head of the full layers is on two GPUs (4 heads), one of the others on one (16)."""
    full, windowed = 10 * 2 * 4 * 512 * 2 * CONTEXT, 50 * 2 * 16 * 256 * 2 * 1_024
    inputs = chosen("gemma-4-31B", "H200 SXM", tp=8)
    assert value(refined_plan(inputs, ON)["kv_gb_per_seq"]) == pytest.approx((full * 2 + windowed) / 8 / 1e9)


def test_a_window_stops_growing() -> None:
    """gemma-3-27b: within the window all 62 layers grow, beyond it 10 of them."""
    for prompt in (500, 1_000_000):
        inputs = given("gemma-3-27b") | {"prompt_tokens": prompt, "output_tokens": 0}
        held = 81_920 * prompt + 425_984 * min(prompt, 1_024)
        assert value(refined_plan(inputs, ON)["kv_gb_per_seq"]) == pytest.approx(held / 2 / 1e9)


def case(model: str, gpu: str, quant: str, tp: float, *switches: str) -> Case:
    return chosen(model, gpu, quant=quant, kv="bf16", tp=tp), dict.fromkeys(switches, True)


CASES: dict[str, Case] = {
    **{f"{name}, by hand": (given(name), ON) for name in ("DeepSeek-R1", "gpt-oss-120b")},
    "Llama-3.1-8B on L40S": case("Llama-3.1-8B", "L40S", "fp8", 1, "fixed_time", "efficiencies"),
    "Qwen3-235B on B200": case("Qwen3-235B-A22B", "B200", "fp8", 4, *SWITCHES),
    "gemma-3 on A100": case("gemma-3-27b", "A100 80GB SXM", "bf16", 2, "kv_layout", "usable_memory", "peak_residency"),
    "Qwen3-Next on H200 NVL": case("Qwen3-Next-80B-A3B", "H200 NVL", "bf16", 8, *SWITCHES),
}
ALL = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def four_ways(template: Path, office_with_addin: Office, office_without_addin: Office) -> FourWays:
    return in_four_ways(template, office_with_addin, office_without_addin, CASES)


@ALL
def test_the_workbook_agrees_in_two_programs(name: str, four_ways: FourWays) -> None:
    assert not programs_differ(four_ways, name)


@ALL
def test_the_workbook_agrees_with_and_without_the_functions(name: str, four_ways: FourWays) -> None:
    assert not engines_differ(four_ways, name)


@ALL
def test_the_workbook_has_the_rows_of_the_chain(name: str, four_ways: FourWays) -> None:
    for row, x in refined_plan(*CASES[name]).items():
        for way in four_ways.values():
            assert agree(way[name]["Refined", f"F{refined.ROWS[row]}"], value(x)), row


@pytest.mark.parametrize("name", ["DeepSeek-R1", "gpt-oss-120b"])
def test_the_workbook_gives_the_figures_by_hand(name: str, four_ways: FourWays) -> None:
    hand = Hand(*SCENARIOS[name][:2])
    for row in ("weights_gb", "kv_gb_per_seq", "max_seqs", "prefill_us", "expert_coverage", "decode_step_ms"):
        for way in four_ways.values():
            assert agree(way[f"{name}, by hand"]["Refined", f"F{refined.ROWS[row]}"], getattr(hand, row)), row
