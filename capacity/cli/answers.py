"""Commands that answer: the plan, how a result comes about, the reference."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..catalogue import safe_text
from ..errors import CallError
from ..frame import record
from .app import CONSTANTS, OWN_MODELS, app
from .output import console, show

if TYPE_CHECKING:
    from ..request import Answer, Choice


@app.command()
def plan(
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Put an input in place; may be repeated.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="A model of the catalogue.")] = None,
    gpu: Annotated[str | None, typer.Option(metavar="NAME", help="A GPU of the catalogue.")] = None,
    quant: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="Weights in bf16, fp8, int4, fp4, mxfp4, or native as stored; fp8 if left out."
        ),
    ] = None,
    kv: Annotated[str | None, typer.Option(metavar="TYPE", help="KV cache in bf16 or fp8; bf16 if left out.")] = None,
    refine: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Switch a refinement on, or all; may be repeated.")
    ] = None,
    models: Annotated[Path | None, OWN_MODELS] = None,
    constants: Annotated[Path | None, CONSTANTS] = None,
    workbook: Annotated[
        Path | None, typer.Option(metavar="FILE.xlsx", help="Plan with the inputs of an edited workbook.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON, with exact values.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the steps as CSV, with exact values.")] = False,
) -> None:
    """Print the plan, step by step: the worked example's, unless a model and a GPU are chosen or inputs are set."""
    from ..request import Choice

    if as_json and as_csv:
        raise CallError("--json and --csv exclude each other")
    found = _answer(settings or [], Choice(model, gpu, quant, kv), refine or [], (models, constants), workbook)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        typer.echo(json.dumps(_records(found), indent=2))
    elif as_csv:
        typer.echo(_csv(_records(found)), nl=False)
    else:
        _print_plan(found, refused=workbook is not None)


@app.command()
def functions(
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown, as it stands in the README.")] = False,
) -> None:
    """Print the reference of all functions and their arguments."""
    from .. import reference

    if markdown:
        typer.echo(reference.markdown())
    else:
        _print_reference()


@app.command(context_settings={"ignore_unknown_options": True})  # so that -1 is a value, not an option
def explain(
    function: Annotated[str, typer.Argument(help="Name of a function, e.g. REPLICAS.")],
    args: Annotated[
        list[str] | None, typer.Argument(help='Its arguments; "" leaves one out; none: the example.')
    ] = None,
) -> None:
    """Say in one sentence how a function comes to its result, or what is wrong with its arguments."""
    from ..explain import explain as sentence_for

    typer.echo(sentence_for(function, [_cell(x) for x in args or []]))


def _cell(text: str) -> Any:
    """An argument as a cell would hold it: a number where it reads as one, left out where it is empty."""
    from ..arguments import OMITTED, typed

    return typed(text) if text else OMITTED


def _answer(
    settings: Sequence[str],
    choice: "Choice",
    refine: Sequence[str],
    own: tuple[Path | None, Path | None],
    workbook: Path | None,
) -> "Answer":
    """own: files of a team's models and constants."""
    from ..catalogue import known_models
    from ..catalogue import models as read_models
    from ..request import NOTHING, answer

    models, constants = own
    if workbook is None:
        table = read_models(models) if models else known_models()
        return answer(settings, choice, refine, table, constants=_constants(constants))
    if models or constants or choice != NOTHING:
        left = "--model, --gpu, --quant, --kv, --models and --constants"
        raise CallError(f"--workbook has facts of its own: leave out {left}")
    from workbook.reader import read

    return answer(settings, refine=refine, workbook=read(workbook))


def _constants(path: Path | None) -> Mapping[str, float] | None:
    from ..evidence.chain import own_constants

    return own_constants(path).values if path else None


def _records(found: "Answer") -> list[dict[str, Any]]:
    """A row for each step, and in each whether the plan fits in memory, and why not: it is priced all the same."""
    from ..obstacle import plan_obstacle

    note = plan_obstacle({r.step.name: r.value for r in found.results}, found.inputs["batch"])
    return [record(r) | {"fits": not note, "note": note} for r in found.results]


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each step under a header; no text of it is a formula to a spreadsheet that opens it."""
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: safe_text(name, x) if isinstance(x, str) else x for name, x in row.items()})
    return out.getvalue()


def _print_plan(found: "Answer", refused: bool) -> None:
    """refused: a plan that does not fit in memory is one sentence, since the workbook shows no figures of it either."""
    from ..obstacle import plan_obstacle
    from ..tables import headline, plan_table

    line = plan_obstacle({r.step.name: r.value for r in found.results}, found.inputs["batch"])
    if refused and line:
        typer.echo(line)
        return
    table = plan_table(found.results, found.heads, width=console().width)
    show(table, headline(found.results, found.inputs))


def _print_reference() -> None:
    from ..tables import argument_table, function_list

    show(function_list(), argument_table())
