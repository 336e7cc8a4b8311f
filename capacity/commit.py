"""Contracts for GPUs: how many come when, what pays to reserve, how much of it is used, what is paid for nothing."""

from typing import Annotated

from .arguments import Number
from .demand import HoursPerMonth
from .numeric import as_float, floor, minimum, where
from .registry import function
from .terms import UsdPerGpuHour
from .week import gpu_hours

ContractGpus = Annotated[float, Number("GPUs", "contract GPUs: once all have come", example=24, ge=0)]
StartMonth = Annotated[
    float,
    Number(
        "months",
        "start: month in which the contract begins; 0 is the one before the plan",
        example=1,
        ge=-600,
        whole=True,
    ),
]
TermMonths = Annotated[float, Number("months", "term: months that the contract runs", example=12, ge=1, whole=True)]
RampShare = Annotated[
    float,
    Number("fraction", "ramp: share of the GPUs that comes with each month; 100%: all at once", example=1, gt=0, le=1),
]
Month = Annotated[float, Number("months", "month of the plan: the first is 1", example=1, ge=1, whole=True)]


@function(
    "Contract GPUs of a month",
    returns="GPUs",
    words="GPUs x the smaller of 1 and ramp x months so far, within the term",
    native="{contract_gpus}*MIN(1,{ramp_share}*MAX(0,{month}-{start_month}+1))*({month}-{start_month}<{term_months})",
    derivation="{contract_gpus} GPUs from month {start_month} for {term_months} months, {ramp_share} more each month:"
    " {result} GPUs in month {month}",
    source="Arithmetic: a ramp of 25% has a quarter in the first month, all from the fourth on",
)
def month_contract_gpus(
    contract_gpus: ContractGpus, start_month: StartMonth, term_months: TermMonths, ramp_share: RampShare, month: Month
) -> float:
    """GPUs of a contract in a month of the plan: 0 before it begins and after its term.

    >>> [month_contract_gpus(64, 2, 5, 0.25, month) for month in (1, 2, 3, 6, 7)]
    [0.0, 16.0, 32.0, 64.0, 0.0]
    """
    age = month - start_month + 1
    runs = (age >= 1) & (age <= term_months)
    return as_float(where(runs, contract_gpus * minimum(1.0, ramp_share * age), 0.0))


@function(
    "Months of the ramp",
    returns="months",
    words="1 / ramp, rounded down, at most the term",
    native="IF({ramp_share}*{term_months}<=1,{term_months},INT(ROUND(1/{ramp_share},9)))",
    derivation="1 / {ramp_share}, rounded down, at most {term_months}: {result} months until all GPUs have come",
    source="Arithmetic: at 25% a month all have come after four",
)
def ramp_months(term_months: TermMonths, ramp_share: RampShare) -> float:
    """Months of the term in which GPUs still come, one after the other.

    >>> ramp_months(12, 1), ramp_months(12, 0.3), ramp_months(2, 0.25)
    (1.0, 3.0, 2.0)
    """
    return floor(minimum(term_months, 1 / ramp_share))


RampMonths = Annotated[
    float, Number("months", "ramp months: of the term in which GPUs still come", example=ramp_months, ge=0, whole=True)
]


@function(
    "GPU-months of a contract",
    returns="GPU-months",
    words="GPUs x (ramp x (1 + 2 + .. + ramp months) + term - ramp months)",
    native="{contract_gpus}*({ramp_share}*MIN({ramp_months},{term_months})*(MIN({ramp_months},{term_months})+1)/2"
    "+MAX(0,{term_months}-{ramp_months}))",
    derivation="{contract_gpus} GPUs for {term_months} months, {ramp_share} more in each of {ramp_months}:"
    " {result} GPU-months",
    source="Sum of the ramp over the term: r + 2 r + .. + n r is r n (n + 1) / 2, then all of them",
)
def contract_gpu_months(
    contract_gpus: ContractGpus, term_months: TermMonths, ramp_share: RampShare, ramp_months: RampMonths
) -> float:
    """What a contract commits to over its whole term, also beyond the plan's horizon.

    >>> contract_gpu_months(64, 5, 0.25, 4)  # 16 + 32 + 48 + 64 + 64
    224.0
    """
    coming = minimum(ramp_months, term_months)  # a ramp ends with its term
    return contract_gpus * (ramp_share * coming * (coming + 1) / 2 + term_months - coming)


GpuMonths = Annotated[
    float, Number("GPU-months", "GPU-months: GPUs, each for a whole month", example=contract_gpu_months, ge=0)
]


@function(
    "GPU-hours of GPU-months",
    returns="GPU-h",
    words="GPU-months x hours of a month",
    native="{gpu_months}*{hours_per_month}",
    derivation="{gpu_months} GPU-months x {hours_per_month} h = {result} GPU-h",
    source="Arithmetic: a month is a twelfth of 365.25 days, 730.5 h, unless given",
)
def month_gpu_hours(gpu_months: GpuMonths, hours_per_month: HoursPerMonth = 730.5) -> float:
    """GPU-hours of so many GPUs for a month.

    >>> month_gpu_hours(2)
    1461.0
    """
    return gpu_months * hours_per_month


LevelGpus = Annotated[float, Number("GPUs", "level: so many GPUs at once", example=24, ge=0)]
LevelHours = Annotated[float, Number("h", "hours in which at least the level's GPUs are needed", example=168, ge=0)]
SpanHours = Annotated[float, Number("h", "span: all hours, 168 for a week", example=168, gt=0)]
ReservedPrice = Annotated[float, Number("USD/GPU-h", "reserved price: for every hour, used or not", example=2.79, ge=0)]


def _rest(all_: float, used: float) -> float:
    """What is not used: 0 where it is less than a billionth, which is rounding."""
    return as_float(where(all_ - used > all_ / 1e9, all_ - used, 0.0))


OnDemandPrice = Annotated[float, Number("USD/GPU-h", "on-demand price: for the hours used", example=3.99, gt=0)]


@function(
    "Reserve level",
    returns="GPUs",
    words="the level where its hours x on-demand price > all hours x reserved price, else 0",
    native="{level_gpus}*({level_hours}*{on_demand_price}>{span_hours}*{reserved_price})",
    derivation="{level_gpus} GPUs run {level_hours} of {span_hours} h at ${reserved_price} reserved,"
    " ${on_demand_price} on demand: {result} are reserved",
    source="A GPU pays reserved when it runs more than reserved / on-demand price of the hours: 2.79 / 3.99 = 69.9%",
)
def reserve_level(
    level_gpus: LevelGpus,
    level_hours: LevelHours,
    span_hours: SpanHours,
    reserved_price: ReservedPrice,
    on_demand_price: OnDemandPrice,
) -> float:
    """The level if its last GPU pays reserved, else 0: the largest over all levels is what to reserve.

    >>> [reserve_level(g, h, 168, 2.79, 3.99) for g, h in ((24, 168), (40, 112), (56, 50))]
    [24.0, 0.0, 0.0]
    """
    pays = level_hours * on_demand_price > span_hours * reserved_price
    return as_float(where(pays, level_gpus, 0.0))


NeededGpuHours = Annotated[float, Number("GPU-h", "needed GPU-hours: that the load takes", example=gpu_hours, ge=0)]
CommittedGpuHours = Annotated[
    float, Number("GPU-h", "committed GPU-hours: that contracts are paid for", example=4032, ge=0)
]
UsedGpuHours = Annotated[
    float, Number("GPU-h", "used GPU-hours: committed ones in which the load runs", example=4032, ge=0)
]


@function(
    "On-demand GPU-hours",
    returns="GPU-h",
    words="needed GPU-hours - used GPU-hours, at least 0",
    native="({needed_gpu_hours}-{used_gpu_hours})*({needed_gpu_hours}-{used_gpu_hours}>{needed_gpu_hours}/1E9)",
    derivation="{needed_gpu_hours} GPU-h needed - {used_gpu_hours} under contract = {result} on demand",
    source="Worked week: 32 GPUs x 50 h + 16 x 62 h = 2,592 GPU-h above 24 reserved; each for its own hours",
)
def on_demand_gpu_hours(needed_gpu_hours: NeededGpuHours, used_gpu_hours: UsedGpuHours) -> float:
    """GPU-hours above the commitment: each GPU for its own hours, never for all.

    >>> on_demand_gpu_hours(6624, 4032)
    2592.0
    """
    return _rest(needed_gpu_hours, used_gpu_hours)


OnDemandGpuHours = Annotated[
    float, Number("GPU-h", "on-demand GPU-hours: above the commitment", example=on_demand_gpu_hours, ge=0)
]


@function(
    "Bill of reserved and on-demand GPUs",
    returns="USD",
    words="committed GPU-hours x reserved price + on-demand GPU-hours x on-demand price",
    native="{committed_gpu_hours}*{reserved_price}+{on_demand_gpu_hours}*{on_demand_price}",
    derivation="{committed_gpu_hours} GPU-h x ${reserved_price} + {on_demand_gpu_hours} GPU-h x ${on_demand_price}"
    " = ${result}",
    source="Worked week: 24 x 168 h x $2.79 + 2,592 h x $3.99 = $21,591.36",
)
def mixed_bill_usd(
    committed_gpu_hours: CommittedGpuHours,
    reserved_price: ReservedPrice,
    on_demand_gpu_hours: OnDemandGpuHours,
    on_demand_price: OnDemandPrice,
) -> float:
    """What GPUs cost, those under contract for all hours, the others for the hours used.

    >>> round(mixed_bill_usd(4032, 2.79, 2592, 3.99), 2)
    21591.36
    """
    return committed_gpu_hours * reserved_price + on_demand_gpu_hours * on_demand_price


NeededDivisor = Annotated[float, Number("GPU-h", "needed GPU-hours: that the load takes", example=gpu_hours, gt=0)]


@function(
    "Coverage",
    returns="fraction",
    words="used GPU-hours / needed GPU-hours",
    native="{used_gpu_hours}/{needed_gpu_hours}",
    derivation="{used_gpu_hours} GPU-h under contract / {needed_gpu_hours} needed = {result} of the need",
    source="Arithmetic: how much of the need runs at the contract's price",
)
def contract_coverage(used_gpu_hours: UsedGpuHours, needed_gpu_hours: NeededDivisor) -> float:
    """Share of the GPU-hours needed that contracts cover.

    >>> contract_coverage(4032, 8064)
    0.5
    """
    return used_gpu_hours / needed_gpu_hours


CommittedDivisor = Annotated[
    float, Number("GPU-h", "committed GPU-hours: that contracts are paid for", example=4032, gt=0)
]


@function(
    "Use of the commitment",
    returns="fraction",
    words="used GPU-hours / committed GPU-hours",
    native="{used_gpu_hours}/{committed_gpu_hours}",
    derivation="{used_gpu_hours} GPU-h used / {committed_gpu_hours} paid for = {result} of the commitment",
    source="Arithmetic: the rest is paid for, and nothing runs",
)
def commitment_use(used_gpu_hours: UsedGpuHours, committed_gpu_hours: CommittedDivisor) -> float:
    """Share of the GPU-hours paid for by contract in which the load runs.

    >>> commitment_use(3024, 4032)
    0.75
    """
    return used_gpu_hours / committed_gpu_hours


PaidGpuHours = Annotated[float, Number("GPU-h", "GPU-hours: that are paid for", example=gpu_hours, ge=0)]


@function(
    "Price of GPU-hours",
    returns="USD",
    words="GPU-hours x price of a GPU-hour",
    native="{gpu_hours}*{usd_per_gpu_hour}",
    derivation="{gpu_hours} GPU-h x ${usd_per_gpu_hour} = ${result}",
    source="DeepSeek's published day: 226.75 nodes x 8 H800 x 24 h = 43,536 GPU-h at $2: $87,072",
)
def gpu_hours_usd(gpu_hours: PaidGpuHours, usd_per_gpu_hour: UsdPerGpuHour) -> float:
    """What so many GPU-hours cost at one price.

    >>> gpu_hours_usd(226.75 * 8 * 24, 2)
    87072.0
    """
    return gpu_hours * usd_per_gpu_hour


@function(
    "Stranded cost",
    returns="USD",
    words="(committed GPU-hours - used GPU-hours, at least 0) x reserved price",
    native="({committed_gpu_hours}-{used_gpu_hours})*({committed_gpu_hours}-{used_gpu_hours}>{committed_gpu_hours}/1E9)"
    "*{reserved_price}",
    derivation="({committed_gpu_hours} GPU-h paid for - {used_gpu_hours} used) x ${reserved_price} = ${result}",
    source="Arithmetic: of contracts that cannot be cancelled; what can be given back is not stranded",
)
def stranded_usd(
    committed_gpu_hours: CommittedGpuHours, used_gpu_hours: UsedGpuHours, reserved_price: ReservedPrice
) -> float:
    """What is paid for GPU-hours in which nothing runs.

    >>> round(stranded_usd(4032, 3024, 2.79), 2)
    2812.32
    """
    return _rest(committed_gpu_hours, used_gpu_hours) * reserved_price
