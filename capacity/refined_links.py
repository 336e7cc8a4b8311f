"""Refined communication: all-reduces of tensor parallelism and all-to-alls of experts, per token and in latency."""

from typing import Annotated

from .arguments import Number
from .numeric import log2, maximum, minimum
from .refined_terms import AttentionDp, CommLayers, ExpertsPerToken, HiddenSize, LinkGbS, MoeLayers, fitted
from .refined_work import ActivationUs
from .registry import function
from .terms import Tp


@function(
    "All-reduce per token",
    returns="us/token",
    words="2 per layer x (ring share x 2(TP - 1)/TP + one-shot share x (TP - 1)) x hidden size x 2 B / link rate",
    native="2*{comm_layers}*(2*({tp}-1)/{tp}*(1-{one_shot_share})+{one_shot_share}*({tp}-1))*{hidden_size}*2"
    "/({link_gb_s}*1E9*{link_efficiency})/{attention_dp}*1E6",
    derivation="2 x {comm_layers} layers x {hidden_size} x 2 B / {attention_dp} groups over {tp} GPUs"
    " at {link_gb_s} GB/s x {link_efficiency}"
    "[, {one_shot_share} of it at once]"
    " = {result} us",
    source="Field notes: 2 all-reduces per layer, ring = 2(tp-1)/tp, link one-way; 26% of decode's are one-shot",
)
def allreduce_us(
    comm_layers: CommLayers,
    hidden_size: HiddenSize,
    tp: Tp,
    link_gb_s: LinkGbS,
    attention_dp: AttentionDp,
    link_efficiency: Annotated[float, fitted("link_efficiency")] = 0.5679,
    one_shot_share: Annotated[
        float,
        Number(
            "fraction", "one-shot: share of all-reduces that send everything at once", example=0, default=0, ge=0, le=1
        ),
    ] = 0,
) -> float:
    """Time that tensor parallelism spends moving a token's activations between GPUs; 0 on one GPU.

    >>> round(allreduce_us(80, 8192, 2, 450, 1), 2), allreduce_us(80, 8192, 1, 450, 1)
    (10.26, 0.0)
    """
    ring = 2 * (tp - 1) / tp * (1 - one_shot_share) + one_shot_share * (tp - 1)
    return 2 * comm_layers * ring * hidden_size * 2 / (link_gb_s * 1e9 * link_efficiency) / attention_dp * 1e6


@function(
    "All-reduce latency of a step",
    returns="ms",
    words="2 per layer x latency x (1 + growth x log2(TP / 2)); 0 at TP 1",
    native="({tp}>1)*2*{comm_layers}*{latency_us}/1E3*(1+{allreduce_growth}*LOG(MAX({tp},2)/2,2))",
    derivation="2 x {comm_layers} layers x {latency_us} us, growing by {allreduce_growth} per doubling of {tp} GPUs"
    " = {result} ms",
    source="Field notes: 2.2 us x (1 + 0.3 log2(TP/2))",
)
def allreduce_latency_ms(
    comm_layers: CommLayers,
    tp: Tp,
    latency_us: Annotated[float, fitted("allreduce_latency_us")] = 2.1,
    allreduce_growth: Annotated[float, fitted("allreduce_growth")] = 0,
) -> float:
    """Time of a step's all-reduces that does not depend on the batch.

    >>> round(allreduce_latency_ms(80, 2), 3), round(allreduce_latency_ms(80, 8), 3), allreduce_latency_ms(80, 1)
    (0.336, 0.336, 0.0)
    """
    return (tp > 1) * 2 * comm_layers * latency_us / 1e3 * (1 + allreduce_growth * log2(maximum(tp, 2.0) / 2))


@function(
    "Attention ranks",
    returns="GPUs",
    words="TP / attention-DP: GPUs over which attention and dense layers are split",
    native="{tp}/{attention_dp}",
    derivation="{tp} GPUs / {attention_dp} groups = {result} GPUs",
    source="Field notes: attention-DP replicates attention, then there is no all-reduce of it",
)
def attention_ranks(tp: Tp, attention_dp: AttentionDp) -> float:
    """GPUs that split attention and dense layers among them; 1 under full attention-DP.

    >>> attention_ranks(8, 1), attention_ranks(8, 8)
    (8.0, 1.0)
    """
    return tp / attention_dp


@function(
    "All-to-all per token",
    returns="us/token",
    words="2 per MoE layer x experts per token, at most the groups, x hidden size x 1.5 B / groups / link rate",
    native="({attention_dp}>1)*2*{moe_layers}*MIN({experts_per_token},{attention_dp})*{hidden_size}*(1+1/2)/{attention_dp}"
    "/({link_gb_s}*1E9*{link_efficiency})*1E6",
    derivation="2 x {moe_layers} MoE layers x at most {experts_per_token} experts x {hidden_size} x 1.5 B"
    " among {attention_dp} groups at {link_gb_s} GB/s x {link_efficiency} = {result} us",
    source="Field notes: expert-parallel all-to-all on MoE layers",
)
def alltoall_us(
    moe_layers: MoeLayers,
    hidden_size: HiddenSize,
    experts_per_token: ExpertsPerToken,
    attention_dp: AttentionDp,
    link_gb_s: LinkGbS,
    link_efficiency: Annotated[float, fitted("link_efficiency")] = 0.5679,
) -> float:
    """Time to send a token's activations to its experts and back; 0 without attention-DP.

    >>> round(alltoall_us(58, 7168, 8, 8, 450), 2), alltoall_us(58, 7168, 8, 1, 450)
    (4.88, 0.0)
    """
    sent = minimum(experts_per_token, attention_dp) * hidden_size * 3 / 2 / attention_dp
    return (attention_dp > 1) * 2 * moe_layers * sent / (link_gb_s * 1e9 * link_efficiency) * 1e6


@function(
    "All-to-all latency of a step",
    returns="ms",
    words="2 per MoE layer x latency; 0 without attention-DP",
    native="({attention_dp}>1)*2*{moe_layers}*{alltoall_latency_us}/1E3",
    derivation="2 x {moe_layers} MoE layers x {alltoall_latency_us} us among {attention_dp} groups = {result} ms",
    source="Field notes: all-to-all 16 us",
)
def alltoall_latency_ms(
    moe_layers: MoeLayers,
    attention_dp: AttentionDp,
    alltoall_latency_us: Annotated[float, fitted("alltoall_latency_us")] = 16.8,
) -> float:
    """Time of a step's all-to-alls that does not depend on the batch.

    >>> round(alltoall_latency_ms(58, 8), 3)
    1.949
    """
    return (attention_dp > 1) * 2 * moe_layers * alltoall_latency_us / 1e3


AllreduceUs = Annotated[float, Number("us/token", "all-reduce", example=allreduce_us, ge=0)]
AlltoallUs = Annotated[float, Number("us/token", "all-to-all", example=alltoall_us, ge=0)]


@function(
    "Traffic per token",
    returns="us/token",
    words="activations + all-reduce + all-to-all",
    native="{activation_us}+{allreduce_us}+{alltoall_us}",
    derivation="{activation_us} activations + {allreduce_us} all-reduce + {alltoall_us} all-to-all = {result} us",
    source="Field notes: what a token moves besides weights and KV",
)
def traffic_us(activation_us: ActivationUs, allreduce_us: AllreduceUs, alltoall_us: AlltoallUs) -> float:
    """Time that a token's activations spend on memory and links.

    >>> round(traffic_us(7.19, 9.74, 0), 2)
    16.93
    """
    return activation_us + allreduce_us + alltoall_us


TrafficUs = Annotated[float, Number("us/token", "traffic per token", example=traffic_us, ge=0)]
