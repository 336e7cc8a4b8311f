"""Commit: where everything stands; what pays to reserve for a week, contracts, and the months that they cover."""

from typing import Final

from openpyxl.utils import get_column_letter

from capacity import commit
from capacity.money_inputs import COMMIT_INPUTS, CONTRACT_INPUTS
from capacity.plan import Guard, step_named

from ..chain import ADDIN, NATIVE
from ..lines import Lines
from ..row_table import RowTable
from ..sums import Place, Sum
from . import demand_months as months
from . import profile
from .money_blocks import COMMIT_FIRST, CONTRACTS, CONTRACTS_FIRST, LEVELS, LEVELS_FIRST, MONTHS

TITLE: Final = "Commit"
INPUT_CHECK, CHECK = "U", "V"
SIDES: Final = {"check": CHECK, "agree": "W", ADDIN: "X", NATIVE: "Y"}
_WORKING: Final = 23  # the first column beside the printed area

NODE: Final = f"{months.TITLE}!{months.LINES.at('node_gpus')}"
HOURS_PER_MONTH: Final = f"{months.TITLE}!{months.LINES.at('hours_per_month')}"


def _gpus(engine: str) -> str:
    """GPUs that run in each hour of the week on Profile."""
    return f"{profile.TITLE}!{profile.TABLE.span('running_gpus', engine)}"


def clipped(cells: str, most: str) -> str:
    """The sum of cells, of each at most so much."""
    return f'SUMIF({cells},"<"&{most})+{most}*COUNTIF({cells},">="&{most})'


def _plain(cell: str) -> Place:
    return lambda *_: cell


def _of(lines: Lines, name: str) -> Place:
    return lambda engine, _: lines.at(name, SIDES[engine])


TOP: Final = Lines(
    COMMIT_INPUTS,
    (Sum("span_hours", "Hours of the week", "h", lambda *_: f"ROWS({_gpus(ADDIN)})", "from Profile"),),
    (COMMIT_FIRST, COMMIT_FIRST + len(COMMIT_INPUTS)),
    SIDES,
    fleet=months.NO_FLEET,
    free=["span_hours"],
)
LEVELS_LAST: Final = LEVELS_FIRST + LEVELS - 1


def _below(engine: str, row: int) -> str:
    """The level below, 0 for the first."""
    return f"{LEVEL_TABLE.at('level_gpus', engine, row)}-{LEVEL_TABLE.at('band_gpus', engine, row)}"


def _full(engine: str, row: int) -> str:
    return f'COUNTIF({_gpus(engine)},">="&{LEVEL_TABLE.at("level_gpus", engine, row)})'


def _part_hours(engine: str, row: int) -> str:
    low, full = f"({_below(engine, row)})", LEVEL_TABLE.at("full_hours", engine, row)
    return f'COUNTIF({_gpus(engine)},">"&{low})-{full}'


def _part_gpu_hours(engine: str, row: int) -> str:
    cells, at = _gpus(engine), LEVEL_TABLE.at("level_gpus", engine, row)
    return f'SUMIF({cells},">"&({_below(engine, row)}))-SUMIF({cells},">="&{at})'


def _level_hours(engine: str, row: int) -> str:
    at = {name: LEVEL_TABLE.at(name, engine, row) for name in LEVEL_TABLE.names}
    part = f"({at['part_gpu_hours']}-({_below(engine, row)})*{at['part_hours']})"
    return f"{at['full_hours']}+{part}/{at['band_gpus']}"


LEVEL_SHOWN: Final = {
    "level_gpus": "Level [GPUs]",
    "full_hours": "Hours at the level or above [h]",
    "level_hours": "Hours of its GPUs, on the mean [h]",
    "reserve_level": "Reserved up to [GPUs]",
}
LEVEL_TABLE: Final = RowTable(
    (
        Sum("band_gpus", "GPUs of a level", "GPUs", lambda *_: f"{NODE}*{TOP.at('level_nodes')}"),
        Sum("level_gpus", "Level", "GPUs", lambda e, row: f"$A{row}*{LEVEL_TABLE.at('band_gpus', e, row)}"),
        Sum("full_hours", "Hours at the level or above", "h", _full),
        Sum("part_hours", "Hours within the level", "h", _part_hours),
        Sum("part_gpu_hours", "GPU-hours of those hours", "GPU-h", _part_gpu_hours),
        Sum("level_hours", "Hours of its GPUs", "h", _level_hours),
        step_named("reserve_level", commit.reserve_level),
    ),
    range(LEVELS_FIRST, LEVELS_LAST + 1),
    {
        "span_hours": _of(TOP, "span_hours"),
        "reserved_price": TOP.at("reserved_price"),
        "on_demand_price": TOP.at("on_demand_price"),
    },
    dict(zip(LEVEL_SHOWN, "BCDE", strict=True)),
    (_WORKING, CHECK, TOP.bad()),
    TOP.stop(),
    ["level_gpus"],
)

WEEK_FIRST: Final = LEVELS_LAST + 3
NO_NEED: Final = Guard("no demand", lambda v: v["needed_gpu_hours"] == 0, "{needed_gpu_hours}=0")
NO_CONTRACT: Final = Guard("no contract", lambda v: v["committed_gpu_hours"] == 0, "{committed_gpu_hours}=0")


def _week(name: str) -> Place:
    return lambda engine, _: WEEK.at(name, SIDES[engine])


WEEK: Final = Lines(
    {},
    (
        Sum(
            "reserved_gpus",
            "GPUs to reserve",
            "GPUs",
            lambda engine, _: f"MAX({LEVEL_TABLE.span('reserve_level', engine)})",
            "the largest level whose GPUs run more than reserved / on-demand price of the hours",
        ),
        Sum(
            "missing_gpus",
            "GPUs above the highest level",
            "GPUs",
            lambda e, _: f"MAX(0,MAX({_gpus(e)})-{LEVEL_TABLE.at('level_gpus', e, LEVELS_LAST)})",
            "0 where the levels reach the busiest hour; else raise the nodes of a level",
        ),
        Sum("needed_gpu_hours", "GPU-hours needed", "GPU-h", lambda engine, _: f"SUM({_gpus(engine)})", "from Profile"),
        Sum(
            "committed_gpu_hours",
            "GPU-hours reserved",
            "GPU-h",
            lambda engine, row: f"{SIDES[engine]}{row - 3}*{TOP.at('span_hours', SIDES[engine])}",
            "reserved GPUs x all hours",
        ),
        Sum(
            "used_gpu_hours",
            "GPU-hours reserved and used",
            "GPU-h",
            lambda engine, row: clipped(_gpus(engine), f"{SIDES[engine]}{row - 4}"),
            "in each hour the smaller of what runs and what is reserved",
        ),
        step_named("on_demand_gpu_hours", commit.on_demand_gpu_hours),
        step_named("mixed_bill_usd", commit.mixed_bill_usd, "Bill of the week"),
        step_named(
            "on_demand_bill",
            commit.gpu_hours_usd,
            "The same all on demand",
            gpu_hours="needed_gpu_hours",
            usd_per_gpu_hour="on_demand_price",
        ),
        step_named("contract_coverage", commit.contract_coverage, guard=NO_NEED),
        step_named("commitment_use", commit.commitment_use, guard=NO_CONTRACT),
        step_named("stranded_usd", commit.stranded_usd),
    ),
    (WEEK_FIRST, WEEK_FIRST),
    SIDES,
    taken={name: TOP.at(name) for name in ("reserved_price", "on_demand_price")},
    bad=TOP.stop(),
)

assert WEEK.last + 3 == CONTRACTS_FIRST, "money_blocks has the first contract elsewhere"
CONTRACTS_LAST: Final = CONTRACTS_FIRST + len(CONTRACTS) - 1
CONTRACT_COLUMNS: Final = dict(zip(CONTRACT_INPUTS, "CDEFGHI", strict=True))
BAD: Final = f"${SIDES['agree']}${CONTRACTS_LAST + 1}"  # how many inputs are out of bounds, with those above
STOP: Final = f"${SIDES[ADDIN]}${CONTRACTS_LAST + 1}"  # the same, or the plan is refused
CONTRACT_SHOWN: Final = {
    "ramp_months": "Months of the ramp",
    "contract_gpu_months": "GPU-months of the term",
    "contract_gpu_hours": "GPU-hours of the term",
    "contract_usd": "Cost of the term [USD]",
    "upfront_usd": "Paid upfront [USD]",
}


def _contract_row(name: str) -> Place:
    return lambda _, row: f"${CONTRACT_COLUMNS[name]}{row}"


CONTRACT_TABLE: Final = RowTable(
    (
        step_named("ramp_months", commit.ramp_months),
        step_named("contract_gpu_months", commit.contract_gpu_months),
        step_named("contract_gpu_hours", commit.month_gpu_hours, gpu_months="contract_gpu_months"),
        step_named(
            "contract_usd",
            commit.gpu_hours_usd,
            "Cost of the term",
            gpu_hours="contract_gpu_hours",
            usd_per_gpu_hour="reserved_price",
        ),
        Sum(
            "upfront_usd",
            "Paid upfront",
            "USD",
            lambda e, row: f"{CONTRACT_TABLE.at('contract_usd', e, row)}*{_contract_row('upfront_share')(e, row)}",
        ),
    ),
    range(CONTRACTS_FIRST, CONTRACTS_LAST + 1),
    {**{name: _contract_row(name) for name in CONTRACT_INPUTS}, "hours_per_month": HOURS_PER_MONTH},
    dict(zip(CONTRACT_SHOWN, "JKLMN", strict=True)),
    (_WORKING + 1, CHECK, lambda row: f"${SIDES['agree']}{row}"),
)

# The contracts once more, a column each, above the months: what sums over the contracts of a month multiply.
ACROSS: Final = CONTRACTS_LAST + 3
ACROSS_ROWS: Final = {
    name: ACROSS + i
    for i, name in enumerate(("start_month", "reserved_price", "upfront_share", "cancellable", "upfront_usd"))
}
MONTHS_HEAD: Final = ACROSS + len(ACROSS_ROWS) + 1
FIRST_MONTH: Final = MONTHS_HEAD + 1
LAST_MONTH: Final = FIRST_MONTH + MONTHS - 1
TOTAL_ROW: Final = LAST_MONTH + 1
OWN_COLUMNS: Final = tuple(get_column_letter(3 + i) for i in range(len(CONTRACTS)))


def across(name: str) -> str:
    """A figure of all contracts, side by side."""
    row = ACROSS_ROWS[name]
    return f"${OWN_COLUMNS[0]}${row}:${OWN_COLUMNS[-1]}${row}"
