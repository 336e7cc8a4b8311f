"""`capacity budget`: the months of a workbook's sheet Budget, and a picture of them."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from ..catalogue import safe_text
from ..errors import CallError, InputError
from .app import app
from .output import show

_SHOWN: Final = ("month", "fiscal_quarter", "design_req_per_s", "gpus", "gpus_on_demand", "usd", "usd_so_far")


@app.command()
def budget(
    workbook: Annotated[Path, typer.Argument(metavar="FILE.xlsx", help="What `capacity build` made, edited or not.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the months as JSON, with exact values.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the months as CSV, with exact values.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw the months by kind of cost; needs matplotlib.")
    ] = None,
) -> None:
    """Print the 36 months of the budget as the workbook shows them: the results stored when it was last saved."""
    from workbook.budget_reader import read

    if as_json and as_csv:
        raise CallError("--json and --csv exclude each other")
    found = read(workbook)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        typer.echo(json.dumps(found.months, indent=2))
    elif as_csv:
        typer.echo(_csv(found.months), nl=False)
    else:
        _print(found.months)
    if plot:
        from ..budget_plot import plot as draw

        if plot.suffix.lower() != ".png":
            raise InputError("--plot", str(plot), "must end in .png")
        draw(found.months, plot)
        typer.echo(f"Wrote the picture {plot}", err=True)


def _csv(months: Sequence[Mapping[str, Any]]) -> str:
    """A line for each month under a header; no text of it is a formula to a spreadsheet that opens it."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(months[0]), lineterminator="\n")
    writer.writeheader()
    for month in months:
        writer.writerow({name: safe_text(name, x) if isinstance(x, str) else x for name, x in month.items()})
    return out.getvalue()


def _print(months: Sequence[Mapping[str, Any]]) -> None:
    from ..tables import plain_table

    table = plain_table(*(name.replace("_", " ") for name in _SHOWN))
    for month in months:
        table.add_row(*(_text(name, month[name]) for name in _SHOWN))
    show(table)


def _text(name: str, x: Any) -> str:
    if isinstance(x, str):
        return x
    return f"${x:,.0f}" if name.startswith("usd") else f"{x:,.1f}" if name.endswith("per_s") else f"{x:,.0f}"
