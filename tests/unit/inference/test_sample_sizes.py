"""How many people two groups need: the power that is promised is the one that is simulated."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.core.errors import RequestError
from privet.inference import needed
from privet.inference.proportion_tests import CountedShare, ShareTest, TwoShares, power_of_two
from privet.mechanisms.laws import DiscreteLaplace

RUNS = 120


def simulated(shares: tuple[float, float], people: int, scale: int) -> float:
    """Return how often the two-sided test rejects; the seed is fixed, so that nothing fails by chance."""
    draw, law, found = np.random.default_rng(5), DiscreteLaplace(scale=Fraction(scale)), 0
    fall = 1 - np.exp(-1 / scale)
    for _ in range(RUNS):
        noise = draw.geometric(fall, 2) - draw.geometric(fall, 2)
        counts = [int(draw.binomial(people, share) + z) for share, z in zip(shares, noise, strict=True)]
        first, second = (CountedShare(one, law, people=people) for one in counts)
        both = TwoShares(first, second)
        found += 2 * min(both.chance(0.0, side, 3) for side in (1, -1)) <= 0.05
    return found / RUNS


@pytest.mark.parametrize(("shares", "people", "scale"), [((0.4, 0.3), 400, 2), ((0.1, 0.2), 250, 5)])
def test_the_power_of_two_groups_is_the_simulated_one(shares: tuple[float, float], people: int, scale: int) -> None:
    law = DiscreteLaplace(scale=Fraction(scale))
    computed = power_of_two(shares, people, law, ShareTest(shares[1]), 0.05)
    # the seed is fixed: two standard errors of 120 runs
    assert 0.3 < computed < 0.95
    assert abs(computed - simulated(shares, people, scale)) < 0.09


def test_two_groups_need_as_many_people_as_the_power_says() -> None:
    many = needed(equals=0.3, when=0.4, epsilon=0.5, groups=2)
    law = DiscreteLaplace(scale=Fraction(2))
    powers = [power_of_two((0.4, 0.3), n, law, ShareTest(0.3), 0.05) for n in (int(many), int(many * 0.95))]
    assert powers[0] >= 0.8 > powers[1]
    # without noise the textbook's two-sample formula says 356, and the test of the worst share some more
    assert 356 < many < 500
    assert needed(equals=0.3, when=0.4, epsilon=0.05, groups=2) > 2 * many
    assert needed(equals=0.3, when=0.4, epsilon=0.5, groups=2, alternative="greater") < many
    turned = needed(equals=0.4, when=0.3, epsilon=0.5, groups=2)
    assert turned == pytest.approx(many, rel=0.02)
    enough = needed(equals=0.3, when=0.4, people=500, groups=2)
    assert 0.1 < enough < 0.5


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"groups": 3, "epsilon": 1}, "groups"),
        ({"groups": 2, "epsilon": 1, "delta": 1e-6}, "no delta"),
        ({"groups": 2, "people": 20}, "ask more"),
        ({"groups": 2, "people": 100, "epsilon": 1}, "either"),
        ({"groups": True, "epsilon": 1}, "groups"),
    ],
)
def test_what_two_groups_cannot_have_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        needed(equals=0.3, when=0.4, **given)
