"""Offers: which prices on Prices count, and for each GPU their median and the date of the newest; what else it has."""

from typing import Final

from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.compare import ON_DEMAND
from capacity.options import NO_FACT, NO_OUTPUT, NO_PEAK
from capacity.selection import QUANTIZATIONS

from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, put, put_text
from ..style import format_of
from . import gpus, inputs, prices, refined

TITLE: Final = "Offers"
KIND: Final = "working"
PURPOSE: Final = "Which prices count; the median of each GPU's on-demand offers, with the date of the newest"
FREE: Final = "free row"
USD: Final = format_of("USD/GPU-h")
DATE: Final = format_of("date")

COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Offer", 44),
    Column("GPU", 24),
    Column("Price [USD/GPU-h]", 12, "right"),
    Column("As of", 12, "center"),
    Column("Counts", 11, "center"),
    Column("Row of the GPU", 26, "right"),
    Column("Price in order of GPUs", 12, "right"),
    Column("Date in order of GPUs", 14, "right"),
)
GPU_COLUMNS: Final = (
    Column("#", 0, "center"),
    Column("GPU", 0),
    Column("Peak for these weights [TFLOP/s]", 0, "right"),
    Column("Bandwidth [TB/s]", 0, "right"),
    Column("Memory [GB]", 0, "right"),
    Column("Linked [GPUs]", 0, "right"),
    Column("Ready: 1, or why not", 0, "right"),
    Column("Offers that count", 0, "right"),
    Column("Offers of GPUs above", 0, "right"),
    Column("Lower middle [USD/GPU-h]", 12, "right"),
    Column("Upper middle [USD/GPU-h]", 12, "right"),
    Column("Median [USD/GPU-h]", 12, "right"),
    Column("Newest", 12, "right"),
)
LAST: Final = FIRST_ROW + prices.LAST_ROW - prices.FIRST_ROW
_FORM: Final = LAST + 2
_WORDS: Final = _FORM + 1  # for a GPU that is not ready: a row for each
GPUS_FIRST: Final = _WORDS + 6
GPU_COUNT: Final = gpus.LAST_ROW - gpus.FIRST_ROW + 1
GPUS_LAST: Final = GPUS_FIRST + GPU_COUNT - 1
# What an option takes of its GPU -> its column.
OWN: Final = {"peak_tflops": "C", "bandwidth_tb_s": "D", "gpu_gb": "E", "linked": "F", "ready": "G"}
OWN |= {"usd_per_gpu_hour": "L", "date": "M"}


def cell(name: str, place: int) -> str:
    """What the GPU in that place of the list has, from another sheet: the row is relative."""
    return f"{TITLE}!${OWN[name]}{GPUS_FIRST + place}"


def cells(name: str) -> str:
    """The same of all GPUs."""
    return f"{TITLE}!${OWN[name]}${GPUS_FIRST}:${OWN[name]}${GPUS_LAST}"


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Offers: the median price of each GPU",
        "An offer counts when it is on demand, in USD, of a GPU that it names, and one figure: a range, a spot or a "
        "reserved price is none. Illustrative as Prices are.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
        landscape=False,
    )
    for letter in "JKLM":
        ws.column_dimensions[letter].width = 12
    ws.print_title_rows = "1:3"
    for row in range(FIRST_ROW, LAST + 1):
        _offer(ws, row, prices.FIRST_ROW + row - FIRST_ROW)
    form, among = inputs.cell("weight_format"), f"{inputs.TITLE}!{inputs.choices('quantization')}"
    put_text(ws, f"B{_FORM}", "Place of the weights' type in its list", "Label", "left")
    put(ws, f"C{_FORM}", f"=MATCH({form},{among},0)", "Calculation", "count", "left")
    before, _, after = NO_PEAK.partition("{}")
    for row, words in enumerate((FREE, NO_OUTPUT, f'="{before}"&{form}&"{after}"', NO_FACT), _WORDS):
        put_text(ws, f"B{row}", "Words for a GPU that is not ready", "Label", "left")
        put(ws, f"C{row}", words, "Calculation", align="left")
    header(ws, GPUS_FIRST - 1, GPU_COLUMNS)
    ws.row_dimensions[GPUS_FIRST - 1].height = 46
    for row in range(GPUS_FIRST, GPUS_LAST + 1):
        _gpu(ws, row, gpus.FIRST_ROW + row - GPUS_FIRST)
    ws.row_breaks.append(Break(id=GPUS_FIRST - 2))
    ws.print_area = f"A1:M{GPUS_LAST}"


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    counted, offers = f"{TITLE}!$H${GPUS_FIRST}:$H${GPUS_LAST}", f"{TITLE}!$F${FIRST_ROW}:$F${LAST}"
    return (
        Check(
            "Offers that count, and that no median takes",
            "Each offer that counts is of exactly one GPU",
            f"ABS(SUM({counted})-COUNTIF({offers},TRUE))",
            "count",
            "An offer names a GPU that the sheet GPUs does not have, or has twice",
            TITLE,
        ),
    )


def _offer(ws: Worksheet, row: int, at: int) -> None:
    def price(field: str) -> str:
        return f"{prices.TITLE}!${prices.column(field)}{at}"

    put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
    put(ws, f"B{row}", f"=T({price('name')})", "Calculation", align="left")
    currency = price("currency")
    gpu = f'=IF(OR({currency}="",{currency}="USD"),T({price("gpu")}),"")'  # of no GPU where it is no price in USD
    put(ws, f"C{row}", gpu, "Calculation", align="left")
    low, high = price("usd_per_gpu_hour_low"), price("usd_per_gpu_hour_high")
    put(ws, f"D{row}", f"=N({low})", "Calculation", "USD/GPU-h", "right", f"{USD};;")
    put(ws, f"E{row}", f"=N({price('date')})", "Calculation", "date", "center", f"{DATE};;")  # 0: a free row
    one = f'ISNUMBER({low}),OR({high}="",{high}=D{row})'
    demand = f'SUBSTITUTE({price("commitment")},"-"," ")="{ON_DEMAND}"'
    names = gpus.cells("name")
    counts = f'=AND(C{row}<>"",{one},{demand})'
    put(ws, f"F{row}", counts, "Calculation", align="center")
    place = f"=IF(F{row}*(D{row}<1E3)*COUNTIF({names},C{row})=1,MATCH(C{row},{names},0),0)"
    put(ws, f"G{row}", place, "Calculation", "count", "right")
    keys = (("H", "1E3", f"D{row}", "0.0000"), ("I", "1E6", f"E{row}", "0"))
    for column, times, what, shown in keys:
        key = f'=IF(G{row}>0,G{row}*{times}+{what},"-")'
        put(ws, f"{column}{row}", key, "Calculation", align="right").number_format = shown


def _gpu(ws: Worksheet, row: int, at: int) -> None:
    def fact(field: str) -> str:
        return f"{gpus.TITLE}!${gpus.column(field)}{at}"

    put(ws, (row, 1), row - GPUS_FIRST + 1, "Note", align="center")
    put(ws, f"B{row}", f"=T({fact('name')})", "Calculation", align="left")
    bf16, fp8, fp4 = (fact(f"{form}_tflops") for form in ("bf16", "fp8", "fp4"))
    by_form = {"bf16": bf16, "fp8": fp8, "int4": bf16, "fp4": fp4, "mxfp4": f"IF({fp4}>0,{fp8},{bf16})"}
    peak = f"=N(CHOOSE($C${_FORM},{','.join(by_form[form] for form in QUANTIZATIONS)}))"
    put(ws, f"C{row}", peak, "Calculation", "TFLOP/s", "right")
    for column, field, unit in (
        ("D", "bandwidth_tb_s", "TB/s"),
        ("E", "memory_gb", "GB"),
        ("F", "max_gpus_fast_domain", "GPUs"),
    ):
        put(ws, f"{column}{row}", f"=N({fact(field)})", "Calculation", unit, "right")
    known = f'(B{row}<>"")*(1+({refined.cell("output_tps")}>0)*(1+(C{row}>0)*(1+(D{row}*E{row}>0))))'
    ready = f"=CHOOSE(1+{known},{','.join(f'C${_WORDS + i}' for i in range(4))},1)"
    put(ws, f"G{row}", ready, "Calculation", align="right")
    places = f"$G${FIRST_ROW}:$G${LAST}"
    put(ws, f"H{row}", f"=COUNTIF({places},A{row})", "Calculation", "count", "right")
    before = f'=COUNTIF({places},"<"&A{row})-COUNTIF({places},0)'
    put(ws, f"I{row}", before, "Calculation", "count", "right")
    figures, keys = f"$D${FIRST_ROW}:$D${LAST}", f"$H${FIRST_ROW}:$H${LAST}"
    for column, sign in (("J", "-"), ("K", "+")):
        middle = f"SMALL({keys},I{row}+(H{row}+1{sign}MOD(H{row}+1,2))/2)"
        found = f'=IF(H{row}=0,"-",INDEX({figures},MATCH({middle},{keys},0)))'
        put(ws, f"{column}{row}", found, "Calculation", "USD/GPU-h", "right")
    median = f'=IF(H{row}=0,"no price",(J{row}+K{row})/2)'
    put(ws, f"L{row}", median, "Result", "USD/GPU-h", "right")
    dates = f"$I${FIRST_ROW}:$I${LAST}"
    newest = f'=IF(H{row}=0,"-",SMALL({dates},I{row}+H{row})-A{row}*1E6)'
    put(ws, f"M{row}", newest, "Result", "date", "right")
