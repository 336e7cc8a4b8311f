"""Inputs: every assumption with its bounds, unit, source and check; the engine switch and the state of the model."""

import csv
from datetime import date
from importlib.resources import files
from typing import Final

from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.plan import INPUT_GROUPS, INPUTS
from capacity.registry import literal

from ..frame import FIRST_ROW, Column, frame, grouped_rows, letter, put, put_text, section
from ..style import CAUTION, color_checks, color_words
from .blocks import BATCH_CELLS, REQUEST_CELLS

TITLE: Final = "Inputs"
KIND: Final = "input"
PURPOSE: Final = "Every assumption with unit, bounds, source and check; the engine switch"
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 42),
    Column("Argument", 18),
    Column("At least", 8, "center"),
    Column("At most", 8, "center"),
    Column("Value", 13, "right"),
    Column("Unit", 12),
    Column("Kind", 7, "center"),
    Column("Worked example", 12, "right"),
    Column("As of", 11, "center"),
    Column("Check", 9, "center"),
    Column("Source", 42),
    Column("Note", 46),
    Column("Is a number", 10, "center"),  # beside the printed area
)
ENGINES: Final = ("Auto", "Add-in", "Native")
ROW_HEIGHT: Final = 26  # two lines of text
NO_LIMIT: Final = "-"
NOT_INSTALLED: Final = "not installed"


ROWS: Final = grouped_rows(INPUT_GROUPS.values())
LAST: Final = max(ROWS.values())
CHOICES_ROW: Final = LAST + 2
ENGINE_ROW: Final = CHOICES_ROW + len(ENGINES) + 1
TOLERANCE_ROW: Final = ENGINE_ROW + 1
STATE_ROW: Final = TOLERANCE_ROW + 2  # first of the computed rows
VALUE, SEED, CHECK, NUMERIC = (letter(COLUMNS, h) for h in ("Value", "Worked example", "Check", "Is a number"))


def cell(name: str) -> str:
    """Absolute address of an input's value, e.g. Inputs!$F$8."""
    return f"{TITLE}!${VALUE}${ROWS[name]}"


def write(ws: Worksheet) -> None:
    """Write the sheet and its defined names."""
    frame(
        ws,
        "Inputs",
        "Blue on yellow is yours to change; everything else in this file is computed from these cells.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    notes = read_notes()
    for group, names in INPUT_GROUPS.items():
        section(ws, ROWS[names[0]] - 1, group, len(COLUMNS))
        for name in names:
            _input_row(ws, name, INPUTS[name], notes[name])
    _choices(ws)
    _engine_rows(ws)
    _state_rows(ws)
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{TOLERANCE_ROW}")
    color_words(ws, f"{VALUE}{STATE_ROW}:{VALUE}{STATE_ROW + 3}", {NOT_INSTALLED: CAUTION})
    ws.print_area = f"A1:{letter(COLUMNS, 'Note')}{STATE_ROW + 3}"


def read_notes() -> dict[str, dict[str, str]]:
    """Source, date, confidence and note of each input."""
    text = files("workbook").joinpath("data/inputs.csv").read_text(encoding="utf-8")
    notes = {row["name"]: row for row in csv.DictReader(text.splitlines())}
    for name in INPUTS:
        if name not in notes:
            raise ValueError(f"the input {name} has no row in workbook/data/inputs.csv: add its source, date and note")
    return notes


def criterion(bound: str) -> str:
    """A bound as COUNTIF takes it: '>= 0' becomes '>=0'."""
    return bound.replace(" ", "") or NO_LIMIT


def _input_row(ws: Worksheet, name: str, argument: Number, note: dict[str, str]) -> None:
    row = ROWS[name]
    put(ws, (row, 1), list(ROWS).index(name) + 1, "Note", align="center")
    put_text(ws, (row, 2), f"{argument.label}{argument.meaning[len(argument.label) :]}", "Label", "left")
    put_text(ws, (row, 3), name, "Code", "left")
    put_text(ws, (row, 4), criterion(argument.low), "Note", "center")
    put_text(ws, (row, 5), criterion(argument.high), "Note", "center")
    value = put(ws, f"{VALUE}{row}", _number(argument.example), "Input", argument.unit, "right")
    put_text(ws, (row, 7), argument.unit, "Note", "left")
    put_text(ws, (row, 8), "whole" if argument.whole else "any", "Note", "center")
    put(ws, f"{SEED}{row}", _number(argument.example), "Reference figure", argument.unit, "right")
    put(ws, (row, 10), date.fromisoformat(note["as_of"]), "Note", "date", "center")
    _put_check(ws, row)
    put_text(ws, (row, 12), note["source"], "Note", "left")
    put_text(ws, (row, 13), _with_confidence(note), "Note", "left")
    validation = _validation(name, argument, value.coordinate)
    ws.add_data_validation(validation)
    validation.add(value)
    ws.row_dimensions[row].height = ROW_HEIGHT


def _with_confidence(note: dict[str, str]) -> str:
    confidence = {"high": "High confidence"}.get(note["confidence"], note["confidence"].capitalize())
    return f"{confidence}: {note['note']}" if note["note"] else confidence


def _number(x: float) -> float | int:
    return int(x) if x.is_integer() else x


def _check(row: int) -> str:
    v, low, high, kind = f"{VALUE}{row}", f"D{row}", f"E{row}", f"H{row}"
    limits = f'COUNTIF({v},{low}),OR({high}="{NO_LIMIT}",COUNTIF({v},{high}))'
    good = f'AND({limits},OR({kind}="any",{v}=INT({v})))'
    return f'=IF({NUMERIC}{row}=1,CHOOSE(1+{good},"FAIL","PASS"),"FAIL")'


def _put_check(ws: Worksheet, row: int) -> None:
    """The check of a numeric input, and beside the printed area whether it is a number at all."""
    put(ws, f"{NUMERIC}{row}", f"=COUNT({VALUE}{row})", "Calculation", align="center")
    put(ws, f"{CHECK}{row}", _check(row), "Check")


def _validation(name: str, argument: Number, at: str) -> DataValidation:
    """The registry's bounds, exactly: one bound by operator, two of different strictness by formula."""
    common = {
        "showErrorMessage": True,
        "showInputMessage": True,
        "errorTitle": name,
        "error": f"{name} {argument.rule} [{argument.unit}]"[:255],
        "promptTitle": name,
        "prompt": f"{argument.meaning} [{argument.unit}]: {argument.bounds}"[:255],
        "allow_blank": False,
    }
    kind = "whole" if argument.whole else "decimal"
    if argument.high and argument.low:
        low, high = criterion(argument.low), criterion(argument.high)
        return DataValidation(type="custom", formula1=f"AND(ISNUMBER({at}),{at}{low},{at}{high})", **common)
    operator = "greaterThan" if argument.gt is not None else "greaterThanOrEqual"
    limit = argument.gt if argument.gt is not None else argument.ge
    return DataValidation(type=kind, operator=operator, formula1=literal(limit), **common)


def _choices(ws: Worksheet) -> None:
    section(ws, CHOICES_ROW - 1, "Choices of the engine", len(COLUMNS))
    notes = (
        "the add-in where it is installed, else cell arithmetic",
        "the add-in's functions",
        "cell arithmetic alone",
    )
    for row, (engine, note) in enumerate(zip(ENGINES, notes, strict=True), CHOICES_ROW):
        put_text(ws, (row, 2), f"{engine}: {note}", "Label", "left")
        put_text(ws, f"{VALUE}{row}", engine, "Calculation", "right")


def _engine_rows(ws: Worksheet) -> None:
    section(ws, ENGINE_ROW - 1, "Engine and tolerance", len(COLUMNS))
    choices = f"${VALUE}${CHOICES_ROW}:${VALUE}${CHOICES_ROW + len(ENGINES) - 1}"
    engine = put(ws, f"{VALUE}{ENGINE_ROW}", "Auto", "Input", align="right")
    pick = DataValidation(
        type="list",
        formula1=choices,
        allow_blank=False,
        showErrorMessage=True,
        showInputMessage=True,
        errorTitle="engine",
        error="engine must be Auto, Add-in or Native",
        promptTitle="engine",
        prompt="Auto takes the add-in where it is installed, else cell arithmetic",
    )
    ws.add_data_validation(pick)
    pick.add(engine)
    tolerance = put(ws, f"{VALUE}{TOLERANCE_ROW}", 1e-9, "Input", align="right")
    tolerance.number_format = "0E+00"
    limits = DataValidation(
        type="custom",
        formula1=f"AND(ISNUMBER({tolerance.coordinate}),{tolerance.coordinate}>0,{tolerance.coordinate}<1)",
        allow_blank=False,
        showErrorMessage=True,
        showInputMessage=True,
        errorTitle="tolerance",
        error="tolerance must be > 0 and < 1 [fraction]",
        promptTitle="tolerance",
        prompt="largest relative difference between add-in and cell arithmetic",
    )
    ws.add_data_validation(limits)
    limits.add(tolerance)
    texts = {
        ENGINE_ROW: ("Engine that computes the plan", "engine", "-", "-", "text", "choice", "Auto, Add-in or Native"),
        TOLERANCE_ROW: (
            "Tolerance between the two engines",
            "tolerance",
            ">0",
            "<1",
            "fraction",
            "any",
            "Relative; differences of summation order are about 1E-16",
        ),
    }
    for row, (label, name, low, high, unit, kind, note) in texts.items():
        put(ws, (row, 1), len(ROWS) + row - ENGINE_ROW + 1, "Note", align="center")
        for column, text, style, align in (
            (2, label, "Label", "left"),
            (3, name, "Code", "left"),
            (4, low, "Note", "center"),
            (5, high, "Note", "center"),
            (7, unit, "Note", "left"),
            (8, kind, "Note", "center"),
            (12, "llm-capacity", "Note", "left"),
            (13, note, "Note", "left"),
        ):
            put_text(ws, (row, column), text, style, align)
        put(ws, f"{SEED}{row}", ws[f"{VALUE}{row}"].value, "Reference figure", align="right")
        put(ws, (row, 10), date(2026, 11, 29), "Note", "date", "center")
        ws.row_dimensions[row].height = ROW_HEIGHT
    ws[f"{SEED}{TOLERANCE_ROW}"].number_format = "0E+00"
    in_list = f"SUMPRODUCT(--({choices}={engine.coordinate}))=1"
    put(ws, f"{CHECK}{ENGINE_ROW}", f'=IF({in_list},"PASS","FAIL")', "Check")
    _put_check(ws, TOLERANCE_ROW)


def _state_rows(ws: Worksheet) -> None:
    """Computed cells that say in which state the model is; each has a defined name."""
    section(ws, STATE_ROW - 1, "State of the model (computed)", len(COLUMNS))
    first, everything = min(ROWS.values()), f"{VALUE}{min(ROWS.values())}:{VALUE}{TOLERANCE_ROW}"
    # CAPACITY_VERSION takes every input as its argument: in a file that was saved with the add-in and is opened without
    # it, the first edit of any input then finds the add-in missing, and Auto falls to Native.
    watched = f"COUNTA({everything},{BATCH_CELLS},{REQUEST_CELLS})"
    version = f"{VALUE}{STATE_ROW}"
    states = (
        (
            "addin_version",
            "Version of the add-in",
            f'=IFERROR(CAPACITY_VERSION({watched}),"{NOT_INSTALLED}")',
            "Asks the add-in for its version; depends on every input, so that it is asked again at each edit",
        ),
        (
            "engine_active",
            "Engine in use",
            f'=IF(engine="Auto",CHOOSE(1+({version}="{NOT_INSTALLED}"),"Add-in","Native"),engine)',
            "What the Value columns take",
        ),
        (
            "at_seed",
            "Inputs are those of the worked example",
            f"=SUMPRODUCT(--({VALUE}{first}:{VALUE}{LAST}<>{SEED}{first}:{SEED}{LAST}))=0",
            "While TRUE, results are compared with the printed figures",
        ),
        (
            "inputs_bad",
            "Inputs outside their bounds",
            f'=COUNTA(C{first}:C{TOLERANCE_ROW})-COUNTIF({CHECK}{first}:{CHECK}{TOLERANCE_ROW},"PASS")',
            "Above 0 every result shows #N/A",
        ),
    )
    for row, (name, label, formula, note) in enumerate(states, STATE_ROW):
        put_text(ws, (row, 2), label, "Label", "left")
        put_text(ws, (row, 3), name, "Code", "left")
        put(ws, f"{VALUE}{row}", formula, "Calculation", align="right")
        put_text(ws, (row, 13), note, "Note", "left")
        _name(ws, name, row)
        ws.row_dimensions[row].height = ROW_HEIGHT
    _name(ws, "engine", ENGINE_ROW)
    _name(ws, "tolerance", TOLERANCE_ROW)


def _name(ws: Worksheet, name: str, row: int) -> None:
    ws.parent.defined_names[name] = DefinedName(name, attr_text=f"{TITLE}!${VALUE}${row}")
