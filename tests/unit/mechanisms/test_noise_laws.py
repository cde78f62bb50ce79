"""The exact laws of integer noise, against probabilities summed with many digits, and the objects that draw it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction as F

import mpmath as mp
import numpy as np
import pytest

import privet
from privet.core.errors import RequestError
from privet.core.unit import Sensitivity
from privet.mechanisms import DiscreteGaussian, DiscreteLaplace, NoiseLaw

Weights = dict[int, mp.mpf]
UNIT = mp.mpf(2) ** -53


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mp.workdps(150):
        yield


def near(found: float, exact: mp.mpf, units: int = 2) -> bool:
    return abs(mp.mpf(found) - exact) <= units * UNIT * abs(exact) + mp.mpf(2) ** -1074


def of_laplace(scale: F) -> Callable[[int], mp.mpf]:
    a = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
    return lambda k: (1 - a) / (1 + a) * a ** abs(k)


def of_gaussian(squared: F) -> Callable[[int], mp.mpf]:
    variance = mp.mpf(squared.numerator) / squared.denominator
    far = int(20 * mp.sqrt(variance)) + 5
    every = 2 * mp.fsum(mp.exp(-k * k / (2 * variance)) for k in range(1, far)) + 1
    return lambda k: mp.exp(-mp.mpf(k) * k / (2 * variance)) / every


def rounded(mass: Callable[[int], mp.mpf], far: int, finer: int) -> Weights:
    found: Weights = {}
    for k in range(-far, far + 1):
        place = (2 * k + finer) // (2 * finer)
        found[place] = found.get(place, mp.mpf(0)) + mass(k)
    return found


@pytest.mark.parametrize("scale", [F(1, 50), F(1, 2), F(2), F(7, 3), F(1000), F(10) ** 20, F(10) ** 60])
def test_a_laplace_law_has_its_closed_form_far_into_the_tails(scale: F) -> None:
    law, mass = DiscreteLaplace(scale=scale), of_laplace(scale)
    a = mp.exp(-mp.mpf(scale.denominator) / scale.numerator)
    for k in (0, 1, 2, math.ceil(scale), math.ceil(28 * scale), math.ceil(600 * scale)):
        beyond = a**k / (1 + a)
        for sign in (1, -1):
            assert near(law.pmf(sign * k), mass(k))
        assert near(law.cdf(-k), beyond)
        assert near(law.cdf(k - 1), 1 - beyond)
    assert near(law.variance, 2 * a / (1 - a) ** 2)
    assert law.mean == 0.0


@pytest.mark.parametrize("squared", [F(1, 100), F(1, 3), F(4), F(4095), F(4096), F(123_456)])
def test_a_gaussian_law_is_the_sum_of_its_terms_far_into_the_tails(squared: F) -> None:
    law, mass = DiscreteGaussian(sigma_squared=squared), of_gaussian(squared)
    sigma = math.sqrt(squared)
    far = int(19 * sigma) + 4
    tails = [mp.mpf(0)]
    for k in range(far, -1, -1):
        tails.append(tails[-1] + mass(k))
    tails.reverse()
    for k in (0, 1, 2, int(sigma), int(4 * sigma), int(7.2 * sigma) + 1, int(12 * sigma) + 1):
        assert near(law.pmf(k), mass(k))
        assert near(law.pmf(-k), mass(k))
        assert near(law.cdf(-k), tails[k])
        assert near(law.cdf(k), 1 - tails[k + 1])
    assert near(law.variance, 2 * mp.fsum(k * k * mass(k) for k in range(1, far)))


@pytest.mark.parametrize("finer", [2, 8, 256])
@pytest.mark.parametrize("size", [F(1, 2), F(60), F(5000)])
def test_a_rounded_draw_has_the_law_of_all_that_is_rounded_to_it(size: F, finer: int) -> None:
    cases: list[tuple[NoiseLaw, Weights]] = [
        (
            DiscreteGaussian(sigma_squared=size, finer=finer, step=F(1, 3)),
            rounded(of_gaussian(size), int(17 * math.sqrt(size)) + 2 * finer, finer),
        )
    ]
    if size < 100:
        laplace = DiscreteLaplace(scale=size, finer=finer, step=F(1, 3))
        cases.append((laplace, rounded(of_laplace(size), int(130 * size) + 200, finer)))
    for law, weights in cases:
        for place, mass in weights.items():
            if mass > mp.mpf(10) ** -30 and (abs(place) < 4 or place % 7 == 0):
                assert near(law.pmf(F(place, 3)), mass, 4)
        mean = mp.fsum(place * mass for place, mass in weights.items()) / 3
        square = mp.fsum(place * place * mass for place, mass in weights.items()) / 9
        assert near(law.mean, mean, 4)
        assert near(law.variance, square - mean * mean, 4)


LAWS: tuple[NoiseLaw, ...] = (
    DiscreteLaplace(scale=F(1, 20)),
    DiscreteLaplace(scale=3),
    DiscreteLaplace(scale=10**9, step=F(1, 4)),
    DiscreteLaplace(scale=100, finer=16, step=5),
    DiscreteGaussian(sigma_squared=F(1, 20)),
    DiscreteGaussian(sigma_squared=50),
    DiscreteGaussian(sigma_squared=10**12, step=F(1, 1024)),
    DiscreteGaussian(sigma_squared=2**90, finer=2**40),
)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("share", [1e-300, 1e-12, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-12, F(1) - F(1, 10**30)])
def test_a_quantile_is_the_least_value_that_reaches_its_share(law: NoiseLaw, share: float | F) -> None:
    value = F(law.quantile(share))
    assert (value / law.step).denominator == 1
    if share < 0.5:
        assert law.cdf(value) >= share * (1 - 1e-15)
        assert law.cdf(value - law.step) < share
    else:  # near 1, by the other end: P[noise > v] = P[noise < -v], where nothing is rounded
        tie = 0 if law.finer == 1 else law.pmf(-value) * 1e-6
        assert law.cdf(-value - law.step) <= float(1 - share) * (1 + 1e-15) + tie
        assert law.cdf(-value) > float(1 - share) * (1 - 1e-6)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_arrays_and_scalars_agree(law: NoiseLaw) -> None:
    values = [[0, 1, -3], [4, 2, 0]]
    shares = np.array([0.1, 0.5, 0.9])
    for function in (law.pmf, law.cdf):
        found = function(values)
        assert found.shape == (2, 3)
        assert found.tolist() == [[function(one) for one in row] for row in values]
        assert function(np.array(values)).tolist() == found.tolist()
    assert law.quantile(shares).tolist() == [float(law.quantile(share)) for share in shares.tolist()]
    assert law.sample((2, 3)).shape == (2, 3)
    assert law.pmf([]).shape == (0,)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_are_multiples_of_the_step_with_the_frequencies_of_the_law(law: NoiseLaw) -> None:
    count = 20_000
    drawn = law.sample(count)
    assert all((F(one) / law.step).denominator == 1 for one in drawn[:50].tolist())
    for share in (0.1, 0.5, 0.8):
        value = law.quantile(share)
        reached = law.cdf(value)
        found = float(np.mean(drawn <= value))
        assert abs(found - reached) <= 6 * math.sqrt(reached * (1 - reached) / count) + 1e-12
    one = law.sample()
    assert isinstance(one, int if law.step.denominator == 1 else float)


def test_huge_and_tiny_parameters_are_no_special_case() -> None:
    tiny = (DiscreteLaplace(scale=5e-324), DiscreteGaussian(sigma_squared=5e-324))
    huge = (DiscreteLaplace(scale=10**300), DiscreteGaussian(sigma_squared=F(10) ** 600))
    for law in tiny:
        assert (law.pmf(0), law.pmf(1), law.cdf(-1), law.quantile(0.999), law.variance) == (1.0, 0.0, 0.0, 0, 0.0)
        assert law.sample() == 0
    for law in huge:
        assert law.cdf(0) == pytest.approx(0.5, rel=1e-15)
        assert 0 < law.pmf(0) < 1e-299
        assert 1.5e300 < law.quantile(0.975) < 4e300
    assert DiscreteGaussian(sigma_squared=4).pmf(10**6) == 0.0
    assert DiscreteGaussian(sigma_squared=10**6).cdf(-(10**9)) == 0.0


def test_what_is_not_on_the_grid_is_never_drawn() -> None:
    law = DiscreteLaplace(scale=2, step=F(1, 2))
    assert law.pmf(0.25) == 0.0
    assert law.cdf(0.25) == law.cdf(0)
    assert law.pmf(0.5) == DiscreteLaplace(scale=2).pmf(1)


def test_laws_print_and_are_plain_data() -> None:
    law = DiscreteGaussian(sigma_squared=F(9, 4), step=F(1, 8))
    assert repr(law).startswith("DiscreteGaussian(sigma_squared=9/4, step=1/8, deviation=0.187")
    assert law.to_dict() == {
        "law": "discrete Gaussian",
        "sigma_squared": "9/4",
        "step": "1/8",
        "finer": 1,
        "mean": 0.0,
        "standard_deviation": law.deviation,
    }
    assert law == DiscreteGaussian(sigma_squared=2.25, step=0.125)
    assert hash(law) == hash(DiscreteGaussian(sigma_squared=2.25, step=0.125))


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "1", True, None, 1j, [1]])
def test_what_is_no_parameter_is_refused_by_name(bad: object) -> None:
    for wrong in (
        lambda: DiscreteLaplace(scale=bad),  # type: ignore[arg-type]
        lambda: DiscreteGaussian(sigma_squared=bad),  # type: ignore[arg-type]
        lambda: DiscreteLaplace(scale=1, step=bad),  # type: ignore[arg-type]
        lambda: DiscreteLaplace(scale=1).quantile(bad),
    ):
        with pytest.raises(RequestError):
            wrong()
    for finer in (0, 3, 1.5, "2"):
        with pytest.raises(RequestError, match="finer"):
            DiscreteLaplace(scale=1, finer=finer)  # type: ignore[arg-type]


def test_objects_have_the_law_of_what_they_draw() -> None:
    whole = privet.Laplace(sensitivity=3, epsilon=F(1, 2))
    assert whole.law() == DiscreteLaplace(scale=6)
    assert whole.law(1000) == DiscreteLaplace(scale=6)
    real = privet.Laplace(sensitivity=F(1, 3), epsilon=1)
    assert real.law().step.numerator == 1
    assert real.law().step.denominator > 2**30
    assert float(real.law().step) * float(real.law().parameter[1]) == pytest.approx(1 / 3, rel=2**-14)
    gaussian = privet.Gaussian(sensitivity=1, rho=F(1, 8))
    assert gaussian.law(100, whole=True).step == 1
    assert gaussian.law(100, whole=True).finer > gaussian.law(1, whole=True).finer
    assert gaussian.law(whole=True).variance == pytest.approx(4 + 1 / 12, rel=1e-6)
    assert gaussian.variance == pytest.approx(4, rel=1e-6)
    assert privet.Gaussian(sensitivity=1, sigma=2, grid="whole").law() == DiscreteGaussian(sigma_squared=4)
    with pytest.raises(RequestError, match="one whole number"):
        privet.Gaussian(sensitivity=1, sigma=2, grid="whole").law(2)


@pytest.mark.parametrize(
    ("mechanism", "value", "law"),
    [
        (privet.Laplace(sensitivity=2, epsilon=1), 0, None),
        (privet.Laplace(sensitivity=2, epsilon=1), 0.0, privet.Laplace(sensitivity=2, epsilon=1).law(whole=False)),
        (privet.Laplace(sensitivity=F(1, 2), epsilon=1), 0.0, None),
        (privet.Gaussian(sensitivity=1, sigma=3), 0, privet.Gaussian(sensitivity=1, sigma=3).law(whole=True)),
        (privet.Gaussian(sensitivity=1, sigma=3), 0.0, None),
        (privet.Gaussian(sensitivity=1, sigma=3, grid="whole"), 0, None),
    ],
    ids=str,
)
def test_released_noise_has_the_law_that_the_object_says(
    mechanism: privet.Laplace | privet.Gaussian, value: float, law: NoiseLaw | None
) -> None:
    count = 20_000
    law = law or mechanism.law()
    for drawn in (np.asarray(mechanism.simulate(value, count)), np.asarray(law.sample(count))):
        for share in (0.05, 0.5, 0.9):
            place = law.quantile(share)
            reached = law.cdf(place)
            assert abs(float(np.mean(drawn <= place)) - reached) <= 6 * math.sqrt(reached * (1 - reached) / count)


def test_objects_offer_the_same_six() -> None:
    for mechanism in (privet.Laplace(sensitivity=1, epsilon=1), privet.Gaussian(sensitivity=1, sigma=2)):
        law = mechanism.law()
        assert mechanism.pmf([0, 1]).tolist() == law.pmf([0, 1]).tolist()
        assert mechanism.cdf(-3) == law.cdf(-3)
        assert mechanism.quantile(0.9) == law.quantile(0.9)
        assert (mechanism.mean, mechanism.variance) == (law.mean, law.variance)
        assert mechanism.sample(5).shape == (5,)


def test_noise_names_its_norm_and_the_distance_it_is_for() -> None:
    sensitivity = Sensitivity(neighbors="add-remove", l1=6, l2_squared=12)
    laplace, gaussian = privet.Laplace(sensitivity=sensitivity, epsilon=1), privet.Gaussian(sensitivity=3, sigma=2)
    assert (laplace.family, laplace.name, laplace.norm, laplace.distance, laplace.width) == (
        "laplace",
        "Laplace",
        "L1",
        6,
        6.0,
    )
    assert (gaussian.family, gaussian.name, gaussian.norm, gaussian.distance, gaussian.width) == (
        "gaussian",
        "Gaussian",
        "L2",
        9,
        2.0,
    )
    assert (laplace.moved(sensitivity), gaussian.moved(sensitivity)) == (6, 12)
