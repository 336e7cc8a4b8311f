"""Writes the folder that xlwings Server runs from: functions, settings, add-in manifest, landing page, workbook.

Nothing in it is a license key: that comes from the environment of whoever runs it.
"""

import shutil
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

import capacity

from .landing import page

WORKBOOK: Final = "capacity.xlsx"

_FUNCTIONS: Final = '''"""What xlwings Server offers to Excel: the functions of llm-capacity; define your own below."""

from addin.udfs import *
'''
# the package's file -> where it goes
_FILES: Final = {
    "settings.toml": "pyproject.toml",
    "manifest.xml": "templates/manifest.xml",
    "taskpane.html": "templates/taskpane.html",
    "guide.md": "README.md",
}


def build(folder: str | Path, workbook_path: str | Path) -> Path:
    """Write the project; what else is in the folder stays.

    Arguments:
        folder: is made where it does not exist
        workbook_path: the finished workbook, with formulas spelled for "server"
    """
    folder = Path(folder)
    texts = {target: _packaged(name) for name, target in _FILES.items()}
    texts["custom_functions/__init__.py"] = _FUNCTIONS
    texts["static/index.html"] = page(WORKBOOK)
    for target, text in texts.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        (folder / target).write_text(text, "utf-8", newline="\n")
    shutil.copyfile(workbook_path, folder / "static" / WORKBOOK)
    return folder


def _packaged(name: str) -> str:
    """A file of the package, with the version in its place; xlwings Server fills in the rest."""
    text = files(__package__).joinpath("files", name).read_text("utf-8")
    return Template(text).safe_substitute(version=capacity.__version__)
