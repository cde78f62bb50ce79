"""Generic events: what they answer, and what they refuse."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath as mp
import pytest

from privet.accounting import (
    ApproximateEvent,
    Composed,
    Event,
    FinitePairEvent,
    PureEvent,
    Repeated,
    ThresholdEvent,
    ZcdpEvent,
    delta,
    epsilon,
    rdp,
)
from privet.accounting.events import response_rdp, response_rho
from privet.core.errors import BadParameter, RequestError

F = Fraction


def true_rdp(p: tuple[Fraction, ...], q: tuple[Fraction, ...], order: float) -> mp.mpf:
    with mp.workdps(80):
        a = mp.mpf(order)
        rows = [
            (mp.mpf(x.numerator) / x.denominator, mp.mpf(y.numerator) / y.denominator)
            for x, y in zip(p, q, strict=True)
        ]
        ways = (rows, [(y, x) for x, y in rows])
        return max(mp.log(mp.fsum(x**a * y ** (1 - a) for x, y in way if x > 0)) / (a - 1) for way in ways)


ORDERS = [1 + 1e-9, 1.001, 1.5, 2.0, 7.3, 64.0, 1e4]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("e", [F(1, 10**12), F(1, 10**4), F(1, 3), F(2), F(30), F(900)])
def test_the_curve_of_pure_epsilon_is_that_of_randomised_response(e: Fraction, order: float) -> None:
    with mp.workdps(900):
        truth = 1 / (1 + mp.exp(-mp.mpf(e.numerator) / e.denominator))
        a = mp.mpf(order)
        exact = mp.log(truth**a * (1 - truth) ** (1 - a) + (1 - truth) ** a * truth ** (1 - a)) / (a - 1)
        computed = mp.mpf(PureEvent(e).rdp(order))
        assert exact <= computed <= exact * (1 + mp.mpf("1e-11"))


@pytest.mark.parametrize("e", [F(1, 10**12), F(1, 10**9), F(1, 100), F(1), F(5), F(800)])
def test_rho_of_pure_epsilon_bounds_every_order_and_is_attained_at_order_one(e: Fraction) -> None:
    rho = F(response_rho(e))
    assert rho <= e**2 / 2
    assert rho <= e
    for k in range(-40, 60):
        order = 1 + 2.0 ** (k / 2)
        assert response_rdp(e, order) <= float(rho) * order * (1 + 1e-11)
    assert response_rdp(e, 1 + 2.0**-30) == pytest.approx(float(rho), rel=1e-6)


def test_randomised_response_as_a_finite_pair_is_the_pure_event() -> None:
    pair = FinitePairEvent((F(3, 4), F(1, 4)), (F(1, 4), F(3, 4)))
    pure = PureEvent(F(math.log(3)))
    assert float(pair.pure()) == pytest.approx(math.log(3), rel=1e-15)
    assert float(pair.rho()) == pytest.approx(float(pure.rho()), rel=1e-12)
    for order in ORDERS:
        assert pair.rdp(order) == pytest.approx(pure.rdp(order), rel=1e-11)


def test_curves_of_random_pairs_agree_with_high_precision() -> None:
    source = random.Random(3)
    for scale in (3, 1000, 10**9):
        for _ in range(15):
            size = source.randint(2, 6)
            p_weights = [source.randint(scale // 2, scale) for _ in range(size)]
            q_weights = [source.randint(scale // 2, scale) for _ in range(size)]
            p = tuple(F(w, sum(p_weights)) for w in p_weights)
            q = tuple(F(w, sum(q_weights)) for w in q_weights)
            event = FinitePairEvent(p, q)
            for order in (1.0001, 1.7, 12.0, 3000.0):
                exact = true_rdp(p, q, order)
                assert exact - mp.mpf("1e-60") <= event.rdp(order) <= exact * (1 + mp.mpf("1e-11")) + mp.mpf("1e-60")
                assert event.rdp(order) <= float(event.rho()) * order * (1 + 1e-11)
                assert event.rdp(order) <= float(event.pure()) * (1 + 1e-11)


def test_pairs_that_hardly_differ_keep_their_digits() -> None:
    tiny = F(1, 10**14)
    p, q = (F(1, 2) + tiny, F(1, 2) - tiny), (F(1, 2), F(1, 2))
    for order in (1.5, 3.0, 1e6):
        exact = true_rdp(p, q, order)
        assert exact <= FinitePairEvent(p, q).rdp(order) <= exact * (1 + mp.mpf("1e-11"))


def test_an_outcome_that_only_one_side_has_costs_infinity() -> None:
    one_sided = FinitePairEvent((F(1, 2), F(1, 2), F(0)), (F(1, 2), F(1, 4), F(1, 4)))
    assert one_sided.pure() == one_sided.rho() == one_sided.rdp(2.0) == math.inf
    shared = FinitePairEvent((F(1, 2), F(0), F(1, 2)), (F(1, 4), F(0), F(3, 4)))
    assert float(shared.pure()) == pytest.approx(math.log(2))
    assert shared.rdp(5.0) < math.log(2)


def test_equal_distributions_and_zero_parameters_cost_nothing() -> None:
    nothing: list[Event] = [
        PureEvent(F(0)),
        ApproximateEvent(F(0), F(0)),
        ZcdpEvent(F(0)),
        FinitePairEvent((F(1, 3), F(2, 3)), (F(1, 3), F(2, 3))),
        Composed(),
        Repeated(ZcdpEvent(F(1)), 0),
    ]
    for event in nothing:
        assert (event.pure(), event.rho(), event.slack(), event.rdp(3.0)) == (0, 0, 0, 0)
        assert epsilon(event, 0) == 0
        assert delta(event, 0) == 0


def test_slack_is_taken_off_delta_before_any_curve_is_asked() -> None:
    noise = ZcdpEvent(F(1, 2))
    keys = ThresholdEvent(noise, F(1, 10**7))
    assert keys.slack() == F(1, 10**7)
    assert epsilon(keys, F(1, 10**6)) == pytest.approx(epsilon(noise, F(9, 10**7)), rel=1e-6)
    assert epsilon(keys, F(1, 10**8)) == math.inf
    assert epsilon(ApproximateEvent(F(1), F(1, 100)), F(1, 100)) == 1
    assert delta(ApproximateEvent(F(1), F(1, 100)), 1) == float(F(1, 100))
    assert delta(keys, 3) == pytest.approx(delta(noise, 3) + 1e-7, rel=1e-3)


def test_a_threshold_over_a_composition_is_its_parts_and_a_failure() -> None:
    parts = Composed((PureEvent(F(1)), Repeated(ZcdpEvent(F(1)), 3)))
    failure = ApproximateEvent(F(0), F(1, 100))
    assert ThresholdEvent(parts, F(1, 100)).atoms() == {PureEvent(F(1)): 1, ZcdpEvent(F(1)): 3, failure: 1}
    single = ThresholdEvent(PureEvent(F(1)), F(1, 100))
    assert single.atoms() == {single: 1}


def test_every_event_keeps_the_protocol_and_can_be_a_key() -> None:
    events = [
        PureEvent(F(1)),
        ApproximateEvent(F(1), F(1, 10)),
        ZcdpEvent(F(1)),
        FinitePairEvent((F(1, 2), F(1, 2)), (F(1, 4), F(3, 4))),
        ThresholdEvent(PureEvent(F(1)), F(1, 10)),
    ]
    assert all(isinstance(event, Event) for event in events)
    assert len(set(events)) == len(events)
    assert ZcdpEvent(rho=1) == ZcdpEvent(F(1))
    assert repr(ZcdpEvent(1)) == "ZcdpEvent(rho=Fraction(1, 1))"


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1", True, 1j, None])
def test_bad_parameters_are_refused_by_name(value: object) -> None:
    with pytest.raises(BadParameter, match="epsilon"):
        PureEvent(value)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="delta"):
        ApproximateEvent(F(1), value)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="rho"):
        ZcdpEvent(value)
    with pytest.raises(BadParameter, match="delta"):
        ThresholdEvent(PureEvent(F(1)), value)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="p must"):
        FinitePairEvent(value, (F(1),))  # type: ignore[arg-type]


def test_a_pair_must_be_two_distributions_over_the_same_outcomes() -> None:
    with pytest.raises(BadParameter, match="sum to 1"):
        FinitePairEvent((F(1, 2), F(1, 3)), (F(1, 2), F(1, 2)))
    with pytest.raises(RequestError, match="same outcomes"):
        FinitePairEvent((F(1),), (F(1, 2), F(1, 2)))
    with pytest.raises(RequestError, match="Event"):
        ThresholdEvent(3, F(1, 2))  # type: ignore[arg-type]


def test_only_events_have_costs() -> None:
    for ask in (lambda: epsilon(1, 0.1), lambda: delta("x", 1), lambda: rdp(None, 2)):  # type: ignore[arg-type]
        with pytest.raises(RequestError, match="Event"):
            ask()
    with pytest.raises(BadParameter, match="order"):
        rdp(PureEvent(F(1)), 1)
    with pytest.raises(BadParameter, match="delta"):
        epsilon(PureEvent(F(1)), 1)


LEAKY = [
    ((F(1, 2), F(1, 4), F(1, 4)), (F(1, 4), F(3, 4), F(0))),
    ((F(1), F(0)), (F(0), F(1))),
    ((F(1, 2), F(1, 2), F(0)), (F(1, 2), F(0), F(1, 2))),
    ((F(9, 10), F(1, 10), F(0)), (F(1, 10), F(4, 5), F(1, 10))),
]


@pytest.mark.parametrize(("p", "q"), LEAKY)
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("bound", [0.0, 0.1, 1.0, 6.0])
def test_pairs_that_give_some_away_cost_what_all_outcomes_together_say(
    p: tuple[Fraction, ...], q: tuple[Fraction, ...], times: int, bound: float
) -> None:
    exact = 0.0
    for here, there in ((p, q), (q, p)):
        outcomes = itertools.product(zip(here, there, strict=True), repeat=times)
        joint = ((math.prod(a for a, _ in row), math.prod(b for _, b in row)) for row in outcomes)
        exact = max(exact, math.fsum(max(0.0, float(a) - math.exp(bound) * float(b)) for a, b in joint))
    computed = delta(Repeated(FinitePairEvent(p, q), times), bound)
    assert exact <= computed * (1 + 1e-12)
    assert computed == pytest.approx(exact, rel=1e-3)
    given_away = max(sum(a for a, b in zip(*way, strict=True) if b == 0) for way in ((p, q), (q, p)))
    assert epsilon(Composed((PureEvent(F(1)), FinitePairEvent(p, q))), given_away * F(99, 100)) == math.inf
    if exact > 0.01:
        assert epsilon(Repeated(FinitePairEvent(p, q), times), F(exact) * F(99, 100)) > bound


@pytest.mark.parametrize("order", [1.001, 2.0, 23.0, 1e6])
@pytest.mark.parametrize("epsilon", [1e-163, 1e-170, 5e-324])
def test_a_cost_too_small_for_a_double_is_not_lost(epsilon: float, order: float) -> None:
    assert PureEvent(epsilon).rdp(order) > 0
