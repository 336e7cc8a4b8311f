"""xlwings Server: a project built here, run by our command, called as Excel calls it, loaded, and fed with rubbish."""

import http.client
import json
import os
import signal
import threading
import time
from html.parser import HTMLParser
from pathlib import Path

import lxml.html
import openpyxl
from conftest import audited, found
from lxml import etree
from office.browser import Browser, chromium
from office.own_server import Server

import capacity
from addin.server import build
from capacity.call import call
from capacity.registry import FUNCTIONS
from capacity.spelling import HOSTS

WORKERS, CLIENTS, CALLS_EACH = 2, 16, 200


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
    for name, host in HOSTS.items():
        assert ({host.title, host.license} <= set(page.texts)) == (name != "server")  # "also", beside this one
    assert "any commercial use needs a paid license" in text
    assert "$" not in body.decode().replace("$3.50", "")


def cards(server: Server) -> list[tuple[str, str]]:
    """Name and text of each function's card on the page as it is served, in small letters."""
    page = lxml.html.fromstring(server.request("GET", "/")[1])
    return [(str(card.get("id")), card.text_content().lower()) for card in page.iter("article")]


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
        assert found_by_words == [name for name, card in cards(server) if "kv" in card and "pool" in card]
        assert {"KV_POOL_GB", "USABLE_POOL_GB"} <= set(found_by_words)
        browser.type(" no such word")
        assert browser.value(shown) == []
        assert browser.value("document.querySelector('output').textContent").startswith("No function has all of these")
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


def test_the_landing_page_on_any_screen(server: Server) -> None:
    """The two buttons stand at one height; on a phone a function's table shows all it has, and nothing hangs over."""
    program = found("chromium", chromium())
    tops = "[...document.querySelectorAll('a.button')].map(a => a.getBoundingClientRect().top)"
    right = (
        "[...document.querySelectorAll('#PLAN td, #licenses ~ table td')].filter(td => td.textContent)"
        ".map(td => td.getBoundingClientRect()).map(box => box.width && box.height && box.right)"
    )
    with Browser(program) as browser:
        browser.open(server.address)
        first, second = browser.value(tops)
        assert first == second
        browser.send("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
        browser.open(server.address)
        browser.click("#PLAN summary")
        edges = browser.value(right)
        assert len(edges) > 80
        assert all(0 < edge <= 390 for edge in edges)
        assert browser.value("document.documentElement.scrollWidth") == 390
        named = "getComputedStyle(document.querySelector('#PLAN td:nth-child(2)'), '::before').content"
        assert "attr(data-label)" in browser.value(named) or "Meaning" in browser.value(named)


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
