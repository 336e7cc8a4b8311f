"""Compare: all GPUs at all TPs for the chosen model and load, the cheapest first; why the rest does not serve."""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.options import FITS

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, bar_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put
from ..lines import long_text
from ..style import CAUTION, GOOD, color_checks, color_words
from . import offers, option_cells
from .option_cells import AGREE, BLOCKS, FIRST, KEY, LAST, STATUS

TITLE: Final = "Compare"
KIND: Final = "output"
PURPOSE: Final = "Every GPU at TP 1, 2, 4 and 8 for this model and load: what fits, batch, fleet, cost, ranked; why not"

TEN: Final = 10
CHECK, POSITION, PLACE, LABEL = "OPQR"
# A step of the options -> its column and unit.
SHOWN: Final = {
    "max_seqs": ("F", "sequences"),
    "tpot_worst_ms": ("G", "ms"),
    "replicas": ("H", "replicas"),
    "gpus": ("I", "GPUs"),
    "billed_gpus": ("J", "GPUs"),
    "cost_per_hour": ("M", "USD/h"),
    "usd_per_m_tokens": ("N", "USD/M tokens"),
}
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("GPU", 30),
    Column("TP [GPUs]", 8, "right"),
    Column("Does it serve?", 33),
    Column("Batch within the target [sequences]", 12, "right"),
    Column("Sequences that fit", 11, "right"),
    Column("Worst-case TPOT [ms]", 11, "right"),
    Column("Replicas", 10, "right"),
    Column("GPUs", 9, "right"),
    Column("GPUs in whole nodes", 10, "right"),
    Column("Median price [USD/GPU-h]", 12, "right"),
    Column("Newest offer", 12, "center"),
    Column("Cost [USD/h]", 13, "right"),
    Column("USD per M output tokens", 12, "right"),
    Column("Check", 9, "center"),
    Column("Row in Options", 10, "right"),
    Column("GPU's row in Offers", 10, "right"),
    Column("Label", 26),
)
_COUNT: Final = sum(map(len, BLOCKS))
REST_FIRST: Final = FIRST_ROW + TEN + CHART_ROWS + 5  # chart, notes and a header stand between
TEN_ROWS: Final = range(FIRST_ROW, FIRST_ROW + TEN)
REST_ROWS: Final = range(REST_FIRST, REST_FIRST + _COUNT - TEN)
NOTES: Final = (
    "Ranked by cost: GPUs x the median of the on-demand offers on Prices, with the date of the newest. Without such an "
    "offer: behind all that have one.",
    "TP beyond the GPUs that a fast link connects is not offered. Whole nodes: with the GPUs of a node on Utilization; "
    "TPs and batch limit are edited on Options.",
    "Illustrative: list prices of the day, first-order speed at the MFU and MBU of Inputs for all GPUs. Measure before "
    "you choose.",
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Which GPU, and how many to a replica?",
        "The model, load, target and policy of Inputs on every GPU of the sheet GPUs; each runs the largest batch "
        "whose worst-case TPOT meets the target.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
        landscape=False,
    )
    ws.row_dimensions[5].height = 46
    ws.print_title_rows = "1:3"
    for number, row in enumerate((*TEN_ROWS, *REST_ROWS), 1):
        _row(ws, row, number)
    labels, costs = (f"{c}{TEN_ROWS[0]}:{c}{TEN_ROWS[-1]}" for c in (LABEL, SHOWN["cost_per_hour"][0]))
    axes = ("TP [GPUs] x GPU", "Cost [USD/h]")
    bar_chart(ws, f"B{TEN_ROWS[-1] + 2}", "The ten cheapest", axes, labels, {"Cost [USD/h]": costs})
    for row, note in enumerate(NOTES, REST_FIRST - len(NOTES) - 1):
        long_text(ws, f"B{row}", note)
    header(ws, REST_FIRST - 1, COLUMNS)
    ws.row_dimensions[REST_FIRST - 1].height = 46
    ws.row_breaks.append(Break(id=REST_FIRST - 2))
    for rows in (TEN_ROWS, REST_ROWS):
        color_checks(ws, f"{CHECK}{rows[0]}:{CHECK}{rows[-1]}")
        color_words(ws, f"D{rows[0]}:D{rows[-1]}", {f"{FITS},": CAUTION, FITS: GOOD})
    ws.print_area = f"A1:{CHECK}{REST_ROWS[-1]}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${REST_ROWS[-1]}" for c in ("A", CHECK))
    return (
        Check(
            "Rows of Compare that fail",
            "Each option stands in one row, and its engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the column Check of Compare, and at Options",
            TITLE,
        ),
    )


def _row(ws: Worksheet, row: int, number: int) -> None:
    keys = f"Options!${KEY}${FIRST}:${KEY}${LAST}"
    put(ws, (row, 1), number, "Note", align="center")
    put(ws, f"{POSITION}{row}", f"=MATCH(SMALL({keys},A{row}),{keys},0)", "Calculation", "count", "right")
    numbers, gpus = f"Options!$A${FIRST}:$A${LAST}", offers.cells("ready")
    place = f"=1+MOD(INDEX({numbers},{POSITION}{row})-1,ROWS({gpus}))"
    put(ws, f"{PLACE}{row}", place, "Calculation", "count", "right")

    def of_options(column: str) -> str:
        return f"INDEX(Options!${column}${FIRST}:${column}${LAST},${POSITION}{row})"

    put(ws, f"B{row}", f"={of_options('B')}", "Label", align="left")
    put(ws, f"C{row}", f"={of_options('C')}", "Calculation", "GPUs", "right")
    put(ws, f"D{row}", f"={of_options(STATUS)}", "Result", align="left")
    batch = of_options(option_cells.BATCH)
    put(ws, f"E{row}", f'=IF(ISTEXT({batch}),"-",{batch})', "Result", "sequences", "right")
    for name, (letter, unit) in SHOWN.items():
        found = [f"INDEX({option_cells.column(name, engine)},$P{row})" for engine in (NATIVE, ADDIN)]
        put(ws, f"{letter}{row}", f'=IF(engine_active="Native",{found[0]},{found[1]})', "Result", unit, "right")
    for letter, name, unit in (("K", "usd_per_gpu_hour", "USD/GPU-h"), ("L", "date", "date")):
        put(ws, f"{letter}{row}", f"=INDEX({offers.cells(name)},{PLACE}{row})", "Calculation", unit, "right")
    put(ws, f"{LABEL}{row}", f'=C{row}&" x "&B{row}', "Calculation", align="left")
    once = f"COUNTIF({POSITION}${FIRST_ROW}:{POSITION}{row},{POSITION}{row})=1"
    put(ws, f"{CHECK}{row}", f'=IF({of_options(AGREE)}*({once}),"PASS","FAIL")', "Check")
    ws.row_dimensions[row].height = 16
