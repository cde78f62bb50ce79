"""The Gaussian mechanism: calibrated on the noise that is drawn, exactly, at every epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.accounting.gdp import analytic_gaussian_sigma, gaussian_delta
from privet.core.errors import BadParameter, RequestError
from privet.core.numbers import sqrt_up
from privet.core.unit import Sensitivity
from privet.mechanisms import DiscreteGaussianEvent, Gaussian, GaussianEvent
from privet.mechanisms import gaussian as module
from privet.mechanisms.lattice import read_numbers, step_of, to_grid

EPSILONS = np.array([0.0, 0.05, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])


def mass(variance: float, shift: int, places: np.ndarray) -> np.ndarray:
    weights = np.exp(-((places - shift) ** 2) / (2 * variance))
    return weights / weights.sum()


def drawn_curve(variance: float, shifts: tuple[int, ...]) -> np.ndarray:
    """Return the exact curve of independent discrete Gaussian noise on an integer vector, by summation."""
    reach = math.ceil(9 * math.sqrt(variance)) + max(map(abs, shifts))
    places = np.arange(-reach, reach + 1)
    p, q = np.ones(1), np.ones(1)
    for shift in shifts:
        p = np.outer(p, mass(variance, 0, places)).ravel()
        q = np.outer(q, mass(variance, shift, places)).ravel()
    return np.array([np.maximum(p - math.exp(epsilon) * q, 0).sum() for epsilon in EPSILONS])


@pytest.mark.parametrize(
    ("sensitivity", "sigma"), [(1, 1), (1, 4), (2, Fraction(2, 3)), (Fraction(1, 3), Fraction(1, 9))]
)
@pytest.mark.parametrize("blur", [Fraction(1, 2), Fraction(1, 8)])
def test_the_blur_covers_what_is_drawn_on_a_coarse_fine_grid(sensitivity, sigma, blur, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    # With a reach of a few standard deviations and a large blur the grid is coarse enough to sum over.
    monkeypatch.setattr(module, "_BLUR", blur)
    monkeypatch.setattr(module, "_REACH", 9)
    monkeypatch.setattr(module, "_FINE_BITS", 1)
    mechanism = Gaussian(sensitivity=sensitivity, sigma=sigma)
    exponent, variance = mechanism._fine(1)
    most = math.ceil(mechanism.sensitivity_squared**0.5 / float(step_of(exponent)))
    stated = mechanism.event.pair().forward(EPSILONS)
    drawn = drawn_curve(float(variance), (most,))
    assert variance < 400**2
    assert (drawn <= stated + 1e-13).all()


@pytest.mark.parametrize(("blur", "reach"), [(Fraction(1, 2), 8), (Fraction(1), 8)])
def test_the_blur_covers_vectors(blur: Fraction, reach: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLUR", blur)
    monkeypatch.setattr(module, "_REACH", reach)
    monkeypatch.setattr(module, "_FINE_BITS", 1)
    mechanism = Gaussian(sensitivity=1, sigma=1)
    exponent, variance = mechanism._fine(2)
    radius = 1 / float(step_of(exponent)) + math.sqrt(2)
    stated = mechanism.event.pair().forward(EPSILONS)
    for angle in (0.0, 0.3, math.pi / 4):
        shifts = (math.floor(radius * math.cos(angle)), math.floor(radius * math.sin(angle)))
        assert (drawn_curve(float(variance), shifts) <= stated + 1e-12).all()


def test_without_the_blur_a_coarse_grid_would_break_the_continuous_curve() -> None:
    # So the two tests above have something to catch.
    coarse = drawn_curve(1.0, (1,))
    continuous = GaussianEvent(sensitivity_squared=1, sigma_squared=1).pair().forward(EPSILONS)
    assert (coarse > continuous * 1.05).any()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1, 1)), min_size=1, max_size=4),
    st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=1000),
)
def test_vectors_move_no_further_than_the_noise_was_scaled_for(
    rows: list[tuple[float, float]], sensitivity: Fraction
) -> None:
    mechanism = Gaussian(sensitivity=sensitivity, sigma=3)
    exponent, variance = mechanism._fine(len(rows))
    length = sqrt_up(sum((Fraction(d) ** 2 for _, d in rows), Fraction(0))) or Fraction(1)
    x = [Fraction(a) for a, _ in rows]
    y = [a + Fraction(d) * sensitivity / length for a, (_, d) in zip(x, rows, strict=True)]
    places = [to_grid(read_numbers(np.array(v, dtype=object)), exponent) for v in (x, y)]
    moved = sum((a - b) ** 2 for a, b in zip(*places, strict=True))
    assert moved / variance <= sensitivity**2 / 9


@pytest.mark.parametrize("size", [1, 3, 1000, 10**6])
def test_the_grid_is_fine_enough_for_the_blur_and_costs_next_to_nothing(size: int) -> None:
    for mechanism in (
        Gaussian(sensitivity=1, epsilon=1, delta=1e-6),
        Gaussian(sensitivity=5, sigma=0.01),
        Gaussian(sensitivity=0.001, sigma=50),
    ):
        exponent, variance = mechanism._fine(size)
        sigma = math.sqrt(variance)
        mu = math.sqrt(mechanism.event.rho() * 2)
        length = math.sqrt(size) + 40 + mu
        assert math.sqrt(size) * length / (2 * sigma) + size / (8 * sigma**2) <= mechanism.blur
        drawn = sigma * float(step_of(exponent))
        assert mechanism.sigma * (1 - 1e-12) <= drawn <= mechanism.sigma * (1 + 2.0**-23)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 0.5, 1, 3, 10, 30, 300, 1000])
@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-6, 1e-12, 1e-60])
def test_calibration_is_tight_and_sound_at_every_epsilon(epsilon: float, delta: float) -> None:
    mechanism = Gaussian(sensitivity=3, epsilon=epsilon, delta=delta)
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-6)
    continuous = analytic_gaussian_sigma(epsilon, delta, 3)
    assert continuous <= mechanism.sigma <= continuous * (1 + 1e-6)
    assert Fraction(mechanism.event.pair().forward(np.array([float(epsilon)]))[0]) <= Fraction(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (0.5, 1e-5), (1, 1e-6), (2, 1e-9), (5, 1e-6), (10, 1e-3)])
@pytest.mark.parametrize("sensitivity", [1, 2, 10])
def test_the_whole_grid_is_calibrated_on_its_own_law(epsilon: float, delta: float, sensitivity: int) -> None:
    mechanism = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta, grid="whole")
    variance = mechanism.sigma_squared

    def worst(variance: Fraction) -> mpmath.mpf:
        # over every shift up to the sensitivity, by high-precision summation
        with mpmath.workdps(30):
            spread = mpmath.mpf(variance.numerator) / variance.denominator
            reach = math.ceil(40 * math.sqrt(variance)) + sensitivity
            weight = {k: mpmath.exp(-mpmath.mpf(k * k) / (2 * spread)) for k in range(reach + sensitivity + 1)}
            total = 2 * sum(weight.values()) - 1
            grown = mpmath.exp(mpmath.mpf(epsilon))
            deltas = []
            for shift in {1, sensitivity}:
                gaps = (weight[abs(k)] - grown * weight[abs(k + shift)] for k in range(-reach, reach + 1))
                deltas.append(sum(gap for gap in gaps if gap > 0) / total)
            return max(deltas)

    if variance < 60**2:
        assert worst(variance) <= delta
        assert worst(variance * Fraction(999, 1000)) > delta
    assert mechanism.epsilon <= epsilon
    assert isinstance(mechanism.release(7), int)


def test_rho_and_sigma_say_the_same() -> None:
    assert Gaussian(sensitivity=3, rho=Fraction(1, 2)).sigma_squared == 9
    assert Gaussian(sensitivity=3, sigma=3).event.rho() == Fraction(1, 2)
    assert Gaussian(sensitivity=3, sigma=3).epsilon == math.inf
    assert Gaussian(sensitivity=1, sigma=1, delta=1e-6).epsilon == pytest.approx(4.8865541, abs=1e-6)


def test_a_sensitivity_brings_its_l2_norm() -> None:
    histogram = Sensitivity.histogram(neighbors="change-one")
    assert Gaussian(sensitivity=histogram, rho=1).sigma_squared == 1
    with pytest.raises(BadParameter, match="grid must be 'fine'"):
        Gaussian(sensitivity=histogram, rho=1, grid="whole")
    nothing = Sensitivity(neighbors="change-one", l1=Fraction(0), l2_squared=Fraction(0))
    for given_ in ({"epsilon": 1, "delta": 1e-6}, {"rho": 1}):
        with pytest.raises(BadParameter, match="sensitivity must be above 0"):
            Gaussian(sensitivity=nothing, **given_)  # type: ignore[arg-type]
    assert Gaussian(sensitivity=nothing, sigma=1).event.pure() == 0


def test_zero_sensitivity_costs_nothing_and_still_releases() -> None:
    mechanism = Gaussian(sensitivity=0, sigma=2, delta=1e-6)
    assert mechanism.epsilon == 0
    assert isinstance(mechanism.release(5), int)
    assert mechanism.release([1.5, 2.5]).shape == (2,)
    assert Gaussian(sensitivity=0, sigma=2, grid="whole").event.pure() == 0


def test_the_classical_formula_is_the_textbook_one_and_always_wider() -> None:
    for epsilon, delta in ((0.1, 1e-2), (0.5, 1e-5), (0.99, 1e-8), (0.001, 1e-100)):
        classical = Gaussian.classical(sensitivity=2, epsilon=epsilon, delta=delta)
        assert classical.sigma == pytest.approx(2 * math.sqrt(2 * math.log(1.25 / delta)) / epsilon, rel=1e-9)
        assert classical.sigma > Gaussian(sensitivity=2, epsilon=epsilon, delta=delta).sigma
        assert classical.epsilon < epsilon


@pytest.mark.parametrize("epsilon", [1, 1.5, 10, 100])
def test_the_classical_formula_refuses_where_its_proof_fails(epsilon: float) -> None:
    with pytest.raises(BadParameter, match="below 1 for the classical formula"):
        Gaussian.classical(sensitivity=1, epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize(
    ("given_", "named"),
    [
        ({"sensitivity": 1}, "exactly one of epsilon"),
        ({"sensitivity": 1, "epsilon": 1, "sigma": 1}, "exactly one of epsilon"),
        ({"sensitivity": 1, "epsilon": 1}, "delta must be"),
        ({"sensitivity": 1, "epsilon": 1, "delta": 0}, "delta must be"),
        ({"sensitivity": 1, "epsilon": 1, "delta": 1}, "delta must be"),
        ({"sensitivity": 1, "epsilon": 1, "delta": 1e-201}, "delta must be"),
        ({"sensitivity": 1, "epsilon": 1e-300, "delta": 1e-6}, "epsilon must be"),
        ({"sensitivity": 0, "epsilon": 1, "delta": 1e-6}, "sensitivity must be"),
        ({"sensitivity": 0, "rho": 1}, "sensitivity must be"),
        ({"sensitivity": 1e200, "sigma": 1e-200}, "sigma must be"),
        ({"sensitivity": 1e-200, "sigma": 1e200}, "sigma must be"),
        ({"sensitivity": 1, "rho": 1e-300}, "rho must be"),
        ({"sensitivity": 0.5, "sigma": 1, "grid": "whole"}, "grid must be"),
        ({"sensitivity": 2**61, "sigma": 2**61, "grid": "whole"}, "sensitivity must be"),
        ({"sensitivity": 1, "sigma": 1, "grid": "coarse"}, "grid must be"),
    ],
)
def test_what_makes_no_mechanism_is_refused(given_: dict[str, object], named: str) -> None:
    with pytest.raises(RequestError, match=named):
        Gaussian(**given_)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0.5, [1, 2], [1.5], np.array([1.0]), Fraction(1)], ids=repr)
def test_the_whole_grid_takes_one_whole_number(value: object) -> None:
    with pytest.raises(RequestError, match="value must be one whole number"):
        Gaussian(sensitivity=1, sigma=1, grid="whole").release(value)


@pytest.mark.parametrize(
    "mechanism",
    [
        Gaussian(sensitivity=1, epsilon=1e-60, delta=1e-6),
        Gaussian(sensitivity=5e-324, sigma=5e-324, delta=1e-6),
        Gaussian(sensitivity=1e308, rho=1, delta=1e-9),
        Gaussian(sensitivity=1, sigma=1e-80, delta=1e-100),
        Gaussian(sensitivity=1, sigma=1e-80, delta=1e-100, grid="whole"),
        Gaussian(sensitivity=1, sigma=1e80, grid="whole"),
        Gaussian(sensitivity=2**60, sigma=2**55, delta=1e-6, grid="whole"),
    ],
    ids=repr,
)
def test_extreme_parameters_still_release_and_have_an_error(mechanism: Gaussian) -> None:
    values = (3,) if mechanism.grid == "whole" else (3, 0.1, np.array([1, 2]), np.array([0.1, 1e300]), [Fraction(1, 3)])
    for value in values:
        low, high = mechanism.interval(mechanism.release(value))
        assert np.all(np.asarray(low) <= np.asarray(high))
    assert mechanism.error() >= 0
    assert mechanism.variance >= 0
    assert mechanism.event.rdp(2.0) > 0
    assert repr(mechanism)


@pytest.mark.parametrize("sigma", [0.1, 0.3, 0.5, 1, 3, 20, 999, 1001])
@pytest.mark.parametrize("confidence", [0.01, 0.3, 0.6, 0.9, 0.95, 0.9999, 1 - 1e-12])
def test_the_half_width_on_the_whole_grid_holds_and_is_nearly_the_least(sigma: float, confidence: float) -> None:
    width = int(Gaussian(sensitivity=1, sigma=sigma, grid="whole").error(confidence))
    places = np.arange(-math.ceil(12 * sigma) - 60, math.ceil(12 * sigma) + 61)
    weights = np.exp(-(places.astype(float) ** 2) / (2 * sigma**2))

    def beyond(w: int) -> float:
        return float(weights[np.abs(places) > w].sum() / weights.sum())

    assert beyond(width) <= (1 - confidence) * (1 + 1e-9)
    slack = 1 if sigma < 1000 else 2
    assert width < slack or beyond(width - slack) > (1 - confidence) * (1 - 1e-9)


def test_the_curves_of_the_events_are_lines_in_the_order() -> None:
    for event in (
        GaussianEvent(sensitivity_squared=4, sigma_squared=9),
        DiscreteGaussianEvent(steps=2, sigma_squared=9),
    ):
        assert event.rho() == Fraction(2, 9)
        for order in (1.1, 2.0, 17.0):
            assert Fraction(event.rdp(order)) >= Fraction(order) * Fraction(2, 9)
            assert event.rdp(order) == pytest.approx(order * 2 / 9, rel=1e-15)
        with pytest.raises(RequestError, match="order must be"):
            event.rdp(1.0)


def test_the_discrete_law_really_keeps_to_the_line() -> None:
    # The Renyi divergence of a discrete Gaussian and its shift, summed, for a sigma of few steps.
    for variance, steps, order in ((0.3, 1, 2.0), (1.0, 3, 1.5), (4.0, 2, 10.0)):
        places = np.arange(-400, 401)
        p, q = (-((places - shift) ** 2) / (2 * variance) for shift in (0, steps))
        terms = order * p + (1 - order) * q
        logs = terms.max() + math.log(np.exp(terms - terms.max()).sum()) - math.log(np.exp(p).sum())
        event = DiscreteGaussianEvent(steps=steps, sigma_squared=Fraction(variance))
        assert logs / (order - 1) <= event.rdp(order) * (1 + 1e-12)


def test_continuous_pairs_agree_with_the_closed_form() -> None:
    curve = GaussianEvent(sensitivity_squared=1, sigma_squared=4).pair().forward(EPSILONS)
    assert curve == pytest.approx([gaussian_delta(e, 0.5) for e in EPSILONS.tolist()], rel=1e-11)


def test_the_blur_is_priced() -> None:
    smooth = GaussianEvent(sensitivity_squared=1, sigma_squared=4).pair()
    blurred = GaussianEvent(sensitivity_squared=1, sigma_squared=4, blur=Fraction(1, 8)).pair()
    at = np.array([0.25, 0.5, 1.0, 2.0])
    assert blurred.forward(at) == pytest.approx(math.exp(1 / 8) * smooth.forward(at - 0.25), rel=1e-9)
    assert (blurred.forward(at) > smooth.forward(at)).all()
