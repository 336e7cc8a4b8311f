"""The sheet Plan for its tests: what is typed there, what it shows, and figures of the plan as built."""

from pathlib import Path
from typing import Any

from sheets import Values, recalculate

from capacity.call import ExcelError
from workbook.sheets import plan_answer, plan_sheet
from workbook.sheets.blocks import PLAN_ROWS

PREFILL = 150_000 * 2 * 70.553706496e9 / (2 * 1_979e12 * 0.5)  # busy replicas: 10.7
STEP_S = (70.553706496e9 / 2 + 64 * 0.524288e9) / (4.8e12 * 0.75)
DECODE = 20_000 * STEP_S / 64  # 6.0
NA = ExcelError("#N/A")


def typed(**values: Any) -> Values:
    """What is typed on the sheet."""
    return {("Plan", f"C{PLAN_ROWS[name]}"): x for name, x in values.items()}


def shown(template: Path, changes: Values | None = None) -> dict[str, Any]:
    """Cells of the sheet after edits."""
    return {at: x for (sheet, at), x in recalculate(template, changes=changes).items() if sheet == "Plan"}


def of(values: dict[str, Any], name: str) -> Any:
    """A row of the answer."""
    return values[f"C{plan_answer.TAKEN_ROWS.get(name) or plan_sheet.LINES.rows[name]}"]


def words(values: dict[str, Any], row: int) -> Any:
    return values[f"E{row}"]


OSS = typed(model="gpt-oss-120b", gpu="B200", tp=1.0, quantization="mxfp4")
