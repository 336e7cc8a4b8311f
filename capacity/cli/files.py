"""Commands that write files: the workbook for each host, the LibreOffice extension."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .app import OWN_MODELS, app
from .output import write


@app.command()
def build(
    path: Annotated[Path, typer.Argument(help="The workbook to write.")] = Path("capacity.xlsx"),
    models: Annotated[Path | None, OWN_MODELS] = None,
) -> None:
    """Write the workbook: inputs, audit, batch and request tables, models, GPUs, prices, functions, checks."""
    from workbook.build import build as build_workbook

    from ..catalogue import known_models
    from ..catalogue import models as read_models

    known = read_models(models) if models else known_models()
    write(path, ".xlsx", "workbook", lambda target: build_workbook(target, known))
    typer.echo("It opens in Excel and LibreOffice; without the add-in it calculates in plain cell arithmetic.")


@app.command()
def addin(path: Annotated[Path, typer.Argument(help="The extension to write, e.g. llm-capacity.oxt.")]) -> None:
    """Write the LibreOffice extension."""
    from addin.libreoffice import build as build_extension

    write(path, ".oxt", "LibreOffice extension", build_extension)
    typer.echo(f"Install it with: unopkg add -f {shlex.quote(str(path))}")
