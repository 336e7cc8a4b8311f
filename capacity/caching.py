"""What a prefix cache saves, and what sessions hold: the larger of work and residency sets the fleet.

Cached tokens are a part of the prompt, never an addition to it.
"""

from typing import Annotated, Final

from .arguments import Number
from .decode import StepMs
from .fleet import replicas
from .memory import KvGbPerSeqDivisor, KvPoolGb
from .numeric import ceil, floor, maximum, where
from .queueing import TtftFloorMs
from .registry import function, spec_of
from .terms import Batch, CacheHit, OutputTokens, ReqPerS, Spares
from .traffic import PromptTps

WORK: Final = "work"
RESIDENCY: Final = "residency"
NEITHER: Final = "neither"

ToolS = Annotated[
    float,
    Number("s", "tool time: between the turns of a session, while its KV cache stays resident", example=30, ge=0),
]
PrefixKvGb = Annotated[
    float, Number("GB/GPU", "KV cache of the shared prefixes on one GPU", example=20_000 * 327_680 / 2 / 1e9, ge=0)
]


@function(
    "Cached prompt tokens per second",
    returns="tok/s",
    words="prompt tok/s x cache hit rate",
    native="{prompt_tps}*{cache_hit}",
    derivation="{prompt_tps} prompt tok/s x {cache_hit} cache hit = {result} tok/s that are not computed",
    source="Field notes: the hit rate of the prefix cache multiplies prefill by (1 - h)",
)
def cached_tps(prompt_tps: PromptTps, cache_hit: CacheHit = 0) -> float:
    """Prompt tokens per second that the prefix cache holds already: a part of the prompt tokens.

    >>> cached_tps(150000, 0.5)
    75000.0
    """
    return prompt_tps * cache_hit


@function(
    "Resident sessions that fit",
    returns="sequences",
    words="(KV pool - shared prefixes) / KV per session, rounded down",
    native="INT(ROUND(MAX(0,{kv_pool_gb}-{prefix_kv_gb})/{kv_gb_per_seq},9))",
    derivation="({kv_pool_gb} GB - {prefix_kv_gb} GB of shared prefixes) / {kv_gb_per_seq} GB, rounded down"
    " = {result} sessions",
    source="As the resident sequences of the worked example, beside prefixes that stay in the cache",
)
def resident_sessions(kv_pool_gb: KvPoolGb, prefix_kv_gb: PrefixKvGb, kv_gb_per_seq: KvGbPerSeqDivisor) -> float:
    """Sessions whose whole KV cache fits on a replica beside the shared prefixes; 0 where the prefixes fill it.

    >>> resident_sessions(91.4, 3.4, 0.5), resident_sessions(3, 3.4, 0.5)
    (176.0, 0.0)
    """
    return floor(maximum(0.0, kv_pool_gb - prefix_kv_gb) / kv_gb_per_seq)


@function(
    "Service time of a request",
    returns="s",
    words="output x decode step + batch x TTFT floor: no prefill hides",
    native="({output_tokens}*{step_ms}+{batch}*{ttft_floor_ms})/1E3",
    derivation="{output_tokens} tokens out x {step_ms} ms + {batch} prefills x {ttft_floor_ms} ms = {result} s",
    source="Field notes: cycle of a batch T = output x step + B x e; it is output x worst-case TPOT",
)
def service_s(output_tokens: OutputTokens, step_ms: StepMs, batch: Batch, ttft_floor_ms: TtftFloorMs) -> float:
    """Time that a request spends on its replica at full batch: its steps, and each of the batch's prefills once.

    >>> service_s(400, 20, 64, 200)
    20.8
    """
    return (output_tokens * step_ms + batch * ttft_floor_ms) / 1e3


ServiceS = Annotated[float, Number("s", "service time: of one request on its replica", example=service_s, ge=0)]


@function(
    "Live sessions",
    returns="sequences",
    words="request rate x (service time + tool time)",
    native="{req_per_s}*({service_s}+{tool_s})",
    derivation="{req_per_s} req/s x ({service_s} s of service + {tool_s} s of tools) = {result} sessions",
    source="Little's law: arrivals x time in the system",
)
def live_sessions(req_per_s: ReqPerS, service_s: ServiceS, tool_s: ToolS) -> float:
    """Sessions whose KV cache is in use or waits for the next turn, on the mean.

    >>> live_sessions(50, 20, 30)
    2500.0
    """
    return req_per_s * (service_s + tool_s)


LiveSessions = Annotated[float, Number("sequences", "live sessions", example=live_sessions, ge=0)]
ResidentSessions = Annotated[
    float,
    Number("sequences", "sessions that fit on one replica", example=resident_sessions, ge=1, whole=True),
]


@function(
    "Replicas for the sessions",
    returns="replicas",
    words="live sessions / resident sessions that fit, rounded up",
    native="ROUNDUP(ROUND({live_sessions}/{resident_sessions},9),0)",
    derivation="{live_sessions} live sessions / {resident_sessions} on a replica, rounded up = {result} replicas",
    source="Arithmetic: every live session stays resident; no ceiling, for memory may be full",
)
def session_replicas(live_sessions: LiveSessions, resident_sessions: ResidentSessions) -> float:
    """Whole replicas that hold all live sessions.

    >>> session_replicas(2500, 160)
    16.0
    """
    return ceil(live_sessions / resident_sessions)


WorkReplicas = Annotated[
    float, Number("replicas", "replicas for the work: without spares", example=replicas, ge=0, whole=True)
]
SessionReplicas = Annotated[
    float, Number("replicas", "replicas for the sessions", example=session_replicas, ge=0, whole=True)
]


@function(
    "Replicas for work and sessions",
    returns="replicas",
    words="the larger of replicas for the work and for the sessions, + spares",
    native="MAX({work_replicas},{session_replicas})+{spares}",
    derivation="the larger of {work_replicas} for the work and {session_replicas} for the sessions"
    "[, and {spares} spares] = {result} replicas",
    source="Arithmetic: the fleet must do the work and hold the sessions",
)
def session_fleet(work_replicas: WorkReplicas, session_replicas: SessionReplicas, spares: Spares = 0) -> float:
    """Replicas that do the work under the ceiling and hold every live session.

    >>> session_fleet(10, 13), session_fleet(26, 17, 2)
    (13.0, 28.0)
    """
    return maximum(work_replicas, session_replicas) + spares


@function(
    "What sets the fleet",
    returns="text",
    words="residency where sessions need more replicas than work, else work; neither without load",
    native="CHOOSE(1+({session_replicas}>{work_replicas})+2*({work_replicas}+{session_replicas}=0),"
    '"work","residency","neither")',
    derivation="{work_replicas} replicas for the work, {session_replicas} for the sessions: {result}",
    source="Arithmetic: agents with 97% hits do little work and stay resident between turns",
)
def binding(work_replicas: WorkReplicas, session_replicas: SessionReplicas) -> str:
    """Which of the two sets the number of replicas: the work, or the memory of live sessions.

    >>> binding(26, 17), binding(10, 13)
    ('work', 'residency')
    """
    busier = where(session_replicas > work_replicas, RESIDENCY, WORK)
    found: str = where(work_replicas + session_replicas == 0, NEITHER, busier)
    return found


# What the sheet needs beside the plan's inputs; illustrative until a team enters its own.
CACHING_INPUTS: Final[dict[str, Number]] = {
    **{n: a for n, a in spec_of(live_sessions).args.items() if n == "tool_s" and isinstance(a, Number)},
    "prefix_tokens": Number(
        "tokens", "shared prefixes: tokens that each replica keeps in its cache, of all prefixes", example=20_000, ge=0
    ),
}
