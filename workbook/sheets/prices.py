"""Prices: dated prices of a GPU-hour, illustrative; a team's own below."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import catalogue

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
    Fact("commitment", "Commitment", 19, "on demand, spot, reserved", "text", TEXT),
    Fact("min_gpus", "At least [GPUs]", 10, "fewest GPUs that are rented", "GPUs", at_least(1, whole=True)),
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


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    rows = [{"name": "{provider}, {gpu}, {commitment}".format_map(price), **price} for price in catalogue.prices()]
    subtitle = "Illustrative: prices as published on the day given. Put those of your contract into the free rows."
    SHEET.write(ws, "Prices", subtitle, rows)
