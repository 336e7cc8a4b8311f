"""Build the template: write it with openpyxl, calculate it in process, put the results into the file."""

import errno
import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from traceback import clear_frames
from typing import TYPE_CHECKING, Final

from lxml.etree import SerialisationError
from openpyxl import Workbook

from capacity import __version__
from capacity.catalogue import Table
from capacity.errors import InputError
from capacity.spelling import host as host_named
from capacity.writing import check_workbook, write_all

from .charts import alt_text
from .finish import finish
from .package import Package
from .recalculate import recalculate
from .sheets import about, inputs, models, plan_sheet, refined_inputs
from .style import add_styles

if TYPE_CHECKING:  # it brings pydantic, which a build does without
    from capacity.evidence.chain import OwnConstants

_EPOCH: Final = date(1970, 1, 1)


def build(
    path: str | Path,
    known_models: Table | None = None,
    constants: "OwnConstants | None" = None,
    *,
    host: str = "desktop",
    extra: Callable[[Workbook], None] | None = None,
) -> Path:
    """Write the template workbook; every formula cell carries its result.

    Arguments:
        path: the file to write
        known_models: the package's models with a team's own, as catalogue.models(file) gives them
        constants: a team's own for the refined chain, in place of those shipped
        host: where it is to run, a key of capacity.spelling.HOSTS; that of "desktop" fits LibreOffice, too
        extra: adds what a host needs to the workbook before it is calculated, such as a sheet of settings
    Raises UnknownName for another host, OSError when the path cannot be written, CallError for more models than there
    is room for, and for a file of other origin in the way; nothing is left behind then.
    """
    path = Path(path)
    check_workbook(path)
    with _collector_off():
        book = compose(build_date(), known_models, constants)
        if extra:
            extra(book)
        if host_named(host).prefix:
            book.properties.category = host  # in the file's properties, for `capacity doctor`
        with _as_os_error():
            plain = Package.of(book)
        alt_texts = [alt_text(chart) for ws in book for chart in ws._charts]
        write_all({path: finish(plain, recalculate(plain), alt_texts, host)})
    return path


def compose(built: date, known_models: Table | None = None, constants: "OwnConstants | None" = None) -> Workbook:
    """The workbook without cached results. Nothing may save a finished file with openpyxl: that drops its results."""
    book = Workbook()
    book.remove(book.active)
    add_styles(book)
    sheets = {name: book.create_sheet(name) for name in about.SHEETS}
    about.write(sheets[about.TITLE], built)
    writers = {m.TITLE: m.write for m in about.MODULES} | {models.TITLE: partial(models.write, models=known_models)}
    writers[refined_inputs.TITLE] = partial(refined_inputs.write, own=constants, built=built)
    for title, write in writers.items():
        write(sheets[title])
    inputs.write_states(sheets[inputs.TITLE])
    book.active = sheets[plan_sheet.TITLE]
    sheets[plan_sheet.TITLE].sheet_view.tabSelected = True
    book.properties.creator = "llm-capacity"
    book.properties.version = __version__
    book.properties.title = "LLM capacity plan"
    book.properties.created = book.properties.modified = datetime(built.year, built.month, built.day)
    return book


def build_date() -> date:
    """Today, or the date of SOURCE_DATE_EPOCH for a reproducible build."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return datetime.now(UTC).date()
    try:
        built = datetime.fromtimestamp(int(epoch), UTC).date()
    except (ValueError, OverflowError, OSError):
        built = date.min
    if built < _EPOCH:
        raise InputError(
            "SOURCE_DATE_EPOCH", epoch, "must be a whole number of seconds since 1970, before the year 10000"
        )
    return built


@contextmanager
def _collector_off() -> Iterator[None]:
    """Python looks for cycles among half a million cells again and again, a sixth of the time, and frees none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _as_os_error() -> Iterator[None]:
    """A full disk in the system's words: lxml, through which openpyxl writes, has its own."""
    try:
        yield
    except SerialisationError as error:
        code = getattr(errno, str(error).removeprefix("IO_"), errno.EIO)
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        clear_frames(error.__traceback__)
        gc.collect()  # here, without a word: openpyxl's unfinished generator fails once more when it is dropped
        sys.unraisablehook = hook
        raise OSError(code, os.strerror(code), tempfile.gettempdir()) from None
