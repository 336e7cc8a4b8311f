"""PLAN: the worked example's steps, other models by their architecture, and the same answer in every host."""

from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from office import Office

import capacity
from capacity.call import ExcelError, call
from capacity.plan import STEPS, plan
from capacity.refined import refined_plan
from capacity.selection import chosen
from workbook.recalculate import Session

VALUE, NUM, NA = ExcelError("#VALUE!"), ExcelError("#NUM!"), ExcelError("#N/A")
EXAMPLE: list[Any] = ["Llama-3.3-70B", "H200 SXM", 50.0, 3000.0, 400.0]


def table(*args: Any) -> dict[str, Any]:
    """The rows of the table by name, without units."""
    return {name: value for name, value, _ in call("PLAN", ["table", *args])}


def test_every_step_is_the_worked_examples() -> None:
    assert call("PLAN", ["gpus", *EXAMPLE]) == call("PLAN", []) == 52
    for result in plan():
        assert call("PLAN", [result.step.name, *EXAMPLE]) == result.value, result.step.name


def test_the_table_is_the_plan() -> None:
    """In its order, with its units."""
    rows = call("PLAN", ["table", *EXAMPLE])
    assert rows == [[r.step.name, r.value, r.step.function.unit] for r in plan()]


@pytest.mark.parametrize("name", [step.name for step in STEPS])
def test_an_explanation_is_that_of_the_step(name: str) -> None:
    """The sentence of the step's own function, after what it was asked for."""
    sentence = call("CAPACITY_EXPLAIN", ["PLAN", name, *EXAMPLE])
    where = "Llama-3.3-70B in fp8 on 2 x H200 SXM: "
    assert sentence.startswith(where)
    if name not in ("kv_bytes_per_token", "kv_gb_per_seq", "usd_per_m_tokens_all"):
        assert sentence == where + call("CAPACITY_EXPLAIN", [name])


def test_explanations_beyond_a_number() -> None:
    assert "ask for one of them" in call("CAPACITY_EXPLAIN", ["PLAN", "table", *EXAMPLE])
    assert call("CAPACITY_EXPLAIN", ["PLAN"]) == "Llama-3.3-70B in fp8 on 2 x H200 SXM: 26 replicas x 2 GPUs = 52 GPUs"


@pytest.mark.parametrize(
    ("also", "name"), [("usd_per_m_output", "usd_per_m_tokens"), ("USD_per_M_all ", "usd_per_m_tokens_all")]
)
def test_other_names(also: str, name: str) -> None:
    assert call("PLAN", [also, *EXAMPLE]) == call("PLAN", [name, *EXAMPLE])


@pytest.mark.parametrize(
    ("model", "gpu", "quant", "tp"),
    [
        ("DeepSeek-R1", "H200 SXM", "fp8", 8.0),
        ("gpt-oss-120b", "H100 SXM", "mxfp4", 1.0),
        ("gemma-3-27b", "A100 80GB SXM", "bf16", 2.0),
        ("Qwen3-Next-80B-A3B", "MI300X", "fp8", 4.0),
        ("Llama-3.1-8B", "L40S", "int4", 16.0),  # more GPUs than KV heads
    ],
)
def test_the_chain_is_the_refined_one(model: str, gpu: str, quant: str, tp: float) -> None:
    """With the cache by architecture, and active parameters where there are experts."""
    found = table(model, gpu, 20.0, 8000.0, 500.0, tp, 16.0, quant)
    inputs = chosen(model, gpu, quant=quant, switches=()) | {"tp": tp, "batch": 16, "req_per_s": 20}
    sparse = capacity.model(model, "routed_expert_params") > 0
    rows = refined_plan(
        inputs | {"prompt_tokens": 8000, "output_tokens": 500}, {"kv_layout": True, "active_params": sparse}
    )
    compared = found.keys() & rows.keys()
    assert len(compared) == len(STEPS) - 5  # those that both chains share, and the bytes of a step
    for name in compared:
        expected = getattr(rows[name], "value", rows[name])
        assert found[name] == (expected if isinstance(expected, str) else pytest.approx(expected, rel=1e-12)), name


def test_every_argument_counts() -> None:
    """None of the optional arguments is mixed up with another."""
    changed = {
        "tp": 4.0,
        "batch": 32.0,
        "usd_per_gpu_hour": 2.0,
        "mfu": 0.4,
        "mbu": 0.6,
        "utilization": 0.5,
        "target_ms": 20.0,
        "cache_hit": 0.5,
        "spares": 3.0,
    }
    for name, x in changed.items():
        expected = [r.value for r in plan({name: x})]
        assert [row[1] for row in capacity.plan_for("table", *EXAMPLE, **{name: x})] == expected, name
    formats = capacity.plan_for("table", *EXAMPLE, quant="bf16", kv="fp8")
    inputs = {"bytes_per_param": 2, "kv_bytes": 1, "peak_tflops": 989}
    assert [row[1] for row in formats] == [r.value for r in plan(inputs)]


@pytest.mark.parametrize(
    ("args", "error", "sentence"),
    [
        (["gpu", *EXAMPLE], NA, "no step is called 'gpu'; did you mean 'gpus'?"),
        (["gpus", "Llama-3.3-70", *EXAMPLE[1:]], NA, "no model is called 'Llama-3.3-70'; did you mean"),
        (["gpus", "Llama-3.3-70B", "H2000", 50.0, 1.0, 1.0], NA, "no GPU is called 'H2000'"),
        (["gpus", *EXAMPLE, 2.0, 64.0, "fp16"], NA, "no quantization is called 'fp16'; did you mean"),
        (["gpus", *EXAMPLE, 2.0, 64.0, "fp8", "int3"], NA, "no KV type is called 'int3'"),
        (["gpus", "Llama-3.3-70B", "A100 80GB SXM", 50.0, 1.0, 1.0], NA, "fp8_tflops of A100 80GB SXM is not known"),
        (["gpus", *EXAMPLE, 1.5], NUM, "tp must be a whole number >= 1: 1.5"),
        (["gpus", "Llama-3.3-70B", "H200 SXM", -1.0, 1.0, 1.0], NUM, "req_per_s must be >= 0: -1"),
        (["gpus", "Llama-3.3-70B", "H200 SXM", "many", 1.0, 1.0], VALUE, "req_per_s must be a number: 'many'"),
        (["gpus", "Llama-3.3-70B"], VALUE, "gpu is required"),
        (
            ["usd_per_m_output", *EXAMPLE[:4], 0.0],
            NUM,
            "usd_per_m_tokens has no number: no output tokens",
        ),
        (["kv_pool_gb", "DeepSeek-R1", *EXAMPLE[1:]], NUM, "kv_pool_gb has no number: weights do not fit"),
        (["max_seqs", "DeepSeek-R1", *EXAMPLE[1:]], NUM, "max_seqs has no number: weights do not fit"),
        (["gpus", "DeepSeek-R1", *EXAMPLE[1:]], NUM, "gpus has no number: weights do not fit"),
        (["usd_per_m_all", "DeepSeek-R1", *EXAMPLE[1:]], NUM, "usd_per_m_tokens_all has no number: weights do not fit"),
    ],
)
def test_what_is_wrong(args: list[Any], error: ExcelError, sentence: str) -> None:
    assert call("PLAN", args) == error
    assert call("CAPACITY_EXPLAIN", ["PLAN", *args]).startswith(sentence)


def test_words_stand_in_the_table() -> None:
    found = table("DeepSeek-R1", "H200 SXM", 50.0, 3000.0, 0.0)
    for name in ("kv_pool_gb", "max_seqs", "replicas", "gpus", "cost_per_hour", "usd_per_m_tokens"):
        assert found[name] == "weights do not fit", name
    assert found["tpot_verdict"] == "no output tokens"
    assert found["busy_replicas"] > 0  # work there is, though no replica for it
    assert table("Llama-3.3-70B", "H200 SXM", 50.0, 3000.0, 0.0)["usd_per_m_tokens"] == "no output tokens"


def test_ranges() -> None:
    """A column of rates gives a column; rows do not fit into one cell of it."""
    rates, rest = [[50.0], [100.0], ["x"]], EXAMPLE[3:]
    assert call("PLAN", ["gpus", *EXAMPLE[:2], rates, *rest]) == [[52.0], [104.0], [VALUE]]
    assert call("PLAN", ["table", *EXAMPLE[:2], rates, *rest]) == [[VALUE]] * 3
    assert call("PLAN", [[["gpus", "table"]], *EXAMPLE]) == [[52.0, VALUE]]
    assert call("PLAN", [[["table"]], *EXAMPLE]) == call("PLAN", ["table", *EXAMPLE])


def test_arrays_are_refused_in_a_sentence() -> None:
    with pytest.raises(capacity.InputTypeError, match="req_per_s must be one number"):
        capacity.plan_for("gpus", "Llama-3.3-70B", "H200", np.array([50.0, 100.0]), 3000, 400)


def formula(what: str, rate: str = "50", output: str = "400") -> str:
    return f'PLAN("{what}","Llama-3.3-70B","H200 SXM",{rate},3000,{output})'


def test_in_process(tmp_path: Path) -> None:
    """As the workbook recalculates: the table and a column spill, a text compares equal."""
    book = openpyxl.Workbook()
    ws = book.worksheets[0]
    ws["A1"], ws["E1"], ws["E2"] = f"={formula('table')}", 50, 100
    ws["F1"] = f"={formula('gpus', 'E1:E2')}"
    ws["F5"] = f'={formula("tpot_verdict")}="needs a measurement"'
    ws["F6"] = '=VLOOKUP("gpus",A1:C40,2,FALSE)'
    ws["F7"] = f"={formula('usd_per_m_output', output='0')}"
    book.save(tmp_path / "plan.xlsx")
    session = Session(tmp_path / "plan.xlsx")
    values = session.values()
    assert [values["Sheet", f"F{row}"] for row in (5, 6, 7)] == [True, 52.0, NUM]
    read = session._book.get_value  # no formula stands in the cells of a spill
    assert [[read("Sheet", i, j) for j in (1, 2, 3)] for i in range(1, len(STEPS) + 1)] == table_rows()
    assert [read("Sheet", i, 6) for i in (1, 2)] == [52.0, 104.0]


def table_rows() -> list[list[Any]]:
    rows: list[list[Any]] = call("PLAN", ["table", *EXAMPLE])
    return rows


def test_in_libreoffice(office_with_addin: Office) -> None:
    """Blocks come as array formulas; in their cells &"" makes texts comparable."""
    office = office_with_addin
    office.new()
    try:
        last = len(STEPS)
        office.formula("Sheet1", f"A1:C{last}", f"={formula('table')}")
        assert office.range("Sheet1", f"A1:C{last}") == table_rows()
        assert office.formula("Sheet1", "E1", '=A1="prompt_tps"') == 0
        assert office.formula("Sheet1", "E2", '=A1&""="prompt_tps"') == 1
        for i, rate in enumerate((50.0, 100.0), 1):
            office.set("Sheet1", f"G{i}", rate)
        office.formula("Sheet1", "H1:H2", f"={formula('gpus', 'G1:G2')}")
        assert office.range("Sheet1", "H1:H2") == [[52.0], [104.0]]
        office.formula("Sheet1", "I1:I2", f"={formula('tpot_verdict', 'G1:G2')}")
        assert office.range("Sheet1", "I1:I2") == [[VALUE], [VALUE]]
        assert office.formula("Sheet1", "J1", f"=SUM({formula('table', 'G1:G2')})") == VALUE
        assert office.formula("Sheet1", "J2", f"={formula('gpus')}+1") == 53
        assert office.formula("Sheet1", "J3", f"={formula('nope')}") == NA
        assert office.formula("Sheet1", "J4", f"={formula('usd_per_m_output', output='0')}") == NUM
    finally:
        office.close()


def test_a_batch_over_the_pool_is_refused() -> None:
    """174 sequences fit: 174 have a fleet, 175 an error that says so, and what is no fleet its figure all the same."""
    assert isinstance(call("PLAN", ["gpus", *EXAMPLE, 2.0, 174.0]), float)
    for what in ("replicas", "gpus", "cost_per_hour", "usd_per_m_output", "usd_per_m_all"):
        assert call("PLAN", [what, *EXAMPLE, 2.0, 175.0]) == ExcelError("#NUM!"), what
    assert table(*EXAMPLE, 2.0, 175.0)["gpus"] == "batch over the pool: at most 174 fit"
    assert "at most 174 fit" in call("CAPACITY_EXPLAIN", ["PLAN", "gpus", *EXAMPLE, 2.0, 175.0])
    assert call("PLAN", ["max_seqs", *EXAMPLE, 2.0, 175.0]) == 174
