"""From GPUs to dollars per hour and per million tokens; the caller's row says which tokens."""

from typing import Annotated

from .arguments import Number
from .decode import DecodeLoad
from .demand import HoursPerMonth
from .fleet import Gpus
from .prefill import PrefillLoad
from .registry import function
from .terms import UsdPerGpuHour
from .traffic import output_tps, prompt_tps


@function(
    "Cost per hour",
    returns="USD/h",
    words="GPUs x price of a GPU-hour",
    native="{gpus}*{usd_per_gpu_hour}",
    derivation="{gpus} GPUs x ${usd_per_gpu_hour} = ${result} per hour",
    source="Worked example: 52 x $3.50/h = $182/h (GPU-hour price illustrative)",
)
def cost_per_hour(gpus: Gpus, usd_per_gpu_hour: UsdPerGpuHour) -> float:
    """What the fleet costs per hour.

    >>> cost_per_hour(52, 3.5)
    182.0
    """
    return gpus * usd_per_gpu_hour


CostPerHour = Annotated[float, Number("USD/h", "cost of the fleet per hour", example=cost_per_hour, ge=0)]
TokensPerS = Annotated[float, Number("tok/s", "tokens per second that share the bill", example=output_tps, gt=0)]


@function(
    "Cost per million output tokens",
    returns="USD/M tokens",
    words="cost per hour / millions of tokens per hour",
    native="{cost_per_hour}/({tokens_per_s}*3600/1E6)",
    derivation="${cost_per_hour} per hour / ({tokens_per_s} tok/s x 3,600 s / 1e6) = ${result} per million tokens",
    source="Worked example: $182 / (20,000 x 3,600 / 1e6) = $2.53 per M output tokens",
)
def usd_per_m_tokens(cost_per_hour: CostPerHour, tokens_per_s: TokensPerS) -> float:
    """Fleet cost per million tokens: of output, or of all tokens, whichever rate is given.

    >>> round(usd_per_m_tokens(182, 20000), 2), round(usd_per_m_tokens(182, 170000), 2)
    (2.53, 0.3)
    """
    return cost_per_hour / (tokens_per_s * 3600 / 1e6)


@function(
    "Cost per month",
    returns="USD/month",
    words="cost per hour x hours of a month",
    native="{cost_per_hour}*{hours_per_month}",
    derivation="${cost_per_hour} per hour x {hours_per_month} h = ${result} per month",
    source="Arithmetic: $182/h x 730.5 h = $132,951 a month",
)
def usd_per_month(cost_per_hour: CostPerHour, hours_per_month: HoursPerMonth = 730.5) -> float:
    """What the fleet costs in a month in which it always runs.

    >>> usd_per_month(182)
    132951.0
    """
    return cost_per_hour * hours_per_month


@function(
    "Prefill's share of the work",
    returns="fraction",
    words="prefill load / (prefill load + decode load)",
    native="{prefill_load}/({prefill_load}+{decode_load})",
    derivation="{prefill_load} / ({prefill_load} + {decode_load}) = {result} of the work is prefill",
    source="Worked example: 10.7 of 16.7 replica-s per s, 64%",
)
def prefill_share(prefill_load: PrefillLoad, decode_load: DecodeLoad) -> float:
    """Share of the replicas' time that reads prompts.

    >>> prefill_share(9, 3)
    0.75
    """
    return prefill_load / (prefill_load + decode_load)


@function(
    "Cost per million input tokens, by work",
    returns="USD/M tokens",
    words="prefill's share of the bill / millions of prompt tokens per hour",
    native="{cost_per_hour}*{prefill_load}/({prefill_load}+{decode_load})/({prompt_tps}*3600/1E6)",
    derivation="${cost_per_hour} per hour x {prefill_load} / ({prefill_load} + {decode_load})"
    " / ({prompt_tps} tok/s x 3,600 s / 1e6) = ${result} per million input tokens",
    source="The bill split by replica-seconds: $182 x 10.7/16.7 / (150,000 x 3,600 / 1e6) = $0.22",
)
def usd_per_m_input(
    cost_per_hour: CostPerHour,
    prefill_load: PrefillLoad,
    decode_load: DecodeLoad,
    prompt_tps: Annotated[float, Number("tok/s", "prompt tokens per second", example=prompt_tps, gt=0)],
) -> float:
    """Prefill's share of the bill per million prompt tokens, cached ones included.

    >>> round(usd_per_m_input(182, 10.695, 5.975, 150000), 4)
    0.2162
    """
    return cost_per_hour * prefill_load / (prefill_load + decode_load) / (prompt_tps * 3600 / 1e6)


@function(
    "Cost per million output tokens, by work",
    returns="USD/M tokens",
    words="decode's share of the bill / millions of output tokens per hour",
    native="{cost_per_hour}*{decode_load}/({prefill_load}+{decode_load})/({output_tps}*3600/1E6)",
    derivation="${cost_per_hour} per hour x {decode_load} / ({prefill_load} + {decode_load})"
    " / ({output_tps} tok/s x 3,600 s / 1e6) = ${result} per million output tokens",
    source="The bill split by replica-seconds: $182 x 6.0/16.7 / (20,000 x 3,600 / 1e6) = $0.91",
)
def usd_per_m_output_split(
    cost_per_hour: CostPerHour,
    prefill_load: PrefillLoad,
    decode_load: DecodeLoad,
    output_tps: Annotated[float, Number("tok/s", "output tokens per second", example=output_tps, gt=0)],
) -> float:
    """Decode's share of the bill per million output tokens; with the input tokens' share it is the whole bill.

    >>> round(usd_per_m_output_split(182, 10.695, 5.975, 20000), 3)
    0.906
    """
    return cost_per_hour * decode_load / (prefill_load + decode_load) / (output_tps * 3600 / 1e6)
