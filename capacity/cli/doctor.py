"""`capacity doctor`: what is installed, what is missing, and the one command that mends it."""

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from .app import app
from .output import console, show

_STYLES: Final = {"good": "green", "optional": "yellow", "amiss": "bold red"}


@app.command()
def doctor(
    workbook: Annotated[Path | None, typer.Argument(help="A workbook to look at, too.", show_default=False)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Say what is installed, what is missing, and what mends it; the exit code is 1 where something is amiss."""
    from ..doctor import AMISS, findings

    with console().status("Looking"):
        found = list(findings(workbook))
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in found], indent=2))
    else:
        from rich.text import Text

        from ..tables import plain_table

        table = plain_table("Looked at", "Found", "Verdict", "What mends it")
        for what, fact, verdict, remedy in found:
            table.add_row(what, fact, Text(verdict, _STYLES[verdict]), remedy)
        show(table)
    return int(any(finding.verdict == AMISS for finding in found))
