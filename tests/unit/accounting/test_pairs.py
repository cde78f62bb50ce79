"""Dominating pairs against sums and integrals in high precision, and the domination proof by brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mp

from privet.accounting.pairs import (
    ApproximatePair,
    BoundedRangePair,
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FailedPair,
    FinitePair,
    GaussianPair,
    KaryResponsePair,
    LaplacePair,
    ProfilePair,
    ResponsePair,
    SampledPair,
)
from privet.core.errors import BadParameter

PAIRS = [
    LaplacePair(1),
    LaplacePair(Fraction(1, 10)),
    GaussianPair(1),
    GaussianPair(0.01),
    GaussianPair(0.3, blur=1e-9),
    DiscreteLaplacePair(3, Fraction(2)),
    DiscreteLaplacePair(10**9, Fraction(10**9)),
    DiscreteGaussianPair(1, Fraction(4)),
    DiscreteGaussianPair(7, Fraction(2**18 + 1)),
    DiscreteGaussianPair(10**9, Fraction(10**18)),
    ResponsePair(Fraction(1, 2)),
    ApproximatePair(1, Fraction(1, 10**6)),
    KaryResponsePair(Fraction(3, 5), Fraction(1, 10), 5),
    FinitePair([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 8), Fraction(7, 8), Fraction(0)]),
    BoundedRangePair(1),
    ProfilePair(Fraction(1, 10)),
    FailedPair(LaplacePair(1), Fraction(1, 1000)),
    SampledPair(GaussianPair(1), Fraction(1, 100)),
    SampledPair(LaplacePair(1), Fraction(1, 10)),
]


def exactly(value: float) -> mpmath.mpf:
    return mpmath.mpf(value)


def at(pair, epsilon: float) -> float:
    return float(pair.forward(np.array([float(epsilon)]))[0])


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_a_curve_falls_is_convex_in_e_to_epsilon_and_ends_at_its_reach(pair):
    for curve, reach in zip((pair.forward, pair.backward), pair.reach(), strict=True):
        far = min(reach, 3.0) or 1.0
        epsilons = np.linspace(0, far, 400)
        values = curve(epsilons)
        assert np.all((values >= 0) & (values <= 1))
        assert np.all(np.diff(values) <= 1e-12)
        slopes = np.diff(values) / np.diff(np.exp(epsilons))
        assert np.all(np.diff(slopes) >= -1e-9)
        if math.isfinite(reach):
            assert curve(np.array([reach]))[0] == curve(np.array([reach + 5]))[0]


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_both_directions_agree_on_total_variation(pair):
    zero = np.zeros(1)
    assert pair.forward(zero)[0] == pytest.approx(pair.backward(zero)[0], rel=1e-11)


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    [
        (mu, (y + mu / 2) * mu)
        for mu in (1e-6, 0.01, 0.3, 0.499, 0.501, 1.0, 5.0, 30.0)
        for y in (-10.0, -0.4, 0.5, 3.0, 7.99, 8.01, 20.0, 36.0)
        if y + mu / 2 >= 0
    ],
)
def test_gaussian_curve_keeps_its_digits_in_the_tails(mu, epsilon):
    e, m = exactly(epsilon), exactly(mu)
    true = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
    assert true <= exactly(at(GaussianPair(mu), epsilon)) <= true * (1 + exactly(2e-12))


def test_blur_covers_densities_within_its_factor():
    mu, blur = 0.5, 0.01
    grid = np.linspace(-12, 12.5, 200001)
    wave = blur * np.where(grid > mu / 2, 1, -1)
    p = np.exp(-((grid - mu) ** 2) / 2 + wave) / math.sqrt(2 * math.pi)
    q = np.exp(-(grid**2) / 2 - wave) / math.sqrt(2 * math.pi)
    for epsilon in (0.0, 0.005, 0.1, 1.0, 2.0):
        blurred = np.sum(np.maximum(p - math.exp(epsilon) * q, 0)) * (grid[1] - grid[0])
        assert at(GaussianPair(mu), epsilon) < blurred <= at(GaussianPair(mu, blur), epsilon) * (1 + 1e-6)


def discrete_laplace(steps: int, scale: float, epsilon: float) -> mpmath.mpf:
    a = mpmath.exp(-1 / exactly(scale))
    width = int(60 * scale) + steps + 5
    terms = (a ** abs(x) - mpmath.exp(exactly(epsilon)) * a ** abs(x + steps) for x in range(-width, width))
    return sum(term for term in terms if term > 0) * (1 - a) / (1 + a)


@pytest.mark.parametrize(("steps", "scale"), [(1, 1.0), (3, 2.0), (5, 0.75), (10, 7.5)])
@pytest.mark.parametrize("part", [0.0, 0.1, 1 / 3, 0.6, 0.9])
def test_discrete_laplace_curve_equals_its_definition(steps, scale, part):
    epsilon = steps / scale * part
    true = discrete_laplace(steps, scale, epsilon)
    assert true <= exactly(at(DiscreteLaplacePair(steps, Fraction(scale)), epsilon)) <= true * (1 + exactly(3e-12))


def shifted(steps: int, scale: float, width: int = 60) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(-width, width + 1)
    a = math.exp(-1 / scale)
    return a ** np.abs(x - steps) * (1 - a) / (1 + a), a ** np.abs(x) * (1 - a) / (1 + a)


@pytest.mark.parametrize("shift", [(1, 1), (2, 1), (3, 2), (1, 4), (2, 2, 1), (1, 1, 1)])
@pytest.mark.parametrize("scale", [0.7, 1.5, 3.0])
def test_one_coordinate_with_the_whole_shift_dominates_a_vector(shift, scale):
    width = 60 if len(shift) == 2 else 25
    p, q = np.ones(1), np.ones(1)
    for steps in shift:
        one, other = shifted(steps, scale, width)
        p, q = np.multiply.outer(p, one).ravel(), np.multiply.outer(q, other).ravel()
    whole = DiscreteLaplacePair(sum(shift), Fraction(scale))
    for epsilon in np.linspace(0, sum(shift) / scale, 23):
        vector = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0)))
        assert vector <= at(whole, epsilon) + 1e-12


def test_the_vector_is_strictly_better_so_the_previous_law_is_not_empty():
    p, q = (np.multiply.outer(*sides).ravel() for sides in zip(shifted(2, 1.5), shifted(2, 1.5), strict=True))
    assert float(np.sum(np.maximum(p - math.e * q, 0))) < 0.95 * at(DiscreteLaplacePair(4, Fraction(3, 2)), 1.0)


def discrete_gaussian(steps: int, variance: Fraction, epsilon: float) -> mpmath.mpf:
    s2, e = mpmath.mpf(variance.numerator) / variance.denominator, exactly(epsilon)
    start = e * s2 / steps - exactly(steps) / 2
    total, x = mpmath.mpf(0), int(mpmath.floor(start)) + 1
    while True:
        term = mpmath.exp(-(exactly(x) ** 2) / (2 * s2)) * -mpmath.expm1(-(x - start) * steps / s2)
        total += term
        if x > 0 and term < total * mpmath.mpf(10) ** -16:
            break
        x += 1
    return total / mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s2)))


@pytest.mark.parametrize(
    ("steps", "variance"),
    [(1, Fraction(1)), (1, Fraction(1, 4)), (3, Fraction(4)), (50, Fraction(100)), (100, Fraction(9))],
)
@pytest.mark.parametrize("y", [-0.9, 0.3, 1.234, 5.1, 20.1])
def test_discrete_gaussian_curve_equals_its_definition(steps, variance, y):
    mu = steps / math.sqrt(variance)
    epsilon = max(0.0, (y + mu / 2) * mu)
    true = discrete_gaussian(steps, variance, epsilon)
    assert true <= exactly(at(DiscreteGaussianPair(steps, variance), epsilon)) <= true * (1 + exactly(3e-12))


@pytest.mark.parametrize("steps", [7, 3000])
@pytest.mark.parametrize("y", [3.3, 20.1])
def test_discrete_gaussian_curve_stays_exact_where_sums_become_integrals(steps, y):
    mu = steps / 512
    epsilon = (y + mu / 2) * mu
    for variance in (Fraction(2**18 - 1), Fraction(2**18 + 1)):
        true = discrete_gaussian(steps, variance, epsilon)
        assert true <= exactly(at(DiscreteGaussianPair(steps, variance), epsilon)) <= true * (1 + exactly(3e-12))


def test_positions_of_lattice_points_matter_at_small_scales():
    near = GaussianPair(Fraction(1, 2))
    assert abs(at(DiscreteGaussianPair(1, Fraction(4)), 1.0) / at(near, 1.0) - 1) > 0.05


def test_discrete_gaussian_of_any_scale_approaches_the_continuous_one():
    for steps in (10**6, 10**9, 10**13):
        ratio = at(DiscreteGaussianPair(steps, Fraction(steps) ** 2), 3.0) / at(GaussianPair(1), 3.0)
        assert abs(ratio - 1) < 1e-11


def test_a_larger_shift_is_easier_to_tell_apart():
    epsilons = np.linspace(0, 6, 50)
    curves = [DiscreteGaussianPair(steps, Fraction(9)).forward(epsilons) for steps in range(1, 6)]
    for less, more in itertools.pairwise(curves):
        assert np.all(less <= more)


def test_bounded_range_curve_is_the_supremum_over_two_point_pairs():
    epsilon = 1.3
    t = np.linspace(0, epsilon, 200001)[1:-1]
    for x in (0.0, 0.2, 0.7, 1.1):
        heavy = (math.exp(epsilon) - np.exp(t)) / math.expm1(epsilon)
        assert at(BoundedRangePair(epsilon), x) == pytest.approx(float(np.max(heavy * (1 - np.exp(x - t)))), rel=1e-9)


@pytest.mark.parametrize("rho", [1e-4, 0.1, 0.5, 3.0])
def test_zcdp_curve_lies_above_the_gaussian_that_has_it(rho):
    epsilons = np.linspace(0, 10 * rho + 5, 200)
    assert np.all(GaussianPair(math.sqrt(2 * rho)).forward(epsilons) <= ProfilePair(rho).forward(epsilons))


def test_zcdp_curve_is_the_curve_of_a_pair_also_across_zero():
    # mass at loss 0 is 1 - h(1) - 2 |h'(1)| for a symmetric pair, and must not be negative
    for rho in (1e-4, 0.1, 2.0):
        pair, near = ProfilePair(rho), 1e-6
        slope = (at(pair, 0.0) - at(pair, near)) / math.expm1(near)
        assert 1 - at(pair, 0.0) - 2 * slope > -1e-4


@pytest.mark.parametrize("rate", [0.01, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 0.004, 0.1, 0.3, 1.0])
def test_sampling_mixes_the_two_distributions_in_both_directions(rate, epsilon):
    p, q = shifted(2, 1.5)
    mixed = (1 - rate) * q + rate * p
    pair = SampledPair(DiscreteLaplacePair(2, Fraction(3, 2)), Fraction(rate))
    forward = float(np.sum(np.maximum(mixed - math.exp(epsilon) * q, 0)))
    backward = float(np.sum(np.maximum(q - math.exp(epsilon) * mixed, 0)))
    assert at(pair, epsilon) == pytest.approx(forward, rel=1e-9, abs=1e-15)
    assert float(pair.backward(np.array([epsilon]))[0]) == pytest.approx(backward, rel=1e-9, abs=1e-15)


def test_sampling_everyone_changes_nothing():
    epsilons = np.linspace(0, 2, 20)
    assert np.array_equal(SampledPair(LaplacePair(1), 1).forward(epsilons), LaplacePair(1).forward(epsilons))


def test_failure_adds_its_probability():
    assert at(FailedPair(LaplacePair(1), Fraction(1, 10)), 2.0) == pytest.approx(0.1, rel=1e-12)
    expected = 0.1 + 0.9 * (1 - math.exp(-0.5))
    assert at(FailedPair(LaplacePair(1), Fraction(1, 10)), 0.0) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LaplacePair(-1),
        lambda: GaussianPair(math.nan),
        lambda: DiscreteLaplacePair(-1, Fraction(1)),
        lambda: DiscreteGaussianPair(1, Fraction(0)),
        lambda: FinitePair([Fraction(1, 2)], [Fraction(1)]),
        lambda: FinitePair([Fraction(1)], [Fraction(1, 2), Fraction(1, 2)]),
        lambda: KaryResponsePair(Fraction(1, 2), Fraction(1, 4), 5),
        lambda: SampledPair(LaplacePair(1), 0),
        lambda: ApproximatePair(1, 2),
    ],
)
def test_impossible_parameters_are_refused_by_name(make):
    with pytest.raises(BadParameter):
        make()


@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("variance", ["1/3", "1/37", "1e-3", "7e-5", "1e-9", "3e-13", "1e-17", "1e-100"])
def test_a_discrete_gaussian_below_a_step_is_never_below_enumeration(steps, variance):
    exact = Fraction(variance)
    pair = DiscreteGaussianPair(steps, exact)
    with mp.workdps(400):
        half = -mp.mpf(exact.denominator) / (2 * exact.numerator)
        bells = {x: mp.exp(half * x**2) for x in range(-12, 13)}
        total = mp.fsum(bells.values())
        for j in range(-(steps // 2), 3):
            loss = float(Fraction(steps) * (2 * j + steps) / (2 * exact))  # of the outcome j
            near = [loss * (1 + sign * 2.0**-power) for power in (52, 49, 30, 4) for sign in (-1, 1)]
            for epsilon in (one for one in {loss, *near} if one >= 0):
                grown = mp.exp(mp.mpf(epsilon))
                gaps = (bells[x] - grown * bells.get(x + steps, mp.mpf(0)) for x in bells)
                true = mp.fsum(max(gap, 0) for gap in gaps) / total * (1 - mp.mpf(10) ** -30)
                stated = float(pair.forward(np.array([epsilon]))[0])
                # losses have the digits of two doubles, and the outcome's own weight counts to that part
                spare = bells[j] * loss * mp.mpf(2) ** -98 + mp.mpf("1e-320")
                assert true <= stated <= true * (1 + mp.mpf("1e-11")) + spare, (j, epsilon)
