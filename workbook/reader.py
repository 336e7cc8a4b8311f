"""The inputs of an edited workbook: from Inputs and Facts, by the names in the column Argument.

Where a row stands does not matter, so that workbooks of an older or a later layout read as well. The facts are taken as
the cells show them, typed over or not.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, BeforeValidator, ValidationError, ValidationInfo, create_model

from capacity.arguments import REQUIRED, Number
from capacity.call import ExcelError
from capacity.errors import CallError, CapacityError, InputTypeError
from capacity.plan import INPUTS
from capacity.refined import REFINED_INPUTS, SWITCHES, refined_plan
from capacity.request import Choice, Given
from capacity.schema import as_pydantic, sentence

from .cells import Cell, Place, Sheet, Value, sheets

_SHEETS: Final = {"Inputs": INPUTS, "Facts": REFINED_INPUTS}
_ARGUMENT: Final = "Argument"
_VALUE: Final = "Value"
_NUMBERS: Final = INPUTS | REFINED_INPUTS
_WORDS: Final = {"chain": ("Seed", "Refined"), **dict.fromkeys(SWITCHES, ("on", "off"))}
_CHOICE: Final = ("model", "gpu", "quantization", "kv_type")
_BAD: Final = "facts_bad"  # what the workbook itself counts: above 0, its results are #N/A
_NAMES: Final = {*_NUMBERS, *_WORDS, *_CHOICE, _BAD}


class _Found(NamedTuple):
    """A cell by its argument: where it stands, and what it holds."""

    where: str
    cell: Cell


def read(path: str | Path) -> Given:
    """What a workbook plans: inputs of both chains, refinements in force, names of model, GPU and types.

    Arguments:
        path: an .xlsx file, or the .xlsm of `capacity build --host desktop`, edited or not
    Raises CallError, with one sentence: for a file that is no such workbook or not safe to read, and for the first cell
    that is missing, blank, an error, of the wrong type or out of bounds; Infeasible for facts that are at odds.
    """
    path = Path(path)
    found = _by_argument(path, sheets(path, _SHEETS))
    notes = tuple(_left_out(path, found))
    cells = {name: x.cell for name, x in found.items()}
    try:
        model = _Planned.model_validate(cells, context={name: x.where for name, x in found.items()})
    except ValidationError as error:
        raise CallError(sentence(error)) from None
    values: dict[str, Any] = dict(model)
    inputs = {name: values[name] for name in _NUMBERS}
    switches = {name: True for name in SWITCHES if values["chain"] == "Refined" and values[name] == "on"}
    refined_plan(inputs, switches)  # as in the workbook, facts must go together whichever chain is asked for
    return Given(inputs, switches, Choice(*(_text(cells.get(name)) for name in _CHOICE)), notes)


def _by_argument(path: Path, read: Mapping[str, Sheet]) -> dict[str, _Found]:
    """Argument -> its cell; an argument that two rows have is ambiguous."""
    found: dict[str, _Found] = {}
    for title, cells in read.items():
        for name, place in _rows(cells):
            where = f"{title}!{place.column}{place.row}"
            if name in found:
                raise CallError(f"{path}: {where} and {found[name].where} are both {name}: only one row may be")
            found[name] = _Found(f"{where} ({name})", cells.get(place, Cell(None)))
    if not found:
        raise CallError(f"{path} is no planning workbook: no sheet Inputs with the columns {_ARGUMENT} and {_VALUE}")
    return found


def _rows(cells: Sheet) -> Iterator[tuple[str, Place]]:
    """Each argument below the header, and the place of its value."""
    columns: dict[int, dict[Value, str]] = {}
    for place, cell in cells.items():
        if cell.value in (_ARGUMENT, _VALUE):
            columns.setdefault(place.row, {})[cell.value] = place.column
    header = min((row for row, heads in columns.items() if len(heads) == 2), default=None)
    if header is None:
        return
    for place, cell in cells.items():
        if place.column == columns[header][_ARGUMENT] and place.row > header and cell.value in _NAMES:
            yield str(cell.value), Place(columns[header][_VALUE], place.row)


def _left_out(path: Path, found: Collection[str]) -> Iterator[str]:
    """An older workbook may lack an input: what the functions leave out as well takes their default."""
    for title, arguments in _SHEETS.items():
        for name, argument in arguments.items():
            if name not in found:
                if argument.default is REQUIRED:
                    raise CallError(f"{path}: {title} has no row with {name} in the column {_ARGUMENT}: add one")
                yield f"{title} has no row for {name}: {argument.default:g} counts"


def _text(cell: Cell | None) -> str | None:
    return cell.value if cell and isinstance(cell.value, str) else None


def _where(info: ValidationInfo) -> str:
    """Sheet and address of the cell that is validated, as a sentence names it."""
    places: dict[str | None, str] = info.context or {}
    return places[info.field_name]


def _number(argument: Number, cell: Cell, info: ValidationInfo) -> float:
    """The registry's check of a cell; a text is no number here, whatever it looks like."""
    where = _where(info)
    try:
        return float(argument.check(where, _held(where, cell)))
    except CapacityError as error:
        raise as_pydantic(error) from None


def _word(words: Collection[str], cell: Cell, info: ValidationInfo) -> str:
    """One of a list, in any case of letters, as cells compare."""
    where = _where(info)
    try:
        held = _held(where, cell)
        known = {word.casefold(): word for word in words}
        if not isinstance(held, str) or held.casefold() not in known:
            raise InputTypeError(where, held, f"must be {' or '.join(words)}")
    except CapacityError as error:
        raise as_pydantic(error) from None
    return known[held.casefold()]


def _held(where: str, cell: Cell) -> Value:
    """What a cell holds, unless that is nothing or an error."""
    if isinstance(cell.value, ExcelError):
        raise CallError(f"{where} must not be an error: {cell.value}")
    if cell.value is None and cell.formula:
        raise CallError(f"{where} is a formula without a result: open the workbook in a spreadsheet and save it")
    if cell.value is None:
        raise CallError(f"{where} must not be blank")
    return cell.value


def _field(check: Any, default: Any = ...) -> Any:
    return (Annotated[Any, BeforeValidator(check)], default)


def _count(cell: Cell, info: ValidationInfo) -> Cell:
    """The workbook's own verdict, which knows rules of its own; without a result there is none."""
    if isinstance(cell.value, float) and cell.value > 0:
        where = _where(info)
        raise as_pydantic(CallError(f"{where} counts {cell.value:g} at fault: the columns Check say which"))
    return cell


_Planned: Any = create_model(
    "_Planned",
    __base__=BaseModel,
    **{
        name: _field(partial(_number, argument), argument.default if argument.default is not REQUIRED else ...)
        for name, argument in _NUMBERS.items()
    },
    **{
        name: _field(partial(_word, words), words[-1] if name in SWITCHES else words[0])
        for name, words in _WORDS.items()
    },
    **{_BAD: _field(_count, None)},
)
