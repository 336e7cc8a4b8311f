"""Plan against actual, by driver: cost = requests x tokens per request x GPU-hours per M tokens x USD per GPU-hour.

The drivers change one after the other, in this order: each effect takes the drivers before it as they came, and those
behind it as planned. So the effects sum to the whole difference, and none is left over; another order would share the
joint effects otherwise.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from .arguments import Number, Text
from .errors import UnknownName
from .registry import function

PlanRequests = Annotated[float, Number("M requests", "planned requests: of the month", example=65.745, ge=0)]
ActualRequests = Annotated[float, Number("M requests", "actual requests: of the month", example=70, ge=0)]
PlanTokens = Annotated[float, Number("tokens", "planned tokens per request: prompt and output", example=3_400, ge=0)]
ActualTokens = Annotated[float, Number("tokens", "actual tokens per request: prompt and output", example=3_600, ge=0)]
PlanGpuHours = Annotated[float, Number("GPU-h/M tokens", "planned GPU-hours per million tokens", example=0.17, ge=0)]
ActualGpuHours = Annotated[float, Number("GPU-h/M tokens", "actual GPU-hours per million tokens", example=0.18, ge=0)]
PlanPrice = Annotated[float, Number("USD/GPU-h", "planned price of a GPU-hour", example=3.5, ge=0)]
ActualPrice = Annotated[float, Number("USD/GPU-h", "actual price of a GPU-hour", example=3.6, ge=0)]


@function(
    "Cost by its drivers",
    returns="USD",
    words="requests x tokens per request x GPU-hours per million tokens x USD per GPU-hour",
    native="{plan_requests}*{plan_tokens}*{plan_gpu_hours}*{plan_price}",
    derivation="{plan_requests} million requests x {plan_tokens} tokens x {plan_gpu_hours} GPU-hours per million tokens"
    " x ${plan_price} = ${result}",
    source="Arithmetic: million requests x tokens per request are million tokens",
)
def driver_usd(
    plan_requests: PlanRequests, plan_tokens: PlanTokens, plan_gpu_hours: PlanGpuHours, plan_price: PlanPrice
) -> float:
    """What a month costs by its drivers: the plan's, or those that came.

    >>> driver_usd(10, 1000, 0.5, 2)
    10000.0
    """
    return plan_requests * plan_tokens * plan_gpu_hours * plan_price


@function(
    "Effect of requests",
    returns="USD",
    words="(actual - planned requests) x planned tokens, GPU-hours and price",
    native="({actual_requests}-{plan_requests})*{plan_tokens}*{plan_gpu_hours}*{plan_price}",
    derivation="({actual_requests} - {plan_requests} million requests) x {plan_tokens} tokens x {plan_gpu_hours}"
    " x ${plan_price} = ${result}",
    source="Sequential decomposition, first driver",
)
def requests_effect(
    plan_requests: PlanRequests,
    actual_requests: ActualRequests,
    plan_tokens: PlanTokens,
    plan_gpu_hours: PlanGpuHours,
    plan_price: PlanPrice,
) -> float:
    """What more or fewer requests cost.

    >>> requests_effect(10, 12, 1000, 0.5, 2)
    2000.0
    """
    return (actual_requests - plan_requests) * plan_tokens * plan_gpu_hours * plan_price + 0.0  # never -0


@function(
    "Effect of tokens per request",
    returns="USD",
    words="actual requests x (actual - planned tokens) x planned GPU-hours and price",
    native="{actual_requests}*({actual_tokens}-{plan_tokens})*{plan_gpu_hours}*{plan_price}",
    derivation="{actual_requests} million requests x ({actual_tokens} - {plan_tokens} tokens) x {plan_gpu_hours}"
    " x ${plan_price} = ${result}",
    source="Sequential decomposition, second driver",
)
def tokens_effect(
    actual_requests: ActualRequests,
    plan_tokens: PlanTokens,
    actual_tokens: ActualTokens,
    plan_gpu_hours: PlanGpuHours,
    plan_price: PlanPrice,
) -> float:
    """What longer or shorter requests cost.

    >>> tokens_effect(12, 1000, 1100, 0.5, 2)
    1200.0
    """
    return actual_requests * (actual_tokens - plan_tokens) * plan_gpu_hours * plan_price + 0.0  # never -0


@function(
    "Effect of GPU-hours per million tokens",
    returns="USD",
    words="actual requests and tokens x (actual - planned GPU-hours) x planned price",
    native="{actual_requests}*{actual_tokens}*({actual_gpu_hours}-{plan_gpu_hours})*{plan_price}",
    derivation="{actual_requests} million requests x {actual_tokens} tokens x ({actual_gpu_hours} - {plan_gpu_hours})"
    " GPU-hours x ${plan_price} = ${result}",
    source="Sequential decomposition, third driver",
)
def gpu_hours_effect(
    actual_requests: ActualRequests,
    actual_tokens: ActualTokens,
    plan_gpu_hours: PlanGpuHours,
    actual_gpu_hours: ActualGpuHours,
    plan_price: PlanPrice,
) -> float:
    """What GPUs that do more or less work an hour cost.

    >>> gpu_hours_effect(12, 1100, 0.5, 0.25, 2)
    -6600.0
    """
    return actual_requests * actual_tokens * (actual_gpu_hours - plan_gpu_hours) * plan_price + 0.0  # never -0


@function(
    "Effect of the price of a GPU-hour",
    returns="USD",
    words="actual requests, tokens and GPU-hours x (actual - planned price)",
    native="{actual_requests}*{actual_tokens}*{actual_gpu_hours}*({actual_price}-{plan_price})",
    derivation="{actual_requests} million requests x {actual_tokens} tokens x {actual_gpu_hours} GPU-hours"
    " x (${actual_price} - ${plan_price}) = ${result}",
    source="Sequential decomposition, last driver",
)
def price_effect(
    actual_requests: ActualRequests,
    actual_tokens: ActualTokens,
    actual_gpu_hours: ActualGpuHours,
    plan_price: PlanPrice,
    actual_price: ActualPrice,
) -> float:
    """What dearer or cheaper GPU-hours cost.

    >>> price_effect(12, 1100, 0.5, 2, 3)
    6600.0
    """
    return actual_requests * actual_tokens * actual_gpu_hours * (actual_price - plan_price) + 0.0  # never -0


TOTAL: Final = "total"
# A driver -> its effect, from the plan's four drivers and the actual ones.
_EFFECTS: Final[dict[str, Callable[[Sequence[float], Sequence[float]], float]]] = {
    "requests": lambda p, a: requests_effect(p[0], a[0], *p[1:]),
    "tokens_per_request": lambda p, a: tokens_effect(a[0], p[1], a[1], *p[2:]),
    "gpu_hours_per_m_tokens": lambda p, a: gpu_hours_effect(*a[:2], p[2], a[2], p[3]),
    "usd_per_gpu_hour": lambda p, a: price_effect(*a[:3], p[3], a[3]),
    TOTAL: lambda p, a: driver_usd(*a) - driver_usd(*p),
}


def _sentence(driver: str, *numbers: Any) -> str:
    """What a driver changes, as an explanation shows it."""
    return f"{driver} changes the cost from ${driver_usd(*numbers[:4]):,.2f} by ${{result}}"


@function(
    "Variance by driver",
    returns="number or text",
    words="the effect of one driver on the cost, plan to actual; all four sum to the total",
    native="",
    derivation=_sentence,
    source="Sequential decomposition: requests, tokens per request, GPU-hours per M tokens, USD per GPU-hour",
)
def variance(
    driver: Annotated[
        str,
        Text(
            "driver that changed",
            bounds='"requests", "tokens_per_request", "gpu_hours_per_m_tokens", "usd_per_gpu_hour" or "total"',
            example=TOTAL,
        ),
    ],
    plan_requests: PlanRequests,
    plan_tokens: PlanTokens,
    plan_gpu_hours: PlanGpuHours,
    plan_price: PlanPrice,
    actual_requests: ActualRequests,
    actual_tokens: ActualTokens,
    actual_gpu_hours: ActualGpuHours,
    actual_price: ActualPrice,
) -> float:
    """What a driver adds to the cost between plan and actual, or takes away; "total" is the whole difference.

    >>> variance("requests", 10, 1000, 0.5, 2, 12, 1100, 0.4, 3)
    2000.0
    """
    name = driver.strip().casefold()
    if name not in _EFFECTS:
        raise UnknownName("driver", driver, _EFFECTS)
    planned = (plan_requests, plan_tokens, plan_gpu_hours, plan_price)
    actual = (actual_requests, actual_tokens, actual_gpu_hours, actual_price)
    return _EFFECTS[name](planned, actual) + 0.0
