"""Where Terms and Budget have their editable cells."""

from typing import Final

from capacity.budget_inputs import BUDGET_INPUTS

from ..frame import FIRST_ROW
from .money_blocks import MONTHS

QUARTERS: Final = 13  # that 36 months touch at most
TERMS_LAST: Final = FIRST_ROW + len(BUDGET_INPUTS) - 1
FIRST_MONTH: Final = FIRST_ROW
LAST_MONTH: Final = FIRST_ROW + MONTHS - 1
TOTAL_ROW: Final = LAST_MONTH + 1
SUBMITTED: Final = "V"
APPROVED_ROW: Final = TOTAL_ROW + 2  # approver, then the date
QUARTERS_FIRST: Final = APPROVED_ROW + 4
KINDS_FIRST: Final = QUARTERS_FIRST + QUARTERS + 3
MIGRATION_FIRST: Final = FIRST_ROW
INVOICE_FIRST: Final = FIRST_ROW  # invoice, peak to mean, hours of a month
CHARGES_FIRST: Final = INVOICE_FIRST + 8
