"""The address of a ledger in a PostgreSQL server: how it is read, which encryption it has to have, how it is shown.

An address may contain a password. So none is ever quoted: not in an error, not in a representation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter
from privet.core.given import is_address
from privet.core.server_hosts import KEEPALIVES, encryption_of, hosts_of, load_driver, stated_in

if TYPE_CHECKING:
    import psycopg

SCHEMA = "privet"
"""The schema of a ledger whose address names none."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_ALLOWED = (
    "an address such as postgresql://privet_app@db.example.org/hospital#privet, "
    "where the word after # is the ledger's schema"
)


def load_psycopg() -> Any:
    """Return the module of PostgreSQL's driver, or raise `RequestError` with the command that installs it."""
    return load_driver("a ledger in PostgreSQL needs")


@dataclass(frozen=True)
class ServerAddress:
    """Where a ledger is: a server, a database and a schema. `shown` contains no secret."""

    shown: str
    schema: str
    has_password: bool
    _options: Mapping[str, Any] = field(repr=False)

    def connect(self, timeout: float) -> psycopg.Connection[Any]:
        """Return a new connection in autocommit mode."""
        seconds = min(max(5, int(timeout)), 2**31 - 1)
        waits = {"connect_timeout": seconds, **self._options}
        connection: psycopg.Connection[Any] = load_psycopg().connect(**waits, autocommit=True)
        return connection


def read_address(value: object, parameter: str = "url") -> ServerAddress:
    """Return the address of a ledger, or raise `BadParameter` without quoting it.

    Guarantee: that of `encryption_of`.
    """
    if not isinstance(value, str) or not is_address(value) or "\x00" in value or len(value) > 4096:
        raise BadParameter(parameter, type(value).__name__, _ALLOWED)
    written, _, schema = value.partition("#")
    if not _SCHEMA.fullmatch(schema or SCHEMA):
        raise BadParameter(parameter, "an address with another word after #", _ALLOWED)
    given = stated_in(load_psycopg(), written, parameter, _ALLOWED)
    options = {
        "application_name": "privet",
        **KEEPALIVES,
        "tcp_user_timeout": 30_000,
        **given,
        "client_encoding": "utf8",
    }
    hosts = hosts_of(given)
    if len(hosts) > 1:
        options.setdefault("target_session_attrs", "read-write")
    options |= encryption_of(given)
    database = given.get("dbname") or given.get("user") or os.environ.get("PGDATABASE", "")
    names = ",".join(hosts) or "the local server"
    return ServerAddress(f"{names}/{database}#{schema or SCHEMA}", schema or SCHEMA, "password" in given, options)


def shown_place(place: object) -> str:
    """Return where a ledger is, for people: a path, or an address without its role and its password."""
    return read_address(place).shown if is_address(place) else str(place)
