"""The registry: `@function` turns one plain Python function into the definition that every rendering reads.

The Python API, the Excel functions of each host, the audit rows and their cell-arithmetic twins, the reference and
the tests all come from FUNCTIONS. Adding a function means writing one decorated Python function.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, get_type_hints

from .arguments import OMITTED, REQUIRED, Argument, Ignored, Number, Text
from .errors import CallError, Infeasible, UnknownName
from .numeric import is_array, misfit
from .units import UNITS

FUNCTIONS: dict[str, "Function"] = {}

# what docstrings say of arguments, result and errors: of functions that calculate, and of those that look up
_ARRAYS: Final = (
    "each a number, a NumPy array or a pandas Series; arrays broadcast",
    ", of the arguments' shape",
    "InputError out of bounds, InputTypeError for another type, Infeasible without an answer",
)
_SINGLE: Final = (
    "one value each",
    "",
    "InputError out of bounds or for another type, UnknownName for a name that does not exist",
)


class Function:
    """A function and everything that is known about it."""

    def __init__(
        self,
        fn: Callable[..., Any],
        label: str,
        *,
        returns: str,
        words: str,
        native: str,
        derivation: str | Callable[..., str],
        source: str,
        unrounded: Callable[..., Any] | None,
        name: str,
        spills: bool,
    ) -> None:
        if returns not in UNITS:
            raise ValueError(f"unknown unit {returns!r}: add it to capacity/units.py")
        self.fn, self.label, self.unit, self.words = fn, label, returns, words
        self.native, self.derivation, self.source, self.unrounded = native, derivation, source, unrounded
        self.python_name = fn.__name__
        self.name = name or fn.__name__.upper()
        self.spills = spills
        self.doc = (inspect.getdoc(fn) or label).partition("\n\n")[0].replace("\n", " ")
        hints = get_type_hints(fn, include_extras=True)
        self.args: dict[str, Argument] = {}
        self.vararg = ""  # name of a trailing *argument, "" without one
        for p in inspect.signature(fn).parameters.values():
            if p.kind is p.VAR_POSITIONAL:
                self.vararg = p.name
            else:
                found = [m for m in hints[p.name].__metadata__ if isinstance(m, Number | Text | Ignored)]
                self.args[p.name] = found[0]
        self._order = tuple(self.args.items())
        self._examples: tuple[Any, ...] | None = None
        self.public: Callable[..., Any] = fn  # what `capacity.<python_name>` is

    @property
    def examples(self) -> tuple[Any, ...]:
        """The worked example's arguments, computed once."""
        if self._examples is None:
            self._examples = tuple(a.example for a in self.args.values())
        return self._examples

    @property
    def returns_text(self) -> bool:
        """True when the result is a text, not a number."""
        return self.unit == "text"

    @property
    def may_be_text(self) -> bool:
        """True when the result is a text, or may be one."""
        return self.unit in ("text", "number or text")

    @property
    def comes_alone(self) -> bool:
        """True when a host must take the result by itself, as a text or number, and never as rows."""
        return self.may_be_text and not self.spills

    @property
    def signature(self) -> str:
        """REPLICAS(busy_replicas, [utilization], [spares])"""
        shown = [n if a.default is REQUIRED else f"[{n}]" for n, a in self.args.items()]
        return f"{self.name}({', '.join(shown + ([self.vararg + '...'] if self.vararg else []))})"

    @property
    def reference(self) -> str:
        """The part of the docstring that the definition itself knows."""
        taken, returned, errors = _ARRAYS if self.native else _SINGLE
        lines = [f"Arguments ({taken}):"]
        lines += [f"    {name}: {self.help(name)}" for name in self.args]
        lines.append(f"Returns: {self.label} [{self.unit}]{returned}.")
        return "\n".join([*lines, f"Errors: {errors}.", f"Source: {self.source}"])

    def help(self, name: str) -> str:
        """One line about an argument, as a function wizard shows it."""
        a = self.args.get(name)
        if a is None:
            return "further arguments, as that function takes them"
        unit = f" [{a.unit}]" if isinstance(a, Number) else ""
        default = "" if a.default is REQUIRED else f", default {literal(a.default)}"
        return f"{a.meaning}{unit}, {a.bounds}{default}"

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        """Values in order: the worked example when there is no argument at all, else defaults fill what is left out."""
        if not args and not kwargs:
            return self.examples
        rest = self._order[len(args) :]
        if len(args) > len(self._order) and not self.vararg:
            raise CallError(f"{self.name} takes at most {len(self._order)} arguments: {len(args)} were given")
        given = dict(kwargs) if kwargs else {}
        values = (*args, *(given.pop(name, a.default) for name, a in rest)) if rest else tuple(args)
        if given:
            raise CallError(f"{self.name} has no argument {', '.join(given)} beyond those given: {self.signature}")
        return values

    def check(self, values: Sequence[Any]) -> list[Any]:
        """The values as floats and texts within their bounds, defaults for omitted ones, or an InputError."""
        order = self._order
        checked = [a.check(name, a.default if v is OMITTED else v) for (name, a), v in zip(order, values, strict=False)]
        return checked if len(values) == len(order) else checked + list(values[len(order) :])

    def compute(self, values: Sequence[Any]) -> Any:
        """The result for checked values: finite, or an Infeasible."""
        try:
            result = self.fn(*values)
        except (ZeroDivisionError, OverflowError):
            result = math.nan
        if type(result) is float:
            if not math.isfinite(result):
                raise Infeasible(f"{self.name} has no finite result for these arguments")
        elif not self.may_be_text:
            _refuse_non_finite(self.name, result)
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for Python values: scalars, NumPy arrays and pandas Series alike."""
        values = self.check(self.bind(args, kwargs))
        for v in values:
            if type(v) is not float and is_array(v):
                return self._compute_arrays(values)
        return self.compute(values)

    def _compute_arrays(self, values: Sequence[Any]) -> Any:
        """The result for arrays that go together."""
        import numpy as np

        if fault := misfit([v for v in values if is_array(v)]):
            raise CallError(f"{self.name} takes {fault}")
        with np.errstate(all="ignore"):
            return self.compute(values)

    def formula(self, refs: Mapping[str, str] | None = None) -> str:
        """The call as a cell shows it, without '='; refs maps arguments to cells or literals, omitted ones go."""
        shown = [literal(x) for x in self.examples] if refs is None else [refs.get(n, "") for n in self.args]
        while shown and not shown[-1]:
            shown.pop()
        return f"{self.name}({','.join(shown)})"

    def native_formula(self, refs: Mapping[str, str]) -> str:
        """The same quantity in plain cell arithmetic, without '='."""
        defaults = {n: literal(a.default) for n, a in self.args.items() if a.default is not REQUIRED}
        return self.native.format(**{n: atom(r) for n, r in {**defaults, **refs}.items()})


def function(
    label: str,
    *,
    returns: str,
    words: str,
    native: str,
    derivation: str | Callable[..., str],
    source: str,
    unrounded: Callable[..., Any] | None = None,
    name: str = "",
    spills: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a plain function under its own name in upper case.

    label       the quantity, as an audit row names it
    returns     unit of the result (capacity/units.py)
    words       the formula in words
    native      the same in cell arithmetic, {argument} for each cell: an independent derivation, written by hand
    derivation  one sentence with the numbers, or a function of the values that picks it:
                {argument}, {result}, {unrounded}; a part in [brackets] is shown only
                when an argument in it differs from its default
    source      where the formula and the worked figure come from
    unrounded   for rounded results: the quantity before rounding
    name        in spreadsheets, where the upper-case one will not do
    spills      True when one call may answer with rows

    The docstring of the registered function gets its arguments, units, bounds, errors and source appended.
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        spec = Function(
            fn,
            label,
            returns=returns,
            words=words,
            native=native,
            derivation=derivation,
            source=source,
            unrounded=unrounded,
            name=name,
            spills=spills,
        )
        if spec.name in FUNCTIONS:
            raise ValueError(f"{spec.name} is already registered")
        FUNCTIONS[spec.name] = spec

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            return spec(*args, **kwargs)

        call.__doc__ = f"{inspect.getdoc(fn)}\n\n{spec.reference}"
        call.__signature__ = _plain_signature(fn)  # type: ignore[attr-defined]  # functions accept any attribute
        spec.public = call
        return call

    return register


def _plain_signature(fn: Callable[..., Any]) -> inspect.Signature:
    """The signature with plain types: what `help` shows."""
    hints = get_type_hints(fn)
    shown = inspect.signature(fn)
    plain = [p.replace(annotation=hints[p.name]) for p in shown.parameters.values()]
    return shown.replace(parameters=plain, return_annotation=hints["return"])


def find(name: str) -> Function:
    """The function of that Excel or Python name, in any case.

    >>> find("prefill_us").unit
    'us/token'
    """
    key = name.strip().upper()
    if key not in FUNCTIONS:
        raise UnknownName("function", key, FUNCTIONS)
    return FUNCTIONS[key]


def spec_of(fn: Callable[..., Any]) -> Function:
    """The definition behind a public Python function."""
    return find(fn.__name__)


_ATOM = re.compile(r"""(?:'[^']+'!|\w+!)?\$?[A-Za-z_]+\$?\w*|[\d.]+(?:[Ee][+-]?\d+)?|"[^"]*\"""")


def atom(ref: str) -> str:
    """A cell, name or literal as it is; anything else in parentheses."""
    return ref if _ATOM.fullmatch(ref) else f"({ref})"


def literal(x: Any) -> str:
    """A value as an en-US formula spells it.

    >>> print(literal(2.0), literal(70.553706496), literal("H200 SXM"))
    2 70.553706496 "H200 SXM"
    """
    if isinstance(x, str):
        return '"' + x.replace('"', '""') + '"'
    return str(int(x)) if float(x).is_integer() and abs(x) < 1e15 else repr(float(x)).upper()


def _refuse_non_finite(name: str, result: Any) -> None:
    import numpy as np

    bad = np.argwhere(~np.isfinite(np.asarray(result)))
    if len(bad):
        raise Infeasible(f"{name} has no finite result at [{', '.join(map(str, bad[0].tolist()))}] of these arrays")
