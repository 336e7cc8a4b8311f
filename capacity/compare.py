"""Every GPU of the catalogue as replicas of 1, 2, 4 and 8, for one model and load: what fits, what it costs, ranked.

Each option runs the largest batch that meets the TPOT target in the worst case. A price is the median of a GPU's
on-demand offers in the catalogue; a range is no price. Options without a price come behind those with one, and those
that do not fit, or are not offered, come last and say why.

>>> best = compare("Llama-3.3-70B", {"req_per_s": 50, "prompt_tokens": 3000, "output_tokens": 400})[0]
>>> best.gpu, best.tp, best.gpus, best.status
('MI300X', 4, 40.0, 'fits')
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Annotated, Any, Final, NamedTuple

from . import catalogue
from .arguments import Text
from .errors import CallError, Infeasible, InputTypeError, NotKnown, UnknownName
from .numeric import is_array
from .one_cell import optional
from .registry import function
from .sizing import BatchLimit
from .terms import CacheHit, Mbu, Mfu, OutputTokens, PromptTokens, ReqPerS, Spares, TargetMs, Utilization

TPS: Final = (1, 2, 4, 8)
NODE_GPUS: Final = 8.0
ON_DEMAND: Final = "on demand"

_REMEMBERED: Final = 64  # comparisons: a budget asks several things of one


class Price(NamedTuple):
    """The median of a GPU's on-demand offers, the date of the newest and how many there are."""

    usd_per_gpu_hour: float
    date: str
    offers: int


class Option(NamedTuple):
    """A kind of GPU and how many of them are a replica; words in `status`, and None for what there is no figure of."""

    rank: int | None
    gpu: str
    tp: int
    status: str
    batch: float | None = None
    max_seqs: float | None = None
    tpot_worst_ms: float | None = None
    replicas: float | None = None
    gpus: float | None = None
    billed_gpus: float | None = None
    usd_per_gpu_hour: float | None = None
    price_date: str | None = None
    cost_per_hour: float | None = None
    billed_per_hour: float | None = None
    usd_per_m_tokens: float | None = None


# What is asked for in a cell -> what an option calls it.
ASKED: Final = {
    **{name: name for name in Option._fields if name not in ("rank", "status")},
    "usd_per_hour": "cost_per_hour",
    "usd_per_m_output": "usd_per_m_tokens",
}


def on_demand(rows: Iterable[catalogue.Row] | None = None) -> dict[str, Price]:
    """GPU -> its price. An offer counts when it is on demand, in USD, of a GPU that it names, and one figure.

    >>> on_demand()["MI300X"]
    Price(usd_per_gpu_hour=2.59, date='2026-10-08', offers=1)
    """
    from statistics import median

    found: dict[str, list[tuple[str, float]]] = {}
    for row in catalogue.prices() if rows is None else rows:
        low, high = row["usd_per_gpu_hour_low"], row["usd_per_gpu_hour_high"]
        on_demand_ = str(row["commitment"] or "").strip().casefold().replace("-", " ") == ON_DEMAND
        usd = row.get("currency") in (None, "USD")  # as the column's name says, where a team's row has none
        if on_demand_ and usd and row["gpu"] and isinstance(low, float) and high in (None, low):
            found.setdefault(str(row["gpu"]), []).append((str(row["date"]), low))
    return {gpu: Price(median(x for _, x in all_), max(all_)[0], len(all_)) for gpu, all_ in found.items()}


def compare(
    model: str,
    inputs: Mapping[str, Any] | None = None,
    *,
    quant: str = "fp8",
    kv: str = "bf16",
    node_gpus: float = NODE_GPUS,
    batch_limit: float = 1024,
    models: catalogue.Table | None = None,
) -> list[Option]:
    """All options for a model, the cheapest first.

    Arguments:
        model: a name or alias of the catalogue
        inputs: load, efficiencies and policy by the plan's names, in place of the worked example's
        quant: format of the weights
        kv: type of the KV cache
        node_gpus: GPUs of a node, for the bill of whole nodes
        batch_limit: sequences that the engine runs at most
        models: where the model is looked up; by default the catalogue with a team's own
    Errors: UnknownName, NotKnown for what the catalogue lacks of the model, InputError for an input out of bounds
    """
    from .headroom import HEADROOM_INPUTS
    from .sizing import BATCH_LIMIT

    own = {
        "node_gpus": HEADROOM_INPUTS["node_gpus"].check("node_gpus", node_gpus),
        "batch_limit": BATCH_LIMIT.check("batch_limit", batch_limit),
    }
    given = {**_given(inputs or {}), **own}
    gpus = _facts(model, quant, kv, models or catalogue.known_models())
    prices = _prices()
    found = [option for tp in TPS for option in _options(tp, gpus, given, prices)]
    found.sort(key=lambda option: (_CLASSES.get(option.status, len(_CLASSES)), option.cost_per_hour or 0.0))
    return [o._replace(rank=place if o.status == "fits" else None) for place, o in enumerate(found, 1)]


_CLASSES: Final = {"fits": 0, "fits, no price": 1}
_OWN: Final = "each option of a comparison has a {} of its own: leave it out"
_prices = cache(on_demand)


def _given(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's inputs of load, efficiency and policy."""
    from .plan import INPUT_GROUPS, INPUTS, checked

    taken = (*INPUT_GROUPS["Model"], "tp", "peak_tflops", "bandwidth_tb_s", "gpu_gb", "usd_per_gpu_hour", "batch")
    for name in inputs:
        if name not in INPUTS:
            raise UnknownName("input", name, [n for n in INPUTS if n not in taken])
        if name in taken:
            raise CallError(_OWN.format(name))
    return {n: checked(n, inputs.get(n, a.example)) for n, a in INPUTS.items() if n not in taken}


def _facts(model: str, quant: str, kv: str, models: catalogue.Table) -> dict[str, dict[str, float] | str]:
    """GPU -> inputs that follow from it and the model, or why it has none; NotKnown where the model lacks a fact."""
    from .options import NO_PEAK
    from .selection import NATIVE, chosen

    found: dict[str, dict[str, float] | str] = {}
    missing: NotKnown | None = None
    for gpu in catalogue.gpus().names:
        try:
            found[gpu] = chosen(model, gpu, quant=quant, kv=kv, switches=(), models=models)
        except NotKnown as error:
            missing = error
            form = models.row(model)["native_format"] if quant.strip().casefold() == NATIVE else quant
            found[gpu] = NO_PEAK.format(form)
    if missing and all(isinstance(facts, str) for facts in found.values()):
        raise missing
    return found


def _options(
    tp: int, gpus: Mapping[str, dict[str, float] | str], given: Mapping[str, Any], prices: Mapping[str, Price]
) -> Iterator[Option]:
    """The options of one TP, in the catalogue's order."""
    from .options import FITS, NO_OUTPUT, NO_PRICE, linked, worked
    from .refined import refined_results

    facts = next(f for f in gpus.values() if not isinstance(f, str))
    inputs = {**facts, "tp": tp, **{n: x for n, x in given.items() if n not in ("node_gpus", "batch_limit")}}
    switches = {"kv_layout": True, "active_params": facts["routed_params_b"] > 0}
    shared = {**refined_results(inputs, switches)[1], **given}
    for gpu, own in gpus.items():
        domain = catalogue.gpus().row(gpu)["max_gpus_fast_domain"]
        link = linked(tp, domain if isinstance(domain, float) else None)
        if shared["output_tps"] == 0:
            yield Option(None, gpu, tp, NO_OUTPUT)
        elif isinstance(own, str):
            yield Option(None, gpu, tp, own)
        elif isinstance(link, str):
            yield Option(None, gpu, tp, link)
        else:
            price = prices.get(gpu)
            usd = price.usd_per_gpu_hour if price else None
            values = worked({**shared, **{n: own[n] for n in _OF_GPU}, "usd_per_gpu_hour": usd})
            if isinstance(values["batch"], str):
                yield Option(None, gpu, tp, values["batch"])
            else:
                shown = {n: values[n] for n in Option._fields[4:] if isinstance(values.get(n), float)}
                shown |= {"price_date": price.date, "billed_per_hour": values["billed_gpus"] * usd} if price else {}
                yield Option(None, gpu, tp, FITS if price else NO_PRICE, **shown)


_OF_GPU: Final = ("peak_tflops", "bandwidth_tb_s", "gpu_gb")


def _sentence(what: str, model: str, *rest: Any) -> str:
    """What the cheapest option is, as an explanation shows it."""
    best = _cheapest(model, *rest)
    text = f"{model}: the cheapest of the options that fit is {best.gpus:,.0f} x {best.gpu}, {best.tp} to a replica, at"
    return (
        f"{text} ${best.usd_per_gpu_hour:,.2f} (median on demand, {best.price_date}): ${best.cost_per_hour:,.2f} per"
        f" hour with batch {best.batch:,.0f}"
    )


@function(
    "Cheapest option",
    returns="number or text",
    words="of all GPUs of the catalogue as replicas of 1, 2, 4 and 8 that fit: the fleet with the least cost per hour",
    native="",
    derivation=_sentence,
    source="The catalogue; a price is the median of a GPU's on-demand offers there",
)
def cheapest(
    what: Annotated[
        str,
        Text(
            "what is asked for",
            bounds='"gpu", "tp", "batch", "gpus", "usd_per_hour", "usd_per_m_output", "usd_per_gpu_hour", '
            '"price_date", ...',
            example="gpu",
        ),
    ],
    model: Annotated[str, Text("model: name or alias", bounds="a model of the catalogue", example="Llama-3.3-70B")],
    req_per_s: ReqPerS,
    prompt_tokens: PromptTokens,
    output_tokens: OutputTokens,
    target_ms: Annotated[float, optional(TargetMs)] = 50,
    quant: Annotated[
        str,
        Text("format of the weights", bounds="bf16, fp8, int4, fp4, mxfp4 or native", example="fp8", default="fp8"),
    ] = "fp8",
    kv: Annotated[str, Text("type of the KV cache", bounds="bf16 or fp8", example="bf16", default="bf16")] = "bf16",
    mfu: Mfu = 0.5,
    mbu: Mbu = 0.75,
    utilization: Utilization = 0.65,
    cache_hit: CacheHit = 0,
    spares: Spares = 0,
    batch_limit: BatchLimit = 1024,
) -> float | str:
    """The catalogue's cheapest option for a model and a load: its GPU, its TP, or a figure of it.

    >>> cheapest("gpu", "Llama-3.3-70B", 50, 3000, 400), cheapest("tp", "Llama-3.3-70B", 50, 3000, 400)
    ('MI300X', 4.0)
    >>> round(cheapest("usd_per_hour", "Llama-3.3-70B", 50, 3000, 400), 2)
    103.6
    """
    name = what.strip().casefold()
    if name not in ASKED:
        raise UnknownName("figure of an option", what, ASKED)
    numbers = {"req_per_s": req_per_s, "prompt_tokens": prompt_tokens, "output_tokens": output_tokens}
    for argument, x in {**numbers, "target_ms": target_ms}.items():
        if is_array(x):
            raise InputTypeError(argument, type(x).__name__, "must be one number")
    best = _cheapest(
        model,
        *numbers.values(),
        target_ms,
        quant,
        kv,
        mfu,
        mbu,
        utilization,
        cache_hit,
        spares,
        batch_limit,
    )
    x = getattr(best, ASKED[name])
    return x if isinstance(x, str) else float(x)


_NUMBERS: Final = (
    *("req_per_s", "prompt_tokens", "output_tokens", "target_ms"),
    *("mfu", "mbu", "utilization", "cache_hit", "spares"),
)


@lru_cache(_REMEMBERED)
def _cheapest(
    model: str,
    req_per_s: float,
    prompt_tokens: float,
    output_tokens: float,
    target_ms: float,
    quant: str,
    kv: str,
    *rest: float,
) -> Option:
    *policy, batch_limit = rest
    inputs = dict(zip(_NUMBERS, (req_per_s, prompt_tokens, output_tokens, target_ms, *policy), strict=True))
    best = compare(model, inputs, quant=quant, kv=kv, batch_limit=batch_limit)[0]
    if best.rank is None:
        raise Infeasible(f"no option with a price fits; {best.gpu}, TP {best.tp}: {best.status}")
    return best
