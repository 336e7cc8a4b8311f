"""The two upper tables of Evidence: measured over predicted of comparable runs, and the fleets that they mean."""

from typing import Final

from openpyxl.worksheet.worksheet import Worksheet

from capacity import FUNCTIONS, cost, error_bands, fleet
from capacity.error_bands import CHAINS, SHARES
from capacity.plan import NO_OUTPUT, Guard, step_named
from capacity.registry import literal

from ..chain import ADDIN, NATIVE
from ..frame import FIRST_ROW, Column, header, put, put_text
from ..lines import Lines
from ..plan_table import elsewhere
from ..row_table import RowTable
from ..sums import Place, Sum
from . import audit
from .evidence_blocks import (
    BAND_KEY,
    BAND_LAST,
    BAND_ROWS,
    BAND_VALUE,
    CONTINGENCY_ROW,
    FLEET_ROWS,
    FLEET_SHARES,
    MEASUREMENTS,
    RUN_LAST,
    RUN_ROWS,
)

CHECK: Final = "G"
BAD: Final = f"$H${RUN_LAST}"
NO_FLEET: Final = f"$I${RUN_LAST}"  # the same, or the plan is refused
_WORKING: Final = 8  # the first column beside the printed area
METRIC, CHAIN, KEY, KNOWN = "RSTU"  # texts of a row of bands, behind the engines' figures
WORDS: Final = {"output_tokens_per_s": "Output tokens per second", "tpot_ms": "TPOT", "ttft_ms": "TTFT"}
BY: Final = {"Refined": "with the fitted constants", "Seed": "by the chain Seed, MFU 50%, MBU 75%"}
RATIO: Final = '0.00;;"none"'
_KEYS, _VALUES = (f"{MEASUREMENTS}!${c}${FIRST_ROW}:${c}${BAND_LAST}" for c in (BAND_KEY, BAND_VALUE))


def _share(share: str) -> Place:
    """The add-in's own band, and the figure on Measurements; 0 where no run is comparable."""

    def formula(engine: str, row: int) -> str:
        if engine != ADDIN:
            return f'SUMIF({_KEYS},${KEY}{row}&"{share}",{_VALUES})'
        cells = {
            "metric": f"${METRIC}{row}",
            "kind": f"$C${RUN_ROWS['kind']}",
            "run_kind": f"$C${RUN_ROWS['run']}",
            "share": literal(share),
            "chain": f"${CHAIN}{row}",
        }
        band = FUNCTIONS["ERROR_BAND"].formula(cells)
        return f"IF(${KNOWN}{row}=0,0,{band})"

    return formula


BANDS: Final = RowTable(
    [Sum(share, f"Share {share}", "count", _share(share)) for share in ("rows", "p10", "p50", "p90")],
    range(min(BAND_ROWS.values()), max(BAND_ROWS.values()) + 1),
    {},
    dict(zip(("rows", "p10", "p50", "p90"), "CDEF", strict=True)),
    (_WORKING, CHECK, BAD),
)


def _of_band(engine: str, row: int) -> str:
    """The share of a fleet's row, in the table above."""
    chain, share = next(pair for pair, at in FLEET_ROWS.items() if at == row)
    return BANDS.at(share, engine, BAND_ROWS[chain, error_bands.METRICS[0]])


def _work(engine: str, row: int) -> str:
    """Busy replicas of the plan, or of the chain whose predictions the row's band is of."""
    chain = next(chain for (chain, _), at in FLEET_ROWS.items() if at == row)
    return audit.cell("busy_replicas", engine) if chain == "Seed" else elsewhere("busy_replicas", engine)


FLEETS: Final = RowTable(
    (
        step_named("replicas", error_bands.measured_replicas),
        step_named("gpus", fleet.gpus),
        step_named("cost_per_hour", cost.cost_per_hour),
        step_named(
            "usd_per_m_tokens",
            cost.usd_per_m_tokens,
            "Bill per M output tokens",
            NO_OUTPUT,
            tokens_per_s="output_tps",
        ),
    ),
    range(min(FLEET_ROWS.values()), max(FLEET_ROWS.values()) + 1),
    {"measured_share": _of_band, "busy_replicas": _work},
    dict(zip(("replicas", "gpus", "cost_per_hour", "usd_per_m_tokens"), "CDEF", strict=True)),
    (_WORKING, CHECK, NO_FLEET),
)


CONTINGENCY: Final = Lines(
    {},
    (
        step_named(
            "band_contingency",
            error_bands.band_contingency,
            guard=Guard("no load", lambda v: v["gpus"] == 0, "{gpus}=0"),
        ),
    ),
    (CONTINGENCY_ROW, CONTINGENCY_ROW),
    {"check": CHECK, "agree": "H", ADDIN: "I", NATIVE: "J"},
    given={
        ("band_gpus", engine): FLEETS.at("gpus", engine, FLEET_ROWS[CHAINS[0], "p10"]) for engine in (ADDIN, NATIVE)
    },
    bad=NO_FLEET,
)


def write_bands(ws: Worksheet, order: int) -> None:
    """Both tables. order: the number of their first row."""
    heads = ("#", "Measured / predicted of comparable runs", "Comparable runs", "P10", "P50", "P90", "Check")
    _head(ws, BANDS, heads)
    for (chain, metric), row in BAND_ROWS.items():
        put(ws, (row, 1), order + row - min(BAND_ROWS.values()), "Note", align="center")
        put_text(ws, f"B{row}", f"{WORDS[metric]}, {BY[chain]}", "Label", "left")
        for column, text in ((METRIC, metric), (CHAIN, chain)):
            put_text(ws, f"{column}{row}", text, "Calculation", "left")
        chosen = "&".join(f'"|"&$C${RUN_ROWS[name]}' for name in ("kind", "run"))
        put(ws, f"{KEY}{row}", f'=${CHAIN}{row}&"|"&${METRIC}{row}&{chosen}&"|"', "Calculation")
        put(ws, f"{KNOWN}{row}", f'=COUNTIF({_KEYS},${KEY}{row}&"rows")', "Calculation", "count")
    BANDS.write(ws)
    for row in BANDS.rows:
        for share in SHARES[:3]:
            ws[BANDS.at(share, "", row)].number_format = RATIO
    heads = (
        "#",
        "The fleet where engines do",
        "Replicas",
        "GPUs",
        "Cost [USD/h]",
        "USD per M output tokens",
        "Check",
    )
    _head(ws, FLEETS, heads)
    for (chain, share), row in FLEET_ROWS.items():
        put(ws, (row, 1), order + len(BAND_ROWS) + row - FLEETS.rows[0], "Note", align="center")
        put_text(ws, f"B{row}", f"{FLEET_SHARES[share]} ({share.upper()}), {BY[chain]}", "Label", "left")
    FLEETS.write(ws)
    CONTINGENCY.head(ws, CONTINGENCY_ROW - 1, "Engines agree", "What to put aside", "Value", "Unit", "In words")
    CONTINGENCY.write(ws, {})
    ws.cell(CONTINGENCY_ROW, 1).value = order + len(BAND_ROWS) + len(FLEET_ROWS)


def _head(ws: Worksheet, table: RowTable, heads: tuple[str, ...]) -> None:
    aligned = ("center", "left", "right", "right", "right", "right", "center")
    columns = [Column(text, 0, align) for text, align in zip(heads, aligned, strict=True)]
    header(ws, table.rows[0] - 1, [*columns, *table.headers()])


def at(name: str, share: str, chain: str = CHAINS[0]) -> str:
    """The value in use of a fleet, on the sheet itself."""
    return f"${FLEETS.printed[name]}${FLEET_ROWS[chain, share]}"
