"""A server under attack: no way in without a token, to others' answers, past the origin, or past the limits."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from privet.core.errors import EngineError
from privet.server.listening import analyst_routes, custodian_routes
from privet.server.pages.analyst_pages import ANALYST_PAGES
from privet.server.pages.custodian_pages import CUSTODIAN_PAGES
from served import COUNT, FAST, PEOPLE, Reply, Served, served, write_world
from served import http as request

STRICT = replace(FAST, body=20_000, body_seconds=0.5)
MESSAGE = str(EngineError())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("attacked") / "clinic", limits=STRICT) as running:
        yield running


def charges(world: Served) -> int:
    return len(world.server.datasets["clinic"].ledger.history())


# Who is asking.


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "bearer x",
        "Basic YW5hOmFuYQ==",
        "Bearer privet_",
        "Bearer " + "x" * 8000,
        "Token {}",
        "Bearer {}x",
        "Bearer x{}",
        "Bearer {}, Bearer {}",
        "Bearer \xe9",
    ],
)
def test_a_tampered_header_is_no_one(world: Served, header: str) -> None:
    sent = header.replace("{}", world.tokens["ana"])
    found = world.call("/v1/me", who=None, headers={"Authorization": sent})
    assert found.status in (400, 401)
    if found.status == 401:
        assert found.json["error"]["message"] == world.call("/v1/me", who=None).json["error"]["message"]


def test_an_expired_and_a_revoked_token_are_told_the_same_as_an_unknown_one(world: Served) -> None:
    accounts = world.server.accounts
    told = []
    for change in ("expires = '2020-01-01T00:00:00+00:00'", "revoked = '2020-01-01T00:00:00+00:00'"):
        token, facts = accounts.add("ana", "analyst")
        assert request(world.url + "/v1/me", token=token).status == 200
        accounts._write(f"UPDATE tokens SET {change} WHERE id = ?", facts.id)
        told.append(request(world.url + "/v1/me", token=token))
    told.append(request(world.url + "/v1/me", token="privet_" + "x" * 43))
    assert {one.status for one in told} == {401}
    assert len({one.body for one in told}) == 1


# Browsers.


def log_in(world: Served, who: str = "ana") -> tuple[str, str, Reply]:
    """Return the cookie and the CSRF token of a log-in."""
    found = world.call("/v1/login", {"token": world.tokens[who]}, who=None)
    assert found.status == 200
    return found.headers["set-cookie"].partition(";")[0], found.json["csrf_token"], found


def test_the_cookie_is_for_http_and_for_the_own_site_alone(world: Served) -> None:
    cookie, _, found = log_in(world)
    told = found.headers["set-cookie"].lower()
    assert "httponly" in told
    assert "samesite=strict" in told
    assert world.tokens["ana"] not in cookie
    assert world.call("/v1/me", who=None, headers={"Cookie": cookie}).json["name"] == "ana"
    acts = [one.to_dict() for one in world.server.datasets["clinic"].ledger.entries() if one.kind == "act"]
    assert any(one["act"] == "log-in" and one["actor"] == "ana" for one in acts)


def test_a_change_by_a_browser_needs_the_pages_token_and_origin(world: Served) -> None:
    cookie, csrf, _ = log_in(world)
    own = world.url
    body = {"question": COUNT, "epsilon": 0.0625}
    before = charges(world)
    wrong: list[dict[str, str]] = [
        {},
        {"X-CSRF-Token": csrf},
        {"Origin": own},
        {"X-CSRF-Token": csrf, "Origin": "https://evil.example"},
        {"X-CSRF-Token": csrf, "Origin": "null"},
        {"X-CSRF-Token": csrf, "Origin": own + ".evil.example"},
        {"X-CSRF-Token": csrf[:-1] + "x", "Origin": own},
        {"X-CSRF-Token": log_in(world)[1], "Origin": own},
    ]
    for headers in wrong:
        found = world.call("{d}/ask", body, who=None, headers={"Cookie": cookie, **headers})
        assert (found.status, found.code) == (403, "access.forbidden"), headers
    assert charges(world) == before
    right = {"Cookie": cookie, "X-CSRF-Token": csrf, "Origin": own}
    assert world.call("{d}/ask", body, who=None, headers=right).status == 202


def test_a_tampered_cookie_is_no_one(world: Served) -> None:
    cookie, _, _ = log_in(world)
    name, _, value = cookie.partition("=")
    body, _, signature = value.partition(".")
    other = log_in(world, "ben")[0].partition("=")[2]
    changed = [value[:i] + ("A" if value[i] != "A" else "B") + value[i + 1 :] for i in range(0, len(value) - 1, 5)]
    mixed = [
        f"{body}.{other.partition('.')[2]}",
        f"{other.partition('.')[0]}.{signature}",
        body,
        f"{body}.",
        "",
        "x" * 5000,
    ]
    for one in (*changed, *mixed):
        assert world.call("/v1/me", who=None, headers={"Cookie": f"{name}={one}"}).status == 401


def test_revoking_a_token_ends_its_log_ins(world: Served) -> None:
    token, facts = world.server.accounts.add("ana", "analyst")
    found = world.call("/v1/login", {"token": token}, who=None)
    cookie = found.headers["set-cookie"].partition(";")[0]
    assert world.call("/v1/me", who=None, headers={"Cookie": cookie}).status == 200
    world.call(f"/v1/tokens/{facts.id}/revoke", {}, who="carol", custodian=True)
    assert world.call("/v1/me", who=None, headers={"Cookie": cookie}).status == 401


# Others' answers.


def test_what_belongs_to_others_is_told_like_what_does_not_exist(world: Served) -> None:
    question = {"question": "SELECT COUNT(*) AS n FROM visits WHERE age > 11", "epsilon": 0.0625}
    mine = world.ask(question)
    assert mine.status == 200
    certificate = mine.json["result"]["certificate"]
    for real, made_up in (
        (f"/v1/answers/{mine.json['id']}", "/v1/answers/" + "0" * 32),
        (f"/v1/answers/{mine.json['id']}/events", "/v1/answers/" + "0" * 32 + "/events"),
        (f"{{d}}/certificates/{certificate['entry']}", "{d}/certificates/999999"),
        (f"{{d}}/releases/{certificate['digest']}", "{d}/releases/" + "0" * 64),
    ):
        assert world.call(real).status == 200, real
        theirs, nobodys = world.call(real, who="ben"), world.call(made_up, who="ben")
        assert theirs.status == nobodys.status == 404
        assert theirs.body == nobodys.body
    assert all(one["account"] == "ben" for one in world.call("{d}/history", who="ben").json["charges"])
    assert world.call("{d}/answers", who="ben").json["answers"] == []
    assert world.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-7"}, "reason": "more"}).status == 201
    assert world.call("{d}/requests", who="ben").json["requests"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/../privet.toml",
        "/v1/../../privet.accounts",
        "/%2e%2e/privet.toml",
        "/v1/datasets/..%2f..%2fetc/budget",
        "/v1/datasets/%00/budget",
        "//etc/passwd",
        "/v1/answers/..%2fx",
        "/v1/datasets/clinic/tables/..%2fvisits",
        "/v1/datasets/clinic/certificates/-1",
        "/v1/datasets/clinic/certificates/1e3",
        "/v1/datasets/CLINIC/budget",
        "/v1/datasets/clinic/releases/" + "a" * 5000,
        "/v1/me/",
        "/static/x",
        "/v1/datasets/clinic/public/visits",
        "/v1/datasets/clinic/history?after=-1",
        "/v1/datasets/clinic/history?limit=x",
        "/docs",
    ],
)
def test_odd_paths_lead_nowhere(world: Served, path: str) -> None:
    place = http.client.HTTPConnection("127.0.0.1", int(world.url.rpartition(":")[2]), timeout=30)
    try:
        place.request("GET", path, headers={"Authorization": f"Bearer {world.tokens['ana']}"})
        found = place.getresponse()
        body = found.read()
    finally:
        place.close()
    assert found.status in (400, 404)
    assert b"error" in body
    assert b"patient" not in body


# Bodies.


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b"\xff\xfe",
        b'{"question": NaN}',
        b"[" * 9000,
        b'{"a":' * 3000 + b"1" + b"}" * 3000,
        b"{}",
        b'{"question": 7}',
        b'{"question": null}',
        b'{"question": ["SELECT 1"]}',
        b'{"question": {"sql": 1}}',
        b'{"question": "SELECT COUNT(*) FROM visits", "epsilon": "1"}',
        b'{"question": "x", "epsilonn": 1}',
        b'{"question": "SELECT COUNT(*) FROM visits", "epsilon": {"ratio": "1/0"}}',
        b'{"question": "SELECT COUNT(*) FROM visits", "epsilon": 1e999}',
        b'{"question": "\\ud800"}',
        b'{"question": "SELECT COUNT(*) FROM visits", "contribution": {"groups": "x", "rows": 1}}',
        b'{"question": "SELECT COUNT(*) FROM visits", "contribution": {"many": 1}}',
        b'{"question": "SELECT COUNT(*) FROM visits WHERE age > ?", "parameters": [[1]], "epsilon": 0.1}',
        b'{"question": "SELECT COUNT(*) FROM visits", "find_groups": "yes"}',
        b'{"question": "' + b"x" * 30_000 + b'"}',
    ],
)
def test_bad_bodies_are_refused_and_nothing_is_charged(world: Served, body: bytes) -> None:
    before = charges(world)
    for route in ("ask", "plan/ask"):
        found = world.call("{d}/" + route, body)
        assert found.status == 400, found.body
        assert found.code.startswith("request")
    assert charges(world) == before


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("marginals", {"table": "visits"}),
        ("marginals", {"table": 7, "columns": ["ward"]}),
        ("marginals", {"table": "visits", "rows": "SELECT * FROM visits", "columns": ["ward"]}),
        ("marginals", {"rows": "DROP TABLE visits", "columns": ["ward"]}),
        ("marginals", {"table": "visits", "where": "1=1) UNION SELECT * FROM staff --", "columns": ["ward"]}),
        ("marginals", {"table": "visits", "columns": ["ward"], "weights": {"ward": 1}}),
        ("marginals", {"table": "visits", "columns": ["ward"], "weights": [[["ward"], 1], [["ward"], 9]]}),
        ("marginals", {"table": "visits", "columns": ["ward"], "ordered": [["ward", "ranges"]]}),
        ("marginals", {"table": "visits", "columns": ["ward"], "ordered": {"ward": "ranges"}}),
        ("marginals", {"table": "visits", "columns": ["ward", "age"], "ordered": {"age": ["ranges"]}}),
        ("ranges", {"table": "visits", "column": ["age"]}),
        ("test", {"table": "visits", "hypothesis": {"kind": "Hypothesis"}}),
        ("test", {"table": "visits", "hypothesis": {"kind": "Proportion"}}),
        ("test", {"table": "visits", "hypothesis": {"kind": "Proportion", "condition": "age > 5", "__class__": 1}}),
        ("test", {"table": "visits", "hypothesis": {"kind": "__import__"}}),
        ("test", {"table": "visits", "hypothesis": {"kind": {}}}),
        ("plan/test", {"table": "visits", "hypothesis": {"kind": ["Proportion"]}}),
        ("test-all", {"table": "visits", "family": {"hypotheses": [{"kind": {}}]}}),
        ("test-all", {"table": "visits", "family": {"hypotheses": "all"}}),
        ("regress", {"table": "visits", "formula": {"x": 1}}),
        ("choose", {"options": {"a": 1}, "score": "SELECT COUNT(*) FROM visits WHERE age > :option"}),
        ("ask-all", {"questions": "SELECT COUNT(*) FROM visits"}),
        ("clipping", {"question": "SELECT SUM(cost) FROM staff_x"}),
        ("requests", {"budget": {"epsilon": -1}, "reason": "x"}),
        ("requests", {"budget": {"epsilon": 1}, "reason": ""}),
        ("requests", {"budget": [1], "reason": "x"}),
    ],
)
def test_bad_arguments_are_refused_and_nothing_is_charged(world: Served, route: str, body: dict[str, Any]) -> None:
    before = charges(world)
    found = world.call("{d}/" + route, body)
    assert found.status == 400, found.body
    assert charges(world) == before


def received(place: socket.socket) -> bytes:
    with contextlib.suppress(ConnectionError):
        return place.recv(65536)
    return b""


def raw(world: Served, sent: bytes) -> bytes:
    """Return what a server sends back to some bytes; an empty text where it closes the connection."""
    with socket.create_connection(("127.0.0.1", int(world.url.rpartition(":")[2])), timeout=30) as place:
        found = b""
        with contextlib.suppress(ConnectionError):  # closed while it is sent
            place.sendall(sent)
        while part := received(place):
            found += part
            head, _, body = found.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            if length is not None and len(body) >= int(length[1]):
                break
        return found


def ambiguous(world: Served) -> dict[str, bytes]:
    """Return requests that a proxy and a server could read differently, or that no client sends by accident."""
    body = b'{"question": "SELECT COUNT(*) AS n FROM visits WHERE age > 91", "epsilon": 0.0625}'
    mine, theirs = (f"Authorization: Bearer {world.tokens[who]}\r\n" for who in ("ana", "ben"))
    post = "POST /v1/datasets/clinic/ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    length = f"Content-Length: {len(body)}\r\n"
    moment = "Privet-Moment: 2025-01-01T00:00:00\r\n"
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
    twice = body.replace(b"}", b', "epsilon": 0.125}')
    return {
        "two accounts": (f"{post}{length}{mine}{theirs}\r\n").encode() + body,
        "two lengths": (f"{post}{length}Content-Length: 2\r\n{mine}\r\n").encode() + body,
        "length and chunks": (f"{post}{length}Transfer-Encoding: chunked\r\n{mine}\r\n").encode() + chunks,
        "unknown coding": (f"{post}Transfer-Encoding: xchunked\r\n{mine}\r\n").encode() + body,
        "two keys": (f"{post}{length}{mine}Idempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n").encode() + body,
        "a key of other bytes": (f"{post}{length}{mine}").encode() + b"Idempotency-Key: \xff\r\n\r\n" + body,
        "a giant key": (f"{post}{length}{mine}Idempotency-Key: {'k' * 5000}\r\n\r\n").encode() + body,
        "two moments": (f"{post}{length}{mine}{2 * moment}\r\n").encode() + body,
        "a field twice": (f"{post}Content-Length: {len(twice)}\r\n{mine}\r\n").encode() + twice,
        "a giant header": (f"{post}{length}{mine}X-Long: {'x' * 200_000}\r\n\r\n").encode() + body,
        "no host": f"GET /v1/me HTTP/1.1\r\n{mine}\r\n".encode(),
        "bytes in a path": b"GET /v1/\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    }


def test_requests_that_could_be_read_in_two_ways_are_refused_and_nothing_is_charged(world: Served) -> None:
    before = charges(world)
    for name, sent in ambiguous(world).items():
        found = raw(world, sent)
        assert found.startswith(b"HTTP/1.1 400 ") or (name == "a giant header" and not found), (name, found)
    assert charges(world) == before
    smuggled = ambiguous(world)["length and chunks"] + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    reply = raw(world, smuggled)
    assert reply.count(b"HTTP/1.1") == 1
    assert b"connection: close" in reply.lower()  # what follows is not read


def test_giant_and_slow_bodies_end(world: Served) -> None:
    head = f"POST /v1/datasets/clinic/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {world.tokens['ana']}\r\n"
    head += "Content-Type: application/json\r\n"
    before = charges(world)
    for length in ("999999999999", "99999999999999999999999", "-1", "x"):
        assert b" 400 " in raw(world, f"{head}Content-Length: {length}\r\n\r\n".encode())[:40]
    assert b" 400 " in raw(world, f"{head}Content-Length: 500\r\n\r\n{{".encode())[:40]  # the rest never comes
    chunk = b"5000\r\n" + b"x" * 0x5000 + b"\r\n"
    told = raw(world, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 2)
    assert b" 400 " in told[:40]
    assert b"at most 20,000 bytes" in told
    assert charges(world) == before
    assert world.call("/health", who=None).status == 200


# Time, failures and what is shown.


def test_fresh_answers_and_those_of_others_are_handed_over_on_the_grid_and_own_ones_at_once(world: Served) -> None:
    question = {"question": "SELECT COUNT(*) AS n FROM visits WHERE age > 23", "epsilon": 0.0625}
    first = world.ask(question)
    steps = first.json["elapsed"] / 0.05
    assert steps >= 1
    assert abs(steps - round(steps)) < 1e-6
    assert world.ask(question).json["elapsed"] == 0
    other = world.call("{d}/ask", question, who="ben")
    assert other.status == 202  # admitted like a fresh one
    waited = (
        world.ask(question, who="ben")
        if other.status != 202
        else world.call(other.headers["location"] + "?wait=20", who="ben")
    )
    assert waited.json["elapsed"] >= 0.05
    assert waited.json["result"]["rows"] == first.json["result"]["rows"]
    wording = {key: value for key, value in waited.json.items() if key not in ("id", "elapsed", "result")}
    assert wording == {key: value for key, value in first.json.items() if key not in ("id", "elapsed", "result")}


def test_a_failure_is_constant_stands_charged_and_freezes_that_account_alone(tmp_path: Path) -> None:
    with served(tmp_path / "clinic") as world:
        assert world.ask({"question": COUNT, "epsilon": 0.0625}).status == 200
        engine = world.server.datasets["clinic"].engine
        real = engine.scan

        def failing(scan: Any) -> Any:
            raise ValueError("patient 17 has a rare disease")

        engine.scan = failing  # type: ignore[method-assign]
        for number in range(3):
            before = charges(world)
            found = world.ask({"question": f"SELECT COUNT(*) AS n FROM visits WHERE age > {number}", "epsilon": 0.0625})
            assert (found.status, found.code) == (502, "engine")
            assert found.json["error"]["message"] == MESSAGE
            assert charges(world) == before + 1
        engine.scan = real  # type: ignore[method-assign]
        fresh = {"question": "SELECT COUNT(*) AS n FROM visits WHERE age > 77", "epsilon": 0.0625}
        assert (world.call("{d}/ask", fresh).status, world.call("{d}/ask", fresh).code) == (409, "budget")
        assert world.ask({"question": COUNT, "epsilon": 0.0625}).status == 200  # what was paid for stays free
        assert world.ask(fresh, who="ben").status == 200
        cleared = world.call("{d}/clear", {"account": "ana", "reason": "mended"}, who="carol", custodian=True)
        assert cleared.status == 200
        assert world.ask(fresh).status == 200
        assert world.call("{d}/verify", {}, who="otto", custodian=True).json["status"] == "intact"


def test_a_refusal_shows_the_own_balance_only(world: Served) -> None:
    found = world.call("{d}/ask", {"question": COUNT, "epsilon": 999})
    assert (found.status, found.code) == (409, "budget.exceeded")
    assert 0 < found.json["error"]["largest_epsilon"] <= 20
    assert "ben" not in found.body.decode()


HOSTILE = "secretname"
FORGED = "privet_" + HOSTILE + "A" * 33


def _hostile_requests(world: Served) -> Iterator[Reply]:
    """Send what must not be logged wherever a caller can put it: fields, headers, cookies, paths, query strings."""
    sql = f"SELECT COUNT(*) AS {HOSTILE} FROM visits WHERE note = 'note 7 {HOSTILE}' -- {world.tokens['ben']}"
    yield world.ask({"question": sql, "epsilon": 0.0625})
    yield world.ask({"question": sql, "epsilon": 0.0625})  # the stored answer
    for wrong in (
        {"question": f"SELECT {HOSTILE} FROM visits"},
        {"question": f"SELECT COUNT(*) FROM visits WHERE age > '{HOSTILE}'", "epsilon": HOSTILE},
        {"question": f'SELECT \'{HOSTILE}\n{{"level": "info"}}\r\x1b[2J\u2028\'', HOSTILE: HOSTILE},
        {"question": sql, "parameters": {HOSTILE: HOSTILE}},
        {"question": {HOSTILE: [HOSTILE]}},
    ):
        yield world.call("{d}/ask", wrong)
        yield world.call("{d}/plan/ask", wrong)
    yield world.call("{d}/ask", f'{{"question": "{HOSTILE}'.encode())
    for headers in (
        {"Idempotency-Key": HOSTILE},
        {"Privet-Moment": HOSTILE},
        {"Cookie": f"privet={HOSTILE}", "Referer": f"https://{HOSTILE}/", "User-Agent": HOSTILE},
        {"X-Forwarded-For": HOSTILE, "Origin": f"https://{HOSTILE}", "Host": HOSTILE},
        {"Authorization": f"Bearer {FORGED}"},
        {"Authorization": f"Basic {HOSTILE}"},
        {"Content-Type": f"text/{HOSTILE}"},
    ):
        yield world.call("{d}/ask", {"question": sql, "epsilon": 0.0625}, headers=headers)
        yield world.call("{d}/ask", {"question": sql, "epsilon": 0.0625}, headers=headers, who=None)
    for path in (f"/{HOSTILE}", f"/v1/answers/{HOSTILE}", f"/v1/datasets/{HOSTILE}/tables", f"{{d}}/tables/{HOSTILE}"):
        yield world.call(path)
        yield world.call(f"{path}?token={world.tokens['ana']}&wait={HOSTILE}", headers={"Accept": "text/html"})
    yield world.call("/v1/login", {"token": world.tokens["ben"], HOSTILE: HOSTILE}, who=None)
    yield world.call("/v1/login", {"token": FORGED}, who=None)
    yield world.call("{d}/requests", {"budget": {"epsilon": 1, "delta": "1e-8"}, "reason": HOSTILE})
    yield world.call("{d}/saved", {"name": HOSTILE, "question": sql})
    with pytest.MonkeyPatch.context() as patch:  # an error of ours that quotes a row

        def fail(*_: object) -> None:
            raise ValueError(f"could not convert '{HOSTILE}' of patient 7")

        patch.setattr(world.server.datasets["clinic"].engine, "scan", fail)
        yield world.ask({"question": f"SELECT COUNT(*) AS {HOSTILE}2 FROM visits", "epsilon": 0.0625})
        patch.setattr(world.server.datasets["clinic"], "desk", fail)
        yield world.call("{d}/tables")


def test_the_log_contains_nothing_that_a_caller_sent_and_no_value_of_the_data(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from privet.server.listening import JsonLines

    with caplog.at_level("INFO"), served(tmp_path / "clinic") as world:
        replies = list(_hostile_requests(world))
    assert {200, 201, 400, 401, 404, 500, 502} <= {one.status for one in replies}
    lines = [JsonLines().format(one) for one in caplog.records if one.name.startswith(("privet", "uvicorn"))]
    told = [json.loads(line) for line in lines]
    asked = [one for one in told if one["event"] == "request"]
    assert sum(one["route"] == "/v1/datasets/{dataset}/ask" for one in asked) > 20
    routes = {one.path for one in (*analyst_routes(), *custodian_routes(), *ANALYST_PAGES, *CUSTODIAN_PAGES)}
    for one in asked:  # every field is one of a few public values, or a number
        assert {*one} == {"time", "level", "name", "event", "method", "route", "status", "account", "ms"}
        assert one["method"] in ("GET", "POST")
        assert one["route"] in routes
        assert one["account"] in (None, *PEOPLE)
        assert (type(one["status"]), type(one["ms"])) == (int, float)
    rest = [one for one in told if one["event"] != "request"]
    assert all({*one} <= {"time", "level", "name", "event", "error"} for one in rest)
    everything = "\n".join(lines).lower()
    assert not [one for one in (HOSTILE, *world.tokens.values(), "patient 7", "note 7", "select") if one in everything]
    assert all(line.isascii() and line.isprintable() for line in lines)


@pytest.mark.parametrize("name", ["privet.server", "uvicorn.error", "privet.other"])
def test_a_record_of_the_log_never_shows_its_text_its_arguments_or_its_error(name: str) -> None:
    import logging
    import sys

    from privet.server.listening import JsonLines

    try:
        raise ValueError(f"could not convert '{HOSTILE}'")
    except ValueError:
        kind = sys.exc_info()
    record = logging.LogRecord(name, logging.ERROR, HOSTILE, 1, f"{HOSTILE} %s", (HOSTILE,), kind, HOSTILE, HOSTILE)
    line = JsonLines().format(record)
    assert HOSTILE not in line
    assert json.loads(line)["error"] == "ValueError"


HEAD = re.compile(rb"\d+:[0-9a-f]{64}")
ASKED = [
    ("ask", {"question": COUNT, "epsilon": 0.125}),
    ("ask", {"question": "SELECT note, COUNT(*) AS n FROM visits GROUP BY note", "epsilon": 0.125}),
    ("ask", {"question": "SELECT ward, MEDIAN(age) AS m FROM visits GROUP BY ward", "epsilon": 0.125}),
    ("marginals", {"table": "visits", "columns": ["ward", "sex"], "epsilon": 0.125}),
    ("test", {"table": "visits", "hypothesis": {"kind": "Proportion", "condition": "age > 5", "equals": 0.5}}),
    ("regress", {"table": "visits", "formula": "cost ~ age", "epsilon": 0.125}),
]


def everything(world: Served) -> dict[str, tuple[int, bytes]]:
    """Return all that an analyst can reach: every route, every stored answer in every form, plans and refusals."""
    found: dict[str, Reply] = {}
    answers = [one["id"] for one in world.call("{d}/answers").json["answers"]]
    entries = range(1, 30)
    values = {"table": ["visits", "staff", "wards", "nothing"], "answer": answers, "entry": entries}
    values["digest"] = [one["digest"] for one in world.call("{d}/history").json["charges"]]
    for route in analyst_routes():
        if route.method != "GET" or route.path.endswith("/events"):
            continue
        name = re.search(r"\{(table|answer|entry|digest)\}", route.path)
        for value in values[name[1]] if name else [""]:
            path = route.path.replace("{dataset}", "clinic").replace(name[0] if name else "\0", str(value))
            found[path] = world.call(path)
            if "answers/" in path:
                found[path + "csv"] = world.call(path + "?format=csv")
    for operation, body in ASKED:
        found[f"plan {operation} {body}"] = world.call(f"{{d}}/plan/{operation}", {**body, "epsilon": 0.5})
        found[f"stored {operation} {body}"] = world.call(f"{{d}}/{operation}", body)
        found[f"refused {operation} {body}"] = world.call(f"{{d}}/{operation}", {**body, "epsilon": 1000})
    return {path: (one.status, HEAD.sub(b"head", one.body)) for path, one in found.items()}


def test_all_that_an_analyst_can_reach_is_the_same_for_two_data_sets_with_equal_releases(tmp_path: Path) -> None:
    with served(tmp_path / "one") as first:
        for operation, body in ASKED:
            assert first.ask(body, operation=operation).status == 200
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    write_world(tmp_path / "two", people=199)  # the rows differ, and the ledger does not
    reached = []
    for folder in ("one", "two"):
        with served(tmp_path / folder) as world:
            reached.append(everything(world))
    assert len(reached[0]) > 60
    assert reached[0] == reached[1]
