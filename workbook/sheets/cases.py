"""Cases: a column for each case, a row for each input and step of the worked example's chain, the same formula across.

Both engines stand beside the printed area, a block of columns for each; the active case is taken by INDEX.
"""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.utils import column_index_from_string
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.plan import INPUT_GROUPS, INPUTS, SECTIONS, STEPS, Step

from ..case_columns import (
    ACTIVE,
    AS_PLANNED,
    AS_PRINTED,
    CASE,
    CHECK,
    COLUMNS,
    COMPARED,
    ENGINE,
    FIRST_CASE,
    FIRST_INPUT,
    FIRST_STEP,
    HIGH,
    LAST,
    LAST_CASE,
    LAST_INPUT,
    LAST_STEP,
    LOW,
    NAMES,
    OWN,
    PLAN,
    ROWS,
    SOUND,
    WHOLE,
    WORKED,
    addin_cells,
    at,
    formula,
    say_which_do_not_fit,
    span,
)
from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, bar_chart
from ..check import Check
from ..frame import FIRST_ROW, HEADER_ROW, frame, put, put_text, section
from ..input_rows import NO_LIMIT, bounds, criterion, one_of, plain
from ..lines import long_text
from ..style import BAD, CAUTION, GOOD, color_checks, color_words, gray_when
from . import audit, inputs, refined
from .plan_rows import IS_REFUSED

__all__ = ["addin_cells"]

TITLE: Final = "Cases"
KIND: Final = "output"
PURPOSE: Final = "Cases side by side, step by step: worked example, plan, and three of your own; one of them active"


def checks() -> tuple[Check, ...]:
    """The sheet's rows on Checks."""
    bad, number = ROWS["bad"], ROWS["active_number"]
    cases = f"SUM({TITLE}!${FIRST_CASE}${bad}:${LAST_CASE}${bad})"
    return (
        Check(
            "Inputs of cases outside their bounds",
            "Every input of every case is a number within its bounds, and the active case is one of them",
            f"{cases}+1-COUNT({TITLE}!${ACTIVE}${number})",
            "count",
            "Mend what Cases names under each case as the first of them; the other cases still hold",
            TITLE,
        ),
        Check(
            "Case rows in which the two engines differ",
            "Add-in and cell arithmetic agree within the tolerance in every case",
            f"COUNTIF({span(SOUND[WORKED], SOUND[NAMES[-1]])},0)",
            "count",
            "The first row that differs is the fault",
            TITLE,
            tolerance="tolerance",
        ),
        Check(
            "Rows of the worked example's case that differ from the printed figures",
            "The column Worked example gives the article's figures, whatever is edited elsewhere",
            _not_true(span(AS_PRINTED)),
            "count",
            "Compare Cases with the column Seed prints of Audit",
            TITLE,
        ),
        Check(
            "Rows of the plan's case that differ from the plan",
            "The column Plan gives what Audit gives, row by row",
            _not_true(span(AS_PLANNED)),
            "count",
            "Mend the inputs first; then the first row that differs is the fault",
            TITLE,
            tolerance="tolerance",
        ),
    )


def _not_true(cells: str) -> str:
    return f"COUNTA({cells})-COUNTIF({cells},TRUE)"


NOT_REFINED: Final = "the plan's chain is Refined: cases stay with the worked example's"


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Cases side by side",
        "Each column is a plan by the worked example's chain, the same formula across. Choosing the active case "
        "compares with it and plans nothing: the plan stays with Inputs.",
        COLUMNS,
        freeze=f"D{FIRST_ROW}",
    )
    words = put(ws, "D4", f'=CHOOSE(1+({inputs.cell("chain")}="Refined"),"","{NOT_REFINED}")', "Note")
    words.alignment = Alignment(horizontal="left", vertical="center", indent=1)
    color_words(ws, "D4:D4", {"the plan": CAUTION})
    say_which_do_not_fit(ws)
    _selector(ws)
    for group, names in INPUT_GROUPS.items():
        _section(ws, names[0], f"Inputs: {group[0].lower()}{group[1:]}")
    for order, (name, argument) in enumerate(INPUTS.items(), 1):
        _input(ws, f"i{order}", name, argument)
    _faults(ws)
    for title, steps in SECTIONS.items():
        _section(ws, steps[0].name, title)
    for order, step in enumerate(STEPS, 1):
        _step(ws, order, step)
    _compare(ws)
    _notes(ws)
    color_checks(ws, f"{CHECK}{FIRST_ROW}:{CHECK}{LAST}")
    verdict, fit = (f"{FIRST_CASE}{ROWS[n]}:{ACTIVE}{ROWS[n]}" for n in ("tpot_verdict", "kv_fit"))
    color_words(ws, verdict, {"safe": GOOD, "needs": CAUTION, "fails": BAD})
    color_words(ws, fit, {"fits": GOOD, "at most": BAD, "weights": BAD})
    for engine, idle in ((ADDIN, '="Native"'), (NATIVE, '<>"Native"')):
        first, last = ENGINE[engine, NAMES[0]], ENGINE[engine, NAMES[-1]]
        gray_when(ws, f"{first}{FIRST_STEP}:{last}{LAST_STEP}", f"engine_active{idle}")
    _charts(ws)
    for last_of_page in (ROWS["first_bad"], ROWS["kv_fit"] - 2):
        ws.row_breaks.append(Break(id=last_of_page))
    ws.print_area = f"A1:{CHECK}{LAST + 3 + CHART_ROWS}"


def _section(ws: Worksheet, first: str, title: str) -> None:
    section(ws, ROWS[first] - 1, title, column_index_from_string(CHECK))


def _line(ws: Worksheet, name: str, order: int | str | None, label: str, unit: str) -> int:
    """Number, label and unit of a row; its number on the sheet."""
    row = ROWS[name]
    put(ws, (row, 1), order, "Note", align="center")
    put_text(ws, (row, 2), label, "Label", "left")
    put_text(ws, (row, 3), unit, "Note", "left")
    ws.row_dimensions[row].height = 15
    return row


def _active(ws: Worksheet, row: int, style: str, unit: str) -> None:
    """What the active case has."""
    active = f"=INDEX(${FIRST_CASE}{row}:${LAST_CASE}{row},${ACTIVE}${ROWS['active_number']})"
    put(ws, f"{ACTIVE}{row}", active, style, unit, "right")


def _selector(ws: Worksheet) -> None:
    _section(ws, "active", "Which case is active: choose it in the column Active")
    row = _line(ws, "active", None, "Active case", "text")
    chosen = f"{ACTIVE}{row}"
    put(ws, chosen, PLAN, "Input", align="right")
    names = f"${FIRST_CASE}${HEADER_ROW}:${LAST_CASE}${HEADER_ROW}"
    listed = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
    rule = one_of("active", listed, "The case with which the others are compared", names)
    ws.add_data_validation(rule)
    rule.add(chosen)
    row = _line(ws, "active_number", None, "Number of the case", "count")
    for column in CASE.values():
        put(ws, f"{column}{row}", f"=MATCH({column}${HEADER_ROW},{names},0)", "Calculation", "count", "right")
    put(ws, f"{ACTIVE}{row}", f"=MATCH({chosen},{names},0)", "Calculation", "count", "right")
    put(ws, f"{CHECK}{row}", f'=IF(COUNTIF({names},{chosen})=1,"PASS","FAIL")', "Check")


def _input(ws: Worksheet, order: str, name: str, argument: Number) -> None:
    row = _line(ws, name, order, argument.label, argument.unit)
    put(ws, at(name, WORKED), plain(argument.example), "Reference figure", argument.unit, "right")
    put(ws, at(name, PLAN), f"={inputs.cell(name)}", "Calculation", argument.unit, "right")
    for case, changes in OWN.items():
        put(ws, at(name, case), plain(float(changes.get(name, argument.example))), "Input", argument.unit, "right")
    first, last = (at(name, case) for case in (next(iter(OWN)), NAMES[-1]))
    rule = bounds(name, argument, first)
    ws.add_data_validation(rule)
    rule.add(f"{first}:{last}")
    _active(ws, row, "Calculation", argument.unit)
    for column, text in (
        (LOW, criterion(argument.low)),
        (HIGH, criterion(argument.high)),
        (WHOLE, "whole" if argument.whole else "any"),
    ):
        put_text(ws, f"{column}{row}", text, "Note", "center")
    for case in NAMES:
        x = at(name, case)
        limits = f'COUNTIF({x},${LOW}{row}),OR(${HIGH}{row}="{NO_LIMIT}",COUNTIF({x},${HIGH}{row}))'
        good = f'AND({limits},OR(${WHOLE}{row}="any",{x}=INT({x})))'
        place = f"ROWS({CASE[case]}${FIRST_INPUT}:{x})"  # among the inputs, where it is at fault; else 0
        put(ws, f"{SOUND[case]}{row}", f"={place}*IF(COUNT({x}),1-{good},1)", "Calculation", "count", "center")
    faults = f"{SOUND[NAMES[0]]}{row}:{SOUND[NAMES[-1]]}{row}"
    put(ws, f"{CHECK}{row}", f'=IF(SUM({faults})=0,"PASS","FAIL")', "Check")


def _all_sound(row: int) -> str:
    cells = f"{SOUND[NAMES[0]]}{row}:{SOUND[NAMES[-1]]}{row}"
    return f"SUM({cells})=COLUMNS({cells})"


def _faults(ws: Worksheet) -> None:
    """How many inputs of each case are out of bounds, and which is the first."""
    _section(ws, "bad", "Inputs outside their bounds: the case shows #N/A until they are mended")
    row = _line(ws, "bad", None, "Inputs outside their bounds", "count")
    second = _line(ws, "first_bad", None, "The first of them", "text")
    labels = f"$B${FIRST_INPUT}:$B${LAST_INPUT}"
    for case, column in CASE.items():
        cells = f"{SOUND[case]}${FIRST_INPUT}:{SOUND[case]}${LAST_INPUT}"
        put(ws, f"{column}{row}", f"=COUNT({cells})-COUNTIF({cells},0)", "Calculation", "count", "right")
        # not by MATCH: LibreOffice may answer it from before the edit
        first = f'=IF({column}{row}=0,"none",INDEX({labels},SMALL({cells},1+COUNTIF({cells},0))))'
        alone = f'=(addin_version="not installed")+({column}{row}>0)>0'  # there is nothing to compare
        put(ws, f"{SOUND[case]}{row}", alone, "Calculation", align="center")
        put(ws, f"{column}{second}", first, "Calculation", "text", "right")
    _active(ws, row, "Calculation", "count")
    _active(ws, second, "Calculation", "text")
    put(ws, f"{CHECK}{row}", f'=IF(SUM({FIRST_CASE}{row}:{LAST_CASE}{row})=0,"PASS","FAIL")', "Check")


def _step(ws: Worksheet, order: int, step: Step) -> None:
    row = _line(ws, step.name, order, step.quantity, step.function.unit)
    unit, audited = step.function.unit, audit.ROWS[step.name]
    for case, column in CASE.items():
        for engine in (ADDIN, NATIVE):
            put(ws, f"{ENGINE[engine, case]}{row}", formula(step, engine, case), "Calculation", unit, "right")
        a, b = (f"{ENGINE[engine, case]}{row}" for engine in (ADDIN, NATIVE))
        bad = f"{column}${ROWS['bad']}"
        value = f'=IF({bad}>0,NA(),IF(engine_active="Native",{b},{a}))'
        put(ws, f"{column}{row}", value, "Result", unit, "right")
        same = f"AND(T({a})=T({b}),ABS(N({a})-N({b}))<=tolerance*MAX(1,N({b})))"
        sound = f"=IF({SOUND[case]}${ROWS['bad']},--({bad}=0),--{same})"
        put(ws, f"{SOUND[case]}{row}", sound, "Calculation", "count", "center")
    _active(ws, row, "Result", unit)
    d, printed, digits = f"{FIRST_CASE}{row}", f"Audit!{audit.PRINTED}{audited}", f"Audit!{audit.DECIMALS}{audited}"
    same = f"AND(ROUND(N({d}),{digits})=N({printed}),T({d})=T({printed}))"
    as_printed = f'=OR({printed}="{audit.NOT_PRINTED}",{same})'
    put(ws, f"{AS_PRINTED}{row}", as_printed, "Calculation", align="center")
    x, planned = f"{CASE[PLAN]}{row}", f"Audit!F{audited}"
    same = f"AND(T({x})=T({planned}),ABS(N({x})-N({planned}))<=tolerance*MAX(1,N({planned})))"
    put(ws, f"{AS_PLANNED}{row}", f"=IF(inputs_bad>0,FALSE,{same})", "Calculation", align="center")
    check = f'=IF(AND({_all_sound(row)},{AS_PRINTED}{row},{AS_PLANNED}{row}),"PASS","FAIL")'
    put(ws, f"{CHECK}{row}", check, "Check")


def _compare(ws: Worksheet) -> None:
    """Does each case hold, and what is it beside the active one."""
    _section(ws, next(iter(COMPARED)), "Against the active case")
    active = {f"active_{name}": f"${ACTIVE}{ROWS[name]}" for name in ("gpus", "cost_per_hour")}
    for name, (label, unit, shown) in COMPARED.items():
        row = _line(ws, name, None, label, unit)
        for column in (*CASE.values(), ACTIVE):
            own = {n: f"{column}{r}" for n, r in ROWS.items()}
            put(ws, f"{column}{row}", f"={shown.format(**own, **active)}", "Result", unit, "right")
            if name == "usd_times":
                ws[f"{column}{row}"].number_format = '0.00"x"'


def _notes(ws: Worksheet) -> None:
    long_text(
        ws,
        f"B{LAST + 1}",
        "Worked example: the article's figures, locked. Plan: what stands on Inputs. Base, Peak and Cheap are yours; "
        "their figures are illustrative. To plan one of them, type its inputs into Inputs.",
    )
    gpus, usd = refined.cell("gpus"), refined.cell("cost_per_hour")
    fleet = f"{AS_PLANNED}{LAST + 2}"
    words = f'=IF({IS_REFUSED},"no fleet",{gpus}&" GPUs, $"&FIXED({usd},2)&" per hour")'
    put(ws, fleet, words, "Calculation")
    text = f'="The plan, by the chain "&chain&": "&{fleet}&"; columns here: Seed"'
    put(ws, f"B{LAST + 2}", text, "Note").alignment = Alignment(horizontal="left", vertical="center", indent=1)


def _charts(ws: Worksheet) -> None:
    names = f"{FIRST_CASE}{HEADER_ROW}:{LAST_CASE}{HEADER_ROW}"
    for column, title, axis, step in (
        ("B", "GPUs by case", "Fleet [GPUs]", "gpus"),
        ("F", "Cost by case", "Cost [USD/h]", "cost_per_hour"),
    ):
        bars = {axis: f"{FIRST_CASE}{ROWS[step]}:{LAST_CASE}{ROWS[step]}"}
        bar_chart(ws, f"{column}{LAST + 4}", title, ("Case", axis), names, bars)
