"""Which files of this project a host must carry, so that the functions run there without an installation."""

import modulefinder
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import capacity

_ROOT: Final = Path(capacity.__file__).parents[1]
_OURS: Final = ("capacity", "addin")
_APART: Final = "capacity.evidence"  # no function of a cell: it needs NumPy and pydantic
_DATA: Final = (
    *("aliases.csv", "gpu_sources.csv", "gpus.csv", "models.csv", "prices.csv"),
    *("error_bands.csv", "published.csv"),
)


def files(module: str) -> Iterator[tuple[str, bytes]]:
    """What a module needs of this project, as path and content: all that it imports and the catalogue."""
    finder = _Finder([str(_ROOT)])
    finder.import_hook(module)
    code = {Path(m.__file__) for m in finder.modules.values() if m.__file__}
    data = {_ROOT / "capacity" / "data" / name for name in _DATA}
    for file in sorted(code | data):
        yield file.relative_to(_ROOT).as_posix(), file.read_bytes()


class _Finder(modulefinder.ModuleFinder):
    """Follows imports within the project only: beside it the functions need the standard library, which a host has."""

    def find_module(self, name: str, path: Any, parent: Any = None) -> Any:
        if (path is None and name not in _OURS) or f"{parent.__name__ if parent else ''}.{name}" == _APART:
            raise ImportError(name)
        return super().find_module(name, path, parent)
