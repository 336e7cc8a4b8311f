"""The refined chain: the worked example's plan with refinements, each a named switch that is off by default.

A switch gates inputs, not formulas: a Choice takes the refined input where its switch is on and a neutral one where it
is off. With all switches off every result is the worked example's, by the same formulas.
"""

from collections.abc import Mapping
from typing import Any, Final

from .arguments import Number
from .constants import FITTED
from .errors import Infeasible, UnknownName
from .plan import INPUTS, STEPS, Choice, Result, Step, run
from .refined_steps import REFINED_STEPS, SECTIONS
from .refined_terms import fitted

__all__ = [
    "NEUTRAL",
    "REFINED_INPUTS",
    "REFINED_STEPS",
    "SECTIONS",
    "SHARED",
    "SWITCHES",
    "Choice",
    "refined_plan",
    "refined_results",
]

# Switch -> what it refines, and how much that moves.
SWITCHES: Final[dict[str, str]] = {
    "active_params": "Prefill without embedding, LM head and idle experts; decode does not read the embedding",
    "attention_flops": "Attention's own FLOPs in prefill: 2.8% of 2N at 3k tokens, 28% at 30k for Llama 70B",
    "activations": "Activations cross the memory bus, in prefill and decode",
    "fixed_time": "Kernel launches and host, per step and per prompt",
    "communication": "All-reduces of tensor parallelism, all-to-alls of experts under attention-DP",
    "stored_weights": "LM head and embedding stay in BF16: Llama 70B in FP8 is 72.7 GB, not 70.55",
    "kv_layout": "KV cache by architecture: copies beyond the KV heads, MLA, windows, hybrid state",
    "usable_memory": "Memory as CUDA reports it, and the fraction of what is free where the engine takes it so",
    "peak_residency": "Resident sequences at prompt + output tokens instead of the mean",
    "coverage": "A decode step reads only the experts that its batch touches",
    "decode_flops": "A decode step is bound by FLOPs at large batches",
    "efficiencies": "Fitted efficiencies of each part instead of one MFU and one MBU",
    "parallelism": "Attention-DP, and the imbalance of experts under expert parallelism",
    "speculation": "Speculative decoding: drafts verified, tokens accepted, time of the draft",
}

# What the refined chain takes from the worked example's chain unchanged.
SHARED: Final = ("prompt_tps", "output_tps", "context_tokens", "kv_bytes_per_token")
NEUTRAL: Final = {"none_left_out": 0.0, "none_one_shot": 0.0}

INPUT_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Model, for refinements": (
        "active_params_b",
        "embedding_params_b",
        "lm_head_params_b",
        "routed_params_b",
        "dense_bytes",
        "expert_bytes",
        "experts",
        "experts_per_token",
        "moe_layers",
        "hidden_size",
        "attention_width",
        "windowed_width",
        "window_tokens",
        "kv_full_bytes",
        "kv_windowed_bytes",
        "windowed_kv_heads",
        "state_bytes",
        "kv_replicated",
    ),
    "Hardware and engine, for refinements": (
        "bf16_tflops",
        "link_gb_s",
        "usable_gb",
        "of_free",
        "attention_dp",
        "expert_parallel",
        "kernels",
        "drafts",
        "accepted",
        "draft_ms",
    ),
    "Fitted constants": tuple(FITTED),
}


# Inputs that no function calls so: they take the place of another's argument.
_APART: Final = {
    "usable_gb": Number("GB", "usable memory: as CUDA reports it for one GPU", example=150.11, gt=0),
    "windowed_kv_heads": Number(
        "heads", "windowed KV heads: of a layer with a window, else as the others", example=8, ge=1, whole=True
    ),
}


def _inputs() -> dict[str, Number]:
    known = {n: a for s in REFINED_STEPS for n, a in s.function.args.items() if isinstance(a, Number)} | _APART
    return {name: fitted(name) if name in FITTED else known[name] for names in INPUT_GROUPS.values() for name in names}


REFINED_INPUTS: Final[dict[str, Number]] = _inputs()


def refined_plan(
    inputs: Mapping[str, Any] | None = None, switches: Mapping[str, bool] | None = None
) -> dict[str, Result | Any]:
    """All rows of the refined chain by name; inputs of both chains and switches may be set.

    >>> rows = refined_plan(switches={"attention_flops": True})
    >>> round(rows["prefill_us"].value, 2)
    75.28
    """
    return _walk(inputs or {}, switches or {})[0]


def refined_results(
    inputs: Mapping[str, Any] | None = None, switches: Mapping[str, bool] | None = None
) -> tuple[list[Result], dict[str, Any]]:
    """The steps in order, with those that both chains share, and all values by name, inputs and choices included.

    A row that chooses between steps is there as the step that it takes, under its own name.

    >>> results, values = refined_results(switches={"peak_residency": True})
    >>> [r.value for r in results if r.step.name == "max_seqs"], values["max_seqs_mean"]
    ([164.0], 174.0)
    """
    on = switches or {}
    rows, values, found = _walk(inputs or {}, on)
    for entry in (entry for entries in SECTIONS.values() for entry in entries):
        if isinstance(entry, Step):
            found.append(rows[entry.name])
        elif entry.name in _STEPS:
            result = rows[entry.taken(bool(on.get(entry.switch)))]
            found.append(result._replace(step=result.step._replace(name=entry.name, label=entry.quantity)))
    return found, values


_STEPS: Final = {step.name for step in STEPS}


def _walk(
    inputs: Mapping[str, Any], switches: Mapping[str, bool]
) -> tuple[dict[str, Result | Any], dict[str, Any], list[Result]]:
    """The rows, all values by name, and the steps of the worked example's chain that both share."""
    for name in switches:
        if name not in SWITCHES:
            raise UnknownName("switch", name, SWITCHES)
    arguments = INPUTS | REFINED_INPUTS
    for name in inputs:
        if name not in arguments:
            raise UnknownName("input", name, arguments)
    values: dict[str, Any] = {n: a.check(n, inputs.get(n, a.example)) for n, a in arguments.items()} | NEUTRAL
    if values["accepted"] > values["drafts"]:
        raise Infeasible(
            f"{values['accepted']:g} accepted tokens are more than the {values['drafts']:g} drafts proposed"
        )
    if values["expert_parallel"] > values["tp"]:
        raise Infeasible(
            f"experts spread over {values['expert_parallel']:g} GPUs are on more than the {values['tp']:g} of a replica"
        )
    shared = [run(step, values) for step in STEPS if step.name in SHARED]
    rows: dict[str, Result | Any] = {}
    for entry in (entry for entries in SECTIONS.values() for entry in entries):
        if isinstance(entry, Step):
            rows[entry.name] = run(entry, values)
        else:
            rows[entry.name] = values[entry.name] = entry.value(bool(switches.get(entry.switch)), values)
    return rows, values, shared
