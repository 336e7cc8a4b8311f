"""The lower half of Sensitivity: low, high and swing of each assumption, the same sorted by swing, and its chart."""

from typing import Final

from openpyxl.formatting.rule import Rule
from openpyxl.styles import Font
from openpyxl.styles.differential import DifferentialStyle
from openpyxl.styles.numbers import NumberFormat
from openpyxl.worksheet.worksheet import Worksheet

from capacity.plan import INPUTS

from ..charts import tornado_chart
from ..frame import FIRST_ROW, Column, header, put, put_text, section
from ..input_rows import one_of
from ..lines import long_text
from . import refined
from .blocks import MEASURE_ROW, SPREADS, VARIED_LAST
from .plan_rows import IS_REFUSED

# What the tornado can show: name on the sheet -> the row of the chain.
MEASURES: Final = {"GPUs": "gpus", "USD per hour": "cost_per_hour", "USD per M output tokens": "usd_per_m_tokens"}
_RESULT: Final = dict(zip(MEASURES.values(), "FGH", strict=True))  # its column in the plans above
SWING_ROWS: Final = (MEASURE_ROW + 2, MEASURE_ROW + 1 + len(SPREADS))
SORTED_ROWS: Final = (SWING_ROWS[1] + 3, SWING_ROWS[1] + 2 + len(SPREADS))
LAST: Final = SORTED_ROWS[1]
SWINGS: Final = dict(zip(MEASURES.values(), ("CDE", "FGH", "IJK"), strict=True))
LOW_ROW, HIGH_ROW, LOW, HIGH, SWING, KEY = "NOPQRS"  # working columns of the swings
PLACE, START, BELOW, ABOVE, AT_LOW, AT_HIGH = "NOPQRS"  # and of the sorted ones
CHOSEN: Final = f"$N${MEASURE_ROW}"
_LIST_FIRST: Final = MEASURE_ROW - 2
LIST: Final = f"$U${_LIST_FIRST}:$U${_LIST_FIRST + len(MEASURES) - 1}"
_USD: Final = '"$"#,##0.00'
_TRIED: Final = "[>=100]#,##0;General"
_NO_SWING: Final = "no output tokens"  # the one case in which a price has no number


def write(ws: Worksheet) -> None:
    """Selector, swings, swings in order, chart."""
    _selector(ws)
    swings = SWING_ROWS[0]
    names = [f"{m}: {case}" for m in MEASURES for case in ("low", "high", "swing")]
    working = ("Row of low", "Row of high", "Low, as chosen", "High, as chosen", "Swing, as chosen", "Sorted by")
    header(ws, swings - 1, [*_head("Swing of each assumption", names), *(Column(w, 0, "right") for w in working)])
    ws.row_dimensions[swings - 1].height = 46
    for row, name in enumerate(SPREADS, swings):
        _swing(ws, row, INPUTS[name].label)
    first, last = SORTED_ROWS
    names = ["As chosen: low", "As planned", "High", "Swing", "Low value", "High value", "", "", "KV cache"]
    working = ("Row of the swing", "Up to the bar", "Below the plan", "Above the plan", "Row of low", "Row of high")
    header(ws, first - 1, [*_head("Largest swing first", names), *(Column(w, 0, "right") for w in working)])
    for row in range(first, last + 1):
        _rank(ws, row)
    _shown(ws, f"C{first}:F{last}", f"{CHOSEN}=1", "#,##0")
    unit = f"INDEX({_plans('$D')},${AT_LOW}{first})"
    _shown(ws, f"G{first}:H{last}", f'{unit}="fraction"', "0.0%")
    _shown(ws, f"G{first}:H{last}", f'LEFT({unit},3)="USD"', _USD)
    parts = {"Up to the bar": START, "Less than planned": BELOW, "More than planned": ABOVE}
    tornado_chart(
        ws,
        f"B{last + 2}",
        "Tornado: left less than planned, right more",
        ("Assumption varied, largest swing first [text]", "GPUs, USD/h or USD per M output tokens, as chosen"),
        f"B{first}:B{last}",
        {name: f"{column}{first}:{column}{last}" for name, column in parts.items()},
    )


def unsorted() -> str:
    """By how much the sum of all swings differs from that of the sorted ones, from another sheet; relative."""
    swings, ranked = (f"SUM(Sensitivity!{c}{a}:{c}{b})" for c, (a, b) in ((SWING, SWING_ROWS), ("F", SORTED_ROWS)))
    return f"IF({swings}=0,0,ABS({ranked}/{swings}-1))"


def _head(title: str, names: list[str]) -> list[Column]:
    """Twelve columns of a header row."""
    texts = [*names, *[""] * (11 - len(names))]
    return [Column("#", 0, "center"), Column(title, 0), *(Column(text, 0, "right") for text in texts)]


def _selector(ws: Worksheet) -> None:
    at = f"C{MEASURE_ROW}"
    section(ws, _LIST_FIRST, "Tornado: largest swing first", 13)
    long_text(ws, f"B{_LIST_FIRST + 1}", "Swing: how far apart low and high are, without sign")
    put_text(ws, (MEASURE_ROW, 2), "What the tornado shows", "Label", "left")
    put(ws, at, next(iter(MEASURES)), "Input", align="right")
    *most, last = MEASURES
    rule = one_of("measure", f"{', '.join(most)} or {last}", "What the tornado shows and is sorted by", LIST)
    ws.add_data_validation(rule)
    rule.add(at)
    put_text(ws, f"U{_LIST_FIRST - 1}", "List: measure", "Column header")
    ws.column_dimensions["U"].width = 22
    for row, name in enumerate(MEASURES, _LIST_FIRST):
        put_text(ws, f"U{row}", name, "Calculation")
    put(ws, CHOSEN.replace("$", ""), f"=MATCH({at},{LIST},0)", "Calculation", align="right")
    ws.row_dimensions[MEASURE_ROW].height = 20


def _shown(ws: Worksheet, cells: str, where: str, number_format: str) -> None:
    """Numbers of a column whose unit depends on what is chosen or on what was varied."""
    look = DifferentialStyle(numFmt=NumberFormat(numFmtId=200, formatCode=number_format), font=Font(color="000000"))
    ws.conditional_formatting.add(cells, Rule(type="expression", formula=[where], dxf=look))


def _plans(column: str) -> str:
    """A column of the plans above."""
    return f"{column}${FIRST_ROW}:{column}${VARIED_LAST}"


def _chosen(cells: list[str]) -> str:
    return f"=CHOOSE({CHOSEN},{','.join(cells)})"


def _swing(ws: Worksheet, row: int, label: str) -> None:
    put(ws, (row, 1), row - SWING_ROWS[0] + 1, "Note", align="center")
    put_text(ws, (row, 2), label, "Label", "left")
    for column, case in ((LOW_ROW, "low"), (HIGH_ROW, "high")):
        put(ws, f"{column}{row}", f'=MATCH($B{row}&", {case}",{_plans("$B")},0)', "Calculation", align="right")
    units = {"gpus": "GPUs", "cost_per_hour": "USD/h", "usd_per_m_tokens": "USD/M tokens"}
    for measure, (low, high, swing) in SWINGS.items():
        cells = _plans(_RESULT[measure])
        for column, place in ((low, LOW_ROW), (high, HIGH_ROW)):
            put(ws, f"{column}{row}", f"=INDEX({cells},${place}{row})", "Calculation", units[measure], "right")
        a, b = f"{low}{row}", f"{high}{row}"
        formula = f'=IF(ISTEXT({a})+ISTEXT({b})>0,"{_NO_SWING}",ABS({a}-{b}))'
        put(ws, f"{swing}{row}", formula, "Result", units[measure], "right")
    for column, place in zip((LOW, HIGH, SWING), range(3), strict=True):
        cells_ = [f"{columns[place]}{row}" for columns in SWINGS.values()]
        put(ws, f"{column}{row}", _chosen(cells_), "Calculation", align="right").number_format = _USD
    # equal swings in the order of the table: a billionth apart
    put(ws, f"{KEY}{row}", f"=N({SWING}{row})+(1-A{row}/1E3)/1E6", "Calculation", align="right")
    ws.row_dimensions[row].height = 16


def _rank(ws: Worksheet, row: int) -> None:
    put(ws, (row, 1), row - SORTED_ROWS[0] + 1, "Note", align="center")
    first, last = SWING_ROWS

    def column(letter: str) -> str:
        return f"{letter}${first}:{letter}${last}"

    put(ws, f"{PLACE}{row}", f"=MATCH(LARGE({column(KEY)},$A{row}),{column(KEY)},0)", "Calculation", align="right")
    put(ws, f"B{row}", f"=INDEX({column('B')},${PLACE}{row})", "Result", align="left")
    low, base, high, swing = (f"{c}{row}" for c in "CDEF")
    for at, source in ((low, LOW), (high, HIGH), (swing, SWING)):
        put(ws, at, f"=INDEX({column(source)},${PLACE}{row})", "Result", align="right").number_format = _USD
    plan = _chosen([refined.cell(name) for name in MEASURES.values()])
    put(ws, base, f"=IF({IS_REFUSED},NA(),{plan[1:]})", "Calculation", align="right").number_format = _USD
    for at, source, tried in ((AT_LOW, LOW_ROW, "G"), (AT_HIGH, HIGH_ROW, "H")):
        put(ws, f"{at}{row}", f"=INDEX({column(source)},${PLACE}{row})", "Calculation", align="right")
        put(
            ws,
            f"{tried}{row}",
            f"=INDEX({_plans('$C')},${at}{row})",
            "Calculation",
            align="right",
            number_format=_TRIED,
        )
    at_low, at_high = (f"INDEX({_plans('$K')},${at}{row})" for at in (AT_LOW, AT_HIGH))
    put(ws, f"K{row}", f'=IF({at_low}="fits",{at_high},{at_low})', "Calculation", align="right")
    ends = f"{low}:{high}"
    bar = {
        START: f"=IF(ISTEXT({swing}),N({base}),MIN({ends}))",
        BELOW: f"=N({base})-{START}{row}",
        ABOVE: f"=IF(ISTEXT({swing}),0,MAX({ends})-N({base}))",
    }
    for at, formula in bar.items():
        put(ws, f"{at}{row}", formula, "Calculation", align="right").number_format = _USD
    ws.row_dimensions[row].height = 16
