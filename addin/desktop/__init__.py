"""The functions in Excel for Windows: a workbook whose macros call Python through xlwings' COM server."""

from .package import build
from .settings import add_settings

__all__ = ["add_settings", "build"]
