"""A project of `addin.server`, run by our command in a process of its own."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import xlwings

CALL = "/xlwings/custom-functions-call"


def xlwings_server() -> str | None:
    """Where xlwings Server is installed, or None."""
    spec = find_spec("xlwings_server")
    return spec.origin if spec else None


@contextmanager
def serving(folder: Path, workers: int = 2) -> Iterator["Server"]:
    """The project, run by our command in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "capacity.cli",
        "serve",
        str(folder),
        "--workers",
        str(workers),
        "--port",
        str(port),
    ]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            server = Server(port, process, log)
            for _ in range(300):
                if process.poll() is not None or server.is_up():
                    break
                time.sleep(0.1)
            assert server.is_up(), server.logged()
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


class Server:
    """A running server, as a client sees it."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: IO[str]) -> None:
        self.port, self.process, self._log = port, process, log
        self.address = f"http://127.0.0.1:{port}"

    def request(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers of an answer; of headers to send, Content_Type stands for Content-Type."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = {"Content-Type": "application/json"} | {n.replace("_", "-"): v for n, v in headers.items()}
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def call(self, name: str, args: list[Any], **other: Any) -> tuple[int, Any]:
        """Status and answer of a call, as xlwings' client sends it."""
        body = {"client": "Office.js", "version": xlwings.__version__, "runtime": "1.4", "caller_address": "[B]S!A1"}
        body |= {"culture_info_name": "en-US", "date_format": "m/d/yyyy", "func_name": name, "args": args, **other}
        status, answer, _ = self.request("POST", CALL, json.dumps(body).encode())
        return status, json.loads(answer)["result"] if status == 200 else answer.decode()

    def logged(self) -> str:
        """What the command has printed so far."""
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode()  # its place in the file is the command's, too

    def is_up(self) -> bool:
        """Does the health check say so?"""
        try:
            status, body, _ = self.request("GET", "/health")
        except OSError:
            return False
        return status == 200 and json.loads(body)["status"] == "ok"

    def workers(self) -> list[int]:
        """Process ids of the workers."""
        pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        spawned = {p: Path(f"/proc/{p}/cmdline").read_bytes() for p in pids}
        return [int(p) for p, command in spawned.items() if b"spawn_main" in command]
