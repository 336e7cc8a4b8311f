"""The command's root: every command of the other modules is entered here."""

from typing import Annotated, Final

import typer

from .._version import VERSION

OWN_MODELS: Final = typer.Option(
    metavar="FILE", help="Your own models: a file that `capacity model --add` made; else that of CAPACITY_MODELS."
)
CONSTANTS: Final = typer.Option(
    metavar="FILE", help="Constants that `capacity calibrate` fitted to your own rows, in place of those shipped."
)

app = typer.Typer(
    name="capacity",
    help="Capacity planning for LLM serving fleets: requests to tokens to replicas, GPUs and dollars.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        typer.echo(f"llm-capacity {VERSION}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
