"""A ledger's history trusts no store: what a store changes, drops or puts back is noticed, whichever store it is."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import privet
from privet.accounting.events import PureEvent
from privet.cli import main
from privet.config import sessions as ledgers
from privet.config.sessions import LedgerKind
from privet.core.budget import Pure
from privet.core.errors import LedgerError, Unsupported
from privet.core.ports import Ledger, LedgerAdmin
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.history import Row, StoredHistory, verify_rows, write_cache
from privet.ledger.memory import MemoryLedger, MemoryStore
from privet.ledger.postgres import PostgresLedger
from privet.ledger.postgres.postgres_ledger import PostgresStore
from privet.ledger.sqlite import SqliteLedger
from privet.ledger.state import utc_now

sys.path.insert(0, str(Path(__file__).parent))

from jsonlines_ledger import JsonLinesLedger, JsonLinesStore

from postgres_server import ledger_or_skip, write_behind

KINDS = ("memory", "sqlite", "jsonlines", "postgres")
Change = Callable[[list[Row]], list[Row]]


def make(kind: str, folder: Path) -> Any:
    """Return a ledger with two charges, one of them answered, under one key."""
    ledger: Any
    match kind:
        case "memory":
            ledger = MemoryLedger(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1)})
        case "sqlite":
            ledger = SqliteLedger(folder / "kept", Pure(epsilon=1), analysts={"ana": Pure(epsilon=1)})
        case "postgres":
            place = ledger_or_skip()
            ledger = PostgresLedger(place, Pure(epsilon=1), analysts={"ana": Pure(epsilon=1)})
            ledger.url_for_tests = place
        case _:
            ledger = JsonLinesLedger(folder / "kept", Pure(epsilon=1), analysts={"ana": Pure(epsilon=1)})
    receipt = ledger.charge(PureEvent(Fraction(1, 4)), "first", account="ana", key="k")
    ledger.store(receipt, ("released", 1))
    ledger.charge(PureEvent(Fraction(1, 4)), "second", account="ana")
    return ledger


def rewrite(ledger: Any, change: Change) -> None:
    """Change the rows behind the ledger's back."""
    store = ledger._history.store
    with ledger._history.reading() as history:
        rows = change(list(history.transaction.rows()))
    if isinstance(store, MemoryStore):
        store._remove_after(0)
        for row in rows:
            store._rows.append(row)
            for name in store._names(row):
                store._filed.setdefault(name, []).append(row.number)
    elif isinstance(store, JsonLinesStore):
        with store.writing():
            store._rows = rows
    elif isinstance(store, PostgresStore):
        ledger._postgres._let_go()
        added = [("INSERT INTO entries VALUES (%s, %s, %s, %s, %s, %s, %s)", row) for row in rows]
        write_behind(ledger.url_for_tests, ("DELETE FROM entries", ()), *added)
    else:
        ledger._sqlite._let_go()
        with closing(sqlite3.connect(store.path, isolation_level=None)) as file:
            guards = file.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for name, _ in guards:
                file.execute(f"DROP TRIGGER {name}")
            file.execute("DELETE FROM entries")
            file.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            for _, sql in guards:
                file.execute(sql)


def cheaper(row: Row) -> Row:
    """Return a charge that took half as much."""
    return row._replace(body=row.body.replace("1/4", "1/8"))


CHANGES: dict[str, Change] = {
    "the last entry is dropped": lambda rows: rows[:-1],
    "an entry in the middle is dropped": lambda rows: [*rows[:2], *rows[3:]],
    "an amount is changed": lambda rows: [*rows[:2], cheaper(rows[2]), *rows[3:]],
    "two entries change places": lambda rows: [
        *rows[:2],
        rows[3]._replace(number=3),
        rows[2]._replace(number=4),
        *rows[4:],
    ],
    "an answer is filed under another plan": lambda rows: [*rows[:3], rows[3]._replace(digest="other"), *rows[4:]],
    "a charge is filed under another account": lambda rows: [*rows[:2], rows[2]._replace(account="bob"), *rows[3:]],
    "a key is dropped": lambda rows: [*rows[:2], rows[2]._replace(key=None), *rows[3:]],
    "a hash is changed": lambda rows: [*rows[:4], rows[4]._replace(hash=bytes(32))],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_verification_notices_whatever_a_store_changed(kind: str, change: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        ledger.verify()
        rewrite(ledger, CHANGES[change])
        with pytest.raises(LedgerError):
            ledger.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_that_was_kept_shows_whether_entries_were_lost(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        head = ledger.head()
        ledger.pin(head)
        ledger.charge(PureEvent(Fraction(1, 8)), "third", account="ana")
        ledger.pin(head)  # a later head contains the earlier one
        assert int(head.partition(":")[0]) == 5
        store = ledger._history.store
        rewrite(ledger, lambda rows: rows[:-2])
        fresh = StoredHistory(store, utc_now)
        with pytest.raises(LedgerError, match="pinned entry 5"):
            fresh.pin(head)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pinned_ledger_believes_no_other_chain(kind: str, tmp_path: Path) -> None:
    """Rows that form a chain of their own, with another history, are refused by who followed the first one."""
    (tmp_path / "other").mkdir()
    with make(kind, tmp_path) as ledger, make("memory", tmp_path / "other") as other:
        ledger.pin(ledger.head())
        rewrite(ledger, lambda _: list(other._history.store.rows()))
        with pytest.raises(LedgerError):
            ledger.find("first", "ana")
        with pytest.raises(LedgerError):
            ledger.charge(PureEvent(Fraction(1, 8)), "third", account="ana")


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_transaction_that_fails_nothing_is_kept(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        head, left = ledger.head(), ledger.remaining("ana").amount
        with pytest.raises(KeyError):
            interrupted(ledger)
        assert (ledger.head(), ledger.remaining("ana").amount) == (head, left)
        again = ledger.charge(PureEvent(Fraction(1, 8)), "third", account="ana", key="new")
        assert again.entry == 6
        ledger.verify()


def interrupted(ledger: Any) -> None:
    """Write an entry in a transaction that then fails."""
    with ledger._history.writing() as history:
        history.append(replace(history.read(5).record, digest="third", key="new"))
        raise KeyError


@pytest.mark.parametrize("kind", KINDS)
def test_verification_compares_the_balance_that_the_process_works_with(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        state = ledger._history._state
        ledger._history._state = replace(state, dataset=replace(state.dataset, filters=(unspent(state),)))
        with pytest.raises(LedgerError, match="the balance is not what the history adds up to"):
            ledger.verify()


@pytest.mark.parametrize("kind", ["sqlite", "jsonlines", "postgres"])
def test_verification_compares_the_balance_that_is_cached_for_other_processes(kind: str, tmp_path: Path) -> None:
    """A process that has read nothing yet verifies the cache as well, which the next one would begin with."""
    with make(kind, tmp_path) as ledger:
        with ledger._history.writing() as history:
            state = history.state
            write_cache(history.transaction, replace(state, dataset=replace(state.dataset, filters=(unspent(state),))))
        with pytest.raises(LedgerError, match="cached balance is not what its history adds up to"):
            StoredHistory(ledger._history.store, utc_now).verify()


def unspent(state: Any) -> Any:
    """Return the data set's filter as if nothing had been spent."""
    return replace(state.dataset.filters[0], spent=Fraction(0))


@pytest.mark.parametrize("source", KINDS)
def test_an_export_keeps_the_chain_in_any_store(source: str, tmp_path: Path) -> None:
    with make(source, tmp_path) as ledger:
        lines, head = list(ledger.export()), ledger.head()
    with SqliteLedger.restore(tmp_path / "copy", lines, head=head) as copy:
        assert (copy.head(), list(copy.export())) == (head, lines)
    if source != "memory":  # each pair once
        with PostgresLedger.restore(ledger_or_skip(), lines, head=head) as shared:
            shared.verify()
            assert (shared.head(), list(shared.export())) == (head, lines)
    for store in (MemoryStore(), JsonLinesStore(tmp_path / "lines")):
        with StoredHistory(store, utc_now).writing() as history:
            history.add_lines(lines, None)
        restored = Bookkeeping(store, head=head)
        restored.verify()
        assert (restored.head(), list(restored.export())) == (head, lines)
        assert restored.find("first", "ana")[1] == ("released", 1)  # type: ignore[index]


@pytest.mark.parametrize("kind", ["memory", "jsonlines"])
def test_a_store_that_has_lost_every_entry_is_refused_and_not_begun_again(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        store = ledger._history.store
        rewrite(ledger, lambda _: [])
        with pytest.raises(LedgerError, match="no first entry"):
            Bookkeeping(store, Pure(epsilon=1))
        with store.reading() as transaction, pytest.raises(LedgerError):
            verify_rows(transaction)


@pytest.mark.parametrize("kind", KINDS)
def test_every_ledger_is_one_for_sessions_and_for_custodians(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        assert isinstance(ledger, Ledger)
        assert isinstance(ledger, LedgerAdmin)


@pytest.mark.parametrize("kind", ["memory", "jsonlines"])
def test_a_store_that_cannot_be_copied_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger, pytest.raises(Unsupported, match="export"):
        ledger.backup(tmp_path / "copy")


def test_only_one_table_of_openers_names_a_store() -> None:
    """Adding a store is its own package and one line of `config.sessions.LEDGERS`."""
    package = Path(privet.__file__).parent
    above = [*(package / "cli").rglob("*.py"), *(package / "config").rglob("*.py"), package / "session.py"]
    names = {
        str(file.relative_to(package)) for file in above if re.search(r"sqlite|Sqlite|PostgresLedger", file.read_text())
    }
    names -= {"cli/ledger_owner.py"}  # makes the tables of the one kind that has an owner
    assert names == {"config/sessions.py", "session.py"}  # a message of the session shows how a ledger is opened


def test_a_kind_of_ledger_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another opener in the table, sessions and commands use the other store, and nothing else changes."""
    kind = LedgerKind(JsonLinesLedger, JsonLinesLedger, lambda path: path.exists())
    monkeypatch.setattr(ledgers, "LEDGERS", {**ledgers.LEDGERS, "jsonlines": kind})
    monkeypatch.setattr(ledgers, "USUAL", "jsonlines")
    (tmp_path / "visits.csv").write_text("patient,cost\n1,10\n2,20\n")
    (tmp_path / "privet.toml").write_text(TOML)
    with privet.open(tmp_path / "privet.toml") as session:
        session.ask("SELECT COUNT(*) AS n FROM visits", epsilon=0.5)
    assert len((tmp_path / "privet.ledger").read_text().splitlines()) == 3
    commands = (["ledger", "list"], ["ledger", "verify"], ["budget"], ["certificate", "2"], ["ledger", "show", "3"])
    for command in commands:
        result = CliRunner().invoke(main, [*command, "--config", str(tmp_path / "privet.toml")])
        assert result.exit_code == 0, result.output
    refused = CliRunner().invoke(main, ["ledger", "backup", "copy", "--config", str(tmp_path / "privet.toml")])
    assert refused.exit_code == 2
    assert "cannot be copied" in refused.stderr


TOML = """
[budget]
epsilon = 1
[ledger]
path = "privet.ledger"
[tables.visits]
source = "visits.csv"
unit = "patient"
contribution = { groups = 1, rows = 2 }
[tables.visits.columns]
patient = "integer"
cost = { kind = "number", low = 0, high = 50 }
"""


def fail_after_keeping(ledger: Any, charge: int, text: str) -> None:
    with ledger._history.writing() as history:
        history.transaction.keep(charge, text)
        raise ZeroDivisionError


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "jsonlines"])  # which keeps no texts
def test_a_transaction_that_fails_keeps_no_text(kind: str, tmp_path: Path) -> None:
    with make(kind, tmp_path) as ledger:
        with ledger._history.writing() as history:
            history.transaction.keep(3, "first")
        with pytest.raises(ZeroDivisionError):
            fail_after_keeping(ledger, 3, "second")
        with ledger._history.reading() as history:
            assert history.transaction.kept(3) == "first"
