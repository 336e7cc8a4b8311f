"""The catalogue: models, GPUs and prices as data, with source and date; a team's own rows come from a file beside it.

The tables are CSV files in capacity/data, read when first asked for. Names match in any case and by their aliases.

>>> gpus().value("h200", "bandwidth_tb_s")
4.8
"""

import csv
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final

from .errors import CallError, InputError, NotKnown, UnknownName

Value = float | str | None  # None where the catalogue has no figure
Row = Mapping[str, Value]

_TEXTS: Final = {
    *("name", "source", "date", "note"),
    *("hub_id", "model_type", "native_quantization", "native_format"),
    *("vendor", "usable_basis", "interconnect_kind", "confidence"),
    *("provider", "gpu", "currency", "commitment"),
    *("kind", "alias", "key"),
}
# a cell that begins so could be taken for a formula by a spreadsheet that reads the file
_FORMULA: Final = ("=", "+", "-", "@")

OWN_MODELS: Final = "CAPACITY_MODELS"  # environment variable: a team's file, for functions that take a model's name

# facts by the names that `capacity model --json` gives them
_ALSO: Final = {"layers": "num_hidden_layers", "kv_bytes_per_token": "kv_bytes_per_token_full"}


class Table:
    """Named rows in one set of columns. All columns are numbers, but those that `is_text` says."""

    def __init__(self, kind: str, columns: Sequence[str], rows: Iterable[Row], aliases: Mapping[str, str]) -> None:
        self.kind, self.columns = kind, tuple(columns)
        self._aliases = {alias.casefold(): name for alias, name in aliases.items()}
        self._rows: dict[str, Row] = {}
        for row in rows:
            name = str(row["name"])
            if name.casefold() in self._rows or name.casefold() in self._aliases:
                raise InputError(self.kind, name, "must not be in the catalogue yet")
            self._rows[name.casefold()] = row

    def __contains__(self, name: object) -> bool:
        """Is there a row of that name or alias?"""
        key = str(name).strip().casefold()
        return key in self._rows or key in self._aliases

    @property
    def names(self) -> list[str]:
        """All names, in the order of the file."""
        return [str(row["name"]) for row in self._rows.values()]

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the file."""
        return list(self._rows.values())

    def row(self, name: str) -> Row:
        """The row of that name or alias, in any case; raises UnknownName."""
        key = name.strip().casefold()
        key = self._aliases.get(key, key).casefold()
        if key not in self._rows:
            raise UnknownName(self.kind, name, self.names)
        return self._rows[key]

    def value(self, name: str, field: str) -> float | str:
        """One fact; raises UnknownName for a name or a field that does not exist, NotKnown where it has no figure."""
        row, key = self.row(name), field.strip().casefold()
        key = _ALSO.get(key, key)
        if key not in self.columns:
            raise UnknownName(
                f"{self.kind} field", field, [*self.columns, *(n for n in _ALSO if _ALSO[n] in self.columns)]
            )
        value = row[key]
        if value is None:
            raise NotKnown(key, str(row["name"]))
        return value

    def with_file(self, path: str | Path) -> "Table":
        """The same table with the rows of a CSV file below; a name must not be there twice."""
        path = Path(path)
        try:
            with path.open(encoding="utf-8-sig", newline="") as lines:
                extra = list(_rows(lines, str(path), self.columns))
        except OSError as error:
            raise CallError(f"cannot read {path}: {error.strerror or error}") from None
        except (UnicodeDecodeError, csv.Error) as error:
            raise CallError(f"{path} must be a CSV file in UTF-8: {error}") from None
        return Table(self.kind, self.columns, chain(self.rows, extra), self._aliases)


def is_text(column: str) -> bool:
    """Does that column of any table hold texts?"""
    return column in _TEXTS


def models(extra: str | Path | None = None) -> Table:
    """The models, with those of a file in the same columns."""
    return _table("models", "model") if extra is None else _table("models", "model").with_file(extra)


def known_models() -> Table:
    """The models, with those of the file that the environment variable CAPACITY_MODELS names; read once."""
    return _with_own(os.environ.get(OWN_MODELS, ""))


@cache
def _with_own(path: str) -> Table:
    return models(path or None)


def gpus(extra: str | Path | None = None) -> Table:
    """The accelerators, with those of a file in the same columns; peaks are dense, memory as the vendor prints it."""
    return _table("gpus", "GPU") if extra is None else _table("gpus", "GPU").with_file(extra)


@cache
def prices() -> tuple[Row, ...]:
    """Dated prices of GPUs in USD per hour, illustrative only."""
    return tuple(_packaged("prices"))


@cache
def gpu_sources() -> Mapping[str, str]:
    """What the keys in the GPUs' column `source` stand for."""
    return {str(row["key"]): str(row["source"]) for row in _packaged("gpu_sources")}


def safe_text(what: str, text: str) -> str:
    """The text, unless it has several lines, or a spreadsheet could take it for a formula."""
    if text.startswith(_FORMULA):
        raise InputError(what, text, "must not begin with =, +, - or @, as a formula does")
    if not text.isprintable():
        raise InputError(what, text, "must be one line of printable characters")
    return text


@cache
def _table(file: str, kind: str) -> Table:
    rows = list(_packaged(file))
    aliases = {str(row["alias"]): str(row["name"]) for row in _packaged("aliases") if row["kind"] == kind.lower()}
    return Table(kind, list(rows[0]), rows, aliases)


def _packaged(name: str) -> Iterator[Row]:
    from importlib.resources import files  # slow to import, and only needed when a fact is asked for

    text = files(__package__).joinpath("data", f"{name}.csv").read_text("utf-8")
    return _rows(text.splitlines(keepends=True), name)


def _rows(lines: Iterable[str], where: str, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a CSV file, with all columns; the file may leave out some of those wanted, and add none."""
    reader = csv.DictReader(lines, strict=True)
    header = reader.fieldnames or []
    if columns:
        for column in header:
            if column not in columns:
                raise InputError(where, column, "must have no column but those of the catalogue")
        if "name" not in header:
            raise InputError(where, ",".join(header), "must have a column called name")
    for cells in reader:
        if None in cells or None in cells.values():
            raise InputError(f"{where}, line {reader.line_num},", len(header), "must have as many cells as the header")
        found = {c: _cell(f"{where}, line {reader.line_num}: {c}", c, text) for c, text in cells.items()}
        if columns and not found["name"]:
            raise InputError(f"{where}, line {reader.line_num}: name", "", "must not be empty")
        yield {c: found.get(c) for c in columns} if columns else found


def _cell(where: str, column: str, text: str) -> Value:
    if not text.strip():
        return None
    if is_text(column):
        return safe_text(where, text.strip())
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise InputError(where, text, "must be a number >= 0")
    return number
