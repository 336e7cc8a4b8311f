"""The nearest published measurements."""

import math

import numpy as np
import pytest

import capacity
from capacity import InputTypeError, NotKnown, UnknownName, catalogue
from capacity.error_bands import METRICS
from capacity.evidence import nearest, predict
from capacity.evidence.nearest import MEASURED
from capacity.evidence.rows import Row, read, rows
from capacity.published import published


def test_a_published_run_is_its_own_nearest() -> None:
    """It comes first, at distance 0, with source, measured, predicted and their ratio."""
    row = next(r for r in rows(read(MEASURED)) if isinstance(r, Row) and r.engine == "vllm" and not r.suspect)
    first, second, third = nearest(row)
    assert first.distance == 0 <= second.distance <= third.distance
    assert first.row.texts["source"].startswith(("ai-dynamo", "zivbeker", "NVIDIA", "docs.vultr"))
    assert first.measured["output_tokens_per_s"] == row.output_tokens_per_s
    assert first.predicted["output_tokens_per_s"] == pytest.approx(predict(row).output_tokens_per_s.value, rel=1e-5)
    assert first.ratio["tpot_ms"] == pytest.approx(first.measured["tpot_ms"] / first.predicted["tpot_ms"], abs=1e-6)


def test_distances_by_hand() -> None:
    """Another engine is 1 away, twice the prompt 1, four times the concurrency 4."""
    row = next(r for r in rows(read(MEASURED)) if isinstance(r, Row) and r.engine == "sglang" and not r.suspect)
    assert row.concurrency is not None
    moved = row.model_copy(
        update={"engine": "", "prompt_tokens": 2 * row.prompt_tokens, "concurrency": 4 * row.concurrency}
    )
    assert next(m.distance for m in nearest(moved, 1000) if m.row.texts["id"] == row.id) == pytest.approx(1 + 1 + 4)


def test_an_unmeasured_model_finds_one_of_its_size() -> None:
    """Qwen2.5 72B is nearest to Llama 3.3 70B on the same GPU; the other model is 4 away."""
    run = {"model": "Qwen2.5-72B", "gpu": "H100", "quant": "fp8", "engine": "vllm", "tp": 4, "isl": 1024, "osl": 1024}
    found = nearest({**run, "concurrency": 32})
    assert {m.row.texts["model"] for m in found} == {"Llama-3.3-70B"}
    assert {m.row.texts["gpu"] for m in found} == {"H100 SXM"}
    assert all(4 <= m.distance < math.inf for m in found)


def believed() -> list[Row]:
    """The rows of the collection that no remark takes out and whose model is in the catalogue."""
    models = catalogue.models()
    return [r for r in rows(read(MEASURED)) if isinstance(r, Row) and not r.suspect and r.model in models]


def test_predictions_are_data_and_are_what_predict_gives() -> None:
    """Each believed row in its order, with what was measured, and to six digits what the shipped constants predict."""
    assert [r.id for r in believed()] == [p.texts["id"] for p in published()]
    for row, there in zip(believed(), published(), strict=True):
        assert [there.figures[m] for m in METRICS] == [getattr(row, m) for m in METRICS]
        found = predict(row, models=catalogue.models())
        for metric, expected in zip(METRICS, (found.output_tokens_per_s, found.tpot_ms, found.ttft_ms), strict=True):
            known = there.figures[f"predicted_{metric}"]
            assert known == (pytest.approx(expected.value, rel=1e-5) if expected else None)


def test_a_distance_has_a_place_behind_it() -> None:
    """In the workbook a place stands in the three digits behind a distance."""
    assert len(published()) < 1000


def test_the_function_by_hand() -> None:
    """The worked example at 64: the nearest run has 8,192 tokens in and 1,024 out at 64, all else alike.

    log2(8192/3000)^2 = 1.4493^2 = 2.1004; log2(1024/400)^2 = 1.3561^2 = 1.8391; together 3.939.
    """
    run = ("Llama-3.3-70B", "H200 SXM", 3000, 400, 64)
    assert capacity.nearest("distance", 1, *run) == 3.939
    assert [capacity.nearest(f, 1, *run) for f in ("prompt_tokens", "output_tokens", "concurrency")] == [8192, 1024, 64]
    assert [capacity.nearest(f, 1, *run) for f in ("model", "gpu", "engine")] == ["Llama-3.3-70B", "H200 SXM", "vllm"]
    measured, predicted = (capacity.nearest(f"{p}output_tokens_per_s", 1, *run) for p in ("", "predicted_"))
    assert capacity.nearest("RATIO_output_tokens_per_s", 1, *run) == pytest.approx(measured / predicted, abs=1e-6)


def test_the_function_and_python_rank_alike() -> None:
    """A run under an alias, with another TP and offline: the same three, at the same distances."""
    run = {"model": "gpt-oss-120b", "gpu": "H200", "quant": "mxfp4", "engine": "trtllm", "tp": 4, "isl": 900}
    for at_once in ({"concurrency": 200.0}, {}):
        found = nearest({**run, "osl": 700, **at_once})
        kind = "closed loop" if at_once else "offline"
        given = ("gpt-oss-120b", "H200", 900, 700, at_once.get("concurrency", 9), 4, "mxfp4", "trtllm", kind)
        for rank, m in enumerate(found, 1):
            assert capacity.nearest("id", rank, *given) == m.row.texts["id"]
            assert capacity.nearest("distance", rank, *given) == m.distance


def test_names_of_one_s_own_need_their_figures() -> None:
    """A model that the catalogue lacks is compared by its active parameters: another name counts 4."""
    run = ("My-70B", "H200 SXM", 3000, 400, 64, 2, "fp8", "vllm", "closed loop")
    active = capacity.model("Llama-3.3-70B", "active_params") / 1e9
    assert capacity.nearest("distance", 1, *run, active) == 4 + 3.939
    with pytest.raises(UnknownName, match="no model is called 'My-70B'"):
        capacity.nearest("distance", 1, *run)


def test_what_cannot_be_answered() -> None:
    run = ("Llama-3.3-70B", "H200 SXM", 3000, 400, 64)
    with pytest.raises(NotKnown, match="published run 918 by nearness"):
        capacity.nearest("source", 918, *run)
    with pytest.raises(UnknownName, match="no field is called 'colour'"):
        capacity.nearest("colour", 1, *run)
    with pytest.raises(UnknownName, match="no engine is called 'tgi'"):
        capacity.nearest("source", 1, *run, engine="tgi")
    with pytest.raises(InputTypeError, match="prompt_tokens must be one number"):
        capacity.nearest("source", 1, "Llama-3.3-70B", "H200", np.array([1.0, 2.0]), 400, 64)
    assert capacity.nearest("ttft_ms", 1, *run, run_kind="offline") == "not published"


def test_suspect_rows_are_no_evidence() -> None:
    suspect = next(r for r in rows(read(MEASURED)) if isinstance(r, Row) and r.suspect.startswith("C=512"))
    assert suspect.id not in {m.row.texts["id"] for m in nearest(suspect, 1000)}
