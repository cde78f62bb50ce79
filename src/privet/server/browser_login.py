"""Browser log-in: a signed cookie that stands for a token, and the check that a request comes from our own pages.

The cookie holds the number of a token, when it ends, and a signature; it is checked against the accounts at each use,
so that a revoked token ends every log-in by it at once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from privet.core.durable_files import replace_file
from privet.core.errors import Forbidden, RequestError

SECONDS = 12 * 3600
"""How long a log-in lasts."""

_KEY_BYTES = 32
_LONGEST = 1000


@dataclass(frozen=True)
class LogIn:
    """What a cookie that was signed here says: whose token, and until when."""

    token: int
    until: int
    cookie: str


class CookieSigner:
    """Signs and checks cookies with one key, which is made at the first start; only its owner may read its file."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            rotate_key(path)
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise RequestError(f"others may read the cookie key {str(path)!r}; run: privet token rotate-cookies")
        self._key = path.read_bytes()
        if len(self._key) != _KEY_BYTES:
            raise RequestError(f"{str(path)!r} is not a cookie key; run: privet token rotate-cookies")

    def issue(self, token: int) -> LogIn:
        """Return a log-in by a token, with its cookie."""
        until = int(time.time()) + SECONDS
        body = _encode(json.dumps([token, until, secrets.token_hex(16)]).encode())
        return LogIn(token, until, f"{body}.{self._sign('cookie', body)}")

    def read(self, cookie: str) -> LogIn | None:
        """Return the log-in that a cookie stands for; None where it was not signed here, or is over."""
        body, _, signature = cookie.partition(".")
        if len(cookie) > _LONGEST or not cookie.isascii():
            return None
        if not hmac.compare_digest(signature, self._sign("cookie", body)):
            return None
        try:
            token, until, _ = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, binascii.Error):
            return None
        return LogIn(token, until, cookie) if time.time() < until else None

    def csrf_token(self, login: LogIn) -> str:
        """Return what our own pages send along with every change: it follows from the cookie and the key."""
        return self._sign("csrf", login.cookie)

    def check_own_page(self, login: LogIn, *, sent: str | None, origin: str | None, own: str) -> None:
        """Raise `Forbidden` unless a change was asked for by a page of this origin that holds the log-in's token."""
        if origin != own or not hmac.compare_digest((sent or "").encode(), self.csrf_token(login).encode()):
            raise Forbidden(
                "a change by a browser needs the page's own X-CSRF-Token and its Origin; load the page again"
            )

    def _sign(self, purpose: str, text: str) -> str:
        return _encode(hmac.new(self._key, f"{purpose}\n{text}".encode(), hashlib.sha256).digest())


def rotate_key(path: Path) -> None:
    """Write a new key; every log-in ends."""
    replace_file(path, secrets.token_bytes(_KEY_BYTES))


def _encode(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()
