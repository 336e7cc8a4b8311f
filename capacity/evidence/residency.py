"""Tokens of KV cache that an engine keeps: from the memory that it reports, or from its command line alone.

Given the memory for KV, tokens follow from the model. From the command line, memory is what CUDA reports times the
engine's fraction, less weights and a reserve; each engine applies the fraction in its own way. When little is left for
KV, a small error in weights is a large one in tokens: `share` says how much of the GPU is left.

SGLang divides the memory of DeepSeek-V4 between pools whose sizes stand in a fixed ratio to its tokens, whatever the
length of sequences: data/pools.csv has them, with sources.
"""

import csv
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from .. import catalogue
from ..errors import Infeasible, InputError, UnknownName
from ..selection import KV_TYPES
from .cases import known, usable_bytes

GIB: Final = 2.0**30
ENGINES: Final = ("vllm", "sglang", "trtllm")


class Split(NamedTuple):
    """How a model is spread over GPUs."""

    tp: float = 1
    pp: float = 1
    attention_dp: float = 1

    @property
    def gpus(self) -> float:
        """Of the replica."""
        return self.tp * self.pp * self.attention_dp


ONE_GPU: Final = Split()


class Memory(NamedTuple):
    """Bytes of one GPU."""

    usable: float
    weights: float
    reserve: float
    for_kv: float

    @property
    def share(self) -> float:
        """Of the GPU's memory, what is left for KV."""
        return self.for_kv / self.usable


@cache
def assumptions() -> Mapping[str, float]:
    """What is taken for engines' reserves and defaults; data/residency.csv has source and meaning of each."""
    text = files("capacity").joinpath("data", "residency.csv").read_text("utf-8")
    return {line["name"]: float(line["value"]) for line in csv.DictReader(text.splitlines())}


@cache
def pools() -> Mapping[tuple[str, str], float]:
    """Bytes per token of the engines and models whose pools have sizes of their own.

    >>> round(pools()["sglang", "DeepSeek-V4-Pro"], 2)  # as SGLang logs it
    23749.84
    """
    text = files("capacity").joinpath("data", "pools.csv").read_text("utf-8")
    found: dict[tuple[str, str], float] = {}
    for line in csv.DictReader(text.splitlines()):
        size = float(line["layers"]) * float(line["entry_bytes"]) * float(line["entries_per_token"])
        key = line["engine"], line["model"]
        found[key] = found.get(key, 0.0) + size
    return found


def resident_tokens(
    facts: catalogue.Row,
    for_kv: float,
    *,
    kv: str = "bf16",
    split: Split = ONE_GPU,
    context: float | None = None,
    engine: str = "",
) -> float:
    """Tokens that fit into the memory for KV of each GPU, over the replica.

    Arguments:
        facts: a row of the catalogue's models
        for_kv: bytes on each GPU that the engine keeps for KV
        kv: type of the cache
        split: how the model is spread; attention-DP gives each group a cache of its own
        context: tokens of a sequence, for windows and states; None: so many that both are negligible
        engine: vllm, sglang or trtllm, for pools of its own, whose entries have their own types; "": any

    >>> round(resident_tokens(catalogue.models().row("Llama-3.1-8B"), 3.81 * GIB))
    31212
    """
    if engine and engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    own = pools().get((engine, str(facts["name"])))
    if own:  # on each tensor-parallel rank alike
        return split.attention_dp * split.pp * for_kv / own
    element = KV_TYPES[kv] / KV_TYPES["bf16"]
    f = {name: known(facts, name) for name in _FACTS}
    heads = max(1.0, f["full_key_value_heads"] or f["windowed_key_value_heads"])
    copies = split.tp if f["kv_replicated_per_rank"] else max(1.0, split.tp / heads)
    share = copies / split.tp / split.pp
    growing = (f["kv_bytes_per_token_full"] * element + f["indexer_bytes_per_token"]) * share
    windowed = f["kv_bytes_per_token_windowed"] * element * share
    length = context or math.inf
    # beyond its window a layer adds nothing, so that per token it costs less the longer the sequence
    once = windowed * f["kv_window_tokens"] + f["state_bytes_per_sequence"] / split.tp / split.pp
    per_token = growing + min(windowed, once / length if context else 0.0 if growing else windowed)
    if not per_token:
        raise Infeasible(f"{facts['name']} keeps no cache that grows: say how long a sequence is")
    return split.attention_dp * for_kv / per_token


_FACTS: Final = (
    *("full_key_value_heads", "windowed_key_value_heads", "kv_replicated_per_rank", "kv_bytes_per_token_full"),
    *("indexer_bytes_per_token", "kv_bytes_per_token_windowed", "kv_window_tokens", "state_bytes_per_sequence"),
)


def weight_bytes(facts: catalogue.Row, quant: str, split: Split = ONE_GPU) -> float:
    """Bytes of weights on each GPU: linear layers in their format, embedding, head and norms in BF16.

    >>> round(weight_bytes(catalogue.models().row("Llama-3.3-70B"), "fp8", Split(tp=2)) / GIB, 1)
    33.8
    """
    native = str(facts["native_format"] or "")
    if quant == "native" or native == "mxfp4":
        total = known(facts, "weight_bytes_native")
    elif quant in _COLUMNS:
        total = known(facts, _COLUMNS[quant])
    else:
        raise UnknownName("quantization", quant, [*_COLUMNS, "native"])
    experts = known(facts, "routed_expert_params")
    per_expert = (
        known(facts, "native_expert_bytes_per_param") if native == "mxfp4" else total / known(facts, "total_params")
    )
    expert_bytes = experts * per_expert
    padding = 0.0
    if native == "mxfp4":  # GPUs want widths that are multiples
        width, multiple = known(facts, "moe_intermediate_size"), assumptions()["expert_multiple"]
        padding = expert_bytes * (math.ceil(width / multiple) * multiple / width - 1)
    dense = (total - expert_bytes) / (split.tp * split.pp)
    return dense + (expert_bytes + padding) / split.gpus


_COLUMNS: Final = {
    "bf16": "weight_bytes_bf16",
    "fp8": "weight_bytes_fp8_bf16_head",
    "int4": "weight_bytes_int4",
    "fp4": "weight_bytes_fp4",
    "mxfp4": "weight_bytes_mxfp4",
}


def memory(
    facts: catalogue.Row,
    gpu: catalogue.Row,
    quant: str,
    *,
    engine: str = "vllm",
    fraction: float | None = None,
    split: Split = ONE_GPU,
    sequences: float | None = None,
    usable: float | None = None,
) -> Memory:
    """What an engine leaves for KV on each GPU, from its command line.

    Arguments:
        facts: a row of the catalogue's models
        gpu: a row of its GPUs
        quant: format of the weights
        engine: vllm, sglang or trtllm
        fraction: as it is given to the engine; None: the engine's default
        split: how the model is spread
        sequences: the most that the engine plans for; None: its default
        usable: bytes of a GPU as CUDA reports them; None: as the catalogue has them
    """
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    a, usable, weights = assumptions(), usable or usable_bytes(gpu), weight_bytes(facts, quant, split)
    share = a[f"{engine}_fraction"] if fraction is None else fraction
    if not 0 < share <= 1:
        raise InputError("fraction", share, "must be > 0 and <= 1")
    own = a[f"{engine}_context_gib"] * GIB
    if engine == "vllm" and split.gpus > 1:
        own = a["vllm_shared_context_gib"] * GIB
    many = a["big_gpu_sequences"] if usable >= a["big_gpu_gib"] * GIB else a["small_gpu_sequences"]
    sampling = a["sampling_bytes"] * (sequences or many) * known(facts, "vocab_size")
    if engine == "vllm":  # of all memory, less what a trial run took
        reserve = own + sampling
        left = share * usable - weights - reserve
    elif engine == "sglang":  # the rest of memory stays free, weights and KV take their share
        reserve = own + (1 - share) * usable
        left = usable - weights - reserve
    else:  # of what is free after loading
        reserve = own + (1 - share) * (usable - weights - own)
        left = usable - weights - reserve
    if left <= 0:
        raise Infeasible(
            f"weights of {weights / GIB:.1f} GiB and a reserve of {reserve / GIB:.1f} leave nothing for KV"
            f" in {usable / GIB:.1f} GiB"
        )
    return Memory(usable, weights, reserve, left)
