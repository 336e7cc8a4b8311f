"""Mix: classes of requests; whose work it is, one pool or two, time to first token, prefill in chunks."""

from typing import Final

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break
from openpyxl.worksheet.worksheet import Worksheet

from capacity import FUNCTIONS
from capacity.arguments import Number
from capacity.mix import CLASS_INPUTS

from ..charts import bar_chart
from ..check import Check
from ..frame import FIRST_ROW, frame, header, put, put_text
from ..input_rows import bounds, name_rule
from ..lines import long_text
from ..style import BAD as RED
from ..style import CAUTION, GOOD, color_checks, color_words
from . import refined
from .batch import only_one_engine
from .blocks import CLASS_LAST, CLASSES
from .mix_tables import (
    APART_ROW,
    BAD,
    BATCH,
    BLOCKS,
    BOTH_ROW,
    BUSY,
    CHECK,
    CLASS_BLOCK,
    FLOOR,
    FROM_CLASS,
    FROM_EDITOR,
    INPUT_CHECK,
    KV_FIT,
    LINES,
    OF_A_REPLICA,
    POOL_BLOCK,
    POOLS,
    POOLS_FIRST,
    POOLS_LAST,
    SHARE,
    SHARES_ROW,
    STATE,
    SUM_ROW,
    SUMMED,
    TARGET,
    WORK_BLOCK,
    WORK_FIRST,
    WORK_LAST,
    Block,
)
from .mix_texts import CLASS_NOTE, HEADS, LAST_COLUMN, LINE_NOTES, WORK_NOTES, columns
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = "Mix"
KIND: Final = "output"
PURPOSE: Final = "Workload classes: whose requests and whose work, one pool or two, TTFT, prefill in chunks"

_EDITED: Final = ("request_share", "prompt_tokens", "output_tokens", "cache_hit", "p99_multiple")


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "Which requests are the work?",
        "Classes share the request rate of Inputs. Few long prompts can be most of the work; decode reads the context "
        "of whoever is in decode, weighted by time.",
        tuple(columns(FIRST_ROW - 1)),
        freeze=f"C{FIRST_ROW}",
    )
    for i in range(15, LAST_COLUMN):
        ws.column_dimensions[get_column_letter(i)].width = 11.5
    say_refused(ws, IS_REFUSED)
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    for row in list(HEADS)[1:]:
        header(ws, row, columns(row))
    for row in HEADS:
        ws.row_dimensions[row].height = 46 if row + 1 in (b.rows[0] for b in BLOCKS) else 18
    _classes(ws)
    _sums(ws)
    LINES.write(ws, LINE_NOTES)
    put(ws, TARGET, f"={refined.cell('target_ms')}", "Calculation", "ms", "right")
    ws[LINES.at("delay_factor").replace("$", "")].number_format = '0.0"x"'
    _pools(ws)
    _work(ws)
    for block in BLOCKS:
        for table in block.tables:
            table.write(ws)
        for column in (INPUT_CHECK, CHECK):
            color_checks(ws, f"{column}{block.rows[0]}:{column}{block.rows[-1] + 2}")
    _chart(ws)


def checks() -> tuple[Check, ...]:
    """The sheet's rows on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${WORK_LAST + 1}" for c in ("A", CHECK))
    return (
        Check(
            "Mix rows that fail",
            "Pools fit in memory, inputs are within bounds, shares sum to 1, engines agree, all work is the pool's",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Look at the two check columns of Mix",
            TITLE,
            waits=NOT_JUDGED,
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions, and those that follow them."""
    tables = [table for block in BLOCKS for table in block.tables]
    return [*LINES.addin_cells(), *(cell for table in tables for cell in table.addin_cells())]


def _classes(ws: Worksheet) -> None:
    for row, (name, *figures) in enumerate(CLASSES, FIRST_ROW):
        put(ws, (row, 1), row - FIRST_ROW + 1, "Note", align="center")
        put(ws, f"B{row}", name, "Input", align="left")
        for column, argument, x in zip("CDEFG", map(_argument, _EDITED), figures, strict=True):
            put(ws, f"{column}{row}", x, "Input", argument.unit, "right")
        ws[f"G{row}"].number_format = '0.0"x"'
        given = f"C{row}:G{row}"
        good = f"AND(MIN(C{row}:F{row})>=0,C{row}<=1,F{row}<=1,G{row}>=1)"
        missing = f"facts_bad+COLUMNS({given})>COUNT({given})"
        put(ws, f"{INPUT_CHECK}{row}", f'=IF({missing},"FAIL",CHOOSE(1+{good},"FAIL","PASS"))', "Check")
        _results(ws, CLASS_BLOCK, row)
    for column, name in zip("CDEFG", _EDITED, strict=True):
        rule = bounds(name, _argument(name), f"{column}{FIRST_ROW}")
        ws.add_data_validation(rule)
        rule.add(f"{column}{FIRST_ROW}:{column}{CLASS_LAST}")
    rule = name_rule("class", 30, "name of a workload class")
    ws.add_data_validation(rule)
    rule.add(f"B{FIRST_ROW}:B{CLASS_LAST}")


def _argument(name: str) -> Number:
    argument = CLASS_INPUTS.get(name) or FUNCTIONS["REQUEST_REPLICA_S"].args[name]
    assert isinstance(argument, Number)
    return argument


def _results(ws: Worksheet, block: Block, row: int, refused: str = "") -> None:
    """What the engine in use has, whether both have the same, and the row's check.

    refused: 1 where no sequence fits, and so what a replica does has no number.
    """
    checked = f"{INPUT_CHECK}{row}"
    stopped = f'({checked}="FAIL")+{refused}>0' if refused else f'{checked}="FAIL"'
    for name, (column, table) in block.values.items():
        none = stopped if name in OF_A_REPLICA else f'{checked}="FAIL"'
        value = f"=IF({none},NA(),{table.pick(name, row)})"
        style = "Result" if column <= CHECK and len(column) == 1 else "Calculation"
        put(ws, f"{column}{row}", value, style, table.unit(name), "right")
        agree = only_one_engine(checked, table.agree(name, row))
        put(ws, f"{block.agree[name]}{row}", agree, "Calculation", align="center")
    columns = list(block.agree.values())
    same = f"AND({columns[0]}{row}:{columns[-1]}{row})"
    put(ws, f"{CHECK}{row}", f'=IF({stopped},"FAIL",CHOOSE(1+{same},"FAIL","PASS"))', "Check")
    ws.row_dimensions[row].height = 18


def _sums(ws: Worksheet) -> None:
    """All classes together, and whether their shares are all requests."""
    row, total = SUM_ROW, f"C{SUM_ROW}"
    put_text(ws, f"B{row}", "All classes: sums, and mean lengths", "Label", "left")
    put(ws, total, f"=SUM({_column('C')})", "Result", "fraction", "right")
    for column in "DE":
        mean = f"=IF({BAD}>0,NA(),SUMPRODUCT({_column('C')},{_column(column)})/${total})"
        put(ws, f"{column}{row}", mean, "Result", "tokens", "right")
    for column, unit in (("H", "req/s"), ("I", "tok/s"), ("J", "tok/s")):
        summed = f"=IF({BAD}>0,NA(),SUM({_column(column)}))"
        put(ws, f"{column}{row}", summed, "Result", unit, "right")
    wrong = f"(ABS({total}-1)>tolerance)"
    failing = f'COUNTIF({_column(INPUT_CHECK)},"FAIL")'
    put(ws, BAD.replace("$", ""), f"=facts_bad+{failing}+{wrong}", "Calculation", "count", "center")
    row = SHARES_ROW
    put(ws, (row, 1), len(CLASSES) + 1, "Note", align="center")
    put_text(ws, f"B{row}", "Shares of requests against 1", "Label", "left")
    put(ws, f"C{row}", f"=ABS({total}-1)", "Result", "fraction", "right")
    sides = f'CHOOSE(1+({total}>1),"are missing: raise a share","are too many: lower a share")'
    put(ws, f"D{row}", f'=IF(C{row}<=tolerance,"they sum to 1",{sides})', "Note", align="left")
    put(ws, f"{CHECK}{row}", f'=IF(C{row}<=tolerance,"PASS","FAIL")', "Check")
    for at in (SUM_ROW, SHARES_ROW):
        ws.row_dimensions[at].height = 18
    long_text(ws, f"B{SHARES_ROW + 1}", CLASS_NOTE)


def _column(letter: str) -> str:
    return f"${letter}${FIRST_ROW}:${letter}${CLASS_LAST}"


def _pools(ws: Worksheet) -> None:
    c, own = POOL_BLOCK.at, POOL_BLOCK.own
    threshold = LINES.at("long_prompt_tokens")
    for row, pool in enumerate(POOLS, POOLS_FIRST):
        put(ws, (row, 1), row - POOLS_FIRST + 1, "Note", align="center")
        put_text(ws, f"B{row}", pool, "Label", "left")
        put(ws, f"{INPUT_CHECK}{row}", f'=IF({LINES.bad()}>0,"FAIL","PASS")', "Check")
        prompts = f'=CHOOSE($A{row},">=0","<="&{threshold},">"&{threshold})'
        put(ws, c("prompts", row), prompts, "Calculation", align="right")
        for name in SUMMED:
            summed = CLASS_BLOCK.span("class_req_per_s" if name == "req_per_s" else name)
            formula = f'=IF(${INPUT_CHECK}{row}="FAIL",NA(),SUMIF({_column("D")},${c("prompts", row)},{summed}))'
            put(ws, c(name, row), formula, "Calculation", align="right")
        for name, source in (("context_tokens", "decode_context"), ("peak_context_tokens", "decode_peak_context")):
            put(ws, c(name, row), f"=N({c(source, row)})", "Calculation", "tokens", "right")
        idle = f"({c('req_per_s', row)}=0)*($A{row}>1)"
        spares = f"={refined.cell('spares')}*(1-{idle})"
        put(ws, c("spares", row), spares, "Calculation", "replicas", "right")
        put(ws, c("target_ms", row), f"={refined.cell('target_ms')}", "Calculation", "ms", "right")
        batch = c("planned_batch", row)
        put(ws, batch, f"={refined.cell('batch')}", "Calculation", "sequences", "right")
        fit = f"N({c('max_seqs', row)})"
        put(ws, f"{BATCH}{row}", f"=IF({fit}>=1,MIN({batch},{fit}),{batch})", "Calculation", "sequences", "right")
        state = f'MAX(({c("max_seqs", row)}="no tokens")*2,({fit}>=1)+({fit}>={batch}))'
        words = f'CHOOSE(1+{state},"does not fit","batch cut","fits")'
        put(ws, f"{KV_FIT}{row}", f'=IF({INPUT_CHECK}{row}="FAIL",NA(),{words})', "Result", align="left")
        _results(ws, POOL_BLOCK, row, f'COUNTIF({KV_FIT}{row},"does not fit")')
    assert own["batch"] == BATCH
    color_words(
        ws, f"{KV_FIT}{POOLS_FIRST}:{KV_FIT}{POOLS_LAST}", {"fits": GOOD, "batch cut": CAUTION, "does not fit": RED}
    )
    _apart(ws)


def _apart(ws: Worksheet) -> None:
    """Both separate pools together, and against one pool."""
    put_text(ws, f"B{BOTH_ROW}", "Separate pools together", "Label", "left")
    put_text(ws, f"B{APART_ROW}", "Separate pools against one", "Label", "left")
    short = f'COUNTIF({KV_FIT}{POOLS_FIRST},"does not fit")'
    put(ws, LINES.stop().replace("$", ""), f"={LINES.bad()}+{short}", "Calculation", "count", "center")
    for name in ("busy_replicas", "replicas", "gpus", "cost_per_hour"):
        column, table = POOL_BLOCK.values[name]
        both = f"=SUM({column}{POOLS_FIRST + 1}:{column}{POOLS_LAST})"
        put(ws, f"{column}{BOTH_ROW}", both, "Result", table.unit(name), "right")
        apart = f"=ABS({column}{BOTH_ROW}-{column}{POOLS_FIRST})"
        put(ws, f"{column}{APART_ROW}", apart, "Result", table.unit(name), "right")
    gpus = POOL_BLOCK.values["gpus"][0]
    more = f"2+SIGN({gpus}{BOTH_ROW}-{gpus}{POOLS_FIRST})"
    put(ws, f"C{APART_ROW}", f'=CHOOSE({more},"fewer GPUs","as many GPUs","more GPUs")', "Result", align="right")
    for row in (BOTH_ROW, APART_ROW):
        ws.row_dimensions[row].height = 18


def _work(ws: Worksheet) -> None:
    c = WORK_BLOCK.at
    threshold = LINES.at("long_prompt_tokens")
    for row in WORK_BLOCK.rows:
        source = row - WORK_FIRST + FIRST_ROW
        put(ws, (row, 1), row - WORK_FIRST + 1, "Note", align="center")
        put(ws, f"B{row}", f"=B{source}", "Label", align="left")
        put(ws, f"{SHARE}{row}", f"=C{source}", "Calculation", "fraction", "right")
        for name, value in FROM_CLASS.items():
            put(ws, c(name, row), f"={CLASS_BLOCK.at(value, source)}", "Calculation", align="right")
        for name, column in FROM_EDITOR.items():
            put(ws, c(name, row), f"={column}{source}", "Calculation", align="right")
        put(ws, f"{INPUT_CHECK}{row}", f'=IF({LINES.stop()}>0,"FAIL","PASS")', "Check")
        state = f'CHOOSE(1+MAX(({SHARE}{row}=0)*2,(E{source}=0)*1)," prompts",": no output tokens",": no requests")'
        put(ws, f"{STATE}{row}", f'=CHOOSE(1+(D{source}>{threshold}),"short","long")&{state}', "Result", align="left")
        put(ws, f"{FLOOR}{row}", f"={c('mean_floor_ms', row)}", "Result", "ms", "right")
        _results(ws, WORK_BLOCK, row)
    row, shares = WORK_LAST + 1, WORK_BLOCK.span("work_share")
    put(ws, (row, 1), len(CLASSES) + 1, "Note", align="center")
    put_text(ws, f"B{row}", "All classes: the work is the pool's", "Label", "left")
    put(ws, f"{SHARE}{row}", f"=SUM({SHARE}{WORK_FIRST}:{SHARE}{WORK_LAST})", "Result", "fraction", "right")
    total = f"{WORK_BLOCK.values['work_share'][0]}{row}"
    put(ws, total, f"=SUM({shares})", "Result", "fraction", "right")
    put(ws, f"{INPUT_CHECK}{row}", f'=IF({LINES.stop()}>0,"FAIL","PASS")', "Check")
    whole = f"OR({BUSY}=0,ABS({total}-1)<=tolerance)"
    check = f'=IF({INPUT_CHECK}{row}="FAIL","FAIL",CHOOSE(1+{whole},"FAIL","PASS"))'
    put(ws, f"{CHECK}{row}", check, "Check")
    ws.row_dimensions[row].height = 18
    for text in WORK_NOTES:
        row += 1
        long_text(ws, f"B{row}", text)


def _chart(ws: Worksheet) -> None:
    bars = {
        "Share of requests": f"{SHARE}{WORK_FIRST}:{SHARE}{WORK_LAST}",
        "Share of work": WORK_BLOCK.span("work_share").replace("$", ""),
    }
    axes = ("Workload class [text]", "Share [fraction]")
    names = f"B{WORK_FIRST}:B{WORK_LAST}"
    bar_chart(ws, f"B{LINES.last_input + 2}", "Share of requests and share of work", axes, names, bars)
    ws.row_breaks.append(Break(id=POOLS_FIRST - 2))
    ws.print_area = f"A1:{CHECK}{WORK_LAST + 4}"
