"""The nearest published measurements."""

import math

import pytest

from capacity.evidence import nearest, predict
from capacity.evidence.nearest import MEASURED
from capacity.evidence.rows import Row, read, rows


def test_a_published_run_is_its_own_nearest() -> None:
    """It comes first, at distance 0, with source, measured, predicted and their ratio."""
    row = next(r for r in rows(read(MEASURED)) if isinstance(r, Row) and r.engine == "vllm" and not r.suspect)
    first, second, third = nearest(row)
    assert first.distance == 0 <= second.distance <= third.distance
    assert first.row.source.startswith(("ai-dynamo", "zivbeker", "NVIDIA", "docs.vultr"))
    assert first.measured["output_tokens_per_s"] == row.output_tokens_per_s
    assert first.predicted["output_tokens_per_s"] == predict(row).output_tokens_per_s.value
    assert first.ratio["tpot_ms"] == pytest.approx(first.measured["tpot_ms"] / first.predicted["tpot_ms"])


def test_distances_by_hand() -> None:
    """Another engine is 1 away, twice the prompt 1, four times the concurrency 4."""
    row = next(r for r in rows(read(MEASURED)) if isinstance(r, Row) and r.engine == "sglang" and not r.suspect)
    assert row.concurrency is not None
    moved = row.model_copy(
        update={"engine": "", "prompt_tokens": 2 * row.prompt_tokens, "concurrency": 4 * row.concurrency}
    )
    assert next(m.distance for m in nearest(moved, 1000) if m.row.id == row.id) == pytest.approx(1 + 1 + 4)


def test_an_unmeasured_model_finds_one_of_its_size() -> None:
    """Qwen2.5 72B is nearest to Llama 3.3 70B on the same GPU; the other model is 4 away."""
    run = {"model": "Qwen2.5-72B", "gpu": "H100", "quant": "fp8", "engine": "vllm", "tp": 4, "isl": 1024, "osl": 1024}
    found = nearest({**run, "concurrency": 32})
    assert {m.row.model for m in found} == {"Llama-3.3-70B"}
    assert {m.row.gpu for m in found} == {"H100 SXM"}
    assert all(4 <= m.distance < math.inf for m in found)


def test_suspect_rows_are_no_evidence() -> None:
    suspect = next(r for r in rows(read(MEASURED)) if isinstance(r, Row) and r.suspect.startswith("C=512"))
    assert suspect.id not in {m.row.id for m in nearest(suspect, 1000)}
