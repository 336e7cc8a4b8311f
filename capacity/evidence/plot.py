"""A picture of predictions beside measurements."""

from pathlib import Path
from typing import Any, Final

from ..error_bands import METRICS
from ..errors import CallError
from .calibration import Calibration

_TITLES: Final = {"output_tokens_per_s": "Output tokens per s", "tpot_ms": "TPOT, ms", "ttft_ms": "TTFT, ms"}


def plot(found: Calibration, path: Path) -> None:
    """Predicted against measured before and after, as a PNG; raises CallError where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CallError('the picture needs matplotlib: pip install "llm-capacity[plot]"') from None
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    for axes, (i, metric) in zip(figure.subplots(1, len(METRICS)), enumerate(METRICS), strict=True):
        measured = found.data.measured[:, i]
        axes.set(title=_TITLES[metric], xlabel="measured", ylabel="predicted", xscale="log", yscale="log")
        axes.scatter(measured, found.before[:, i], s=14, marker="x", color="#C55A11", label="shipped constants")
        axes.scatter(measured, found.after[:, i], s=14, color="#1F4E79", label="calibrated, row left out")
        _diagonal(axes)
        axes.legend(fontsize=8)
    figure.savefig(path, format="png", dpi=110)


def _diagonal(axes: Any) -> None:
    """Where prediction and measurement are one, with 20% to both sides."""
    low, high = axes.get_xlim()
    axes.plot([low, high], [low, high], color="#7F7F7F", linewidth=1)
    axes.fill_between([low, high], [low * 0.8, high * 0.8], [low * 1.2, high * 1.2], color="#7F7F7F", alpha=0.15)
    axes.set_xlim(low, high)
