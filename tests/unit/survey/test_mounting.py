"""The receiver under other servers: WSGI and ASGI applications of a few lines mount it unchanged, below any path."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from privet import survey

PATH = "/class/7/"
Ask = Callable[[str, str, bytes], tuple[int, dict[str, str], bytes]]


def wsgi(receiver: survey.Receiver) -> Ask:
    """Return what asks the receiver through a WSGI application, which the standard library validates."""

    def application(environ: dict[str, Any], start: Any) -> list[bytes]:
        names = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name[:5] == "HTTP_"}
        names["content-type"] = environ.get("CONTENT_TYPE", "")
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        reply = receiver.reply(environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix("/"), names, body)
        start(f"{reply.status} -", list(reply.headers))
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else reply.body]

    def ask(method: str, resource: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        environ: dict[str, Any] = {"REQUEST_METHOD": method, "SCRIPT_NAME": PATH[:-1], "PATH_INFO": "/" + resource}
        environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "QUERY_STRING": ""}
        if method == "POST":
            environ["CONTENT_TYPE"] = "application/json"
        setup_testing_defaults(environ)
        told: list[Any] = []

        def start(status: str, headers: list[tuple[str, str]], failed: Any = None) -> Callable[[bytes], object]:
            told.extend((int(status[:3]), {name.lower(): value for name, value in headers}))
            return lambda data: None

        answer = validator(application)(environ, start)
        sent = b"".join(answer)
        answer.close()
        return told[0], told[1], sent

    return ask


def asgi(receiver: survey.Receiver) -> Ask:
    """Return what asks the receiver through an ASGI application."""

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        names = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        resource = scope["path"].removeprefix(scope["root_path"]).removeprefix("/")
        reply = await asyncio.to_thread(receiver.reply, scope["method"], resource, names, body)
        headers = [(name.lower().encode(), value.encode()) for name, value in reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else reply.body})

    def ask(method: str, resource: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        scope = {"type": "http", "method": method, "root_path": PATH[:-1], "path": PATH + resource, "headers": []}
        if method == "POST":
            scope["headers"] = [(b"content-type", b"application/json")]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(application(scope, receive, send))
        names = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], names, sent[1]["body"]

    return ask


@pytest.mark.parametrize("mount", [wsgi, asgi])
def test_any_server_can_mount_the_receiver(mount: Callable[[survey.Receiver], Ask], tmp_path: Path) -> None:
    question = survey.SurveyQuestion("flu", "Did you have the flu?", ("no", "yes"), epsilon=1)
    folder = survey.SurveyFolder.create(tmp_path / "flu", survey.Survey("health", (question,)))
    ask = mount(survey.Receiver(folder))
    status, headers, body = ask("GET", "", b"")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert int(headers["content-length"]) == len(body)
    assert "default-src 'none'" in headers["content-security-policy"]
    page = body.decode()
    assert 'fetch("survey.json"' in page  # what the page asks for is relative to where it is mounted
    assert 'fetch("reports"' in page
    status, _, body = ask("GET", "survey.json", b"")
    known = survey.read_survey(body)
    assert (status, known) == (200, folder.survey)
    line = survey.Respondent(known).respond("yes").encode()
    for result in ("accepted", "repeated"):
        status, _, body = ask("POST", "reports", line)
        assert (status, json.loads(body)) == (200, {"result": result})
    assert ask("POST", "reports", line[:-5])[0] == 400
    assert ask("HEAD", "", b"")[2] == b""
    assert [ask("GET", "reports", b"")[0], ask("GET", "other", b"")[0], ask("PUT", "", b"")[0]] == [405, 404, 405]
    assert folder.reports == {"flu": 1}
    assert folder.rejected == {"repeated": 1, "not whole": 1}
