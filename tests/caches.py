"""Where the CI scripts put what is downloaded once: Pyodide for Node, Windows' Python for Wine."""

import os
from pathlib import Path


def cache(name: str, variable: str) -> Path:
    """The folder that an environment variable names, or one in the user's cache, as .ci/run and .ci/node.sh have it."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get(variable) or user / "llm-capacity" / name)
