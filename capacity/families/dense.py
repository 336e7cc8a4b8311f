"""Families in which every token passes all weights."""

from .attention import gqa, head_dim, kv_heads
from .config import Config
from .family import SLIDING, Layer, family, is_full, nth
from .feedforward import ffn
from .parts import Kind, Part, linear, norms


@family("llama")
def llama(c: Config, i: int) -> Layer:
    """Llama 2 and 3."""
    bias = c.flag("attention_bias", False)
    return [gqa(c, bias=bias, output_bias=bias), ffn(c, bias=c.flag("mlp_bias", False)), _two_norms(c)]


@family("mistral", "mistral3")
def mistral(c: Config, i: int) -> Layer:
    """Mistral 7B, Small, Nemo, Large: in the first of them every layer looks back 4,096 tokens."""
    return [gqa(c, window=c.limit("sliding_window", 4096), kv=kv_heads(c, 8)), ffn(c), _two_norms(c)]


@family("ministral3")
def ministral3(c: Config, i: int) -> Layer:
    """Ministral 3 and Devstral 2."""
    dim = c.whole("head_dim", 128)
    return [gqa(c, window=c.limit("sliding_window", None), kv=kv_heads(c, 8), dim=dim), ffn(c), _two_norms(c)]


@family("phi3")
def phi3(c: Config, i: int) -> Layer:
    """Phi-3 and Phi-4; their fused matrices have the parameters of the separate ones."""
    return [gqa(c, window=c.limit("sliding_window", None)), ffn(c), _two_norms(c)]


@family("qwen2")
def qwen2(c: Config, i: int) -> Layer:
    """Qwen 2 and 2.5."""
    return [gqa(c, window=qwen_window(c, i), kv=kv_heads(c, 32), bias=True), ffn(c), _two_norms(c)]


@family("qwen3", "qwen3_vl", "qwen3_vl_text")
def qwen3(c: Config, i: int) -> Layer:
    """Qwen 3 and Qwen3-VL."""
    bias, dim = c.flag("attention_bias", False), c.whole("head_dim", 128)
    attention = gqa(c, window=qwen_window(c, i), kv=kv_heads(c, 32), dim=dim, bias=bias, output_bias=bias, norm="head")
    return [attention, ffn(c), _two_norms(c)]


def qwen_window(c: Config, i: int) -> int | None:
    """The window of layer i: the config gives one to all of them, and says apart whether it is in use."""
    if not c.flag("use_sliding_window", False):
        return None
    slides = not is_full(c, i, SLIDING, i < c.whole("max_window_layers", 28, least=0))
    return c.limit("sliding_window", 4096) if slides else None


@family("gemma2", tied=True)
def gemma2(c: Config, i: int) -> Layer:
    """Gemma 2: every second layer sees the whole context."""
    return _gemma(c, full=is_full(c, i, SLIDING, nth(i, 2)))


@family("gemma3_text", "gemma3", tied=True, vocabulary=262_208)
def gemma3(c: Config, i: int) -> Layer:
    """Gemma 3: every sixth layer sees the whole context. Its configs leave out what the library has as default."""
    full = is_full(c, i, SLIDING, nth(i, c.whole("sliding_window_pattern", 6)))
    return _gemma(c, full=full, heads=c.whole("num_attention_heads", 8), norm="head")


def _gemma(c: Config, *, full: bool, heads: int | None = None, norm: str = "") -> Layer:
    bias = c.flag("attention_bias", False)
    attention = gqa(
        c,
        window=None if full else c.limit("sliding_window", 4096),
        heads=heads,
        kv=c.whole("num_key_value_heads", 4),
        dim=c.whole("head_dim", 256),
        bias=bias,
        output_bias=bias,
        norm=norm,
    )
    return [attention, ffn(c), norms(c.whole("hidden_size"), 4)]


NAS_ROUNDING = 256  # inner layers are whole multiples of this


@family("nemotron-nas")
def nemotron_nas(c: Config, i: int) -> Layer:
    """Llama that architecture search has thinned out: each block has its own attention and network, or none."""
    block = c.parts("block_configs", i + 1)[i]
    return [part for name in ("attention", "ffn") for part in _searched(c, name, block.part(name))]


def _searched(c: Config, name: str, choice: Config) -> Layer:
    hidden = c.whole("hidden_size")
    if choice.flag("no_op", False):
        return []
    if choice.flag("replace_with_linear", False):
        return [Part(Kind.OTHER, tuple(linear(f"{name}.linear", hidden, hidden))), norms(hidden, 1)]
    if name == "attention":
        bias, group = c.flag("attention_bias", False), choice.whole("n_heads_in_group")
        kv = c.whole("num_attention_heads") // group
        window = choice.limit("window_length", None)
        return [gqa(c, kv=kv, dim=head_dim(c), bias=bias, output_bias=bias, window=window), norms(hidden, 1)]
    width = -(-int(2 * _multiple(choice) * hidden / 3) // NAS_ROUNDING) * NAS_ROUNDING
    return [ffn(c, width, bias=c.flag("mlp_bias", False)), norms(hidden, 1)]


def _multiple(choice: Config) -> float:
    value = choice.fields.get("ffn_mult")
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1000:
        return float(value)
    raise choice.error("ffn_mult", "must be a number above 0 and below 1000", value)


def _two_norms(c: Config) -> Part:
    return norms(c.whole("hidden_size"), 2)
