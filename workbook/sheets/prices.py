"""Prices: dated prices of a GPU-hour, illustrative; a team's own below."""

from datetime import date
from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import catalogue

from ..check import Check
from ..frame import HEADER_ROW, put
from ..input_rows import date_rule
from ..style import CAUTION, color_words
from . import gpus
from .facts import DATE, KIND, NAME, TEXT, Fact, FactSheet, Rule, at_least

__all__ = ["COLUMNS", "FIRST_ROW", "KIND", "LAST_ROW", "NAME_COLUMN", "PURPOSE", "TITLE", "cells", "column", "write"]

TITLE: Final = "Prices"
PURPOSE: Final = "Dated prices of a GPU-hour with source, illustrative; room for your own"

FACTS: Final = (
    Fact("name", "Offer", 44, "what the plan calls the offer", "text", NAME),
    Fact("provider", "Provider", 19, "who asks the price", "text", TEXT),
    Fact(
        "gpu",
        "GPU",
        24,
        "the GPU, as the sheet GPUs calls it",
        "text",
        Rule("the name of a GPU on the sheet GPUs", "list", gpus.cells("name")),
    ),
    Fact("usd_per_gpu_hour_low", "Low [USD/GPU-h]", 13, "price, or the lower end of a range", "USD/GPU-h", at_least(0)),
    Fact(
        "usd_per_gpu_hour_high",
        "High [USD/GPU-h]",
        13,
        "the same price, or the upper end of the range",
        "USD/GPU-h",
        Rule("a number >= the low price", "custom", "AND(ISNUMBER({at}),{at}>=N({usd_per_gpu_hour_low}))"),
    ),
    Fact("currency", "Currency", 10, "currency of the offer: only USD counts as a price here", "text", TEXT),
    Fact("commitment", "Commitment", 19, "on demand, spot, reserved", "text", TEXT),
    Fact("term_months", "Term [months]", 10, "months that the offer binds; 0 by the hour", "months", at_least(0)),
    Fact(
        "min_gpus",
        "At least [GPUs]",
        10,
        "fewest GPUs that are rented: the least node",
        "GPUs",
        at_least(1, whole=True),
    ),
    Fact("date", "As of", 12, "the day of the price", "date", DATE),
    Fact("source", "Source", 70, "where the price is from", "text", TEXT),
    Fact("note", "Note", 56, "what else a reader should know", "text", TEXT),
)

SHEET: Final = FactSheet(TITLE, FACTS, len(catalogue.prices()), last_printed="note")
COLUMNS: Final = SHEET.columns
FIRST_ROW: Final = SHEET.first_row
LAST_ROW: Final = SHEET.last_row  # the free rows included
NAME_COLUMN: Final = SHEET.column("name")
column, cells = SHEET.column, SHEET.cells


# Beside the table: which rows are prices, and which of them are old.
IS_PRICE, AGE, STALE_BEFORE = "O", "P", "R"
_STALE_BEFORE: Final = date(2026, 8, 1)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    rows = [{"name": "{provider}, {gpu}, {commitment}".format_map(price), **price} for price in catalogue.prices()]
    subtitle = "Illustrative: prices as published on the day given. Put those of your contract into the free rows."
    SHEET.write(ws, "Prices", subtitle, rows)
    for column, words, width in ((IS_PRICE, "Is a price", 11), (AGE, "Age", 11), (STALE_BEFORE, "Stale before", 13)):
        ws.column_dimensions[column].width = width
        put(ws, f"{column}{HEADER_ROW}", words, "Column header", align="center")
    for row in range(FIRST_ROW, LAST_ROW + 1):
        _flags(ws, row)
    at = f"{STALE_BEFORE}{FIRST_ROW}"
    put(ws, at, _STALE_BEFORE, "Input", "date", "center")
    rule = date_rule("stale before", "a price of a day before this date is flagged as stale")
    ws.add_data_validation(rule)
    rule.add(at)
    color_words(ws, f"{AGE}{FIRST_ROW}:{AGE}{LAST_ROW}", {"stale": CAUTION, "no date": CAUTION})
    ws.print_area = f"A1:{AGE}{LAST_ROW}"


def _flags(ws: Worksheet, row: int) -> None:
    """A range is no price, nor is what names no GPU or is not in USD; a price without a date may be any age."""
    low, high, currency, gpu, day = (
        f"{column(field)}{row}"
        for field in ("usd_per_gpu_hour_low", "usd_per_gpu_hour_high", "currency", "gpu", "date")
    )
    one = f'AND({gpu}<>"",ISNUMBER({low}),OR({high}="",{high}={low}),OR({currency}="",{currency}="USD"))'
    free = f'{NAME_COLUMN}{row}=""'
    price = f'=IF({free},"free row",CHOOSE(1+{one},"no price","price"))'
    put(ws, f"{IS_PRICE}{row}", price, "Calculation", align="center")
    old = f'CHOOSE(1+({day}<${STALE_BEFORE}${FIRST_ROW}),"fresh","stale")'
    words = f'CHOOSE(1+({free}),IF(COUNT({day})=1,{old},"no date"),"free row")'
    put(ws, f"{AGE}{row}", f"={words}", "Calculation", align="center")


def checks() -> tuple[Check, ...]:
    """The sheet's row on Checks."""
    kinds, ages = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LAST_ROW}" for c in (IS_PRICE, AGE))
    return (
        Check(
            "Prices that are stale",
            "No price is older than the date beside the table",
            f'SUMPRODUCT(({kinds}="price")*({ages}="stale"))',
            "count",
            "Ask for the price again, or move the date on Prices",
            TITLE,
        ),
    )
