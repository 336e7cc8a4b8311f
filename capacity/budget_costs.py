"""What a budget holds beyond GPUs, its contingency, and when a change of GPU generation pays for itself."""

from typing import Annotated

from .arguments import Number
from .budget import BilledGpus, month_m_tokens
from .errors import Infeasible
from .numeric import is_array, where
from .registry import function

MonthMTokens = Annotated[
    float, Number("M tokens/month", "tokens of the month: of output", example=month_m_tokens, ge=0)
]
GpuUsd = Annotated[float, Number("USD", "cost of GPUs in the month", example=132_951, ge=0)]
EgressUsd = Annotated[
    float, Number("USD/M tokens", "egress: traffic out of the cloud, by output tokens", example=0.01, ge=0)
]
StorageUsd = Annotated[float, Number("USD/month", "storage: weights, logs, caches", example=1_500, ge=0)]
StaffUsd = Annotated[float, Number("USD/month", "staff: who operate the fleet, with overheads", example=30_000, ge=0)]
LicenseUsd = Annotated[
    float, Number("USD/GPU-month", "licenses: per GPU billed, of engine and operations", example=50, ge=0)
]
VendorSupport = Annotated[
    float, Number("fraction", "support: the vendor's, on top of the GPUs' cost", example=0.03, ge=0)
]


@function(
    "Egress, storage and staff",
    returns="USD",
    words="output tokens x egress + storage + staff",
    native="{month_m_tokens}*{egress_usd}+{storage_usd}+{staff_usd}",
    derivation="{month_m_tokens} million output tokens x ${egress_usd} + ${storage_usd} storage + ${staff_usd} staff"
    " = ${result}",
    source="Arithmetic: what a month costs whatever its GPUs cost",
)
def overhead_usd(
    month_m_tokens: MonthMTokens, egress_usd: EgressUsd, storage_usd: StorageUsd, staff_usd: StaffUsd
) -> float:
    """Costs of a month that do not go by GPUs.

    >>> overhead_usd(26298, 0.01, 1500, 30000)
    31762.98
    """
    return month_m_tokens * egress_usd + storage_usd + staff_usd


@function(
    "Licenses and support",
    returns="USD",
    words="GPUs billed x license of a GPU + cost of GPUs x support",
    native="{billed_gpus}*{license_usd}+{gpu_usd}*{vendor_support}",
    derivation="{billed_gpus} GPUs x ${license_usd} + ${gpu_usd} x {vendor_support} = ${result}",
    source="Arithmetic: vendors charge licenses by GPU, and support as a share of the bill",
)
def license_support_usd(
    billed_gpus: BilledGpus, license_usd: LicenseUsd, gpu_usd: GpuUsd, vendor_support: VendorSupport
) -> float:
    """Costs of a month that go by its GPUs.

    >>> license_support_usd(56, 50, 100000, 0.03)
    5800.0
    """
    return billed_gpus * license_usd + gpu_usd * vendor_support


BeforeUsd = Annotated[float, Number("USD", "cost before contingency", example=170_000, ge=0)]
Contingency = Annotated[
    float, Number("fraction", "contingency: added to the cost, as a share of it; an assumption", example=0.1, ge=0)
]


@function(
    "Contingency",
    returns="USD",
    words="cost before contingency x contingency",
    native="{before_usd}*{contingency}",
    derivation="${before_usd} x {contingency} = ${result} of contingency",
    source="Arithmetic: a share that is stated, not measured",
)
def contingency_usd(before_usd: BeforeUsd, contingency: Contingency) -> float:
    """What is set aside for what the plan has wrong.

    >>> contingency_usd(170000, 0.1)
    17000.0
    """
    return before_usd * contingency


CostUsdPerM = Annotated[float, Number("USD", "cost of the tokens", example=187_000, ge=0)]
MTokens = Annotated[float, Number("M tokens/month", "tokens that share the cost", example=26_298, ge=0)]
CostShare = Annotated[
    float,
    Number(
        "fraction", "share of the cost: by the work of these tokens, 1 for all of it", example=1, default=1, ge=0, le=1
    ),
]


@function(
    "Cost per million tokens of a month",
    returns="USD/M tokens",
    words="cost x share of the cost / million tokens",
    native="{tokens_usd}*{cost_share}/{m_tokens}",
    derivation="${tokens_usd}[ x {cost_share}] / {m_tokens} million tokens = ${result} per million tokens",
    source="Arithmetic: shares of input and output sum to 1, so that both together are the whole bill",
)
def month_usd_per_m(tokens_usd: CostUsdPerM, m_tokens: MTokens, cost_share: CostShare = 1) -> float:
    """What a month's tokens cost per million: of input, of output or of all, by the tokens that are given.

    >>> month_usd_per_m(52596, 26298), month_usd_per_m(52596, 26298, 0.25)
    (2.0, 0.5)
    """
    return tokens_usd * cost_share / m_tokens


OldUsd = Annotated[float, Number("USD/month", "old fleet: its cost per month", example=140_000, ge=0)]
NewUsd = Annotated[float, Number("USD/month", "new fleet: its cost per month", example=100_000, ge=0)]
OneOffUsd = Annotated[
    float, Number("USD", "one-off cost: of moving, testing and tuning on new GPUs", example=60_000, ge=0)
]
OverlapMonths = Annotated[
    float, Number("months", "overlap: months in which both fleets are paid in full", example=1, ge=0, whole=True)
]
TailUsd = Annotated[
    float, Number("USD", "contract tail: due for old GPUs after the overlap, used or not", example=40_000, ge=0)
]


@function(
    "Extra cost of a migration",
    returns="USD",
    words="one-off cost + overlap x new fleet's cost + contract tail",
    native="{one_off_usd}+{overlap_months}*{new_usd}+{tail_usd}",
    derivation="${one_off_usd} one-off + {overlap_months} months x ${new_usd} + ${tail_usd} contract tail = ${result}",
    source="Arithmetic: what is paid and would not be, had the old fleet stayed",
)
def migration_usd(one_off_usd: OneOffUsd, overlap_months: OverlapMonths, new_usd: NewUsd, tail_usd: TailUsd) -> float:
    """What it costs to change the GPUs, before anything is saved.

    >>> migration_usd(60000, 1, 100000, 40000)
    200000.0
    """
    return one_off_usd + overlap_months * new_usd + tail_usd


MigrationUsd = Annotated[float, Number("USD", "extra cost of the migration", example=migration_usd, ge=0)]


@function(
    "Payback of a migration",
    returns="months",
    words="overlap + extra cost of the migration / (old fleet's cost - new fleet's cost)",
    native="{overlap_months}+{migration_usd}/MAX(0,{old_usd}-{new_usd})",
    derivation="{overlap_months} months of overlap + ${migration_usd} / (${old_usd} - ${new_usd} a month)"
    " = {result} months until what it cost is saved",
    source="Arithmetic: nothing is saved before the overlap ends",
)
def payback_months(
    migration_usd: MigrationUsd, overlap_months: OverlapMonths, old_usd: OldUsd, new_usd: NewUsd
) -> float:
    """Months from the start of a migration until its extra cost is saved.

    >>> payback_months(200000, 1, 140000, 100000)
    6.0
    """
    saved = old_usd - new_usd
    if is_array(saved):
        saved = where(saved > 0, saved, 0.0)  # which leaves no finite number: the registry says where
    elif saved <= 0:
        raise Infeasible(f"a new fleet at ${new_usd:,.0f} a month saves nothing against ${old_usd:,.0f}")
    return overlap_months + migration_usd / saved
