"""The months of a budget: fiscal quarters, price path, contracts, on-demand rest, costs beyond GPUs, contingency."""

from typing import Annotated

from .arguments import Number
from .commit import ContractGpus, Month, StartMonth, TermMonths
from .fleet import Gpus
from .numeric import floor, maximum, minimum, power
from .registry import function
from .sizing import billed_gpus
from .terms import UsdPerGpuHour

MonthHours = Annotated[float, Number("h", "hours of the month: its days x 24", example=744, gt=0)]
CalendarYear = Annotated[float, Number("count", "calendar year", example=2027, ge=1900, le=9999, whole=True)]
CalendarMonth = Annotated[float, Number("count", "calendar month: 1 is January", example=1, ge=1, le=12, whole=True)]
FiscalStart = Annotated[
    float, Number("count", "first fiscal month: in it the fiscal year begins", example=2, ge=1, le=12, whole=True)
]


@function(
    "Fiscal quarter",
    returns="count",
    words="months since the fiscal year began / 3, rounded down, + 1",
    native="INT(MOD({calendar_month}-{fiscal_start},12)/3)+1",
    derivation="calendar month {calendar_month} in a fiscal year from month {fiscal_start} is in quarter {result}",
    source="Arithmetic: four quarters of three months",
)
def fiscal_quarter(calendar_month: CalendarMonth, fiscal_start: FiscalStart) -> float:
    """Quarter of the fiscal year, 1 to 4.

    >>> fiscal_quarter(1, 2), fiscal_quarter(2, 2), fiscal_quarter(12, 1)
    (4.0, 1.0, 4.0)
    """
    return floor((calendar_month - fiscal_start) % 12 / 3) + 1


@function(
    "Fiscal year",
    returns="count",
    words="calendar year in which the fiscal year ends",
    native="{calendar_year}+({fiscal_start}>1)*({calendar_month}>={fiscal_start})",
    derivation="month {calendar_month} of {calendar_year}, in a fiscal year from month {fiscal_start}, is of {result}",
    source="Convention: a fiscal year is named by the calendar year in which it ends",
)
def fiscal_year(calendar_year: CalendarYear, calendar_month: CalendarMonth, fiscal_start: FiscalStart) -> float:
    """Fiscal year, named by the calendar year in which it ends.

    >>> fiscal_year(2027, 1, 2), fiscal_year(2027, 2, 2), fiscal_year(2027, 6, 1)
    (2027.0, 2028.0, 2027.0)
    """
    return calendar_year + (fiscal_start > 1) * (calendar_month >= fiscal_start)


YearlyPrice = Annotated[
    float, Number("fraction", "price after a year: on demand, as a share of today's", example=0.9, gt=0)
]
StepMonth = Annotated[
    float, Number("months", "price step: month of the plan from which it counts", example=13, ge=1, whole=True)
]
StepPrice = Annotated[
    float, Number("fraction", "price after the step: as a share of what it would be, 100% for none", example=1, gt=0)
]


@function(
    "Price of a GPU-hour in a month",
    returns="USD/GPU-h",
    words="price x price after a year ^ (months since the first / 12) x price after the step, from its month on",
    native="{usd_per_gpu_hour}*{yearly_price}^(({month}-1)/12)*(1+({step_price}-1)*({month}>={step_month}))",
    derivation="${usd_per_gpu_hour} in the first month, {yearly_price} of it after a year and {step_price} of that from"
    " month {step_month} on, is ${result} in month {month}",
    source="Arithmetic: a price that changes by the same share each month, and once by a step",
)
def month_price(
    usd_per_gpu_hour: UsdPerGpuHour,
    yearly_price: YearlyPrice,
    step_month: StepMonth,
    step_price: StepPrice,
    month: Month,
) -> float:
    """On-demand price of a GPU-hour in a month of the plan.

    >>> month_price(4, 0.75, 13, 1, 13), month_price(4, 1, 13, 0.5, 12), month_price(4, 1, 13, 0.5, 13)
    (3.0, 4.0, 2.0)
    """
    path = usd_per_gpu_hour * power(yearly_price, (month - 1) / 12)
    return path * (1 + (step_price - 1) * (month >= step_month))


@function(
    "USD of a contract behind a month",
    returns="USD",
    words="GPUs x price x hours of a month x months of the term that are left",
    native="{contract_gpus}*{usd_per_gpu_hour}*{month_hours}"
    "*MAX(0,{start_month}-1+{term_months}-MAX({month},{start_month}-1))",
    derivation="{contract_gpus} GPUs x ${usd_per_gpu_hour} x {month_hours} h, from month {start_month} for"
    " {term_months} months: ${result} are due behind month {month}",
    source="Arithmetic: what is signed and not yet paid at the end of a month",
)
def contract_tail_usd(
    contract_gpus: ContractGpus,
    usd_per_gpu_hour: UsdPerGpuHour,
    start_month: StartMonth,
    term_months: TermMonths,
    month: Month,
    month_hours: MonthHours,
) -> float:
    """What a contract still costs after a month: at a migration, or beyond the budget's horizon.

    >>> contract_tail_usd(32, 2, 1, 48, 36, 730), contract_tail_usd(32, 2, 1, 36, 36, 730)
    (560640.0, 0.0)
    """
    last = start_month - 1 + term_months
    left = maximum(0.0, last - maximum(month, start_month - 1))
    return contract_gpus * usd_per_gpu_hour * month_hours * left


BilledGpus = Annotated[float, Number("GPUs", "GPUs billed", example=billed_gpus, ge=0)]
ContractedGpus = Annotated[
    float, Number("GPUs", "GPUs under contract: of all contracts in the month", example=32, ge=0)
]


@function(
    "On-demand GPUs",
    returns="GPUs",
    words="GPUs billed - GPUs under contract, at least 0",
    native="MAX(0,{billed_gpus}-{contracted_gpus})",
    derivation="{billed_gpus} GPUs - {contracted_gpus} under contract = {result} on demand, at least 0",
    source="Arithmetic: 56 GPUs of which 32 are under contract leave 24 on demand",
)
def on_demand_gpus(billed_gpus: BilledGpus, contracted_gpus: ContractedGpus) -> float:
    """GPUs that no contract covers.

    >>> on_demand_gpus(56, 32), on_demand_gpus(16, 32)
    (24.0, 0.0)
    """
    return maximum(0.0, billed_gpus - contracted_gpus)


@function(
    "Idle GPUs under contract",
    returns="GPUs",
    words="GPUs under contract - GPUs billed, at least 0",
    native="{contracted_gpus}-MIN({billed_gpus},{contracted_gpus})",
    derivation="{contracted_gpus} GPUs under contract - {billed_gpus} needed = {result} paid for and idle, at least 0",
    source="Arithmetic: a contract is paid whether or not it is used",
)
def stranded_gpus(billed_gpus: BilledGpus, contracted_gpus: ContractedGpus) -> float:
    """GPUs under contract that the month does not need.

    >>> stranded_gpus(56, 32), stranded_gpus(16, 32)
    (0.0, 16.0)
    """
    return contracted_gpus - minimum(billed_gpus, contracted_gpus)


RunningShare = Annotated[
    float,
    Number(
        "fraction",
        "hours on demand: share of the month's hours in which on-demand GPUs are rented",
        example=1,
        default=1,
        ge=0,
        le=1,
    ),
]


@function(
    "Cost of GPUs in a month",
    returns="USD",
    words="GPUs x price of a GPU-hour x hours of the month, or the share of them that is rented",
    native="{gpus}*{usd_per_gpu_hour}*{month_hours}*{running_share}",
    derivation="{gpus} GPUs x ${usd_per_gpu_hour} x {month_hours} h[ x {running_share}] = ${result}",
    source="Arithmetic: 52 GPUs x $3.50 x 730.5 h = $132,951; a contract is paid for all hours",
)
def month_gpu_usd(
    gpus: Gpus, usd_per_gpu_hour: UsdPerGpuHour, month_hours: MonthHours, running_share: RunningShare = 1
) -> float:
    """What GPUs cost in a month.

    >>> month_gpu_usd(52, 3.5, 730.5), month_gpu_usd(52, 3.5, 730.5, 0.5)
    (132951.0, 66475.5)
    """
    return gpus * usd_per_gpu_hour * month_hours * running_share


MeanTps = Annotated[float, Number("tok/s", "mean tokens per second", example=10_000, ge=0)]


@function(
    "Tokens of a month",
    returns="M tokens/month",
    words="mean tok/s x seconds of the month",
    native="{mean_tps}*{month_hours}*3600/1E6",
    derivation="{mean_tps} tok/s x {month_hours} h x 3,600 s / 1e6 = {result} million tokens",
    source="Arithmetic: 10,000 tok/s on the mean x 730.5 h x 3,600 s = 26,298 million tokens",
)
def month_m_tokens(mean_tps: MeanTps, month_hours: MonthHours) -> float:
    """Million tokens of a month, at a mean rate.

    >>> month_m_tokens(10000, 730.5)
    26298.0
    """
    return mean_tps * month_hours * 3600 / 1e6
