"""Chunked prefill: each decode step also computes a chunk of waiting prompts, so TPOT pays for TTFT."""

import math
from typing import Annotated, Final

from .arguments import Number
from .decode import StepMs
from .errors import Infeasible
from .mix import ComputedTps
from .numeric import as_float, ceil, floor, is_array, maximum, minimum, where
from .prefill import PrefillUs
from .registry import function, spec_of
from .terms import Batch, CacheHit, PromptTokens, TargetMs
from .traffic import OutputTps

ChunkTokens = Annotated[
    float, Number("tokens", "chunk: prompt tokens computed in each step", example=512, ge=1, whole=True)
]
BudgetShare = Annotated[
    float,
    Number("fraction", "cap per request: share of a step's tokens that one request may take", example=0.25, gt=0, le=1),
]


@function(
    "TPOT of mixed steps",
    returns="ms",
    words="decode step + chunk x prefill time per token: no prefill hides",
    native="{step_ms}+{chunk_tokens}*{prefill_us}/1E3",
    derivation="{step_ms} ms + {chunk_tokens} tokens x {prefill_us} us = {result} ms per mixed step",
    source="A mixed step gives one token to each sequence and computes one chunk; equals the worst-case TPOT at the"
    " chunk that keeps up",
)
def chunk_tpot_ms(step_ms: StepMs, chunk_tokens: ChunkTokens, prefill_us: PrefillUs) -> float:
    """Time per output token while every step also computes a chunk of prompts, none of it hidden.

    >>> chunk_tpot_ms(20, 500, 70)
    55.0
    """
    return step_ms + chunk_tokens * prefill_us / 1e3


@function(
    "TPOT of mixed steps, best case",
    returns="ms",
    words="the larger of decode step and chunk x prefill time per token: all that can hide does",
    native="MAX({step_ms},{chunk_tokens}*{prefill_us}/1E3)",
    derivation="the larger of {step_ms} ms and {chunk_tokens} tokens x {prefill_us} us = {result} ms",
    source="As the best-case TPOT: all prefill that can hide under decode's memory time does",
)
def chunk_tpot_best_ms(step_ms: StepMs, chunk_tokens: ChunkTokens, prefill_us: PrefillUs) -> float:
    """The same when all the prefill that can hide under decode's memory time does.

    >>> chunk_tpot_best_ms(20, 500, 70)
    35.0
    """
    return maximum(step_ms, chunk_tokens * prefill_us / 1e3)


@function(
    "Largest chunk inside the target",
    returns="tokens",
    words="(TPOT target - decode step) / prefill time per token, rounded down",
    native="INT(ROUND(MAX(0,{target_ms}-{step_ms})/{prefill_us}*1E3/({target_ms}-{step_ms}>=-{target_ms}/1E9),9))",
    derivation="({target_ms} ms - {step_ms} ms) / {prefill_us} us = {unrounded}, rounded down to {result} tokens",
    source="The chunk at which TPOT of mixed steps is the target",
    unrounded=lambda target_ms, step_ms, prefill_us: max(0.0, target_ms - step_ms) / prefill_us * 1e3,
)
def max_chunk_tokens(target_ms: TargetMs, step_ms: StepMs, prefill_us: PrefillUs) -> float:
    """Prompt tokens that a step can compute within the TPOT target, none hidden; an error below the step itself.

    >>> max_chunk_tokens(50, 20, 70)
    428.0
    """
    room = target_ms - step_ms
    short = room < -target_ms / 1e9  # a target of exactly the step must not fail by the last bit
    if is_array(room):
        room = as_float(where(short, math.nan, maximum(room, 0.0)))  # the registry says where
    elif short:
        raise Infeasible(f"a target of {target_ms:.4g} ms is below the decode step of {step_ms:.4g} ms: no chunk fits")
    else:
        room = maximum(room, 0.0)
    return floor(room / prefill_us * 1e3)


@function(
    "Chunk that keeps up with the load",
    returns="tokens",
    words="decode batch x prompt tokens computed per second / output tok/s",
    native="{batch}*{computed_tps}/{output_tps}",
    derivation="{batch} sequences x {computed_tps} tok/s computed / {output_tps} output tok/s = {result} tokens",
    source="While the batch gets a token each, that many prompt tokens arrive: with a smaller chunk they pile up",
)
def keep_up_chunk_tokens(batch: Batch, computed_tps: ComputedTps, output_tps: OutputTps) -> float:
    """Prompt tokens that arrive for each step of a replica that is busy all the time.

    >>> keep_up_chunk_tokens(64, 150000, 20000)
    480.0
    """
    return batch * computed_tps / output_tps


@function(
    "Token budget of a step",
    returns="tokens",
    words="chunk + decode batch",
    native="{chunk_tokens}+{batch}",
    derivation="{chunk_tokens} prompt tokens + {batch} sequences = {result} tokens in a step",
    source="A mixed step computes the chunk and one token of each sequence in decode",
)
def token_budget(chunk_tokens: ChunkTokens, batch: Batch) -> float:
    """Tokens that one mixed step computes.

    >>> token_budget(512, 64)
    576.0
    """
    return chunk_tokens + batch


TokenBudget = Annotated[float, Number("tokens", "token budget: tokens of a mixed step", example=token_budget, ge=1)]


@function(
    "Chunk of one request",
    returns="tokens",
    words="the smaller of chunk and cap per request x token budget",
    native="MIN({chunk_tokens},{budget_share}*{token_budget})",
    derivation="the smaller of {chunk_tokens} tokens and {budget_share} x {token_budget} tokens = {result} tokens",
    source="Arithmetic: a cap leaves the rest of each step to other prompts, so one long prompt does not stop them",
)
def request_chunk_tokens(chunk_tokens: ChunkTokens, token_budget: TokenBudget, budget_share: BudgetShare) -> float:
    """Prompt tokens of one request that a step may compute under the cap.

    >>> request_chunk_tokens(512, 576, 0.25)
    144.0
    """
    return minimum(chunk_tokens, budget_share * token_budget)


RequestChunkTokens = Annotated[
    float,
    Number(
        "tokens", "chunk of one request: its prompt tokens that a step computes", example=request_chunk_tokens, gt=0
    ),
]


@function(
    "Mixed steps of a prompt",
    returns="count",
    words="prompt x (1 - cache hit) / chunk of one request, rounded up",
    native="ROUNDUP(ROUND({prompt_tokens}*(1-{cache_hit})/{request_chunk_tokens},9),0)",
    derivation="{prompt_tokens} tokens x (1 - {cache_hit} cache hit) / {request_chunk_tokens} tokens = {unrounded},"
    " rounded up to {result} steps",
    source="Arithmetic: the last chunk takes a step as the others",
    unrounded=lambda prompt_tokens, request_chunk_tokens, cache_hit: (
        prompt_tokens * (1 - cache_hit) / request_chunk_tokens
    ),
)
def mixed_steps(
    prompt_tokens: PromptTokens, request_chunk_tokens: RequestChunkTokens, cache_hit: CacheHit = 0
) -> float:
    """Steps over which the prefill of one prompt is spread.

    >>> mixed_steps(30000, 512), mixed_steps(30000, 512, 0.5)
    (59.0, 30.0)
    """
    return ceil(prompt_tokens * (1 - cache_hit) / request_chunk_tokens)


MixedSteps = Annotated[float, Number("count", "mixed steps of a prompt", example=mixed_steps, ge=0, whole=True)]
ChunkTpotMs = Annotated[float, Number("ms", "TPOT of mixed steps", example=chunk_tpot_ms, gt=0)]


@function(
    "TTFT floor with chunks",
    returns="ms",
    words="mixed steps of the prompt x TPOT of mixed steps",
    native="{mixed_steps}*{chunk_tpot_ms}",
    derivation="{mixed_steps} mixed steps x {chunk_tpot_ms} ms = {result} ms",
    source="Prompt / chunk mixed steps, without queueing: other prompts fill what a cap or the last chunk leaves",
)
def chunked_ttft_ms(mixed_steps: MixedSteps, chunk_tpot_ms: ChunkTpotMs) -> float:
    """Least time to first token of a prompt whose prefill shares its steps with decode.

    >>> chunked_ttft_ms(59, 55)
    3245.0
    """
    return mixed_steps * chunk_tpot_ms


# What chunked prefill is set to.
CHUNK_INPUTS: Final[dict[str, Number]] = {
    name: argument
    for name, argument in spec_of(request_chunk_tokens).args.items()
    if isinstance(argument, Number) and name != "token_budget"
}
