"""Where the answer on Plan stands: its first rows, its columns, and how a row is written."""

from collections.abc import Sequence
from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from ..frame import put, put_text
from ..style import BAD, color_words
from .blocks import PLAN_ROWS

HEAD_ROW: Final = PLAN_ROWS["node_gpus"] + 2
CHAIN, GIVEN, FIT = range(HEAD_ROW + 1, HEAD_ROW + 4)
STATES, SENTENCES, SAFER, FOUND, FALLS = "L", "MNOPQ", "RSTU", "V", "W"  # beside the printed area
# Why there is no fleet, and why a price has no number: "" where there is one.
_WORDS: Final = ("refused", "no_load", "no_input", "no_output")
KNOWN: Final = {name: f"${STATES}${FIT + i}" for i, name in enumerate(_WORDS)}
# The same for other sheets, 1 or 0, and 0 where inputs are bad: the plan is refused; not even one sequence fits.
REFUSED_AT, NONE_FITS_AT = f"{SAFER[2]}{FIT}", f"{SAFER[3]}{FIT}"
IS_REFUSED, NONE_FITS = (f"Plan!${at[0]}${at[1:]}" for at in (REFUSED_AT, NONE_FITS_AT))
# What a sheet of fleets is not judged for: a plan that is refused has checks of its own, which say why.
NOT_JUDGED: Final = f"facts_bad+{IS_REFUSED}>0"


def say_refused(ws: Worksheet, gate: str, otherwise: str = '""') -> None:
    """Why another sheet has no fleet, above its table. otherwise: what is said of a plan that is not refused."""
    words = f'=CHOOSE(1+{gate},{otherwise},"no fleet: "&Plan!{KNOWN["refused"]}&", see Plan")'
    put(ws, "B4", words, "Note").alignment = Alignment(horizontal="left", vertical="center", indent=1)
    color_words(ws, "B4:B4", {"no fleet": BAD})


def line(ws: Worksheet, row: int, label: str, value: str, unit: str) -> None:
    """Label, value and unit of a row."""
    put_text(ws, f"B{row}", label, "Label", "left")
    put(ws, f"C{row}", value, "Result", unit, "right")
    put_text(ws, f"D{row}", unit, "Note", "left")
    ws.row_dimensions[row].height = 18


def state_at(row: int) -> str:
    """Where a row has its state: as far as FIT beside its sentences, since below it words stand in for figures."""
    return f"{SAFER[1] if row <= FIT else STATES}{row}"


def sentence(ws: Worksheet, row: int, state: str, sentences: Sequence[str]) -> None:
    """One of the sentences beside the printed area, by the number of the state."""
    at = state_at(row)
    put(ws, at, f"={state}", "Calculation", "count")
    for column, text in zip(SENTENCES, sentences, strict=False):
        (put if text.startswith("=") else put_text)(ws, f"{column}{row}", text, "Calculation")
    words = put(ws, f"E{row}", f"=INDEX({SENTENCES[0]}{row}:{SENTENCES[-1]}{row},{at})", "Note")
    words.alignment = Alignment(horizontal="left", vertical="center", indent=1)
