"""Ledgers that earlier versions wrote, as files and as exports, are read for good and go on from where they were."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from privet.accounting.events import PureEvent
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BudgetExceeded
from privet.core.event import Event, Receipt
from privet.ledger.codec import EVENTS
from privet.ledger.sqlite.store import SqliteLedger

LEDGERS = Path(__file__).parent / "ledgers"
HEAD = "39:9e06ffdfc3358d4b49ae4224f65346df0f44da0c926934ee806bdea6514978c7"


@pytest.fixture(params=["file", "export"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteLedger:
    path = tmp_path / "ledger"
    if request.param == "export":
        lines = (LEDGERS / "version-1.jsonl").read_text(encoding="ascii").splitlines()
        return SqliteLedger.restore(path, lines, head=HEAD)
    shutil.copy(LEDGERS / "version-1.ledger", path)
    path.chmod(0o600)
    return SqliteLedger(path, head=HEAD)


def kinds(event: Event) -> set[type]:
    inside = [getattr(event, "event", None), *getattr(event, "events", ()), *getattr(event, "pairs", ())]
    return {type(event)}.union(*(kinds(one) for one in inside if one is not None))


def test_the_first_version_is_read_verified_and_spent_from(ledger: SqliteLedger) -> None:
    with ledger:
        ledger.verify()
        assert ledger.head() == HEAD
        assert list(ledger.export()) == (LEDGERS / "version-1.jsonl").read_text(encoding="ascii").splitlines()
        assert ledger.accounts() == ("ana", "ben", "cem")
        assert ledger.budget_of() == Approximate(epsilon=9, delta=Fraction(2, 10**6))
        assert ledger.budget_of("ben") == Pure(epsilon=4)
        assert ledger.budget_of("cem") == Zcdp(rho=1)
        assert ledger.per_query() == Approximate(epsilon=3, delta=Fraction(1, 10**7))
        found = ledger.find("plan 7", "ben")
        assert found is not None
        assert ledger.find("plan 7", "ana") == (Receipt(16, "plan 7", "ana"), found[1])
        before = ledger.remaining("ben").amount
        receipt = ledger.charge(PureEvent(Fraction(1, 8)), "a new plan", account="ben")
        assert receipt.entry == 40
        ledger.store(receipt, (1,))
        assert ledger.remaining("ben").amount < before
        with pytest.raises(BudgetExceeded):
            ledger.charge(PureEvent(Fraction(3)), "too much", account="ben")
        ledger.limit(None, reason="a rule of the second version")
        ledger.verify()
    with SqliteLedger(ledger.path, head=HEAD) as again:
        again.verify()


def test_the_first_versions_events_are_all_among_them(ledger: SqliteLedger) -> None:
    with ledger:
        held = set().union(*(kinds(entry.event) for entry in ledger.history()))
    first = (
        "Approximate Composed DiscreteGaussian DiscreteLaplace Exponential Finite FinitePair Gaussian Group Laplace "
        "Parallel Pure Repeated Response Sampled Threshold Zcdp"
    )
    assert held == {EVENTS[name].kind for name in first.split()}
