"""What a ceiling costs in waiting: notes of queueing theory, not predictions of a serving engine."""

from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .fleet import BusyReplicas, replicas, request_replica_s
from .numeric import as_float, each, is_array, where
from .prefill import ttft_floor_ms
from .registry import function
from .terms import Utilization

_MOST = 1e9  # servers: the sum takes some 50 x sqrt(servers) steps
_NEGLIGIBLE = 1e-17  # of a sum of doubles
_ENDLESS = "{:g} busy replicas on {:g} servers: the queue grows without end"

Servers = Annotated[
    float, Number("replicas", "servers: replicas, each taken for one server", example=replicas, ge=1, whole=True)
]
TtftFloorMs = Annotated[float, Number("ms", "TTFT floor: compute of the prompt alone", example=ttft_floor_ms, ge=0)]
RequestReplicaS = Annotated[float, Number("replica-s", "replica time of one request", example=request_replica_s, ge=0)]


@function(
    "Delay factor",
    returns="count",
    words="1 / (1 - ceiling at peak)",
    native="1/(1-{utilization})",
    derivation="1 / (1 - {utilization}) = {result} times the time without others",
    source="Worked example: queueing delay grows like 1/(1 - utilization); one server shared by all (M/M/1)",
)
def delay_factor(utilization: Utilization = 0.65) -> float:
    """How many times longer a request stays in one shared server that is as busy as the ceiling allows.

    >>> delay_factor(0.5), round(delay_factor(0.9), 9)
    (2.0, 10.0)
    """
    return 1 / (1 - utilization)


DelayFactor = Annotated[float, Number("count", "delay factor: 1/(1 - ceiling)", example=delay_factor, ge=1)]


@function(
    "First-order TTFT",
    returns="ms",
    words="TTFT floor x delay factor",
    native="{ttft_floor_ms}*{delay_factor}",
    derivation="{ttft_floor_ms} ms x {delay_factor} = {result} ms",
    source="Field notes: a floor is not a TTFT; delay grows like 1/(1 - utilization); published TTFTs are 7-25 floors",
)
def ttft_first_order_ms(ttft_floor_ms: TtftFloorMs, delay_factor: DelayFactor) -> float:
    """Time to first token when the prompt shares its replica: the floor, longer by the delay factor.

    >>> round(ttft_first_order_ms(213.9, 10))
    2139
    """
    return ttft_floor_ms * delay_factor


@function(
    "Probability of waiting (Erlang C)",
    returns="fraction",
    words="Poisson(c) / (Poisson(c) + (1 - busy / c) x Poisson(up to c - 1)), c servers",
    native="POISSON({servers},{busy_replicas},FALSE)/(POISSON({servers},{busy_replicas},FALSE)"
    "+MAX(0,1-{busy_replicas}/{servers})*POISSON({servers}-1,{busy_replicas},TRUE))",
    derivation="{busy_replicas} busy of {servers} servers: an arrival waits with probability {result}",
    source="Erlang 1917: the M/M/c queue, each replica one server of one request at a time; it runs many, so a note",
)
def erlang_c(busy_replicas: BusyReplicas, servers: Servers) -> float:
    """Share of arrivals that find every server busy; an error where the queue grows without end.

    >>> round(erlang_c(1, 2), 9)
    0.333333333
    """
    return each(_waiting_share, busy_replicas, servers)


def _waiting_share(busy: float, servers: float) -> float:
    if busy >= servers:
        raise Infeasible(_ENDLESS.format(busy, servers))
    if servers > _MOST:
        raise Infeasible(f"{servers:g} servers are more than the {_MOST:g} for which Erlang C is summed")
    if busy == 0:
        return 0.0
    # all states against that in which every server is busy, from there down: 1 + c/a + c(c-1)/a^2 + ...
    total = term = 1.0
    server = servers
    while server >= 1 and term > total * _NEGLIGIBLE:  # an infinite sum ends it as well
        term *= server / busy
        total += term
        server -= 1
    lost = 1 / total  # Erlang B
    return lost / (1 - busy / servers * (1 - lost))


WaitShare = Annotated[float, Number("fraction", "probability that an arrival waits", example=erlang_c, ge=0, le=1)]


@function(
    "Mean wait (Erlang C)",
    returns="ms",
    words="probability of waiting x work of one request / (servers - busy replicas)",
    native="{wait_share}*{request_replica_s}/MAX(0,{servers}-{busy_replicas})*1E3",
    derivation="{wait_share} x {request_replica_s} replica-s / ({servers} - {busy_replicas}) = {result} ms",
    source="The M/M/c queue: mean wait of all arrivals, those that do not wait included",
)
def queue_wait_ms(
    wait_share: WaitShare, busy_replicas: BusyReplicas, servers: Servers, request_replica_s: RequestReplicaS
) -> float:
    """Mean time in the queue before a replica is free.

    >>> round(queue_wait_ms(1 / 3, 1, 2, 0.3), 9)
    100.0
    """
    free = servers - busy_replicas
    if is_array(free):
        free = where(free > 0, free, 0.0)  # which leaves no finite wait: the registry says where
    elif free <= 0:
        raise Infeasible(_ENDLESS.format(busy_replicas, servers))
    return as_float(wait_share * request_replica_s / free * 1e3)
