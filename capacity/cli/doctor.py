"""`capacity doctor`: what is installed, what is missing, and the one command that mends it."""

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from .app import app
from .output import console, show

if TYPE_CHECKING:
    from ..finding import Finding

_STYLES: Final = {"good": "green", "optional": "yellow", "amiss": "bold red"}


@app.command()
def doctor(
    workbook: Annotated[Path | None, typer.Argument(help="A workbook to look at, too.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Say what is installed, what is missing, and what mends it; the exit code is 1 where something is amiss."""
    from ..doctor import findings
    from ..finding import AMISS

    with _looking():
        found = list(findings(workbook))
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in found], indent=2))
    else:
        _print(found)
    return int(any(finding.verdict == AMISS for finding in found))


def _looking() -> AbstractContextManager[Any]:
    try:
        return console().status("Looking")
    except ImportError:
        return nullcontext()


def _print(found: list["Finding"]) -> None:
    """As a table; in plain lines where Rich is among what is missing."""
    try:
        from rich.text import Text

        from ..tables import plain_table
    except ImportError:
        for finding in found:
            typer.echo("  ".join(filter(None, finding)))
        return
    table = plain_table("Looked at", "Found", "Verdict", "What mends it")
    for what, fact, verdict, remedy in found:
        table.add_row(what, fact, Text(verdict, _STYLES[verdict]), remedy)
    show(table)
