"""The command that compares: every GPU of the catalogue at TP 1, 2, 4 and 8, for one model and load."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..arguments import typed
from ..catalogue import safe_text
from ..errors import CallError
from .app import OWN_MODELS, app
from .output import show

if TYPE_CHECKING:
    from ..compare import Option


@app.command()
def compare(
    model: Annotated[str, typer.Option(metavar="NAME", help="A model of the catalogue.")] = "Llama-3.3-70B",
    quant: Annotated[
        str, typer.Option(metavar="FORMAT", help="Weights in bf16, fp8, int4, fp4, mxfp4, or native as stored.")
    ] = "fp8",
    kv: Annotated[str, typer.Option(metavar="TYPE", help="KV cache in bf16 or fp8.")] = "bf16",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Put load or policy in place; may be repeated."),
    ] = None,
    node_gpus: Annotated[float, typer.Option(help="GPUs of a node, which is rented whole.")] = 8,
    batch_limit: Annotated[float, typer.Option(help="Sequences that the engine runs at most.")] = 1024,
    models: Annotated[Path | None, OWN_MODELS] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print what does not serve, too, and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all options as JSON, with exact values.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all options as CSV, with exact values.")] = False,
) -> None:
    """Rank every GPU at TP 1, 2, 4 and 8 by cost, each with the largest batch that meets the TPOT target."""
    from ..catalogue import known_models
    from ..catalogue import models as read_models
    from ..compare import compare as options_of
    from ..request import read_settings

    if as_json and as_csv:
        raise CallError("--json and --csv exclude each other")
    inputs = {name: typed(x) for name, x in read_settings(settings or []).items()}
    table = read_models(models) if models else known_models()
    found = options_of(model, inputs, quant=quant, kv=kv, node_gpus=node_gpus, batch_limit=batch_limit, models=table)
    if as_json:
        typer.echo(json.dumps([option._asdict() for option in found], indent=2))
    elif as_csv:
        typer.echo(_csv(found), nl=False)
    else:
        _print(found, everything)


def _csv(options: Sequence["Option"]) -> str:
    """A line for each option under a header; no text of it is a formula to a spreadsheet that opens it."""
    out = io.StringIO()
    writer = csv.DictWriter(out, options[0]._fields, lineterminator="\n")
    writer.writeheader()
    for option in options:
        row = option._asdict()
        writer.writerow({name: safe_text(name, x) if isinstance(x, str) else x for name, x in row.items()})
    return out.getvalue()


def _print(options: Sequence["Option"], everything: bool) -> None:
    from rich.text import Text

    from ..tables import options_table

    fitting = [option for option in options if option.batch is not None]
    left = len(options) - len(fitting)
    note = "A price is the median of a GPU's on-demand offers in the catalogue, with the date of the newest."
    if left and not everything:
        note += f"\n{left} more options do not serve: --all says why."
    show(options_table(options if everything else fitting), Text(note))
