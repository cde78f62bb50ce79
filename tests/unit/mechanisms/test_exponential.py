"""The exponential mechanism: exact choices at any score, and curves no pair of bounded range exceeds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privet.core.errors import RequestError
from privet.core.unit import Sensitivity
from privet.mechanisms import Exponential, ExponentialEvent

ORDERS = [1 + 2.0**k for k in (-30, -12, -9, -6, -3, -1, 0, 1, 3, 6, 10)]


def worst_rdp(epsilon: float, order: float, cells: int = 100_000) -> float:
    """Return the largest divergence over two-point pairs of bounded range, by a dense search over the range's end."""
    with np.errstate(over="ignore"):
        t = np.linspace(0, epsilon, cells + 1)[1:-1]
        # under Q the ratio e^t has weight w, e^(t - epsilon) the rest, and the mean ratio is 1
        w = -np.expm1(t - epsilon) / (np.exp(t) - np.exp(t - epsilon))
        logs = np.logaddexp(np.log(w) + order * t, np.log1p(-w) + order * (t - epsilon))
        return float((logs / (order - 1)).max())


@pytest.mark.parametrize("epsilon", [0.002, 0.01, 0.1, 0.5, 1, 2, 5, 20, 100])
def test_the_curve_is_the_worst_over_every_range_of_losses(epsilon: float) -> None:
    event = ExponentialEvent(epsilon=Fraction(epsilon))
    for order in ORDERS:
        got = event.rdp(order)
        assert got <= min(epsilon, epsilon**2 / 8 * order) * (1 + 1e-12)
        if order > 1.01 and order * epsilon > 1e-2:
            searched = worst_rdp(epsilon, order)
            assert searched <= got * (1 + 1e-11) + 1e-12
            assert got <= searched * (1 + 1e-4) + 1e-9


def test_the_curve_loses_no_digits_near_its_ends() -> None:
    with mpmath.workdps(60):
        for epsilon, order in itertools.product((0.00101, 0.01, 1.0, 300.0, 699.0), (1.00101, 1.5, 30.0, 1e6)):
            e, b = mpmath.mpf(epsilon), mpmath.mpf(order) - 1
            big, c = mpmath.exp(e), mpmath.exp(-b * e)
            y = b * (big - c) / ((b + 1) * (1 - c))
            true = (b * mpmath.log(y) + mpmath.log(((big - c) - y * (1 - c)) / (big - 1))) / b
            got = ExponentialEvent(epsilon=Fraction(epsilon)).rdp(order)
            assert true * (1 - mpmath.mpf(10) ** -40) <= got <= true * (1 + mpmath.mpf(10) ** -5)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_random_pairs_of_bounded_range_stay_below_the_curve(epsilon: float) -> None:
    # Not only two-point pairs: any weights and losses inside a range of length epsilon.
    generator = np.random.default_rng(5)
    event = ExponentialEvent(epsilon=Fraction(epsilon))
    for _ in range(300):
        size = int(generator.integers(2, 6))
        q = generator.dirichlet(np.full(size, 0.5))
        ratio = np.exp(generator.choice([0.0, 1.0, generator.random()], size) * epsilon)
        p = q * ratio / (q @ ratio)
        for order in (1.1, 2.0, 7.0, 40.0):
            logs = math.log((p**order * np.maximum(q, 1e-300) ** (1 - order)).sum()) / (order - 1)
            assert logs <= event.rdp(order) * (1 + 1e-9) + 1e-12


def test_the_pair_covers_real_selections() -> None:
    # Scores of three options that move by at most 1 each, any way: the exact curve of the mechanism itself.
    mechanism = Exponential(sensitivity=1, epsilon=1)
    epsilons = np.linspace(0, 1.2, 13)
    stated = mechanism.event.pair().forward(epsilons)
    for scores in ([0, 0, 0], [0, 2, 5], [1, 1, 3], [0, 0, 9]):
        p = mechanism.probabilities(scores)
        for move in itertools.product((-1, 0, 1), repeat=3):
            q = mechanism.probabilities([a + b for a, b in zip(scores, move, strict=True)])
            curve = [np.maximum(p - math.exp(e) * q, 0).sum() for e in epsilons]
            assert (curve <= stated + 1e-12).all()
            assert abs(np.log(p / q)).max() <= 1 + 1e-12


def test_monotone_scores_cost_half_as_much_for_the_same_accuracy() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1, monotone=True)
    assert mechanism.rate == 2 * Exponential(sensitivity=1, epsilon=1).rate
    for move in itertools.product((0, 1), repeat=3):
        p = mechanism.probabilities([0, 2, 5])
        q = mechanism.probabilities([a + b for a, b in zip([0, 2, 5], move, strict=True)])
        assert abs(np.log(p / q)).max() <= 1 + 1e-12
    # and the same would not hold for scores that move in different directions
    q = mechanism.probabilities([1, 1, 6])
    assert abs(np.log(p / q)).max() > 1.2


def test_probabilities_are_proportional_to_the_exponential_of_the_scores() -> None:
    mechanism = Exponential(sensitivity=2, epsilon=3)
    scores = [0.5, -1, 4, 4]
    weights = np.exp(0.75 * np.array(scores))
    assert mechanism.probabilities(scores) == pytest.approx(weights / weights.sum(), rel=1e-14)
    assert mechanism.probabilities([Fraction(1, 2), -1, 4, 4]) == pytest.approx(weights / weights.sum(), rel=1e-14)


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([0, 10**6], 1),
        ([-(2**63), 2**63 - 1], 1),
        (np.array([-(10**400), 10**400], dtype=object), 1),
        ([-(10**400), 10**400], 1),
        ([1e308, -1e308], 0),
        ([5e-324 * 0, -1e300, -1e301], 0),
        (np.array([2**64 - 1, 0], dtype=np.uint64), 0),
        ([Fraction(10**300), Fraction(-1, 3)], 0),
    ],
    ids=repr,
)
def test_scores_of_any_size_neither_overflow_nor_underflow(scores: object, best: int) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    assert all(mechanism.release(scores) == best for _ in range(20))
    probabilities = mechanism.probabilities(scores)
    assert probabilities[best] == 1
    assert probabilities.sum() == 1


def test_shifting_all_scores_changes_nothing() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    far = mechanism.probabilities(np.array([2**62, 2**62 + 1, 2**62 + 3]))
    assert far == pytest.approx(mechanism.probabilities([0, 1, 3]), rel=1e-14)


def test_a_single_option_is_always_chosen() -> None:
    assert Exponential(sensitivity=1, epsilon=1).release([7]) == 0
    assert Exponential(sensitivity=1, epsilon=1).probabilities([7]).tolist() == [1]


@pytest.mark.parametrize("size", [2, 10, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_utility_theorem_holds_for_the_worst_scores(size: int, confidence: float) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=2)
    for best in (1, size // 2):
        depth = mechanism.error(confidence, size=size, best=best)
        # all other options exactly that far below is the worst case
        probabilities = mechanism.probabilities([0.0] * best + [-depth] * (size - best))
        assert probabilities[best:].sum() <= (1 - confidence) * (1 + 1e-9)
    assert mechanism.error(confidence, size=size) == pytest.approx(math.log(size / (1 - confidence)), rel=1e-9)


def test_the_error_of_extreme_rates_is_a_number() -> None:
    assert Exponential(sensitivity=1, rate=5e-324).error(size=2) == math.inf
    assert Exponential(sensitivity=5e-324, epsilon=1e308).error(size=10**30) >= 0


def test_rate_and_epsilon_say_the_same() -> None:
    for monotone in (False, True):
        mechanism = Exponential(sensitivity=3, epsilon=Fraction(1, 7), monotone=monotone)
        assert Exponential(sensitivity=3, rate=mechanism.rate, monotone=monotone) == mechanism
        assert mechanism.event == ExponentialEvent(epsilon=Fraction(1, 7))
    counts = Sensitivity.count(neighbors="add-remove")
    assert Exponential(sensitivity=counts, epsilon=1) == Exponential(sensitivity=1, epsilon=1)


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"sensitivity": 1}, "exactly one of epsilon and rate"),
        ({"sensitivity": 1, "epsilon": 1, "rate": 1}, "exactly one of epsilon and rate"),
        ({"sensitivity": 0, "epsilon": 1}, "sensitivity must be"),
        ({"sensitivity": 1, "epsilon": 0}, "epsilon must be"),
        ({"sensitivity": 1, "epsilon": 1, "monotone": 1}, "monotone must be"),
        ({"sensitivity": Fraction(1, 10**600), "epsilon": 10**600}, "the rate epsilon / sensitivity must be"),
    ],
)
def test_what_makes_no_mechanism_is_refused(given_: dict[str, object], named: str) -> None:
    with pytest.raises(RequestError, match=named):
        Exponential(**given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "scores", [[], [[1, 2]], 5, "ab", [float("nan")], [True], [None], np.array(5), {1: 2}], ids=repr
)
def test_what_is_no_list_of_scores_is_refused(scores: object) -> None:
    for method in (Exponential(sensitivity=1, epsilon=1).release, Exponential(sensitivity=1, epsilon=1).probabilities):
        with pytest.raises(RequestError, match="scores must be"):
            method(scores)


@pytest.mark.parametrize(
    ("name", "given_"), [("size", {"size": 0}), ("best", {"size": 2, "best": 3}), ("best", {"size": 2, "best": 0})]
)
def test_sizes_are_checked(name: str, given_: dict[str, int]) -> None:
    with pytest.raises(RequestError, match=f"{name} must be"):
        Exponential(sensitivity=1, epsilon=1).error(0.9, **given_)


def test_the_best_of_a_million_candidates_is_found() -> None:
    scores = np.zeros(10**6)
    scores[123_456] = 100
    assert Exponential(sensitivity=1, epsilon=2).release(scores) == 123_456
