"""LibreOffice behind a pipe: one JSON request a line on stdin, one JSON answer a line on stdout.

Runs under a Python that can `import uno` (LibreOffice's or the system's), which is seldom the tests' own: hence a
process of its own with nothing but the standard library. office/client.py is the other end, and documents the verbs.

    request  {"do": "put", "sheet": "Inputs", "address": "F7", "value": 0.4}
    answer   {"ok": RESULT} or {"failed": "SENTENCE"}
    values   number, text, null (blank) or {"error": "#NUM!"}
"""

import json
import subprocess
import sys
import time
import uuid
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.uno import Exception as UnoException

START_WITHIN_S = 120
STOP_WITHIN_S = 30
RESTART = 81  # soffice's way of asking, after it has made a fresh profile, to be started again
SCRATCH = "errors of the others"
FORMULAS = 16  # com.sun.star.sheet.CellFlags.FORMULA
CONTENTS = 1 | 2 | 4 | 16  # com.sun.star.sheet.CellFlags: value, date, text, formula; the style stays
FILTERS = {".pdf": "calc_pdf_Export", ".xlsx": "Calc MS Excel 2007 XML", ".ods": "calc8"}
ERRORS = {
    503: "#NUM!",
    519: "#VALUE!",
    521: "#NULL!",
    524: "#REF!",
    525: "#NAME?",
    532: "#DIV/0!",
    32767: "#N/A",
}


class Program:
    """The soffice process and the connection to it."""

    def __init__(self, binary, profile, bundled):
        pipe = f"capacity{uuid.uuid4().hex}"
        self._command = [
            binary,
            *("--headless", "--invisible", "--norestore", "--nologo", "--nodefault"),
            f"-env:UserInstallation={Path(profile).as_uri()}",
            f"-env:BUNDLED_EXTENSIONS={Path(bundled).as_uri()}",
            f"--accept=pipe,name={pipe};urp;",
        ]
        self._url = f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext"
        self._start()
        try:
            self._connect()
        except BaseException:
            self._kill()
            raise

    def _start(self):
        # stdout belongs to the protocol, so whatever soffice prints goes elsewhere
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=sys.stderr)

    def _connect(self):
        local = uno.getComponentContext()
        resolver = local.ServiceManager.createInstance("com.sun.star.bridge.UnoUrlResolver")
        deadline = time.monotonic() + START_WITHIN_S
        while time.monotonic() < deadline:
            try:
                self.context = resolver.resolve(self._url)
                self.desktop = self.service("com.sun.star.frame.Desktop")
                return
            except UnoException:  # not yet listening, not yet complete, or ending to be started again
                if (code := self._process.poll()) == RESTART:
                    self._start()
                elif code is not None:
                    raise RuntimeError(f"soffice ended with exit code {code} while it started") from None
                time.sleep(0.05)
        raise RuntimeError(f"soffice did not answer within {START_WITHIN_S} s")

    def _kill(self):
        self._process.kill()
        self._process.wait()

    def service(self, name):
        """A UNO service of the running office."""
        return self.context.ServiceManager.createInstanceWithContext(name, self.context)

    def stop(self):
        """End the office; kill it when it does not listen."""
        try:
            self.desktop.terminate()
            self._process.wait(STOP_WITHIN_S)
        except (UnoException, subprocess.TimeoutExpired):
            self._kill()


class Session:
    """One document at a time; each public method is a verb of the protocol."""

    def __init__(self, program):
        self._program = program
        self._document = None

    def open(self, url):
        """Load a document in place of the current one."""
        self.close()
        self._document = self._program.desktop.loadComponentFromURL(url, "_blank", 0, (_property("Hidden", True),))
        if self._document is None:
            raise RuntimeError(f"LibreOffice cannot open {url}")

    def close(self):
        """Close the document without saving it."""
        if self._document is not None:
            self._document.close(True)
            self._document = None

    def sheets(self):
        """Names of the sheets."""
        return self._document.Sheets.ElementNames

    def add_sheet(self, name):
        """Append an empty sheet."""
        self._document.Sheets.insertNewByName(name, self._document.Sheets.Count)

    def put(self, sheet, address, value):
        """Write a value into a cell, or blank it."""
        cell = self._range(sheet, address)
        if value is None:
            cell.clearContents(CONTENTS)
        elif isinstance(value, bool):
            cell.setFormula("=TRUE()" if value else "=FALSE()")  # Calc has no other way to put a boolean
        elif isinstance(value, str):
            cell.setString(value)
        else:
            cell.setValue(value)

    def put_formula(self, sheet, address, text):
        """Write a formula into a cell."""
        self._range(sheet, address).setFormula(text)

    def put_block(self, sheet, address, text):
        """Write an array formula over a range."""
        self._range(sheet, address).setArrayFormula(text)

    def read(self, sheet, address):
        """The values of a range, as rows."""
        return _values(self._range(sheet, address))

    def text(self, sheet, address):
        """What the cell shows."""
        return self._range(sheet, address).String

    def formula_cells(self):
        """Every formula cell: [sheet, first column, first row, rows of values] for each rectangle of them."""
        found, unclear = [], []
        for sheet in self._document.Sheets:
            areas = sheet.queryContentCells(FORMULAS).getRangeAddresses()
            if not areas:
                continue
            # all values in one request, and all errors in another: thousands of cells are read many times over
            last = max(a.EndColumn for a in areas), max(a.EndRow for a in areas)
            data = sheet.getCellRangeByPosition(0, 0, *last).getDataArray()
            for a in areas:
                rows = [list(data[i][a.StartColumn : a.EndColumn + 1]) for i in range(a.StartRow, a.EndRow + 1)]
                found.append([sheet.Name, a.StartColumn, a.StartRow, rows])
                unclear += [
                    (rows[i], j, f"${sheet.Name!r}.{_column(a.StartColumn + j)}{a.StartRow + i + 1}")
                    for i, row in enumerate(rows)
                    for j, x in enumerate(row)
                    if x is None or x == ""
                ]
        for (row, j, _), code in zip(unclear, self._errors([at for *_, at in unclear]), strict=True):
            row[j] = "" if code is None else {"error": ERRORS.get(code, f"Err:{code}")}
        return found

    def _errors(self, cells):
        """The code of each cell's error, None where there is none: asked by formulas on a sheet of their own."""
        if not cells:
            return []
        sheets = self._document.Sheets
        sheets.insertNewByName(SCRATCH, sheets.Count)
        column = sheets.getByName(SCRATCH).getCellRangeByPosition(0, 0, 0, len(cells) - 1)
        column.setFormulaArray([[f"=IFERROR(ERRORTYPE({at});0)"] for at in cells])
        codes = [int(code) or None for (code,) in column.getDataArray()]
        sheets.removeByName(SCRATCH)
        return codes

    def recalculate(self):
        """Calculate every formula again; seconds that it took."""
        begin = time.perf_counter()
        self._document.calculateAll()
        return time.perf_counter() - begin

    def store(self, url):
        """Save a copy, in the format that its extension names."""
        name = FILTERS[Path(url).suffix]
        self._document.storeToURL(url, (_property("FilterName", name),))

    def functions(self, names):
        """What the function wizard knows about functions: {name: {category, description, arguments} or null}."""
        listed = self._program.service("com.sun.star.sheet.FunctionDescriptions")
        return {name: _description(listed.getByName(name)) if listed.hasByName(name) else None for name in names}

    def load(self, url, implementation):
        """Load an extension's Python as the office does, which keeps to itself why it cannot; the exception says it."""
        try:
            loader = self._program.service("com.sun.star.loader.Python")
        except UnoException as e:
            raise RuntimeError(f"the Python inside LibreOffice does not start: {e}") from None
        loader.activate(implementation, "", url, None)

    def _range(self, sheet, address):
        found = self._document.Sheets.getByName(sheet).getCellRangeByName(address)
        where = found.RangeAddress
        single = where.StartColumn == where.EndColumn and where.StartRow == where.EndRow
        return found.getCellByPosition(0, 0) if single else found


def _property(name, value):
    made = PropertyValue()
    made.Name, made.Value = name, value
    return made


def _values(area):
    if hasattr(area, "getError"):
        return [[_value(area, _data(area))]]
    return [
        [_value(area.getCellByPosition(j, i), x) if x is None or x == "" else x for j, x in enumerate(row)]
        for i, row in enumerate(area.getDataArray())
    ]


def _column(index):
    """The letters of a column, counted from 0."""
    letters = ""
    while index >= 0:
        index, letter = divmod(index, 26)
        letters, index = chr(65 + letter) + letters, index - 1
    return letters


def _data(cell):
    return cell.getDataArray()[0][0]


def _value(cell, data):
    """A cell's value; its data alone does not tell an error, a blank and an empty text apart."""
    if code := cell.getError():
        return {"error": ERRORS.get(code, f"Err:{code}")}
    return None if data == "" and not cell.getFormula() else data


def _description(properties):
    found = {p.Name: p.Value for p in properties}
    arguments = [[a.Name, a.Description, a.IsOptional] for a in found["Arguments"]]
    return {"category": found["Category"], "description": found["Description"], "arguments": arguments}


def serve(session):
    """Answer requests until stdin ends."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(session, request.pop("do"))(**request)}
        except Exception as e:  # whatever UNO raises must reach the test, not end the session
            answer = {"failed": f"{type(e).__name__}: {str(e).partition(', traceback follows')[0]}"}
        print(json.dumps(answer), flush=True)
    session.close()  # an office that ends with a document open leaves its lock file behind


if __name__ == "__main__":
    try:
        office = Program(*sys.argv[1:])
    except RuntimeError as e:
        print(json.dumps({"failed": str(e)}), flush=True)
        sys.exit(1)
    try:
        print(json.dumps({"ok": "ready"}), flush=True)
        serve(Session(office))
    finally:
        office.stop()
