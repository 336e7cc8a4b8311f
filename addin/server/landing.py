"""The landing page: one static file with every function, generated from the registry, and the way to the workbook."""

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from string import Template

import capacity
from capacity import reference
from capacity.arguments import REQUIRED, Argument
from capacity.explain import number
from capacity.registry import Function, literal
from capacity.spelling import HOSTS


def page(workbook: str) -> str:
    """The page; workbook is the file's name in the same folder."""
    text = files(__package__).joinpath("files", "index.html").read_text("utf-8")
    return Template(text).substitute(
        version=capacity.__version__,
        count=len(capacity.FUNCTIONS),
        workbook=escape(workbook),
        functions="\n".join(_topics()),
        licenses="\n".join(_row("td", h.title, h.runs_on, h.license) for h in HOSTS.values()),
    )


def _topics() -> Iterator[str]:
    for title, functions in reference.topics().items():
        yield f"<section>\n<h2>{escape(title)}</h2>"
        yield from map(_function, functions)
        yield "</section>"


def _function(spec: Function) -> str:
    """One function: signature, what it answers, its arguments, and a formula to paste with what it gives."""
    rows = [_row("td", *_cells(name, argument)) for name, argument in spec.args.items()]
    if spec.vararg:
        rows.append(_row("td", f"{spec.vararg}...", spec.help(spec.vararg), "", "", "", ""))
    head = _row("th", "Argument", "Meaning", "Unit", "Must be", "Default", "Worked example")
    unit = "" if spec.may_be_text else f" {escape(spec.unit)}"
    example = f"<code>={escape(spec.formula())}</code> gives <b>{escape(reference.example(spec))}</b>{unit}"
    return "\n".join(
        (
            f'<article id="{spec.name}">',
            f"<h3><code>{escape(spec.signature)}</code></h3>",
            f"<p>{escape(spec.doc)}</p>",
            f'<p class="example">{example}</p>',
            f"<details><summary>Arguments</summary><table><thead>{head}</thead><tbody>",
            *rows,
            "</tbody></table></details>",
            "</article>",
        )
    )


def _cells(name: str, argument: Argument) -> tuple[str, ...]:
    default = "" if argument.default is REQUIRED else literal(argument.default)
    example = argument.example if isinstance(argument.example, str) else number(argument.example)
    return name, argument.meaning, argument.unit, argument.bounds.replace("a number ", ""), default, example


def _row(tag: str, *cells: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
