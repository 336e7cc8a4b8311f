"""What `capacity doctor` reports: facts, each with a verdict."""

from typing import Final, NamedTuple

GOOD: Final = "good"
MISSING: Final = "optional"
AMISS: Final = "amiss"


class Finding(NamedTuple):
    """What was looked at, what was found, the verdict, and what mends it."""

    what: str
    found: str
    verdict: str = GOOD
    remedy: str = ""
