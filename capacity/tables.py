"""What the command line shows, as Rich tables and text. Only the command line imports this module."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from . import reference
from .compare import Option
from .explain import number
from .families import ModelFacts
from .obstacle import plan_obstacle, room_words
from .plan import Result
from .tpot import FAILS, MEASURE, SAFE

_WITH_FORMULA: Final = 110  # columns from which the formulas have room
_VERDICT_STYLE: Final = {SAFE: "green", MEASURE: "yellow", FAILS: "bold red"}


def plan_table(results: Sequence[Result], heads: Mapping[str, str], *, width: int) -> Table:
    """The steps of the plan: quantity, value, unit, and the formula in words where the width has room for it.

    heads: name of a section's first step -> the title of the section
    """
    table = plain_table("Quantity", "Value", "Unit", *(["Formula"] if width >= _WITH_FORMULA else []))
    values = [shown(r.value) for r in results]
    table.columns[1].justify = "right"
    table.columns[1].min_width = max(map(len, values))  # a narrow terminal wraps words, it never cuts a number
    table.columns[1].style = "bold"
    for result, value in zip(results, values, strict=True):
        spec = result.step.function
        if result.step.name in heads:
            table.add_section()
            table.add_row(Text(heads[result.step.name], "bold"))
        cells = (result.step.quantity, value, "" if spec.returns_text else spec.unit, spec.words)
        table.add_row(*cells[: len(table.columns)])
    return table


def headline(results: Sequence[Result], inputs: Mapping[str, float]) -> Text:
    """The answer in three lines: the fleet and its cost, the cost per token, the batch; before it what stops a plan."""
    value = {r.step.name: r.value for r in results}
    obstacle = plan_obstacle(value, inputs["batch"])
    text = Text()
    if obstacle:
        text.append(f"{obstacle}\n", "bold red")
    text.append(f"{shown(value['replicas'])} replicas, {shown(value['gpus'])} GPUs, ", "bold")
    text.append(f"{dollars(value['cost_per_hour'])} per hour\n", "bold")
    text.append(f"Per million output tokens: {dollars(value['usd_per_m_tokens'])}; ")
    text.append(f"per million tokens, prompt included: {dollars(value['usd_per_m_tokens_all'])}\n")
    room = "" if obstacle else f"{room_words(value['max_seqs'])}; "
    text.append(f"Batch {shown(inputs['batch'])}: {room}TPOT ")
    return text.append(_tpot(value, inputs["target_ms"]))


def options_table(options: Sequence[Option]) -> Table:
    """A comparison's options: what each costs, or why it does not serve."""
    heads = ["#", "GPU", "TP", "Batch", "TPOT [ms]", "GPUs", "In nodes", "USD/GPU-h", "As of", "USD/h", "USD/M out"]
    table = plain_table(*heads)
    for column in (0, *range(2, 8), 9, 10):
        table.columns[column].justify = "right"
    for o in options:
        figures = (o.batch, o.tpot_worst_ms, o.gpus, o.billed_gpus)
        money = [dollars(x) if x is not None else "-" for x in (o.usd_per_gpu_hour, o.cost_per_hour)]
        per_m = dollars(o.usd_per_m_tokens) if o.usd_per_m_tokens is not None else "-"
        numbers = [shown(x) if x is not None else "-" for x in figures]
        date = o.price_date or ("no price" if o.batch is not None else o.status)
        table.add_row(str(o.rank or "-"), o.gpu, str(o.tp), *numbers, money[0], date, money[1], per_m)
    return table


def facts_table(facts: ModelFacts) -> Table:
    """What is known of a model: parameters, memory of a sequence, bytes of the weights in each format."""
    table = plain_table("Quantity", "Value", "Unit")
    table.columns[1].justify = "right"
    table.columns[1].style = "bold"
    for title, rows in _facts(facts).items():
        table.add_section()
        table.add_row(Text(title, "bold"))
        for quantity, value, unit in rows:
            table.add_row(quantity, value if isinstance(value, str) else f"{value:,}", unit)
    return table


def _facts(facts: ModelFacts) -> dict[str, list[tuple[str, int | str, str]]]:
    replicated = ", the same on every rank" if facts.kv_replicated_per_rank else ", all ranks"
    experts = f"{facts.experts_per_token} of {facts.n_experts:,}" if facts.n_experts else "none"
    window = "none" if facts.kv_window_tokens is None else facts.kv_window_tokens
    return {
        f"Model ({facts.model_type})": [
            ("Parameters", facts.total_params, ""),
            ("Active for one token, without the input embedding", facts.active_params, ""),
            ("In routed experts", facts.routed_expert_params, ""),
            ("Experts for each token", experts, ""),
            ("Layers", facts.layers, ""),
        ],
        "Memory of a sequence, in BF16": [
            ("KV cache that grows", facts.kv_bytes_per_token, f"B/token{replicated}"),
            ("KV cache of layers with a window", facts.kv_bytes_per_token_windowed, f"B/token{replicated}"),
            ("Window", window, "tokens"),
            ("State of fixed size", facts.state_bytes_per_sequence, "B/sequence"),
            ("Keys of the sparse-attention indexer", facts.indexer_bytes_per_token, "B/token"),
        ],
        "Weights": [
            (f"As stored ({facts.native_quantization})" if name == "native" else name, f"{size / 1e9:,.1f}", "GB")
            for name, size in facts.weight_bytes.items()
        ],
    }


def function_list() -> Group:
    """All functions by topic, signature above description, which any width of terminal can show."""
    lines: list[RenderableType] = []
    for title, specs in reference.topics().items():
        lines.append(Text(f"\n{title}", "bold"))
        for spec in specs:
            lines.append(Text("  ").append(spec.signature, "cyan").append(f"  {spec.unit}"))
            lines.append(Padding(Text(f"{spec.doc} Worked example: {reference.example(spec)}"), (0, 0, 0, 6)))
    return Group(*lines)


def argument_table() -> Table:
    """All arguments."""
    table = plain_table("Argument", "Meaning", "Unit", "Must be", "Default", "Worked example")
    for row in reference.arguments():
        table.add_row(*row)
    return table


def shown(value: float | str) -> str:
    """A value as a table shows it: a number with sensible digits, or the words in its place."""
    return value if isinstance(value, str) else number(value)


def dollars(value: float | str) -> str:
    """An amount with cents, or the words in its place.

    >>> dollars(182.0), dollars("no output tokens")
    ('$182.00', 'no output tokens')
    """
    return value if isinstance(value, str) else f"${value:,.2f}" if value < 1e12 else f"${value:.4g}"


def _tpot(value: Mapping[str, float | str], target_ms: float) -> Text:
    """The range of the time per output token, and what it means for the target."""
    best, worst, verdict = value["tpot_best_ms"], value["tpot_worst_ms"], str(value["tpot_verdict"])
    if isinstance(best, str):
        return Text(best)
    text = Text(f"{shown(best)} to {shown(worst)} ms against {number(target_ms)} ms: ")
    return text.append(verdict, _VERDICT_STYLE[verdict])


def plain_table(*headers: str) -> Table:
    """A table with a line under its header."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
