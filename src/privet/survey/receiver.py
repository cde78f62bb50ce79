"""The web side of a survey: from a request to a reply, which any server can mount; and the standard library's server.

It shows one static page, which randomises in the browser, and takes its reports. Nothing of a request is
logged or kept but the report itself: not a path, not an address, not a time. The server is on this machine alone, or
behind a proxy that encrypts.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import urlsplit

from privet.core.errors import PrivetError, RequestError, raise_alone
from privet.core.given import instance, listed, mapping, plain_text, read_fields

from .questionnaire import Survey
from .survey_folder import MOST_BYTES, SurveyFolder

_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.S)


@dataclass(frozen=True)
class Reply:
    """What to answer to a request.

    Example:
        >>> survey.Reply(404, "text/plain", b"not found").status
        404
    """

    status: int
    content_type: str
    body: bytes

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers, which forbid the page everything else than its needs."""
        return (
            ("Content-Type", self.content_type),
            ("Content-Length", str(len(self.body))),
            ("Content-Security-Policy", f"{page_policy()}; frame-ancestors 'none'"),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
        )


class Receiver:
    """Answers the requests of a survey's page: the page itself, the survey, and the reports that it sends.

    Mount it under any path that ends in a slash: `resource` is the rest of it, and the page asks for no more.

    Args:
        collected: the folder of the survey.
        hosts: the names, with ports, under which it may be asked; any if left out, for a server that checks them.

    Example:
        >>> import tempfile
        >>> question = survey.SurveyQuestion("flu", "Did you have the flu?", ["no", "yes"], epsilon=1)
        >>> folder = survey.SurveyFolder.create(tempfile.mkdtemp() + "/flu", survey.Survey("health", [question]))
        >>> survey.Receiver(folder).reply("GET", "", {}, b"").status
        200
    """

    def __init__(self, collected: SurveyFolder, *, hosts: Sequence[str] = ()) -> None:
        self.collected: SurveyFolder = instance(collected, SurveyFolder, "collected", "the folder of a survey")
        named = listed(hosts, "hosts", "names of hosts")
        self.hosts = frozenset(plain_text(host, "hosts", "names of hosts", least=1, most=300) for host in named)
        collected.check_real()

    @property
    def survey(self) -> Survey:
        """The survey."""
        return self.collected.survey

    def reply(self, method: str, resource: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Return the reply to a request.

        Args:
            method: GET, HEAD or POST.
            resource: the path below the place where this is mounted, without a leading slash or a query.
            headers: the request's headers, by names in small letters.
            body: the body of a POST.
        """
        plain_text(method, "method", "a method of HTTP", nul=True)
        plain_text(resource, "resource", "a resource", nul=True)
        mapping(headers, "headers", "texts by the names of headers", str)
        instance(body, bytes, "body", "bytes")
        if self.hosts and headers.get("host", "").lower() not in self.hosts:
            return _text(421, "this survey has another address")
        if resource in ("", "index.html", "survey.json"):
            if method not in ("GET", "HEAD"):
                return _text(405, "only GET is allowed here")
            if resource == "survey.json":
                return Reply(200, "application/json", self.survey.to_json().encode())
            return Reply(200, "text/html; charset=utf-8", page())
        if resource != "reports":
            return _text(404, "not found")
        if method != "POST":
            return _text(405, "only POST is allowed here")
        return self._take(headers, body)

    def _take(self, headers: Mapping[str, str], body: bytes) -> Reply:
        origin = headers.get("origin")
        if origin is not None and self.hosts and origin.lower().partition("://")[2] not in self.hosts:
            return _text(403, "reports come from the survey's own page")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return _text(415, "a report is sent as application/json")
        if len(body) > MOST_BYTES:
            return _text(413, "this is too long for a report")
        try:
            result = self.collected.add(body)
        except PrivetError:
            return _text(503, "reports cannot be kept at present; send the same report again later")
        status = 200 if result in ("accepted", "repeated") else 400
        return Reply(status, "application/json", json.dumps({"result": result}).encode())


@cache
def page() -> bytes:
    """Return the page: the same bytes for every survey."""
    return files(__package__).joinpath("page.html").read_bytes()


@cache
def page_policy() -> str:
    """Return the permissions of the page: its own script and style, and requests to its own origin."""
    hashes = {"script": "", "style": ""}
    for kind, text in _INLINE.findall(page().decode()):
        hashes[kind] = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; style-src 'sha256-{hashes['style']}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


def _text(status: int, message: str) -> Reply:
    return Reply(status, "text/plain; charset=utf-8", message.encode())


ADDRESS = "127.0.0.1"
_SECONDS = 20


def make_server(collected: SurveyFolder, port: int, *, public: str | None = None) -> ThreadingHTTPServer:
    """Return a server of a survey's page on the loopback address; `serve_forever` runs it.

    Args:
        collected: the folder of the survey.
        port: the port; 0 takes a free one.
        public: the address under which a proxy shows it, such as https://survey.example.org; people elsewhere reach
            it only so.

    Raises:
        RequestError: if the port is taken or the address is not one of https.
    """
    if public is not None:
        parts = urlsplit(public)
        if parts.scheme != "https" or not parts.netloc or "@" in parts.netloc:
            raise RequestError("a public address is one of https, such as https://survey.example.org")
    try:
        server = SurveyServer((ADDRESS, port), _Requests)
    except (OSError, OverflowError):
        raise_alone(RequestError(f"the port {port} is taken or not allowed; name another by --port"))
    taken = server.server_address[1]
    own = [f"{name}:{taken}" for name in ("127.0.0.1", "localhost")]
    server.receiver = Receiver(collected, hosts=[*own, *([] if public is None else [urlsplit(public).netloc.lower()])])
    return server


class SurveyServer(ThreadingHTTPServer):
    """Serves one receiver."""

    daemon_threads = True
    receiver: Receiver


class _Requests(BaseHTTPRequestHandler):
    timeout = _SECONDS
    server_version, sys_version = "privet", ""
    server: SurveyServer

    def do_GET(self) -> None:
        self._reply(b"")

    def do_HEAD(self) -> None:
        self._reply(b"")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or len(length) > 9:
            self._send(Reply(411, "text/plain", b"the length of a report must be given"))
            return
        if int(length) > MOST_BYTES:
            self._send(Reply(413, "text/plain", b"this is too long for a report"))
            return
        self._reply(self.rfile.read(int(length)))

    def _reply(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = urlsplit(self.path).path.removeprefix("/")
        self._send(self.server.receiver.reply(self.command, path, headers, body))

    def _send(self, reply: Reply) -> None:
        self.close_connection = True
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: when someone answered, and from where, is not recorded."""
