"""Models counted from their config.json: exact to the unit, or one sentence that says which field is wrong."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from configs import CATALOGUE, CONFIGS, DATA, config, rows, small, text_fields

import capacity
from capacity.families import FAMILIES, ModelFacts, model_facts

EXPECTED = {row["name"]: row for row in rows("models_expected")}
HUB = [pytest.param(row, id=row["name"]) for row in rows("hub")]
SMALL = dict(small())

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_attention_heads": 8,
    "num_hidden_layers": 2,
    "vocab_size": 1000,
}


def columns(facts: ModelFacts) -> dict[str, str]:
    """The facts as models_expected.csv spells those that it has."""
    return {
        "total_params": str(facts.total_params),
        "active_params": str(facts.active_params),
        "routed_expert_params": str(facts.routed_expert_params),
        "num_hidden_layers": str(facts.layers),
        "embedding_params": str(facts.embedding_params),
        "mtp_params": str(facts.mtp_params or ""),
        "kv_bytes_per_token_full": str(facts.kv_bytes_per_token),
        "kv_bytes_per_token_windowed": str(facts.kv_bytes_per_token_windowed),
        "kv_window_tokens": str(facts.kv_window_tokens or ""),
        "state_bytes_per_sequence": str(facts.state_bytes_per_sequence),
        "n_experts": str(facts.n_experts or ""),
        "experts_per_token": str(facts.experts_per_token or ""),
        "linear_attention_layers": str(facts.linear_attention_layers),
        "mtp_layers": str(facts.mtp_layers),
        "tie_word_embeddings": str(facts.tie_word_embeddings),
        "vocab_size": str(facts.vocab_size),
    }


def test_the_configs_are_those_of_the_catalogue() -> None:
    assert set(CATALOGUE) == set(EXPECTED)
    assert len(CATALOGUE) == 38


@pytest.mark.parametrize("name", CATALOGUE)
def test_exact(name: str) -> None:
    """Parameters, cache and state of the 38 models to the unit, from the file and from its fields."""
    facts = model_facts(CATALOGUE[name])
    found = columns(facts)
    assert found == {column: EXPECTED[name][column] for column in found}
    assert facts.first_dense_layers == int(EXPECTED[name]["first_dense_layers"] or 0)
    assert model_facts(config(name)) == facts


@pytest.mark.parametrize("row", HUB)
def test_the_hub_counts_the_same(row: dict[str, str]) -> None:
    """Where the hub's own count of a checkpoint is known, nothing is left over."""
    facts = model_facts(CONFIGS[row["name"]])
    params = facts.total_params + int(row["vision_params"] or 0)
    if "mtp" in row["includes"]:
        params += facts.mtp_params
    if "copies" in row["includes"]:
        params += facts.embedding_params + facts.lm_head_params
    assert params == int(row["hub_params"])


def test_every_family_is_counted_somewhere() -> None:
    """Each family's function is run by a model of the tests."""
    counted = {FAMILIES[text_fields(config(name)).get("model_type", "")].layer for name in CONFIGS}
    assert {family.layer.__name__ for family in FAMILIES.values()} - {f.__name__ for f in counted} == {"gemma2", "phi3"}


# model type, fields -> expected facts, derived by hand or from the hub's count
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"model_type": "gemma2", "hidden_size": 4608, "intermediate_size": 36864, "num_attention_heads": 32}
            | {"num_hidden_layers": 46, "num_key_value_heads": 16, "head_dim": 128, "vocab_size": 256000},
            {"total_params": 27_227_128_320, "tie_word_embeddings": True, "lm_head_params": 0}
            | {"kv_bytes_per_token": 23 * 2 * 16 * 128 * 2, "kv_bytes_per_token_windowed": 23 * 2 * 16 * 128 * 2}
            | {"kv_window_tokens": 4096, "active_params": 27_227_128_320},
            id="gemma-2-27b: the embedding is the head, every second layer has a window",
        ),
        pytest.param(
            {"model_type": "phi3", "hidden_size": 5120, "intermediate_size": 17920, "num_attention_heads": 40}
            | {"num_hidden_layers": 40, "num_key_value_heads": 10, "sliding_window": None, "vocab_size": 100352},
            {"total_params": 14_659_507_200, "kv_bytes_per_token": 204_800, "kv_window_tokens": None},
            id="phi-4",
        ),
        pytest.param(
            {"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32}
            | {"num_hidden_layers": 32, "num_key_value_heads": 8, "sliding_window": None, "vocab_size": 32768},
            {"total_params": 7_248_023_552, "kv_bytes_per_token": 131_072, "kv_bytes_per_token_windowed": 0},
            id="Mistral-7B-v0.3: a null is no window",
        ),
        pytest.param(
            {"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32}
            | {"num_hidden_layers": 32, "vocab_size": 32000},
            {"kv_bytes_per_token": 0, "kv_bytes_per_token_windowed": 131_072, "kv_window_tokens": 4096},
            id="mistral: left out, there are 8 heads of keys and a window of 4,096",
        ),
        pytest.param(
            {"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 27648, "num_attention_heads": 40}
            | {"num_hidden_layers": 64, "num_key_value_heads": 8, "vocab_size": 152064, "sliding_window": 131072},
            {"total_params": 32_763_876_352, "kv_bytes_per_token": 262_144, "kv_window_tokens": None},
            id="Qwen2.5-32B: the window is not in use",
        ),
        pytest.param(
            {"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
            | {"num_hidden_layers": 6, "num_key_value_heads": 4, "vocab_size": 100, "sliding_window": 32}
            | {"use_sliding_window": True, "max_window_layers": 4},
            {"full_attention_layers": 4, "windowed_attention_layers": 2, "kv_window_tokens": 32},
            id="qwen2: the window in use, in the layers after the first four",
        ),
        pytest.param(
            {
                "model_type": "gemma3",
                "text_config": {"model_type": "gemma3_text", "hidden_size": 2560}
                | {"intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024},
            },
            {"total_params": 4_300_079_472 - 419_816_304, "vocab_size": 262_208, "head_dim": 256}
            | {"num_attention_heads": 8, "full_key_value_heads": 4, "full_attention_layers": 5},
            id="gemma-3-4b: heads and vocabulary left out; the hub counts a vision tower of 419,816,304 more",
        ),
        pytest.param(
            {"model_type": "kimi_linear", "hidden_size": 2304, "num_hidden_layers": 27, "num_attention_heads": 32}
            | {"kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
            | {"v_head_dim": 128, "moe_intermediate_size": 1024, "num_experts": 256, "num_experts_per_token": 8}
            | {"num_shared_experts": 1, "intermediate_size": 9216, "vocab_size": 163840, "first_k_dense_replace": 1}
            | {
                "linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128}
                | {"num_heads": 32, "short_conv_kernel_size": 4}
            },
            {"total_params": 49_122_681_728, "kv_bytes_per_token": 7 * 576 * 2, "kv_replicated_per_rank": True}
            | {"state_bytes_per_sequence": 20 * (32 * 128 * 128 * 4 + 3 * 32 * 128 * 3 * 2)},
            id="Kimi-Linear-48B",
        ),
        pytest.param(
            LLAMA,
            # embedding and head, then per layer four attention matrices of 64 x 64, three of 64 x 160 and two norms
            {"total_params": 2 * 64_000 + 2 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64) + 64, "head_dim": 8}
            | {"kv_bytes_per_token": 2 * 2 * 8 * 8 * 2, "lm_head_params": 64_000, "attention_width": 2 * 64},
            id="llama: as many heads of keys as of queries",
        ),
        pytest.param(
            LLAMA | {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 2},
            {
                "total_params": 2 * 64_000
                + 64
                + 2 * (2 * 64 * 64 + 2 * 16 * 64 + 3 * 64 * 160 + 2 * 64)
                + 2 * (64 + 2 * 16 + 64 + 2 * 160 + 64)
            },
            id="llama with biases",
        ),
        pytest.param(
            {"model_type": "some_wrapper", "tie_word_embeddings": True, "text_config": LLAMA},
            {"total_params": 64_000 + 2 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64) + 64, "tie_word_embeddings": True},
            id="tied by the wrapper",
        ),
        pytest.param(
            {"model_type": "some_wrapper", "text_config": LLAMA | {"tie_word_embeddings": True}},
            {"tie_word_embeddings": True, "active_params": 64_000 + 2 * (4 * 64 * 64 + 3 * 64 * 160 + 2 * 64) + 64},
            id="tied by the text model: the one matrix counts as head",
        ),
    ],
)
def test_defaults(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    """What a config leaves out is what the family's modeling code takes."""
    facts = model_facts(fields)
    assert {name: getattr(facts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("DeepSeek-V3.2", {}, {"indexer_bytes_per_token": 61 * 132, "kv_bytes_per_token": 70_272}),
        ("GLM-5.2", {}, {"indexer_bytes_per_token": 21 * 132, "kv_bytes_per_token": 89_856}),
        ("GLM-5.2", {"indexer_types": None}, {"indexer_bytes_per_token": 21 * 132, "total_params": 743_377_019_904}),
        ("GLM-5", {}, {"indexer_bytes_per_token": 78 * 132}),
        ("DeepSeek-V4-Pro", {}, {"indexer_bytes_per_token": 30 * 132 // 4, "kv_replicated_per_rank": True}),
        ("DeepSeek-R1", {"q_lora_rank": None}, {"kv_bytes_per_token": 70_272, "attention_width": 61 * 128 * 160}),
        ("gpt-oss-120b", {"layer_types": None}, {"full_attention_layers": 18, "windowed_attention_layers": 18}),
        ("gemma-4-31B", {}, {"full_key_value_heads": 4, "windowed_key_value_heads": 16, "num_key_value_heads": 16}),
        ("MiMo-V2-Flash", {}, {"full_key_value_heads": 4, "windowed_key_value_heads": 8, "kv_window_tokens": 128}),
        ("MiniMax-M3", {}, {"first_dense_layers": 3, "moe_layers": 57, "shared_experts": 1}),
        ("Llama-4-Maverick-17B-128E", {}, {"moe_layers": 24, "dense_ffn_layers": 24, "full_attention_layers": 12}),
        ("Nemotron-H-56B", {}, {"full_attention_layers": 10, "linear_attention_layers": 54, "dense_ffn_layers": 54}),
        ("Kimi-K2.5", {}, {"total_params": 1_026_408_232_448, "kv_replicated_per_rank": True, "mtp_layers": 0}),
        ("Mixtral-8x7B", {"sliding_window": 4096}, {"kv_bytes_per_token": 0, "kv_window_tokens": 4096}),
        ("Mistral-7B-v0.1", {"sliding_window": 32768}, {"kv_bytes_per_token": 131_072, "kv_window_tokens": None}),
        ("Qwen3-30B-A3B", {"mlp_only_layers": [0, 1]}, {"moe_layers": 46, "first_dense_layers": 2}),
        ("Qwen3-30B-A3B", {"decoder_sparse_step": 2}, {"moe_layers": 24, "dense_ffn_layers": 24}),
    ],
)
def test_shapes(name: str, changes: dict[str, Any], expected: dict[str, Any]) -> None:
    """Facts that the tables of expected counts do not have, some for a changed config."""
    facts = model_facts(config(name, **changes))
    assert {key: getattr(facts, key) for key in expected} == expected


def test_the_dictionary() -> None:
    """The keys that `capacity model --json` prints, and no window where there is none."""
    facts = capacity.model_facts(CATALOGUE["Llama-3.3-70B"]).as_dict()
    assert list(facts) == [
        *("total_params", "active_params", "routed_expert_params", "layers"),
        *("kv_bytes_per_token", "kv_bytes_per_token_windowed", "kv_window_tokens", "state_bytes_per_sequence"),
        *("indexer_bytes_per_token", "kv_replicated_per_rank", "weight_bytes"),
    ]
    assert list(facts["weight_bytes"]) == ["bf16", "fp8", "fp8_bf16_head", "int4", "fp4", "mxfp4", "native"]
    assert (facts["kv_window_tokens"], facts["kv_replicated_per_rank"]) == (None, False)
    assert json.loads(json.dumps(facts)) == facts


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "model_type is missing: a config of a model needs it"),
        ({"model_type": "gpt2"}, "model_type must be one of deepseek_v3, .*: 'gpt2'"),
        ({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text"}}, "text_config.model_type must be .*"),
        (LLAMA | {"model_type": 3}, "model_type must be a text: 3"),
        (LLAMA | {"hidden_size": None}, "hidden_size is missing: a config of llama needs it"),
        (LLAMA | {"num_hidden_layers": "2"}, "num_hidden_layers must be a whole number from 1 to 10,000: '2'"),
        (LLAMA | {"num_hidden_layers": 10**9}, "num_hidden_layers must be a whole number from 1 to 10,000: 10+"),
        (LLAMA | {"hidden_size": 64.5}, "hidden_size must be a whole number from 1 to 1,000,000,000: 64.5"),
        (LLAMA | {"hidden_size": float("nan")}, "hidden_size must be a whole number from 1 to 1,000,000,000: nan"),
        (LLAMA | {"vocab_size": True}, "vocab_size must be a whole number from 1 to 1,000,000,000: True"),
        (
            LLAMA | {"num_attention_heads": 7},
            "head_dim is missing, and hidden_size 64 is not a multiple of its 7 heads",
        ),
        (LLAMA | {"num_key_value_heads": 3}, "num_key_value_heads must divide the 8 attention heads: 3"),
        (LLAMA | {"tie_word_embeddings": "no"}, "tie_word_embeddings must be true or false: 'no'"),
        ({"text_config": 5}, "text_config must be an object: 5"),
        (
            {"model_type": "llava", "text_config": LLAMA | {"vocab_size": None}},
            "text_config.vocab_size is missing: a config of llama needs it",
        ),
        (config("gpt-oss-120b", num_experts_per_tok=129), r"num_experts_per_tok must be at most .* \(128\): 129"),
        (config("gpt-oss-120b", layer_types=["full_attention"]), "layer_types must hold 36 entries, .* and holds 1"),
        (config("gpt-oss-120b", layer_types=["x"] * 36), r"layer_types\[0\] must be one of full_attention, .*: 'x'"),
        (config("DeepSeek-V4-Pro", compress_ratios=[8] * 62), r"compress_ratios\[0\] must be 0, 4 or 128: 8"),
        (config("Nemotron-H-56B", hybrid_override_pattern="MX"), "hybrid_override_pattern must consist of .*: 'MX'"),
        (config("Nemotron-H-56B", num_hidden_layers=4), r"num_hidden_layers must be the length of .* \(118\): 4"),
        (config("Llama-3.3-Nemotron-Super-49B", block_configs=[{}] * 80), r"block_configs\[0\].attention is missing.*"),
        (
            config("MiniMax-M3", sparse_attention_config={}),
            "sparse_attention_config.sparse_attention_freq is missing.*",
        ),
        ("no such file.json", "no such file.json cannot be read: No such file or directory"),
        (b"{}", "config must be the fields of a config.json, or the path of one: b'{}'"),
    ],
)
def test_what_is_wrong_is_one_sentence(fields: Any, sentence: str) -> None:
    with pytest.raises(capacity.InputError, match=f"^{sentence}$") as caught:
        model_facts(fields)
    assert caught.value.code == "#VALUE!"


@pytest.mark.parametrize(
    "text", ["", "[1]", "{", "\ufeff{}", "[" * 100_000, '{"model_type": "llama", "hidden_size": 1e999}']
)
def test_files_that_are_no_config(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text, "utf-8")
    with pytest.raises(capacity.ConfigError):
        model_facts(path)


def test_per_layer_embeddings_are_refused() -> None:
    """Small Gemma 4 models are built otherwise: better no count than a wrong one."""
    fields = config("gemma-4-31B")
    fields["text_config"]["hidden_size_per_layer_input"] = 256
    with pytest.raises(capacity.ConfigError, match=r"^text_config\.hidden_size_per_layer_input must be 0: .*: 256$"):
        model_facts(fields)


def attempt(fields: dict[str, Any]) -> ModelFacts | str:
    """The facts, or the sentence that says why there are none."""
    try:
        return model_facts(fields)
    except capacity.ConfigError as error:
        return str(error)


WRONG = [None, "x", -1, 0, 2.5, 10**400, [], {}, ["x"], [-1], {"x": "y"}]


@pytest.mark.parametrize("name", SMALL)
def test_any_field_wrong(name: str) -> None:
    """Whichever field is missing or of another type: facts, or the one family of errors that names that field."""
    model_facts(SMALL[name])
    for field in text_fields(SMALL[name]):
        for wrong in (..., *WRONG):
            fields = copy.deepcopy(SMALL[name])
            if wrong is ...:
                del text_fields(fields)[field]
            else:
                text_fields(fields)[field] = wrong
            outcome = attempt(fields)
            if isinstance(outcome, str):
                assert len(outcome.splitlines()) == 1
            else:
                assert outcome.total_params >= outcome.active_params > 0


REQUIRED = ("hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size")
KNOWN = {
    ("gemma-3-27b", "num_attention_heads"),  # Gemma's published configs leave this out
    ("Nemotron-3-Nano-30B-A3B", "num_hidden_layers"),  # its pattern says it
}


@pytest.mark.parametrize(
    ("name", "field"),
    [(n, f) for n, fields in SMALL.items() for f in REQUIRED if f in text_fields(fields) and (n, f) not in KNOWN],
)
def test_a_missing_dimension_is_never_guessed(name: str, field: str) -> None:
    """The dimensions that make a model have no default, whatever the library's own is."""
    fields = copy.deepcopy(SMALL[name])
    del text_fields(fields)[field]
    with pytest.raises(capacity.ConfigError, match=rf"^(text_config\.)?{field} is missing: a config of .* needs it$"):
        model_facts(fields)


@pytest.mark.parametrize("name", ["gemma-3-27b", "Llama-4-Scout-17B-16E", "Qwen3.5-35B-A3B", "gemma-4-31B"])
def test_the_wrapper_names_the_type(name: str) -> None:
    """A text model without a type is of the kind that its wrapper is made for."""
    fields = config(name)
    expected = model_facts(fields).as_dict()
    del fields["text_config"]["model_type"]
    assert model_facts(fields).as_dict() == expected


def test_quantization_beside_the_config() -> None:
    """NVIDIA's checkpoints have a file of their own for it."""
    path = DATA / "Qwen3-235B-A22B-NVFP4" / "config.json"
    assert model_facts(path).native_quantization == "modelopt"
    assert model_facts(json.loads(path.read_text("utf-8"))).native_quantization == "bf16"
