"""Calibrate: what was measured on one replica, the efficiencies that follow, and the plan redone with them.

By the worked example's chain: MFU and MBU are its whole arithmetic, so that a measurement gives each of them at once.
"""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity import calibration, cost, decode, fleet, memory, prefill, tpot
from capacity.calibration import CALIBRATION_INPUTS
from capacity.plan import NO_OUTPUT, NO_VERDICT, step_named

from ..chain import ADDIN, NATIVE
from ..charts import CHART_ROWS, bar_chart
from ..check import Check
from ..frame import FIRST_ROW, Column, frame, header, one_page, put, put_text
from ..lines import Lines, long_text
from ..style import BAD, CAUTION, GOOD, color_words
from . import audit, inputs, refined
from .plan_rows import IS_REFUSED, NOT_JUDGED, say_refused

TITLE: Final = "Calibrate"
KIND: Final = "output"
PURPOSE: Final = "Measured prefill rate, decode step and overlap in; MFU, MBU and the plan redone with them out"

CHECK, AGREE = "K", "L"
EFFICIENCIES: Final = (
    step_named("assumed_us", prefill.prefill_us, "Prefill time per token, as assumed"),
    step_named("assumed_prefill_tps", calibration.prefill_tps, "Prefill rate, as assumed", prefill_us="assumed_us"),
    step_named("weights_gb", memory.weights_gb),
    step_named(
        "measured_kv_gb", memory.kv_gb_per_seq, "KV of a measured sequence", context_tokens="measured_context_tokens"
    ),
    step_named(
        "measured_gb",
        decode.step_gb,
        "Bytes of the measured step",
        batch="measured_batch",
        kv_gb_per_seq="measured_kv_gb",
    ),
    step_named("assumed_step_ms", decode.decode_step_ms, "Decode step, as assumed", step_gb="measured_gb"),
    step_named("measured_mfu", calibration.measured_mfu, prefill_tps="measured_prefill_tps"),
    step_named("measured_mbu", calibration.measured_mbu, step_gb="measured_gb", step_ms="measured_step_ms"),
    step_named(
        "back_mfu", calibration.measured_mfu, "MFU back from the assumed rate", prefill_tps="assumed_prefill_tps"
    ),
    step_named(
        "back_mbu",
        calibration.measured_mbu,
        "MBU back from the assumed step",
        step_gb="measured_gb",
        step_ms="assumed_step_ms",
    ),
)
REDONE: Final = (
    step_named("prefill_us", prefill.prefill_us, mfu="measured_mfu"),
    step_named("prefill_load", prefill.prefill_load),
    step_named("kv_gb_per_seq", memory.kv_gb_per_seq),
    step_named("step_gb", decode.step_gb),
    step_named("decode_step_ms", decode.decode_step_ms, mbu="measured_mbu"),
    step_named("replica_tps", decode.replica_tps),
    step_named("decode_load", decode.decode_load),
    step_named("busy_replicas", fleet.busy_replicas),
    step_named("replicas", fleet.replicas),
    step_named("gpus", fleet.gpus),
    step_named("cost_per_hour", cost.cost_per_hour),
    step_named("usd_per_m_tokens", cost.usd_per_m_tokens, "", NO_OUTPUT, tokens_per_s="output_tps"),
    step_named("tpot_worst_ms", tpot.tpot_worst_ms, "", NO_OUTPUT),
    step_named("tpot_best_ms", tpot.tpot_best_ms, "", NO_OUTPUT),
    step_named("tpot_verdict", tpot.tpot_verdict, "TPOT verdict without the overlap", NO_VERDICT),
    step_named("overlap_needed", tpot.overlap_needed, "", NO_OUTPUT),
    step_named("tpot_at_overlap_ms", calibration.tpot_at_overlap_ms, "", NO_OUTPUT),
)
STEPS: Final = (*EFFICIENCIES, *REDONE)
WORDS: Final = FIRST_ROW + len(CALIBRATION_INPUTS)  # the rows that say whether a measurement is possible
_STEPS_FIRST: Final = WORDS + 4
LIMITED: Final = ("measured_prefill_tps", "measured_step_ms")
# Cells beside the inputs: of the plan, near by, for shorter formulas; and what the hardware can do at most.
_NEAR: Final = {"target_ms": (f"{AGREE}{FIRST_ROW + 1}", "ms"), "output_tps": (f"{AGREE}{FIRST_ROW + 2}", "tok/s")}
_LIMIT: Final = {name: f"${AGREE}${FIRST_ROW + list(CALIBRATION_INPUTS).index(name)}" for name in LIMITED}
# What the plan assumes of each measurement: it stands for the measurement until that is typed over.
_EXPECTED: Final = {
    name: f"$M${FIRST_ROW + i}" for i, name in enumerate(CALIBRATION_INPUTS) if name != "measured_overlap"
}
LINES: Final = Lines(
    CALIBRATION_INPUTS,
    STEPS,
    (FIRST_ROW, _STEPS_FIRST),
    {"check": CHECK, "agree": AGREE, ADDIN: "M", NATIVE: "N"},
    {
        "measured_prefill_tps": f"{{measured_prefill_tps}}<={_LIMIT['measured_prefill_tps']}*(1+tolerance)",
        "measured_step_ms": f"{{measured_step_ms}}*(1+tolerance)>={_LIMIT['measured_step_ms']}",
    },
    {name: at for name, (at, _) in _NEAR.items()},
    bad=f"facts_bad+{IS_REFUSED}",
    follows=_EXPECTED,
)
NOTES: Final = {
    "measured_prefill_tps": "prompts alone, long enough to fill the GPUs; follows the plan until typed over",
    "measured_batch": "in the step below; follows the plan until typed over",
    "measured_context_tokens": "prompt and what is written of the reply, on average; follows the plan",
    "measured_step_ms": "decode alone; of an output rate: batch / tok/s x 1,000; follows the plan until typed over",
    "measured_overlap": "prompts and replies mixed as planned; illustrative until typed over",
}
IMPOSSIBLE: Final = {
    "measured_prefill_tps": "impossible, MFU above 1: check that the rate is one replica's, its TP, and the dense peak "
    "at the weights' type",
    "measured_step_ms": "impossible, MBU above 1: check batch and context of the measurement, bytes per weight and KV "
    "element, TP, bandwidth",
}
NOT_SIMPLE: Final = (
    "experts or refinements: here all parameters and the first chain's KV count, so MFU, MBU and impossible do not hold"
)
LABELS: Final = {"measured_prefill_tps": "Is the prefill rate possible?", "measured_step_ms": "Is the step possible?"}
BESIDE: Final = LINES.last + 3
SHOWN: Final = {
    "mfu": ("MFU [fraction]", "measured_mfu", "fraction"),
    "mbu": ("MBU [fraction]", "measured_mbu", "fraction"),
    "gpus": ("GPUs", "gpus", "GPUs"),
    "cost_per_hour": ("Cost [USD/h]", "cost_per_hour", "USD/h"),
    "tpot_worst_ms": ("TPOT, worst case [ms]", "tpot_worst_ms", "ms"),
    "overlap_needed": ("Overlap needed [fraction]", "overlap_needed", "fraction"),
    "tpot_verdict": ("TPOT at target", "tpot_verdict", "text"),
}
COLUMNS: Final = (
    Column("#", 5, "center"),
    Column("Measured on one replica", 46),
    Column("Value", 20, "right"),
    Column("Unit", 18),
    Column("Meaning", 21),
    *(Column("", 18) for _ in "FGH"),
    Column("", 32),
    Column("", 10),
    Column("Check", 9, "center"),
    Column("Limit, or of the plan", 14, "right"),
    Column("As the plan expects", 14, "right"),
    Column("", 14, "right"),
)


def write(ws: Worksheet) -> None:
    """Write the sheet."""
    frame(
        ws,
        "What does a measurement say?",
        "Measure one replica and type it over what the plan assumes: MFU, MBU and overlap become figures, and the plan "
        "redone with them stands beside the plan as assumed, both by the worked example's chain.",
        COLUMNS,
        freeze=f"C{FIRST_ROW}",
    )
    ws.print_title_rows = "1:3"  # the header row is that of the first table only
    say_refused(ws, IS_REFUSED)
    _simple(ws)
    LINES.write(ws, NOTES)
    _possible(ws)
    _head(ws, _STEPS_FIRST - 1, ("Efficiencies, and the plan redone", "Value", "Unit", "In words"))
    _beside(ws)
    color_words(ws, f"C{_STEPS_FIRST}:C{LINES.last}", {"safe": GOOD, "needs": CAUTION, "fails": BAD})
    one_page(ws)
    ws.print_area = f"A1:{CHECK}{BESIDE + 6 + CHART_ROWS}"


def checks() -> tuple[Check, ...]:
    """The sheet's rows on Checks: each row that counts has a number."""
    numbered, found = (f"{TITLE}!${c}${FIRST_ROW}:${c}${LINES.last}" for c in ("A", CHECK))
    mfu, mbu = (f"ABS({TITLE}!{LINES.at(f'back_{n}')}/{refined.cell(n)}-1)" for n in ("mfu", "mbu"))
    return (
        Check(
            "Calibrate rows that fail",
            "Measurements are within their bounds and possible, engines agree",
            f'COUNT({numbered})-COUNTIF({found},"PASS")',
            "count",
            "Calibrate says under the measurements which fact to check",
            TITLE,
            waits=NOT_JUDGED,
        ),
        Check(
            "Round trip: efficiencies back from the plan's own rate and step",
            "What the plan assumes gives back its MFU and MBU; relative difference; bad input: nothing to compare",
            f"MAX({mfu},{mbu})",
            "fraction",
            "A formula of the calibration is not the plan's the other way round",
            TITLE,
            high="tolerance",
            tolerance="tolerance",
            waits=f"{TITLE}!{LINES.bad()}>0",
        ),
    )


def addin_cells() -> list[str]:
    """The cells that hold calls of the add-in's functions."""
    return LINES.addin_cells()


def _simple(ws: Worksheet) -> None:
    """Where the simple formula does not apply: all parameters, and the KV cache of the worked example's chain."""
    put_text(ws, f"{AGREE}4", NOT_SIMPLE, "Calculation")
    other = f'({refined.cell("routed_params_b")}>0)+({inputs.cell("chain")}="Refined")>0'
    words = put(ws, "E4", f'=CHOOSE(1+({other}),"",{AGREE}4)', "Note")
    words.alignment = Alignment(horizontal="left", vertical="center", indent=1)
    color_words(ws, "E4:E4", {"experts": CAUTION})


def _possible(ws: Worksheet) -> None:
    """What the hardware can do at most, and in words whether a measurement keeps to it."""
    peak = f"{refined.cell('tp')}*{refined.cell('peak_tflops')}*1E12"
    # by cell arithmetic: the add-in is asked for again at an edit here, so that its figures cannot be followed
    context, element = (refined.cell(name, NATIVE) for name in ("context_tokens", "kv_bytes_per_token"))
    kv = f"{LINES.at('measured_batch')}*{LINES.at('measured_context_tokens')}*{element}/1E9"
    gb = f"{refined.cell('params_b')}*{refined.cell('bytes_per_param')}+{kv}"
    limits = {
        "measured_prefill_tps": (f"{peak}/(2*{refined.cell('params_b')}*1E9)", "tok/s"),
        "measured_step_ms": (f"({gb})/{refined.cell('tp')}/{refined.cell('bandwidth_tb_s')}", "ms"),
    }
    for name, (near, unit) in _NEAR.items():
        put(ws, near, f"={refined.cell(name)}", "Calculation", unit, "right")
    expected = {
        "measured_prefill_tps": f"{_LIMIT['measured_prefill_tps']}*{refined.cell('mfu')}",
        "measured_batch": refined.cell("batch"),
        "measured_context_tokens": context,
        "measured_step_ms": f"{_LIMIT['measured_step_ms']}/{refined.cell('mbu')}",
    }
    for name, at in _EXPECTED.items():
        put(ws, at.replace("$", ""), f"={expected[name]}", "Calculation", CALIBRATION_INPUTS[name].unit, "right")
    for row, name in enumerate(LIMITED, WORDS):
        formula, unit = limits[name]
        put(ws, _LIMIT[name].replace("$", ""), f"={formula}", "Calculation", unit, "right")
        put_text(ws, f"{AGREE}{row}", IMPOSSIBLE[name], "Calculation")
        put(ws, (row, 1), None, "Note")
        put_text(ws, f"B{row}", LABELS[name], "Label", "left")
        rule = LINES.rules[name].format(**{n: LINES.at(n) for n in CALIBRATION_INPUTS})
        words = f'=IF(COUNT({LINES.at(name)})=1,CHOOSE(1+({rule}),{AGREE}{row},"possible"),"enter a number")'
        cell = put(ws, f"C{row}", words, "Result")
        cell.alignment = Alignment(horizontal="left", vertical="center", indent=1)
        ws.row_dimensions[row].height = 18
    color_words(ws, f"C{WORDS}:C{WORDS + 1}", {"impossible": BAD, "enter": BAD, "possible": GOOD})


def _head(ws: Worksheet, row: int, texts: tuple[str, ...]) -> None:
    names = dict(zip("BCDE", texts, strict=True)) | {
        CHECK: "Check",
        AGREE: "Engines agree",
        "M": "Add-in",
        "N": "Native",
    }
    columns = [Column("#", 5, "center"), *(Column(names.get(c, ""), 0) for c in "BCDEFGHIJKLMN")]
    header(ws, row, columns)
    ws[f"C{row}"].alignment = Alignment(horizontal="right", vertical="center")


def _beside(ws: Worksheet) -> None:
    """The plan as assumed and as measured, a row each; then what the measured overlap says."""
    heads = [Column("#", 5, "center"), Column("Plan", 0), *(Column(words, 0, "right") for words, *_ in SHOWN.values())]
    header(ws, BESIDE - 1, [*heads, *(Column("", 0) for _ in range(len(heads), 11))])
    for row, label in enumerate(("As assumed", "As measured"), BESIDE):
        put(ws, (row, 1), None, "Note")
        put_text(ws, f"B{row}", label, "Label", "left")
        for column, (name, (_, step, unit)) in zip("CDEFGHI", SHOWN.items(), strict=True):
            assumed = f"IF({IS_REFUSED}>0,NA(),{audit.cell(name)})"
            put(ws, f"{column}{row}", f"={assumed if row == BESIDE else LINES.at(step)}", "Result", unit, "right")
        ws.row_dimensions[row].height = 18
    color_words(ws, f"I{BESIDE}:I{BESIDE + 1}", {"safe": GOOD, "needs": CAUTION, "fails": BAD})
    needed, hidden = LINES.at("overlap_needed"), LINES.at("measured_overlap")
    late = f"{AGREE}{BESIDE + 5}"
    target = _NEAR["target_ms"][0]
    put(ws, late, f"=N({LINES.at('tpot_at_overlap_ms')})/{target}>1+1/1E9", "Calculation", align="center")
    met = f'CHOOSE(1+({needed}=0)+2*{late},"met: enough hides","met at any overlap","missed","missed")'
    words = f"=IF(ISTEXT({needed}),{needed},{met})"
    rows = (
        ("Prefill that must hide, redone plan", f"={needed}", "fraction"),
        ("Prefill measured to hide", f"=IF({LINES.bad()}>0,NA(),{hidden})", "fraction"),
        ("TPOT at that overlap", f"={LINES.at('tpot_at_overlap_ms')}", "ms"),
        ("TPOT target, with the measurement", words, "text"),
    )
    for row, (label, formula, unit) in enumerate(rows, BESIDE + 2):
        put(ws, (row, 1), None, "Note")
        put_text(ws, f"B{row}", label, "Label", "left")
        put(ws, f"C{row}", formula, "Result", unit, "right")
        put_text(ws, f"D{row}", unit, "Note", "left")
        ws.row_dimensions[row].height = 18
    color_words(ws, f"C{BESIDE + 5}:C{BESIDE + 5}", {"met": GOOD, "missed": BAD})
    for at, title, axis, column in (
        ("B", "GPUs as assumed and as measured", "Fleet [GPUs]", "E"),
        ("F", "Worst-case TPOT as assumed and as measured", "TPOT, worst case [ms]", "G"),
    ):
        cells = {axis: f"{column}{BESIDE}:{column}{BESIDE + 1}"}
        bar_chart(ws, f"{at}{BESIDE + 7}", title, ("Plan", axis), f"B{BESIDE}:B{BESIDE + 1}", cells)
    long_text(
        ws,
        f"B{BESIDE + 6}",
        "To plan with the measurement, type MFU and MBU into Inputs. Refinements add time of their own: with the chain "
        "Refined fit its constants instead.",
    )
