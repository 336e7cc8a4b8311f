"""`capacity doctor`, asked in this process."""

import json

import pytest

from capacity.cli import main
from capacity.finding import AMISS, GOOD, MISSING, Finding


def asked(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict[str, Finding]]:
    """Exit code and findings by what was looked at; each has a verdict, and a remedy unless it is good."""
    code = main(["doctor", "--json", *args])
    found = [Finding(**entry) for entry in json.loads(capsys.readouterr().out)]
    assert len({f.what for f in found}) == len(found)
    assert all(f.remedy for f in found if f.verdict != GOOD)
    assert {f.verdict for f in found} <= {GOOD, MISSING, AMISS}
    assert code == any(f.verdict == AMISS for f in found)
    return code, {f.what: f for f in found}
