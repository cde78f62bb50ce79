"""The address of a PostgreSQL server whose tables are asked about: how it is read, encrypted and shown.

An address may contain a password. So none is ever quoted: not in an error, not in a representation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from privet.core import given
from privet.core.errors import BadParameter, EngineError, RequestError, raise_alone
from privet.core.numbers import Number, is_unicode, read_seconds, whole
from privet.core.schema import Table
from privet.core.server_hosts import KEEPALIVES, encryption_of, hosts_of, load_driver, stated_in

if TYPE_CHECKING:
    from psycopg import Connection

    from .postgres_engine import PostgresEngine

TIMEOUT = 600
"""A public constant: for how many seconds a scan may run."""

SCANS = 4
MOST_SCANS = 1024
WORK_MEM = "64MB"

_ALLOWED = "an address such as postgresql://reader@db.example.org/hospital"
_CONNECTING = 10
_SIZE = re.compile(r"[1-9][0-9]{0,5}(kB|MB|GB)")


def driver() -> Any:
    """Return PostgreSQL's driver, or raise `RequestError` with the command that installs it."""
    return load_driver("tables in PostgreSQL need")


@dataclass(frozen=True, repr=False)
class Postgres:
    """A PostgreSQL server whose tables are asked about, as `engine=` of a session. Rows never leave it.

    Everything runs inside the server, as a role that may only read, in read-only transactions of one snapshot each. The
    connection is encrypted and the server's certificate checked (`sslmode=verify-full`), unless it stays on this
    machine or the address states another `sslmode`. Keep passwords out of addresses: `PGPASSWORD`, a password file of
    PostgreSQL's (`~/.pgpass`), or `password_file`.

    Args:
        url: the address, such as "postgresql://reader@db.example.org/hospital".
        password_file: a file with the password of the role, on one line.
        timeout: for how many seconds one scan may run.
        scans: how many scans run at once; further ones wait.
        work_mem: how much memory one sort or hash of a scan may take, before it goes to the server's disk.

    Raises:
        RequestError: if the address cannot be read. It is not connected to before a session opens its tables.

    Example:
        >>> privet.Postgres("postgresql://reader:secret@db.example.org/hospital")
        Postgres('reader@db.example.org/hospital')
    """

    url: str
    password_file: str | os.PathLike[str] | None = None
    timeout: Number = TIMEOUT
    scans: int = SCANS
    work_mem: str = WORK_MEM

    def __post_init__(self) -> None:
        read_options(self.url)
        if self.password_file is not None:
            given.path(self.password_file, "password_file", "the path of a file with a password")
        read_seconds(self.timeout, "timeout")
        whole(self.scans, "scans", least=1, most=MOST_SCANS)
        read_work_mem(self.work_mem)

    def over(self, tables: Mapping[str, Table]) -> PostgresEngine:
        """Return an engine over tables of this server, which the caller closes."""
        from .postgres_engine import PostgresEngine

        return PostgresEngine(self, tables)

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        return shown(read_options(self.url))

    def __repr__(self) -> str:
        return f"Postgres({self.shown!r})"


def connect(address: Postgres) -> Connection[Any]:
    """Return a new connection in autocommit mode; raise `RequestError` where there is none, without its reason.

    A server's refusal may quote anything; the custodian finds it in the server's log.
    """
    options = read_options(address.url)
    if address.password_file is not None:
        options["password"] = _password(address.password_file)
    psycopg = driver()
    try:
        return cast("Connection[Any]", psycopg.connect(**options, autocommit=True, prepare_threshold=None))
    except psycopg.Error:
        raise_alone(
            RequestError(
                f"PostgreSQL cannot be connected to at {shown(options)}: check that it runs there, that the role "
                f"and the database exist, the password (PGPASSWORD, or a password file), and the certificate"
            )
        )
    except Exception:  # of the driver, for an odd address
        raise_alone(EngineError())


def read_options(value: object, parameter: str = "url") -> dict[str, Any]:
    """Return how a server is connected to, from its address; refuse any other text without quoting it.

    Guarantee: that of `encryption_of`.
    """
    known = isinstance(value, str) and value.startswith(("postgresql://", "postgres://")) and is_unicode(value)
    if not known or "\x00" in str(value) or len(str(value)) > 4096:
        raise BadParameter(parameter, type(value).__name__, _ALLOWED)
    stated = stated_in(driver(), str(value), parameter, _ALLOWED)
    options = {
        "application_name": "privet",
        "connect_timeout": _CONNECTING,
        **KEEPALIVES,
        **stated,
        "client_encoding": "utf8",
    }
    return options | encryption_of(stated)


def read_work_mem(value: object) -> str:
    """Return how much memory a sort or hash may take."""
    if not isinstance(value, str) or not _SIZE.fullmatch(value):
        raise BadParameter("work_mem", value, "a size such as '64MB'")
    return value


def has_password(url: object) -> bool:
    """Return whether an address contains a password."""
    return "password" in read_options(url)


def shown(options: Mapping[str, Any]) -> str:
    """Return where a connection leads, without a password."""
    user = f"{options['user']}@" if options.get("user") else ""
    return f"{user}{','.join(hosts_of(options)) or 'the local server'}/{options.get('dbname') or ''}"


def _password(path: str | os.PathLike[str]) -> str:
    try:
        with open(path, encoding="utf-8") as lines:
            return lines.readline().rstrip("\r\n")
    except (OSError, UnicodeError):
        raise_alone(RequestError("the file with the password of PostgreSQL's role cannot be read; check password_file"))
