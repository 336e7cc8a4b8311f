"""Bytes of weights: by format for any model, and as the config's own quantization stores them.

Quantization applies to matrices. Embedding, norms, routers, convolutions and biases stay at the model's own type,
and so does the head, unless a config says otherwise.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from .config import Config
from .parts import Tensor

HEAD: Final = "lm_head"

# Bytes per weight, scales included
FP8: Final = 1.0
INT4: Final = 0.52  # with a scale and a zero point for each group of 128
FP4: Final = 0.5625  # NVFP4: an FP8 scale for each 16
MXFP4: Final = 0.53125  # an 8-bit exponent for each 32
MXFP8: Final = 1.03125

_TYPES: Final = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}

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

    def bytes(self, tensors: Iterable[Tensor]) -> int:
        """Of tensors by their full names."""
        total = 0.0
        for tensor in tensors:
            total += tensor.size * (self._matrix(tensor.name) if tensor.linear else self.plain)
        return round(total)

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
    method = q.text("quant_method", "modelopt" if q.has("quant_algo") else None)
    if method not in _METHODS:
        raise q.error("quant_method", f"must be one of {', '.join(_METHODS)}", method)
    return Stored(method, (*_METHODS[method](q, plain, c), _all(plain)), plain)


def _plain(c: Config, wrapper: Config) -> int:
    for config in (c, wrapper):
        field = config.first("dtype", "torch_dtype")
        if config.has(field):
            name = config.text(field).removeprefix("torch.")
            if name not in _TYPES:
                raise config.error(field, f"must be one of {', '.join(_TYPES)}", name)
            return _TYPES[name]
    return 2


def _fp8(q: Config, plain: int, c: Config) -> list[Rule]:
    """Hugging Face's FP8, in blocks or not; DeepSeek V4 stores its experts in MXFP4 beside it."""
    rules = [_listed(q), _kept(q, plain, "modules_to_not_convert", head=True)]
    if c.has("expert_dtype"):
        experts = {"fp4": MXFP4, "fp8": FP8}.get(c.text("expert_dtype"))
        if experts is None:
            raise c.error("expert_dtype", "must be fp4 or fp8", c.text("expert_dtype"))
        rules.append(_matching((r"re:.*\.experts\.",), experts))
    return [*rules, _all(FP8)]


def _mxfp4(q: Config, plain: int, c: Config) -> list[Rule]:
    """gpt-oss: the experts only."""
    return [_kept(q, plain, "modules_to_not_convert", head=True), _matching((r"re:.*\.experts\.",), MXFP4)]


def _integers(q: Config, plain: int, c: Config) -> list[Rule]:
    """AWQ and GPTQ: integers in groups, each group with a scale and a zero point."""
    bits, group = q.whole(q.first("bits", "w_bit")), q.fields.get(q.first("group_size", "q_group_size"), -1)
    per_weight = _per_weight(q, bits, "int", group, zeros=q.flag("zero_point", True))
    excluded = q.fields.get("dynamic") or {}  # GPTQModel: "-:" and an expression excludes modules
    if not isinstance(excluded, Mapping):
        raise q.error("dynamic", "must be an object", excluded)
    skipped = tuple(f"re:{key[2:]}" for key in excluded if key.startswith("-:"))
    kept = _kept(q, plain, "modules_to_not_convert", head=not q.flag("lm_head", False))
    return [kept, _matching(skipped, plain), _all(per_weight)]


def _groups(q: Config, plain: int, c: Config) -> list[Rule]:
    """compressed-tensors, and ModelOpt: groups of matrices, each with a format; some are left out."""
    rules = [_listed(q), _kept(q, plain, q.first("ignore", "exclude_modules"), head=False)]
    algorithm = q.text("quant_algo", "") if q.fields.get("quant_algo") else ""
    if algorithm == "MIXED_PRECISION":
        return rules
    if q.has("config_groups"):
        groups = q.part("config_groups")
        return rules + [_group(groups.part(name)) for name in groups.fields]
    if algorithm not in _ALGORITHMS:
        raise q.error("quant_algo", f"must be one of {', '.join(_ALGORITHMS)}", algorithm)
    return [*rules, _all(_ALGORITHMS[algorithm])]


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
        return _matching((), 0.0)
    w = group.part("weights")
    kind, zeros = w.text("type", "int"), not w.flag("symmetric", True)
    per_weight = _per_weight(w, w.whole("num_bits"), kind, w.fields.get("group_size"), zeros=zeros)
    targets = group.fields.get("targets", ["Linear"])
    if not isinstance(targets, list) or not all(isinstance(t, str) for t in targets):
        raise group.error("targets", "must be a list of texts", targets)
    return _all(per_weight) if "Linear" in targets else _matching(targets, per_weight)


def _per_weight(q: Config, bits: int, kind: str, group: Any, *, zeros: bool) -> float:
    """Bytes of one weight with its share of the group's scale, and of the zero point where there is one."""
    if group is None or group == -1:
        return bits / 8
    size = q.whole("group_size") if q.has("group_size") else q.whole("q_group_size")
    scale = 2 if kind == "int" else 1
    return bits / 8 + (scale + (bits / 8 if zeros else 0)) / size


def _listed(q: Config) -> Rule:
    """Modules that are listed with an algorithm each; a module's name stands for all matrices within it."""
    if not q.has("quantized_layers"):
        return _matching((), 0.0)
    layers = q.part("quantized_layers")
    per_weight = {}
    for name in layers.fields:
        algorithm = layers.part(name).text("quant_algo")
        if algorithm not in _ALGORITHMS:
            raise layers.error(f"{name}.quant_algo", f"must be one of {', '.join(_ALGORITHMS)}", algorithm)
        per_weight[_bare(name)] = _ALGORITHMS[algorithm]
    return lambda name: next((per_weight[module] for module in _modules(name) if module in per_weight), None)


def _kept(q: Config, plain: int, field: str, *, head: bool) -> Rule:
    patterns = q.fields.get(field) or []
    if not isinstance(patterns, list) or not all(isinstance(p, str) for p in patterns):
        raise q.error(field, "must be a list of texts", patterns)
    return _matching([*patterns, *([HEAD] if head else [])], plain)


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
