"""Writes the folder that xlwings Server runs from: functions, settings, add-in manifest, landing page, workbook.

Nothing in it is a license key: that comes from the environment of whoever runs it. Functions and settings are its
owner's once they are there; everything else is written anew by each build.
"""

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

import capacity
from capacity.catalogue import OWN_MODELS
from capacity.errors import CallError
from capacity.writing import write_all

from .landing import page

WORKBOOK: Final = "capacity.xlsx"
MODELS: Final = "models.csv"

_FUNCTION_FILE: Final = "custom_functions/__init__.py"
_FUNCTIONS: Final = f'''"""What xlwings Server offers to Excel: the functions of llm-capacity; define your own below."""

import os
from pathlib import Path

_own = Path(__file__).parents[1] / "{MODELS}"  # your own models, where there are any: for MODEL and PLAN
if _own.is_file():
    os.environ.setdefault("{OWN_MODELS}", str(_own))

from addin.udfs import *
'''
_SETTINGS_FILE: Final = "pyproject.toml"
_SETTINGS: Final = "[tool.xlwings_server]"
# the package's file -> where it goes, and its first line, by which a later build knows it
_FILES: Final = {
    "settings.toml": (_SETTINGS_FILE, ""),
    "manifest.xml": ("templates/manifest.xml", "{# Written by llm-capacity $version -#}\n"),
    "taskpane.html": ("templates/taskpane.html", "{# Written by llm-capacity $version -#}\n"),
    "guide.md": ("README.md", "<!-- Written by llm-capacity $version -->\n"),
}
_PAGE_MARK: Final = f"<!-- Written by llm-capacity {capacity.__version__} -->\n"


def build(folder: str | Path, workbook_path: str | Path, models: str | Path | None = None) -> Path:
    """Write the project, all of it or nothing; what else is in the folder stays.

    Arguments:
        folder: is made where it does not exist
        workbook_path: the finished workbook, with formulas spelled for "server"
        models: a team's own file, so that MODEL and PLAN know its models
    Raises CallError where a file of another origin is in the way.
    """
    folder = Path(folder)
    contents = {target: _packaged(name, mark).encode() for name, (target, mark) in _FILES.items()}
    contents[_FUNCTION_FILE] = _FUNCTIONS.encode()
    contents["static/index.html"] = (_PAGE_MARK + page(WORKBOOK)).encode()
    contents[f"static/{WORKBOOK}"] = Path(workbook_path).read_bytes()
    if models:
        contents[MODELS] = Path(models).read_bytes()
    for kept, needed in {_SETTINGS_FILE: _SETTINGS, _FUNCTION_FILE: MODELS if models else ""}.items():
        if (folder / kept).is_file():
            _need(folder / kept, needed)
            del contents[kept]
    _same(folder / MODELS, contents.get(MODELS))
    written = {folder / target: content for target, content in contents.items()}
    write_all(written, [*reversed(folder.parents), folder, *sorted({path.parent for path in written} - {folder})])
    return folder


def _need(path: Path, text: str) -> None:
    """What stays as its owner has it must still fit to the rest."""
    if text not in path.read_text("utf-8", errors="replace"):
        raise CallError(f"{path} is there and stays as it is, but does not have {text}: add it, or move the file away")


def _same(path: Path, models: bytes | None) -> None:
    """Models are its owner's as well; a table has no line that tells whose it is."""
    if models and path.is_file() and path.read_bytes() != models:
        raise CallError(f"{path} is there with other models: build with --models {path}, or move it away")


def _packaged(name: str, mark: str) -> str:
    """A file of the package, with the version in its place; xlwings Server fills in the rest."""
    text = mark + files(__package__).joinpath("files", name).read_text("utf-8")
    return Template(text).safe_substitute(version=capacity.__version__)
