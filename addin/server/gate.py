"""What is refused before xlwings Server sees it: calls that it would answer with a masked error, or not for long.

A refusal is one sentence with a status that xlwings' client does not try again: Excel shows #VALUE! and the sentence.
"""

import json
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from capacity.errors import UnknownName
from capacity.registry import FUNCTIONS

MAX_BYTES: Final = 10_000_000
MAX_CELLS: Final = 100_000  # about half a second of a worker's time
_CALL: Final = "/xlwings/custom-functions-call"
_FIELDS: Final = ("func_name", "args", "client", "version", "runtime")  # that xlwings reads without asking


class Gate:
    """Middleware: reads the body of a request, and refuses it or hands it on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body = await _read(receive)
        if body is None:
            sentence = f"a request must have at most {MAX_BYTES // 1_000_000} MB: refer to fewer cells"
            await PlainTextResponse(sentence, 413)(scope, receive, send)
        elif sentence := fault(body) if scope["path"].endswith(_CALL) else "":
            await PlainTextResponse(sentence, 400)(scope, receive, send)
        else:
            await self.app(scope, _replay(body, receive), send)


async def _read(receive: Receive) -> bytes | None:
    """The body; None when it is too large. It is read to its end all the same: then the client hears the answer."""
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
    return b"".join(chunks) if size <= MAX_BYTES else None


def _replay(body: bytes, receive: Receive) -> Receive:
    """What hands the body out once more, and then whatever comes after it."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return again


def fault(body: bytes) -> str:
    """What is wrong with a call; "" when nothing is.

    >>> fault(b'{"func_name": "GPU')
    'the request is not JSON: Unterminated string starting at column 15'
    """
    try:
        data = json.loads(body)
    except json.JSONDecodeError as error:
        return f"the request is not JSON: {error.msg} column {error.colno}"
    except (UnicodeDecodeError, RecursionError):
        return "the request is not JSON: it must be UTF-8, and not nested without end"
    missing = [field for field in _FIELDS if field not in data] if isinstance(data, dict) else list(_FIELDS)
    if missing:
        return f"the request is no call of a function: {missing[0]} is missing"
    name, args = data["func_name"], data["args"]
    if not isinstance(name, str) or not isinstance(args, list):
        return "the request is no call of a function: func_name must be text, and args a list"
    if name not in FUNCTIONS and not _is_own(name):
        return str(UnknownName("function", name, FUNCTIONS))
    rows, columns = _shape(args)
    if rows * columns > MAX_CELLS:
        size = f"{rows:,} rows by {columns:,} columns"
        return f"a call takes at most {MAX_CELLS:,} cells: {size}; refer to the rows that are in use"
    return ""


def _is_own(name: str) -> bool:
    """Is it a function that the project defines beside ours?"""
    import custom_functions

    return hasattr(getattr(custom_functions, name, None), "__xlfunc__")


def _shape(args: list[Any]) -> tuple[int, int]:
    """Rows and columns of the block that the arguments span together; a range is a list of rows."""
    ranges = [x for arg in args if isinstance(arg, list) for x in (arg if _holds_ranges(arg) else [arg])]
    rows = max((len(x) for x in ranges if isinstance(x, list)), default=0)
    widths = [len(row) for x in ranges if isinstance(x, list) for row in x if isinstance(row, list)]
    return rows, max(widths, default=0)


def _holds_ranges(arg: list[Any]) -> bool:
    """Is it the ranges of a repeated argument, rather than one range?"""
    return any(isinstance(cell, list) for row in arg[:1] if isinstance(row, list) for cell in row[:1])
