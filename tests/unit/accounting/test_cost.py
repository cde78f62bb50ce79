"""The cost of an event: what no curve carries is in delta, whichever bound is the tightest."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.accounting import ApproximateEvent, PureEvent, Repeated, ThresholdEvent, ZcdpEvent, delta, epsilon
from privet.accounting.cost import within
from privet.core.event import Composed, Event

SLACK = Fraction(1, 100)
EVENTS: list[Event] = [
    ThresholdEvent(ZcdpEvent(Fraction(1, 10)), SLACK),
    ThresholdEvent(PureEvent(Fraction(1, 2)), SLACK),
    ApproximateEvent(Fraction(1, 2), SLACK),
    Composed((ThresholdEvent(ZcdpEvent(Fraction(1, 10)), SLACK / 2), ApproximateEvent(Fraction(1, 10), SLACK / 2))),
    Repeated(ThresholdEvent(PureEvent(Fraction(1, 10)), SLACK / 4), 4),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("bound", [0.01, 1, 5, 50])
def test_delta_is_never_below_the_slack(event: Event, bound: float) -> None:
    # several failures together are a little less likely than the sum of them
    assert delta(event, bound) >= float(SLACK) * 0.99


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_no_epsilon_is_enough_below_the_slack(event: Event) -> None:
    assert epsilon(event, SLACK * Fraction(9, 10)) == float("inf")
    assert not within(event, 10**6, SLACK * Fraction(9, 10))
    assert epsilon(event, 2 * SLACK) < float("inf")


def test_slack_is_taken_off_delta_before_a_curve_is_asked() -> None:
    event = ThresholdEvent(ZcdpEvent(Fraction(1, 10)), SLACK)
    allowed = SLACK + Fraction(1, 10**6)
    assert epsilon(event, allowed) >= epsilon(ZcdpEvent(Fraction(1, 10)), Fraction(1, 10**6)) * 0.999
    assert epsilon(event, allowed) > 1.2 * epsilon(ZcdpEvent(Fraction(1, 10)), allowed)
