"""Reads the fields of a config.json. Whatever is wrong with one is a sentence that names it; nothing is guessed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..errors import ConfigError

LARGEST: Final = 10**9  # no dimension of a model comes near; a larger one is a slip, and would cost hours of counting
MOST_LAYERS: Final = 10_000


class Config:
    """The fields of a model of one kind. A null counts as left out, except for `limit`."""

    def __init__(self, fields: Mapping[str, Any], kind: str = "", where: str = "") -> None:
        self.fields, self.kind, self.where = fields, kind, where

    def has(self, name: str) -> bool:
        """Is the field there, with a value?"""
        return self.fields.get(name) is not None

    def first(self, *names: str) -> str:
        """The first of these names that the config uses, for a field that has several; else the first of all."""
        return next((n for n in names if self.has(n)), names[0])

    def whole(self, name: str, default: int | None = None, *, least: int = 1, most: int = LARGEST) -> int:
        """A whole number within its bounds; without a default the field is required."""
        value = self.fields.get(name)
        if value is None:
            return self._missing(name) if default is None else default
        return self._whole(name, value, least, most)

    def limit(self, name: str, default: int | None) -> int | None:
        """A whole number, or None for a null, which means: no limit. Left out, it is the default of the kind."""
        return self.whole(name) if self.has(name) else None if name in self.fields else default

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        value = self.fields.get(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        raise self.error(name, "must be true or false", value)

    def text(self, name: str, default: str | None = None) -> str:
        """A text; without a default the field is required."""
        value = self.fields.get(name, default)
        if isinstance(value, str):
            return value
        if value is None:
            return self._missing(name) if default is None else default
        raise self.error(name, "must be a text", value)

    def choice(self, name: str, known: Iterable[str], default: str | None = None) -> str:
        """A text of a closed list; without a default the field is required."""
        value, words = self.text(name, default), list(known)
        if value not in words:
            raise self.error(name, f"must be one of {', '.join(words)}", value)
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts; left out, it is empty."""
        texts = self._list(name, None) if self.has(name) else []
        if not all(isinstance(text, str) for text in texts):
            raise self.error(name, "must be a list of texts", texts)
        return texts

    def wholes(self, name: str, length: int | None = None, *, least: int = 0) -> list[int]:
        """A list of whole numbers, of at least that length."""
        return [self._whole(f"{name}[{i}]", x, least, LARGEST) for i, x in enumerate(self._list(name, length))]

    def words(self, name: str, length: int | None, known: Sequence[str]) -> list[str]:
        """A list of texts of a closed list, of at least that length."""
        words = self._list(name, length)
        for i, word in enumerate(words):
            if word not in known:
                raise self.error(f"{name}[{i}]", f"must be one of {', '.join(known)}", word)
        return words

    def part(self, name: str) -> "Config":
        """An object within the config."""
        value = self.fields.get(name)
        return self._part(name, self._missing(name) if value is None else value)

    def parts(self, name: str, length: int | None = None) -> list["Config"]:
        """A list of objects within the config, of at least that length."""
        return [self._part(f"{name}[{i}]", x) for i, x in enumerate(self._list(name, length))]

    def error(self, name: str, rule: str, *value: Any) -> ConfigError:
        """What is wrong with a field, to be raised."""
        return ConfigError(self.where + name, rule, *value)

    def _missing(self, name: str) -> Any:
        raise self.error(name, f"is missing: a config of {self.kind or 'a model'} needs it")

    def _whole(self, name: str, value: Any, least: int, most: int) -> int:
        whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
        if not whole or not least <= value <= most:
            raise self.error(name, f"must be a whole number from {least} to {most:,}", value)
        return int(value)

    def _list(self, name: str, length: int | None) -> list[Any]:
        value = self.fields.get(name)
        if value is None:
            self._missing(name)
        if not isinstance(value, list):
            raise self.error(name, "must be a list", value)
        if length is not None and len(value) < length:
            raise self.error(name, f"must hold {length} entries, one for each layer, and holds {len(value)}")
        return value

    def _part(self, name: str, value: Any) -> "Config":
        if not isinstance(value, Mapping):
            raise self.error(name, "must be an object", value)
        return Config(value, self.kind, f"{self.where}{name}.")


def read(source: Mapping[str, Any] | str | Path) -> Config:
    """The config itself, or the file that holds it.

    NVIDIA's checkpoints describe their quantization in a file of its own, hf_quant_config.json: it counts as the
    config's `quantization_config` where that is missing.
    """
    if isinstance(source, Mapping):
        return Config(source)
    if not isinstance(source, str | Path):
        raise ConfigError("config", "must be the fields of a config.json, or the path of one", source)
    path = Path(source)
    fields = _json(path)
    beside = path.with_name("hf_quant_config.json")
    if "quantization_config" not in fields and path.name == "config.json" and beside.is_file():
        fields["quantization_config"] = _json(beside).get("quantization")
    return Config(fields)


def _json(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise ConfigError(str(path), "must be a JSON file, as a config.json is") from None
    if not isinstance(fields, dict):
        raise ConfigError(str(path), "must hold one JSON object, as a config.json does")
    return fields
