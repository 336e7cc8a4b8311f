"""Windows' Python with xlwings' COM server under Wine, driven as the workbook's macros drive it."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

from caches import cache

ROOT = Path(__file__).parents[2]
CLIENT = Path(__file__).with_name("client.py")
WITHIN_S = 180


def folder() -> str | None:
    """Where setup.sh has put Windows' Python; None where it has not, or where there is no Wine."""
    found = cache("wine", "CAPACITY_WINE")
    return str(found) if shutil.which("wine") and (found / "stamp").exists() else None


def windows_path(path: Path) -> str:
    """A path of this machine as Wine's programs see it."""
    return str(PureWindowsPath("Z:", *path.resolve().parts))


class Windows:
    """A folder that setup.sh has set up; scratch takes the files that pass between here and there."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self._folder, self._scratch = folder, scratch

    @property
    def interpreter(self) -> str:
        """Full path of python.exe, as the sheet of settings holds it."""
        return windows_path(self._folder / "python" / "python.exe")

    def call(self, command: str, calls: Sequence[Any], *, path: Sequence[Path] = (ROOT,)) -> dict[str, Any]:
        """Start xlwings' server by that command, and call functions in it; `path`: where it imports from."""
        given, request, answer = (self._scratch / name for name in ("command.txt", "request.json", "answer.json"))
        given.write_text(command, "utf-8")
        request.write_text(json.dumps(calls), "utf-8")
        answer.unlink(missing_ok=True)
        done = self._alone(
            ["wine", self.interpreter, *map(windows_path, (CLIENT, given, request, answer))],
            cwd=self._scratch,  # Python imports from where it is started, too
            env={**os.environ, **self._environment(path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=WITHIN_S,
            check=False,
        )
        assert answer.exists(), done.stdout
        found: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return found

    def _alone(self, *args: Any, **kwargs: Any) -> subprocess.CompletedProcess[str]:
        """Run it while no other test process does: they share the registry, in which the server enters itself."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return subprocess.run(*args, **kwargs)

    def _environment(self, path: Sequence[Path]) -> dict[str, str]:
        return {
            "WINEPREFIX": str(self._folder / "prefix"),
            "WINEDEBUG": "-all",
            "DISPLAY": "",
            "PYTHONPATH": ";".join(map(windows_path, path)),
        }
