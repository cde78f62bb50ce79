"""Durable streams: charged once, one step after another, and refused wherever a step could be drawn twice."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privet import noise
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetError, LedgerError, RequestError, Unsupported
from privet.ledger.entries import Stepped
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.stream import Arrival, StepClock, open_stream, resume_stream
from privet.stream.arrivals import Bounding, Layout
from privet.stream.durable import RunningStream
from privet.stream.files import NEXT, PEOPLE, RELEASED, STATE, StreamFiles
from privet.stream.noise_ahead import NoiseAhead

BUDGET = Approximate(epsilon=10**6, delta=Fraction(1, 1000))
SURE: dict[str, Any] = {"epsilon": 10**5}
"""So much that the noise is 0 but once in e^1000 draws."""

START = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)


@pytest.fixture
def ledger() -> Iterator[MemoryLedger]:
    made = MemoryLedger(BUDGET)
    yield made
    made.verify()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "stream"


# What a stream does


def test_a_stream_is_charged_once_and_counts(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=10, **SURE) as stream:
        assert [stream.step(value).value for value in (3, 0, 4)] == [3, 3, 7]  # type: ignore[union-attr]
        assert stream.extend([1, 1, 1]).value == 10  # type: ignore[union-attr]
        assert [stream.estimate(at).value for at in (1, 3, 6)] == [3, 7, 10]  # type: ignore[union-attr]
        assert stream.values().ravel().tolist() == [3, 3, 7, 8, 9, 10]
        assert stream.values(2, 3).ravel().tolist() == [3, 7]
        assert stream.steps == 6
        stream.verify()
    (charge,) = ledger.history()
    assert charge.event.pure() == 10**5
    assert charge.text == "a running count over 10 steps, by tree"


@pytest.mark.parametrize("method", ["tree", "square-root", "buffered"])
def test_a_stream_goes_on_where_it_was(ledger: MemoryLedger, folder: Path, method: Any) -> None:
    with open_stream(folder, ledger, horizon=30, rho=10**4, method=method, groups=["a", "b"], high=5) as stream:
        for step in range(7):
            before = stream.step({"a": step, "b": 1})
    for step in range(7, 20):
        with resume_stream(folder, ledger) as again:
            assert again.estimate() == before
            before = again.step({"a": step})
            again.verify()
    assert before["a"].value == pytest.approx(sum(range(20)), abs=0.5)  # type: ignore[index]
    assert before["b"].value == pytest.approx(7, abs=0.5)  # type: ignore[index]
    assert len(ledger.history()) == 1


def test_intervals_come_with_each_estimate(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=16, rho=0.5) as stream:
        narrow, wide = stream.step(100, confidence=0.5), stream.estimate(confidence=0.999)
        assert narrow.value == wide.value  # type: ignore[union-attr]
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high  # type: ignore[union-attr]
        assert narrow.standard_error == pytest.approx(stream.sums.deviation(1))  # type: ignore[union-attr]
        assert wide.covers == "noise"  # type: ignore[union-attr]


def test_a_cost_as_epsilon_and_delta_is_the_largest_rho_that_it_allows(ledger: MemoryLedger, folder: Path) -> None:
    from privet.accounting import rho_epsilon

    with open_stream(folder, ledger, horizon=16, epsilon=1, delta=1e-6) as stream:
        spend = stream.sums.spend
        assert isinstance(spend, Zcdp)
        assert rho_epsilon(spend.rho, 1e-6) <= 1 < rho_epsilon(spend.rho * Fraction(1001, 1000), 1e-6)
        assert stream.sums.method == "square-root"


def test_the_method_follows_from_the_cost_and_the_horizon(ledger: MemoryLedger, tmp_path: Path) -> None:
    cases = [
        ({"epsilon": 1, "horizon": 10**6}, "tree"),
        ({"rho": 1, "horizon": 1000}, "square-root"),
        ({"rho": 1, "horizon": 1000, "groups": [str(index) for index in range(100)]}, "buffered"),
        ({"rho": 1, "horizon": 10**5}, "buffered"),
    ]
    for index, (options, method) in enumerate(cases):
        with open_stream(tmp_path / str(index), ledger, **options) as stream:  # type: ignore[arg-type]
            assert stream.sums.method == method


def test_what_does_not_fit_the_budget_leaves_nothing_behind(folder: Path) -> None:
    ledger = MemoryLedger(Pure(epsilon=1))
    with pytest.raises(BudgetError):
        open_stream(folder, ledger, horizon=10, epsilon=2)
    with pytest.raises(Unsupported, match="pure epsilon"):
        open_stream(folder, ledger, horizon=10, rho=Fraction(1, 100))
    assert not folder.exists()
    assert ledger.history() == ()


def test_a_picture_has_a_band(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=1000, epsilon=1, groups=["a", "b"]) as stream:
        with pytest.raises(RequestError, match="no steps yet"):
            stream.plot()
        stream.extend([{"a": 1}] * 600)
        (axes,) = stream.plot().axes
        assert len(axes.lines) == 2
        assert len(axes.collections) == 2
        assert len(axes.lines[0].get_xdata()) == 400


# People are bounded by their own first rows


def test_each_person_has_its_first_rows_and_no_more(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=20, rows_per_person=2, high=10, **SURE) as stream:
        assert stream.sums.moves == 20
        found = [
            stream.step(rows=[Arrival(4, person="p"), Arrival(1, person="q")]).value,  # type: ignore[union-attr]
            stream.step(rows=[Arrival(10, person="p"), Arrival(10, person="p")]).value,  # type: ignore[union-attr]
        ]
    with resume_stream(folder, ledger) as again:  # who was seen is remembered
        found.append(again.step(rows=[Arrival(10, person="p"), Arrival(2, person="q")]).value)  # type: ignore[union-attr]
        found.append(again.step(rows=[Arrival(7, person="p"), Arrival(7, person="q"), Arrival(1, person=3)]).value)  # type: ignore[union-attr]
    assert found == pytest.approx([5, 15, 17, 18], abs=1e-6)


def test_what_others_do_never_changes_which_rows_of_a_person_are_kept() -> None:
    layout = Layout(low=Fraction(0), high=Fraction(100), rows=2)
    random = np.random.default_rng(5)
    for _ in range(50):
        steps = [[(int(random.integers(4)), int(random.integers(100))) for _ in range(4)] for _ in range(5)]
        for gone in range(4):
            kept = Bounding(layout, bytes(32), lambda person: 0)
            without = Bounding(layout, bytes(32), lambda person: 0)
            moved = 0
            for step in steps:
                rows = [Arrival(value, person=f"p{who}") for who, value in step]
                less = [Arrival(value, person=f"p{who}") for who, value in step if who != gone]
                moved += abs(kept.totals(rows)[0] - without.totals(less)[0])
            assert moved <= 2 * 100
            others = {name: count for name, count in kept.changed.items() if name in without.changed}
            assert others == without.changed


def test_no_row_raises_and_rows_without_a_person_or_a_group_are_dropped(ledger: MemoryLedger, folder: Path) -> None:
    class Bad:
        def __float__(self) -> float:
            raise ValueError("secret")

    rows = [
        Arrival(value, group=group, person=person)
        for value in (None, float("nan"), "x", Bad(), [1], object(), 1j)
        for group in ("a", "z", None, ["a"])
        for person in ("p", None, 1.5, b"p", True)
    ]
    with open_stream(folder, ledger, horizon=9, groups=["a"], rows_per_person=1, low=-2, high=3, **SURE) as stream:
        assert stream.step(rows=rows)["a"].value == 0  # type: ignore[index]
        assert stream.step(rows=[Arrival(float("inf"), "a", "p")])["a"].value == 3  # type: ignore[index]
        assert stream.step(rows=[Arrival(-(10**30), "a", "q")])["a"].value == 1  # type: ignore[index]
        assert stream.step(rows=[Arrival(1, "z", "r"), Arrival(1, "a", "r")])["a"].value == 2  # type: ignore[index]


def test_each_row_is_put_on_the_grid_by_itself(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=9, low=-1, high=2.5, grid=0.25, **SURE) as stream:
        found = stream.step(rows=[Arrival(0.3), Arrival(0.3), Arrival(99), Arrival(-99)])
        assert found.value == 0.25 + 0.25 + 2.5 - 1  # type: ignore[union-attr]
        with pytest.raises(RequestError, match="on a grid"):
            stream.step(1)


def test_totals_are_refused_where_people_are_protected(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=9, rows_per_person=1, **SURE) as stream:
        before = ledger.head()
        for call in (
            lambda: stream.step(1),
            lambda: stream.extend([1, 2]),
            lambda: stream.extend(np.ones(3, dtype=int)),
        ):
            with pytest.raises(RequestError, match="each row needs its person"):
                call()
        assert ledger.head() == before


def test_a_group_that_was_not_declared_is_not_quoted(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=9, groups=["a"], **SURE) as stream:
        with pytest.raises(BadParameter) as told:
            stream.step({"a": 1, "rare disease": 1})
        assert "rare" not in str(told.value.to_dict())


# The clock


def test_empty_steps_are_steps(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=24, clock=StepClock(START, HOUR), **SURE) as stream:
        stream.step_at(START + 2.5 * HOUR, 5)
        assert stream.steps == 3
        stream.step_at(START + 3 * HOUR, 2)
        assert stream.values().ravel().tolist() == [0, 0, 5, 7]
        before = ledger.head()
        for moment, told in (
            (START + 3.9 * HOUR, "step 4 is closed"),
            (START, "went back"),
            (START - HOUR, "not before"),
            (START + 24 * HOUR, "horizon of 24 steps"),
            (START.replace(tzinfo=None), "zone"),
        ):
            with pytest.raises(RequestError, match=told):
                stream.step_at(moment, 1)
        with pytest.raises(RequestError, match="step_at"):
            stream.step(1)
        with pytest.raises(RequestError, match="step_at"):
            stream.extend([1])
        assert ledger.head() == before
        stream.step_at(START + 24 * HOUR - datetime.timedelta(microseconds=1), 1)
        assert stream.steps == 24
    with resume_stream(folder, ledger) as again, pytest.raises(RequestError, match="all 24 steps"):
        again.step_at(START, 1)


# Bad input: nothing is charged and nothing drawn


def refuse_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*given: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(noise, "discrete_laplace", draw)
    monkeypatch.setattr(noise, "discrete_gaussian", draw)


@pytest.mark.parametrize(
    "call",
    [
        lambda stream: stream.step(),
        lambda stream: stream.step(1, rows=[]),
        lambda stream: stream.step(1.0),
        lambda stream: stream.step("1"),
        lambda stream: stream.step(True),
        lambda stream: stream.step({"a": 1}),
        lambda stream: stream.step(rows=[1]),
        lambda stream: stream.step(rows=Arrival(1)),
        lambda stream: stream.step(1, number=2),
        lambda stream: stream.step(1, number=4),
        lambda stream: stream.step(1, number=3, confidence=1),
        lambda stream: stream.step_at(START, 1),
        lambda stream: stream.extend([]),
        lambda stream: stream.extend([1] * 9),
        lambda stream: stream.extend([1, 2.5]),
        lambda stream: stream.extend(np.ones(9, dtype=int)),
        lambda stream: stream.extend(rows=[[Arrival(1)]] * 9),
        lambda stream: stream.extend("12"),
        lambda stream: stream.extend(),
        lambda stream: stream.estimate(0),
        lambda stream: stream.estimate(3),
        lambda stream: stream.estimate(True),
    ],
)
def test_what_cannot_be_a_step_is_refused_before_it_is_opened(
    call: Callable[[RunningStream], Any], ledger: MemoryLedger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_stream(folder, ledger, horizon=10, epsilon=1) as stream:
        stream.extend([1, 2])
        before, files = ledger.head(), {one.name: one.read_bytes() for one in folder.iterdir()}
        refuse_draws(monkeypatch)
        with pytest.raises(RequestError):
            call(stream)
        assert ledger.head() == before
        assert {one.name: one.read_bytes() for one in folder.iterdir()} == files
        assert stream.steps == 2


@pytest.mark.parametrize(
    "options",
    [
        {"horizon": 0, "epsilon": 1},
        {"horizon": 8},
        {"horizon": 8, "epsilon": 1, "rho": 1},
        {"horizon": 8, "rho": 1, "delta": 1e-6},
        {"horizon": 8, "epsilon": 1, "delta": 0},
        {"horizon": 8, "epsilon": 1, "method": "square-root"},
        {"horizon": 8, "epsilon": 1, "method": "best"},
        {"horizon": 8, "epsilon": 1, "groups": []},
        {"horizon": 8, "epsilon": 1, "groups": ["a", "a"]},
        {"horizon": 8, "epsilon": 1, "low": 1, "high": 1},
        {"horizon": 8, "epsilon": 1, "grid": 0},
        {"horizon": 8, "epsilon": 1, "grid": 3},
        {"horizon": 8, "epsilon": 1, "rows_per_person": 0},
        {"horizon": 8, "epsilon": 1, "clock": START},
        {"horizon": 8, "epsilon": 1, "account": ""},
    ],
)
def test_what_cannot_be_a_stream_is_refused_before_it_is_charged(
    options: dict[str, Any], ledger: MemoryLedger, folder: Path
) -> None:
    with pytest.raises(RequestError):
        open_stream(folder, ledger, **options)
    assert not folder.exists()
    assert ledger.history() == ()


def test_a_ledger_that_counts_no_steps_is_refused(folder: Path) -> None:
    for wrong in (None, "ledger", object()):
        with pytest.raises(BadParameter, match="counts steps"):
            open_stream(folder, wrong, horizon=8, epsilon=1)  # type: ignore[arg-type]
    assert not folder.exists()


# The state


def test_the_files_are_their_owners_alone(ledger: MemoryLedger, folder: Path) -> None:
    before = os.umask(0)
    try:
        with open_stream(folder, ledger, horizon=8, epsilon=1) as stream:
            stream.step(1)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}
    for path, mode in ((folder, 0o755), (folder / STATE, 0o644), (folder / RELEASED, 0o620)):
        right = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        with pytest.raises(LedgerError, match="chmod"):
            resume_stream(folder, ledger)
        path.chmod(right)
    resume_stream(folder, ledger).close()


@pytest.mark.parametrize("method", ["tree", "square-root"])
def test_the_state_holds_no_sum_without_its_noise(
    ledger: MemoryLedger, folder: Path, method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise that is known, every number of the state is a sum plus noise that was drawn before."""
    drawn: list[int] = []

    def draw(parameter: object, shape: tuple[int, int]) -> Any:
        numbers = np.arange(10**6 + len(drawn), 10**6 + len(drawn) + shape[0] * shape[1], dtype=np.int64)
        drawn.extend(numbers.tolist())
        return numbers.reshape(shape) * 1000

    monkeypatch.setattr(noise, "discrete_gaussian", draw)
    with open_stream(folder, ledger, horizon=8, rho=1, method=method) as stream:
        stream.extend([5, 6, 7])
    state = json.loads((folder / STATE).read_bytes())["state"]
    if method == "tree":
        numbers = [row[0] for row in state["nodes"]]
        assert all(number > 10**8 for number in numbers)
    else:
        import base64

        pending = np.frombuffer(base64.b64decode(state["pending"]), dtype="<i8")
        assert len(pending) == 5
        assert (pending > 10**8).all()
    assert set(state) <= {"step", "nodes", "full", "pending", "explained", "totals"}


def test_a_hash_in_the_ledger_says_nothing_of_the_state(ledger: MemoryLedger, tmp_path: Path) -> None:
    """Two states that are equal but for their salt have different hashes, so none can be guessed."""
    with open_stream(tmp_path / "a", ledger, horizon=8, **SURE) as stream:
        stream.step(0)
        first = json.loads((tmp_path / "a" / STATE).read_bytes())
        stream.step(0)
        second = json.loads((tmp_path / "a" / STATE).read_bytes())
    assert len(first["salt"]) == 64
    assert first["salt"] != second["salt"]


# Rollback, copies, forks, strangers


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def test_an_old_state_is_refused_and_never_repaired(ledger: MemoryLedger, folder: Path, tmp_path: Path) -> None:
    with open_stream(folder, ledger, horizon=8, epsilon=1) as stream:
        stream.step(1)
        old = copied(folder, tmp_path / "old")
        stream.step(1)
    before = ledger.head()
    for _ in range(2):
        with pytest.raises(LedgerError, match="an old copy was put back"):
            resume_stream(old, ledger)
    shutil.rmtree(folder)
    shutil.copytree(old, folder)
    with pytest.raises(LedgerError, match="an old copy was put back"):
        resume_stream(folder, ledger)
    assert ledger.head() == before


def test_of_two_copies_one_goes_on(ledger: MemoryLedger, folder: Path, tmp_path: Path) -> None:
    with open_stream(folder, ledger, horizon=8, epsilon=1) as stream:
        stream.step(1)
        other = resume_stream(copied(folder, tmp_path / "copy"), ledger)
        other.step(2)
        with pytest.raises(LedgerError, match="an old copy was put back, or another copy went on"):
            stream.step(3)
        with pytest.raises(LedgerError, match="an old copy"):
            stream.step(3)
        other.step(2)
        other.verify()
        with pytest.raises(LedgerError, match="not the latest"):
            stream.verify()


def test_two_copies_that_race_show_one_outcome(ledger: MemoryLedger, folder: Path, tmp_path: Path) -> None:
    """The other copy opens the step after this one has, and closes it first: this one shows nothing."""
    with open_stream(folder, ledger, horizon=8, epsilon=1) as stream:
        stream.step(1)
        other = resume_stream(copied(folder, tmp_path / "copy"), ledger)
        real = stream._files.write_next

        def overtaken(state: bytes) -> None:
            real(state)
            other.step(2)

        stream._files.write_next = overtaken  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="by another process meanwhile"):
            stream.step(3)
        other.verify()
    with pytest.raises(LedgerError, match="an old copy"):
        resume_stream(folder, ledger)


def test_the_state_of_another_stream_is_refused(ledger: MemoryLedger, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        with open_stream(path, ledger, horizon=8, epsilon=1) as stream:
            stream.step(1)
    shutil.copy(paths[0] / STATE, paths[1] / STATE)
    with pytest.raises(LedgerError, match="another stream's"):
        resume_stream(paths[1], ledger)
    with pytest.raises(LedgerError, match="receipt is not from this ledger"):
        resume_stream(paths[0], MemoryLedger(BUDGET))


def test_a_state_that_is_cut_short_is_refused(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=8, epsilon=1) as stream:
        stream.extend([1, 2, 3])
        stream.extend([1, 2])
    whole, before = (folder / STATE).read_bytes(), ledger.head()
    for size in (0, 1, len(whole) // 2, len(whole) - 1):
        (folder / STATE).write_bytes(whole[:size])
        with pytest.raises(LedgerError, match="cut short"):
            resume_stream(folder, ledger)
    (folder / STATE).write_bytes(whole.replace(b'"step":5', b'"step":4'))
    with pytest.raises(LedgerError):
        resume_stream(folder, ledger)
    (folder / STATE).write_bytes(whole)
    released = (folder / RELEASED).read_bytes()
    (folder / RELEASED).write_bytes(released[:16])
    with pytest.raises(LedgerError, match="cut short"):
        resume_stream(folder, ledger)
    (folder / RELEASED).write_bytes(bytes([released[0] ^ 1]) + released[1:])
    with resume_stream(folder, ledger) as again, pytest.raises(LedgerError, match="was changed"):
        again.verify()
    (folder / RELEASED).write_bytes(released)
    with resume_stream(folder, ledger) as again:
        again.verify()
    assert ledger.head() == before


def test_a_stream_is_not_opened_over_another(ledger: MemoryLedger, folder: Path) -> None:
    with open_stream(folder, ledger, horizon=8, epsilon=1):
        before = ledger.head()
        with pytest.raises(LedgerError, match="already"):
            open_stream(folder, ledger, horizon=8, epsilon=1)
        assert ledger.head() == before
    with pytest.raises(LedgerError, match="there is no stream"):
        resume_stream(folder.parent / "none", ledger)


def test_a_stream_that_was_closed_is_not_stepped(ledger: MemoryLedger, folder: Path) -> None:
    stream = open_stream(folder, ledger, horizon=8, epsilon=1)
    stream.close()
    stream.close()
    with pytest.raises(LedgerError, match="was closed"):
        stream.step(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_second_process_is_refused(tmp_path: Path) -> None:
    path, folder = tmp_path / "ledger", tmp_path / "stream"
    with SqliteLedger(path, BUDGET) as ledger, open_stream(folder, ledger, horizon=8, epsilon=1) as stream:
        stream.step(1)
        program = (
            "import sys; from privet.ledger.sqlite import SqliteLedger; from privet.stream import resume_stream\n"
            "resume_stream(sys.argv[2], SqliteLedger(sys.argv[1]))"
        )
        told = subprocess.run(
            [sys.executable, "-c", program, str(path), str(folder)], capture_output=True, text=True, timeout=60
        )
        assert "another process has the stream" in told.stderr
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                stream.step(5)
                os.write(writing, b"stepped")
            except LedgerError as error:
                os.write(writing, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert b"forked" in os.read(reading, 1000)
        assert stream.steps == 1


def test_a_disk_that_fails_shows_nothing_and_what_it_had_written_counts(
    ledger: MemoryLedger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = open_stream(folder, ledger, horizon=8, **SURE)
    stream.step(1)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", lambda opened: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(LedgerError, match="make room"):
            stream.step(4)
    assert stream.steps == 1
    assert not (folder / NEXT).exists()
    refuse_draws(monkeypatch)
    with pytest.raises(LedgerError, match="step 2 was interrupted, and is released now"):
        stream.step(7)
    assert stream.estimate(2).value == 5  # type: ignore[union-attr]
    stream.verify()
    monkeypatch.undo()
    assert stream.step(2).value == 7  # type: ignore[union-attr]
    stream.verify()


# No step is drawn twice


class Death(BaseException):
    """The process dies."""


def die(*_: object, **__: object) -> None:
    raise Death


def openings(ledger: MemoryLedger) -> list[str | None]:
    """Return the hashes of the noise of all openings, oldest first."""
    records = [entry.record for entry in ledger.entries()]
    return [one.about for one in records if isinstance(one, Stepped) and one.phase == "open"]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many numbers each draw had; every number that is drawn is another one."""
    sizes: list[int] = []

    def draw(parameter: object, shape: tuple[int, int]) -> Any:
        start = 1000 * (1 + sum(sizes))
        sizes.append(shape[0] * shape[1])
        return (start + 1000 * np.arange(sizes[-1], dtype=np.int64)).reshape(shape)

    monkeypatch.setattr(noise, "discrete_laplace", draw)
    monkeypatch.setattr(noise, "discrete_gaussian", draw)
    return sizes


PER_STEP: dict[str, list[int]] = {"tree": [4, 1, 2, 1, 3], "square-root": [8, 0, 0, 0, 0], "buffered": [1, 1, 1, 1, 1]}
"""How many numbers each of the first steps draws, over a horizon of 8 steps and for one sum."""


@pytest.mark.parametrize("method", ["tree", "square-root", "buffered"])
def test_a_step_that_was_open_when_the_process_died_is_not_drawn_again(
    ledger: MemoryLedger, folder: Path, method: Any, monkeypatch: pytest.MonkeyPatch, counted: list[int]
) -> None:
    with open_stream(folder, ledger, horizon=8, rho=1, method=method) as stream:
        stream.step(5)
        with monkeypatch.context() as patch:
            patch.setattr(StreamFiles, "write_next", die)
            with pytest.raises(Death):
                stream.extend([1, 2, 3])
    assert sum(counted) == sum(PER_STEP[method][:4])
    with resume_stream(folder, ledger) as again:  # fewer steps than were open, then the others, then one more
        assert again.steps == 1
        again.step(100)
        again.extend([1, 2])
        assert sum(counted) == sum(PER_STEP[method][:4])
        again.step(1)
        again.verify()
    assert sum(counted) == sum(PER_STEP[method])
    assert ledger.kept_text(again.receipt) is None


@pytest.mark.parametrize("method", ["tree", "square-root", "buffered"])
def test_the_noise_of_a_step_is_the_one_that_was_kept(
    ledger: MemoryLedger, folder: Path, method: Any, monkeypatch: pytest.MonkeyPatch, counted: list[int]
) -> None:
    """Steps whose process died release just what they would have released, and other steps as many and no more."""
    with open_stream(folder.with_name("calm"), ledger, horizon=8, rho=1, method=method) as calm:
        expected = calm.extend([3, 1, 4, 1, 5]) and calm.values().ravel().tolist()
    counted.clear()
    stream = open_stream(folder, ledger, horizon=8, rho=1, method=method)
    for value in (3, 1, 4, 1, 5):
        for name in ("write_next", "adopt_next", "write_released"):
            step = stream.steps
            with monkeypatch.context() as patch:
                patch.setattr(StreamFiles, name, die)
                with pytest.raises(Death):
                    stream.step(value, number=step + 1)
            stream.close()
            stream = resume_stream(folder, ledger)
            if name != "write_next":  # what was durable is closed, and not asked for again
                assert stream.steps == step + 1
                break
    assert stream.values().ravel().tolist() == expected
    stream.verify()
    abouts = openings(ledger)[1:]
    assert len(set(abouts)) == 5
    assert len(abouts) == 10


def test_noise_that_is_not_the_one_kept_is_refused_and_not_drawn_anew(
    ledger: MemoryLedger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_stream(folder, ledger, horizon=8, epsilon=1) as stream, monkeypatch.context() as patch:
        patch.setattr(StreamFiles, "write_next", die)
        with pytest.raises(Death):
            stream.step(1)
    entry = stream.receipt.entry
    store: Any = ledger._history.store
    text = store._texts[entry]
    refuse_draws(monkeypatch)
    for wrong, told in (
        ("", "an export leaves it out"),
        (text.replace('"step":0', '"step":1'), "old copy was put back"),
    ):
        store._texts[entry] = wrong
        with resume_stream(folder, ledger) as again, pytest.raises(LedgerError, match=told):
            again.step(1)
    store._texts[entry] = text
    with resume_stream(folder, ledger) as again:
        again.step(1)


def test_two_copies_use_one_noise_and_keep_one_result(
    ledger: MemoryLedger, folder: Path, tmp_path: Path, counted: list[int]
) -> None:
    """The copy that is overtaken keeps nothing of what it computed from the noise that the other one used."""
    with open_stream(folder, ledger, horizon=8, rho=1) as stream:
        stream.step(1)
        other = resume_stream(copied(folder, tmp_path / "copy"), ledger)
        real, drawn = stream._files.write_next, sum(counted)

        def overtaken(state: bytes) -> None:
            real(state)
            other.step(2)

        stream._files.write_next = overtaken  # type: ignore[method-assign]
        with pytest.raises(LedgerError, match="by another process meanwhile"):
            stream.step(3)
        assert not (folder / NEXT).exists()
        assert sum(counted) == drawn
        other.close()


def test_the_ledger_forgets_noise_once_a_step_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of the ledger or of the stream holds it then, free pages and the log of SQLite included."""
    folder, place, texts = tmp_path / "stream", tmp_path / "ledger", list[str]()
    real = NoiseAhead.text

    def text(ahead: NoiseAhead) -> str:
        texts.append(real(ahead))
        return texts[-1]

    monkeypatch.setattr(NoiseAhead, "text", text)

    def held() -> bool:
        files = [one for one in tmp_path.rglob("*") if one.is_file()]
        return any(json.loads(texts[-1])["salt"].encode() in one.read_bytes() for one in files)

    with SqliteLedger(place, BUDGET) as ledger, open_stream(folder, ledger, horizon=2000, epsilon=1) as stream:
        for size in (1, 900, 1):
            with monkeypatch.context() as patch:
                patch.setattr(StreamFiles, "write_next", die)
                with pytest.raises(Death):
                    stream.extend([1] * size)
            assert held()
            stream.extend([1] * size)
            assert not held()
        assert not any("salt" in line for line in ledger.export())


# The table of people


def test_the_table_of_people_takes_back_what_was_not_closed(
    ledger: MemoryLedger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [Arrival(1, person="p"), Arrival(1, person="q")]
    with open_stream(folder, ledger, horizon=9, rows_per_person=2, **SURE) as stream:
        stream.step(rows=rows[:1])
        for _ in range(3):
            with monkeypatch.context() as patch:
                patch.setattr(StreamFiles, "write_next", die)
                with pytest.raises(Death):
                    stream.step(rows=rows)
        assert stream.step(rows=rows).value == pytest.approx(3)  # type: ignore[union-attr]
        with monkeypatch.context() as patch:
            patch.setattr(StreamFiles, "write_next", die)
            with pytest.raises(Death):
                stream.step(rows=rows)
    with resume_stream(folder, ledger) as again:
        again.verify()
        assert again.step(rows=rows).value == pytest.approx(4)  # type: ignore[union-attr]
        assert again.step(rows=rows).value == pytest.approx(4)  # type: ignore[union-attr]
        again.verify()


def test_a_table_of_people_that_was_put_back_is_refused(ledger: MemoryLedger, folder: Path) -> None:
    row = [Arrival(1, person="p")]
    with open_stream(folder, ledger, horizon=9, rows_per_person=1, **SURE) as stream:
        old = (folder / PEOPLE).read_bytes()
        stream.step(rows=row)
        stream.step(rows=[Arrival(1, person="q")])
    before, latest = ledger.head(), (folder / PEOPLE).read_bytes()
    (folder / PEOPLE).write_bytes(old)
    with pytest.raises(LedgerError, match="table of people is not the one"):
        resume_stream(folder, ledger)
    (folder / PEOPLE).write_bytes(latest[:4096])
    with pytest.raises(LedgerError, match="table of people cannot be read"):
        resume_stream(folder, ledger)
    (folder / PEOPLE).unlink()
    with pytest.raises(LedgerError, match="table of people cannot be read"):
        resume_stream(folder, ledger)
    assert ledger.head() == before
    (folder / PEOPLE).write_bytes(latest)
    (folder / PEOPLE).chmod(0o600)
    table = sqlite3.connect(folder / PEOPLE)
    table.execute("UPDATE people SET rows = 0")
    table.commit()
    table.close()
    with resume_stream(folder, ledger) as again, pytest.raises(LedgerError, match="table of people was changed"):
        again.verify()
    (folder / PEOPLE).write_bytes(latest)
    with resume_stream(folder, ledger) as again:
        again.verify()


def test_a_step_writes_only_the_people_that_it_has(ledger: MemoryLedger, folder: Path) -> None:
    """However many people were counted, the state is as small, and a step changes few pages of their table."""
    with open_stream(folder, ledger, horizon=9, rows_per_person=1, **SURE) as stream:
        stream.step(rows=[Arrival(1, person="first")])
        small = (folder / STATE).stat().st_size
        stream.step(rows=[Arrival(1, person=who) for who in range(5000)])
        before = (folder / PEOPLE).read_bytes()
        stream.step(rows=[Arrival(1, person="last")])
        after = (folder / PEOPLE).read_bytes()
        assert abs((folder / STATE).stat().st_size - small) < 100
        pages = [before[at : at + 4096] != after[at : at + 4096] for at in range(0, len(after), 4096)]
        assert len(pages) > 50
        stream.step(rows=[Arrival(1, person="very last")])
        final = (folder / PEOPLE).read_bytes()
        changed = sum(after[at : at + 4096] != final[at : at + 4096] for at in range(0, len(final), 4096))
        assert changed <= 12  # where a page of the index splits, its neighbours and their parents change too
        assert stream.values()[-1, 0] == pytest.approx(5003)
        stream.verify()
