"""The comparison of all GPUs: three of them by hand, prices, what does not fit and why, the order, CHEAPEST."""

import csv
import io
import json
from typing import Any

import pytest

import capacity
from capacity import catalogue
from capacity.call import ExcelError, call
from capacity.cli import main
from capacity.compare import TPS, Option, compare, on_demand
from capacity.plan import plan

LOAD: list[Any] = ["Llama-3.3-70B", 50.0, 3000.0, 400.0]
NA, NUM = ExcelError("#N/A"), ExcelError("#NUM!")


def option(gpu: str, tp: int, options: list[Option] | None = None) -> Option:
    return next(o for o in options or compare("Llama-3.3-70B") if (o.gpu, o.tp) == (gpu, tp))


# Each by hand: prefill load 150,000 x 2 x 70.554e9 / (TP x peak x 0.5); a = weights / (bandwidth x 0.75); the slope is
# KV / (bandwidth x 0.75) + load / 20; batch = (50 - a) / slope; step; decode load = 20 x step / batch; both / 0.65.
HAND = {
    # load 10.695, a 9.799, slope 0.1456 + 0.5348: 59.08; step 18.392, decode 6.235; 16.930 / 0.65 = 26.05
    ("H200 SXM", 2): (59, 49.943, 27, 54, 56, 4.59, 247.86, 257.04, 3.4425),
    # load 4.047, a 4.437, slope 0.0659 + 0.2024: 169.8; step 15.582, decode 1.844; 5.891 / 0.65 = 9.06
    ("MI300X", 4): (169, 49.782, 10, 40, 40, 2.59, 103.60, 103.60, 1.4389),
    # load 4.704, a 5.880, slope 0.0874 + 0.2352: 136.8; step 17.763, decode 2.612; 7.316 / 0.65 = 11.26
    ("B200", 2): (136, 49.748, 12, 24, 24, 6.69, 160.56, 160.56, 2.23),
}


@pytest.mark.parametrize(("gpu", "tp"), HAND)
def test_options_by_hand(gpu: str, tp: int) -> None:
    found = option(gpu, tp)
    shown = (found.batch, found.tpot_worst_ms, found.replicas, found.gpus, found.billed_gpus, found.usd_per_gpu_hour)
    shown += (found.cost_per_hour, found.billed_per_hour, found.usd_per_m_tokens)
    assert shown == pytest.approx(HAND[gpu, tp], abs=5e-4)


def test_an_option_is_the_plan_at_its_batch() -> None:
    """The worked example's GPU and TP, with the batch and the price of the option."""
    found = option("H200 SXM", 2)
    values = {r.step.name: r.value for r in plan({"batch": 59, "usd_per_gpu_hour": 4.59})}
    for name in ("max_seqs", "tpot_worst_ms", "replicas", "gpus", "cost_per_hour", "usd_per_m_tokens"):
        assert getattr(found, name) == values[name], name
    assert values["tpot_verdict"] == "safe at any overlap"


def test_medians_by_hand() -> None:
    """Nine offers of an H200: 3.99 4.29 4.45 4.50 [4.59] 5.99 6.31 7.91 10.44; two of an L40S: (1.09 + 1.55) / 2.

    Spot, reserved, a marketplace's average and the ranges of "hyperscaler range" are no offers.
    """
    prices = on_demand()
    assert prices["H200 SXM"] == (4.59, "2026-10-24", 9)
    assert prices["L40S"] == (1.32, "2026-09-25", 2)
    assert prices["H100 SXM"].offers == 12
    row = {"gpu": "X", "usd_per_gpu_hour_low": 2.0, "usd_per_gpu_hour_high": 2.0, "commitment": "On demand"}
    row["date"] = "2026-01-01"
    dropped = [{**row, "gpu": None}, {**row, "commitment": "spot"}, {**row, "usd_per_gpu_hour_high": 3.0}]
    dropped += [{**row, "usd_per_gpu_hour_low": "1 to 2"}, {**row, "usd_per_gpu_hour_low": None}]
    assert on_demand(dropped) == {}
    assert on_demand([row, {**row, "usd_per_gpu_hour_high": None, "date": "2026-03-01"}]) == {
        "X": (2.0, "2026-03-01", 2)
    }


@pytest.mark.parametrize(
    ("gpu", "tp", "status"),
    [
        ("A100 80GB SXM", 4, "no peak for fp8 weights"),
        ("L4", 2, "TP beyond the fast domain"),
        ("H100 PCIe", 4, "TP beyond the fast domain"),
        ("GH200 96GB", 2, "fast domain not known"),
        ("L40S", 1, "weights do not fit"),  # 70.55 GB on 48
        ("H100 SXM", 1, "no sequence fits"),  # 80 x 0.92 - 3 - 70.554 = 0.046 GB for 1.049
        ("RTX PRO 6000 Blackwell", 1, "TPOT target below the step floor"),  # 71.6 GB / (1.792 x 0.75) = 53 ms
        ("Rubin (VR NVL72)", 8, "fits, no price"),
    ],
)
def test_why_not(gpu: str, tp: int, status: str) -> None:
    found = option(gpu, tp)
    assert (found.status, found.rank, found.cost_per_hour) == (status, None, None)


def test_a_target_that_prefill_alone_misses() -> None:
    """H200, TP 2, at 10 ms: a step of batch 1 takes 9.945 ms, and prefill adds 0.535."""
    options = compare("Llama-3.3-70B", {"target_ms": 10})
    assert option("H200 SXM", 2, options).status == "TPOT target missed at batch 1"


def test_the_order() -> None:
    """All GPUs at each TP; by cost, then those without a price, then those that do not fit."""
    options = compare("Llama-3.3-70B")
    assert len(options) == len(TPS) * len(catalogue.gpus().names)
    priced = [o for o in options if o.rank]
    assert [o.rank for o in priced] == list(range(1, len(priced) + 1))
    costs = [o.cost_per_hour or 0.0 for o in priced]
    assert costs == sorted(costs)
    assert {o.status for o in priced} == {"fits"}
    rest = [o.status for o in options[len(priced) :]]
    assert rest == ["fits, no price"] * rest.count("fits, no price") + [s for s in rest if s != "fits, no price"]


def test_other_models_by_their_architecture() -> None:
    """As PLAN has it: latent attention, active parameters, weights of all experts."""
    for model, gpu, tp in (("DeepSeek-R1", "H200 SXM", 8), ("gemma-3-27b", "B200", 1)):
        found = option(gpu, tp, compare(model))
        args = [model, gpu, 50.0, 3000.0, 400.0, float(tp), found.batch]
        for name in ("max_seqs", "replicas", "gpus"):
            assert getattr(found, name) == call("PLAN", [name, *args]), (model, name)
        assert found.tpot_worst_ms == pytest.approx(call("PLAN", ["tpot_worst_ms", *args]), rel=1e-12)


def test_no_output_and_no_load() -> None:
    for inputs in ({"output_tokens": 0}, {"req_per_s": 0}):
        assert option("H200 SXM", 2, compare("Llama-3.3-70B", inputs)).status == "no output tokens"


def test_every_input_counts() -> None:
    example = option("H200 SXM", 2)
    changed = {"cache_hit": 0.5, "mfu": 0.4, "mbu": 0.6, "utilization": 0.5, "spares": 3, "target_ms": 30}
    for name, x in changed.items():
        assert option("H200 SXM", 2, compare("Llama-3.3-70B", {name: x})) != example, name
    assert option("H200 SXM", 2, compare("Llama-3.3-70B", batch_limit=32)).batch == 32
    assert option("H200 SXM", 2, compare("Llama-3.3-70B", node_gpus=10)).billed_gpus == 60
    nodes_of_3 = option("H200 SXM", 2, compare("Llama-3.3-70B", node_gpus=3))
    assert nodes_of_3.replicas
    assert nodes_of_3.billed_gpus == 3 * nodes_of_3.replicas  # one replica of 2 to a node
    assert option("H200 SXM", 2, compare("Llama-3.3-70B", kv="fp8")) != example
    assert option("A100 80GB SXM", 2, compare("Llama-3.3-70B", quant="int4")).rank


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({"batch": 32}, r"^each option of a comparison has a batch of its own: leave it out$"),
        ({"gpu_gb": 80}, r"^each option of a comparison has a gpu_gb"),
        ({"req": 80}, r"^no input is called 'req'"),
        ({"mfu": 40}, r"^mfu must be > 0 and <= 1: 40; did you mean 0\.4\?$"),
    ],
)
def test_bad_inputs(inputs: dict[str, float], sentence: str) -> None:
    with pytest.raises(capacity.CapacityError, match=sentence):
        compare("Llama-3.3-70B", inputs)


def test_cheapest_in_a_cell() -> None:
    assert call("CHEAPEST", []) == "MI300X"
    assert [call("CHEAPEST", [what, *LOAD]) for what in ("gpu", "tp", "gpus", "usd_per_hour", "price_date")] == [
        *("MI300X", 4, 40, 103.6, "2026-10-08"),
    ]
    assert call("CHEAPEST", ["USD_per_M_output", *LOAD]) == pytest.approx(103.6 / 72)
    assert call("CHEAPEST", ["tpot_worst_ms", *LOAD, 30.0]) < 30
    assert call("CAPACITY_EXPLAIN", ["CHEAPEST", "gpu", *LOAD]) == (
        "Llama-3.3-70B: the cheapest of the options that fit is 40 x MI300X, 4 to a replica, at $2.59"
        " (median on demand, 2026-10-08): $103.60 per hour with batch 169"
    )


@pytest.mark.parametrize(
    ("args", "error", "sentence"),
    [
        (["cost", *LOAD], NA, "no figure of an option is called 'cost'"),
        (["gpu", "Llama", *LOAD[1:]], NA, "no model is called 'Llama'"),
        (["gpu", *LOAD[:3], 0.0], NUM, "no option with a price fits"),
        (["gpu", *LOAD, 1.0], NUM, "no option with a price fits"),
        (["gpu", *LOAD, 50.0, "fp16"], NA, "no quantization is called 'fp16'"),
    ],
)
def test_no_cheapest(args: list[Any], error: ExcelError, sentence: str) -> None:
    assert call("CHEAPEST", args) == error
    assert call("CAPACITY_EXPLAIN", ["CHEAPEST", *args]).startswith(sentence)


def printed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["compare", *args]) == 0
    return capsys.readouterr().out


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each option that fits, the cheapest first; with --all the others and why."""
    text = printed(capsys)
    first = next(line for line in text.splitlines() if "MI300X" in line)
    assert first.split() == ["1", "MI300X", "4", "169", "49.78", "40", "40", "$2.59", "2026-10-08", "$103.60", "$1.44"]
    assert "no peak" not in text
    unfit = sum(o.batch is None for o in compare("Llama-3.3-70B"))
    assert f"\n{unfit} more options do not serve: --all says why.\n" in text
    assert "no peak for fp8 weights" in printed(capsys, "--all")


def test_the_command_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    options = [o._asdict() for o in compare("DeepSeek-R1", {"req_per_s": 5, "utilization": 0.5}, kv="fp8")]
    args = ["--model", "DeepSeek-R1", "--kv", "fp8", "--set", "req_per_s=5", "--set", "utilization=50%"]
    assert json.loads(printed(capsys, *args, "--json")) == options
    lines = list(csv.DictReader(io.StringIO(printed(capsys, *args, "--csv"))))
    assert [line["gpu"] for line in lines] == [o["gpu"] for o in options]
    assert [line["usd_per_m_tokens"] for line in lines] == [str(o["usd_per_m_tokens"] or "") for o in options]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--json", "--csv"], "--json and --csv exclude each other\n"),
        (["--set", "tp=2"], "each option of a comparison has a tp of its own: leave it out\n"),
        (["--set", "mfu"], "--set takes NAME=VALUE, e.g. batch=32: 'mfu'\n"),
        (["--node-gpus", "0"], "node_gpus must be a whole number >= 1: 0\n"),
    ],
)
def test_what_the_command_refuses(args: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *args]) == 2
    assert capsys.readouterr().err == sentence


def test_a_frame() -> None:
    frame = capacity.compare_frame("Llama-3.3-70B", {"req_per_s": 5})
    assert list(frame.columns) == list(Option._fields)
    assert list(frame.gpu) == [o.gpu for o in compare("Llama-3.3-70B", {"req_per_s": 5})]
