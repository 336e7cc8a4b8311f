"""Count a model from its config.json, and keep it in a team's own file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import CallError
from .app import app
from .output import show

if TYPE_CHECKING:
    from ..families import ModelFacts


@app.command()
def model(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.json", help="The model's config.json from Hugging Face.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
    add: Annotated[Path | None, typer.Option(metavar="FILE", help="Add them as a row to this CSV file.")] = None,
    name: Annotated[str | None, typer.Option(help="What the row calls the model.")] = None,
) -> None:
    """Count a model: parameters, memory of a sequence, bytes of its weights, exact to the unit."""
    from ..families import model_facts

    facts = model_facts(config)
    if add:
        _add_row(add, facts, config, name)
    if as_json:
        typer.echo(json.dumps(facts.as_dict(), indent=2))
    else:
        from ..tables import facts_table

        show(facts_table(facts))


def _add_row(path: Path, facts: "ModelFacts", config: Path, name: str | None) -> None:
    """Add a model to a file in the catalogue's columns; by default it is called as its file or folder is."""
    from datetime import date

    from ..model_row import append, row

    name = (name or (config.resolve().parent.name if config.name == "config.json" else config.stem)).strip()
    try:
        append(path, row(facts, name, source=config.name, date=date.today().isoformat()))
    except OSError as error:
        raise CallError(f"cannot write {path}: {error.strerror or error}") from None
    typer.echo(f"Added {name} to {path}", err=True)
