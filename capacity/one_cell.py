"""The plan in one cell: a step of the plan, or all of them, for a model and a GPU of the catalogue."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from .arguments import Number, Text
from .errors import Infeasible, InputTypeError, UnknownName
from .explain import derive
from .numeric import is_array
from .registry import function
from .terms import (
    Batch,
    CacheHit,
    Mbu,
    Mfu,
    OutputTokens,
    PromptTokens,
    ReqPerS,
    Spares,
    TargetMs,
    Tp,
    UsdPerGpuHour,
    Utilization,
)

if TYPE_CHECKING:
    from .plan import Result

TABLE: Final = "table"
ALSO: Final = {"usd_per_m_output": "usd_per_m_tokens", "usd_per_m_all": "usd_per_m_tokens_all"}

# the numbers among the arguments, in order, as inputs of the plan
_NUMBERS: Final = (
    *("req_per_s", "prompt_tokens", "output_tokens", "tp", "batch", "usd_per_gpu_hour", "mfu", "mbu"),
    *("utilization", "target_ms", "cache_hit", "spares"),
)
# The plan's steps tell best how a figure comes about. They take from the refined chain's rows what depends on the
# architecture: the KV cache, the parameters that a prompt token multiplies, the weights that a step reads.
_BY_ARCHITECTURE: Final = {"kv_bytes_per_token": "kv_mean_bytes", "kv_gb_per_seq": "kv_gb_per_seq"}
_REFS: Final = {
    "prefill_us": {"params_b": "dense_prefill_b+prefill_routed_active_b"},
    "step_gb": {"weights_gb": "dense_read_gb+experts_gb"},
}
# what a fleet is and costs: nothing where the weights do not fit, or not so many sequences as the batch
_OF_A_FLEET: Final = ("replicas", "gpus", "cost_per_hour", "usd_per_m_tokens", "usd_per_m_tokens_all")
_REMEMBERED: Final = 512  # plans: a budget asks several steps of one plan, and few plans


def optional(term: Any) -> Number:
    """A term's argument where it may be left out."""
    number: Number = term.__metadata__[0]
    return number.or_example()


def _sentence(what: str, model: str, gpu: str, *rest: Any) -> str:
    """How a step comes about, as an explanation shows it."""
    given = dict(zip(("req_per_s", "prompt_tokens", "output_tokens", "tp", "batch", "quant"), rest, strict=False))
    where = f"{model} in {given['quant']} on {given['tp']:g} x {gpu}"
    name = _step_name(what)
    if name == TABLE:
        return f"the steps of the plan for {where}; ask for one of them, e.g. gpus, to see how it comes about"
    from .plan import arguments

    numbers = (*rest[:5], *rest[7:])
    results, values = _plan(model, gpu, *rest[5:7], numbers)
    found = results[name]
    function = found.step.function
    return f"{where}: {derive(function, list(arguments(found.step, values).values()), found.value)}"


@function(
    "Plan in one cell",
    name="PLAN",
    spills=True,
    returns="number or text",
    words="the plan's step of that name, with the model's and the GPU's facts from the catalogue",
    native="",
    derivation=_sentence,
    source="The plan's steps, with the KV cache by architecture and, for mixtures of experts, active parameters",
)
def plan_for(
    what: Annotated[
        str,
        Text(
            "what is asked for",
            bounds='a step of the plan, e.g. "gpus", "usd_per_m_output", "tpot_worst_ms", or "table" for all',
            example="gpus",
        ),
    ],
    model: Annotated[str, Text("model: name or alias", bounds="a model of the catalogue", example="Llama-3.3-70B")],
    gpu: Annotated[str, Text("GPU: name or alias", bounds="an accelerator of the catalogue", example="H200 SXM")],
    req_per_s: ReqPerS,
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    tp: Annotated[float, optional(Tp)] = 2,
    batch: Annotated[float, optional(Batch)] = 64,
    quant: Annotated[
        str,
        Text("format of the weights", bounds="bf16, fp8, int4, fp4, mxfp4 or native", example="fp8", default="fp8"),
    ] = "fp8",
    kv: Annotated[str, Text("type of the KV cache", bounds="bf16 or fp8", example="bf16", default="bf16")] = "bf16",
    usd_per_gpu_hour: Annotated[float, optional(UsdPerGpuHour)] = 3.5,
    mfu: Mfu = 0.5,
    mbu: Mbu = 0.75,
    utilization: Utilization = 0.65,
    target_ms: Annotated[float, optional(TargetMs)] = 50,
    cache_hit: CacheHit = 0,
    spares: Spares = 0,
) -> Any:
    """A step of the plan for a model and a GPU of the catalogue, or all steps as rows of name, value and unit.

    The KV cache is that of the architecture (latent attention, windows, hybrids), and a mixture of experts prefills
    with its active parameters; for a dense model with grouped KV heads it is the worked example's chain. Where a step
    has no number (no output tokens, weights or a batch that do not fit) a single one is #NUM!, and the rows say so in
    words.

    >>> plan_for("gpus", "Llama-3.3-70B", "H200 SXM", 50, 3000, 400)
    52.0
    >>> plan_for("table", "DeepSeek-R1", "H200", 50, 3000, 400, tp=8)[-10:-8]
    [['replicas', 16.0, 'replicas'], ['gpus', 128.0, 'GPUs']]
    """
    name = _step_name(what)
    load = (req_per_s, prompt_tokens, output_tokens, tp, batch)
    numbers = (*load, usd_per_gpu_hour, mfu, mbu, utilization, target_ms, cache_hit, spares)
    for argument, x in zip(_NUMBERS, numbers, strict=True):
        if is_array(x):
            raise InputTypeError(argument, type(x).__name__, "must be one number")
    results = _plan(model, gpu, quant, kv, numbers)[0]
    if name == TABLE:
        return [[step, r.value, r.step.function.unit] for step, r in results.items()]
    found = results[name]
    if isinstance(found.value, str) and not found.step.function.returns_text:
        raise Infeasible(f"{name} has no number: {found.value}")
    return found.value


def _step_name(what: str) -> str:
    from .plan import STEPS

    name = what.strip().casefold()
    name = ALSO.get(name, name)
    known = [step.name for step in STEPS]
    if name not in (*known, TABLE):
        raise UnknownName("step", what, [*known, *ALSO, TABLE])
    return name


@lru_cache(_REMEMBERED)
def _plan(
    model: str, gpu: str, quant: str, kv: str, numbers: tuple[float, ...]
) -> tuple[Mapping[str, "Result"], Mapping[str, Any]]:
    """The plan's steps by name, in its order, and the values from which they come."""
    from .plan import STEPS, run
    from .refined import refined_results

    inputs = {**_facts(model, gpu, quant, kv), **dict(zip(_NUMBERS, numbers, strict=True))}
    switches = {"kv_layout": True, "active_params": inputs["routed_params_b"] > 0}
    results, values = refined_results(inputs, switches)
    refined = {r.step.name: r for r in results}
    found = {}
    for step in STEPS:
        if step.name in _BY_ARCHITECTURE:
            found[step.name] = refined[_BY_ARCHITECTURE[step.name]]
            values[step.name] = found[step.name].value
        else:
            found[step.name] = run(step._replace(refs={**step.refs, **_REFS.get(step.name, {})}), values)
    if refusal := _refusal(found["kv_pool_gb"].value, found["max_seqs"].value, values["batch"]):
        found |= {name: found[name]._replace(value=refusal) for name in _OF_A_FLEET}
    return found, values


def _refusal(pool: float | str, most: float | str, batch: float) -> str:
    """Why there is no fleet; "" where there is one. A sequence without tokens takes no room."""
    if isinstance(pool, str):
        return pool
    if isinstance(most, str) or batch <= most:
        return ""
    return f"batch over the pool: at most {most:g} fit"


@lru_cache(_REMEMBERED)
def _facts(model: str, gpu: str, quant: str, kv: str) -> Mapping[str, float]:
    """The inputs that follow from names, which the rows of a budget share."""
    from .selection import chosen

    return chosen(model, gpu, quant=quant, kv=kv, switches=())
