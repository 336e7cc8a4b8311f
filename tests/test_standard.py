"""The workbook standard, item by item: each test carries the number of the item that it asserts on the built file."""

import datetime
import graphlib
import re
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula
from sheets import (
    depth_of_ifs,
    formulas,
    functions,
    headers,
    looks_like_number,
    numbers,
    pattern,
    pattern_across,
    precedents,
    recalculate,
    references,
    table,
)

from capacity import FUNCTIONS, __version__, catalogue
from capacity.arguments import REQUIRED, Number
from capacity.call import ExcelError
from capacity.plan import INPUTS, STEPS, plan
from capacity.refined import REFINED_INPUTS, SWITCHES
from capacity.units import UNITS
from workbook import case_columns, states
from workbook.frame import FIRST_ROW
from workbook.sheets import about as about_sheet
from workbook.sheets import audit, blocks, checks, gpus, models, money_blocks, refined, refined_inputs, tornado
from workbook.sheets import inputs as inputs_sheet
from workbook.sheets.facts import OWN_ROWS

CLASSES = {"control", "input", "working", "output"}
CALCULATION = ("Inputs", "Facts", "Audit", "Refined", "Checks")
INPUT_SHEETS = {module.TITLE for module in about_sheet.MODULES if module.KIND == "input"}
FACT_SHEETS = INPUT_SHEETS - {"Inputs", "Facts"}
BLOCKS = {
    "Batch": ("B6:B9", range(6, 10)),
    "Options": ("B6:B9", range(6, 10)),
    "Requests": ("C6:D7", range(6, 8)),
    "Sensitivity": ("C49", range(51, 61)),
    "Mix": ("B6:G11", range(6, 12)),
    "Caching": ("B19:B30", range(19, 31)),
    "Utilization": ("B6:B15", range(6, 16)),
    "Disaggregated": ("C6:F7", range(6, 8)),
    "Demand": ("C6:C27", range(39, 75)),
    "Profile": ("C6:C8", range(17, 185)),
    "Commit": ("B48:I53", range(63, 99)),
    "Own": ("C6:E33", range(35, 43)),
    "Week": ("G6:G173", range(6, 174)),
    "Buy or run": ("B37:B46", range(37, 47)),
    "Budget": ("V6:V41", range(6, 42)),
    "Chargeback": ("C6:C8", range(14, 20)),
    "Actuals": ("H6:K41", range(6, 42)),
}
ENGINE_INPUTS = ("engine", "tolerance")


def about(shown: Workbook) -> dict[str, tuple[object, object]]:
    return {row[1].value: (row[2].value, row[3].value) for row in shown["About"].iter_rows(min_row=6)}


def input_cells(book: Workbook) -> list[tuple[str, object]]:
    """Every cell styled as input, apart from the legend's sample."""
    return [(ws.title, c) for ws in book if ws.title != "About" for r in ws for c in r if c.style == "Input"]


def test_01_first_sheet_about(shown: Workbook) -> None:
    facts = about(shown)
    assert shown.sheetnames[0] == "About"
    for topic in ("Purpose", "Author", "License"):
        assert facts[topic][0]
    assert facts["Version"][0] == __version__
    assert isinstance(facts["Build date"][0], datetime.datetime)


def test_02_change_log_newest_first(shown: Workbook) -> None:
    topics = [row[1].value for row in shown["About"].iter_rows(min_row=6)]
    assert topics[topics.index("Change log") + 1] == __version__
    changelog = Path(__file__).parent.parent.joinpath("CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[?([\d.]+)", changelog, re.M)[1] == __version__


def test_03_sheet_classes_declared(shown: Workbook) -> None:
    facts = about(shown)
    for sheet in shown.sheetnames:
        assert str(facts[sheet][0]).removesuffix(" sheet") in CLASSES


def test_04_contents_with_working_links(book: Workbook) -> None:
    links = {c.value: c.hyperlink.location for row in book["About"] for c in row if c.hyperlink}
    assert links == {name: f"'{name}'!A1" for name in book.sheetnames}
    for row in book["Checks"]:
        for c in row:
            assert c.hyperlink is None or c.hyperlink.location == f"'{c.value}'!A1"


def test_05_sheet_names(book: Workbook) -> None:
    names = book.sheetnames
    assert len({n.casefold() for n in names}) == len(names)
    assert all(len(n) <= 31 and not re.fullmatch(r"Sheet\d*", n) for n in names)


def test_06_nothing_hidden(book: Workbook) -> None:
    for ws in book:
        assert ws.sheet_state == "visible"
        assert not any(d.hidden for d in [*ws.column_dimensions.values(), *ws.row_dimensions.values()])


def test_07_same_columns_mean_the_same(book: Workbook) -> None:
    columns = [headers(book[s]) for s in CALCULATION]
    shared = set.intersection(*(set(c) for c in columns))
    assert shared >= {"#", "Quantity", "Value", "Unit", "Check"}
    for header in {h for c in columns for h in c}:
        assert len({c[header] for c in columns if header in c}) == 1, header


def test_08_flow_from_top_to_bottom(book: Workbook) -> None:
    order = book.sheetnames
    watching = states.WATCHED  # every editable cell, for the add-in's detector
    for ws, cell in formulas(book):
        if cell.row <= 5 or (ws.title == "Inputs" and cell.column_letter == watching):
            continue
        for sheet, _, first, _, last in references(book, ws, cell):
            if sheet == ws.title:
                assert first <= last <= cell.row, (ws.title, cell.coordinate)
            # About and Plan show the answer; the sheets of facts hold only data
            elif ws.title not in ("About", "Plan") and sheet not in FACT_SHEETS:
                assert order.index(sheet) < order.index(ws.title), (ws.title, cell.coordinate)


def test_09_frozen_panes(book: Workbook) -> None:
    for ws in book:
        assert ws.freeze_panes, ws.title
        assert int(re.search(r"\d+", ws.freeze_panes)[0]) == 6


def test_10_master_check_in_every_header(book: Workbook, shown: Workbook) -> None:
    for ws in book:
        assert "checks_failed" in ws["B3"].value
        assert shown[ws.title]["B3"].value == "All checks PASS"


def test_11_every_input_is_documented(book: Workbook) -> None:
    rows = table(book["Inputs"], "Argument") | table(book["Facts"], "Argument")
    names = (*INPUTS, *ENGINE_INPUTS, "chain", *SWITCHES, *REFINED_INPUTS)
    assert set(names) <= set(rows)
    for name in names:
        for header in ("Quantity", "Value", "Unit", "At least", "At most", "Source", "As of", "Note"):
            assert rows[name][header].value not in (None, ""), (name, header)
        assert rows[name]["As of"].is_date


def test_12_units_of_a_closed_vocabulary(book: Workbook) -> None:
    for sheet in (*CALCULATION, "Functions"):
        ws = book[sheet]
        labels, units = (headers(ws)[h] for h in ("Function" if sheet == "Functions" else "Quantity", "Unit"))
        for row in range(6, ws.max_row + 1):
            has_value = ws[f"{headers(ws).get('Value', 'H')}{row}"].value is not None
            if ws[f"{labels}{row}"].value and has_value and ws[f"{units}{row}"].value is not None:
                assert ws[f"{units}{row}"].value in UNITS, (sheet, row)
    known = INPUTS | REFINED_INPUTS
    for name, row in (table(book["Inputs"], "Argument") | table(book["Facts"], "Argument")).items():
        if name in known:
            assert row["Unit"].value == known[name].unit
    for sheet in FACT_SHEETS:  # a unit stands in the column's header
        units_shown = re.findall(r"\[(.*?)\]", " ".join(headers(book[sheet])))
        assert units_shown
        assert set(units_shown) <= set(UNITS)


def test_13_illustrative_values_flagged(book: Workbook) -> None:
    assert table(book["Inputs"], "Argument")["usd_per_gpu_hour"]["Note"].value.startswith("Illustrative")


def test_14_literal_numbers_only_on_input_sheets(book: Workbook) -> None:
    for ws in book:
        if ws.title in INPUT_SHEETS:
            continue
        for row in ws.iter_rows(min_row=6):
            for c in row:
                if isinstance(c.value, int | float) and not isinstance(c.value, bool):
                    numbering = c.column == 1
                    reference = c.style == "Reference figure"  # the worked example's printed figures
                    # Functions is text about the registry; test_14 below shows that nothing reads it
                    assert numbering or reference or c.style == "Input" or ws.title == "Functions", (ws.title, c)
    assert not any(s == "Functions" for ws, cell in formulas(book) for s, *_ in references(book, ws, cell))


def test_15_validation_with_prompt_and_specific_error(book: Workbook) -> None:
    for sheet, cell in input_cells(book):
        rules = [v for v in book[sheet].data_validations.dataValidation if cell.coordinate in v.sqref]
        assert len(rules) == 1, (sheet, cell.coordinate)
        rule = rules[0]
        assert rule.showInputMessage
        assert rule.showErrorMessage
        assert rule.prompt
        assert rule.errorTitle in rule.error
        assert "must be" in rule.error
    errors = [v.error for ws in book for v in ws.data_validations.dataValidation]
    assert len(set(errors)) >= len(INPUTS)


def test_16_bounds_equal_the_registrys(book: Workbook) -> None:
    known = INPUTS | REFINED_INPUTS
    rows = [(ws, n, r) for ws in (book["Inputs"], book["Facts"]) for n, r in table(ws, "Argument").items()]
    assert {name for _, name, _ in rows} >= set(known)
    for ws, name, row in rows:
        if name not in known:
            continue
        argument = known[name]
        assert row["At least"].value == argument.low.replace(" ", "")
        assert row["At most"].value == (argument.high.replace(" ", "") or "-")
        assert row["Kind"].value == ("whole" if argument.whole else "any")
        at = row["Value"].coordinate
        rule = next(v for v in ws.data_validations.dataValidation if at in v.sqref)
        if rule.type == "custom":
            whole = f",{at}=INT({at})" if argument.whole else ""
            assert rule.formula1 == f"AND(ISNUMBER({at}),{at}{row['At least'].value},{at}{row['At most'].value}{whole})"
        else:
            assert rule.type == ("whole" if argument.whole else "decimal")
            limit = {"greaterThan": argument.gt, "greaterThanOrEqual": argument.ge}[rule.operator]
            assert float(rule.formula1) == limit
            assert argument.lt is argument.le is None


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_16_checks_enforce_the_bounds(name: str, template: Path) -> None:
    """A value on, inside and outside each bound: the check in the sheet says what the registry says."""
    argument = INPUTS[name]
    at = ("Inputs", f"F{inputs_sheet.ROWS[name]}")
    for value in (-1.0, 0.0, 1e-9, 0.5, 1.0, 1.0 + 1e-9, 1.5, 2.0, "text", True):
        allowed = isinstance(value, float) and argument.fits(value)
        values = recalculate(template, changes={at: value})
        assert values["Inputs", f"K{inputs_sheet.ROWS[name]}"] == ("PASS" if allowed else "FAIL"), value
        if not allowed:
            assert values["Audit", f"F{audit.ROWS['gpus']}"] == ExcelError("#N/A")
            assert values["About", "B3"] != "All checks PASS"


def test_17_choices_from_a_range_on_the_sheet(book: Workbook) -> None:
    lists = [(ws, v) for ws in book for v in ws.data_validations.dataValidation if v.type == "list"]
    assert {ws.title for ws, _ in lists} == {"Inputs", "Cases", "Plan", "Prices", "Sensitivity", "Demand", "Evidence"}
    names = {models.TITLE: catalogue.models().names, gpus.TITLE: catalogue.gpus().names}
    for ws, rule in lists:
        sheet, _, cells = rule.formula1.replace("$", "").rpartition("!")
        values = [c.value for row in book[sheet or ws.title][cells] for c in row]
        if sheet in names:  # a team's own rows included
            assert values == names[sheet] + [None] * OWN_ROWS
        elif ws.title == "Cases":
            assert values == list(case_columns.NAMES)
        elif ws.title == "Demand":
            assert values == list(money_blocks.SHAPES)
        elif ws.title == "Sensitivity":
            assert values == list(tornado.MEASURES)
        elif (sheet or ws.title) == "Inputs":
            assert values in [list(options) for options in inputs_sheet.LISTS.values()]
        else:
            pytest.fail(f"{ws.title} has a list from elsewhere: {rule.formula1}")


def test_18_inputs_unlocked_the_rest_locked(book: Workbook) -> None:
    for ws in book:
        assert ws.protection.sheet
        assert not ws.protection.password
        for row in ws:
            for c in row:
                assert c.protection.locked == (ws.title == "About" or c.style != "Input"), (ws.title, c.coordinate)


def test_19_no_literals_in_formulas(book: Workbook) -> None:
    conversions = {1e3, 1e6, 1e9, 1e12, 3600, 86_400, 60, 12, 8766, 3}
    exempt = {2, 9}  # FLOPs per parameter, K and V, mid-reply; rounding digits
    for ws, cell in formulas(book):
        assert set(numbers(cell)) <= {0, 1} | conversions | exempt, (ws.title, cell.coordinate, cell.value)


def test_20_one_pattern_per_column_of_a_block(book: Workbook) -> None:
    for sheet, (_, rows) in BLOCKS.items():
        for column in book[sheet].iter_cols(min_row=rows[0], max_row=rows[-1]):
            if column[0].data_type == "f":
                assert len({pattern(c) for c in column}) == 1, (sheet, column[0].coordinate)
    columns = {"Audit": "FIJKOPQ", "Refined": "FJKMN", "Checks": "K", "Inputs": "K", "Facts": "KN"}
    for sheet, letters in columns.items():
        for letter in letters:
            first, last = {
                "Inputs": (FIRST_ROW, inputs_sheet.LAST),
                "Checks": (FIRST_ROW, FIRST_ROW + len(checks.checks()) - 1),
                "Facts": (FIRST_ROW, refined_inputs.LAST),
                "Audit": (audit.FIRST_STEP, audit.LAST),
                "Refined": (refined.CHAIN.first, refined.CHAIN.last),
            }[sheet]
            cells = [c for (c,) in book[sheet][f"{letter}{first}:{letter}{last}"] if c.data_type == "f"]
            if sheet == "Inputs":  # choices among them have a check of their own
                cells = [c for c in cells if c.row in {inputs_sheet.ROWS[name] for name in INPUTS}]
            assert len(cells) >= 13
            assert len({pattern(c) for c in cells}) == 1, (sheet, letter)


def test_21_short_formulas_on_one_line(book: Workbook) -> None:
    for ws, cell in formulas(book):
        assert len(cell.value) <= 120, (ws.title, cell.coordinate, len(cell.value))
        assert "\n" not in cell.value


def test_22_no_nested_if(book: Workbook) -> None:
    for ws, cell in formulas(book):
        engine = f"{states.SHEET}!${states.ENGINES}$" in cell.value or states.ENGINE in cell.value
        takes_an_engine = engine and "NA()" in cell.value  # Value may nest two
        assert depth_of_ifs(cell) <= (2 if takes_an_engine else 1), (ws.title, cell.coordinate)


def test_23_no_volatile_or_indirect_functions(book: Workbook) -> None:
    banned = {"OFFSET", "INDIRECT", "NOW", "TODAY", "RAND", "RANDBETWEEN", "INFO", "CELL"}
    assert not banned & {f for _, cell in formulas(book) for f in functions(cell)}


def test_24_no_external_links(book: Workbook, template: Path) -> None:
    with zipfile.ZipFile(template) as parts:
        assert not [n for n in parts.namelist() if "externalLink" in n]
    assert not [cell for _, cell in formulas(book) if "[" in cell.value]


def test_25_no_circularity(book: Workbook) -> None:
    graph = {(ws.title, cell.coordinate): precedents(book, ws, cell) for ws, cell in formulas(book)}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_26_each_quantity_calculated_once(book: Workbook) -> None:
    for column in "DE":
        texts = [c.value for (c,) in book["Audit"][f"{column}{audit.FIRST_STEP}:{column}{audit.LAST}"] if c.value]
        assert len(texts) == len(set(texts)) == len(STEPS)
    values = [c.value for (c,) in book["Checks"]["F6:F18"]]
    assert len(values) == len(set(values))


def test_27_errors_caught_only_in_the_detector(book: Workbook) -> None:
    catching = {"IFERROR", "IFNA", "ISERROR", "ISERR", "ISNA", "ERROR.TYPE", "AGGREGATE"}
    found = [(ws.title, cell.coordinate) for ws, cell in formulas(book) if catching & set(functions(cell))]
    sheet, _, at = book.defined_names["addin_version"].attr_text.replace("$", "").partition("!")
    detectors = {c.coordinate for c in book[states.SHEET][states.VERSIONS] if c.row >= states.FIRST and c.value}
    assert set(found) == {(sheet, at), *((states.SHEET, at) for at in detectors)}


def header_above(cell: Cell) -> str:
    """The nearest header over a cell: a sheet may have several tables."""
    above = (cell.parent.cell(row, cell.column) for row in range(cell.row - 1, 0, -1))
    return str(next((c.value for c in above if c.style == "Column header"), ""))


def test_28_rounding_only_of_counts(book: Workbook) -> None:
    rounding = {"ROUND", "ROUNDUP", "ROUNDDOWN", "INT", "TRUNC", "CEILING", "FLOOR", "MROUND"}
    counts = {
        (sheet.TITLE, f"E{row}")
        for sheet in (audit, refined)
        for name, row in sheet.ROWS.items()
        if name in ("replicas", "max_seqs", "max_seqs_mean", "max_seqs_peak")
    }
    for ws, cell in formulas(book):
        if not rounding & set(functions(cell)):
            continue
        header = header_above(cell)
        check = header in ("Check", "Input check", "As printed") or header.startswith("Check: ")
        labels = (
            "Replicas",
            "Largest batch within the TPOT target",
            "GPUs billed",
            "Whole nodes",
            "Months of the ramp",
        )
        native = {f"Native: {label}" for label in labels}
        count = (ws.title, cell.coordinate) in counts or header in native
        count |= header.startswith(("Native: Resident sequences", "Native: Replicas"))
        count |= cell.style == "Input"  # a range follows the plan: of the batch in whole sequences
        unit = ws[f"C{cell.row}"].value if ws.title == "Cases" else ""
        count |= header.startswith("Native: ") and unit in ("replicas", "sequences")
        count |= header.startswith("Native: Mixed steps")
        count |= header == "Native: Fiscal quarter"  # a quarter is a whole one
        count |= header == "Native" and ws[f"B{cell.row}"].value == "Largest chunk inside the target"  # whole tokens
        whole = ("replicas", "sequences", "nodes", "GPUs")  # of a step of a sheet's own
        count |= header == "Native" and ws[f"D{cell.row}"].value in whole
        count |= ws.title == "Take-away" and ws[f"D{cell.row}"].value in ("replicas", "sequences")
        count |= header == "Distance and place"  # a distance counts to a thousandth
        assert check or count, (ws.title, cell.coordinate, cell.value)


def test_29_no_array_or_lambda(book: Workbook) -> None:
    for _, cell in formulas(book):
        assert not isinstance(cell.value, ArrayFormula | DataTableFormula)
        assert not {"LAMBDA", "LET", "MAP", "REDUCE"} & set(functions(cell))


def test_30_defined_names(book: Workbook, shown: Workbook) -> None:
    names = dict(book.defined_names.items())
    assert len(names) <= 10
    for name, definition in names.items():
        sheet, _, at = definition.attr_text.replace("$", "").partition("!")
        assert shown[sheet][at].value is not None
        assert not re.fullmatch(r"[A-Za-z]{1,3}\d+", name)
        assert name.upper() not in FUNCTIONS


def test_31_a_row_per_step(shown: Workbook) -> None:
    rows = [r for r in shown["Audit"].iter_rows(min_row=audit.FIRST_STEP) if isinstance(r[0].value, int)]
    assert [r[1].value for r in rows] == [s.quantity for s in STEPS]
    columns = headers(shown["Audit"])
    for row, step in zip(rows, STEPS, strict=True):
        cells = {h: shown["Audit"][f"{c}{row[0].row}"].value for h, c in columns.items()}
        for header in ("Formula in words", "Add-in", "Native", "Value", "Unit", "Difference", "Check", "Source"):
            assert cells[header] is not None, (step.name, header)
        assert cells["Formula to paste"].startswith(f"={step.function.name}(")
        assert cells["Check"] == "PASS"


def test_32_checks_sheet(shown: Workbook) -> None:
    ws = shown["Checks"]
    columns = headers(ws)
    rows = [r[0].row for r in ws.iter_rows(min_row=6) if isinstance(r[0].value, int)]
    assert len(rows) >= 13
    for row in rows:
        for header in ("Quantity", "What it means", "Value", "Tolerance", "Check", "When it fails"):
            assert ws[f"{columns[header]}{row}"].value is not None, (row, header)
        assert ws[f"{columns['Check']}{row}"].value == "PASS"
    sheet, _, at = shown.defined_names["checks_failed"].attr_text.replace("$", "").partition("!")
    assert shown[sheet][at].value == 0


@pytest.mark.parametrize(
    ("change", "failing"),
    [
        ({"batch": 192}, {"Resident sequences left beside the batch"}),  # it has no TPOT, so that is not judged
        ({"target_ms": 30}, {"TPOT target missed even in the best case"}),
        ({"gpu_gb": 30}, {"Resident sequences left beside the batch"}),
    ],
)
def test_33_domain_checks_fail_when_they_should(
    change: dict[str, float], failing: set[str], template: Path, book: Workbook
) -> None:
    changes = {("Inputs", f"F{inputs_sheet.ROWS[n]}"): v for n, v in change.items()}
    values = recalculate(template, changes=changes)
    failed = {book["Checks"][f"B{r}"].value for r in range(6, checks.LAST + 1) if values["Checks", f"K{r}"] == "FAIL"}
    assert failed == failing
    assert values["About", "B3"] == f"{len(failing)} FAIL: see Checks"


def test_33_domain_checks(shown: Workbook) -> None:
    rows = table(shown["Checks"], "Quantity")
    assert 0 < rows["GPU busy of the planned fleet at this load"]["Value"].value < 1
    assert rows["The two prices per million tokens, labeled apart"]["Check"].value == "PASS"


def test_34_add_in_status_and_version(shown: Workbook) -> None:
    rows = table(shown["Inputs"], "Argument")
    assert rows["addin_version"]["Value"].value == __version__
    assert rows["engine_active"]["Value"].value == "Add-in"
    assert "Add-in of another version" in table(shown["Checks"], "Quantity")


def test_35_the_shipped_file_shows_the_worked_example(shown: Workbook) -> None:
    results = iter(plan())
    for row in shown["Audit"].iter_rows(min_row=audit.FIRST_STEP):
        if isinstance(row[0].value, int):
            result = next(results)
            assert row[5].value == (
                result.value if isinstance(result.value, str) else pytest.approx(result.value, rel=1e-9)
            )
    assert next(results, None) is None


def test_36_cases_side_by_side(book: Workbook) -> None:
    """One selector; a column per case, the same formula across; the active column by INDEX over them, in each row."""
    ws = book["Cases"]
    selectors = [v.sqref for v in ws.data_validations.dataValidation if v.type == "list"]
    assert [str(cells) for cells in selectors] == [f"{case_columns.ACTIVE}{case_columns.ROWS['active']}"]
    first, last = case_columns.FIRST_CASE, case_columns.LAST_CASE
    for name in (*INPUTS, *(step.name for step in STEPS)):
        row = case_columns.ROWS[name]
        number = f"${case_columns.ACTIVE}${case_columns.ROWS['active_number']}"
        assert ws[f"{case_columns.ACTIVE}{row}"].value == f"=INDEX(${first}{row}:${last}{row},{number})"
    alike = [case_columns.CASE, case_columns.SOUND]
    alike += [{c: case_columns.ENGINE[e, c] for c in case_columns.NAMES} for e in (audit.ADDIN, audit.NATIVE)]
    for step in STEPS:
        for block in alike:
            row = case_columns.ROWS[step.name]
            across = {pattern_across(ws[f"{column}{row}"]) for column in block.values()}
            assert len(block) == len(case_columns.NAMES)
            assert len(across) == 1, (step.name, across)
    worked = case_columns.CASE[case_columns.WORKED]
    for name, argument in INPUTS.items():
        cell = ws[f"{worked}{case_columns.ROWS[name]}"]
        assert cell.value == argument.example
        assert cell.protection.locked
        assert cell.style == "Reference figure"


def test_37_sensitivity_by_row_and_tornado_by_swing(shown: Workbook) -> None:
    ws = shown["Sensitivity"]
    varied = [ws[f"B{head}"].value for head in blocks.VARIED_HEAD.values()]
    assert len(varied) == 10
    for name, head in zip(varied, blocks.VARIED_HEAD.values(), strict=True):
        rows = [ws[f"B{row}"].value for row in range(head + 1, head + 4)]
        assert rows == [f"{name}, low", f"{name}, base", f"{name}, high"]
        low, base, high = (ws[f"C{row}"].value for row in range(head + 1, head + 4))
        assert low <= base <= high
        assert low < high
    first, last = tornado.SORTED_ROWS
    swings = [ws[f"F{row}"].value for row in range(first, last + 1)]
    assert swings == sorted(swings, reverse=True)
    assert {ws[f"B{row}"].value for row in range(first, last + 1)} == set(varied)
    chart = ws._charts[0]
    assert (chart.type, chart.grouping) == ("bar", "stacked")
    assert {str(s.val.numRef.f) for s in chart.ser} == {f"'Sensitivity'!${c}${first}:${c}${last}" for c in "OPQ"}


def test_38_charts(book: Workbook, template: Path) -> None:
    charts = [c for ws in book for c in ws._charts]
    assert charts
    for chart in charts:
        for title in (chart.title, chart.x_axis.title, chart.y_axis.title):
            assert title is not None
    with zipfile.ZipFile(template) as parts:
        drawings = [parts.read(n).decode() for n in parts.namelist() if re.match(r"xl/drawings/drawing\d+\.xml", n)]
        xml = [parts.read(n).decode() for n in parts.namelist() if re.match(r"xl/charts/chart\d+\.xml", n)]
    described = re.findall(r'<\w*:?cNvPr[^>]* descr="([^"]{20,})"', "".join(drawings))
    assert len(described) == len(charts) == len(xml)
    for text in xml:
        titles = ["".join(t) for t in re.findall(r"<a:t>([^<]*)</a:t>|<t>([^<]*)</t>", text)]
        axes = [
            t for t in titles if re.search(r"\[(.+)\]|USD", t) or t in ("Case", "Layout", "Plan")
        ]  # names have no unit
        assert len(axes) == 2, titles
        assert all(unit in UNITS for t in axes for unit in re.findall(r"\[(.+)\]", t))


def test_39_signs(shown: Workbook) -> None:
    assert "positive or zero; a change may be below it" in str(about(shown)["Sign convention"][0])
    changes = {n for f in FUNCTIONS.values() for n, a in f.args.items() if isinstance(a, Number) and a.fits(-0.5)}
    assert all("change" in n or "growth" in n for n in changes), changes
    for ws in shown:
        difference = headers(ws).get("Difference")
        if ws.title == "Functions":  # text about the registry, with the examples of what may be negative
            continue
        for row in ws.iter_rows(min_row=6):
            for c in row:
                if row[2].value in changes or str(row[1].value).endswith("_EFFECT"):
                    continue
                if isinstance(c.value, int | float) and c.column_letter != difference:
                    assert c.value >= 0, (ws.title, c.coordinate)


def test_40_styles_and_legend(book: Workbook, shown: Workbook) -> None:
    facts = about(shown)
    for ws in book:
        for row in ws:
            for c in row:
                if c.value is None:
                    continue
                if c.hyperlink is None:
                    assert c.style != "Normal", (ws.title, c.coordinate)
                    assert c.style in facts, c.style
                blue, fill = c.font.color.rgb == "000000FF" if c.font.color else False, c.fill.fgColor.rgb == "00FFF2CC"
                assert blue == fill == (c.style == "Input"), (ws.title, c.coordinate)


def luminance(rgb: str) -> float:
    channels = [int(rgb[-6:][i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(text: str, fill: str) -> float:
    light, dark = sorted((luminance(text), luminance(fill)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_41_contrast_and_words(book: Workbook, shown: Workbook) -> None:
    for ws in book:
        for row in ws:
            for c in row:
                if c.value is not None:
                    text = c.font.color.rgb if c.font.color and isinstance(c.font.color.rgb, str) else "00000000"
                    fill = c.fill.fgColor.rgb if c.fill.fill_type else "00FFFFFF"
                    assert contrast(text, fill) >= 4.5, (ws.title, c.coordinate)
        for ranges in ws.conditional_formatting:
            for rule in ranges.rules:
                fill = rule.dxf.fill.bgColor.rgb if rule.dxf.fill else "00FFFFFF"
                assert contrast(rule.dxf.font.color.rgb, fill) >= 4.5
    results = {c.value for ws in shown for row in ws for c in row if c.style == "Check" and ws.title != "About"}
    assert results <= {"PASS", "FAIL", "inputs changed", "All checks PASS", "fits", "overflows"}


def test_42_print_setup(book: Workbook) -> None:
    for ws in book:
        assert not ws.merged_cells.ranges
        assert ws.print_area
        tables = (
            "Caching",
            "Calibrate",
            "Plan",
            "Evidence",
            "Compare",
            "Disaggregated",
            "Commit",
            "Demand",
            "Own",
            "Profile",
            "Mix",
            "Offers",
            "Options",
            "Sensitivity",
            "Utilization",
            "Buy or run",
            "Terms",
            "TTFT",
            "Budget",
            "Migration",
            "Chargeback",
        )  # with headers of their own
        several = ws.title in tables
        assert ws.print_title_rows == ("$1:$3" if several else "$5:$5")
        assert ws.page_setup.fitToWidth == 1
        assert ws.sheet_properties.pageSetUpPr.fitToPage


def test_43_functions_sheet(shown: Workbook) -> None:
    ws = shown["Functions"]
    rows = [[c.value for c in row] for row in ws.iter_rows(min_row=6, max_col=9)]
    for spec in FUNCTIONS.values():
        mine = [r for r in rows if r[1] == spec.name]
        assert mine[0][8] == f"={spec.formula()}"
        by_argument = {r[2]: r for r in mine[1:]}
        for name, argument in spec.args.items():
            _, _, _, meaning, unit, bounds, default, example, _ = by_argument[name]
            assert (meaning, unit, bounds) == (argument.meaning, argument.unit, argument.bounds)
            assert default == ("required" if argument.default is REQUIRED else argument.default)
            assert example == argument.example or example == pytest.approx(argument.example, rel=1e-14)


def test_44_stored_spelling(book: Workbook) -> None:
    for _, cell in formulas(book):
        assert cell.value.isascii()
        assert ";" not in re.sub(r'"[^"]*"', "", cell.value)
        assert all(re.fullmatch(r"[A-Z][A-Z0-9_.]*", f) for f in functions(cell))
    for ws in book:
        for row in ws:
            for c in row:
                assert not (c.data_type == "s" and looks_like_number(c.value)), (ws.title, c.coordinate)
