"""Public numbers are read as the rationals that they are, or refused by name."""

from __future__ import annotations

from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privet.core.errors import BadParameter
from privet.core.estimate import Estimate
from privet.core.numbers import (
    failure_probability,
    in_digits,
    in_full,
    nonnegative,
    open_probability,
    positive,
    probability,
    rational,
    read_rational,
    whole,
)


class Half(Fraction):
    """A subclass of an exact number."""


class Three(IntEnum):
    """An integer with a name."""

    IT = 3


TAKEN = [
    (3, Fraction(3)),
    (-3, Fraction(-3)),
    (0.1, Fraction(3602879701896397, 36028797018963968)),
    (5e-324, Fraction(1, 2**1074)),
    (1.7976931348623157e308, Fraction(2**1024 - 2**971)),
    (Fraction(1, 3), Fraction(1, 3)),
    (Half(1, 2), Fraction(1, 2)),
    (Three.IT, Fraction(3)),
    (Decimal("0.1"), Fraction(1, 10)),
    (Decimal("-0"), Fraction(0)),
    (Decimal("0E+1000000000"), Fraction(0)),
    (Decimal("0E-1000000000"), Fraction(0)),
    (10**400, Fraction(10**400)),
    (Fraction(1, 2**2148), Fraction(1, 2**2148)),
    (np.int8(-5), Fraction(-5)),
    (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    (np.float16(0.1), Fraction(819, 8192)),
    (np.float32(0.1), Fraction(13421773, 134217728)),
    (np.float64(0.1), Fraction(0.1)),
    (np.longdouble(1) / 3, Fraction(*(np.longdouble(1) / 3).as_integer_ratio())),
]


@pytest.mark.parametrize(("value", "exact"), TAKEN, ids=repr)
def test_a_number_is_taken_as_the_rational_it_is(value: object, exact: Fraction) -> None:
    taken = rational(value, "x")
    assert taken == exact
    assert type(taken) is Fraction
    assert all(type(part) is int for part in (taken.numerator, taken.denominator))


class Raises:
    """A type whose every conversion fails in its own way."""

    def __index__(self) -> int:
        raise RuntimeError("no")

    def as_integer_ratio(self) -> tuple[int, int]:
        raise KeyError("no")


class Liar:
    """A type whose ratio is not one of integers."""

    def as_integer_ratio(self) -> tuple[float, float]:
        return 1.5, 2.0


class Floats:
    """A type that only converts to a float."""

    def __float__(self) -> float:
        return 1.0


REFUSED = [
    True,
    np.bool_(True),
    "1",
    b"1",
    np.str_("1"),
    None,
    1j,
    np.complex64(1),
    float("nan"),
    float("inf"),
    -float("inf"),
    np.float32("nan"),
    np.longdouble("inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    Decimal("1E+1000000000"),
    Decimal("1E-1000000000"),
    10**800,
    Fraction(1, 10**800),
    np.longdouble("1e-4000"),
    np.timedelta64(5, "s"),
    np.datetime64(5, "s"),
    np.array(3),
    np.array([3]),
    np.ma.masked_array(3, mask=True),
    [3],
    (3,),
    {3},
    {3: 3},
    range(1),
    object(),
    int,
    Raises(),
    Liar(),
    Floats(),
]


@pytest.mark.parametrize("value", REFUSED, ids=lambda value: type(value).__name__)
def test_what_is_not_a_finite_number_is_refused_by_name(value: object) -> None:
    with pytest.raises(BadParameter, match=r"^x must be a finite number; got ") as caught:
        rational(value, "x")
    assert caught.value.parameter == "x"
    assert caught.value.__context__ is None
    assert read_rational(value) is None


def test_a_huge_decimal_is_refused_without_being_written_out() -> None:
    for text in ("1E+1000000000", "1E-1000000000", "0E+1000000000", "9.9E+999999999999999999"):
        assert read_rational(Decimal(text)) is None or not Decimal(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_double_is_taken(value: float) -> None:
    assert float(rational(value, "x")) == value


@pytest.mark.parametrize(
    ("reader", "inside", "outside"),
    [
        (positive, [1, 5e-324], [0, -1, -5e-324, Decimal("-0")]),
        (nonnegative, [0, 1, -0.0], [-1, -5e-324]),
        (probability, [0, 1, 0.5], [-5e-324, 1 + 2**-52, 2]),
        (open_probability, [5e-324, 1 - 2**-53], [0, 1, -1, 2]),
        (failure_probability, [0, 1 - 2**-53], [1, -5e-324, 1.5]),
    ],
)
def test_a_range_holds_its_ends_exactly(reader, inside, outside) -> None:  # type: ignore[no-untyped-def]
    for value in inside:
        assert reader(value, "x") == Fraction(value)
    for value in [*outside, float("nan"), "0.5", True, None]:
        with pytest.raises(BadParameter, match=r"^x must be "):
            reader(value, "x")


@pytest.mark.parametrize("value", [0, 7, np.int64(7), np.uint8(7), Three.IT, 10**400])
def test_a_whole_number_is_taken(value: object) -> None:
    taken = whole(value, "n")
    assert taken == value
    assert type(taken) is int


@pytest.mark.parametrize(
    "value",
    [
        -1,
        1.0,
        np.float64(1),
        Fraction(1),
        Decimal(1),
        True,
        np.bool_(True),
        "1",
        None,
        np.array(1),
        np.array([1]),
        [1],
        np.timedelta64(1, "s"),
        np.datetime64(1, "s"),
        Raises(),
        Floats(),
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_whole_number_in_range_is_refused(value: object) -> None:
    with pytest.raises(BadParameter, match=r"^n must be an integer of at least 0 and at most 9; got "):
        whole(value, "n", most=9)


def test_a_whole_number_keeps_to_its_range() -> None:
    assert whole(9, "n", least=2, most=9) == 9
    for value in (1, 10):
        with pytest.raises(BadParameter, match="at least 2 and at most 9"):
            whole(value, "n", least=2, most=9)


@pytest.mark.parametrize(
    ("number", "four", "full"),
    [
        (0, "0", "0"),
        (0.00001234567, "0.00001235", "0.0000123457"),
        (1 / 3, "0.3333", "0.333333"),
        (999.96, "1,000", "999.96"),
        (12345.6, "12,350", "12,345.6"),
        (-1234567.2, "-1,235,000", "-1,234,567"),
        (3e20, "3e+20", "3e+20"),
        (float("inf"), "inf", "inf"),
        (float("nan"), "nan", "nan"),
    ],
)
def test_numbers_are_written_as_people_write_them(number: float, four: str, full: str) -> None:
    assert in_digits(number, 4) == four
    assert in_full(number) == full


def test_an_estimate_shows_its_whole_part_in_full() -> None:
    found = Estimate(
        value=1234567.2, low=1234000.0, high=1235134.4, confidence=0.95, standard_error=290.0, covers="noise"
    )
    assert str(found) == "1,234,567 [1,234,000, 1,235,134] (95%: noise)"


def test_a_fraction_of_numpys_integers_is_read_without_them() -> None:
    made = rational(Fraction(np.int64(2**62), np.int64(3)), "x")
    assert (type(made.numerator), type(made.denominator)) == (int, int)
    assert made * 9 == 3 * 2**62
