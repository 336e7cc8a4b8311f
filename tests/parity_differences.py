"""Where a host itself makes an answer differ from the table in parity.py; the README lists these sentences."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from parity import DIV0, NA, NUM, VALUE, ExcelError

DESKTOP = ("Excel macros", "xlwings COM", "COM under Wine")
OFFICE_JS = ("xlwings Server", "xlwings Lite")
EXCEL = DESKTOP + OFFICE_JS
CALC_ERROR = ExcelError("Err:504")


class Difference(NamedTuple):
    """What is different in some hosts, and what their cells show for the calls that it concerns."""

    what: str
    hosts: Iterable[str]
    shown: dict[str, Any]


DIFFERENCES = [
    Difference(
        "in xlwings Lite and Server, an empty text arrives as a blank cell, which counts as 0",
        OFFICE_JS,
        {'GPUS("", 2)': 0, 'GPUS({26; ""}, 2)': [[52], [0]]},
    ),
    Difference(
        "an error that only newer versions have, such as #SPILL!, is #VALUE!",
        EXCEL,
        {"GPUS(#SPILL!, 2)": VALUE, "GPUS({26; #SPILL!}, 2)": [[52], [VALUE]]},
    ),
    Difference(
        "in the macros for desktop Excel, a cell in a date format is #VALUE!",
        ("Python", *DESKTOP),
        {"GPUS(date 46355, 2)": VALUE},
    ),
    Difference(
        "TRUE in a cell arrives as the number 1, FALSE as 0",
        ("LibreOffice",),
        {
            "GPUS(TRUE, 2)": 2,
            "GPUS(26, FALSE)": NUM,
            "GPUS({26; TRUE}, 2)": [[52], [2]],
            'MODEL(TRUE, "layers")': NA,
            "CAPACITY_EXPLAIN(TRUE)": NA,
        },
    ),
    Difference(
        "an empty text within a range arrives as a blank cell, which counts as 0",
        ("LibreOffice",),
        {'GPUS({26; ""}, 2)': [[52], [0]]},
    ),
    Difference(
        "a range with an error cell is answered with Err:504 as a whole, before the function is called",
        ("LibreOffice",),
        {
            "GPUS({26; #N/A}, 2)": [[CALC_ERROR]] * 2,
            "GPUS({26, #DIV/0!}, 2)": [[CALC_ERROR] * 2],
            "GPUS({26; #N/A}, {2, #REF!})": [[CALC_ERROR] * 2] * 2,
        },
    ),
    Difference(
        "an error cell wins over a wrong argument before it, and over an error cell before it",
        ("LibreOffice",),
        {'GPUS("x", #DIV/0!)': DIV0, "GPUS(-1, #N/A)": NA, "GPUS(#REF!, #DIV/0!)": DIV0},
    ),
    Difference(
        "CAPACITY_EXPLAIN of an error cell is that error, not a sentence about it",
        ("LibreOffice",),
        {'CAPACITY_EXPLAIN("GPUS", #N/A, 2)': NA},
    ),
    Difference(
        "a text function over a range is #VALUE!, and so are MODEL, GPU and CHEAPEST: fill the formula down instead",
        ("LibreOffice",),
        {
            "TPOT_VERDICT(50, {40; 60}, 30)": [[VALUE]] * 2,
            'TPOT_VERDICT(50, {40; "x"}, 30)': [[VALUE]] * 2,
            "TPOT_VERDICT(50, {40, 60}, 30)": [[VALUE] * 2],
            "CAPACITY_VERSION({1; 2})": [[VALUE]] * 2,
            'CAPACITY_EXPLAIN("GPUS", {26; -1}, 2)': [[VALUE]] * 2,
            'MODEL({"Llama-3.3-70B"; "DeepSeek-R1"}, "n_experts")': [[VALUE]] * 2,
            'GPU({"H200"; "H999"}, {"memory_gb", "vendor"})': [[VALUE] * 2] * 2,
        },
    ),
    Difference(
        "PLAN of tpot_verdict is #VALUE!: give TPOT_VERDICT the target and the plan's two times instead",
        ("LibreOffice",),
        {'PLAN("tpot_verdict", "Llama-3.3-70B", "H200 SXM", 50, 3000, 400)': VALUE},
    ),
    Difference(
        "an argument that is left out, but for those at the end, arrives as 0",
        ("formualizer",),
        {
            "REPLICAS(16.67, , 2)": NUM,
            "KV_POOL_GB(100, 35, , 3)": NUM,
            "REPLICAS(, 0.65)": 0,
            "GPUS(, 2)": 0,
            "REPLICAS(16.67, , #N/A)": NUM,
            "GPUS({26; 31}, )": [[NUM]] * 2,
            "REPLICAS({16.67; 1}, , {0, 2})": [[NUM] * 2] * 2,
            'CAPACITY_EXPLAIN("REPLICAS", , 0.65)': "0 busy replicas / 0.65 = 0, rounded up to 0 replicas",
            'CAPACITY_EXPLAIN("REPLICAS", 16.67, , 2)': "utilization must be > 0 and < 1: 0",
            'PLAN("kv_gb_per_seq", "DeepSeek-R1", "H200 SXM", 50, 3000, 400, 8, , , "fp8")': NUM,
            f'PLAN("gpus", "Llama-3.3-70B", "H200 SXM", 50, 3000, 400{", " * 10}0.5)': NUM,
            f'PLAN("replicas", "Llama-3.3-70B", "H200 SXM", 50, 3000, 400{", " * 11}3)': NUM,
        },
    ),
]


def forced(host: str) -> dict[str, Any]:
    """What the cells of a host show otherwise, by the call."""
    return {text: shown for d in DIFFERENCES if host in d.hosts for text, shown in d.shown.items()}
