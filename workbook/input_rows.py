"""Rows of the input sheets: a number with its bounds, unit, source and check, or a choice from a list."""

import csv
from collections.abc import Sequence
from copy import copy
from datetime import date
from importlib.resources import files
from typing import Final, NamedTuple

from openpyxl.cell import Cell
from openpyxl.utils.datetime import to_excel
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.registry import literal

from .frame import Column, fit_row, letter, put, put_text

COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Quantity", 42),
    Column("Argument", 22),
    Column("At least", 8, "center"),
    Column("At most", 8, "center"),
    Column("Value", 17, "right"),
    Column("Unit", 12),
    Column("Follows", 17, "right"),
    Column("Worked example", 15, "right"),
    Column("As of", 11, "center"),
    Column("Check", 9, "center"),
    Column("Source", 42),
    Column("Note", 46),
    Column("Is a number", 10, "center"),  # beside the printed area, as the next
    Column("Kind", 8, "center"),
)
VALUE, FOLLOWS, SEED, CHECK, NUMERIC, WHOLE = (
    letter(COLUMNS, h) for h in ("Value", "Follows", "Worked example", "Check", "Is a number", "Kind")
)
LISTS_FIRST: Final = "Q"  # lists stand to the right of these columns
ROW_HEIGHT: Final = 26  # two lines of text
NO_LIMIT: Final = "-"
FIRST_DATE: Final = f"{to_excel(date(2020, 1, 1)):.0f}"  # the number that stands for it


class Note(NamedTuple):
    """Where an input's value comes from."""

    source: str
    as_of: date
    confidence: str = "assumption"
    note: str = ""

    @property
    def text(self) -> str:
        """Confidence and note in one."""
        confidence = {"high": "High confidence"}.get(self.confidence, self.confidence.capitalize())
        return f"{confidence}: {self.note}" if self.note else confidence


def read_notes(names: Sequence[str]) -> dict[str, Note]:
    """Source, date, confidence and note of each of these inputs."""
    text = files("workbook").joinpath("data/inputs.csv").read_text(encoding="utf-8")
    notes = {
        row["name"]: Note(row["source"], date.fromisoformat(row["as_of"]), row["confidence"], row["note"])
        for row in csv.DictReader(text.splitlines())
    }
    for name in names:
        if name not in notes:
            raise ValueError(f"the input {name} has no row in workbook/data/inputs.csv: add its source, date and note")
    return {name: notes[name] for name in names}


def number_row(
    ws: Worksheet,
    row: int,
    order: int,
    name: str,
    argument: Number,
    note: Note,
    follows: str = "",
    where: str = "Models or GPUs",
) -> Cell:
    """An input that is a number; its value cell.

    follows: the formula that gives its value, until it is typed over; where: what that takes it from.
    """
    label = f"{argument.label}{argument.meaning[len(argument.label) :]}"
    _texts(ws, row, order, (label, name, criterion(argument.low), criterion(argument.high), argument.unit), note)
    put_text(ws, f"{WHOLE}{row}", "whole" if argument.whole else "any", "Note", "center")
    shown = f"={FOLLOWS}{row}" if follows else plain(argument.example)
    value = put(ws, f"{VALUE}{row}", shown, "Input", argument.unit, "right")
    put(ws, f"{FOLLOWS}{row}", f"={follows}" if follows else "-", "Calculation", argument.unit, "right")
    if follows:
        source = f"{where}; in the worked example: {note.source.removeprefix('Worked example: ')}"
        put_text(ws, (row, 12), source, "Note", "left")
        fit_row(ws, row, {"B": label, "L": source, "M": note.text}, ROW_HEIGHT)
    put(ws, f"{SEED}{row}", plain(argument.example), "Reference figure", argument.unit, "right")
    put(ws, f"{NUMERIC}{row}", f"=COUNT({VALUE}{row})", "Calculation", align="center")
    put(ws, f"{CHECK}{row}", _check(row), "Check")
    _validate(ws, value, bounds(name, argument, value.coordinate))
    return value


def choice_row(
    ws: Worksheet,
    row: int,
    order: int,
    name: str,
    label: str,
    default: str,
    choices: str,
    note: Note,
    follows: str = "",
) -> Cell:
    """An input that is one of a list on the sheet; its value cell. follows: as for a number."""
    _texts(ws, row, order, (label, name, NO_LIMIT, NO_LIMIT, "text"), note)
    if follows:
        shrink(put(ws, f"{FOLLOWS}{row}", f"={follows}", "Calculation", align="right"))
    else:
        put_text(ws, f"{FOLLOWS}{row}", "-", "Note", "right")
    put_text(ws, f"{WHOLE}{row}", "choice", "Note", "center")
    value = put(ws, f"{VALUE}{row}", f"={FOLLOWS}{row}" if follows else default, "Input", align="right")
    put(ws, f"{SEED}{row}", default, "Reference figure", align="right")
    sheet, _, cells = choices.replace("$", "").rpartition("!")
    options = [] if sheet else [cell.value for (cell,) in ws[cells]]
    choose(ws, value, (name, label, note.note), choices, options, f"{CHECK}{row}")
    return value


def shrink(cell: Cell) -> Cell:
    """Make a text as small as its cell needs it: a long name is read whole."""
    fitting = copy(cell.alignment)
    fitting.shrink_to_fit = True
    cell.alignment = fitting
    return cell


def choose(
    ws: Worksheet, value: Cell, texts: tuple[str, str, str], choices: str, options: Sequence[str], check: str
) -> None:
    """Make a cell take one of a list, and check it.

    texts: name, label and note; options: what the list holds, none where that is the names of another sheet.
    """
    name, label, note = texts
    shrink(value)
    sheet = choices.partition("!")[0]
    put(ws, check, f'=IF(SUMPRODUCT(--({choices}={value.coordinate}))=1,"PASS","FAIL")', "Check")
    listed = f"{', '.join(options[:-1])} or {options[-1]}" if options else f"a name on the sheet {sheet}"
    _validate(ws, value, one_of(name, listed, note or f"{label}: {listed}", choices))


def one_of(name: str, listed: str, prompt: str, choices: str) -> DataValidation:
    """One of the texts that stand in the cells `choices`."""
    return rule("list", name, f"{name} must be {listed}", prompt, formula1=choices)


def criterion(bound: str) -> str:
    """A bound as COUNTIF takes it: '>= 0' becomes '>=0'."""
    return bound.replace(" ", "") or NO_LIMIT


def plain(x: float) -> float | int:
    """A whole number without its decimal point."""
    return int(x) if x.is_integer() else x


def passes(at: str, argument: Number, rule: str = "") -> str:
    """PASS where a cell holds a number within the bounds that also fulfils the rule, a formula; else FAIL."""
    limits = [f'COUNTIF({at},"{criterion(bound)}")' for bound in (argument.low, argument.high) if bound]
    limits += [f"{at}=INT({at})"] * argument.whole + [rule] * bool(rule)
    return f'IF(COUNT({at})=1,CHOOSE(1+AND({",".join(limits)}),"FAIL","PASS"),"FAIL")'


def bounds(name: str, argument: Number, at: str) -> DataValidation:
    """The registry's bounds, exactly: one bound by operator, two of different strictness by formula."""
    error = f"{name} {argument.rule} [{argument.unit}]"
    prompt = f"{argument.meaning} [{argument.unit}]: {argument.bounds}"
    if argument.high and argument.low:
        low, high = criterion(argument.low), criterion(argument.high)
        whole = f",{at}=INT({at})" if argument.whole else ""
        return rule("custom", name, error, prompt, formula1=f"AND(ISNUMBER({at}),{at}{low},{at}{high}{whole})")
    operator = "greaterThan" if argument.gt is not None else "greaterThanOrEqual"
    limit = literal(argument.gt if argument.gt is not None else argument.ge)
    return rule("whole" if argument.whole else "decimal", name, error, prompt, operator=operator, formula1=limit)


def name_rule(name: str, longest: int, prompt: str, *, blank: bool = False) -> DataValidation:
    """A text of so many characters at most."""
    most, limits = f"at most {longest} characters", {"formula1": "1", "formula2": str(longest)}
    error, prompt = f"{name} must be a name of {most}", f"{prompt}, {most}"
    return rule("textLength", name, error, prompt, blank=blank, operator="between", **limits)


def date_rule(name: str, prompt: str, *, blank: bool = False) -> DataValidation:
    """A date of these years."""
    error, limit = f"{name} must be a date from 2020 on", {"operator": "greaterThanOrEqual", "formula1": FIRST_DATE}
    return rule("date", name, error, f"{prompt}: a date from 2020 on", blank=blank, **limit)


def rule(
    kind: str, name: str, error: str, prompt: str, *, blank: bool = False, **details: str | None
) -> DataValidation:
    """What a cell takes, with a prompt and an error that name it."""
    return DataValidation(
        type=kind,
        errorTitle=name[:32],
        error=error[:255],
        promptTitle=name[:32],
        prompt=prompt[:255],
        allow_blank=blank,
        showErrorMessage=True,
        showInputMessage=True,
        **details,
    )


def _validate(ws: Worksheet, value: Cell, rule: DataValidation) -> None:
    ws.add_data_validation(rule)
    rule.add(value)


def _texts(ws: Worksheet, row: int, order: int, texts: Sequence[str], note: Note) -> None:
    """Everything in a row that is not its value."""
    put(ws, (row, 1), order, "Note", align="center")
    shown = ((2, "Label", "left"), (3, "Code", "left"), (4, "Note", "center"), (5, "Note", "center"))
    for (column, style, align), text in zip((*shown, (7, "Note", "left")), texts, strict=True):
        put_text(ws, (row, column), text, style, align)
    put(ws, (row, 10), note.as_of, "Note", "date", "center")
    put_text(ws, (row, 12), note.source, "Note", "left")
    put_text(ws, (row, 13), note.text, "Note", "left")
    fit_row(ws, row, {"B": texts[0], "L": note.source, "M": note.text}, ROW_HEIGHT)


def _check(row: int) -> str:
    v, low, high, kind = f"{VALUE}{row}", f"D{row}", f"E{row}", f"{WHOLE}{row}"
    limits = f'COUNTIF({v},{low}),OR({high}="{NO_LIMIT}",COUNTIF({v},{high}))'
    good = f'AND({limits},OR({kind}="any",{v}=INT({v})))'
    return f'=IF({NUMERIC}{row}=1,CHOOSE(1+{good},"FAIL","PASS"),"FAIL")'
