"""Hosts, and how each of them spells our functions in a stored formula.

What a user types is the same everywhere, e.g. =PREFILL_US(B4). In the file Office.js, on which xlwings Lite and Server
stand, puts a prefix before the name; only a formula that is stored so finds its function when the file is opened.
"""

import re
from typing import Final, NamedTuple

from .errors import UnknownName
from .registry import FUNCTIONS

EXTENSION: Final = "org.llmcapacity.addin"  # by which LibreOffice knows our extension
LIBREOFFICE: Final = "25.2"  # earlier ones do not find an add-in's functions in .xlsx files

_OFFICE_JS: Final = "_xldudf_"  # followed by the add-in's namespace and "_", where it has one: ours has none


class Host(NamedTuple):
    """A program in which the functions run."""

    title: str
    runs_on: str
    license: str
    prefix: str = ""  # what stands before a function's name in a stored formula


HOSTS: Final = {
    "desktop": Host("macros in desktop Excel, through xlwings", "Windows", "xlwings is BSD-3-Clause; no license key"),
    "lite": Host("xlwings Lite", "Excel for Windows, macOS and the web", "free, also commercially", _OFFICE_JS),
    "server": Host(
        "xlwings Server",
        "Excel for Windows, macOS and the web; you host it",
        "PolyForm Noncommercial, or a paid license; it needs a license key",
        _OFFICE_JS,
    ),
    "libreoffice": Host("LibreOffice add-in", "Linux, macOS, Windows", "Apache-2.0, as this project"),
}

# A formula's parts in which a function's name means something else, or that must be taken whole: a text, a sheet's
# name in quotes, a table's columns or another workbook in brackets, and names, with the sheet before them: of these
# only calls concern us.
_PART: Final = re.compile(
    r'''"(?:[^"]|"")*"'''
    r"""|'(?:[^']|'')*'"""
    r"""|\[(?:'.|[^\[\]']|\[(?:'.|[^\[\]'])*\])*\]"""
    r"""|(?P<name>(?:[^\W\d]|[?!\\])[\w.?!\\]*)(?P<call>\()?"""
    r"""|\d[\w.]*"""
)


def host(name: str) -> Host:
    """The host of that name, in any case; raises UnknownName."""
    key = name.strip().casefold()
    if key not in HOSTS:
        raise UnknownName("host", name, HOSTS)
    return HOSTS[key]


def stored_name(function: str, host_name: str) -> str:
    """The name of a function in a stored formula.

    >>> stored_name("PREFILL_US", "lite"), stored_name("PREFILL_US", "desktop")
    ('_xldudf_PREFILL_US', 'PREFILL_US')
    """
    return host(host_name).prefix + function


def spell(formula: str, host_name: str) -> str:
    """A formula as that host stores it. Only calls of our functions change; what is spelled already stays.

    >>> spell('IF(A1="GPUS(",GPUS(B1,gpus),SUM(MY_GPUS(C1)))', "server")
    'IF(A1="GPUS(",_xldudf_GPUS(B1,gpus),SUM(MY_GPUS(C1)))'
    """
    prefix = host(host_name).prefix

    def part(match: re.Match[str]) -> str:
        name = match["name"] or ""  # in ASCII: the capital of a long s is S
        if match["call"] and name.isascii() and name.upper() in FUNCTIONS:
            return f"{prefix}{name.upper()}("
        return match[0]

    return _PART.sub(part, formula) if prefix else formula
