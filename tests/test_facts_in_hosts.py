"""Functions of data in every host: a number, a text, or an error where there is none."""

import zipfile
from pathlib import Path
from typing import Any

import openpyxl
from office import Office

from addin.libreoffice import build
from capacity.call import ExcelError, call
from workbook.recalculate import recalculate

_DATA = ("models", "gpus", "gpu_sources", "prices", "aliases", "error_bands", "published")
NA, VALUE = ExcelError("#N/A"), ExcelError("#VALUE!")

FORMULAS: list[tuple[str, Any]] = [
    ("=MODEL()", 70_553_706_496.0),
    ("=GPU()", 4.8),
    ('=MODEL("DeepSeek-R1","kv_bytes_per_token_full")', 70_272.0),
    ('=MODEL("deepseek-r1","model_type")', "deepseek_v3"),
    ('=GPU("H200","vendor")', "NVIDIA"),
    ('=GPU("H200","vendor")="NVIDIA"', True),
    ('=GPU("H200","bandwidth_tb_s")*2', 9.6),
    ('=GPU("A10G","fp4_tflops")', NA),
    ('=GPU("H999","tdp_w")', NA),
    ('=GPU("H200","color")', NA),
    ('=IFERROR(GPU("A10G","fp4_tflops"),0)', 0.0),
    ('=NEAREST("model",1,"Llama-3.3-70B","H200",3000,400,64)', "Llama-3.3-70B"),
    ('=NEAREST("distance",1,"Llama-3.3-70B","H200",3000,400,64)', 3.939),
    ('=NEAREST("source",918,"Llama-3.3-70B","H200",3000,400,64)', NA),
    ('=ERROR_BAND("ttft_ms","dense","offline","p10")', NA),
    ('=ERROR_BAND("tpot_ms","dense","closed loop","p10")<1', True),
    ('=CAPACITY_EXPLAIN("GPU","A10G","fp4_tflops")', "fp4_tflops of A10G is not known"),
]


def same(found: Any, expected: Any) -> bool:
    """Equal values; a truth value may come as 1."""
    return bool(found == expected) or (expected is True and found == 1.0)


def test_in_libreoffice(office_with_addin: Office) -> None:
    office_with_addin.new()
    try:
        for i, (formula, expected) in enumerate(FORMULAS, 1):
            assert same(office_with_addin.formula("Sheet1", f"A{i}", formula), expected), formula
        office_with_addin.set("Sheet1", "C1", "H200 SXM")
        assert office_with_addin.formula("Sheet1", "C2", '=GPU(C1,"memory_gb")') == 141.0
        assert office_with_addin.formula("Sheet1", "C3", '=GPU(C9,"memory_gb")') == NA
        # as of all functions that may yield a text: fill the formula down instead
        assert office_with_addin.formula("Sheet1", "C4", '=SUM(GPU(C1:C2,"memory_gb"))') == VALUE
    finally:
        office_with_addin.close()


def test_the_extension_carries_the_data(tmp_path: Path) -> None:
    """Tables and families, but nothing that LibreOffice's Python lacks."""
    with zipfile.ZipFile(build(tmp_path / "x.oxt")) as oxt:
        carried = {name.removeprefix("pythonpath/capacity/") for name in oxt.namelist()}
    assert {f"data/{name}.csv" for name in _DATA} <= carried
    assert {"catalogue.py", "lookup.py", "error_bands.py", "published.py"} <= carried
    assert not {"cli.py", "tables.py", "schema.py"} & carried


def test_in_process(tmp_path: Path) -> None:
    """As the workbook recalculates."""
    book = openpyxl.Workbook()
    for i, (formula, _) in enumerate(FORMULAS, 1):
        book.worksheets[0][f"A{i}"] = formula
    book.save(tmp_path / "facts.xlsx")
    found = recalculate(tmp_path / "facts.xlsx")
    for i, (formula, expected) in enumerate(FORMULAS, 1):
        assert same(found["Sheet", f"A{i}"], expected), formula


def test_a_column_of_names_at_once() -> None:
    """A block beyond the size from which numbers go through NumPy."""
    column = [["H200"], ["A10G"]] * 200
    assert call("GPU", [column, "memory_gb"]) == [[141.0], [24.0]] * 200
