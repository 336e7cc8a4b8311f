"""main.py for xlwings Lite: this project's own sources in one file, which Python then imports as they are."""

from typing import Final

import capacity
from capacity.catalogue import OWN_MODELS
from capacity.errors import CallError

from .. import bundle

_MODELS: Final = "models.csv"  # a team's own, beside the packages

_HEAD: Final = '''\
"""llm-capacity {version} for xlwings Lite. Apache-2.0, without warranty.

The functions in one file: it needs the standard library and xlwings, and downloads nothing. It holds the project's
own sources as they are, each under its path; the lines at the end put them where Python imports them from.
"""

FILES = {{}}
'''

_TAIL: Final = f"""

def _install(files):
    \"\"\"Put the files where Python imports them from: a folder of this run, in the browser a folder in memory.\"\"\"
    import os
    import sys
    import tempfile
    from pathlib import Path

    earlier = getattr(sys.modules.get("addin"), "folder", None)  # of a run of this script before
    for name in [name for name in sys.modules if name.partition(".")[0] in ("addin", "capacity")]:
        del sys.modules[name]
    if earlier:
        sys.path[:] = [path for path in sys.path if path != earlier.name]
        os.environ.pop("{OWN_MODELS}", None)
        earlier.cleanup()
    folder = tempfile.TemporaryDirectory(prefix="llm-capacity-")
    for name, text in files.items():
        path = Path(folder.name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    if "{_MODELS}" in files:
        os.environ["{OWN_MODELS}"] = str(Path(folder.name, "{_MODELS}"))
    sys.path.insert(0, folder.name)
    import addin

    addin.folder = folder


_install(FILES)
del FILES, _install

from addin.udfs import *  # the functions, each under its Excel name
"""


def main_py(models: str = "") -> str:
    """The script; models is the text of a team's own file, which it then carries for MODEL and PLAN."""
    files = [(name, content.decode()) for name, content in bundle.files("addin.udfs")]
    if models:
        files.append((_MODELS, models))
    return _HEAD.format(version=capacity.__version__) + "".join(_entry(*file) for file in files) + _TAIL


def _entry(name: str, text: str) -> str:
    """One file, as a text in which nothing needs an escape."""
    text = text if text.endswith("\n") else f"{text}\n"
    if "'''" in text:
        raise CallError(f"{name} must be free of three quotes in a row, so that main.py can hold it as it is")
    return f"\n# {f' {name} ':-^116}\n\nFILES[{name!r}] = r'''{text}'''\n"
