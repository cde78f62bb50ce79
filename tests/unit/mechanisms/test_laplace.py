"""The Laplace mechanism: what is drawn is never easier to tell apart than its event says."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.core.errors import BadParameter, RequestError
from privet.core.numbers import float_up
from privet.core.unit import Sensitivity
from privet.mechanisms import DiscreteLaplaceEvent, Laplace, LaplaceEvent
from privet.mechanisms import laplace as module
from privet.mechanisms.lattice import read_numbers, step_of, to_grid

EPSILONS = np.array([0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 1.3, 1.7, 2.2, 3.0])


def mass(scale: float, shift: int, places: np.ndarray) -> np.ndarray:
    """Return the probabilities of discrete Laplace noise at integer places, moved by a shift."""
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(places - shift)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def drawn_curve(scale: float, shifts: tuple[int, ...]) -> np.ndarray:
    """Return the exact curve of independent noise on a vector that moves by these steps, by summation."""
    reach = math.ceil((34, 20, 18)[len(shifts) - 1] * scale) + sum(shifts)
    places = np.arange(-reach, reach + 1)
    p, q = np.ones(1), np.ones(1)
    for shift in shifts:
        p = np.outer(p, mass(scale, 0, places)).ravel()
        q = np.outer(q, mass(scale, shift, places)).ravel()
    return np.array([hockey_stick(p, q, epsilon) for epsilon in EPSILONS])


@pytest.mark.parametrize("grid", ["whole", "fine"])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, Fraction(1, 2)), (3, 3), (Fraction(5, 3), 2)])
@pytest.mark.parametrize(("steps", "bits", "size"), [(1, 0, 1), (2, 1, 1), (3, 0, 1), (5, 3, 1), (1, 0, 2), (2, 0, 2)])
def test_the_event_dominates_what_is_drawn_on_a_coarse_fine_grid(  # type: ignore[no-untyped-def]
    grid, sensitivity, epsilon, steps, bits, size, monkeypatch
) -> None:
    # With so few steps everything can be summed, and a grid that is not fine at all must still be paid for.
    monkeypatch.setattr(module, "_FINE_STEPS", steps)
    monkeypatch.setattr(module, "_FINE_BITS", bits)
    monkeypatch.setattr(module, "_SHARE_BITS", bits)
    if grid == "whole" and Fraction(sensitivity).denominator != 1:
        return
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon, grid=grid)
    exponent, scale = mechanism._fine(size)
    most = math.ceil(mechanism.sensitivity / step_of(exponent)) + size - 1
    stated = mechanism.event.pair().forward(EPSILONS)
    assert mechanism.event.pure() == mechanism.sensitivity / mechanism.scale == Fraction(epsilon)
    assert scale < (200 if size == 1 else 40), "the sum would be too large"
    splits = [(most,)] if size == 1 else [(k, most - k) for k in range(most // 2 + 1)]
    for shifts in splits:
        assert (drawn_curve(float(scale), shifts) <= stated * (1 + 1e-9) + 1e-8).all(), shifts
    # The pair is not merely an upper bound: at its breakpoints a single coordinate attains it, but for the rounding.
    assert drawn_curve(float(scale), (most,))[0] >= stated[0] * 0.5


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1, 1)), min_size=1, max_size=4),
    st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=1000),
    st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(7, 3)]),
)
def test_vectors_move_no_further_than_the_noise_was_scaled_for(
    rows: list[tuple[float, float]], sensitivity: Fraction, epsilon: Fraction
) -> None:
    mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
    exponent, scale = mechanism._fine(len(rows))
    x = [Fraction(a) for a, _ in rows]
    weight = sum(abs(Fraction(d)) for _, d in rows) or Fraction(1)
    y = [a + Fraction(d) * sensitivity / weight for a, (_, d) in zip(x, rows, strict=True)]
    places = [to_grid(read_numbers(np.array(v, dtype=object)), exponent) for v in (x, y)]
    moved = sum(abs(a - b) for a, b in zip(*places, strict=True))
    assert moved / scale <= epsilon


@pytest.mark.parametrize("size", [1, 2, 1000, 10**6])
def test_paying_for_the_grid_costs_next_to_nothing(size: int) -> None:
    for mechanism in (
        Laplace(sensitivity=3, epsilon=1),
        Laplace(sensitivity=0.1, scale=50),
        Laplace(sensitivity=9, scale=0.001),
    ):
        exponent, scale = mechanism._fine(size)
        drawn = scale * step_of(exponent)
        assert mechanism.scale <= drawn <= mechanism.scale * (1 + Fraction(1, 2**15))
        assert step_of(exponent) <= mechanism.scale / 2**24


def exact_rdp(loss: Fraction, order: float, steps: int | None) -> mpmath.mpf:
    """Return the divergence in high precision: continuous without steps."""
    e, a = mpmath.mpf(loss.numerator) / loss.denominator, mpmath.mpf(order)
    if steps is None:
        return mpmath.log((a * mpmath.exp((a - 1) * e) + (a - 1) * mpmath.exp(-a * e)) / (2 * a - 1)) / (a - 1)
    q = mpmath.exp(-e / steps)
    r = q ** (2 * a - 1)
    inside = 1 + (1 - q) * (r - r**steps) / (1 - r) + r**steps
    return (a - 1) * e / (a - 1) + mpmath.log(inside / (1 + q)) / (a - 1)


LOSSES = [Fraction(x) for x in ("1e-14", "1e-8", "1e-3", "0.01", "0.1", "0.5", "1", "3", "8", "50", "500")]
ORDERS = [1 + 2.0**k for k in (-40, -20, -10, -6, -3, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8, 16)]


@pytest.mark.parametrize("steps", [None, 1, 2, 3, 7, 50, 4096, 10**9, 10**30])
def test_curves_are_upper_bounds_and_tight_and_rho_is_their_supremum_over_the_order(steps: int | None) -> None:
    with mpmath.workdps(160):
        for loss in LOSSES:
            event = (
                LaplaceEvent(sensitivity=loss, scale=1)
                if steps is None
                else DiscreteLaplaceEvent(steps=steps, scale=steps / loss)
            )
            rho = Fraction(event.rho())
            highest = mpmath.mpf(0)
            for order in ORDERS:
                true, got = exact_rdp(loss, order, steps), event.rdp(order)
                assert true * (1 - mpmath.mpf(10) ** -30) <= got
                assert got <= true * (1 + mpmath.mpf(10) ** -6)
                assert true / order * (1 - mpmath.mpf(10) ** -30) <= mpmath.mpf(rho.numerator) / rho.denominator
                highest = max(highest, true / order)
            assert mpmath.mpf(rho.numerator) / rho.denominator <= highest * (1 + mpmath.mpf(10) ** -9)


@pytest.mark.parametrize("order", [1.0000001, 2.0, 1e50, 1e150, 1e308])
@pytest.mark.parametrize(
    ("steps", "scale"), [(2**1000, 1), (1, Fraction(1, 2**1000)), (1, 2**1000), (2**1050, 2**1050)]
)
def test_extreme_events_still_answer(steps: int, scale: Fraction, order: float) -> None:
    event = DiscreteLaplaceEvent(steps=steps, scale=scale)
    assert 0 < event.rdp(order) <= float_up(Fraction(event.rho()) * Fraction(order) * (1 + Fraction(1, 2**50)))
    assert Fraction(event.rho()) <= Fraction(event.pure())


@pytest.mark.parametrize("wrong", [1, 0.5, 0, -1, float("nan"), float("inf"), "2", None, True])
def test_an_order_is_above_1(wrong: object) -> None:
    for event in (LaplaceEvent(sensitivity=1, scale=1), DiscreteLaplaceEvent(steps=1, scale=1)):
        with pytest.raises(RequestError, match="order must be"):
            event.rdp(wrong)  # type: ignore[arg-type]


def test_the_fine_grid_costs_what_the_continuous_law_costs() -> None:
    fine = Laplace(sensitivity=0.5, epsilon=1).event
    smooth = LaplaceEvent(sensitivity=1, scale=1)
    assert fine.rdp(2.0) == pytest.approx(smooth.rdp(2.0), rel=1e-7)
    assert fine.pair().forward(EPSILONS) == pytest.approx(smooth.pair().forward(EPSILONS), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, Fraction(1, 3), 1, 7, Decimal("0.25"), 1e-100, 1e100])
def test_epsilon_is_exactly_what_was_asked_for(epsilon: object) -> None:
    for sensitivity in (1, 5, Fraction(1, 7), 0.3):
        mechanism = Laplace(sensitivity=sensitivity, epsilon=epsilon)
        assert mechanism.event.pure() == Fraction(epsilon)
        assert Fraction(mechanism.epsilon) >= Fraction(epsilon)
        assert mechanism == Laplace(sensitivity=sensitivity, scale=mechanism.scale)


def test_a_sensitivity_brings_its_l1_norm() -> None:
    histogram = Sensitivity.histogram(neighbors="change-one")
    assert Laplace(sensitivity=histogram, epsilon=1) == Laplace(sensitivity=2, epsilon=1)


def test_zero_sensitivity_costs_nothing_and_still_releases() -> None:
    mechanism = Laplace(sensitivity=0, scale=2)
    assert mechanism.epsilon == 0
    assert mechanism.event.rdp(2.0) == 0
    assert isinstance(mechanism.release(5), int)
    assert isinstance(mechanism.release(5.5), float)
    assert mechanism.release([1.5, 2.5]).shape == (2,)


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"sensitivity": 1}, "exactly one of epsilon and scale"),
        ({"sensitivity": 1, "epsilon": 1, "scale": 1}, "exactly one of epsilon and scale"),
        ({"sensitivity": 0, "epsilon": 1}, "sensitivity must be"),
        ({"sensitivity": 1, "epsilon": 1e-320}, "epsilon must be"),
        ({"sensitivity": 1e-300, "scale": 1e300}, "scale must be"),
        ({"sensitivity": 10**600, "epsilon": 1e-250}, "the scale sensitivity / epsilon must be"),
        ({"sensitivity": 0.5, "epsilon": 1, "grid": "whole"}, "grid must be"),
        ({"sensitivity": 1, "epsilon": 1, "grid": "coarse"}, "grid must be"),
    ],
)
def test_what_makes_no_mechanism_is_refused(given_: dict[str, object], named: str) -> None:
    with pytest.raises(RequestError, match=named):
        Laplace(**given_)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(sensitivity=1, epsilon=1e-250),
        Laplace(sensitivity=5e-324, epsilon=1),
        Laplace(sensitivity=1e308, epsilon=1),
        Laplace(sensitivity=1e308, scale=5e-324),
        Laplace(sensitivity=2**1000, epsilon=Fraction(1, 3)),
        Laplace(sensitivity=2**1000, epsilon=1e-20),
    ],
    ids=repr,
)
def test_extreme_parameters_still_release_and_have_an_error(mechanism: Laplace) -> None:
    for value in (3, 0.1, np.array([1, 2]), np.array([0.1, 1e300]), [Fraction(1, 3)]):
        released = mechanism.release(value)
        low, high = mechanism.interval(released)
        assert np.all(np.asarray(low) <= np.asarray(high))
    assert mechanism.error() > 0
    assert mechanism.variance >= 0
    assert mechanism.event.rdp(2.0) > 0
    assert repr(mechanism)


@settings(deadline=None)
@given(st.floats(0.02, 1e7), st.sampled_from([0.01, 0.3, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9]))
def test_the_half_width_on_whole_numbers_is_the_least_that_holds(scale: float, confidence: float) -> None:
    width = Laplace(sensitivity=1, scale=scale)._whole_error(1 - confidence)
    with mpmath.workdps(40):
        a = mpmath.exp(-1 / mpmath.mpf(scale))

        def beyond(w: int) -> mpmath.mpf:
            return 2 * a ** (w + 1) / (1 + a)

        assert beyond(width) <= 1 - confidence
        assert width == 0 or beyond(width - 1) >= (1 - confidence) * (1 - mpmath.mpf(10) ** -9)


def test_variances_are_those_of_the_noise() -> None:
    for scale in (0.05, 0.5, 1, 10, 1000):
        a = math.exp(-1 / scale)
        exact = math.fsum(2 * k * k * a**k for k in range(1, int(60 * scale) + 60)) * (1 - a) / (1 + a)
        assert Laplace(sensitivity=1, scale=scale).variance == pytest.approx(exact, rel=1e-11)
    assert Laplace(sensitivity=0.5, scale=3).variance == 18
    assert Laplace(sensitivity=1, scale=1e-300).variance == 0
    assert Laplace(sensitivity=1, scale=1e250).variance == math.inf


def test_the_error_covers_both_kinds_of_number() -> None:
    for mechanism in (Laplace(sensitivity=1, scale=0.4), Laplace(sensitivity=0.3, scale=0.4)):
        for confidence in (0.5, 0.9, 0.99):
            tail = 1 - confidence
            assert mechanism.error(confidence) >= max(
                mechanism._whole_error(tail), float(mechanism._real_error(tail))
            ) * (1 - 1e-12)


def test_pairs_of_all_splits_are_dominated_by_the_undivided_shift() -> None:
    # Brute force over three coordinates, beyond the two of the proof's induction step.
    for scale, total in itertools.product((0.7, 1.5), (3, 5)):
        stated = DiscreteLaplaceEvent(steps=total, scale=Fraction(scale)).pair().forward(EPSILONS)
        for shifts in itertools.combinations_with_replacement(range(1, total), 3):
            if sum(shifts) == total:
                assert (drawn_curve(scale, shifts) <= stated + 1e-9).all()


def test_an_event_without_noise_has_no_pair() -> None:
    for event in (LaplaceEvent(sensitivity=1, scale=0), DiscreteLaplaceEvent(steps=1, scale=0)):
        assert event.pure() == event.rho() == event.rdp(2.0) == math.inf
        with pytest.raises(BadParameter, match="scale must be above 0"):
            event.pair()
