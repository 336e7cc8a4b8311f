"""A mix of workload classes: rates, the context that decode reads, and whose requests are whose work."""

from typing import Annotated, Final

from .arguments import Number
from .fleet import BusyReplicas
from .prefill import PrefillLoad
from .queueing import RequestReplicaS
from .registry import function, spec_of
from .terms import CacheHit, PromptTokens, ReqPerS
from .traffic import ContextTokens, OutputTps, PromptTps

RequestShare = Annotated[
    float, Number("fraction", "share of requests: that are of this class", example=0.1, ge=0, le=1)
]
TailMultiple = Annotated[
    float, Number("count", "p99 multiple: prompt at the 99th percentile over the mean prompt", example=3, ge=1)
]


@function(
    "Request rate of a class",
    returns="req/s",
    words="request rate x share of requests",
    native="{req_per_s}*{request_share}",
    derivation="{req_per_s} req/s x {request_share} = {result} req/s of this class",
    source="Arithmetic: the shares of all classes sum to 1",
)
def class_req_per_s(req_per_s: ReqPerS, request_share: RequestShare) -> float:
    """Requests per second of one workload class.

    >>> class_req_per_s(50, 0.1)
    5.0
    """
    return req_per_s * request_share


@function(
    "Prompt at p99",
    returns="tokens",
    words="mean prompt length x p99 multiple",
    native="{prompt_tokens}*{p99_multiple}",
    derivation="{prompt_tokens} tokens x {p99_multiple} = {result} tokens at the 99th percentile",
    source="Arithmetic: prompt lengths have long tails; measure the multiple on your own requests",
)
def prompt_p99_tokens(prompt_tokens: PromptTokens, p99_multiple: TailMultiple) -> float:
    """Prompt length that one request of a hundred exceeds.

    >>> prompt_p99_tokens(3000, 3)
    9000.0
    """
    return prompt_tokens * p99_multiple


@function(
    "Cached tokens read per second",
    returns="tok/s",
    words="output tok/s x context",
    native="{output_tps}*{context_tokens}",
    derivation="{output_tps} output tok/s x {context_tokens} tokens of context = {result} tokens read per s",
    source="Each output token reads the KV cache of its sequence once",
)
def kv_read_tps(output_tps: OutputTps, context_tokens: ContextTokens) -> float:
    """Tokens of KV cache that the output of a class reads per second: its context, by its time in decode.

    >>> kv_read_tps(20000, 3200)
    64000000.0
    """
    return output_tps * context_tokens


KvReadTps = Annotated[float, Number("tok/s", "cached tokens read per second", example=kv_read_tps, ge=0)]


@function(
    "Decode context of a mix",
    returns="tokens",
    words="cached tokens read per second, all classes / output tok/s, all classes",
    native="{kv_read_tps}/{output_tps}",
    derivation="{kv_read_tps} tokens read per s / {output_tps} output tok/s = {result} tokens",
    source="Weighted by time in decode: sum of rate x out x (in + out / 2) / sum of rate x out",
)
def decode_context(kv_read_tps: KvReadTps, output_tps: OutputTps) -> float:
    """Mean context of the sequences in decode: a class that decodes longer counts for more.

    >>> decode_context(64e6, 20000)
    3200.0
    """
    return kv_read_tps / output_tps


@function(
    "Share of work",
    returns="fraction",
    words="request rate x work of one request / busy replicas, all classes",
    native="{req_per_s}*{request_replica_s}/{busy_replicas}",
    derivation="{req_per_s} req/s x {request_replica_s} replica-s / {busy_replicas} busy replicas = {result}",
    source="Arithmetic: request rate x work of one request is the busy replicas of a class",
)
def work_share(req_per_s: ReqPerS, request_replica_s: RequestReplicaS, busy_replicas: BusyReplicas) -> float:
    """Share of the fleet's work that is a class's: 10% of the requests may be 40% of the work.

    >>> work_share(5, 1.3, 16.25)
    0.4
    """
    return req_per_s * request_replica_s / busy_replicas


@function(
    "Prompt tokens computed per second",
    returns="tok/s",
    words="prompt tok/s x (1 - cache hit)",
    native="{prompt_tps}*(1-{cache_hit})",
    derivation="{prompt_tps} prompt tok/s x (1 - {cache_hit} cache hit) = {result} tok/s",
    source="Arithmetic: a prefix-cache hit is not computed again",
)
def computed_tps(prompt_tps: PromptTps, cache_hit: CacheHit = 0) -> float:
    """Prompt tokens per second that prefill computes.

    >>> computed_tps(150000, 0.5)
    75000.0
    """
    return prompt_tps * (1 - cache_hit)


ComputedTps = Annotated[float, Number("tok/s", "prompt tokens computed per second", example=computed_tps, ge=0)]


@function(
    "Prefill time per computed token of a mix",
    returns="us/token",
    words="prefill load, all classes / prompt tokens computed per second, all classes",
    native="{prefill_load}/{computed_tps}*1E6",
    derivation="{prefill_load} replica-s per s / {computed_tps} tok/s = {result} us per computed token",
    source="Arithmetic: where attention counts, a token of a longer prompt takes longer",
)
def mix_prefill_us(prefill_load: PrefillLoad, computed_tps: ComputedTps) -> float:
    """Replica time that a computed prompt token costs on the mean of the classes.

    >>> round(mix_prefill_us(10.5, 150000), 9)
    70.0
    """
    return prefill_load / computed_tps * 1e6


# What each class has beside its lengths and hits.
CLASS_INPUTS: Final[dict[str, Number]] = {
    name: argument
    for function_, name in ((class_req_per_s, "request_share"), (prompt_p99_tokens, "p99_multiple"))
    if isinstance(argument := spec_of(function_).args[name], Number)
}
LONG_PROMPT: Final = Number(
    "tokens", "long prompt: a class with a longer mean prompt goes to the pool for long ones", example=8000, ge=0
)
