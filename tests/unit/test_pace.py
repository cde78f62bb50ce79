"""A fresh answer, and a failure, are handed over on the grid of time; what is stored or refused unread is not held."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import privet
from privet.core.errors import BudgetError, EngineError, RequestError
from privet.core.scan import Scan, SealedSums
from privet.core.schema import Contribution, Table, integer
from privet.core.unit import Person
from privet.engines.duckdb.engine import DuckDB
from privet.execution.pace import Pace, read_step
from privet.session import Session

STEP = Fraction(2, 5)


class Clock:
    """A clock that moves only where something takes time; a sleep may end a little early, as real ones may."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.25, 0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += 1
        self.now += max(seconds, 1e-7) * (0.9 if self.slept % 3 == 1 else 1)


@pytest.mark.parametrize("took", [0.0, 1e-9, 0.1, 0.39999, 0.4, 0.40001, 1.0, 7.3])
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_fresh_is_handed_over_at_the_next_multiple_whether_it_fails_or_not(took: float, fails: bool) -> None:
    clock = Clock()
    pace = Pace(STEP, clock=clock, sleep=clock.sleep)
    with suppress(EngineError), pace.asking():
        clock.now += took / 2
        pace.fresh()
        clock.now += took / 2
        if fails:
            raise EngineError
    steps = (clock.now - 1000.25) / float(STEP)
    assert steps == pytest.approx(max(1, round(steps)), abs=1e-6)
    assert took <= clock.now - 1000.25 + 1e-9
    assert clock.now - 1000.25 < max(took, 1e-9) + float(STEP) + 1e-6


def test_time_counts_from_the_outermost_question_and_only_what_is_fresh_waits() -> None:
    clock = Clock()
    pace = Pace(STEP, clock=clock, sleep=clock.sleep)
    with pace.asking():
        clock.now += 0.3
        with pace.asking():
            pace.fresh()
            clock.now += 0.3
        assert clock.slept == 0
    assert clock.now == pytest.approx(1000.25 + 0.8)
    for fails in (False, True):
        before = clock.now
        with suppress(RequestError), pace.asking():  # and what was fresh before is not so any more
            clock.now += 0.05
            if fails:
                raise RequestError("refused")
        assert clock.now == pytest.approx(before + 0.05)


def test_without_a_step_nothing_waits() -> None:
    clock = Clock()
    pace = Pace(None, clock=clock, sleep=clock.sleep)
    with pace.asking():
        pace.fresh()
    assert clock.slept == 0


class Slow(DuckDB):
    """An engine whose reading takes as long as it is told to, and fails where it is told to."""

    took = 0.0
    fails = False

    def scan(self, scan: Scan) -> SealedSums:
        time.sleep(self.took)
        if self.fails:
            raise ValueError("a row's value")
        return super().scan(scan)


@pytest.fixture
def session() -> Iterator[Session]:
    table = Table(
        pa.table({"who": list(range(50)), "x": list(range(50))}),
        unit=Person("who"),
        columns={"who": integer(), "x": integer(0, 99)},
        contribution=Contribution(groups=1, rows=1),
    )
    engine = Slow({"t": table})
    with Session({"t": table}, budget=privet.Pure(epsilon=5), engine=engine, time_step=1) as made:
        yield made


def timed(function: Any) -> tuple[float, type[BaseException] | None]:
    start, raised = time.monotonic(), None
    try:
        function()
    except Exception as error:
        raised = type(error)
    return time.monotonic() - start, raised


SUM = "SELECT SUM(x) FROM t"


def test_a_session_holds_answers_and_failures_to_the_grid_and_nothing_else(session: Session) -> None:
    engine = session._executor.engine
    ways = (
        lambda: session.ask("SELECT COUNT(*) FROM t", epsilon=0.1),
        lambda: session.run(session.plan("SELECT AVG(x) FROM t", epsilon=0.1)),
        lambda: session.ask_all([SUM, "SELECT COUNT(*) FROM t"], epsilon=0.1),
        lambda: session.clipping(SUM, epsilon=0.1),
        lambda: session.ask("SELECT AVG(x) FROM t", within="90%", at_most=0.5),
    )
    for ask in ways:
        took, raised = timed(ask)
        assert raised is None
        assert took >= 1
    engine.fails = True  # type: ignore[attr-defined]
    took, raised = timed(lambda: session.ask("SELECT SUM(x * 2) FROM t", epsilon=0.1))
    assert raised is EngineError
    assert took >= 1
    waits: list[float] = []
    session._executor.pace._sleep = waits.append
    for ask in ways[:3]:
        assert timed(ask)[1] is None  # stored: the engine would fail
    assert issubclass(timed(lambda: session.ask("SELECT nothing"))[1] or int, RequestError)
    assert waits == []


def test_who_waits_for_anothers_reading_is_held_to_the_grid_too(session: Session) -> None:
    engine = session._executor.engine
    session.ask("SELECT COUNT(*) FROM t", epsilon=0.1)
    engine.took = 0.6  # type: ignore[attr-defined]
    reading = threading.Thread(target=lambda: session.ask(SUM, epsilon=0.1))
    reading.start()
    time.sleep(0.2)
    stored, raised = timed(lambda: session.ask("SELECT COUNT(*) FROM t", epsilon=0.1))
    assert raised is None
    refused, raised = timed(lambda: session.ask("SELECT COUNT(*) FROM t WHERE x > 3", epsilon=500))
    reading.join()
    assert issubclass(raised or int, BudgetError)
    assert refused >= 1
    assert stored < refused


@pytest.mark.parametrize("bad", [0, -1, 3601, float("nan"), float("inf"), "1", True, [1]])
def test_a_step_that_is_no_time_is_refused_with_what_to_say(bad: object) -> None:
    with pytest.raises(RequestError, match=r"time_step.*number of seconds above 0 and up to 3,600"):
        read_step(bad)
    table = Table(
        pa.table({"who": [1]}),
        unit=Person("who"),
        columns={"who": integer()},
        contribution=Contribution(groups=1, rows=1),
    )
    with pytest.raises(RequestError, match="time_step"):
        Session({"t": table}, budget=privet.Pure(epsilon=1), time_step=bad)
