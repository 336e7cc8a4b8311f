"""Where the money's sheets have their editable cells, and the ready shapes of a week."""

from typing import Final

from capacity.money_inputs import DEMAND_INPUTS

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
WEEK_CELLS: Final = f"Week!$G${FIRST_ROW}:$G${WEEK_LAST}"

# Demand: the shape, the first month, the shape's number, then the inputs that are numbers.
SHAPE_ROW: Final = FIRST_ROW
FIRST_MONTH_ROW: Final = FIRST_ROW + 1
SHAPE_NUMBER: Final = f"Demand!$C${FIRST_ROW + 2}"
DEMAND_FIRST: Final = FIRST_ROW + 3
DEMAND_LAST: Final = DEMAND_FIRST + len(DEMAND_INPUTS) - 1
DEMAND_CELLS: Final = f"Demand!$C${SHAPE_ROW}:$C${DEMAND_LAST}"
MONEY_CELLS: Final = (WEEK_CELLS, DEMAND_CELLS)
