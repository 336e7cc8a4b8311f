"""Where LibreOffice's programs are, and the environment that they run in."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_WITHIN_S = 120


def soffice() -> str | None:
    """The program itself, not the shell script that starts it: that one would survive a kill of its child."""
    script = shutil.which("soffice") or shutil.which("libreoffice")
    if script is None:
        return None
    binary = Path(script).resolve().with_name("soffice.bin")
    return str(binary) if binary.exists() else script


def unopkg() -> str | None:
    """The extension manager."""
    return shutil.which("unopkg")


@functools.cache
def uno_python() -> str | None:
    """A Python that can `import uno`: this one, the system's or the one that LibreOffice ships."""
    beside = [str(Path(program).with_name("python")) for program in [soffice()] if program]
    for python in [sys.executable, "/usr/bin/python3", *beside]:
        if shutil.which(python) and subprocess.run([python, "-c", "import uno"], capture_output=True).returncode == 0:
            return python
    return None


def install(oxt: Path, home: Path, *, shared: bool = False) -> "subprocess.CompletedProcess[str]":
    """`unopkg add` into the profile home/profile, or for all users, who are those of home; it is open to everyone.

    unopkg refuses to add an extension for root alone, so there it runs as nobody.
    """
    import pwd  # there is none on Windows

    copy = shutil.copy(oxt, home)
    nobody = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    folders = [f"-env:UserInstallation={(home / 'profile').as_uri()}"]
    if shared:
        folders += ["--shared", f"-env:UNO_SHARED_PACKAGES_CACHE={(home / 'shared').as_uri()}"]
    return subprocess.run(
        [unopkg() or "unopkg", "add", copy, *folders],
        capture_output=True,
        encoding="utf-8",
        env={**environment(), "HOME": str(home)},
        cwd=home,
        timeout=INSTALL_WITHIN_S,
        **({"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()} if nobody else {}),
    )


def environment() -> dict[str, str]:
    """Our environment, with the Python that knows LibreOffice first.

    The Python inside the office takes the first python3 on PATH for its own, be that in a virtual environment or of
    another installation: then it does not find the module uno, and no extension in Python loads.
    """
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    if python := uno_python():
        kept["PATH"] = os.pathsep.join([str(Path(python).parent), kept.get("PATH", os.defpath)])
    return kept
