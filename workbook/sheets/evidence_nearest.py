"""The lower table of Evidence: the three published runs nearest to the plan's, by both engines."""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity import FUNCTIONS
from capacity.published import COMPARED, DISTANCE, RATIOS, UNLIKE
from capacity.registry import literal

from ..frame import Column, header, put, put_text
from ..style import gray_when
from . import measurements
from .evidence_bands import BAD, BANDS, CHECK
from .evidence_blocks import BAND_ROWS, LIST_FIRST, LIST_LAST, MEASUREMENTS, NEAREST_FIRST, PLACE, RUN_ROWS

# The nearest run and those after it: value in use, add-in, native, distance and place, place.
RANKS: Final = tuple(zip((1, 2, 3), "DEF", "IJK", "LMN", "OPQ", "RST", strict=True))
AGREE: Final = "H"
LABELS: Final = {
    DISTANCE: ("Distance from the plan's run", "count"),
    **{
        name: (words.replace(", 1 if offline", "; offline: all are queued"), unit)
        for name in (*UNLIKE, "kind", *(n for n in measurements.FIELDS if n not in (*UNLIKE, "kind")))
        for words, _, unit in (measurements.FIELDS[name],)
    },
}
ROWS: Final = {name: NEAREST_FIRST + i for i, name in enumerate(LABELS)}
LAST: Final = max(ROWS.values())
_SOURCE_HEIGHT: Final = 68


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions."""
    return [f"{addin}{row}" for _, _, addin, *_ in RANKS for row in ROWS.values()]


def write_nearest(ws: Worksheet, order: int) -> None:
    """The table. order: the number of its first row."""
    names = [f"{engine}: {words}" for engine in ("Add-in", "Native") for words in ("nearest", "second", "third")]
    heads = ("#", "Published runs most like the plan's", "The plan", "Nearest", "Second", "Third", "Check")
    aligned = ("center", "left", "right", "right", "right", "right", "center")
    columns = [Column(text, 0, align) for text, align in zip(heads, aligned, strict=True)]
    working = [*names, *["Distance and place"] * len(RANKS), *["Place"] * len(RANKS)]
    columns += [Column("Engines agree", 0, "center"), *(Column(words, 0, "right") for words in working)]
    header(ws, NEAREST_FIRST - 1, columns)
    for _, _, _, _, both, place in RANKS:
        rank = 1 + [r[4] for r in RANKS].index(both)
        cells = f"{MEASUREMENTS}!${PLACE}${LIST_FIRST}:${PLACE}${LIST_LAST}"
        put(ws, f"{both}{NEAREST_FIRST}", f"=SMALL({cells},{rank})", "Calculation", "count", "right")
        put(ws, f"{place}{NEAREST_FIRST}", f"=MOD({both}{NEAREST_FIRST},1E3)", "Calculation", "count", "right")
    for name, row in ROWS.items():
        label, unit = LABELS[name]
        put(ws, (row, 1), order + row - NEAREST_FIRST, "Note", align="center")
        put_text(ws, f"B{row}", label, "Label", "left")
        _plan(ws, name, row, unit)
        for rank, value, addin, native, both, place in RANKS:
            put(ws, f"{addin}{row}", _addin(name, rank), "Calculation", unit, "right")
            put(ws, f"{native}{row}", _native(name, both, place), "Calculation", unit, "right")
            used = f'=IF({BAD}>0,NA(),IF(engine_active="Native",{native}{row},{addin}{row}))'
            cell = put(ws, f"{value}{row}", used, "Result", unit, "right")
            if unit == "count":
                cell.number_format = measurements.RATIO
            if name == "source":
                cell.alignment = Alignment(horizontal="right", vertical="center", wrap_text=True)
        a, b = (f"{RANKS[0][i]}{row}:{RANKS[-1][i]}{row}" for i in (2, 3))
        same = f'=IF((addin_version="not installed")+{BAD}>0,TRUE,SUMPRODUCT(--({a}<>{b}))=0)'
        put(ws, f"{AGREE}{row}", same, "Calculation", align="center")
        put(ws, f"{CHECK}{row}", f'=IF({BAD}>0,"FAIL",CHOOSE(1+{AGREE}{row},"FAIL","PASS"))', "Check")
        ws.row_dimensions[row].height = _SOURCE_HEIGHT if name == "source" else 15
    for first, last, idle in (("I", "K", '="Native"'), ("L", "N", '<>"Native"')):
        gray_when(ws, f"{first}{NEAREST_FIRST}:{last}{LAST}", f"engine_active{idle}")


def _plan(ws: Worksheet, name: str, row: int, unit: str) -> None:
    """What the plan has in that row: its run, or the band of measured over predicted of comparable runs."""
    if name in RUN_ROWS:
        put(ws, f"C{row}", f"=$C${RUN_ROWS[name]}", "Calculation", unit, "right")
    elif name in RATIOS:
        at = BAND_ROWS["Refined", name.removeprefix("ratio_")]
        low, high = (BANDS.at(share, "", at) for share in ("p10", "p90"))
        words = f'=IF({high}=0,"none",FIXED({low},2)&" to "&FIXED({high},2))'
        put(ws, f"C{row}", words, "Calculation", align="right")


def _addin(name: str, rank: int) -> str:
    cells = {n: f"$C${at}" for n, at in RUN_ROWS.items() if n in (*UNLIKE, *COMPARED)}
    cells |= {"tp": cells.pop("gpus"), "run_kind": cells.pop("run")} | {f"own_{n}": cells.pop(n) for n in COMPARED[:2]}
    return "=" + FUNCTIONS["NEAREST"].formula({"what": literal(name), "rank": str(rank)} | cells)


def _native(name: str, both: str, place: str) -> str:
    if name == DISTANCE:
        return f"=({both}{NEAREST_FIRST}-{place}{NEAREST_FIRST})/1E6"
    return f"=INDEX({measurements.span(name)},{place}${NEAREST_FIRST})"
