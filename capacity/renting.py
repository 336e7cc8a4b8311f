"""Owning against renting: a GPU-hour of owned nodes, the life at which owning is cheaper, cash and P&L by year."""

import math
from typing import Annotated

from .arguments import Number
from .errors import Infeasible
from .headroom import NodeGpus
from .numeric import as_float, each, maximum, minimum, where
from .own import (
    HOURS_PER_YEAR,
    CapitalRate,
    CapitalUsdPerYear,
    LifeYears,
    NodeCapitalUsd,
    ResidualShare,
    RunningUsdPerYear,
)
from .registry import function
from .terms import UsdPerGpuHour

WorkNodes = Annotated[float, Number("nodes", "working nodes: that serve", example=8, ge=1, whole=True)]
SpareNodes = Annotated[
    float, Number("nodes", "spare nodes: bought and powered for those that fail", example=1, ge=0, whole=True)
]
Load = Annotated[
    float, Number("fraction", "load: share of the hours in which a GPU is needed", example=0.6, gt=0, le=1)
]


@function(
    "Owned GPU-hour",
    returns="USD/GPU-h",
    words="(working + spare nodes) x (capital + running) / (working nodes x GPUs x 8,766 h x load)",
    native="({work_nodes}+{spare_nodes})*({capital_usd_per_year}+{running_usd_per_year})"
    "/({work_nodes}*{node_gpus}*8766*{load})",
    derivation="({work_nodes} + {spare_nodes} nodes) x (${capital_usd_per_year} + ${running_usd_per_year})"
    " / ({work_nodes} x {node_gpus} GPUs x 8,766 h x {load}) = ${result} per GPU-hour used",
    source="Arithmetic: all nodes are paid in all hours, only used GPU-hours earn; compare with rent for used hours",
)
def owned_usd_per_gpu_hour(
    capital_usd_per_year: CapitalUsdPerYear,
    running_usd_per_year: RunningUsdPerYear,
    work_nodes: WorkNodes,
    spare_nodes: SpareNodes,
    node_gpus: NodeGpus,
    load: Load,
) -> float:
    """What a used GPU-hour of an owned fleet costs.

    >>> round(owned_usd_per_gpu_hour(85359.12, 38510.4, 8, 1, 8, 1), 4)
    1.9871
    """
    yearly = (work_nodes + spare_nodes) * (capital_usd_per_year + running_usd_per_year)
    return yearly / (work_nodes * node_gpus * HOURS_PER_YEAR * load)


@function(
    "Rent of a node's work per year",
    returns="USD/year",
    words="working nodes x GPUs x 8,766 h x load x rent of a GPU-hour / (working + spare nodes)",
    native="{work_nodes}*{node_gpus}*8766*{load}*{usd_per_gpu_hour}/({work_nodes}+{spare_nodes})",
    derivation="{work_nodes} nodes x {node_gpus} GPUs x 8,766 h x {load} x ${usd_per_gpu_hour}"
    " / ({work_nodes} + {spare_nodes} nodes) = ${result} a year",
    source="Arithmetic: rent is paid for used hours only, and needs no spare nodes",
)
def rented_usd_per_year(
    usd_per_gpu_hour: UsdPerGpuHour, work_nodes: WorkNodes, spare_nodes: SpareNodes, node_gpus: NodeGpus, load: Load
) -> float:
    """What renting the same GPU-hours costs in a year, for each node that would be owned.

    >>> rented_usd_per_year(3.5, 8, 2, 8, 0.5)
    98179.2
    """
    return work_nodes * node_gpus * HOURS_PER_YEAR * load * usd_per_gpu_hour / (work_nodes + spare_nodes)


RentedUsdPerYear = Annotated[
    float, Number("USD/year", "rent of a node's work: per year", example=rented_usd_per_year, ge=0)
]
NEVER = "the saving never pays the interest"


def _break_even_years(capital: float, running: float, rented: float, residual_share: float, rate: float) -> float:
    saved, residual = rented - running, capital * residual_share
    if saved <= capital * rate:
        raise Infeasible(f"{saved:g} USD saved a year on {capital:g} USD: {NEVER}")
    if rate == 0:
        return (capital - residual) / saved
    return math.log((saved - residual * rate) / (saved - capital * rate)) / math.log1p(rate)


@function(
    "Life at which owning beats renting",
    returns="years",
    words="years in which the rent saved pays node less residual with interest",
    native="NPER({capital_rate},{rented_usd_per_year}-{running_usd_per_year},"
    "0-{node_capital_usd},{node_capital_usd}*{residual_share})",
    derivation="${rented_usd_per_year} of rent - ${running_usd_per_year} to run pay ${node_capital_usd},"
    " {residual_share} left, at {capital_rate} in {result} years",
    source="Annuity solved for its term: ln((s - R r) / (s - C r)) / ln(1 + r); a node that lives longer is cheaper",
)
def break_even_years(
    node_capital_usd: NodeCapitalUsd,
    running_usd_per_year: RunningUsdPerYear,
    rented_usd_per_year: RentedUsdPerYear,
    residual_share: ResidualShare,
    capital_rate: CapitalRate,
) -> float:
    """Life from which on an owned GPU-hour is cheaper than a rented one; an error where it never is.

    >>> break_even_years(345000, 38000, 100000, 0.1, 0)
    5.008064516129032
    """
    return each(
        _break_even_years, node_capital_usd, running_usd_per_year, rented_usd_per_year, residual_share, capital_rate
    )


Year = Annotated[float, Number("years", "year: of service; the purchase is in year 0", example=1, ge=0, whole=True)]


@function(
    "Share of a year in service",
    returns="fraction",
    words="life - years before, at least 0 and at most 1; none in year 0",
    native="({year}>0)*MAX(0,MIN(1,{life_years}-{year}+1))",
    derivation="{life_years} years of life: {result} of year {year} in service",
    source="Arithmetic: a life of 4.5 years serves half of the fifth",
)
def service_share(life_years: LifeYears, year: Year) -> float:
    """How much of a year a node serves.

    >>> [service_share(2.5, year) for year in (0, 1, 2, 3, 4)]
    [0.0, 1.0, 1.0, 0.5, 0.0]
    """
    return as_float(where(year > 0, maximum(0.0, minimum(1.0, life_years - year + 1)), 0.0))


ServiceShare = Annotated[
    float, Number("fraction", "service: share of the year in service", example=service_share, ge=0, le=1)
]


@function(
    "Cash out of owning in a year",
    returns="USD",
    words="(working + spare nodes) x (node in place in year 0 + running cost x share in service)",
    native="({work_nodes}+{spare_nodes})*(({year}=0)*{node_capital_usd}+{running_usd_per_year}*{service_share})",
    derivation="({work_nodes} + {spare_nodes} nodes), ${node_capital_usd} each in year 0, ${running_usd_per_year}"
    " x {service_share} to run: ${result} in year {year}",
    source="Arithmetic: cash goes when it is paid: the purchase at once",
)
def owning_cash_usd(
    year: Year,
    node_capital_usd: NodeCapitalUsd,
    running_usd_per_year: RunningUsdPerYear,
    service_share: ServiceShare,
    work_nodes: WorkNodes,
    spare_nodes: SpareNodes,
) -> float:
    """Cash that goes out in a year; what comes back for the nodes in the end is a line of its own.

    >>> owning_cash_usd(0, 345000, 38000, 0, 8, 1), owning_cash_usd(1, 345000, 38000, 1, 8, 1)
    (3105000.0, 342000.0)
    """
    bought = where(year == 0, node_capital_usd, 0.0)
    return as_float((work_nodes + spare_nodes) * (bought + running_usd_per_year * service_share))


@function(
    "Cash back for the nodes",
    returns="USD",
    words="(working + spare nodes) x node in place x residual, in the year in which the life ends",
    native="({work_nodes}+{spare_nodes})*{node_capital_usd}*{residual_share}*({year}>={life_years})*({year}<{life_years}+1)",
    derivation="({work_nodes} + {spare_nodes} nodes) x ${node_capital_usd} x {residual_share}"
    " after {life_years} years: ${result} in year {year}",
    source="Arithmetic: the residual is got when the nodes go",
)
def cash_back_usd(
    year: Year,
    node_capital_usd: NodeCapitalUsd,
    residual_share: ResidualShare,
    life_years: LifeYears,
    work_nodes: WorkNodes,
    spare_nodes: SpareNodes,
) -> float:
    """What is got for the nodes in a year: the residual in the last one.

    >>> cash_back_usd(5, 345000, 0.1, 5, 8, 1), cash_back_usd(4, 345000, 0.1, 5, 8, 1)
    (310500.0, 0.0)
    """
    ends = each(math.ceil, life_years)
    return as_float(where(year == ends, (work_nodes + spare_nodes) * node_capital_usd * residual_share, 0.0))


@function(
    "P&L of owning in a year",
    returns="USD",
    words="(working + spare nodes) x (node less residual / life + running cost) x share in service",
    native="({work_nodes}+{spare_nodes})*({node_capital_usd}*(1-{residual_share})/{life_years}"
    "+{running_usd_per_year})*{service_share}",
    derivation="({work_nodes} + {spare_nodes} nodes) x (${node_capital_usd} x (1 - {residual_share}) / {life_years}"
    " + ${running_usd_per_year}) x {service_share} = ${result}",
    source="Straight-line depreciation and running cost; no interest, which the price of an owned GPU-hour has",
)
def owning_pl_usd(
    node_capital_usd: NodeCapitalUsd,
    residual_share: ResidualShare,
    life_years: LifeYears,
    running_usd_per_year: RunningUsdPerYear,
    service_share: ServiceShare,
    work_nodes: WorkNodes,
    spare_nodes: SpareNodes,
) -> float:
    """Expense of a year: depreciation and running cost.

    >>> owning_pl_usd(345000, 0.1, 5, 38000, 1, 8, 1)
    900900.0
    """
    depreciation = node_capital_usd * (1 - residual_share) / life_years
    return (work_nodes + spare_nodes) * (depreciation + running_usd_per_year) * service_share


@function(
    "Rent of the same GPU-hours in a year",
    returns="USD",
    words="(working + spare nodes) x rent of a node's work x share in service",
    native="({work_nodes}+{spare_nodes})*{rented_usd_per_year}*{service_share}",
    derivation="({work_nodes} + {spare_nodes} nodes) x ${rented_usd_per_year} x {service_share} = ${result}",
    source="Arithmetic: rent is cash and expense in the year in which it is used",
)
def renting_usd(
    rented_usd_per_year: RentedUsdPerYear, service_share: ServiceShare, work_nodes: WorkNodes, spare_nodes: SpareNodes
) -> float:
    """What renting costs in a year in which owned nodes would serve.

    >>> renting_usd(100000, 0.5, 8, 1)
    450000.0
    """
    return (work_nodes + spare_nodes) * rented_usd_per_year * service_share
