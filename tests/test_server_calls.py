"""Calls that the server refuses: each with one sentence, without harm to others, and without a trace in the log."""

import json
import socket
import time
from typing import Any

import pytest
from conftest import need
from office import node
from office.own_server import CALL, Server

GOOD = {"func_name": "GPUS", "args": [26, 2], "client": "Office.js", "version": "0", "runtime": "1.4"}


def test_excel_shows_why_a_call_is_refused(server: Server) -> None:
    """One request, no retry, and the sentence on hover over #VALUE!."""
    need("node")
    column = [[1]] * 100_001
    answer = node.run("excel_client.mjs", {"address": server.address, "calls": [["GPUS", [column, [[2]]]]]})
    (result,) = answer["results"]
    assert result["error"].startswith("a call of GPUS takes at most 100,000 cells: 100,001 rows by 1 columns")
    assert (result["shown"], result["posts"]) == ("#VALUE!", 1)


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
        ("\ud800", [], "no function is called '\\ud800'"),
        ("__class__", [], "no function is called '__class__'"),
        (["GPUS"], [], "the request is no call of a function"),
        ("GPUS", {"x": 1}, "the request is no call of a function"),
        ("GPUS", [[[1]] * 1_000_000, [[2]]], "a call of GPUS takes at most 100,000 cells: 1,000,000 rows by 1 columns"),
        (
            "GPUS",
            [[[1] * 1000] * 1000, [[2]]],
            "a call of GPUS takes at most 100,000 cells: 1,000 rows by 1,000 columns",
        ),
        (
            "GPUS",
            [[[1]] * 1000, [[2] * 1000]],
            "a call of GPUS takes at most 100,000 cells: 1,000 rows by 1,000 columns",
        ),
        (
            "CAPACITY_EXPLAIN",
            [[["GPUS"]], [None, [[1]] * 200_000]],
            "a call of CAPACITY_EXPLAIN takes at most 2,000 cells: 200,000 rows",
        ),
        (
            "CHEAPEST",
            [[["gpu"]], [["Llama-3.3-70B"]], [[i] for i in range(51)], [[1]], [[1]]],
            "a call of CHEAPEST takes at most 50 cells: 51 rows by 1 columns; refer to the rows that are in use",
        ),
        (
            "CAPACITY_EXPLAIN",
            [[["cheapest"]], [["gpu"], [["Llama-3.3-70B"]] * 51]],
            "a call of CAPACITY_EXPLAIN takes at most 50 cells: 51 rows",
        ),
        (
            "GPUS",
            [[[1]] * 50_001, [[2]] * 50_000],
            "the ranges of a call have at most 100,000 cells: 100,001; refer to the rows in use",
        ),
    ],
)
def test_a_bad_call_is_one_clear_sentence(server: Server, name: Any, args: Any, sentence: str) -> None:
    status, text = server.call(name, args)
    assert (status, text[: len(sentence)]) == (400, sentence)
    assert len(text) < 160  # on hover over a cell: no list of all functions
    assert server.call("GPUS", [[[26]], [[2]]]) == (200, [[52]])


def test_a_large_block_is_answered(server: Server) -> None:
    column = [[i] for i in range(100_000)]
    assert server.call("GPUS", [column, [[2]]]) == (200, [[2 * i] for [i] in column])


def test_too_much_work_is_refused(server: Server) -> None:
    """PLAN and what looks things up cost more than arithmetic for each cell."""
    plans = [[["gpus"]], [["Llama-3.3-70B"]], [["H200 SXM"]], [[i] for i in range(1, 2002)], [[3000]], [[400]]]
    names = [[f"unknown {i}"] for i in range(10_001)]
    assert server.call("PLAN", plans) == (
        400,
        "a call of PLAN takes at most 2,000 cells: 2,001 rows by 1 columns; refer to the rows that are in use",
    )
    assert server.call("MODEL", [names, [["layers"]]])[1].startswith(
        "a call of MODEL takes at most 10,000 cells: 10,001"
    )
    plans[3].pop()
    names.pop()
    for name, args in (("PLAN", plans), ("MODEL", [names, [["layers"]]])):
        started = time.perf_counter()
        assert server.call(name, args)[0] == 200
        assert time.perf_counter() - started < 10, name


@pytest.mark.parametrize("count", [256, 2_000_000])
def test_no_more_arguments_than_excel_has(server: Server, count: int) -> None:
    for name, args in (("REPLICAS", [1] * count), ("CAPACITY_EXPLAIN", ["GPUS", [1] * (count - 1)])):
        assert server.call(name, args) == (400, f"a call takes at most 255 arguments: {count:,}")
    assert server.call("CAPACITY_EXPLAIN", [[["GPUS"]], [[[26]], [[2]]]]) == (200, [["26 replicas x 2 GPUs = 52 GPUs"]])


@pytest.mark.parametrize(
    "cell",
    [
        {"a": 1},
        {},
        {"type": "Empty"},
        {"type": "Error"},
        {"type": "Entity"},
        {"basicValue": 1},
        [1],
        [],
        {"type": 1, "basicValue": 1},
        {"type": "Double", "basicValue": [1]},
    ],
    ids=str,
)
def test_a_cell_without_a_value(server: Server, cell: Any) -> None:
    status, text = server.call("GPUS", [[[1], [cell]], [[2]]])
    assert (status, text) == (400, f"argument 1 has a cell without a value: {cell}")


@pytest.mark.parametrize("argument", [[], [[]], [5], [[1], [2, 3]], [[1], 2], [[[[1]]]]], ids=str)
def test_what_is_no_range(server: Server, argument: Any) -> None:
    status, text = server.call("GPUS", [[[26]], argument])
    assert status == 400
    assert text.startswith("argument 2 ")


def test_what_excel_sends_for_errors_and_formats(server: Server) -> None:
    cells = [
        [{"type": "Error", "basicValue": "#N/A", "basicType": "Error"}],
        [{"type": "Double", "basicValue": 3}],
        [None],
    ]
    assert server.call("GPUS", [cells, 2], runtime="1.1") == (200, [["#N/A"], [6], [0]])


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"culture_info_name": 5, "date_format": "TT.MM.JJJJ"}, "culture_info_name must be text"),
        ({"date_format": 5}, "date_format must be text"),
        ({"caller_address": {}}, "caller_address must be text"),
        ({"runtime": "x"}, "runtime must be a version such as 1.4"),
        ({"runtime": None}, "runtime must be a version such as 1.4"),
        (
            {"func_name": "CAPACITY_EXPLAIN", "args": ["GPUS", None]},
            "argument 2 of CAPACITY_EXPLAIN must be a list of its values",
        ),
    ],
)
def test_a_field_of_the_wrong_type(server: Server, changed: dict[str, Any], sentence: str) -> None:
    status, text, _ = server.request("POST", CALL, json.dumps(GOOD | changed).encode())
    assert (status, text.decode()) == (400, f"the request is no call of a function: {sentence}")


def test_a_number_of_thousands_of_digits(server: Server) -> None:
    body = json.dumps(GOOD).replace("26", "9" * 5000).encode()
    assert server.request("POST", CALL, body)[:2] == (400, b"the request has a number of thousands of digits")
    body = json.dumps(GOOD).replace("26", "9" * 4000).encode()
    assert server.request("POST", CALL, body)[:2] == (200, b'{"result":[[{"type":"Error","errorType":"Num"}]]}')


@pytest.mark.parametrize("name", ["anything", "__class__", "settings"])
def test_there_are_no_scripts(server: Server, name: str) -> None:
    status, text, _ = server.request("POST", f"/xlwings/custom-scripts-call/{name}", b"{}")
    assert (status, text.decode()) == (404, f"no script is called '{name}'")


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_call_is_json(server: Server, media_type: str) -> None:
    body = json.dumps(GOOD).encode()
    status, text, _ = server.request("POST", CALL, body, Content_Type=media_type)
    assert (status, text.decode()) == (
        415,
        f"the Content-Type of a call must be application/json, and not '{media_type}'",
    )
    assert server.request("POST", CALL, body, Content_Type="Application/JSON; charset=utf-8")[0] == 200


def test_an_incomplete_address_is_one_sentence(server: Server) -> None:
    assert server.request("GET", "/xlwings/alert")[:2] == (400, b"query.prompt: Field required")


def test_a_client_that_hangs_up(server: Server) -> None:
    """In the middle of its request, and before it has heard the answer."""
    body = json.dumps(GOOD | {"args": [[[i] for i in range(50_000)], [[2]]]}).encode()
    fields = ("Host: localhost", "Content-Type: application/json", f"Content-Length: {len(body)}")
    head = "\r\n".join((f"POST {CALL} HTTP/1.1", *fields, "", ""))
    for sent in (body[:1000], body):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head.encode() + sent)
    time.sleep(1)
    assert server.is_up()


def test_nothing_of_all_this_is_in_the_log(server: Server) -> None:
    """Last: what the others sent is behind it, and the log has how the server started."""
    assert [line for line in server.logged().splitlines() if not line.startswith("INFO: ")] == []
