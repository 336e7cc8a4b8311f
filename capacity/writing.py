"""Puts what was built into its place: all files or none of them, and none over a file of the user's own.

A file that is there is overwritten only where it is seen to be an earlier one of ours: a text by its first line, which
but for the version must be that of the new one; a workbook by its properties, as long as no other program has saved it;
an extension by its identifier.
"""

import errno
import io
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from .errors import CallError

_VERSION: Final = re.compile(rb"\d+(?:\.\d+)+")
_PROPERTIES: Final = ("docProps/core.xml", "description.xml")  # of a workbook, of an extension
_OURS: Final = b"llm-capacity"
_MARK: Final = re.compile(rb'creator\b[^>]*>(llm-capacity)<|identifier value="([^"]*)"')
_TIMES: Final = re.compile(rb"<(?:\w+:)?(?:created|modified)\b[^>]*>([^<]*)<")
_LARGEST: Final = 1_000_000  # bytes of properties


def write_all(files: Mapping[Path, bytes], folders: Sequence[Path] = ()) -> None:
    """Write the files: each beside its place at first, and only when all are there do they move.

    Arguments:
        files: what goes where
        folders: are made where they are missing, each after the one that it is in
    Raises CallError where a file of the user's is in the way, OSError with the name of a file that cannot be written.
    """
    for path, data in files.items():
        _check(path, partial(_replaces, data), folders)
    with ExitStack() as undo:
        for folder in folders:
            if not folder.is_dir():
                folder.mkdir()
                undo.callback(folder.rmdir)
        moves = []
        for number, (path, data) in enumerate(files.items()):
            place = path.resolve()  # through a link to the file itself
            fresh = place.with_name(f".llm-capacity-{os.getpid()}-{number}")
            undo.callback(fresh.unlink, missing_ok=True)
            with _naming(path):
                fresh.write_bytes(data)
                if place.exists():
                    shutil.copymode(place, fresh)
            moves.append((fresh, place))
        for fresh, place in moves:
            with _naming(place):
                fresh.replace(place)
        undo.pop_all()


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """An error of the system's under the name of the file that is to be written."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def check_workbook(path: Path) -> None:
    """Refuse, before the work is done, a place to which `write_all` would not write a workbook."""
    _check(path, lambda there: _mark(there) == _OURS)


def _check(path: Path, replaces: Callable[[bytes], bool], folders: Sequence[Path] = ()) -> None:
    with _naming(path):
        if path.exists():
            with path.open("r+b") as file:  # may it be written, and does no program hold it?
                there = file.read()
            if there and not replaces(there):
                raise CallError(
                    f"{path} is there, and is not as llm-capacity wrote it: "
                    "move it away, or name another place to write to"
                )
        elif not path.parent.is_dir() and path.parent not in folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _replaces(data: bytes, there: bytes) -> bool:
    """Is what is there the same, or an earlier build of it?"""
    mark = _mark(there)
    return there == data or (mark is not None and mark == _mark(data))


def _mark(data: bytes) -> bytes | None:
    """What shows that a file is ours, the same in each version; None where it is not, or was changed."""
    if not data.startswith(b"PK"):
        return _VERSION.sub(b"", data.partition(b"\n")[0].strip())
    properties = _properties(data)
    found = _MARK.search(properties)
    return found[found.lastindex or 0] if found and len(set(_TIMES.findall(properties))) < 2 else None


def _properties(data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            name = next(name for name in package.namelist() if name in _PROPERTIES)
            with package.open(name) as part:
                return part.read(_LARGEST)
    except Exception:  # whatever is wrong with it, it is not ours
        return b""
