"""The reference says about each function and argument what the registry says, and the README carries it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from capacity import reference
from capacity.arguments import REQUIRED
from capacity.plan import INPUTS
from capacity.registry import FUNCTIONS, Function, literal

README = Path(__file__).parents[1] / "README.md"


def test_readme_carries_the_reference() -> None:
    """What stands between the markers is generated."""
    text = README.read_text("utf-8")
    for block in reference.BLOCKS:
        assert text.count(reference.begin(block)) == text.count(reference.end(block)) == 1
    assert text == reference.in_document(text), "run `python -m capacity.reference README.md`"


def test_a_document_is_brought_up_to_date(tmp_path: Path) -> None:
    """`python -m capacity.reference FILE` writes what stands between the markers, and nothing else."""
    document = tmp_path / "README.md"
    begin, end = reference.begin("functions"), reference.end("functions")
    document.write_text(f"before {begin} old {end} after", "utf-8")
    subprocess.run([sys.executable, "-m", "capacity.reference", str(document)], check=True)
    assert document.read_text("utf-8") == f"before {begin}\n\n{reference.markdown()}\n\n{end} after"


def test_every_input_of_the_plan() -> None:
    """Its meaning, unit and bounds, and as its default the exact value."""
    rows = [line.strip("| ").split(" | ") for line in reference.inputs().splitlines()[2:]]
    assert [row[0] for row in rows] == [f"`{name}`" for name in INPUTS]
    for (_, meaning, unit, bounds, default), argument in zip(rows, INPUTS.values(), strict=True):
        assert (meaning, unit, float(default)) == (argument.meaning, argument.unit, argument.example)
        assert argument.bounds.endswith(bounds)


def test_every_function_has_a_topic() -> None:
    shown = [spec.name for specs in reference.topics().values() for spec in specs]
    assert sorted(shown) == sorted(FUNCTIONS)


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items()])
def test_everything_about_a_function(spec: Function) -> None:
    """Signature, one line, unit, the worked figure; formula in words, cell arithmetic and source."""
    text = reference.markdown()
    row = next(line for line in text.splitlines() if line.startswith(f"| `{spec.signature}`"))
    assert row.split(" | ")[1:] == [spec.doc.removesuffix("."), spec.unit, f"{reference.example(spec)} |"]
    if spec.native:
        assert f"- `{spec.name}` = {spec.words}  \n" in text
        assert f"`={spec.native_formula({n: n for n in spec.args})}`  \n  {spec.source}\n" in text


@pytest.mark.parametrize("spec", [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items()])
def test_every_argument(spec: Function) -> None:
    """Unit, bounds, default and example of each argument, with the bounds of this function among those named."""
    rows = {row.name: row for row in reference.arguments()}
    for name, argument in spec.args.items():
        row = rows[name]
        assert (row.meaning, row.unit) == (argument.meaning, argument.unit)
        default = "" if argument.default is REQUIRED else literal(argument.default)
        own = [part for part in row.default.split("; ") if part.startswith("in ") and spec.name in part]
        assert (re.sub(r"^in (\w+, )*\w+ ", "", own[0]) if own else row.default.partition("in ")[0]) == default
        stricter = [part for part in row.bounds.split("; ") if part.startswith("in ") and spec.name in part]
        shown = stricter[0].rpartition(spec.name)[2] if stricter else row.bounds.split("; ")[0]
        assert shown.endswith(argument.bounds.removeprefix("a number "))


def test_tables_are_well_formed() -> None:
    """Each row of a table has as many cells as its head."""
    width = 0
    for line in reference.markdown().splitlines():
        cells = line.count("|") - line.count("\\|") - 1 if line.startswith("|") else 0
        assert cells in (0, width) or width == 0, line
        width = cells
