"""Attention: grouped-query, latent (MLA) with or without a sparse-attention indexer, and compressed (DeepSeek V4)."""

from typing import Final

from .config import Config
from .parts import BF16, Cache, Kind, Part, Tensor, linear, named, vector

INDEX_SCALE: Final = 4  # an indexer's cache holds its key in FP8 with an FP32 scale: 132 bytes for 128 elements
FINEST: Final = 4  # the ratio of DeepSeek V4 whose entries overlap, so that each takes twice the projections


def head_dim(c: Config) -> int:
    """The config's own, or the width of the model divided among the heads."""
    if c.has("head_dim"):
        return c.whole("head_dim")
    hidden, heads = c.whole("hidden_size"), c.whole("num_attention_heads")
    if hidden % heads:
        raise c.error("head_dim", f"is missing, and hidden_size {hidden} is not a multiple of its {heads} heads")
    return hidden // heads


def kv_heads(c: Config, default: int | None = None) -> int:
    """Heads of keys and values; left out there are as many as queries, or the kind's own default."""
    heads = c.whole("num_attention_heads")
    if not c.has("num_key_value_heads") and "num_key_value_heads" in c.fields:
        default = None  # a null always means: as many as queries
    return _dividing(c, "num_key_value_heads", c.whole("num_key_value_heads", default or heads), heads)


def gqa(
    c: Config,
    *,
    window: int | None = None,
    heads: int | None = None,
    kv: int | None = None,
    dim: int | None = None,
    value_dim: int | None = None,
    bias: bool = False,
    output_bias: bool = False,
    norm: str = "",
    gate: bool = False,
    sinks: bool = False,
    own_values: bool = True,
    own_keys: bool = True,
    module: str = "self_attn",
) -> Part:
    """Grouped-query attention.

    window       tokens that it looks back, or None
    heads, kv, dim, value_dim   where they are not what the config's usual fields say
    norm         "head": queries and keys are normalized head by head; "full": over all heads
    gate         the query projection yields a gate as well
    sinks        one attention sink per head
    own_values   False: the keys serve as values, though caches keep both
    own_keys     False: the layer reads the cache of an earlier one
    """
    hidden = c.whole("hidden_size")
    heads = heads or c.whole("num_attention_heads")
    kv, dim = kv or kv_heads(c), dim or head_dim(c)
    value_dim = value_dim or dim
    tensors = linear("q_proj", heads * dim * (2 if gate else 1), hidden, bias=bias)
    if own_keys:
        tensors += linear("k_proj", kv * dim, hidden, bias=bias)
        tensors += linear("v_proj", kv * value_dim, hidden, bias=bias) if own_values else []
    tensors += linear("o_proj", hidden, heads * value_dim, bias=output_bias)
    normalized = {"": 0, "head": dim * (1 + own_keys), "full": (heads + kv) * dim}[norm]
    tensors += [vector("norms", normalized), vector("sinks", heads if sinks else 0)]
    shape = Cache(heads=heads, kv_heads=kv, head_dim=dim, width=heads * (dim + value_dim) // 2, qk_norm=bool(norm))
    return Part(Kind.MIXER, named(module, tensors), _kept(c, shape, kv * (dim + value_dim) * BF16 * own_keys, window))


def _kept(c: Config, shape: Cache, per_token: int, window: int | None) -> Cache:
    """Of the whole context, or of the window where it is shorter than the longest context."""
    if window is None or window >= c.whole("max_position_embeddings", window + 1):
        return shape._replace(growing=per_token)
    return shape._replace(windowed=per_token, window=window)


def mla(c: Config, *, index: Part | None = None, gate: bool = False) -> Part:
    """Multi-head latent attention: one latent per token and layer serves all heads, so that every rank holds it."""
    hidden, heads, bias = c.whole("hidden_size"), c.whole("num_attention_heads"), c.flag("attention_bias", False)
    latent, rope = c.whole("kv_lora_rank"), c.whole("qk_rope_head_dim")
    nope, values = c.whole("qk_nope_head_dim"), c.whole("v_head_dim")
    queries = heads * (nope + rope)
    tensors = [
        *linear("kv_a_proj_with_mqa", latent + rope, hidden, bias=bias),
        vector("kv_a_layernorm", latent),
        *linear("kv_b_proj", heads * (nope + values), latent),
        *linear("o_proj", hidden, heads * values, bias=bias),
        *(linear("g_proj", heads * values, hidden) if gate else []),
    ]
    if c.has("q_lora_rank"):
        rank = c.whole("q_lora_rank")
        tensors += linear("q_a_proj", rank, hidden, bias=bias)
        tensors += [vector("q_a_layernorm", rank), *linear("q_b_proj", queries, rank)]
    else:
        tensors += linear("q_proj", queries, hidden)
    cache = Cache(
        growing=(latent + rope) * BF16,
        indexed=index.cache.indexed if index and index.cache else 0,
        heads=heads,
        kv_heads=kv_heads(c),
        head_dim=nope + rope,
        width=heads * (nope + rope + values) // 2,
        replicated=True,
    )
    return Part(Kind.MIXER, named("self_attn", (*tensors, *(index.tensors if index else ()))), cache)


def indexer(c: Config) -> Part:
    """The indexer of DeepSeek's sparse attention, which chooses the tokens that the layer looks at."""
    hidden, dim, heads = c.whole("hidden_size"), c.whole("index_head_dim"), c.whole("index_n_heads")
    tensors = [
        *linear("wq_b", heads * dim, c.whole("q_lora_rank")),
        *linear("wk", dim, hidden),
        vector("k_norm", 2 * dim),
        vector("weights_proj", heads * hidden),
    ]
    return Part(Kind.MIXER, named("indexer", tensors), Cache(indexed=dim + INDEX_SCALE))


def block_indexer(c: Config, *, heads: int, dim: int) -> Part:
    """The indexer of MiniMax M3, which chooses blocks of tokens."""
    hidden = c.whole("hidden_size")
    tensors = [
        *linear("index_q_proj", heads * dim, hidden),
        *linear("index_k_proj", dim, hidden),
        vector("norms", 2 * dim),
    ]
    return Part(Kind.OTHER, named("self_attn", tensors), Cache(indexed=dim + INDEX_SCALE))


def compressed(c: Config, ratio: int) -> Part:
    """Attention of DeepSeek V4: a window, and beside it one entry for every `ratio` tokens (0: the window only).

    One entry is key and value at once, and serves all heads. At the finest ratio an indexer chooses among the entries.
    """
    hidden, heads, dim = c.whole("hidden_size"), c.whole("num_attention_heads"), c.whole("head_dim")
    rank, groups = c.whole("q_lora_rank"), c.whole("o_groups")
    grouped, outputs = heads * dim // _dividing(c, "o_groups", groups, heads, dim), groups * c.whole("o_lora_rank")
    tensors = [
        *linear("wq_a", rank, hidden),
        vector("q_norm", rank),
        *linear("wq_b", heads * dim, rank),
        *linear("wkv", dim, hidden),
        vector("kv_norm", dim),
        *linear("wo_a", outputs, grouped),
        *linear("wo_b", hidden, outputs),
        vector("attn_sink", heads),
    ]
    index = 0
    if ratio:
        tensors += named("compressor", _compressor(hidden, dim, ratio))
    if ratio == FINEST:
        index_dim, index_heads = c.whole("index_head_dim"), c.whole("index_n_heads")
        inner = [*linear("wq_b", index_heads * index_dim, rank), *linear("weights_proj", index_heads, hidden)]
        inner += named("compressor", _compressor(hidden, index_dim, ratio))
        tensors += named("indexer", inner)
        index = (index_dim + INDEX_SCALE) // ratio
    cache = Cache(
        growing=dim * BF16 // ratio if ratio else 0,
        windowed=dim * BF16,
        window=c.whole("sliding_window"),
        indexed=index,
        heads=heads,
        kv_heads=1,
        head_dim=dim,
        width=heads * dim,
        replicated=True,
    )
    return Part(Kind.MIXER, named("attn", tensors), cache)


def _compressor(hidden: int, dim: int, ratio: int) -> list[Tensor]:
    wide = dim * (2 if ratio == FINEST else 1)
    return [*linear("wkv", wide, hidden), *linear("wgate", wide, hidden), vector("ape", ratio * wide + dim)]


def _dividing(c: Config, name: str, value: int, heads: int, dim: int = 1) -> int:
    if heads * dim % value:
        raise c.error(name, f"must divide the {heads} attention heads", value)
    return value
