"""The function reference, rendered from the registry as Markdown: for the README and for `capacity functions`.

`python -m capacity.reference README.md` puts it, and the plan's inputs, anew between a document's markers.

Three views of the same definitions: the functions by topic, the arguments (a name means the same everywhere, so each
stands here once), and how each function is calculated.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from . import (
    cost,
    decode,
    fleet,
    lookup,
    memory,
    meta,
    prefill,
    refined_memory,
    refined_step,
    refined_work,
    tpot,
    traffic,
)
from .arguments import REQUIRED, Argument
from .explain import number
from .plan import INPUTS
from .registry import FUNCTIONS, Function, literal

TOPICS: Final = {
    "Load": traffic,
    "Prefill": prefill,
    "Memory": memory,
    "Decode": decode,
    "Fleet": fleet,
    "Cost": cost,
    "TPOT": tpot,
    "Refined: work per token": refined_work,
    "Refined: memory": refined_memory,
    "Refined: decode step": refined_step,
    "Facts": lookup,
    "About the functions": meta,
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
        title: [spec for spec in FUNCTIONS.values() if spec.fn.__module__ == module.__name__]
        for title, module in TOPICS.items()
    }


def arguments() -> list[ArgumentRow]:
    """Every argument once. Where functions differ in the bound, the stricter ones are named beside theirs."""
    found: dict[str, dict[str, tuple[Argument, list[str]]]] = {}
    for specs in topics().values():
        for spec in specs:
            for name, argument in spec.args.items():
                found.setdefault(name, {}).setdefault(argument.bounds, (argument, []))[1].append(spec.name)
    return [_row(name, list(variants.values())) for name, variants in found.items()]


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


def _row(name: str, variants: list[tuple[Argument, list[str]]]) -> ArgumentRow:
    argument, _ = variants[0]
    bounds = [argument.bounds, *(f"in {', '.join(used_by)} {other.bounds}" for other, used_by in variants[1:])]
    return ArgumentRow(
        name=name,
        meaning=argument.meaning,
        unit=argument.unit,
        bounds="; ".join(bounds).replace("a number ", ""),
        default="" if argument.default is REQUIRED else literal(argument.default),
        example=argument.example if isinstance(argument.example, str) else number(argument.example),
    )


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
