"""Which engine computes a workbook: by itself the add-in where it is there, else cell arithmetic; or the one chosen."""

from pathlib import Path

import pytest
from office import Office
from sheets import ADDIN_CELLS, engine_of, held, put_back, recalculate

from capacity.call import ExcelError
from capacity.plan import plan
from workbook.frame import FIRST_ROW
from workbook.sheets import audit, blocks, inputs, money_blocks, prices


def test_opened_without_the_add_in_the_first_edit_falls_to_native(template: Path, office_without_addin: Office) -> None:
    """The file carries results of the add-in; after one edit the engine is Native and every result is right."""
    office_without_addin.open(template)
    before = office_without_addin.cells()
    assert before["Inputs", f"F{inputs.STATE_ROW + 1}"] == "Add-in"  # as cached
    assert before["Audit", f"F{audit.ROWS['gpus']}"] == 52
    office_without_addin.set("Inputs", f"F{inputs.ROWS['req_per_s']}", 100)
    after = office_without_addin.cells()
    assert after["Inputs", f"F{inputs.STATE_ROW + 1}"] == "Native"
    for result in plan({"req_per_s": 100}):
        wanted = result.value if isinstance(result.value, str) else pytest.approx(result.value, rel=1e-9)
        assert after["Audit", f"F{audit.ROWS[result.step.name]}"] == wanted
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
