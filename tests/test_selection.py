"""Inputs from a choice of model, GPU and formats: the worked example's exactly, every model's within bounds."""

import pytest

from capacity import catalogue
from capacity.constants import FITTED
from capacity.errors import NotKnown, UnknownName
from capacity.plan import INPUTS
from capacity.refined import REFINED_INPUTS, refined_plan
from capacity.selection import FORMATS, KV_TYPES, chosen, kernels

ARGUMENTS = {**INPUTS, **REFINED_INPUTS}
# what no model and no GPU says: load, policy, engine, fitted constants
OTHERS = {
    *("req_per_s", "prompt_tokens", "output_tokens", "cache_hit", "usd_per_gpu_hour", "mfu", "mbu", "batch"),
    *("utilization", "spares", "target_ms", "memory_fraction", "reserved_gb", "of_free", "attention_dp"),
    *("expert_parallel", "drafts", "accepted", "draft_ms", *FITTED),
}


def test_the_worked_example_exactly() -> None:
    inputs = chosen("Llama-3.3-70B", "H200 SXM", quant="fp8", kv="bf16", tp=2)
    assert inputs == {name: ARGUMENTS[name].example for name in inputs}
    assert inputs.keys() == ARGUMENTS.keys() - OTHERS


@pytest.mark.parametrize("model", catalogue.models().names)
@pytest.mark.parametrize("quant", FORMATS)
def test_every_model_is_within_bounds(model: str, quant: str) -> None:
    for kv in KV_TYPES:
        for name, x in chosen(model, "B300", quant=quant, kv=kv, tp=8).items():
            assert ARGUMENTS[name].check(name, x) == x, name


@pytest.mark.parametrize(
    ("quant", "gpu", "bytes_per_param", "peak"),
    [
        ("bf16", "H200 SXM", 2, 989),
        ("fp8", "H200 SXM", 1, 1979),
        ("int4", "H200 SXM", 0.52, 989),
        ("fp4", "B200", 0.5625, 9000),
        ("mxfp4", "H100 SXM", 0.53125, 989),
        ("mxfp4", "B200", 0.53125, 4500),
        ("mxfp4", "A100 80GB SXM", 0.53125, 312),
        (" FP8 ", "h200", 1, 1979),
    ],
)
def test_quantizations(quant: str, gpu: str, bytes_per_param: float, peak: float) -> None:
    inputs = chosen("Llama-3.1-8B", gpu, quant=quant)
    assert (inputs["bytes_per_param"], inputs["peak_tflops"]) == (bytes_per_param, peak)


@pytest.mark.parametrize(
    ("model", "quant", "count"),
    [
        ("Llama-3.3-70B", "fp8", 80 * (6 + 2 + 4 + 1)),
        ("Llama-3.3-70B", "bf16", 80 * (6 + 4)),
        ("Qwen3-32B", "fp8", 64 * (6 + 2 + 1 + 4 + 1)),
        ("DeepSeek-R1", "fp8", 61 * (12 + 2) + 3 * (4 + 1) + 58 * (8 + 2 + 3)),
        ("gpt-oss-120b", "mxfp4", 36 * (6 + 6)),
        ("gpt-oss-120b", "bf16", 36 * (6 + 6)),
        ("Qwen3-Next-80B-A3B", "bf16", 48 * (6 + 1 + 8 + 3)),
        ("Nemotron-H-56B", "bf16", 64 * 6 + 54 * 4),  # 10 with attention, 54 with state, 54 networks of their own
        ("DeepSeek-V4-Pro", "bf16", 61 * (12 + 8 + 3)),  # each layer has a window and a compressed context
    ],
)
def test_kernels(model: str, quant: str, count: float) -> None:
    assert kernels(catalogue.models().row(model), quantized=quant != "bf16") == count


def test_a_tied_embedding_counts_once_as_the_head() -> None:
    inputs = chosen("gemma-3-27b", "A100 80GB SXM", quant="bf16")
    assert (inputs["embedding_params_b"], inputs["lm_head_params_b"]) == (0, 262_208 * 5_376 / 1e9)


def test_an_indexer_keeps_its_own_type() -> None:
    """GLM-5.2: latent KV of 78 layers, 576 elements each, and 132 B for each of 21 indexers, whatever the KV type."""
    for kv, kv_bytes in KV_TYPES.items():
        inputs = chosen("GLM-5.2", "B200", kv=kv)
        assert inputs["kv_full_bytes"] * kv_bytes / 2 == 78 * 576 * kv_bytes + 21 * 132


def test_windows_with_other_heads() -> None:
    """KV heads are those of the layers that grow; of the windowed ones where no layer grows."""
    assert chosen("gemma-4-31B", "H200 SXM")["kv_heads"] == 4
    assert chosen("Mistral-7B-v0.1", "H200 SXM")["kv_heads"] == 8


@pytest.mark.parametrize(
    ("changed", "family", "sentence"),
    [
        ({"model": "Llama-3.3-70"}, UnknownName, "no model is called 'Llama-3.3-70'; did you mean 'Llama-3.3-70B'?"),
        ({"gpu": "H20O SXM"}, UnknownName, "no GPU is called 'H20O SXM'; did you mean 'H200 SXM'?"),
        ({"quant": "fp9"}, UnknownName, "no quantization is called 'fp9'; did you mean 'fp8'?"),
        ({"kv": "q"}, UnknownName, "no KV type is called 'q'; the KV types are bf16, fp8"),
        ({"gpu": "A100 80GB SXM"}, NotKnown, "fp8_tflops of A100 80GB SXM is not known"),
        ({"quant": "fp4"}, NotKnown, "fp4_tflops of H200 SXM is not known"),
    ],
)
def test_what_is_unknown(changed: dict[str, str], family: type[Exception], sentence: str) -> None:
    names = {"model": "Llama-3.3-70B", "gpu": "H200 SXM"} | changed
    with pytest.raises(family) as caught:
        chosen(names.pop("model"), names.pop("gpu"), **names)  # type: ignore[arg-type]  # quant and kv only
    assert str(caught.value) == sentence


def test_memory_that_nobody_has_published_is_the_vendors() -> None:
    assert chosen("Llama-3.3-70B", "MI300X")["usable_gb"] == 192


@pytest.mark.parametrize("model", catalogue.models().names)
def test_native_weights_are_those_of_the_checkpoint(model: str) -> None:
    """In both chains, to the byte: the first by the mean of all, the refined one by dense weights and experts."""
    stored = float(catalogue.models().value(model, "weight_bytes_native"))
    rows = refined_plan(chosen(model, "B300", quant="native", tp=16), {"stored_weights": True})
    assert rows["weights_gb"].value * 16e9 == pytest.approx(stored, rel=1e-12)
    rows = refined_plan(chosen(model, "B300", quant="native", tp=16))
    assert rows["weights_gb"].value * 16e9 == pytest.approx(stored, rel=1e-12)


def test_native_multiplies_as_most_weights_are_stored() -> None:
    for model, gpu, peak in (
        ("gpt-oss-120b", "H100 SXM", 989),
        ("gpt-oss-120b", "B200", 4500),
        ("DeepSeek-R1", "H200 SXM", 1979),
        ("gemma-4-31B", "B200", 9000),
        ("Qwen3-32B", "H200 SXM", 989),
    ):
        assert chosen(model, gpu, quant="native")["peak_tflops"] == peak
