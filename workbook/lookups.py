"""What follows from the chosen model, GPU, quantization and KV type: a formula for each input that is such a fact."""

from typing import Final

from .sheets import gpus, models
from .sheets.facts import FactSheet

# Quantization -> bytes per weight; KV type -> bytes per element. Quantized ones with scales, as stored.
QUANTIZATIONS: Final = {"bf16": 2.0, "fp8": 1.0, "int4": 0.52, "fp4": 0.5625, "mxfp4": 0.53125}
KV_TYPES: Final = {"bf16": 2.0, "fp8": 1.0}


def row_of(sheet: FactSheet, name: str) -> str:
    """The number of the row with that name."""
    return f"MATCH({name},{sheet.cells('name')},0)"


def peaks(gpu_row: str) -> dict[str, str]:
    """The peak at which each quantization multiplies: weight-only INT4 as BF16, MXFP4 as FP8 where the GPU has it."""

    def peak(kind: str) -> str:
        return f"INDEX({gpus.SHEET.cells(f'{kind}_tflops')},{gpu_row})"

    bf16, fp8, fp4 = peak("bf16"), peak("fp8"), peak("fp4")
    return {"bf16": bf16, "fp8": fp8, "int4": bf16, "fp4": fp4, "mxfp4": f"MAX({fp8},{bf16})"}


def of_inputs(model_row: str, gpu_row: str, weights: tuple[str, str, str], kv: tuple[str, str]) -> dict[str, str]:
    """Formulas of the facts on Inputs.

    weights: place of the quantization in its list, cells of bytes per weight, of peaks; kv: likewise of KV types.
    """
    place, byte_cells, peak_cells = weights
    kv_place, kv_cells = kv
    return {
        "params_b": _fact(models.SHEET, "total_params", model_row),
        "bytes_per_param": f"INDEX({byte_cells},{place})",
        "layers": _fact(models.SHEET, "num_hidden_layers", model_row),
        "kv_heads": _fact(models.SHEET, "num_key_value_heads", model_row),
        "head_dim": _fact(models.SHEET, "head_dim", model_row),
        "kv_bytes": f"INDEX({kv_cells},{kv_place})",
        "peak_tflops": f"INDEX({peak_cells},{place})",
        "bandwidth_tb_s": _fact(gpus.SHEET, "bandwidth_tb_s", gpu_row),
        "gpu_gb": _fact(gpus.SHEET, "memory_gb", gpu_row),
    }


def of_facts(model_row: str, gpu_row: str) -> dict[str, str]:
    """Formulas of the facts on Facts."""
    fields = {
        "active_params_b": "active_params",
        # a matrix that serves as embedding and LM head counts once, as LM head: the catalogue has no LM head then
        "embedding_params_b": "lm_head_params",
        "lm_head_params_b": "embedding_params",
        "routed_params_b": "routed_expert_params",
        "hidden_size": "hidden_size",
        "attention_width": "attention_width",
        "windowed_width": "windowed_attention_width",
        "window_tokens": "kv_window_tokens",
        "kv_full_bytes": "kv_bytes_per_token_full",
        "kv_windowed_bytes": "kv_bytes_per_token_windowed",
        "state_bytes": "state_bytes_per_sequence",
        "kv_replicated": "kv_replicated_per_rank",
    }
    usable, vendor = (_fact(gpus.SHEET, field, gpu_row) for field in ("usable_gb", "memory_gb"))
    return {
        **{name: _fact(models.SHEET, field, model_row) for name, field in fields.items()},
        "experts": f"MAX(1,{_fact(models.SHEET, 'n_experts', model_row)})",
        "experts_per_token": f"MAX(1,{_fact(models.SHEET, 'experts_per_token', model_row)})",
        "bf16_tflops": _fact(gpus.SHEET, "bf16_tflops", gpu_row),
        "link_gb_s": _fact(gpus.SHEET, "interconnect_gb_s_bidir", gpu_row),
        "usable_gb": f"{usable}+({usable}=0)*{vendor}",  # the vendor's figure where CUDA's is not known
    }


def _fact(sheet: FactSheet, field: str, row: str) -> str:
    return f"INDEX({sheet.cells(field)},{row})"
