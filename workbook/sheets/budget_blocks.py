"""Where Terms and Budget have their editable cells."""

from typing import Final

from capacity.budget_inputs import BUDGET_INPUTS, MIGRATION_INPUTS

from ..frame import FIRST_ROW
from .money_blocks import MONTHS

QUARTERS: Final = 13  # that 36 months touch at most
TERMS_LAST: Final = FIRST_ROW + len(BUDGET_INPUTS) - 1
TERMS_CELLS: Final = f"Terms!$C${FIRST_ROW}:$C${TERMS_LAST}"
FIRST_MONTH: Final = FIRST_ROW
LAST_MONTH: Final = FIRST_ROW + MONTHS - 1
TOTAL_ROW: Final = LAST_MONTH + 1
SUBMITTED: Final = "V"
SUBMITTED_CELLS: Final = f"Budget!${SUBMITTED}${FIRST_MONTH}:${SUBMITTED}${LAST_MONTH}"
APPROVED_ROW: Final = TOTAL_ROW + 2  # approver, then the date
APPROVED_CELLS: Final = f"Budget!$F${APPROVED_ROW}:$F${APPROVED_ROW + 1}"
QUARTERS_FIRST: Final = APPROVED_ROW + 4
KINDS_FIRST: Final = QUARTERS_FIRST + QUARTERS + 3
MIGRATION_FIRST: Final = FIRST_ROW
MIGRATION_CELLS: Final = f"Migration!$C${MIGRATION_FIRST}:$C${MIGRATION_FIRST + len(MIGRATION_INPUTS) - 1}"
INVOICE_FIRST: Final = FIRST_ROW  # invoice, peak to mean, hours of a month
CHARGES_FIRST: Final = INVOICE_FIRST + 8
INVOICE_CELLS: Final = f"Chargeback!$C${INVOICE_FIRST}:$C${INVOICE_FIRST + 2}"
ACTUAL_CELLS: Final = f"Actuals!$H${FIRST_MONTH}:$K${LAST_MONTH}"
BUDGET_CELLS: Final = (TERMS_CELLS, SUBMITTED_CELLS, APPROVED_CELLS, MIGRATION_CELLS, INVOICE_CELLS, ACTUAL_CELLS)
