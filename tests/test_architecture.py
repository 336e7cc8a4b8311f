"""Which package may import which, and what an import or a call may load."""

import ast
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("addin", "capacity", "workbook")
HEAVY = ("numpy", "pandas", "pydantic", "openpyxl", "formualizer", "lxml", "xlwings", "typer", "rich")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Top-level packages that a module imports anywhere in it; its own package for relative imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield path.relative_to(ROOT).parts[0] if node.level else str(node.module).partition(".")[0]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_dependencies_point_one_way(path: Path) -> None:
    """addin -> capacity <- workbook; only the command line, which puts them together, may import all three."""
    package = path.relative_to(ROOT).parts[0]
    allowed = {package, "capacity"}
    if path.parent == ROOT / "capacity" / "cli":
        allowed = set(PACKAGES)
    assert set(imported(path)) & set(PACKAGES) <= allowed


def test_the_domain_needs_the_standard_library_only() -> None:
    """Of the domain only the edges use other libraries; NumPy is imported inside functions, when an array comes."""
    edges = {
        "cli/__init__.py": {"typer"},
        "budget_plot.py": {"matplotlib"},
        "cli/answers.py": {"typer"},
        "cli/budget.py": {"typer"},
        "cli/app.py": {"typer"},
        "cli/compare.py": {"typer", "rich"},
        "cli/files.py": {"typer"},
        "cli/models.py": {"typer"},
        "cli/doctor.py": {"typer", "rich"},
        "cli/evidence.py": {"typer"},
        "cli/output.py": {"typer", "rich"},
        "cli/residency.py": {"typer"},
        "doctor.py": {"packaging"},
        "doctor_workbook.py": {"openpyxl"},
        "evidence/plot.py": {"matplotlib"},
        "evidence/rows.py": {"pydantic"},
        "frame.py": {"pandas"},
        "request.py": {"pydantic"},
        "schema.py": {"pydantic", "pydantic_core"},
        "tables.py": {"rich"},
    }
    for path in sorted((ROOT / "capacity").rglob("*.py")):
        foreign = set(imported(path)) - sys.stdlib_module_names - set(PACKAGES) - {"numpy"}
        name = path.relative_to(ROOT / "capacity").as_posix()
        assert foreign == edges.get(name, set()), name


def test_the_package_is_complete() -> None:
    """Every package and data file is declared, so that an installed copy has what the checkout has."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    folders = {path.parent for path in MODULES}
    assert sorted(tools["packages"]) == sorted(".".join(f.relative_to(ROOT).parts) for f in folders)
    files = {p for package in PACKAGES for p in (ROOT / package).rglob("*") if p.is_file()}
    data = {p for p in files if p.suffix not in (".py", ".pyc")}
    declared = {p for package, globs in tools["package-data"].items() for g in globs for p in (ROOT / package).glob(g)}
    assert ROOT / "capacity" / "py.typed" in data
    assert data <= declared


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_fits_on_a_few_screens(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 300


def run(code: str) -> str:
    """The output of a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import capacity",
        "import capacity; capacity.replicas(16.67, 0.65); capacity.replicas(16)",
        "from capacity.call import call; call('REPLICAS', [16.67]); call('GPUS', [[[26.0], ['x']], 2.0])",
        "import capacity; capacity.capacity_explain('REPLICAS', 16.67, 65)",
        "from capacity.plan import plan; plan()",
    ],
)
def test_what_a_scalar_call_loads(code: str) -> None:
    """Neither importing the domain nor calling it for numbers loads a heavy library."""
    assert run(f"{code}\nimport sys\nprint([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_blocks_without_numpy() -> None:
    """Where NumPy is missing, as in LibreOffice's own Python, a block is calculated element by element."""
    assert (
        run("""
            import sys
            sys.modules["numpy"] = None
            from capacity.call import VECTOR_FROM, call
            column = [[float(i)] for i in range(VECTOR_FROM + 44)]
            print(call("GPUS", [column, 2.0]) == [[2.0 * i] for i in range(VECTOR_FROM + 44)])
            """)
        == "True"
    )


def test_help_is_quick_to_load() -> None:
    """`capacity --help` loads none of the libraries that the commands behind it need."""
    heavy = [name for name in HEAVY if name not in ("typer", "rich")]
    code = f"""
        import sys
        from capacity.cli import main
        main(["--help"])
        print([m for m in {heavy} if m in sys.modules])
        """
    assert run(code).splitlines()[-1] == "[]"
