"""Programs that run in Node: Pyodide as xlwings Lite has it, and xlwings' own JavaScript as Excel runs it."""

import json
import os
import shutil
import subprocess
import zipfile
from importlib.metadata import files
from pathlib import Path
from typing import Any

from caches import cache

HERE = Path(__file__).parent
PACKAGES = cache("node", "LLM_CAPACITY_NODE")


def pyodide() -> str | None:
    """Where the npm package is, or None."""
    folder = PACKAGES / "node_modules/pyodide"
    return str(folder) if folder.is_dir() and shutil.which("node") else None


def license_key() -> str | None:
    """The key with which xlwings answers as it does in Lite and Server; of the noncommercial one CI makes use."""
    return os.environ.get("XLWINGS_LICENSE_KEY")


def run(program: str, request: Any, **environment: str) -> Any:
    """One of the programs beside this file: a request in, an answer out."""
    done = subprocess.run(
        ["node", HERE / program],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        env={**os.environ, "LLM_CAPACITY_NODE": str(PACKAGES), **environment},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return json.loads(done.stdout.splitlines()[-1])


def xlwings_archive(path: Path) -> Path:
    """The Python files of the xlwings that is installed here."""
    with zipfile.ZipFile(path, "w") as zipped:
        for file in files("xlwings") or []:
            if file.suffix == ".py" and file.parts[0] == "xlwings":
                zipped.write(file.locate(), file.as_posix())
    return path
