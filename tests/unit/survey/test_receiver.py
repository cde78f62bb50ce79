"""Requests to the receiver, and the standard library's server in front of it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from privet import survey
from privet.core.errors import RequestError
from privet.survey.receiver import make_server

ASKED = survey.Survey("s", [survey.SurveyQuestion("q", "Yes?", ["no", "yes"], epsilon=1)])
JSON = {"content-type": "application/json"}


@pytest.fixture
def collected(tmp_path: Path) -> survey.SurveyFolder:
    return survey.SurveyFolder.create(tmp_path / "survey", ASKED)


def test_the_page_the_survey_and_nothing_else_is_shown(collected: survey.SurveyFolder) -> None:
    receiver = survey.Receiver(collected)
    page = receiver.reply("GET", "", {}, b"")
    assert page.status == 200
    headers = dict(page.headers)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert (headers["Cache-Control"], headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert survey.read_survey(receiver.reply("GET", "survey.json", {}, b"").body) == ASKED
    for path in ("collected.jsonl", "../survey.json", "reports/", "rejected.json", "favicon.ico"):
        assert receiver.reply("GET", path, {}, b"").status == 404
    assert receiver.reply("POST", "", JSON, b"").status == 405
    assert receiver.reply("GET", "reports", {}, b"").status == 405


def test_reports_are_taken_from_the_own_page_alone(collected: survey.SurveyFolder) -> None:
    receiver = survey.Receiver(collected, hosts=["survey.example.org"])
    line = survey.Respondent(ASKED).respond("yes").encode()
    here = {**JSON, "host": "survey.example.org"}
    assert receiver.reply("POST", "reports", {**here, "host": "evil.example.org"}, line).status == 421
    assert receiver.reply("POST", "reports", {**here, "origin": "https://evil.example.org"}, line).status == 403
    assert receiver.reply("POST", "reports", {"host": here["host"], "content-type": "text/plain"}, line).status == 415
    assert receiver.reply("POST", "reports", here, line + b" " * 2**16).status == 413
    assert collected.reports == {"q": 0}
    good = {**here, "origin": "https://survey.example.org", "content-type": "application/json; charset=utf-8"}
    assert receiver.reply("POST", "reports", good, line).status == 200
    again = receiver.reply("POST", "reports", good, line)
    assert (again.status, json.loads(again.body)) == (200, {"result": "repeated"})
    refused = receiver.reply("POST", "reports", good, b"{}")
    assert (refused.status, json.loads(refused.body)) == (400, {"result": "not whole"})
    assert collected.reports == {"q": 1}


def test_reports_that_cannot_be_kept_are_asked_for_again(
    collected: survey.SurveyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(line: bytes) -> str:
        raise RequestError("the disk at /secret is full")

    monkeypatch.setattr(collected, "add", full)
    reply = survey.Receiver(collected).reply("POST", "reports", JSON, b"{}")
    assert reply.status == 503
    assert b"secret" not in reply.body


def test_a_simulated_survey_takes_no_real_people(collected: survey.SurveyFolder) -> None:
    survey.simulate(collected, 10, {"yes": 1})
    with pytest.raises(RequestError, match="made-up"):
        survey.Receiver(collected)


@pytest.fixture
def port(collected: survey.SurveyFolder) -> Iterator[int]:
    server = make_server(collected, 0, public="https://survey.example.org")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    assert server.server_address[0] == "127.0.0.1"
    yield int(server.server_address[1])
    server.shutdown()
    thread.join()
    server.server_close()


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    found = reply.status, reply.read(), str(reply.headers)
    connection.close()
    return found


def test_the_server_takes_reports_and_logs_nothing(
    port: int, collected: survey.SurveyFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(port, "GET", "/")[0] == 200
    assert ask(port, "GET", "/?answer=yes")[0] == 200
    head = ask(port, "HEAD", "/")
    assert (head[0], head[1]) == (200, b"")
    line = survey.Respondent(ASKED).respond("yes").encode()
    assert ask(port, "POST", "/reports", line, Content_Type="application/json")[0] == 200
    assert ask(port, "POST", "/reports", line, Content_Type="application/json", Host="survey.example.org")[0] == 200
    assert ask(port, "GET", "/", Host="rebound.example.org")[0] == 421
    assert ask(port, "POST", "/reports", b"x" * (2**16 + 1), Content_Type="application/json")[0] == 413
    assert ask(port, "POST", "/reports", line, Content_Length="many")[0] == 411
    assert ask(port, "PUT", "/reports", line)[0] == 501
    assert collected.reports == {"q": 1}
    told = capfd.readouterr()
    assert (told.out, told.err) == ("", "")
    assert "Python" not in ask(port, "GET", "/")[2]


@pytest.mark.parametrize("wrong", [-1, 65536, 10**400])
def test_a_port_that_cannot_be_is_refused(collected: survey.SurveyFolder, wrong: int) -> None:
    with pytest.raises(RequestError, match="port"):
        make_server(collected, wrong)


def test_a_taken_port_and_an_open_address_are_refused(port: int, collected: survey.SurveyFolder) -> None:
    with pytest.raises(RequestError, match="taken"):
        make_server(collected, port)
    with pytest.raises(RequestError, match="https"):
        make_server(collected, 0, public="http://survey.example.org")
