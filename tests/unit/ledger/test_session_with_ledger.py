"""A session on a durable ledger: what one process paid for, the next one gets; what another asked, one pays once."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from privet.core.budget import Approximate, Budget, Pure
from privet.core.errors import (
    BadParameter,
    BudgetError,
    BudgetExceeded,
    EngineError,
    LedgerError,
    RequestError,
    UnknownName,
)
from privet.core.schema import Table, category, date, integer, text
from privet.core.unit import Rows
from privet.ledger.sqlite.store import SqliteLedger
from privet.session import Session

BUDGET = Approximate(epsilon=10, delta=Fraction(1, 10**6))
COLUMNS = {
    "ward": category(["a", "b"], nullable=True),
    "name": text(),
    "age": integer(0, 120),
    "day": date(datetime.date(2024, 1, 1), datetime.date(2024, 1, 3)),
}
QUESTION = "SELECT ward, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY ward"


def table(version: str = "1") -> Table:
    rows = {
        "ward": ["a", "b", None] * 100,
        "name": ["x"] * 300,
        "age": list(range(100)) * 3,
        "day": [datetime.date(2024, 1, 2)] * 300,
    }
    return Table(pa.table(rows), unit=Rows(), columns=COLUMNS, version=version)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def ledger(path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(path, BUDGET) as opened:
        yield opened


def session(ledger: SqliteLedger, account: str = "ana", version: str = "1", **options: Any) -> Session:
    return Session({"visits": table(version)}, ledger=ledger, account=account, **options)


@pytest.mark.parametrize(
    "question",
    [QUESTION, "SELECT name, COUNT(*) FROM visits GROUP BY name", "SELECT day, AVG(age) AS a FROM visits GROUP BY day"],
)
def test_the_next_process_gets_the_same_answer_for_nothing(path: Path, ledger: SqliteLedger, question: str) -> None:
    with session(ledger) as asking:
        first = asking.ask(question, epsilon=1)
        left = asking.remaining()
    with SqliteLedger(path) as again, session(again) as asking:
        second = asking.ask(question, epsilon=1)
        assert second.to_dict() == first.to_dict()
        assert second.receipt == first.receipt
        assert asking.remaining() == left
        assert len(asking.history()) == 1
        again.verify()


def test_a_new_version_of_the_data_is_a_new_question_and_restores_nothing(ledger: SqliteLedger) -> None:
    with session(ledger) as asking:
        asking.ask(QUESTION, epsilon=1)
        left = asking.remaining().amount
    with session(ledger, version="2") as asking:
        assert asking.remaining().amount == left
        asking.ask(QUESTION, epsilon=1)
        assert [entry.versions for entry in asking.history()] == [(("visits", "1"),), (("visits", "2"),)]
        assert asking.remaining().amount < left
        assert all("COUNT" in entry.text or entry.text for entry in asking.history())


def test_another_analyst_pays_from_their_own_cap_for_the_same_numbers(path: Path) -> None:
    analysts: dict[str, Budget] = {"ana": Pure(epsilon=2), "ben": Pure(epsilon=1)}
    with SqliteLedger(path, Pure(epsilon=2), analysts=analysts) as ledger:
        with session(ledger) as ana, session(ledger, "ben") as ben:
            first = ana.ask(QUESTION, epsilon=1)
            whole = ledger.remaining()
            second = ben.ask(QUESTION, epsilon=1)
            assert second.to_dict() == first.to_dict()
            assert second.receipt.account == "ben"
            assert ledger.remaining() == whole
            assert ben.remaining().amount == 0
            with pytest.raises(BudgetExceeded):
                ben.ask("SELECT COUNT(*) FROM visits WHERE age > 5", epsilon=0.5)
            assert ben.ask(QUESTION, epsilon=1).to_dict() == first.to_dict()
        ledger.verify()


def test_the_account_must_be_known_and_the_budget_its_own(path: Path) -> None:
    with SqliteLedger(path, BUDGET, analysts={"ana": Pure(epsilon=1)}) as ledger:
        with pytest.raises(UnknownName):
            session(ledger, "eve")
        with pytest.raises(BadParameter):
            session(ledger, budget=BUDGET)
        session(ledger, budget=Pure(epsilon=1)).close()
    with pytest.raises(BadParameter):
        Session({"visits": table()})


class Broken:
    """An engine that fails a number of times, and then works."""

    def __init__(self, engine: Any, failures: int) -> None:
        self.engine, self.failures, self.scans = engine, failures, 0

    def check(self, scan: Any) -> None:
        self.engine.check(scan)

    def scan(self, scan: Any) -> Any:
        self.scans += 1
        if self.failures:
            self.failures -= 1
            raise EngineError
        return self.engine.scan(scan)

    def close(self) -> None:
        self.engine.close()


def test_a_retry_with_the_same_key_is_charged_once_and_draws_once(path: Path, ledger: SqliteLedger) -> None:
    with session(ledger) as asking:
        asking._executor.engine = broken = Broken(asking._executor.engine, 2)
        for _ in range(2):
            with pytest.raises(EngineError):
                asking.ask(QUESTION, epsilon=1, key="monday")
        first = asking.ask(QUESTION, epsilon=1, key="monday")
        assert asking.ask(QUESTION, epsilon=1, key="monday").to_dict() == first.to_dict()
        assert len(asking.history()) == 1
        assert broken.scans == 3


def test_a_key_is_refused_for_another_question_even_one_that_was_answered(ledger: SqliteLedger) -> None:
    other = "SELECT COUNT(*) FROM visits"
    with session(ledger) as asking:
        answered = asking.ask(other, epsilon=1)
        asking.ask(QUESTION, epsilon=1, key="monday")
        with pytest.raises(RequestError, match="another question"):
            asking.ask(other, epsilon=1, key="monday")
        assert asking.ask(other, epsilon=1, key="tuesday").to_dict() == answered.to_dict()
        assert len(asking.history()) == 2


def test_a_retry_with_a_key_does_not_thaw_a_frozen_account(ledger: SqliteLedger) -> None:
    with session(ledger) as asking:
        asking._executor.engine = broken = Broken(asking._executor.engine, 5)
        for _ in range(3):
            with pytest.raises(EngineError):
                asking.ask(QUESTION, epsilon=1, key="monday")
        with pytest.raises(BudgetError, match="frozen"):
            asking.ask(QUESTION, epsilon=1, key="monday")
        assert broken.scans == 3


def test_two_processes_that_ask_the_same_at_once_pay_the_data_set_once(path: Path, ledger: SqliteLedger) -> None:
    seen: list[object] = []
    waiting = threading.Barrier(2, timeout=60)

    class Slow(Broken):
        def scan(self, scan: Any) -> Any:
            waiting.wait()  # both have been charged by now, and neither has stored
            return super().scan(scan)

    def ask(account: str) -> None:
        with SqliteLedger(path) as own, session(own, account) as asking:
            asking._executor.engine = Slow(asking._executor.engine, 0)
            seen.append(asking.ask(QUESTION, epsilon=1).to_dict())

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("ana", "ben")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2
    assert seen[0] == seen[1]
    (first, second) = ledger.history()
    assert (first.shared, second.shared) == (None, first.number)
    with SqliteLedger(path.with_name("one"), BUDGET) as other, session(other) as asking:
        asking.ask(QUESTION, epsilon=1)
        assert other.remaining().amount == ledger.remaining().amount
    ledger.verify()


def test_a_certificate_pins_the_ledger_at_the_answer(path: Path, tmp_path: Path, ledger: SqliteLedger) -> None:
    with session(ledger) as asking:
        asking.ask("SELECT COUNT(*) FROM visits", epsilon=1)
        ledger.backup(tmp_path / "old")
        certificate = asking.ask(QUESTION, epsilon=1).certificate()
        assert asking.ask(QUESTION, epsilon=1).certificate() == certificate
        asking.ask("SELECT SUM(age) FROM visits", epsilon=1)
    SqliteLedger(path, head=certificate["head"]).close()
    with pytest.raises(LedgerError, match="old copy"):
        SqliteLedger(tmp_path / "old", head=certificate["head"])


def test_three_engine_failures_in_a_row_freeze_the_account(ledger: SqliteLedger) -> None:
    with session(ledger) as asking:
        asking._executor.engine = Broken(asking._executor.engine, 3)
        for _ in range(3):
            with pytest.raises(EngineError):
                asking.ask(QUESTION, epsilon=1)
        with pytest.raises(BudgetError, match="frozen"):
            asking.ask(QUESTION, epsilon=1)
        assert len(asking.history()) == 3
        ledger.clear("ana", reason="the source was moved back")
        asking.ask(QUESTION, epsilon=1)


def test_where_an_answer_cannot_be_stored_nothing_is_shown(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise LedgerError("the disk is full")

    with session(ledger) as asking:
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "store", full)
            with pytest.raises(LedgerError):
                asking.ask(QUESTION, epsilon=1)
        assert len(asking.history()) == 1
        asking.ask(QUESTION, epsilon=1)
        assert len(asking.history()) == 1


def test_the_ledger_holds_no_private_value(ledger: SqliteLedger) -> None:
    secret = "Zaphod Beeblebrox"
    rows = {"ward": ["a"], "name": [secret], "age": [87], "day": [datetime.date(2024, 1, 2)]}
    private = Table(pa.table(rows), unit=Rows(), columns=COLUMNS)
    with Session({"visits": private}, ledger=ledger) as asking:
        asking.ask("SELECT name, COUNT(*) FROM visits GROUP BY name", epsilon=1)
    assert secret not in "\n".join(ledger.export())
