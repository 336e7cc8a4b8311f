"""xlwings Server with our gate, landing page and health check; runs from the folder in XLWINGS_PROJECT_DIR.

Only `capacity serve` and its workers import this module.
"""

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse
from starlette.routing import Route
from xlwings_server.config import PROJECT_DIR, settings
from xlwings_server.main import app as xlwings_app
from xlwings_server.main import main_app

import capacity
from capacity.call import call

from .gate import Gate


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


xlwings_app.add_middleware(Gate)
xlwings_app.router.routes[:0] = [  # before xlwings Server's own route for /
    Route(f"{settings.app_path}/", landing),
    Route(f"{settings.app_path}/health", health),
]
app = main_app
