"""Composition adds, repetition multiplies, and nothing that is not an event gets in."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privet.accounting.events import ApproximateEvent, PureEvent, ZcdpEvent
from privet.core.errors import RequestError
from privet.core.event import Atom, Composed, Event, NoPair, Repeated, add_up
from privet.mechanisms import GaussianEvent, LaplaceEvent

A = PureEvent(Fraction(1, 3))
B = ApproximateEvent(Fraction(1, 7), Fraction(1, 10))
C = ZcdpEvent(Fraction(1, 5))


def test_costs_add_exactly() -> None:
    both = Composed((A, B, A))
    assert both.pure() == Fraction(2, 3) + Fraction(1, 7)
    assert both.slack() == Fraction(1, 10)
    assert both.rho() == 2 * Fraction(A.rho()) + Fraction(B.rho())
    assert Fraction(both.rdp(2.0)) >= 2 * Fraction(A.rdp(2.0)) + Fraction(B.rdp(2.0))
    assert both.atoms() == {A: 2, B: 1}


def test_one_infinite_cost_makes_the_sum_infinite_whatever_the_others() -> None:
    vast = LaplaceEvent(sensitivity=2**1000, scale=Fraction(1, 2**1000))
    endless = GaussianEvent(sensitivity_squared=1, sigma_squared=0)
    for events in ((vast, endless), (endless, vast)):
        assert Composed(events).pure() == math.inf
        assert Composed(events).rho() == math.inf
        assert Composed(events).rdp(2.0) == math.inf
        assert Repeated(Composed(events), 3).rho() == math.inf


@pytest.mark.parametrize("event", [A, B, C, Composed((A, B)), Repeated(B, 3)], ids=repr)
@pytest.mark.parametrize("times", [0, 1, 2, 7])
def test_repeating_is_composing_with_itself(event: Event, times: int) -> None:
    repeated, composed = Repeated(event, times), Composed((event,) * times)
    assert repeated.pure() == composed.pure()
    assert repeated.rho() == composed.rho()
    assert repeated.slack() == composed.slack()
    assert repeated.rdp(3.5) == pytest.approx(composed.rdp(3.5), rel=1e-15)
    assert repeated.atoms() == composed.atoms()


def test_slack_never_exceeds_one() -> None:
    assert Repeated(B, 100).slack() == 1
    assert Composed((B,) * 100).slack() == 1


def test_nesting_multiplies_counts() -> None:
    assert Repeated(Composed((A, Repeated(B, 3), A)), 5).atoms() == {A: 10, B: 15}


def test_a_composition_has_no_single_pair_and_one_event_once_has_its_own() -> None:
    for event in (Composed((A, B)), Repeated(A, 2), Repeated(A, 0), Composed(())):
        with pytest.raises(NoPair):
            event.pair()
    assert Repeated(A, 1).pair() == A.pair()


@pytest.mark.parametrize("wrong", [1, "a", None, LaplaceEvent, object(), (A,)], ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_event_is_refused(wrong: object) -> None:
    with pytest.raises(RequestError, match="events must be"):
        Composed((A, wrong))  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="events must be"):
        Repeated(wrong, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [1, None, A])
def test_events_must_be_a_collection(wrong: object) -> None:
    with pytest.raises(RequestError, match="events must be a collection"):
        Composed(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [-1, 1.0, True, "2", 10**19, None])
def test_a_count_is_a_whole_number(wrong: object) -> None:
    with pytest.raises(RequestError, match="times must be an integer"):
        Repeated(A, wrong)  # type: ignore[arg-type]


def test_a_list_of_events_becomes_a_value() -> None:
    assert Composed([A, B]) == Composed((A, B))  # type: ignore[arg-type]
    assert hash(Composed([A, B])) == hash(Composed((A, B)))  # type: ignore[arg-type]


def test_sums_of_floats_are_rounded_up() -> None:
    assert Fraction(add_up([0.1] * 10)) >= 10 * Fraction(0.1)
    assert add_up([]) == 0.0
    assert add_up([1.0, math.inf]) == math.inf


def test_an_atom_is_made_of_itself() -> None:
    assert isinstance(A, Atom)
    assert A.atoms() == {A: 1}
