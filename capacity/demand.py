"""The load as a team knows it: concurrent requests, users of a day, or tokens of a month, each as a request rate.

The plan's rate is that of the busiest hour. A count over a day or a month is a mean: peak to mean makes it a peak.
"""

from typing import Annotated, Final

from .arguments import Number
from .headroom import PeakToMean
from .registry import function, spec_of
from .terms import OutputTokens, PromptTokens, ReqPerS

RequestS = Annotated[float, Number("s", "seconds of a request: from its arrival to its last token", example=20, gt=0)]


@function(
    "Concurrent requests",
    returns="count",
    words="request rate x seconds of a request (Little's law)",
    native="{req_per_s}*{request_s}",
    derivation="{req_per_s} req/s x {request_s} s = {result} requests in flight",
    source="Little's law; at 50 req/s and 20 s (400 tokens at 50 ms) 1,000 requests are in flight",
)
def concurrency(req_per_s: ReqPerS, request_s: RequestS) -> float:
    """Requests in flight on average, waiting or running.

    >>> concurrency(50, 20)
    1000.0
    """
    return req_per_s * request_s


ConcurrentRequests = Annotated[
    float,
    Number("count", "concurrent requests: in flight at once in the busiest hour", example=concurrency, ge=0),
]


@function(
    "Request rate of concurrent requests",
    returns="req/s",
    words="concurrent requests / seconds of a request (Little's law)",
    native="{concurrent_requests}/{request_s}",
    derivation="{concurrent_requests} requests in flight / {request_s} s = {result} req/s",
    source="Little's law; 1,000 requests in flight of 20 s each are 50 req/s",
)
def rate_from_concurrency(concurrent_requests: ConcurrentRequests, request_s: RequestS) -> float:
    """Request rate that keeps so many requests in flight; with users who pause, count the pause to the seconds.

    >>> rate_from_concurrency(1000, 20)
    50.0
    """
    return concurrent_requests / request_s


@function(
    "Request rate of users",
    returns="req/s",
    words="users x requests per user and day x peak to mean / seconds of a day",
    native="{users}*{requests_per_user_day}*{peak_to_mean}/86400",
    derivation="{users} users x {requests_per_user_day} requests a day x {peak_to_mean} / 86,400 s = {result} req/s",
    source="Arithmetic: 108,000 users x 20 requests a day x 2 / 86,400 s = 50 req/s",
)
def rate_from_users(
    users: Annotated[float, Number("count", "users: active on a day", example=108_000, ge=0)],
    requests_per_user_day: Annotated[float, Number("count", "requests per user and day", example=20, ge=0)],
    peak_to_mean: PeakToMean = 2,
) -> float:
    """Request rate of the peak when so many users send so many requests a day.

    >>> rate_from_users(108000, 20, 2)
    50.0
    """
    return users * requests_per_user_day * peak_to_mean / 86_400


HoursPerMonth = Annotated[
    float,
    Number("h", "hours of a month: 30.4375 days, a year's 365.25 / 12", example=730.5, default=730.5, gt=0),
]


@function(
    "Request rate of tokens per month",
    returns="req/s",
    words="tokens per month / (prompt + output length) x peak to mean / seconds of a month",
    native="{m_tokens_per_month}*1E6/({prompt_tokens}+{output_tokens})*{peak_to_mean}/({hours_per_month}*3600)",
    derivation="{m_tokens_per_month} million tokens a month / ({prompt_tokens} + {output_tokens}) tokens of a request"
    " x {peak_to_mean} / ({hours_per_month} h x 3,600 s) = {result} req/s",
    source="Arithmetic: 223,533 million tokens / 3,400 x 2 / (730.5 x 3,600 s) = 50 req/s",
)
def rate_from_tokens(
    m_tokens_per_month: Annotated[
        float, Number("M tokens/month", "tokens per month: prompt and output together", example=223_533, ge=0)
    ],
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    peak_to_mean: PeakToMean = 2,
    hours_per_month: HoursPerMonth = 730.5,
) -> float:
    """Request rate of the peak when requests of these mean lengths make so many tokens a month.

    >>> round(rate_from_tokens(223533, 3000, 400, 2), 9)
    50.0
    """
    requests = m_tokens_per_month * 1e6 / (prompt_tokens + output_tokens)
    return requests * peak_to_mean / (hours_per_month * 3600)


# What the load may be stated in, beside the request rate, and what turns it into one.
LOAD_INPUTS: Final[dict[str, Number]] = {
    name: argument
    for function_ in (rate_from_concurrency, rate_from_users, rate_from_tokens)
    for name, argument in spec_of(function_).args.items()
    if isinstance(argument, Number) and name not in ("prompt_tokens", "output_tokens")
}
