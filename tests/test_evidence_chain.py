"""The workbook's refined chain and the evidence model are one: same constants, same step, same prefill."""

import pytest

from capacity import catalogue
from capacity.constants import FITTED, TTFT_FITTED
from capacity.evidence import shipped
from capacity.evidence.cases import case
from capacity.evidence.chain import chain_values
from capacity.evidence.model import prefill, step
from capacity.evidence.rows import row
from capacity.refined import SWITCHES, refined_plan
from capacity.selection import chosen


def test_the_chain_has_the_constants_that_the_script_fitted() -> None:
    assert {name: constant.value for name, constant in FITTED.items()} == chain_values(shipped())


def test_ttft_has_the_constants_of_an_engine_that_is_not_known() -> None:
    assert {name: constant.value for name, constant in TTFT_FITTED.items()} == shipped().engines[""]


@pytest.mark.parametrize(
    ("model", "gpu", "tp", "batch"),
    [("Llama-3.3-70B", "H200 SXM", 2, 64), ("Qwen3-235B-A22B", "H100 SXM", 8, 32), ("DeepSeek-R1", "H200 SXM", 8, 16)],
)
def test_both_give_the_same_step(model: str, gpu: str, tp: int, batch: int) -> None:
    """All refinements on: decode step within 1%, and prefill of a prompt of 3,000 tokens within 1%."""
    inputs = chosen(model, gpu, quant="fp8", tp=tp)
    rows = refined_plan({**inputs, "batch": batch}, dict.fromkeys(SWITCHES, True))
    run = {"model": model, "gpu": gpu, "quant": "fp8", "tp": tp, "isl": 3000, "osl": 400, "kv_dtype": "bf16"}
    found, k = case(row({**run, "concurrency": batch}), shipped(), catalogue.models()), shipped().common
    assert rows["decode_step_ms"].value == pytest.approx(step(found, k, float(batch)) * 1e3, rel=0.01)
    each = prefill(found, k) + found.layers * k.prefill_layer_us / 1e6
    assert rows["prefill_us"].value * 3000 / 1e6 == pytest.approx(each, rel=0.01)
