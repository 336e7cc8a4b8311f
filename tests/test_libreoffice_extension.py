"""The extension file: complete, installable, reproducible; and the driver that the tests use for LibreOffice."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest
from conftest import found, need, need_office
from office import Office, install, unopkg
from office.client import in_libreoffice

import capacity
from addin.libreoffice import build
from capacity.call import ExcelError, call
from capacity.registry import FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_function_wizard_shows_names_and_texts(office_with_addin: Office, name: str) -> None:
    office_with_addin.new()
    function = FUNCTIONS[name]
    shown = office_with_addin.functions(name)[name]
    assert shown is not None
    names = [*function.args, *([function.vararg] if function.vararg else [])]
    assert shown["arguments"] == [[n, function.help(n), True] for n in names]
    assert shown["description"] == f"{function.doc} [{function.unit}]"


def test_formulas_of_an_xlsx_file_are_found_and_saved_back(office_with_addin: Office, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for i, name in enumerate(FUNCTIONS, 1):
        book.active.cell(i, 1).value = f"={FUNCTIONS[name].formula()}"
    book.save(tmp_path / "in.xlsx")
    office_with_addin.open(tmp_path / "in.xlsx")
    office_with_addin.recalculate()
    cells = office_with_addin.cells()
    assert cells == {("Sheet", f"A{i}"): call(name, []) for i, name in enumerate(FUNCTIONS, 1)}
    office_with_addin.store(tmp_path / "out.xlsx")
    office_with_addin.close()
    saved = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    assert [saved.cell(i, 1).value.partition("(")[0] for i in range(1, len(FUNCTIONS) + 1)] == [
        f"={n}" for n in FUNCTIONS
    ]


def test_without_the_addin_there_is_no_such_name(office_without_addin: Office) -> None:
    office_without_addin.new()
    for name in FUNCTIONS:
        assert office_without_addin.formula("Sheet1", "A1", f"={name}()") == ExcelError("#NAME?")


def test_unopkg_installs_it(public: Path, tmp_path: Path) -> None:
    found("unopkg", unopkg())
    need_office()
    done = install(build(tmp_path / "llm-capacity.oxt"), public)
    assert done.returncode == 0, done.stderr
    with Office(profile=public / "profile") as office:
        office.new()
        assert office.formula("Sheet1", "A1", "=CAPACITY_VERSION()") == capacity.__version__
        assert office.formula("Sheet1", "A1", "=PREFILL_US()") == call("PREFILL_US", [])


def test_unopkg_installs_it_for_all_users(public: Path, tmp_path: Path) -> None:
    """There the component is loaded before its own types are known."""
    found("unopkg", unopkg())
    done = install(build(tmp_path / "llm-capacity.oxt"), public, shared=True)
    assert done.returncode == 0, done.stderr
    assert list((public / "shared").rglob("component.py"))


def test_a_broken_addin_does_not_end_the_office(broken: Path) -> None:
    need_office()
    with Office(broken, live=False) as office:
        office.new()
        assert office.formula("Sheet1", "A1", "=CAPACITY_VERSION()") == ExcelError("Err:504")
        assert office.formula("Sheet1", "A2", '=IFERROR(CAPACITY_VERSION(),"not installed")') == "not installed"


def test_the_extension_carries_all_code_that_it_needs(tmp_path: Path) -> None:
    """Its copy of the package answers in a Python without any installed package, and is the package's own text."""
    with zipfile.ZipFile(build(tmp_path / "a.oxt")) as oxt:
        oxt.extractall(tmp_path)
    source = Path(capacity.__file__).parent
    shipped = list((tmp_path / "pythonpath/capacity").rglob("*.py"))
    assert {p.read_bytes() for p in shipped} <= {p.read_bytes() for p in source.rglob("*.py")}
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'pythonpath')!r})\n"
        "import capacity\nfrom capacity.call import call\n"
        "print([(n, call(n, [])) for n in capacity.FUNCTIONS])"
    )
    # -I and -S: no folder of ours, no site-packages; the uncompiled copy must not be written to either
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == str([(n, call(n, [])) for n in FUNCTIONS])


def test_the_extensions_code_is_within_python_3_10(tmp_path: Path) -> None:
    """LibreOffice 25.2 brings that version along on Windows and macOS."""
    with zipfile.ZipFile(build(tmp_path / "a.oxt")) as oxt:
        for name in oxt.namelist():
            if name.endswith(".py"):
                ast.parse(oxt.read(name), name, feature_version=(3, 10))


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    assert build(tmp_path / "a.oxt").read_bytes() == build(tmp_path / "b.oxt").read_bytes()


def test_the_extension_says_what_it_is(tmp_path: Path) -> None:
    with zipfile.ZipFile(build(tmp_path / "a.oxt")) as oxt:
        description = oxt.read("description.xml").decode()
        assert 'identifier value="org.llmcapacity.addin"' in description
        assert f'version value="{capacity.__version__}"' in description
        assert 'LibreOffice-minimal-version value="25.2"' in description
        assert b"Apache License" in oxt.read("LICENSE")
        assert "Apache-2.0" in oxt.read("description.txt").decode()


@pytest.mark.parametrize(
    ("excel", "libreoffice"),
    [
        ("=SUM(A1,B2)", "=SUM(A1;B2)"),
        ("=IF(A1<>\"a,b\",'My Sheet'!$B$2,)", "=IF(A1<>\"a,b\";'My Sheet'.$B$2;)"),
        ("=SUM({1,2;3,4},Audit!A1:B2)", "=SUM({1;2|3;4};Audit.A1:B2)"),
    ],
)
def test_the_driver_spells_formulas_for_libreoffice(excel: str, libreoffice: str) -> None:
    assert in_libreoffice(excel) == libreoffice


def test_need_names_a_missing_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under CI a missing program is a failure, elsewhere a reason to skip."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-program is not installed"):
        need("no-such-program")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed"):
        need("no-such-program")
