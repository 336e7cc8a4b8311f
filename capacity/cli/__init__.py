"""The command line. The composition root: the one package that may import capacity, addin and workbook alike.

Heavy imports stand inside the commands, so that `capacity --help` is quick. Whatever is wrong with a call is one
sentence on stderr and exit code 2.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import typer

from ..errors import CapacityError
from . import answers, budget, compare, doctor, evidence, files, models, residency
from .app import app

__all__ = ["answers", "app", "budget", "compare", "doctor", "evidence", "files", "main", "models", "residency"]

# Typer exports only this leaf of its usage errors, from its own copy of Click or from Click itself, as versions differ.
_UsageError: Final[Any] = typer.BadParameter.__base__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code: 0, or 2 when something is wrong with the call."""
    try:
        code = app(args=argv, prog_name="capacity", standalone_mode=False)
        sys.stdout.flush()
    except CapacityError as error:
        return _refuse(str(error))
    except _UsageError as error:
        return _refuse(error.format_message())
    except typer.Abort:
        return _refuse("stopped")
    except (BrokenPipeError, SystemExit):  # whoever read the pipe has enough; Rich and Click then end the process
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _refuse(f"cannot write {error.filename or 'the output'}: {error.strerror or error}")
    return code if isinstance(code, int) else 0


def _refuse(sentence: str) -> int:
    typer.echo(" ".join(sentence.split()), err=True)
    return 2


def _drop_output() -> None:
    """What is still in the buffer has nowhere to go: Python must not try once more when it ends."""
    with suppress(OSError):  # stdout may be no file of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
