"""Where Evidence and Measurements stand: both read the other, each by cells whose place is known here."""

from typing import Final

from capacity.error_bands import CHAINS, METRICS, SHARES, bands
from capacity.published import COMPARED, UNLIKE, published

from ..frame import FIRST_ROW

EVIDENCE: Final = "Evidence"
MEASUREMENTS: Final = "Measurements"
# The plan's run on Evidence, in column C: what runs are compared by, and the kind of model.
RUN_ROWS: Final = {name: FIRST_ROW + i for i, name in enumerate((*UNLIKE, "kind", *COMPARED))}
CHOSEN: Final = ("engine", "run")  # typed on Evidence; all else is the plan's
RUN_LAST: Final = max(RUN_ROWS.values())

# The list of measurements: how far another name is away, the plan's run, then the published ones.
UNLIKE_ROW: Final = FIRST_ROW
PLAN_ROW: Final = UNLIKE_ROW + 1
LIST_FIRST: Final = PLAN_ROW + 1
LIST_LAST: Final = LIST_FIRST + len(published()) - 1
PLACE: Final = "X"  # distance and place of a row, beside the printed area
BAND_KEY, BAND_VALUE = "AF", "AG"
BANDS: Final = {
    "|".join((chain, metric, kind, run, share)): getattr(band, share)
    for (chain, metric, kind, run), band in bands().items()
    for share in SHARES
}
BAND_LAST: Final = FIRST_ROW + len(BANDS) - 1

BAND_ROWS: Final = {pair: RUN_LAST + 3 + i for i, pair in enumerate((c, m) for c in CHAINS for m in METRICS)}
# What of measured / predicted holds -> the fleet that it means; the fewest GPUs first.
FLEET_SHARES: Final = {
    "p90": "as the best tenth of runs",
    "p50": "as the middle of runs",
    "p10": "as the worst tenth of runs",
}
FLEETS_FIRST: Final = max(BAND_ROWS.values()) + 3
FLEET_ROWS: Final = {pair: FLEETS_FIRST + i for i, pair in enumerate((c, s) for c in CHAINS for s in FLEET_SHARES)}
CONTINGENCY_ROW: Final = max(FLEET_ROWS.values()) + 3
NEAREST_FIRST: Final = CONTINGENCY_ROW + 7  # what the bands are, in words, stands between
