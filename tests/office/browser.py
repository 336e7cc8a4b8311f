"""A headless Chromium, driven through its DevTools protocol: `with Browser(program) as browser: ...`."""

import base64
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

# messages go over file descriptors 3 and 4, each closed by a zero byte
_START = 'exec "$@" 3<&"$TO_BROWSER" 4>&"$FROM_BROWSER"'
_OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


def chromium() -> str | None:
    """The program, under either of its names, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page of a browser."""

    def __init__(self, program: str, width: int = 1200, height: int = 1000) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        read, self._to = os.pipe()
        self._from, write = os.pipe()
        options = (*_OPTIONS, f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}")
        self._process = subprocess.Popen(
            ["bash", "-c", _START, "bash", program, *options, "about:blank"],
            pass_fds=(read, write),
            env={**os.environ, "TO_BROWSER": str(read), "FROM_BROWSER": str(write)},
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._messages = self._received()
        self._numbers = itertools.count(1)
        self._session: str | None = None
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._to)  # then the browser ends by itself
        self._process.wait(30)
        os.close(self._from)
        self._profile.cleanup()

    def send(self, method: str, **parameters: Any) -> Any:
        """The result of one command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = next(m for m in self._messages if m.get("id") == number)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, address: str) -> None:
        """Load a page."""
        self.send("Page.navigate", url=address)
        self.until("document.readyState == 'complete' && location.href != 'about:blank'")

    def value(self, javascript: str) -> Any:
        """What an expression is on the page."""
        return self.send("Runtime.evaluate", expression=javascript, returnByValue=True)["result"].get("value")

    def until(self, javascript: str) -> None:
        """Wait until an expression is true."""
        for _ in range(100):
            if self.value(javascript):
                return
            time.sleep(0.05)
        raise AssertionError(javascript)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        for character in text:
            self.send("Input.dispatchKeyEvent", type="char", text=character)

    def click(self, selector: str) -> None:
        """Click with the mouse into the middle of an element."""
        box = f"document.querySelector({selector!r}).getBoundingClientRect()"
        x, y = self.value(f"{box}.x + {box}.width / 2"), self.value(f"{box}.y + {box}.height / 2")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def download_to(self, folder: Path) -> None:
        """Where downloads go."""
        self.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def picture(self, path: Path) -> None:
        """Save what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def _received(self) -> Iterator[Any]:
        rest = b""
        while chunk := os.read(self._from, 65536):
            *complete, rest = (rest + chunk).split(b"\0")
            yield from map(json.loads, complete)
