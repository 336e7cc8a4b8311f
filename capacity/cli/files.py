"""Commands that write files and folders: the workbook for each host, the LibreOffice extension; and the server."""

import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from ..errors import UnknownName
from .app import OWN_MODELS, app
from .output import write

# Makes a workbook at a path for a host, with what is added to it before it is calculated.
_Workbook = Callable[..., Path]


class _Target(NamedTuple):
    """What is built for a host: where if nothing is said, what it is called, how, and what comes next."""

    default: str
    what: str
    make: Callable[[Path, _Workbook, Path], Any]  # path, workbook, a folder for files in between
    next_step: str


def _plain(path: Path, workbook: _Workbook, folder: Path) -> None:
    workbook(path)


def _desktop(path: Path, workbook: _Workbook, folder: Path) -> None:
    from addin import desktop

    desktop.build(path, workbook(folder / "plan.xlsx", host="desktop", extra=desktop.add_settings))


def _lite(path: Path, workbook: _Workbook, folder: Path) -> None:
    from addin import lite

    lite.build(path, workbook(folder / "plan.xlsx", host="lite"))


def _server(path: Path, workbook: _Workbook, folder: Path) -> None:
    from addin import server

    server.build(path, workbook(folder / "plan.xlsx", host="server"))


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


@app.command()
def build(
    path: Annotated[Path | None, typer.Argument(help="The file or folder to write.", show_default=False)] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="With functions inside: desktop, lite or server.", show_default=False)
    ] = "",
    models: Annotated[Path | None, OWN_MODELS] = None,
) -> None:
    """Write the workbook: inputs, audit, batch and request tables, models, GPUs, prices, functions, checks."""
    from workbook.build import build as build_workbook

    from ..catalogue import known_models
    from ..catalogue import models as read_models

    key = host.strip().casefold()
    if key not in _TARGETS:
        raise UnknownName("host", host, [name for name in _TARGETS if name])
    target, known = _TARGETS[key], read_models(models) if models else known_models()
    path = path or Path(target.default)

    def workbook(at: Path, **details: Any) -> Path:
        built: Path = build_workbook(at, known, **details)
        return built

    with tempfile.TemporaryDirectory(prefix="llm-capacity-") as folder:
        write(path, Path(target.default).suffix, target.what, lambda at: target.make(at, workbook, Path(folder)))
    typer.echo(target.next_step.format(path=path, quoted=shlex.quote(str(path))))


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
