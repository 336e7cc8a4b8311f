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
from sheets import ADDIN_CELLS, held, put_back, recalculate, two_errors_beside_the_print

from capacity.call import ExcelError
from capacity.plan import INPUTS, STEPS, plan
from workbook.recalculate import recalculate as afresh
from workbook.sheets import audit, batch, inputs

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
