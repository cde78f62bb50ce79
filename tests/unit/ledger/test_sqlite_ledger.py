"""The ledger in a file: what is kept between processes, opened again, exported, restored and migrated."""

from __future__ import annotations

import datetime
import os
import sqlite3
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetExceeded, LedgerError
from privet.ledger import history as histories
from privet.ledger.codec import write_event
from privet.ledger.entries import Answered, Charged
from privet.ledger.sqlite import transaction as schema
from privet.ledger.sqlite.store import SqliteLedger
from privet.mechanisms import DiscreteGaussianEvent, GaussianEvent

EIGHTH = PureEvent(Fraction(1, 8))
DELTA = Fraction(1, 10**6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def test_a_budget_survives_its_process(path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=1), analysts={"ana": Pure(epsilon=Fraction(1, 4))}) as ledger:
        ledger.store(ledger.charge(EIGHTH, "plan", account="ana"), ((1, "x"),))
        before = ledger.history(), ledger.remaining("ana"), ledger.find("plan", "ana"), ledger.head()
    with SqliteLedger(path) as ledger:
        assert (ledger.history(), ledger.remaining("ana"), ledger.find("plan", "ana"), ledger.head()) == before
        ledger.charge(EIGHTH, "other", account="ana")
        with pytest.raises(BudgetExceeded):
            ledger.charge(EIGHTH, "third", account="ana")


def test_two_ledgers_on_one_file_see_each_others_charges(path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as one, SqliteLedger(path) as two:
        for index in range(4):
            one.charge(EIGHTH, f"one {index}", account="ana")
            two.charge(EIGHTH, f"two {index}", account="ben")
        assert one.remaining() == two.remaining()
        assert one.remaining().amount == 0
        with pytest.raises(BudgetExceeded):
            one.charge(EIGHTH, "more", account="ana")


def test_the_file_is_kept_as_durably_as_sqlite_can(path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        connection = ledger._sqlite._connected()
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


NEW_YEAR = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    "other",
    [
        {"budget": Pure(epsilon=2)},
        {"budget": Zcdp(rho=1)},
        {"budget": Pure(epsilon=1), "keys_share": Fraction(1, 3)},
        {"budget": Pure(epsilon=1), "per_query": Pure(epsilon=1)},
        {"budget": Pure(epsilon=1), "expires": NEW_YEAR},
        {"budget": Pure(epsilon=1), "analysts": {"ana": Pure(epsilon=1)}},
        {"keys_share": Fraction(1, 3)},
        {"per_query": Pure(epsilon=1)},
        {"expires": NEW_YEAR},
        {"analysts": {"ana": Pure(epsilon=1)}},
    ],
)
def test_a_ledger_is_not_opened_under_other_rules_than_its_own(path: Path, other: dict[str, Any]) -> None:
    analysts = {"ana": Pure(epsilon=Fraction(1, 2))}
    SqliteLedger(path, Pure(epsilon=1), analysts=analysts).close()
    with pytest.raises(BadParameter, match="the ledger has"):
        SqliteLedger(path, **other)
    with SqliteLedger(path, Pure(epsilon=1), analysts={**analysts, "ben": Pure(epsilon=1)}) as ledger:
        assert ledger.accounts() == ("ana", "ben")


def test_a_ledger_is_opened_under_the_rules_that_it_has_now(path: Path) -> None:
    analysts = {"ana": Pure(epsilon=Fraction(1, 2))}
    with SqliteLedger(path, Pure(epsilon=1), analysts=analysts) as ledger:
        ledger.top_up(Pure(epsilon=1), reason="more")
        ledger.top_up(Pure(epsilon=1), reason="more", account="ana")
        ledger.limit(Pure(epsilon=Fraction(1, 4)), reason="fewer at once")
        ledger.reschedule(NEW_YEAR, reason="the study ends")
    now: dict[str, Any] = {"per_query": Pure(epsilon=Fraction(1, 4)), "expires": NEW_YEAR}
    more = {"ana": Pure(epsilon=Fraction(3, 2))}
    SqliteLedger(path, Pure(epsilon=1), analysts=analysts, **now).close()
    SqliteLedger(path, Pure(epsilon=2), analysts=more, **now).close()
    SqliteLedger(path, analysts=more, **now).close()
    with pytest.raises(BadParameter, match="limit changes it"):
        SqliteLedger(path, Pure(epsilon=1), expires=NEW_YEAR)
    with pytest.raises(BadParameter, match="reschedule changes it"):
        SqliteLedger(path, Pure(epsilon=1), per_query=now["per_query"])


def test_processes_that_open_a_new_ledger_at_once_agree_on_its_rules_or_are_refused(path: Path) -> None:
    opened: list[str] = []
    refused: list[str] = []

    def open_with(epsilon: int) -> None:
        try:
            with SqliteLedger(path, Pure(epsilon=epsilon), analysts={"ana": Pure(epsilon=1)}) as ledger:
                opened.append(ledger.budget_of().describe())
        except BadParameter as error:
            refused.append(error.parameter)

    threads = [threading.Thread(target=open_with, args=(1 + index % 2,)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == len(refused) == 6
    assert len(set(opened)) == 1
    assert set(refused) == {"budget"}


def test_an_export_restores_to_the_same_ledger(path: Path, tmp_path: Path) -> None:
    with SqliteLedger(path, Approximate(epsilon=1, delta=DELTA), analysts={"ana": Pure(epsilon=1)}) as ledger:
        ledger.store(ledger.charge(EIGHTH, "plan", account="ana", key="k"), (("é", None, 2**80),))
        ledger.top_up(Approximate(epsilon=1, delta=DELTA), reason="more")
        lines, head, left = list(ledger.export()), ledger.head(), ledger.remaining("ana")
    with SqliteLedger.restore(tmp_path / "restored", lines, head=head) as ledger:
        assert list(ledger.export()) == lines
        assert (ledger.head(), ledger.remaining("ana")) == (head, left)
        assert ledger.find("plan", "ana") is not None
        ledger.verify()
        ledger.charge(EIGHTH, "next", account="ana")


@pytest.mark.parametrize("damage", ["drop first", "drop middle", "swap", "edit", "cut", "garbage", "empty"])
def test_a_damaged_export_is_not_restored(path: Path, tmp_path: Path, damage: str) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        for index in range(3):
            ledger.charge(EIGHTH, f"plan {index}", account="ana")
        lines, head = list(ledger.export()), ledger.head()
    broken = {
        "drop first": lines[1:],
        "drop middle": lines[:2] + lines[3:],
        "swap": [lines[0], lines[2], lines[1], lines[3]],
        "edit": [line.replace("plan 1", "plan 9") for line in lines],
        "cut": lines[:-1],
        "garbage": [*lines, "{}"],
        "empty": [],
    }[damage]
    with pytest.raises(LedgerError):
        SqliteLedger.restore(tmp_path / "restored", broken, head=head)
    assert {file.name for file in tmp_path.iterdir()} == {"ledger"}


def test_nothing_is_restored_over_a_ledger(path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        lines = list(ledger.export())
    with pytest.raises(LedgerError, match="already"):
        SqliteLedger.restore(path, lines)
    with SqliteLedger(path) as ledger, pytest.raises(LedgerError, match="already"):
        ledger.backup(path)


def test_a_backup_is_a_ledger_of_its_own(path: Path, tmp_path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        ledger.charge(EIGHTH, "plan", account="ana")
        ledger.backup(tmp_path / "copy")
        ledger.charge(EIGHTH, "later", account="ana")
    with SqliteLedger(tmp_path / "copy") as copy:
        copy.verify()
        assert [entry.digest for entry in copy.history()] == ["plan"]


def test_an_older_file_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        ledger.charge(EIGHTH, "plan", account="ana")
    first, last = schema.VERSION, schema.VERSION + 2
    steps: list[int] = []
    monkeypatch.setattr(schema, "VERSION", last)
    monkeypatch.setattr(schema, "MIGRATIONS", {n: lambda c, n=n: steps.append(n) for n in range(first, last)})
    with SqliteLedger(path) as ledger:
        assert steps == [first, first + 1]
        assert len(ledger.history()) == 1
    SqliteLedger(path).close()
    assert steps == [first, first + 1]


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteLedger(path, Pure(epsilon=1)).close()

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half_done (x)")
        raise sqlite3.OperationalError("no")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "VERSION", schema.VERSION + 1)
        patch.setattr(schema, "MIGRATIONS", {schema.VERSION - 1: fail})
        with pytest.raises(LedgerError):
            SqliteLedger(path)
    with SqliteLedger(path) as ledger:
        ledger.verify()


def test_a_file_of_a_later_version_is_refused(path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        file = ledger.path
    connection = sqlite3.connect(file)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()
    with pytest.raises(LedgerError, match="newer"):
        SqliteLedger(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: run it on Linux or macOS")
def test_a_child_process_opens_the_file_for_itself(path: Path) -> None:
    program = """
import os, sys, time
from fractions import Fraction
from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.ledger.sqlite.store import SqliteLedger
ledger = SqliteLedger(sys.argv[1], Pure(epsilon=1))
event = PureEvent(Fraction(1, 8))
ledger.charge(event, "before", account="ana")
wait, go = os.pipe()
child = os.fork()
if child == 0:
    ledger.charge(event, "child", account="ana")
    os.close(go)
    os.read(wait, 1)  # returns when the parent has closed its ledger
    ledger.charge(event, "child, later", account="ana")
    os._exit(0)
while len(ledger.history()) < 2:
    time.sleep(0.01)
ledger.close()
os.close(go)
assert os.waitpid(child, 0)[1] == 0
with SqliteLedger(sys.argv[1]) as ledger:
    ledger.verify()
    print([entry.digest for entry in ledger.history()])
"""
    told = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "['before', 'child', 'child, later']"


def test_ten_thousand_entries_are_verified_and_added_to(path: Path) -> None:
    with SqliteLedger(path, Approximate(epsilon=10, delta=DELTA), analysts={"ana": Zcdp(rho=10)}) as ledger:
        ledger._sqlite._connected().execute("PRAGMA synchronous = OFF")  # the test is not about the disk
        with ledger._history.writing() as history:
            for index in range(5000):
                event = GaussianEvent(sensitivity_squared=Fraction(1), sigma_squared=Fraction(10**7 + index % 50, 3))
                paid = history.state.whole.price(event), history.state.accounts["ana"].price(event)
                number = history.append(
                    Charged("ana", str(index), write_event(event), None, None, *paid, text="x" * 300)
                )
                history.append(Answered("ana", str(index), number, [["a", index]]))
        ledger.verify()
        before = ledger.remaining("ana").amount
    with SqliteLedger(path) as ledger:
        assert ledger.find("new", "ana") is None
        assert ledger.remaining("ana").amount == before
        receipt = ledger.charge(
            DiscreteGaussianEvent(steps=1, sigma_squared=Fraction(1000)), "new", account="ana", text="x" * 300
        )
        ledger.store(receipt, ((1,),))
        ledger.verify()
        assert ledger.find("new", "ana") == (receipt, ((1,),))
        assert ledger.remaining("ana").amount < before


def test_a_page_of_the_history_does_not_read_the_rest(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLedger(path, Pure(epsilon=100)) as ledger:
        with ledger._history.writing() as history:
            for index in range(400):
                paid = history.state.whole.price(EIGHTH)
                number = history.append(Charged("ana", str(index), write_event(EIGHTH), None, None, paid))
                history.append(Answered("ana", str(index), number, [index]))
        read: list[object] = []
        real = histories.follow
        monkeypatch.setattr(histories, "follow", lambda *row: (read.append(row[1]), real(*row))[1])
        assert [entry.digest for entry in ledger.history(after=401, limit=5)] == ["200", "201", "202", "203", "204"]
        assert len(read) <= 10
        read.clear()
        assert [entry.digest for entry in ledger.history(last=3)] == ["397", "398", "399"]
        assert len(ledger.entries(last=4)) == len(ledger.entries(after=100, limit=4)) == 4
        assert ledger.entry(301).number == 301
        assert len(read) <= 15


def test_a_page_is_followed_in_the_chain_from_where_it_begins(path: Path) -> None:
    with SqliteLedger(path, Pure(epsilon=10)) as ledger:
        for index in range(20):  # so that there is a cached balance, and the file is opened
            ledger.charge(EIGHTH, str(index), account="ana")
        file = ledger.path
    connection = sqlite3.connect(file, isolation_level=None)
    (guard,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = 'entries_are_never_changed'").fetchone()
    connection.execute("DROP TRIGGER entries_are_never_changed")
    connection.execute("UPDATE entries SET body = replace(body, 'ana', 'eve') WHERE number = 4")
    connection.execute(guard)
    connection.close()
    with SqliteLedger(file) as ledger:
        assert len(ledger.history(limit=2)) == 2
        for page in ({"after": 2}, {"after": 3}, {"last": 18}, {"limit": 3}):
            with pytest.raises(LedgerError, match="chain breaks"):
                ledger.history(**page)
