"""The worked example's first-order sheet on a benchmark row: MFU 50%, MBU 75%, nothing else known."""

import math
from collections.abc import Sequence

from .. import catalogue
from ..decode import decode_step_ms, step_gb
from ..errors import CapacityError
from ..memory import kv_gb_per_seq, kv_pool_gb, max_seqs, weights_gb
from ..prefill import prefill_us
from ..selection import chosen
from .rows import Row

_UNKNOWN = (math.nan, math.nan, math.nan)


def seed_figures(row: Row, models: catalogue.Table) -> Sequence[float]:
    """Output rate, TPOT and TTFT in ms, as rows.METRICS; NaN where the sheet has no answer.

    The cycle has no overlap, the cache is BF16, TTFT is the floor, and active parameters price the prefill of a
    mixture of experts.
    """
    try:
        return _figures(row, models)
    except CapacityError:
        return _UNKNOWN


def _figures(row: Row, models: catalogue.Table) -> Sequence[float]:
    gpus = row.gpus or (row.tp or 1) * row.pp * row.attention_dp
    native = str(models.value(row.model, "native_format"))
    quant = native if row.quant == "native" or (native == "mxfp4" and row.quant != "bf16") else row.quant
    i = chosen(row.model, row.gpu, quant=quant, tp=gpus, models=models)
    prompt_us = prefill_us(i["active_params_b"], gpus, i["peak_tflops"])
    weights = weights_gb(i["params_b"], i["bytes_per_param"], gpus)
    context = row.prompt_tokens + row.output_tokens / 2
    sequence = kv_gb_per_seq(context, i["kv_full_bytes"] + i["kv_windowed_bytes"], gpus)
    fits = max_seqs(kv_pool_gb(i["gpu_gb"], weights), sequence)
    batch = min(row.concurrency or row.requests or math.inf, fits)
    if batch < 1:
        return _UNKNOWN
    step_ms = decode_step_ms(step_gb(weights, batch, sequence), i["bandwidth_tb_s"])
    prompt_ms = row.prompt_tokens * prompt_us / 1e3
    cycle_ms = row.output_tokens * step_ms + batch * prompt_ms
    return batch * row.output_tokens / cycle_ms * 1e3, cycle_ms / row.output_tokens, prompt_ms
