"""Rows of benchmarks, from files or mappings: a schema, and for a row that cannot be used the reason."""

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError, ValidationInfo, field_validator

from ..errors import CallError, CapacityError, InputError
from ..schema import as_pydantic, sentence
from .columns import COLUMNS, ENGINES, KV_DTYPES, QUANTS

_LARGEST: Final = 100_000_000  # bytes of a file of rows
_MOST: Final = 1e9  # of any count, length or rate


class Row(BaseModel):
    """One run of a benchmark: what was run, and what was measured where that is known."""

    model_config = ConfigDict(frozen=True)

    model: str
    gpu: str
    quant: str
    engine: str = ""  # "" where it is another or not known
    gpus: float | None = None
    tp: float | None = None  # None: all GPUs that pp and attention-DP leave
    pp: float = 1
    ep: float = 1
    attention_dp: float = 1
    prompt_tokens: float
    output_tokens: float
    concurrency: float | None = None  # None: offline, all requests queued at once
    requests: float | None = None
    kv_dtype: str = ""  # "": the engine's default
    output_tokens_per_s: float | None = None  # measured
    tpot_ms: float | None = None  # measured
    ttft_ms: float | None = None  # measured
    suspect: str = ""  # why the row is not to be believed
    source: str = ""
    id: str = ""

    @field_validator("*", mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        try:
            return _READERS[name](name, value)
        except CapacityError as error:
            raise as_pydantic(error) from None


class Unusable(NamedTuple):
    """A row of which nothing can be made."""

    reason: str


def _text(name: str, value: Any) -> str:
    return str(value)


def _named(name: str, value: Any) -> str:
    return str(value).strip()


def _word(known: Mapping[str, str], other: str | None = None) -> Callable[[str, Any], str]:
    """A word of a closed list; one that is not in it is refused, or taken for `other`."""

    def read(name: str, value: Any) -> str:
        text = str(value).casefold()
        found = known.get(text) or known.get(text.split(" ")[0], other)
        if found is None:
            raise InputError(name, value, f"must be one of {', '.join(known)}")
        return found

    return read


def _number(rule: str, fits: Callable[[float], bool]) -> Callable[[str, Any], float]:
    def read(name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not (fits(number) and number <= _MOST):
            raise InputError(name, value, f"must be a {rule}")
        return number

    return read


def _degree(name: str, value: Any) -> float:
    """A degree of parallelism; some tools write 0 for none."""
    return _count(name, value) if value not in (0, "0") else 1.0


_REQUIRED: Final = tuple(name for name, field in Row.model_fields.items() if field.is_required())
_count = _number("whole number >= 1", lambda x: x >= 1 and x % 1 == 0)
_length = _number("number >= 1", lambda x: x >= 1)
_measured = _number("number > 0", lambda x: x > 0)

_READERS: Final[dict[str, Callable[[str, Any], Any]]] = {
    **dict.fromkeys(("model", "gpu"), _named),
    "quant": _word(QUANTS),
    "engine": _word(ENGINES, other=""),
    **dict.fromkeys(("gpus", "requests"), _count),
    **dict.fromkeys(("tp", "pp", "ep", "attention_dp"), _degree),
    **dict.fromkeys(("prompt_tokens", "output_tokens", "concurrency"), _length),
    "kv_dtype": _word(KV_DTYPES),
    **dict.fromkeys(("output_tokens_per_s", "tpot_ms", "ttft_ms"), _measured),
    **dict.fromkeys(("suspect", "source", "id"), _text),
}


def row(cells: Mapping[str, Any]) -> Row:
    """A row from a mapping of columns, under any of their names; raises CapacityError with what is wrong.

    >>> row({"model": "Llama-3.3-70B", "gpu": "H200", "quant": "FP8", "tp": 2, "isl": 3000, "osl": 400}).quant
    'fp8'
    """
    found = {}
    for field, columns in _plan(tuple(cells)):
        for column in columns:
            value = cells[column]
            if not _is_blank(value):
                found[field] = value.strip() if isinstance(value, str) else value
                break
    return _made(found)


@lru_cache(64)
def _plan(header: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Where the fields are read: for each the columns that there are, in the order in which they count."""
    named = {str(name).strip().casefold(): name for name in header}
    plan = [(field, [named[c] for c in columns if c in named]) for field, columns in COLUMNS.items()]
    return [(field, columns) for field, columns in plan if columns]


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value != value


def _made(fields: Mapping[str, Any]) -> Row:
    for name in _REQUIRED:
        if name not in fields:
            raise CallError(f"{name} is missing: it is read from a column {' or '.join(COLUMNS[name])}")
    try:
        return Row(**fields)
    except ValidationError as error:
        raise CallError(sentence(error)) from None


def rows(lines: Iterable[Mapping[str, Any]]) -> list[Row | Unusable]:
    """A Row for each line, or why it cannot be used."""
    found: list[Row | Unusable] = []
    for cells in lines:
        try:
            found.append(row(cells))
        except CapacityError as error:
            found.append(Unusable(str(error)))
    return found


def read(path: Path, given: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The lines of a CSV, JSON or JSON Lines file as mappings of columns.

    given   columns for lines that leave them blank, as in files of tools that do not know the GPU
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(str(path), path.stat().st_size, f"must have at most {_LARGEST:,} bytes")
        text = path.read_text("utf-8-sig")
        lines = list(_csv(text, path) if path.suffix.casefold() not in (".json", ".jsonl") else _json(text))
    except OSError as error:
        raise CallError(f"cannot read {path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error, json.JSONDecodeError, RecursionError) as error:
        raise CallError(f"{path} must be a CSV or JSON file in UTF-8: {error}") from None
    for name, value in (given or {}).items():
        for line in lines:
            if _is_blank(line.get(name)):
                line[name] = value
    return lines


def _csv(text: str, path: Path) -> Iterator[dict[str, Any]]:
    reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
    for cells in reader:
        if None in cells or None in cells.values():
            raise CallError(f"{path}, line {reader.line_num}, must have as many cells as the header")
        yield dict(cells)


def _json(text: str) -> Iterator[dict[str, Any]]:
    """An object, a list of them, or one on each line; a metric with statistics counts by its mean."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        whole = [json.loads(line) for line in text.splitlines() if line.strip()]
    for item in whole if isinstance(whole, list) else [whole]:
        if isinstance(item, dict):
            flat = {k: v.get("avg", v.get("mean")) if isinstance(v, dict) else v for k, v in item.items()}
            yield flat | _means(flat)


def _means(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Mean lengths, where an export has totals and a count."""
    totals = {"isl": "total_input_tokens", "osl": "total_output_tokens"}
    done = cells.get("completed")
    return {name: cells[total] / done for name, total in totals.items() if done and total in cells}
