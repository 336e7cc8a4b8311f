"""Capacity planning for LLM serving fleets: requests -> tokens -> replica-seconds -> replicas, GPUs, dollars.

Each function is `capacity.<name>`; with no argument at all it answers for the worked example (Llama 3.3 70B in FP8 on
TP=2 H200, 50 req/s, 3,000 tokens in, 400 out). `capacity.model_facts` counts a model from its config.json;
`capacity.catalogue` holds models, GPUs and prices; `capacity.plan_frame` is the whole plan as a pandas table.

>>> import capacity
>>> capacity.replicas()
26.0
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

from . import (  # each registers its functions
    budget,
    budget_costs,
    buying,
    caching,
    calibration,
    chargeback,
    chunked,
    commit,
    compare,
    conversation,
    cost,
    decode,
    demand,
    disaggregated,
    error_bands,
    fleet,
    headroom,
    lookup,
    memory,
    meta,
    mix,
    one_cell,
    own,
    prefill,
    published,
    queueing,
    refined_links,
    refined_memory,
    refined_step,
    refined_work,
    renting,
    sizing,
    tpot,
    traffic,
    ttft,
    users,
    variances,
    week,
)
from ._version import VERSION as __version__
from .errors import CapacityError, ConfigError, Infeasible, InputError, InputTypeError, NotKnown, UnknownName
from .registry import FUNCTIONS

if TYPE_CHECKING:
    from . import catalogue
    from .evidence import predict
    from .families import ModelFacts, model_facts
    from .frame import compare_frame, plan_frame, refined_frame

globals().update({spec.python_name: spec.public for spec in FUNCTIONS.values()})

_LATER = {
    "catalogue": ".catalogue",
    "ModelFacts": ".families",
    "model_facts": ".families",
    "compare_frame": ".frame",
    "plan_frame": ".frame",
    "predict": ".evidence",
    "refined_frame": ".frame",
}


def __getattr__(name: str) -> Any:
    """What takes time to import comes when it is first used."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _import_module(_LATER[name], __name__)
    return getattr(module, name, module)


__all__ = [
    "FUNCTIONS",
    "CapacityError",
    "ConfigError",
    "Infeasible",
    "InputError",
    "InputTypeError",
    "ModelFacts",
    "NotKnown",
    "UnknownName",
    "__version__",
    "catalogue",
    "model_facts",
    "compare_frame",
    "plan_frame",
    "predict",
    "refined_frame",
    *sorted(spec.python_name for spec in FUNCTIONS.values()),
]
