"""The functions as a LibreOffice Calc add-in, built from the registry."""

from .extension import build

__all__ = ["build"]
