"""Buy or run: what the same tokens cost at an API's prices, and where the two bills are equal.

An API is paid by the token, at the mean rate; a fleet by the hour, for the design rate. So the API's bill follows the
mean load, and the fleet's does not.
"""

from typing import Annotated, Any, Final

from .arguments import Number, Text
from .cost import CostPerHour, usd_per_month
from .demand import HoursPerMonth
from .errors import UnknownName
from .fleet import Gpus
from .headroom import LoadFactor, load_factor, mean_output_tps
from .registry import function, spec_of
from .terms import OutputTokens, PromptTokens, ReqPerS
from .traffic import PromptTps
from .users import MeanReqPerS

# Prices of the day: DeepSeek's API for its R1 in February 2025; a team enters its own.
ApiInputUsd = Annotated[
    float, Number("USD/M tokens", "API price of input: of prompt tokens not in its cache", example=0.55, ge=0)
]
ApiCachedUsd = Annotated[
    float, Number("USD/M tokens", "API price of cached input: of prompt tokens in its cache", example=0.14, ge=0)
]
ApiOutputUsd = Annotated[float, Number("USD/M tokens", "API price of output: of output tokens", example=2.19, ge=0)]
ApiCachedShare = Annotated[
    float,
    Number("fraction", "cached at the API: share of prompt tokens billed as cached", example=0, default=0, ge=0, le=1),
]
BatchShare = Annotated[
    float, Number("fraction", "batch share: share of tokens sent as batch jobs", example=0, default=0, ge=0, le=1)
]
BatchDiscount = Annotated[
    float,
    Number("fraction", "batch discount: what a batch job's tokens cost less", example=0.5, default=0.5, ge=0, le=1),
]


@function(
    "Mean prompt rate",
    returns="tok/s",
    words="prompt tok/s of the peak x load factor",
    native="{prompt_tps}*{load_factor}",
    derivation="{prompt_tps} prompt tok/s x {load_factor} = {result} prompt tok/s on the mean",
    source="Arithmetic: load factor = mean load / peak load",
)
def mean_prompt_tps(prompt_tps: PromptTps, load_factor: LoadFactor) -> float:
    """Prompt tokens per second on the mean.

    >>> mean_prompt_tps(150000, 0.5)
    75000.0
    """
    return prompt_tps * load_factor


@function(
    "Mean rate of the fleet",
    returns="req/s",
    words="design rate x load factor",
    native="{req_per_s}*{load_factor}",
    derivation="{req_per_s} req/s by design x {load_factor} = {result} req/s on the mean",
    source="Arithmetic: load factor = mean load / peak load",
)
def mean_of_design(req_per_s: ReqPerS, load_factor: LoadFactor) -> float:
    """Requests per second on the mean of what a fleet is designed for.

    >>> mean_of_design(50, 0.5)
    25.0
    """
    return req_per_s * load_factor


MeanPromptTps = Annotated[float, Number("tok/s", "mean prompt tokens per second", example=mean_prompt_tps, ge=0)]
MeanOutputTps = Annotated[float, Number("tok/s", "mean output tokens per second", example=mean_output_tps, ge=0)]


@function(
    "Cost at the API per hour",
    returns="USD/h",
    words="(input x its prices + output x its price) x (1 - batch share x batch discount)",
    native="({mean_prompt_tps}*({api_input_usd}-{api_cached_share}*({api_input_usd}-{api_cached_usd}))"
    "+{mean_output_tps}*{api_output_usd})*(1-{batch_share}*{batch_discount})*3600/1E6",
    derivation="({mean_prompt_tps} prompt tok/s at ${api_input_usd} per million[ ({api_cached_share} of them cached,"
    " at ${api_cached_usd})] + {mean_output_tps} output tok/s at ${api_output_usd})"
    "[ x (1 - {batch_share} batch x {batch_discount})] x 3,600 s / 1e6 = ${result} per hour",
    source="DeepSeek's day: 266 B input at $0.55, 342 B cached at $0.14, 168 B output at $2.19 = $562,100",
)
def api_cost(
    mean_prompt_tps: MeanPromptTps,
    mean_output_tps: MeanOutputTps,
    api_input_usd: ApiInputUsd,
    api_cached_usd: ApiCachedUsd,
    api_output_usd: ApiOutputUsd,
    api_cached_share: ApiCachedShare = 0,
    batch_share: BatchShare = 0,
    batch_discount: BatchDiscount = 0.5,
) -> float:
    """What the tokens of an hour cost at an API's prices.

    >>> round(api_cost(75000, 10000, 0.55, 0.14, 2.19), 2)
    227.34
    """
    input_usd = (1 - api_cached_share) * api_input_usd + api_cached_share * api_cached_usd
    per_s = mean_prompt_tps * input_usd + mean_output_tps * api_output_usd
    return per_s * (1 - batch_share * batch_discount) * 3600 / 1e6


# What the sheet takes: the API's prices, and how the load goes.
BUY_INPUTS: Final[dict[str, Number]] = {
    name: argument
    for function_, names in (
        (
            api_cost,
            ("api_input_usd", "api_cached_usd", "api_output_usd", "api_cached_share", "batch_share", "batch_discount"),
        ),
        (load_factor, ("peak_to_mean",)),
        (usd_per_month, ("hours_per_month",)),
    )
    for name in names
    if isinstance(argument := spec_of(function_).args[name], Number)
}
ApiCost = Annotated[float, Number("USD/h", "cost at the API per hour", example=api_cost, ge=0)]
# DeepSeek's published day, in USD
RevenueUsd = Annotated[float, Number("USD", "revenue: what the tokens earn, or cost at an API", example=562_027, ge=0)]
CostUsd = Annotated[float, Number("USD", "cost: what the same tokens cost to serve", example=87_072, ge=0)]


@function(
    "Mark-up on cost",
    returns="of cost",
    words="revenue / cost - 1",
    native="({revenue_usd}-{cost_usd})/{cost_usd}",
    derivation="${revenue_usd} / ${cost_usd} - 1 = {result} of the cost on top of it",
    source="DeepSeek's day: $562,027 / $87,072 - 1 = 545%, which is a mark-up and not a margin",
)
def markup(revenue_usd: RevenueUsd, cost_usd: CostUsd) -> float:
    """Revenue above cost as a share of the cost; both of the same hours.

    >>> round(markup(562027, 87072), 2)
    5.45
    """
    return revenue_usd / cost_usd - 1


@function(
    "Margin on revenue",
    returns="of revenue",
    words="1 - cost / revenue",
    native="({revenue_usd}-{cost_usd})/{revenue_usd}",
    derivation="1 - ${cost_usd} / ${revenue_usd} = {result} of the revenue is left",
    source="DeepSeek's day: 1 - $87,072 / $562,027 = 84.5%",
)
def margin(revenue_usd: RevenueUsd, cost_usd: CostUsd) -> float:
    """Revenue above cost as a share of the revenue; both of the same hours.

    >>> round(margin(562027, 87072), 3)
    0.845
    """
    return 1 - cost_usd / revenue_usd


@function(
    "Break-even price of a GPU-hour",
    returns="USD/GPU-h",
    words="cost at the API per hour / GPUs",
    native="{api_cost}/{gpus}",
    derivation="${api_cost} per hour at the API / {gpus} GPUs = ${result} per GPU-hour",
    source="Arithmetic: below that price the fleet is cheaper than the API, at this mean load",
)
def break_even_usd_per_gpu_hour(api_cost: ApiCost, gpus: Gpus) -> float:
    """Price of a GPU-hour at which the fleet costs what the API does.

    >>> break_even_usd_per_gpu_hour(234, 52)
    4.5
    """
    return api_cost / gpus


@function(
    "Break-even mean request rate",
    returns="req/s",
    words="mean request rate x cost per hour / cost at the API per hour",
    native="{mean_req_per_s}*{cost_per_hour}/{api_cost}",
    derivation="{mean_req_per_s} req/s x ${cost_per_hour} per hour / ${api_cost} per hour at the API"
    " = {result} req/s on the mean",
    source="Arithmetic: the fleet's bill stays, the API's grows with the mean rate",
)
def break_even_req_per_s(mean_req_per_s: MeanReqPerS, cost_per_hour: CostPerHour, api_cost: ApiCost) -> float:
    """Mean request rate from which this fleet is cheaper than the API; above the fleet's own rate it never is.

    >>> break_even_req_per_s(25, 182, 227.5)
    20.0
    """
    return mean_req_per_s * cost_per_hour / api_cost


BreakEvenReqPerS = Annotated[float, Number("req/s", "break-even mean request rate", example=break_even_req_per_s, ge=0)]


@function(
    "Break-even tokens per month",
    returns="M tokens/month",
    words="break-even mean request rate x (prompt + output length) x seconds of the month",
    native="{break_even_req_per_s}*({prompt_tokens}+{output_tokens})*{hours_per_month}*3600/1E6",
    derivation="{break_even_req_per_s} req/s x ({prompt_tokens} + {output_tokens}) tokens x {hours_per_month} h"
    " x 3,600 s / 1e6 = {result} million tokens a month",
    source="Arithmetic: tokens that the break-even rate makes in a month, prompt and output together",
)
def break_even_m_tokens(
    break_even_req_per_s: BreakEvenReqPerS,
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    hours_per_month: HoursPerMonth = 730.5,
) -> float:
    """Million tokens a month from which this fleet is cheaper than the API.

    >>> break_even_m_tokens(20, 3000, 400, 730.5)
    178826.4
    """
    return break_even_req_per_s * (prompt_tokens + output_tokens) * hours_per_month * 3600 / 1e6


BreakEvenMTokens = Annotated[
    float, Number("M tokens/month", "break-even tokens per month", example=break_even_m_tokens, ge=0)
]
USD_PER_GPU_HOUR: Final = "usd_per_gpu_hour"
REQ_PER_S: Final = "req_per_s"
TOKENS_PER_MONTH: Final = "tokens_per_month"
BREAK_EVENS: Final = (USD_PER_GPU_HOUR, REQ_PER_S, TOKENS_PER_MONTH)


def _parts(what: str, cost: float, gpus: float, api: float, rate: float, *month: float) -> tuple[str, float]:
    """What is asked for, in words, and its figure: each by the function that has it alone."""
    name = what.strip().casefold()
    if name not in BREAK_EVENS:
        raise UnknownName("break-even", what, BREAK_EVENS)
    if name == USD_PER_GPU_HOUR:
        return f"{gpus:,.0f} GPUs at ${{result}} per GPU-hour", break_even_usd_per_gpu_hour(api, gpus)
    from_rate = break_even_req_per_s(rate, cost, api)
    if name == REQ_PER_S:
        return "a mean of {result} req/s on this fleet", from_rate
    return "{result} tokens a month on this fleet", break_even_m_tokens(from_rate, *month) * 1e6


def _sentence(*values: Any) -> str:
    """What a break-even means, as an explanation shows it."""
    return f"{_parts(*values)[0]} cost what the API does"


@function(
    "Break-even of fleet and API",
    returns="number or text",
    words="where the fleet's bill and the API's are equal: as a price of a GPU-hour, a mean rate, or tokens a month",
    native="",
    derivation=_sentence,
    source="Arithmetic: the fleet's bill stays, the API's grows with the mean rate",
)
def break_even(
    what: Annotated[
        str,
        Text(
            "what is asked for",
            bounds='"usd_per_gpu_hour", "req_per_s" (a mean) or "tokens_per_month"',
            example=USD_PER_GPU_HOUR,
        ),
    ],
    cost_per_hour: CostPerHour,
    gpus: Gpus,
    api_cost: ApiCost,
    mean_req_per_s: MeanReqPerS,
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    hours_per_month: HoursPerMonth = 730.5,
) -> float:
    """Where a fleet's bill and the API's are equal, other things being as they are.

    >>> break_even("usd_per_gpu_hour", 182, 52, 234, 25, 3000, 400, 730.5)
    4.5
    >>> break_even("req_per_s", 182, 52, 227.5, 25, 3000, 400, 730.5)
    20.0
    """
    numbers = (cost_per_hour, gpus, api_cost, mean_req_per_s, prompt_tokens, output_tokens, hours_per_month)
    return _parts(what, *numbers)[1]
