"""xlwings Server: a project built here, run by our command, called as Excel calls it, loaded, and fed with rubbish."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from conftest import audited, found, need
from lxml import etree
from office import node
from office.browser import Browser, chromium
from office.own_server import CALL, Server, serving, xlwings_server

import capacity
from addin.server import build, serve
from capacity.call import call
from capacity.errors import CallError, InputError
from capacity.registry import FUNCTIONS
from capacity.spelling import HOSTS

WORKERS, CLIENTS, CALLS_EACH = 2, 16, 200


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[Server]:
    found("xlwings-server", xlwings_server())
    found("xlwings' license key (XLWINGS_LICENSE_KEY)", node.license_key())
    with serving(project, WORKERS) as running:
        yield running


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
    answered, tried_again, lost, wrong = [], [], [], []
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
                    tried_again.append((number, i))
                    time.sleep(0.05 * attempt)
            else:
                lost.append((number, i))
                continue
            if (status, answer) != (200, [[call("GPUS", [replicas, tp])]]):
                wrong.append((number, i, status, answer))
            answered.append((number, i))

    clients = [threading.Thread(target=client, args=(n,)) for n in range(CLIENTS)]
    for thread in clients:
        thread.start()
    while len(answered) < CLIENTS * CALLS_EACH // 4:
        time.sleep(0.005)
    os.kill(before[0], signal.SIGKILL)
    for thread in clients:
        thread.join()
    assert len(answered) == CLIENTS * CALLS_EACH
    assert tried_again  # the worker had calls in hand when it died
    assert (lost, wrong) == ([], [])
    for _ in range(100):
        if len(server.workers()) == WORKERS:
            break
        time.sleep(0.1)
    assert len(server.workers()) == WORKERS
    assert before[0] not in server.workers()


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
        assert set(spec.args) | {a.meaning for a in spec.args.values()} <= set(page.texts)
    for host in HOSTS.values():
        assert {host.title, host.license} <= set(page.texts)
    assert "any commercial use needs a paid license" in text
    assert "$" not in body.decode().replace("$3.50", "")


def test_the_landing_page_in_a_browser(server: Server, tmp_path: Path) -> None:
    """The search box narrows the list while one types, and the button downloads the workbook."""
    program = found("chromium", chromium())
    with Browser(program) as browser:
        browser.open(server.address)
        shown = "[...document.querySelectorAll('article')].filter(a => a.offsetHeight).map(a => a.id)"
        assert len(browser.value(shown)) == len(FUNCTIONS)
        assert browser.value("document.querySelector('output').textContent") == "{0} of {0} functions".format(
            len(FUNCTIONS)
        )
        browser.click("#find")
        browser.type("kv POOL")
        found_by_words = browser.value(shown)
        assert "KV_POOL_GB" in found_by_words
        assert 1 < len(found_by_words) < 10
        browser.type(" no such word")
        assert browser.value(shown) == []
        assert browser.value("document.querySelectorAll('section:not([hidden])').length") == 0
        browser.open(f"{server.address}/?q=prefill_us")
        assert "PREFILL_US" in browser.value(shown)
        browser.click("#PREFILL_US summary")
        assert browser.value("document.querySelector('#PREFILL_US table').offsetHeight") > 100
        browser.download_to(tmp_path)
        browser.click("#workbook")
        workbook = tmp_path / "capacity.xlsx"
        for _ in range(100):
            if workbook.exists():
                break
            time.sleep(0.05)
    assert workbook.read_bytes() == server.request("GET", "/static/capacity.xlsx")[1]


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
