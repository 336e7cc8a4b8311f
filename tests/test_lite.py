"""xlwings Lite: the script stands alone, runs in Pyodide, and is inside the workbook as the add-in stores it."""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import openpyxl
import pytest
from conftest import audited
from lxml import etree

import capacity
from addin.lite import build
from addin.lite.script import main_py
from capacity.errors import CallError
from capacity.registry import FUNCTIONS
from workbook.build import build as build_workbook

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def spelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook with formulas spelled for xlwings Lite."""
    return build_workbook(tmp_path_factory.mktemp("spelled") / "capacity.xlsx", host="lite")


@pytest.fixture(scope="module")
def built(spelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workbook with the script inside; tests must not change it."""
    return build(tmp_path_factory.mktemp("lite") / "capacity.xlsx", spelled)[0]


ALONE = """
import json, pathlib, runpy, sys
sys.path.insert(0, {site!r})

def no_network(event, _):
    if event.startswith("socket.") or event == "urllib.Request":
        raise RuntimeError(event)

sys.addaudithook(no_network)
main = runpy.run_path({script!r})
foreign = {{name.partition(".")[0] for name in sys.modules}} - set(sys.stdlib_module_names)
calls = json.load(sys.stdin)
print(json.dumps({{"results": [main[name](*args) for name, args in calls], "modules": sorted(foreign)}}))
"""


def test_the_script_stands_alone(built: Path, tmp_path: Path) -> None:
    """A Python that has nothing but xlwings, and no network: imports, answers, and loads nothing else."""
    import xlwings

    (tmp_path / "xlwings").symlink_to(Path(xlwings.__file__).parent)
    calls = [(name, []) for name in FUNCTIONS] + [("REPLICAS", [[[16.67], [-1], ["x"]]]), ("GPUS", [[[26, 31]], 2])]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE.format(site=str(tmp_path), script=str(built.with_name("main.py")))],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1500:]
    answer = json.loads(done.stdout)
    from addin import udfs

    assert answer["results"] == [getattr(udfs, name)(*args) for name, args in calls]
    assert set(answer["modules"]) <= {"__main__", "addin", "capacity", "xlwings", "pyodide"}


def test_it_leaves_nothing_but_the_functions_behind() -> None:
    """In the names of whoever adds functions of their own, on the search path, and among the files of this computer."""
    program = """
import os, sys, tempfile
main = compile(sys.stdin.read(), "main.py", "exec")
before, names = list(sys.path), {}
for _ in range(3):
    exec(main, names)
    from addin.udfs import GPUS
    assert names["GPUS"] is GPUS
added = [path for path in sys.path if path not in before]
there = [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("llm-capacity-")]
print(len(added), len(there), [n for n in names if not n.isupper() and not n.startswith("__")], "FILES" in names)
"""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", program],
            input=main_py(),
            capture_output=True,
            text=True,
            env={**os.environ, "TMPDIR": folder, "TEMP": folder},
            check=True,
        )
        assert os.listdir(folder) == []
    assert done.stdout == "1 1 [] False\n"


def test_models_that_it_cannot_hold_as_they_are() -> None:
    with pytest.raises(CallError, match=r"models\.csv must be free of three quotes in a row"):
        main_py("name\n" + "'" * 3 + "\n")


def test_the_script_is_the_projects_own_source() -> None:
    """Readable: every file of the project that it holds stands in it as it is, and nothing else is in it but calls."""
    script = main_py()
    tree = ast.parse(script, feature_version=(3, 11))
    texts = {
        str(ast.literal_eval(s.targets[0].slice)): str(ast.literal_eval(s.value))
        for s in tree.body
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript)
    }
    assert {"addin/udfs.py", "capacity/prefill.py", "capacity/one_cell.py", "capacity/data/gpus.csv"} <= set(texts)
    for name, text in texts.items():
        source = (ROOT / name).read_text("utf-8")
        assert text == source
        assert source in script  # without a single escape
    assert len(script.splitlines()) - sum(len(t.splitlines()) for t in texts.values()) < 8 * len(texts)


def test_the_workbook_holds_the_script_as_the_addin_stores_it(built: Path) -> None:
    with zipfile.ZipFile(built) as zipped:
        extension = etree.fromstring(zipped.read("xl/webextensions/webextension1.xml"))
        relations = {r.get("Target"): r.get("Type") for r in etree.fromstring(zipped.read("_rels/.rels"))}
        panes = etree.fromstring(zipped.read("xl/webextensions/_rels/taskpanes.xml.rels"))
    properties = {p.get("name"): json.loads(p.get("value")) for p in extension.iter("{*}property")}
    assert properties["main.py"] == built.with_name("main.py").read_text("utf-8") == main_py()
    assert properties["requirements.txt"] == "xlwings\n"
    assert extension.find("{*}reference").get("id") == "wa200008175"
    names = [e.text for e in extension.iter("{*}customFunctionIds")]
    assert names == [f"_xldudf_{name}" for name in FUNCTIONS]
    assert relations["xl/webextensions/taskpanes.xml"].endswith("/webextensiontaskpanes")
    assert [r.get("Target") for r in panes] == ["webextension1.xml"]


def test_every_function_that_the_workbook_calls_is_in_the_script(built: Path) -> None:
    formulas = [c.value for ws in openpyxl.load_workbook(built) for row in ws for c in row if c.data_type == "f"]
    called = set(re.findall(r"_xldudf_(\w+)\(", "".join(map(str, formulas))))
    assert len(called) > 50
    assert called <= set(FUNCTIONS)


def test_excel_is_expected_to_open_it(built: Path) -> None:
    assert audited(built) == "expected to open cleanly"


def test_the_same_sources_give_the_same_bytes(spelled: Path, built: Path, tmp_path: Path) -> None:
    again, script = build(tmp_path / "again.xlsx", spelled)
    assert again.read_bytes() == built.read_bytes()
    assert script == tmp_path / "main.py"


def test_it_may_be_built_in_place(spelled: Path, built: Path, tmp_path: Path) -> None:
    copy = tmp_path / "capacity.xlsx"
    copy.write_bytes(spelled.read_bytes())
    assert build(copy, copy)[0].read_bytes() == built.read_bytes()


def test_nothing_in_it_is_a_key(built: Path) -> None:
    assert "XLWINGS_LICENSE_KEY" not in main_py()
    assert f"llm-capacity {capacity.__version__}" in main_py().splitlines()[0]
