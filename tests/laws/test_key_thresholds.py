"""A key that only one unit holds shows with probability at most delta, for every number of keys that it may hold."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import pytest

from privet.core.scan import Discovery
from privet.mechanisms import Gaussian, Laplace
from privet.mechanisms.key_selection import threshold_for
from privet.planner.measures import Noise

SHIFT = 20
ONE = 2**SHIFT


def found_for(noise: Noise, discovery: Discovery, *, group: int, delta: Fraction) -> int:
    """Return the threshold for keys that are discovered so."""
    shared = {"most": discovery.most, "order": discovery.order, "shift": discovery.shift}
    return threshold_for(noise, **shared, group=group, delta=delta)


def noises(group: int, most: int, epsilon: float) -> list[tuple[Noise, Discovery]]:
    """Return both noises as a plan would choose them for keys, with how weights are shared."""
    return [
        (Laplace(sensitivity=group * ONE, epsilon=epsilon), Discovery(most, 1, SHIFT)),
        (Gaussian(sensitivity=group * ONE, rho=Fraction(epsilon) ** 2 / 2), Discovery(most, 2, SHIFT)),
    ]


def beyond(noise: Noise, value: int) -> float:
    """Return P[noise > value] for the noise as it is drawn on integers, from its definition."""
    if isinstance(noise, Laplace):
        a = math.exp(-1 / float(noise.scale))
        return a ** (value + 1) / (1 + a) if value >= 0 else 1 - a ** (-value) / (1 + a)
    # drawn on a fine grid and rounded: above value from value + 1/2 on
    return math.erfc((value + 0.5) / noise.sigma / math.sqrt(2)) / 2


def weight(discovery: Discovery, keys: int) -> int:
    return ONE // keys if discovery.order == 1 else math.isqrt(ONE * ONE // keys)


def shows(noise: Noise, threshold: int, weights: list[int]) -> float:
    """Return the probability that some key with these weights passes the threshold."""
    known = {weight: beyond(noise, threshold - weight) for weight in set(weights)}
    chances = [known[weight] for weight in weights]
    return -math.expm1(math.fsum(math.log1p(-chance) for chance in chances)) if max(chances, default=0) < 1 else 1.0


@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**4), Fraction(1, 10)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("most", [1, 2, 7, 300])
def test_the_keys_of_one_unit_show_with_probability_at_most_delta(most: int, epsilon: float, delta: Fraction) -> None:
    for noise, discovery in noises(1, most, epsilon):
        threshold = found_for(noise, discovery, group=1, delta=delta)
        chances = [shows(noise, threshold, [weight(discovery, t)] * t) for t in range(1, most + 1)]
        assert max(chances) <= delta
        assert max(chances) >= 0.95 * delta  # and the threshold is no higher than it must be


@pytest.mark.parametrize("delta", [Fraction(1, 10**6), Fraction(1, 20)])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize(("group", "most"), [(2, 1), (2, 3), (3, 2)])
def test_the_keys_of_a_group_show_with_probability_at_most_delta(
    group: int, most: int, epsilon: float, delta: Fraction
) -> None:
    choices = [held for t in range(most + 1) for held in combinations(range(group * most), t)]
    for noise, discovery in noises(group, most, epsilon):
        threshold = found_for(noise, discovery, group=group, delta=delta)
        worst = 0.0
        for units in product(choices, repeat=group):
            carried: dict[int, int] = {}
            for held in units:
                for key in held:
                    carried[key] = carried.get(key, 0) + weight(discovery, len(held))
            worst = max(worst, shows(noise, threshold, list(carried.values())))
        assert 0 < worst <= delta


@pytest.mark.parametrize("order", [1, 2])
def test_a_threshold_over_many_keys_bounds_the_one_found_key_by_key(order: int) -> None:
    delta, most = Fraction(1, 10**6), 5000
    noise, discovery = noises(1, most, 0.7)[order - 1]
    found = found_for(noise, discovery, group=1, delta=delta)
    chances = [
        shows(noise, found, [weight(discovery, t)] * t) for t in (*range(1, 100), *range(100, most + 1, 13), most)
    ]
    assert 0.95 * delta <= max(chances) <= delta


def test_a_lower_delta_or_more_keys_never_lower_the_threshold() -> None:
    for noise, discovery in noises(1, 5, 1.0):
        thresholds = [
            found_for(noise, Discovery(most, discovery.order, SHIFT), group=1, delta=Fraction(1, 10**power))
            for most in (1, 2, 5, 50, 500)
            for power in (2, 5, 9)
        ]
        by_delta = [thresholds[start : start + 3] for start in range(0, len(thresholds), 3)]
        assert all(row == sorted(row) for row in by_delta)
        assert all(list(column) == sorted(column) for column in zip(*by_delta, strict=True))
