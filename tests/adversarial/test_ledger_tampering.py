"""A change of a ledger's file is found out, by `verify` or by a head that was kept elsewhere."""

from __future__ import annotations

import datetime
import json
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Pure
from privet.core.errors import BadParameter, BudgetExceeded, LedgerError, RequestError
from privet.ledger import history as histories
from privet.ledger.codec import GENESIS, canonical, link
from privet.ledger.sqlite.store import SqliteLedger
from privet.ledger.state import rules_only

SOAK = bool(os.environ.get("PRIVET_SOAK"))


def small_ledger(path: Path, *, steps: bool = False) -> Path:
    """Make a ledger with an entry of every kind and a cached balance, in one file without a log beside it."""
    with SqliteLedger(path, Pure(epsilon=1), analysts={"a": Pure(epsilon=1)}, per_query=Pure(epsilon=1)) as ledger:
        ledger.store(ledger.charge(PureEvent(Fraction(1, 8)), "p", account="a", key="k"), (("x", 1),))
        ledger.top_up(Pure(epsilon=1), reason="r")
        ledger.fail(ledger.charge(PureEvent(Fraction(1, 8)), "q", account="a"))
        ledger.clear("a", reason="r")
        ledger.limit(None, reason="r")
        ledger.reschedule(datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC), reason="r", account="a")
        if steps:
            stream = ledger.charge(PureEvent(Fraction(1, 8)), "s", account="a")
            ledger.begin_steps(stream, state="0" * 64)
            opening = ledger.open_steps(stream, after=0, upto=1, state="0" * 64)
            ledger.close_steps(stream, opening=opening, state="1" * 64, released=(1,))
        with ledger._history.writing() as history:
            histories.write_cache(history.transaction, history.state)
    return ledger.path


def compact_pages(path: Path, size: int) -> None:
    """Give a file smaller pages, so that there are fewer bytes to flip which hold nothing."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute("VACUUM")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def seen(path: Path) -> list[str] | None:
    """Return what a file exports, if `verify` finds nothing wrong with it."""
    try:
        with SqliteLedger(path, timeout=0.01) as ledger:
            ledger.verify()
            return list(ledger.export())
    except LedgerError:
        return None


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: nothing here is about the disk."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


def test_every_byte_that_is_flipped_is_found_or_changes_nothing(memory_path: Path) -> None:
    path = small_ledger(memory_path / "ledger", steps=True)
    compact_pages(path, 512)
    whole = seen(path)
    assert whole is not None
    assert {json.loads(line)["entry"]["kind"] for line in whole} == {
        "open",
        "account",
        "charge",
        "answer",
        "top-up",
        "failure",
        "clear",
        "limit",
        "expiry",
        "step",
    }
    original = path.read_bytes()
    assert not Path(f"{path}-wal").exists()
    found = 0
    # every bit of every byte, or one bit of every fifth, from another one each time
    first = 0 if SOAK else secrets.randbelow(5)
    flips = [
        (place, 1 << bit)
        for place in range(first, len(original), 1 if SOAK else 5)
        for bit in (range(8) if SOAK else (secrets.randbelow(8),))
    ]
    for place, flip in flips:
        damaged = bytearray(original)
        damaged[place] ^= flip
        path.write_bytes(damaged)
        told = seen(path)
        assert told in (None, whole), f"bit {flip} of byte {place} changed what the ledger says, and verify did not see"
        found += told is None
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
    print(f"{len(flips)} bits of {len(original)} bytes flipped, {found} found, the others changed nothing")
    assert found > len(flips) / 4  # a verify that sees nothing would pass the line above


def rewrite(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = replace(body, '1/8', '1/9')",
        "UPDATE entries SET account = 'b' WHERE number = 3",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE number = (SELECT max(number) FROM entries)",
        "INSERT INTO entries SELECT number + 100, kind, account, digest, NULL, body, hash FROM entries",
        "INSERT OR REPLACE INTO entries SELECT number, kind, account, digest, key, '{}', hash FROM entries",
        "REPLACE INTO entries VALUES (3, 'charge', 'a', 'p', 'k', '{}', x'00')",
        "INSERT INTO entries VALUES (11, 'answer', 'a', 'p', NULL, '{}', x'00')",
        "INSERT INTO entries VALUES (11, 'charge', 'a', 'z', 'k', '{}', x'00')",
    ],
)
def test_entries_can_only_be_added(tmp_path: Path, statement: str) -> None:
    path = small_ledger(tmp_path / "ledger")
    before = seen(path)
    with pytest.raises(sqlite3.IntegrityError):
        rewrite(path, statement)
    assert seen(path) == before


UNGUARD = (
    "DROP TRIGGER entries_are_never_changed",
    "DROP TRIGGER entries_are_never_removed",
    "DROP TRIGGER entries_are_only_added",
)


def guards(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        return [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
    finally:
        connection.close()


def tamper(path: Path, *statements: str) -> None:
    """Change a file as its owner can: without the triggers, which are put back afterwards."""
    kept = guards(path)
    rewrite(path, *UNGUARD, *statements, *kept)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = replace(body, '1/8', '1/9')",
        "UPDATE entries SET kind = 'answer', digest = 'z' WHERE number = 3",
        "UPDATE entries SET account = 'b' WHERE number = 3",
        "UPDATE entries SET digest = 'b' WHERE number = 4",
        "UPDATE entries SET key = NULL WHERE number = 3",
        "DELETE FROM entries WHERE number = 3",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries",
        "UPDATE entries SET number = number + 1000 WHERE number > 3",
        "UPDATE entries SET hash = zeroblob(32) WHERE number = 5",
        "INSERT INTO entries VALUES (11, 'clear', 'a', NULL, NULL, '{}', zeroblob(32))",
        "UPDATE cache SET state = replace(state, '1/4', '1/5')",
        "UPDATE cache SET head = replace(head, '1', '2')",
        "CREATE TRIGGER helpful AFTER INSERT ON entries BEGIN DELETE FROM cache; END",
        "DROP INDEX answers",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
    ],
)
def test_what_its_owner_changes_is_found(tmp_path: Path, statement: str) -> None:
    path = small_ledger(tmp_path / "ledger")
    assert seen(path) is not None
    tamper(path, statement)
    assert seen(path) is None


@pytest.mark.parametrize("name", ["answers", "keys", "charges"])
def test_an_index_that_hides_entries_is_found(tmp_path: Path, name: str) -> None:
    path = small_ledger(tmp_path / "ledger")
    connection = sqlite3.connect(path)
    ((sql,),) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,))
    connection.close()
    assert "WHERE" in sql
    empty, quoted = sql.partition("WHERE")[0] + "WHERE number < 0", sql.replace("'", "''")
    said = f"UPDATE sqlite_schema SET sql = '{quoted}' WHERE name = '{name}'"
    rewrite(path, f"DROP INDEX {name}", empty, "PRAGMA writable_schema = ON", said)
    assert seen(path) is None


@pytest.mark.parametrize("statement", [UNGUARD[1], "CREATE TRIGGER t AFTER INSERT ON entries BEGIN SELECT 1; END"])
def test_a_ledger_without_its_own_guards_is_not_opened(tmp_path: Path, statement: str) -> None:
    path = small_ledger(tmp_path / "ledger")
    rewrite(path, statement)
    with pytest.raises(LedgerError, match="tables"):
        SqliteLedger(path)


def test_the_cached_balance_may_be_thrown_away(tmp_path: Path) -> None:
    path = small_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        before = ledger.remaining("a"), ledger.remaining()
    rewrite(path, "DELETE FROM cache")
    with SqliteLedger(path) as ledger:
        assert (ledger.remaining("a"), ledger.remaining()) == before
        ledger.verify()


def test_a_damaged_cache_is_not_believed(tmp_path: Path) -> None:
    path = small_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        before = ledger.remaining("a")
    rewrite(path, "UPDATE cache SET state = replace(state, '1/4', '0')")
    with SqliteLedger(path) as ledger:
        assert ledger.remaining("a") == before


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [(1, '"epsilon":"1"', '"epsilon":"9"'), (5, '"epsilon":"1"', '"epsilon":"9"'), (9, "null", '{"rho":"1"}')],
)
def test_a_rule_that_was_changed_is_not_believed_although_the_balance_is_cached(
    tmp_path: Path, number: int, old: str, new: str
) -> None:
    path = small_ledger(tmp_path / "ledger")
    tamper(path, f"UPDATE entries SET body = replace(body, '{old}', '{new}') WHERE number = {number}")
    with pytest.raises(LedgerError, match="chain breaks"):
        SqliteLedger(path)


@pytest.mark.parametrize("number", [3, 4])
def test_an_answer_or_its_charge_that_was_changed_is_not_shown_although_the_balance_is_cached(
    tmp_path: Path, number: int
) -> None:
    path = small_ledger(tmp_path / "ledger")
    tamper(path, f"UPDATE entries SET body = replace(body, '1', '7') WHERE number = {number}")
    with SqliteLedger(path) as ledger, pytest.raises(LedgerError, match="chain breaks"):
        ledger.charge(PureEvent(Fraction(1, 8)), "p", account="a")


@pytest.mark.parametrize("column", ["account = 'b'", "digest = 'z'", "key = 'y'"])
def test_an_entry_filed_under_what_it_is_not_about_frees_nothing(tmp_path: Path, column: str) -> None:
    path = small_ledger(tmp_path / "ledger")
    tamper(path, f"UPDATE entries SET {column} WHERE kind IN ('charge', 'answer') AND digest = 'p'")
    with SqliteLedger(path) as ledger:
        ledger.open_account("b", Pure(epsilon=1))
        for digest, account, key in (("p", "b", "k"), ("z", "a", "k"), ("z", "a", None), ("p", "a", "y")):
            try:
                receipt = ledger.charge(PureEvent(Fraction(1, 8)), digest, account=account, key=key)
                found = ledger.find(digest, account)
            except (LedgerError, RequestError):
                continue
            assert receipt.entry > 11 or (digest, account) == ("p", "a")
            assert found is None or digest == "p"


def test_a_false_balance_in_the_cache_is_found(tmp_path: Path) -> None:
    path = small_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger, ledger._history.writing() as history:
        nothing_spent = replace(history.state, dataset=rules_only(history.rules()).whole)
        histories.write_cache(history.transaction, nothing_spent)
    assert seen(path) is None


def forge_cache(path: Path) -> None:
    """Write a balance in which nothing was spent into the cache, with the checksum that fits."""
    with SqliteLedger(path) as ledger, ledger._history.writing() as history:
        clean = rules_only(history.rules())
        spent_nothing = replace(history.state, dataset=clean.whole, accounts=clean.accounts, failures={})
        histories.write_cache(history.transaction, spent_nothing)


def full_ledger(path: Path) -> tuple[Path, str]:
    """Make a ledger of which all is spent, and return its file and its head."""
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        for index in range(8):
            receipt = ledger.charge(PureEvent(Fraction(1, 8)), f"plan {index}", account="a")
            ledger.store(receipt, (index,))
        return ledger.path, ledger.head()


@pytest.mark.parametrize("later", [0, 3])
def test_a_forged_cache_gives_nothing_to_spend_where_a_head_is_pinned(tmp_path: Path, later: int) -> None:
    """The cache's checksum proves nothing: anyone who can write the file can compute it."""
    path, head = full_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        ledger.top_up(Pure(epsilon=1), reason="r")
        for index in range(8 + later):
            if index < later:
                ledger.limit(Pure(epsilon=1), reason="r")
            else:
                ledger.charge(PureEvent(Fraction(1, 8)), f"later {index}", account="a")
    forge_cache(path)
    with SqliteLedger(path) as ledger:
        assert ledger.remaining().amount == 2  # without a head, the cache is believed until it is verified
    with SqliteLedger(path, head=head) as ledger:
        assert ledger.remaining().amount == 0
        with pytest.raises(BudgetExceeded):
            ledger.charge(PureEvent(Fraction(1, 8)), "more", account="a")


@pytest.mark.parametrize("what", ["cache", "entry", "columns", "underpaid"])
def test_nothing_in_the_file_is_believed_unproven_where_a_head_is_pinned(tmp_path: Path, what: str) -> None:
    path, head = full_ledger(tmp_path / "ledger")
    if what == "cache":
        tamper(path, "UPDATE cache SET head = 'x', state = 'y', hash = x'00'")
        with SqliteLedger(path, head=head) as ledger:
            assert ledger.remaining().amount == 0
        return
    if what == "entry":
        tamper(path, "UPDATE entries SET body = replace(body, '1/8', '1/9') WHERE number = 2")
    elif what == "columns":
        tamper(path, "UPDATE entries SET account = 'b' WHERE number = 2")
    else:
        forge(path, alter(2, paid=[[0, "1/9"], None]))
        with sqlite3.connect(path) as connection:
            (number, digest) = connection.execute("SELECT max(number), hash FROM entries").fetchone()
        connection.close()
        head = f"{number}:{digest.hex()}"
    with pytest.raises(LedgerError):
        SqliteLedger(path, head=head)


def swap_in(path: Path, number: int, **fields: object) -> None:
    """Put another entry in the place of one, with a hash that follows from the entry before it."""
    connection = sqlite3.connect(path)
    (body,) = connection.execute("SELECT body FROM entries WHERE number = ?", (number,)).fetchone()
    (before,) = connection.execute("SELECT hash FROM entries WHERE number = ?", (number - 1,)).fetchone()
    connection.close()
    entry = {**json.loads(body), **fields}
    text = canonical(entry)
    about = ", ".join(f"{name} = '{entry[name]}'" for name in ("account", "digest"))
    tamper(
        path,
        f"UPDATE entries SET body = '{text}', hash = x'{link(before, text).hex()}', {about} WHERE number = {number}",
    )


def test_an_entry_that_is_forged_under_a_running_process_frees_nothing_where_a_head_is_pinned(tmp_path: Path) -> None:
    """A charge that is put in the place of an old one would stand for a question that was not paid for."""
    path, head = full_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger, SqliteLedger(path, head=head) as proven:
        swap_in(path, 2, digest="free")
        assert ledger.charge(PureEvent(Fraction(1, 8)), "free", account="a").entry == 2  # what an unpinned one believes
        with pytest.raises(LedgerError, match="chain breaks"):
            proven.charge(PureEvent(Fraction(1, 8)), "free", account="a")


def test_the_history_is_replayed_once_in_a_process_for_one_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, head = full_ledger(tmp_path / "ledger")
    read: list[int] = []
    real = histories.verify_rows
    monkeypatch.setattr(
        histories, "verify_rows", lambda *arguments, **options: (read.append(1), real(*arguments, **options))[1]
    )
    with SqliteLedger(path, head=head) as ledger:
        assert len(read) == 1
        ledger.top_up(Pure(epsilon=1), reason="r")
        ledger.charge(PureEvent(Fraction(1, 8)), "next", account="a")
        last = ledger.head()
    for pinned in (head, last, f"1:{json.loads(next(iter(exported(path))))['hash']}"):
        with SqliteLedger(path, head=pinned) as ledger:
            assert ledger.remaining().amount == Fraction(7, 8)
            assert ledger.find("plan 3", "a") is not None
    assert len(read) == 1
    for wrong in (f"3:{'0' * 64}", f"{int(head.split(':')[0]) + 9}:{'0' * 64}"):
        with pytest.raises(LedgerError, match="old copy"):
            SqliteLedger(path, head=wrong)


def exported(path: Path) -> list[str]:
    with SqliteLedger(path) as ledger:
        return list(ledger.export())


def test_what_was_proven_of_one_file_is_not_believed_of_another(tmp_path: Path) -> None:
    """Nor of the same file when its history has become another one."""
    path, head = full_ledger(tmp_path / "ledger")
    SqliteLedger(path, head=head).close()
    forge(path, alter(2, text="another"))
    with pytest.raises(LedgerError):
        SqliteLedger(path, head=head)


def forge(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    """Rewrite the whole chain with one entry changed, hashes and columns included: only its content gives it away."""
    connection = sqlite3.connect(path, isolation_level=None)
    rows = connection.execute("SELECT number, body FROM entries ORDER BY number").fetchall()
    kept = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
    for statement in (*UNGUARD, "DELETE FROM entries", "DELETE FROM cache"):
        connection.execute(statement)
    head = GENESIS
    for number, body in rows:
        entry = json.loads(body)
        change(entry)
        text = canonical(entry)
        head = link(head, text)
        about = (entry["kind"], entry.get("account"), entry.get("digest"), entry.get("key"))
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *about, text, head))
    for statement in kept:
        connection.execute(statement)
    connection.close()


def alter(number: int, **fields: object) -> Callable[[dict[str, object]], None]:
    def change(entry: dict[str, object]) -> None:
        if entry["number"] == number:
            entry.update(fields)

    return change


@pytest.mark.parametrize(
    "change",
    [
        alter(3, paid=[[0, "5"], [0, "5"]]),
        alter(3, paid=[[0, "3/2"], [0, "1/8"]]),  # within what the top-up adds, and spent before there was one
        alter(6, paid=[[0, "2"], [0, "1/8"]]),  # after the last top-up
        alter(6, paid=[[0, "1/8"], [0, "2"]]),
        alter(3, paid=[[0, "-1"], [0, "1/8"]]),
        alter(3, paid=[[0, "inf"], [0, "1/8"]]),
        alter(3, paid=[[0, "nan"], [0, "1/8"]]),
        alter(3, paid=[[0, 0.125], [0, "1/8"]]),
        alter(3, paid=[[1, "1/8"], [0, "1/8"]]),
        alter(3, paid=[None, [0, "1/8"]]),
        alter(3, paid=[[0, "1/8"], None]),
        alter(3, paid=[[0, "1/8", "0"], [0, "1/8"]]),
        alter(3, shared=3, paid=[None, [0, "1/8"]]),
        alter(3, account="b"),
        alter(3, v=2),
        alter(3, kind="charged"),
        alter(3, more="field"),
        alter(3, time="2000-01-01T00:00:00.000000Z"),
        alter(3, time="yesterday"),
        alter(3, versions=[]),
        alter(4, charge=2),
        alter(4, charge=6),
        alter(4, digest="z"),
        alter(7, charge=1),
        alter(2, account="b"),
        alter(5, account="c"),
        alter(5, cap={"budget": {"rho": "1"}, "order": None, "keys_share": "1/2"}),
        alter(1, kind="clear"),
        alter(9, per_query={"epsilon": "0"}),
        alter(10, account="c"),
        alter(10, expires="soon"),
        alter(2, expires="2001-01-01T00:00:00.000000Z"),  # and spent from afterwards
    ],
)
def test_a_forged_chain_still_has_to_obey_the_rules(
    tmp_path: Path, change: Callable[[dict[str, object]], None]
) -> None:
    path = small_ledger(tmp_path / "ledger")
    forge(path, lambda entry: None)
    assert seen(path) is not None
    forge(path, change)
    assert seen(path) is None


@pytest.mark.parametrize(
    ("time", "refusal"),
    [
        ("2000-01-01T00:00:00.000000Z", "entry 11 of the ledger is out of order"),
        ("2999-06-01T00:00:00.000000Z", "entry 11 of the ledger breaks the ledger's rules"),  # the account has expired
        ("2998-06-01T00:00:00.000000Z", None),
    ],
)
def test_an_entry_that_is_appended_under_a_running_process_has_to_obey_the_rules(
    tmp_path: Path, time: str, refusal: str | None
) -> None:
    path = small_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        ledger.history()
        connection = sqlite3.connect(path, isolation_level=None)
        body = json.loads(connection.execute("SELECT body FROM entries WHERE number = 6").fetchone()[0])
        ((before,),) = connection.execute("SELECT hash FROM entries WHERE number = 10").fetchall()
        text = canonical({**body, "number": 11, "time": time, "digest": "z"})
        row = (11, "charge", "a", "z", None, text, link(before, text))
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        connection.close()
        if refusal is None:
            assert ledger.history()[-1].digest == "z"
        else:
            with pytest.raises(LedgerError, match=refusal):
                ledger.history()


def test_a_charge_that_was_underpaid_is_found(tmp_path: Path) -> None:
    path = small_ledger(tmp_path / "ledger")
    forge(path, alter(3, paid=[[0, "1/9"], [0, "1/8"]]))
    with SqliteLedger(path) as ledger, pytest.raises(LedgerError, match="less"):
        ledger.verify()


# Rollback


def test_an_old_copy_is_found_by_a_pinned_head(tmp_path: Path) -> None:
    path, copy = small_ledger(tmp_path / "ledger"), tmp_path / "copy"
    with SqliteLedger(path) as ledger:
        old = ledger.head()
        ledger.backup(copy)
        ledger.charge(PureEvent(Fraction(1, 2)), "big", account="a")
        new = ledger.head()
    SqliteLedger(path, head=old).close()
    SqliteLedger(path, head=new).close()
    shutil.copy(copy / path.name, path)
    SqliteLedger(path, head=old).close()
    with pytest.raises(LedgerError, match="old copy"):
        SqliteLedger(path, head=new)


def test_another_history_of_the_same_length_is_found_by_a_pinned_head(tmp_path: Path) -> None:
    path = small_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        head = ledger.head()
    forge(path, alter(8, reason="another"))
    with pytest.raises(LedgerError, match="another ledger"):
        SqliteLedger(path, head=head)


def test_a_process_notices_that_the_file_under_it_went_back(tmp_path: Path) -> None:
    path = small_ledger(tmp_path / "ledger")
    with SqliteLedger(path) as ledger:
        ledger.charge(PureEvent(Fraction(1, 8)), "s", account="a")
        tamper(path, "DELETE FROM entries WHERE number > 5")
        with pytest.raises(LedgerError, match="old copy"):
            ledger.charge(PureEvent(Fraction(1, 8)), "t", account="a")
        with pytest.raises(LedgerError):
            ledger.verify()


def test_a_pinned_head_never_makes_a_new_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError):
        SqliteLedger(tmp_path / "gone", Pure(epsilon=1), head="3:" + "0" * 64)
    for head in ("", "3", "0:" + "0" * 64, "3:xyz", "-1:" + "0" * 64):
        with pytest.raises(BadParameter):
            SqliteLedger(tmp_path / "gone", Pure(epsilon=1), head=head)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"not a ledger" * 1000])
def test_a_file_that_is_no_ledger_is_never_made_into_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(LedgerError):
        SqliteLedger(path, Pure(epsilon=1))
    assert path.read_bytes() == content
