"""Known answers for loss distributions: composition, sampling, trade-offs, computed independently elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from privet.accounting.events import ApproximateEvent, FinitePairEvent, PureEvent
from privet.accounting.pairs import (
    BoundedRangePair,
    DiscreteGaussianPair,
    GaussianPair,
    KaryResponsePair,
    LaplacePair,
    SampledPair,
)
from privet.accounting.pld.bounds import delta_bounds, epsilon_bounds, loss_distribution, pld_epsilon
from privet.accounting.tradeoff import region, tradeoff
from privet.core.event import Composed, Repeated
from worlds import BoundedPairEvent as PairEvent


def printed(value: float, digits: int) -> float:
    """Return half a unit of the last of the printed digits."""
    return 0.5 * 10.0 ** (math.floor(math.log10(value)) + 1 - digits)


def check(event, delta: float, reference: float, digits: int = 7, loose: float = 0.0) -> None:
    """Check that the bracket holds the reference to its printed rounding, and ends at most 0.1% above it.

    `loose` covers references that are themselves upper bounds from a lattice.
    """
    found, last = epsilon_bounds(event, delta), printed(reference, digits)
    assert found.lower <= reference + last
    assert reference * (1 - loose) - last <= found.upper <= 1.001 * reference
    assert found.upper <= 1.0005 * found.lower
    assert found.lower <= pld_epsilon(event, delta) <= 1.001 * reference


T3 = [
    (Fraction(1, 10), 1, (0.097999, 0.099998, 0.1)),
    (Fraction(1, 10), 10, (0.7382583, 0.9989781, 0.999999)),
    (Fraction(1, 10), 1000, (13.73441, 18.95029, 22.81938)),
    (Fraction(1, 2), 10, (4.521308, 4.998978, 4.999999)),
    (Fraction(1), 1, (0.997999, 0.999998, 1.0)),
    (Fraction(1), 10, (9.521308, 9.998978, 9.999999)),
    (Fraction(1), 100, (59.93608, 71.546, 79.42603)),
]


@pytest.mark.parametrize(("epsilon", "times", "row"), T3)
def test_laplace_noise_composed(epsilon, times, row):
    for delta, reference in zip((1e-3, 1e-6, 1e-9), row, strict=True):
        check(Repeated(PairEvent(LaplacePair(epsilon)), times), delta, reference, loose=1e-7)


T4 = [
    (1, 1, (4.3771781, 4.8865541, 6.173935)),
    (2, 1, (1.9930914, 2.2540847, 2.9097324)),
    (10, 10, (1.1993696, 1.3675715, 1.7880248)),
    (10, 100, (4.3771781, 4.8865541, 6.173935)),
    (50, 1000, (2.5943834, 2.9216006, 3.7454668)),
]


@pytest.mark.parametrize(("sigma", "times", "row"), T4)
def test_gaussian_noise_composed_is_closed_form(sigma, times, row):
    event = Repeated(PairEvent(GaussianPair(Fraction(1, sigma))), times)
    for delta, reference in zip((1e-5, 1e-6, 1e-9), row, strict=True):
        assert epsilon_bounds(event, delta).upper == pytest.approx(reference, abs=printed(reference, 8))


T7 = [
    ("0.01", "1", 1000, 1.82824, 1.41667),
    ("0.01", "1", 10000, 6.18772, 5.61152),
    ("0.01", "2", 1000, 0.622049, 0.579711),
    ("0.00426667", "1.1", 14063, 2.38171, 2.24368),
    ("0.004", "0.8", 5000, 2.4991, 1.95865),
    ("0.02", "1", 500, 2.77345, 1.97027),
]


@pytest.mark.parametrize(("rate", "sigma", "steps", "remove", "add"), T7)
def test_sampled_gaussian_in_both_directions(rate, sigma, steps, remove, add):
    event = Repeated(PairEvent(SampledPair(GaussianPair(1 / Fraction(sigma)), Fraction(rate))), steps)
    # the printed values come from a lattice of 1e-4, which adds up to 5e-5 of epsilon
    check(event, 1e-5, remove, digits=6, loose=5e-5)
    bracket = loss_distribution(event)
    for (low, high), reference in zip((bracket.forward, bracket.backward), (remove, add), strict=True):
        assert low.epsilon(1e-5) <= reference + printed(reference, 6)
        assert reference * (1 - 5e-5) <= high.epsilon(1e-5) <= 1.001 * reference


T34 = [
    (PureEvent(Fraction(math.log(3))), 1.0986123, (0.5, 0.33781968, 0.070429543)),
    (PairEvent(KaryResponsePair(Fraction(3, 5), Fraction(1, 10), 5)), 1.7917595, (0.5, 0.43512787, 0.32817182)),
    (FinitePairEvent((Fraction(1), Fraction(0)), (Fraction(1, 2), Fraction(1, 2))), math.inf, (0.5, 0.5, 0.5)),
]


@pytest.mark.parametrize(("event", "epsilon", "row"), T34)
def test_matrix_mechanisms(event, epsilon, row):
    assert epsilon_bounds(event, 0).upper == pytest.approx(epsilon, rel=1e-7)
    for at, reference in zip((0, 0.5, 1), row, strict=True):
        assert delta_bounds(event, at).upper == pytest.approx(reference, rel=1e-7)


def truncated_geometric(n: int, row: int) -> tuple[Fraction, ...]:
    """Return the law of the geometric mechanism of epsilon ln 2 on {0..n} with everything beyond the ends put there."""
    inner = [Fraction(1, 3) * Fraction(1, 2) ** abs(row - k) for k in range(n + 1)]
    inner[0], inner[n] = (Fraction(2, 3) * Fraction(1, 2) ** abs(row - k) for k in (0, n))
    return tuple(inner)


@pytest.mark.parametrize(
    ("gap", "epsilon", "row"),
    [(1, 0.69314718, (0.33333333, 0.11709291, 0.0)), (5, 3.4657359, (0.83333333, 0.77927323, 0.72007159))],
)
def test_truncated_geometric_mechanism(gap, epsilon, row):
    found = []
    for first in range(6 - gap):
        for one, other in ((first, first + gap), (first + gap, first)):
            found.append(FinitePairEvent(truncated_geometric(5, one), truncated_geometric(5, other)))
    assert max(epsilon_bounds(event, 0).upper for event in found) == pytest.approx(epsilon, rel=1e-7)
    for at, reference in zip((0, 0.5, 1), row, strict=True):
        worst = max(delta_bounds(event, at).upper for event in found)
        assert worst == pytest.approx(reference, rel=1e-7, abs=1e-12)


T36 = {
    0.01: (0.972817, 0.962817, 0.972817, 0.907638, 0.819151),
    0.05: (0.864086, 0.854086, 0.864086, 0.740489, 0.591203),
    0.25: (0.32043, 0.31043, 0.367879, 0.372397, 0.229734),
    0.5: (0.18394, 0.180261, 0.18394, 0.158655, 0.0786496),
}
CURVES = [
    PureEvent(1),
    ApproximateEvent(1, Fraction(1, 100)),
    PairEvent(LaplacePair(1)),
    PairEvent(GaussianPair(1)),
    Repeated(PairEvent(GaussianPair(1)), 2),
]


@pytest.mark.parametrize("column", range(5))
def test_tradeoff_functions(column):
    curve = tradeoff(CURVES[column])
    for alpha, row in T36.items():
        assert curve(alpha) == pytest.approx(row[column], abs=printed(row[column], 6))


def test_largest_advantages():
    assert tradeoff(PureEvent(1)).advantage() == pytest.approx(0.462117, abs=5e-7)
    assert tradeoff(PairEvent(GaussianPair(1))).advantage() == pytest.approx(0.382925, abs=5e-7)
    assert tradeoff(PairEvent(LaplacePair(1))).advantage() == pytest.approx(0.393469, abs=5e-7)
    assert region(1).corner() == pytest.approx(0.268941, abs=5e-7)


T43 = [
    ({"0.1": 10, "0.5": 4, "1": 1}, 3.9942531),
    ({"0.05": 50, "0.2": 20}, 4.2758929),
    ({"0.01": 1, "0.02": 1, "0.03": 1, "0.5": 1, "1": 1}, 1.5599829),
]


@pytest.mark.parametrize(("counts", "reference"), T43)
def test_different_pure_events_compose_optimally(counts, reference):
    event = Composed(tuple(Repeated(PureEvent(Fraction(epsilon)), times) for epsilon, times in counts.items()))
    check(event, 1e-6, reference, digits=8)


def test_laplace_and_gaussian_together():
    event = Composed(
        (
            Repeated(PairEvent(LaplacePair(Fraction(1, 5))), 10),
            Repeated(PairEvent(GaussianPair(Fraction(1, 10))), 20),
        )
    )
    check(event, 1e-6, 3.298957, digits=7, loose=1e-6)


T45 = [
    ("0.01", 1000, 1, 1.4147),
    ("0.01", 1000, 3, 0.8136),
    ("0.02", 2000, 1, 3.4466),
    ("0.02", 2000, 3, 1.4515),
    ("0.00426667", 4688, 1, 1.3066),
    ("0.00426667", 4688, 3, 0.7596),
]


@pytest.mark.parametrize(("rate", "steps", "epsilon", "sigma"), T45)
def test_calibrated_sampled_gaussian_meets_its_target(rate, steps, epsilon, sigma):
    def cost(noise):
        return epsilon_bounds(Repeated(PairEvent(SampledPair(GaussianPair(1 / noise), Fraction(rate))), steps), 1e-5)

    # sigma is printed to four decimals, and comes from a lattice that costs up to 3e-4 of epsilon
    assert cost(sigma).upper <= epsilon * 1.0001
    assert cost(sigma * (1 - 1e-3)).lower > epsilon


def test_exponential_mechanism_profile():
    row = {0.0: 0.244919, 0.2: 0.171943, 0.4: 0.10627, 0.6: 0.051981, 0.8: 0.014326, 1.0: 0.0}
    for at, reference in row.items():
        found = float(BoundedRangePair(1).forward(np.array([at]))[0])
        assert found == pytest.approx(reference, abs=5e-7)


@pytest.mark.parametrize(
    ("epsilon", "times", "pure"), [("0.1", 50, 3.1729), ("0.1", 200, 7.18559), ("0.5", 20, 9.9868), ("1", 10, 9.99998)]
)
def test_exponential_mechanisms_cost_less_than_pure_events(epsilon, times, pure):
    check(Repeated(PureEvent(Fraction(epsilon)), times), 1e-6, pure, digits=6, loose=1e-6)
    assert epsilon_bounds(Repeated(PairEvent(BoundedRangePair(Fraction(epsilon))), times), 1e-6).upper < 0.95 * pure


def test_few_exponential_mechanisms_cost_less_than_their_zcdp_conversion():
    assert epsilon_bounds(Repeated(PairEvent(BoundedRangePair(1)), 10), 1e-6).upper < 8.84589


@pytest.mark.parametrize(
    ("variance", "epsilon", "delta"),
    [(1, 1, 0.141351), (1, 3, 0.00184914), (4, 1, 0.00724878), (100, 0.3, 4.45648e-05)],
)
def test_discrete_gaussian_profile(variance, epsilon, delta):
    event = PairEvent(DiscreteGaussianPair(1, Fraction(variance)))
    assert delta_bounds(event, epsilon).upper == pytest.approx(delta, abs=printed(delta, 6))
