"""The functions on a server of your own, through xlwings Server: a project folder, and the command that runs it."""

from .project import build
from .run import serve

__all__ = ["build", "serve"]
