"""Group privacy against linear programs and chains of neighbours."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from privet.accounting import (
    ApproximateEvent,
    Composed,
    FinitePairEvent,
    Group,
    PureEvent,
    Repeated,
    ThresholdEvent,
    ZcdpEvent,
    epsilon,
    gaussian_delta,
    groups,
)
from privet.accounting.events import response_rdp, response_rho
from privet.core.errors import BadParameter, RequestError, Unsupported
from privet.core.event import NoPair

F = Fraction


@pytest.mark.parametrize("e", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_factor_is_the_worst_that_a_linear_program_finds(e: float, size: int) -> None:
    # A mechanism with two outcomes along a chain of neighbours: p_0, ..., p_size, each (e, d) from the next.
    failure, grow = 1e-6, math.exp(e)
    rows, limits = [], []
    for i in range(size):
        for here, there in ((i, i + 1), (i + 1, i)):
            row = np.zeros(size + 1)
            row[there], row[here] = 1.0, -grow
            rows.append(row)
            limits.append(failure)  # p_there <= grow p_here + d
            rows.append(-row)
            limits.append(failure + grow - 1)  # the same for the other outcome
    objective = np.zeros(size + 1)
    objective[size], objective[0] = -1.0, math.exp(size * e)
    worst = -linprog(objective, A_ub=np.array(rows), b_ub=np.array(limits), bounds=(0, 1), method="highs").fun
    _, claimed = groups.approximate(F(e), F(failure), size)
    assert worst == pytest.approx(float(claimed), rel=1e-6)


@pytest.mark.parametrize("e", [F(0), F(1, 10**30), F(1, 10**15), F(1, 10), F(2), F(400)])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_factor_is_the_sum_of_the_series_and_below_the_textbook(e: Fraction, size: int) -> None:
    value = groups.factor(e, size)
    series = sum(math.exp(i * float(e)) for i in range(size)) if size * e < 700 else math.inf
    if series < math.inf:
        assert float(value) == pytest.approx(series, rel=1e-13)
    tight, loose = groups.approximate(e, F(1, 10**9), size)[1], groups.approximate_loose(e, F(1, 10**9), size)[1]
    assert tight <= loose * (1 + F(1, 10**30))


def test_a_delta_stops_at_one() -> None:
    assert groups.approximate(10, F(1, 10), 10)[1] == 1
    assert groups.approximate_loose(1000, F(1, 10), 1000)[1] == 1
    assert groups.approximate(1000, 0, 1000) == (10**6, 0)


def test_the_three_sizes_of_the_reference_example() -> None:
    # One Gaussian of sigma 4; three people move it by three.
    alone = gaussian_delta(F(1, 3), F(1, 4))
    assert alone == pytest.approx(0.012453, abs=5e-7)
    bound, failure = groups.approximate(F(1, 3), F(alone), 3)
    assert bound == 1
    assert float(groups.factor(F(1, 3), 3)) == pytest.approx(4.3433, abs=5e-5)
    assert float(failure) == pytest.approx(0.0540877, abs=5e-8)
    assert gaussian_delta(1, F(3, 4)) == pytest.approx(0.0499213, abs=5e-8)


def test_zcdp_grows_by_the_square_which_gaussian_noise_attains() -> None:
    assert groups.zcdp(F(1, 8), 3) == F(9, 8)
    assert Group(ZcdpEvent(F(1, 8)), 3).rdp(2.0) == 2.25


def test_renyi_holds_for_a_gaussian_and_never_beats_it() -> None:
    curve = ZcdpEvent(F(1, 8)).rdp
    for size in (1, 2, 3, 4, 7):
        for order in (1.1, 2.0, 5.0, 30.0):
            exact = size**2 * order / 8
            assert groups.renyi(curve, size, order) >= exact
    assert groups.renyi(curve, 1, 1.5) == curve(1.5)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_group_of_a_pure_event_is_the_pure_event_of_the_group(size: int) -> None:
    group, whole = Group(PureEvent(F(1, 3)), size), PureEvent(F(size, 3))
    assert group.pure() == whole.pure()
    for order in (1.5, 4.0, 50.0):
        assert group.rdp(order) <= whole.rdp(order) * (1 + 1e-11)
    assert group.rho() <= whole.rho()


def test_a_group_of_one_is_the_event() -> None:
    event = Composed((ThresholdEvent(ZcdpEvent(F(1, 2)), F(1, 10)), PureEvent(F(1))))
    group = Group(event, 1)
    assert (group.pure(), group.rho(), group.slack(), group.rdp(2.0)) == (
        event.pure(),
        event.rho(),
        event.slack(),
        event.rdp(2.0),
    )
    assert Group(PureEvent(F(1)), 1).pair() == PureEvent(F(1)).pair()


def test_slack_grows_with_each_part_s_own_epsilon() -> None:
    part = ApproximateEvent(F(1, 2), F(1, 10**6))
    group = Group(Repeated(part, 10), 3)
    assert group.slack() == 10 * groups.approximate(F(1, 2), F(1, 10**6), 3)[1]
    assert group.atoms() == {Group(part, 3): 10}
    assert epsilon(group, F(1, 10**3)) <= 15


def test_a_part_with_slack_stands_on_its_epsilon_alone() -> None:
    # Losses of ln 10 and -ln 1.1: the range is short, so rho is well below that of randomised response.
    narrow = FinitePairEvent((F(9, 10), F(1, 10)), (F(99, 100), F(1, 100)))
    keys = ThresholdEvent(narrow, F(1, 10**9))
    bare, kept = Group(narrow, 2), Group(keys, 2)
    assert kept.rho() == response_rho(2 * narrow.pure())
    assert bare.rho() < kept.rho()
    assert bare.rdp(1.1) < kept.rdp(1.1) == response_rdp(2 * narrow.pure(), 1.1)


def test_a_part_with_slack_and_no_epsilon_is_refused_with_the_way_out() -> None:
    with pytest.raises(Unsupported, match="sensitivity of 2 units"):
        Group(ThresholdEvent(ZcdpEvent(F(1)), F(1, 100)), 2)
    mixed = Composed((ZcdpEvent(F(1)), ThresholdEvent(PureEvent(F(1)), F(1, 10**9))))
    assert Group(mixed, 2).slack() == groups.approximate(1, F(1, 10**9), 2)[1]


def test_pairs_of_groups_come_from_epsilon_or_from_rho() -> None:
    assert Group(ApproximateEvent(F(1, 2), F(1, 100)), 2).pair() is not None
    assert Group(ZcdpEvent(F(1, 100)), 2).pair() == ZcdpEvent(F(4, 100)).pair()
    with pytest.raises(NoPair):
        Group(Repeated(PureEvent(F(1)), 2), 2).pair()
    with pytest.raises(NoPair):
        Group(ApproximateEvent(F(10), F(1, 2)), 2).pair()


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2"])
def test_a_size_must_be_a_positive_integer(size: object) -> None:
    with pytest.raises(BadParameter, match="size"):
        Group(PureEvent(F(1)), size)  # type: ignore[arg-type]


def test_a_group_is_of_an_event() -> None:
    with pytest.raises(RequestError, match="Event"):
        Group(3, 2)  # type: ignore[arg-type]
