"""The definitions agree with each other: names, units, examples, defaults, twins, sentences."""

import inspect
import re
import string

import pytest
from openpyxl.utils import FORMULAE

import capacity
import capacity.plan
from capacity.arguments import REQUIRED, Number
from capacity.caching import CACHING_INPUTS
from capacity.calibration import CALIBRATION_INPUTS
from capacity.chunked import CHUNK_INPUTS
from capacity.constants import FITTED, TTFT_ECHO, TTFT_FITTED
from capacity.demand import LOAD_INPUTS
from capacity.disaggregated import POOL_INPUTS
from capacity.headroom import HEADROOM_INPUTS
from capacity.mix import CLASS_INPUTS
from capacity.plan import ALIASES, INPUT_GROUPS, INPUTS, STEPS
from capacity.refined import REFINED_INPUTS, REFINED_STEPS
from capacity.registry import FUNCTIONS, Function, atom
from capacity.ttft import TTFT_INPUTS
from capacity.units import UNITS
from workbook import style
from workbook.input_rows import read_notes
from workbook.sheets import caching, calibrate, evidence_bands, mix_tables, plan_answer, pools, ttft, utilization

STAGE_1 = """PROMPT_TPS OUTPUT_TPS PREFILL_US PREFILL_LOAD TTFT_FLOOR_MS WEIGHTS_GB KV_BYTES_PER_TOKEN CONTEXT_TOKENS
KV_GB_PER_SEQ KV_POOL_GB MAX_SEQS STEP_GB DECODE_STEP_MS REPLICA_TPS DECODE_LOAD BUSY_REPLICAS REPLICAS GPUS
COST_PER_HOUR USD_PER_M_TOKENS TPOT_WORST_MS TPOT_BEST_MS OVERLAP_NEEDED TPOT_VERDICT REQUEST_REPLICA_S
CAPACITY_VERSION CAPACITY_EXPLAIN"""

STAGE_2 = "MODEL GPU PLAN"

# arguments of the money's functions that a table or a team gives
MONEY = """growth months first_new_users kept_before new_before first_retention later_retention sessions_per_user
turns requests_per_turn retry_share system per_turn output reasoning_tokens first_tokens tokens_per_request
batch_tokens deadline_h peak_load mean_load hour_share warm_replicas running_before start_minutes batch_left
batch_replicas following_gpu_hours static_gpu_hours replica_hours contract_gpus start_month term_months ramp_share
month gpu_months level_gpus level_hours span_hours reserved_price on_demand_price needed_gpu_hours used_gpu_hours
committed_gpu_hours node_usd extra_share life_years residual_share capital_rate node_kw pue usd_per_kwh
usd_per_kw_month support_share work_nodes spare_nodes load year"""

SPECS = [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items()]
NUMERIC = [pytest.param(spec, id=name) for name, spec in FUNCTIONS.items() if spec.native]


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def arguments() -> dict[str, list[Number]]:
    """Every numeric argument under its name, once for each function that calculates with it."""
    found: dict[str, list[Number]] = {}
    for spec in (spec for spec in FUNCTIONS.values() if spec.native):
        for name, argument in spec.args.items():
            if isinstance(argument, Number):
                found.setdefault(name, []).append(argument)
    return found


# modules whose arguments are inputs of the sheets of money, or what those sheets make of the plan
BUDGET = {
    f"capacity.{name}" for name in ("buying", "budget", "budget_costs", "chargeback", "conversation", "variances")
}


def users(name: str) -> list[Function]:
    """The functions that take an argument of that name."""
    return [spec for spec in FUNCTIONS.values() if name in spec.args]


# arguments whose default is a fitted constant, by the constant's name where it differs
CONSTANT_ARGUMENTS = {
    **{
        name: name
        for name in (
            "activation_passes",
            "prefill_base_ms",
            "prefill_layer_us",
            "link_efficiency",
            "allreduce_growth",
            "alltoall_latency_us",
            "coverage_exponent",
            "expert_tokens",
            "launch_us",
            "host_ms",
            "overlap_power",
        )
    },
    "latency_us": "allreduce_latency_us",
    "imbalance": "expert_imbalance",
}


def test_the_functions() -> None:
    """None of the published functions is gone; more may come."""
    assert set(FUNCTIONS) >= {*STAGE_1.split(), *STAGE_2.split()}


@pytest.mark.parametrize("name", arguments())
def test_one_name_means_one_thing(name: str) -> None:
    """An argument's name has one unit, one meaning, one example and one default in all functions."""
    assert len({(a.unit, a.meaning, a.example, a.default, a.whole) for a in arguments()[name]}) == 1


@pytest.mark.parametrize("name", arguments())
def test_examples_chain_exactly(name: str) -> None:
    """An argument that is another function's result has exactly that result as its example."""
    source = "error_band" if name == "measured_share" else ALIASES.get(name, name)
    if source.upper() in FUNCTIONS:
        assert arguments()[name][0].example == getattr(capacity, source)()
    else:
        own = (
            *utilization.WAITING,
            *utilization.STEPS,
            *mix_tables.ALL_STEPS,
            *plan_answer.STEPS,
            *caching.STEPS,
            *caching.OWN,
            *pools.STEPS,
            *calibrate.STEPS,
            *ttft.STEPS,
        )
        steps = (*STEPS, *REFINED_STEPS, *own)
        fed = {step.name for step in steps} | {argument for step in steps for argument in step.refs}
        fed |= {given for lines in (pools.LINES, evidence_bands.CONTINGENCY) for given, _ in lines.given}
        fed |= {*pools.LINES.taken, *POOL_INPUTS, *CALIBRATION_INPUTS, *TTFT_INPUTS}
        known = {
            *INPUTS,
            *REFINED_INPUTS,
            *HEADROOM_INPUTS,
            *LOAD_INPUTS,
            *CLASS_INPUTS,
            *CHUNK_INPUTS,
            *CACHING_INPUTS,
            "batch_limit",
        }
        assert name in known or name in fed or name in MONEY.split() or BUDGET & {s.fn.__module__ for s in users(name)}


def test_the_plan_in_one_cell() -> None:
    """Its arguments are the plan's inputs; all but the choice and the load may be left out, for the worked example."""
    args = FUNCTIONS["PLAN"].args
    required = [name for name, a in args.items() if a.default is REQUIRED]
    assert required == ["what", "model", "gpu", "req_per_s", "prompt_tokens", "output_tokens"]
    assert all(a.default in (REQUIRED, a.example) for a in args.values())
    for name, a in args.items():
        if isinstance(a, Number):
            same = INPUTS[name]
            assert (a.unit, a.meaning, a.bounds, a.example) == (same.unit, same.meaning, same.bounds, same.example)


def test_defaults_are_examples() -> None:
    """A stated assumption is the worked example's."""
    assert {n: a[0].default for n, a in arguments().items() if a[0].default is not REQUIRED} == {
        "mfu": 0.5,
        "mbu": 0.75,
        "utilization": 0.65,
        "replica_gpus": 1,
        "memory_fraction": 0.92,
        "reserved_gb": 3,
        "kv_bytes": 2,
        "cache_hit": 0,
        "spares": 0,
        "one_shot_share": 0,
        "peak_to_mean": 2,
        "batch_limit": 1024,
        "hours_per_month": 730.5,
        "api_cached_share": 0,
        "batch_share": 0,
        "batch_discount": 0.5,
        "running_share": 1,
        "cost_share": 1,
        "prompt_cv": 0,
        **{argument: FITTED[constant].value for argument, constant in CONSTANT_ARGUMENTS.items()},
        **{argument: constant.value for argument, constant in TTFT_FITTED.items()},
        "ttft_echo": TTFT_ECHO.value,
        "startup_share": 0.1,
    }
    own = {"replica_gpus"}  # of one GPU unless said; the worked example's replica has two
    assert all(a.default in (REQUIRED, a.example) for n, each in arguments().items() for a in each if n not in own)


@pytest.mark.parametrize("spec", SPECS)
def test_units_are_known(spec: Function) -> None:
    assert spec.unit in UNITS
    assert all(a.unit in UNITS for a in spec.args.values())


@pytest.mark.parametrize("spec", NUMERIC)
def test_templates_name_the_arguments(spec: Function) -> None:
    """The cell twin and the sentence use every argument, and nothing else."""
    assert fields(spec.native) == set(spec.args)
    sentence = spec.derivation if isinstance(spec.derivation, str) else spec.derivation(*spec.examples)
    used = fields(sentence.replace("[", "").replace("]", ""))
    assert used - {"result"} == set(spec.args) | ({"unrounded"} if spec.unrounded else set())
    assert used & {"result", "unrounded"}


@pytest.mark.parametrize("spec", SPECS)
def test_signature_repeats_the_definition(spec: Function) -> None:
    """Python's own default is the registered one; `help` and the decorated function agree."""
    for p in inspect.signature(spec.fn).parameters.values():
        if p.kind is not p.VAR_POSITIONAL:
            default = spec.args[p.name].default
            assert p.default == (inspect.Parameter.empty if default is REQUIRED else default)
    assert list(inspect.signature(spec.public).parameters) == [*spec.args, *([spec.vararg] if spec.vararg else [])]


@pytest.mark.parametrize("spec", SPECS)
def test_docstring(spec: Function) -> None:
    """Each public function documents its arguments, units, errors and source, and shows an example."""
    doc = spec.public.__doc__ or ""
    assert f">>> {spec.python_name}(" in doc or f"{spec.python_name}(" in doc.partition(">>>")[2]
    for name, argument in spec.args.items():
        assert f"    {name}: {argument.meaning}" in doc
    assert f"[{spec.unit}]" in doc
    assert "InputError" in doc
    assert spec.source in doc


@pytest.mark.parametrize("spec", SPECS)
def test_names_suit_spreadsheets(spec: Function) -> None:
    """No name is shaped like a cell or taken by Excel; what a wizard shows stays within its limits."""
    assert spec.name not in FORMULAE
    for name in (spec.name, *spec.args):
        assert not re.fullmatch(r"[A-Za-z]{1,3}\d+|[Rr]\d*[Cc]\d*", name)
    assert len(spec.args) + sum(map(len, spec.args)) <= 254
    assert all(len(spec.help(name)) <= 255 for name in spec.args)


def test_labels_are_unique() -> None:
    labels = [step.quantity for step in STEPS]
    assert len(set(labels)) == len(labels)


def test_inputs_are_what_no_step_gives() -> None:
    """Every argument of a step is an input or an earlier step, and every input stands in exactly one group."""
    known = set(INPUTS)
    for step in STEPS:
        for source in step.sources().values():
            assert set(source.split("+")) <= known, step.name
        known.add(step.name)
    grouped = [name for names in INPUT_GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(INPUTS)
    assert not set(INPUTS) & {step.name for step in STEPS}


def test_a_forgotten_place_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever adds a unit or an input, and forgets a list that must know of it, reads which one."""
    monkeypatch.delitem(style.FORMATS, "ms")
    with pytest.raises(ValueError, match=r"^the unit 'ms' has no number format: .* workbook/style\.py$"):
        style.format_of("ms")
    monkeypatch.setitem(INPUTS, "nodes", INPUTS["tp"])
    with pytest.raises(ValueError, match=r"^the input nodes has no row in workbook/data/inputs\.csv: "):
        read_notes(list(INPUTS))
    monkeypatch.setitem(INPUT_GROUPS, "Load", ("req_per_s", "prompt_tokens", "output_tokens"))
    with pytest.raises(ValueError, match=r"^cache_hit is no step and no input of the plan: .* capacity/plan\.py$"):
        capacity.plan._inputs()
    monkeypatch.setitem(INPUT_GROUPS, "Load", ("req_per_s", "prompt_tokens", "output_tokens", "cache_hit", "nodes"))
    with pytest.raises(ValueError, match=r"^nodes in INPUT_GROUPS in capacity/plan\.py is no numeric argument"):
        capacity.plan._inputs()


@pytest.mark.parametrize(
    ("ref", "atomic"),
    [
        *((ref, True) for ref in ("A1", "$A$1", "Inputs!$C$5", "'My sheet'!C5", "mfu", "2.5E-3")),
        *((ref, False) for ref in ("a+b", "-1", "A1:A3", "2*3")),
    ],
)
def test_parentheses_around_what_is_no_atom(ref: str, atomic: bool) -> None:
    assert atom(ref) == (ref if atomic else f"({ref})")
