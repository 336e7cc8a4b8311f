"""A real LibreOffice, driven from the tests: `with Office(addin=True) as office: ...`."""

from .client import Office, OfficeError
from .programs import install, soffice, uno_python, unopkg

__all__ = ["Office", "OfficeError", "install", "soffice", "uno_python", "unopkg"]
