"""The catalogue: its data, what it answers, and a team's own rows."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from configs import CATALOGUE

import capacity
from capacity import catalogue
from capacity.call import ExcelError, call
from capacity.families import model_facts
from capacity.model_row import append, row

NA = ExcelError("#N/A")
TABLES = {"model": catalogue.models(), "GPU": catalogue.gpus()}


def test_sizes() -> None:
    assert (len(catalogue.models().names), len(catalogue.gpus().names), len(catalogue.prices())) == (38, 35, 56)


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_model_is_what_its_config_says(name: str) -> None:
    """Every counted column of every row."""
    kept = catalogue.models().row(name)
    counted = row(model_facts(CATALOGUE[name]), name)
    expected = {column: value for column, value in counted.items() if value != ""}
    assert {column: kept[column] for column in expected} == expected
    assert set(counted) - set(expected) <= {
        *("hub_id", "published_total_b", "published_active_b", "source", "date", "note"),
        "max_context_config",  # the one fact that a config may leave out
    }


@pytest.mark.parametrize("kind", TABLES)
def test_every_row_has_source_and_date(kind: str) -> None:
    for entry in TABLES[kind].rows:
        assert entry["source"], entry["name"]
        assert str(entry["date"]) == "2026-11-29"


def test_gpus_are_explained() -> None:
    """Each key in a GPU's sources has its text, and peaks grow as numbers get shorter."""
    known = catalogue.gpu_sources()
    for gpu in catalogue.gpus().rows:
        assert {key.strip() for key in str(gpu["source"]).split(",")} <= set(known)
        peaks = [p for p in (gpu["bf16_tflops"], gpu["fp8_tflops"], gpu["fp4_tflops"]) if isinstance(p, float)]
        assert peaks == sorted(peaks)
        assert gpu["confidence"] in ("high", "medium", "low")


# GiB that CUDA reports, in the project's field notes: median of engines' start-up logs
LOGGED = {"H100 SXM": 79.18, "H200 SXM": 139.8, "B200": 178.36, "RTX PRO 6000 Blackwell": 94.97}


def test_usable_memory() -> None:
    """What CUDA reports: as engines log it, else what nvidia-smi shows less the share that CUDA keeps."""
    for gpu in catalogue.gpus().rows:
        usable, mib = gpu["usable_gb"], gpu["nvidia_smi_mib"]
        assert (usable is None) == (gpu["usable_basis"] is None)
        if gpu["name"] in LOGGED:
            assert usable == pytest.approx(LOGGED[str(gpu["name"])] * 2**30 / 1e9, abs=0.005)
        if gpu["usable_basis"] == "engines' start-up logs":
            assert isinstance(usable, float)
            assert mib is None or usable == pytest.approx(float(mib) * 2**20 / 1e9 * 0.9957, rel=0.01)
        else:
            assert usable == (None if mib is None else pytest.approx(float(mib) * 2**20 / 1e9 * 0.9957, abs=0.005))
    assert sum(gpu["usable_gb"] is not None for gpu in catalogue.gpus().rows) == 14


def test_prices_are_of_known_gpus() -> None:
    for price in catalogue.prices():
        assert price["gpu"] in catalogue.gpus().names
        low, high = price["usd_per_gpu_hour_low"], price["usd_per_gpu_hour_high"]
        assert isinstance(low, float)
        assert isinstance(high, float)
        assert 0 < low <= high
        assert price["source"]
        assert str(price["date"]).startswith("2026-")


@pytest.mark.parametrize(
    ("table", "name", "field", "value"),
    [
        ("model", "Llama-3.3-70B", "total_params", 70_553_706_496.0),
        ("model", " LLAMA-3.3-70b ", "TOTAL_PARAMS", 70_553_706_496.0),
        ("model", "Llama 3.3 70B", "hub_id", "meta-llama/Llama-3.3-70B-Instruct"),
        ("model", "Llama-3.1-8B-Instruct", "layers", 32.0),
        ("model", "DeepSeek-R1", "kv_bytes_per_token", 70_272.0),
        ("model", "DeepSeek-R1", "kv_bytes_per_token_full", 70_272.0),
        ("model", "DeepSeek-R1", "kv_replicated_per_rank", 1.0),
        ("model", "DeepSeek-R1", "kv_window_tokens", 0.0),
        ("model", "gpt-oss-120b", "native_quantization", "mxfp4"),
        ("GPU", "H200", "bandwidth_tb_s", 4.8),
        ("GPU", "h200 sxm", "vendor", "NVIDIA"),
        ("GPU", "H200", "name", "H200 SXM"),
        ("GPU", "A100-80", "memory_gb", 80.0),
        ("GPU", "4090", "bf16_tflops", 165.2),
        ("GPU", "TPU v7 (Ironwood, TPU7x)", "memory_gb", 192.0),
    ],
)
def test_lookups(table: str, name: str, field: str, value: float | str) -> None:
    """In any case, by alias, by the names of the table and of `capacity model --json`; in Python and in a cell."""
    assert TABLES[table].value(name, field) == value
    assert call(table.upper(), [name, field]) == value
    assert getattr(capacity, table.lower())(name, field) == value


@pytest.mark.parametrize(
    ("table", "name", "field", "sentence"),
    [
        ("GPU", "H300", "memory_gb", "no GPU is called 'H300'; did you mean 'B300'?"),
        ("GPU", "A10G", "fp4_tflops", "fp4_tflops of A10G is not known"),
        ("GPU", "h200", "fp4_tflops", "fp4_tflops of H200 SXM is not known"),
        ("GPU", "H200", "memory", "no GPU field is called 'memory'; did you mean 'memory_gb'?"),
        ("model", "Llama-3.3-7OB", "layers", "no model is called 'Llama-3.3-7OB'; did you mean 'Llama-3.3-70B'?"),
        ("model", "DeepSeek-R1", "layer", "no model field is called 'layer'; did you mean 'layers'?"),
        ("model", "DeepSeek-R1", "note", "note of DeepSeek-R1 is not known"),
    ],
)
def test_what_is_not_there(table: str, name: str, field: str, sentence: str) -> None:
    """One sentence in Python and as explanation, #N/A in a cell."""
    with pytest.raises(capacity.CapacityError) as caught:
        TABLES[table].value(name, field)
    assert str(caught.value) == sentence
    assert call(table.upper(), [name, field]) == NA
    assert capacity.capacity_explain(table, name, field) == sentence


def test_in_a_cell() -> None:
    """The worked example without arguments; ranges of names and of fields; an explanation."""
    assert (call("MODEL", []), call("GPU", [])) == (70_553_706_496.0, 4.8)
    block = call("GPU", [[["H200"], ["H100"], ["H999"]], [["bandwidth_tb_s", "vendor"]]])
    assert block == [[4.8, "NVIDIA"], [3.35, "NVIDIA"], [NA, NA]]
    assert call("GPU", ["H200"]) == ExcelError("#VALUE!")
    assert call("GPU", [ExcelError("#DIV/0!"), "vendor"]) == ExcelError("#DIV/0!")
    assert capacity.capacity_explain("GPU", "H200", "tdp_w") == "tdp_w of H200 is 700 in the catalogue"
    assert capacity.capacity_explain("GPU", "H200", "vendor") == "vendor of H200 is NVIDIA in the catalogue"


def test_nothing_is_read_at_import() -> None:
    """Neither `import capacity` nor a calculation reads the tables or loads the families."""
    code = """
import sys, capacity
capacity.replicas(16, 0.65)
print(capacity.catalogue._table.cache_info().currsize, "capacity.families" in sys.modules)
print(capacity.gpu("H200", "tdp_w"), capacity.catalogue._table.cache_info().currsize)
print(capacity.ModelFacts.__name__, capacity.model_facts.__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False", "700.0", "1", "ModelFacts", "model_facts"]
    with pytest.raises(AttributeError, match=r"^module 'capacity' has no attribute 'nonsense'$"):
        _ = capacity.nonsense


def own(path: Path, name: str, **changes: Any) -> dict[str, Any]:
    """A row for a team's own model, in a file."""
    cells = {**row(model_facts(CATALOGUE["Qwen3-8B"]), name, source="config.json", date="2026-12-01"), **changes}
    append(path, cells)
    return cells


def test_own_models(tmp_path: Path) -> None:
    """Rows added to a file stand beside those of the package, and the file is a plain table with a header."""
    path = tmp_path / "own.csv"
    own(path, "Ours-8B")
    path.write_text(path.read_text("utf-8").rstrip("\n"), "utf-8")  # as an editor may leave it
    own(path, "Ours, the second")
    table = catalogue.models(path)
    assert table.names[:38] == catalogue.models().names
    assert table.names[38:] == ["Ours-8B", "Ours, the second"]
    assert table.value("ours-8b", "total_params") == 8_190_735_360
    assert table.value("Llama 3.3 70B", "layers") == 80
    assert len(path.read_text("utf-8").splitlines()) == 3
    assert "Ours-8B" not in catalogue.models()


def test_some_columns_are_enough(tmp_path: Path) -> None:
    """A table that someone writes by hand, as Excel saves it; what it leaves out is not known."""
    path = tmp_path / "own.csv"
    path.write_text("name,memory_gb,bandwidth_tb_s\r\nOurs,96,3.35\r\n", "utf-8-sig")
    table = catalogue.gpus(path)
    assert table.value("ours", "memory_gb") == 96
    with pytest.raises(capacity.NotKnown, match=r"^bf16_tflops of Ours is not known$"):
        table.value("ours", "bf16_tflops")


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@SUM(A1)", "two\nlines", "\t=1", "", "qwen3-8b", "Llama 3.3 70B"]
)
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    """What a spreadsheet could take for a formula, and what is there already; nothing is written."""
    path = tmp_path / "own.csv"
    with pytest.raises(capacity.CapacityError) as caught:
        own(path, name)
    assert len(str(caught.value).splitlines()) == 1
    assert not path.exists()


def test_added_twice(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    own(path, "Ours")
    before = path.read_bytes()
    with pytest.raises(capacity.CapacityError, match=r"^there is a model called 'OURS' already, in .*own\.csv or "):
        own(path, "OURS")
    with pytest.raises(capacity.InputError, match=r"^note must not begin with =, \+, - or @, as a formula does: '=1'$"):
        own(path, "Other", note="=1")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name,memory_gb\n=A1,1\n", "FILE, line 2: name must not begin with =, +, - or @, as a formula does: '=A1'"),
        ("name,note\nx,@SUM(1)\n", "FILE, line 2: note must not begin with =, +, - or @, as a formula does: '@SUM(1)'"),
        ("name,memory_gb\nx,many\n", "FILE, line 2: memory_gb must be a number >= 0: 'many'"),
        ("name,memory_gb\nx,-1\n", "FILE, line 2: memory_gb must be a number >= 0: '-1'"),
        ("name,memory_gb\nx,inf\n", "FILE, line 2: memory_gb must be a number >= 0: 'inf'"),
        ("name,color\nx,red\n", "FILE must have no column but those of the catalogue: 'color'"),
        ("memory_gb\n1\n", "FILE must have a column called name: 'memory_gb'"),
        ("", "FILE must have a column called name: ''"),
        ("name,memory_gb\nx\n", "FILE, line 2, must have as many cells as the header: 2"),
        ("name,memory_gb\nx,1,2\n", "FILE, line 2, must have as many cells as the header: 2"),
        ("name,memory_gb\n,1\n", "FILE, line 2: name must not be empty: ''"),
        ("name,memory_gb\nx,1\nX,2\n", "GPU must not be in the catalogue yet: 'X'"),
        ("name,memory_gb\nH200,2\n", "GPU must not be in the catalogue yet: 'H200'"),
        ('name,memory_gb\n"x,1\n', "FILE must be a CSV file in UTF-8: unexpected end of data"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "own.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(capacity.CapacityError) as caught:
        catalogue.gpus(path)
    assert str(caught.value).replace(str(path), "FILE") == sentence


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_bytes("name\nMünchen\n".encode("latin-1"))
    with pytest.raises(capacity.CapacityError, match="must be a CSV file in UTF-8"):
        catalogue.gpus(path)


def test_a_file_with_other_columns_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("name,layers\nx,1\n", "utf-8")
    with pytest.raises(capacity.InputError, match=r"must have no column but those of the catalogue: 'layers'$"):
        own(path, "Ours")
    path.write_text("name,total_params\nx,1\n", "utf-8")
    with pytest.raises(capacity.CapacityError, match="must have exactly the columns of the catalogue"):
        own(path, "Ours")
