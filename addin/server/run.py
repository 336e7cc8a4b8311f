"""Runs a project folder on this computer, with several workers."""

import os
import socket
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from capacity.errors import CallError, InputError

_HOST: Final = "127.0.0.1"
_CERTIFICATE: Final = ("certs/localhost.pem", "certs/localhost-key.pem")  # as `mkcert localhost` names them


def serve(folder: str | Path, workers: int = 4, port: int = 8000) -> None:
    """Serve until stopped; a worker that dies is replaced. What is missing is one sentence, a CallError.

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
        raise CallError('xlwings Server is not installed: pip install "llm-capacity[server]"')
    os.environ["XLWINGS_PROJECT_DIR"] = str(folder)  # xlwings Server in the workers reads it, and finds its settings
    _need_key()
    _need_port(port)
    import uvicorn

    certificate, key = (str(folder / name) if (folder / name).is_file() else None for name in _CERTIFICATE)
    uvicorn.run(
        "addin.server.app:app",
        host=_HOST,
        port=port,
        workers=workers,
        ssl_certfile=certificate if key else None,
        ssl_keyfile=key if certificate else None,
        access_log=False,
    )


def _need_key() -> None:
    """xlwings' own check of its license key, from the environment or the folder's .env."""
    try:
        # first, since xlwings looks once whether it is on a server; it also puts the key of .env into the environment
        import_module("xlwings_server.config")
        import_module("xlwings.pro")
    except Exception as error:
        if type(error).__name__ != "LicenseError":  # xlwings has it, and cannot be imported without a key
            raise
        raise CallError(
            "xlwings Server needs its license key in the environment variable XLWINGS_LICENSE_KEY: "
            f"{str(error).rstrip('.')}; see https://www.xlwings.org for a noncommercial or a paid one"
        ) from None


def _need_port(port: int) -> None:
    with socket.socket() as probe:
        if os.name == "posix":  # or a port on which a server just ended counts as taken; Windows means another thing
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except (OSError, OverflowError) as error:
            raise CallError(f"cannot serve on port {port}: {getattr(error, 'strerror', None) or error}") from None
