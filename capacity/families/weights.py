"""Bytes of weights: by format for any model, and as the config's own quantization stores them.

Quantization applies to matrices. Embedding, norms, routers, convolutions and biases stay at the model's own type,
and so does the head, unless a config says otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from .config import Config
from .parts import Tensor

HEAD: Final = "lm_head"

# Bytes per weight, scales included
FP8: Final = 1.0
INT4: Final = 0.52  # with a scale and a zero point for each group of 128
FP4: Final = 0.5625  # NVFP4: an FP8 scale for each 16
MXFP4: Final = 0.53125  # an 8-bit exponent for each 32
MXFP8: Final = 1.03125
INT4_BITS, INT4_LIMIT = 0.5, 0.625  # bytes per weight of 4 bits, with the scales of any group of 16 and more

_FORMATS: Final = {4: "bf16", 2: "bf16", FP8: "fp8", MXFP8: "fp8", FP4: "fp4", MXFP4: "mxfp4"}
_TYPES: Final = {"bfloat16": 2, "float16": 2, "float32": 4}
_EXPERTS: Final = (r"re:.*\.experts\.",)

_ALGORITHMS: Final = {
    "FP8": FP8,
    "FP8_PER_CHANNEL_PER_TOKEN": FP8,
    "FP8_PB_WO": FP8,
    "INT8_SQ": FP8,
    "W8A8_SQ_PER_CHANNEL": FP8,
    "W8A16": FP8,
    "MXFP8": MXFP8,
    "NVFP4": FP4,
    "NVFP4_AWQ": FP4,
    "W4A16_NVFP4": FP4,
    "W4A8_NVFP4_FP8": FP4,
    "MXFP4": MXFP4,
    "W4A8_MXFP4_FP8": MXFP4,
    "W4A16_MXFP4": MXFP4,
    "INT4_AWQ": INT4,
    "W4A16_AWQ": INT4,
    "W4A8_AWQ": INT4,
}

Rule = Callable[[str], float | None]  # bytes per weight of the matrix of that name, or None: another rule decides


class Stored(NamedTuple):
    """How a checkpoint stores its weights: the first rule that knows a matrix decides, the last one knows all."""

    name: str
    rules: tuple[Rule, ...]
    plain: int  # bytes per parameter of everything that is not quantized
    integers: bool = False  # what is below 16 bits is integers, which multiply at another type

    def bytes(self, tensors: Iterable[Tensor]) -> int:
        """Of tensors by their full names."""
        total = 0.0
        for tensor in tensors:
            total += tensor.size * (self._matrix(tensor.name) if tensor.linear else self.plain)
        return round(total)

    def format(self, tensors: Iterable[Tensor]) -> str:
        """The common format of most of the matrices, as it multiplies; "" for one that is not common."""
        sizes: dict[float, int] = {}
        for tensor in (t for t in tensors if t.linear):
            per_weight = self._matrix(tensor.name)
            sizes[per_weight] = sizes.get(per_weight, 0) + tensor.size
        most = max(sizes, key=lambda per_weight: sizes[per_weight])
        if self.integers and most < FP8:
            return "int4" if INT4_BITS <= most < INT4_LIMIT else ""
        return "" if self.integers and most < 2 else _FORMATS.get(most, "")

    def _matrix(self, name: str) -> float:
        return next(per for rule in self.rules if (per := rule(name)) is not None)


def by_format(tensors: Iterable[Tensor], total: int) -> dict[str, int]:
    """Bytes in each common format; all but bf16 and fp8 leave embedding, head and norms in BF16."""
    matrices = sum(t.size for t in tensors if t.linear and t.name != HEAD)
    mixed = {"fp8_bf16_head": FP8, "int4": INT4, "fp4": FP4, "mxfp4": MXFP4}
    return {
        "bf16": 2 * total,
        "fp8": total,
        **{name: round(matrices * per + 2 * (total - matrices)) for name, per in mixed.items()},
    }


def stored(c: Config, wrapper: Config) -> Stored:
    """As the config of the text model, or of what wraps it, says."""
    plain = _plain(c, wrapper)
    owner = c if c.has("quantization_config") else wrapper
    if not owner.has("quantization_config"):
        return Stored({2: "bf16", 4: "fp32"}[plain], (_all(plain),), plain)
    q = owner.part("quantization_config")
    method = q.choice("quant_method", _METHODS, "modelopt" if q.has("quant_algo") else None)
    return Stored(method, (*_METHODS[method](q, plain, c), _all(plain)), plain, _of_integers(q, method))


def _of_integers(q: Config, method: str) -> bool:
    """Integers and floats of as many bits take the same room, and multiply at different types."""
    if method in ("awq", "gptq"):
        return True
    if q.has("config_groups"):
        groups = q.part("config_groups")
        kinds = [groups.part(name) for name in groups.fields]
        return any(g.has("weights") and g.part("weights").fields.get("type", "int") == "int" for g in kinds)
    return str(q.fields.get("quant_algo", "")).startswith(("INT", "W8A", "W4A16_AWQ", "W4A8_AWQ"))


def _plain(c: Config, wrapper: Config) -> int:
    for config in (c, wrapper):
        field = config.first("dtype", "torch_dtype")
        if config.has(field):
            return _TYPES[config.choice(field, _TYPES)]
    return 2


def _fp8(q: Config, plain: int, c: Config) -> list[Rule]:
    """Hugging Face's FP8, in blocks or not; DeepSeek V4 stores its experts in MXFP4 beside it."""
    experts = {"fp4": MXFP4, "fp8": FP8}
    kept = _matching([*q.texts("modules_to_not_convert"), HEAD], plain)
    return [_listed(q), kept, _matching(_EXPERTS, experts[c.choice("expert_dtype", experts, "fp8")]), _all(FP8)]


def _mxfp4(q: Config, plain: int, c: Config) -> list[Rule]:
    """gpt-oss: the experts only."""
    return [_matching([*q.texts("modules_to_not_convert"), HEAD], plain), _matching(_EXPERTS, MXFP4)]


def _integers(q: Config, plain: int, c: Config) -> list[Rule]:
    """AWQ and GPTQ: integers in groups, each group with a scale and a zero point."""
    per_weight = _per_weight(q, q.whole(q.first("bits", "w_bit")), scale=2, zeros=q.flag("zero_point", True))
    head = [] if q.flag("lm_head", False) else [HEAD]
    excluded = q.fields.get("dynamic") or {}  # GPTQModel: "-:" and an expression excludes modules
    if not isinstance(excluded, Mapping):
        raise q.error("dynamic", "must be an object", excluded)
    skipped = [f"re:{key[2:]}" for key in excluded if key.startswith("-:")]
    return [_matching([*q.texts("modules_to_not_convert"), *head, *skipped], plain), _all(per_weight)]


def _groups(q: Config, plain: int, c: Config) -> list[Rule]:
    """compressed-tensors, and ModelOpt: groups of matrices, each with a format; some are left out."""
    rules = [_listed(q), _matching(q.texts(q.first("ignore", "exclude_modules")), plain)]
    if q.fields.get("quant_algo") == "MIXED_PRECISION":
        return rules
    if q.has("config_groups"):
        groups = q.part("config_groups")
        return rules + [_group(groups.part(name)) for name in groups.fields]
    return [*rules, _all(_ALGORITHMS[q.choice("quant_algo", _ALGORITHMS)])]


_METHODS: Final[dict[str, Callable[[Config, int, Config], list[Rule]]]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "mxfp4": _mxfp4,
    "awq": _integers,
    "gptq": _integers,
    "compressed-tensors": _groups,
    "modelopt": _groups,
    "modelopt_fp4": _groups,
}


def _group(group: Config) -> Rule:
    if not group.has("weights"):
        return _never
    w = group.part("weights")
    scale = {"int": 2, "float": 1}[w.choice("type", ("int", "float"), "int")]
    per_weight = _per_weight(w, w.whole("num_bits"), scale=scale, zeros=not w.flag("symmetric", True))
    targets = group.texts("targets")
    return _all(per_weight) if not targets or "Linear" in targets else _matching(targets, per_weight)


def _per_weight(q: Config, bits: int, *, scale: int, zeros: bool) -> float:
    """Bytes of one weight with its share of the group's scale, and of the zero point where there is one."""
    field = q.first("group_size", "q_group_size")
    if q.fields.get(field) in (None, -1):  # one scale for a whole row, or for the whole matrix
        return bits / 8
    return bits / 8 + (scale + zeros * bits / 8) / q.whole(field)


def _listed(q: Config) -> Rule:
    """Modules that are listed with an algorithm each; a module's name stands for all matrices within it."""
    if not q.has("quantized_layers"):
        return _never
    layers = q.part("quantized_layers")
    per_weight = {_bare(n): _ALGORITHMS[layers.part(n).choice("quant_algo", _ALGORITHMS)] for n in layers.fields}
    return lambda name: next((per_weight[module] for module in _modules(name) if module in per_weight), None)


def _never(name: str) -> None:
    """The rule that leaves everything to others."""


def _all(per_weight: float) -> Rule:
    return lambda name: per_weight


def _matching(patterns: Iterable[str], per_weight: float) -> Rule:
    """For matrices that a pattern names: "re:" and an expression, a text with asterisks, or a module's name."""
    exact, expressions = set(), []
    for pattern in patterns:
        if pattern.startswith("re:"):
            expressions.append(_expression(pattern[3:]))
        elif "*" in pattern:
            expressions.append(".*".join(map(re.escape, _bare(pattern).split("*"))) + r"(\..*)?$")
        else:
            exact.add(_bare(pattern))
    inner = [p for p in exact if not p.startswith("layers.")]  # e.g. "gate": a module within every layer
    found = re.compile("|".join(f"(?:{e})" for e in expressions)) if expressions else None

    def rule(name: str) -> float | None:
        known = any(m in exact for m in _modules(name)) or any(f".{p}." in f".{name}." for p in inner)
        return per_weight if known or (found and (found.match(name) or found.match(f"model.{name}"))) else None

    return rule


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error:
        raise Config({}).error("quantization_config", "must hold valid expressions", text) from None
    return text


_PREFIX: Final = re.compile(r"^(?:(?:model|language_model|backbone)\.)+")


def _bare(name: str) -> str:
    """The name without what wraps the layers; DeepSeek V4 calls the head just so."""
    bare = _PREFIX.sub("", name)
    return HEAD if bare == "head" else bare


def _modules(name: str) -> list[str]:
    """The name, and those of the modules around it, from the inside."""
    pieces = name.split(".")
    return [".".join(pieces[:i]) for i in range(len(pieces), 0, -1)]
