"""What commands print and write."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from ..errors import CallError, InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_WIDE: Final = 1000  # columns of output that is no terminal: nothing is wrapped or cut


def write(path: Path, suffix: str, what: str, build: Callable[[Path], Any]) -> None:
    """Write a file, or a folder where there is no suffix, and say so; a path that cannot be written is one sentence."""
    if suffix and path.suffix.lower() != suffix:
        raise InputError("PATH", str(path), f"must end in {suffix}")
    try:
        with console().status(f"Building the {what}"):
            build(path)
    except OSError as error:
        raise CallError(f"cannot write {error.filename or path}: {error.strerror or error}") from None
    size = f" ({path.stat().st_size / 1000:,.0f} kB)" if suffix else ""
    typer.echo(f"Wrote the {what} {path}{size}")


def console() -> "Console":
    """Where tables go: the terminal as it is; a file or pipe plain and wide."""
    from rich.console import Console

    terminal = Console(highlight=False, markup=False)  # brackets are optional arguments, not markup
    return terminal if terminal.is_terminal else Console(highlight=False, markup=False, width=_WIDE)


def show(*parts: "RenderableType") -> None:
    """Print tables and texts; into a file or pipe without the blanks that fill a line up."""
    out = console()
    if out.is_terminal:
        for part in parts:
            out.print(part)
        return
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n"))
