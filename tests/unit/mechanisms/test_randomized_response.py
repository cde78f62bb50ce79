"""Randomized response: never more than the epsilon asked for, in every form, with honest estimates."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import accounting
from privet.accounting.events import FinitePairEvent
from privet.core.errors import RequestError
from privet.core.event import Composed
from privet.mechanisms import FiniteEvent, RandomizedResponse, ResponseEvent

EXTREME = [
    5e-324,
    1e-200,
    1e-60,
    1e-30,
    1e-21,
    1e-20,
    1e-19,
    1e-10,
    0.1,
    1,
    math.log(3),
    10,
    299,
    300,
    301,
    700,
    1e4,
    1e300,
]


@pytest.mark.parametrize("epsilon", EXTREME)
@pytest.mark.parametrize("categories", [2, 3, 7, 1000])
def test_asking_for_an_epsilon_never_costs_more(epsilon: float, categories: int) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
    assert mechanism.event.pure() <= Fraction(epsilon)
    assert mechanism.epsilon <= epsilon
    assert mechanism.p > mechanism.q
    if epsilon <= 300:
        assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-12)


@settings(deadline=None)
@given(st.floats(5e-324, 400), st.integers(2, 50))
def test_epsilon_round_trips_from_below(epsilon: float, categories: int) -> None:
    assert RandomizedResponse(epsilon=epsilon, categories=categories).event.pure() <= Fraction(epsilon)


P_VALUES = [Fraction(x) for x in ("1e-9", "1/1000", "1/50", "1/10", "1/5", "3/10", "2/5", "1/2", "3/5", "3/4", "9/10")]
P_VALUES += [1 - Fraction(1, 10**k) for k in (2, 4, 9, 30)]


@pytest.mark.parametrize("categories", [2, 3, 4, 5, 6, 7, 10, 100])
def test_rho_bounds_the_curve_at_every_order_and_the_curve_is_exact(categories: int) -> None:
    near = [Fraction(1, categories) * (1 + sign * Fraction(1, 10**power)) for sign in (1, -1) for power in (1, 2, 5)]
    with mpmath.workdps(80):
        for p in P_VALUES + near:
            event = ResponseEvent(p=p, categories=categories)
            if event.p == event.q:
                continue
            a, b = (mpmath.mpf(x.numerator) / x.denominator for x in (event.p, event.q))
            rest = (categories - 2) * b
            rho = Fraction(event.rho())
            for order in (1 + 2.0**-30, 1.01, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 5.0, 10.0, 100.0):
                o = mpmath.mpf(order)
                true = mpmath.log(a**o * b ** (1 - o) + b**o * a ** (1 - o) + rest) / (o - 1)
                assert true / order <= mpmath.mpf(rho.numerator) / rho.denominator * (1 + mpmath.mpf(10) ** -30)
                assert true * (1 - mpmath.mpf(10) ** -30) <= event.rdp(order) <= true * (1 + mpmath.mpf(10) ** -9)


def test_rho_is_the_divergence_at_order_one_where_it_claims_to_be() -> None:
    for categories in (2, 4, 6):
        event = ResponseEvent(p=Fraction(3, 4), categories=categories)
        assert float(event.rho()) == pytest.approx(event.rdp(1 + 2.0**-20), rel=1e-5)


def test_the_exact_pair_agrees_with_the_matrix() -> None:
    event = ResponseEvent(p=Fraction(3, 5), categories=5)
    q = Fraction(1, 10)
    full = FinitePairEvent((Fraction(3, 5), q, q, q, q), (q, Fraction(3, 5), q, q, q))
    at = np.linspace(0, 2, 9)
    assert event.pair().forward(at) == pytest.approx(full.pair().forward(at), rel=1e-12)
    assert event.rdp(3.0) == pytest.approx(full.rdp(3.0), rel=1e-12)


def test_two_coins_are_three_quarters_and_may_be_biased() -> None:
    fair = RandomizedResponse.two_coins()
    assert (fair.p, fair.q) == (Fraction(3, 4), Fraction(1, 4))
    assert fair == RandomizedResponse(p=Fraction(3, 4))
    biased = RandomizedResponse.two_coins(truth=Fraction(1, 2), yes=Fraction(1, 5))
    assert (biased.p, biased.q) == (Fraction(3, 5), Fraction(1, 10))
    assert biased.epsilon == pytest.approx(math.log(6))
    assert isinstance(biased.event, FiniteEvent)


@pytest.mark.parametrize("bound", [0.5, 1.0, 1.5, 2.0])
def test_unequal_errors_are_charged_for_reports_that_go_opposite_ways(bound: float) -> None:
    # one person changes the answer to one question from no to yes, and to another from yes to no
    survey = RandomizedResponse(p=Fraction(19, 20), q=Fraction(2, 3))
    yes, no = (float(survey.p), float(1 - survey.p)), (float(survey.q), float(1 - survey.q))
    gaps = (a * d - math.exp(bound) * b * c for a, b in zip(yes, no, strict=True) for c, d in zip(yes, no, strict=True))
    true = math.fsum(max(0.0, gap) for gap in gaps)
    assert true > 0
    assert accounting.delta(Composed((survey.event, survey.event)), bound) >= true


def test_answering_always_truly_costs_infinity_and_never_costs_nothing() -> None:
    assert RandomizedResponse(p=1).epsilon == math.inf
    assert RandomizedResponse(p=1).event.rho() == math.inf
    assert RandomizedResponse(p=1).release([0, 1, 1]).tolist() == [0, 1, 1]
    assert RandomizedResponse(p=0).release([0, 1, 1]).tolist() == [1, 0, 0]
    assert RandomizedResponse(p=0).epsilon == math.inf
    assert RandomizedResponse(p=0.5).epsilon == 0
    assert RandomizedResponse(p=Fraction(1, 3), categories=3).epsilon == 0


LABELS = [
    (2, [0, 1, 1]),
    (5, [4, 0, 2]),
    (["no", "yes"], ["yes", "no"]),
    ([3, 1, 2], [1, 2, 3]),
    ([False, True], [True, False]),
    ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]),
    (["x", 1, None], ["x", None, 1]),
    ([1.5, 2.5], [2.5, 1.5]),
]


@pytest.mark.parametrize(("categories", "answers"), LABELS, ids=repr)
def test_reports_are_in_the_categories_that_were_given(categories: object, answers: list[object]) -> None:
    mechanism = RandomizedResponse(epsilon=0.1, categories=categories)  # type: ignore[arg-type]
    known = list(range(categories)) if isinstance(categories, int) else list(categories)  # type: ignore[call-overload]
    reports = mechanism.release(answers * 20)
    assert len(reports) == len(answers) * 20
    assert all(report in known for report in reports.tolist())
    assert {type(report) for report in reports.tolist()} <= {type(label) for label in known}
    single = mechanism.release(answers[0])
    assert single in known
    assert type(single) in {type(label) for label in known}
    assert mechanism.estimate(reports, of=known[-1]).low >= 0
    truthful = RandomizedResponse(p=1, categories=categories)  # type: ignore[arg-type]
    assert truthful.release(answers).tolist() == answers


def test_booleans_and_arrays_of_any_shape_are_bits() -> None:
    truthful = RandomizedResponse(p=1)
    assert truthful.release(True) == 1
    assert truthful.release(np.array([[True, False], [False, True]])).tolist() == [[1, 0], [0, 1]]
    assert truthful.release(np.array(1)) == 1
    assert truthful.release([]).shape == (0,)
    named = RandomizedResponse(p=1, categories=["no", "yes"])
    assert named.release(np.array([["no"], ["yes"]])).tolist() == [["no"], ["yes"]]


@pytest.mark.parametrize(
    "answers",
    [2, -1, 0.5, [0, 2], [0.0, 1.0], "0", None, [None], [[0], [1, 1]], np.ma.masked_array([1], mask=[1])],
    ids=repr,
)
def test_what_is_no_category_is_refused(answers: object) -> None:
    with pytest.raises(RequestError, match="answers must be among the 2 categories") as caught:
        RandomizedResponse(p=0.75).release(answers)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("answers", ["maybe", ["maybe"], [["no"]], 0, None, {"no"}, [[]]], ids=repr)
def test_what_is_no_label_is_refused(answers: object) -> None:
    with pytest.raises(RequestError, match="answers must be among the 2 categories") as caught:
        RandomizedResponse(p=0.75, categories=["no", "yes"]).release(answers)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({}, "exactly one of p and epsilon"),
        ({"p": 0.5, "epsilon": 1}, "exactly one of p and epsilon"),
        ({"p": 1.5}, "p must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"p": 0.75, "q": -1}, "q must be"),
        ({"p": 0.75, "q": 0.1, "categories": 3}, "q is for two categories"),
        ({"epsilon": 1, "q": 0.1}, "q is for two categories"),
        ({"p": 0.75, "categories": 1}, "categories must be"),
        ({"p": 0.75, "categories": 2**31 + 1}, "categories must be"),
        ({"p": 0.75, "categories": ["a"]}, "categories must be"),
        ({"p": 0.75, "categories": ["a", "a"]}, "categories must be"),
        ({"p": 0.75, "categories": [[], []]}, "categories must be"),
        ({"p": 0.75, "categories": "ab"}, "categories must be"),
    ],
)
def test_what_makes_no_mechanism_is_refused(given_: dict[str, object], named: str) -> None:
    with pytest.raises(RequestError, match=named):
        RandomizedResponse(**given_)  # type: ignore[arg-type]


def test_many_categories_take_no_memory() -> None:
    mechanism = RandomizedResponse(epsilon=1, categories=2**31)
    assert 0 <= mechanism.release(5) < 2**31


def test_the_estimate_is_the_inverse_of_the_noise() -> None:
    mechanism = RandomizedResponse(p=Fraction(3, 4))
    estimate = mechanism.estimate([1] * 35 + [0] * 65)
    assert estimate.value == pytest.approx(0.2)
    assert estimate.standard_error == pytest.approx(math.sqrt(0.35 * 0.65 / 100) / 0.5)
    assert 0 <= estimate.low < 0.2 < estimate.high <= 1
    other = mechanism.estimate([1] * 35 + [0] * 65, of=0)
    assert other.value == pytest.approx(0.8)
    assert (other.low, other.high) == pytest.approx((1 - estimate.high, 1 - estimate.low))


def test_estimates_of_one_sided_noise_are_unbiased_for_both_answers() -> None:
    mechanism = RandomizedResponse(p=Fraction(9, 10), q=Fraction(1, 5))
    share = 0.3
    reported = 0.2 + share * 0.7
    reports = [1] * round(reported * 1000) + [0] * round((1 - reported) * 1000)
    assert mechanism.estimate(reports).value == pytest.approx(share)
    assert mechanism.estimate(reports, of=0).value == pytest.approx(1 - share)


def test_a_response_that_lies_more_often_than_not_still_estimates() -> None:
    estimate = RandomizedResponse(p=Fraction(1, 4)).estimate([1] * 35 + [0] * 65)
    assert estimate.value == pytest.approx(0.8)
    assert estimate.low <= 0.8 <= estimate.high


def test_intervals_stay_in_range_at_the_ends() -> None:
    mechanism = RandomizedResponse(p=Fraction(3, 4))
    for reports in ([0] * 50, [1] * 50, [1]):
        estimate = mechanism.estimate(reports, confidence=0.999999)
        assert 0 <= estimate.low <= estimate.high <= 1


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(RequestError, match="nothing can be estimated"):
        RandomizedResponse(p=0.5).estimate([0, 1])
    with pytest.raises(RequestError, match="at least one report"):
        RandomizedResponse(p=0.75).estimate([])
    for of in (2, "yes", None.__class__, 0.5):
        with pytest.raises(RequestError, match="of must be"):
            RandomizedResponse(p=0.75).estimate([0, 1], of=of)
    with pytest.raises(RequestError, match="of must be one of the 2 categories"):
        RandomizedResponse(p=0.75, categories=["a", "b"]).estimate(["a"], of=["a"])


def test_the_variance_is_that_of_the_estimate() -> None:
    mechanism = RandomizedResponse(p=Fraction(3, 4))
    assert mechanism.variance(Fraction(1, 5), size=100) == pytest.approx(0.35 * 0.65 / 25)
    assert RandomizedResponse(p=0.5).variance(0.2, size=10) == math.inf
