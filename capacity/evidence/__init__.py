"""Evidence: what published benchmarks say of predictions, and predictions of benchmarks.

`predict` is here; fitting and validation are in modules that need NumPy and come when they are asked for.
"""

from .constants import read_constants, shipped
from .nearest import Measured, nearest
from .prediction import Prediction, Range, predict, predict_rows

__all__ = ["Measured", "Prediction", "Range", "nearest", "predict", "predict_rows", "read_constants", "shipped"]
