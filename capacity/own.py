"""An owned node: what it costs to buy and to run, per year of its life."""

import math
from typing import Annotated, Final

from .arguments import Number
from .numeric import each
from .registry import function

HOURS_PER_YEAR: Final = 8766
MONTHS_PER_YEAR: Final = 12

NodeUsd = Annotated[float, Number("USD", "node price: of one node with its GPUs", example=300_000, ge=0)]
ExtraShare = Annotated[
    float, Number("fraction", "network and storage: on top of the node price, as a share of it", example=0.15, ge=0)
]


@function(
    "Node in place",
    returns="USD",
    words="node price x (1 + network and storage)",
    native="{node_usd}*(1+{extra_share})",
    derivation="${node_usd} x (1 + {extra_share}) = ${result} for a node in place",
    source="Arithmetic: a node alone serves nobody; its share of switches, cables and storage goes with it",
)
def node_capital_usd(node_usd: NodeUsd, extra_share: ExtraShare) -> float:
    """What a node costs with its share of network and storage.

    >>> node_capital_usd(300000, 0.25)
    375000.0
    """
    return node_usd * (1 + extra_share)


NodeCapitalUsd = Annotated[
    float, Number("USD", "node in place: with network and storage", example=node_capital_usd, ge=0)
]
LifeYears = Annotated[float, Number("years", "life: years that a node serves", example=5, gt=0, le=12)]
ResidualShare = Annotated[
    float, Number("fraction", "residual: what is got for it in the end, as a share", example=0.1, ge=0, le=1)
]
CapitalRate = Annotated[float, Number("fraction", "cost of capital: per year", example=0.1, ge=0, le=1)]


def _capital_usd_per_year(node_capital_usd: float, life_years: float, residual_share: float, rate: float) -> float:
    residual = node_capital_usd * residual_share
    if rate == 0:
        return (node_capital_usd - residual) / life_years
    later = math.exp(-life_years * math.log1p(rate))  # what a dollar of the end is worth today
    return (node_capital_usd - residual * later) * rate / (1 - later)


@function(
    "Capital of a node per year",
    returns="USD/year",
    words="the equal yearly payment that pays node less residual with interest over the life",
    native="PMT({capital_rate},{life_years},0-{node_capital_usd},{node_capital_usd}*{residual_share})",
    derivation="${node_capital_usd} over {life_years} years at {capital_rate}, {residual_share} left: ${result} a year",
    source="Annuity: (price - residual / (1 + r) ^ n) x r / (1 - 1 / (1 + r) ^ n); without interest the straight line",
)
def capital_usd_per_year(
    node_capital_usd: NodeCapitalUsd, life_years: LifeYears, residual_share: ResidualShare, capital_rate: CapitalRate
) -> float:
    """What the purchase of a node costs per year of its life, interest included.

    >>> capital_usd_per_year(345000, 5, 0.1, 0), round(capital_usd_per_year(345000, 5, 0.1, 0.1), 2)
    (62100.0, 85359.12)
    """
    return each(_capital_usd_per_year, node_capital_usd, life_years, residual_share, capital_rate)


NodeKw = Annotated[float, Number("kW", "power of a node: as it runs, on the mean", example=8, ge=0)]
Pue = Annotated[float, Number("count", "PUE: power of the site over power of the machines", example=1.3, ge=1)]
UsdPerKwh = Annotated[float, Number("USD/kWh", "electricity price", example=0.1, ge=0)]
UsdPerKwMonth = Annotated[
    float, Number("USD/kW-month", "colocation price: per kW of the node and month", example=150, ge=0)
]
SupportShare = Annotated[
    float, Number("fraction", "support: per year, as a share of the node price", example=0.05, ge=0)
]


@function(
    "Power of a node per year",
    returns="USD/year",
    words="kW x PUE x 8,766 h x electricity price",
    native="{node_kw}*{pue}*8766*{usd_per_kwh}",
    derivation="{node_kw} kW x {pue} x 8,766 h x ${usd_per_kwh} = ${result} a year",
    source="Arithmetic: a node draws power in all hours of the year",
)
def power_usd_per_year(node_kw: NodeKw, pue: Pue, usd_per_kwh: UsdPerKwh) -> float:
    """Electricity of a node in a year, cooling included.

    >>> power_usd_per_year(10, 1.5, 0.1)
    13149.0
    """
    return node_kw * pue * HOURS_PER_YEAR * usd_per_kwh


@function(
    "Colocation of a node per year",
    returns="USD/year",
    words="kW x 12 months x colocation price",
    native="{node_kw}*12*{usd_per_kw_month}",
    derivation="{node_kw} kW x 12 months x ${usd_per_kw_month} = ${result} a year",
    source="Arithmetic: space and cooling are rented by the kW",
)
def colocation_usd_per_year(node_kw: NodeKw, usd_per_kw_month: UsdPerKwMonth) -> float:
    """Rent of a node's place in a year.

    >>> colocation_usd_per_year(10, 150)
    18000.0
    """
    return node_kw * MONTHS_PER_YEAR * usd_per_kw_month


@function(
    "Support of a node per year",
    returns="USD/year",
    words="node price x support share",
    native="{node_usd}*{support_share}",
    derivation="${node_usd} x {support_share} = ${result} a year",
    source="Arithmetic: maintenance is priced as a share of the purchase",
)
def support_usd_per_year(node_usd: NodeUsd, support_share: SupportShare) -> float:
    """Support and repair of a node in a year.

    >>> support_usd_per_year(300000, 0.05)
    15000.0
    """
    return node_usd * support_share


CapitalUsdPerYear = Annotated[
    float, Number("USD/year", "capital of a node: per year", example=capital_usd_per_year, ge=0)
]
PowerUsdPerYear = Annotated[float, Number("USD/year", "power of a node: per year", example=power_usd_per_year, ge=0)]
ColocationUsdPerYear = Annotated[
    float, Number("USD/year", "colocation of a node: per year", example=colocation_usd_per_year, ge=0)
]
SupportUsdPerYear = Annotated[
    float, Number("USD/year", "support of a node: per year", example=support_usd_per_year, ge=0)
]


@function(
    "Running cost of a node per year",
    returns="USD/year",
    words="power + colocation + support",
    native="{power_usd_per_year}+{colocation_usd_per_year}+{support_usd_per_year}",
    derivation="${power_usd_per_year} + ${colocation_usd_per_year} + ${support_usd_per_year} = ${result} a year",
    source="Arithmetic: what is paid each year beside the purchase",
)
def running_usd_per_year(
    power_usd_per_year: PowerUsdPerYear,
    colocation_usd_per_year: ColocationUsdPerYear,
    support_usd_per_year: SupportUsdPerYear,
) -> float:
    """Power, colocation and support of a node in a year.

    >>> running_usd_per_year(9110.4, 14400, 15000)
    38510.4
    """
    return power_usd_per_year + colocation_usd_per_year + support_usd_per_year


RunningUsdPerYear = Annotated[
    float, Number("USD/year", "running cost of a node: per year", example=running_usd_per_year, ge=0)
]
