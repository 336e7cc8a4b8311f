"""The command line. The composition root: the one module that may import capacity, addin and workbook alike.

Heavy imports stand inside the commands, so that `capacity --help` is quick. Whatever is wrong with a call is one
sentence on stderr and exit code 2.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ._version import VERSION
from .errors import CallError, CapacityError, InputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from .families import ModelFacts
    from .plan import Result
    from .request import Answer

# Typer exports only this leaf of its usage errors, from its own copy of Click or from Click itself, as versions differ.
_UsageError: Final[Any] = typer.BadParameter.__base__

_WIDE: Final = 1000  # columns of output that is no terminal: nothing is wrapped or cut

_OWN_MODELS: Final = typer.Option(
    metavar="FILE", help="Your own models: a file that `capacity model --add` made; else that of CAPACITY_MODELS."
)

app = typer.Typer(
    name="capacity",
    help="Capacity planning for LLM serving fleets: requests to tokens to replicas, GPUs and dollars.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        typer.echo(f"llm-capacity {VERSION}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


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
    models: Annotated[Path | None, _OWN_MODELS] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the steps as JSON, with exact values.")] = False,
) -> None:
    """Print the plan, step by step: the worked example's, unless a model and a GPU are chosen or inputs are set."""
    from .catalogue import known_models
    from .catalogue import models as read_models
    from .request import Choice, answer

    known = read_models(models) if models else known_models()
    found = answer(settings or [], Choice(model, gpu, quant, kv), refine or [], known)
    for note in found.notes:
        typer.echo(f"note: {note}", err=True)
    if as_json:
        typer.echo(json.dumps([_as_json(r) for r in found.results], indent=2))
    else:
        _print_plan(found)


@app.command()
def build(
    path: Annotated[Path, typer.Argument(help="The workbook to write.")] = Path("capacity.xlsx"),
    models: Annotated[Path | None, _OWN_MODELS] = None,
) -> None:
    """Write the workbook: inputs, audit, batch and request tables, models, GPUs, prices, functions, checks."""
    from workbook.build import build as build_workbook

    from .catalogue import known_models
    from .catalogue import models as read_models

    known = read_models(models) if models else known_models()
    _write(path, ".xlsx", "workbook", lambda target: build_workbook(target, known))
    typer.echo("It opens in Excel and LibreOffice; without the add-in it calculates in plain cell arithmetic.")


@app.command()
def addin(path: Annotated[Path, typer.Argument(help="The extension to write, e.g. llm-capacity.oxt.")]) -> None:
    """Write the LibreOffice extension."""
    from addin.libreoffice import build as build_extension

    _write(path, ".oxt", "LibreOffice extension", build_extension)
    typer.echo(f"Install it with: unopkg add -f {shlex.quote(str(path))}")


@app.command()
def model(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.json", help="The model's config.json from Hugging Face.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
    add: Annotated[Path | None, typer.Option(metavar="FILE", help="Add them as a row to this CSV file.")] = None,
    name: Annotated[str | None, typer.Option(help="What the row calls the model.")] = None,
) -> None:
    """Count a model: parameters, memory of a sequence, bytes of its weights, exact to the unit."""
    from .families import model_facts

    facts = model_facts(config)
    if add:
        _add_row(add, facts, config, name)
    if as_json:
        typer.echo(json.dumps(facts.as_dict(), indent=2))
    else:
        from .tables import facts_table

        _show(facts_table(facts))


@app.command()
def functions(
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown, as it stands in the README.")] = False,
) -> None:
    """Print the reference of all functions and their arguments."""
    from . import reference

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
    from .explain import explain as sentence_for

    typer.echo(sentence_for(function, [_cell(x) for x in args or []]))


def _refuse(sentence: str) -> int:
    typer.echo(" ".join(sentence.split()), err=True)
    return 2


def _drop_output() -> None:
    """What is still in the buffer has nowhere to go: Python must not try once more when it ends."""
    with suppress(OSError):  # stdout may be no file of the system's
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cell(text: str) -> Any:
    """An argument as a cell would hold it: a number where it reads as one, left out where it is empty."""
    from .arguments import OMITTED, typed

    return typed(text) if text else OMITTED


def _write(path: Path, suffix: str, what: str, build: Callable[[Path], Any]) -> None:
    """Write a file and say so; a path that cannot be written is one sentence."""
    if path.suffix.lower() != suffix:
        raise InputError("PATH", str(path), f"must end in {suffix}")
    try:
        with _console().status(f"Building the {what}"):
            build(path)
    except OSError as error:
        raise CallError(f"cannot write {path}: {error.strerror or error}") from None
    typer.echo(f"Wrote the {what} {path} ({path.stat().st_size / 1000:,.0f} kB)")


def _add_row(path: Path, facts: "ModelFacts", config: Path, name: str | None) -> None:
    """Add a model to a file in the catalogue's columns; by default it is called as its file or folder is."""
    from datetime import date

    from .model_row import append, row

    name = (name or (config.resolve().parent.name if config.name == "config.json" else config.stem)).strip()
    try:
        append(path, row(facts, name, source=config.name, date=date.today().isoformat()))
    except OSError as error:
        raise CallError(f"cannot write {path}: {error.strerror or error}") from None
    typer.echo(f"Added {name} to {path}", err=True)


def _as_json(result: "Result") -> dict[str, Any]:
    return {
        "name": result.step.name,
        "value": result.value,
        "unit": result.step.function.unit,
        "formula": result.formula,
    }


def _console() -> "Console":
    """Where tables go: the terminal as it is; a file or pipe plain and wide."""
    from rich.console import Console

    terminal = Console(highlight=False, markup=False)  # brackets are optional arguments, not markup
    return terminal if terminal.is_terminal else Console(highlight=False, markup=False, width=_WIDE)


def _show(*parts: "RenderableType") -> None:
    """Print tables and texts; into a file or pipe without the blanks that fill a line up."""
    console = _console()
    if console.is_terminal:
        for part in parts:
            console.print(part)
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()).strip("\n"))


def _print_plan(found: "Answer") -> None:
    from .tables import headline, plan_table

    table = plan_table(found.results, found.heads, width=_console().width)
    _show(table, headline(found.results, found.inputs))


def _print_reference() -> None:
    from .tables import argument_table, function_list

    _show(function_list(), argument_table())


if __name__ == "__main__":
    sys.exit(main())
