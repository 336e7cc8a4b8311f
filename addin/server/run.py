"""Runs a project folder on this computer, with several workers. What is amiss is one sentence before any is started."""

import logging
import os
import socket
import ssl
import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from capacity.errors import CallError, InputError

_HOST: Final = "127.0.0.1"
_CERTIFICATE: Final = ("certs/localhost.pem", "certs/localhost-key.pem")  # as `mkcert localhost` names them


def serve(folder: str | Path, workers: int = 4, port: int = 8000) -> None:
    """Serve until stopped; a worker that dies is replaced. What is amiss is one sentence, a CallError.

    Arguments:
        folder: what `build` wrote
        workers: processes that answer; each computes one call at a time
        port: on this computer only; with a certificate in the folder it speaks HTTPS
    """
    folder = Path(folder).resolve()
    if not (folder / "custom_functions").is_dir():
        raise CallError(f"{folder} must be a folder that `capacity build --host server` wrote")
    if workers < 1:
        raise InputError("workers", workers, "must be a whole number >= 1")
    if find_spec("xlwings_server") is None:
        raise CallError('xlwings Server is not installed: pip install ".[server]" in a checkout of llm-capacity')
    certificate, key = _certificate(folder)
    os.environ["XLWINGS_PROJECT_DIR"] = str(folder)  # xlwings Server in the workers reads it, and finds its settings
    _need_settings(folder)
    _need_key()
    _need_app(folder)
    _need_port(port)
    import uvicorn

    uvicorn.run(
        "addin.server.app:app",
        host=_HOST,
        port=port,
        workers=workers,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        access_log=False,
    )


def _certificate(folder: Path) -> tuple[str, str] | tuple[None, None]:
    """Certificate and key, where the folder has them; never plain HTTP because one of them is amiss."""
    certificate, key = files = tuple(folder / name for name in _CERTIFICATE)
    there = [file for file in files if os.path.lexists(file)]
    if not there:
        return None, None
    if len(there) == 1:
        (missing,) = set(files) - set(there)
        raise CallError(f"HTTPS needs {there[0]} and {missing}: the second is missing")
    try:
        # without a password for the key it would be asked for on the terminal of each worker
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        raise CallError(
            f"{certificate} and {key} must be a certificate and its key, in PEM, without a password: {_line(error)}"
        ) from None
    return str(certificate), str(key)


def _need_settings(folder: Path) -> None:
    try:
        import_module("xlwings_server.config")
    except Exception as error:
        raise CallError(f"xlwings Server cannot use the settings in {folder}: {_line(error)}") from None


def _need_key() -> None:
    """xlwings' own check of its license key, from the environment or the folder's .env."""
    try:
        import_module(
            "xlwings.pro"
        )  # after the settings: they tell it that it is on a server, and have the key of .env
    except Exception as error:
        if type(error).__name__ != "LicenseError":  # xlwings has it, and cannot be imported without a key
            raise
        raise CallError(
            "xlwings Server needs its license key in the environment variable XLWINGS_LICENSE_KEY: "
            f"{str(error).rstrip('.')}; see https://www.xlwings.org for a noncommercial or a paid one"
        ) from None


def _need_app(folder: Path) -> None:
    """What the workers import can be imported: the functions that a team adds may have any fault."""
    logging.disable()  # xlwings Server logs the whole traceback before it raises
    try:
        import_module("custom_functions")  # where a module is missing, xlwings Server would go on without our functions
        import_module("addin.server.app")
    except (Exception, SystemExit) as error:
        raise CallError(f"{_place(error, folder)}: {type(error).__name__}: {_line(error)}") from None
    finally:
        logging.disable(logging.NOTSET)


def _place(error: BaseException, folder: Path) -> str:
    """The line of a file in the folder from which an error comes."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError):
        frames.append((error.filename or "", error.lineno))
    own = [(name, line) for name, line in frames if Path(name).is_relative_to(folder)]
    return f"{own[-1][0]}, line {own[-1][1]}" if own else f"{folder} cannot be served"


def _line(error: BaseException) -> str:
    """An error's message on one line; of a list of faults the first."""
    if hasattr(error, "errors"):  # pydantic's, for a setting of the wrong type
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return " ".join(str(error).split())


def _need_port(port: int) -> None:
    with socket.socket() as probe:
        if os.name == "posix":  # or a port on which a server just ended counts as taken; Windows means another thing
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            raise CallError(f"cannot serve on port {port}: {getattr(error, 'strerror', None) or error}") from None
