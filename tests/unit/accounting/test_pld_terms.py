"""The lattice, the transform and their error terms: each term is needed, and with all of them the bound holds."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from privet.accounting.pairs import (
    BoundedRangePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FinitePair,
    GaussianPair,
    LaplacePair,
    ProfilePair,
    ResponsePair,
    SampledPair,
)
from privet.accounting.pld.bounds import remaining
from privet.accounting.pld.discretise import Extent, Lattice, extent, lower, upper
from privet.accounting.pld.distribution import (
    LossPart,
    LossWindow,
    _Factor,
    _joined,
    _multiplied,
    compose,
    compose_lower,
    compose_upper,
    support,
)

PAIRS = [
    LaplacePair(1),
    GaussianPair(1),
    GaussianPair(0.05),
    ResponsePair(Fraction(1, 2)),
    DiscreteLaplacePair(3, Fraction(2)),
    DiscreteGaussianPair(1, Fraction(4)),
    BoundedRangePair(1),
    ProfilePair(Fraction(1, 10)),
    SampledPair(GaussianPair(1), Fraction(1, 100)),
    SampledPair(LaplacePair(1), Fraction(1, 10)),
    FinitePair([Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]),
]
PROBES = (1.0, 1.0)


def curve(lattice, epsilons):
    losses = lattice.losses()
    finite = [float(np.sum(lattice.masses * np.maximum(-np.expm1(x - losses), 0))) for x in epsilons]
    return np.array(finite) + lattice.infinite + lattice.truncated


def both_signs(pair):
    """Return epsilons of both signs with the pair's curve there, once in each direction."""
    rng = np.random.default_rng(7)
    found = []
    for ahead, behind in ((pair.forward, pair.backward), (pair.backward, pair.forward)):
        positive = np.concatenate(([0.0], rng.uniform(0, 2.0, 40)))
        negative = -rng.uniform(0, 2.0, 40)
        left = -np.expm1(negative) + np.exp(negative) * behind(-negative)
        found.append((np.concatenate((positive, negative)), np.concatenate((ahead(positive), left))))
    return found


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("step", [0.05, 0.0103, 1e-3])
def test_upper_lattice_lies_above_the_curve_and_lower_lattice_below_everywhere(pair, step):
    reaches = extent(pair, 1e-12)
    for high, low, (epsilons, true) in zip(
        upper(pair, step, reaches), lower(pair, step, reaches), both_signs(pair), strict=True
    ):
        assert np.all(curve(high, epsilons) >= true * (1 - 1e-11) - 1e-15)
        assert np.all(curve(low, epsilons) <= true * (1 + 1e-11) + 1e-15)


@pytest.mark.parametrize("pair", PAIRS[:10], ids=repr)
def test_lattice_error_falls_with_the_square_of_the_step(pair):
    aligned = pair.reach()[0] if math.isfinite(pair.reach()[0]) else 1.0
    reaches, gaps = extent(pair, 1e-15), []
    for cells in (96, 384):
        step = aligned / cells
        (high, _), (low, _) = upper(pair, step, reaches), lower(pair, step * (1 - 2.0**-22), reaches)
        epsilons = np.linspace(0, aligned, 20)
        gaps.append(float(np.max(curve(high, epsilons) - curve(low, epsilons))))
    assert gaps[1] < max(gaps[0] / 6, 3e-7)


def test_upper_lattice_is_sound_for_a_curve_with_noise():
    class Noisy(LaplacePair):
        def forward(self, epsilon):
            return super().forward(epsilon) * (1 + 1e-5 * np.abs(np.sin(1e7 * epsilon)))

    pair = Noisy(1)
    (lattice, _) = upper(pair, 1e-3, extent(pair, 0))
    epsilons = np.linspace(0, 1, 300)
    assert np.all(lattice.masses >= 0)
    assert np.all(curve(lattice, epsilons) >= LaplacePair(1).forward(epsilons) * (1 - 1e-12))


def truth(pair, epsilon):
    return float(pair.forward(np.array([epsilon]))[0])


def test_without_the_truncation_term_the_bound_is_wrong():
    pair, step = GaussianPair(1), 0.01
    reaches = Extent(1.5, 1.5)
    parts = [LossPart(upper(pair, step, reaches)[0], 2)]
    made = compose_upper(parts, support(parts), 0.0, PROBES)
    exact = truth(GaussianPair(math.sqrt(2)), 2.0)
    assert made.truncation > 0
    assert made.delta(2.0) >= exact
    assert dataclasses.replace(made, truncation=0.0).delta(2.0) < exact


def test_without_the_aliasing_term_the_bound_is_wrong():
    pair, step = LaplacePair(Fraction(1, 2)), 0.5 / 64
    parts = [LossPart(upper(pair, step, extent(pair, 0))[0], 10)]
    whole = compose_upper(parts, support(parts), 0.0, PROBES)
    narrow = compose_upper(parts, LossWindow(-200, 150), 0.0, PROBES)
    exact = compose_lower(
        [LossPart(lower(pair, step * (1 - 2.0**-22), extent(pair, 0))[0], 10)], support(parts), 0.0, PROBES
    )
    assert whole.aliasing == 0
    assert narrow.delta(0.9) >= exact.delta(0.9)
    assert dataclasses.replace(narrow, aliasing=0.0).delta(0.9) < exact.delta(0.9)


def all_heads(epsilon: float, times: int) -> float:
    """Return delta of randomised responses at half a loss below the largest, which only one outcome exceeds."""
    return (1 / (1 + math.exp(-epsilon))) ** times * -math.expm1(-epsilon / 2)


def test_without_the_rounding_term_the_bound_is_wrong_for_tiny_deltas():
    broken = 0
    heads = 1 / (1 + math.exp(-0.25))
    for times in range(40, 80):
        parts = [LossPart(Lattice(0.25, -1, np.array([1 - heads, 0.0, heads])), times)]
        made = compose_upper(parts, support(parts), 0.0, PROBES)
        epsilon, exact = 0.25 * (times - 0.5), all_heads(0.25, times)
        assert made.delta(epsilon) >= exact
        broken += dataclasses.replace(made, rounding=0.0).delta(epsilon) < exact * (1 - 1e-9)
    assert broken > 0


def test_a_tilt_makes_tiny_deltas_exact_again():
    pair, times = ResponsePair(Fraction(1, 4)), 300
    parts = [LossPart(upper(pair, 0.25, extent(pair, 0))[0], times)]
    epsilon, exact = 0.25 * (times - 0.5), all_heads(0.25, times)
    assert exact < 1e-70
    plain = compose_upper(parts, support(parts), 0.0, PROBES)
    tilted = compose_upper(parts, support(parts), 40.0, PROBES)
    assert plain.delta(epsilon) > 1e-16
    assert exact <= tilted.delta(epsilon) < exact * (1 + 1e-6)


def test_mass_that_wraps_from_below_is_taken_off_the_lower_bound():
    pair, step = LaplacePair(Fraction(1, 2)), 0.5 / 64
    reaches = extent(pair, 0)
    parts = [LossPart(lower(pair, step, reaches)[0], 10)]
    narrow = compose_lower(parts, LossWindow(-20, 700), 0.0, PROBES)
    high = [LossPart(upper(pair, step, reaches)[0], 10)]
    exact = compose_upper(high, support(high), 0.0, PROBES)
    assert narrow.delta(2.0) <= exact.delta(2.0)
    assert dataclasses.replace(narrow, aliasing=0.0).delta(2.0) > exact.delta(2.0)


def test_infinite_masses_compose_as_one_minus_the_product():
    pair = FinitePair([Fraction(1, 10), Fraction(9, 10)], [Fraction(0), Fraction(1)])
    parts = [LossPart(upper(pair, 0.01, extent(pair, 0))[0], 7)]
    made = compose_upper(parts, support(parts), 0.0, PROBES)
    assert made.infinite == pytest.approx(1 - 0.9**7, rel=1e-10)
    assert made.epsilon(0.5) == math.inf


def test_grouping_many_factors_changes_nothing_but_the_speed(monkeypatch):
    pairs = [LaplacePair(Fraction(k, 100)) for k in range(1, 80)]
    parts = [LossPart(upper(pair, 1e-2, extent(pair, 0))[0], 1 + k % 3) for k, pair in enumerate(pairs)]
    window = LossWindow(-2000, 2500)
    grouped = compose(parts, window, 0.5, PROBES)
    monkeypatch.setattr("privet.accounting.pld.distribution._MIN_GROUPED", 10**6)
    single = compose(parts, window, 0.5, PROBES)
    apart = float(np.linalg.norm(grouped.masses - single.masses))
    assert apart <= grouped.rounding + single.rounding
    assert grouped.rounding < 1e-10


def test_windows_smaller_than_an_event_fold_it_around():
    pair = LaplacePair(1)
    parts = [LossPart(upper(pair, 0.01, extent(pair, 0))[0], 1)]
    made = compose(parts, LossWindow(50, 99), 0.0, PROBES)
    assert float(np.sum(made.masses)) == pytest.approx(1.0, rel=1e-12)


def blemished(times: int, size: float) -> tuple[list[_Factor], list[_Factor]]:
    """Return factors, and the same with masses that are off by so much in sum."""
    exact, off = np.array([0.5, 0.25, 0.25]), np.array([0.5 + size / 2, 0.25 - size / 2, 0.25])
    other = _Factor(np.array([0.75, 0.25]), -1, 2, 0.0)
    return [_Factor(exact, 1, times, 0.0), other], [_Factor(off, 1, times, size), other]


@pytest.mark.parametrize("times", [1, 3, 40])
@pytest.mark.parametrize("size", [1e-3, 1e-9])
def test_what_factors_are_off_by_is_carried_into_the_error_of_their_product(times: int, size: float) -> None:
    exact, off = blemished(times, size)
    wanted, found = _multiplied(exact, 128)[0], _multiplied(off, 128)
    assert np.linalg.norm(found[0] - wanted) <= found[1]
    assert found[1] <= 4 * times * size
    together = _joined(off, 128)
    assert np.sum(np.abs(together.weights - _joined(exact, 128).weights)) <= together.blemish


def test_what_failures_leave_of_delta_is_no_more_than_their_part_allows() -> None:
    for delta, failure in ((Fraction(1, 100), 0.005), (Fraction(1, 10**6), 2.0**-30), (Fraction(1, 2), 0.25)):
        left = Fraction(remaining(delta, failure))
        lost = Fraction(failure)
        assert lost + (1 - lost) * left <= delta
        assert left > 0
    assert remaining(Fraction(1, 100), 0.01) == remaining(Fraction(1, 100), 0.5) == 0
