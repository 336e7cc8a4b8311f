"""A model's facts as a row of the catalogue, and a team's own file of such rows."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from .catalogue import models, safe_text
from .errors import CallError, InputError
from .families import ModelFacts
from .selection import kernels

# column of the catalogue -> attribute of ModelFacts, where the two differ
_RENAMED: Final = {
    "num_hidden_layers": "layers",
    "max_context_config": "max_context_tokens",
    "kv_bytes_per_token_full": "kv_bytes_per_token",
}
_WEIGHTS: Final = "weight_bytes_"
_KERNELS: Final = "kernels_"
_PROVENANCE: Final = ("hub_id", "published_total_b", "published_active_b", "source", "date", "note")


def row(facts: ModelFacts, name: str, **provenance: str) -> dict[str, Any]:
    """The facts in the catalogue's columns. What a model has none of is 0, true is 1: cells calculate with both."""
    cells: dict[str, Any] = {"name": name, **dict.fromkeys(_PROVENANCE, ""), **provenance}
    counted = [column for column in models().columns if column not in cells and not column.startswith(_KERNELS)]
    cells |= {column: _fact(facts, column) for column in counted}
    cells |= {f"{_KERNELS}bf16": int(kernels(cells, quantized=False))}
    cells |= {f"{_KERNELS}quantized": int(kernels(cells, quantized=True))}
    return {column: cells[column] for column in models().columns}


def _fact(facts: ModelFacts, column: str) -> Any:
    if column.startswith(_WEIGHTS):
        return facts.weight_bytes[column.removeprefix(_WEIGHTS)]
    value = getattr(facts, _RENAMED.get(column, column))
    if column == "max_context_config":
        return value or ""  # the one fact that a config may not tell
    return value if isinstance(value, str | float) else int(value or 0)


def append(path: Path, cells: Mapping[str, Any]) -> None:
    """Add a row to a file of models, which is created with its header where there is none."""
    if not cells["name"]:
        raise InputError("name", "", "must not be empty")
    for column, cell in cells.items():
        if isinstance(cell, str):
            safe_text(column, cell)
    new = not path.exists() or not path.stat().st_size
    if cells["name"] in (models() if new else models(path)):
        raise CallError(f"there is a model called {cells['name']!r} already, in {path} or in the catalogue itself")
    if not new and _header(path) != list(models().columns):
        raise CallError(f"{path} must have exactly the columns of the catalogue, in their order, to add a row")
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, models().columns, lineterminator="\n")
        if new:
            writer.writeheader()
        elif not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        writer.writerow(cells)


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file))
