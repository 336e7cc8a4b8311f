"""Capacity planning for LLM serving fleets: requests -> tokens -> replica-seconds -> replicas, GPUs, dollars.

Each function is `capacity.<name>`; with no argument at all it answers for the worked example (Llama 3.3 70B in FP8 on
TP=2 H200, 50 req/s, 3,000 tokens in, 400 out).

>>> import capacity
>>> capacity.replicas()
26.0
"""

from . import cost, decode, fleet, memory, meta, prefill, tpot, traffic  # each registers its functions
from ._version import VERSION as __version__
from .errors import CapacityError, Infeasible, InputError, InputTypeError, UnknownName
from .registry import FUNCTIONS

globals().update({spec.python_name: spec.public for spec in FUNCTIONS.values()})

__all__ = [
    "FUNCTIONS",
    "CapacityError",
    "Infeasible",
    "InputError",
    "InputTypeError",
    "UnknownName",
    "__version__",
    *sorted(spec.python_name for spec in FUNCTIONS.values()),
]
