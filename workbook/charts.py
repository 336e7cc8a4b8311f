"""Charts: title, axis titles with units, and a text for those who cannot see them."""

from collections.abc import Mapping
from typing import Any, Final

from openpyxl.chart import BarChart, LineChart, Reference, Series
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.drawing.line import LineProperties
from openpyxl.worksheet.worksheet import Worksheet

from .style import NAVY

CHART_ROWS: Final = 19  # rows that a chart covers
PALE: Final = "F4B183"  # told apart from navy in gray as well
COLORS: Final = ("9C0006", "2E75B6", "595959", "548235")  # told apart by dash as well
STACK: Final = (NAVY, "2E75B6", "9DC3E6", "F4B183", "BFBFBF")  # from dark to pale


def line_chart(ws: Worksheet, at: str, title: str, axes: tuple[str, str], x: str, lines: Mapping[str, str]) -> None:
    """Lines over the same categories; `lines` maps a name to its cells."""
    chart = LineChart()
    for (name, cells), color, dash in zip(lines.items(), COLORS, ("solid", "solid", "dash", "sysDot"), strict=False):
        series = _series(ws, name, cells)
        series.graphicalProperties.line.solidFill = color
        series.graphicalProperties.line.dashStyle = dash
        series.graphicalProperties.line.width = 28_000  # EMU, 2.2 pt
        series.smooth = False
        chart.append(series)
    chart.legend.position = "b"
    _place(ws, chart, at, title, axes, x)


def bar_chart(ws: Worksheet, at: str, title: str, axes: tuple[str, str], x: str, bars: Mapping[str, str]) -> None:
    """Columns over categories, side by side where there are two of them, with a legend."""
    chart = BarChart()
    for (name, cells), color in zip(bars.items(), (NAVY, PALE), strict=False):
        series = _series(ws, name, cells)
        series.graphicalProperties.solidFill = color
        chart.append(series)
    chart.gapWidth = 80
    if len(bars) > 1:
        chart.legend.position = "b"
    else:
        chart.legend = None
    _place(ws, chart, at, title, axes, x)


def stacked_chart(ws: Worksheet, at: str, title: str, axes: tuple[str, str], x: str, parts: Mapping[str, str]) -> None:
    """Columns of parts that add up, the first at the bottom."""
    chart = BarChart()
    chart.grouping, chart.overlap, chart.gapWidth = "stacked", 100, 40
    for (name, cells), color in zip(parts.items(), STACK, strict=False):
        series = _series(ws, name, cells)
        series.graphicalProperties.solidFill = color
        chart.append(series)
    chart.legend.position = "b"
    _place(ws, chart, at, title, axes, x)
    chart.width, chart.y_axis.number_format = 30, '"$"#,##0'


def tornado_chart(ws: Worksheet, at: str, title: str, axes: tuple[str, str], x: str, parts: Mapping[str, str]) -> None:
    """Bars to both sides of a base, the first category on top; the first part is the empty space before the bar."""
    chart = BarChart()
    chart.type, chart.grouping, chart.overlap, chart.gapWidth = "bar", "stacked", 100, 40
    for (name, cells), color in zip(parts.items(), ("", NAVY, COLORS[0]), strict=True):
        series = _series(ws, name, cells)
        if color:
            series.graphicalProperties.solidFill = color
        else:
            series.graphicalProperties.noFill = True
        series.graphicalProperties.line.noFill = True
        chart.append(series)
    chart.legend = None  # left of the base is less, right of it more
    _place(ws, chart, at, title, axes, x)
    chart.x_axis.scaling.orientation = "maxMin"
    chart.y_axis.crosses = "max"  # below the last category
    chart.y_axis.number_format = "General"


def alt_text(chart: Any) -> str:
    """What a chart shows, in words: made of its title, axes and series."""
    names = ", ".join(s.tx.v for s in chart.series)
    return f"{_text(chart.title)}: {names}; {_text(chart.y_axis.title)} over {_text(chart.x_axis.title)}"


def _series(ws: Worksheet, name: str, cells: str) -> Series:
    return Series(_reference(ws, cells), title=name)


def _reference(ws: Worksheet, cells: str) -> Reference:
    """Cells of the sheet, or of another one that they name."""
    return Reference(ws, range_string=cells if "!" in cells else f"'{ws.title}'!{cells}")


def _place(ws: Worksheet, chart: Any, at: str, title: str, axes: tuple[str, str], x: str) -> None:
    chart.title = title
    chart.x_axis.title, chart.y_axis.title = axes
    chart.x_axis.delete = chart.y_axis.delete = False  # openpyxl hides axes by default in Excel
    chart.y_axis.scaling.min = 0
    money = '"$"#,##0' if "[USD]" in axes[1] else '"$"#,##0.00'
    chart.y_axis.number_format = money if "USD" in axes[1] else "0%" if "[fraction]" in axes[1] else "#,##0"
    chart.y_axis.majorGridlines.spPr = GraphicalProperties(ln=LineProperties(solidFill="D9D9D9"))
    chart.set_categories(_reference(ws, x))
    chart.width, chart.height = 18.5, 9
    ws.add_chart(chart, at)


def _text(title: Any) -> str:
    return "".join(run.t for paragraph in title.tx.rich.p for run in paragraph.r or ())
