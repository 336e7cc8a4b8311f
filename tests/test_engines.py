"""Four ways to calculate the template: LibreOffice and formualizer, each with the functions and without them.

With the same add-in state every cell of every sheet agrees; between the states every result agrees, and only the cells
that show the add-in itself (its columns, the differences, version and engine) may differ.
"""

from contextlib import nullcontext
from datetime import datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from office import Office
from openpyxl.utils.datetime import to_excel
from sheets import ADDIN_CELLS, engine_of, held, put_back, recalculate, two_errors_beside_the_print

from capacity.call import ExcelError
from capacity.plan import INPUTS, STEPS, plan
from workbook.frame import FIRST_ROW
from workbook.recalculate import recalculate as afresh
from workbook.sheets import audit, batch, blocks, inputs, money_blocks, prices

Values = dict[tuple[str, str], Any]

# one input at a time: ordinary values, zero demand, weights that do not fit, and what is out of bounds
SINGLE: list[tuple[str, Any]] = [
    ("req_per_s", 120.0),
    ("prompt_tokens", 8000.0),
    ("output_tokens", 1200.0),
    ("cache_hit", 0.5),
    ("params_b", 8.03),
    ("bytes_per_param", 2.0),
    ("layers", 61.0),
    ("kv_heads", 4.0),
    ("head_dim", 64.0),
    ("kv_bytes", 1.0),
    ("tp", 4.0),
    ("peak_tflops", 4500.0),
    ("bandwidth_tb_s", 8.0),
    ("gpu_gb", 192.0),
    ("memory_fraction", 0.85),
    ("reserved_gb", 0.0),
    ("usd_per_gpu_hour", 2.79),
    ("mfu", 0.4),
    ("mbu", 1.0),
    ("batch", 128.0),
    ("utilization", 0.9),
    ("spares", 2.0),
    ("target_ms", 30.0),
    ("req_per_s", 0.0),
    ("prompt_tokens", 0.0),
    ("output_tokens", 0.0),
    ("gpu_gb", 20.0),
    ("utilization", 65.0),
    ("tp", 2.5),
    ("mfu", "half"),
]
# several at a time: no tokens at all; a target met to the last bit; weights that fill the memory to the last byte
TOGETHER: list[dict[str, Any]] = [
    {"prompt_tokens": 0.0, "output_tokens": 0.0},
    {"prompt_tokens": 0.0, "output_tokens": 0.0, "gpu_gb": 20.0},
    dict(
        zip(
            ["req_per_s", "prompt_tokens", "output_tokens", "params_b", "layers", "head_dim", "tp", "peak_tflops"],
            (2.0, 4000.0, 100.0, 20.0, 32.0, 100.0, 1.0, 500.0),
            strict=True,
        ),
        bandwidth_tb_s=8.0,
        mfu=0.8,
        batch=8.0,
        target_ms=32.0,
    ),
    {"gpu_gb": 24.0, "memory_fraction": 0.95, "reserved_gb": 1.0, "params_b": 43.6},
    {"gpu_gb": 192.0, "memory_fraction": 0.7, "reserved_gb": 3.0, "params_b": 262.8},
]
CHANGES: list[dict[str, Any]] = [*({name: value} for name, value in SINGLE), *TOGETHER]
IDS = [", ".join(f"{k}={v}" for k, v in change.items())[:60] for change in CHANGES]


def agree(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    return bool(a == b)


def differing(a: Values, b: Values, leave_out: set[tuple[str, str]] = frozenset()) -> dict[tuple[str, str], Any]:  # type: ignore[assignment]  # an empty set is enough
    assert a.keys() == b.keys()
    return {k: (a[k], b[k]) for k in a if k not in leave_out and not agree(a[k], b[k])}


def address(name: str) -> tuple[str, str]:
    return "Inputs", f"F{inputs.ROWS[name]}"


@pytest.fixture(scope="module")
def four_ways(template: Path, office_with_addin: Office, office_without_addin: Office) -> dict[str, list[Values]]:
    """Values of all formula cells, as built and after each change, in each of the four ways."""
    found: dict[str, list[Values]] = {}
    for name, office in (("office with", office_with_addin), ("office without", office_without_addin)):
        with office.lent(template):
            found[name] = [office.cells()]
            for change in CHANGES:
                for key, value in change.items():
                    office.set(*address(key), value)
                found[name].append(office.cells())
                for key in change:
                    put_back(office, held(template), *address(key))
            assert not differing(office.cells(), found[name][0]), "the last value put back gives the first result again"
    for name, functions in (("formualizer with", True), ("formualizer without", False)):
        found[name] = [recalculate(template, functions=functions)]
        for change in CHANGES:
            cells = {address(key): value for key, value in change.items()}
            found[name].append(recalculate(template, functions=functions, changes=cells))
        assert recalculate(template, functions=functions) == afresh(template, functions=functions)
    return found


@pytest.mark.parametrize("state", ["with", "without"])
@pytest.mark.parametrize("case", range(len(CHANGES) + 1), ids=["as built", *IDS])
def test_two_programs_agree_on_every_cell(state: str, case: int, four_ways: dict[str, list[Values]]) -> None:
    a, b = four_ways[f"office {state}"][case], four_ways[f"formualizer {state}"][case]
    found = differing(a, b)
    assert not {k: x for k, x in found.items() if not two_errors_beside_the_print(k, x)}


@pytest.mark.parametrize("program", ["office", "formualizer"])
@pytest.mark.parametrize("case", range(len(CHANGES) + 1), ids=["as built", *IDS])
def test_results_agree_with_and_without_the_functions(
    program: str, case: int, four_ways: dict[str, list[Values]]
) -> None:
    a, b = four_ways[f"{program} with"][case], four_ways[f"{program} without"][case]
    assert a["Inputs", f"F{inputs.STATE_ROW + 1}"] == "Add-in"
    assert b["Inputs", f"F{inputs.STATE_ROW + 1}"] == "Native"
    assert not differing(a, b, ADDIN_CELLS)


@pytest.mark.parametrize("case", range(len(CHANGES)), ids=IDS)
def test_every_step_equals_the_python_plan(case: int, four_ways: dict[str, list[Values]]) -> None:
    change = CHANGES[case]
    bad = any(not isinstance(value, float) or not INPUTS[name].fits(value) for name, value in change.items())
    for way in four_ways.values():
        audited = {s.name: way[case + 1]["Audit", f"F{audit.ROWS[s.name]}"] for s in STEPS}
        if bad:
            assert set(audited.values()) == {ExcelError("#N/A")}
            continue
        for result in plan(change):
            assert agree(audited[result.step.name], result.value), result.step.name


def test_no_error_and_every_check_passes_as_built(four_ways: dict[str, list[Values]]) -> None:
    for name, ways in four_ways.items():
        built = ways[0]
        errors = {k for k, v in built.items() if isinstance(v, ExcelError)}
        assert errors <= (ADDIN_CELLS if "without" in name else set())
        assert {
            v for (sheet, _), v in built.items() if sheet != "Checks" and v in ("PASS", "FAIL", "inputs changed")
        } == {"PASS"}
        assert built["About", "B3"] == "All checks PASS"


def test_cached_results_are_those_of_a_calculation(template: Path, four_ways: dict[str, list[Values]]) -> None:
    book = openpyxl.load_workbook(template, data_only=True)
    cached = {k: book[k[0]][k[1]].value for k in four_ways["formualizer with"][0]}
    cached = {k: to_excel(x) if isinstance(x, datetime | time) else x for k, x in cached.items()}
    shown = four_ways["office with"][0]
    blank = {k for k, v in cached.items() if v is None}  # as openpyxl reads an empty text
    assert {shown[k] for k in blank} <= {""}
    assert not differing(shown, cached, blank)


def test_opened_without_the_add_in_the_first_edit_falls_to_native(template: Path, office_without_addin: Office) -> None:
    """The file carries results of the add-in; after one edit the engine is Native and every result is right."""
    office_without_addin.open(template)
    before = office_without_addin.cells()
    assert before["Inputs", f"F{inputs.STATE_ROW + 1}"] == "Add-in"  # as cached
    assert before["Audit", f"F{audit.ROWS['gpus']}"] == 52
    office_without_addin.set(*address("req_per_s"), 100)
    after = office_without_addin.cells()
    assert after["Inputs", f"F{inputs.STATE_ROW + 1}"] == "Native"
    for result in plan({"req_per_s": 100}):
        assert agree(after["Audit", f"F{audit.ROWS[result.step.name]}"], result.value)
    office_without_addin.close()


# sheets without functions of ours: what they hold is computed on the sheet that reads them
READ_BY = {"Week": "Profile", "Prices": "Options"}


@pytest.mark.parametrize(
    ("sheet", "at", "value"),
    [
        ("Batch", "B7", 96),
        ("Requests", "C6", 500),
        ("Inputs", "F27", 0.4),
        ("Mix", "D6", 900),
        ("Mix", "C18", 256),
        ("Utilization", "B7", 0.6),
        ("Caching", "C6", 5),
        ("Caching", "B25", 0.65),
        ("Sensitivity", "C7", 0.4),
        ("Sensitivity", "E14", 0.1),
        ("Utilization", f"C{blocks.HEADROOM_FIRST}", 2),
        ("Demand", f"C{money_blocks.DEMAND_FIRST}", 80_000),
        ("Week", f"G{FIRST_ROW}", 0.5),
        ("Own", f"C{money_blocks.OWN_FIRST}", 300_000),
        ("Terms", f"C{FIRST_ROW}", 4),
        ("Prices", f"E{prices.LAST_ROW}", 3),
        ("Actuals", f"H{FIRST_ROW}", 1_000_000),
    ],
)
def test_any_edit_finds_the_add_in_missing(
    sheet: str, at: str, value: float, template: Path, office_without_addin: Office
) -> None:
    office_without_addin.open(template)
    office_without_addin.set(sheet, at, value)
    cells = office_without_addin.cells()
    assert cells[engine_of(READ_BY.get(sheet, sheet))] == "Native"
    results = {k: v for k, v in cells.items() if k not in ADDIN_CELLS}
    assert not [k for k, v in results.items() if isinstance(v, ExcelError)]
    office_without_addin.close()


@pytest.mark.parametrize("engine", ["Native", "Add-in"])
def test_engine_switch(engine: str, template: Path, office_with_addin: Office, office_without_addin: Office) -> None:
    switch = ("Inputs", f"F{inputs.ENGINE_ROW}")
    for office, installed in ((office_with_addin, True), (office_without_addin, False)):
        with office.lent(template):
            office.set(*switch, engine)
            gpus, master = office.value("Audit", f"F{audit.ROWS['gpus']}"), office.value("About", "B3")
            put_back(office, held(template), *switch)
        if engine == "Add-in" and not installed:
            assert gpus == ExcelError("#NAME?")
            assert "FAIL" in master
        else:
            assert gpus == 52
            assert master == "All checks PASS"


def test_an_unknown_engine_is_refused(template: Path) -> None:
    values = recalculate(template, changes={("Inputs", f"F{inputs.ENGINE_ROW}"): "Fast"})
    assert values["Inputs", f"K{inputs.ENGINE_ROW}"] == "FAIL"
    assert values["Audit", f"F{audit.ROWS['gpus']}"] == ExcelError("#N/A")


def test_formulas_to_paste_give_the_same_values(template: Path, office_with_addin: Office) -> None:
    """Each formula text, pasted into a new sheet, gives what its row shows: in LibreOffice and in process."""
    ws = openpyxl.load_workbook(template, data_only=True)["Audit"]
    office_with_addin.open(template)
    office_with_addin.recalculate()
    office_with_addin.add_sheet("Pasted")
    for i, step in enumerate(STEPS, 1):
        text, value = (ws[f"{c}{audit.ROWS[step.name]}"].value for c in ("H", audit.VALUE))
        assert agree(office_with_addin.formula("Pasted", f"A{i}", text), value), text
    office_with_addin.close()
    pasted = {("Checks", f"P{i}"): ws[f"H{audit.ROWS[s.name]}"].value for i, s in enumerate(STEPS, 1)}
    values = recalculate(template, changes=pasted)
    for cell, step in zip(pasted, STEPS, strict=True):
        assert agree(values[cell], ws[f"{audit.VALUE}{audit.ROWS[step.name]}"].value), step.name


def test_formulas_of_the_functions_sheet_give_the_results_beside_them(template: Path) -> None:
    ws = openpyxl.load_workbook(template, data_only=True)["Functions"]
    rows = [row for row in ws.iter_rows(min_row=6, max_col=9) if row[8].value]
    assert len(rows) > 20
    changes = {("Checks", f"P{i}"): row[8].value for i, row in enumerate(rows, 1)}
    values = recalculate(template, changes=changes)
    for cell, row in zip(changes, rows, strict=True):
        assert agree(values[cell], row[7].value), row[8].value


@pytest.mark.parametrize("program", ["office with", "office without", "formualizer with", "formualizer without"])
def test_whatever_is_no_number_fails_in_words(
    program: str, template: Path, office_with_addin: Office, office_without_addin: Office
) -> None:
    """Blank, text, boolean and error in an editable cell: its check says FAIL, results are #N/A, the master fails."""
    cells = {
        ("Inputs", f"F{inputs.ROWS['utilization']}"): (
            ("Inputs", f"K{inputs.ROWS['utilization']}"),
            ("Audit", f"F{audit.ROWS['gpus']}"),
        ),
        ("Inputs", f"F{inputs.ROWS['layers']}"): (("Inputs", f"K{inputs.ROWS['layers']}"), ("Batch", "J7")),
        ("Batch", "B6"): (("Batch", f"{batch.INPUT_CHECK}6"), ("Batch", f"{batch.KV_FIT}6")),
        ("Requests", "C6"): (("Requests", "E6"), ("Requests", "F6")),
    }
    office = {"office with": office_with_addin, "office without": office_without_addin}.get(program)
    with office.lent(template) if office else nullcontext():
        for cell, (check, result) in cells.items():
            # in LibreOffice TRUE in a cell that is formatted as a number is the number 1
            for bad in ("sixty-five", "=NA()", "=1/0", None, *(() if office else (True,))):
                if office is None:
                    values = recalculate(template, functions="without" not in program, changes={cell: bad})
                else:
                    if isinstance(bad, str) and bad.startswith("="):
                        office.formula(*cell, bad)
                    else:
                        office.set(*cell, bad)
                    wanted = (check, result, ("About", "B3"))
                    values = {at: office.value(*at) for at in wanted}
                    put_back(office, held(template), *cell)
                assert values[check] == "FAIL", (cell, bad)
                assert values[result] == ExcelError("#N/A"), (cell, bad)
                assert "FAIL" in values["About", "B3"], (cell, bad)
