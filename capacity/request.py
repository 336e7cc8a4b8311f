"""What `capacity plan` is asked for: settings, a choice from the catalogue, refinements; and the plan for it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from . import plan as seed
from . import refined
from .arguments import typed
from .catalogue import Table, gpus
from .errors import CallError, UnknownName
from .plan import Result, Step
from .selection import chosen

ALL: Final = "all"


class Choice(NamedTuple):
    """Names from the catalogue, as options give them; None where an option is left out."""

    model: str | None = None
    gpu: str | None = None
    quant: str | None = None
    kv: str | None = None


NOTHING: Final = Choice()


class Given(NamedTuple):
    """What a workbook gives: inputs of both chains, refinements in force, names chosen, what its reader must know."""

    inputs: Mapping[str, float]
    switches: Mapping[str, bool]
    choice: Choice
    notes: tuple[str, ...] = ()


class Answer(NamedTuple):
    """The plan, the inputs behind it, where its sections begin, and what it should be refined by."""

    results: list[Result]
    inputs: dict[str, float]
    heads: dict[str, str]  # name of a section's first step -> its title
    notes: tuple[str, ...]  # what a reader of the plan must know of the choice


def answer(
    settings: Sequence[str],
    choice: Choice = NOTHING,
    refine: Sequence[str] = (),
    models: Table | None = None,
    workbook: Given | None = None,
    constants: Mapping[str, float] | None = None,
) -> Answer:
    """The worked example's plan with the choice and then the settings in place, refined where that is asked for.

    What a workbook gives takes the place of the worked example and of a choice; constants of a calibration that of
    those shipped.
    """
    on = _switches(refine)
    if constants and not on:
        raise CallError("--constants goes with --refine: without refinements no step has a fitted constant")
    if workbook:
        on, choice, facts = {**workbook.switches, **on}, workbook.choice, dict(workbook.inputs)
    else:
        facts = {**_facts(choice, on, models), **(constants or {})}
    given = read_settings(settings)
    known = [*seed.INPUTS, *(refined.REFINED_INPUTS if on else ())]
    for name in given:
        if name not in known:
            raise UnknownName("input", name, known)
    own = {name: given.pop(name) for name in refined.REFINED_INPUTS if on and name in given}
    inputs = _validated({n: x for n, x in facts.items() if n in seed.INPUTS} | given)
    notes = (*(workbook.notes if workbook else ()), *_notes(choice, facts, on, inputs["tp"]))
    if not on:
        return Answer(seed.plan(inputs), inputs, _heads(seed.SECTIONS.items()), notes)
    inputs |= {name: x for name, x in facts.items() if name in refined.REFINED_INPUTS}
    inputs |= {name: refined.REFINED_INPUTS[name].check(name, typed(x)) for name, x in own.items()}
    load = [("Load in tokens", [step for step in seed.STEPS if step.name in refined.SHARED])]
    heads = _heads([*load, *refined.SECTIONS.items()])
    return Answer(refined.refined_results(inputs, on)[0], inputs, heads, notes)


def _switches(refine: Iterable[str]) -> dict[str, bool]:
    names = [name.strip().lower() for name in refine]
    for name in names:
        if name not in refined.SWITCHES and name != ALL:
            raise UnknownName("refinement", name, [*refined.SWITCHES, ALL])
    return dict.fromkeys(refined.SWITCHES if ALL in names else names, True)


def _facts(choice: Choice, on: Mapping[str, bool], models: Table | None) -> dict[str, float]:
    if choice.model is None or choice.gpu is None:
        if choice != NOTHING:
            raise CallError("--model and --gpu go together, and --quant and --kv with them")
        return {}
    formats = {name: x for name, x in (("quant", choice.quant), ("kv", choice.kv)) if x is not None}
    return chosen(choice.model, choice.gpu, switches=on, models=models, **formats)  # type: ignore[arg-type]  # texts


def read_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Name -> text of each NAME=VALUE."""
    given = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise CallError(f"--set takes NAME=VALUE, e.g. batch=32: {setting!r}")
        given[name.strip().lower()] = value.strip()
    return given


def _validated(given: Mapping[str, Any]) -> dict[str, float]:
    from pydantic import ValidationError

    from .schema import PlanInputs, sentence

    try:
        return dict(PlanInputs.model_validate(given))
    except ValidationError as error:
        raise CallError(sentence(error)) from None


def _heads(sections: Iterable[tuple[str, Iterable[Any]]]) -> dict[str, str]:
    """Only steps are shown: a row that chooses between inputs heads no section."""
    return {next(s.name for s in entries if isinstance(s, Step)): title for title, entries in sections}


def _notes(choice: Choice, facts: Mapping[str, float], on: Mapping[str, bool], tp: float) -> Iterator[str]:
    """What the plan does not say of itself: terms missing for this model, figures that nobody has published."""
    if choice.model is None or choice.gpu is None:
        return
    missing = " ".join(f"--refine {name}" for name in _misses(facts) if name not in on)
    if missing:
        yield f"{choice.model} is priced as a dense model with grouped KV heads; add {missing}"
    if choice.gpu not in gpus():  # a workbook's own
        return
    gpu = gpus().row(choice.gpu)
    if "usable_memory" in on and gpu["usable_gb"] is None:
        yield f"usable memory of {gpu['name']} is not known: the vendor's {gpu['memory_gb']:g} GB count"
    domain = gpu["max_gpus_fast_domain"]
    if isinstance(domain, float) and tp > domain:
        yield f"{tp:g} GPUs of a replica are more than the {domain:g} x {gpu['name']} that a fast link connects"


def _misses(facts: Mapping[str, float]) -> tuple[str, ...]:
    """What the worked example's chain does not know of a model: experts, and a cache that is not layers x KV heads."""
    as_counted = 2 * facts["layers"] * facts["kv_heads"] * facts["head_dim"] * 2
    other = facts["kv_full_bytes"] != as_counted or facts["state_bytes"] > 0
    needed = {"active_params": facts["routed_params_b"] > 0, "kv_layout": other}
    return tuple(name for name, needs in needed.items() if needs)
