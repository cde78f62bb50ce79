"""Worked examples of the literature, to all printed digits.

Numbers come from independent high-precision computations and are given as printed. A value agrees if it rounds to
what is printed, in the last digit that is.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from scipy.stats import binom

from privet.accounting.convert import rho_delta
from privet.core.unit import Sensitivity, sensitivity_by_enumeration
from privet.mechanisms import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Exponential,
    ExponentialEvent,
    FiniteMechanism,
    Gaussian,
    GaussianEvent,
    Laplace,
    LaplaceEvent,
    RandomizedResponse,
    ResponseEvent,
    analytic_gaussian_sigma,
)

F = Fraction


def agrees(value: float, printed: str) -> bool:
    """Return whether a value rounds to what is printed; half a unit of its last digit is allowed, and rounding up."""
    shown = Decimal(printed)
    unit = Decimal(1).scaleb(shown.as_tuple().exponent)  # type: ignore[arg-type]
    return abs(Decimal(float(value)) - shown) <= unit * Decimal("0.5000001")


def curve(event, *epsilons: float) -> list[float]:  # type: ignore[no-untyped-def]
    return event.pair().forward(np.array(epsilons)).tolist()


# Counts, sums and means: which sensitivity under which relation.


def test_salaries_between_20_and_200_thousand() -> None:
    assert Sensitivity.sum(20_000, 200_000, neighbors="change-one").l1 == 180_000
    assert Sensitivity.sum(20_000, 200_000, neighbors="add-remove").l1 == 200_000
    assert Sensitivity.mean(20_000, 200_000, size=100, neighbors="change-one").l1 == 1800
    alice = Sensitivity.mean(20_000, 200_000, size=1, neighbors="change-one")
    assert Laplace(sensitivity=alice, epsilon=1).scale == 180_000


def test_the_virus_count_has_scale_one_under_both_relations() -> None:
    for neighbors in ("add-remove", "change-one"):
        assert Laplace(sensitivity=Sensitivity.count(neighbors=neighbors), epsilon=1).scale == 1


def test_the_age_histogram_moves_one_cell_or_two() -> None:
    ages = range(11)
    for neighbors, l1, l2_squared in (("add-remove", 1, 1), ("change-one", 2, 2)):
        found = sensitivity_by_enumeration(
            lambda rows: [rows.count(bucket) for bucket in ages], ages, 2, neighbors=neighbors
        )
        assert found == Sensitivity.histogram(neighbors=neighbors)
        assert (found.l1, found.l2_squared) == (l1, l2_squared)


def test_a_histogram_under_change_one_needs_twice_the_noise() -> None:
    histogram = Sensitivity.histogram(neighbors="change-one")
    assert Laplace(sensitivity=histogram, scale=1).epsilon == 2
    assert Laplace(sensitivity=histogram, epsilon=1).scale == 2


def test_alices_age() -> None:
    assert agrees(Laplace(sensitivity=100 - 18, scale=3).epsilon, "27.333333")


def test_a_mean_of_150_values_in_the_unit_interval() -> None:
    mechanism = Laplace(sensitivity=Sensitivity.mean(0, 1, size=150, neighbors="change-one"), epsilon=1)
    assert agrees(float(mechanism.scale), "0.006667")
    assert agrees(math.sqrt(mechanism.variance), "0.009428")
    assert mechanism.variance == pytest.approx(2 / 150**2)  # and not 1 / 150**2


def test_average_ages_of_voters_and_others() -> None:
    def averages(rows: tuple[tuple[int, bool], ...]) -> list[Fraction]:
        groups = [[age for age, voter in rows if voter is group] for group in (True, False)]
        return [F(sum(ages), len(ages)) if ages else F(0) for ages in groups]

    people = [(age, voter) for age in (0, 60, 115) for voter in (True, False)]
    assert sensitivity_by_enumeration(averages, people, 3, neighbors="add-remove").l1 == 115
    assert sensitivity_by_enumeration(averages, people, 1, neighbors="change-one").l1 == 230
    whole = Laplace(sensitivity=115, epsilon=1, grid="fine")
    assert agrees(math.sqrt(whole.variance), "162.6346")
    half = Laplace(sensitivity=115, epsilon=F(1, 2), grid="fine")
    assert agrees(math.sqrt(half.variance), "325.2691")


def test_sum_and_difference_beat_the_direct_answers() -> None:
    people = [(hispanic, adult) for hispanic in (0, 1) for adult in (0, 1)]

    def both(rows: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    def sum_difference(rows: tuple[tuple[int, int], ...]) -> tuple[int, int]:
        x, y = both(rows)
        return x + y, x - y

    direct, strategy = (
        sensitivity_by_enumeration(f, people, 3, neighbors="add-remove") for f in (both, sum_difference)
    )
    assert direct.l1 == strategy.l1 == 2
    noise = Laplace(sensitivity=direct, epsilon=1, grid="fine").variance
    assert noise == 8
    assert (noise + noise) / 4 == 4  # (S + D) / 2
    cells = Sensitivity.histogram(neighbors="add-remove")
    assert 2 * Laplace(sensitivity=cells, epsilon=1, grid="fine").variance == 4
    for f in (both, sum_difference):
        replaced = sensitivity_by_enumeration(f, people, 3, neighbors="change-one")
        assert replaced.l1 in (2, 4)


def test_the_median_moves_by_half_the_range_or_all_of_it() -> None:
    ages = (0, 36, 115)
    found = sensitivity_by_enumeration(median, ages, 5, neighbors="add-remove", least=1)
    assert found.l1 == F(115, 2)
    assert sensitivity_by_enumeration(median, ages, 5, neighbors="change-one").l1 == 115

    def median_or_zero(rows: tuple[int, ...]) -> float:
        return median(rows) if rows else 0

    assert sensitivity_by_enumeration(median_or_zero, ages, 5, neighbors="add-remove").l1 == 115


# Randomized response.


def test_two_fair_coins_and_their_relatives() -> None:
    assert agrees(RandomizedResponse.two_coins().epsilon, "1.0986123")
    assert agrees(RandomizedResponse(p=0.9).epsilon, "2.1972246")
    generalised = RandomizedResponse(p=F(3, 5), categories=5)
    assert generalised.q == F(1, 10)
    assert agrees(generalised.epsilon, "1.7917595")


@pytest.mark.parametrize(
    ("n", "share", "deviation", "half_width", "negative"),
    [
        (30, 0.2, "0.174165", "0.341363", "0.123768"),
        (100, 0.2, "0.0953939", "0.186972", "0.012127"),
        (1000, 0.2, "0.0301662", "0.0591258", "3.84879E-12"),
        (10000, 0.5, "0.01", "0.0196", "0"),
    ],
)
def test_the_estimator_of_a_survey(n: int, share: float, deviation: str, half_width: str, negative: str) -> None:
    mechanism = RandomizedResponse(p=F(3, 4))
    sd = math.sqrt(mechanism.variance(F(share).limit_denominator(10), size=n))
    assert agrees(sd, deviation)
    assert agrees(1.96 * sd, half_width)
    below = max(hits for hits in range(n // 4 + 2) if mechanism.estimate([1] * hits + [0] * (n - hits)).value < 0)
    assert agrees(binom.cdf(below, n, 0.25 + share / 2), negative)


# Gaussian noise: the classical formula, where it holds and where it does not.


def test_the_classical_gaussian_examples() -> None:
    salary = Gaussian.classical(sensitivity=190_000, epsilon=0.5, delta=F(1, 1000**2))
    assert agrees(salary.sigma, "2013545")
    histogram = Sensitivity.histogram(neighbors="change-one")
    counts = Gaussian.classical(sensitivity=histogram, epsilon=0.5, delta=F(1, 1000**2))
    assert agrees(float(counts.sigma_squared), "224.61847")


@pytest.mark.parametrize(
    ("delta", "epsilon", "classical", "analytic", "truth"),
    [
        ("0.01", 0.1, "31.0751", "9.54182", "8.79726E-6"),
        ("0.01", 0.5, "6.21502", "3.14691", "5.35797E-5"),
        ("1E-5", 0.1, "48.4481", "30.7496", "2.63594E-9"),
        ("1E-5", 0.5, "9.68961", "7.03183", "1.60785E-8"),
        ("1E-8", 0.1, "61.0636", "45.9374", "1.36843E-12"),
        ("1E-8", 0.5, "12.2127", "9.86353", "8.35062E-12"),
    ],
)
def test_the_classical_formula_wastes_noise_below_one(
    delta: str, epsilon: float, classical: str, analytic: str, truth: str
) -> None:
    allowed = Decimal(delta)
    textbook = Gaussian.classical(sensitivity=1, epsilon=epsilon, delta=allowed)
    assert agrees(textbook.sigma, classical)
    assert agrees(Gaussian(sensitivity=1, epsilon=epsilon, delta=allowed).sigma, analytic)
    exact = GaussianEvent(sensitivity_squared=1, sigma_squared=textbook.sigma_squared)
    assert agrees(curve(exact, epsilon)[0], truth)


@pytest.mark.parametrize(
    ("delta", "epsilon", "classical", "analytic", "truth", "holds"),
    [
        ("0.01", 5, "0.621502", "0.569379", "0.00384706", True),
        ("0.01", 8, "0.388439", "0.408363", "0.017824", False),
        ("0.01", 20, "0.155376", "0.220728", "0.48277", False),
        ("1E-5", 8, "0.605601", "0.600229", "7.9706E-6", True),
        ("1E-5", 10, "0.484481", "0.499889", "2.26537E-5", False),
        ("1E-8", 10, "0.610636", "0.615846", "1.40309E-8", False),
        ("1E-8", 50, "0.122127", "0.169029", "0.0169797", False),
    ],
)
def test_the_classical_formula_fails_far_above_one(
    delta: str, epsilon: int, classical: str, analytic: str, truth: str, holds: bool
) -> None:
    sigma = math.sqrt(2 * math.log(1.25 / float(delta))) / epsilon
    assert agrees(sigma, classical)
    assert agrees(Gaussian(sensitivity=1, epsilon=epsilon, delta=Decimal(delta)).sigma, analytic)
    real = curve(GaussianEvent(sensitivity_squared=1, sigma_squared=F(sigma) ** 2), epsilon)[0]
    assert agrees(real, truth)
    assert (real <= float(delta)) is holds


@pytest.mark.parametrize(
    ("epsilon", "sigmas"),
    [
        (0.01, (27.7008824556, 243.785437676, 306.350376154, 458.508497497, 578.997867061)),
        (0.1, (9.54182308883, 30.749566132, 36.3046904262, 50.209818263, 61.5390559189)),
        (1, (1.87787556091, 3.73063163482, 4.22467888933, 5.49526615724, 6.55782206746)),
        (10, (0.350096686248, 0.499888619709, 0.541086831818, 0.650246918959, 0.744612322922)),
    ],
)
def test_fine_grids_agree_with_the_analytic_gaussian_to_all_useful_digits(
    epsilon: float, sigmas: tuple[float, ...]
) -> None:
    for delta, sigma in zip(("1E-2", "1E-5", "1E-6", "1E-9", "1E-12"), sigmas, strict=True):
        drawn = Gaussian(sensitivity=1, epsilon=epsilon, delta=Decimal(delta)).sigma
        assert sigma * (1 - 1e-11) <= drawn <= sigma * (1 + 2e-7)
        assert analytic_gaussian_sigma(epsilon, Decimal(delta), 1) == pytest.approx(sigma, rel=1e-11)


@pytest.mark.parametrize(
    ("delta", "epsilon"),
    [("0.1", "1.16033"), ("0.01", "2.31779"), ("0.001", "3.13867"), ("1E-5", "4.37718"), ("1E-9", "6.17394")],
)
def test_epsilon_and_delta_of_one_sigma(delta: str, epsilon: str) -> None:
    assert agrees(Gaussian(sensitivity=1, sigma=1, delta=Decimal(delta)).epsilon, epsilon)


def test_a_bounded_loss_is_sufficient_and_not_necessary() -> None:
    exact = curve(GaussianEvent(sensitivity_squared=1, sigma_squared=1), 0.5, 1, 2, 4)
    for value, printed in zip(exact, ("0.238422", "0.126937", "0.0209236", "4.71224E-5"), strict=True):
        assert agrees(value, printed)


# Renyi curves, and moments of discrete noise.


@pytest.mark.parametrize(
    ("order", "gaussian", "laplace", "response"),
    [
        (1.5, "0.75", "0.51288351", "0.73396918"),
        (2.0, "1", "0.61912363", "0.84729786"),
        (5.0, "2.5", "0.85307801", "1.0267045"),
        (10.0, "5", "0.9286829", "1.0666476"),
        (64.0, "32", "0.98912216", "1.0940459"),
    ],
)
def test_renyi_divergences(order: float, gaussian: str, laplace: str, response: str) -> None:
    assert agrees(GaussianEvent(sensitivity_squared=1, sigma_squared=1).rdp(order), gaussian)
    assert agrees(LaplaceEvent(sensitivity=1, scale=1).rdp(order), laplace)
    fine = Laplace(sensitivity=1, epsilon=1, grid="fine").event.rdp(order)
    assert fine == pytest.approx(float(laplace), rel=3e-8)
    assert agrees(ResponseEvent(p=F(3, 4)).rdp(order), response)


@pytest.mark.parametrize(
    ("epsilon", "variance", "smooth", "at_zero", "beyond"),
    [
        (F(1, 10), "199.8334166", "200", "0.04995837496", "0.3862581002"),
        (F(1, 2), "7.835396178", "8", "0.2449186624", "0.008388195965"),
        (F(1), "1.841347188", "2", "0.4621171573", "6.638001624E-5"),
        (F(math.log(3)), "1.5", "1.657070899", "0.5", "2.540263171E-5"),
        (F(2), "0.3620308305", "0.5", "0.761594156", "3.630916176E-9"),
    ],
)
def test_moments_of_discrete_laplace_noise(
    epsilon: Fraction, variance: str, smooth: str, at_zero: str, beyond: str
) -> None:
    mechanism = Laplace(sensitivity=1, epsilon=epsilon)
    assert agrees(mechanism.variance, variance)
    assert agrees(Laplace(sensitivity=1, epsilon=epsilon, grid="fine").variance, smooth)
    # with a shift of one step the total variation distance is the probability of zero
    assert agrees(curve(mechanism.event, 0.0)[0], at_zero)
    tail, unit = Decimal(beyond), Decimal(1).scaleb(Decimal(beyond).as_tuple().exponent)  # type: ignore[arg-type]
    assert mechanism.interval(0, 1 - F(tail + unit)) == (-9, 9)
    assert mechanism.interval(0, 1 - F(tail - unit)) == (-10, 10)


@pytest.mark.parametrize(
    ("sigma_squared", "variance", "at_zero"),
    [
        (F(1, 4), "0.215012675088", "0.786570707042"),
        (F(1, 2), "0.498979130833", "0.564131226219"),
        (F(1), "0.999999788768", "0.398942278267"),
        (F(4), "4", "0.199471140201"),
        (F(100), "100", "0.0398942280401"),
    ],
)
def test_moments_of_discrete_gaussian_noise(sigma_squared: Fraction, variance: str, at_zero: str) -> None:
    mechanism = Gaussian(sensitivity=1, rho=1 / (2 * sigma_squared), grid="whole")
    assert mechanism.sigma_squared == sigma_squared
    assert agrees(mechanism.variance, variance)
    zero, unit = Decimal(at_zero), Decimal(1).scaleb(Decimal(at_zero).as_tuple().exponent)  # type: ignore[arg-type]
    assert mechanism.error(F(zero - 20 * unit)) == 0
    assert mechanism.error(F(zero + 20 * unit)) == 1


@pytest.mark.parametrize(
    ("sigma_squared", "epsilon", "discrete", "continuous", "by_rho"),
    [
        (1, 1.0, "0.141351", "0.126937", "0.246846"),
        (1, 3.0, "0.00184914", "0.00153719", "0.00514318"),
        (4, 1.0, "0.00724878", "0.00682959", "0.0179854"),
        (100, 0.3, "4.45648E-5", "4.4352E-5", "0.000150323"),
    ],
)
def test_the_discrete_gaussian_is_easier_to_tell_apart(
    sigma_squared: int, epsilon: float, discrete: str, continuous: str, by_rho: str
) -> None:
    event = DiscreteGaussianEvent(steps=1, sigma_squared=sigma_squared)
    assert agrees(curve(event, epsilon)[0], discrete)
    assert agrees(curve(GaussianEvent(sensitivity_squared=1, sigma_squared=sigma_squared), epsilon)[0], continuous)
    assert agrees(rho_delta(event.rho(), epsilon), by_rho)


@pytest.mark.parametrize(
    ("epsilon", "laplace", "discrete", "gaussian"),
    [
        (0.1, "200", "199.833", "1318.03"),
        (0.5, "8", "7.8354", "64.9252"),
        (2, "0.5", "0.362031", "4.97502"),
        (4, "0.125", "0.0380109", "1.42449"),
    ],
)
def test_variances_of_one_query(epsilon: float, laplace: str, discrete: str, gaussian: str) -> None:
    assert agrees(Laplace(sensitivity=1, epsilon=epsilon, grid="fine").variance, laplace)
    assert agrees(Laplace(sensitivity=1, epsilon=epsilon, grid="whole").variance, discrete)
    assert agrees(analytic_gaussian_sigma(epsilon, Decimal("1E-6")) ** 2, gaussian)


@pytest.mark.parametrize(
    ("scale", "step", "epsilon"),
    [(1, F(1), "2"), (1, F(1, 1024), "1.00097656"), (10, F(1), "0.2"), (10, F(1, 1024), "0.100097656")],
)
def test_rounding_after_the_sum_costs_one_step(scale: int, step: Fraction, epsilon: str) -> None:
    steps = math.ceil(1 / step) + 1
    assert agrees(float(DiscreteLaplaceEvent(steps=steps, scale=scale / step).pure()), epsilon)
    # which is why the mechanism itself raises its noise and keeps its promise
    assert Laplace(sensitivity=1, scale=scale, grid="fine").epsilon == pytest.approx(1 / scale, rel=1e-15)


# The exponential mechanism.


def revenue(price: float, bids: tuple[float, ...] = (1, 1, 3.01)) -> float:
    return price * sum(bid >= price for bid in bids)


def test_the_auction() -> None:
    assert [revenue(price) for price in (1, 1.01, 3.01, 3.02)] == [3, 1.01, 3.01, 0]
    scores = [revenue(price) for price in (1, 2, 3, 4)]
    assert scores == [3, 2, 3, 0]
    chances = Exponential(sensitivity=4, epsilon=1).probabilities(scores)
    for value, printed in zip(chances, ("0.28012882", "0.24721282", "0.28012882", "0.19252954"), strict=True):
        assert agrees(value, printed)
    assert agrees(chances @ np.array(scores), "2.175199")
    assert agrees(1 / chances[3], "5.1940082459241435"[:14])
    monotone = Exponential(sensitivity=4, epsilon=1, monotone=True).probabilities(scores)
    for value, printed in zip(monotone, ("0.30758183", "0.23954497", "0.30758183", "0.14529137"), strict=True):
        assert agrees(value, printed)


def test_the_auction_on_a_fine_grid_of_prices() -> None:
    prices = [k / 10 for k in range(1, 101)]
    scores = [revenue(price) for price in prices]
    chances = Exponential(sensitivity=10, epsilon=1).probabilities(scores)
    assert agrees(chances[29], "0.011276")
    assert agrees(chances[9], "0.011276")
    assert int(chances.argmax()) in (9, 29)
    assert agrees(chances @ np.array(scores), "0.6226")


@pytest.mark.parametrize(
    ("scores", "sensitivity", "monotone", "first", "others"),
    [
        ([F(4, 5)] * 5, F(1, 5), False, "0.200000", "0.200000"),
        ([F(3, 5)] + [F(4, 5)] * 4, F(1, 5), False, "0.118022", "0.220494"),
        ([F(3, 5)] + [F(4, 5)] * 4, F(1, 2), False, "0.162970", "0.209258"),
        ([F(3, 5)] + [F(4, 5)] * 4, F(1), False, "0.180747", "0.204813"),
        ([3, 4, 4, 4, 4], F(1), False, "0.118022", "0.220494"),
        ([3, 4, 4, 4, 4], F(1), True, "0.066839", "0.233290"),
    ],
)
def test_the_cholesterol_threshold(
    scores: list[object], sensitivity: Fraction, monotone: bool, first: str, others: str
) -> None:
    chances = Exponential(sensitivity=sensitivity, epsilon=1.25, monotone=monotone).probabilities(scores)
    assert agrees(chances[0], first)
    assert all(agrees(chance, others) for chance in chances[1:])


def test_the_share_of_correct_answers_moves_by_a_half() -> None:
    def share(rows: tuple[int, ...]) -> Fraction:
        return F(sum(rows), len(rows))

    assert sensitivity_by_enumeration(share, (0, 1), 39, neighbors="add-remove", least=1).l1 == F(1, 2)


@pytest.mark.parametrize(
    ("sensitivity", "each", "total", "other"),
    [
        (1, "0.194496", "0.972479", "0.001311"),
        (2, "0.148726", "0.743629", "0.012208"),
        (3, "0.111528", "0.557638", "0.021065"),
        (4, "0.090772", "0.453861", "0.026007"),
    ],
)
def test_the_most_frequent_letter(sensitivity: int, each: str, total: str, other: str) -> None:
    scores = [10 if letter in "bcejt" else 0 for letter in "abcdefghijklmnopqrstuvwxyz"]
    chances = Exponential(sensitivity=sensitivity, epsilon=1).probabilities(scores)
    assert agrees(chances[1], each)
    assert agrees(chances[np.array(scores) == 10].sum(), total)
    assert agrees(chances[0], other)


@pytest.mark.parametrize(
    ("score", "loss"), [(0, "0.28093"), (1, "0.339185"), (2, "0.388152"), (3, "0.425515"), (5, "0.469698")]
)
def test_the_loss_of_a_two_way_choice(score: int, loss: str) -> None:
    # Scores (score, 0) against (score + 1, 0): below 1/2 of epsilon, and not exponential in the score as once printed.
    mechanism = Exponential(sensitivity=1, epsilon=1)
    p, q = mechanism.probabilities([score, 0]), mechanism.probabilities([score + 1, 0])
    losses = sorted(abs(np.log(p / q)))
    assert any(agrees(value, loss) for value in losses)


def test_the_exact_curve_of_bounded_range() -> None:
    values = curve(ExponentialEvent(epsilon=1), 0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    printed = ("0.244919", "0.171943", "0.10627", "0.051981", "0.014326", "0")
    assert all(agrees(value, text) for value, text in zip(values, printed, strict=True))


# Finite mechanisms.


def truncated_geometric(n: int, a: Fraction) -> list[list[Fraction]]:
    """Return the geometric mechanism on 0..n with ratio a, its tails folded onto the ends."""

    def chance(i: int, j: int) -> Fraction:
        middle = 0 < j < n
        return a ** abs(i - j) * ((1 - a) if middle else 1) / (1 + a)

    return [[chance(i, j) for j in range(n + 1)] for i in range(n + 1)]


MATRICES = {
    "response": FiniteMechanism([[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]),
    "generalised response": FiniteMechanism([[F(3, 5) if i == j else F(1, 10) for j in range(5)] for i in range(5)]),
    "geometric, path": FiniteMechanism(truncated_geometric(5, F(1, 2)), neighbors=[(i, i + 1) for i in range(5)]),
    "geometric, all pairs": FiniteMechanism(truncated_geometric(5, F(1, 2))),
    "a certain row": FiniteMechanism([[1, 0], [F(1, 2), F(1, 2)]]),
}


@pytest.mark.parametrize(
    ("name", "epsilon", "deltas"),
    [
        ("response", "1.0986123", ("0.5", "0.33781968", "0.070429543")),
        ("generalised response", "1.7917595", ("0.5", "0.43512787", "0.32817182")),
        ("geometric, path", "0.69314718", ("0.33333333", "0.11709291", "0")),
        ("geometric, all pairs", "3.4657359", ("0.83333333", "0.77927323", "0.72007159")),
        ("a certain row", "Infinity", ("0.5", "0.5", "0.5")),
    ],
)
def test_matrix_mechanisms(name: str, epsilon: str, deltas: tuple[str, ...]) -> None:
    mechanism = MATRICES[name]
    assert mechanism.epsilon == math.inf if epsilon == "Infinity" else agrees(mechanism.epsilon, epsilon)
    for at, printed in zip((0, 0.5, 1), deltas, strict=True):
        assert agrees(mechanism.delta(at), printed)
        assert agrees(curve(mechanism.event, float(at))[0], printed)


def test_the_advantage_of_the_best_adversary() -> None:
    assert agrees(curve(RandomizedResponse(epsilon=1).event, 0.0)[0], "0.462117")
    assert agrees(curve(LaplaceEvent(sensitivity=1, scale=1), 0.0)[0], "0.393469")
    assert agrees(curve(GaussianEvent(sensitivity_squared=1, sigma_squared=1), 0.0)[0], "0.382925")
