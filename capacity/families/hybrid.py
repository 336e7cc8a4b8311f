"""Families in which most layers keep a state of fixed size in the place of a growing cache."""

from .attention import gqa, kv_heads, mla
from .config import MOST_LAYERS, Config
from .family import LINEAR, Layer, depth, family, is_full, nth
from .feedforward import UNGATED, ffn, moe
from .parts import Kind, Part, linear, norms, vector
from .recurrent import gated_delta_net, kimi_delta_attention, mamba2


def _qwen(c: Config, *, full: bool, dense: bool) -> Layer:
    bias = c.flag("attention_bias", False)
    if full:
        dim = c.whole("head_dim", 256)
        mixer = gqa(c, kv=kv_heads(c), dim=dim, bias=bias, output_bias=bias, norm="head", gate=True)
    else:
        mixer = gated_delta_net(c, fused=c.kind == "qwen3_next")
    return [mixer, ffn(c) if dense else _qwen_moe(c), norms(c.whole("hidden_size"), 2)]


def _qwen_moe(c: Config) -> Part:
    return moe(
        c,
        experts="num_experts",
        width=c.whole("moe_intermediate_size"),
        shared=1,
        shared_width=c.whole("shared_expert_intermediate_size"),
        shared_gate=True,
        shared_module="shared_expert",
    )


def _is_dense(c: Config, i: int) -> bool:
    only = c.wholes("mlp_only_layers") if c.has("mlp_only_layers") else []
    return not c.has("num_experts") or i in only or not nth(i, c.whole("decoder_sparse_step", 1))


def _qwen_draft(c: Config) -> Layer:
    """Every Qwen3-Next has one such layer, which its config does not mention."""
    count = c.whole("mtp_num_hidden_layers", 1 if c.kind == "qwen3_next" else 0, least=0, most=100)
    if not count:
        return []
    hidden = c.whole("hidden_size")
    joint = Part(Kind.OTHER, (*linear("fc", hidden, 2 * hidden), vector("norms", 3 * hidden)))
    return [*_qwen(c, full=True, dense=not c.has("num_experts")) * count, joint]


@family(
    "qwen3_next",
    "qwen3_5",
    "qwen3_5_text",
    "qwen3_5_moe",
    "qwen3_5_moe_text",
    draft=_qwen_draft,
)
def qwen_hybrid(c: Config, i: int) -> Layer:
    """Qwen3-Next, Qwen 3.5 and 3.6: every fourth layer is attention, the others are gated delta nets."""
    full = is_full(c, i, LINEAR, nth(i, c.whole("full_attention_interval", 4)))
    return _qwen(c, full=full, dense=_is_dense(c, i))


# The letters of a pattern, and the words that newer configs use for them
_BLOCKS = {
    "mamba": "M",
    "linear_attention": "M",
    "moe": "E",
    "attention": "*",
    "full_attention": "*",
    "mlp": "-",
}


def _pattern(c: Config, pattern: str, blocks: str) -> str:
    if c.has(blocks):
        return "".join(_BLOCKS[word] for word in c.words(blocks, None, tuple(_BLOCKS)))
    letters = c.text(pattern)
    if not letters or set(letters) - set(_BLOCKS.values()):
        raise c.error(pattern, "must consist of the letters M, E, * and -", letters)
    return letters


def _nemotron_depth(c: Config) -> int:
    count = len(_layers(c))
    if c.has("num_hidden_layers") and depth(c) != count:
        raise c.error("num_hidden_layers", f"must be the length of the layers' pattern ({count})", depth(c))
    if count > MOST_LAYERS:
        raise c.error("hybrid_override_pattern", f"must have at most {MOST_LAYERS:,} layers")
    return count


def _layers(c: Config) -> str:
    return _pattern(c, "hybrid_override_pattern", c.first("layers_block_type", "layer_types"))


def _nemotron_draft(c: Config) -> Layer:
    count = c.whole("num_nextn_predict_layers", 0, least=0, most=100)
    if not count:
        return []
    letters = _pattern(c, "mtp_hybrid_override_pattern", "mtp_layers_block_type")
    hidden = c.whole("hidden_size")
    joint = Part(Kind.OTHER, (*linear("eh_proj", hidden, 2 * hidden), vector("norms", 3 * hidden)))
    return [*(part for letter in letters for part in _nemotron_block(c, letter)), joint]


@family("nemotron_h", depth=_nemotron_depth, draft=_nemotron_draft)
def nemotron_h(c: Config, i: int) -> Layer:
    """Nemotron-H and Nemotron 3: each layer is one of Mamba-2, attention, network or experts."""
    return _nemotron_block(c, _layers(c)[i])


def _nemotron_block(c: Config, letter: str) -> Layer:
    hidden, bias = c.whole("hidden_size"), c.flag("mlp_bias", False)
    if letter == "M":
        block = mamba2(c)
    elif letter == "*":
        dim = c.whole(c.first("head_dim", "attention_head_dim"), 128)
        attention_bias = c.flag("attention_bias", False)
        block = gqa(c, kv=kv_heads(c, 8), dim=dim, bias=attention_bias, output_bias=attention_bias, module="mixer")
    elif letter == "-":
        block = ffn(c, matrices=UNGATED, bias=bias, module="mixer")
    else:
        block = moe(
            c,
            experts="n_routed_experts",
            width=c.whole("moe_intermediate_size"),
            shared=c.whole("n_shared_experts", 1, least=0),
            shared_width=c.whole("moe_shared_expert_intermediate_size"),
            latent=c.whole("moe_latent_size") if c.has("moe_latent_size") else None,
            matrices=UNGATED,
            module="mixer",
        )
    return [block, norms(hidden, 1)]


@family("kimi_linear", "kimi_k3")
def kimi_linear(c: Config, i: int) -> Layer:
    """Kimi Linear and Kimi K3: latent attention in every fourth layer. K3's shapes are inferred from its config."""
    hidden, number = c.whole("hidden_size"), i + 1  # its lists count layers from 1
    if number in c.part("linear_attn_config").wholes("full_attn_layers"):
        mixer = mla(c, gate=c.flag("mla_use_output_gate", False))
    else:
        mixer = kimi_delta_attention(c)
    if number <= c.whole("first_k_dense_replace", least=0):
        return [mixer, ffn(c), norms(hidden, 2)]
    experts = moe(
        c,
        experts="num_experts",
        chosen=c.first("num_experts_per_token", "num_experts_per_tok"),
        width=c.whole("moe_intermediate_size"),
        shared=c.whole(c.first("num_shared_experts", "n_shared_experts"), 1, least=0),
        router_bias=True,
        latent=c.whole("routed_expert_hidden_size") if c.has("routed_expert_hidden_size") else None,
    )
    return [mixer, experts, norms(hidden, 2)]
