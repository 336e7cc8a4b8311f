"""Commands that write files and folders: the workbook for each host, the LibreOffice extension; and the server."""

import os
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from ..errors import InputError, UnknownName
from .app import CONSTANTS, OWN_MODELS, app
from .output import write

# Makes a workbook at a path for a host, with what is added to it before it is calculated.
_Workbook = Callable[..., Path]


class _Target(NamedTuple):
    """What is built for a host: where if nothing is said, what it is called, how, and what comes next."""

    default: str
    what: str
    make: Callable[[Path, _Workbook, Path, str | None], Any]  # path, workbook, a folder in between, a team's models
    next_step: str
    about_models: str = ""  # what a team's models need there


def _plain(path: Path, workbook: _Workbook, folder: Path, models: str | None) -> None:
    workbook(path)


def _desktop(path: Path, workbook: _Workbook, folder: Path, models: str | None) -> None:
    from addin import desktop

    desktop.build(path, workbook(folder / "plan.xlsx", host="desktop", extra=desktop.add_settings))


def _lite(path: Path, workbook: _Workbook, folder: Path, models: str | None) -> None:
    from addin import lite

    lite.build(path, workbook(folder / "plan.xlsx", host="lite"), models)


def _server(path: Path, workbook: _Workbook, folder: Path, models: str | None) -> None:
    from addin import server

    server.build(path, workbook(folder / "plan.xlsx", host="server"), models)


_TARGETS: Final = {
    "": _Target(
        "capacity.xlsx",
        "workbook",
        _plain,
        "It opens in Excel and LibreOffice; without the add-in it calculates in plain cell arithmetic.",
    ),
    "desktop": _Target(
        "capacity.xlsm",
        "workbook with macros",
        _desktop,
        "Open it in Excel for Windows and enable macros; {path.stem}-vba beside it holds their text, for review.",
        "MODEL and PLAN know your models where the environment variable CAPACITY_MODELS names their file.",
    ),
    "lite": _Target(
        "capacity-lite.xlsx",
        "workbook for xlwings Lite",
        _lite,
        "Open it in Excel with the add-in xlwings Lite; main.py beside it is the script, for pasting by hand.",
    ),
    "server": _Target(
        "capacity-server", "project for xlwings Server", _server, "Start it with: capacity serve {quoted}"
    ),
}


_DEFAULTS: Final = ", ".join(
    f"{target.default} for {host}" if host else target.default for host, target in _TARGETS.items()
)

_ABOUT_CONSTANTS: Final = (
    "Facts has the constants of {file} for the chain Refined; functions typed into other cells take those shipped."
)
_ABOUT_NONE: Final = "The rows of {file} tell none of the constants on Facts, which stay as shipped."


@app.command()
def build(
    path: Annotated[
        str | None,
        typer.Argument(
            help=f"The file or folder to write, with the suffix that the host has; left out, it is {_DEFAULTS}.",
            metavar="PATH",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Where the functions run: desktop, lite or server.", show_default=False)
    ] = "",
    models: Annotated[Path | None, OWN_MODELS] = None,
    constants: Annotated[Path | None, CONSTANTS] = None,
) -> None:
    """Write the workbook: inputs, audit, batch and request tables, models, GPUs, prices, functions, checks."""
    from workbook.build import build as build_workbook

    from .. import catalogue

    if path == "":  # else it would be the folder that one is in
        raise InputError("PATH", path, "must not be empty")
    key = host.strip().casefold()
    if key not in _TARGETS:
        raise UnknownName("host", host, [name for name in _TARGETS if name])
    target, own = _TARGETS[key], str(models or os.environ.get(catalogue.OWN_MODELS, "")) or None
    known, place = catalogue.models(own), Path(path or target.default)
    fitted = None
    if constants:
        from ..evidence.chain import own_constants

        fitted = own_constants(constants)

    def workbook(at: Path, **details: Any) -> Path:
        built: Path = build_workbook(at, known, fitted, **details)
        return built

    with tempfile.TemporaryDirectory(prefix="llm-capacity-") as folder:
        write(place, Path(target.default).suffix, target.what, lambda at: target.make(at, workbook, Path(folder), own))
    typer.echo(target.next_step.format(path=place, quoted=shlex.quote(str(place))))
    if own and target.about_models:
        typer.echo(target.about_models)
    if fitted:
        typer.echo((_ABOUT_CONSTANTS if fitted.moved else _ABOUT_NONE).format(file=fitted.file))


@app.command()
def addin(path: Annotated[Path, typer.Argument(help="The extension to write, e.g. llm-capacity.oxt.")]) -> None:
    """Write the LibreOffice extension."""
    from addin.libreoffice import build as build_extension

    write(path, ".oxt", "LibreOffice extension", build_extension)
    typer.echo(f"Install it with: unopkg add -f {shlex.quote(str(path))}")


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `capacity build --host server` wrote.")],
    workers: Annotated[int, typer.Option(metavar="N", help="Processes that answer.")] = 4,
    port: Annotated[int, typer.Option(metavar="N", help="On this computer only.")] = 8000,
) -> None:
    """Run a project for xlwings Server until Ctrl+C; it takes its license key from XLWINGS_LICENSE_KEY."""
    from addin.server import serve as run

    run(folder, workers, port)
