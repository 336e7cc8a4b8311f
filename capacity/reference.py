"""The function reference, rendered from the registry as Markdown: for the README and for `capacity functions`.

`python -m capacity.reference README.md` puts it, and the plan's inputs, anew between a document's markers.

Three views of the same definitions: the functions by topic, the arguments (a name means the same everywhere, so each
stands here once), and how each function is calculated.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from .arguments import REQUIRED, Argument
from .explain import number
from .plan import INPUTS
from .registry import FUNCTIONS, Function, literal

# title -> the module whose functions stand below it
TOPICS: Final = {
    "Demand": "demand",
    "Load": "traffic",
    "Prefill": "prefill",
    "Memory": "memory",
    "Decode": "decode",
    "Fleet": "fleet",
    "Headroom": "headroom",
    "Queueing": "queueing",
    "Time to first token": "ttft",
    "Mix of classes": "mix",
    "Chunked prefill": "chunked",
    "Caching": "caching",
    "Cost": "cost",
    "TPOT": "tpot",
    "Sizing": "sizing",
    "Buy or run": "buying",
    "Budget": "budget",
    "Budget beyond GPUs": "budget_costs",
    "Chargeback": "chargeback",
    "Disaggregated": "disaggregated",
    "Calibration": "calibration",
    "Variance": "variances",
    "Refined: work per token": "refined_work",
    "Refined: communication": "refined_links",
    "Refined: memory": "refined_memory",
    "Refined: decode step": "refined_step",
    "Demand by month": "users",
    "Conversations": "conversation",
    "Hours of a week": "week",
    "Contracts": "commit",
    "Owned nodes": "own",
    "Owning or renting": "renting",
    "Facts": "lookup",
    "Error bands": "error_bands",
    "Published measurements": "published",
    "The plan in one cell": "one_cell",
    "Comparison": "compare",
    "About the functions": "meta",
}


class ArgumentRow(NamedTuple):
    """An argument as the reference shows it."""

    name: str
    meaning: str
    unit: str
    bounds: str
    default: str
    example: str


def topics() -> dict[str, list[Function]]:
    """The functions by topic, in the order in which the plan uses them."""
    return {
        title: [spec for spec in FUNCTIONS.values() if spec.fn.__module__ == f"{__package__}.{module}"]
        for title, module in TOPICS.items()
    }


def arguments() -> list[ArgumentRow]:
    """Every argument once. Functions that differ in a bound or in the default are named beside theirs."""
    found: dict[str, list[tuple[str, Argument]]] = {}
    for spec in (spec for specs in topics().values() for spec in specs):
        for name, argument in spec.args.items():
            found.setdefault(name, []).append((spec.name, argument))
    return [_row(name, uses) for name, uses in found.items()]


def example(spec: Function) -> str:
    """What the function answers when it is called without arguments: the worked example's figure."""
    result = spec.public()
    return result if isinstance(result, str) else number(result)


def markdown() -> str:
    """The whole reference."""
    return "\n".join(_sections())


def inputs() -> str:
    """The plan's inputs, as `capacity plan --set` takes them."""
    head = ("Input", "Meaning", "Unit", "Must be", "Default")
    rows = (
        (f"`{name}`", a.meaning, a.unit, a.bounds.replace("a number ", ""), literal(a.example))
        for name, a in INPUTS.items()
    )
    return "\n".join(_table(head, rows))


BLOCKS: Final[Mapping[str, Callable[[], str]]] = {"inputs": inputs, "functions": markdown}


def begin(block: str) -> str:
    """The marker before a generated block of a document."""
    return f"<!-- {block}: begin (written by `python -m capacity.reference README.md`) -->"


def end(block: str) -> str:
    """The marker after it."""
    return f"<!-- {block}: end -->"


def in_document(text: str) -> str:
    """A document with each block that it has markers for put between them.

    >>> print(in_document(begin("functions") + " old " + end("functions")).splitlines()[2])
    | Function | Answers | Unit | Worked example |
    """
    for block, write in BLOCKS.items():
        before, marker, rest = text.partition(begin(block))
        _, closing, after = rest.partition(end(block))
        if closing:
            text = f"{before}{marker}\n\n{write()}\n\n{closing}{after}"
    return text


def _row(name: str, uses: list[tuple[str, Argument]]) -> ArgumentRow:
    _, argument = uses[0]
    return ArgumentRow(
        name=name,
        meaning=argument.meaning,
        unit=argument.unit,
        bounds=_variants([(function, a.bounds) for function, a in uses]).replace("a number ", ""),
        default=_variants([(function, _default(a)) for function, a in uses]),
        example=argument.example if isinstance(argument.example, str) else number(argument.example),
    )


def _default(argument: Argument) -> str:
    return "" if argument.default is REQUIRED else literal(argument.default)


def _variants(uses: list[tuple[str, str]]) -> str:
    """What the first function has, and each other text with the functions that have it."""
    found: dict[str, list[str]] = {}
    for function, text in uses:
        found.setdefault(text, []).append(function)
    first, *others = found.items()
    return "; ".join([*filter(None, first[:1]), *(f"in {', '.join(names)} {text}" for text, names in others)])


def _sections() -> Iterator[str]:
    yield from _table(("Function", "Answers", "Unit", "Worked example"), _function_rows())
    yield ""
    yield from _table(
        ("Argument", "Meaning", "Unit", "Must be", "Default", "Worked example"),
        ((f"`{r.name}`", *r[1:]) for r in arguments()),
    )
    yield "\n<details><summary>How each is calculated: in words, in cell arithmetic, source</summary>\n"
    for spec in (s for specs in topics().values() for s in specs if s.native):
        yield f"- `{spec.name}` = {spec.words}  "
        yield f"  `={spec.native_formula({n: n for n in spec.args})}`  "
        yield f"  {spec.source}"
    yield "\n</details>"


def _function_rows() -> Iterator[tuple[str, ...]]:
    for title, specs in topics().items():
        yield (f"**{title}**", "", "", "")
        for spec in specs:
            yield (f"`{spec.signature}`", spec.doc.removesuffix("."), spec.unit, example(spec))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        document = Path(name)
        document.write_text(in_document(document.read_text("utf-8")), "utf-8")
