"""The facts of a model from its config.json: parameters, memory of a sequence, bytes of weights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from . import weights
from .config import Config, read
from .family import FAMILIES, Layer
from .parts import Cache, Experts, Kind, Part, Tensor


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What planning needs to know of a model. Counted is the text model: no vision tower, draft layers or scales.

    Bytes per token and per sequence are for all layers together, with the cache in BF16.
    """

    total_params: int
    active_params: int  # for one token: without the input embedding, with the head, of the experts those chosen
    routed_expert_params: int
    layers: int
    kv_bytes_per_token: int  # what grows with the context
    kv_bytes_per_token_windowed: int  # what stops growing at kv_window_tokens
    kv_window_tokens: int | None
    state_bytes_per_sequence: int  # of layers with a state of fixed size
    indexer_bytes_per_token: int  # of sparse attention's indexer, not in the above
    kv_replicated_per_rank: bool  # the same on each tensor-parallel rank (MLA), not divided among them
    weight_bytes: dict[str, int]

    # what the refined model needs beyond that; not in as_dict
    model_type: str
    native_quantization: str  # bf16, fp32, or the method of the config
    native_format: str  # of weight_bytes, the one in which most weights are stored; "" where it is none of them
    native_dense_bytes_per_param: float  # outside routed experts, embedding and LM head; those count as BF16
    native_expert_bytes_per_param: float  # of routed experts; a dense model's are those of its other weights
    hidden_size: int
    vocab_size: int
    tie_word_embeddings: bool
    embedding_params: int
    lm_head_params: int  # 0 when the embedding is the head
    max_context_tokens: int | None

    num_attention_heads: int
    num_key_value_heads: int  # as the config has it
    full_key_value_heads: int  # of the layers that see the whole context
    windowed_key_value_heads: int  # of those with a window
    head_dim: int  # of the keys
    attention_width: int  # sum over the former layers of query heads x (dimension of keys + of values) / 2
    windowed_attention_width: int
    full_attention_layers: int
    windowed_attention_layers: int
    linear_attention_layers: int
    qk_norm: bool

    moe_layers: int
    dense_ffn_layers: int
    first_dense_layers: int  # before the first with experts
    n_experts: int
    experts_per_token: int
    moe_intermediate_size: int
    shared_experts: int
    mtp_layers: int
    mtp_params: int

    def as_dict(self) -> dict[str, Any]:
        """The facts that `capacity model --json` prints."""
        return {name: getattr(self, name) for name in PRINTED}


PRINTED: Final = (
    "total_params",
    "active_params",
    "routed_expert_params",
    "layers",
    "kv_bytes_per_token",
    "kv_bytes_per_token_windowed",
    "kv_window_tokens",
    "state_bytes_per_sequence",
    "indexer_bytes_per_token",
    "kv_replicated_per_rank",
    "weight_bytes",
)


def model_facts(config: Mapping[str, Any] | str | Path) -> ModelFacts:
    """The facts of the model that a Hugging Face config describes.

    Arguments:
        config: the fields of a config.json, or its path
    Returns: ModelFacts
    Errors: ConfigError, one sentence that names the field which is missing, mistyped or of an unknown kind

    >>> small = dict(hidden_size=64, intermediate_size=128, num_attention_heads=4, num_hidden_layers=2, vocab_size=100)
    >>> model_facts({"model_type": "llama", **small}).total_params
    95040
    """
    wrapper = read(config)
    model = _model(_text_config(wrapper), wrapper)
    tensors = list(_tensors(model))
    total = sum(t.size for t in tensors)
    stored = weights.stored(model.config, wrapper)
    return ModelFacts(
        total_params=total,
        active_params=total - sum(map(_idle, model.parts)) - (0 if model.tied else model.embedding),
        routed_expert_params=sum(map(_routed, model.parts)),
        layers=len(model.layers),
        weight_bytes={**weights.by_format(tensors, total), "native": stored.bytes(tensors)},
        model_type=model.config.kind,
        **_stored(model, tensors, stored),
        hidden_size=model.hidden,
        vocab_size=model.vocabulary,
        tie_word_embeddings=model.tied,
        embedding_params=model.embedding,
        lm_head_params=0 if model.tied else model.embedding,
        max_context_tokens=model.config.limit("max_position_embeddings", None),
        **_memory(model),
        **_attention(model),
        **_networks(model),
    )


class _Model(NamedTuple):
    """A model taken apart."""

    config: Config
    layers: list[Layer]
    parts: list[Part]  # of all layers
    outside: Layer
    draft: Layer
    hidden: int
    vocabulary: int
    tied: bool

    @property
    def embedding(self) -> int:
        """Parameters of the embedding, which are those of the head."""
        return self.hidden * self.vocabulary

    @property
    def caches(self) -> list[Cache]:
        """What the parts keep."""
        return [part.cache for part in self.parts if part.cache]


def _text_config(wrapper: Config) -> Config:
    """The config of the text model; the wrapper's type stands in where its own is left out."""
    c = wrapper.part("text_config") if wrapper.has("text_config") else wrapper
    owner = c if c.has("model_type") else wrapper
    return Config(c.fields, owner.choice("model_type", sorted(FAMILIES)), c.where)


def _model(c: Config, wrapper: Config) -> _Model:
    family = FAMILIES[c.kind]
    layers = [family.layer(c, i) for i in range(family.depth(c))]
    return _Model(
        config=c,
        layers=layers,
        parts=[part for layer in layers for part in layer],
        outside=family.outside(c),
        draft=family.draft(c),
        hidden=c.whole("hidden_size"),
        vocabulary=c.whole("vocab_size", family.vocabulary),
        tied=(wrapper if wrapper.has("tie_word_embeddings") else c).flag("tie_word_embeddings", family.tied),
    )


def _tensors(model: _Model) -> Iterator[Tensor]:
    """All weights under their full names."""
    yield Tensor("embed_tokens", model.embedding)
    for i, layer in enumerate(model.layers):
        yield from (t._replace(name=f"layers.{i}.{t.name}") for part in layer for t in part.tensors)
    yield from (t for part in model.outside for t in part.tensors)
    yield Tensor("norm", model.hidden)
    if not model.tied:
        yield Tensor(weights.HEAD, model.embedding, linear=True)


def _stored(model: _Model, tensors: list[Tensor], stored: weights.Stored) -> dict[str, Any]:
    """How the checkpoint stores its weights."""
    experts = [t for t in tensors if t.routed]
    outside = model.embedding * (1 if model.tied else 2)
    routed, total = sum(t.size for t in experts), sum(t.size for t in tensors)
    expert_bytes = stored.bytes(experts)
    dense = (stored.bytes(tensors) - expert_bytes - 2 * outside) / (total - routed - outside)
    return {
        "native_quantization": stored.name,
        "native_format": stored.format(tensors),
        "native_dense_bytes_per_param": dense,
        "native_expert_bytes_per_param": expert_bytes / routed if routed else dense,
    }


def _routed(part: Part) -> int:
    return sum(t.size for t in part.tensors if t.routed)


def _idle(part: Part) -> int:
    """Parameters of the experts that a token does not take."""
    e = part.experts
    return _routed(part) // e.total * (e.total - e.chosen) if e else 0


def _memory(model: _Model) -> dict[str, Any]:
    """What a sequence takes."""
    caches = model.caches
    windows = sorted({x.window for x in caches if x.windowed})
    if len(windows) > 1:
        raise model.config.error("sliding_window", f"must be the same in all layers, not {windows[0]} and {windows[1]}")
    return {
        "kv_bytes_per_token": sum(x.growing for x in caches),
        "kv_bytes_per_token_windowed": sum(x.windowed for x in caches),
        "kv_window_tokens": windows[0] if windows else None,
        "state_bytes_per_sequence": sum(x.state for x in caches),
        "indexer_bytes_per_token": sum(x.indexed for x in caches),
        "kv_replicated_per_rank": any(x.replicated for x in caches),
    }


def _attention(model: _Model) -> dict[str, Any]:
    """Shapes of the attention, apart for layers that see the whole context and for those with a window."""
    full = [x for x in model.caches if x.growing]
    windowed = [x for x in model.caches if x.windowed]
    first = (full or windowed or [Cache()])[0]
    return {
        "num_attention_heads": first.heads,
        "num_key_value_heads": model.config.whole("num_key_value_heads", first.kv_heads),
        "full_key_value_heads": full[0].kv_heads if full else 0,
        "windowed_key_value_heads": windowed[0].kv_heads if windowed else 0,
        "head_dim": first.head_dim,
        "attention_width": sum(x.width for x in full),
        "windowed_attention_width": sum(x.width for x in windowed),
        "full_attention_layers": len(full),
        "windowed_attention_layers": len(windowed),
        "linear_attention_layers": sum(x.state > 0 for x in model.caches),
        "qk_norm": first.qk_norm,
    }


def _networks(model: _Model) -> dict[str, Any]:
    """Networks and experts, and the layers for multi-token prediction."""
    mixtures = [part.experts for part in model.parts if part.experts]
    experts = mixtures[0] if mixtures else Experts(0, 0, 0)
    kinds = [{part.kind for part in layer} for layer in model.layers]
    dense = [Kind.DENSE in kind and Kind.EXPERTS not in kind for kind in kinds]
    return {
        "moe_layers": len(mixtures),
        "dense_ffn_layers": sum(Kind.DENSE in kind for kind in kinds),
        "first_dense_layers": [*dense, False].index(False) if mixtures else 0,
        "n_experts": experts.total,
        "experts_per_token": experts.chosen,
        "moe_intermediate_size": experts.width,
        "shared_experts": experts.shared,
        "mtp_layers": sum(part.kind is Kind.MIXER for part in model.draft),
        "mtp_params": sum(t.size for part in model.draft for t in part.tensors),
    }
