"""Fixtures and helpers of all tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from office import Office, soffice, uno_python

from workbook.build import build


def need(program: str) -> str:
    """Path of a program; where it is missing the test is skipped with the reason, under CI it fails."""
    return found(program, shutil.which(program))


def found(what: str, path: str | None) -> str:
    """path, or the end of the test when there is none."""
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{what} is not installed")
    return path


def _office(addin: bool) -> Iterator[Office]:
    found("LibreOffice (soffice)", soffice())
    found("a Python that can import uno (python3-uno)", uno_python())
    with Office(addin=addin) as office:
        yield office


@pytest.fixture(scope="session")
def office_with_addin() -> Iterator[Office]:
    """LibreOffice with this project's functions; one for the whole session, so leave no document open."""
    yield from _office(addin=True)


@pytest.fixture(scope="session")
def office_without_addin() -> Iterator[Office]:
    """LibreOffice as it comes."""
    yield from _office(addin=False)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template workbook, built once; tests must not change it."""
    return build(tmp_path_factory.mktemp("template") / "capacity.xlsx")
