"""Laws of cost that hold for every generic event."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.accounting import (
    ApproximateEvent,
    Composed,
    Event,
    FinitePairEvent,
    Group,
    PureEvent,
    Repeated,
    ThresholdEvent,
    ZcdpEvent,
    parallel,
)
from privet.accounting import delta as delta_of
from privet.accounting import epsilon as epsilon_of

F = Fraction

losses = st.fractions(min_value=0, max_value=3, max_denominator=1000)
failures = st.fractions(min_value=0, max_value=F(1, 100), max_denominator=10**6)
deltas = st.sampled_from([F(1, 10**12), F(1, 10**6), F(1, 1000), F(1, 10)])
orders = st.floats(min_value=1.01, max_value=500)


@st.composite
def finite_pairs(draw: st.DrawFn) -> FinitePairEvent:
    size = draw(st.integers(2, 4))
    rows = [draw(st.lists(st.integers(1, 20), min_size=size, max_size=size)) for _ in range(2)]
    p, q = (tuple(F(w, sum(row)) for w in row) for row in rows)
    return FinitePairEvent(p, q)


atoms = st.one_of(
    losses.map(PureEvent),
    losses.map(ZcdpEvent),
    st.builds(ApproximateEvent, losses, failures),
    finite_pairs(),
    st.builds(ThresholdEvent, losses.map(PureEvent), failures),
)


def same(left: Event, right: Event, order: float) -> bool:
    return (
        left.pure() == right.pure()
        and left.rho() == right.rho()
        and left.slack() == right.slack()
        and left.atoms() == right.atoms()
        and left.rdp(order) == pytest.approx(right.rdp(order), rel=1e-12)
    )


@given(atoms, st.integers(0, 9), orders)
def test_repeating_n_times_equals_composing_n(event: Event, times: int, order: float) -> None:
    assert same(Repeated(event, times), Composed((event,) * times), order)


@given(st.lists(atoms, max_size=5), st.randoms(use_true_random=False), orders)
def test_the_order_of_composition_is_irrelevant(events: list[Event], shuffler: object, order: float) -> None:
    mixed = list(events)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert same(Composed(tuple(events)), Composed(tuple(mixed)), order)


@given(st.lists(atoms, min_size=2, max_size=4), orders)
def test_nesting_compositions_changes_nothing(events: list[Event], order: float) -> None:
    nested = Composed((events[0], Composed(tuple(events[1:]))))
    assert same(Composed(tuple(events)), nested, order)


@settings(max_examples=40, deadline=None)
@given(atoms, atoms, deltas)
def test_more_events_never_cost_less(event: Event, more: Event, delta: Fraction) -> None:
    assert epsilon_of(event, delta) <= epsilon_of(Composed((event, more)), delta) * (1 + 1e-6) + 1e-9


@settings(max_examples=40, deadline=None)
@given(losses, losses, deltas)
def test_more_noise_never_costs_more(one: Fraction, other: Fraction, delta: Fraction) -> None:
    small, large = sorted((one, other))
    for make in (PureEvent, ZcdpEvent):
        assert epsilon_of(make(small), delta) <= epsilon_of(make(large), delta) * (1 + 1e-6)
        assert delta_of(make(small), 1) <= delta_of(make(large), 1) * (1 + 1e-6)


@settings(max_examples=40, deadline=None)
@given(atoms, deltas)
def test_epsilon_and_delta_are_inverse_up_to_rounding(event: Event, delta: Fraction) -> None:
    bound = epsilon_of(event, delta)
    if math.isfinite(bound):
        assert delta_of(event, bound) <= float(delta) * (1 + 1e-4) + 1e-14
    failure = delta_of(event, 1)
    if failure < 1:
        assert epsilon_of(event, F(failure)) <= 1 + 1e-4


@given(atoms, orders, orders)
def test_every_curve_rises_with_the_order_and_stays_below_pure_and_rho(event: Event, one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert event.rdp(low) <= event.rdp(high) * (1 + 1e-11)
    if event.pure() < math.inf:
        assert event.rdp(high) <= float(event.pure()) * (1 + 1e-11)
    if event.rho() < math.inf:
        assert event.rdp(high) <= float(event.rho()) * high * (1 + 1e-11)


@settings(max_examples=40, deadline=None)
@given(st.lists(atoms, min_size=1, max_size=4), orders)
def test_blocks_cost_no_more_than_a_sequence_and_no_less_than_any_one(events: list[Event], order: float) -> None:
    together = Composed(tuple(events))
    apart, moved = parallel(events, neighbors="add-remove"), parallel(events, neighbors="change-one")
    for event in events:
        assert event.rdp(order) <= apart.rdp(order) <= moved.rdp(order)
        assert event.slack() <= apart.slack() <= moved.slack() <= together.slack()
    assert moved.rdp(order) <= together.rdp(order) * (1 + 1e-12)
    assert moved.rho() <= together.rho()
    assert moved.pure() <= together.pure()


@settings(max_examples=40, deadline=None)
@given(st.one_of(losses.map(PureEvent), losses.map(ZcdpEvent), finite_pairs()), st.integers(1, 6), orders)
def test_larger_groups_never_cost_less(event: Event, size: int, order: float) -> None:
    smaller, larger = Group(event, size), Group(event, size + 1)
    assert smaller.rdp(order) <= larger.rdp(order) * (1 + 1e-11)
    assert smaller.rho() <= larger.rho()
    assert smaller.slack() <= larger.slack()


def test_no_noise_costs_infinity() -> None:
    certain = FinitePairEvent((F(1), F(0)), (F(0), F(1)))
    for event in (certain, Repeated(certain, 3), Composed((PureEvent(F(1)), certain))):
        assert event.pure() == event.rho() == event.rdp(2.0) == math.inf
        assert epsilon_of(event, F(1, 2)) == math.inf
        assert delta_of(event, 5) == 1


@given(deltas)
def test_what_depends_on_nobody_costs_nothing(delta: Fraction) -> None:
    for event in (PureEvent(F(0)), ZcdpEvent(F(0)), Repeated(PureEvent(F(0)), 10**6)):
        assert epsilon_of(event, delta) == 0
        assert delta_of(event, 0) == 0
