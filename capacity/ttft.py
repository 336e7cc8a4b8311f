"""Time to first token by percentile: of a closed loop, and of requests that come when they like.

A closed loop (a client keeps so many requests in flight, as benchmarks do) has constants fitted to published TTFT; its
slowest requests are those of its start, sent all at once. An open arrival waits as in the queue M/G/1 before the
prefill of its replica; its tail is taken for exponential.
"""

from typing import Annotated, Any, Final

from .arguments import Number
from .constants import TTFT_ECHO, TTFT_FITTED, Constant
from .decode import StepMs
from .headroom import gpu_busy
from .numeric import log, maximum
from .queueing import TtftFloorMs
from .registry import function, spec_of
from .terms import Batch


def _fitted(constant: Constant) -> Number:
    return Number(constant.unit, constant.meaning, example=constant.value, default=constant.value, ge=0)


TtftSteps = Annotated[float, _fitted(TTFT_FITTED["ttft_steps"])]
TtftBurst = Annotated[float, _fitted(TTFT_FITTED["ttft_burst"])]
TtftQueue = Annotated[float, _fitted(TTFT_FITTED["ttft_queue"])]
TtftEcho = Annotated[float, _fitted(TTFT_ECHO)]
Percentile = Annotated[
    float, Number("fraction", "percentile: share of requests that are no later", example=0.99, gt=0, lt=1)
]
PromptSpread = Annotated[
    float,
    Number("count", "spread of prompts: standard deviation of their length over its mean", example=0, default=0, ge=0),
]


@function(
    "Prompts before a request's own, closed loop",
    returns="count",
    words="prompts of its wave x (1 - 1 / batch) + share that queues x (batch - 1)",
    native="{ttft_burst}*(1-1/{batch})+{ttft_queue}*({batch}-1)",
    derivation="{ttft_burst} x (1 - 1 / {batch}) + {ttft_queue} x ({batch} - 1) = {result} prompts, on the mean",
    source="Fitted to 782 published TTFTs of closed loops; defaults: an engine that is not known",
)
def prompts_before(batch: Batch, ttft_burst: TtftBurst = 0.8347, ttft_queue: TtftQueue = 0.05227) -> float:
    """Prompts that a replica reads before a request's own, on the mean of a closed loop of so many requests.

    >>> round(prompts_before(64, 0.3314, 0.05358), 4)  # vLLM: 0.3314 x 63/64 + 0.05358 x 63
    3.7018
    """
    return ttft_burst * (1 - 1 / batch) + ttft_queue * (batch - 1)


StartupShare = Annotated[
    float,
    Number(
        "fraction",
        "start-up share: requests that are sent at once as the loop begins, concurrency / prompts; 0: it never ends",
        example=0.1,
        default=0.1,
        ge=0,
        le=1,
    ),
]


@function(
    "Prompts that come with a request, closed loop",
    returns="count",
    words="prompts of its wave x (1 - 1 / batch) + echo of the start x start-up share x (batch - 1)",
    native="{ttft_burst}*(1-1/{batch})+{ttft_echo}*{startup_share}*({batch}-1)",
    derivation="{ttft_burst} x (1 - 1 / {batch}) + {ttft_echo} x {startup_share} x ({batch} - 1) = {result} prompts",
    source="Wave: fitted to 782 published TTFTs; echo: to the percentiles of 18 published loops with several"
    " requests at a time (data/ttft_percentiles.csv)",
)
def wave_prompts(
    batch: Batch, startup_share: StartupShare = 0.1, ttft_burst: TtftBurst = 0.8347, ttft_echo: TtftEcho = 0.29
) -> float:
    """Prompts that come with a request after the start of a closed loop, on the mean, and are read before it.

    What was sent at once as the loop began ends at about one time and so comes together again, the less the longer the
    loop runs: the echo of its start.

    >>> round(wave_prompts(64, 0.1, 0.3314, 0.5), 4)  # 0.3314 x 63/64 + 0.5 x 0.1 x 63
    3.4762
    """
    return ttft_burst * (1 - 1 / batch) + ttft_echo * startup_share * (batch - 1)


WavePrompts = Annotated[
    float,
    Number("count", "wave prompts: come with a request and are read before it", example=wave_prompts, ge=0),
]


@function(
    "Prompts before a request's own, closed loop, by percentile",
    returns="count",
    words="even among those of its wave, or, in the start-up burst, even among all the batch: the larger",
    native="MAX(2*{wave_prompts}*{percentile}/MAX({percentile},1-{startup_share}),"
    "({batch}-1)*MAX(0,{percentile}-1+{startup_share})/MAX({startup_share},1-{percentile}))",
    derivation="max(2 x {wave_prompts} x {percentile} / max({percentile}, 1 - {startup_share}), ({batch} - 1) x max(0,"
    " {percentile} - 1 + {startup_share}) / max({startup_share}, 1 - {percentile})) = {result} prompts",
    source="A loop of N prompts at concurrency C sends C at once as it begins: C / N of its requests wait for up to"
    " C - 1 prompts, and the slowest of a benchmark are among them",
)
def prompts_before_at(
    batch: Batch, percentile: Percentile, wave_prompts: WavePrompts, startup_share: StartupShare = 0.1
) -> float:
    """Prompts that a replica reads before a request's own: so many or fewer for a share of a closed loop's requests.

    The slowest requests of a benchmark are those of its start, when all the batch is sent at once: of 640 prompts at
    64 it is every tenth. A service that runs on has no such start: a start-up share of 0.

    >>> round(prompts_before_at(64, 0.99, 3, 0.1), 4)  # 63 x 0.09 / 0.1
    56.7
    >>> round(prompts_before_at(64, 0.99, 3, 0), 4)  # 2 x 3 x 0.99
    5.94
    """
    wave = 2 * wave_prompts * percentile / maximum(percentile, 1 - startup_share)
    start = (batch - 1) * maximum(0.0, percentile - 1 + startup_share) / maximum(startup_share, 1 - percentile)
    return maximum(wave, start)


PromptsBefore = Annotated[
    float, Number("count", "prompts before: read before a request's own", example=prompts_before, ge=0)
]


@function(
    "TTFT of a closed loop",
    returns="ms",
    words="decode steps before x decode step + prefill x (1 + prompts before)",
    native="{ttft_steps}*{step_ms}+{ttft_floor_ms}*(1+{prompts_before})",
    derivation="{ttft_steps} steps of {step_ms} ms + {ttft_floor_ms} ms x (1 + {prompts_before}) = {result} ms",
    source="Of the mean off by 26% (median of 759 published closed loops, model left out, constants of the engine); of"
    " P99 by 32%, of P50 by 41% (18 runs with several requests at a time, model left out); P90 is too early",
)
def ttft_closed_ms(
    ttft_floor_ms: TtftFloorMs, step_ms: StepMs, prompts_before: PromptsBefore, ttft_steps: TtftSteps = 2.039
) -> float:
    """Time to first token of a closed loop whose requests all fit, with so many prompts before a request's own.

    Steps of decode pass, then the prompts before it, then its own. With PROMPTS_BEFORE it is the mean, off by 26%
    (median of 759 published closed loops that fit, model left out, with the constants of the engine; 36% with those of
    an engine that is not known, 23% in the fit). With PROMPTS_BEFORE_AT it is a percentile: P99 off by 32%, P50 by 41%
    (median of 18 published runs with several requests at a time, model left out). P90 is too early: in 7 runs that
    measured it, 6 of them of one source, it was 2 to 4 times as late.

    >>> ttft_closed_ms(200, 20, 3, 2)
    840.0
    """
    return ttft_steps * step_ms + ttft_floor_ms * (1 + prompts_before)


PrefillBusy = Annotated[
    float, Number("fraction", "prefill busy: prefill load / replicas", example=gpu_busy, ge=0, lt=1)
]


@function(
    "TTFT of open arrivals",
    returns="ms",
    words="decode steps before x decode step + prefill + wait that the share does not exceed, M/G/1",
    native="{ttft_steps}*{step_ms}+{ttft_floor_ms}*(1+LN(MAX(1,{prefill_busy}/(1-{percentile})))"
    "*(1+{prompt_cv}^2)/2/MAX(0,1-{prefill_busy}))",
    derivation="{ttft_steps} steps of {step_ms} ms + {ttft_floor_ms} ms x (1 + ln({prefill_busy} / (1 - {percentile}))"
    " x (1 + {prompt_cv}^2) / 2 / (1 - {prefill_busy})) = {result} ms",
    source="Pollaczek and Khinchine: mean wait of M/G/1; tail busy x exp(-t / mean wait of those that wait); against a"
    " simulated queue -10% to +19%, for prompts of one length at 30% to 90% busy",
)
def ttft_open_ms(
    ttft_floor_ms: TtftFloorMs,
    step_ms: StepMs,
    prefill_busy: PrefillBusy,
    percentile: Percentile,
    ttft_steps: TtftSteps = 2.039,
    prompt_cv: PromptSpread = 0,
) -> float:
    """Time to first token that a share of requests does not exceed, where requests come at random and prompts go first.

    A request of mean length waits with probability busy, and then so much longer as others are before it. Against a
    simulated queue at 30% to 90% busy, at 50%, 90% and 99%: -10% to +19% of prefill and wait for prompts of one length
    (+4% to +19% at 99%: the tail is lighter), within 7% for prompts that spread by their mean.

    >>> ttft_open_ms(200, 20, 0.5, 0.5, 2), round(ttft_open_ms(200, 20, 0.5, 0.99, 2, 1))  # 40 + 200 (1 + ln 50 / 0.5)
    (240.0, 1805)
    """
    waits = log(maximum(1.0, prefill_busy / (1 - percentile)))
    return ttft_steps * step_ms + ttft_floor_ms * (1 + waits * (1 + prompt_cv * prompt_cv) / 2 / (1 - prefill_busy))


def _argument(fn: Any, name: str) -> Number:
    found = spec_of(fn).args[name]
    assert isinstance(found, Number)
    return found


def _percentile(words: str, share: float) -> Number:
    return Number("fraction", f"{words} percentile: share of requests that are no later", example=share, gt=0, lt=1)


TTFT_INPUTS: Final[dict[str, Number]] = {
    "ttft_steps": _argument(ttft_closed_ms, "ttft_steps"),
    "ttft_burst": _argument(prompts_before, "ttft_burst"),
    "ttft_queue": _argument(prompts_before, "ttft_queue"),
    "ttft_echo": _argument(wave_prompts, "ttft_echo"),
    "startup_share": _argument(wave_prompts, "startup_share"),
    "prompt_cv": _argument(ttft_open_ms, "prompt_cv"),
    "percentile_1": _percentile("typical", 0.5),
    "percentile_2": _percentile("high", 0.9),
    "percentile_3": _percentile("tail", 0.99),
}
