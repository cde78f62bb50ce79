"""A stream of histograms that a ledger keeps: an account of its own kind, steps that are drawn once, and restarts."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Approximate, Pure
from privet.core.errors import BadParameter, BadValue, LedgerError, RequestError, Unsupported
from privet.core.promise import WEvent
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite import SqliteLedger
from privet.session import Session
from privet.stream import open_w_event
from privet.stream.w_event import advance

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
