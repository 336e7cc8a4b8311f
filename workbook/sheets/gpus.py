"""GPUs: memory, bandwidth, peaks and links of accelerators; a team's own below."""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity import catalogue

from ..frame import put, put_text, section
from .facts import DATE, KIND, NAME, POSITIVE, TEXT, Fact, FactSheet, Rule, at_least

__all__ = ["COLUMNS", "FIRST_ROW", "KIND", "LAST_ROW", "NAME_COLUMN", "PURPOSE", "TITLE", "cells", "column", "write"]

TITLE: Final = "GPUs"
PURPOSE: Final = "Memory, bandwidth, dense peaks and links of accelerators; room for your own"

_CONFIDENCE: Final = Rule("high, medium or low", "custom", 'OR({at}="high",{at}="medium",{at}="low")')


def _peak(field: str, form: str, unit: str = "TFLOP/s") -> Fact:
    meaning = f"peak in {form} of one GPU, dense: without sparsity"
    return Fact(field, f"{form} [{unit}]", 10, meaning, unit, POSITIVE)


FACTS: Final = (
    Fact("name", "GPU", 27, "what the plan calls the GPU", "text", NAME),
    Fact("vendor", "Vendor", 10, "who makes it", "text", TEXT),
    Fact("memory_gb", "Memory [GB]", 9, "memory as the vendor prints it", "GB", POSITIVE),
    Fact("usable_gb", "Usable [GB]", 9, "memory that CUDA reports, in units of 1e9 bytes", "GB", POSITIVE),
    Fact("usable_basis", "Usable memory is from", 19, "where that figure is from", "text", TEXT),
    Fact("bandwidth_tb_s", "Bandwidth [TB/s]", 10, "bandwidth of the memory of one GPU", "TB/s", POSITIVE),
    _peak("bf16_tflops", "BF16"),
    _peak("fp8_tflops", "FP8"),
    _peak("int8_tops", "INT8", "TOP/s"),
    _peak("fp4_tflops", "FP4"),
    Fact(
        "interconnect_gb_s_bidir",
        "Link one way [GB/s]",
        9,
        "bandwidth of one GPU's links in one direction: half of what vendors print",
        "GB/s",
        POSITIVE,
        2,
    ),
    Fact("interconnect_kind", "Kind of link", 26, "what connects the GPUs", "text", TEXT),
    Fact(
        "max_gpus_fast_domain",
        "Linked [GPUs]",
        9,
        "how many GPUs that link connects",
        "GPUs",
        at_least(1, whole=True),
    ),
    Fact("confidence", "Confidence", 11, "how well sources agree", "text", _CONFIDENCE),
    Fact("source", "Source", 20, "where the figures are from", "text", TEXT),
    Fact("date", "As of", 12, "when they were read", "date", DATE),
    Fact("note", "Note", 92, "what else a reader should know", "text", TEXT),
)

# what a plan needs of a GPU, beside the peak at the weights' type
NEEDED: Final = ("name", "memory_gb", "bandwidth_tb_s", "bf16_tflops", "interconnect_gb_s_bidir")
SHEET: Final = FactSheet(TITLE, FACTS, len(catalogue.gpus().names), last_printed="note")
COLUMNS: Final = SHEET.columns
FIRST_ROW: Final = SHEET.first_row
LAST_ROW: Final = SHEET.last_row  # the free rows included
NAME_COLUMN: Final = SHEET.column("name")
column, cells = SHEET.column, SHEET.cells


def write(ws: Worksheet) -> None:
    """Write the sheet, and below the table what the keys of the sources stand for."""
    needed = f"In a free row a plan needs columns {', '.join(map(SHEET.column, NEEDED))}"
    subtitle = f"Peaks are dense, memory is as the vendor prints it. {needed}, and the peak of the weights' type."
    SHEET.write(ws, "GPUs", subtitle, catalogue.gpus().rows)
    row = LAST_ROW + 2
    section(ws, row, "Sources", len(COLUMNS))
    for key, source in catalogue.gpu_sources().items():
        row += 1
        for i in range(4, len(COLUMNS) + 1):
            put(ws, (row, i), None, "Note")
        put_text(ws, (row, 2), key, "Label", "left")
        put_text(ws, (row, 3), source, "Note").alignment = Alignment(vertical="center", indent=1, horizontal="left")
    ws.print_area = f"A1:{column('note')}{row}"
