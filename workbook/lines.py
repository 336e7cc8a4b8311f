"""Inputs and steps of a sheet of its own, one below the other: label, value, unit; both engines beside the print."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

from openpyxl.cell import Cell
from openpyxl.styles import Alignment, Border
from openpyxl.utils import column_index_from_string, get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from capacity.arguments import Number
from capacity.plan import Step

from .chain import ADDIN, NATIVE, guarded
from .frame import Column, header, put, put_text
from .input_rows import bounds, passes, plain
from .plan_table import elsewhere
from .style import color_checks, gray_when
from .sums import Sum, unit_of

VALUE: Final = "C"
UNIT: Final = "D"
WORDS: Final = "E"


class Lines:
    """The inputs first, then the steps: a step takes inputs, earlier steps, and rows of the sheet Refined."""

    def __init__(
        self,
        inputs: Mapping[str, Number],
        steps: Sequence[Step | Sum],
        rows: tuple[int, int],
        columns: Mapping[str, str],
        rules: Mapping[str, str] | None = None,
        taken: Mapping[str, str] | None = None,
        bad: str = "facts_bad",
        follows: Mapping[str, str] | None = None,
        given: Mapping[tuple[str, str], str] | None = None,
        stop: str = "",
        fleet: str = "",
        free: Collection[str] = (),
    ) -> None:
        """rows: of the first input and of the first step; columns: of "check", "agree" and each engine.

        rules: what an input must fulfil beside its bounds, with {name} for each input. taken: what stands elsewhere on
        the sheet, for both engines. bad: how many inputs elsewhere are out of bounds.
        follows: input -> the cell whose value it has until it is typed over. given: name and engine -> a cell of the
        sheet that this engine has. stop: the cell that counts what leaves the steps without a result, if that is more
        than bad inputs. fleet: what counts that there is no fleet, where the steps follow from one: that cell then
        stands beside the count of bad inputs. free: steps that have a result all the same.
        """
        self._stop, self._fleet, self._free = stop, fleet, frozenset(free)
        self.inputs, self.steps, self.columns = dict(inputs), tuple(steps), dict(columns)
        self.given = given or {}
        self.rules, self.taken, self._bad, self.follows = rules or {}, taken or {}, bad, follows or {}
        self.rows = {name: rows[0] + i for i, name in enumerate(inputs)}
        self.rows |= {step.name: rows[1] + i for i, step in enumerate(steps)}
        self.last_input, self.last = rows[0] + len(inputs) - 1, rows[1] + len(steps) - 1
        self._first, self._first_step = rows

    def at(self, name: str, column: str = VALUE) -> str:
        """Absolute address on the sheet itself."""
        return f"${column}${self.rows[name]}"

    def by_engine(self) -> dict[tuple[str, str], str]:
        """(input or step, engine) -> where the engine has it: for a table on the same sheet."""
        return {
            (name, engine): self.at(name, VALUE if name in self.inputs else self.columns[engine])
            for name in self.rows
            for engine in (ADDIN, NATIVE)
        }

    def bad(self) -> str:
        """The cell that counts inputs out of bounds, with those of Inputs and Facts."""
        return f"${self.columns['agree']}${self.last_input}" if self.inputs else self._bad

    def stop(self) -> str:
        """The cell that counts what leaves the steps without a result."""
        if self._fleet:
            return f"${self.columns[ADDIN]}${self.last_input}"
        return self._stop or self.bad()

    def addin_cells(self) -> list[str]:
        """The cells that hold calls of the add-in's functions."""
        return [f"{self.columns[ADDIN]}{self.rows[step.name]}" for step in self.steps]

    def head(self, ws: Worksheet, row: int, working: str, *texts: str) -> None:
        """A header row for the inputs or the steps: four texts, the last of which runs up to the checks."""
        columns = self.columns
        names = dict(zip(("B", VALUE, UNIT, WORDS), texts, strict=True)) | {columns["check"]: "Check"}
        names |= {columns["agree"]: working, columns[ADDIN]: "Add-in", columns[NATIVE]: "Native"}
        width = max(map(column_index_from_string, columns.values()))
        header(
            ws,
            row,
            (Column("#", 5, "center"), *(Column(names.get(get_column_letter(i), ""), 0) for i in range(2, width + 1))),
        )
        ws[f"{VALUE}{row}"].alignment = Alignment(horizontal="right", vertical="center")

    def write(self, ws: Worksheet, notes: Mapping[str, str]) -> None:
        """All rows. notes: what an input is for."""
        for order, (name, argument) in enumerate(self.inputs.items(), 1):
            self._input(ws, order, name, argument, notes[name])
        if self.inputs:
            checks = f"{self.columns['check']}{self._first}:{self.columns['check']}{self.last_input}"
            count = f'={self._bad}+COUNTIF({checks},"FAIL")'
            put(ws, f"{self.columns['agree']}{self.last_input}", count, "Calculation", "count", "center")
        if self._fleet:
            count = f"={self.bad()}+{self._fleet}"
            put(ws, self.stop().replace("$", ""), count, "Calculation", "count", "center")
        for order, step in enumerate(self.steps, 1):
            self._step(ws, order, step)
        column = self.columns["check"]
        color_checks(ws, f"{column}{self._first}:{column}{self.last}")
        for engine, idle in ((ADDIN, '="Native"'), (NATIVE, '<>"Native"')):
            column = self.columns[engine]
            gray_when(ws, f"{column}{self._first_step}:{column}{self.last}", f"engine_active{idle}")

    def _input(self, ws: Worksheet, order: int, name: str, argument: Number, note: str) -> None:
        rule = self.rules.get(name, "").format(**{other: self.at(other) for other in self.inputs})
        at = (self.rows[name], self.columns["check"])
        cell = number_line(ws, at, order, name, argument, note, rule)
        if name in self.follows:
            cell.value = f"={self.follows[name]}"

    def _step(self, ws: Worksheet, order: int, step: Step | Sum) -> None:
        row, unit = self.rows[step.name], unit_of(step)
        _texts(ws, row, order, step.quantity, unit, step.words if isinstance(step, Sum) else step.function.words)
        for engine in (ADDIN, NATIVE):
            put(ws, f"{self.columns[engine]}{row}", self._formula(step, engine), "Calculation", unit, "right")
        a, b = (f"{self.columns[engine]}{row}" for engine in (ADDIN, NATIVE))
        stop = self.bad() if step.name in self._free else self.stop()
        value = f'=IF({stop}>0,NA(),IF(engine_active="Native",{b},{a}))'
        put(ws, f"{VALUE}{row}", value, "Result", unit, "right")
        same = f"AND(T({a})=T({b}),ABS(N({a})-N({b}))<=tolerance*MAX(1,N({b})))"
        agree = f"{self.columns['agree']}{row}"
        alone = f'(addin_version="not installed")+{stop}>0'
        put(ws, agree, f"=IF({alone},TRUE,{same})", "Calculation", align="center")
        check = f'=IF({stop}>0,"FAIL",CHOOSE(1+{agree},"FAIL","PASS"))'
        put(ws, f"{self.columns['check']}{row}", check, "Check")

    def _formula(self, step: Step | Sum, engine: str) -> str:
        if isinstance(step, Sum):
            return f"={step.formula(engine, self.rows[step.name])}"
        cells = {a: "+".join(self._ref(n, engine) for n in s.split("+")) for a, s in step.sources().items()}
        formula = step.function.formula(cells) if engine == ADDIN else step.function.native_formula(cells)
        return guarded(step, formula, partial(self._ref, engine=engine))

    def _ref(self, name: str, engine: str) -> str:
        if name.isdigit():  # a neutral figure in the place of an input
            return name
        if name in self.taken:
            return self.taken[name]
        if (name, engine) in self.given:
            return self.given[name, engine]
        if name in self.inputs:
            return f"{VALUE}{self.rows[name]}"
        return f"{self.columns[engine]}{self.rows[name]}" if name in self.rows else elsewhere(name, engine)


def number_line(
    ws: Worksheet, at: tuple[int, str], order: int, name: str, argument: Number, note: str, rule: str = ""
) -> Cell:
    """An input that is a number, with its check; its value cell. at: its row, and the column of checks.

    rule: what it must fulfil beside its bounds, as a formula.
    """
    row, check = at
    value = f"{VALUE}{row}"
    words = "; ".join(text for text in (argument.meaning.partition(": ")[2], note) if text)
    _texts(ws, row, order, argument.label, argument.unit, words)
    cell = put(ws, value, plain(argument.example), "Input", argument.unit, "right")
    validation = bounds(name, argument, value)
    ws.add_data_validation(validation)
    validation.add(value)
    put(ws, f"{check}{row}", f"={passes(value, argument, rule)}", "Check")
    return cell


def _texts(ws: Worksheet, row: int, order: int, label: str, unit: str, words: str) -> None:
    put(ws, (row, 1), order, "Note", align="center")
    put_text(ws, (row, 2), label, "Label", "left")
    put_text(ws, f"{UNIT}{row}", unit, "Note", "left")
    long_text(ws, f"{WORDS}{row}", words)
    ws.row_dimensions[row].height = 18


def columns(subject: str) -> tuple[Column, ...]:
    """Of a sheet that holds lines alone, the working ones last."""
    return (
        Column("#", 5, "center"),
        Column(subject, 44),
        Column("Value", 14, "right"),
        Column("Unit", 16),
        Column("Meaning", 34),
        Column("", 58),
        Column("", 12),
        Column("Check", 9, "center"),
        *(Column(words, 12, "center") for words in ("Inputs bad", "Add-in", "Native")),
    )


def long_text(ws: Worksheet, at: str, text: str) -> None:
    """A text that runs over the cells to its right, which are empty: no line below its first words alone."""
    cell = put_text(ws, at, text, "Note")
    cell.alignment, cell.border = Alignment(horizontal="left", vertical="center", indent=1), Border()
