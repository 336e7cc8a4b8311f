"""What is refused before xlwings Server sees it: requests that it would answer with a masked error, or not for long."""

from types import ModuleType
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from capacity.errors import show

from .calls import check
from .refusal import Refusal

MAX_BYTES: Final = 10_000_000
_CALL: Final = "/xlwings/custom-functions-call"
_SCRIPT: Final = "/xlwings/custom-scripts-call/"


class Gate:
    """Middleware: reads the body of a request, and refuses it or hands it on.

    Arguments:
        functions: the module with the functions that may be called
        scripts: the module with the scripts that may be called
    """

    def __init__(self, app: ASGIApp, functions: ModuleType, scripts: ModuleType) -> None:
        self.app, self.functions, self.scripts = app, functions, scripts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        try:
            body = await _read(receive)
            self._check(Request(scope), body)
        except ClientDisconnect:
            return  # nobody is left to be told
        except Refusal as refusal:
            await PlainTextResponse(str(refusal), refusal.status)(scope, receive, send)
        else:
            await self.app(scope, _replay(body, receive), send)

    def _check(self, request: Request, body: bytes) -> None:
        path = request.scope["path"]
        if path.endswith(_CALL):
            media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if media_type != "application/json":
                raise Refusal(f"the Content-Type of a call must be application/json, and not {show(media_type)}", 415)
            check(body, self.functions)
        elif _SCRIPT in path:
            name = path.rpartition("/")[2]
            if not hasattr(getattr(self.scripts, name, None), "__xlscript__"):
                raise Refusal(f"no script is called {show(name)}", 404)


async def _read(receive: Receive) -> bytes:
    """The body. One that is too large is read to its end all the same: then the client hears the answer."""
    chunks, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
        if size <= MAX_BYTES:
            chunks.append(message.get("body", b""))
        else:
            chunks.clear()
    if size > MAX_BYTES:
        raise Refusal(f"a request must have at most {MAX_BYTES // 1_000_000} MB: refer to fewer cells", 413)
    return b"".join(chunks)


def _replay(body: bytes, receive: Receive) -> Receive:
    """What hands the body out once more, and then whatever comes after it."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again
