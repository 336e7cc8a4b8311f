"""From users to request rates, month by month: cohorts, sessions, turns, growth; the mean is not the design rate."""

from typing import Annotated

from .arguments import Number
from .demand import HoursPerMonth
from .headroom import LoadFactor
from .numeric import power
from .registry import function

Growth = Annotated[
    float, Number("fraction", "growth per month: as a share, below 0 where it shrinks", example=0.05, gt=-1)
]
Months = Annotated[float, Number("months", "months of growth: since the first month", example=12, ge=0)]


@function(
    "Growth factor",
    returns="count",
    words="(1 + growth per month) ^ months",
    native="(1+{growth})^{months}",
    derivation="(1 + {growth}) ^ {months} months = {result} times the first month's",
    source="Arithmetic: growth compounds each month; (1 + 0.05) ^ 12 = 1.796",
)
def growth_factor(growth: Growth, months: Months) -> float:
    """How many times the first month's something is after so many months; below 1 where it shrinks.

    >>> round(growth_factor(0.05, 12), 4), growth_factor(-0.5, 2), growth_factor(0, 35)
    (1.7959, 0.25, 1.0)
    """
    return power(1 + growth, months)


GrowthFactor = Annotated[float, Number("count", "growth factor: times the first month's", example=growth_factor, ge=0)]
FirstNewUsers = Annotated[float, Number("users", "new users: that join in the first month", example=70_000, ge=0)]


@function(
    "New users",
    returns="users",
    words="new users of the first month x growth factor",
    native="{first_new_users}*{growth_factor}",
    derivation="{first_new_users} new users x {growth_factor} = {result} new users",
    source="Arithmetic: the cohort that joins grows by the factor",
)
def new_users(first_new_users: FirstNewUsers, growth_factor: GrowthFactor) -> float:
    """Users who join in a month: that month's cohort.

    >>> new_users(20000, 1.5)
    30000.0
    """
    return first_new_users * growth_factor


KeptBefore = Annotated[
    float, Number("users", "older users before: of the month before who had joined earlier", example=100_000, ge=0)
]
NewBefore = Annotated[float, Number("users", "new users before: who joined in the month before", example=20_000, ge=0)]
FirstRetention = Annotated[
    float,
    Number("fraction", "first retention: share of a cohort that is back in its second month", example=0.6, ge=0, le=1),
]
LaterRetention = Annotated[
    float,
    Number("fraction", "later retention: share of older users that stays each month", example=0.95, ge=0, le=1),
]


@function(
    "Older users",
    returns="users",
    words="new users before x first retention + older users before x later retention",
    native="{new_before}*{first_retention}+{kept_before}*{later_retention}",
    derivation="{kept_before} older users x {later_retention} + {new_before} new ones x {first_retention}"
    " = {result} who stayed",
    source="Arithmetic: a cohort loses most in its first month, then the same share each month",
)
def kept_users(
    kept_before: KeptBefore, new_before: NewBefore, first_retention: FirstRetention, later_retention: LaterRetention
) -> float:
    """Users of a month who had joined in an earlier one: what is left of all cohorts together.

    >>> kept_users(100000, 20000, 0.6, 0.95)
    107000.0
    """
    return new_before * first_retention + kept_before * later_retention


KeptUsers = Annotated[float, Number("users", "older users: who joined in an earlier month", example=kept_users, ge=0)]
NewUsers = Annotated[float, Number("users", "new users: who join in the month", example=new_users, ge=0)]


@function(
    "Active users",
    returns="users",
    words="new users + older users",
    native="{new_users}+{kept_users}",
    derivation="{new_users} new users + {kept_users} older users = {result} active users",
    source="Arithmetic: each user of a month is new or older",
)
def active_users(new_users: NewUsers, kept_users: KeptUsers) -> float:
    """Users of a month.

    >>> active_users(20000, 107000)
    127000.0
    """
    return new_users + kept_users


ActiveUsers = Annotated[float, Number("users", "active users: of the month", example=active_users, ge=0)]
SessionsPerUser = Annotated[
    float, Number("count", "sessions per user: conversations of one user in a month", example=20, ge=0)
]
Turns = Annotated[float, Number("count", "turns: questions that one session asks", example=4, ge=1, whole=True)]
RequestsPerTurn = Annotated[
    float,
    Number("count", "model requests per turn: more than 1 where tools answer in steps", example=1.5, ge=1),
]
RetryShare = Annotated[
    float, Number("fraction", "retries: requests that are sent once more, per request", example=0.02, ge=0)
]


@function(
    "Requests of a month",
    returns="requests",
    words="users x sessions x turns x model requests per turn x (1 + retries)",
    native="{active_users}*{sessions_per_user}*{turns}*{requests_per_turn}*(1+{retry_share})",
    derivation="{active_users} users x {sessions_per_user} sessions x {turns} turns x {requests_per_turn} requests"
    " x (1 + {retry_share}) = {result} requests",
    source="Arithmetic: each factor multiplies the one before; a retry is served, and paid for, like any request",
)
def requests_per_month(
    active_users: ActiveUsers,
    sessions_per_user: SessionsPerUser,
    turns: Turns,
    requests_per_turn: RequestsPerTurn,
    retry_share: RetryShare,
) -> float:
    """Requests that reach the fleet in a month.

    >>> requests_per_month(100000, 20, 4, 2, 0.25)
    20000000.0
    """
    return active_users * sessions_per_user * turns * requests_per_turn * (1 + retry_share)


RequestsPerMonth = Annotated[float, Number("requests", "requests of a month", example=requests_per_month, ge=0)]


@function(
    "Mean request rate",
    returns="req/s",
    words="requests of a month / (hours of the month x 3,600 s)",
    native="{requests_per_month}/({hours_per_month}*3600)",
    derivation="{requests_per_month} requests / ({hours_per_month} h x 3,600 s) = {result} req/s on the mean",
    source="Arithmetic: a month is a twelfth of 365.25 days, 730.5 h, unless given",
)
def mean_req_per_s(requests_per_month: RequestsPerMonth, hours_per_month: HoursPerMonth = 730.5) -> float:
    """Requests per second on the mean of a month: what is sold, not what the fleet must be built for.

    >>> mean_req_per_s(2629800)
    1.0
    """
    return requests_per_month / (hours_per_month * 3600)


MeanReqPerS = Annotated[
    float, Number("req/s", "mean request rate: of a month, all its hours", example=mean_req_per_s, ge=0)
]


@function(
    "Design request rate",
    returns="req/s",
    words="mean request rate / load factor",
    native="{mean_req_per_s}/{load_factor}",
    derivation="{mean_req_per_s} req/s on the mean / {load_factor} = {result} req/s in the busiest hour",
    source="Arithmetic: load factor = mean load / peak load",
)
def design_req_per_s(mean_req_per_s: MeanReqPerS, load_factor: LoadFactor) -> float:
    """Requests per second in the busiest hour: what the fleet must be built for, not what is sold.

    >>> design_req_per_s(25, 0.5)
    50.0
    """
    return mean_req_per_s / load_factor
