"""Layers that keep a state of fixed size for each sequence: gated delta net, Mamba-2, Kimi delta attention.

The state is counted at the type that the config names for it, else at BF16; the convolution's at BF16.
"""

from .config import Config
from .parts import BF16, FP32, Cache, Kind, Part, linear, named, vector


def gated_delta_net(c: Config, *, fused: bool) -> Part:
    """Of Qwen3-Next and Qwen3.5; the former packs its input projections into two matrices."""
    hidden, kernel = c.whole("hidden_size"), c.whole("linear_conv_kernel_dim", 4)
    key_dim, value_dim = c.whole("linear_key_head_dim", 128), c.whole("linear_value_head_dim", 128)
    keys = key_dim * c.whole("linear_num_key_heads", 16)
    value_heads = c.whole("linear_num_value_heads", 32)
    values = value_heads * value_dim
    mixed = 2 * keys + values
    inputs = [("in_proj_qkv", mixed), ("in_proj_z", values), ("in_proj_b", value_heads), ("in_proj_a", value_heads)]
    if fused:
        inputs = [("in_proj_qkvz", mixed + values), ("in_proj_ba", 2 * value_heads)]
    tensors = [t for name, outputs in inputs for t in linear(name, outputs, hidden)]
    tensors += [vector("conv1d", mixed * kernel), vector("dt_bias", value_heads), vector("A_log", value_heads)]
    tensors += [vector("norm", value_dim), *linear("out_proj", hidden, values)]
    state = value_heads * key_dim * value_dim * _element(c, "mamba_ssm_dtype") + mixed * (kernel - 1) * BF16
    return Part(Kind.MIXER, named("linear_attn", tensors), Cache(state=state))


def mamba2(c: Config) -> Part:
    """Of Nemotron-H and Nemotron 3."""
    hidden, heads = c.whole("hidden_size"), c.whole("mamba_num_heads")
    inner, size = heads * c.whole("mamba_head_dim"), c.whole("ssm_state_size")
    kernel = c.whole(c.first("conv_kernel", "mamba_d_conv"), 4)
    convolved = inner + 2 * c.whole(c.first("n_groups", "mamba_n_groups"), 8) * size
    bias = c.flag(c.first("mamba_proj_bias", "use_bias"), False)
    tensors = [
        *linear("in_proj", inner + convolved + heads, hidden, bias=bias),
        vector("conv1d", convolved * (kernel + c.flag(c.first("use_conv_bias", "mamba_conv_bias"), True))),
        vector("A_log, D, dt_bias", 3 * heads),
        vector("norm", inner),
        *linear("out_proj", hidden, inner, bias=bias),
    ]
    state = inner * size * _element(c, "mamba_ssm_cache_dtype") + convolved * (kernel - 1) * BF16
    return Part(Kind.MIXER, named("mixer", tensors), Cache(state=state))


def kimi_delta_attention(c: Config) -> Part:
    """Of Kimi Linear and Kimi K3: a gated delta net that forgets channel by channel, with a state in FP32."""
    hidden, shape = c.whole("hidden_size"), c.part("linear_attn_config")
    heads, dim, kernel = shape.whole("num_heads"), shape.whole("head_dim"), shape.whole("short_conv_kernel_size", 4)
    inner = heads * dim
    gate = linear("g_a_proj", dim, hidden) + linear("g_b_proj", inner, dim)
    if shape.flag("use_full_rank_gate", False):
        gate = linear("g_proj", inner, hidden)
    tensors = [
        *linear("q_proj", inner, hidden),
        *linear("k_proj", inner, hidden),
        *linear("v_proj", inner, hidden),
        vector("convolutions", 3 * inner * kernel),
        *linear("f_a_proj", dim, hidden),
        *linear("f_b_proj", inner, dim),
        vector("dt_bias", inner),
        vector("A_log", heads),
        *linear("b_proj", heads, hidden),
        *gate,
        vector("o_norm", dim),
        *linear("o_proj", hidden, inner),
    ]
    state = heads * dim * dim * FP32 + 3 * inner * (kernel - 1) * BF16
    return Part(Kind.MIXER, named("self_attn", tensors), Cache(state=state))


def _element(c: Config, field: str) -> int:
    """Bytes of an element of the state."""
    return {"float32": FP32, "bfloat16": BF16, "float16": BF16}[
        c.choice(field, ("float32", "bfloat16", "float16"), "bfloat16")
    ]
