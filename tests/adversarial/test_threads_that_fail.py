"""Threads, sessions and processes that close, fail or die while others ask: no draw without its charge, none twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import privet.execution.executor
from privet import Approximate, Contribution, Person, RequestError, Session, SqliteLedger, Table, integer
from privet.core.errors import EngineError
from privet.core.scan import Scan, SealedSums
from privet.engines.duckdb.engine import DuckDB

pa = pytest.importorskip("pyarrow")

BUDGET = Approximate(epsilon=50, delta=1e-6)
COUNT = "SELECT COUNT(*) AS n FROM t"
WAIT = 60.0
"""Seconds after which a thread that should have come is given up: only a test that fails takes that long."""


def table() -> Table:
    return Table(
        pa.table({"who": list(range(300)), "x": [row % 10 for row in range(300)]}),
        unit=Person("who"),
        columns={"who": integer(), "x": integer(0, 9)},
        contribution=Contribution(groups=1, rows=1),
    )


class Stepped:
    """An engine that calls `before` with the number of each scan, from 1, and counts those that are running."""

    def __init__(self, engine: DuckDB, before: Callable[[int], object]) -> None:
        self.engine, self.before = engine, before
        self.begun = self.ended = 0
        self._changing = threading.Lock()

    def check(self, scan: Scan) -> None:
        self.engine.check(scan)

    def scan(self, scan: Scan) -> SealedSums:
        with self._changing:
            self.begun += 1
            number = self.begun
        try:
            self.before(number)
            return self.engine.scan(scan)
        finally:
            with self._changing:
                self.ended += 1

    def close(self) -> None:
        raise AssertionError("a borrowed engine was closed")


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    with DuckDB({"t": table()}, scans=8) as made:
        yield made


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqliteLedger]:
    with SqliteLedger(tmp_path / "ledger", BUDGET, analysts={"ana": BUDGET, "ben": BUDGET}) as made:
        yield made


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    digests: list[str] = []
    real = privet.execution.executor.release

    def release(exacts: Any, plan: Any, *rest: Any) -> Any:
        digests.append(plan.digest)
        return real(exacts, plan, *rest)

    monkeypatch.setattr(privet.execution.executor, "release", release)
    return digests


def outcome(task: Callable[[], Any]) -> Any:
    """Return what a task returns or raises, interrupts included."""
    try:
        return task()
    except BaseException as error:
        return error


def at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
    start = threading.Barrier(len(tasks), timeout=WAIT)

    def run(task: Callable[[], Any]) -> Any:
        start.wait()
        return outcome(task)

    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(run, tasks))


def test_sessions_that_are_closed_while_all_scan_finish_what_was_charged_and_disturb_no_other(
    engine: DuckDB, ledger: SqliteLedger
) -> None:
    full, over = threading.Barrier(5, timeout=WAIT), threading.Event()
    stepped = Stepped(engine, lambda number: (full.wait() if number <= 4 else None, over.wait(WAIT)))
    closing, staying = (Session({"t": table()}, ledger=ledger, account="ana", engine=stepped) for _ in range(2))
    questions = [f"SELECT COUNT(*) AS n FROM t WHERE x > {least}" for least in range(4)]
    with ThreadPoolExecutor(12) as threads:
        asked = [
            threads.submit(session.ask, sql, epsilon=1)
            for session, sql in zip([closing, staying] * 2, questions, strict=True)
        ]
        full.wait()  # all four scan
        closings = [threads.submit(closing.close) for _ in range(3)]
        while not closing._executor._closed:
            over.wait(0.001)
        with pytest.raises(RequestError, match="closed"):
            closing.ask(questions[0], epsilon=2)
        assert not any(one.done() for one in closings)  # none returns while a scan of the session runs
        more = threads.submit(staying.ask, COUNT, epsilon=1)
        over.set()
        for one in closings:
            one.result(WAIT)
        assert all(len(one.result(WAIT)) == 1 for one in (*asked, more))
    assert stepped.begun == stepped.ended == len(ledger.history()) == 5
    assert all(ledger.find(entry.digest, "ana") for entry in ledger.history())
    staying.close()
    ledger.verify()


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, MemoryError])
def test_one_failing_scan_of_two_accounts_leaves_the_others_one_charge_each_and_one_draw(
    engine: DuckDB, ledger: SqliteLedger, drawn: list[str], failure: type[BaseException]
) -> None:
    waiting = threading.Event()

    def before(number: int) -> None:
        if number == 1:
            waiting.wait(0.3)  # so that others queue behind it
            raise failure("row 17 of 300")

    stepped = Stepped(engine, before)
    sessions = [Session({"t": table()}, ledger=ledger, account=name, engine=stepped) for name in ("ana", "ben") * 2]
    outcomes = at_once([lambda one=one: one.ask(COUNT, epsilon=1) for one in sessions * 2])
    failed = [one for one in outcomes if isinstance(one, BaseException)]
    answers = [one for one in outcomes if not isinstance(one, BaseException)]
    assert len(failed) == 1
    assert isinstance(failed[0], KeyboardInterrupt if failure is KeyboardInterrupt else EngineError)
    assert failure is KeyboardInterrupt or "17" not in str(failed[0])
    assert len({repr(answer.to_dict()) for answer in answers}) == 1
    assert (stepped.begun, len(drawn)) == (2, 1)
    entries = ledger.history()
    in_full = [entry for entry in entries if entry.shared is None]
    # a failure was seen by who asked, so it is paid for; a thread that dies leaves its charge to the next one
    assert len(in_full) == (1 if failure is KeyboardInterrupt else 2)
    assert {entry.account for entry in entries} == {"ana", "ben"}
    assert len(entries) in ({2} if failure is KeyboardInterrupt else {2, 3})
    assert ledger.budget_of().epsilon - ledger.remaining().largest_epsilon >= len(in_full) * 0.99
    for session in sessions:
        session.close()
    ledger.verify()


def test_what_is_drawn_and_never_stored_is_never_shown_and_its_charge_pays_for_the_next_draw(
    engine: DuckDB, ledger: SqliteLedger, drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, died = ledger.store, threading.Event()

    def store(*given: Any) -> Any:
        if not died.is_set():
            died.set()
            raise SystemExit
        return real(*given)

    monkeypatch.setattr(ledger, "store", store)
    with Session({"t": table()}, ledger=ledger, account="ana", engine=Stepped(engine, lambda number: None)) as session:
        outcomes = at_once([lambda: session.ask(COUNT, epsilon=1)] * 6)
    assert sum(isinstance(one, SystemExit) for one in outcomes) == 1
    answers = [one for one in outcomes if not isinstance(one, SystemExit)]
    assert len({repr(answer.to_dict()) for answer in answers}) == 1
    assert (len(drawn), len(ledger.history())) == (2, 1)
    assert len({answer.receipt.entry for answer in answers}) == 1
    ledger.verify()


PROCESS = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
import pyarrow as pa
import privet
path, account = sys.argv[1:]
rows = pa.table({"who": list(range(300)), "x": [row % 10 for row in range(300)]})
columns = {"who": privet.integer(), "x": privet.integer(0, 9)}
table = privet.Table(
    rows, unit=privet.Person("who"), columns=columns, contribution=privet.Contribution(groups=1, rows=1)
)
questions = [f"SELECT COUNT(*) AS n FROM t WHERE x > {least}" for least in range(4)]
with privet.SqliteLedger(path) as ledger, privet.Session({"t": table}, ledger=ledger, account=account) as session:
    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda sql: session.ask(sql, epsilon=1).value, questions * 2))
    assert answers[:4] == answers[4:]
    print(json.dumps(answers[:4]))
"""


def test_processes_of_two_accounts_that_ask_the_same_at_once_read_the_same_answers(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with SqliteLedger(path, BUDGET, analysts={"ana": BUDGET, "ben": BUDGET}) as ledger:
        commands = [[sys.executable, "-c", PROCESS, str(path), name] for name in ("ana", "ben", "ana")]
        options: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes = [subprocess.Popen(command, **options) for command in commands]
        try:
            for process in processes:
                assert process.stdout.readline() == "ready\n"
            for process in processes:
                process.stdin.write("\n")
                process.stdin.flush()
            found = [json.loads(process.communicate(timeout=WAIT)[0]) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()
        assert found[0] == found[1] == found[2]
        ledger.verify()
        entries = ledger.history()
        digests = Counter(entry.digest for entry in entries)
        assert len(digests) == 4
        in_full = [entry for entry in entries if entry.shared is None]
        assert Counter(entry.digest for entry in in_full) == dict.fromkeys(digests, 1)
        assert all(digests[entry.digest] == 2 for entry in entries)  # one charge for each account
        by_number = {entry.number: entry for entry in entries}
        for entry in entries:
            if entry.shared is not None:
                first = by_number[entry.shared]
                assert (first.digest, first.shared) == (entry.digest, None)
                assert first.account != entry.account
