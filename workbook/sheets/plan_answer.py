"""The answer on Plan: the head, rows of figures, and what they mean in words, edge cases included."""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity import cost, headroom, sizing
from capacity.headroom import HEADROOM_INPUTS
from capacity.options import NO_SEQUENCE
from capacity.plan import NO_OUTPUT, NO_ROOM, NO_TOKENS, Guard, step_named
from capacity.tpot import FAILS, MEASURE, SAFE

from ..charts import bar_chart
from ..frame import FIRST_ROW, Column, header, link, put, put_text
from ..input_rows import shrink
from ..lines import Lines, long_text
from ..style import BAD, GOOD, color_words
from . import audit, batch, evidence, refined
from .blocks import BATCH_LAST
from .plan_notices import VERDICTS, chain, given, head_line
from .plan_rows import (
    FALLS,
    FIT,
    FOUND,
    HEAD_ROW,
    KNOWN,
    NONE_FITS_AT,
    REFUSED_AT,
    SAFER,
    STATES,
    line,
    sentence,
    state_at,
)

NODE_GPUS: Final = HEADROOM_INPUTS["node_gpus"]
# What comes from the sheet Refined: row -> (label, quantity there, unit, words)
TAKEN: Final = {
    "replicas": ("Replicas", "replicas", "busy replicas / ceiling at peak, rounded up, + spares"),
    "gpus": ("GPUs", "GPUs", "replicas x TP"),
    "cost_per_hour": ("Cost per hour", "USD/h", "GPUs x price of a GPU-hour"),
    "usd_per_m_tokens": (
        "Bill per M output tokens, at peak load",
        "USD/M tokens",
        "the whole bill, the input's share included",
    ),
    "usd_per_m_tokens_all": (
        "Bill per M tokens in and out, at peak load",
        "USD/M tokens",
        "as if the peak lasted all month; Utilization has the price over a day",
    ),
}
TAKEN_ROWS: Final = {name: FIT + i for i, name in enumerate(TAKEN, 1)}
# The same in 8 of 10 comparable runs: row -> (label, unit, how a figure is spelled, its sign).
BANDS: Final = {
    "gpus": ("GPUs in 8 of 10 comparable runs", "GPUs", "{}", ""),
    "cost_per_hour": ("Cost per hour in 8 of 10", "USD/h", "FIXED({},0)", "$"),
    "usd_per_m_tokens": ("Bill per M output tokens in 8 of 10", "USD/M tokens", "FIXED({},2)", "$"),
}
BAND_ROWS: Final = {name: FIT + len(TAKEN) + i for i, name in enumerate(BANDS, 1)}
STEPS_FIRST: Final = FIT + len(TAKEN) + len(BANDS) + 1
OVER: Final = "batch over the pool"
OVER_STATE: Final = f"{SAFER[0]}{FIT}"  # 0 where the plan fits, else by which of three it does not


def _unless(name: str) -> Guard:
    return Guard(name, lambda v: bool(v[name]), f'{{{name}}}<>""', shows=f"{{{name}}}")


REFUSED: Final = _unless("refused")
STEPS: Final = (
    step_named("nodes", headroom.nodes, "Whole nodes", REFUSED, replica_gpus="tp"),
    step_named("billed_gpus", sizing.billed_gpus, guard=REFUSED, replica_gpus="tp"),
    step_named("usd_per_month", cost.usd_per_month, "Cost per month", REFUSED),
    step_named("billed_per_hour", cost.cost_per_hour, "Cost per hour, whole nodes billed", REFUSED, gpus="billed_gpus"),
    step_named(
        "billed_per_month",
        cost.usd_per_month,
        "Cost per month, whole nodes billed",
        REFUSED,
        cost_per_hour="billed_per_hour",
    ),
    step_named("usd_per_m_input", cost.usd_per_m_input, "Cost per M input tokens, at peak load", _unless("no_input")),
    step_named(
        "usd_per_m_output", cost.usd_per_m_output_split, "Cost per M output tokens, at peak load", _unless("no_output")
    ),
    step_named("prefill_share", cost.prefill_share, guard=_unless("no_load")),
)
_LAST_STEP: Final = STEPS_FIRST + len(STEPS) - 1
DRIVER, VERDICT, MEASUREMENT, FALLBACK = range(_LAST_STEP + 1, _LAST_STEP + 5)
LAST: Final = FALLBACK
_BATCHES: Final = range(FIRST_ROW, BATCH_LAST + 1)


def headline(ws: Worksheet, lines: Lines) -> None:
    """The figures in the head of the sheet, which stays in view."""
    shown = {
        "B4": (f"=C{TAKEN_ROWS['gpus']}", '[=1]#,##0" GPU";#,##0" GPUs"'),
        "C4": (f"={lines.at('nodes')}", '[=1]"in "#,##0" node";"in "#,##0" nodes"'),
        "E4": (f"={lines.at('usd_per_month')}", '"$"#,##0" a month"'),
        "F4": (f"={lines.at('usd_per_m_input')}", '"$"#,##0.0000" / M input"'),
        "G4": (f"={lines.at('usd_per_m_output')}", '"$"#,##0.0000" / M output"'),
    }
    for at, (formula, shape) in shown.items():
        shrink(put(ws, at, formula, "Answer", align="left" if at == "B4" else "right")).number_format = shape
    ws.row_dimensions[4].height = 30
    head_line(ws, lines, VERDICT)


def write_answer(ws: Worksheet, lines: Lines) -> None:
    """All rows but those of the steps."""
    head = ("#", "The answer", "Value", "Unit", "In words", "", "See", "Check", "Engines agree", "Add-in", "Native")
    aligned = {1: "center", 3: "right", 8: "center"}
    columns = [Column(text, 0, aligned.get(i, "left")) for i, text in enumerate((*head, "States", "Sentences"), 1)]
    header(ws, HEAD_ROW, columns)
    chain(ws)
    given(ws, lines)
    _states(ws)
    _fit(ws)
    for name, (label, unit, words) in TAKEN.items():
        row = TAKEN_ROWS[name]
        line(ws, row, label, f'=IF({KNOWN["refused"]}<>"",{KNOWN["refused"]},{refined.cell(name)})', unit)
        long_text(ws, f"E{row}", words)
        link(put_text(ws, f"G{row}", audit.TITLE, "Note", "left"), audit.TITLE)
    _bands(ws)
    _words(ws, lines)
    _chart(ws)


def _bands(ws: Worksheet) -> None:
    """From what to what the error band of comparable published runs goes, with the fitted constants."""
    for name, (label, unit, shape, sign) in BANDS.items():
        row, word = BAND_ROWS[name], KNOWN["no_output" if name == "usd_per_m_tokens" else "refused"]
        for column, share in zip(SAFER, ("p90", "p10"), strict=False):
            put(ws, f"{column}{row}", f"={evidence.cell(name, share)}", "Calculation", unit, "right")
        low, high = (shape.format(f"{column}{row}") for column in SAFER[:2])
        line(ws, row, label, f'=IF({word}<>"",{word},"{sign}"&{low}&" to {sign}"&{high})', unit)
        link(put_text(ws, f"G{row}", evidence.TITLE, "Note", "left"), evidence.TITLE)
    gpus, per_hour, bill = BAND_ROWS.values()
    long_text(ws, f"E{gpus}", "with fitted constants, or efficiencies that you measured")
    for column, share in zip(SAFER[2:], ("p90", "p10"), strict=True):
        put(ws, f"{column}{per_hour}", f"={evidence.cell('gpus', share, 'Seed')}", "Calculation", "GPUs", "right")
    ends = f'{SAFER[2]}{per_hour}&" to "&{SAFER[3]}{per_hour}'
    text = f'=IF({KNOWN["refused"]}<>"","no fleet","the chain Seed with MFU 50%, MBU 75%: "&{ends}&" GPUs")'
    words = put(ws, f"E{per_hour}", text, "Note")
    words.alignment = Alignment(horizontal="left", vertical="center", indent=1)
    long_text(ws, f"E{bill}", "the whole bill, at peak load")


def _states(ws: Worksheet) -> None:
    """Words that stand in place of figures, each only where it holds."""
    seqs, text = refined.cell("max_seqs"), f"ISTEXT({refined.cell('kv_pool_gb')})"
    over = f'({refined.cell("batch")}>N({seqs}))*({seqs}<>"{NO_TOKENS.words}")'
    put(ws, OVER_STATE, f"={over}*(1+{text}+2*({seqs}=0))", "Calculation", "count")
    state = f'CHOOSE(1+{OVER_STATE},"","{OVER}","{NO_ROOM.words}","{NO_SEQUENCE}")'
    cells = list(KNOWN.values())
    put(ws, cells[0].replace("$", ""), f"={state}", "Calculation")
    put(ws, REFUSED_AT, f'=IF(facts_bad>0,0,--({cells[0]}<>""))', "Calculation", "count")
    short = f"(N({seqs})<1)*(1-{refined.weightless()})"
    put(ws, NONE_FITS_AT, f"=IF(facts_bad>0,0,{short})", "Calculation", "count")
    for (name, words), before, at in zip(
        (("busy_replicas", "no load"), ("prompt_tps", "no prompt tokens"), ("output_tps", NO_OUTPUT.words)),
        (cells[0], cells[1], cells[1]),
        cells[1:],
        strict=True,
    ):
        formula = f'=IF({before}<>"",{before},CHOOSE(1+({refined.cell(name)}=0),"","{words}"))'
        put(ws, at.replace("$", ""), formula, "Calculation")


def _fit(ws: Worksheet) -> None:
    refused, batch_, seqs = KNOWN["refused"], refined.cell("batch"), refined.cell("max_seqs")
    line(ws, FIT, "In GPU memory", f'=IF({refused}="","fits",{refused})', "text")
    color_words(ws, f"C{FIT}:C{FIT}", {"fits": GOOD, "": BAD})
    sentences = (
        f'="batch "&{batch_}&" of the "&{seqs}&" sequences that fit the KV pool"',
        f'="batch "&{batch_}&" is refused: at most "&{seqs}&" sequences fit the KV pool; batch is on Inputs"',
        f'="weights take "&FIXED({refined.cell("weights_gb")},1)&" GB of each GPU: higher TP, or fewer bytes a weight"',
        "no tokens: a sequence takes no room",
    )
    sentence(ws, FIT, f"CHOOSE(1+{OVER_STATE},1+(1+2)*{refined.weightless()},2,1+2,2)", sentences)


def _words(ws: Worksheet, lines: Lines) -> None:
    _driver(ws, lines)
    row, batch_ = VERDICT, refined.cell("batch")
    line(ws, row, "TPOT at the chosen batch", f"={refined.cell('tpot_verdict')}", "text")
    color_words(ws, f"C{row}:C{row}", VERDICTS)
    step, target = refined.cell("decode_step_ms"), refined.cell("target_ms")
    c = f"C{row}"
    state = f'1+({c}="{MEASURE}")+2*({c}="{NO_OUTPUT.words}")+({c}="{FAILS}")*(1+2+({target}<{step}))'
    met = (
        "worst case within the target, whatever prefill hides under decode",
        "within the target only if enough prefill hides under decode: see the next two rows",
        "no output tokens: nothing to time",
        "beyond the target even if all prefill that can hide does: smaller batch, higher TP",
        f'="the target is below the step floor of "&FIXED({step},1)&" ms: no overlap helps"',
    )
    sentence(ws, row, state, met)
    row, state = MEASUREMENT, f"{STATES}{VERDICT}"
    line(ws, row, "What to measure: prefill that must hide", f"={refined.cell('overlap_needed')}", "fraction")
    share = f'FIXED(N(C{row})/1%,1)&"%'
    beyond = "no measurement helps: more would have to hide than can"
    measured = (
        "nothing: safe at any overlap",
        f'="hidden prefill fraction >= "&{share} at batch "&{batch_}&", on one replica under load"',
        "no output tokens: nothing to measure",
        beyond,
        beyond,
    )
    sentence(ws, row, state, measured)
    _fallback(ws)


def _driver(ws: Worksheet, lines: Lines) -> None:
    share, none = f"N({lines.at('prefill_share')})", KNOWN["no_load"]
    number = f"{STATES}{DRIVER}"
    line(ws, DRIVER, "Largest driver", f'=CHOOSE({number},"prefill","decode",{none})', "text")
    prefill, decode = refined.cell("prefill_load"), refined.cell("decode_load")
    sentences = (
        f'="prefill is "&FIXED({share}/1%,0)&"% of the work: shorter prompts, cache hits, more FLOP/s help most"',
        f'="decode is "&FIXED((1-{share})/1%,0)&"% of the work: larger batch, FP8 KV, more bandwidth help most"',
        "no fleet, no driver",
    )
    sentence(ws, DRIVER, f'IF({none}<>"",1+2,1+({prefill}<{decode}))', sentences)


def _fallback(ws: Worksheet) -> None:
    """The largest batch of the sheet Batch below the plan's that is safe, and its fleet."""
    row, size = FALLBACK, refined.cell("batch")
    columns = (batch.INPUT_CHECK, batch.RESULT["tpot_verdict"], batch.KV_FIT, "B")
    for place, there in zip(SAFER, _BATCHES, strict=True):
        bad, verdict, fit, sequences = (f"{batch.TITLE}!{column}{there}" for column in columns)
        safe = f'({verdict}="{SAFE}")*({fit}="fits")*({sequences}<{size})*{sequences}'
        put(ws, f"{place}{row}", f'=IF({bad}="FAIL",0,{safe})', "Calculation", "sequences")
    found = f"{FOUND}{row}"
    put(ws, found, f"=MAX({SAFER[0]}{row}:{SAFER[-1]}{row})", "Calculation", "sequences")
    gpus, sizes = (f"{batch.TITLE}!{c}{_BATCHES[0]}:{c}{_BATCHES[-1]}" for c in (batch.RESULT["gpus"], "B"))
    fleet, state = f"{FALLS}{row}", state_at(row)
    put(ws, fleet, f'=IF({found}=0,"none on Batch",INDEX({gpus},MATCH({found},{sizes},0)))', "Calculation", "GPUs")
    value = f'=CHOOSE({state},"none needed",{fleet},"none needed",{fleet})'
    line(ws, row, "GPUs if that fails: next smaller safe batch", value, "GPUs")
    now = f"C{TAKEN_ROWS['gpus']}"
    other = (
        f'=IF({found}=0,"no smaller batch on the sheet Batch is safe: try one there",'
        f'"batch "&{found}&": "&{now}&" -> "&C{row}&" GPUs")'
    )
    safe, idle = "nothing can fail: the batch is safe at any overlap", "no output tokens: nothing can fail"
    refused = (
        f'=IF({found}=0,"no smaller batch on the sheet Batch fits and is safe",'
        f'"batch "&{found}&" fits and is safe: "&{fleet}&" GPUs")'
    )
    verdict = f"CHOOSE({state_at(VERDICT)},1,2,1+2,2,2)"
    sentence(ws, row, f'IF({KNOWN["refused"]}<>"",2+2,{verdict})', (safe, other, idle, refused))


def _chart(ws: Worksheet) -> None:
    sizes, gpus = (f"{batch.TITLE}!{c}{_BATCHES[0]}:{c}{_BATCHES[-1]}" for c in ("B", batch.RESULT["gpus"]))
    axes = ("Decode batch [sequences]", "Fleet [GPUs]")
    bar_chart(ws, f"B{LAST + 2}", "GPUs by decode batch", axes, sizes, {"GPUs": gpus})
