"""A ledger in PostgreSQL where connections are lost at the worst moment, processes fork, servers are promoted."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import postgres_server
from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import BudgetExceeded, LedgerError
from privet.ledger.history import Row
from privet.ledger.postgres import PostgresLedger
from privet.ledger.postgres.postgres_ledger import PostgresStore, Unreachable

TENTH = PureEvent(Fraction(1, 10))


class Wire:
    """A socket between a client and a server, which can be cut when the client sends the next message, or after it."""

    def __init__(self, server: postgres_server.PostgresServer) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wire-", dir="/tmp"))
        self._target = str(server.folder / f".s.PGSQL.{postgres_server.PORT}")
        self.cut: str | None = None
        self.closed_for_new = False
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(self.folder / f".s.PGSQL.{postgres_server.PORT}"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.closed_for_new:
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.connect(self._target)
            for one, other, sending in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass_on, args=(one, other, sending), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, sending: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if sending and self.cut == "before":
                    break
                if not sending and self.cut == "after":  # the server has done it, and nobody is told
                    break
                target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        self._listening.close()
        for file in self.folder.iterdir():
            file.unlink()
        self.folder.rmdir()


@pytest.fixture
def wire(ledger_address: Callable[[], str]) -> Iterator[tuple[Wire, str, str]]:
    """A wire, the address of a ledger through it, and its address without it."""
    direct = ledger_address()
    server = postgres_server.shared_durable_server()
    wire = Wire(server)
    try:
        yield (
            wire,
            direct.replace(str(server.folder).replace("/", "%2F"), str(wire.folder)).replace(
                str(server.folder), str(wire.folder)
            ),
            direct,
        )
    finally:
        wire.close()


@contextlib.contextmanager
def cut_at_commit(wire: Wire, how: str, monkeypatch: pytest.MonkeyPatch, *, stays: bool = False) -> Iterator[None]:
    """Cut the wire at the next commit: before the server hears of it, or after it has committed."""
    commit, resolve = PostgresStore._commit, PostgresStore._resolve

    def armed(self: PostgresStore, inserted: Any) -> None:
        wire.cut, wire.closed_for_new = how, stays
        commit(self, inserted)

    def mended(self: PostgresStore, inserted: Any) -> None:
        wire.cut = None
        resolve(self, inserted)

    with monkeypatch.context() as patched:
        patched.setattr(PostgresStore, "_commit", armed)
        patched.setattr(PostgresStore, "_resolve", mended)
        yield
    wire.cut, wire.closed_for_new = None, False


def test_a_charge_whose_commit_was_never_confirmed_is_found_in_the_ledger(
    wire: tuple[Wire, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cable, through, direct = wire
    with PostgresLedger(through, Pure(epsilon=1)) as ledger:
        with cut_at_commit(cable, "after", monkeypatch):
            receipt = ledger.charge(TENTH, "plan", account="ana", key="k")
        assert receipt.entry == 2
        with PostgresLedger(direct) as other:
            assert [entry.number for entry in other.history()] == [2]
            assert other.head() == receipt.head
        assert ledger.charge(TENTH, "plan", account="ana", key="k") == receipt
        assert ledger.store(receipt, (1,))[1] == (1,)


def test_a_charge_that_was_lost_before_its_commit_raises_and_is_not_there(
    wire: tuple[Wire, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cable, through, _ = wire
    with PostgresLedger(through, Pure(epsilon=1)) as ledger:
        with (
            cut_at_commit(cable, "before", monkeypatch),
            pytest.raises(Unreachable, match="nothing was recorded"),
        ):
            ledger.charge(TENTH, "plan", account="ana", key="k")
        assert ledger.history() == ()
        assert ledger.charge(TENTH, "plan", account="ana", key="k").entry == 2
        assert ledger.remaining().amount == Fraction(9, 10)


@pytest.mark.parametrize("how", ["before", "after"])
def test_where_the_server_cannot_be_asked_nothing_is_released_and_a_retry_pays_once(
    wire: tuple[Wire, str, str], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cable, through, _ = wire
    with PostgresLedger(through, Pure(epsilon=1), timeout=2) as ledger:
        with (
            cut_at_commit(cable, how, monkeypatch, stays=True),
            pytest.raises(Unreachable, match="cannot be asked whether entry 2"),
        ):
            ledger.charge(TENTH, "plan", account="ana")
        receipt = ledger.charge(TENTH, "plan", account="ana")
        assert receipt.entry == 2
        assert len(ledger.history()) == 1
        assert ledger.remaining().amount == Fraction(9, 10)


def test_an_entry_of_the_same_content_by_another_does_not_count_as_ones_own(ledger_address: Callable[[], str]) -> None:
    with PostgresLedger(ledger_address(), Pure(epsilon=1)) as ledger:
        ledger.charge(TENTH, "plan", account="ana")
        with ledger._postgres.reading() as rows:
            row = rows.row(2)
        assert isinstance(row, Row)
        with ledger._postgres.writing() as rows:
            rows.insert(row._replace(number=3, key=None, digest="x"))
            mine = rows.inserted
            rows._connection.execute("ROLLBACK")
            rows._connection.execute("BEGIN")
            rows.inserted = None
        assert mine is not None
        with ledger._postgres.writing() as rows:
            assert not rows.has(mine)
            rows.insert(row._replace(number=3, key=None, digest="x"))
            assert rows.inserted is not None
            assert rows.has(rows.inserted)
            assert not rows.has(mine)  # the same row, added by another transaction
            rows._connection.execute("ROLLBACK")
            rows._connection.execute("BEGIN")


def test_a_connection_that_was_lost_between_two_charges_is_made_anew(ledger_address: Callable[[], str]) -> None:
    place = ledger_address()
    with PostgresLedger(place, Pure(epsilon=1)) as ledger:
        ledger.charge(TENTH, "first", account="ana")
        terminate(ledger)
        assert ledger.charge(TENTH, "second", account="ana").entry == 3
        terminate(ledger)
        assert len(ledger.history()) == 2


def terminate(ledger: PostgresLedger) -> None:
    """Have the server end the connection of a ledger."""
    connection = ledger._postgres._connection
    assert connection is not None
    number = connection.info.backend_pid
    server = postgres_server.shared_durable_server()
    server.execute(f"SELECT pg_terminate_backend({number}, 5000)", database="postgres")


def test_a_connection_that_is_lost_in_the_middle_of_a_charge_charges_nothing(ledger_address: Callable[[], str]) -> None:
    from privet.ledger.state import utc_now

    acts: list[Callable[[], None]] = []

    def clock() -> Any:
        while acts:
            acts.pop()()
        return utc_now()

    with PostgresLedger(ledger_address(), Pure(epsilon=1), clock=clock) as ledger:
        acts.append(lambda: terminate(ledger))
        with pytest.raises(LedgerError) as lost:
            ledger.charge(TENTH, "plan", account="ana")
        assert lost.value.__context__ is None
        assert ledger.history() == ()
        assert ledger.charge(TENTH, "plan", account="ana").entry == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")
def test_after_a_fork_both_sides_connect_anew(ledger_address: Callable[[], str]) -> None:
    with PostgresLedger(ledger_address(), Pure(epsilon=1)) as ledger:
        ledger.charge(TENTH, "before", account="ana")
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                ledger.charge(TENTH, "in the child", account="ana")
                os.write(write, b"%d" % ledger._postgres._connection.info.backend_pid)  # type: ignore[union-attr]
            finally:
                os._exit(0)
        os.close(write)
        ledger.charge(TENTH, "in the parent", account="ana")
        with os.fdopen(read, "rb") as told:
            other = int(told.read())
        os.waitpid(child, 0)
        assert ledger._postgres._connection.info.backend_pid != other  # type: ignore[union-attr]
        assert sorted(entry.digest for entry in ledger.history()) == ["before", "in the child", "in the parent"]
        ledger.verify()


def test_a_promoted_replica_that_lost_entries_is_noticed(durable_postgres: postgres_server.PostgresServer) -> None:
    """A standby that stopped following is promoted: it lacks two charges, and is refused until it is adopted."""
    primary = durable_postgres
    address = postgres_server.new_ledger(primary)
    ledger = PostgresLedger(address, Pure(epsilon=1), timeout=2)
    ledger.charge(TENTH, "first", account="ana")
    kept = ledger.head()
    standby = primary.copy()
    try:
        for index in range(2):
            ledger.charge(TENTH, f"lost {index}", account="ana")
        last = ledger.head()
        there = address.replace(str(primary.folder), str(standby.folder))
        assert there != address
        owner = postgres_server.as_owner(there)
        standby.start()
        with pytest.raises(LedgerError, match="standby"):
            PostgresLedger(there)
        standby.execute("SELECT pg_promote(true, 60)", database="postgres")
        with pytest.raises(LedgerError, match=r"timeline is 2, and was 1.*privet ledger adopt"):
            PostgresLedger(there)
        with pytest.raises(LedgerError, match="lost entries"):
            PostgresLedger.adopt(owner, head=last)
        with pytest.raises(LedgerError, match="timeline is 2"):
            PostgresLedger(there)
        ledger._postgres._let_go()
        assert PostgresLedger.adopt(owner, head=kept) == kept
        with PostgresLedger(there) as moved:
            assert moved.remaining().amount == Fraction(9, 10)
            ledger._postgres.address = moved._postgres.address
            with pytest.raises(LedgerError, match="gone or another one"):  # who has seen them does not go on
                ledger.charge(TENTH, "more", account="ana")
        with pytest.raises(LedgerError, match="pinned entry"):
            PostgresLedger(there, head=last)
    finally:
        ledger.close()
        standby.remove()


def test_eight_threads_never_spend_more_than_fits(ledger_address: Callable[[], str]) -> None:
    place = ledger_address()
    PostgresLedger(place, Pure(epsilon=1)).close()
    done: list[int] = []

    def spend(name: int) -> None:
        with PostgresLedger(place) as ledger:
            for index in range(3):
                with contextlib.suppress(BudgetExceeded):
                    done.append(ledger.charge(TENTH, f"{name} {index}", account="ana").entry)

    threads = [threading.Thread(target=spend, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == list(range(2, 12))
