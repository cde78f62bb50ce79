"""A receiver on the standard library's HTTP server: on this machine alone, or behind a proxy that encrypts.

Nothing is logged: not a path, not an address, not a time.
"""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from privet.core.errors import RequestError, raise_alone

from .receiver import Receiver, Reply
from .survey_folder import MOST_BYTES, SurveyFolder

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
