"""Who is asking: accounts, their tokens, questions and saved answers in a small SQLite file, and browser log-ins.

Only its owner may read the file, which is beside the ledger. Where identities come from is behind one small protocol.
A log-in is a signed cookie with the number of a token and when it ends; it is checked against the accounts at each use,
so that a revoked token ends every log-in by it at once.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from privet.core.durable_files import replace_file
from privet.core.errors import AccessError, BadParameter, Forbidden, NotFound, RequestError, raise_alone
from privet.core.given import listed, plain_text

Role = Literal["analyst", "auditor", "custodian"]
ROLES: tuple[Role, ...] = get_args(Role)

UNKNOWN = "this needs a valid token; ask the custodian for one, and send it as Authorization: Bearer TOKEN"
"""The reply to a missing, wrong, expired or revoked token, which does not reveal which of these it is."""
NO_LOG_IN = "this token is not valid here; copy all of it, from privet_ to its end, or ask the custodian for another"
"""The same for a log-in, where a person types the token."""


@dataclass(frozen=True)
class Identity:
    """An account of the server as a request proves it.

    `datasets` and `tables` are None where all are allowed; `withheld` lists columns as "table.column" or "column".
    `token` is the number of the token in the store of accounts.
    """

    name: str
    role: Role
    token: int
    datasets: tuple[str, ...] | None = None
    tables: tuple[str, ...] | None = None
    withheld: tuple[str, ...] = ()
    expires: datetime.datetime | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the facts that an account may know about itself."""
        return {
            "name": self.name,
            "role": self.role,
            "datasets": None if self.datasets is None else list(self.datasets),
            "tables": None if self.tables is None else list(self.tables),
            "withheld": list(self.withheld),
            "expires": None if self.expires is None else self.expires.isoformat(),
        }


class ProvesIdentity(Protocol):
    """Where identities come from: the store of tokens, or an identity provider of an organisation."""

    def identify(self, secret: str) -> Identity | None:
        """Return whose secret it is; None for one that is unknown, expired or revoked."""


def read_role(value: object) -> Role:
    """Return a role, or refuse."""
    if value not in ROLES:
        raise BadParameter("role", value, "one of " + ", ".join(ROLES))
    return value


def unknown() -> AccessError:
    """Return the one error for every way of not being known."""
    return AccessError(UNKNOWN)


PREFIX = "privet_"
"""How every token begins, so that scanners of source code find those that leaked."""

_BYTES = 32
_USED_EVERY = datetime.timedelta(minutes=1)
_LONGEST = 200
_TABLES = """
CREATE TABLE IF NOT EXISTS tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, role TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,
    datasets TEXT, tables TEXT, withheld TEXT NOT NULL, created TEXT NOT NULL, expires TEXT, used TEXT, revoked TEXT
);
CREATE TABLE IF NOT EXISTS asked (
    id TEXT PRIMARY KEY, dataset TEXT NOT NULL, account TEXT NOT NULL, operation TEXT NOT NULL, body TEXT NOT NULL,
    moment TEXT NOT NULL, created TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS asked_by ON asked (account, dataset);
CREATE TABLE IF NOT EXISTS shares (
    id INTEGER PRIMARY KEY AUTOINCREMENT, question TEXT NOT NULL, reader TEXT NOT NULL, UNIQUE (question, reader)
);
CREATE TABLE IF NOT EXISTS saved (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL, account TEXT NOT NULL, name TEXT NOT NULL,
    question TEXT NOT NULL, answer TEXT, created TEXT NOT NULL, UNIQUE (account, dataset, name)
);
CREATE TABLE IF NOT EXISTS requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL, account TEXT NOT NULL, budget TEXT NOT NULL,
    reason TEXT NOT NULL, created TEXT NOT NULL, state TEXT NOT NULL, decided TEXT, decided_by TEXT, note TEXT
);
"""


@dataclass(frozen=True)
class TokenFacts:
    """The facts of a token: all but the token."""

    id: int
    identity: Identity
    created: str
    used: str | None
    revoked: str | None

    @property
    def state(self) -> str:
        """Whether it can be used."""
        if self.revoked is not None:
            return "revoked"
        expires = self.identity.expires
        return "expired" if expires is not None and utc() >= expires else "valid"

    @property
    def use_is_due(self) -> bool:
        """Whether its use is to be remembered again."""
        return self.used is None or utc() - datetime.datetime.fromisoformat(self.used) > _USED_EVERY

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        facts = {"id": self.id, "created": self.created, "last_use": self.used, "revoked": self.revoked}
        return {**facts, **self.identity.to_dict(), "state": self.state}


@dataclass(frozen=True)
class AskedQuestion:
    """A question that was admitted: what to run to find its answer in the ledger."""

    id: str
    dataset: str
    account: str
    operation: str
    body: dict[str, Any]
    moment: datetime.datetime
    created: str


def utc() -> datetime.datetime:
    """Return the time in UTC."""
    return datetime.datetime.now(datetime.UTC)


def _now() -> str:
    return utc().isoformat(timespec="seconds")


class TokenStore:
    """The accounts file: a connection that writes and one that looks up tokens, each used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._finding = threading.Lock()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0), 0o600))
            mode = path.stat().st_mode
        except OSError as error:
            raise_alone(RequestError(f"the accounts file {str(path)!r} cannot be opened: {error.strerror}"))
        if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise RequestError(f"others may read the accounts file {str(path)!r}; run: chmod 600 {path}")
        try:
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.executescript(_TABLES)
            # tokens are looked up while a write waits for the disk
            self._reader = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=10)
            self._reader.execute("PRAGMA query_only=ON")
        except sqlite3.Error:
            raise_alone(RequestError(f"the accounts file {str(path)!r} is not one of Privet's, or is damaged"))

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._finding:
            self._reader.close()
            self._connection.close()

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def _write(self, sql: str, *values: object) -> tuple[int, int]:
        """Return the number of the last row that was added, and of the rows that changed."""
        with self._lock:
            done = self._connection.execute(sql, values)
            return done.lastrowid or 0, done.rowcount

    # Tokens.

    def add(
        self,
        name: str,
        role: str,
        *,
        datasets: Sequence[str] | None = None,
        tables: Sequence[str] | None = None,
        withheld: Sequence[str] = (),
        expires: datetime.datetime | None = None,
    ) -> tuple[str, TokenFacts]:
        """Return a new token and its facts. The token itself is not stored: a lost one is replaced by another."""
        read_name(name)
        kind = read_role(role)
        if expires is not None and (expires.tzinfo is None or expires <= utc()):
            raise BadParameter("expires", str(expires), "a time to come, with its zone")
        token = PREFIX + secrets.token_urlsafe(_BYTES)
        lists = [None if names is None else json.dumps(_texts(names)) for names in (datasets, tables)]
        number, _ = self._write(
            "INSERT INTO tokens (name, role, hash, datasets, tables, withheld, created, expires) "
            "VALUES (?,?,?,?,?,?,?,?)",
            name,
            kind,
            _hash(token),
            *lists,
            json.dumps(_texts(withheld)),
            _now(),
            None if expires is None else expires.astimezone(datetime.UTC).isoformat(),
        )
        return token, self.token(number)

    def token(self, number: int) -> TokenFacts:
        """Return the facts of a token by its number."""
        rows = self._rows(f"{_SELECT} WHERE id = ?", number)
        if not rows:
            raise NotFound(f"there is no token {number}")
        return _facts(rows[0])

    def tokens(self) -> list[TokenFacts]:
        """Return every token that was ever made, oldest first."""
        return [_facts(row) for row in self._rows(f"{_SELECT} ORDER BY id")]

    def revoke(self, number: int) -> TokenFacts:
        """Revoke a token for good; one that is revoked stays so."""
        self.token(number)
        self._write("UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", _now(), number)
        return self.token(number)

    def identify(self, secret: str) -> Identity | None:
        """Return whose token it is; None for one that is unknown, expired or revoked.

        Tokens are compared by their hashes, in constant time.
        """
        facts = self.recognise(secret)
        return None if facts is None else self.valid(facts.id)

    def recognise(self, secret: str) -> TokenFacts | None:
        """Return the facts of a token that may be used now, as `identify` does, and write nothing: it never waits.

        Guarantee: what was revoked before, by this process or by another, is not recognised.
        """
        if not secret.isascii() or len(secret) > _LONGEST:
            return None
        hashed = _hash(secret)
        with self._finding:
            rows = self._reader.execute(f"SELECT {_COLUMNS}, hash FROM tokens WHERE hash = ?", (hashed,)).fetchall()
        for *row, kept in rows:
            if hmac.compare_digest(bytes(kept), hashed) and (facts := _facts(tuple(row))).state == "valid":
                return facts
        return None

    def valid(self, number: int) -> Identity | None:
        """Return the identity of a token that may be used now, and remember that it was used."""
        rows = self._rows(f"{_SELECT} WHERE id = ?", number)
        if not rows or (facts := _facts(rows[0])).state != "valid":
            return None
        if facts.use_is_due:
            self.mark_used(number)
        return facts.identity

    def mark_used(self, number: int) -> None:
        """Remember that a token was used now."""
        self._write("UPDATE tokens SET used = ? WHERE id = ?", _now(), number)

    # Questions that were admitted.

    def remember(self, asked: AskedQuestion) -> None:
        """Keep an admitted question by its id."""
        self._write(
            "INSERT OR IGNORE INTO asked VALUES (?,?,?,?,?,?,?)",
            asked.id,
            asked.dataset,
            asked.account,
            asked.operation,
            json.dumps(asked.body),
            asked.moment.isoformat(),
            asked.created,
        )

    def asked(self, identifier: str, account: str) -> AskedQuestion:
        """Return an account's own question; anyone else's does not exist."""
        rows = self._rows("SELECT * FROM asked WHERE id = ? AND account = ?", identifier, account)
        if not rows:
            raise NotFound("there is no such answer; answers have the ids that were returned when they were asked for")
        return _question(rows[0])

    def asked_by(self, account: str, dataset: str, limit: int) -> list[AskedQuestion]:
        """Return an account's latest questions, latest first."""
        rows = self._rows(
            "SELECT * FROM asked WHERE account = ? AND dataset = ? ORDER BY rowid DESC LIMIT ?", account, dataset, limit
        )
        return [_question(row) for row in rows]

    # Questions that are shown to other accounts.

    def share(self, asked: AskedQuestion, reader: str) -> None:
        """Show a question to another account, once."""
        shown = self._rows(
            "SELECT COUNT(*) FROM shares JOIN asked ON question = asked.id WHERE account = ?", asked.account
        )
        if shown[0][0] >= 10_000:
            raise RequestError("10,000 questions of yours are shared already")
        self._write("INSERT OR IGNORE INTO shares (question, reader) VALUES (?,?)", asked.id, reader)

    def shared_with(self, reader: str, dataset: str, limit: int = 200) -> list[tuple[int, AskedQuestion]]:
        """Return the questions that are shown to an account, each with the number of its share, latest first."""
        rows = self._rows(
            "SELECT shares.id, asked.* FROM shares JOIN asked ON question = asked.id "
            "WHERE reader = ? AND dataset = ? ORDER BY shares.id DESC LIMIT ?",
            reader,
            dataset,
            limit,
        )
        return [(row[0], _question(row[1:])) for row in rows]

    # Questions and answers that an account keeps under a name.

    def save(self, dataset: str, account: str, name: str, question: str, answer: str | None) -> dict[str, Any]:
        """Keep a question, or an answer by its id, under a name; it replaces an earlier one of that name."""
        kept = self._rows("SELECT COUNT(*) FROM saved WHERE account = ? AND dataset = ?", account, dataset)
        if kept[0][0] >= 1000:
            raise RequestError("1,000 names are in use already; remove one first")
        self._write(
            "INSERT INTO saved (dataset, account, name, question, answer, created) VALUES (?,?,?,?,?,?) "
            "ON CONFLICT (account, dataset, name) DO UPDATE SET question = excluded.question, "
            "answer = excluded.answer, created = excluded.created",
            dataset,
            account,
            read_name(name, most=120),
            question,
            answer,
            _now(),
        )
        return next(saved for saved in self.saved(dataset, account) if saved["name"] == name)

    def saved(self, dataset: str, account: str) -> list[dict[str, Any]]:
        """Return an account's saved questions and answers, by name."""
        rows = self._rows(
            "SELECT id, name, question, answer, created FROM saved WHERE account = ? AND dataset = ? ORDER BY name",
            account,
            dataset,
        )
        return [dict(zip(("id", "name", "question", "answer", "created"), row, strict=True)) for row in rows]

    def forget(self, dataset: str, account: str, number: int) -> None:
        """Remove one of an account's own names; anyone else's does not exist."""
        _, changed = self._write(
            "DELETE FROM saved WHERE id = ? AND account = ? AND dataset = ?", number, account, dataset
        )
        if not changed:
            raise NotFound("nothing is saved under this number")

    # Requests for more budget.

    def request(self, dataset: str, account: str, budget: dict[str, Any], reason: str) -> dict[str, Any]:
        """Keep an analyst's request for more budget, and return it."""
        waiting = self._rows(
            "SELECT COUNT(*) FROM requests WHERE account = ? AND dataset = ? AND state = 'open'", account, dataset
        )
        if waiting[0][0] >= 10:
            raise RequestError("10 requests of yours are still open; wait until the custodian has decided")
        number, _ = self._write(
            "INSERT INTO requests (dataset, account, budget, reason, created, state) VALUES (?,?,?,?,?,'open')",
            dataset,
            account,
            json.dumps(budget),
            read_name(reason, "reason", most=1000),
            _now(),
        )
        return self.requests(dataset, number=number)[0]

    def requests(self, dataset: str, *, account: str | None = None, number: int | None = None) -> list[dict[str, Any]]:
        """Return requests for more budget, latest first: all, one account's, or one by its number."""
        rows = self._rows(
            "SELECT * FROM requests WHERE dataset = ? AND (? IS NULL OR account = ?) AND (? IS NULL OR id = ?) "
            "ORDER BY id DESC LIMIT 1000",
            dataset,
            account,
            account,
            number,
            number,
        )
        names = "id", "dataset", "account", "budget", "reason", "created", "state", "decided", "decided_by", "note"
        return [{**dict(zip(names, row, strict=True)), "budget": json.loads(row[3])} for row in rows]

    def decide(self, dataset: str, number: int, state: str, *, by: str, note: str) -> dict[str, Any]:
        """Close an open request, once."""
        requests = self.requests(dataset, number=number)
        if not requests:
            raise NotFound(f"there is no request {number}")
        _, changed = self._write(
            "UPDATE requests SET state = ?, decided = ?, decided_by = ?, note = ? WHERE id = ? AND state = 'open'",
            state,
            _now(),
            by,
            note,
            number,
        )
        if not changed:
            raise RequestError(f"request {number} was decided before: {requests[0]['state']}")
        return self.requests(dataset, number=number)[0]


_COLUMNS = "id, name, role, datasets, tables, withheld, created, expires, used, revoked"
_SELECT = f"SELECT {_COLUMNS} FROM tokens"


def read_name(value: object, parameter: str = "name", *, most: int = _LONGEST) -> str:
    """Return a name of 1 to 200 printable characters, or refuse."""
    name = plain_text(value, parameter, f"text of 1 to {most} printable characters", least=1)
    if len(name) > most or not name.isprintable() or name != name.strip():
        raise BadParameter(parameter, name, f"text of 1 to {most} printable characters, without spaces at its ends")
    return name


def _texts(values: Sequence[str]) -> list[str]:
    return [read_name(name, "names") for name in listed(values, "names", "a list of names")]


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _facts(row: tuple[Any, ...]) -> TokenFacts:
    number, name, role, datasets, tables, withheld, created, expires, used, revoked = row
    kind: Role = read_role(role)
    until = None if expires is None else datetime.datetime.fromisoformat(expires)
    sets, about = (None if text is None else tuple(json.loads(text)) for text in (datasets, tables))
    identity = Identity(name, kind, number, sets, about, tuple(json.loads(withheld)), until)
    return TokenFacts(number, identity, created, used, revoked)


def _question(row: tuple[Any, ...]) -> AskedQuestion:
    identifier, dataset, account, operation, body, moment, created = row
    return AskedQuestion(
        identifier, dataset, account, operation, json.loads(body), datetime.datetime.fromisoformat(moment), created
    )


SECONDS = 12 * 3600
"""How long a log-in lasts."""

_KEY_BYTES = 32
_LONGEST_COOKIE = 1000


@dataclass(frozen=True)
class LogIn:
    """The contents of a cookie that was signed here: whose token, and until when."""

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
        """Return the log-in of a cookie; None where it was not signed here, or has expired."""
        body, _, signature = cookie.partition(".")
        if len(cookie) > _LONGEST_COOKIE or not cookie.isascii():
            return None
        if not hmac.compare_digest(signature, self._sign("cookie", body)):
            return None
        try:
            token, until, _ = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, binascii.Error):
            return None
        return LogIn(token, until, cookie) if time.time() < until else None

    def csrf_token(self, login: LogIn) -> str:
        """Return the token that our own pages send with every change: it follows from the cookie and the key."""
        return self._sign("csrf", login.cookie)

    def check_own_page(self, login: LogIn, *, sent: str | None, origin: str | None, own: str) -> None:
        """Raise `Forbidden` unless a change was requested by a page of this origin with the log-in's token."""
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
