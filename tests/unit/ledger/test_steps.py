"""Steps of what is charged once: they survive the process, and no state but the latest opens one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Budget, Pure, WEvent
from privet.core.errors import BadParameter, LedgerError
from privet.core.event import Receipt
from privet.ledger.bookkeeping import Bookkeeping
from privet.ledger.history import CACHED_EVERY
from privet.ledger.memory import MemoryLedger
from privet.ledger.sqlite.store import SqliteLedger
from privet.ledger.state import Progress

ZERO, ONE, TWO = "0" * 64, "1" * 64, "2" * 64
EVENT = PureEvent(Fraction(1, 8))


def charged(ledger: Bookkeeping, digest: str = "s", account: str = "a") -> Receipt:
    return ledger.charge(EVENT, digest, account=account)


@pytest.fixture(params=["memory", "sqlite"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bookkeeping]:
    caps: dict[str, Budget] = {"a": Pure(epsilon=1), "b": Pure(epsilon=1)}
    made: Callable[[], Bookkeeping] = {
        "memory": lambda: MemoryLedger(Pure(epsilon=1), analysts=caps),
        "sqlite": lambda: SqliteLedger(tmp_path / "ledger", Pure(epsilon=1), analysts=caps),
    }[request.param]
    with made() as found:
        yield found
        found.verify()


def test_steps_survive_the_process_and_the_cached_balance(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with SqliteLedger(path, Pure(epsilon=1)) as ledger:
        receipt = charged(ledger)
        ledger.begin_steps(receipt, state=ZERO)
        state = ZERO
        for step in range(2 * CACHED_EVERY):
            opening = ledger.open_steps(receipt, after=step, upto=step + 1, state=state)
            state = f"{step:064x}"
            ledger.close_steps(receipt, opening=opening, state=state)
        opening = ledger.open_steps(receipt, after=step + 1, upto=step + 5, state=state, about="q")
        last = ledger.progress(receipt)
    assert last == Progress(step + 1, state, step + 5, opening, "q")
    with SqliteLedger(path) as again:
        assert again.progress(receipt) == last
        again.verify()
        # whoever comes back closes what it opened before, if its state was kept
        assert again.close_steps(receipt, opening=opening, state=TWO) == Progress(step + 5, TWO)
        again.verify()


def test_steps_begin_once_and_belong_to_their_charge(ledger: Bookkeeping) -> None:
    receipt = charged(ledger)
    assert ledger.progress(receipt) is None
    with pytest.raises(LedgerError, match="begin them first"):
        ledger.open_steps(receipt, after=0, upto=1, state=ZERO)
    assert ledger.begin_steps(receipt, state=ZERO) == ledger.begin_steps(receipt, state=ZERO) == Progress(0, ZERO)
    assert ledger.progress(charged(ledger, "other")) is None


def test_a_charge_that_repeats_another_has_no_steps_of_its_own(ledger: Bookkeeping) -> None:
    charged(ledger, "s", "a")
    with pytest.raises(LedgerError, match="repeats another"):
        ledger.begin_steps(charged(ledger, "s", "b"), state=ZERO)


def test_a_failure_of_the_engine_ends_the_steps(ledger: Bookkeeping) -> None:
    receipt = charged(ledger)
    ledger.begin_steps(receipt, state=ZERO)
    opening = ledger.open_steps(receipt, after=0, upto=1, state=ZERO)
    ledger.fail(receipt)
    with pytest.raises(LedgerError, match="meanwhile"):
        ledger.close_steps(receipt, opening=opening, state=ONE)
    with pytest.raises(LedgerError, match="over"):
        ledger.open_steps(receipt, after=0, upto=1, state=ZERO)


def test_a_forged_receipt_opens_and_closes_nothing(ledger: Bookkeeping) -> None:
    receipt = charged(ledger)
    ledger.begin_steps(receipt, state=ZERO)
    opening = ledger.open_steps(receipt, after=0, upto=1, state=ZERO)
    before = ledger.head()
    for forged in (replace(receipt, account="b"), replace(receipt, digest="z")):
        for call in (
            partial(ledger.open_steps, after=0, upto=1, state=ZERO),
            partial(ledger.close_steps, opening=opening, state=ONE),
            partial(ledger.begin_steps, state=ZERO),
            ledger.progress,
        ):
            with pytest.raises(LedgerError, match="not from this ledger"):
                call(forged)
    assert ledger.head() == before


def test_each_entry_tells_its_step(ledger: Bookkeeping) -> None:
    receipt = charged(ledger)
    ledger.begin_steps(receipt, state=ZERO)
    opening = ledger.open_steps(receipt, after=0, upto=3, state=ZERO, about="why")
    ledger.close_steps(receipt, opening=opening, state=ONE, released=(7, "x"), last=True)
    told = [entry.record for entry in ledger.entries(last=3)]
    assert [(one.phase, one.step, one.about, one.released, one.last) for one in told] == [  # type: ignore[union-attr]
        ("begin", 0, None, None, False),
        ("open", 3, "why", None, False),
        ("close", 3, "why", (7, "x"), True),
    ]
    assert ledger.certificate(opening)["entry"] == receipt.entry


@pytest.mark.parametrize("state", ["", "0" * 63, "G" * 64, b"0" * 64, None, 0, "A" * 64])
def test_a_state_is_a_hash(ledger: Bookkeeping, state: object) -> None:
    receipt = charged(ledger)
    with pytest.raises(BadParameter, match="64 hexadecimal"):
        ledger.begin_steps(receipt, state=state)  # type: ignore[arg-type]
    ledger.begin_steps(receipt, state=ZERO)
    with pytest.raises(BadParameter, match="64 hexadecimal"):
        ledger.open_steps(receipt, after=0, upto=1, state=state)  # type: ignore[arg-type]
    opening = ledger.open_steps(receipt, after=0, upto=1, state=ZERO)
    with pytest.raises(BadParameter, match="64 hexadecimal"):
        ledger.close_steps(receipt, opening=opening, state=state)  # type: ignore[arg-type]


@pytest.mark.parametrize(("after", "upto"), [(0, 0), (1, 1), (1, 0), (-1, 1), (0, 2**61), (0.0, 1), (True, 2)])
def test_steps_go_forward(ledger: Bookkeeping, after: int, upto: int) -> None:
    receipt = charged(ledger)
    ledger.begin_steps(receipt, state=ZERO)
    before = ledger.head()
    with pytest.raises((BadParameter, LedgerError)):
        ledger.open_steps(receipt, after=after, upto=upto, state=ZERO)
    assert ledger.head() == before


def test_a_stream_of_windows_goes_on_beside_the_accounts_of_analysts() -> None:
    """The account of a promise has no cap, and is none of the analysts' accounts."""
    ledger = MemoryLedger(Pure(epsilon=1), analysts={"ana": Pure(epsilon=1)})
    receipt = ledger.open_promise("daily", WEvent(epsilon=1, window=7), digest="stream")
    ledger.begin_steps(receipt, state="0" * 64)
    assert ledger.open_steps(receipt, after=0, upto=1, state="0" * 64) > receipt.entry
