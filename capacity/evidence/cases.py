"""From a row of a benchmark to what the formulas take: facts of the model and the GPU, formats, parallelism."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from .. import catalogue
from ..errors import CapacityError, Infeasible, NotKnown
from ..selection import KV_TYPES, QUANTIZATIONS, kernels
from .constants import Fitted
from .model import ENDLESS, Case, pool
from .rows import Row

_HALF: Final = 2.0  # bytes of BF16
_GIB_SHARE: Final = 0.985  # of the vendor's gigabytes taken as GiB: what engines can use where nobody has published it


class Setup(NamedTuple):
    """What rows of one deployment have in common: fields of Case, and bytes of KV and FLOPs by length."""

    model: str  # as the catalogue has it
    gpu: str
    fields: Mapping[str, float]
    kv_growing: float  # bytes per GPU and token
    kv_windowed: float
    window: float
    state: float  # bytes per GPU and sequence
    attention: float  # width per GPU
    windowed_attention: float
    moe: bool
    assumed: str  # what the row does not say


class _Format(NamedTuple):
    """Bytes per parameter and peak FLOP/s, of dense layers and of routed experts."""

    dense_bytes: float
    expert_bytes: float
    dense_flops: float
    expert_flops: float
    quantized: bool


def case(row: Row, fitted: Fitted, models: catalogue.Table) -> Case:
    """The row as the formulas take it; raises CapacityError where a fact is not known or the model does not fit."""
    return with_setup(row, setup_of(row, models), fitted)


def setup_of(row: Row, models: catalogue.Table) -> Setup:
    """The deployment of a row."""
    made = _setup(
        models,
        row.model,
        row.gpu,
        row.quant,
        row.kv_dtype,
        row.engine,
        row.gpus,
        row.tp,
        row.pp,
        row.ep,
        row.attention_dp,
    )
    if isinstance(made, CapacityError):
        raise made
    return made


def with_setup(row: Row, s: Setup, fitted: Fitted) -> Case:
    """The row's lengths and load on its deployment."""
    prompt, reply = row.prompt_tokens, row.output_tokens
    seen = min(prompt, s.window)
    area = s.attention * prompt * prompt + s.windowed_attention * seen * (2 * prompt - seen)
    engine = fitted.of_engine(row.engine)
    requests = row.requests or ENDLESS
    made = Case(
        **s.fields,
        attention_flops=2 * area,
        kv_mean=_kv(s, prompt + reply / 2),
        kv_peak=_kv(s, prompt + reply),
        prompt=prompt,
        reply=reply,
        wanted=row.concurrency or requests,
        requests=requests,
        offline=0.0 if row.concurrency else 1.0,
        ttft_steps=engine["ttft_steps"],
        ttft_burst=engine["ttft_burst"],
        ttft_queue=engine["ttft_queue"],
    )
    if pool(made, fitted.common) <= 0:
        raise Infeasible(
            f"weights of {made.stored / 1e9:.1f} GB per GPU leave no room for KV in its {made.memory / 1e9:.1f} GB"
        )
    return made


def _kv(s: Setup, tokens: float) -> float:
    return s.kv_growing * tokens + s.kv_windowed * min(tokens, s.window) + s.state


@lru_cache(4096)
def _setup(
    models: catalogue.Table,
    model: str,
    gpu: str,
    quant: str,
    kv_dtype: str,
    engine: str,
    gpus: float | None,
    tp: float | None,
    pp: float,
    ep: float,
    dp: float,
) -> Setup | CapacityError:
    """An error is a result as well: the same deployment fails for each of its rows."""
    try:
        facts, hardware = models.row(model), catalogue.gpus().row(gpu)
        tp = tp or (gpus or pp * dp) / pp / dp
        n = tp * pp * dp
        if tp % 1 or gpus not in (None, n):
            raise Infeasible(f"{gpus:g} GPUs are not TP {tp:g} x PP {pp:g} x attention-DP {dp:g}")
        if ep > n:
            raise Infeasible(f"experts spread over {ep:g} GPUs are on more than the {n:g} of a replica")
        form = _format(facts, hardware, quant)
        kv_type = kv_dtype or _usual_kv(facts, hardware, quant, engine)
        assumed = "" if kv_dtype else f"KV cache in {kv_type}"
        return _made(facts, hardware, form, KV_TYPES[kv_type], tp, pp, dp, assumed)
    except CapacityError as error:
        return error


def _made(
    facts: catalogue.Row,
    hardware: catalogue.Row,
    form: _Format,
    kv_bytes: float,
    tp: float,
    pp: float,
    dp: float,
    assumed: str,
) -> Setup:
    f = {name: known(facts, name) for name in _FACTS}
    n = tp * pp * dp
    shard = 1.0 if dp > 1 else tp  # attention-DP holds all but the experts whole
    experts = f["routed_expert_params"]
    dense = f["total_params"] - experts - f["embedding_params"] - f["lm_head_params"]
    head = f["lm_head_params"] or f["embedding_params"]
    share = f["experts_per_token"] / f["n_experts"] if experts else 1.0
    kv_heads = max(1.0, f["full_key_value_heads"] or f["windowed_key_value_heads"])
    copies = 1.0 if dp > 1 else tp if f["kv_replicated_per_rank"] else max(1.0, tp / kv_heads)
    per_gpu, kv = copies / n, kv_bytes / KV_TYPES["bf16"]
    dense_bytes = dense * form.dense_bytes / shard / pp
    expert_bytes = experts * form.expert_bytes / n
    fields = {
        "layers": f["num_hidden_layers"],
        "hidden": f["hidden_size"],
        "moe_layers": f["moe_layers"],
        "chosen_share": share,
        "kernels": kernels(facts, quantized=form.quantized),
        "dense_read": dense_bytes + head * _HALF / shard,
        "experts_read": expert_bytes,
        "stored": dense_bytes + (f["embedding_params"] + f["lm_head_params"]) * _HALF / shard + expert_bytes,
        "dense_params": dense / shard / pp + head / shard,
        "expert_params": experts / n,
        "prompt_dense_params": dense / n,
        "prompt_expert_params": experts * share / n,
        "tp": tp,
        "dp": dp,
        "bandwidth": known(hardware, "bandwidth_tb_s") * 1e12,
        "link": known(hardware, "interconnect_gb_s_bidir") / 2 * 1e9 if tp > 1 else 1.0,
        "memory": usable_bytes(hardware),
        "bf16_flops": known(hardware, "bf16_tflops") * 1e12,
        "dense_flops": form.dense_flops,
        "expert_flops": form.expert_flops,
    }
    return Setup(
        str(facts["name"]),
        str(hardware["name"]),
        fields,
        kv_growing=(f["kv_bytes_per_token_full"] * kv + f["indexer_bytes_per_token"]) * per_gpu,
        kv_windowed=f["kv_bytes_per_token_windowed"] * kv * per_gpu,
        window=f["kv_window_tokens"],
        state=f["state_bytes_per_sequence"] / n,
        attention=f["attention_width"] / n,
        windowed_attention=f["windowed_attention_width"] / n,
        moe=experts > 0,
        assumed=assumed,
    )


_FACTS: Final = (
    *("total_params", "routed_expert_params", "embedding_params", "lm_head_params", "num_hidden_layers"),
    *("hidden_size", "moe_layers", "n_experts", "experts_per_token", "full_key_value_heads"),
    *("windowed_key_value_heads", "kv_replicated_per_rank", "kv_bytes_per_token_full", "indexer_bytes_per_token"),
    *("kv_bytes_per_token_windowed", "kv_window_tokens", "state_bytes_per_sequence", "attention_width"),
    "windowed_attention_width",
)


def known(row: catalogue.Row, fact: str) -> float:
    """A fact that must be there; raises NotKnown."""
    value = row[fact]
    if value is None:
        raise NotKnown(fact, str(row["name"]))
    return float(value)


def usable_bytes(hardware: catalogue.Row) -> float:
    """Memory as CUDA reports it; where nobody has published it, the vendor's figure as GiB less 1.5%."""
    published = hardware["usable_gb"]
    return known(hardware, "memory_gb") * 2**30 * _GIB_SHARE if published is None else float(published) * 1e9


def _format(facts: catalogue.Row, hardware: catalogue.Row, quant: str) -> _Format:
    """The format of the weights.

    A checkpoint that is published in 4 bits is served as it is stored, whatever the row calls that. FP4 checkpoints of
    models with latent attention keep all but the experts in BF16, as NVIDIA's of DeepSeek-R1 does.
    """
    native = str(facts["native_format"] or "")
    if quant == "native" or (native in ("mxfp4", "int4", "fp4") and quant != "bf16"):
        dense, experts = known(facts, "native_dense_bytes_per_param"), known(facts, "native_expert_bytes_per_param")
        dense_type = "bf16" if dense > 1.5 else "fp8" if dense > 0.9 else native
        return _Format(dense, experts, _peak(hardware, dense_type), _peak(hardware, native), quantized=native != "bf16")
    per_param, peak = QUANTIZATIONS[quant].bytes_per_param, _peak(hardware, quant)
    if quant == "fp4" and facts["kv_replicated_per_rank"]:
        return _Format(_HALF, per_param, _peak(hardware, "bf16"), peak, quantized=True)
    return _Format(per_param, per_param, peak, peak, quantized=quant != "bf16")


def _peak(hardware: catalogue.Row, quant: str) -> float:
    """The peak at which weights of a format multiply; a GPU without it widens them to the next type that it has."""
    widened = {"fp4": ("fp4", "fp8", "bf16"), "mxfp4": ("fp8", "bf16"), "fp8": ("fp8", "bf16")}.get(quant, ("bf16",))
    if quant == "mxfp4" and hardware["fp4_tflops"] is None:
        widened = ("bf16",)
    name = next((name for name in widened if hardware[f"{name}_tflops"] is not None), "bf16")
    return known(hardware, f"{name}_tflops") * 1e12


def _usual_kv(facts: catalogue.Row, hardware: catalogue.Row, quant: str, engine: str) -> str:
    """The KV type that engines choose by themselves: FP8 where checkpoint and engine bring its scales."""
    if quant == "bf16":
        return "bf16"
    blackwell = hardware["fp4_tflops"] is not None
    if facts["native_format"] == "mxfp4" or (engine == "sglang" and facts["kv_replicated_per_rank"]):
        return "fp8" if blackwell else "bf16"
    return "fp8" if engine == "trtllm" or quant == "fp4" else "bf16"
