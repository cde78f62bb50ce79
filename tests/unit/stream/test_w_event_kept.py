"""A stream of histograms that a ledger keeps: an account of its own kind, steps that are drawn once, and restarts."""

from __future__ import annotations

import datetime
import shutil
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Approximate, Pure, WEvent
from privet.core.errors import BadParameter, BadValue, LedgerError, RequestError, Unsupported
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite import SqliteLedger
from privet.session import Session
from privet.stream import StepClock, WEventPlan, open_w_event
from privet.stream.w_event import WEventState, advance, numbers_drawn
from privet.stream.w_event_kept import _closed_states

START = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
HOUR = datetime.timedelta(hours=1)
SETTINGS: dict[str, Any] = {"epsilon": 1, "window": 3, "cells": ["a", "b"]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SqliteLedger(tmp_path / "ledger.sqlite", Pure(epsilon=2)):
        return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize("algorithm", ["uniform", "sample", "distribution", "absorption"])
def test_a_stream_goes_on_where_it_was_left(path: Path, algorithm: Any) -> None:
    spent, last = list[Fraction](), None
    for counts in ([5000, 1], [5000, 1], [90, 9000], [90, 9000], [7, 7], [7, 7], [7000, 7]):
        with SqliteLedger(path) as ledger:
            stream = open_w_event(ledger, "hourly", algorithm=algorithm, **SETTINGS)
            assert last is None or stream.state == last
            spent.append(stream.step(counts).epsilon)
            last = stream.state
    assert last is not None
    assert last.step == 7
    assert all(sum(spent[start : start + 3]) <= 1 for start in range(7))
    with SqliteLedger(path) as ledger:
        again = open_w_event(ledger, "hourly")
        assert again.state == last
        assert again.plan.algorithm == algorithm
        ledger.verify()


def test_several_steps_are_opened_and_closed_one_by_one(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        stream = open_w_event(ledger, "hourly", **SETTINGS)
        before = len(ledger.entries())
        releases = stream.extend([[1, 2], [3, 4], [5, 6]])
        assert [one.step for one in releases] == [1, 2, 3]
        assert len(ledger.entries()) == before + 6
        assert stream.extend([]) == ()
        assert open_w_event(ledger, "hourly").state == stream.state


def test_what_died_between_opening_and_closing_was_never_shown(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Death(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Death

    with SqliteLedger(path) as ledger:
        stream = open_w_event(ledger, "hourly", **SETTINGS)
        stream.step([1, 1])
        for name in ("close_steps", "draw_steps"):
            with monkeypatch.context() as patch:
                patch.setattr(ledger, name, die)
                with pytest.raises(Death):
                    stream.step([1, 1])
            assert stream.state.step == 1
            assert open_w_event(ledger, "hourly").state == stream.state
        assert stream.step([1, 1]).step == 2
        ledger.verify()


@pytest.mark.parametrize("algorithm", ["uniform", "sample", "distribution", "absorption"])
def test_a_step_that_was_open_when_the_process_died_is_not_drawn_again(
    path: Path, algorithm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    drawn = list[list[int]]()

    def draw(plan: WEventPlan, state: WEventState) -> list[int]:
        drawn.append([10**6 * len(drawn) + place for place in range(numbers_drawn(plan, state))])
        return drawn[-1]

    monkeypatch.setattr("privet.stream.w_event_kept.draw_noise", draw)
    for step in range(4):
        for _ in range(3):
            with SqliteLedger(path) as ledger, monkeypatch.context() as patch:
                patch.setattr(ledger, "close_steps", die)
                with pytest.raises(KeyboardInterrupt):
                    open_w_event(ledger, "hourly", algorithm=algorithm, **SETTINGS).step([step, 7])
        with SqliteLedger(path) as ledger:
            stream = open_w_event(ledger, "hourly")
            receipt = ledger.promises()["hourly"][1]
            release = stream.step([step + 50, 9])  # of what was passed before nothing is left
            if release.fresh:
                assert release.values == (step + 50 + drawn[-1][-2], 9 + drawn[-1][-1])
            assert ledger.kept_text(receipt) is None
            stream.verify()
            assert not any("salt" in line for line in ledger.export())
    # at two of the four steps a sample has nothing to draw; all others were opened 4 times and drawn once
    assert len(drawn) == (2 if algorithm == "sample" else 4)


def test_noise_that_an_export_left_out_is_not_drawn_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLedger(path) as ledger, monkeypatch.context() as patch:
        open_w_event(ledger, "hourly", **SETTINGS)
        patch.setattr("privet.stream.w_event_kept.advance", _raise)
        with pytest.raises(KeyboardInterrupt):
            open_w_event(ledger, "hourly").step([1, 1])
        lines = list(ledger.export())
    monkeypatch.setattr("privet.stream.w_event_kept.draw_noise", lambda *_: pytest.fail("drawn anew"))
    with SqliteLedger.restore(path.with_name("again"), lines) as ledger:
        stream = open_w_event(ledger, "hourly")
        with pytest.raises(LedgerError, match="an export leaves it out"):
            stream.step([1, 1])


def _raise(*_: object) -> None:
    raise KeyboardInterrupt


# The clock, and what was released


def test_steps_follow_the_clock_and_empty_ones_are_steps(path: Path) -> None:
    clock = StepClock(START, HOUR)
    with SqliteLedger(path) as ledger:
        stream = open_w_event(ledger, "hourly", clock=clock, **{**SETTINGS, "epsilon": 10**6})
        assert stream.step_at(START + 2.5 * HOUR, [5, 6]).step == 3
        assert stream.step_at(START + 3 * HOUR, rows=[("ana", "b")]).values == (0, 1)
        head = ledger.head()
        for moment, told in (
            (START + 3.9 * HOUR, "step 4 is closed"),
            (START, "a clock went back"),
            (START - HOUR, "not before"),
            (START.replace(tzinfo=None), "zone"),
            (START + 200_000 * HOUR, "at most 100,000"),
        ):
            with pytest.raises(RequestError, match=told):
                stream.step_at(moment, [1, 1])
        for call in (
            lambda: stream.step([1, 1]),
            lambda: stream.extend([[1, 1]]),
            lambda: stream.step_rows([("ana", "a")]),
        ):
            with pytest.raises(RequestError, match="step_at"):
                call()
        for given in ({}, {"counts": [1, 1], "rows": []}, {"counts": [1]}):
            with pytest.raises(RequestError):
                stream.step_at(START + 5 * HOUR, **given)  # type: ignore[arg-type]
        assert ledger.head() == head
    with SqliteLedger(path) as ledger:
        again = open_w_event(ledger, "hourly")
        assert again.clock == clock
        assert [again.release(step).values for step in (1, 2, 3, 4)] == [(0, 0), (0, 0), (5, 6), (0, 1)]
        with pytest.raises(BadParameter, match="another stream"):
            open_w_event(ledger, "hourly", **{**SETTINGS, "epsilon": 10**6})
        counted = open_w_event(ledger, "counted", **SETTINGS)
        with pytest.raises(RequestError, match="no clock"):
            counted.step_at(START, [1, 1])
        with pytest.raises(BadParameter, match="StepClock"):
            open_w_event(ledger, "third", clock=START, **SETTINGS)


@pytest.mark.parametrize("algorithm", ["uniform", "sample", "distribution", "absorption"])
def test_what_was_released_is_told_again(path: Path, algorithm: Any) -> None:
    with SqliteLedger(path) as ledger:
        stream = open_w_event(ledger, "hourly", algorithm=algorithm, **SETTINGS)
        with pytest.raises(RequestError, match="no steps yet"):
            stream.release()
        shown = [stream.step([step * 40, 3]) for step in range(9)]
        assert [stream.release(step) for step in range(1, 10)] == shown
        assert open_w_event(ledger, "hourly").release() == shown[-1]
        for wrong in (0, 10, True, "1", 1.0):
            with pytest.raises(BadParameter):
                stream.release(wrong)  # type: ignore[arg-type]


def test_a_window_that_spent_too_much_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLedger(path) as ledger:
        stream = open_w_event(ledger, "hourly", **SETTINGS)
        stream.extend([[1, 2]] * 5)
        stream.verify()
        other = open_w_event(ledger, "hourly")
        other.step([1, 2])
        with pytest.raises(LedgerError, match="another process"):
            stream.verify()
        with monkeypatch.context() as patch:
            patch.setattr("privet.stream.w_event_kept.released_again", lambda *_: SimpleNamespace(epsilon=Fraction(1)))
            with pytest.raises(LedgerError, match="more than the stream promised"):
                other.verify()
        found = _closed_states(ledger, other.plan, ledger.promises()["hourly"][1], 1, 6)
        assert sorted(found) == [1, 2, 3, 4, 5, 6]
        with monkeypatch.context() as patch:
            patch.setattr(
                "privet.stream.w_event_kept._closed_states",
                lambda *given: {step: state for step, state in found.items() if step != 2},
            )
            with pytest.raises(LedgerError, match="no entry with step 2"):
                other.verify()
        with monkeypatch.context() as patch:
            patch.setattr("privet.stream.w_event_kept._closed_states", lambda *given: {6: found[5]})
            with pytest.raises(LedgerError, match="not what its last step was closed with"):
                open_w_event(ledger, "hourly")


def test_of_two_processes_one_is_refused_and_draws_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLedger(path) as one, SqliteLedger(path) as two:
        first, second = open_w_event(one, "hourly", **SETTINGS), open_w_event(two, "hourly")
        first.step([1, 2])
        monkeypatch.setattr("privet.stream.w_event_kept.draw_noise", lambda *_: pytest.fail("drew for a refused step"))
        with pytest.raises(LedgerError, match="step"):
            second.step([1, 2])


def test_a_process_that_was_overtaken_shows_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SqliteLedger(path) as one, SqliteLedger(path) as two:
        slow, quick = open_w_event(one, "hourly", **SETTINGS), open_w_event(two, "hourly")

        def overtaken(*arguments: Any) -> Any:
            monkeypatch.undo()
            quick.step([1, 2])
            return advance(*arguments)

        monkeypatch.setattr("privet.stream.w_event_kept.advance", overtaken)
        with pytest.raises(LedgerError, match="another process"):
            slow.step([1, 2])
        assert slow.state.step == 0


def test_a_ledger_that_was_put_back_is_known_by_its_head(path: Path) -> None:
    with SqliteLedger(path) as ledger:
        stream = open_w_event(ledger, "hourly", **SETTINGS)
        stream.step([1, 2])
    shutil.copytree(path, path.with_suffix(".old"))
    with SqliteLedger(path) as ledger:
        open_w_event(ledger, "hourly").step([1, 2])
        head = ledger.head()
    with pytest.raises(LedgerError), SqliteLedger(path.with_suffix(".old"), head=head):
        pass


def test_the_account_of_a_stream_is_no_budget() -> None:
    ledger = MemoryLedger(Pure(epsilon=2))
    left = ledger.remaining()
    open_w_event(ledger, "hourly", **SETTINGS).step([1, 2])
    assert ledger.remaining() == left
    assert ledger.history() == ()
    assert ledger.balances()[0].spent == 0
    for spend in (
        lambda: ledger.charge(PureEvent(Fraction(1, 2)), "digest", account="hourly"),
        lambda: ledger.remaining("hourly"),
        lambda: ledger.budget_of("hourly"),
    ):
        with pytest.raises(Unsupported, match="one stream"):
            spend()
    assert not ledger.admits(PureEvent(Fraction(1, 2)), account="hourly")
    with pytest.raises(RequestError):
        ledger.top_up(Pure(epsilon=1), account="hourly", reason="more")
    with pytest.raises(BadParameter):
        ledger.open_account("hourly", Pure(epsilon=1))
    with pytest.raises(BadParameter):
        ledger.open_account("Hourly", Pure(epsilon=1))
    ledger.charge(PureEvent(Fraction(1, 2)), "digest", account="ana")
    ledger.verify()


def test_an_account_of_people_is_no_promise() -> None:
    ledger = MemoryLedger(Approximate(epsilon=2, delta=1e-6))
    ledger.open_account("ana", Pure(epsilon=1))
    with pytest.raises(BadParameter, match="no account yet"):
        open_w_event(ledger, "ana", **SETTINGS)
    budget: Any = WEvent(epsilon=1, window=3)
    with pytest.raises(RequestError):
        ledger.open_account("ben", budget)
    with pytest.raises(RequestError):
        ledger.limit(budget, reason="no")


def test_a_session_cannot_spend_from_the_account_of_a_stream(tmp_path: Path) -> None:
    import pandas

    import privet

    ledger = MemoryLedger(Pure(epsilon=2))
    open_w_event(ledger, "hourly", **SETTINGS)
    table = privet.Table(pandas.DataFrame({"x": [1]}), unit=privet.Rows(), columns={"x": privet.integer(0, 9)})
    with pytest.raises(RequestError, match="one stream"):
        Session({"t": table}, ledger=ledger, account="hourly")


@pytest.mark.parametrize(
    "other", [{"epsilon": 2}, {"window": 4}, {"cells": ["a", "c"]}, {"contribution": 2}, {"neighbors": "change-one"}]
)
def test_an_account_is_for_one_stream(other: dict[str, Any]) -> None:
    ledger = MemoryLedger(Pure(epsilon=2))
    open_w_event(ledger, "hourly", **SETTINGS)
    with pytest.raises(BadParameter, match="another stream"):
        open_w_event(ledger, "hourly", **{**SETTINGS, **other})


def test_the_rule_is_told_once_and_stays() -> None:
    ledger = MemoryLedger(Pure(epsilon=2))
    opened = open_w_event(ledger, "hourly", epsilon=1, window=20, change=1)
    assert opened.plan.algorithm == "sample"
    assert open_w_event(ledger, "hourly").plan.algorithm == "sample"
    (promise, receipt, facts) = ledger.promises()["hourly"]
    assert promise == WEvent(epsilon=1, window=20)
    assert facts["algorithm"] == "sample"
    assert ledger.entry(receipt.entry).to_dict()["kind"] == "promise"


def test_what_makes_no_sense_is_refused_and_nothing_is_written() -> None:
    ledger: Any = MemoryLedger(Pure(epsilon=2))
    before = ledger.head()
    for wrong in ({"account": ""}, {"account": 5}, {"ledger": object()}, {"window": None}, {"epsilon": -1}):
        with pytest.raises(RequestError):
            open_w_event(**{"ledger": ledger, "account": "hourly", **SETTINGS, **wrong})
    with pytest.raises(RequestError, match="epsilon="):
        open_w_event(ledger, "nothing")
    assert ledger.head() == before
    stream = open_w_event(ledger, "hourly", **SETTINGS)
    before = ledger.head()
    with pytest.raises(BadValue):
        stream.step([1.5, 2])
    with pytest.raises(BadValue):
        stream.extend([[1, 2], [3]])
    assert ledger.head() == before
