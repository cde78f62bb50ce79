"""The ledger that many hosts share, in a PostgreSQL server: opened, restored, copied; and what its owner does once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from privet.core.budget import Budget
from privet.core.errors import LedgerError
from privet.core.given import function
from privet.core.numbers import Number, read_seconds
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.codec import read_head
from privet.ledger.copies import copy_ledger, copy_rows
from privet.ledger.entries import Time
from privet.ledger.history import History, StoredHistory, Transaction, verify_rows, write_cache
from privet.ledger.limits import KEYS_SHARE, Clock, make_rules, read_caps, read_lines, utc_now

from .ledger_tables import SYSTEM, TIMELINE, quoted_name, set_up_statements
from .postgres_rows import PostgresTransaction
from .postgres_store import PostgresStore, told_by_server
from .server_address import ServerAddress, read_address

if TYPE_CHECKING:
    pass

_WAIT = 10


class PostgresLedger(Bookkeeping):
    """A ledger in a PostgreSQL server, shared by any number of hosts.

    The owner of a schema makes its tables once, with `privet ledger init` or `PostgresLedger.set_up`; the ledger is
    opened as another role, which can add entries and read them, and can neither change nor remove one. With a
    `budget`, the first to open it writes its rules. All else is as in `SqliteLedger`.

    The connection is encrypted and the server's certificate checked (`sslmode=verify-full`), unless it stays on this
    machine or the address states another `sslmode`. Keep passwords out of addresses: `PGPASSWORD`, or a password file.

    Args:
        url: the server, the role and the database, and after # the schema (`privet` if left out).
        budget: what may be spent in all; needed for the first to open the ledger.
        analysts: the caps of single accounts, by name.
        per_query: the largest charge of one question.
        expires: the time after which nothing can be spent.
        keys_share: the share of delta that may be spent on finding groups.
        head: what `head()` returned earlier, to detect a server that lost entries.
        timeout: seconds to wait for another process, and for a server that went away.
        clock: returns the time; for tests.

    Raises:
        BadParameter: if the ledger has other rules.
        LedgerError: if the server cannot be reached, may lose what it commits, or was promoted or restored.

    Example:
        >>> try:
        ...     privet.PostgresLedger("hospital.ledger", privet.Pure(epsilon=1))
        ... except privet.RequestError as refused:
        ...     print(refused.code)
        request.parameter
    """

    def __init__(
        self,
        url: str,
        budget: Budget | None = None,
        *,
        analysts: Mapping[str, Budget] | None = None,
        per_query: Budget | None = None,
        expires: Time | None = None,
        keys_share: Number | None = None,
        head: str | None = None,
        timeout: Number = _WAIT,
        clock: Clock = utc_now,
    ) -> None:
        address = read_address(url)
        seconds = float(read_seconds(timeout, "timeout"))
        function(clock, "clock", "a function that returns the time")
        read_caps(analysts)
        if head is not None:
            read_head(head)
        self._postgres = PostgresStore(address, seconds)
        try:
            if not has_entries(self._postgres):
                if budget is None or head is not None:
                    raise LedgerError(
                        f"the ledger at {address.shown} has no entries: pass a budget to begin it; if it had some, "
                        "they are lost, and a copy has to be put back"
                    )
                share = KEYS_SHARE if keys_share is None else keys_share
                rules = make_rules(
                    budget, per_query=per_query, expires=expires, keys_share=share, ledger=self._postgres.ledger_id()
                )
                with StoredHistory(self._postgres, clock).writing() as history:
                    if not history.state.head.number:  # or else another process was quicker
                        _check_never_begun(history.transaction)
                        history.append(rules)
                        write_cache(history.transaction, history.state)  # which shows that it was begun
        except BaseException:
            self._postgres.close()
            raise
        super().__init__(
            self._postgres,
            budget,
            analysts=analysts,
            per_query=per_query,
            expires=expires,
            keys_share=keys_share,
            head=head,
            clock=clock,
        )

    @property
    def place(self) -> str:
        """The server, the database and the schema, without the role and its password."""
        return self._postgres.address.shown

    @classmethod
    def restore(cls, url: str, lines: Iterable[str], *, head: str | None = None, **options: Any) -> PostgresLedger:
        """Return a ledger in tables that are still empty, from the lines that `export` returned, checked one by one.

        `head` must be among them, if it is passed: then none of the entries up to it can be missing or different.
        """
        address = read_address(url)
        pinned = None if head is None else read_head(head)
        written = read_lines(lines)
        _fill(address, lambda new: new.add_lines(written, pinned))
        return cls(url, head=head, **options)

    @classmethod
    def set_up_sql(cls, url: str, *, role: str) -> str:
        """Return the SQL of `set_up`, to be run by hand, in one transaction."""
        statements = set_up_statements(read_address(url).schema, role)
        return ";\n".join(("BEGIN", *statements, "COMMIT;"))

    @classmethod
    def set_up(cls, url: str, *, role: str) -> None:
        """Make the tables of a new ledger, as the owner that the address names, and let a role use them.

        The role is made where there is none, without a password. All of it is done, or none.
        """
        address = read_address(url)
        _as_owner(address, set_up_statements(address.schema, role))

    @classmethod
    def adopt(cls, url: str, *, head: str) -> str:
        """Go on with a server that was promoted or restored, as the owner that the address names; return its head.

        `head` is the last one that was kept anywhere: in a certificate, a log, a backup. It must be in the ledger.

        Guarantee: the whole ledger is verified first. Entries after `head` that the former server had committed may
        still be missing: what they spent is then forgotten, and the budget must be lowered by hand, or not used.
        """
        address, pinned = read_address(url), read_head(head)
        with told_by_server(), closing(address.connect(_WAIT)) as connection, connection.transaction():
            connection.execute("SELECT pg_catalog.set_config('search_path', '', true)")
            connection.execute(f"LOCK TABLE {quoted_name(address.schema)}.servers IN EXCLUSIVE MODE")
            rows = PostgresTransaction(connection, address.schema, None)
            rows.check()
            found = rows.hash_at(pinned.number)
            if found != pinned.hash:
                raise LedgerError(
                    f"the ledger does not contain entry {pinned.number} of the head that was passed: this server has "
                    "lost entries; go on with one that has them, or restore an export that has them"
                )
            last = str(verify_rows(rows).head)
            servers = f"{quoted_name(address.schema)}.servers"
            connection.execute(
                f"INSERT INTO {servers} (number, system, timeline, head) "
                f"SELECT max(number) + 1, {SYSTEM}, {TIMELINE}, %s FROM {servers}",
                (last,),
            )
        return last

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new file, or to empty tables at another address, while others go on spending."""
        with self._postgres.lock, self._postgres.reading() as rows:
            copy_ledger(rows, path)

    def __repr__(self) -> str:
        return f"PostgresLedger({self.place!r})"


def has_entries(store: PostgresStore) -> bool:
    """Return whether a ledger was begun."""
    with store.lock, store.reading() as rows:
        return rows.hash_at(1) is not None


def _check_never_begun(rows: Transaction) -> None:
    """Raise `LedgerError` where there are no entries and a balance was cached: there were some.

    Guarantee: a ledger whose entries were removed is not begun again, with its whole budget, as long as the balance
    that was cached at its beginning is there; the role that uses the ledger cannot remove it.
    """
    if rows.cached() is not None:
        raise LedgerError(
            "the ledger has lost all of its entries; make new tables with privet ledger init, put a copy into them "
            "and compare its head"
        )


def is_begun(url: str) -> bool:
    """Return whether there is a ledger at an address, with its first entry."""
    store = PostgresStore(read_address(url), _WAIT)
    with closing(store):
        return has_entries(store)


def fill_from(url: str, source: Transaction) -> None:
    """Copy the rows of a ledger, and the texts that it keeps, into empty tables at an address."""
    _fill(read_address(url), lambda new: copy_rows(source, new.transaction))


def _fill(address: ServerAddress, write: Callable[[History], object]) -> None:
    """Write a whole ledger into empty tables and verify it, in one transaction."""
    store = PostgresStore(address, _WAIT)
    with closing(store), store.lock, store.writing() as rows:
        if rows.hash_at(1) is not None:
            raise LedgerError(f"there is a ledger at {address.shown} already; a copy needs tables of its own")
        _check_never_begun(rows)
        write(History(rows, utc_now, None))
        write_cache(rows, verify_rows(rows))


def _as_owner(address: ServerAddress, statements: Iterable[str]) -> None:
    with told_by_server(), closing(address.connect(_WAIT)) as connection, connection.transaction():
        connection.execute("SELECT pg_catalog.set_config('search_path', '', true)")
        for statement in statements:
            connection.execute(statement)
