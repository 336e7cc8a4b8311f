"""main.py for xlwings Lite: this project's own sources in one file, which Python then imports as they are."""

from typing import Final

import capacity

from .. import bundle

_HEAD: Final = '''\
"""llm-capacity {version} for xlwings Lite. Apache-2.0, without warranty.

The functions in one file: it needs the standard library and xlwings, and downloads nothing. It holds the project's
own sources as they are, each under its path; the lines at the end put them where Python imports them from.
"""

import sys
import tempfile
from pathlib import Path

FILES = {{}}
'''

_TAIL: Final = """
# Where Python imports them from: a folder of this run, in the browser a folder in memory.
for name in [name for name in sys.modules if name.partition(".")[0] in ("addin", "capacity")]:
    del sys.modules[name]  # of an earlier run of this script
root = Path(tempfile.mkdtemp(prefix="llm-capacity-"))
for name, text in FILES.items():
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, "utf-8")
sys.path.insert(0, str(root))

from addin.udfs import *  # the functions, each under its Excel name
"""


def main_py() -> str:
    """The script."""
    files = "".join(_entry(name, content.decode()) for name, content in bundle.files("addin.udfs"))
    return _HEAD.format(version=capacity.__version__) + files + _TAIL


def _entry(name: str, text: str) -> str:
    """One file, as a text in which nothing needs an escape."""
    if "'''" in text or not text.endswith("\n"):
        raise ValueError(f"{name} must be free of ''' and end with a line break, so that a raw text can hold it")
    return f"\n# {f' {name} ':-^116}\n\nFILES[{name!r}] = r'''{text}'''\n"
