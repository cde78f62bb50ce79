"""What would be left after a charge is what is left after it was made, under both caps, and asking charges nothing."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BudgetExceeded
from privet.core.event import Event
from privet.ledger.memory import MemoryLedger
from privet.mechanisms import GaussianEvent, LaplaceEvent

LAPLACE, GAUSS = LaplaceEvent(sensitivity=1, scale=2), GaussianEvent(sensitivity_squared=1, sigma_squared=100)


@pytest.mark.parametrize(
    ("whole", "own", "event"),
    [
        (Pure(epsilon=3), Pure(epsilon=2), LAPLACE),
        (Pure(epsilon=2), Pure(epsilon=9), LAPLACE),
        (Zcdp(rho=1), Zcdp(rho=Fraction(1, 2)), GAUSS),
        (Approximate(epsilon=3, delta=Fraction(1, 10**6)), Approximate(epsilon=2, delta=Fraction(1, 10**7)), GAUSS),
    ],
)
def test_it_is_what_is_left_once_the_charge_was_made(whole: Budget, own: Budget, event: Event) -> None:
    ledger = MemoryLedger(whole, analysts={"ana": own})
    ledger.charge(event, "first", account="ana")
    entries = len(ledger.entries())
    told = ledger.remaining_after(event, "ana")
    assert len(ledger.entries()) == entries
    ledger.charge(event, "second", account="ana")
    left = ledger.remaining("ana")
    assert (told.measure, told.amount, told.delta) == (left.measure, left.amount, left.delta)
    assert told.largest_epsilon == left.largest_epsilon


def test_what_does_not_fit_is_refused() -> None:
    ledger = MemoryLedger(Pure(epsilon=5), analysts={"ana": Pure(epsilon=1)})
    with pytest.raises(BudgetExceeded):
        ledger.remaining_after(LaplaceEvent(sensitivity=2, scale=1), "ana")
    with pytest.raises(BudgetExceeded):
        MemoryLedger(Pure(epsilon=1)).remaining_after(LaplaceEvent(sensitivity=2, scale=1), "ana")
