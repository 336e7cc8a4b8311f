"""`capacity plan` with a model and a GPU of the catalogue, and with refinements."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from configs import CONFIGS

from capacity import catalogue
from capacity.call import ExcelError, call
from capacity.cli import main
from capacity.plan import INPUTS, STEPS, plan
from capacity.refined import REFINED_INPUTS, REFINED_STEPS, SHARED, SWITCHES, refined_plan
from capacity.selection import chosen

R1 = ("--model", "DeepSeek-R1", "--gpu", "h200")


def asked(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[dict[str, Any], str]:
    """Values of the steps by name, and what stands on stderr."""
    assert main(["plan", "--json", *args]) == 0
    out, err = capsys.readouterr()
    steps = json.loads(out)
    assert all(set(step) == {"name", "value", "unit", "formula", "fits", "note"} for step in steps)
    assert len({step["name"] for step in steps}) == len(steps)
    return {step["name"]: step["value"] for step in steps}, err


def values(inputs: dict[str, float]) -> dict[str, Any]:
    return {r.step.name: r.value for r in plan(inputs)}


def test_a_model_and_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """The seed's chain with their facts; a setting has the last word."""
    assert asked(capsys, "--model", "llama-3.3-70b", "--gpu", "H200") == (values({}), "")
    found, _ = asked(capsys, "--model", "Llama-3.1-8B", "--gpu", "L40S", "--quant", "int4", "--kv", "fp8")
    facts = chosen("Llama-3.1-8B", "L40S", quant="int4", kv="fp8")
    expected = {name: x for name, x in facts.items() if name in INPUTS}
    assert found == values(expected)
    found, _ = asked(
        capsys, "--set", "tp=1", "--set", "gpu_gb=40", "--model", "Llama-3.1-8B", "--gpu", "L40S", "--quant", "bf16"
    )
    facts = chosen("Llama-3.1-8B", "L40S", quant="bf16", tp=1)
    assert found == values({name: x for name, x in facts.items() if name in INPUTS} | {"gpu_gb": 40})


def test_what_the_first_chain_misprices_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, so that JSON stays JSON; what is refined is not asked for again."""
    note = "note: {} is priced as a dense model with grouped KV heads; add {}\n"
    _, err = asked(capsys, *R1)
    assert err == note.format("DeepSeek-R1", "--refine active_params --refine kv_layout")
    _, err = asked(capsys, *R1, "--refine", "kv_layout")
    assert err == note.format("DeepSeek-R1", "--refine active_params")
    _, err = asked(capsys, "--model", "gemma-3-27b", "--gpu", "H200")
    assert err == note.format("gemma-3-27b", "--refine kv_layout")
    for model in ("Llama-3.1-8B", "Qwen2.5-72B"):
        assert asked(capsys, "--model", model, "--gpu", "H200")[1] == ""
    assert asked(capsys, *R1, "--refine", "all")[1] == ""


def test_what_is_guessed_or_not_priced_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    llama = ("--model", "Llama-3.1-8B", "--quant", "bf16")
    _, err = asked(capsys, *llama, "--gpu", "L4", "--refine", "usable_memory", "--set", "tp=1")
    assert err == "note: usable memory of L4 is not known: the vendor's 24 GB count\n"
    _, err = asked(capsys, *llama, "--gpu", "H100", "--set", "tp=16")
    assert err == "note: 16 GPUs of a replica are more than the 8 x H100 SXM that a fast link connects\n"
    assert asked(capsys, *llama, "--gpu", "H100", "--set", "tp=8")[1] == ""


def test_a_team_plans_with_its_own_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the file of --models, or of CAPACITY_MODELS, by which the functions know it as well."""
    file, config = tmp_path / "own.csv", CONFIGS["DeepSeek-R1"]
    assert main(["model", str(config), "--add", str(file), "--name", "our R1"]) == 0
    capsys.readouterr()
    known, _ = asked(capsys, *R1)
    assert asked(capsys, "--model", "our r1", "--gpu", "h200", "--models", str(file))[0] == known
    assert main(["plan", "--model", "our r1", "--gpu", "h200"]) == 2
    assert "no model is called 'our r1'" in capsys.readouterr().err
    assert call("MODEL", ["our r1", "total_params"]) == ExcelError("#N/A")
    monkeypatch.setenv("CAPACITY_MODELS", str(file))
    assert asked(capsys, "--model", "our r1", "--gpu", "h200")[0] == known
    assert call("MODEL", ["our r1", "total_params"]) == catalogue.models().value("DeepSeek-R1", "total_params")
    asks = [["gpus", name, "H200", 5.0, 3000.0, 400.0, 8.0] for name in ("our R1", "DeepSeek-R1")]
    assert call("PLAN", asks[0]) == call("PLAN", asks[1])
    monkeypatch.setenv("CAPACITY_MODELS", str(tmp_path / "missing.csv"))
    assert call("MODEL", ["DeepSeek-R1", "total_params"]) == ExcelError("#VALUE!")


@pytest.mark.parametrize(
    "switches", [["attention_flops"], ["kv_layout", "active_params"], ["all"], ["ALL", "coverage"]]
)
def test_refinements(switches: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """All steps of the refined chain, those that both chains share before them."""
    found, _ = asked(capsys, *R1, "--set", "tp=8", *(x for name in switches for x in ("--refine", name)))
    on = SWITCHES if "all" in map(str.lower, switches) else switches
    rows = refined_plan(chosen("DeepSeek-R1", "H200") | {"tp": 8}, dict.fromkeys(on, True))
    assert list(found)[: len(SHARED)] == [step.name for step in STEPS if step.name in SHARED]
    assert found.keys() == {*SHARED, *(step.name for step in REFINED_STEPS), "max_seqs"}
    for name in found.keys() - set(SHARED):
        assert found[name] == getattr(rows[name], "value", rows[name]), name


def test_inputs_of_refinements_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    settings = ("--set", "drafts=3", "--set", "Accepted = 1.4", "--set", "mbu_kv=70%")
    found, _ = asked(capsys, "--refine", "all", *settings)
    rows = refined_plan({"drafts": 3, "accepted": 1.4, "mbu_kv": 0.7}, dict.fromkeys(SWITCHES, True))
    assert found["decode_step_ms"] == rows["decode_step_ms"].value
    everything = [x for n, a in REFINED_INPUTS.items() for x in ("--set", f"{n}={a.example}")]
    assert asked(capsys, "--refine", "all", *everything) == asked(capsys, "--refine", "all")


def test_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """Under the titles of its sections, each quantity once, and the answer below."""
    assert main(["plan", *R1, "--set", "tp=8", "--refine", "kv_layout", "--refine", "active_params"]) == 0
    out, _ = capsys.readouterr()
    lines = [line.strip() for line in out.splitlines()]
    titles = ["Load in tokens", "Prefill", "Memory", "Decode", "Fleet", "Cost", "TPOT check"]
    assert [line for line in lines if line in titles] == titles
    assert sum(line.startswith("Resident sequences that fit") for line in lines) == 1
    assert lines[-3] == "16 replicas, 128 GPUs, $448.00 per hour"
    assert "Batch 64: 190 sequences fit; TPOT 27.27 to 31.59 ms" in lines[-1]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--model", "DeepSeek-R2", "--gpu", "H200"], "no model is called 'DeepSeek-R2'; did you mean 'DeepSeek-R1'?"),
        (["--model", "DeepSeek-R1", "--gpu", "H2000 SXM"], "no GPU is called 'H2000 SXM'; did you mean 'H200 SXM'?"),
        ([*R1, "--quant", "fp6"], "no quantization is called 'fp6'; did you mean 'fp8'?"),
        ([*R1, "--kv", "int8"], "no KV type is called 'int8'; the KV types are bf16, fp8"),
        ([*R1, "--quant", "fp4"], "fp4_tflops of H200 SXM is not known"),
        (["--model", "DeepSeek-R1"], "--model and --gpu go together, and --quant and --kv with them"),
        (["--gpu", "H200"], "--model and --gpu go together, and --quant and --kv with them"),
        (["--quant", "fp8"], "--model and --gpu go together, and --quant and --kv with them"),
        (["--refine", "kv_layuot"], "no refinement is called 'kv_layuot'; did you mean 'kv_layout'?"),
        (["--refine", "all", "--set", "drfts=1"], "no input is called 'drfts'; did you mean 'drafts'?"),
        (["--refine", "all", "--set", "drafts=x"], "drafts must be a number: 'x'"),
        (["--refine", "all", "--set", "experts=0"], "experts must be a whole number >= 1: 0"),
    ],
)
def test_what_is_wrong(args: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *args]) == 2
    assert capsys.readouterr() == ("", sentence + "\n")


def test_a_gpu_without_a_figure_that_nothing_needs(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = asked(capsys, "--model", "Llama-3.3-70B", "--gpu", "MI300X", "--refine", "kv_layout")
    assert found["kv_pool_gb"] == pytest.approx(192 * 0.92 - 3 - 70.553706496 / 2)


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ((), ""),
        (("batch=174",), ""),
        (("batch=200",), "Does not run as planned: only 174 sequences fit beside the weights, the batch is 200"),
        (("gpu_gb=20",), "Does not run: the weights do not fit"),
    ],
)
def test_files_say_what_does_not_fit(settings: tuple[str, ...], note: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As the table does, in each row of JSON and CSV: a plan that does not fit is priced all the same."""
    args = ["plan", *(x for setting in settings for x in ("--set", setting))]
    assert main([*args, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)
    assert {(step["fits"], step["note"]) for step in steps} == {(not note, note)}
    assert main([*args, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(row["fits"], row["note"]) for row in rows} == {(str(not note), note)}
    assert main(args) == 0
    assert ("Does not run" in capsys.readouterr().out) == bool(note)
