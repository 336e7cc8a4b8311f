"""LibreOffice behind a pipe: one JSON request a line on stdin, one JSON answer a line on stdout.

Runs under a Python that can `import uno` (LibreOffice's or the system's), which is seldom the tests' own: hence a
process of its own with nothing but the standard library. office/client.py is the other end, and documents the verbs.

    request  {"do": "put", "sheet": "Inputs", "address": "F7", "value": 0.4}
    answer   {"ok": RESULT} or {"failed": "SENTENCE"}
    values   number, text, null (blank) or {"error": "#NUM!"}
"""

import gc
import json
import subprocess
import sys
import time
import uuid
from pathlib import Path

import uno
from com.sun.star.beans import PropertyValue
from com.sun.star.uno import Exception as UnoException
from formula_cells import SHEET, FormulaCells, error

START_WITHIN_S = 120
STOP_WITHIN_S = 30
RESTART = 81  # soffice's way of asking, after it has made a fresh profile, to be started again
CONTENTS = 1 | 2 | 4 | 16  # com.sun.star.sheet.CellFlags: value, date, text, formula; the style stays
FILTERS = {".pdf": "calc_pdf_Export", ".xlsx": "Calc MS Excel 2007 XML", ".ods": "calc8"}


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
        self._document = self._cells = None
        self._shelf = {}  # address -> what `open` makes of it

    def open(self, url):
        """Load a document in place of the current one."""
        self.close()
        self._document = self._program.desktop.loadComponentFromURL(url, "_blank", 0, (_property("Hidden", True),))
        if self._document is None:
            raise RuntimeError(f"LibreOffice cannot open {url}")
        self._cells = FormulaCells(self._document)

    def take(self, url):
        """The document that was shelved, in place of the current one; the first time it is loaded and calculated."""
        self.close()
        if url in self._shelf:
            self._document, self._cells = self._shelf.pop(url)
        else:
            self.open(url)
            self.recalculate()

    def shelve(self, url):
        """Put the current document aside for the next `take`, as it is."""
        self._shelf[url] = self._document, self._cells
        self._document = self._cells = None

    def close(self):
        """Close the document without saving it."""
        if self._document is not None:
            self._document.close(True)
            self._document = self._cells = None

    def end(self):
        """Close what is open and what is shelved: an office that ends with a document open leaves its lock file."""
        self.close()
        for document, _ in self._shelf.values():
            document.close(True)

    def sheets(self):
        """Names of the sheets."""
        return [name for name in self._document.Sheets.ElementNames if name != SHEET]

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
        return self._cells.read()

    def recalculate(self):
        """Calculate every formula again; seconds that it took."""
        begin = time.perf_counter()
        self._document.calculateAll()
        return time.perf_counter() - begin

    def store(self, url):
        """Save a copy, in the format that its extension names."""
        name = FILTERS[Path(url).suffix]
        self._cells.forget()
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


def _data(cell):
    return cell.getDataArray()[0][0]


def _value(cell, data):
    """A cell's value; its data alone does not tell an error, a blank and an empty text apart."""
    if code := cell.getError():
        return error(code)
    return None if data == "" and not cell.getFormula() else data


def _description(properties):
    found = {p.Name: p.Value for p in properties}
    arguments = [[a.Name, a.Description, a.IsOptional] for a in found["Arguments"]]
    return {"category": found["Category"], "description": found["Description"], "arguments": arguments}


def serve(session):
    """Answer requests until stdin ends."""
    gc.disable()  # it would look through each answer's tens of thousands of lists, of which none is in a circle
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(session, request.pop("do"))(**request)}
        except Exception as e:  # whatever UNO raises must reach the test, not end the session
            answer = {"failed": f"{type(e).__name__}: {str(e).partition(', traceback follows')[0]}"}
        print(json.dumps(answer), flush=True)
    session.end()


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
