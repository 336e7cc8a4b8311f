"""One family of errors. Each message is one sentence, and each error knows the value that a cell shows for it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, Final

_LONGEST_NAME: Final = 100  # of what may be a slip of the pen for a known name


class CapacityError(ValueError):
    """Root of the family; `code` is the error value of a cell."""

    code: ClassVar[str] = "#VALUE!"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its sentence and its details, so that it comes back whole from another process."""
        return _restored, (type(self), str(self), vars(self))


class InputError(CapacityError):
    """An argument outside its bounds (#NUM!): says which argument, the rule and the value.

    >>> print(InputError("mfu", 50, "must be > 0 and <= 1"))
    mfu must be > 0 and <= 1: 50
    """

    code = "#NUM!"

    def __init__(self, argument: str, value: Any, rule: str, hint: str = "") -> None:
        self.argument, self.value, self.rule, self.hint = argument, value, rule, hint
        tail = f"; {hint}" if hint else ""
        super().__init__(f"{argument} {rule}: {show(value)}{tail}")


class InputTypeError(InputError):
    """An argument of the wrong type or a missing one (#VALUE!)."""

    code = "#VALUE!"


_ABSENT = object()


class ConfigError(InputTypeError):
    """A field of a config.json that is missing, of the wrong type, or of a kind that is not known (#VALUE!).

    >>> print(ConfigError("text_config.num_hidden_layers", "must be a whole number", "61"))
    text_config.num_hidden_layers must be a whole number: '61'
    """

    def __init__(self, field: str, rule: str, value: Any = _ABSENT) -> None:
        self.argument, self.value, self.rule, self.hint = field, None if value is _ABSENT else value, rule, ""
        tail = "" if value is _ABSENT else f": {show(value)}"
        CapacityError.__init__(self, f"{field} {rule}{tail}")


class CallError(CapacityError):
    """A call whose arguments do not fit the function's signature (#VALUE!)."""


class UnknownName(CapacityError):
    """A function, input, model, GPU or field that is not in its closed list (#N/A); says what comes nearest.

    >>> print(UnknownName("input", "mfo", ["mfu", "mbu"]))
    no input is called 'mfo'; did you mean 'mfu'?
    """

    code = "#N/A"

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(kind, name)
        self.kind, self.name, self.known = kind, name, tuple(known)

    @property
    def near(self) -> str:
        """The known name that comes nearest; "" when none comes near."""
        return _nearest(self.name, self.known)

    def __str__(self) -> str:
        """The sentence: made when it is read, for a cell shows the code only, and the search takes its time."""
        hint = f"did you mean {self.near!r}?" if self.near else f"the {self.kind}s are {', '.join(self.known)}"
        return f"no {self.kind} is called {show(self.name)}; {hint}"


class NotKnown(CapacityError):
    """A fact that the catalogue has no figure for (#N/A).

    >>> print(NotKnown("fp4_tflops", "A10G"))
    fp4_tflops of A10G is not known
    """

    code = "#N/A"

    def __init__(self, fact: str, name: str) -> None:
        self.fact, self.name = fact, name
        super().__init__(f"{fact} of {name} is not known")


class Infeasible(CapacityError):
    """Arguments that are each in bounds, but together have no answer (#NUM!)."""

    code = "#NUM!"


@lru_cache(1024)
def _nearest(name: str, known: tuple[str, ...]) -> str:
    import difflib  # slow to import, and only needed here

    if len(name) > _LONGEST_NAME:
        return ""
    return next(iter(difflib.get_close_matches(name, known, 1)), "")


def _restored(family: type[CapacityError], sentence: str, details: dict[str, Any]) -> CapacityError:
    error = family.__new__(family, sentence)
    vars(error).update(details)
    return error


def show(value: Any) -> str:
    """A value as a sentence shows it: 65.0 as 65, text in quotes, long text cut."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
