"""Checks: each a value between two limits, a reason, PASS or FAIL; all of them feed the master check of every sheet."""

from functools import cache
from typing import Final

from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.worksheet import Worksheet

from capacity import __version__
from capacity.plan import NO_OUTPUT
from capacity.tpot import MEASURE, SAFE

from ..check import Check, not_in
from ..frame import FIRST_ROW, Column, frame, letter, link, put, put_text
from ..style import color_checks
from . import audit, gpus, inputs, refined, refined_inputs
from .order import MODULES
from .plan_rows import NOT_JUDGED

TITLE: Final = "Checks"
KIND: Final = "control"
PURPOSE: Final = "All checks with value, limits, reason and remedy"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 44),
    Column("What it means", 56),
    Column("At least", 10, "right"),
    Column("At most", 10, "right"),
    Column("Value", 12, "right"),
    Column("Unit", 13),
    Column("When it fails", 52),
    Column("Where", 14),
    Column("Tolerance", 10, "right"),
    Column("Check", 9, "center"),
    Column("Not judged", 12, "center"),  # beside the printed area, as the next
    Column("As counted", 12, "right"),
)
VALUE, CHECK, WAITS, COUNTED = (letter(COLUMNS, h) for h in ("Value", "Check", "Not judged", "As counted"))

ROOM: Final = "Resident sequences left beside the batch"
GUARD: Final = "One parameter count for both phases of a sparse model"


@cache
def checks() -> tuple[Check, ...]:
    """All checks: of the plan, then those that a sheet has of its own, in the order of the tabs."""
    own = (module.checks() for module in MODULES if hasattr(module, "checks"))
    return (*_of_the_plan(), *(check for found in own for check in found))


def _of_the_plan() -> tuple[Check, ...]:
    a = refined.cell
    seed = audit.cell("busy_replicas")
    domain = f"INDEX({gpus.SHEET.cells('max_gpus_fast_domain')},{inputs.cell('gpu_row')})"
    output, everything = a("output_tps"), f"({a('prompt_tps')}+{a('output_tps')})"
    return (
        Check(
            "Inputs outside their bounds",
            "Every input is a number within the bounds beside it",
            "inputs_bad",
            "count",
            "Mend the rows marked FAIL; until then every result shows #N/A",
            inputs.TITLE,
            waits="0",
        ),
        Check(
            "Facts outside their bounds, or at odds",
            "Every fact is within its bounds; experts and parts are not more than the whole",
            "facts_bad-inputs_bad",
            "count",
            "Mend the rows marked FAIL on Facts; until then every result shows #N/A",
            refined_inputs.TITLE,
            waits="0",
        ),
        Check(
            "Engine without its functions",
            "The engine in use is installed: 1 when Add-in is chosen and the add-in is missing",
            '(engine_active="Add-in")*(addin_version="not installed")',
            "count",
            "Choose Auto or Native on Inputs, or install the add-in",
            inputs.TITLE,
            waits="0",
        ),
        Check(
            "Add-in of another version",
            f"The add-in, if installed, is of this file's version {__version__}: 1 when it is not",
            f'(addin_version<>"not installed")*(addin_version<>"{__version__}")',
            "count",
            "Build this file again with the installed version, or update the add-in",
            inputs.TITLE,
            waits="0",
        ),
        Check(
            "Audit rows in which the two engines differ",
            "Add-in and cell arithmetic agree within the tolerance",
            f"COUNTIF({audit.span(audit.AGREE)},FALSE)",
            "count",
            "The first row that differs is the fault",
            audit.TITLE,
            tolerance="tolerance",
        ),
        Check(
            "Audit rows that differ from the printed figures",
            "At the worked example's inputs each result rounds to the figure that the article prints",
            f"COUNTIF({audit.span(audit.AS_PRINTED)},FALSE)",
            "count",
            "Compare Value and Seed prints",
            audit.TITLE,
        ),
        Check(
            "Audit rows without a result",
            "Every step has a number, or says in words why it has none",
            f"COUNTIF({audit.span(audit.ANSWERED)},FALSE)",
            "count",
            "Look at the first row with an error value",
            audit.TITLE,
        ),
        Check(
            "Refined rows in which the two engines differ",
            "Add-in and cell arithmetic agree within the tolerance",
            f"COUNTIF({refined.span(refined.AGREE)},FALSE)",
            "count",
            "The first row that differs is the fault",
            refined.TITLE,
            tolerance="tolerance",
        ),
        Check(
            "Refined rows without a result",
            "Every step has a number, or says in words why it has none",
            f"COUNTIF({refined.span(refined.ANSWERED)},FALSE)",
            "count",
            "Look at the first row with an error value",
            refined.TITLE,
        ),
        Check(
            "Refined chain against the seed chain",
            "With the chain Seed, both give the same busy replicas; relative difference",
            f'IF(OR(chain="Refined",{seed}=0),0,ABS({a("busy_replicas")}/{seed}-1))',
            "fraction",
            "A refinement is in force that should not be",
            refined.TITLE,
            high="tolerance",
            tolerance="tolerance",
        ),
        Check(
            GUARD,
            "Sparse: prefill multiplies active parameters, decode reads all; the ratio when one count prices both",
            refined.one_count_for_both(),
            "fraction",
            "Choose the chain Refined and switch active_params on",
            refined.TITLE,
        ),
        Check(
            "KV bytes per token against the model's own",
            "2 x layers x KV heads x head size holds at the mean context, or kv_layout is on; relative difference",
            refined.kv_beside_formula(),
            "fraction",
            "MLA, windows and hybrids: choose the chain Refined and switch kv_layout on",
            refined.TITLE,
            high="tolerance",
            tolerance="tolerance",
        ),
        Check(
            "GPUs of a replica beyond those that a fast link connects",
            "TP is at most the fast domain of the GPU chosen, where that is known",
            f"({domain}>0)*MAX(0,{a('tp')}-{domain})",
            "GPUs",
            "Smaller TP, or a GPU with a larger domain: all-reduces over a network are not priced",
            inputs.TITLE,
        ),
        Check(
            ROOM,
            "The KV cache of the batch fits into the pool",
            f"IF({refined.weightless()},0,N({a('max_seqs')})-{a('batch')})",
            "sequences",
            "Smaller batch, FP8 KV, higher TP or a larger GPU",
            refined.TITLE,
            high="9E+99",
        ),
        Check(
            "TPOT target missed even in the best case",
            "The TPOT verdict is safe or needs a measurement: 1 when it is neither",
            not_in(a("tpot_verdict"), *(f"{w.split()[0]} *" for w in (SAFE, MEASURE, NO_OUTPUT.words))),
            "count",
            "Smaller batch, higher TP, shorter prompts, or prefill on GPUs of its own",
            refined.TITLE,
            waits=NOT_JUDGED,  # a batch that does not fit has no TPOT
        ),
        Check(
            "GPU busy of the planned fleet at this load",
            "Busy replicas / replicas, at most the ceiling and always below 1",
            f"IF({a('replicas')}=0,0,{a('busy_replicas')}/{a('replicas')})",
            "fraction",
            "Replicas must cover the busy replicas and the headroom",
            refined.TITLE,
            high=f"{a('utilization')}*(1+tolerance)",
            tolerance="tolerance",
        ),
        Check(
            "Work of all requests against busy replicas",
            "Request rate x work of one request is the busy replicas, relative difference",
            f"IF({a('busy_replicas')}=0,0,ABS({a('req_per_s')}*{a('request_replica_s')}/{a('busy_replicas')}-1))",
            "fraction",
            "Prefill or decode is priced twice or not at all",
            refined.TITLE,
            high="tolerance",
            tolerance="tolerance",
        ),
        Check(
            "The two prices per million tokens, labeled apart",
            "Per output token and per token of any kind, each times its tokens, is the same bill; relative difference",
            f"IF(N({a('usd_per_m_tokens')})=0,0,ABS({a('usd_per_m_tokens_all')}*{everything}"
            f"/({a('usd_per_m_tokens')}*{output})-1))",
            "fraction",
            "One of the two divides by the wrong tokens",
            refined.TITLE,
            high="tolerance",
            tolerance="tolerance",
        ),
    )


LAST: Final = FIRST_ROW + len(checks()) - 1
OVERALL_ROW: Final = LAST + 2


def cell(quantity: str) -> str:
    """Absolute address of a check's PASS or FAIL."""
    row = FIRST_ROW + [c.quantity for c in checks()].index(quantity)
    return f"{TITLE}!${CHECK}${row}"


def write(ws: Worksheet) -> None:
    """Write the sheet and the name of the master check."""
    frame(
        ws,
        "Checks",
        "A check passes when its value lies between its limits; how many fail stands in the head of every sheet. While "
        "an input or a fact is out of bounds, what follows from it is not judged: mend that first.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    for row, check in enumerate(checks(), FIRST_ROW):
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        put_text(ws, (row, 2), check.quantity, "Label", "left")
        put_text(ws, (row, 3), check.meaning, "Note", "left")
        put(ws, (row, 4), f"={check.low}", "Calculation", check.unit, "right")
        put(ws, (row, 5), f"={check.high}" if check.high != "9E+99" else "no limit", "Calculation", check.unit, "right")
        put(ws, f"{WAITS}{row}", f"={check.waits}", "Calculation", align="center")
        put(ws, f"{COUNTED}{row}", f"={check.value}", "Calculation", check.unit, "right")
        put(ws, (row, 6), f'=IF({WAITS}{row},"not judged",{COUNTED}{row})', "Result", check.unit, "right")
        put_text(ws, (row, 7), check.unit, "Note", "left")
        put_text(ws, (row, 8), check.remedy, "Note", "left")
        link(put_text(ws, (row, 9), check.where, "Note", "left"), check.where)
        put(ws, (row, 10), f"={check.tolerance}", "Calculation", align="right").number_format = '0E+00;;"0"'
        v = f"{VALUE}{row}"
        within = f'AND({v}>=D{row},OR(E{row}="no limit",{v}<=E{row}))'
        put(ws, f"{CHECK}{row}", f'=CHOOSE(1+IF(COUNT({v})=1,{within},{WAITS}{row}),"FAIL","PASS")', "Check")
        if check.high == "tolerance":
            for column in (5, 6, 13):
                ws.cell(row, column).number_format = '0.0E+00;;"0"'
        ws.row_dimensions[row].height = 28
    put_text(ws, (OVERALL_ROW, 2), "Checks that fail", "Label", "left")
    put_text(ws, (OVERALL_ROW, 3), "The master check in the head of every sheet", "Note", "left")
    rows = f"{CHECK}{FIRST_ROW}:{CHECK}{LAST}"
    put(ws, f"{VALUE}{OVERALL_ROW}", f'=ROWS({rows})-COUNTIF({rows},"PASS")', "Result", "count", "right")
    put(ws, f"{CHECK}{OVERALL_ROW}", f'=IF({VALUE}{OVERALL_ROW}=0,"PASS","FAIL")', "Check")
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{OVERALL_ROW}")
    name = DefinedName("checks_failed", attr_text=f"{TITLE}!${VALUE}${OVERALL_ROW}")
    ws.parent.defined_names["checks_failed"] = name
    ws.print_area = f"A1:{CHECK}{OVERALL_ROW}"
