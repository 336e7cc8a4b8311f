"""Inputs of the refined chain. Examples are the worked example's model and GPU: Llama 3.3 70B in FP8 on H200 SXM."""

from typing import Annotated, Any

from .arguments import Number
from .constants import FITTED


def fitted(name: str) -> Number:
    """An argument whose default is a fitted constant."""
    constant = FITTED[name]
    limits: dict[str, Any] = dict(constant.bounds)
    return Number(constant.unit, constant.meaning, example=constant.value, default=constant.value, **limits)


def flag(meaning: str) -> Number:
    """An argument that is 1 for yes and 0 for no."""
    return Number("count", meaning, example=0, ge=0, le=1, whole=True)


ActiveParamsB = Annotated[
    float, Number("billion", "active parameters: per token, without the input embedding", example=69.503033344, gt=0)
]
EmbeddingParamsB = Annotated[
    float, Number("billion", "input embedding: a look-up, no FLOPs; 0 when tied", example=1.050673152, ge=0)
]
LmHeadParamsB = Annotated[
    float, Number("billion", "LM head: once per sequence in prefill, every step in decode", example=1.050673152, ge=0)
]
RoutedParamsB = Annotated[float, Number("billion", "routed experts: parameters of all of them", example=0, ge=0)]
DenseBytes = Annotated[
    float,
    Number("B/param", "dense bytes: per parameter outside experts, embedding and LM head, as stored", example=1, gt=0),
]
ExpertBytes = Annotated[
    float, Number("B/param", "expert bytes: per parameter of the routed experts, as stored", example=1, gt=0)
]
Experts = Annotated[
    float, Number("experts", "experts: routed experts of a layer, 1 when dense", example=1, ge=1, whole=True)
]
ExpertsPerToken = Annotated[
    float, Number("experts", "experts per token: chosen for each token, 1 when dense", example=1, ge=1, whole=True)
]
HiddenSize = Annotated[
    float, Number("elements", "hidden size: width of a layer's activations", example=8192, ge=1, whole=True)
]
AttentionWidth = Annotated[
    float,
    Number(
        "elements",
        "attention width: heads x head size, summed over full layers; MLA (nope + rope + v) / 2",
        example=655360,
        ge=0,
    ),
]
WindowedWidth = Annotated[
    float, Number("elements", "windowed width: the same summed over windowed layers", example=0, ge=0)
]
CommLayers = Annotated[
    float, Number("layers", "layers that communicate: two all-reduces each", example=80, ge=0, whole=True)
]
MoeLayers = Annotated[float, Number("layers", "MoE layers: layers with routed experts", example=0, ge=0, whole=True)]
WindowTokens = Annotated[float, Number("tokens", "window: tokens that a windowed layer sees", example=0, ge=0)]
KvFullBytes = Annotated[
    float, Number("B/token", "growing KV: BF16 bytes per token of full layers", example=327680, ge=0)
]
KvWindowedBytes = Annotated[
    float, Number("B/token", "windowed KV: BF16 bytes per token of windowed layers", example=0, ge=0)
]
StateBytes = Annotated[float, Number("B/sequence", "state: constant bytes of a sequence, in hybrids", example=0, ge=0)]
KvReplicated = Annotated[float, flag("KV replicated: 1 when every rank holds the whole cache (MLA)")]
OfFree = Annotated[float, flag("fraction of free: 1 when the memory fraction applies after weights")]
Bf16Tflops = Annotated[float, Number("TFLOP/s", "BF16 peak: dense, of one GPU", example=989, gt=0)]
LinkGbS = Annotated[float, Number("GB/s", "link: one way, between the GPUs of a replica", example=450, gt=0)]
MemoryGb = Annotated[
    float, Number("GB", "memory counted: the vendor's, or usable as CUDA reports it", example=141, gt=0)
]
AttentionDp = Annotated[
    float, Number("GPUs", "attention-DP: groups that each hold attention and KV whole", example=1, ge=1, whole=True)
]
ExpertParallel = Annotated[
    float, Number("GPUs", "expert-parallel size: GPUs over which whole experts are spread", example=1, ge=1, whole=True)
]
Kernels = Annotated[float, Number("kernels", "kernels: launched in one decode step", example=1040, ge=0, whole=True)]
Drafts = Annotated[
    float, Number("tokens", "drafts: tokens proposed per step by speculation", example=0, ge=0, whole=True)
]
Accepted = Annotated[float, Number("tokens", "accepted: proposed tokens kept per step", example=0, ge=0)]
DraftMs = Annotated[float, Number("ms", "draft time: of the drafting model per step", example=0, ge=0)]
