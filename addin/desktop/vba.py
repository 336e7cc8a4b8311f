"""The macros: a function for each of the registry, its texts for the function wizard, and the code around them.

What is the same whatever the registry holds stands beside this file, as VBA: the bridge to Python, and what happens
when the workbook opens.
"""

import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from capacity import FUNCTIONS
from capacity.registry import Function

CATEGORY: Final = "LLM capacity"
FUNCTION_MODULE: Final = "LlmCapacityFunctions"
WIZARD_MODULE: Final = "LlmCapacityWizard"
BRIDGE_MODULE: Final = "LlmCapacityBridge"
WIZARD_LIMIT: Final = 255  # characters of a text in the function wizard

_HERE: Final = Path(__file__).parent
_NEXT_LINE: Final = " _\n        "
_LINE: Final = 108  # characters, so that indented it stays within 120


def modules() -> dict[str, str]:
    """Name and text of each standard module of ours."""
    return {
        FUNCTION_MODULE: _function_module(FUNCTIONS.values()),
        WIZARD_MODULE: _wizard_module(FUNCTIONS.values()),
        BRIDGE_MODULE: (_HERE / f"{BRIDGE_MODULE}.bas").read_text("utf-8"),
    }


def workbook_code() -> str:
    """The code of ThisWorkbook."""
    return (_HERE / "ThisWorkbook.cls").read_text("utf-8")


def _function_module(functions: Iterable[Function]) -> str:
    head = (
        f'Attribute VB_Name = "{FUNCTION_MODULE}"\n'
        "Option Explicit\n"
        "' The functions of llm-capacity for cells, generated from its registry: each hands its arguments to Python.\n"
    )
    return head + "".join(f"\n{_vararg_wrapper(f) if f.vararg else _wrapper(f)}" for f in functions)


def _wrapper(function: Function) -> str:
    """Every argument may be left out: Python knows the defaults, and answers #VALUE! where there is none."""
    optional = ", ".join(f"Optional {name}" for name in function.args)
    head = _statement(f"Public Function {function.name}({optional})")
    call = _statement(f'{function.name} = CallPython("{function.name}", Array({", ".join(function.args)}))')
    return f"{head}\n    {call}\nEnd Function\n"


def _vararg_wrapper(function: Function) -> str:
    """VBA allows no optional argument before further ones, and passes these on only one by one."""
    plain, more = list(function.args), function.vararg
    return (
        f"Public Function {function.name}({', '.join(plain)}, ParamArray {more}())\n"
        "    Dim arguments() As Variant, i As Long\n"
        f"    arguments = Array({', '.join(plain)})\n"
        f"    ReDim Preserve arguments(0 To UBound({more}) + {len(plain)})\n"
        f"    For i = 0 To UBound({more})\n"
        f"        If IsObject({more}(i)) Then arguments(i + {len(plain)}) = {more}(i).Value "
        f"Else arguments(i + {len(plain)}) = {more}(i)\n"
        "    Next i\n"
        f'    {function.name} = CallPython("{function.name}", arguments)\n'
        "End Function\n"
    )


def _wizard_module(functions: Iterable[Function]) -> str:
    """A procedure for each function: VBA limits the size of one."""
    known = list(functions)
    head = (
        f'Attribute VB_Name = "{WIZARD_MODULE}"\n'
        "Option Explicit\n"
        "Option Private Module\n"
        "' What Excel's function wizard says of the functions, generated from the registry of llm-capacity.\n\n"
        "Public Sub DescribeFunctions()\n"
        "    On Error Resume Next    ' texts only: whatever Excel has against one, the workbook opens\n"
    )
    calls = "".join(f"    Describe_{f.name}\n" for f in known)
    return head + calls + "End Sub\n" + "".join(f"\n{_description(f)}" for f in known)


def _description(function: Function) -> str:
    names = [*function.args, *([function.vararg] if function.vararg else [])]
    helps = f",{_NEXT_LINE}".join(_text(function.help(name)) for name in names)
    return (
        f"Private Sub Describe_{function.name}()\n"
        f'    Application.MacroOptions Macro:="{function.name}", Category:="{CATEGORY}",{_NEXT_LINE}'
        f"Description:={_text(f'{function.doc} [{function.unit}]')},{_NEXT_LINE}"
        f"ArgumentDescriptions:=Array({_NEXT_LINE}{helps})\n"
        "End Sub\n"
    )


def _text(text: str) -> str:
    """A literal of VBA, as long as the wizard takes it."""
    shown = text if len(text) <= WIZARD_LIMIT else f"{text[: WIZARD_LIMIT - 3]}..."
    return '"' + shown.replace('"', '""') + '"'


def _statement(text: str) -> str:
    """A statement on as many lines as it needs."""
    together = text.replace("Optional ", "Optional\xa0").replace(" = ", "\xa0=\xa0")  # not torn apart
    return _NEXT_LINE.join(textwrap.wrap(together, _LINE)).replace("\xa0", " ")
