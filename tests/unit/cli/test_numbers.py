"""Numbers on the command line are exact going in and never understated coming out."""

from __future__ import annotations

import math
from fractions import Fraction

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.cli.screen import number
from privet.display import show_cost


@pytest.mark.parametrize(
    ("text", "value"), [("1e-6", Fraction(1, 10**6)), ("0.1", Fraction(1, 10)), ("1/3", Fraction(1, 3)), ("-2", -2)]
)
def test_a_number_is_the_rational_that_it_is(text: str, value: Fraction) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1/0", "", "/", "1/2/3", "one", "1e999999999", "sNaN"])
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        number(text)


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(1, 9))
def test_a_cost_is_never_shown_as_less_than_it_is(cost: float, digits: int) -> None:
    shown, told = Fraction(show_cost(cost, digits)), Fraction(repr(cost))
    assert told <= shown <= told * (1 + Fraction(10, 10**digits))


def test_a_short_cost_is_shown_as_it_is() -> None:
    assert [show_cost(0.1), show_cost(1.0), show_cost(1.0986122886681098)] == ["0.1", "1", "1.1"]


def test_an_infinite_cost_is_told_in_a_word() -> None:
    assert show_cost(math.inf) == "infinite"
