"""What the command line shows, as Rich tables and text. Only the command line imports this module."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from . import reference
from .explain import number
from .plan import SECTIONS, Result
from .tpot import FAILS, MEASURE, SAFE

_WITH_FORMULA: Final = 110  # columns from which the formulas have room
_VERDICT_STYLE: Final = {SAFE: "green", MEASURE: "yellow", FAILS: "bold red"}


def plan_table(results: Sequence[Result], *, width: int) -> Table:
    """The steps of the plan: quantity, value, unit, and the formula in words where the width has room for it."""
    table = _table("Quantity", "Value", "Unit", *(["Formula"] if width >= _WITH_FORMULA else []))
    values = [shown(r.value) for r in results]
    table.columns[1].justify = "right"
    table.columns[1].min_width = max(map(len, values))  # a narrow terminal wraps words, it never cuts a number
    table.columns[1].style = "bold"
    heads = {steps[0].name: title for title, steps in SECTIONS.items()}
    for result, value in zip(results, values, strict=True):
        spec = result.step.function
        if result.step.name in heads:
            table.add_section()
            table.add_row(Text(heads[result.step.name], "bold"))
        cells = (result.step.quantity, value, "" if spec.returns_text else spec.unit, spec.words)
        table.add_row(*cells[: len(table.columns)])
    return table


def headline(results: Sequence[Result], inputs: Mapping[str, float]) -> Text:
    """The answer in three lines: the fleet and its cost, the cost per token, whether the batch holds."""
    value = {r.step.name: r.value for r in results}
    text = Text()
    text.append(f"{shown(value['replicas'])} replicas, {shown(value['gpus'])} GPUs, ", "bold")
    text.append(f"{dollars(value['cost_per_hour'])} per hour\n", "bold")
    text.append(f"Per million output tokens: {dollars(value['usd_per_m_tokens'])}; ")
    text.append(f"per million tokens, prompt included: {dollars(value['usd_per_m_tokens_all'])}\n")
    text.append(f"Batch {shown(inputs['batch'])}: ").append(_residency(value, inputs["batch"])).append("; TPOT ")
    return text.append(_tpot(value, inputs["target_ms"]))


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
    table = _table("Argument", "Meaning", "Unit", "Must be", "Default", "Worked example")
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


def _residency(value: Mapping[str, float | str], batch: float) -> Text:
    """How the batch stands to the sequences whose KV cache fits."""
    pool, most = value["kv_pool_gb"], value["max_seqs"]
    if isinstance(pool, str):
        return Text(pool, "bold red")
    if isinstance(most, str):  # a sequence without tokens takes no room
        return Text(most)
    return Text(f"{number(most)} sequences fit") if batch <= most else Text(f"only {number(most)} fit", "bold red")


def _tpot(value: Mapping[str, float | str], target_ms: float) -> Text:
    """The range of the time per output token, and what it means for the target."""
    best, worst, verdict = value["tpot_best_ms"], value["tpot_worst_ms"], str(value["tpot_verdict"])
    if isinstance(best, str):
        return Text(best)
    text = Text(f"{shown(best)} to {shown(worst)} ms against {number(target_ms)} ms: ")
    return text.append(verdict, _VERDICT_STYLE[verdict])


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for header in headers:
        table.add_column(header, overflow="fold")
    return table
