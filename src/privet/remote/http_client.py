"""HTTP to a server, with the standard library alone: one token, JSON both ways, errors raised as their own classes."""

from __future__ import annotations

import http.client
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from privet.core import errors
from privet.core.errors import BadParameter, Busy, LedgerError, PrivetError, RequestError, raise_alone

_LONGEST_WAIT = 25
"""Seconds for which one request waits for an answer."""

_PATIENCE = 120
"""Seconds for which a busy server is asked again."""


def read_error(told: Any, status: int) -> PrivetError:
    """Return the error that a server reported, with its fields."""
    if not isinstance(told, dict) or not isinstance(told.get("message"), str):
        return LedgerError(f"the server answered with HTTP status {status}, and not as a server of Privet does")
    listed = (cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, PrivetError))
    kinds = {cls.code: cls for cls in listed}
    kind = kinds.get(str(told.get("code")), kinds.get(str(told.get("code")).partition(".")[0], PrivetError))
    error = kind.__new__(kind, told["message"])
    fields = {name: value for name, value in told.items() if name not in ("code", "message") and name.isidentifier()}
    error.__dict__.update(fields)
    if isinstance(error, Busy):
        error.retry_after = max(1, min(60, int(told.get("retry_after") or 1)))
    return error


class HttpClient:
    """Requests to one server with one token. Threads may share it: each has its own connection."""

    def __init__(self, url: str, token: str, *, timeout: float = 60) -> None:
        self.url = url.rstrip("/")
        place = urlsplit(self.url)
        if place.scheme not in ("https", "http") or not place.hostname or place.query or place.username:
            raise BadParameter("url", url, "the address of a server, such as https://privet.example.org")
        if place.scheme == "http" and not _is_this_computer(place.hostname):
            raise RequestError("a token must not pass in clear text: the address must begin with https://")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise RequestError("token must be the text that `privet token add` printed")
        if not token.strip().startswith("privet_") or len(token) > 200:
            raise RequestError("token must be the text that `privet token add` printed, which begins with privet_")
        self._place, self._token, self._timeout = place, token.strip(), timeout
        self._local = threading.local()

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def get(self, path: str) -> Any:
        """Return the JSON that a path has."""
        return self._call("GET", path, None, {})[1]

    def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[int, Any]:
        """Return the status and the JSON that a request gets; a server that is busy is asked again for a while."""
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._call("POST", path, json.dumps(body, allow_nan=False), headers)
            except Busy as busy:
                if time.monotonic() + busy.retry_after > ends:
                    raise
                time.sleep(busy.retry_after)

    def answer(self, identifier: str) -> Any:
        """Return a question once it is answered, or failed, or interrupted."""
        while True:
            status, reply = self._call("GET", f"/v1/answers/{segment(identifier)}?wait={_LONGEST_WAIT}", None, {})
            if status != 202:
                return reply

    def _call(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> tuple[int, Any]:
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **headers}
        if body is not None:
            sent["Content-Type"] = "application/json"
        status, text = self._exchange(method, self._place.path + path, body, sent)
        try:
            reply = json.loads(text)
        except ValueError:
            reply = None
        if status >= 400 or not isinstance(reply, dict):
            raise_alone(read_error(reply.get("error") if isinstance(reply, dict) else None, status))
        return status, reply

    def _exchange(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """Return the status and the body of a response. A connection that went stale is opened once more.

        Sending a question twice is harmless: it is charged once.
        """
        while True:
            connection = getattr(self._local, "connection", None)
            fresh = connection is None
            try:
                if connection is None:
                    connection = self._local.connection = self._connect()
                connection.request(method, path, None if body is None else body.encode(), headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh:
                    message = f"the server at {self.url} cannot be reached; what was asked already is not charged again"
                    raise_alone(LedgerError(message))

    def _connect(self) -> http.client.HTTPConnection:
        host, port = str(self._place.hostname), self._place.port
        if self._place.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=ssl.create_default_context())


def segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe="")


def _is_this_computer(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
