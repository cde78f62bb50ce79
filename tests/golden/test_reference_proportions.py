"""Tulap values, powers, p-values and intervals against independently computed ones, to all their digits."""

from __future__ import annotations

from fractions import Fraction

import pytest

from privet.inference import proportion_power, proportion_test
from privet.mechanisms import Tulap

CDF = [
    (-3, 0.024893534, 0.019363516),
    (-1.5, 0.098938020, 0.094269845),
    (-0.5, 0.268941421, 0.266252007),
    (-0.25, 0.384470711, 0.383126004),
    (0.25, 0.615529289, 0.616873996),
    (0.5, 0.731058579, 0.733747993),
    (2, 0.932332358, 0.937364506),
    (5, 0.996631027, 1.000000000),
]


@pytest.mark.parametrize(("x", "pure", "truncated"), CDF)
def test_the_distribution_function(x: float, pure: float, truncated: float) -> None:
    assert round(Tulap(epsilon=1).cdf(x), 9) == pure
    assert round(Tulap(epsilon=1, delta=Fraction(1, 100)).cdf(x), 9) == truncated


def test_the_variance() -> None:
    assert round(Tulap(epsilon=1).variance, 6) == 1.924681


@pytest.mark.parametrize(
    ("epsilon", "delta", "power"),
    [(0.5, 0, 0.19862456), (1, 0, 0.39355339), (1, Fraction(1, 100), 0.41226017), (2, 0, 0.49476613)],
)
def test_the_power_is_the_optimum_over_all_private_tests(epsilon: float, delta: float, power: float) -> None:
    found = proportion_power(people=12, epsilon=epsilon, delta=delta, equals=0.5, when=0.75, alternative="greater")
    assert round(found, 8) == power
    size = proportion_power(people=12, epsilon=epsilon, delta=delta, equals=0.5, when=0.5, alternative="greater")
    assert size == pytest.approx(0.05, abs=1e-11)


PRIVACY = [(Fraction(1, 10), 0), (Fraction(1, 2), 0), (1, 0), (1, Fraction(1, 100)), (2, 0)]


@pytest.mark.parametrize(
    ("people", "powers"),
    [
        (30, (0.06738, 0.17936, 0.24832, 0.25459, 0.28226)),
        (100, (0.13511, 0.54512, 0.61762, 0.62158, 0.63646)),
        (200, (0.33603, 0.84364, 0.87481, 0.87668, 0.88349)),
        (500, (0.89166, 0.99675, 0.99770, 0.99774, 0.99788)),
        (1000, (0.99761, 1.00000, 1.00000, 1.00000, 1.00000)),
    ],
)
def test_the_table_of_powers(people: int, powers: tuple[float, ...]) -> None:
    for (epsilon, delta), power in zip(PRIVACY, powers, strict=True):
        found = proportion_power(
            people=people, epsilon=epsilon, delta=delta, equals=0.5, when=0.6, alternative="greater"
        )
        assert round(found, 5) == power


@pytest.mark.parametrize(
    ("people", "released", "epsilon", "delta", "above", "both", "low", "high"),
    [
        (100, "62.3", "1", "0", 0.0088748158, 0.017749632, 0.52159145, 0.71720374),
        (100, "62.3", "0.1", "0", 0.16536322, 0.33072645, 0.31259462, 0.92604971),
        (30, "28.4", "1", "0.01", 2.8679802e-06, 5.7359604e-06, 0.7863258, 1),
        (1000, "541.75", "0.5", "0", 0.004672309, 0.009344618, 0.5102873, 0.5729694),
        # 2.64776636400227e-9 with 50 digits; a difference from 1 in doubles makes 2.6477669e-9 of it
        (50, "-0.7", "1", "0", 1, 2.6477664e-09, 0, 0.069322296),
    ],
)
def test_p_values_and_intervals(
    people: int, released: str, epsilon: str, delta: str, above: float, both: float, low: float, high: float
) -> None:
    given = {"people": people, "epsilon": Fraction(epsilon), "delta": Fraction(delta), "equals": 0.5}
    two_sided = proportion_test(Fraction(released), **given)  # type: ignore[arg-type]
    greater = proportion_test(Fraction(released), alternative="greater", **given)  # type: ignore[arg-type]
    printed_ones = (above, both, low, high)
    for found, printed in zip((greater.p_value, two_sided.p_value, *two_sided.interval), printed_ones, strict=True):
        assert found is not None
        assert float(f"{found:.8g}") == printed
