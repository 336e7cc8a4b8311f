"""The functions for xlwings Lite: one readable script, inside the workbook and beside it."""

from .build import build

__all__ = ["build"]
