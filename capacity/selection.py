"""What a choice of model, GPU and number formats puts in place of the inputs of both chains.

>>> chosen("gpt-oss-120b", "H100 SXM", quant="mxfp4")["window_tokens"]
128.0
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from . import catalogue
from .errors import UnknownName

__all__ = [
    "FORMATS",
    "GPU_COLUMNS",
    "KV_TYPES",
    "MODEL_COLUMNS",
    "NATIVE",
    "QUANTIZATIONS",
    "Quantization",
    "chosen",
    "kernels",
]


class Quantization(NamedTuple):
    """How weights are stored, and at which of a GPU's peaks they multiply: the first of these that it has."""

    bytes_per_param: float
    peaks: tuple[str, ...]
    needs: str = ""  # the peak without which only the last of `peaks` is reached: weights are widened then


# 4-bit formats with their scales: int4 in groups of 128, fp4 in blocks of 16, mxfp4 of 32; int4 is widened to BF16
QUANTIZATIONS: Final[dict[str, Quantization]] = {
    "bf16": Quantization(2, ("bf16_tflops",)),
    "fp8": Quantization(1, ("fp8_tflops",)),
    "int4": Quantization(0.52, ("bf16_tflops",)),
    "fp4": Quantization(0.5625, ("fp4_tflops",)),
    "mxfp4": Quantization(0.53125, ("fp8_tflops", "bf16_tflops"), needs="fp4_tflops"),
}
NATIVE: Final = "native"  # as the checkpoint stores them
FORMATS: Final = (*QUANTIZATIONS, NATIVE)
KV_TYPES: Final[dict[str, float]] = {"bf16": 2.0, "fp8": 1.0}  # bytes per element

# input -> the column that it is; those that end in _b are in billions of it
MODEL_COLUMNS: Final = {
    "params_b": "total_params",
    "active_params_b": "active_params",
    "routed_params_b": "routed_expert_params",
    # a matrix that serves as embedding and LM head counts once, as LM head: the catalogue has no LM head then
    "embedding_params_b": "lm_head_params",
    "lm_head_params_b": "embedding_params",
    "layers": "num_hidden_layers",
    "head_dim": "head_dim",
    "moe_layers": "moe_layers",
    "hidden_size": "hidden_size",
    "attention_width": "attention_width",
    "windowed_width": "windowed_attention_width",
    "window_tokens": "kv_window_tokens",
    "kv_windowed_bytes": "kv_bytes_per_token_windowed",
    "state_bytes": "state_bytes_per_sequence",
    "kv_replicated": "kv_replicated_per_rank",
}
GPU_COLUMNS: Final = {"bandwidth_tb_s": "bandwidth_tb_s", "gpu_gb": "memory_gb"}
# input -> column of the GPUs, and the one refinement that needs it: without that it may be unknown
_REFINED_GPU: Final = {
    "bf16_tflops": ("bf16_tflops", "attention_flops"),
    "link_gb_s": ("interconnect_gb_s_bidir", "communication"),
}


def chosen(
    model: str,
    gpu: str,
    *,
    quant: str = "fp8",
    kv: str = "bf16",
    tp: float = 2,
    switches: Collection[str] | None = None,
    models: catalogue.Table | None = None,
) -> dict[str, float]:
    """The inputs of both chains that follow from names of the catalogue and of QUANTIZATIONS and KV_TYPES.

    Arguments:
        model: a name or alias of the catalogue, in any case
        gpu: the same
        quant: the format of the weights
        kv: the type of the KV cache
        tp: GPUs of one replica, as it is given
        switches: refinements in force; a fact that only others need is left out where it is not known. None: all
        models: where the model is looked up; by default the catalogue with a team's own
    Returns: input -> value; inputs that are the engine's or the user's are not in it
    Errors: UnknownName for a name that does not exist, NotKnown for a fact that the catalogue lacks

    >>> inputs = chosen("Llama-3.3-70B", "H200", quant="int4")
    >>> inputs["params_b"], inputs["bytes_per_param"], inputs["peak_tflops"], inputs["link_gb_s"]
    (70.553706496, 0.52, 989.0, 450.0)
    """
    kv_bytes = KV_TYPES[_one_of("KV type", kv, KV_TYPES)]
    models, gpus = models or catalogue.known_models(), catalogue.gpus()
    facts = {column: models.value(model, column) for column in _COLUMNS}
    weights = _weights(models, model, _one_of("quantization", quant, FORMATS))
    form = QUANTIZATIONS[weights.format]
    full_heads, windowed_heads = (_number(facts, f"{kind}_key_value_heads") for kind in ("full", "windowed"))
    return {
        **{name: _number(facts, c) / (1e9 if name.endswith("_b") else 1) for name, c in MODEL_COLUMNS.items()},
        **_experts(facts),
        "kv_heads": full_heads or windowed_heads,
        "windowed_kv_heads": windowed_heads or full_heads,
        # an indexer's keys grow as well, in their own type: what the KV type changes is taken back before
        "kv_full_bytes": _number(facts, "kv_bytes_per_token_full")
        + _number(facts, "indexer_bytes_per_token") * KV_TYPES["bf16"] / kv_bytes,
        "kernels": kernels(facts, quantized=weights.format != "bf16"),
        "bytes_per_param": weights.average,
        "dense_bytes": weights.dense,
        "expert_bytes": weights.experts,
        "kv_bytes": kv_bytes,
        "tp": float(tp),
        "peak_tflops": _peak(gpus, gpu, form),
        **{name: float(gpus.value(gpu, column)) for name, column in GPU_COLUMNS.items()},
        **_refined_gpu(gpus, gpu, switches),
    }


class _Weights(NamedTuple):
    """The format in which most weights multiply, and bytes per parameter: of all, of dense ones, of experts."""

    format: str
    average: float
    dense: float
    experts: float


def _weights(models: catalogue.Table, model: str, quant: str) -> _Weights:
    if quant != NATIVE:
        per_param = float(QUANTIZATIONS[quant].bytes_per_param)
        return _Weights(quant, per_param, per_param, per_param)
    total, size, dense, experts = (float(models.value(model, column)) for column in _NATIVE)
    return _Weights(str(models.value(model, "native_format")), size / total, dense, experts)


def kernels(facts: Mapping[str, Any], *, quantized: bool) -> float:
    """Kernels that one decode step launches, by the kinds of the layers (field notes: "How good is the sheet?").

    Attention 6, latent attention 12, 2 more when quantized, 1 more with QK norm; a dense network 4, 1 more when
    quantized; experts 8, 2 more when quantized, 3 more with shared experts. The fused experts of gpt-oss take 6, and
    its attention is never quantized. A layer with a recurrent state counts as one of attention.

    >>> kernels(catalogue.models().row("Llama-3.3-70B"), quantized=True)
    1040.0
    """
    fused = facts["model_type"] == "gpt_oss"
    extra = quantized and not fused
    attention = (12 if facts["kv_replicated_per_rank"] else 6) + 2 * extra + _number(facts, "qk_norm")
    experts = 6 if fused else 8 + 2 * extra + 3 * (facts["shared_experts"] > 0)
    kinds = ("full_attention_layers", "windowed_attention_layers", "linear_attention_layers")
    # a layer of two kinds at once is one layer all the same
    mixers = min(sum(_number(facts, kind) for kind in kinds), _number(facts, "num_hidden_layers"))
    dense = _number(facts, "dense_ffn_layers") * (4 + extra)
    return mixers * attention + dense + _number(facts, "moe_layers") * experts


_NATIVE: Final = (
    *("total_params", "weight_bytes_native"),
    *("native_dense_bytes_per_param", "native_expert_bytes_per_param"),
)
_COLUMNS: Final = (
    *MODEL_COLUMNS.values(),
    "model_type",
    *("full_key_value_heads", "windowed_key_value_heads", "kv_bytes_per_token_full", "indexer_bytes_per_token"),
    *("full_attention_layers", "windowed_attention_layers", "linear_attention_layers", "qk_norm"),
    *("moe_layers", "dense_ffn_layers", "n_experts", "experts_per_token", "shared_experts"),
)


def _one_of(kind: str, name: str, known: Collection[str]) -> str:
    key = name.strip().casefold()
    if key not in known:
        raise UnknownName(kind, name, known)
    return key


def _number(facts: Mapping[str, Any], column: str) -> float:
    return float(facts[column])


def _experts(facts: Mapping[str, Any]) -> dict[str, float]:
    """A dense model counts as one expert that every token takes."""
    return {
        "experts": max(1.0, _number(facts, "n_experts")),
        "experts_per_token": max(1.0, _number(facts, "experts_per_token")),
    }


def _peak(gpus: catalogue.Table, gpu: str, weights: Quantization) -> float:
    """The peak at which weights of a format multiply; NotKnown where the GPU has none."""
    row = gpus.row(gpu)
    columns = weights.peaks[-1:] if weights.needs and row[weights.needs] is None else weights.peaks
    known = [column for column in columns if row[column] is not None]
    return float(gpus.value(gpu, (known or columns)[0]))


def _refined_gpu(gpus: catalogue.Table, gpu: str, switches: Collection[str] | None) -> dict[str, float]:
    row, found = gpus.row(gpu), {}
    for name, (column, switch) in _REFINED_GPU.items():
        if row[column] is not None or switches is None or switch in switches:
            found[name] = float(gpus.value(gpu, column))
    # engines report less or more than the vendor prints; where nobody has published it, the vendor's figure stands
    found["usable_gb"] = float(row["usable_gb"] or gpus.value(gpu, "memory_gb"))
    if "link_gb_s" in found:
        found["link_gb_s"] /= 2  # the catalogue adds both directions
    return found
