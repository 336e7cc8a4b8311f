"""What a conversation costs in tokens: turns that resend their history, growth, reasoning; batch work by a deadline."""

from typing import Annotated

from .arguments import Number
from .registry import function
from .users import GrowthFactor, RequestsPerMonth, Turns

System = Annotated[
    float, Number("tokens", "fixed prompt: instructions and tools, resent at each turn", example=1_000, ge=0)
]
PerTurn = Annotated[
    float, Number("tokens", "tokens per turn: that the user adds, documents included", example=620, ge=0)
]
Output = Annotated[
    float, Number("tokens", "visible reply: tokens of a turn, resent in the next ones", example=300, ge=0)
]


@function(
    "Prompt tokens of a session",
    returns="tokens",
    words="turns x (fixed prompt + (turns + 1) / 2 x tokens per turn + (turns - 1) / 2 x visible reply)",
    native="{turns}*({system_tokens}+{per_turn}*({turns}+1)/2+{reply_tokens}*({turns}-1)/2)",
    derivation="{turns} turns, each with {system_tokens} tokens of fixed prompt, all turns so far of {per_turn}"
    " and all replies so far of {reply_tokens} tokens: {result} prompt tokens",
    source="Sum over t = 1..n of fixed prompt + per turn x t + reply x (t - 1): 1 + .. + n = n (n + 1) / 2",
)
def session_tokens(turns: Turns, system_tokens: System, per_turn: PerTurn, reply_tokens: Output) -> float:
    """Prompt tokens of a conversation that resends its history at each turn.

    >>> session_tokens(3, 1000, 100, 10)  # 1100 + 1210 + 1320
    3630.0
    """
    return turns * system_tokens + per_turn * turns * (turns + 1) / 2 + reply_tokens * turns * (turns - 1) / 2


SessionTokens = Annotated[
    float, Number("tokens", "prompt tokens of a session: all turns together", example=session_tokens, ge=0)
]
FirstTokens = Annotated[float, Number("tokens", "tokens in the first month, before growth", example=10_000, ge=0)]


@function(
    "Mean prompt of a request",
    returns="tokens",
    words="prompt tokens of a session / turns",
    native="{session_tokens}/{turns}",
    derivation="{session_tokens} prompt tokens / {turns} turns = {result} prompt tokens of a request",
    source="Arithmetic: the mean over the turns, of which the last has the longest prompt",
)
def turn_prompt_tokens(session_tokens: SessionTokens, turns: Turns) -> float:
    """Prompt tokens of the mean request of a conversation.

    >>> turn_prompt_tokens(3630, 3)
    1210.0
    """
    return session_tokens / turns


@function(
    "Tokens after growth",
    returns="tokens",
    words="tokens in the first month x growth factor",
    native="{first_tokens}*{growth_factor}",
    derivation="{first_tokens} tokens x {growth_factor} = {result} tokens",
    source="Arithmetic: contexts grow as users learn to give more of them",
)
def grown_tokens(first_tokens: FirstTokens, growth_factor: GrowthFactor) -> float:
    """Tokens of a later month.

    >>> grown_tokens(10000, 1.5)
    15000.0
    """
    return first_tokens * growth_factor


ReasoningTokens = Annotated[
    float, Number("tokens", "reasoning: tokens per request that are written but not shown or resent", example=100, ge=0)
]


@function(
    "Mean output of a request",
    returns="tokens",
    words="visible reply + reasoning",
    native="{reply_tokens}+{reasoning_tokens}",
    derivation="{reply_tokens} tokens of reply + {reasoning_tokens} of reasoning = {result} output tokens",
    source="Arithmetic: decode writes both, and both are paid for as output",
)
def turn_output_tokens(reply_tokens: Output, reasoning_tokens: ReasoningTokens) -> float:
    """Output tokens of the mean request, reasoning included.

    >>> turn_output_tokens(300, 100)
    400.0
    """
    return reply_tokens + reasoning_tokens


TokensPerRequest = Annotated[
    float, Number("tokens", "tokens per request: of its prompt or of its output", example=turn_prompt_tokens, ge=0)
]


@function(
    "Tokens of a month",
    returns="tokens",
    words="requests of a month x tokens per request",
    native="{requests_per_month}*{tokens_per_request}",
    derivation="{requests_per_month} requests x {tokens_per_request} tokens = {result} tokens",
    source="Arithmetic: what an API would bill, prompt and output apart",
)
def tokens_per_month(requests_per_month: RequestsPerMonth, tokens_per_request: TokensPerRequest) -> float:
    """Prompt or output tokens of a month, whichever length is given.

    >>> tokens_per_month(1000, 3000)
    3000000.0
    """
    return requests_per_month * tokens_per_request


BatchTokens = Annotated[
    float, Number("tokens", "batch tokens: of a day's batch, due together", example=432_000_000, ge=0)
]
DeadlineH = Annotated[
    float, Number("h", "deadline: hours in which the batch of a day must be done", example=24, gt=0, le=24)
]


@function(
    "Rate of a batch",
    returns="tok/s",
    words="batch tokens / (deadline x 3,600 s)",
    native="{batch_tokens}/({deadline_h}*3600)",
    derivation="{batch_tokens} tokens / ({deadline_h} h x 3,600 s) = {result} tok/s until the deadline",
    source="Arithmetic: nobody waits for a batch, so its mean rate until the deadline is what it needs",
)
def deadline_tps(batch_tokens: BatchTokens, deadline_h: DeadlineH) -> float:
    """Tokens per second at which a day's batch is done just by its deadline.

    A batch comes each day, so more than 24 hours do not lower the rate: those of two days would be on hand at once.

    >>> deadline_tps(432e6, 24)
    5000.0
    """
    return batch_tokens / (deadline_h * 3600)
