"""The config.json files that the tests count, and small ones of every family."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
CATALOGUE = {path.stem: path for path in sorted((DATA / "configs").glob("*.json"))}
CONFIGS = {**CATALOGUE, **{path.stem: path for path in sorted((DATA / "more").glob("*.json"))}}

FEW = 6  # layers of a small config


def config(name: str, **changes: Any) -> dict[str, Any]:
    """The fields of a model's config.json, some of them changed."""
    fields: dict[str, Any] = json.loads(CONFIGS[name].read_text("utf-8"))
    return {**fields, **changes}


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def text_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """The part of a config that describes the text model."""
    part: dict[str, Any] = fields.get("text_config", fields)
    return part


def small() -> Iterator[tuple[str, dict[str, Any]]]:
    """One config of each model type, with a few layers only."""
    seen = set()
    for name in CONFIGS:
        fields = config(name)
        text = text_fields(fields)
        if text.get("model_type") in seen:
            continue
        seen.add(text.get("model_type"))
        if "num_hidden_layers" in text:
            text["num_hidden_layers"] = FEW
        for pattern in ("hybrid_override_pattern", "layers_block_type"):
            if pattern in text:
                text[pattern] = text[pattern][:FEW]
        yield name, fields
