"""Families of mixtures of experts with attention in every layer."""

from functools import partial

from .attention import FINEST, block_indexer, compressed, gqa, indexer, kv_heads, mla
from .config import Config
from .family import CHUNKED, SLIDING, Layer, depth, family, is_full, nth
from .feedforward import MIXTRAL, ffn, moe
from .parts import Kind, Part, linear, norms, vector


def _norms(c: Config, count: int = 2) -> Part:
    return norms(c.whole("hidden_size"), count)


@family("mixtral")
def mixtral(c: Config, i: int) -> Layer:
    """Mixtral 8x7B and 8x22B."""
    experts = moe(
        c,
        experts="num_local_experts",
        width=c.whole("intermediate_size"),
        matrices=MIXTRAL,
        module="block_sparse_moe",
    )
    return [gqa(c, window=c.limit("sliding_window", None), kv=kv_heads(c, 8)), experts, _norms(c)]


@family("qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text")
def qwen3_moe(c: Config, i: int) -> Layer:
    """Qwen 3 with experts, Qwen3-Coder."""
    bias = c.flag("attention_bias", False)
    window = c.limit("sliding_window", 4096) if c.flag("use_sliding_window", False) else None
    attention = gqa(c, window=window, kv=kv_heads(c, 4), bias=bias, output_bias=bias, norm="head")
    return [attention, _qwen_ffn(c, i), _norms(c)]


def _qwen_ffn(c: Config, i: int) -> Part:
    only = c.wholes("mlp_only_layers") if c.has("mlp_only_layers") else []
    if i in only or not nth(i, c.whole("decoder_sparse_step", 1)):
        return ffn(c)
    return moe(c, experts="num_experts", width=c.whole("moe_intermediate_size"))


@family("gpt_oss")
def gpt_oss(c: Config, i: int) -> Layer:
    """gpt-oss: biases everywhere, attention sinks, and every second layer sees the whole context."""
    full = is_full(c, i, SLIDING, nth(i, 2))
    bias = c.flag("attention_bias", True)
    attention = gqa(
        c,
        window=None if full else c.limit("sliding_window", 128),
        dim=c.whole("head_dim", 64),
        bias=bias,
        output_bias=bias,
        sinks=True,
    )
    experts = moe(c, experts="num_local_experts", width=c.whole("intermediate_size"), router_bias=True, bias=True)
    return [attention, experts, _norms(c)]


def _deepseek(c: Config, *, dense: bool, index: bool) -> Layer:
    attention = mla(c, index=indexer(c) if index and c.has("index_n_heads") else None)
    return [attention, ffn(c) if dense else _deepseek_moe(c), _norms(c)]


def _deepseek_moe(c: Config, module: str = "mlp") -> Part:
    return moe(
        c,
        experts="n_routed_experts",
        width=c.whole("moe_intermediate_size"),
        shared=c.whole("n_shared_experts", 0, least=0),
        router_bias=True,
        module=module,
    )


def _drafts(c: Config, layer: Layer, count: int) -> Layer:
    """Layers for multi-token prediction: each joins two hidden states, and has three norms more."""
    hidden = c.whole("hidden_size")
    joint = Part(Kind.OTHER, (*linear("eh_proj", hidden, 2 * hidden), vector("norms", 3 * hidden)))
    return [*layer, joint] * count


def _deepseek_draft(c: Config) -> Layer:
    count = c.whole(c.first("num_nextn_predict_layers", "num_mtp_layers"), 0, least=0, most=100)
    return _drafts(c, _deepseek(c, dense=False, index=True), count) if count else []


@family("deepseek_v3", "deepseek_v32", "kimi_k2", "kimi_k25", "glm_moe_dsa", draft=_deepseek_draft)
def deepseek(c: Config, i: int) -> Layer:
    """DeepSeek V3 to V3.2, R1, Kimi K2, GLM-5: latent attention, first layers dense, an indexer in the later ones."""
    return _deepseek(c, dense=_is_dense(c, i), index=_has_indexer(c, i))


def _is_dense(c: Config, i: int) -> bool:
    if c.has("mlp_layer_types"):
        return c.words("mlp_layer_types", depth(c), ("dense", "sparse"))[i] == "dense"
    return i < c.whole("first_k_dense_replace", least=0) or i % c.whole("moe_layer_freq", 1) != 0


def _has_indexer(c: Config, i: int) -> bool:
    """Layers whose indexer is "shared" use the choice of the one before."""
    if c.has("indexer_types"):
        return c.words("indexer_types", depth(c), ("full", "shared"))[i] == "full"
    every, after = c.whole("index_topk_freq", 1), c.whole("index_skip_topk_offset", 2, least=0)
    return max(i - after + 1, 0) % every == 0


def _glm4_moe(c: Config, *, dense: bool) -> Layer:
    norm = "head" if c.flag("use_qk_norm", False) else ""
    attention = gqa(c, kv=kv_heads(c, 8), bias=c.flag("attention_bias", False), norm=norm)
    return [attention, ffn(c) if dense else _deepseek_moe(c), _norms(c)]


def _glm4_draft(c: Config) -> Layer:
    count = c.whole(c.first("num_nextn_predict_layers", "num_mtp_layers"), 0, least=0, most=100)
    return _drafts(c, _glm4_moe(c, dense=False), count) if count else []


@family("glm4_moe", draft=_glm4_draft)
def glm4_moe(c: Config, i: int) -> Layer:
    """GLM-4.5 to 4.7."""
    return _glm4_moe(c, dense=i < c.whole("first_k_dense_replace", least=0))


_minimax_moe = partial(moe, experts="num_local_experts", router_bias=True, matrices=MIXTRAL, module="block_sparse_moe")


@family("minimax_m2")
def minimax_m2(c: Config, i: int) -> Layer:
    """MiniMax M2 to M2.7."""
    norm = "full" if c.flag("use_qk_norm", True) else ""
    return [gqa(c, norm=norm), _minimax_moe(c, width=c.whole("intermediate_size")), _norms(c)]


@family("minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text")
def minimax_m3(c: Config, i: int) -> Layer:
    """MiniMax M3: in most layers an indexer chooses blocks of tokens, and experts stand beside a shared one."""
    layer = [gqa(c, norm="head"), _norms(c)]
    sparse = c.part("sparse_attention_config")
    if sparse.wholes("sparse_attention_freq", depth(c))[i]:
        heads, dim = sparse.whole("sparse_num_index_heads"), sparse.whole("sparse_index_dim")
        layer.append(block_indexer(c, heads=heads, dim=dim))
    if not c.wholes("moe_layer_freq", depth(c))[i]:
        return [*layer, ffn(c, c.whole("dense_intermediate_size"))]
    shared, width = c.whole("n_shared_experts", 1, least=0), c.whole("shared_intermediate_size", least=0)
    experts = _minimax_moe(c, width=c.whole("intermediate_size"), shared=shared, shared_width=shared * width)
    return [*layer, experts]


@family("mimo_v2_flash")
def mimo_v2_flash(c: Config, i: int) -> Layer:
    """MiMo V2 Flash: layers with a window have attention sinks and key-value heads of their own."""
    if c.wholes("hybrid_layer_pattern", depth(c))[i]:
        attention = gqa(
            c,
            window=c.whole("sliding_window"),
            heads=c.whole("swa_num_attention_heads", c.whole("num_attention_heads")),
            kv=c.whole("swa_num_key_value_heads"),
            dim=c.whole("swa_head_dim", c.whole("head_dim")),
            value_dim=c.whole("swa_v_head_dim", c.whole("v_head_dim")),
            bias=c.flag("attention_bias", False),
            sinks=c.flag("add_swa_attention_sink_bias", True),
        )
    else:
        bias, sinks = c.flag("attention_bias", False), c.flag("add_full_attention_sink_bias", False)
        attention = gqa(c, value_dim=c.whole("v_head_dim"), bias=bias, sinks=sinks)
    dense = not c.wholes("moe_layer_freq", depth(c))[i]
    return [attention, ffn(c) if dense else _deepseek_moe(c), _norms(c)]


@family("llama4_text", "llama4")
def llama4(c: Config, i: int) -> Layer:
    """Llama 4: three of four layers attend within chunks, experts in every layer or every second one."""
    full = is_full(c, i, CHUNKED, _sees_all(c, i))
    bias = c.flag("attention_bias", False)
    attention = gqa(
        c, window=None if full else c.limit("attention_chunk_size", 8192), bias=bias, output_bias=bias
    )  # its norms of queries and keys have no weights
    if not nth(i, c.whole("interleave_moe_layer_step", 1)):
        return [attention, ffn(c, c.whole("intermediate_size_mlp"), module="feed_forward"), _norms(c)]
    experts = moe(
        c,
        experts="num_local_experts",
        width=c.whole("intermediate_size"),
        shared=1,
        module="feed_forward",
        shared_module="shared_expert",
    )
    return [attention, experts, _norms(c)]


def _sees_all(c: Config, i: int) -> bool:
    """Layers without rotary positions see everything; an empty list means the usual interval."""
    rotary = c.wholes("no_rope_layers") if c.has("no_rope_layers") else []
    if rotary:
        return not c.wholes("no_rope_layers", depth(c))[i]
    return nth(i, c.whole("no_rope_layer_interval", 4))


@family("gemma4_text", "gemma4", tied=True)
def gemma4(c: Config, i: int) -> Layer:
    """Gemma 4: layers that see the whole context have heads of their own; in one variant experts beside the network."""
    for field in ("hidden_size_per_layer_input", "num_kv_shared_layers"):
        if c.whole(field, 0, least=0):
            raise c.error(field, "must be 0: models with per-layer embeddings are not known here", c.fields[field])
    hidden, full = c.whole("hidden_size"), is_full(c, i, SLIDING, nth(i, 6))
    shared_kv = c.flag("attention_k_eq_v", False) and full
    kv = c.whole("num_key_value_heads", 4)
    bias = c.flag("attention_bias", False)
    attention = gqa(
        c,
        window=None if full else c.limit("sliding_window", 512),
        kv=c.whole("num_global_key_value_heads", kv) if shared_kv else kv,
        dim=c.whole("global_head_dim", 512) if full else c.whole("head_dim", 256),
        bias=bias,
        output_bias=bias,
        norm="head",
        own_values=not shared_kv,
    )
    layer = [attention, ffn(c), Part(Kind.OTHER, (vector("norms", 4 * hidden), vector("layer_scalar", 1)))]
    if c.flag("enable_moe_block", False):
        experts = moe(
            c,
            experts="num_experts",
            chosen="top_k_experts",
            width=c.whole("moe_intermediate_size"),
            router_bias=True,
            module="moe",
        )
        layer += [experts, norms(hidden, 4)]  # three norms, and the router's scale
    return layer


def _hyper_connections(c: Config) -> Part:
    """Of one DeepSeek V4 layer: the mixing of several residual streams, before attention and before the experts."""
    streams, hidden = c.whole("hc_mult"), c.whole("hidden_size")
    mix = (2 + streams) * streams
    return Part(Kind.OTHER, (vector("hc", 2 * (mix * hidden * streams + mix + 3)), vector("norms", 2 * hidden)))


def _hyper_head(c: Config) -> Layer:
    """Joins the residual streams after the last layer."""
    streams, hidden = c.whole("hc_mult"), c.whole("hidden_size")
    return [Part(Kind.OTHER, (vector("hc_head", streams * streams * hidden + streams + 1),))]


def _deepseek_v4(c: Config, ratio: int, *, hashed: bool) -> Layer:
    experts = _deepseek_moe(c, module="ffn")
    if hashed:  # a table gives each token its experts, in the place of the score's correction
        table = c.whole("vocab_size") * c.whole("num_experts_per_tok") - c.whole("n_routed_experts")
        experts = experts._replace(tensors=(*experts.tensors, vector("ffn.gate.tid2eid", table)))
    return [compressed(c, ratio), experts, _hyper_connections(c)]


def _deepseek_v4_draft(c: Config) -> Layer:
    count = c.whole("num_nextn_predict_layers", 0, least=0, most=100)
    if not count:
        return []
    ratio = c.wholes("compress_ratios", depth(c) + 1)[depth(c)]
    return [*_drafts(c, _deepseek_v4(c, ratio, hashed=False), count), *_hyper_head(c) * count]


@family("deepseek_v4", draft=_deepseek_v4_draft, outside=_hyper_head)
def deepseek_v4(c: Config, i: int) -> Layer:
    """DeepSeek V4: compressed attention, experts in every layer, several residual streams."""
    ratio = c.wholes("compress_ratios", depth(c))[i]
    if ratio not in (0, FINEST, 128):
        raise c.error(f"compress_ratios[{i}]", f"must be 0, {FINEST} or 128", ratio)
    return _deepseek_v4(c, ratio, hashed=i < c.whole("num_hash_layers", 3, least=0))
