"""Intervals of differences cover by exact enumeration; tests and sample sizes agree with closed forms."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom, hypergeom, multinomial

from privet import local, survey
from privet.core.errors import BadParameter, RequestError
from privet.survey.differences import _added, _score_ends

COINS = local.KaryResponse.two_coins()
LEVEL = Fraction(19, 20)


def law(n: int, people: int) -> np.ndarray:
    """Return the exact law of the count of yes where so many of n people answer so."""
    own = binom.pmf(np.arange(people + 1), people, 0.75)
    return np.convolve(own, binom.pmf(np.arange(n - people + 1), n - people, 0.25))


@pytest.mark.parametrize("whose", ["population", "reports"])
@pytest.mark.parametrize("n", [10, 30])
def test_differences_of_two_classes_are_covered(whose: str, n: int) -> None:
    ends = np.array(
        [[_added(COINS, (a, n), (b, n), LEVEL, whose) for b in range(n + 1)] for a in range(n + 1)]
    )  # fmt: skip
    shares = [0, 0.1, 0.3, 0.5, 0.8, 1]
    for one in shares:
        for other in shares:
            if whose == "population":
                laws = [binom.pmf(np.arange(n + 1), n, 0.25 + share / 2) for share in (one, other)]
            else:
                laws = [law(n, round(n * share)) for share in (one, other)]
            chance = np.outer(laws[0], laws[1])
            inside = (ends[:, :, 0] <= other - one + 1e-9) & (ends[:, :, 1] >= other - one - 1e-9)
            assert chance[inside].sum() >= 0.95


def test_differences_of_the_same_people_are_covered() -> None:
    n = 30
    ends = {(up, down): _score_ends(up, down, n, LEVEL) for up in range(n + 1) for down in range(n + 1 - up)}
    for up, down in [(0, 0), (0.1, 0), (0.3, 0.2), (0, 0.5), (0.9, 0)]:
        same = 1 - up - down
        gained = up * 9 / 16 + down / 16 + same * 3 / 16
        lost = down * 9 / 16 + up / 16 + same * 3 / 16
        covered = sum(
            multinomial.pmf([one, other, n - one - other], n, [gained, lost, 1 - gained - lost])
            for (one, other), (low, high) in ends.items()
            if low <= gained - lost <= high
        )
        assert covered >= 0.94, (up, down)


def test_the_table_of_a_class() -> None:
    before, after = (survey.ResponseCounts(COINS, {"yes": yes, "no": 30 - yes}) for yes in (12, 21))
    change = survey.compare(before, after, "yes")
    assert change.value == pytest.approx(0.6)
    assert change.low < change.value < change.high
    chances = hypergeom.pmf(np.arange(31), 60, 33, 30)  # 33 of 60 said yes; 12 of them among the first 30
    assert change.p_value == pytest.approx(chances[chances <= chances[12] * (1 + 1e-9)].sum())
    assert change.epsilon == pytest.approx(np.log(3))
    assert "difference" in repr(change)
    assert survey.compare(before, before, "yes").p_value == 1
    narrow = survey.compare(before, after, "yes", covers="reports")
    assert narrow.high - narrow.low < change.high - change.low
    pairs = survey.PairedCounts(COINS, both=8, first=4, second=13, neither=5)
    twice = survey.compare_paired(pairs)
    assert twice.share_before[0] == pytest.approx(change.share_before[0])
    assert twice.value == pytest.approx(0.6)
    assert twice.epsilon == pytest.approx(2 * np.log(3))
    assert twice.p_value == pytest.approx(0.0490, abs=1e-4)  # McNemar's test of 4 and 13
    assert "same people" in repr(twice)


def test_surveys_with_other_odds_are_not_compared() -> None:
    one = survey.ResponseCounts(COINS, {"yes": 12, "no": 18})
    other = survey.ResponseCounts(local.KaryResponse(["no", "yes"], epsilon=1), {"yes": 12, "no": 18})
    with pytest.raises(RequestError, match="different odds"):
        survey.compare(one, other, "yes")
    with pytest.raises(BadParameter):
        survey.compare(one, one, "perhaps")
    with pytest.raises(BadParameter):
        survey.ResponseCounts(COINS, {"perhaps": 3})
    with pytest.raises(BadParameter):
        survey.ResponseCounts(COINS, {"yes": 3, "no": 4}, 3)


def test_counts_of_a_server_and_of_hands_are_the_same() -> None:
    server = COINS.server()
    server.add(COINS.client.reports(["yes"] * 40 + ["no"] * 60))
    counted = survey.ResponseCounts.of(server)
    assert counted.reports == 100
    for covers in ("reports", "population"):
        assert counted.estimate(covers=covers).low.tolist() == server.estimate(covers=covers).low.tolist()
    unary = local.OptimizedUnary(5, epsilon=1).server()
    unary.add(unary.oracle.client.reports([1] * 50))
    assert survey.ResponseCounts.of(unary).reports == 50


def test_the_exact_test_of_a_share() -> None:
    counted = survey.ResponseCounts(COINS, {"yes": 75, "no": 25})
    assert counted.p_value("yes", 1) == pytest.approx(1)
    assert counted.p_value("yes", 0) < 1e-20
    below = binom.cdf(25, 100, 0.375)  # of 100 noes where three quarters would say yes
    assert below < counted.p_value("yes", 0.75) < 3 * below


@pytest.mark.parametrize(("n", "share", "half"), [(30, 0.2, 0.341363), (1000, 0.2, 0.0591258), (10_000, 0.5, 0.0196)])
def test_sample_sizes_are_those_of_the_reference_table(n: int, share: float, half: float) -> None:
    assert survey.sample_size(COINS, half, share=share) == pytest.approx(n, abs=max(1, n * 1e-4))


def test_sample_sizes_of_a_class_and_of_the_worst_share() -> None:
    assert survey.sample_size(COINS, 0.1, share=0.5) == survey.sample_size(COINS, 0.1) == 385
    assert survey.sample_size(COINS, 0.1, covers="reports") == 289  # 1.96^2 * 0.75 / 0.01
    assert survey.sample_size(COINS, 0.1, confidence=0.99) > 385
