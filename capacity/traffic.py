"""A request rate is not a load: requests become prompt and output tokens per second."""

from typing import Annotated

from .arguments import Number
from .registry import function
from .terms import OutputTokens, PromptTokens, ReqPerS


@function(
    "Prompt tokens per second",
    returns="tok/s",
    words="request rate x prompt length",
    native="{req_per_s}*{prompt_tokens}",
    derivation="{req_per_s} req/s x {prompt_tokens} tokens in = {result} prompt tok/s",
    source="Worked example: 50 x 3,000 = 150,000 prompt tok/s",
)
def prompt_tps(req_per_s: ReqPerS, prompt_tokens: PromptTokens) -> float:
    """Prompt tokens that arrive per second.

    >>> prompt_tps(50, 3000)
    150000.0
    """
    return req_per_s * prompt_tokens


@function(
    "Output tokens per second",
    returns="tok/s",
    words="request rate x output length",
    native="{req_per_s}*{output_tokens}",
    derivation="{req_per_s} req/s x {output_tokens} tokens out = {result} output tok/s",
    source="Worked example: 50 x 400 = 20,000 output tok/s",
)
def output_tps(req_per_s: ReqPerS, output_tokens: OutputTokens) -> float:
    """Output tokens to produce per second.

    >>> output_tps(50, 400)
    20000.0
    """
    return req_per_s * output_tokens


@function(
    "Mean context mid-reply",
    returns="tokens",
    words="prompt length + half the output length",
    native="{prompt_tokens}+{output_tokens}/2",
    derivation="{prompt_tokens} tokens in + {output_tokens} tokens out / 2 = {result} tokens",
    source="Worked example: 3,200 tokens (mean context mid-reply)",
)
def context_tokens(prompt_tokens: PromptTokens, output_tokens: OutputTokens) -> float:
    """Tokens that a running sequence holds in the KV cache on average: half of its reply is written.

    >>> context_tokens(3000, 400)
    3200.0
    """
    return prompt_tokens + output_tokens / 2


PromptTps = Annotated[float, Number("tok/s", "prompt tokens per second", example=prompt_tps, ge=0)]
OutputTps = Annotated[float, Number("tok/s", "output tokens per second", example=output_tps, ge=0)]
ContextTokens = Annotated[float, Number("tokens", "mean context mid-reply", example=context_tokens, ge=0)]
