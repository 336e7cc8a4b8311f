"""The steps of the refined chain, by section: choices that switches make, and calls of registered functions."""

from collections.abc import Callable
from typing import Any, Final

from . import cost, decode, fleet, memory, prefill, tpot
from . import refined_links as rl
from . import refined_memory as rm
from . import refined_step as rs
from . import refined_work as rw
from .plan import NO_OUTPUT, NO_SEQUENCES, NO_TOKENS, NO_VERDICT, Choice, Guard, Step
from .registry import spec_of


def _step(name: str, fn: Callable[..., Any], label: str = "", guard: Guard | None = None, **refs: str) -> Step:
    return Step(name, spec_of(fn), guard=guard, refs=refs, label=label)


NO_ROOM: Final = Guard(
    "weights do not fit",
    lambda v: (
        v["memory_used_gb"] * v["memory_fraction"]
        - v["reserved_gb"]
        - v["weights_gb"] * (1 - v["of_free_used"] * (1 - v["memory_fraction"]))
        < -v["memory_used_gb"] / 1e9
    ),
    "{memory_used_gb}*{memory_fraction}-{reserved_gb}-{weights_gb}*(1-{of_free_used}*(1-{memory_fraction}))"
    "<-{memory_used_gb}/1E9",
)

SECTIONS: Final[dict[str, tuple[Step | Choice, ...]]] = {
    "Prefill": (
        Choice("active_used_b", "active_params", "active_params_b", "params_b", "Parameters per prompt token"),
        Choice("prefill_head_b", "active_params", "lm_head_params_b", "0", "LM head left out of prefill"),
        Choice("prefill_routed_b", "active_params", "routed_params_b", "0", "Routed experts priced apart"),
        Choice("mfu_dense_used", "efficiencies", "mfu_prefill_dense", "mfu", "MFU of dense layers"),
        Choice("mfu_experts_used", "efficiencies", "mfu_prefill_experts", "mfu", "MFU of routed experts"),
        Choice("mfu_attention_used", "efficiencies", "mfu_attention", "mfu", "MFU of attention"),
        Choice("width_used", "attention_flops", "attention_width", "0", "Attention width, full layers"),
        Choice("windowed_width_used", "attention_flops", "windowed_width", "0", "Attention width, windowed layers"),
        Choice("passes_used", "activations", "activation_passes", "0", "Activation passes"),
        Choice("base_ms_used", "fixed_time", "prefill_base_ms", "0", "Fixed time per prompt"),
        Choice("layer_us_used", "fixed_time", "prefill_layer_us", "0", "Fixed time per prompt and layer"),
        Choice("attention_dp_used", "parallelism", "attention_dp", "1", "Attention-DP groups"),
        Choice("comm_moe_layers", "communication", "moe_layers", "0", "MoE layers that communicate"),
        Choice("comm_layers_used", "communication", "layers", "0", "Layers that communicate"),
        _step("prefill_routed_active_b", rw.routed_active_b, routed_params_b="prefill_routed_b"),
        _step(
            "dense_prefill_b",
            rw.dense_prefill_b,
            active_params_b="active_used_b",
            lm_head_params_b="prefill_head_b",
            routed_active_b="prefill_routed_active_b",
        ),
        _step(
            "dense_us", rw.flops_us, "Dense layers", flop_params_b="dense_prefill_b", flop_efficiency="mfu_dense_used"
        ),
        _step(
            "experts_us",
            rw.flops_us,
            "Routed experts",
            flop_params_b="prefill_routed_active_b",
            flop_efficiency="mfu_experts_used",
        ),
        _step("seen_tokens", rw.seen_tokens),
        _step(
            "attention_us",
            rw.attention_us,
            attention_width="width_used",
            windowed_width="windowed_width_used",
            flop_efficiency="mfu_attention_used",
        ),
        _step("activation_us", rw.activation_us, activation_passes="passes_used", attention_dp="attention_dp_used"),
        _step(
            "prefill_fixed_ms", rw.prefill_fixed_ms, prefill_base_ms="base_ms_used", prefill_layer_us="layer_us_used"
        ),
        _step("attention_ranks", rl.attention_ranks, attention_dp="attention_dp_used"),
        _step(
            "prefill_allreduce_us",
            rl.allreduce_us,
            comm_layers="comm_layers_used",
            tp="attention_ranks",
            attention_dp="attention_dp_used",
            one_shot_share="none_one_shot",
        ),
        _step("alltoall_us", rl.alltoall_us, moe_layers="comm_moe_layers", attention_dp="attention_dp_used"),
        _step("prompt_traffic_us", rl.traffic_us, "Traffic per prompt token", allreduce_us="prefill_allreduce_us"),
        _step("prefill_us", rw.refined_prefill_us),
        _step("prefill_load", prefill.prefill_load),
        _step("ttft_floor_ms", prefill.ttft_floor_ms),
    ),
    "Memory": (
        Choice("bf16_embedding_b", "stored_weights", "embedding_params_b", "0", "Embedding kept in BF16"),
        Choice("bf16_head_b", "stored_weights", "lm_head_params_b", "0", "LM head kept in BF16"),
        _step(
            "weights_gb",
            rm.stored_weights_gb,
            embedding_params_b="bf16_embedding_b",
            lm_head_params_b="bf16_head_b",
            attention_dp="attention_dp_used",
        ),
        _step("kv_full_typed", rm.kv_typed_bytes, "Growing KV bytes per token by type"),
        _step(
            "kv_windowed_typed",
            rm.kv_typed_bytes,
            "Windowed KV bytes per token by type",
            kv_full_bytes="kv_windowed_bytes",
        ),
        Choice("kv_full_used", "kv_layout", "kv_full_typed", "kv_bytes_per_token", "Growing KV bytes per token"),
        Choice("kv_windowed_used", "kv_layout", "kv_windowed_typed", "0", "Windowed KV bytes per token"),
        Choice("state_used", "kv_layout", "state_bytes", "0", "State per sequence"),
        Choice("ranks_used", "kv_layout", "tp", "1", "Ranks that may hold copies"),
        Choice("replicated_used", "kv_layout", "kv_replicated", "0", "KV replicated on every rank"),
        _step(
            "kv_copies",
            rm.kv_copies,
            tp="ranks_used",
            kv_replicated="replicated_used",
            attention_dp="attention_dp_used",
        ),
        _step(
            "kv_gb_per_seq",
            rm.kv_seq_gb,
            "KV per sequence per GPU, mean context",
            kv_full_bytes="kv_full_used",
            kv_windowed_bytes="kv_windowed_used",
            state_bytes="state_used",
        ),
        _step("peak_context_tokens", rm.peak_context_tokens),
        _step(
            "kv_gb_per_seq_peak",
            rm.kv_seq_gb,
            "KV per sequence per GPU, peak context",
            context_tokens="peak_context_tokens",
            kv_full_bytes="kv_full_used",
            kv_windowed_bytes="kv_windowed_used",
            state_bytes="state_used",
        ),
        Choice("memory_used_gb", "usable_memory", "usable_gb", "gpu_gb", "Memory counted"),
        Choice("of_free_used", "usable_memory", "of_free", "0", "Fraction of what is free"),
        _step("kv_pool_gb", rm.usable_pool_gb, guard=NO_ROOM, memory_gb="memory_used_gb", of_free="of_free_used"),
        _step("max_seqs_mean", memory.max_seqs, "Resident sequences, mean context", NO_SEQUENCES),
        _step(
            "max_seqs_peak",
            memory.max_seqs,
            "Resident sequences, peak context",
            NO_SEQUENCES,
            kv_gb_per_seq="kv_gb_per_seq_peak",
        ),
        Choice("max_seqs", "peak_residency", "max_seqs_peak", "max_seqs_mean", "Resident sequences that fit"),
    ),
    "Decode": (
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
        _step("routed_active_b", rw.routed_active_b),
        _step(
            "dense_active_b", rw.dense_prefill_b, "Dense parameters per output token", lm_head_params_b="none_left_out"
        ),
        Choice("dense_flops_b", "decode_flops", "dense_active_b", "0", "Dense parameters priced in FLOPs"),
        Choice("routed_flops_b", "decode_flops", "routed_params_b", "0", "Expert parameters priced in FLOPs"),
        _step("verify_batch", rs.verify_batch, drafts="drafts_used"),
        _step("expert_coverage", rs.expert_coverage, experts="experts_used"),
        _step(
            "dense_read_gb",
            rm.dense_read_gb,
            embedding_params_b="unread_embedding_b",
            lm_head_params_b="bf16_head_b",
            attention_dp="attention_dp_used",
        ),
        _step(
            "dense_bytes_ms",
            rs.read_ms,
            "Dense weights, bytes",
            read_gb="dense_read_gb",
            read_efficiency="mbu_dense_used",
        ),
        _step(
            "dense_flops_us",
            rw.flops_us,
            "Dense layers, FLOPs per token",
            flop_params_b="dense_flops_b",
            flop_efficiency="mfu_decode_used",
        ),
        _step("dense_ms", rs.joined_ms, bytes_ms="dense_bytes_ms", flops_us="dense_flops_us"),
        _step("experts_gb", rm.experts_gb),
        _step(
            "experts_bytes_ms",
            rs.read_ms,
            "All experts, bytes",
            read_gb="experts_gb",
            read_efficiency="mbu_experts_used",
        ),
        _step(
            "experts_flops_us",
            rw.flops_us,
            "All experts, FLOPs per token",
            flop_params_b="routed_flops_b",
            flop_efficiency="mfu_decode_experts_used",
        ),
        _step("expert_load", rs.expert_load, coverage="expert_coverage"),
        _step(
            "experts_ms",
            rs.expert_step_ms,
            bytes_ms="experts_bytes_ms",
            coverage="expert_coverage",
            flops_us="experts_flops_us",
            expert_parallel="expert_parallel_used",
            imbalance="imbalance_used",
        ),
        _step("kv_ms", rs.read_ms, "KV of one sequence", read_gb="kv_gb_per_seq", read_efficiency="mbu_kv_used"),
        _step(
            "decode_allreduce_us",
            rl.allreduce_us,
            "All-reduce per output token",
            comm_layers="comm_layers_used",
            tp="attention_ranks",
            attention_dp="attention_dp_used",
        ),
        _step(
            "allreduce_latency_ms",
            rl.allreduce_latency_ms,
            comm_layers="comm_layers_used",
            tp="attention_ranks",
            latency_us="allreduce_latency_us",
        ),
        _step(
            "alltoall_latency_ms",
            rl.alltoall_latency_ms,
            moe_layers="comm_moe_layers",
            attention_dp="attention_dp_used",
        ),
        _step("fixed_ms", rs.step_fixed_ms, kernels="kernels_used", host_ms="host_ms_used"),
        _step("traffic_us", rl.traffic_us, "Traffic per output token", allreduce_us="decode_allreduce_us"),
        _step("constant_ms", rs.step_constant_ms),
        _step("engine_step_ms", rs.refined_step_ms),
        _step(
            "decode_step_ms",
            rs.token_step_ms,
            step_ms="engine_step_ms",
            draft_ms="draft_ms_used",
            accepted="accepted_used",
        ),
        _step("replica_tps", decode.replica_tps),
        _step("decode_load", decode.decode_load),
    ),
    "Fleet": (
        _step("busy_replicas", fleet.busy_replicas),
        _step("replicas", fleet.replicas),
        _step("gpus", fleet.gpus),
        _step("request_replica_s", fleet.request_replica_s),
    ),
    "Cost": (
        _step("cost_per_hour", cost.cost_per_hour),
        _step("usd_per_m_tokens", cost.usd_per_m_tokens, guard=NO_OUTPUT, tokens_per_s="output_tps"),
        _step(
            "usd_per_m_tokens_all",
            cost.usd_per_m_tokens,
            "Cost per million tokens, prompt included",
            NO_TOKENS,
            tokens_per_s="prompt_tps+output_tps",
        ),
    ),
    "TPOT check": (
        _step("tpot_worst_ms", tpot.tpot_worst_ms, guard=NO_OUTPUT),
        _step("tpot_best_ms", tpot.tpot_best_ms, guard=NO_OUTPUT),
        _step("overlap_needed", tpot.overlap_needed, guard=NO_OUTPUT),
        _step("tpot_verdict", tpot.tpot_verdict, guard=NO_VERDICT),
    ),
}

REFINED_STEPS: Final = tuple(s for rows in SECTIONS.values() for s in rows if isinstance(s, Step))
