"""Threads and sessions over one engine and one ledger: one charge and one draw for equal questions, none in the way."""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import privet
import privet.execution.executor
from privet import Approximate, Contribution, Person, Session, SqliteLedger, Table, integer
from privet.core.errors import BudgetError, EngineError, RequestError
from privet.core.ports import Ledger
from privet.core.scan import Scan, SealedSums
from privet.engines.duckdb.engine import DuckDB
from privet.execution.executor import Turns
from privet.ledger.memory import MemoryLedger

pa = pytest.importorskip("pyarrow")

BUDGET = Approximate(epsilon=50, delta=1e-6)
COUNT, SUM = "SELECT COUNT(*) AS n FROM t", "SELECT SUM(x) AS n FROM t"
WAIT = 60.0
"""Seconds after which a thread that should have come is given up: only a test that fails takes that long."""


def table() -> Table:
    rows = pa.table({"who": list(range(300)), "x": [one % 10 for one in range(300)]})
    return Table(
        rows,
        unit=Person("who"),
        columns={"who": integer(), "x": integer(0, 9)},
        contribution=Contribution(groups=1, rows=1),
    )


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    if request.param == "memory":
        yield MemoryLedger(BUDGET, analysts={"ana": BUDGET, "ben": BUDGET})
        return
    with SqliteLedger(tmp_path / "ledger", BUDGET, analysts={"ana": BUDGET, "ben": BUDGET}) as made:
        yield made


class Gate:
    """An engine whose scans call `inside` before they read, and are counted."""

    def __init__(self, engine: DuckDB, inside: Callable[[], object]) -> None:
        self.engine, self.inside = engine, inside
        self.times: list[tuple[float, float]] = []
        self.closed = False

    def scan(self, scan: Scan) -> SealedSums:
        start = time.monotonic()
        self.inside()
        found = self.engine.scan(scan)
        self.times.append((start, time.monotonic()))
        return found

    def check(self, scan: Scan) -> None:
        self.engine.check(scan)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def engine() -> Iterator[DuckDB]:
    with DuckDB({"t": table()}, scans=8) as made:
        yield made


def sessions(engine: Any, ledger: Ledger, *accounts: str) -> tuple[list[Session], ExitStack]:
    stack = ExitStack()
    made = [Session({"t": table()}, ledger=ledger, account=one, engine=engine) for one in accounts]
    for one in made:
        stack.enter_context(one)
    return made, stack


def at_once(tasks: list[Callable[[], Any]]) -> list[Any]:
    """Return what each task returns or raises, all of them begun together, each in a thread of its own."""
    start = threading.Barrier(len(tasks), timeout=WAIT)

    def run(task: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return task()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(tasks)) as threads:
        return list(threads.map(run, tasks))


def counting_draws(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    drawn: list[str] = []

    def counted(name: str) -> None:
        real = getattr(privet.execution.executor, name)

        def release(exacts: Any, plan: Any, *rest: Any) -> Any:
            drawn.append(plan.digest)
            return real(exacts, plan, *rest)

        monkeypatch.setattr(privet.execution.executor, name, release)

    counted("release")
    counted("release_all")
    return drawn


# --- equal questions ------------------------------------------------------------------------------------------------


class Crowd:
    """Waits inside a scan for a second one to come in, and not for long, as none should."""

    def __init__(self) -> None:
        self.came, self.second = 0, threading.Event()

    def __call__(self) -> None:
        self.came += 1
        if self.came > 1:
            self.second.set()
        self.second.wait(0.5)


def test_equal_questions_of_eight_threads_and_four_sessions_are_charged_scanned_and_drawn_once(
    engine: DuckDB, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, gate = counting_draws(monkeypatch), Gate(engine, Crowd())
    made, stack = sessions(gate, ledger, *["ana"] * 4)
    with stack:
        answers = at_once([lambda one=one: one.ask(COUNT, epsilon=1) for one in made * 2])
    assert len({repr(answer.to_dict()) for answer in answers}) == 1
    assert len({answer.receipt.head for answer in answers}) == 1
    assert (len(gate.times), len(drawn), len(ledger.history())) == (1, 1, 1)
    ledger.verify()


def test_equal_questions_of_two_accounts_are_drawn_once_and_charged_to_both(
    engine: DuckDB, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, gate = counting_draws(monkeypatch), Gate(engine, Crowd())
    made, stack = sessions(gate, ledger, "ana", "ben")
    with stack:
        answers = at_once([lambda one=one: one.ask(COUNT, epsilon=1) for one in made * 2])
    assert len({repr(answer.to_dict()) for answer in answers}) == 1
    first, second = ledger.history()
    assert (first.shared, second.shared) == (None, first.number)
    assert (len(gate.times), len(drawn)) == (1, 1)


def test_equal_batches_and_rounds_at_once_are_charged_and_drawn_once(
    engine: DuckDB, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, gate = counting_draws(monkeypatch), Gate(engine, Crowd())
    made, stack = sessions(gate, ledger, *["ana"] * 4)
    with stack:
        together = at_once([lambda one=one: one.ask_all([COUNT, SUM], epsilon=1) for one in made])
        assert len({repr([answer.to_dict() for answer in answers]) for answers in together}) == 1
        assert len(ledger.history()) == len(drawn) == 1
        rounds = "SELECT AVG(x) AS n FROM t"
        narrow = at_once([lambda one=one: one.ask(rounds, within=0.5, at_most=20) for one in made])
        assert len({repr(answer.to_dict()) for answer in narrow}) == 1
        charged = [entry.digest for entry in ledger.history()]
        assert sorted(charged) == sorted(drawn)
        assert len(charged) == len(set(charged)) == 1 + len(narrow[0].accuracy.receipts)


def test_an_engine_that_fails_for_many_at_once_is_asked_three_times_and_the_account_is_frozen(
    engine: DuckDB, ledger: Ledger
) -> None:
    asked: list[int] = []

    def fail() -> None:
        asked.append(1)
        raise RuntimeError

    made, stack = sessions(Gate(engine, fail), ledger, *["ana"] * 4)
    with stack:
        raised = at_once([lambda one=one: one.ask(COUNT, epsilon=1) for one in made * 2])
    assert sorted(type(error).__name__ for error in raised) == ["BudgetError"] * 5 + ["EngineError"] * 3
    assert all(isinstance(error, (BudgetError, EngineError)) for error in raised)
    assert len(asked) == len(ledger.history()) == 3


def test_the_ledger_is_searched_once_for_each_question(engine: DuckDB, ledger: Ledger) -> None:
    (session,), stack = sessions(Gate(engine, lambda: None), ledger, "ana")
    searched: list[str] = []
    real = ledger.find

    def find(digest: str, account: str) -> Any:
        searched.append(digest)
        return real(digest, account)

    ledger.find = find  # type: ignore[method-assign]
    with stack:
        for ask in (
            lambda: session.ask(COUNT, epsilon=1),
            lambda: session.ask(SUM, epsilon=1, key="mine"),
            lambda: session.ask_all([COUNT, SUM], epsilon=1),
        ):
            first = ask()
            assert len(searched) == 1
            again = ask()
            assert len(searched) == 2
            assert repr(again) == repr(first)
            searched.clear()


# --- different questions --------------------------------------------------------------------------------------------


def test_different_questions_of_eight_threads_and_four_sessions_are_scanned_at_the_same_time(
    engine: DuckDB, ledger: Ledger
) -> None:
    meeting = threading.Barrier(8, timeout=WAIT)  # which all eight pass, or none does
    gate = Gate(engine, meeting.wait)
    made, stack = sessions(gate, ledger, *["ana"] * 4)
    questions = [f"SELECT COUNT(*) AS n FROM t WHERE x > {least}" for least in range(8)]
    with stack:
        answers = at_once(
            [lambda one=one, sql=sql: one.ask(sql, epsilon=1) for one, sql in zip(made * 2, questions, strict=True)]
        )
    assert all(len(answer) == 1 for answer in answers)
    begun, ended = zip(*gate.times, strict=True)
    assert sum(end - start for start, end in gate.times) > max(ended) - min(begun)
    assert len(ledger.history()) == 8
    ledger.verify()


@pytest.mark.parametrize("key", [None, "mine"])
def test_a_stored_answer_is_found_at_once_while_another_question_is_scanned(
    engine: DuckDB, ledger: Ledger, key: str | None
) -> None:
    began, over = threading.Event(), threading.Event()
    gate = Gate(engine, lambda: None)
    (session,), stack = sessions(gate, ledger, "ana")
    ways: dict[str, Callable[[], Any]] = {
        "one": lambda: session.ask(COUNT, epsilon=1, key=key).to_dict(),
        "several": lambda: session.ask_all([COUNT, SUM], epsilon=1, key=key and "all")[0].to_dict(),
        "rounds": lambda: session.ask(
            "SELECT AVG(x) AS n FROM t", within=0.5, at_most=20, key=key and "narrow"
        ).to_dict(),
    }
    stored = {name: ask() for name, ask in ways.items()}
    gate.inside = lambda: (began.set(), over.wait(WAIT))
    with stack, ThreadPoolExecutor(2) as threads:
        slow = threads.submit(session.ask, SUM, epsilon=1)
        assert began.wait(WAIT)
        try:
            for name, ask in ways.items():
                assert threads.submit(ask).result(WAIT / 2) == stored[name]
            took, worked = [], []
            for _ in range(31):
                start, began_work = time.perf_counter(), time.thread_time()
                ways["one"]()
                took.append(time.perf_counter() - start)
                worked.append(time.thread_time() - began_work)
            assert not slow.done()
        finally:
            over.set()
        assert len(slow.result(WAIT)) == 1
    assert statistics.median(worked) < 0.02
    assert min(took) < 0.02  # of which a busy machine leaves one alone


# --- whose engine and ledger ----------------------------------------------------------------------------------------


def test_a_borrowed_engine_and_ledger_stay_open_when_a_session_is_closed(engine: DuckDB, ledger: Ledger) -> None:
    gate = Gate(engine, lambda: None)
    (first, second), _ = sessions(gate, ledger, "ana", "ana")
    first.close()
    assert not gate.closed
    with pytest.raises(RequestError, match="closed"):
        first.ask(COUNT, epsilon=1)
    assert len(second.ask(COUNT, epsilon=1)) == 1
    second.close()
    assert len(engine._fetch("SELECT 1")) == len(ledger.history()) == 1
    own = Session({"t": table()}, budget=BUDGET)
    own.close()
    with pytest.raises(EngineError):
        own._executor.engine._fetch("SELECT 1")  # type: ignore[attr-defined]


def test_closing_waits_for_the_scan_that_runs_and_lets_no_other_begin(engine: DuckDB, ledger: Ledger) -> None:
    began, over = threading.Event(), threading.Event()
    gate = Gate(engine, lambda: (began.set(), over.wait(WAIT)))
    (session,), _ = sessions(gate, ledger, "ana")
    with ThreadPoolExecutor(3) as threads:
        asked = threads.submit(session.ask, COUNT, epsilon=1)
        assert began.wait(WAIT)
        same = threads.submit(session.ask, COUNT, epsilon=1)  # waits for its turn
        closing = threads.submit(session.close)
        while not session._executor._closed:
            time.sleep(0.001)
        assert not closing.done()
        over.set()
        closing.result(WAIT)
        assert len(asked.result(WAIT)) == 1
        refused = same.exception(WAIT)
        assert refused is None or isinstance(refused, RequestError)
    assert (len(gate.times), len(ledger.history())) == (1, 1)


# --- scans of DuckDB ------------------------------------------------------------------------------------------------


class Held:
    """A function of SQL that waits until it is let go, and counts how many are inside."""

    def __init__(self, engine: DuckDB, inside: Callable[[], object]) -> None:
        self.inside, self.now, self.most = inside, 0, 0
        self._changing = threading.Lock()
        engine._connection.create_function("held", self, ["BIGINT"], "BIGINT", side_effects=True)  # for all of them

    def __call__(self, value: int) -> int:
        with self._changing:
            self.now += 1
            self.most = max(self.most, self.now)
        self.inside()
        with self._changing:
            self.now -= 1
        return value


def test_every_connection_is_locked_down_like_the_one_that_opened_the_tables(engine: DuckDB) -> None:
    settings = "SELECT name, value FROM duckdb_settings() ORDER BY name"
    main = engine._connection.execute(settings).fetchall()
    with engine._lanes.lent() as first, engine._lanes.lent() as second:
        assert first.connection is not second.connection
        for lane in (first, second):
            assert lane.connection.execute(settings).fetchall() == main
    kept = dict(main)
    for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
        assert kept[name] == "false"
    for name in ("enable_external_access", "python_enable_replacements", "enable_progress_bar"):
        assert kept[name] == "false"
    assert (kept["lock_configuration"], kept["TimeZone"], kept["pandas_analyze_sample"]) == ("true", "UTC", "0")


def test_a_time_limit_interrupts_its_own_scan_and_no_other(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, over = threading.Event(), threading.Event()
    Held(engine, lambda: (inside.set(), over.wait(WAIT)))
    with engine._lanes.lent(), engine._lanes.lent():
        pass  # so that there are two connections
    long = "SELECT count(*) FROM range(100000) a, range(30000) b WHERE a.range * b.range % 11 = 7"
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(engine._fetch, "SELECT held(7)")
        assert inside.wait(WAIT)
        (idle,) = engine._lanes._idle
        monkeypatch.setattr(idle.deadline, "_seconds", 0.05)
        with pytest.raises(EngineError):
            engine._fetch(long)
        assert not other.done()
        over.set()
        assert other.result(WAIT) == [(7,)]
    assert engine._fetch("SELECT 1") == [(1,)]


@pytest.mark.parametrize("scans", [1, 2, 3])
def test_as_many_scans_run_at_once_as_were_allowed(scans: int) -> None:
    full = threading.Event()

    def inside() -> None:
        if held.now > scans:
            full.set()
        full.wait(0.1)  # for one more than is allowed

    with DuckDB({"t": table()}, scans=scans) as engine:
        held = Held(engine, inside)
        assert at_once([lambda: engine._fetch("SELECT held(1)")] * (scans + 2)) == [[(1,)]] * (scans + 2)
    assert held.most <= scans
    assert not full.is_set()


def test_scans_of_one_engine_run_at_the_same_time(engine: DuckDB) -> None:
    meeting = threading.Barrier(4, timeout=WAIT)
    held = Held(engine, meeting.wait)
    assert at_once([lambda: engine._fetch("SELECT held(x) FROM (SELECT 1 AS x)")] * 4) == [[(1,)]] * 4
    assert held.most == 4


def test_a_relation_of_another_connection_is_scanned_by_one_at_a_time() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    source = connection.sql("SELECT range AS who, range % 10 AS x FROM range(200000)")
    with_rows = Table(
        source,
        unit=Person("who"),
        columns={"who": integer(), "x": integer(0, 9)},
        contribution=Contribution(groups=1, rows=1),
    )
    with DuckDB({"t": with_rows}, scans=8) as engine:
        plain = [engine._fetch("SELECT sum(c1) FROM table0")] * 8
        assert at_once([lambda: engine._fetch("SELECT sum(c1) FROM table0")] * 8) == plain
        assert len(engine._lanes._idle) == 1


def test_planning_with_the_rows_of_a_public_table_waits_for_no_scan() -> None:
    inside, over = threading.Event(), threading.Event()
    places = pa.table({"x": list(range(10)), "place": ["north", "south"] * 5})
    columns = {"x": integer(0, 9), "place": privet.category(["north", "south", "east"])}
    tables = {"t": table(), "places": privet.PublicTable(places, columns=columns, key="x", rows=10)}
    sql = "SELECT place, COUNT(*) AS n FROM t JOIN places ON t.x = places.x GROUP BY place"
    with DuckDB(tables, scans=1) as engine, ThreadPoolExecutor(2) as threads:
        Held(engine, lambda: (inside.set(), over.wait(WAIT)))
        busy = threads.submit(engine._fetch, "SELECT held(7)")
        assert inside.wait(WAIT)
        try:
            session = Session(tables, budget=BUDGET, engine=engine)
            plan = threads.submit(session.plan, sql, epsilon=1).result(WAIT / 2)
            assert not busy.done()
            assert len(engine.public_rows("places") or ()) == 10
        finally:
            over.set()
        assert busy.result(WAIT) == [(7,)]
        assert session.run(plan)["place"].values == ("north", "south")


@pytest.mark.parametrize("bad", [0, -1, 1025, 1.5, "2", True])
def test_a_number_of_scans_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(RequestError, match="scans"):
        DuckDB({"t": table()}, scans=bad)


def test_an_engine_that_is_closed_waits_for_its_scans_and_begins_no_more() -> None:
    inside, over = threading.Event(), threading.Event()
    engine = DuckDB({"t": table()}, scans=2)
    Held(engine, lambda: (inside.set(), over.wait(WAIT)))
    with ThreadPoolExecutor(2) as threads:
        asked = threads.submit(engine._fetch, "SELECT held(7)")
        assert inside.wait(WAIT)
        closing = threads.submit(engine.close)
        while not engine._lanes._closed:
            time.sleep(0.001)
        with pytest.raises(EngineError):
            engine._fetch("SELECT 1")
        try:
            with pytest.raises(TimeoutError):
                closing.result(0.3)
        finally:
            over.set()
        assert asked.result(WAIT) == [(7,)]
        closing.result(WAIT)
    assert not os.path.exists(engine._spill)
    engine.close()


# --- turns ----------------------------------------------------------------------------------------------------------


def test_turns_that_are_over_leave_nothing_behind() -> None:
    turns = Turns()
    with turns.turn("a"), turns.turn("b"):
        assert set(turns._turns) == {"a", "b"}
    assert not turns._turns
    with pytest.raises(ZeroDivisionError), turns.turn("a"):
        raise ZeroDivisionError
    assert not turns._turns


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    turns, held, over = Turns(), threading.Event(), threading.Event()

    def hold() -> None:
        with turns.turn("a"):
            held.set()
            over.wait(WAIT)

    with ThreadPoolExecutor(1) as threads:
        threads.submit(hold)
        assert held.wait(WAIT)
        child = os.fork()
        if not child:
            done = threading.Event()
            taking = threading.Thread(target=lambda: [done.set() for _ in [turns.turn("a").__enter__()]], daemon=True)
            taking.start()
            os._exit(0 if done.wait(20) else 1)
        _, status = os.waitpid(child, 0)
        over.set()
    assert os.waitstatus_to_exitcode(status) == 0
