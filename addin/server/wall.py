"""The outermost layer: no request for another host or for a path outside reaches xlwings Server.

Its static files are a folder of the project before one of its own; by itself it takes "static/../.env" for a file of
the former. The check of the path and the confined static files each close that alone.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from capacity.errors import show

from .refusal import Refusal

HOSTS: Final = "CAPACITY_HOSTS"  # environment variable: further names, separated by commas
_LOCAL: Final = ("localhost", "127.0.0.1", "[::1]")
_PORT: Final = re.compile(r":\d*$")


class Wall:
    """Middleware around everything, for every method."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app, self.hosts = app, {_name(host) for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        try:
            self._check(scope)
        except Refusal as refusal:
            answer = PlainTextResponse(str(refusal), refusal.status) if scope["type"] == "http" else WebSocketClose()
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        if len(given) != 1 or _name(given[0]) not in self.hosts:  # a page elsewhere may have its name lead here
            raise Refusal(f"the header Host must be a name of this server, and not {show(', '.join(given))}")
        if not is_inside(scope["path"]):
            raise Refusal("there is nothing at this address", 404)


def hosts(hostname: str | None) -> list[str]:
    """Under which names the server answers: on this computer, what the settings say, and what the environment adds."""
    further = os.environ.get(HOSTS, "").split(",")
    return [*_LOCAL, *(host.strip() for host in (hostname or "", *further) if host.strip())]


def _name(host: str) -> str:
    return _PORT.sub("", host.lower())


def is_inside(path: str) -> bool:
    r"""Does each part of a decoded path name something in the part before it, on any operating system?

    >>> is_inside("/static/capacity.xlsx"), is_inside("/manifest/")
    (True, True)
    >>> [is_inside(p) for p in ("/a/../b", "/a//b", "/a/..\\b", "/a/C:/b", "/a/.. /b", "/a\x00", "a")]
    [False, False, False, False, False, False, False]
    """
    root, *parts = path.split("/")
    if root or "" in parts[:-1] or not path.isprintable() or not {"\\", ":"}.isdisjoint(path):
        return False
    return all(part.strip(". ") for part in parts if part)  # Windows ignores dots and spaces at the end


class Confined(StaticFiles):
    """The files of folders, the first that has one; links that lead out of them are not followed."""

    def __init__(self, *folders: str | os.PathLike[str]) -> None:
        super().__init__(directory=folders[-1])
        self.all_directories = list(folders)


def confine(app: Starlette) -> None:
    """Put confined static files in the place of xlwings Server's."""
    for route in app.routes:
        if isinstance(route, Mount) and hasattr(route.app, "user_dir"):
            route.app = Confined(route.app.user_dir, route.app.package_dir)
