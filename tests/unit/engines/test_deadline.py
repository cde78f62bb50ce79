"""A time limit stops what runs too long, and nothing else."""

from __future__ import annotations

import threading
import time
import weakref

from privet.engines.duckdb.engine import Deadline


def test_what_runs_too_long_is_stopped_once() -> None:
    stopped: list[float] = []
    done = threading.Event()
    deadline = Deadline(0.02, lambda: (stopped.append(time.monotonic()), done.set()))
    start = time.monotonic()
    with deadline.running():
        assert done.wait(10)
        time.sleep(0.1)
    assert len(stopped) == 1
    assert stopped[0] - start >= 0.02


def test_what_ends_in_time_is_not_stopped_and_neither_is_what_follows() -> None:
    stopped: list[int] = []
    deadline = Deadline(0.5, lambda: stopped.append(1))
    start, finished = time.monotonic(), True
    while time.monotonic() - start < 1.2:  # longer than the limit, in short pieces
        began = time.monotonic()
        with deadline.running():
            time.sleep(0.01)
        finished = finished and time.monotonic() - began < 0.5  # or a busy machine let a piece take too long
    time.sleep(0.6)  # and longer than the limit after the last
    assert not stopped or not finished


def test_many_short_runs_share_one_watching_thread() -> None:
    before = threading.active_count()
    deadline = Deadline(0.3, lambda: None)
    for _ in range(50):
        with deadline.running():
            pass
    assert threading.active_count() <= before + 1
    end = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before  # with nothing left to watch it is gone


def test_a_limit_is_kept_after_an_earlier_one_was_reached() -> None:
    stopped = threading.Event()
    deadline = Deadline(0.01, stopped.set)
    for _ in range(3):
        stopped.clear()
        with deadline.running():
            assert stopped.wait(10)


def test_what_is_watched_may_be_let_go_of() -> None:
    deadline = Deadline(60, lambda: None)
    with deadline.running():
        pass
    kept = weakref.ref(deadline)
    end = time.monotonic() + 10
    del deadline
    while kept() is not None and time.monotonic() < end:
        time.sleep(0.01)  # until the thread has gone to sleep
    assert kept() is None
