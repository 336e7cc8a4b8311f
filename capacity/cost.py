"""From GPUs to dollars per hour and per million tokens; the caller's row says which tokens."""

from typing import Annotated

from .arguments import Number
from .fleet import Gpus
from .registry import function
from .terms import UsdPerGpuHour
from .traffic import output_tps


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
