"""The values of a document's formula cells, read by LibreOffice's Python: a few requests for tens of thousands."""

SHEET = "errors of the others"
FORMULAS = 16  # com.sun.star.sheet.CellFlags.FORMULA
ERRORS = {
    503: "#NUM!",
    519: "#VALUE!",
    521: "#NULL!",
    524: "#REF!",
    525: "#NAME?",
    532: "#DIV/0!",
    32767: "#N/A",
}


def error(code):
    """An error value by LibreOffice's number, as the protocol has it."""
    return {"error": ERRORS.get(code, f"Err:{code}")}


class FormulaCells:
    """Those of one document; the cells that were ever an error keep a formula that asks which, on a sheet of ours."""

    def __init__(self, document):
        self._sheets = document.Sheets
        self._asked = {}  # address -> row on that sheet

    def read(self):
        """[sheet, first column, first row, rows of values] for each rectangle of formula cells."""
        found, unclear = [], []
        for sheet in self._sheets:
            name = sheet.Name
            areas = sheet.queryContentCells(FORMULAS).getRangeAddresses() if name != SHEET else ()
            if not areas:
                continue
            areas = [(a.StartColumn, a.StartRow, a.EndColumn, a.EndRow) for a in areas]
            # all values in one request, and all errors in another: thousands of cells are read many times over
            last = max(a[2] for a in areas), max(a[3] for a in areas)
            data = sheet.getCellRangeByPosition(0, 0, *last).getDataArray()
            for left, top, right, bottom in areas:
                rows = [list(line[left : right + 1]) for line in data[top : bottom + 1]]
                found.append([name, left, top, rows])
                unclear += [
                    (row, j, (name, left + j, top + i))
                    for i, row in enumerate(rows)
                    for j, x in enumerate(row)
                    if x is None or x == ""
                ]
        codes = self._errors([at for *_, at in unclear])
        for row, j, at in unclear:
            row[j] = error(codes[at]) if codes[at] else ""
        return found

    def _errors(self, cells):
        """The code of each cell's error, 0 where there is none."""
        if new := [at for at in cells if at not in self._asked]:
            if not self._asked:
                self._sheets.insertNewByName(SHEET, self._sheets.Count)
            first = len(self._asked)
            ours = self._sheets.getByName(SHEET).getCellRangeByPosition(0, first, 0, first + len(new) - 1)
            ours.setFormulaArray([[f"=IFERROR(ERRORTYPE(${s!r}.{_column(c)}{r + 1});0)"] for s, c, r in new])
            self._asked |= {at: first + i for i, at in enumerate(new)}
        if not cells:
            return {}
        answers = self._sheets.getByName(SHEET).getCellRangeByPosition(0, 0, 0, len(self._asked) - 1).getDataArray()
        return {at: int(answers[self._asked[at]][0]) for at in cells}

    def forget(self):
        """Take the sheet away: the document is as it was loaded."""
        if self._asked:
            self._sheets.removeByName(SHEET)
            self._asked = {}


def _column(index):
    """The letters of a column, counted from 0."""
    letters = ""
    while index >= 0:
        index, letter = divmod(index, 26)
        letters, index = chr(65 + letter) + letters, index - 1
    return letters
