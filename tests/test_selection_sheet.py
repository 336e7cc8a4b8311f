"""Inputs: a model, a GPU, a quantization and a KV type are chosen, and every fact follows until it is typed over."""

from pathlib import Path
from typing import Any

import pytest
from office import Office
from sheets import held, put_back, recalculate

from capacity.call import ExcelError
from capacity.plan import INPUTS
from capacity.refined import REFINED_INPUTS
from capacity.selection import chosen
from workbook.sheets import audit, inputs, models, refined_inputs

CHOICES = [
    ("Llama-3.3-70B", "H200 SXM", "fp8", "bf16"),
    ("DeepSeek-R1", "H200 SXM", "fp8", "fp8"),
    ("gpt-oss-120b", "H100 SXM", "mxfp4", "bf16"),
    ("Llama-3.1-8B", "L40S", "bf16", "bf16"),
    ("Qwen3-235B-A22B", "B200", "fp4", "fp8"),
    ("gemma-3-27b", "A100 80GB SXM", "int4", "bf16"),
    ("Qwen3.5-397B-A17B", "MI300X", "fp8", "bf16"),
    ("gemma-4-31B", "B200", "bf16", "fp8"),
    ("GLM-5.2", "H200 SXM", "fp8", "fp8"),
    ("Mistral-7B-v0.1", "L40S", "fp8", "bf16"),
    ("Kimi-K2", "GB200", "int4", "fp8"),
    ("gpt-oss-120b", "B200", "native", "bf16"),
    ("gemma-4-31B", "B200", "native", "fp8"),
    ("Qwen3-32B", "A100 80GB SXM", "native", "bf16"),
]


def at(name: str) -> tuple[str, str]:
    sheet = refined_inputs if name in REFINED_INPUTS else inputs
    return sheet.TITLE, f"F{sheet.ROWS[name]}"


def edits(choice: tuple[str, str, str, str]) -> dict[tuple[str, str], Any]:
    return {at(name): value for name, value in zip(inputs.SELECTION, choice, strict=True)}


def expected(model: str, gpu: str, quantization: str, kv_type: str) -> dict[str, float]:
    """The facts as the Python side chooses them."""
    facts = chosen(model, gpu, quant=quantization, kv=kv_type)
    facts.pop("tp")
    return facts


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: " on ".join(c[:2]))
def test_every_fact_follows(choice: tuple[str, str, str, str], template: Path, office_without_addin: Office) -> None:
    with office_without_addin.lent(template):
        for (sheet, cell), value in edits(choice).items():
            office_without_addin.set(sheet, cell, value)
        in_libreoffice = office_without_addin.cells()
        for sheet, cell in edits(choice):
            put_back(office_without_addin, held(template), sheet, cell)
    for values in (recalculate(template, changes=edits(choice)), in_libreoffice):
        for name, fact in expected(*choice).items():
            assert values[at(name)] == pytest.approx(fact, rel=1e-12), name
            check = (at(name)[0], at(name)[1].replace("F", "K"))
            known = {**INPUTS, **REFINED_INPUTS}[name].fits(float(fact))
            assert values[check] == ("PASS" if known else "FAIL"), name


def test_a_peak_that_the_gpu_lacks_is_no_plan(template: Path) -> None:
    """FP8 on an A100: there is no such peak, so there is no result."""
    values = recalculate(template, changes=edits(("Llama-3.1-8B", "A100 80GB SXM", "fp8", "bf16")))
    assert values["Audit", f"F{audit.ROWS['gpus']}"] == ExcelError("#N/A")
    assert "FAIL" in values["About", "B3"]


@pytest.mark.parametrize(
    ("name", "value"), [("model", "Llama-9"), ("gpu", ""), ("quantization", "fp7"), ("kv_type", 8)]
)
def test_an_unknown_choice_is_no_plan(name: str, value: Any, template: Path) -> None:
    values = recalculate(template, changes={at(name): value})
    assert values["Inputs", f"K{inputs.ROWS[name]}"] == "FAIL"
    assert values["Audit", f"F{audit.ROWS['gpus']}"] == ExcelError("#N/A")


def test_a_figure_typed_over_stays(template: Path) -> None:
    values = recalculate(template, changes={at("gpu"): "H100 SXM", at("gpu_gb"): 94.0})
    assert values["Audit", f"F{audit.ROWS['gpu_gb']}"] == 94
    assert values["Audit", f"F{audit.ROWS['bandwidth_tb_s']}"] == 3.35


def test_a_model_of_ones_own(template: Path) -> None:
    """A row written into the free rows of Models can be chosen."""
    row = models.SHEET.first_own_row
    own = {"name": "Ours-7B", "total_params": 7.0, "num_hidden_layers": 32, "full_key_value_heads": 8, "head_dim": 128}
    changes = {("Models", f"{models.column(field)}{row}"): x for field, x in own.items()}
    values = recalculate(template, changes=changes | {at("model"): "Ours-7B"})
    assert values["Inputs", f"K{inputs.ROWS['model']}"] == "PASS"
    assert values["Audit", f"F{audit.ROWS['weights_gb']}"] == 3.5


def test_mla_needs_its_own_layout(template: Path) -> None:
    """The worked example's formula for KV bytes is far off for MLA: a check says so until kv_layout is on."""
    changes = edits(("DeepSeek-R1", "H200 SXM", "fp8", "bf16")) | {at("tp"): 8}
    off = recalculate(template, changes=changes)
    on = recalculate(template, changes=changes | {at("chain"): "Refined", at("kv_layout"): "on"})
    row = next(
        r for r in range(6, 40) if off.get(("Checks", f"F{r}"), 0) == pytest.approx(2 * 61 * 128 * 192 * 2 / 70272 - 1)
    )
    assert (off["Checks", f"K{row}"], on["Checks", f"K{row}"]) == ("FAIL", "PASS")
