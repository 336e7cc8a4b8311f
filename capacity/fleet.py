"""From work to a fleet: busy replicas, a ceiling at peak, whole replicas, GPUs."""

from typing import Annotated

from .arguments import Number
from .decode import DecodeLoad, ReplicaTps
from .numeric import ceil
from .prefill import PrefillLoad, PrefillUs
from .registry import function
from .terms import CacheHit, OutputTokens, PromptTokens, Spares, Tp, Utilization


@function(
    "Busy replicas",
    returns="replica-s/s",
    words="prefill load + decode load",
    native="{prefill_load}+{decode_load}",
    derivation="{prefill_load} for prefill + {decode_load} for decode = {result} busy replicas",
    source="Worked example: total = 10.7 + 6.0 = 16.7 replica-s per s",
)
def busy_replicas(prefill_load: PrefillLoad, decode_load: DecodeLoad) -> float:
    """Replica-seconds of work per second: the replicas that would be 100% busy.

    >>> busy_replicas(10.5, 6)
    16.5
    """
    return prefill_load + decode_load


BusyReplicas = Annotated[float, Number("replica-s/s", "replicas that would be 100% busy", example=busy_replicas, ge=0)]


@function(
    "Replicas",
    returns="replicas",
    words="busy replicas / ceiling at peak, rounded up, + spares",
    native="ROUNDUP(ROUND({busy_replicas}/{utilization},9),0)+{spares}",
    derivation="{busy_replicas} busy replicas / {utilization} = {unrounded}, rounded up"
    "[ and {spares} spares added,] to {result} replicas",
    source="Worked example: 16.7 / 0.65 = 25.6 -> 26 replicas",
    unrounded=lambda busy_replicas, utilization, spares: busy_replicas / utilization,
)
def replicas(busy_replicas: BusyReplicas, utilization: Utilization = 0.65, spares: Spares = 0) -> float:
    """Whole replicas that are at most as busy as the ceiling at peak allows, and spares on top.

    >>> replicas(16.67, 0.65), replicas(16.67, 0.65, 2)
    (26.0, 28.0)
    """
    return ceil(busy_replicas / utilization) + spares


Replicas = Annotated[float, Number("replicas", "replicas", example=replicas, ge=0, whole=True)]


@function(
    "GPUs",
    returns="GPUs",
    words="replicas x TP",
    native="{replicas}*{tp}",
    derivation="{replicas} replicas x {tp} GPUs = {result} GPUs",
    source="Worked example: 26 replicas, 52 GPUs",
)
def gpus(replicas: Replicas, tp: Tp) -> float:
    """GPUs of the fleet.

    >>> gpus(26, 2)
    52.0
    """
    return replicas * tp


@function(
    "Work of one request",
    returns="replica-s",
    words="prompt x (1 - cache hit) x prefill time + output / replica output rate",
    native="{prompt_tokens}*(1-{cache_hit})*{prefill_us}/1E6+{output_tokens}/{replica_tps}",
    derivation="{prompt_tokens} tokens in [x (1 - {cache_hit} cache hit) ]x {prefill_us} us"
    " + {output_tokens} tokens out / {replica_tps} tok/s = {result} replica-s",
    source="Worked example: 30,000 in + 50 out 2.15 replica-s, 200 in + 1,000 out 0.31 replica-s",
)
def request_replica_s(
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    prefill_us: PrefillUs,
    replica_tps: ReplicaTps,
    cache_hit: CacheHit = 0,
) -> float:
    """Replica time that one request costs, prefill and decode together.

    >>> round(request_replica_s(30000, 50, 71.302, 3347.3), 3)
    2.154
    """
    return prompt_tokens * (1 - cache_hit) * prefill_us / 1e6 + output_tokens / replica_tps


Gpus = Annotated[float, Number("GPUs", "GPUs of the fleet", example=gpus, ge=0)]
