"""Budget: where its months stand, and the chain of a month from the demand to its cost per million tokens."""

from typing import Final

from capacity import budget, budget_costs, commit, cost, fleet, headroom, sizing
from capacity.budget_inputs import BUDGET_INPUTS, CONTRACTS
from capacity.plan import Guard, step_named

from ..plan_table import elsewhere
from ..row_table import Place, Sum
from ..worded_rows import WordedRows
from . import demand_months, terms
from .budget_blocks import FIRST_MONTH, LAST_MONTH

TITLE: Final = "Budget"
CHECK: Final = "X"
_WORKING: Final = 25  # the first column beside the printed area
BAD: Final = f"{terms.TITLE}!{terms.LINES.bad()}"
STOP: Final = f"{terms.TITLE}!{terms.LINES.stop()}"  # the same, or the plan is refused
HOURS: Final = f"{demand_months.TITLE}!{demand_months.LINES.at('hours_per_month')}"
NODE_GPUS: Final = f"{demand_months.TITLE}!{demand_months.LINES.at('node_gpus')}"

NO_INPUT: Final = Guard("no input tokens", lambda v: v["input_m"] == 0, "{input_m}=0")
NO_OUTPUT: Final = Guard("no output tokens", lambda v: v["output_m"] == 0, "{output_m}=0")
NO_TOKENS: Final = Guard("no tokens", lambda v: v["all_m"] == 0, "{all_m}=0")
NO_WORK: Final = Guard("no load", lambda v: v["mean_prefill"] + v["mean_decode"] == 0, "{mean_prefill}+{mean_decode}=0")


def _demand(name: str) -> Place:
    """What a month of Demand has, engine by engine."""
    return lambda engine, row: demand_months.at(name, row - FIRST_MONTH + 1, engine)


def _of(*names: str) -> Place:
    """The sum of columns of the same month."""
    return lambda engine, row: "+".join(TABLE.at(name, engine, row) for name in names)


def _line(name: str, engine: str) -> str:
    return f"{demand_months.TITLE}!{demand_months.LINES.at(name, demand_months.SIDES[engine])}"


def _tokens(kind: str) -> Place:
    """Million tokens of the month: those of requests, and those of the days' batches."""

    def formula(engine: str, row: int) -> str:
        asked, batch = (_demand(n)(engine, row) for n in (f"{kind}_tokens_per_month", f"grown_batch_{kind}"))
        return f"({asked}+{batch}*{HOURS}*3600/86400)/1E6"

    return formula


def _work(kind: str) -> Place:
    """Replicas that the month's mean keeps busy with prefill or decode, batch work included."""

    def formula(engine: str, row: int) -> str:
        peak, batch = (_demand(n)(engine, row) for n in (f"{kind}_load", f"batch_{kind}"))
        return f"{peak}*{_line('load_factor', engine)}+{batch}"

    return formula


def _contracts(engine: str, row: int) -> str:
    parts = (f"{TABLE.at(f'gpus_{k}', engine, row)}*{terms.cell(f'contract_{k}_usd')}" for k in range(1, CONTRACTS + 1))
    return f"({'+'.join(parts)})*{HOURS}"


def _cumulative(engine: str, row: int) -> str:
    """From the first month on: the months above and this one."""
    column = TABLE.at("month_usd", engine, row).rstrip("0123456789")
    return f"SUM({column}${FIRST_MONTH}:{column}{row})"


CONTRACT_NAMES: Final = tuple(f"gpus_{k}" for k in range(1, CONTRACTS + 1))
PARTS: Final = ("contract_usd", "on_demand_usd", "overhead_usd", "license_support_usd", "contingency_usd")
NUMBERS: Final = (
    step_named("fiscal_year", budget.fiscal_year),
    step_named("fiscal_quarter", budget.fiscal_quarter),
    Sum("input_m", "Input tokens", "M tokens/month", _tokens("prompt")),
    Sum("output_m", "Output tokens", "M tokens/month", _tokens("output")),
    Sum("all_m", "All tokens", "M tokens/month", _of("input_m", "output_m")),
    Sum("mean_prefill", "Mean prefill load", "replica-s/s", _work("prefill")),
    Sum("mean_decode", "Mean decode load", "replica-s/s", _work("decode")),
    step_named(
        "region_replicas", headroom.region_replicas, regions="budget_regions", lost_regions="budget_lost_regions"
    ),
    Sum(
        "one_region",
        "In one region",
        "replicas",
        lambda engine, row: f"{TABLE.at('region_replicas', engine, row)}/{terms.cell('budget_regions')}",
    ),
    step_named("region_gpus", fleet.gpus, "GPUs in one region", replicas="one_region"),
    Sum("replica_gpus", "GPUs of a replica", "GPUs", lambda engine, _: elsewhere("tp", engine)),  # a shorter formula
    step_named("region_billed", sizing.billed_gpus, gpus="region_gpus"),
    Sum(
        "billed_gpus",
        "GPUs in whole nodes",
        "GPUs",
        lambda engine, row: f"{TABLE.at('region_billed', engine, row)}*{terms.cell('budget_regions')}",
    ),
    *(
        step_named(
            f"gpus_{k}",
            commit.month_contract_gpus,
            f"Contract {k}",
            contract_gpus=f"contract_{k}_gpus",
            start_month=f"contract_{k}_start",
            term_months=f"contract_{k}_term",
            ramp_share=f"contract_{k}_ramp",
        )
        for k in range(1, CONTRACTS + 1)
    ),
    Sum("contracted_gpus", "GPUs under contract", "GPUs", _of(*CONTRACT_NAMES)),
    step_named("on_demand_gpus", budget.on_demand_gpus),
    step_named("month_price", budget.month_price),
    Sum("contract_usd", "Contracts", "USD", _contracts),
    step_named(
        "on_demand_usd",
        budget.month_gpu_usd,
        "On demand",
        gpus="on_demand_gpus",
        usd_per_gpu_hour="month_price",
    ),
    step_named("overhead_usd", budget_costs.overhead_usd, month_m_tokens="output_m"),
    step_named("license_support_usd", budget_costs.license_support_usd),
    step_named("contingency_usd", budget_costs.contingency_usd),
    Sum("month_usd", "Cost of the month", "USD", _of(*PARTS)),
    Sum("cumulative_usd", "Cost so far", "USD", _cumulative),
)
WORDED: Final = (
    step_named(
        "prefill_share", cost.prefill_share, "", NO_WORK, prefill_load="mean_prefill", decode_load="mean_decode"
    ),
    step_named(
        "usd_per_m_input",
        budget_costs.month_usd_per_m,
        "Per M input tokens, by work",
        NO_INPUT,
        tokens_usd="month_usd",
        m_tokens="input_m",
        cost_share="prefill_share",
    ),
    step_named(
        "usd_per_m_output",
        budget_costs.month_usd_per_m,
        "Per M output tokens, by work",
        NO_OUTPUT,
        tokens_usd="month_usd",
        m_tokens="output_m",
        cost_share="decode_share",
    ),
    step_named(
        "usd_per_m_all",
        budget_costs.month_usd_per_m,
        "Per M tokens, whole bill",
        NO_TOKENS,
        tokens_usd="month_usd",
        m_tokens="all_m",
        cost_share="1",
    ),
)
# entry -> column and header of the value in use
SHOWN: Final = {
    "region_replicas": ("F", "Replicas"),
    "billed_gpus": ("H", "GPUs in whole nodes"),
    "contracted_gpus": ("I", "GPUs under contract"),
    "on_demand_gpus": ("J", "GPUs on demand"),
    "month_price": ("K", "On demand [USD/GPU-h]"),
    "contract_usd": ("L", "Contracts [USD]"),
    "on_demand_usd": ("M", "On demand [USD]"),
    "overhead_usd": ("N", "Egress, storage, staff [USD]"),
    "license_support_usd": ("O", "Licenses, support [USD]"),
    "contingency_usd": ("P", "Contingency [USD]"),
    "month_usd": ("Q", "Cost of the month [USD]"),
    "cumulative_usd": ("R", "Cost so far [USD]"),
    "usd_per_m_input": ("S", "USD per M input, by work"),
    "usd_per_m_output": ("T", "USD per M output, by work"),
    "usd_per_m_all": ("U", "USD per M tokens, whole bill"),
}
FREE: Final = ("contracted_gpus", "month_price", "contract_usd")  # what does not follow from the fleet
PRINTED: Final = {name: column for name, (column, _) in SHOWN.items()}
TABLE: Final = WordedRows(
    (*NUMBERS, *WORDED),
    range(FIRST_MONTH, LAST_MONTH + 1),
    {
        **{name: terms.cell(name) for name in BUDGET_INPUTS},
        "calendar_year": lambda _, row: f"YEAR($B{row})",
        "calendar_month": lambda _, row: f"MONTH($B{row})",
        "month": lambda _, row: f"$A{row}",
        "month_hours": HOURS,
        "node_gpus": NODE_GPUS,
        "replicas": _demand("replicas"),
        "gpu_usd": _of("contract_usd", "on_demand_usd"),
        "before_usd": _of(*PARTS[:-1]),
        "decode_share": lambda engine, row: f"1-{TABLE.at('prefill_share', engine, row)}",
        "1": "1",
    },
    PRINTED,
    (_WORKING, CHECK, BAD),
    [step.name for step in WORDED],
    STOP,
    FREE,
)
