"""The planner's inputs: each argument that is not another function's result, defined once for all functions.

Examples are the worked example's: Llama 3.3 70B in FP8 on TP=2 H200 SXM, 50 req/s, 3,000 tokens in, 400 out.
"""

from typing import Annotated

from .arguments import Number

ReqPerS = Annotated[float, Number("req/s", "request rate: mean arrivals per second", example=50, ge=0)]
PromptTokens = Annotated[float, Number("tokens", "mean prompt length", example=3000, ge=0)]
OutputTokens = Annotated[float, Number("tokens", "mean output length", example=400, ge=0)]
CacheHit = Annotated[
    float,
    Number(
        "fraction", "prefix-cache hits: share of prompt tokens found in the cache", example=0, default=0, ge=0, le=1
    ),
]

ParamsB = Annotated[float, Number("billion", "model parameters", example=70.553706496, gt=0)]
BytesPerParam = Annotated[float, Number("B/param", "bytes per weight: FP8 1, BF16 2", example=1, gt=0)]
Layers = Annotated[float, Number("layers", "transformer layers", example=80, ge=1, whole=True)]
KvHeads = Annotated[float, Number("heads", "KV heads: key-value heads of a layer", example=8, ge=1, whole=True)]
HeadDim = Annotated[float, Number("elements", "head size: elements of one head", example=128, ge=1, whole=True)]
KvBytes = Annotated[float, Number("B/element", "bytes per KV element: BF16 2, FP8 1", example=2, default=2, gt=0)]

Tp = Annotated[float, Number("GPUs", "tensor-parallel size: GPUs of one replica", example=2, ge=1, whole=True)]
PeakTflops = Annotated[
    float, Number("TFLOP/s", "dense peak: of one GPU at the weights' type, without sparsity", example=1979, gt=0)
]
BandwidthTbS = Annotated[float, Number("TB/s", "memory bandwidth of one GPU", example=4.8, gt=0)]
GpuGb = Annotated[float, Number("GB", "memory of one GPU", example=141, gt=0)]
MemoryFraction = Annotated[
    float,
    Number(
        "fraction",
        "memory fraction: share of GPU memory that the engine may use",
        example=0.92,
        default=0.92,
        gt=0,
        le=1,
    ),
]
ReservedGb = Annotated[
    float, Number("GB/GPU", "memory reserved: for activations and buffers on each GPU", example=3, default=3, ge=0)
]
UsdPerGpuHour = Annotated[float, Number("USD/GPU-h", "price of a GPU-hour", example=3.5, ge=0)]

Mfu = Annotated[
    float,
    Number(
        "fraction",
        "MFU: model FLOPs utilization, the share of peak reached in prefill",
        example=0.5,
        default=0.5,
        gt=0,
        le=1,
    ),
]
Mbu = Annotated[
    float,
    Number(
        "fraction",
        "MBU: memory-bandwidth utilization, the share of bandwidth reached in decode",
        example=0.75,
        default=0.75,
        gt=0,
        le=1,
    ),
]
Batch = Annotated[
    float, Number("sequences", "decode batch: sequences decoded together on one replica", example=64, ge=1, whole=True)
]
Utilization = Annotated[
    float,
    Number(
        "fraction",
        "ceiling at peak: busy share of a replica, set by tail latency",
        example=0.65,
        default=0.65,
        gt=0,
        lt=1,
    ),
]
Spares = Annotated[
    float, Number("replicas", "spare replicas: on top, for drains and failures", example=0, default=0, ge=0, whole=True)
]
TargetMs = Annotated[float, Number("ms", "TPOT target: time per output token that users accept", example=50, gt=0)]
