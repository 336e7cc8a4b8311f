"""The steps of the refined chain, by section: choices that switches make, and calls of registered functions."""

from typing import Final

from . import cost, fleet, memory, prefill, tpot
from . import refined_links as rl
from . import refined_memory as rm
from . import refined_work as rw
from .plan import NO_OUTPUT, NO_SEQUENCES, NO_TOKENS, NO_VERDICT, STEPS, Choice, Guard, Step, step_named
from .refined_decode_steps import DECODE

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
        step_named("prefill_routed_active_b", rw.routed_active_b, routed_params_b="prefill_routed_b"),
        step_named(
            "dense_prefill_b",
            rw.dense_prefill_b,
            active_params_b="active_used_b",
            lm_head_params_b="prefill_head_b",
            routed_active_b="prefill_routed_active_b",
        ),
        step_named(
            "dense_us", rw.flops_us, "Dense layers", flop_params_b="dense_prefill_b", flop_efficiency="mfu_dense_used"
        ),
        step_named(
            "experts_us",
            rw.flops_us,
            "Routed experts",
            flop_params_b="prefill_routed_active_b",
            flop_efficiency="mfu_experts_used",
        ),
        step_named("cached_tokens", rw.cached_tokens),
        step_named("prompt_area", rw.seen_area, "Seen in a window, the prompt", tokens="prompt_tokens"),
        step_named("cached_area", rw.seen_area, "Seen in a window, the cached prefix", tokens="cached_tokens"),
        step_named("seen_tokens", rw.seen_tokens),
        step_named(
            "attention_us",
            rw.attention_us,
            attention_width="width_used",
            windowed_width="windowed_width_used",
            flop_efficiency="mfu_attention_used",
        ),
        step_named(
            "activation_us", rw.activation_us, activation_passes="passes_used", attention_dp="attention_dp_used"
        ),
        step_named(
            "prefill_fixed_ms", rw.prefill_fixed_ms, prefill_base_ms="base_ms_used", prefill_layer_us="layer_us_used"
        ),
        step_named("attention_ranks", rl.attention_ranks, attention_dp="attention_dp_used"),
        step_named(
            "prefill_allreduce_us",
            rl.allreduce_us,
            comm_layers="comm_layers_used",
            tp="attention_ranks",
            attention_dp="attention_dp_used",
            one_shot_share="none_one_shot",
        ),
        step_named("alltoall_us", rl.alltoall_us, moe_layers="comm_moe_layers", attention_dp="attention_dp_used"),
        step_named("prompt_traffic_us", rl.traffic_us, "Traffic per prompt token", allreduce_us="prefill_allreduce_us"),
        step_named("prefill_us", rw.refined_prefill_us),
        step_named("prefill_load", prefill.prefill_load),
        step_named("ttft_floor_ms", prefill.ttft_floor_ms),
    ),
    "Memory": (
        Choice("bf16_embedding_b", "stored_weights", "embedding_params_b", "0", "Embedding kept in BF16"),
        Choice("bf16_head_b", "stored_weights", "lm_head_params_b", "0", "LM head kept in BF16"),
        Choice("dense_bytes_used", "stored_weights", "dense_bytes", "bytes_per_param", "Bytes per dense parameter"),
        Choice("expert_bytes_used", "stored_weights", "expert_bytes", "bytes_per_param", "Bytes per expert parameter"),
        step_named(
            "weights_gb",
            rm.stored_weights_gb,
            embedding_params_b="bf16_embedding_b",
            lm_head_params_b="bf16_head_b",
            dense_bytes="dense_bytes_used",
            expert_bytes="expert_bytes_used",
            attention_dp="attention_dp_used",
        ),
        step_named("kv_full_typed", rm.kv_typed_bytes, "Growing KV bytes per token by type"),
        step_named(
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
        step_named(
            "kv_copies",
            rm.kv_copies,
            tp="ranks_used",
            kv_replicated="replicated_used",
            attention_dp="attention_dp_used",
        ),
        step_named(
            "windowed_copies",
            rm.kv_copies,
            "Copies of the KV cache of windowed layers",
            kv_heads="windowed_kv_heads",
            tp="ranks_used",
            kv_replicated="replicated_used",
            attention_dp="attention_dp_used",
        ),
        step_named(
            "kv_mean_bytes", rm.kv_mean_bytes, kv_full_bytes="kv_full_typed", kv_windowed_bytes="kv_windowed_typed"
        ),
        step_named(
            "kv_gb_per_seq",
            rm.kv_seq_gb,
            "KV per sequence per GPU, mean context",
            kv_full_bytes="kv_full_used",
            kv_windowed_bytes="kv_windowed_used",
            state_bytes="state_used",
        ),
        step_named("peak_context_tokens", rm.peak_context_tokens),
        step_named(
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
        step_named("kv_pool_gb", rm.usable_pool_gb, guard=NO_ROOM, memory_gb="memory_used_gb", of_free="of_free_used"),
        step_named("max_seqs_mean", memory.max_seqs, "Resident sequences, mean context", NO_SEQUENCES),
        step_named(
            "max_seqs_peak",
            memory.max_seqs,
            "Resident sequences, peak context",
            NO_SEQUENCES,
            kv_gb_per_seq="kv_gb_per_seq_peak",
        ),
        Choice("max_seqs", "peak_residency", "max_seqs_peak", "max_seqs_mean", "Resident sequences that fit"),
    ),
    "Decode": DECODE,
    "Fleet": (
        step_named("busy_replicas", fleet.busy_replicas),
        step_named("replicas", fleet.replicas),
        step_named("gpus", fleet.gpus),
        step_named("request_replica_s", fleet.request_replica_s),
    ),
    "Cost": (
        step_named("cost_per_hour", cost.cost_per_hour),
        step_named("usd_per_m_tokens", cost.usd_per_m_tokens, guard=NO_OUTPUT, tokens_per_s="output_tps"),
        step_named(
            "usd_per_m_tokens_all",
            cost.usd_per_m_tokens,
            "Cost per million tokens, prompt included",
            NO_TOKENS,
            tokens_per_s="prompt_tps+output_tps",
        )._replace(source={s.name: s.source for s in STEPS}["usd_per_m_tokens_all"]),
    ),
    "TPOT check": (
        step_named("tpot_worst_ms", tpot.tpot_worst_ms, guard=NO_OUTPUT),
        step_named("tpot_best_ms", tpot.tpot_best_ms, guard=NO_OUTPUT),
        step_named("overlap_needed", tpot.overlap_needed, guard=NO_OUTPUT),
        step_named("tpot_verdict", tpot.tpot_verdict, guard=NO_VERDICT),
    ),
}

REFINED_STEPS: Final = tuple(s for rows in SECTIONS.values() for s in rows if isinstance(s, Step))
