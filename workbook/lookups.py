"""What follows from the chosen model, GPU, quantization and KV type: a formula for each input that is such a fact."""

from capacity.plan import INPUTS
from capacity.refined import REFINED_INPUTS
from capacity.selection import GPU_COLUMNS, MODEL_COLUMNS, NATIVE

from .sheets import gpus, models
from .sheets.facts import FactSheet


def row_of(sheet: FactSheet, name: str) -> str:
    """The number of the row with that name."""
    return f"MATCH({name},{sheet.cells('name')},0)"


def peaks(gpu_row: str) -> dict[str, str]:
    """The peak each quantization multiplies at: INT4 as BF16; MXFP4 as FP8 if the GPU has FP4, else as BF16."""

    def peak(kind: str) -> str:
        return f"INDEX({gpus.SHEET.cells(f'{kind}_tflops')},{gpu_row})"

    bf16, fp8, fp4 = peak("bf16"), peak("fp8"), peak("fp4")
    return {"bf16": bf16, "fp8": fp8, "int4": bf16, "fp4": fp4, "mxfp4": f"IF({fp4}>0,{fp8},{bf16})"}


def stored_format(model_row: str) -> str:
    """The format in which the model's checkpoint stores most of its weights."""
    return _fact(models.SHEET, "native_format", model_row)


def stored_bytes(model_row: str) -> str:
    """Bytes per parameter of the model's checkpoint, the mean of all."""
    size, count = (_fact(models.SHEET, field, model_row) for field in ("weight_bytes_native", "total_params"))
    return f"{size}/{count}"


def of_inputs(model_row: str, gpu_row: str, type_bytes: str, peak: str, kv_bytes: str) -> dict[str, str]:
    """Formulas of the facts on Inputs; the last three are those of what follows from the types chosen."""
    full_heads, windowed_heads = (
        _fact(models.SHEET, f"{kind}_key_value_heads", model_row) for kind in ("full", "windowed")
    )
    return {
        **{name: _fact(models.SHEET, column, model_row) for name, column in MODEL_COLUMNS.items() if name in INPUTS},
        **{name: _fact(gpus.SHEET, column, gpu_row) for name, column in GPU_COLUMNS.items()},
        "bytes_per_param": type_bytes,
        "kv_heads": f"{full_heads}+({full_heads}=0)*{windowed_heads}",  # where no layer sees everything
        "kv_bytes": kv_bytes,
        "peak_tflops": peak,
    }


def of_facts(model_row: str, gpu_row: str, weights: tuple[str, str, str], kv: tuple[str, str]) -> dict[str, str]:
    """Formulas of the facts on Facts.

    weights: the quantization, its format, bytes per parameter; kv: KV heads, bytes of an element.
    """
    quantization, form, bytes_per_param = weights
    kv_heads, kv_bytes = kv
    stored = {f"{kind}_bytes": f"native_{kind}_bytes_per_param" for kind in ("dense", "expert")}
    kernels = [_fact(models.SHEET, f"kernels_{kind}", model_row) for kind in ("quantized", "bf16")]
    usable, vendor = (_fact(gpus.SHEET, field, gpu_row) for field in ("usable_gb", "memory_gb"))
    windowed_heads = _fact(models.SHEET, "windowed_key_value_heads", model_row)
    return {
        **{
            name: _fact(models.SHEET, column, model_row)
            for name, column in MODEL_COLUMNS.items()
            if name in REFINED_INPUTS
        },
        **{
            name: f'CHOOSE(1+({quantization}="{NATIVE}"),{bytes_per_param},{_fact(models.SHEET, field, model_row)})'
            for name, field in stored.items()
        },
        "windowed_kv_heads": f"{windowed_heads}+({windowed_heads}=0)*{kv_heads}",  # where no layer has a window
        # an indexer's keys grow as well, in their own type: what the KV type changes is taken back before
        "kv_full_bytes": f"{_fact(models.SHEET, 'kv_bytes_per_token_full', model_row)}"
        f"+{_fact(models.SHEET, 'indexer_bytes_per_token', model_row)}*2/{kv_bytes}",
        "kernels": f'CHOOSE(1+({form}="bf16"),{kernels[0]},{kernels[1]})',
        "experts": f"MAX(1,{_fact(models.SHEET, 'n_experts', model_row)})",
        "experts_per_token": f"MAX(1,{_fact(models.SHEET, 'experts_per_token', model_row)})",
        "bf16_tflops": _fact(gpus.SHEET, "bf16_tflops", gpu_row),
        "link_gb_s": _fact(gpus.SHEET, "interconnect_gb_s_bidir", gpu_row),
        "usable_gb": f"{usable}+({usable}=0)*{vendor}",  # the vendor's figure where CUDA's is not known
    }


def _fact(sheet: FactSheet, field: str, row: str) -> str:
    return f"INDEX({sheet.cells(field)},{row})"
