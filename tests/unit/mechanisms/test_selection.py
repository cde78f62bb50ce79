"""Choosing: permute-and-flip, noisy maxima, the best k, gaps, and the two worked selections."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, chi2

from privet import accounting
from privet.accounting.events import PureEvent
from privet.core.errors import RequestError
from privet.core.event import Repeated
from privet.core.unit import Sensitivity
from privet.mechanisms import (
    Exponential,
    ExponentialEvent,
    NoisyMax,
    PermuteAndFlip,
    TopK,
    TopKWithGaps,
    best_price,
    best_threshold,
    correct_counts,
    evenly,
    revenues,
)

F = Fraction
LAWS = ("exponential", "gumbel", "laplace")
CHOOSERS: dict[str, Any] = {
    "PermuteAndFlip": PermuteAndFlip,
    **{f"NoisyMax {law}": partial(NoisyMax, law=law) for law in LAWS},
}
every = pytest.mark.parametrize("make", CHOOSERS.values(), ids=CHOOSERS)


def fits(seen: list[int], chances: list[float]) -> bool:
    observed, expected = np.array(seen, float), np.array(chances) * sum(seen)
    rare = expected < 10
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    return bool(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1) > 1e-8)


# One choice


def permuted(behind: list[float]) -> list[float]:
    """Return the law of permute-and-flip from its definition: every order, every flip."""
    chances = [0.0] * len(behind)
    for order in itertools.permutations(range(len(behind))):
        left = 1.0 / math.factorial(len(behind))
        for option in order:  # an option of the best score is always taken, so no order needs a second round
            chances[option] += left * math.exp(-behind[option])
            left *= 1 - math.exp(-behind[option])
    return chances


@pytest.mark.parametrize("scores", [[3, 2, 3, 0], [0, -1, -2, -8], [5], [1, 1, 1], [0, -0.5, -30]])
def test_permuting_and_flipping_is_noisy_max_by_exponential_noise(scores: list[float]) -> None:
    expected = permuted([0.75 * (max(scores) - score) for score in scores])
    for mechanism in (PermuteAndFlip(sensitivity=1, epsilon=1.5), NoisyMax(sensitivity=1, epsilon=1.5)):
        assert mechanism.probabilities(scores) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scores", [[3, 2, 3, 0], [0, -1, -2, -8], [1, 1, 1], [0, -0.5, -30], [0, -200]])
def test_the_odds_of_laplace_noise_are_its_integral(scores: list[float]) -> None:
    found = NoisyMax(sensitivity=1, epsilon=1.5, law="laplace").probabilities(scores)
    behind = [0.75 * (max(scores) - score) for score in scores]
    with mpmath.workdps(30):

        def below(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.exp(x) / 2 if x < 0 else 1 - mpmath.exp(-x) / 2

        edges = sorted({-mpmath.mpf(a) for a in behind})
        pieces = [edges[0] - 80, edges[0] - 20, *edges, edges[-1] + 20, edges[-1] + 80]
        for option, own in enumerate(behind):
            others = [a for place, a in enumerate(behind) if place != option]
            true = mpmath.quad(
                lambda z, own=own, others=others: (
                    mpmath.exp(-abs(z + own)) / 2 * mpmath.fprod(below(z + a) for a in others)
                ),
                pieces,
            )
            assert found[option] == pytest.approx(float(true), rel=1e-9)


@every
@pytest.mark.parametrize("scores", [[3, 2, 3, 0], [0.5, 0.25, -4.0], [F(1, 3), 1], [0] * 7])
def test_choices_have_the_probabilities_that_are_stated(make: Any, scores: list[Any]) -> None:
    mechanism = make(sensitivity=1, epsilon=1.5)
    drawn = Counter(mechanism.release(scores) for _ in range(3000))
    assert fits([drawn[option] for option in range(len(scores))], mechanism.probabilities(scores).tolist())


@every
@pytest.mark.parametrize(("monotone", "moves"), [(False, (-1, 0, 1)), (True, (0, 1))])
def test_no_choice_tells_more_than_the_claim(make: Any, monotone: bool, moves: tuple[int, ...]) -> None:
    mechanism = make(sensitivity=1, epsilon=1, monotone=monotone)
    worst = 0.0
    for scores in ([0, 0, 0], [0, 2, 5], [0, 9, 9], [0, 0, 12]):
        p = mechanism.probabilities(scores)
        for move in itertools.product(moves, repeat=3):
            q = mechanism.probabilities([a + b for a, b in zip(scores, move, strict=True)])
            worst = max(worst, float(abs(np.log(p / q)).max()))
    assert worst <= 1 + 1e-9
    assert worst >= 0.6
    assert mechanism.epsilon == 1


@every
def test_scores_that_move_both_ways_are_not_monotone(make: Any) -> None:
    mechanism = make(sensitivity=1, epsilon=1, monotone=True)
    p, q = mechanism.probabilities([0, 8, 8]), mechanism.probabilities([1, 7, 7])
    assert abs(np.log(p / q)).max() > 1.3


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    generator = np.random.default_rng(3)
    one, other = PermuteAndFlip(sensitivity=1, epsilon=1), Exponential(sensitivity=1, epsilon=1)
    for _ in range(200):
        scores = generator.integers(0, 12, int(generator.integers(2, 9)))
        assert one.probabilities(scores) @ scores >= other.probabilities(scores) @ scores - 1e-12


@every
@pytest.mark.parametrize("size", [2, 10, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_choice_falls_short_by_no_more_than_stated(make: Any, size: int, confidence: float) -> None:
    mechanism = make(sensitivity=1, epsilon=2)
    for best in (1, size // 2, size):
        depth = mechanism.error(confidence, size=size, best=best)
        scores = [0.0] * best + [-depth] * (size - best)
        if depth:
            assert mechanism.probabilities(scores)[best:].sum() <= (1 - confidence) * (1 + 1e-9)
    assert mechanism.error(0.9999, size=size) > mechanism.error(0.9, size=size)


def test_permute_and_flip_is_more_accurate_in_its_bound_too() -> None:
    for size in (2, 10, 10**6):
        mine = PermuteAndFlip(sensitivity=1, epsilon=1).error(size=size)
        assert mine < Exponential(sensitivity=1, epsilon=1).error(size=size)


def test_events_say_which_choices_compose_as_bounded_range() -> None:
    assert NoisyMax(sensitivity=1, epsilon=1, law="gumbel").event == ExponentialEvent(epsilon=F(1))
    assert NoisyMax(sensitivity=1, epsilon=1, law="laplace").event == PureEvent(F(1))
    assert NoisyMax(sensitivity=1, epsilon=1).event == PermuteAndFlip(sensitivity=1, epsilon=1).event == PureEvent(F(1))


def test_odds_do_not_overflow_for_scores_of_any_size() -> None:
    for make in CHOOSERS.values():
        mechanism = make(sensitivity=1, epsilon=1)
        for scores in ([0, 10**6], [-(2**63), 2**63 - 1], [-(10**400), 10**400], [-1e308, 1e308]):
            assert mechanism.probabilities(scores).tolist() == [0, 1]
            assert mechanism.release(scores) == 1
        assert mechanism.probabilities(np.zeros(3000)) == pytest.approx(np.full(3000, 1 / 3000))


# The best k


def test_one_shot_is_peeling() -> None:
    scores, mechanism = [3, 1, 2, 0], TopK(k=2, sensitivity=1, epsilon=4)
    weights = np.exp(np.array(scores, float))  # epsilon / k / 2 = 1
    chances = {
        (i, j): weights[i] / weights.sum() * weights[j] / (weights.sum() - weights[i])
        for i, j in itertools.permutations(range(4), 2)
    }
    drawn = Counter(mechanism.release(scores) for _ in range(8000))
    assert fits([drawn[pair] for pair in chances], list(chances.values()))
    one = Exponential(sensitivity=1, epsilon=2)
    assert mechanism.event == Repeated(one.event, 2)
    assert mechanism.rate == one.rate


def test_all_options_come_out_in_some_order() -> None:
    assert sorted(TopK(k=5, sensitivity=1, epsilon=1).release([5, 1, 2, 9, 9])) == [0, 1, 2, 3, 4]
    assert TopK(k=2, sensitivity=1, epsilon=1).release([1e6, -1e6, 2e6]) == (2, 0)


def test_a_delta_buys_more_for_each_of_many_choices() -> None:
    plain, approximate = TopK(k=50, sensitivity=1, epsilon=1), TopK(k=50, sensitivity=1, epsilon=1, delta=1e-6)
    assert plain.epsilon == 1
    assert accounting.epsilon(approximate.event, 1e-6) <= 1
    assert approximate.rate > 3 * plain.rate
    assert TopK(k=1, sensitivity=1, epsilon=1, delta=1e-6).cost >= 1


def test_the_best_k_tell_what_each_choice_costs() -> None:
    assert repr(TopK(k=4, sensitivity=1, epsilon=1)) == "TopK(k=4, sensitivity=1, epsilon=0.25 each)"
    assert repr(TopKWithGaps(k=4, sensitivity=1, epsilon=1)) == "TopKWithGaps(k=4, sensitivity=1, epsilon=1)"


def test_all_k_choices_fall_short_by_no_more_than_stated() -> None:
    mechanism = TopK(k=3, sensitivity=1, epsilon=3)
    depth = mechanism.error(0.9, size=20)
    scores = [0.0] * 3 + [-depth] * 17
    short = sum(max(mechanism.release(scores)) >= 3 for _ in range(2000))
    assert short <= 300


# Gaps


def test_the_winner_s_gap_has_the_law_of_the_difference() -> None:
    mechanism = TopKWithGaps(k=1, sensitivity=1, epsilon=2)  # noise of scale 1
    drawn = [mechanism.release([0, 0]) for _ in range(5000)]
    edges = np.array([0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6])
    # |L1 - L2| for two Laplace variates of scale 1: P[> x] = (2 + x) e^-x / 2
    chances = -np.diff([*((2 + x) / 2 * math.exp(-x) for x in edges), 0.0])
    seen = np.bincount(np.searchsorted(edges, [r.gaps[0] for r in drawn], side="right") - 1, minlength=9)
    assert fits(seen.tolist(), chances.tolist())
    assert fits([sum(r.indices[0] == i for r in drawn) for i in (0, 1)], [0.5, 0.5])


@pytest.mark.parametrize(
    ("k", "monotone", "one", "other"),
    [(1, False, [0, 1, 1], [1, 0, 0]), (2, False, [2, 2, 0], [1, 1, 1]), (1, True, [0, 0, 0], [0, 1, 1])],
)
def test_gaps_come_free(k: int, monotone: bool, one: list[int], other: list[int]) -> None:
    # Winners, their order and their binned gaps together stay within the claim; sampled, with exact confidence limits.
    mechanism = TopKWithGaps(k=k, sensitivity=1, epsilon=1, monotone=monotone)
    runs, width = 4000, float(1 / mechanism.rate)

    def label(scores: list[int]) -> tuple[Any, ...]:
        ranking = mechanism.release(scores)
        return ranking.indices, tuple(min(3, int(gap / width)) for gap in ranking.gaps)

    counts = [Counter(label(scores) for _ in range(runs)) for scores in (one, other)]
    outcomes = set(counts[0]) | set(counts[1])
    alarm = 1e-8 / len(outcomes)
    losses = []
    for a, b in (counts, counts[::-1]):
        for outcome in outcomes:
            if a[outcome]:
                low = beta.ppf(alarm, a[outcome], runs - a[outcome] + 1)
                high = beta.isf(alarm, b[outcome] + 1, runs - b[outcome])
                losses.append(math.log(low / high))
    assert max(losses) <= 1


def test_the_noise_of_gaps_grows_with_k() -> None:
    for k in (1, 2, 7):
        mechanism = TopKWithGaps(k=k, sensitivity=3, epsilon=F(1, 2))
        assert 1 / mechanism.rate == 2 * k * 3 / F(1, 2)
        assert mechanism.event.pure() == F(1, 2)
        assert 1 / TopKWithGaps(k=k, sensitivity=3, epsilon=F(1, 2), monotone=True).rate == k * 3 / F(1, 2)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_gaps_improve_measurements_as_published(k: int) -> None:
    # Far apart, so that selection itself tells nothing: the error falls to (1 + k) / (2 k) of what it was.
    mechanism = TopKWithGaps(k=k, sensitivity=1, epsilon=1, monotone=True)
    scores = np.arange(k + 1) * 10_000
    generator, plain, improved = np.random.default_rng(k), [], []
    for _ in range(400):
        ranking = mechanism.release(scores)
        truth = scores[list(ranking.indices)]
        measured = truth + generator.laplace(scale=k, size=k)
        estimates = mechanism.improve(ranking, measured, variance=2 * k**2)
        plain.append(np.mean((measured - truth) ** 2))
        improved.append(np.mean((np.array(estimates) - truth) ** 2))
    assert np.mean(improved) / np.mean(plain) == pytest.approx((1 + k) / (2 * k), abs=0.15)


# Worked selections


def test_revenues_are_exact() -> None:
    assert revenues([1, 1, 3.01], [1, 1.01, 3.01, 3.02]) == [3, F(1.01), F(3.01), 0]
    assert revenues([], [5]) == [0]
    assert revenues(np.array([2, 2, 3]), (2, F(5, 2), 0)) == [6, F(5, 2), 0]


def test_one_bidder_moves_no_revenue_by_more_than_the_largest_price() -> None:
    generator, prices = np.random.default_rng(1), [1, 2.5, 7]
    for _ in range(100):
        bids = generator.integers(0, 9, 6).tolist()
        less = revenues(bids[1:], prices)
        more = revenues(bids, prices)
        assert all(0 <= b - a <= 7 for a, b in zip(less, more, strict=True))


@pytest.mark.parametrize("by", [Exponential, PermuteAndFlip, NoisyMax])
def test_the_best_price_is_found_and_given_back_as_it_came(by: Any) -> None:
    bids = [10.0] * 500 + [2.0] * 100
    price = best_price(bids, [1, 2.0, F(10), 11], 5, by=by)
    assert price == 10
    assert isinstance(price, Fraction)
    assert best_price(bids, [1, 2.0, 10.0, 11], 5, neighbors="add-remove", by=by) == 10.0


def test_prices_are_chosen_with_the_odds_of_the_exponential_mechanism() -> None:
    drawn = Counter(best_price([1, 1, 3.01], [1, 2, 3, 4], 1) for _ in range(3000))
    chances = Exponential(sensitivity=4, epsilon=1).probabilities([3, 2, 3, 0])
    assert fits([drawn[price] for price in (1, 2, 3, 4)], chances.tolist())


def test_a_stump_s_threshold_is_found() -> None:
    values, labels = list(range(1000)), [value >= 600 for value in range(1000)]
    assert correct_counts(values, labels, [0, 600, 1000]) == [400, 1000, 600]
    assert best_threshold(values, labels, range(0, 1000, 100), 2) == 600
    assert best_threshold(np.array(values), np.array(labels), [1, 600], 2, by=PermuteAndFlip) == 600
    assert correct_counts([1.5], [0], [F(3, 2)]) == [0]


def test_a_grid_of_options_is_exact() -> None:
    assert evenly(0, 1, options=5) == [0, F(1, 4), F(1, 2), F(3, 4), 1]
    assert evenly(-0.5, 0.5, options=2) == [F(-1, 2), F(1, 2)]


# What is refused


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: PermuteAndFlip(sensitivity=1), "PermuteAndFlip takes exactly one of epsilon and rate"),
        (lambda: NoisyMax(sensitivity=1, epsilon=1, law="gauss"), "law must be"),  # type: ignore[arg-type]
        (lambda: NoisyMax(sensitivity=1, epsilon=1, monotone="yes"), "monotone must be"),  # type: ignore[arg-type]
        (lambda: TopK(k=0, sensitivity=1, epsilon=1), "k must be an integer of at least 1"),
        (lambda: TopK(k=2, sensitivity=0, epsilon=1), "sensitivity must be"),
        (lambda: TopK(k=2, sensitivity=1, epsilon=0), "epsilon must be"),
        (lambda: TopK(k=2, sensitivity=1, epsilon=1, delta=1), "delta must be"),
        (lambda: TopK(k=3, sensitivity=1, epsilon=1).release([1, 2]), "at least 3 options"),
        (lambda: TopKWithGaps(k=2, sensitivity=1, epsilon=1).release([1, 2]), "at least 3 options"),
        (lambda: TopKWithGaps(k=1.5, sensitivity=1, epsilon=1), "k must be"),  # type: ignore[arg-type]
        (lambda: TopK(k=3, sensitivity=1, epsilon=1).error(size=2), "size must be"),
        (lambda: best_price([1], [], 1), "at least one number"),
        (lambda: best_price([1], "12", 1), "prices must be a list"),
        (lambda: best_price([1], [-1, 2], 1), "at least 0"),
        (lambda: best_price([1], [0], 1), "not all 0"),
        (lambda: best_price([1], [math.inf], 1), "each of the prices must be"),
        (lambda: best_price([math.nan], [1], 1), "bids must be"),
        (lambda: best_price([1], [1], 1, neighbors="both"), "neighbors must be"),  # type: ignore[arg-type]
        (lambda: best_price([1], [1], 0), "epsilon must be"),
        (lambda: best_threshold([1], [1, 0], [1], 1), "as many as there are values"),
        (lambda: best_threshold([1], [2], [1], 1), "labels must be"),
        (lambda: best_threshold([1], "1", [1], 1), "labels must be"),
        (lambda: best_threshold([[1]], [1], [1], 1), "values must be"),
        (lambda: evenly(1, 1, options=3), "low must be below high"),
        (lambda: evenly(0, 1, options=1), "options must be"),
    ],
)
def test_what_makes_no_choice_is_refused(call: Any, named: str) -> None:
    with pytest.raises(RequestError, match=named):
        call()


def test_measurements_must_match_the_winners() -> None:
    mechanism = TopKWithGaps(k=2, sensitivity=1, epsilon=1)
    with pytest.raises(RequestError, match="each of the 2 winners"):
        mechanism.improve(mechanism.release([1, 2, 3]), [1.0], variance=1)


def test_sensitivity_may_be_a_value_that_names_its_relation() -> None:
    counts = Sensitivity.count(neighbors="add-remove")
    assert PermuteAndFlip(sensitivity=counts, epsilon=1) == PermuteAndFlip(sensitivity=1, epsilon=1)
