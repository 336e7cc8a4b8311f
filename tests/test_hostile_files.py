"""Files that are no workbook, or made to hurt: one sentence, within 2 s and 300 MB, and nothing of them is executed."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hostile import (
    BOOK,
    HOSTILE,
    INPUTS,
    LINKS,
    NS,
    RELATION,
    SHEET,
    STRINGS,
    cells,
    changed,
    packed,
    parts_of,
    with_part,
)

from capacity.errors import CapacityError
from workbook.cells import sheets
from workbook.reader import read

MAX_S, MAX_MB = 2.0, 300

# A process that runs the command, and says what it took (seconds of the processor, MB) and did beside reading.
WATCHED = """
import sys, time
did = []
def watch(event, args):
    acts = event.startswith(("subprocess", "socket", "os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes"))
    writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if acts or writes or event == "open" and "passwd" in str(args[0]):
        did.append([event, str(args[0])])
sys.addaudithook(watch)
sys.dont_write_bytecode = True
from capacity.cli import main
code = main(["plan", "--workbook", sys.argv[1]])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print()
print(code, time.process_time(), int(peak.split()[1]) / 1000, did, sep="|")
"""


def watched(path: Path) -> tuple[int, float, float, list[Any], str, str]:
    """Exit code, seconds, MB, what was done beside reading, stdout and stderr of the command on a file."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout, done.stderr
    out, _, last = done.stdout.rstrip("\n").rpartition("\n")
    code, seconds, megabytes, did = last.split("|", 3)
    return int(code), float(seconds), float(megabytes), json.loads(did.replace("'", '"')), out.strip("\n"), done.stderr


@pytest.mark.parametrize("what", HOSTILE)
def test_one_sentence(what: str, template: Path, tmp_path: Path) -> None:
    make, sentence = HOSTILE[what]
    path = make(template, tmp_path)
    code, seconds, megabytes, did, out, err = watched(path)
    assert (code, did, out) == (2, [], "")
    assert err.count("\n") == 1
    assert sentence in err
    assert str(path) in err
    assert "Traceback" not in err
    assert len(err) < 400
    assert seconds <= MAX_S
    assert megabytes <= MAX_MB


def test_what_it_costs_to_read_a_workbook(template: Path) -> None:
    """The watch sees a plan as it is: no program started, nothing written, far below the limits."""
    code, seconds, megabytes, did, out, err = watched(template)
    assert (code, did, err) == (0, [], "")
    assert "26 replicas, 52 GPUs" in out
    assert seconds <= MAX_S
    assert megabytes <= MAX_MB


def test_a_hostile_sheet_that_nobody_reads(template: Path, tmp_path: Path) -> None:
    """Sheets of a team's own are left unread, whatever their size."""
    path = with_part("xl/worksheets/sheet12.xml", cells(1_000_000, '<c r="A{}" s="1"/>'))(template, tmp_path)
    code, seconds, megabytes, _, out, err = watched(path)
    assert (code, err) == (0, "")
    assert "26 replicas, 52 GPUs" in out
    assert seconds <= MAX_S
    assert megabytes <= MAX_MB


def test_damage_anywhere_is_a_sentence(template: Path, tmp_path: Path) -> None:
    """Bytes changed at random, in the file and in a part of it: a plan or a sentence, never another exception."""
    chance, path, parts = random.Random(7), tmp_path / "a.xlsx", parts_of(template)
    refused = 0
    for _ in range(200):
        part = chance.choice([INPUTS, STRINGS, BOOK, LINKS, None])
        data = bytearray(parts[part] if part else template.read_bytes())
        for _ in range(chance.choice([1, 5, 50])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if part:
            packed(path, parts | {part: bytes(data)})
        else:
            path.write_bytes(data)
        refused += sentence_for(path).count("\n") == 0
    assert refused > 100


def test_a_sheet_without_an_address_is_a_sentence(template: Path, tmp_path: Path) -> None:
    parts = parts_of(template)
    packed(tmp_path / "a.xlsx", parts | {BOOK: parts[BOOK].replace(b" r:id=", b" r:iz=", 1)})
    assert sentence_for(tmp_path / "a.xlsx").endswith("is no .xlsx workbook, or is damaged")


def sentence_for(path: Path) -> str:
    """What is wrong with a file; a line end when nothing is."""
    try:
        read(path)
    except CapacityError as error:
        return str(error)
    return "\n"


def test_values_of_every_kind(tmp_path: Path) -> None:
    """Rich text without its phonetic reading, booleans, errors, texts in the cell, results, a formula without one."""
    book = openpyxl.Workbook()
    book.active.title = "Inputs"
    path = tmp_path / "plain.xlsx"
    book.save(path)
    content = SHEET.format(
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="b"><v>1</v></c><c r="C1" t="e"><v>#N/A</v></c>'
        '<c r="D1" t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r></is></c><c r="E1"><f>1+1</f><v>2</v></c>'
        '<c r="F1"><f>1+1</f><v/></c><c r="G1" t="str"><f>""</f><v></v></c><c r="H1" s="4"/><c r="I1"><v>1E3</v></c>'
        '<c r="J1" t="e"><v>&lt;b&gt;</v></c><c r="K1"><v>x</v></c></row>'
    )
    strings = f'<sst xmlns="{NS}"><si><r><t>a</t></r><rPh sb="0" eb="1"><t>(ah)</t></rPh><r><t>b</t></r></si></sst>'
    parts = parts_of(
        changed(LINKS, "</Relationships>", RELATION.format("sharedStrings", STRINGS[3:], ""))(path, tmp_path)
    )
    parts |= {"xl/worksheets/sheet1.xml": content.encode(), STRINGS: strings.encode()}
    made = packed(tmp_path / "b.xlsx", parts)
    found = sheets(made, ["Inputs", "Facts"])
    assert list(found) == ["Inputs"]
    assert {place.column: (repr(cell.value), cell.formula) for place, cell in found["Inputs"].items()} == {
        "A": ("'ab'", False),
        "B": ("True", False),
        "C": ("#N/A", False),
        "D": ("'inline'", False),
        "E": ("2.0", True),
        "F": ("None", True),
        "G": ("''", True),
        "I": ("1000.0", False),
        "J": ("#VALUE!", False),
        "K": ("'x'", False),
    }
