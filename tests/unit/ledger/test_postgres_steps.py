"""Releases in several steps, promises and blocks on a ledger in PostgreSQL, each continued by another host."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import postgres_server
import privet
from privet.core.errors import BudgetExceeded, LedgerError
from privet.ledger.postgres import PostgresLedger
from privet.stream import open_stream, open_w_event, resume_stream

HUGE = privet.Pure(epsilon=10**6)


@pytest.fixture
def address(ledger_address: Callable[[], str]) -> str:
    place = ledger_address()
    PostgresLedger(place, HUGE).close()
    return place


def session(ledger: Any) -> privet.Session:
    rows = pd.DataFrame({"who": [at % 40 for at in range(400)], "ward": ["heart", "lung"] * 200})
    table = privet.Table(rows, unit=privet.Rows(), columns={"who": privet.integer(0, 40), "ward": WARD})
    return privet.Session({"t": table}, ledger=ledger, account="ana")


WARD = privet.category(["heart", "lung"])


def test_a_sparse_vector_is_continued_by_another_host(address: str) -> None:
    with PostgresLedger(address) as ledger:
        opened = session(ledger).above(200, limit=2, epsilon=100)
        assert not opened.ask("SELECT COUNT(*) FROM t WHERE who < 0").above
        assert opened.ask("SELECT COUNT(*) FROM t").above
        old, receipt = ledger.kept_text(opened.receipt), opened.receipt
        assert old
    with PostgresLedger(address) as ledger:
        again = session(ledger).above(200, limit=2, epsilon=100)
        assert (again.receipt, again.asked, again.left) == (receipt, 2, 1)
        assert again.ask("SELECT COUNT(*) FROM t WHERE who < 30").above
        assert again.closed
        assert len(ledger.history()) == 1
        ledger.verify()
        assert not any(old in line for line in ledger.export())
    postgres_server.write_behind(address, ("UPDATE kept SET body = %s WHERE charge = %s", (old, receipt.entry)))
    with PostgresLedger(address) as ledger, pytest.raises((LedgerError, privet.RequestError)):
        session(ledger).above(200, limit=2, epsilon=100).ask("SELECT COUNT(*) FROM t")


def test_a_text_that_was_put_back_is_refused(address: str) -> None:
    with PostgresLedger(address) as ledger:
        opened = session(ledger).above(200, limit=3, epsilon=100)
        old = ledger.kept_text(opened.receipt)
        opened.ask("SELECT COUNT(*) FROM t")
        with ledger._postgres.writing() as rows:  # which the role that uses the ledger may do
            rows.keep(opened.receipt.entry, old or "")
    with PostgresLedger(address) as ledger, pytest.raises(LedgerError):
        session(ledger).above(200, limit=3, epsilon=100).ask("SELECT COUNT(*) FROM t")


def test_streams_go_on_on_another_host(address: str, tmp_path: Path) -> None:
    with PostgresLedger(address) as ledger:
        with open_stream(tmp_path / "stream", ledger, horizon=8, epsilon=10**5) as stream:
            stream.step(1)
            stream.step(2)
        kept = open_w_event(ledger, "hourly", epsilon=1, window=3, cells=["a", "b"])
        kept.step([5000, 1])
        last = kept.state
    with PostgresLedger(address) as ledger:
        with resume_stream(tmp_path / "stream", ledger) as stream:
            assert stream.step(4).value == 7  # type: ignore[union-attr]
        assert open_w_event(ledger, "hourly").state == last
        assert set(ledger.promises()) == {"hourly"}
        ledger.verify()


def test_blocks_are_charged_by_themselves(ledger_address: Callable[[], str]) -> None:
    rows = pd.DataFrame({"ward": ["heart", "lung"] * 200})
    table = privet.Table(rows, unit=privet.Rows(), columns={"ward": WARD}, blocks=privet.Blocks("ward"))
    with PostgresLedger(ledger_address(), privet.Pure(epsilon=1)) as ledger:
        with privet.Session({"t": table}, ledger=ledger, account="ana") as asking:
            for ward in ("heart", "lung"):
                asking.ask(f"SELECT COUNT(*) AS n FROM t WHERE ward = '{ward}'", epsilon=0.75)
            with pytest.raises(BudgetExceeded):
                asking.ask("SELECT COUNT(*) AS m FROM t WHERE ward = 'lung'", epsilon=0.5)
        assert ledger.remaining().amount == Fraction(1, 4)
        ledger.verify()
