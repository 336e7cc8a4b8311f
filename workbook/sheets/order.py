"""The sheets in the order of their tabs, between About and Checks: the one place that knows of a new one."""

from typing import Final

from . import (
    audit,
    batch,
    caching,
    cases,
    compare,
    functions,
    gpus,
    inputs,
    mix,
    models,
    offers,
    options,
    plan_sheet,
    prices,
    refined,
    refined_inputs,
    requests,
    sensitivity,
    takeaway,
    utilization,
)

MODULES: Final = (
    plan_sheet,
    inputs,
    refined_inputs,
    audit,
    refined,
    cases,
    sensitivity,
    batch,
    requests,
    mix,
    caching,
    utilization,
    offers,
    options,
    compare,
    takeaway,
    functions,
    models,
    gpus,
    prices,
)
