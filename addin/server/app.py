"""xlwings Server within our wall and gate, with landing page and health check, from the folder in XLWINGS_PROJECT_DIR.

Only `capacity serve` and its workers import this module.
"""

from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse
from starlette.routing import Route
from xlwings_server.config import PROJECT_DIR, settings
from xlwings_server.main import app as xlwings_app
from xlwings_server.main import main_app
from xlwings_server.routers.xlwings import custom_functions, custom_scripts

import capacity
from capacity.call import call

from .gate import Gate
from .wall import Wall, confine, hosts
from .worker import end_with_parent


async def landing(_: Request) -> FileResponse:
    """The page with the functions and the workbook to download."""
    return FileResponse(PROJECT_DIR / "static" / "index.html")


async def health(_: Request) -> JSONResponse:
    """Whether the functions answer, catalogue included: the worked example's GPUs."""
    gpus = call("PLAN", [])
    good = isinstance(gpus, float)
    about = {
        "version": capacity.__version__,
        "functions": len(capacity.FUNCTIONS),
        "example_gpus": gpus if good else None,
    }
    return JSONResponse({"status": "ok" if good else "failed", **about}, 200 if good else 503)


async def malformed(_: Request, error: RequestValidationError) -> PlainTextResponse:
    """Which part of a request is missing or wrong: the first."""
    first = error.errors()[0]
    return PlainTextResponse(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", 400)


xlwings_app.add_middleware(Gate, functions=custom_functions, scripts=custom_scripts)
xlwings_app.add_exception_handler(RequestValidationError, malformed)
xlwings_app.router.routes[:0] = [  # before xlwings Server's own route for /
    Route(f"{settings.app_path}/", landing),
    Route(f"{settings.app_path}/health", health),
]
confine(xlwings_app)
app = Wall(main_app, hosts(settings.hostname))
end_with_parent()
