"""Predictions of benchmarks: the formulas by hand, rows as exports have them, the command."""

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import capacity
from capacity.cli import main
from capacity.errors import CapacityError
from capacity.evidence import predict, predict_rows, shipped
from capacity.evidence.constants import Constants
from capacity.evidence.model import FLOATS, Case, prefill, run, step
from capacity.evidence.rows import Row, Unusable, read, row, rows

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "capacity" / "data" / "measurements.csv"
RUN = {"model": "Llama-3.3-70B", "gpu": "H200", "quant": "FP8", "tp": 2, "isl": 3000, "osl": 400, "kv_dtype": "bf16"}

# Round figures, for arithmetic by hand
K = Constants(
    mbu_weights=0.5,
    mbu_kv=0.5,
    mfu_dense=0.5,
    mfu_experts=0.25,
    mfu_attention=0.5,
    overlap_power=2,
    host_ms=1,
    launch_us=4,
    activation_passes=10,
    expert_tokens=20,
    allreduce_latency_us=10,
    alltoall_latency_us=50,
    link_efficiency=0.5,
    prefill_layer_us=100,
    ramp=0.5,
)
CASE = Case(
    layers=10,
    hidden=1000,
    moe_layers=10,
    chosen_share=0.5,
    kernels=250,
    dense_read=3e9,
    experts_read=4e9,
    stored=7e9,
    dense_params=1e9,
    expert_params=4e9,
    prompt_dense_params=1e9,
    prompt_expert_params=2e9,
    tp=2,
    dp=1,
    bandwidth=1e12,
    link=1e11,
    memory=19.5e9,
    bf16_flops=1e14,
    dense_flops=1e14,
    expert_flops=1e14,
    attention_flops=1e12,
    kv_mean=1e7,
    kv_peak=2e7,
    prompt=1000,
    reply=101,
    wanted=2,
    requests=math.inf,
    offline=0,
    ttft_steps=3,
    ttft_burst=0.5,
    ttft_queue=0.1,
)


def test_a_step_by_hand() -> None:
    """Two sequences. Dense 3e9 / 5e11 = 6 ms and 2 x 1e9 x 2 / 5e13 = 0.08 ms; experts cover 1 - 0.5^2 = 0.75."""
    dense = math.hypot(6, 0.08)
    # bytes 4e9 x 0.75 / 5e11 = 6 ms; tokens 0.5 x 2 + 0.75 x 20 = 16: 2 x 4e9 x 16 / 2.5e13 = 5.12 ms
    experts = math.hypot(6, 5.12)
    # KV 2 x 1e7 / 5e11 = 0.04; ring 2 x 1/2 = 1: 2 x 10 x 1 x 2 x 1000 x 2 / 5e10 = 0.0016
    # activations 10 x 10 x 1000 x 2 x 2 / 1e12 = 0.0004; latency 2 x 10 x 10 us = 0.2; fixed 1 + 250 x 4 us = 2
    assert step(CASE, K, 2.0) * 1e3 == pytest.approx(dense + experts + 0.04 + 0.0016 + 0.0004 + 0.2 + 2)


def test_attention_dp_by_hand() -> None:
    """Two groups of one: each computes its own sequence, no all-reduce, and an all-to-all of 50 us twice per layer."""
    case = CASE._replace(tp=1, dp=2)
    dense, experts = math.hypot(6, 0.04), math.hypot(6, 5.12)
    assert step(case, K, 2.0) * 1e3 == pytest.approx(dense + experts + 0.04 + 0.0002 + 2 * 10 * 0.05 + 2)


def test_a_prompt_by_hand() -> None:
    """1,000 tokens: dense 40 ms, experts 160, attention 20, links 0.8, activations 0.2."""
    # 2 x 1000 x 1e9 / 5e13; 2 x 1000 x 2e9 / 2.5e13; 1e12 / 5e13; 2 x 10 x 1000 x 2000 / 5e10; 100 x 1000 x 2000 / 1e12
    assert prefill(CASE, K) * 1e3 == pytest.approx(40 + 160 + 20 + 0.8 + 0.2)


def test_a_closed_loop_by_hand() -> None:
    """Two sequences fit: (19.5 - 7 - 2.5) x 0.92 GB / 20 MB = 460."""
    found = run(CASE, K, FLOATS)
    each = 0.221 + 10 * 100e-6
    cycle = 101 * found.step + 2 * each
    first = 3 * found.step + each * (1 + 0.5 * (1 - 1 / 2) + 0.1 * (2 - 1))
    assert found.capacity == pytest.approx(460)
    assert found.ttft == pytest.approx(first)
    assert found.tpot == pytest.approx((cycle - first) / 100)
    assert found.output_tokens_per_s == pytest.approx(2 * 101 / cycle)


def test_above_capacity_requests_wait_for_a_seat() -> None:
    """A pool for one: two that ask take turns, so each waits one cycle, and the rate is that of one."""
    one = run(CASE._replace(kv_peak=9.2e9, wanted=1), K, FLOATS)
    two = run(CASE._replace(kv_peak=9.2e9), K, FLOATS)
    assert two.batch == 1
    assert two.tpot == pytest.approx(one.tpot)
    assert two.ttft == pytest.approx(one.ttft + 101 / one.output_tokens_per_s)
    assert two.output_tokens_per_s == pytest.approx(one.output_tokens_per_s)


def test_an_offline_run_by_hand() -> None:
    """Four requests, all at once; a pass holds 8,192 tokens, so 1 + min(8.192, 8) prompts share the fixed time."""
    found = run(CASE._replace(offline=1, wanted=4, requests=4), K, FLOATS)
    cycle = 101 * found.step + 4 * (0.221 + 10 * 100e-6 / 9)
    assert found.output_tokens_per_s == pytest.approx(4 * 101 / (cycle * 1.5))


def test_an_offline_run_of_unknown_length_is_its_steady_state() -> None:
    """Without a number of requests nothing is lost while the batch begins and ends."""
    found = predict({**RUN, "gpu": "H100"})
    assert found.batch == found.capacity
    assert predict({**RUN, "gpu": "H100", "requests": 10**6}).output_tokens_per_s.value == pytest.approx(
        found.output_tokens_per_s.value, rel=1e-3
    )
    (together,) = predict_rows([row({**RUN, "gpu": "H100"})])
    assert not isinstance(together, Unusable)
    assert together.output_tokens_per_s.value == pytest.approx(found.output_tokens_per_s.value)


def test_floats_and_arrays_agree() -> None:
    """The published rows one by one and all at once, to the last digits."""
    lines = rows(read(MEASURED))[::20]
    together = predict_rows(lines)
    for line, found in zip(lines, together, strict=True):
        if isinstance(found, Unusable):
            with pytest.raises(CapacityError, match=re.escape(found.reason)):
                predict(line)
        else:
            assert isinstance(line, Row)
            alone = predict(line)
            assert found.output_tokens_per_s.value == pytest.approx(alone.output_tokens_per_s.value, rel=1e-9)
            assert found.tpot_ms.value == pytest.approx(alone.tpot_ms.value, rel=1e-9)
            assert (found.ttft_ms is None) == (line.concurrency is None)


def test_the_facts_of_a_deployment_by_hand() -> None:
    """Llama 3.3 70B in FP8 on two H200: capacity from (150.11 - stored - 2.5) x 0.92 over 3,400 tokens x 163,840 B."""
    body, matrix = 70_553_706_496 - 2 * 1_050_673_152, 1_050_673_152
    stored = (body + 2 * matrix * 2) / 2
    expected = (150.11e9 - stored - 2.5e9) * 0.92 / (3400 * 163_840)
    assert predict({**RUN, "concurrency": 64}).capacity == pytest.approx(expected)


def test_experts_alone_are_in_four_bits() -> None:
    """gpt-oss is served as it is stored, whatever a row calls it; its attention multiplies in BF16."""
    run_of = {"model": "gpt-oss-120b", "gpu": "H100", "tp": 1, "isl": 1024, "osl": 1024, "concurrency": 8}
    rates = {
        q: predict({**run_of, "quant": q, "kv_dtype": "bf16"}).output_tokens_per_s for q in ("FP4", "MXFP4", "FP8")
    }
    assert len(set(rates.values())) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "Llama-3.3-70X"}, "no model is called 'Llama-3.3-70X'; did you mean 'Llama-3.3-70B'?"),
        ({"gpu": ""}, "gpu is missing: it is read from a column gpu_name or gpu or accelerator or hardware"),
        ({"isl": "x"}, "prompt_tokens must be a number >= 1: 'x'"),
        ({"isl": -1}, "prompt_tokens must be a number >= 1: -1"),
        ({"isl": math.inf}, "prompt_tokens must be a number >= 1: inf"),
        ({"tp": 1.5}, "tp must be a whole number >= 1: 1.5"),
        ({"n_gpus": 4}, "4 GPUs are not TP 2 x PP 1 x attention-DP 1"),
        ({"ep": 8}, "experts spread over 8 GPUs are on more than the 2 of a replica"),
        (
            {"quant": "bf16", "tp": 1},
            "weights of 141.1 GB per GPU leave no room for KV in its 85.0 GB",
        ),
    ],
)
def test_what_cannot_be_predicted_is_said(change: dict[str, Any], sentence: str) -> None:
    gpu = {"gpu": "H100"} if change.get("quant") else {}
    with pytest.raises(CapacityError) as error:
        predict({**RUN, "concurrency": 64, **gpu, **change})
    assert str(error.value) == sentence


def test_an_unknown_engine_takes_what_engines_have_in_common() -> None:
    fitted = shipped()
    assert row({**RUN, "engine": "my own"}).engine == ""
    assert fitted.of_engine("") == fitted.engines[""] not in [fitted.engines[e] for e in ("vllm", "sglang", "trtllm")]


def test_exports_of_tools(tmp_path: Path) -> None:
    """vLLM bench writes totals and a count, genai-perf a mean of each metric; what they do not know is given."""
    vllm = {"model_id": "Llama-3.3-70B", "backend": "vllm", "max_concurrency": 8, "completed": 4, "mean_ttft_ms": 99}
    vllm |= {"total_input_tokens": 4000, "total_output_tokens": 800, "output_throughput": 300.5, "mean_tpot_ms": 20}
    genai = {"model": "Llama-3.3-70B", "input_sequence_length": {"avg": 1000}, "output_sequence_length": {"avg": 200}}
    genai |= {"concurrency": 8, "time_to_first_token": {"unit": "ms", "avg": 99}, "inter_token_latency": {"avg": 20}}
    path = tmp_path / "runs.jsonl"
    path.write_text("\n".join(map(json.dumps, (vllm, genai))))
    for found in rows(read(path, {"gpu": "H100", "quant": "fp8", "tp": "4"})):
        assert isinstance(found, Row)
        assert (found.prompt_tokens, found.output_tokens, found.concurrency) == (1000, 200, 8)
        assert (found.ttft_ms, found.tpot_ms, found.tp, found.gpu) == (99, 20, 4, "H100")


def test_the_command_keeps_every_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The given columns, the predictions beside them, and the reason where there is none."""
    given, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    given.write_text(
        "model,gpu,quant,tp,isl,osl,concurrency,mine\nLlama-3.3-70B,H200,FP8,2,3000,400,64,a\nx,y,z,1,1,1,1,b\n"
    )
    assert main(["predict", str(given), "--csv", str(out)]) == 0
    assert "1 of 2 rows are not predicted" in capsys.readouterr().err
    good, bad = csv.DictReader(out.read_text().splitlines())
    assert (good["mine"], bad["mine"]) == ("a", "b")
    expected = predict({**RUN, "concurrency": 64})
    assert float(good["predicted_output_tokens_per_s"]) == pytest.approx(expected.output_tokens_per_s.value, rel=1e-4)
    assert (
        float(good["predicted_ttft_ms_p90"]) > float(good["predicted_ttft_ms"]) > float(good["predicted_ttft_ms_p10"])
    )
    assert good["assumed"] == "KV cache in bf16"
    assert good["not_predicted_because"] == ""
    assert "quant must be one of" in bad["not_predicted_because"]
    assert bad["predicted_tpot_ms"] == ""


def test_a_team_s_own_model(tmp_path: Path) -> None:
    """A model that the catalogue does not have comes from a file of `capacity model --add`: same facts, same result."""
    models, given, out = tmp_path / "models.csv", tmp_path / "rows.csv", tmp_path / "out.csv"
    config = ROOT / "tests" / "data" / "configs" / "Qwen3-8B.json"
    assert main(["model", str(config), "--add", str(models), "--name", "ours"]) == 0
    given.write_text(
        "model,gpu,quant,isl,osl,concurrency,kv_dtype\nours,H100,fp8,1000,100,8,bf16\nQwen3-8B,H100,fp8,1000,100,8,bf16\n"
    )
    assert main(["predict", str(given), "--models", str(models), "--csv", str(out)]) == 0
    ours, theirs = csv.DictReader(out.read_text().splitlines())
    assert ours["predicted_output_tokens_per_s"] == theirs["predicted_output_tokens_per_s"] != ""


def test_a_scalar_prediction_loads_no_numpy() -> None:
    code = f"import capacity, sys; capacity.predict({ {**RUN, 'concurrency': 8}!r}); print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    assert capacity.predict is predict
