"""Budgets, and the error that says one has run out."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from privet.core.budget import Approximate, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetError, BudgetExceeded, PrivetError

F = Fraction


def test_a_budget_is_read_exactly_and_described_in_words() -> None:
    assert Pure(epsilon=0.5).epsilon == F(1, 2)
    assert Approximate(epsilon=1, delta=F(1, 10**6)).describe() == "epsilon 1, except with probability 1e-06"
    assert Pure(epsilon=F(1, 3)).describe() == "epsilon 0.333333, with no exception"
    assert Zcdp(rho=0.25).describe() == "rho 0.25 (zero-concentrated)"


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "1", True, None])
def test_a_budget_of_nothing_or_nonsense_is_refused(value: object) -> None:
    with pytest.raises(BadParameter, match="epsilon"):
        Pure(epsilon=value)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="rho"):
        Zcdp(rho=value)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="delta"):
        Approximate(epsilon=1, delta=value)  # type: ignore[arg-type]


def test_running_out_says_what_was_asked_what_is_left_and_what_fits() -> None:
    error = BudgetExceeded(measure="rho", requested=0.5, remaining=0.25, largest_epsilon=0.7)
    assert isinstance(error, BudgetError)
    assert isinstance(error, PrivetError)
    assert (error.exit_status, error.http_status) == (3, 409)
    assert str(error) == "this costs 0.5 of rho, and 0.25 is left; the largest epsilon that still fits is 0.7"
    assert error.to_dict() == {
        "code": "budget.exceeded",
        "message": str(error),
        "measure": "rho",
        "requested": 0.5,
        "remaining": 0.25,
        "largest_epsilon": 0.7,
        "largest_rho": None,
        "error": "",
        "countable": True,
    }
    other = BudgetExceeded(measure="divergence", requested=0.5, remaining=0, largest_epsilon=0.7, countable=False)
    assert str(other) == "this costs more than is left of the budget; the largest epsilon that still fits is 0.7"
    assert "nothing" in str(BudgetExceeded(measure="rho", requested=1, remaining=0, largest_epsilon=0))
