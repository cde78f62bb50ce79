"""Filters and odometers, against an adversary who plays every game there is."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from privet.accounting import (
    ApproximateEvent,
    Composed,
    PureEvent,
    Repeated,
    ThresholdEvent,
    ZcdpEvent,
    epsilon,
    open_filter,
    open_odometer,
    optimal_delta,
    rho_from,
)
from privet.accounting.filters import PureFilter, RenyiFilter, ZcdpFilter
from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetExceeded, RequestError, Unsupported

F = Fraction

Counts = tuple[int, ...]


def best_play(kinds: tuple[float, ...], bound: float, admits: Callable[[Counts], bool]) -> float:
    """Return the delta of the best adversary at epsilon `bound`, by exhaustive search.

    He asks randomised responses of the given epsilons, sees each answer, and then chooses the next or stops; `admits`
    says which multisets may be asked. His gain is E[(1 - exp(bound - loss))_+].
    """
    truth = [1 / (1 + math.exp(-kind)) for kind in kinds]
    allowed = functools.cache(admits)

    @functools.cache
    def value(asked: Counts, net: Counts) -> float:
        loss = math.fsum(kind * n for kind, n in zip(kinds, net, strict=True))
        best = max(0.0, -math.expm1(bound - loss))
        for i in range(len(kinds)):
            more = tuple(n + (j == i) for j, n in enumerate(asked))
            if allowed(more):
                up = tuple(n + (j == i) for j, n in enumerate(net))
                down = tuple(n - (j == i) for j, n in enumerate(net))
                best = max(best, truth[i] * value(more, up) + (1 - truth[i]) * value(more, down))
        return best

    start = (0,) * len(kinds)
    return value(start, start)


def event_of(kinds: tuple[float, ...], counts: Counts) -> Composed:
    return Composed(tuple(Repeated(PureEvent(F(kind)), n) for kind, n in zip(kinds, counts, strict=True)))


GAMES = [((0.2, 0.9), 1.5, 0.02), ((0.3, 0.5, 1.1), 2.0, 0.05), ((0.1, 0.7), 1.0, 0.05), ((0.25, 1.0), 1.2, 0.1)]


@pytest.mark.parametrize(("kinds", "bound", "allowed"), GAMES)
@pytest.mark.parametrize("order", [None, 1.5, 8.0])
def test_no_adversary_gets_more_out_of_a_filter_than_its_budget(
    kinds: tuple[float, ...], bound: float, allowed: float, order: float | None
) -> None:
    gate = open_filter(Approximate(epsilon=bound, delta=allowed), order=order)
    assert best_play(kinds, bound, lambda counts: gate.admits(event_of(kinds, counts))) <= allowed


@pytest.mark.parametrize(("kinds", "bound", "allowed"), GAMES)
def test_a_loss_distribution_used_as_a_filter_would_be_overspent(
    kinds: tuple[float, ...], bound: float, allowed: float
) -> None:
    def natural(counts: Counts) -> bool:
        return optimal_delta(event_of(kinds, counts), bound) <= allowed

    assert best_play(kinds, bound, natural) > 1.15 * allowed


def test_ten_tenths_are_exactly_one_and_nothing_more_fits() -> None:
    gate = open_filter(Pure(epsilon=1))
    for _ in range(10):
        gate = gate.spend(PureEvent(F(1, 10)))
    assert gate.remaining().amount == 0
    assert gate.admits(PureEvent(F(0)))
    with pytest.raises(BudgetExceeded, match="nothing"):
        gate.spend(PureEvent(F(1, 10**30)))


def test_charges_too_small_for_a_double_are_counted() -> None:
    gate = open_filter(Pure(epsilon=1)).spend(PureEvent(F(1) - F(1, 10**17) * 5))
    for _ in range(5):
        gate = gate.spend(PureEvent(F(1, 10**17)))
    assert not gate.admits(PureEvent(F(1, 10**17)))


def test_rho_adds_and_stops_at_the_budget() -> None:
    gate = open_filter(Zcdp(rho=F(1, 2)))
    assert isinstance(gate, ZcdpFilter)
    gate = gate.spend(ZcdpEvent(F(1, 4)))
    assert gate.admits(ZcdpEvent(F(1, 4)))
    assert not gate.admits(ZcdpEvent(F(1, 4) + F(1, 10**20)))
    left = gate.remaining().largest_epsilon
    assert gate.admits(PureEvent(F(left)))
    assert not gate.admits(PureEvent(F(left) * (1 + F(1, 10**9))))


def test_a_renyi_filter_fits_as_much_gaussian_noise_as_fixed_composition_would() -> None:
    budget = Approximate(epsilon=1, delta=F(1, 10**6))
    gate = open_filter(budget, keys_share=F(1, 100))
    whole = rho_from(1, F(99, 10**8))
    assert gate.admits(ZcdpEvent(F(whole) * (1 - F(1, 10**9))))
    assert not gate.admits(ZcdpEvent(F(whole) * (1 + F(1, 10**9))))
    assert isinstance(gate, RenyiFilter)
    assert gate.order == pytest.approx(22.0, abs=0.1)


def test_what_a_renyi_filter_admits_fits_the_budget_as_a_fixed_composition() -> None:
    budget = Approximate(epsilon=2, delta=1e-5)
    gate, history = open_filter(budget), []
    cycle = [PureEvent(F(1, 10)), ZcdpEvent(F(1, 1000)), ThresholdEvent(PureEvent(F(1, 50)), F(1, 10**9))]
    for step in range(10_000):
        event = cycle[step % 3]
        if not gate.admits(event):
            break
        gate = gate.spend(event)
        history.append(event)
    assert len(history) > 30
    assert epsilon(Composed(tuple(history)), 1e-5) <= 2


def test_pure_events_fit_up_to_epsilon_whatever_the_order() -> None:
    gate = open_filter(Approximate(epsilon=1, delta=1e-6), order=1.01)
    for _ in range(10):
        gate = gate.spend(PureEvent(F(1, 10)))
    assert not gate.admits(PureEvent(F(1, 100)))


def test_slack_is_paid_from_the_share_for_keys_and_from_nothing_else() -> None:
    gate = open_filter(Approximate(epsilon=1, delta=F(1, 10**6)), keys_share=F(1, 10))
    keys = ThresholdEvent(PureEvent(F(1, 100)), F(1, 2 * 10**7))
    gate = gate.spend(keys).spend(keys)
    assert gate.remaining().delta == 0
    with pytest.raises(BudgetExceeded, match="delta set aside for keys"):
        gate.spend(keys)
    assert gate.admits(PureEvent(F(1, 100)))


@pytest.mark.parametrize("budget", [Pure(epsilon=1), Zcdp(rho=1)])
def test_accounts_without_delta_refuse_slack_and_say_why(budget: Pure | Zcdp) -> None:
    gate = open_filter(budget)
    keys = ApproximateEvent(F(1, 10), F(1, 10**9))
    assert not gate.admits(keys)
    with pytest.raises(Unsupported, match="declare the keys"):
        gate.spend(keys)


def test_an_event_without_a_cost_in_the_measure_is_refused() -> None:
    with pytest.raises(Unsupported, match="pure epsilon"):
        open_filter(Pure(epsilon=1)).spend(ZcdpEvent(F(1, 100)))


def test_a_refusal_says_what_fits_and_it_does() -> None:
    gate = open_filter(Approximate(epsilon=1, delta=1e-6)).spend(ZcdpEvent(F(2, 100)))
    with pytest.raises(BudgetExceeded) as caught:
        gate.spend(ZcdpEvent(F(1, 100)))
    largest = F(caught.value.largest_epsilon)
    assert gate.admits(PureEvent(largest))
    assert not gate.admits(PureEvent(largest * (1 + F(1, 10**9))))
    assert caught.value.requested > caught.value.remaining


def test_a_filter_stays_of_constant_size_however_long_its_history() -> None:
    gate = open_filter(Approximate(epsilon=50, delta=1e-6))
    for k in range(10_000):
        gate = gate.spend(PureEvent(F(1, 10_007 + k)))
    assert isinstance(gate, RenyiFilter)
    assert F(gate.spent_pure).denominator.bit_length() <= 4096


def test_long_denominators_are_rounded_up_and_never_down() -> None:
    gate: PureFilter = PureFilter(Pure(epsilon=100))
    exact = F(0)
    for k in range(2000):
        exact += F(1, 10_007 + 2 * k)
        gate = gate.spend(PureEvent(F(1, 10_007 + 2 * k)))
    assert exact <= gate.spent <= exact + F(1, 2**1000)


def test_a_filter_is_for_events_and_budgets_only() -> None:
    with pytest.raises(BadParameter, match="budget"):
        open_filter(1.0)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="keys_share"):
        open_filter(Approximate(epsilon=1, delta=0.1), keys_share=1)
    with pytest.raises(BadParameter, match="order"):
        open_filter(Approximate(epsilon=1, delta=0.1), order=1)
    with pytest.raises(RequestError, match="Event"):
        open_filter(Pure(epsilon=1)).admits(1)  # type: ignore[arg-type]


def test_an_odometer_reads_the_least_of_its_bounds_and_never_falls() -> None:
    meter, last = open_odometer(1e-6), 0.0
    for _ in range(200):
        meter = meter.spend(PureEvent(F(1, 10)))
        assert meter.epsilon() >= last
        last = meter.epsilon()
    assert last < 20, "below the sum of the epsilons"
    assert last >= epsilon(Repeated(PureEvent(F(1, 10)), 200), 1e-6), "above what a fixed composition costs"
    assert meter.spend(ThresholdEvent(PureEvent(F(0)), F(1, 100))).failure() == F(1e-6) + F(1, 100)


def test_an_odometer_holds_at_all_times_at_once() -> None:
    # The chance that the loss of randomised responses ever exceeds the reading, by exact enumeration of the walk.
    e, steps, allowed = 0.5, 60, 0.05
    truth, alive, failed = 1 / (1 + math.exp(-e)), {0: 1.0}, 0.0
    meter = open_odometer(allowed, orders=(2.0, 3.0, 6.0))
    for _ in range(steps):
        meter = meter.spend(PureEvent(F(e)))
        walked: dict[int, float] = {}
        for place, chance in alive.items():
            for move, weight in ((1, truth), (-1, 1 - truth)):
                walked[place + move] = walked.get(place + move, 0.0) + chance * weight
        over = [place for place in walked if place * e > meter.epsilon()]
        failed += math.fsum(walked.pop(place) for place in over)
        alive = walked
    assert 0 < failed <= allowed


def test_an_odometer_without_delta_counts_pure_epsilon() -> None:
    meter = open_odometer(0).spend(PureEvent(F(1, 3))).spend(PureEvent(F(1, 3)))
    assert meter.epsilon() == pytest.approx(2 / 3)
    assert meter.spend(ZcdpEvent(F(1))).epsilon() == math.inf
    with pytest.raises(RequestError, match="order"):
        open_odometer(0.1, orders=())
    with pytest.raises(RequestError, match="Event"):
        meter.spend(1)  # type: ignore[arg-type]
