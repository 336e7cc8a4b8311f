"""The landing page: one static file with every function, generated from the registry, and the way to the workbook."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Final

import capacity
from capacity import reference
from capacity.arguments import REQUIRED, Argument
from capacity.explain import number
from capacity.registry import Function, literal
from capacity.spelling import HOSTS

_ARGUMENT: Final = ("Argument", "Meaning", "Unit", "Must be", "Default", "Worked example")
_HOST: Final = ("Host", "Runs on", "License")


def page(workbook: str) -> str:
    """The page; workbook is the file's name in the same folder."""
    text = files(__package__).joinpath("files", "index.html").read_text("utf-8")
    return Template(text).substitute(
        version=capacity.__version__,
        count=len(capacity.FUNCTIONS),
        workbook=escape(workbook),
        functions="\n".join(_topics()),
        licenses=_table(_HOST, [(h.title, h.runs_on, h.license) for name, h in HOSTS.items() if name != "server"]),
    )


def _topics() -> Iterator[str]:
    for title, functions in reference.topics().items():
        yield f"<section>\n<h2>{escape(title)}</h2>"
        yield from map(_function, functions)
        yield "</section>"


def _function(spec: Function) -> str:
    """One function: signature, what it answers, its arguments, and a formula to paste with what it gives."""
    rows = [_cells(name, argument) for name, argument in spec.args.items()]
    if spec.vararg:
        rows.append((f"{spec.vararg}...", spec.help(spec.vararg), "", "", "", ""))
    unit = "" if spec.may_be_text else f" {escape(spec.unit)}"
    example = f"<code>={escape(spec.formula())}</code> gives <b>{escape(reference.example(spec))}</b>{unit}"
    return "\n".join(
        (
            f'<article id="{spec.name}">',
            f"<h3><code>{escape(spec.signature)}</code></h3>",
            f"<p>{escape(spec.doc)}</p>",
            f'<p class="example">{example}</p>',
            f"<details><summary>Arguments</summary>{_table(_ARGUMENT, rows)}</details>",
            "</article>",
        )
    )


def _cells(name: str, argument: Argument) -> tuple[str, ...]:
    default = "" if argument.default is REQUIRED else literal(argument.default)
    example = argument.example if isinstance(argument.example, str) else number(argument.example)
    return name, argument.meaning, argument.unit, argument.bounds.replace("a number ", ""), default, example


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; each cell knows its column's name, which a narrow screen shows beside it."""
    lines = ["<table><thead><tr>", *(f"<th>{escape(name)}</th>" for name in head), "</tr></thead><tbody>"]
    for row in rows:
        cells = (f'<td data-label="{escape(name)}">{escape(cell)}</td>' for name, cell in zip(head, row, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</tbody></table>"])
