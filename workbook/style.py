"""Colors, named styles and number formats. Blue on pale yellow means input, and nothing else does."""

from typing import Final

from openpyxl import Workbook
from openpyxl.formatting.rule import FormulaRule
from openpyxl.styles import Alignment, Border, Font, NamedStyle, PatternFill, Protection, Side
from openpyxl.worksheet.worksheet import Worksheet

NAVY: Final = "1F3864"
MUTED: Final = "595959"  # 7.0:1 on white
GOOD: Final = ("E2F0D9", "375623")  # fill, text
BAD: Final = ("F8D7DA", "9C0006")
CAUTION: Final = ("FCE4D6", "833C0B")
BAND: Final = "EAEFF7"

# Number format of each unit (capacity/units.py); a test holds the two lists together.
FORMATS: Final[dict[str, str]] = {
    "req/s": "#,##0.0##",
    "tok/s": "#,##0",
    "tokens": "#,##0",
    "us/token": "0.000",
    "ms": "#,##0.00",
    "us": "#,##0.00",
    "s": "#,##0.0##",
    "h": "#,##0.0##",
    "replica-s": "0.0000",
    "replica-s/s": "#,##0.000",
    "billion": "#,##0.000",
    "B/param": "0.00###",
    "B/element": "0.00##",
    "B/token": "#,##0",
    "B/sequence": "#,##0",
    "experts": "#,##0",
    "kernels": "#,##0",
    "GB": "#,##0.0",
    "GB/GPU": "#,##0.000",
    "GB/s": "#,##0",
    "TB/s": "0.00#",
    "TFLOP/s": "#,##0",
    "TOP/s": "#,##0",
    "fraction": "0.0%",
    "layers": "#,##0",
    "heads": "#,##0",
    "elements": "#,##0",
    "sequences": "#,##0",
    "replicas": "#,##0",
    "GPUs": "#,##0",
    "nodes": "#,##0",
    "USD/GPU-h": '"$"#,##0.00',
    "USD/h": '"$"#,##0.00',
    "USD/month": '"$"#,##0',
    "M tokens/month": "#,##0",
    "USD/GPU-month": '"$"#,##0.00',
    "USD/M tokens": '[=0]"$"0.00;[<0.01]"$"0.000000;"$"#,##0.00',
    "USD": '"$"#,##0.00',
    "USD/year": '"$"#,##0',
    "USD/kWh": '"$"0.000',
    "USD/kW-month": '"$"#,##0.00',
    "kW": "#,##0.0",
    "minutes": "#,##0.0",
    "months": "#,##0",
    "years": "#,##0.0",
    "replica-h": "#,##0.0",
    "GPU-h": "#,##0.0",
    "GPU-months": "#,##0.0",
    "users": "#,##0",
    "requests": "#,##0",
    "M requests": "#,##0.00",
    "GPU-h/M tokens": "0.0000",
    "of cost": "0.0%",
    "of revenue": "0.0%",
    "text": "General",
    "number or text": "General",
    "any": "General",
    "count": "#,##0",
    "date": "yyyy-mm-dd",
}


def format_of(unit: str) -> str:
    """The number format of a unit."""
    if unit not in FORMATS:
        raise ValueError(f"the unit {unit!r} has no number format: add one to FORMATS in workbook/style.py")
    return FORMATS[unit]


_HAIR = Border(bottom=Side(style="hair", color="BFBFBF"))
_BOX = Border(*(Side(style="thin", color="BFBFBF"),) * 4)
_BODY = Alignment(vertical="center")


def _style(name: str, font: Font, *, fill: str = "", align: Alignment = _BODY, **more: object) -> NamedStyle:
    style = NamedStyle(name, font=font, alignment=align, **more)
    if fill:
        style.fill = PatternFill("solid", fgColor=fill)
    return style


def font(**details: object) -> Font:
    """The house font."""
    return Font(**{"name": "Calibri", "size": 10, **details})  # type: ignore[arg-type]  # openpyxl's stubs want names


STYLES: Final[dict[str, str]] = {
    "Sheet title": "Title of a sheet",
    "Subtitle": "What the sheet is for",
    "Answer": "The answer in the head of Plan",
    "Column header": "Header of a table",
    "Section": "Section of a table",
    "Input": "A cell that you may change",
    "Calculation": "A computed cell",
    "Result": "A computed cell that other sheets use",
    "Label": "The name of a row",
    "Note": "Words, units, sources",
    "Code": "Formula text to paste elsewhere",
    "Fact": "A figure of the catalogue, with its source in the row",
    "Reference figure": "A figure printed in the worked example",
    "Check": "PASS, FAIL or inputs changed",
}


def add_styles(book: Workbook) -> None:
    """Register the named styles of STYLES."""
    book._named_styles["Normal"].font = font()
    wrap = Alignment(vertical="center", wrap_text=True)
    center = Alignment(vertical="center", horizontal="center")
    header = Alignment(vertical="center", wrap_text=True)
    for style in (
        _style("Sheet title", font(size=16, bold=True, color=NAVY)),
        _style("Subtitle", font(italic=True, color=MUTED)),
        _style("Answer", font(size=16, bold=True, color=NAVY)),
        _style("Column header", font(bold=True, color="FFFFFF"), fill=NAVY, align=header),
        _style("Section", font(bold=True, color=NAVY), fill=BAND),
        _style("Input", font(color="0000FF"), fill="FFF2CC", border=_BOX, protection=Protection(locked=False)),
        _style("Calculation", font(), border=_HAIR),
        _style("Result", font(bold=True), border=_HAIR),
        _style("Label", font(), align=wrap, border=_HAIR),
        _style("Note", font(color=MUTED), align=wrap, border=_HAIR),
        _style("Code", font(name="Courier New", size=8, color=MUTED), align=wrap, border=_HAIR),
        _style("Fact", font(), border=_HAIR),
        _style("Reference figure", font(color=MUTED), border=_HAIR),
        _style("Check", font(bold=True), align=center, border=_HAIR),
    ):
        book.add_named_style(style)


def color_words(ws: Worksheet, cells: str, words: dict[str, tuple[str, str]]) -> None:
    """Color cells by the words that they begin with; the words themselves carry the meaning."""
    first = cells.partition(":")[0].replace("$", "")
    for word, (fill, text) in words.items():
        rule = FormulaRule(
            formula=[f'LEFT({first},{len(word)})="{word}"'],
            fill=PatternFill("solid", bgColor=fill),
            font=Font(color=text),
        )
        ws.conditional_formatting.add(cells, rule)


def color_checks(ws: Worksheet, cells: str) -> None:
    """PASS green, FAIL red, 'inputs changed' amber."""
    color_words(ws, cells, {"PASS": GOOD, "FAIL": BAD, "inputs changed": CAUTION})


def gray_when(ws: Worksheet, cells: str, condition: str) -> None:
    """Gray text while a condition holds, e.g. for the engine that is not in use."""
    ws.conditional_formatting.add(cells, FormulaRule(formula=[condition], font=Font(color="767676", bold=False)))
