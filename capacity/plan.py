"""The plan: the worked example's steps in order, each one call of a registered function.

`capacity plan`, the audit sheet and the tests all walk STEPS. A step names its function; an argument is the input or
the earlier step of the same name, unless `refs` says otherwise.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from . import cost, decode, fleet, memory, prefill, tpot, traffic
from .arguments import Number
from .errors import InputTypeError, UnknownName
from .numeric import is_array
from .registry import Function, literal, spec_of


class Guard(NamedTuple):
    """A case in which a step has no number: the row says so in words, in Python and in cells alike."""

    words: str | Callable[[Mapping[str, Any]], str]
    holds: Callable[[Mapping[str, Any]], bool]
    native: str  # the same condition in cell arithmetic, {name} for inputs and steps
    shows: str = ""  # the words as a cell finds them, where they depend on other cells

    def says(self, values: Mapping[str, Any]) -> str:
        """The words of a case that holds."""
        return self.words if isinstance(self.words, str) else self.words(values)


class Step(NamedTuple):
    """One row of the plan."""

    name: str
    function: Function
    prints: float | str | None = None  # what the worked example prints, None if it prints nothing
    digits: int = 0  # decimals of the printed figure
    guard: Guard | None = None
    refs: Mapping[str, str] = {}  # argument -> name of the input or step, or a sum "a+b" of them
    label: str = ""  # where the function's own would be ambiguous
    source: str = ""

    @property
    def quantity(self) -> str:
        """What the row is called."""
        return self.label or self.function.label

    def sources(self) -> Mapping[str, str]:
        """Argument -> the input or step (or sum of them) that it takes its value from."""
        return _sources(self.function, tuple(self.refs.items()))


class Choice(NamedTuple):
    """A row that takes one input where a switch is on, and another (or a neutral number) where it is off."""

    name: str
    switch: str
    on: str
    off: str  # the name of an input or step, or a number
    quantity: str

    def taken(self, on: bool) -> str:
        """What is in force: the name of an input or step, or a number."""
        return self.on if on else self.off

    def value(self, on: bool, values: Mapping[str, Any]) -> Any:
        """The value in force."""
        taken = self.taken(on)
        return values[taken] if taken in values else float(taken)


class Result(NamedTuple):
    """A step with its value: a number, or words where there is none."""

    step: Step
    value: float | str
    arguments: Mapping[str, Any]

    @property
    def formula(self) -> str:
        """The call with its figures, as a cell shows it."""
        return self.step.function.formula({a: literal(x) for a, x in self.arguments.items()})


ALIASES: Final = {"step_ms": "decode_step_ms"}  # argument -> step, where the short name reads better

NO_OUTPUT: Final = Guard("no output tokens", lambda v: v["output_tps"] == 0, "{output_tps}=0")
NO_TOKENS: Final = Guard("no tokens", lambda v: v["prompt_tps"] + v["output_tps"] == 0, "{prompt_tps}+{output_tps}=0")
NO_ROOM: Final = Guard(
    "weights do not fit",
    lambda v: v["gpu_gb"] * v["memory_fraction"] - v["reserved_gb"] - v["weights_gb"] < -v["gpu_gb"] / 1e9,
    "{gpu_gb}*{memory_fraction}-{reserved_gb}-{weights_gb}<-{gpu_gb}/1E9",
)
NO_SEQUENCES: Final = Guard(
    lambda v: v["kv_pool_gb"] if isinstance(v["kv_pool_gb"], str) else "no tokens",
    lambda v: isinstance(v["kv_pool_gb"], str) or v["kv_gb_per_seq"] == 0,
    "OR(ISTEXT({kv_pool_gb}),{kv_gb_per_seq}=0)",
    shows='CHOOSE(1+ISTEXT({kv_pool_gb}),"no tokens",T({kv_pool_gb}))',
)
NO_VERDICT: Final = NO_OUTPUT._replace(shows="{tpot_worst_ms}")  # a shorter formula


@cache  # every run of a step asks for them, and there are as many as steps
def _sources(function: Function, refs: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    own = dict(refs)
    return {a: own.get(a) or ALIASES.get(a, a) for a in function.args}


def _step(fn: Callable[..., Any], **details: Any) -> Step:
    spec = spec_of(fn)
    return Step(spec.python_name, spec, **details)


def step_named(name: str, fn: Callable[..., Any], label: str = "", guard: Guard | None = None, **refs: str) -> Step:
    """A step that is called otherwise than its function; refs: argument -> the value that it takes."""
    return Step(name, spec_of(fn), guard=guard, refs=refs, label=label)


# The steps by the section in which an audit shows them.
SECTIONS: Final[dict[str, tuple[Step, ...]]] = {
    "Load in tokens": (
        _step(traffic.prompt_tps, prints=150_000),
        _step(traffic.output_tps, prints=20_000),
    ),
    "Prefill, priced in FLOPs": (
        _step(prefill.prefill_us, prints=71.3, digits=1),
        _step(prefill.prefill_load, prints=10.7, digits=1),
        _step(prefill.ttft_floor_ms, prints=214),
    ),
    "Memory": (
        _step(memory.weights_gb, prints=35.3, digits=1),
        _step(memory.kv_bytes_per_token, prints=327_680),
        _step(traffic.context_tokens, prints=3_200),
        _step(memory.kv_gb_per_seq, prints=0.52, digits=2),
        _step(memory.kv_pool_gb, prints=91.4, digits=1, guard=NO_ROOM),
        _step(memory.max_seqs, prints=174, guard=NO_SEQUENCES),
    ),
    "Decode, priced in bytes": (
        _step(decode.step_gb, prints=68.8, digits=1),
        _step(decode.decode_step_ms, prints=19.1, digits=1),
        _step(decode.replica_tps, prints=3_347),
        _step(decode.decode_load, prints=6.0, digits=1),
    ),
    "Fleet": (
        _step(fleet.busy_replicas, prints=16.7, digits=1),
        _step(fleet.replicas, prints=26),
        _step(fleet.gpus, prints=52),
        _step(fleet.request_replica_s),
    ),
    "Cost": (
        _step(cost.cost_per_hour, prints=182),
        _step(cost.usd_per_m_tokens, prints=2.53, digits=2, guard=NO_OUTPUT, refs={"tokens_per_s": "output_tps"}),
        _step(
            cost.usd_per_m_tokens,
            prints=0.30,
            digits=2,
            guard=NO_TOKENS,
            refs={"tokens_per_s": "prompt_tps+output_tps"},
            label="Cost per million tokens, prompt included",
            source="Worked example: $182 / (170,000 x 3,600 / 1e6) = $0.30 per M tokens, prompt included",
        )._replace(name="usd_per_m_tokens_all"),
    ),
    "TPOT check": (
        _step(tpot.tpot_worst_ms, prints=53, guard=NO_OUTPUT),
        _step(tpot.tpot_best_ms, guard=NO_OUTPUT),
        _step(tpot.overlap_needed, guard=NO_OUTPUT),
        _step(tpot.tpot_verdict, prints=tpot.MEASURE, guard=NO_VERDICT),
    ),
}
STEPS: Final = tuple(step for steps in SECTIONS.values() for step in steps)

# Inputs by the group in which they are shown; every argument that is no step and no alias stands here exactly once.
INPUT_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Load": ("req_per_s", "prompt_tokens", "output_tokens", "cache_hit"),
    "Model": ("params_b", "bytes_per_param", "layers", "kv_heads", "head_dim", "kv_bytes"),
    "Hardware": ("tp", "peak_tflops", "bandwidth_tb_s", "gpu_gb", "memory_fraction", "reserved_gb", "usd_per_gpu_hour"),
    "Efficiency and policy": ("mfu", "mbu", "batch", "utilization", "spares", "target_ms"),
}


def _inputs() -> dict[str, Number]:
    known = {n: a for step in STEPS for n, a in step.function.args.items() if isinstance(a, Number)}
    grouped = [name for names in INPUT_GROUPS.values() for name in names]
    steps = {step.name for step in STEPS}
    for source in (name for step in STEPS for ref in step.sources().values() for name in ref.split("+")):
        if source not in steps and source not in grouped:
            raise ValueError(
                f"{source} is no step and no input of the plan: add it to INPUT_GROUPS in capacity/plan.py"
            )
    for name in grouped:
        if name not in known:
            raise ValueError(f"{name} in INPUT_GROUPS in capacity/plan.py is no numeric argument of any step")
    return {name: known[name] for name in grouped}


INPUTS: Final[dict[str, Number]] = _inputs()


def checked(name: str, value: Any) -> Any:
    """An input's value within its bounds; one value, for a plan is not calculated for arrays."""
    if is_array(value):
        raise InputTypeError(name, type(value).__name__, "must be one number")
    return INPUTS[name].check(name, value)


def plan(inputs: Mapping[str, Any] | None = None) -> list[Result]:
    """All steps for the worked example's inputs, with those given put in their place.

    >>> {r.step.name: r.value for r in plan({"req_per_s": 100})}["gpus"]
    104.0
    """
    for name in inputs or {}:
        if name not in INPUTS:
            raise UnknownName("input", name, INPUTS)
    values: dict[str, Any] = {n: checked(n, (inputs or {}).get(n, a.example)) for n, a in INPUTS.items()}
    return [run(step, values) for step in STEPS]


def arguments(step: Step, values: Mapping[str, Any]) -> dict[str, Any]:
    """What a step's function takes, from the inputs and the steps so far."""
    return {
        a: sum(values[n] for n in ref.split("+")) if "+" in ref else values[ref] for a, ref in step.sources().items()
    }


def run(step: Step, values: dict[str, Any]) -> Result:
    """One step from the values so far, to which its own is added."""
    args, function = arguments(step, values), step.function
    if step.guard and step.guard.holds(values):
        value = step.guard.says(values)
    else:
        value = function.compute(function.check(tuple(args.values())))  # all of them, in the function's order
    values[step.name] = value
    return Result(step, value, args)
