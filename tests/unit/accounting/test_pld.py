"""Epsilon and delta of compositions: brackets against exact enumeration, edge cases, the cap, and directions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from privet.accounting.compose import optimal
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ZcdpEvent
from privet.accounting.pairs import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FailedPair,
    GaussianPair,
    LaplacePair,
    SampledPair,
)
from privet.accounting.pld.bounds import delta_bounds, epsilon_bounds, gather, loss_distribution, pld_delta, pld_epsilon
from privet.accounting.pld.discretise import extent, upper
from privet.core.errors import BadParameter
from privet.core.event import Composed, Event, NoPair, Repeated
from worlds import BoundedPairEvent


@dataclass(frozen=True)
class PairEvent(BoundedPairEvent):
    """An event that is nothing but its pair, with the mass that the pair puts out of reach."""

    def slack(self):
        ends = [np.array([reach if math.isfinite(reach) else 1e6]) for reach in self.inner.reach()]
        return Fraction(max(float(self.inner.forward(ends[0])[0]), float(self.inner.backward(ends[1])[0])))


def exact_delta(pairs: list[tuple[tuple[Fraction, ...], tuple[Fraction, ...]]], epsilon: float) -> float:
    """Return the divergence of a product of finite pairs by going through every outcome."""
    outcomes = Counter({(Fraction(1), Fraction(1)): 1})
    for p, q in pairs:
        grown: Counter = Counter()
        for (one, other), count in outcomes.items():
            for a, b in zip(p, q, strict=True):
                grown[(one * a, other * b)] += count
        outcomes = grown
    worse = []
    for flip in (1, -1):
        gaps = ((pair[::flip], count) for pair, count in outcomes.items())
        worse.append(
            sum(max(0.0, count * (float(one) - math.exp(epsilon) * float(other))) for (one, other), count in gaps)
        )
    return max(worse)


P = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
Q = (Fraction(1, 3), Fraction(1, 2), Fraction(1, 6))
R = (Fraction(1, 10), Fraction(9, 10))
S = (Fraction(1, 5), Fraction(4, 5))


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 2.0])
def test_bounds_contain_the_exact_delta_of_asymmetric_finite_pairs(epsilon):
    event = Composed((Repeated(FinitePairEvent(P, Q), 3), Repeated(FinitePairEvent(R, S), 2)))
    found = delta_bounds(event, epsilon)
    true = exact_delta([(P, Q)] * 3 + [(R, S)] * 2, epsilon)
    assert found.lower <= true * (1 + 1e-12)
    assert true * (1 - 1e-12) <= found.upper <= found.lower * 1.01 + 1e-9


def test_directions_are_composed_together_and_the_worse_one_is_reported():
    one, other = FinitePairEvent(P, Q), FinitePairEvent(Q, P)
    same = delta_bounds(Repeated(one, 2), 0.5)
    mixed = delta_bounds(Composed((one, other)), 0.5)
    assert same.lower <= exact_delta([(P, Q), (P, Q)], 0.5) <= same.upper
    assert mixed.lower <= exact_delta([(P, Q), (Q, P)], 0.5) <= mixed.upper
    assert delta_bounds(Repeated(other, 2), 0.5).upper == pytest.approx(same.upper, rel=1e-6)


def test_a_single_pair_is_answered_by_its_own_curve():
    found = epsilon_bounds(PairEvent(LaplacePair(1)), 1e-3)
    assert found.upper == pytest.approx(1 + 2 * math.log1p(-1e-3), rel=1e-11)
    assert found.upper - found.lower < 1e-9


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-15, 1e-40, 1e-100])
def test_tiny_deltas_keep_their_digits(delta):
    # an almost continuous pair whose composition is known, but which does not say that it is Gaussian
    event = Repeated(PairEvent(DiscreteGaussianPair(10**6, Fraction(10**14))), 100)
    found = epsilon_bounds(event, delta)
    exact = epsilon_bounds(PairEvent(GaussianPair(1)), delta).upper
    assert found.lower <= exact <= found.upper <= 1.0005 * found.lower


def test_delta_of_a_far_epsilon_is_relative():
    event = Repeated(PairEvent(DiscreteGaussianPair(10**6, Fraction(10**14))), 100)
    exact = float(GaussianPair(1).forward(np.array([12.0]))[0])
    found = delta_bounds(event, 12)
    assert found.lower <= exact <= found.upper < 1.01 * found.lower
    assert exact < 1e-28


def test_all_gaussian_compositions_are_closed_form():
    event = Composed((Repeated(PairEvent(GaussianPair(0.1)), 64), PairEvent(GaussianPair(0.6))))
    assert gather(event).alone is not None
    assert epsilon_bounds(event, 1e-6).upper == pytest.approx(
        epsilon_bounds(PairEvent(GaussianPair(1)), 1e-6).upper, rel=1e-10
    )


def test_promises_of_zcdp_add_before_they_are_converted():
    one = epsilon_bounds(Repeated(ZcdpEvent(Fraction(1, 100)), 50), 1e-6).upper
    assert one == pytest.approx(epsilon_bounds(ZcdpEvent(Fraction(1, 2)), 1e-6).upper, rel=1e-9)


def test_failures_leave_their_pairs_and_are_multiplied_exactly():
    event = Repeated(ApproximateEvent(Fraction(1, 10), Fraction(1, 10**9)), 100)
    gathered = gather(event)
    assert gathered.failure == pytest.approx(-math.expm1(100 * math.log1p(-1e-9)), rel=1e-12)
    nested = PairEvent(FailedPair(FailedPair(LaplacePair(1), 0.1), 0.2))
    assert gather(nested).failure == pytest.approx(0.28, rel=1e-12)
    assert delta_bounds(nested, 2).upper == pytest.approx(0.28, rel=1e-9)


def test_delta_below_the_failure_is_never_reached():
    event = Repeated(ApproximateEvent(Fraction(1, 10), Fraction(1, 10**6)), 10)
    assert epsilon_bounds(event, 1e-6).upper == math.inf
    assert 0.99 < epsilon_bounds(event, event.slack()).upper <= 1.0


@pytest.mark.parametrize("delta", [0, 1e-300, 1e-30])
def test_epsilon_never_exceeds_the_sum_of_pure_epsilons(delta):
    event = Composed((Repeated(PureEvent(Fraction(1, 3)), 7), PureEvent(Fraction(1, 7))))
    assert epsilon_bounds(event, delta).upper <= float(event.pure()) * (1 + 1e-15)


def test_beyond_the_pure_epsilon_only_the_slack_remains():
    event = Repeated(ApproximateEvent(Fraction(1, 10), Fraction(1, 10**6)), 10)
    found = delta_bounds(event, 1)
    assert 0.99e-5 < found.lower <= found.upper == 1e-5
    hidden = Repeated(PairEvent(FailedPair(LaplacePair(Fraction(1, 10)), Fraction(1, 1000))), 3)
    assert delta_bounds(hidden, 1).upper == pytest.approx(3e-3, rel=1e-9)


def test_delta_zero_without_a_pure_bound_is_infinite():
    assert epsilon_bounds(PairEvent(GaussianPair(1)), 0).upper == math.inf


@pytest.mark.parametrize("event", [Composed(()), Repeated(PureEvent(0), 5), PureEvent(0)])
def test_nothing_costs_nothing(event):
    assert epsilon_bounds(event, 0) == (0.0, 0.0)
    assert delta_bounds(event, 0) == (0.0, 0.0)
    assert loss_distribution(event).delta(0.1).upper < 1e-11


def test_fast_answers_are_upper_bounds_too():
    event = Repeated(PairEvent(SampledPair(GaussianPair(1), Fraction(1, 50))), 200)
    bounds = epsilon_bounds(event, 1e-6)
    assert bounds.lower <= pld_epsilon(event, 1e-6) <= 1.001 * bounds.lower
    there = delta_bounds(event, 1)
    assert there.lower <= pld_delta(event, 1) <= 1.01 * there.lower


def test_the_whole_distribution_agrees_with_the_aimed_answers():
    event = Composed(
        (Repeated(PairEvent(LaplacePair(Fraction(1, 5))), 10), PairEvent(DiscreteLaplacePair(2, Fraction(9))))
    )
    bracket = loss_distribution(event)
    for delta in (1e-2, 1e-6):
        whole, aimed = bracket.epsilon(delta), epsilon_bounds(event, delta)
        assert max(whole.lower, aimed.lower) <= min(whole.upper, aimed.upper)
        assert whole.upper <= 1.001 * aimed.upper
    low, high = bracket.forward
    assert float(np.sum(low.masses)) <= 1 + 1e-9
    assert float(np.sum(high.masses)) >= 1 - 1e-9
    assert set(high.errors(1.0)) == {"truncation", "aliasing", "rounding"}


def test_a_coarser_step_is_wider_and_still_valid():
    event = Repeated(PairEvent(LaplacePair(Fraction(1, 5))), 10)
    fine, coarse = loss_distribution(event, step=0.001).epsilon(1e-4), loss_distribution(event, step=0.05).epsilon(1e-4)
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper


def test_lattice_points_list_the_same_deltas():
    made = loss_distribution(Repeated(PairEvent(LaplacePair(Fraction(1, 5))), 10)).forward[1]
    epsilons, deltas = made.at_lattice_points()
    for index in (0, 10, 100, len(epsilons) // 2, len(epsilons) - 1):
        assert deltas[index] == pytest.approx(made.delta(float(epsilons[index])), rel=1e-9, abs=1e-14)


def test_unaligned_losses_are_bracketed_too():
    event = Composed(
        (Repeated(PureEvent(Fraction(math.sqrt(2) / 10)), 5), Repeated(PureEvent(Fraction(math.pi / 20)), 5))
    )
    found = epsilon_bounds(event, 1e-4)
    assert found.lower < found.upper <= 1.001 * found.lower


def test_losses_beyond_doubles_count_as_infinite():
    event = Repeated(PureEvent(Fraction(2000)), 2)
    assert pld_epsilon(event, 1e-6) == 4000.0
    assert delta_bounds(event, 100).upper == pytest.approx(1.0)


def test_counts_of_any_size_get_a_valid_answer():
    event = Repeated(PureEvent(Fraction(1, 10**6)), 10**9)
    # (1e-6)**2 1e9 / 2 = 5e-4 zCDP
    upper_bound = epsilon_bounds(ZcdpEvent(Fraction(5, 10**4)), 1e-6).upper
    assert 0.1 < pld_epsilon(event, 1e-6) <= upper_bound * 1.05


def test_an_event_without_a_pair_says_so():
    class Bare(Composed):
        def atoms(self) -> dict[Event, int]:
            return {self: 1}

    with pytest.raises(NoPair):
        epsilon_bounds(Bare(()), 1e-6)


@pytest.mark.parametrize("delta", [-0.1, 1, 2, math.nan])
def test_impossible_deltas_are_refused(delta):
    with pytest.raises(BadParameter):
        epsilon_bounds(PureEvent(1), delta)


def test_impossible_epsilons_and_steps_are_refused():
    with pytest.raises(BadParameter):
        delta_bounds(PureEvent(1), -1)
    with pytest.raises(BadParameter):
        loss_distribution(PureEvent(1), step=0)


def test_a_thousand_different_events_cost_no_more_than_by_optimal_composition():
    event = Composed(tuple(PureEvent(Fraction(1000 + k, 20000)) for k in range(1000)))
    assert pld_epsilon(event, 1e-6) <= optimal(event, 1e-6) * 1.001


def test_upper_lattice_of_a_symmetric_pair_is_made_once():
    pair = LaplacePair(1)
    forward, backward = upper(pair, 0.01, extent(pair, 0))
    assert forward is backward


LOPSIDED = PairEvent(SampledPair(GaussianPair(1), Fraction(1, 5)))
"""A sampled row may be told from one that is not more easily than the other way round."""


def test_a_bracket_is_of_the_worse_direction() -> None:
    found = loss_distribution(Repeated(LOPSIDED, 5))
    for epsilon in (0.1, 0.5, 1.0):
        sides = [side[1].delta(epsilon) for side in (found.forward, found.backward)]
        assert found.delta(epsilon).upper == max(sides) > 1.05 * min(sides)
    for delta in (1e-2, 1e-4):
        sides = [side[1].epsilon(delta) for side in (found.forward, found.backward)]
        assert found.epsilon(delta).upper == max(sides) > 1.01 * min(sides)
    turned = replace(found, forward=found.backward, backward=found.forward)
    assert turned.epsilon(1e-4) == found.epsilon(1e-4)
    assert turned.delta(0.5) == found.delta(0.5)


def test_a_pair_by_itself_is_priced_in_its_worse_direction() -> None:
    for epsilon in (0.1, 0.5):
        at = np.array([epsilon])
        worse = max(float(LOPSIDED.pair().forward(at)[0]), float(LOPSIDED.pair().backward(at)[0]))
        assert pld_delta(LOPSIDED, epsilon) >= worse
        assert pld_epsilon(LOPSIDED, Fraction(worse)) >= epsilon * (1 - 1e-9)


def test_failures_are_part_of_delta() -> None:
    event = Composed((Repeated(LOPSIDED, 3), ApproximateEvent(Fraction(1, 10), Fraction(1, 1000))))
    without = pld_delta(Composed((Repeated(LOPSIDED, 3), PureEvent(Fraction(1, 10)))), 1)
    assert pld_delta(event, 1) >= 1 / 1000 + without * (1 - 1 / 1000) * (1 - 1e-6)
