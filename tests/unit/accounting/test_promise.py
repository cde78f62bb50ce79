"""A budget in sentences: no figure promises more than is proven, and none is left out."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest

from privet.accounting import rho_epsilon
from privet.accounting.summaries import promise
from privet.core.budget import Approximate, Pure, Zcdp


def factors(said: tuple[str, ...]) -> list[float]:
    return [float(found.replace(",", "")) for found in re.findall(r"factor of ([\d.,]+\d)", " ".join(said))]


def chances(said: tuple[str, ...]) -> list[float]:
    return [float(found) for found in re.findall(r"probability of at most ([\d.e-]+\d)", " ".join(said))]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 3, 5])
def test_the_factors_are_e_to_the_epsilon_and_its_square_rounded_up(epsilon: float) -> None:
    told = factors(promise(Pure(epsilon=Fraction(epsilon))))
    for figure, exact in zip(told, (math.exp(epsilon), math.exp(2 * epsilon)), strict=True):
        assert exact <= figure <= exact * 1.01


def test_bayes_never_moves_an_even_bet_beyond_what_is_said() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        said = " ".join(promise(Pure(epsilon=Fraction(epsilon))))
        sure = float(re.findall(r"at most ([\d.]+)% sure", said)[0]) / 100
        # randomized response with two answers, seen from both sides
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert truth <= sure <= truth + 0.002


def test_under_change_one_there_is_one_step_between_two_versions_of_a_person() -> None:
    said = promise(Pure(epsilon=Fraction(1)), neighbors="change-one")
    assert len(factors(said)) == 1
    assert "might have" in said[0]
    assert "is in the data" not in said[0]


def test_a_delta_is_told_and_grows_between_two_versions_as_for_groups_of_two() -> None:
    one, two = chances(promise(Approximate(epsilon=Fraction(3), delta=Fraction(1, 10**6))))
    assert 1e-6 <= one <= 1.01e-6
    assert 1e-6 * (1 + math.exp(3)) <= two <= 1.01e-6 * (1 + math.exp(3))
    assert "probability" not in " ".join(promise(Pure(epsilon=Fraction(3))))


def test_a_rho_is_told_as_an_epsilon_at_a_delta_that_is_named() -> None:
    said = promise(Zcdp(rho=Fraction(1, 10)))
    epsilon = rho_epsilon(Fraction(1, 10), 1e-6)
    assert "delta of 1e-06" in said[0]
    assert math.exp(epsilon) <= factors(said)[0] <= math.exp(epsilon) * 1.02


def test_a_budget_that_hardly_promises_anything_says_so() -> None:
    assert any("hardly" in one for one in promise(Pure(epsilon=Fraction(8))))
    assert not any("hardly" in one for one in promise(Pure(epsilon=Fraction(3))))
    for budget in (Pure(epsilon=Fraction(10**6)), Approximate(epsilon=Fraction(900), delta=Fraction(1, 10**300))):
        assert "10 to the 300" in " ".join(promise(budget))


def test_what_is_not_promised_is_said_every_time() -> None:
    for budget in (
        Pure(epsilon=Fraction(1)),
        Zcdp(rho=Fraction(1)),
        Approximate(epsilon=Fraction(1), delta=Fraction(1, 9)),
    ):
        assert "people in general is not limited" in promise(budget)[-1]
