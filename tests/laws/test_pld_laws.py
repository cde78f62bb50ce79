"""Laws of loss distributions, on random compositions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from privet.accounting.amplify import Sampled
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ZcdpEvent
from privet.accounting.pld.bounds import delta_bounds, epsilon_bounds, pld_delta, pld_epsilon
from privet.core.event import Composed, Repeated

weights = st.lists(st.integers(1, 20), min_size=3, max_size=3)
laws = weights.map(lambda parts: tuple(Fraction(part, sum(parts)) for part in parts))
finite = st.builds(FinitePairEvent, laws, laws)
small = st.fractions(Fraction(1, 50), Fraction(1), max_denominator=100)
events = st.one_of(
    finite,
    st.builds(PureEvent, small),
    st.builds(ZcdpEvent, st.fractions(Fraction(1, 500), Fraction(1, 5), max_denominator=1000)),
    st.builds(ApproximateEvent, small, st.fractions(Fraction(1, 10**7), Fraction(1, 10**6), max_denominator=10**8)),
    st.builds(Sampled, finite, st.fractions(Fraction(1, 50), Fraction(1, 2), max_denominator=50)),
)
batches = st.lists(events, min_size=1, max_size=4).map(tuple)
epsilons = st.floats(0, 3)
deltas = st.sampled_from([1e-2, 1e-4, 1e-6])
few = settings(max_examples=12, deadline=None)


def brute_force(chosen: list[FinitePairEvent], epsilon: float) -> float:
    worst = 0.0
    for flip in (1, -1):
        total = 0.0
        for outcome in product(*[range(3)] * len(chosen)):
            sides = [(event.p[at], event.q[at])[::flip] for event, at in zip(chosen, outcome, strict=True)]
            one, other = math.prod(side[0] for side in sides), math.prod(side[1] for side in sides)
            total += max(0.0, float(one) - math.exp(epsilon) * float(other))
        worst = max(worst, total)
    return worst


@few
@given(st.lists(finite, min_size=1, max_size=4), epsilons)
def test_bounds_contain_what_enumeration_finds(chosen, epsilon):
    found, true = delta_bounds(Composed(tuple(chosen)), epsilon), brute_force(chosen, epsilon)
    assert found.lower <= true * (1 + 1e-9) + 1e-15
    assert true <= found.upper * (1 + 1e-12) + 1e-15
    assert found.upper <= 1.05 * true + 1e-9


@few
@given(events, st.integers(2, 6), deltas)
def test_repeating_costs_what_copies_cost(event, times, delta):
    one, other = Repeated(event, times), Composed((event,) * times)
    assert pld_epsilon(one, delta) == pld_epsilon(other, delta)


@few
@given(batches, deltas)
def test_order_does_not_matter(batch, delta):
    one, other = (epsilon_bounds(Composed(chosen), delta) for chosen in (batch, batch[::-1]))
    assert max(one.lower, other.lower) <= min(one.upper, other.upper) * (1 + 1e-9)


@few
@given(batches, events, deltas)
def test_one_more_event_never_costs_less(batch, event, delta):
    assert epsilon_bounds(Composed(batch), delta).lower <= pld_epsilon(Composed((*batch, event)), delta) * (1 + 1e-9)


@few
@given(batches, epsilons, epsilons)
def test_delta_falls_as_epsilon_grows(batch, one, other):
    low, high = sorted((one, other))
    event = Composed(batch)
    assert delta_bounds(event, high).lower <= pld_delta(event, low) * (1 + 1e-9)


@few
@given(batches, deltas)
def test_epsilon_and_delta_are_inverse(batch, delta):
    event = Composed(batch)
    found = epsilon_bounds(event, delta)
    if 0 < found.upper < math.inf:
        assert delta_bounds(event, Fraction(found.upper)).lower <= delta * (1 + 1e-9)
    if found.lower > 0.01:
        assert delta_bounds(event, Fraction(found.lower * (1 - 1e-6))).upper >= delta * (1 - 1e-9)


@few
@given(batches, deltas)
def test_never_more_than_the_sum_of_pure_epsilons(batch, delta):
    event = Composed(batch)
    if delta >= event.slack() and event.pure() < math.inf:
        assert pld_epsilon(event, delta) <= float(event.pure()) * (1 + 1e-12)


@few
@given(finite, st.integers(1, 8), deltas)
def test_knowing_the_pair_is_never_worse_than_knowing_its_pure_epsilon(event, times, delta):
    known, generic = Repeated(event, times), Repeated(PureEvent(event.pure()), times)
    assert epsilon_bounds(known, delta).lower <= pld_epsilon(generic, delta) * (1 + 1e-9)
