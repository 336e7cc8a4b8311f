"""A team's own rows into constants: what moves, what stays, what is refused, and the file that comes out."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capacity import catalogue
from capacity.cli import main
from capacity.errors import CallError, CapacityError
from capacity.evidence import predict, read_constants, shipped
from capacity.evidence.calibration import calibrate, numbers_of
from capacity.evidence.constants import TERMS, as_text
from capacity.evidence.corrections import Correction, factors, likeness
from capacity.evidence.fitting import constants_at
from capacity.evidence.rows import row, rows

RUN = {"model": "Llama-3.3-70B", "gpu": "H200", "quant": "fp8", "engine": "vllm", "tp": 2, "kv_dtype": "bf16"}


def measured(slower: float, count: int = 12) -> list[dict[str, Any]]:
    """Runs that are slower than predicted by a factor, at many loads and lengths."""
    found = []
    for i in range(count):
        run = {**RUN, "isl": (500, 1000, 4000)[i % 3], "osl": (200, 1000)[i % 2], "concurrency": 2.0 ** (i % 6)}
        p = predict(run)
        assert p.ttft_ms is not None
        rate, tpot, ttft = p.output_tokens_per_s.value / slower, p.tpot_ms.value * slower, p.ttft_ms.value * slower
        found.append({**run, "output_tokens_per_s": rate, "tpot_ms": tpot, "ttft_ms": ttft})
    return found


def test_numbers_and_constants_are_two_views_of_one() -> None:
    fitted = shipped()
    common, engines = constants_at(numbers_of(fitted))
    assert [getattr(common, n) for n in TERMS] == pytest.approx([getattr(fitted.common, n) for n in TERMS])
    assert engines["sglang"] == pytest.approx(fitted.engines["sglang"])


def test_a_slower_system_is_learned() -> None:
    """All 30% slower: rows that were not seen are foretold, and so are runs between those measured."""
    found = calibrate(rows(measured(1.3)), catalogue.models())
    before, after = (np.nanmedian(np.abs(x / found.data.measured - 1), axis=0) for x in (found.before, found.after))
    assert before == pytest.approx([0.3, 1 - 1 / 1.3, 1 - 1 / 1.3], abs=0.02)
    assert (after < 0.07).all()
    between = {**RUN, "isl": 2000, "osl": 500, "concurrency": 12}
    told, plain = predict(between, constants=found.fitted), predict(between)
    assert told.output_tokens_per_s.value * 1.3 == pytest.approx(plain.output_tokens_per_s.value, rel=0.07)
    assert told.output_tokens_per_s.p10 < told.output_tokens_per_s.value < told.output_tokens_per_s.p90


def test_what_rows_of_a_dense_model_cannot_tell_stays() -> None:
    """One dense model on TP 2 says nothing of experts, all-to-alls, offline runs and other engines."""
    found = calibrate(rows(measured(1.3)), catalogue.models())
    silent = {"mfu_experts", "expert_tokens", "alltoall_latency_us", "ramp", "ttft_steps of sglang"}
    assert silent <= set(found.kept)
    for name in ("mfu_experts", "alltoall_latency_us", "ramp"):
        assert getattr(found.fitted.common, name) == getattr(shipped().common, name)


def test_another_deployment_is_not_corrected() -> None:
    """Corrections belong to the model, GPU and engine that were measured."""
    found = calibrate(rows(measured(1.3)), catalogue.models())
    other = {**RUN, "model": "DeepSeek-R1", "tp": 8, "isl": 1000, "osl": 1000, "concurrency": 8, "kv_dtype": "fp8"}
    alone = found.fitted._replace(corrections={})
    assert predict(other, constants=found.fitted) == predict(other, constants=alone)


def test_a_correction_by_hand() -> None:
    """Two measured runs of weight 0.1 and 0.2; the second is one step away, where likeness is exp(-1/2)."""
    known = Correction([[0.0] * 7, [1.0] + [0.0] * 6], [[0.1, 0.0, 0.0], [0.2, 0.0, 0.0]])
    assert likeness([0.0], [1.0]) == pytest.approx(0.60653, abs=1e-5)
    assert factors(known, [0.0] * 7) == pytest.approx([np.exp(0.1 + 0.2 * 0.60653), 1, 1], abs=1e-5)


def test_three_rows_do_and_two_do_not() -> None:
    assert calibrate(rows(measured(1.2, 3)), catalogue.models()).fitted.about["rows"] == 3
    lines = [*measured(1.2, 2), {**RUN, "isl": 1, "osl": 1, "concurrency": 1}, {"model": "x"}]
    with pytest.raises(CallError, match=r"needs 3 rows that can be used, not 2: nothing is measured; gpu is missing"):
        calibrate(rows(lines), catalogue.models())


def test_suspect_rows_are_listed() -> None:
    lines = [*measured(1.2, 4), {**measured(9, 1)[0], "suspect": "wrong unit"}]
    assert calibrate(rows(lines), catalogue.models()).refused == {4: "suspect: wrong unit"}


def test_the_file_comes_back(tmp_path: Path) -> None:
    found = calibrate(rows(measured(1.3)), catalogue.models()).fitted
    path = tmp_path / "constants.json"
    path.write_text(as_text(found))
    again = read_constants(path)
    assert predict(measured(1, 1)[0], constants=again) == predict(measured(1, 1)[0], constants=found)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["constants"].pop("mbu_kv"), "mbu_kv must be a number > 0 and <= 1: None"),
        (lambda d: d["constants"]["mbu_kv"].update(value=1.5), "mbu_kv must be a number > 0 and <= 1: 1.5"),
        (lambda d: d["constants"]["host_ms"].update(value="1"), "host_ms must be a number > 0: '1'"),
        (lambda d: d.update(format="x"), "must be a file that capacity calibrate wrote"),
        (lambda d: d.update(corrections=[{"model": 1}]), "corrections must be as capacity calibrate wrote them"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, change: Any, sentence: str) -> None:
    data = json.loads(as_text(shipped()))
    change(data)
    path = tmp_path / "constants.json"
    path.write_text(json.dumps(data))
    with pytest.raises(CapacityError) as error:
        read_constants(path)
    assert sentence in str(error.value)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, the errors, what the rows do not tell, the rows not used; without matplotlib one sentence instead."""
    mine, out, picture = tmp_path / "mine.jsonl", tmp_path / "c.json", tmp_path / "c.png"
    mine.write_text("\n".join(json.dumps(x) for x in [*measured(1.3, 6), {"model": "x"}]))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["calibrate", str(mine), "--out", str(out), "--plot", str(picture)]) == 0
    printed = capsys.readouterr()
    assert "output_tokens_per_s   6 " in printed.out
    assert "mfu_experts" in printed.out
    assert "row 7 is not used: gpu is missing" in printed.err
    assert 'the picture needs matplotlib: pip install "llm-capacity[plot]"' in printed.err
    assert not picture.exists()
    assert read_constants(out).about["rows"] == 6


def test_the_picture(tmp_path: Path) -> None:
    from capacity.evidence.plot import plot

    plot(calibrate(rows(measured(1.3, 4)), catalogue.models()), tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_row_reads_its_words_in_any_case() -> None:
    assert row({**RUN, "quant": "NVFP4 (MLA BF16)", "engine": "TensorRT-LLM", "isl": 1, "osl": 1}).quant == "fp4"
