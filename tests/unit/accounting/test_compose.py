"""Composition theorems against the enumeration of randomised responses."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import pytest

from privet.accounting import (
    ApproximateEvent,
    Composed,
    Parallel,
    PureEvent,
    Repeated,
    ThresholdEvent,
    ZcdpEvent,
    advanced,
    advanced_kov,
    basic,
    delta,
    epsilon,
    gaussian_epsilon,
    optimal,
    optimal_bounds,
    optimal_delta,
    parallel,
)
from privet.accounting.compose import advanced_kov_log, advanced_kov_root, parts
from privet.core.errors import BadParameter, RequestError
from privet.core.event import NoPair

F = Fraction


def brute_delta(mechanisms: list[tuple[Fraction, Fraction]], bound: Fraction) -> mp.mpf:
    """Sum P - e^bound Q over every joint outcome of randomised responses that fail openly with their delta."""
    with mp.workdps(40):
        tables = []
        for e, d in mechanisms:
            truth = 1 / (1 + mp.exp(-mp.mpf(e.numerator) / e.denominator))
            rest = 1 - mp.mpf(d.numerator) / d.denominator
            lie = 1 - truth
            tables.append([(rest * truth, rest * lie), (rest * lie, rest * truth), (1 - rest, mp.mpf(0))])
        factor = mp.exp(mp.mpf(bound.numerator) / bound.denominator)
        total = mp.mpf(0)
        for outcome in itertools.product(*tables):
            p = mp.fprod(a for a, _ in outcome)
            q = mp.fprod(b for _, b in outcome)
            total += max(mp.mpf(0), p - factor * q)
        return total


MIXES = [
    [(F(1, 2), F(0))] * 5,
    [(F(1, 10), F(1, 1000))] * 4,
    [(F(1, 10), F(0)), (F(1, 3), F(1, 100)), (F(2), F(0)), (F(1), F(1, 10**6)), (F(1), F(0))],
    [(F(3), F(0)), (F(1, 100), F(1, 50))],
    [(F(0), F(1, 20)), (F(1), F(0))],
]


def composed(mechanisms: list[tuple[Fraction, Fraction]]) -> Composed:
    return Composed(tuple(ApproximateEvent(e, d) for e, d in mechanisms))


@pytest.mark.parametrize("mechanisms", MIXES)
@pytest.mark.parametrize("share", [F(0), F(1, 5), F(2, 3), F(99, 100)])
def test_optimal_delta_is_that_of_all_randomised_responses_enumerated(
    mechanisms: list[tuple[Fraction, Fraction]], share: Fraction
) -> None:
    bound = share * sum(e for e, _ in mechanisms)
    true, computed = brute_delta(mechanisms, bound), optimal_delta(composed(mechanisms), bound)
    assert true <= computed
    assert computed == pytest.approx(float(true), rel=1e-11)


@pytest.mark.parametrize("mechanisms", MIXES)
def test_optimal_epsilon_holds_and_no_smaller_one_does(mechanisms: list[tuple[Fraction, Fraction]]) -> None:
    allowed = F(1, 10)
    bound = F(optimal(composed(mechanisms), allowed))
    assert brute_delta(mechanisms, bound) <= mp.mpf(1) / 10
    if bound > 0:
        assert brute_delta(mechanisms, bound * (1 - F(1, 10**8))) > (mp.mpf(1) / 10) * (1 - mp.mpf("1e-6"))


@pytest.mark.parametrize(("e", "times"), [(F(1, 10), 100), (F(1), 30), (F(1, 1000), 10**5), (F(5), 3)])
@pytest.mark.parametrize("allowed", [F(1, 100), F(1, 10**6), F(1, 10**100)])
def test_no_theorem_beats_the_optimal_one(e: Fraction, times: int, allowed: Fraction) -> None:
    event = Repeated(PureEvent(e), times)
    best = optimal(event, allowed)
    for theorem in (basic, advanced, advanced_kov, advanced_kov_log, advanced_kov_root):
        assert best <= theorem(event, allowed)
    assert advanced_kov_log(event, allowed) <= advanced(event, allowed)
    assert advanced_kov(event, allowed) <= basic(event, allowed)


def test_the_garbled_denominator_of_the_lecture_would_be_unsafe() -> None:
    event, allowed = Repeated(PureEvent(F(1)), 100), F(1, 10**6)
    garbled = math.sqrt(200 * math.log(10**6)) + 100 * (math.e - 1) / math.e**2
    assert garbled < optimal(event, allowed)
    assert optimal_delta(event, garbled) == pytest.approx(1.05635e-4, rel=1e-4)


def test_a_hundred_thousand_equal_parts_and_a_few_unequal_ones_stay_quick_and_ordered() -> None:
    fewer = optimal(Repeated(PureEvent(F(1, 1000)), 10**5), 1e-6)
    more = optimal(Composed((Repeated(PureEvent(F(1, 1000)), 10**5), PureEvent(F(1, 7)))), 1e-6)
    assert fewer < more < fewer + 1 / 7


def test_ten_thousand_costly_parts_do_not_overflow() -> None:
    event = Repeated(PureEvent(F(1)), 10_000)
    mean_loss = 10_000 * math.tanh(0.5)
    assert mean_loss < optimal(event, 1e-6) < advanced_kov(event, 1e-6)


def test_too_many_distinct_losses_are_bracketed_closely() -> None:
    many = Composed(tuple(PureEvent(F(1, 100 + k)) for k in range(30)))
    low, high = optimal_bounds(many, 1e-6)
    assert low <= high <= low * 1.001
    coarser, finer = (Repeated(PureEvent(F(1, 100 + k)), 30) for k in (0, 29))
    assert optimal(finer, 1e-6) < low
    assert high < optimal(coarser, 1e-6)
    assert optimal_delta(many, high) <= 1e-6 * 1.01
    assert optimal_delta(coarser, high) > 1e-6


def test_a_billion_equal_parts_are_bracketed_too() -> None:
    low, high = optimal_bounds(Repeated(PureEvent(F(1, 10**5)), 10**9), 1e-6)
    rho = 10**9 * F(1, 10**5) ** 2 / 2
    assert gaussian_epsilon(1e-6, math.sqrt(2 * rho)) == pytest.approx(high, rel=1e-3)
    assert low <= high <= low * 1.001


def test_bounds_meet_where_losses_are_enumerated() -> None:
    event = Repeated(PureEvent(F(1, 2)), 10)
    assert optimal_bounds(event, 1e-3) == (optimal(event, 1e-3),) * 2
    assert optimal_bounds(ZcdpEvent(F(1)), 1e-3) == (math.inf, math.inf)


def test_a_delta_that_the_parts_have_spent_leaves_nothing() -> None:
    event = Repeated(ApproximateEvent(F(1, 10), F(1, 10**6)), 100)
    for theorem in (basic, advanced, advanced_kov, optimal):
        assert theorem(event, F(1, 10**5)) == math.inf
    assert basic(event, F(1, 10**4)) == 10
    assert optimal(event, F(1, 10**4)) < 10, "the chance that any fails is below the sum of the chances"
    assert optimal_delta(Repeated(ApproximateEvent(F(0), F(1, 2)), 3), 1) == pytest.approx(7 / 8, rel=1e-10)
    assert optimal_delta(Repeated(ApproximateEvent(F(0), F(9, 10)), 3), 1) == pytest.approx(0.999, rel=1e-10)


def test_events_without_a_finite_epsilon_have_none_here() -> None:
    assert parts(ZcdpEvent(F(1))) is None
    assert basic(ZcdpEvent(F(1)), 0.1) == advanced(ZcdpEvent(F(1)), 0.1) == math.inf
    assert optimal(ZcdpEvent(F(1)), 0.1) == advanced_kov(ZcdpEvent(F(1)), 0.1) == math.inf
    assert optimal_delta(ZcdpEvent(F(1)), 1) == 1
    with pytest.raises(RequestError, match="Event"):
        basic(3, 0.1)  # type: ignore[arg-type]


def test_parallel_blocks_cost_the_worst_one_or_the_worst_two() -> None:
    blocks = (PureEvent(F(1)), ThresholdEvent(PureEvent(F(1, 2)), F(1, 100)), ZcdpEvent(F(1, 100)))
    apart, moved = Parallel(blocks, "add-remove"), Parallel(blocks, "change-one")
    assert apart.pure() == moved.pure() == math.inf
    assert (apart.slack(), moved.slack()) == (F(1, 100), F(1, 100))
    costs = sorted(block.rdp(3.0) for block in blocks)
    assert apart.rdp(3.0) == costs[-1]
    assert moved.rdp(3.0) == pytest.approx(costs[-1] + costs[-2], rel=1e-15)
    assert moved.rho() == sum(sorted(F(block.rho()) for block in blocks)[-2:])
    with pytest.raises(NoPair):
        apart.pair()


def test_moving_between_two_blocks_of_randomised_response_costs_what_parallel_says() -> None:
    small, large = F(1, 2), F(3, 2)
    event = parallel([PureEvent(small), PureEvent(large), PureEvent(F(1, 10))], neighbors="change-one")
    bound = F(event.pure())
    assert bound == 2
    assert brute_delta([(small, F(0)), (large, F(0))], bound) <= mp.mpf("1e-35")
    assert brute_delta([(small, F(0)), (large, F(0))], F(3, 2)) > mp.mpf("0.05"), "the largest alone is not enough"


def test_equal_blocks_keep_their_own_event() -> None:
    block = PureEvent(F(1, 2))
    assert parallel([block] * 7, neighbors="add-remove").atoms() == {block: 1}
    assert parallel([block] * 7, neighbors="change-one").atoms() == {block: 2}
    assert parallel([block], neighbors="change-one").atoms() == {block: 1}
    assert parallel([], neighbors="add-remove").pure() == 0
    assert epsilon(parallel([], neighbors="change-one"), 0) == 0
    assert delta(parallel([block] * 2, neighbors="change-one"), 1) == 0
    with pytest.raises(BadParameter, match="neighbors"):
        parallel([block], neighbors="bounded")  # type: ignore[arg-type]
