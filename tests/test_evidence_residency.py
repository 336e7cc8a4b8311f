"""Tokens of KV cache against engines' start-up logs, and by hand."""

import csv
from pathlib import Path

import pytest

from capacity import catalogue
from capacity.cli import main
from capacity.errors import CapacityError
from capacity.evidence.residency import GIB, Memory, Split, memory, resident_tokens, weight_bytes

LOGS = Path(__file__).parents[1] / "capacity" / "data" / "kv_logs.csv"
FORMATS = {
    "bf16": "bf16",
    "fp16": "bf16",
    "fp8": "fp8",
    "int8": "fp8",
    "int4": "int4",
    "nvfp4": "fp4",
    "mxfp4": "mxfp4",
}
MODELS, GPUS = catalogue.models(), catalogue.gpus()


def logs() -> list[dict[str, str]]:
    with LOGS.open(encoding="utf-8", newline="") as file:
        return [line for line in csv.DictReader(file) if line["model_name"] in MODELS]


def split(line: dict[str, str]) -> Split:
    return Split(float(line["tp"]), float(line["pp"]), float(line["dp"]))


def kv(line: dict[str, str]) -> str:
    return "fp8" if line["kv_dtype"].startswith("fp8") else "bf16"


@pytest.mark.parametrize("line", [x for x in logs() if x["usable_for_2pct"] == "yes"], ids=lambda x: x["id"])
def test_tokens_from_the_memory_that_is_logged(line: dict[str, str]) -> None:
    """Within 2% for rows that are fit for the check."""
    context = float(line["max_model_len"]) if line["max_model_len"] else None
    for_kv = float(line["available_kv_gib_per_gpu"]) * GIB
    facts, engine = MODELS.row(line["model_name"]), line["engine"]
    found = resident_tokens(facts, for_kv, kv=kv(line), split=split(line), context=context, engine=engine)
    assert found == pytest.approx(float(line["kv_tokens"]), rel=0.02)


def test_memory_from_the_command_line() -> None:
    """Of rows with a known GPU and fraction that log the memory for KV, three quarters come within 10%."""
    ratios = {}
    for line in logs():
        gpu, logged = line["gpu_name"], line["available_kv_gib_per_gpu"]
        if gpu not in GPUS or not line["memory_fraction"] or line["quantisation"] not in FORMATS or not logged:
            continue
        if float(logged) <= 0:  # an engine that did not start
            continue
        found = memory(
            MODELS.row(line["model_name"]),
            GPUS.row(gpu),
            FORMATS[line["quantisation"]],
            engine=line["engine"],
            fraction=float(line["memory_fraction"]),
            split=split(line),
            usable=float(line["gpu_usable_gib"]) * GIB,
        )
        ratios[line["id"]] = found.for_kv / GIB / float(logged)
    near = [name for name, ratio in ratios.items() if abs(ratio - 1) <= 0.1]
    assert len(ratios) >= 12
    assert len(near) >= 0.75 * len(ratios), ratios


def test_vllm_by_hand() -> None:
    """Llama 3.1 8B in BF16 on an H100: 0.9 x 79.18 GiB less weights, 0.13 GiB and 1,024 x 128,256 x 38.6 B."""
    facts = MODELS.row("Llama-3.1-8B")
    found = memory(facts, GPUS.row("H100 SXM"), "bf16", fraction=0.9)
    weights = 2 * 8_030_261_248
    reserve = 0.13 * GIB + 38.6 * 1024 * 128_256
    assert found.weights == pytest.approx(weights, rel=1e-6)
    assert found.for_kv == pytest.approx(0.9 * 85.02e9 - weights - reserve, rel=1e-6)


def test_engines_take_the_fraction_differently() -> None:
    """SGLang leaves a share of all memory free; TensorRT-LLM takes a share of what is free after loading."""
    facts, gpu = MODELS.row("Llama-3.1-8B"), GPUS.row("H100 SXM")
    weights = 2 * 8_030_261_248
    sglang = memory(facts, gpu, "bf16", engine="sglang", fraction=0.8).for_kv
    assert sglang == pytest.approx(85.02e9 - weights - 2.1 * GIB - 0.2 * 85.02e9)
    trtllm = memory(facts, gpu, "bf16", engine="trtllm", fraction=0.8).for_kv
    assert trtllm == pytest.approx(0.8 * (85.02e9 - weights - 3.1 * GIB))


def test_experts_in_mxfp4_are_padded() -> None:
    """gpt-oss: 2,880 becomes 3,072, so its experts take a fifteenth more: 36 x 128 x 3 x 2,880^2 at 0.53125 B."""
    facts = MODELS.row("gpt-oss-120b")
    experts = float(facts["routed_expert_params"] or 0) * float(facts["native_expert_bytes_per_param"] or 0)
    plain = float(facts["weight_bytes_native"] or 0)
    assert weight_bytes(facts, "mxfp4") == pytest.approx(plain + experts / 15)


def test_attention_dp_has_a_cache_in_each_group() -> None:
    """DeepSeek-R1: 70,272 B per token on every rank; with TP 8 once, with attention-DP 8 eight times."""
    facts = MODELS.row("DeepSeek-R1")
    assert resident_tokens(facts, 70_272e5, split=Split(tp=8)) == pytest.approx(1e5)
    assert resident_tokens(facts, 70_272e5, split=Split(attention_dp=8)) == pytest.approx(8e5)


def test_windows_cost_less_per_token_in_long_sequences() -> None:
    """gpt-oss: half of the layers hold 128 tokens at most: at 1,280 tokens they cost a tenth of the others."""
    facts = MODELS.row("gpt-oss-120b")
    per_token = 18 * 2 * 8 * 64 * 2
    assert resident_tokens(facts, per_token * 1.1e6, context=1280) == pytest.approx(1e6)
    assert resident_tokens(facts, per_token * 2e6, context=64) == pytest.approx(1e6)


def test_pools_of_sglang_by_hand() -> None:
    """DeepSeek-V4-Pro: 62 x 58.4 + (30 / 4 + 31 / 128) x 584 + 30 x 33 + (30 x 10,240 / 16 + 31 x 4,096) / 10."""
    facts = MODELS.row("DeepSeek-V4-Pro")
    per_token = 3_620.8 + 4_521.4375 + 990 + (19_200 + 126_976) / 10
    assert resident_tokens(facts, per_token * 1e6, split=Split(tp=8), engine="sglang") == pytest.approx(1e6)
    assert resident_tokens(facts, per_token * 1e6, split=Split(tp=8, pp=2), engine="sglang") == pytest.approx(2e6)
    assert resident_tokens(facts, 1e9, engine="vllm") == resident_tokens(facts, 1e9) > 2 * 1e9 / per_token
    with pytest.raises(CapacityError, match="no engine is called 'ollama'"):
        resident_tokens(facts, 1e9, engine="ollama")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"engine": "ollama"}, "no engine is called 'ollama'; did you mean 'vllm'?"),
        ({"fraction": 1.2}, "fraction must be > 0 and <= 1: 1.2"),
        ({"quant": "bf16"}, "weights of 131.4 GiB and a reserve of 4.9 leave nothing for KV in 79.2 GiB"),
    ],
)
def test_what_does_not_do_is_said(change: dict[str, str], sentence: str) -> None:
    arguments = {"quant": "fp8", **change}
    with pytest.raises(CapacityError) as error:
        memory(MODELS.row("Llama-3.3-70B"), GPUS.row("H100 SXM"), **arguments)  # type: ignore[arg-type]  # texts and one number
    assert str(error.value) == sentence


def test_share_of_a_small_pool() -> None:
    assert Memory(80e9, 70e9, 6e9, 4e9).share == 0.05


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["residency", "--model", "Llama-3.1-8B", "--gpu", "H100 SXM", "--quant", "bf16"]
    assert main([*args, "--available", "3.81"]) == 0
    assert "31,212 tokens" in capsys.readouterr().out
    assert main([*args, "--fraction", "0.9"]) == 0
    printed = capsys.readouterr().out
    assert "for KV" in printed
    assert "51.45" in printed
    assert main([*args, "--tp", "0"]) == 2
    assert "tp must be a whole number >= 1: 0" in capsys.readouterr().err
