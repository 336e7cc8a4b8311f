"""Bytes of weights: by format, as a config's quantization stores them, and against sizes that others have seen."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from configs import CONFIGS, DATA, config

import capacity
from capacity.families import model_facts
from capacity.families.weights import FP4, INT4, MXFP4

GIB = 2**30

LLAMA_70B = 70_553_706_496
EMBEDDING = 128_256 * 8192  # the head has as many
NORMS = 80 * 2 * 8192 + 8192
MATRICES = LLAMA_70B - 2 * EMBEDDING - NORMS


def test_formats() -> None:
    """Quantization shrinks the matrices; embedding, head and norms stay in BF16."""
    plain = 2 * (2 * EMBEDDING + NORMS)
    assert model_facts(CONFIGS["Llama-3.3-70B"]).weight_bytes == {
        "bf16": 2 * LLAMA_70B,
        "fp8": LLAMA_70B,
        "fp8_bf16_head": MATRICES + plain,
        "int4": round(MATRICES * INT4 + plain),
        "fp4": MATRICES * FP4 + plain,
        "mxfp4": MATRICES * MXFP4 + plain,
        "native": 2 * LLAMA_70B,
    }
    assert round(model_facts(CONFIGS["Llama-3.3-70B"]).weight_bytes["fp8_bf16_head"] / 1e9, 1) == 72.7


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}


@pytest.mark.parametrize(
    ("name", "quantization", "form", "gib", "percent"),
    [
        pytest.param("Llama-3.3-70B", None, "fp8_bf16_head", 67.7, 0.1, id="start-up log of Llama-3.3-70B-FP8, TP 1"),
        pytest.param("Llama-3.1-8B", None, "native", 14.9888, 0.3, id="start-up log of Llama-3.1-8B, BF16"),
        pytest.param("Qwen3-8B", None, "native", 15.2683, 0.3, id="start-up log of Qwen3-8B, BF16"),
        pytest.param("Qwen3-32B", None, "native", 61.03, 0.1, id="start-up log of Qwen3-32B, BF16"),
        pytest.param("Llama-3.1-8B", None, "fp4", 5.6473, 1, id="start-up log of Llama-3.1-8B NVFP4"),
        pytest.param("Qwen2.5-72B", AWQ, "native", 2 * 19.3952, 1, id="start-up log of Qwen2.5-72B-AWQ, TP 2"),
        pytest.param("gpt-oss-120b", None, "native", 60.8, 0.1, id="model card of gpt-oss-120b"),
        pytest.param("gpt-oss-20b", None, "native", 12.8, 0.2, id="model card of gpt-oss-20b"),
        pytest.param("Kimi-K2.5", None, "native", 595e9 / GIB, 0.5, id="checkpoint of Kimi-K2.5: experts in INT4"),
    ],
)
def test_against_checkpoints(name: str, quantization: Any, form: str, gib: float, percent: float) -> None:
    """Sizes that engines logged (facts of 2026-11-29) or that model cards name."""
    fields = config(name)
    if quantization:
        fields["quantization_config"] = quantization
    assert model_facts(fields).weight_bytes[form] / GIB == pytest.approx(gib, rel=percent / 100)


@pytest.mark.parametrize(
    ("path", "hub", "beyond", "scales", "left_over"),
    [
        pytest.param(DATA / "Qwen3-235B-A22B-NVFP4" / "config.json", 132_806_618_624, 0, True, 0, id="Qwen3-235B"),
        pytest.param(
            CONFIGS["gemma-4-31B"], 20_868_591_152, 575_743_536, False, 2364, id="gemma-4-31B and its vision tower"
        ),
    ],
)
def test_what_is_quantized_is_exact(path: Any, hub: int, beyond: int, scales: bool, left_over: int) -> None:
    """The hub counts the elements of an NVFP4 checkpoint: two weights in each, and mostly a scale for each 16 weights.

    So its count says how many weights are quantized: exactly those of the matrices that the config does not exclude.
    """
    facts = model_facts(path)
    # native = FP4 x quantized + 2 x rest, and quantized + rest = total
    quantized = (2 * facts.total_params - facts.weight_bytes["native"]) / (2 - FP4)
    elements = quantized * (1 / 2 + (1 / 16 if scales else 0)) + (facts.total_params - quantized)
    assert elements + beyond - hub == left_over  # of 20.9e9 in Gemma, unexplained


SMALL: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "hidden_size": 128,
    "intermediate_size": 256,
    "moe_intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 2,
    "vocab_size": 1000,
    "mlp_only_layers": [0],
}
ATTENTION = 2 * 4 * 128 * 128
DENSE = 3 * 128 * 256
ROUTED = 8 * 3 * 128 * 128
HEAD = 128_000
REST = HEAD + 8 * 128 + 2 * (2 * 32 + 2 * 128) + 128  # embedding, router, norms
FLOAT4 = {"num_bits": 4, "type": "float", "group_size": 16}
INT4_G32 = {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}
LINEAR = ["Linear"]


NATIVE: list[tuple[dict[str, Any], float]] = [
    ({"quant_method": "fp8"}, ATTENTION + DENSE + ROUTED + 2 * (HEAD + REST)),
    (
        {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.mlp", "self_attn", "lm_head"]},
        2 * (ATTENTION + DENSE + HEAD + REST) + ROUTED,
    ),
    (
        {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1.self_attn.o_proj"]},
        2 * (HEAD + REST + 128 * 128) + ATTENTION - 128 * 128 + DENSE + ROUTED,
    ),
    ({"quant_method": "mxfp4"}, 2 * (ATTENTION + DENSE + HEAD + REST) + ROUTED * 17 / 32),
    # a scale of 2 bytes and a zero point of half a byte for each 128
    (AWQ, (ATTENTION + DENSE + ROUTED) * (0.5 + 2.5 / 128) + 2 * (HEAD + REST)),
    (
        {"quant_method": "gptq", "bits": 8, "group_size": -1, "dynamic": {r"-:.*\.experts\..*": {}}},
        ATTENTION + DENSE + 2 * (ROUTED + HEAD + REST),
    ),
    (
        {"quant_method": "gptq", "bits": 8, "group_size": 32, "lm_head": True},
        (ATTENTION + DENSE + ROUTED + HEAD) * (1 + 3 / 32) + 2 * REST,
    ),
    (
        {"quant_method": "compressed-tensors", "ignore": ["lm_head", "re:.*self_attn.*"]}
        | {"config_groups": {"group_0": {"targets": LINEAR, "weights": INT4_G32}}},
        (DENSE + ROUTED) * (0.5 + 2 / 32) + 2 * (ATTENTION + HEAD + REST),
    ),
    (
        {"quant_method": "compressed-tensors", "ignore": ["lm_head"]}
        | {"config_groups": {"group_0": {"targets": [r"re:.*mlp\..*_proj$"], "weights": FLOAT4}}},
        (DENSE + ROUTED) * FP4 + 2 * (ATTENTION + HEAD + REST),
    ),
    (
        {"quant_method": "compressed-tensors", "ignore": ["lm_head"]}
        | {"config_groups": {"group_0": {"targets": LINEAR, "weights": {"num_bits": 8, "type": "float"}}}},
        ATTENTION + DENSE + ROUTED + 2 * (HEAD + REST),
    ),
    (
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0*"]},
        (ATTENTION / 2 + ROUTED) * FP4 + 2 * (ATTENTION / 2 + DENSE + HEAD + REST),
    ),
    (
        {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]},
        ATTENTION + DENSE + ROUTED + 2 * (HEAD + REST),
    ),
    (
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "ignore": ["mtp*"]}
        | {"quantized_layers": {"model.layers.1.mlp.experts": {"quant_algo": "NVFP4"}}}
        | {"exclude_modules": None},
        2 * (ATTENTION + DENSE + HEAD + REST) + ROUTED * FP4,
    ),
    (
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
        | {
            "quantized_layers": {
                "model.layers.1.mlp.experts": {"quant_algo": "NVFP4"},
                "lm_head": {"quant_algo": "FP8"},
            }
        },
        2 * (ATTENTION + DENSE + REST) + HEAD + ROUTED * FP4,
    ),
]


@pytest.mark.parametrize(("quantization", "expected"), NATIVE)
def test_native(quantization: dict[str, Any], expected: float) -> None:
    """Each kind of quantization that checkpoints come with, derived by hand for a model of two layers."""
    facts = model_facts(SMALL | {"quantization_config": quantization})
    assert facts.total_params == ATTENTION + DENSE + ROUTED + HEAD + REST
    assert facts.weight_bytes["native"] == round(expected)


def objects(x: Any) -> Iterator[dict[str, Any]]:
    """All objects within an object."""
    if isinstance(x, dict):
        yield x
        for inner in x.values():
            yield from objects(inner)


@pytest.mark.parametrize("index", range(len(NATIVE)))
def test_any_field_wrong(index: int) -> None:
    """Whatever stands in a field: bytes, or the one family of errors."""
    for number, part in enumerate(objects(NATIVE[index][0])):
        for field in part:
            for wrong in (None, "x", -1, 0, 2.5, [], {}, ["x"], [1], {"x": "y"}, {"x": {"weights": {}}}):
                changed = copy.deepcopy(NATIVE[index][0])
                list(objects(changed))[number][field] = wrong
                with contextlib.suppress(capacity.ConfigError):
                    assert model_facts(SMALL | {"quantization_config": changed}).weight_bytes["native"] > 0


@pytest.mark.parametrize(
    ("changes", "name", "per_param"),
    [
        ({}, "bf16", 2),
        ({"torch_dtype": "float16"}, "bf16", 2),
        ({"dtype": "bfloat16"}, "bf16", 2),
        ({"torch_dtype": "float32"}, "fp32", 4),
    ],
)
def test_without_quantization(changes: dict[str, Any], name: str, per_param: int) -> None:
    facts = model_facts(SMALL | changes)
    assert (facts.native_quantization, facts.weight_bytes["native"]) == (name, per_param * facts.total_params)


def test_deepseek_v4_stores_experts_in_four_bits() -> None:
    """Beside FP8 for the other matrices; `expert_dtype` says so."""
    facts = model_facts(CONFIGS["DeepSeek-V4-Flash"])
    in_eight = model_facts(config("DeepSeek-V4-Flash", expert_dtype="fp8"))
    saved = in_eight.weight_bytes["native"] - facts.weight_bytes["native"]
    assert saved == round(facts.routed_expert_params * (1 - MXFP4))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"torch_dtype": "int3"}, "torch_dtype must be one of bfloat16, .*: 'int3'"),
        ({"quantization_config": {}}, "quantization_config.quant_method is missing: .*"),
        (
            {"quantization_config": {"quant_method": "gguf"}},
            "quantization_config.quant_method must be one of .*: 'gguf'",
        ),
        (
            {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP2"}},
            "quantization_config.quant_algo must be one of FP8, .*: 'FP2'",
        ),
        (
            {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": "lm_head"}},
            "quantization_config.modules_to_not_convert must be a list: 'lm_head'",
        ),
        ({"quantization_config": {"quant_method": "awq"}}, "quantization_config.bits is missing: .*"),
        (
            {"quantization_config": {"quant_method": "compressed-tensors", "config_groups": {}, "ignore": ["re:("]}},
            r"quantization_config must hold valid expressions: '\('",
        ),
    ],
)
def test_what_is_wrong_with_a_quantization(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(capacity.ConfigError, match=f"^{sentence}$"):
        model_facts(SMALL | changes)
