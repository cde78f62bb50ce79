"""One suite that every event must pass: the laws that accountants rely on."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad

import privet.accounting.events as generic
import privet.mechanisms as mechanisms
from privet.accounting.compose import basic, optimal
from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.core.errors import PrivetError, RequestError
from privet.core.event import Atom, Composed, Event, NoPair, Repeated
from privet.core.numbers import float_up
from privet.mechanisms import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    FiniteEvent,
    GaussianEvent,
    LaplaceEvent,
    ResponseEvent,
)

F = Fraction
PAIR = FinitePairEvent((F(1, 2), F(1, 3), F(1, 6)), (F(1, 4), F(1, 4), F(1, 2)))


@dataclass(frozen=True)
class Case:
    """An event, the same kind with more noise, the same kind where nothing depends on the data, and with no noise."""

    event: Event
    quieter: Event
    nothing: Event | None
    bare: Event | None
    exact: bool = True  # whether the curve is that of the pair, and not only an upper bound


CASES = {
    "Laplace": Case(
        LaplaceEvent(sensitivity=1, scale=F(2, 3)),
        LaplaceEvent(sensitivity=1, scale=F(3, 4)),
        LaplaceEvent(sensitivity=0, scale=1),
        LaplaceEvent(sensitivity=1, scale=0),
    ),
    "discrete Laplace": Case(
        DiscreteLaplaceEvent(steps=3, scale=2),
        DiscreteLaplaceEvent(steps=3, scale=F(9, 4)),
        DiscreteLaplaceEvent(steps=0, scale=1),
        DiscreteLaplaceEvent(steps=1, scale=0),
    ),
    "Gaussian": Case(
        GaussianEvent(sensitivity_squared=1, sigma_squared=2),
        GaussianEvent(sensitivity_squared=1, sigma_squared=F(9, 4)),
        GaussianEvent(sensitivity_squared=0, sigma_squared=1),
        GaussianEvent(sensitivity_squared=1, sigma_squared=0),
    ),
    "blurred Gaussian": Case(
        GaussianEvent(sensitivity_squared=1, sigma_squared=2, blur=F(1, 2**30)),
        GaussianEvent(sensitivity_squared=1, sigma_squared=F(9, 4), blur=F(1, 2**30)),
        None,
        None,
        exact=False,
    ),
    "discrete Gaussian": Case(
        DiscreteGaussianEvent(steps=2, sigma_squared=3),
        DiscreteGaussianEvent(steps=2, sigma_squared=4),
        DiscreteGaussianEvent(steps=0, sigma_squared=1),
        DiscreteGaussianEvent(steps=1, sigma_squared=0),
        exact=False,
    ),
    "exponential": Case(
        ExponentialEvent(epsilon=F(3, 2)), ExponentialEvent(epsilon=1), ExponentialEvent(epsilon=0), None, exact=False
    ),
    "response": Case(ResponseEvent(p=F(3, 4)), ResponseEvent(p=F(2, 3)), ResponseEvent(p=F(1, 2)), ResponseEvent(p=1)),
    "k-ary response": Case(
        ResponseEvent(p=F(3, 4), categories=5),
        ResponseEvent(p=F(2, 3), categories=5),
        ResponseEvent(p=F(1, 5), categories=5),
        ResponseEvent(p=1, categories=5),
    ),
    "finite": Case(
        FiniteEvent((PAIR, FinitePairEvent((F(1, 2), F(1, 2)), (F(1, 3), F(2, 3))))),
        FiniteEvent((FinitePairEvent((F(1, 2), F(1, 2)), (F(1, 3), F(2, 3))),)),
        FiniteEvent(()),
        FiniteEvent((FinitePairEvent((F(1), F(0)), (F(0), F(1))),)),
        exact=False,
    ),
    "pure": Case(PureEvent(F(3, 2)), PureEvent(F(1)), PureEvent(F(0)), None),
    "approximate": Case(
        ApproximateEvent(F(1), F(1, 100)),
        ApproximateEvent(F(1), F(1, 200)),
        ApproximateEvent(F(0), F(0)),
        None,
        exact=False,
    ),
    "zCDP": Case(ZcdpEvent(F(1, 2)), ZcdpEvent(F(1, 3)), ZcdpEvent(0), None, exact=False),
    "finite pair": Case(
        PAIR,
        FinitePairEvent((F(1, 2), F(1, 2)), (F(2, 5), F(3, 5))),
        FinitePairEvent((F(1, 2), F(1, 2)), (F(1, 2), F(1, 2))),
        FinitePairEvent((F(1), F(0)), (F(0), F(1))),
    ),
    "threshold": Case(
        ThresholdEvent(LaplaceEvent(sensitivity=1, scale=1), F(1, 1000)),
        ThresholdEvent(LaplaceEvent(sensitivity=1, scale=2), F(1, 1000)),
        ThresholdEvent(LaplaceEvent(sensitivity=0, scale=1), F(0)),
        None,
        exact=False,
    ),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
ORDERS = (1.0001, 1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 33.3, 100.0, 1e4)
EPSILONS = np.concatenate([np.linspace(0, 6, 61), [8.0, 12.0, 20.0]])


def test_every_event_class_is_held_to_this_suite() -> None:
    known = {
        kind
        for room in (generic, mechanisms)
        for name, kind in vars(room).items()
        if name.endswith("Event") and isinstance(kind, type) and name != "Event"
    }
    assert {type(case.event) for case in CASES.values()} == known


@every
def test_an_event_is_a_frozen_hashable_value(case: Case) -> None:
    event = case.event
    assert isinstance(event, Event)
    assert event != case.quieter
    for twin in (copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert twin == event
        assert hash(twin) == hash(event)
    for field in dataclasses.fields(event):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(event, field.name, 1)


@every
def test_an_event_is_its_own_atom(case: Case) -> None:
    assert case.event.atoms() == {case.event: 1}
    assert isinstance(case.event, Atom) or type(case.event) is ThresholdEvent


@every
def test_costs_are_exact_or_infinite(case: Case) -> None:
    for cost in (case.event.pure(), case.event.rho()):
        assert isinstance(cost, Fraction) or cost == math.inf
        assert cost >= 0
    assert isinstance(case.event.slack(), Fraction)
    assert 0 <= case.event.slack() < 1


@every
def test_the_curve_rises_with_the_order_below_pure_and_below_rho(case: Case) -> None:
    curve = [case.event.rdp(order) for order in ORDERS]
    assert all(isinstance(value, float) for value in curve)
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(curve))
    assert all(value <= float_up(case.event.pure()) for value in curve)
    rho = case.event.rho()
    for order, value in zip(ORDERS, curve, strict=True):
        assert rho == math.inf or value <= float_up(Fraction(rho) * Fraction(order)) * (1 + 2.0**-40)


@every
def test_repeating_costs_what_composing_costs(case: Case) -> None:
    for times in (0, 1, 2, 9):
        repeated, composed = Repeated(case.event, times), Composed((case.event,) * times)
        assert repeated.pure() == composed.pure()
        assert repeated.rho() == composed.rho()
        assert repeated.slack() == composed.slack()
        assert repeated.atoms() == composed.atoms()
        assert repeated.rdp(2.5) == pytest.approx(composed.rdp(2.5), rel=1e-14)


@every
def test_more_noise_never_costs_more(case: Case) -> None:
    assert case.quieter.pure() <= case.event.pure()
    assert case.quieter.rho() <= case.event.rho()
    assert case.quieter.slack() <= case.event.slack()
    for order in ORDERS:
        assert case.quieter.rdp(order) <= case.event.rdp(order)
    one, other = case.event.pair(), case.quieter.pair()
    assert (other.forward(EPSILONS) <= one.forward(EPSILONS) * (1 + 1e-11)).all()
    assert (other.backward(EPSILONS) <= np.maximum(one.forward(EPSILONS), one.backward(EPSILONS)) * (1 + 1e-11)).all()


@every
def test_what_does_not_depend_on_the_data_costs_nothing(case: Case) -> None:
    if case.nothing is None:
        return
    assert case.nothing.pure() == case.nothing.rho() == case.nothing.slack() == 0
    assert all(case.nothing.rdp(order) == 0 for order in ORDERS)
    assert not case.nothing.pair().forward(EPSILONS).any()


@every
def test_no_noise_costs_infinity(case: Case) -> None:
    if case.bare is None:
        return
    assert case.bare.pure() == case.bare.rho() == math.inf
    assert all(case.bare.rdp(order) == math.inf for order in ORDERS)
    try:
        pair = case.bare.pair()
    except PrivetError:
        return
    assert pair.forward(np.array([50.0]))[0] >= 0.5


@every
def test_the_pair_is_a_privacy_profile(case: Case) -> None:
    pair = case.event.pair()
    for curve in (pair.forward(EPSILONS), pair.backward(EPSILONS)):
        assert ((curve >= 0) & (curve <= 1)).all()
        assert (np.diff(curve) <= 1e-15).all()
        # convex in e^epsilon, with a slope of at least -1
        slopes = np.diff(curve) / np.diff(np.exp(EPSILONS))
        assert (slopes >= -1 - 1e-9).all()
        assert (np.diff(slopes) >= -1e-9).all()


@every
def test_the_pair_agrees_with_pure_and_slack(case: Case) -> None:
    pair, pure, slack = case.event.pair(), case.event.pure(), float_up(case.event.slack())
    for curve in (pair.forward, pair.backward):
        if pure == math.inf:
            assert curve(np.array([5.0]))[0] > 0
            continue
        assert curve(np.array([float_up(pure) * (1 + 1e-12)]))[0] <= slack * (1 + 1e-11)
        # no pure event exceeds randomised response, (e^pure - e^epsilon)/(1 + e^pure)
        top = math.exp(pure)
        most = np.maximum(top - np.exp(EPSILONS), 0) / (1 + top)
        assert (curve(EPSILONS) <= (slack + (1 - slack) * most) * (1 + 1e-10) + 1e-300).all()
    if pure != math.inf:
        assert max(pair.reach()) == pytest.approx(float(pure), rel=1e-9)


@every
@pytest.mark.parametrize("order", [1.3, 2.0, 4.0])
def test_the_curve_is_no_less_than_the_pairs_own(case: Case, order: float) -> None:
    # With H(x) the hockey-stick at epsilon x, in both directions, the moment of order a is
    # 1 + a (a - 1) times the integral of e^((a-1) x) H(P, Q)(x) + e^(-a x) H(Q, P)(x) over x >= 0.
    if case.event.slack() or isinstance(case.event, ZcdpEvent):
        return  # the curve leaves out the slack; the profile of zCDP is that of no single pair
    pair = case.event.pair()
    largest = max(pair.reach()) if math.isfinite(max(pair.reach())) else 60.0
    if case.event.pure() == math.inf:
        largest = 60.0

    def integrand(x: float, first: bool) -> float:
        at = np.array([x])
        ahead, back = pair.forward(at)[0], pair.backward(at)[0]
        if not first:
            ahead, back = back, ahead
        return float(math.exp((order - 1) * x) * ahead + math.exp(-order * x) * back)

    corners = np.linspace(0, largest, 31)
    for first in (True, False):
        pieces = [quad(integrand, a, b, args=(first,), epsrel=1e-9)[0] for a, b in itertools.pairwise(corners)]
        divergence = math.log1p(order * (order - 1) * math.fsum(pieces)) / (order - 1)
        if isinstance(case.event, ExponentialEvent | FiniteEvent):
            continue  # the worst curve over several pairs may exceed that of any one of them
        assert divergence <= case.event.rdp(order) * (1 + 1e-6)
    if case.exact:
        assert divergence == pytest.approx(case.event.rdp(order), rel=1e-6)


@every
@pytest.mark.parametrize("wrong", [1, 1.0, 0.5, -1, math.nan, math.inf, "2", None, True])
def test_an_order_is_a_number_above_1(case: Case, wrong: object) -> None:
    with pytest.raises(RequestError, match="order must be"):
        case.event.rdp(wrong)  # type: ignore[arg-type]


@every
def test_docstrings_state_guarantee(case: Case) -> None:
    assert "Guarantee:" in (type(case.event).__doc__ or "")


def test_different_events_of_equal_epsilon_all_count() -> None:
    both = Composed((PureEvent(F(1)), ExponentialEvent(epsilon=1), LaplaceEvent(sensitivity=1, scale=1)))
    assert both.pure() == 3
    assert basic(both) == 3
    assert optimal(both, 0) == 3


def test_compositions_have_no_pair() -> None:
    for case in CASES.values():
        with pytest.raises(NoPair):
            Repeated(case.event, 2).pair()
