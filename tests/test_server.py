"""xlwings Server: a project built here, run by our command, called as Excel calls it, loaded, and fed with rubbish."""

import http.client
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from conftest import audited, found, need
from lxml import etree
from office import node
from office.office_js import CALLS, expected, received, sent

import capacity
from addin.server import build, serve
from capacity.call import call
from capacity.errors import CallError, InputError
from capacity.registry import FUNCTIONS
from capacity.spelling import HOSTS
from workbook.build import build as build_workbook

WORKERS, CLIENTS, CALLS_EACH = 2, 16, 200
CALL = "/xlwings/custom-functions-call"
SERVE = "import sys; from addin.server import serve; serve(sys.argv[1], {workers}, {port})"


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project folder; tests must not change it."""
    spelled = build_workbook(tmp_path_factory.mktemp("spelled") / "capacity.xlsx", host="server")
    return build(tmp_path_factory.mktemp("server"), spelled)


@contextmanager
def serving(folder: Path, workers: int = WORKERS) -> Iterator["Server"]:
    """The project, run by our command in a process of its own."""
    try:
        import xlwings_server  # noqa: F401
    except ImportError:
        found("xlwings-server", None)
    found("xlwings' license key (XLWINGS_LICENSE_KEY)", node.license_key())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVE.format(workers=workers, port=port), folder]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            server = Server(port, process)
            for _ in range(300):
                if process.poll() is not None or server.is_up():
                    break
                time.sleep(0.1)
            log.seek(0)
            assert server.is_up(), log.read()
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


class Server:
    """A running server, as a client sees it."""

    def __init__(self, port: int, process: subprocess.Popen[bytes]) -> None:
        self.port, self.process = port, process
        self.address = f"http://127.0.0.1:{port}"

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read(), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    def call(self, name: str, args: list[Any], **other: Any) -> tuple[int, Any]:
        """Status and answer of a call, as xlwings' client sends it."""
        body = {"client": "Office.js", "version": "0.37.8", "runtime": "1.4", "caller_address": "[B]S!A1"}
        body |= {"culture_info_name": "en-US", "date_format": "m/d/yyyy", "func_name": name, "args": args, **other}
        status, answer, _ = self.request("POST", CALL, json.dumps(body).encode())
        return status, json.loads(answer)["result"] if status == 200 else answer.decode()

    def is_up(self) -> bool:
        """Does the health check say so?"""
        try:
            status, body, _ = self.request("GET", "/health")
        except OSError:
            return False
        return status == 200 and json.loads(body)["status"] == "ok"

    def workers(self) -> list[int]:
        """Process ids of the workers."""
        pids = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        spawned = {p: Path(f"/proc/{p}/cmdline").read_bytes() for p in pids}
        return [int(p) for p, command in spawned.items() if b"spawn_main" in command]


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[Server]:
    with serving(project) as running:
        yield running


def test_excel_gets_what_python_gives(server: Server) -> None:
    """xlwings' own JavaScript, from the server itself, calls the functions as Excel's runtime does."""
    need("node")
    calls = [[name, sent(args, bool(FUNCTIONS[name].vararg))] for name, args in CALLS]
    answer = node.run("excel_client.mjs", {"address": server.address, "calls": calls})
    assert sorted(answer["associated"]) == sorted(answer["meta"]) == sorted(FUNCTIONS)
    for (name, args), result in zip(CALLS, answer["results"], strict=True):
        assert received(result["value"]) == expected(name, args), name


def test_excel_shows_why_a_call_is_refused(server: Server) -> None:
    """One request, no retry, and the sentence on hover over #VALUE!."""
    need("node")
    column = [[1]] * 100_001
    answer = node.run("excel_client.mjs", {"address": server.address, "calls": [["GPUS", [column, [[2]]]]]})
    (result,) = answer["results"]
    assert result["error"].startswith("a call takes at most 100,000 cells: 100,001 rows by 1 columns")
    assert (result["shown"], result["posts"]) == ("#VALUE!", 1)


def test_no_answer_is_wrong_or_lost_when_a_worker_dies(server: Server) -> None:
    """16 clients call 200 times each, all at once; meanwhile a worker is killed, and another takes its place."""
    done, lost, wrong = itertools.count(), [], []
    before = server.workers()
    assert len(before) == WORKERS

    def client(number: int) -> None:
        for i in range(CALLS_EACH):
            replicas, tp = float(number * CALLS_EACH + i), float(1 + i % 8)
            for attempt in range(20):
                try:
                    status, answer = server.call("GPUS", [[[replicas]], [[tp]]])
                    break
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05 * attempt)
            else:
                lost.append((number, i))
                continue
            if (status, answer) != (200, [[call("GPUS", [replicas, tp])]]):
                wrong.append((number, i, status, answer))
            next(done)

    clients = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for thread in clients:
        thread.start()
    while next(done) < CLIENTS * CALLS_EACH // 4:
        time.sleep(0.005)
    os.kill(before[0], signal.SIGKILL)
    for thread in clients:
        thread.join()
    assert (lost, wrong) == ([], [])
    for _ in range(100):
        if len(server.workers()) == WORKERS:
            break
        time.sleep(0.1)
    assert len(server.workers()) == WORKERS
    assert before[0] not in server.workers()


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b'{"func_name": "GPU', 400, "the request is not JSON: Unterminated string"),
        (b"", 400, "the request is not JSON: Expecting value"),
        (b"\xff\xfe{}", 400, "the request is not JSON"),
        (b"[" * 200_000, 400, "the request is not JSON"),
        (b"[1, 2]", 400, "the request is no call of a function: func_name is missing"),
        (b'{"func_name": "GPUS"}', 400, "the request is no call of a function: args is missing"),
        (b" " * 10_000_001, 413, "a request must have at most 10 MB"),
        (b" " * 40_000_000, 413, "a request must have at most 10 MB"),
    ],
    ids=["cut off", "empty", "not UTF-8", "nested", "a list", "no arguments", "too large", "far too large"],
)
def test_a_bad_request_is_one_clear_sentence(server: Server, body: bytes, status: int, sentence: str) -> None:
    answered, text, _ = server.request("POST", CALL, body)
    assert (answered, text.decode()[: len(sentence)]) == (status, sentence)
    assert len(text.splitlines()) == 1
    assert server.call("GPUS", [[[26]], [[2]]]) == (200, [[52]])


@pytest.mark.parametrize(
    ("name", "args", "sentence"),
    [
        ("GPUSS", [], "no function is called 'GPUSS'; did you mean 'GPUS'?"),
        ("os", [], "no function is called 'os'"),
        ("__class__", [], "no function is called '__class__'"),
        (["GPUS"], [], "the request is no call of a function"),
        ("GPUS", {"x": 1}, "the request is no call of a function"),
        ("GPUS", [[[1]] * 1_000_000, [[2]]], "a call takes at most 100,000 cells: 1,000,000 rows by 1 columns"),
        ("GPUS", [[[1] * 1000] * 1000, [[2]]], "a call takes at most 100,000 cells: 1,000 rows by 1,000 columns"),
        ("GPUS", [[[1]] * 1000, [[2] * 1000]], "a call takes at most 100,000 cells: 1,000 rows by 1,000 columns"),
        ("CAPACITY_EXPLAIN", [[["GPUS"]], [[[1]] * 200_000]], "a call takes at most 100,000 cells: 200,000 rows"),
    ],
)
def test_a_bad_call_is_one_clear_sentence(server: Server, name: Any, args: Any, sentence: str) -> None:
    status, text = server.call(name, args)
    assert (status, text[: len(sentence)]) == (400, sentence)
    assert server.call("GPUS", [[[26]], [[2]]]) == (200, [[52]])


def test_a_large_block_is_answered(server: Server) -> None:
    column = [[i] for i in range(100_000)]
    assert server.call("GPUS", [column, [[2]]]) == (200, [[2 * i] for [i] in column])


def test_what_else_is_malformed_leaves_the_server_up(server: Server) -> None:
    for args in ([5], ["x"], [[[[[1]]]]], [[[1], [2, 3]]], [{}], [[]], [[[]]], [[[{}]]], [[[1]]] * 40):
        assert server.call("GPUS", args)[0] in (200, 400, 500)
    assert server.is_up()


def test_the_health_check(server: Server) -> None:
    status, body, _ = server.request("GET", "/health")
    assert status == 200
    assert json.loads(body) == {
        "status": "ok",
        "version": capacity.__version__,
        "functions": len(FUNCTIONS),
        "example_gpus": 52.0,
    }


def test_the_manifest_leads_to_what_the_server_has(server: Server) -> None:
    """Well-formed, and every address in it answers."""
    status, body, headers = server.request("GET", "/manifest/download")
    assert status == 200
    assert "llm-capacity-prod.xml" in headers["content-disposition"]
    manifest = etree.fromstring(body)
    assert not list(manifest.iter("{*}Namespace"))
    addresses = {v for e in manifest.iter() for v in e.attrib.values() if v.startswith(server.address)}
    assert len(addresses) >= 6
    for address in addresses:
        assert server.request("GET", address.removeprefix(server.address))[0] == 200, address


def test_the_workbook_that_it_hands_out(server: Server, project: Path, tmp_path: Path) -> None:
    status, body, _ = server.request("GET", "/static/capacity.xlsx")
    assert status == 200
    workbook = tmp_path / "capacity.xlsx"
    workbook.write_bytes(body)
    assert audited(workbook) == "expected to open cleanly"
    formulas = [c.value for ws in openpyxl.load_workbook(workbook) for row in ws for c in row if c.data_type == "f"]
    assert sum("_xldudf_" in str(f) for f in formulas) > 100


class Page(HTMLParser):
    """The texts of a page, and the ids of its articles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.articles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "article":
            self.articles.append(str(dict(attrs)["id"]))

    def handle_data(self, data: str) -> None:
        self.texts.append(" ".join(data.split()))


def test_the_landing_page_has_every_function_and_every_license(server: Server) -> None:
    status, body, _ = server.request("GET", "/")
    assert status == 200
    page = Page(body.decode())
    text = " ".join(page.texts)
    assert sorted(page.articles) == sorted(FUNCTIONS)
    for spec in FUNCTIONS.values():
        assert spec.signature in page.texts
        assert f"={spec.formula()}" in page.texts
        assert {name for name in spec.args} | {a.meaning for a in spec.args.values()} <= set(page.texts)
    for host in HOSTS.values():
        assert {host.title, host.license} <= set(page.texts)
    assert "any commercial use needs a paid license" in text
    assert "$" not in body.decode().replace("$3.50", "")


def test_the_project_holds_no_key(project: Path) -> None:
    for path in (
        p for p in project.rglob("*") if p.is_file() and p.suffix in (".py", ".toml", ".txt", ".xml", ".html")
    ):
        assert "noncommercial" not in path.read_text("utf-8").replace("noncommercial use", "")
        assert "license_key =" not in path.read_text("utf-8").lower()


def test_a_folder_may_be_built_again(project: Path, tmp_path: Path) -> None:
    """What is the user's own in it stays."""
    folder = tmp_path / "new" / "folder"
    build(folder, project / "static/capacity.xlsx")
    (folder / ".env").write_text("XLWINGS_HOSTNAME=capacity.example.com\n")
    build(folder, project / "static/capacity.xlsx")
    assert (folder / ".env").read_text() == "XLWINGS_HOSTNAME=capacity.example.com\n"
    files = {p.relative_to(folder) for p in folder.rglob("*") if p.is_file()} - {Path(".env")}
    assert {Path("README.md"), Path("pyproject.toml"), Path("custom_functions/__init__.py")} < files
    assert all((folder / f).read_bytes() == (project / f).read_bytes() for f in files)


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
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_missing_key_is_one_sentence(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("xlwings_server") if not os.environ.get("CI") else None
    sentence = started(project, HOME=str(tmp_path))
    assert sentence.startswith("xlwings Server needs its license key in the environment variable XLWINGS_LICENSE_KEY:")
    assert len(sentence.splitlines()) == 1
    assert "Invalid" in started(project, HOME=str(tmp_path), XLWINGS_LICENSE_KEY="wrong")


def test_a_port_in_use_is_one_sentence(server: Server, project: Path) -> None:
    sentence = started(project, str(server.port), XLWINGS_LICENSE_KEY=str(node.license_key()))
    assert sentence == f"cannot serve on port {server.port}: Address already in use"


def test_what_cannot_be_served(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="DIR must be a folder that `capacity build --host server` wrote"):
        serve(tmp_path)
    with pytest.raises(InputError, match="workers must be a whole number >= 1: 0"):
        serve(project, workers=0)
    monkeypatch.setitem(sys.modules, "xlwings_server", None)
    with pytest.raises(CallError, match="xlwings Server is not installed: pip install"):
        serve(project)
