"""`capacity serve`: what it says when it cannot start, and how its workers end."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import found, need
from office import node
from office.own_server import Server, serving, xlwings_server

from addin.server import build, serve
from capacity.errors import CallError, InputError


def test_a_single_worker_and_functions_of_ones_own(server: Server, project: Path, tmp_path: Path) -> None:
    """What a team defines below the import is served beside ours."""
    folder = build(tmp_path / "project", project / "static/capacity.xlsx")
    functions = folder / "custom_functions/__init__.py"
    functions.write_text(
        functions.read_text() + "\nimport xlwings as xw\n\n@xw.func\ndef TWICE(x):\n    return 2 * x\n"
    )
    with serving(folder, workers=1) as other:
        assert other.call("TWICE", [[[21]]]) == (200, [[42]])
        assert other.call("GPUS", [[[26]], [[2]]]) == (200, [[52]])
        assert other.call("xw", [[[21]]])[0] == 400


def started(project: Path, port: str = "8000", **environment: str) -> str:
    """What the command says when it does not start, in a user's environment without settings of xlwings."""
    program = (
        "import sys; from addin.server import serve; from capacity.errors import CapacityError\n"
        f"try: serve(sys.argv[1], 2, {port})\nexcept CapacityError as error: print(error)"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith("XLWINGS_")} | environment
    done = subprocess.run(
        [sys.executable, "-c", program, project], capture_output=True, text=True, env=clean, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_missing_key_is_one_sentence(project: Path, tmp_path: Path) -> None:
    found("xlwings-server", xlwings_server())
    sentence = started(project, HOME=str(tmp_path))
    assert sentence.startswith("xlwings Server needs its license key in the environment variable XLWINGS_LICENSE_KEY:")
    assert len(sentence.splitlines()) == 1
    assert "Invalid" in started(project, HOME=str(tmp_path), XLWINGS_LICENSE_KEY="wrong")


def test_a_port_in_use_is_one_sentence(server: Server, project: Path) -> None:
    sentence = started(project, str(server.port), XLWINGS_LICENSE_KEY=str(node.license_key()))
    assert sentence == f"cannot serve on port {server.port}: Address already in use"


def test_what_cannot_be_served(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CallError, match="must be a folder that `capacity build --host server` wrote"):
        serve(tmp_path)
    with pytest.raises(InputError, match="workers must be a whole number >= 1: 0"):
        serve(project, workers=0)
    monkeypatch.setitem(sys.modules, "xlwings_server", None)
    with pytest.raises(CallError, match="xlwings Server is not installed: pip install"):
        serve(project)


@pytest.fixture
def folder(project: Path, tmp_path: Path) -> Path:
    """A project of one's own, to spoil."""
    found("xlwings-server", xlwings_server())
    return Path(shutil.copytree(project, tmp_path / "project"))


def refused(folder: Path) -> str:
    """What the command says in one line."""
    sentence = started(folder, XLWINGS_LICENSE_KEY=str(node.license_key()))
    assert len(sentence.splitlines()) == 1
    return sentence


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("[tool.xlwings_server\n", "Expected ']' at the end of a table declaration (at line 1, column 21)"),
        ("[tool.xlwings_server]\nenvironment = 5\n", "environment: Input should be 'dev'"),
        ("[tool]\nxlwings_server = 5\n", ""),
    ],
)
def test_broken_settings_are_one_sentence(folder: Path, settings: str, reason: str) -> None:
    (folder / "pyproject.toml").write_text(settings)
    assert refused(folder).startswith(f"xlwings Server cannot use the settings in {folder}: {reason}")


@pytest.mark.parametrize(
    ("code", "line", "reason"),
    [
        ("\n1 / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("import no_such_package\n", 1, "ModuleNotFoundError: No module named 'no_such_package'"),
        ("def f(:\n", 1, "SyntaxError: invalid syntax"),
        ("raise SystemExit('enough')\n", 1, "SystemExit: enough"),
    ],
)
def test_a_fault_in_ones_own_functions_is_one_sentence(folder: Path, code: str, line: int, reason: str) -> None:
    functions = folder / "custom_functions/__init__.py"
    functions.write_text(code)
    assert refused(folder).startswith(f"{functions}, line {line}: {reason}")


def test_a_fault_at_the_start_of_the_team_is_one_sentence(folder: Path) -> None:
    """xlwings Server itself would log all of it before."""
    (folder / "lifespan.py").write_text("no_such_name\n")
    assert refused(folder) == f"{folder / 'lifespan.py'}, line 1: NameError: name 'no_such_name' is not defined"


def certify(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost and its key, as mkcert names them."""
    certs = folder / "certs"
    certs.mkdir()
    certificate, key = certs / "localhost.pem", certs / "localhost-key.pem"
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    subprocess.run([need("openssl"), *made, "-out", certificate, "-keyout", key], check=True, stderr=subprocess.DEVNULL)
    return certificate, key


def test_half_a_certificate_is_one_sentence(folder: Path) -> None:
    """It never serves plain HTTP to whoever has put a certificate there."""
    certificate, key = certify(folder)
    for there, missing in ((certificate, key), (key, certificate)):
        missing.rename(folder / "elsewhere")
        assert refused(folder) == f"HTTPS needs {there} and {missing}: the second is missing"
        (folder / "elsewhere").rename(missing)


def test_a_certificate_that_is_none_is_one_sentence(folder: Path) -> None:
    certificate, key = certify(folder)
    good, rule = certificate.read_bytes(), f"{certificate} and {key} must be a certificate and its key, in PEM"
    certificate.write_text("no certificate")
    assert refused(folder).startswith(rule)
    certificate.unlink()
    certificate.mkdir()
    assert refused(folder).startswith(rule)
    certificate.rmdir()
    certificate.write_bytes(good)
    locked = (need("openssl"), "rsa", "-aes256", "-passout", "pass:secret", "-in", key, "-out", key)
    subprocess.run(locked, check=True, stderr=subprocess.DEVNULL)
    assert refused(folder).startswith(rule)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_workers_end_with_the_command(folder: Path) -> None:
    """Killed, it cannot tell them; left alone they would go on serving."""
    with serving(folder, workers=2) as server:
        workers = server.workers()
        assert len(workers) == 2
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait(10)
        for _ in range(100):
            if not any(Path(f"/proc/{pid}").exists() for pid in workers):
                break
            time.sleep(0.1)
        left = [pid for pid in workers if Path(f"/proc/{pid}").exists()]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == []
        assert not server.is_up()
