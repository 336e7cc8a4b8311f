"""A picture of a budget: its months by kind of cost."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .errors import CallError

_PARTS: Final = {
    "contracts_usd": ("Contracts", "#1F3864"),
    "on_demand_usd": ("On demand", "#2E75B6"),
    "egress_storage_staff_usd": ("Egress, storage, staff", "#9DC3E6"),
    "licenses_support_usd": ("Licenses, support", "#F4B183"),
    "contingency_usd": ("Contingency", "#BFBFBF"),
}


def plot(months: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Stacked columns of the months, as a PNG; raises CallError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CallError('the picture needs matplotlib: pip install "llm-capacity[plot]"') from None
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    axes = figure.subplots()
    labels = [month["month"] for month in months]
    so_far = [0.0] * len(months)
    for name, (label, color) in _PARTS.items():
        parts = [month[name] for month in months]
        axes.bar(labels, parts, bottom=so_far, label=label, color=color)
        so_far = [a + b for a, b in zip(so_far, parts, strict=True)]
    axes.set(title="Budget by month and kind of cost", xlabel="Month", ylabel="Cost of the month, USD")
    axes.tick_params(axis="x", rotation=60, labelsize=8)
    axes.yaxis.set_major_formatter(lambda x, _: f"${x:,.0f}")
    axes.legend(fontsize=8)
    figure.savefig(path, format="png", dpi=110)
