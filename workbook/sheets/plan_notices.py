"""What a reader of Plan must know before the figures: verdict, chain, what is typed over or out of bounds."""

from typing import Final

from openpyxl.styles import Alignment
from openpyxl.worksheet.worksheet import Worksheet

from capacity.tpot import FAILS, MEASURE, SAFE

from ..frame import put
from ..input_rows import CHECK, FOLLOWS, VALUE
from ..lines import Lines
from ..style import BAD, CAUTION, GOOD, color_words
from . import inputs, refined, refined_inputs
from .plan_rows import CHAIN, FIT, GIVEN, KNOWN, SAFER, SENTENCES, line, sentence, state_at

LINE_ROW: Final = 3  # the line of words above the figures in the head
NEEDS, OUTSIDE, NO_PEAK = "this model needs", "out of bounds", "the GPU has no peak"
VERDICTS: Final = {SAFE: GOOD, MEASURE: CAUTION, FAILS: BAD}


def head_line(ws: Worksheet, lines: Lines, verdict: int) -> None:
    """verdict: its row. The verdict, and what a reader of the figures must know first."""
    at, none, bad = f"C{LINE_ROW}", f'({KNOWN["refused"]}<>"")', f"({state_at(GIVEN)}>2)"
    idle = KNOWN["no_load"]
    why = f'CHOOSE(1+{none}+2*({idle}<>""),C{verdict},"refused",{idle},"refused")'
    put(ws, at, f'="TPOT: "&IF({bad},"no result",{why})', "Result", align="right")
    looks = VERDICTS | dict.fromkeys(("no result", "refused"), BAD)
    color_words(ws, f"{at}:{at}", {f"TPOT: {word}": look for word, look in looks.items()})
    plain = f"{SENTENCES[0]}{LINE_ROW}"
    whole = f"FIXED({lines.at('billed_per_month')},0)"
    words = f'="the month bills GPUs alone, whole nodes $"&{whole}&"; per M tokens at peak load: see Utilization"'
    put(ws, plain, words, "Calculation")
    fits = f"CHOOSE(1+{none},{plain},E{FIT})"
    valid = f"CHOOSE(1+({state_at(CHAIN)}>1),{fits},E{CHAIN})"
    first = put(ws, f"E{LINE_ROW}", f"=CHOOSE(1+{bad},{valid},E{GIVEN})", "Note")
    first.alignment = Alignment(horizontal="left", vertical="center", indent=1)
    alarm(ws, LINE_ROW)


def alarm(ws: Worksheet, row: int) -> None:
    """Color the words of a row that begin as those do which say that the figures do not hold."""
    color_words(ws, f"E{row}:E{row}", dict.fromkeys((NEEDS, OUTSIDE, NO_PEAK, "batch", "weights"), BAD))


def chain(ws: Worksheet) -> None:
    """Whether the chain in use prices the model as it is: sparse models and KV caches of another layout."""
    sparse, other = f"{SAFER[0]}{CHAIN}", f"{SAFER[2]}{CHAIN}"
    put(ws, sparse, f"={refined.one_count_for_both()}", "Calculation", "fraction")
    put(ws, other, f"={refined.kv_beside_formula()}", "Calculation", "fraction")
    state = state_at(CHAIN)
    line(ws, CHAIN, "Chain for this model", f'=CHOOSE(1+({state}>1),"fits","does not fit")', "text")
    color_words(ws, f"C{CHAIN}:C{CHAIN}", {"fits": GOOD, "": BAD})
    needs = f"{NEEDS} the chain Refined with"
    sentences = (
        "the chain fits this model",
        f"{needs} active_params on (Inputs), or figures are wrong: see Checks",
        f"{needs} kv_layout on (Inputs), or figures are wrong: see Checks",
        f"{needs} active_params and kv_layout on (Inputs): see Checks",
    )
    sentence(ws, CHAIN, f"1+({sparse}>0)+2*({other}>tolerance)", sentences)
    alarm(ws, CHAIN)


def given(ws: Worksheet, lines: Lines) -> None:
    """How many inputs and facts are typed over, or out of bounds, and where."""
    counts = (SAFER[0], SAFER[2])
    for column, sheet in zip(counts, (inputs, refined_inputs), strict=True):
        first, last = min(sheet.ROWS.values()), sheet.LAST
        value, follows = (f"{sheet.TITLE}!{c}{first}:{c}{last}" for c in (VALUE, FOLLOWS))
        typed = f'({follows}<>"-")*({follows}<>"")*({value}<>{follows})'
        put(ws, f"{column}{GIVEN}", f"=SUMPRODUCT({typed})", "Calculation", "count")
    bad, state, number = lines.bad(), state_at(GIVEN), f"{SAFER[3]}{GIVEN}"
    put(ws, number, f"={'+'.join(f'{c}{GIVEN}' for c in counts)}", "Calculation", "count")
    shown = f'=CHOOSE(MIN({state},1+2),"as chosen","typed over: "&{number},"{OUTSIDE}")'
    line(ws, GIVEN, "Inputs and facts", shown, "text")
    color_words(ws, f"C{GIVEN}:C{GIVEN}", {"as chosen": GOOD, "typed over": CAUTION, "": BAD})
    peak = inputs.ROWS["peak_tflops"]
    sentences = (
        "within bounds, and none differs from what it follows",
        f'={number}&" input"&CHOOSE(1+({number}=1),"s","")&" typed over: see Value and Follows on Inputs and Facts"',
        # not which: LibreOffice may answer MATCH from before the edit
        f'="{OUTSIDE}: "&inputs_bad&" on Inputs, marked FAIL there"',
        f"{OUTSIDE}: see the first FAIL on Facts, or above on this sheet",
        f'="{NO_PEAK} for "&{inputs.cell("weight_format")}&": choose another type of weights"',
    )
    none = f'COUNTIF({inputs.TITLE}!{FOLLOWS}{peak},0)*({inputs.TITLE}!{CHECK}{peak}="FAIL")'
    # a name that is on no list leaves facts_bad without a number: inputs_bad is asked first
    rest = f"IF({bad}>0,2+2,1+({number}>0))"
    sentence(ws, GIVEN, f"CHOOSE(1+(inputs_bad>0),{rest},1+2+2*{none})", sentences)
    alarm(ws, GIVEN)
