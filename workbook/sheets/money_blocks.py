"""Where the money's sheets have their editable cells, and the ready shapes of a week."""

from typing import Final

from capacity.money_inputs import COMMIT_INPUTS, DEMAND_INPUTS, OWN_INPUTS

from ..frame import FIRST_ROW

MONTHS: Final = 36

DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Load of the hours of a day, illustrative: people at work; people at home, most of them in the evening.
_NIGHT: Final = (0.1,) * 7
_WORKDAY: Final = (*_NIGHT, 0.3, 0.7, 1, 1, 1, 0.8, 1, 1, 1, 1, 0.8, 0.5, 0.3, 0.2, 0.2, 0.15, 0.1)
_DAY_OFF: Final = (*_NIGHT, *(0.15,) * 14, *(0.1,) * 3)
_NIGHT_HOME: Final = (0.55, 0.42, 0.32, 0.26, 0.24, 0.26, 0.34, 0.45)
_DAY_HOME: Final = (0.55, 0.62, 0.66, 0.7, 0.74, 0.74, 0.74, 0.76, 0.78, 0.8, 0.84, 0.9, 0.97, 1, 0.92, 0.74)
_HOURS: Final = len(DAYS) * len(_WORKDAY)
SHAPES: Final[dict[str, tuple[float, ...]]] = {
    "flat": (1,) * _HOURS,
    "office hours": _WORKDAY * 5 + _DAY_OFF * 2,
    "consumer": (*_NIGHT_HOME, *_DAY_HOME) * len(DAYS),
    "own": (1,) * _HOURS,
}
WEEK_LAST: Final = FIRST_ROW + _HOURS - 1

# Demand: the shape, the first month, the shape's number, then the inputs that are numbers.
SHAPE_ROW: Final = FIRST_ROW
FIRST_MONTH_ROW: Final = FIRST_ROW + 1
SHAPE_NUMBER: Final = f"Demand!$C${FIRST_ROW + 2}"
DEMAND_FIRST: Final = FIRST_ROW + 3
DEMAND_LAST: Final = DEMAND_FIRST + len(DEMAND_INPUTS) - 1
PROFILE_FIRST: Final = FIRST_ROW

# Commit: prices, levels of whole nodes, then contracts: GPUs, start, term, ramp, USD/GPU-h, upfront, cancellable.
COMMIT_FIRST: Final = FIRST_ROW
LEVELS: Final = 20
LEVELS_FIRST: Final = COMMIT_FIRST + len(COMMIT_INPUTS) + 3
WEEK_LINES: Final = 11  # what follows for a week, between levels and contracts
CONTRACTS_FIRST: Final = LEVELS_FIRST + LEVELS + WEEK_LINES + 4
CONTRACTS: Final = (
    ("First year", 24, 1, 12, 1, 2.79, 0, 0),
    ("Second year", 24, 13, 12, 1, 2.59, 0, 0),
    ("Growth", 32, 13, 36, 0.25, 2.49, 0.2, 0),
    ("Flexible", 8, 7, 12, 1, 3.29, 0, 1),
    ("Free 1", 0, 1, 1, 1, 0, 0, 0),
    ("Free 2", 0, 1, 1, 1, 0, 0, 0),
)

# Own: inputs, then loads beside which a GPU-hour is shown by life.
OWN_FIRST: Final = FIRST_ROW
OWN_LAST: Final = OWN_FIRST + len(OWN_INPUTS) - 1
OWN_STEPS: Final = 9
OWN_LOADS: Final = {"low load": 0.4, "middle load": 0.7, "full load": 1}
LOADS_ROW: Final = OWN_LAST + OWN_STEPS + 5
LIVES: Final = 8  # years of life compared
YEARS: Final = 12  # years of cash and P&L behind the purchase
