"""`capacity plan --workbook`: what it prints equals the workbook's own cells, after edits in two programs."""

import csv
import io
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hostile import packed, parts_of
from lxml import etree
from office import Office
from sheets import agree, held, put_back, recalculate

import capacity
from capacity.cli import main
from capacity.errors import CapacityError
from capacity.frame import frame
from capacity.plan import INPUTS, plan
from capacity.refined import REFINED_INPUTS, SWITCHES, refined_results
from capacity.request import Choice, answer
from workbook.build import build, compose
from workbook.finish import _fill
from workbook.package import q, sheet_parts
from workbook.reader import read
from workbook.sheets import audit, inputs, refined, refined_inputs

Edits = Mapping[str, float | str]

R1 = {"model": "DeepSeek-R1", "gpu": "H200 SXM", "tp": 8}
ON = {"chain": "Refined"}
ALL = ON | dict.fromkeys(SWITCHES, "on")

# twenty edits of the inputs, by argument
EDITS: dict[str, Edits] = {
    "nothing": {},
    "load": {"req_per_s": 120.5, "prompt_tokens": 8_000, "output_tokens": 250},
    "cache": {"cache_hit": 0.6},
    "no output": {"output_tokens": 0},
    "no tokens": {"output_tokens": 0, "prompt_tokens": 0},
    "batch": {"batch": 192, "target_ms": 140.5},
    "policy": {"utilization": 0.8, "spares": 3, "usd_per_gpu_hour": 2.29},
    "efficiency": {"mfu": 0.42, "mbu": 0.61},
    "too small": {"gpu_gb": 24},
    "small model": {"model": "Llama-3.1-8B", "gpu": "L40S", "quantization": "bf16", "kv_type": "fp8", "tp": 1},
    "typed over": {"params_b": 123.4, "layers": 88, "kv_heads": 8, "bandwidth_tb_s": 3.35},
    "formula": {"req_per_s": "=20*3", "batch": "=2^5", "mfu": "=1/2"},
    "switches without the chain": {"attention_flops": "on", "kv_layout": "on"},
    "chain without switches": ON,
    "one refinement": ON | {"peak_residency": "on"},
    "all refinements": ALL,
    "experts": R1 | ALL | {"attention_dp": 8, "expert_parallel": 8},
    "experts, some": R1 | ON | {"active_params": "on", "kv_layout": "on", "kv_type": "fp8", "req_per_s": 7},
    "windows": {"model": "gpt-oss-120b", "gpu": "H100 SXM", "quantization": "mxfp4", "tp": 1} | ALL,
    "speculation": ALL | {"drafts": 3, "accepted": 1.6, "draft_ms": 0.9, "mbu_kv": 0.7, "host_ms": 1.2},
}


def at(name: str) -> tuple[str, str]:
    """The cell of an argument in the workbook of today; the reader does not know it."""
    sheet = refined_inputs if name in REFINED_INPUTS else inputs
    return sheet.TITLE, f"F{sheet.ROWS[name]}"


def printed(path: Path, capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    """Values of the steps by name, as the command prints them."""
    assert main(["plan", "--workbook", str(path), "--json", *args]) == 0
    return {step["name"]: step["value"] for step in json.loads(capsys.readouterr().out)}


def compared(found: Mapping[str, Any], own: Mapping[tuple[str, str], Any], edits: Edits) -> None:
    """Every step that was printed against the value cell of its row."""
    sheet = refined if edits.get("chain") == "Refined" and "on" in edits.values() else audit
    wrong = {
        name: (x, own[sheet.TITLE, f"F{sheet.ROWS[name]}"])
        for name, x in found.items()
        if not agree(x, own[sheet.TITLE, f"F{sheet.ROWS[name]}"])
    }
    assert not wrong
    assert agree(found["gpus"], own[refined.TITLE, f"F{refined.ROWS['gpus']}"])


def edited(template: Path, folder: Path, edits: Mapping[tuple[str, str], Any]) -> tuple[Path, dict[Any, Any]]:
    """The template with the cells changed, with the results on the sheets that are read; and all results."""
    own, parts = recalculate(template, functions=False, changes=edits), parts_of(template)
    for sheet, part in sheet_parts(parts).items():
        if sheet in (inputs.TITLE, refined_inputs.TITLE):
            tree = etree.fromstring(parts[part])
            for cell in tree.iter(q("c")):
                _edit(cell, (sheet, cell.get("r")), edits, own)
            parts[part] = etree.tostring(tree)
    return packed(folder / "edited.xlsx", parts), own


def _edit(cell: Any, at: tuple[str, str], edits: Mapping[tuple[str, str], Any], own: Mapping[Any, Any]) -> None:
    """Put what is typed, or calculated, into a cell."""
    x = edits.get(at)
    typed, formula = at in edits, isinstance(x, str) and x.startswith("=")
    if typed:
        cell.attrib.pop("t", None)
        for child in list(cell):
            cell.remove(child)
        if formula:
            etree.SubElement(cell, q("f")).text = str(x).removeprefix("=")
    if formula or (not typed and cell.find(q("f")) is not None):
        _fill(cell, cell.find(q("v")), own[at])
    elif x is not None:
        _fill(cell, cell.find(q("v")), x)


@pytest.mark.parametrize("case", EDITS)
def test_equals_the_workbooks_own_cells(
    case: str, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = EDITS[case]
    path, own = edited(template, tmp_path, {at(name): x for name, x in edits.items()})
    compared(printed(path, capsys), own, edits)


@pytest.mark.parametrize("addin", [True, False])
def test_equals_what_libreoffice_shows(
    addin: bool, template: Path, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same edits typed into LibreOffice, which then saves the workbook in its own spelling."""
    office: Office = request.getfixturevalue("office_with_addin" if addin else "office_without_addin")
    with office.lent(template):
        for number, (_, edits) in enumerate(list(EDITS.items())[addin::2]):
            for name, x in edits.items():
                formula = isinstance(x, str) and x.startswith("=")
                (office.formula if formula else office.set)(*at(name), x)  # type: ignore[arg-type]  # a formula is text
            own, path = office.cells(), tmp_path / f"{number}.xlsx"
            office.store(path)
            for name in edits:
                put_back(office, held(template), *at(name))
            compared(printed(path, capsys), own, edits)


def test_every_hosts_workbook_is_read(template: Path, macro_workbook: Path, tmp_path: Path) -> None:
    """Also that with macros: they are this project's own, and neither run nor read."""
    spelled = build(tmp_path / "server.xlsx", host="server")
    for path in (template, macro_workbook, spelled):
        given = read(path)
        assert given.inputs == {n: a.example for n, a in (INPUTS | REFINED_INPUTS).items()}
        assert given[1:] == ({}, Choice("Llama-3.3-70B", "H200 SXM", "fp8", "bf16"), ())


def test_rows_and_columns_may_stand_elsewhere(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An older or later layout: rows in another order, other columns, other sheets; what nobody knows is passed by."""
    path, _ = edited(template, tmp_path, {at(name): x for name, x in EDITS["speculation"].items()})
    given, book = read(path), openpyxl.Workbook()
    for title, names in (("Facts", REFINED_INPUTS), ("inputs", [*INPUTS, *SWITCHES, "chain", "model", "gpu"])):
        ws = book.create_sheet(title, 0)
        ws.append(["A title"])
        ws.append(["Value", "Unit", "Argument"])
        for name in sorted(names, reverse=True):
            value = given.inputs.get(name, "ON" if name in SWITCHES else EDITS["speculation"].get(name, "?"))
            ws.append([value, "-", name])
            ws.append(["-", "-", "a note"])
    book.save(tmp_path / "older.xlsx")
    older = read(tmp_path / "older.xlsx")
    assert older._replace(choice=given.choice) == given
    assert printed(tmp_path / "older.xlsx", capsys) == printed(path, capsys)


def test_an_input_that_an_older_workbook_lacks(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A default is taken, and said; what has none is asked for."""
    label = {name: (at(name)[0], at(name)[1].replace("F", "C")) for name in ("spares", "mbu_kv", "batch", "chain")}
    path, _ = edited(template, tmp_path, {label[name]: "(none)" for name in ("spares", "mbu_kv", "chain")})
    assert main(["plan", "--workbook", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "26 replicas" in out
    assert err == "note: Inputs has no row for spares: 0 counts\nnote: Facts has no row for mbu_kv: 0.6542 counts\n"
    path, _ = edited(template, tmp_path, {label["batch"]: "(none)"})
    assert main(["plan", "--workbook", str(path)]) == 2
    assert capsys.readouterr().err == f"{path}: Inputs has no row with batch in the column Argument: add one\n"


@pytest.mark.parametrize(
    ("name", "x", "sentence"),
    [
        ("mfu", 50, "must be > 0 and <= 1: 50; did you mean 0.5?"),
        ("mfu", 0, "must be > 0 and <= 1: 0"),
        ("batch", 64.5, "must be a whole number >= 1: 64.5"),
        ("req_per_s", "many", "must be a number: 'many'"),
        ("req_per_s", "1,000", "must be a number: '1,000'; did you mean 1000?"),
        ("prompt_tokens", "3000 ", "must be a number: '3000 '"),
        ("output_tokens", None, "must not be blank"),
        ("tp", True, "must be a number: True"),
        ("params_b", "=1/0", "must not be an error: #DIV/0!"),
        ("gpu_gb", '=""', "must be a number: ''"),
        ("mbu_kv", 1.5, "must be > 0 and <= 1: 1.5"),
        ("kv_replicated", 2, "must be a whole number >= 0 and <= 1: 2"),
        ("chain", "Fancy", "must be Seed or Refined: 'Fancy'"),
        ("coverage", "maybe", "must be on or off: 'maybe'"),
        ("coverage", 1, "must be on or off: 1"),
        ("coverage", None, "must not be blank"),
    ],
)
def test_a_bad_cell_is_named(
    name: str, x: Any, sentence: str, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = edited(template, tmp_path, {at(name): x})
    assert main(["plan", "--workbook", str(path)]) == 2
    assert capsys.readouterr() == ("", f"{'!'.join(at(name))} ({name}) {sentence}\n")


def test_the_readmes_bad_cell(template: Path, tmp_path: Path) -> None:
    path, _ = edited(template, tmp_path, {at("req_per_s"): "1,000"})
    with pytest.raises(CapacityError) as caught:
        read(path)
    assert f"\n    {caught.value}\n" in (Path(__file__).parents[1] / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ({"quantization": "fp4"}, f"{'!'.join(at('peak_tflops'))} (peak_tflops) must be > 0: 0"),
        ({"model": "Llama-9"}, f"{'!'.join(at('params_b'))} (params_b) must not be an error: #N/A"),
        ({"accepted": 2}, "counts 1 at fault: the columns Check say which"),
        ({"engine": "Both"}, "counts 1 at fault: the columns Check say which"),
        ({"embedding_params_b": 71}, "counts 1 at fault: the columns Check say which"),
    ],
)
def test_what_the_workbook_itself_does_not_plan_with(
    edits: Edits, sentence: str, template: Path, tmp_path: Path
) -> None:
    """Where its results are #N/A there is no plan either."""
    path, own = edited(template, tmp_path, {at(name): x for name, x in edits.items()})
    assert str(own[refined.TITLE, f"F{refined.ROWS['gpus']}"]) == "#N/A"
    with pytest.raises(CapacityError) as caught:
        read(path)
    assert str(caught.value).endswith(sentence)


def test_a_workbook_without_results(tmp_path: Path) -> None:
    """As openpyxl saves it: a rate that follows the kind of load, facts that follow the model, have no results."""
    compose(date(2026, 11, 29)).save(tmp_path / "plain.xlsx")
    with pytest.raises(CapacityError, match=r"\(req_per_s\) is a formula without a result: open the workbook in a sp"):
        read(tmp_path / "plain.xlsx")


def test_settings_have_the_last_word(template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = edited(template, tmp_path, {at("req_per_s"): 80, at("batch"): 32, at("coverage"): "on"})
    expected = {r.step.name: r.value for r in plan({"req_per_s": 80, "batch": 128})}
    assert printed(path, capsys, "--set", "batch=128") == expected
    found = printed(path, capsys, "--set", "batch=128", "--refine", "peak_residency", "--set", "reserved_gb=4")
    rows, _ = refined_results({"req_per_s": 80, "batch": 128, "reserved_gb": 4}, {"peak_residency": True})
    assert found == {r.step.name: r.value for r in rows}


def test_notes_as_for_a_choice(template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What misprices the model is said; of a GPU that is not in the catalogue nothing is known."""
    path, _ = edited(template, tmp_path, {at(name): x for name, x in R1.items()} | {at("tp"): 16})
    assert main(["plan", "--workbook", str(path)]) == 0
    mispriced = "DeepSeek-R1 is priced as a dense model with grouped KV heads"
    spread = "16 GPUs of a replica are more than the 8 x H200 SXM that a fast link connects"
    assert capsys.readouterr().err == (
        f"note: {mispriced}; add --refine active_params --refine kv_layout\nnote: {spread}\n"
    )
    given = read(path)
    own = given._replace(choice=given.choice._replace(gpu="Ours"))
    assert answer([], workbook=own).notes == (f"{mispriced}; add --refine active_params --refine kv_layout",)


@pytest.mark.parametrize("option", ["--model", "--gpu", "--quant", "--kv", "--models", "--constants"])
def test_a_workbook_has_facts_of_its_own(option: str, template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--workbook", str(template), option, "x"]) == 2
    sentence = "--workbook has facts of its own: leave out --model, --gpu, --quant, --kv, --models and --constants\n"
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("refine", [[], ["--refine", "all"]])
def test_as_csv(refine: list[str], template: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same rows as JSON; no text begins as a formula does."""
    asked = ["plan", "--workbook", str(template), "--set", "output_tokens=0", *refine]
    assert main([*asked, "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)
    assert main([*asked, "--csv"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows == [{name: str(x) for name, x in step.items()} for step in steps]
    assert {"no output tokens", "GPUS"} <= {row["value"] for row in rows} | {r["formula"].split("(")[0] for r in rows}
    texts = [x for row in rows for name, x in row.items() if name != "value" or not x[-1].isdigit()]
    assert not [x for x in texts if x.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_csv_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--csv", "--json"]) == 2
    assert capsys.readouterr() == ("", "--json and --csv exclude each other\n")


def test_as_a_frame(template: Path, tmp_path: Path) -> None:
    """In Python: the worked example, refined, and a workbook's plan."""
    seed, rows = capacity.plan_frame(), plan()
    assert list(seed) == ["name", "quantity", "value", "unit", "formula"]
    assert seed.value.tolist() == [r.value for r in rows]
    assert seed.set_index("name").loc["gpus"].tolist() == ["GPUs", 52.0, "GPUs", "GPUS(26,2)"]
    on = dict.fromkeys(SWITCHES, True)
    fine = capacity.refined_frame({"tp": 4}, on)
    assert fine.value.tolist() == [r.value for r in refined_results({"tp": 4}, on)[0]]
    assert fine.quantity.tolist() == [r.step.quantity for r in refined_results({"tp": 4}, on)[0]]
    path, _ = edited(template, tmp_path, {at("req_per_s"): 100})
    assert frame(answer([], workbook=read(path)).results).equals(capacity.plan_frame({"req_per_s": 100}))
