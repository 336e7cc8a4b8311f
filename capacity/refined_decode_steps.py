"""The rows of the refined chain's decode step: choices that switches make, and calls of registered functions."""

from typing import Final

from . import decode
from . import refined_links as rl
from . import refined_memory as rm
from . import refined_step as rs
from . import refined_work as rw
from .plan import Choice, Step, step_named

DECODE: Final[tuple[Step | Choice, ...]] = (
    Choice("drafts_used", "speculation", "drafts", "0", "Drafts per step"),
    Choice("accepted_used", "speculation", "accepted", "0", "Accepted tokens per step"),
    Choice("draft_ms_used", "speculation", "draft_ms", "0", "Draft time per step"),
    Choice("experts_used", "coverage", "experts", "experts_per_token", "Experts among which tokens choose"),
    Choice("expert_parallel_used", "parallelism", "expert_parallel", "1", "Expert-parallel size"),
    Choice("unread_embedding_b", "active_params", "embedding_params_b", "0", "Embedding that is not read"),
    Choice("mbu_dense_used", "efficiencies", "mbu_dense", "mbu", "MBU of dense weights"),
    Choice("mbu_experts_used", "efficiencies", "mbu_experts", "mbu", "MBU of expert weights"),
    Choice("mbu_kv_used", "efficiencies", "mbu_kv", "mbu", "MBU of KV cache"),
    Choice("mfu_decode_used", "efficiencies", "mfu_decode", "mfu", "MFU of dense layers in decode"),
    Choice("mfu_decode_experts_used", "efficiencies", "mfu_experts", "mfu", "MFU of experts in decode"),
    Choice("imbalance_used", "parallelism", "expert_imbalance", "0", "Imbalance of experts"),
    Choice("kernels_used", "fixed_time", "kernels", "0", "Kernels launched"),
    Choice("host_ms_used", "fixed_time", "host_ms", "0", "Host time per step"),
    step_named("routed_active_b", rw.routed_active_b),
    step_named(
        "dense_active_b", rw.dense_prefill_b, "Dense parameters per output token", lm_head_params_b="none_left_out"
    ),
    Choice("dense_flops_b", "decode_flops", "dense_active_b", "0", "Dense parameters priced in FLOPs"),
    Choice("routed_flops_b", "decode_flops", "routed_params_b", "0", "Expert parameters priced in FLOPs"),
    step_named("verify_batch", rs.verify_batch, drafts="drafts_used"),
    step_named("expert_coverage", rs.expert_coverage, experts="experts_used"),
    step_named(
        "dense_read_gb",
        rm.dense_read_gb,
        embedding_params_b="unread_embedding_b",
        lm_head_params_b="bf16_head_b",
        dense_bytes="dense_bytes_used",
        attention_dp="attention_dp_used",
    ),
    step_named(
        "dense_bytes_ms",
        rs.read_ms,
        "Dense weights, bytes",
        read_gb="dense_read_gb",
        read_efficiency="mbu_dense_used",
    ),
    step_named(
        "dense_flops_us",
        rw.flops_us,
        "Dense layers, FLOPs per token",
        flop_params_b="dense_flops_b",
        flop_efficiency="mfu_decode_used",
    ),
    step_named("dense_ms", rs.joined_ms, bytes_ms="dense_bytes_ms", flops_us="dense_flops_us"),
    step_named("experts_gb", rm.experts_gb, expert_bytes="expert_bytes_used"),
    step_named(
        "experts_bytes_ms",
        rs.read_ms,
        "All experts, bytes",
        read_gb="experts_gb",
        read_efficiency="mbu_experts_used",
    ),
    step_named(
        "experts_flops_us",
        rw.flops_us,
        "All experts, FLOPs per token",
        flop_params_b="routed_flops_b",
        flop_efficiency="mfu_decode_experts_used",
    ),
    step_named("expert_load", rs.expert_load, coverage="expert_coverage"),
    step_named(
        "experts_ms",
        rs.expert_step_ms,
        bytes_ms="experts_bytes_ms",
        coverage="expert_coverage",
        flops_us="experts_flops_us",
        expert_parallel="expert_parallel_used",
        imbalance="imbalance_used",
    ),
    step_named("kv_ms", rs.read_ms, "KV of one sequence", read_gb="kv_gb_per_seq", read_efficiency="mbu_kv_used"),
    step_named(
        "decode_allreduce_us",
        rl.allreduce_us,
        "All-reduce per output token",
        comm_layers="comm_layers_used",
        tp="attention_ranks",
        attention_dp="attention_dp_used",
    ),
    step_named(
        "allreduce_latency_ms",
        rl.allreduce_latency_ms,
        comm_layers="comm_layers_used",
        tp="attention_ranks",
        latency_us="allreduce_latency_us",
    ),
    step_named(
        "alltoall_latency_ms",
        rl.alltoall_latency_ms,
        moe_layers="comm_moe_layers",
        attention_dp="attention_dp_used",
    ),
    step_named("fixed_ms", rs.step_fixed_ms, kernels="kernels_used", host_ms="host_ms_used"),
    step_named("traffic_us", rl.traffic_us, "Traffic per output token", allreduce_us="decode_allreduce_us"),
    step_named("constant_ms", rs.step_constant_ms),
    step_named("engine_step_ms", rs.refined_step_ms),
    step_named(
        "decode_step_ms",
        rs.token_step_ms,
        step_ms="engine_step_ms",
        draft_ms="draft_ms_used",
        accepted="accepted_used",
    ),
    step_named("replica_tps", decode.replica_tps),
    step_named("decode_load", decode.decode_load),
)
