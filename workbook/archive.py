"""A workbook file from anywhere, opened so that it costs little and nothing in it is executed.

What the list of parts says is looked at before any part is unpacked. Macros and whatever else is inside stay unread:
of macros only the names of the modules are looked for, so that a workbook which `capacity build --host desktop` wrote
is told from others.
"""

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.parsers.expat import ExpatError

from capacity.errors import CallError, CapacityError, show

MAX_MB: Final = 100  # all parts together, unpacked
_MAX_RATIO: Final = 200  # unpacked bytes to one of the file; sheets reach 50
_RATIO_FROM_MB: Final = 10
_MAX_PARTS: Final = 5_000
_MAX_READ: Final = 1_000_000  # bytes of the list of parts, the largest piece that zipfile reads at once
_MB: Final = 1_000_000
_OLE: Final = bytes.fromhex("D0CF11E0A1B11AE1")
_BOOK: Final = "xl/workbook.xml"

# what names of parts say: figures from elsewhere, or things that act
_REFUSED: Final = {
    "externallink": "links to other files",
    "connections.xml": "connections to data elsewhere",
    "macrosheet": "a sheet of macros",
    "embeddings/": "embedded objects",
    "activex": "controls",
}
_MACROS: Final = "vbaproject.bin"
_OURS: Final = "LlmCapacityFunctions".encode("utf-16-le")  # a module, as the project's directory spells it

# what zipfile, zlib and expat raise for a file that is damaged, or made to look so
_DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ExpatError),
    *(EOFError, LookupError, OverflowError, RuntimeError, ValueError),
)


class _Frugal(io.FileIO):
    """A file of which nothing large is read at once: zipfile reads the whole list of parts, whatever its length."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_READ:
            raise zipfile.BadZipFile("the list of its parts is too long")
        return super().read(-1 if size is None else size) or b""


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The parts of a workbook; whatever is wrong with the file, then or while it is read, is a CallError."""
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise CallError(f"cannot read {path}: it is no file")
        with _Frugal(path) as file:
            if file.read(len(_OLE)) == _OLE:
                raise CallError(f"{path} is an old .xls or has a password: save it as .xlsx without one")
            with zipfile.ZipFile(file) as package:
                _inspect(package, path.stat().st_size)
                yield package
    except OSError as error:
        raise CallError(f"cannot read {path}: {error.strerror or error}") from None
    except _Refused as error:
        raise CallError(f"{path} {error}") from None
    except CapacityError:
        raise
    except _DAMAGED as error:
        reason = "" if isinstance(error, LookupError) else f": {error}"
        raise CallError(f"{path} is no .xlsx workbook, or is damaged{reason}") from None


class _Refused(Exception):
    """What a file has or does that no workbook for planning needs."""


def refuse(reason: str) -> None:
    """End the reading of the file that is open; the sentence begins with its path."""
    raise _Refused(reason)


def _inspect(package: zipfile.ZipFile, size: int) -> None:
    """Refuse by the list of parts alone what is too large, or has parts that no workbook for planning needs."""
    parts = package.infolist()
    names = Counter(part.filename.casefold() for part in parts)
    total = sum(part.file_size for part in parts)
    if len(parts) > _MAX_PARTS:
        refuse(f"has more than {_MAX_PARTS:,} parts")
    if total > MAX_MB * _MB:
        refuse(f"is more than {MAX_MB} MB unpacked")
    if total > max(_RATIO_FROM_MB * _MB, _MAX_RATIO * size):
        refuse(f"unpacks to more than {_MAX_RATIO} times its size")
    for name, count in names.items():
        if count > 1:
            refuse(f"has two parts called {show(name)}")
        for piece, what in _REFUSED.items():
            if piece in name:
                refuse(f"has {what} ({show(name)}): save it without them")
    for part in parts:
        if part.flag_bits & 1 or part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            refuse(f"has a part that is encrypted or packed as no workbook is: {show(part.filename)}")
    if _BOOK not in package.namelist():
        refuse(f"is no .xlsx workbook: it has no part {_BOOK}")
    _inspect_macros(package)


def _inspect_macros(package: zipfile.ZipFile) -> None:
    """Macros must be those of this project by their names: then the file may come from Excel on Windows."""
    for part in package.infolist():
        macros = part.filename.casefold().endswith(_MACROS)
        if macros and (part.file_size > 10 * _MB or _OURS not in package.read(part)):
            refuse("has macros that `capacity build --host desktop` did not write: save it as .xlsx")
