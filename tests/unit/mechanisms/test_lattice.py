"""The grid: neighbours never move further than claimed, and what comes back depends on the noisy integer alone."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privet.core.errors import BadParameter, BadValue, InvariantError
from privet.mechanisms.lattice import (
    Numbers,
    add,
    around,
    exponent_below,
    from_grid,
    read_grid,
    read_numbers,
    step_of,
    tail_of,
    to_grid,
)

reals = st.floats(allow_nan=False, allow_infinity=False)
exponents = st.integers(-1200, 1200) | st.integers(-40, 80)


def exact_place(x: object, exponent: int) -> int:
    return math.floor(Fraction(x) * Fraction(2) ** exponent + Fraction(1, 2))


near_ties = st.builds(
    lambda half, ulps, exponent: (math.ldexp((half + 0.5) * (1 + ulps * 2.0**-52), -exponent), exponent),
    st.integers(-(2**20), 2**20),
    st.integers(-3, 3),
    st.integers(-60, 60),
)


@settings(deadline=None, max_examples=400)
@given(st.tuples(reals, exponents) | near_ties)
@example((-5e-324, -10))
@example((-0.5, 0))
@example((0.49999999999999994, 0))
@example((-0.5000000000000001, 0))
@example((2.0**51, 0))
@example((2.0**52 + 0.5, 0))
@example((1.7976931348623157e308, 1100))
def test_a_real_lies_where_exact_arithmetic_puts_it(case: tuple[float, int]) -> None:
    x, exponent = case
    expected = exact_place(x, exponent)
    assert to_grid(read_numbers(x), exponent) == expected
    assert to_grid(read_numbers(Fraction(x)), exponent) == expected
    assert to_grid(read_numbers(np.array([x, 0.0])), exponent).tolist() == [expected, 0]
    assert to_grid(read_numbers(np.array(x)), exponent) == expected


@settings(deadline=None, max_examples=400)
@given(reals, reals | st.integers(-4, 4), exponents)
def test_neighbours_move_no_further_than_the_ceiling_of_their_distance(
    x: float, other: float | int, exponent: int
) -> None:
    y = other if isinstance(other, float) else x
    for _ in range(abs(other) if isinstance(other, int) else 0):
        y = math.nextafter(y, math.copysign(math.inf, other))
    if not math.isfinite(y):
        return
    moved = abs(to_grid(read_numbers(x), exponent) - to_grid(read_numbers(y), exponent))
    assert moved <= math.ceil(abs(Fraction(x) - Fraction(y)) * Fraction(2) ** exponent)


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4), st.integers(-70, 90))
def test_whole_numbers_are_placed_exactly_at_the_ends_of_int64_too(values: list[int], exponent: int) -> None:
    placed = to_grid(read_numbers(np.array(values)), exponent)
    assert [int(x) for x in placed] == [exact_place(x, exponent) for x in values]


integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-(2**80), 2**80)


@settings(deadline=None)
@given(st.lists(st.tuples(integers, integers), min_size=1, max_size=4))
def test_sums_never_wrap(pairs: list[tuple[int, int]]) -> None:
    def as_array(values: list[int]) -> np.ndarray:
        fits = all(-(2**63) <= x < 2**63 for x in values)
        return np.array(values, dtype=np.int64 if fits else object)

    total = add(as_array([a for a, _ in pairs]), as_array([b for _, b in pairs]))
    assert [int(x) for x in total] == [a + b for a, b in pairs]


REAL = Numbers(np.zeros(1), (1,), False)
INT64 = Numbers(np.zeros(1, dtype=np.int64), (1,), True)
BIG = Numbers(np.array([0], dtype=object), (1,), True)


@settings(deadline=None)
@given(integers, st.integers(-1100, 1200) | st.integers(0, 70))
@example(2**61 + 2**59 + 1, 1134)  # rounded once to a subnormal number, and not first to a double
@example(1, -1100)
def test_a_result_depends_on_the_integer_and_not_on_how_it_was_stored(steps: int, exponent: int) -> None:
    stored = [np.array([steps], dtype=object)]
    if -(2**63) <= steps < 2**63:
        stored.append(np.array([steps], dtype=np.int64))
    for like in (REAL, INT64, BIG):
        results = [from_grid(array, exponent, like=like) for array in stored]
        assert len({(result.dtype, result[0]) for result in results}) == 1
    exact = Fraction(steps) / Fraction(2) ** exponent
    rounded = math.floor(exact + Fraction(1, 2))
    assert from_grid(stored[0], exponent, like=BIG)[0] == rounded
    assert from_grid(stored[0], exponent, like=INT64)[0] == min(max(rounded, -(2**63)), 2**63 - 1)
    try:
        expected = exact.numerator / exact.denominator
    except OverflowError:
        expected = math.copysign(1.7976931348623157e308, steps)
    assert from_grid(stored[0], exponent, like=REAL)[0] == expected
    assert from_grid(steps, exponent, like=read_numbers(0.5)) == expected
    assert from_grid(steps, exponent, like=read_numbers(7)) == rounded


KINDS = [
    (7, int, None),
    (7.5, float, None),
    (np.int32(7), int, None),
    (np.float32(7.5), float, None),
    (np.longdouble(7.5), float, None),
    (Fraction(1, 3), float, None),
    (Decimal("0.1"), float, None),
    (np.array([7], dtype=np.uint8), np.ndarray, np.int64),
    (np.array([7], dtype=np.uint64), np.ndarray, object),
    (np.array([7.5], dtype=np.float16), np.ndarray, np.float64),
    (np.array([7.5], dtype=np.longdouble), np.ndarray, np.float64),
    (np.array([7], dtype=object), np.ndarray, object),
    (np.array([Fraction(7)], dtype=object), np.ndarray, np.float64),
    ([7], np.ndarray, np.int64),
    ([np.int8(7), 7], np.ndarray, np.int64),
    ([7, 7.5], np.ndarray, np.float64),
    ([2**60, 7.5], np.ndarray, np.float64),
    ([7.5], np.ndarray, np.float64),
    ([Fraction(1, 3), 1], np.ndarray, np.float64),
    (((1, 2), (3, 4)), np.ndarray, np.int64),
]


@pytest.mark.parametrize(("value", "kind", "dtype"), KINDS, ids=lambda value: repr(value)[:40])
def test_the_type_of_a_result_follows_from_the_type_that_came_in(value: object, kind: type, dtype: object) -> None:
    numbers = read_numbers(value)
    placed = to_grid(numbers, 20)
    result = from_grid(add(placed, placed * 0), 20, like=numbers)
    assert isinstance(result, kind)
    if dtype is not None:
        assert result.dtype == dtype
    assert result == pytest.approx(np.array(value, dtype=float) if kind is np.ndarray else float(value), abs=2**-20)


@pytest.mark.parametrize("value", [np.array(5), np.array(5.5), np.array(2**70, dtype=object), np.array(-(2**63))])
def test_an_array_without_dimensions_is_still_an_array(value: np.ndarray) -> None:
    numbers = read_numbers(value)
    assert numbers.shape == ()
    placed = to_grid(numbers, 30)
    noise = np.zeros((), dtype=np.int64)
    result = from_grid(add(placed, noise), 30, like=numbers)
    assert result == value.item()
    assert np.asarray(result).dtype == value.dtype


@pytest.mark.parametrize(
    "value",
    [
        True,
        "7",
        None,
        1j,
        float("nan"),
        float("-inf"),
        Decimal("NaN"),
        np.bool_(True),
        np.float32("inf"),
        np.timedelta64(5, "s"),
        [True],
        [1, True],
        ["7"],
        [None],
        [float("nan")],
        [[1], [2, 3]],
        [2**63],
        np.array([True]),
        np.array(["7"]),
        np.array([1j]),
        np.array([np.nan]),
        np.array([np.longdouble("nan")]),
        np.array([5], dtype="m8[s]"),
        np.array([None], dtype=object),
        np.ma.masked_array([1, 2], mask=[0, 1]),
        {1},
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_a_finite_number_is_refused_without_being_quoted(value: object) -> None:
    with pytest.raises(BadValue, match=r"^value must be ") as caught:
        read_numbers(value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_private_numbers_do_not_show_themselves() -> None:
    assert "12345" not in repr(read_numbers(12345)) + repr(read_numbers([12345]))


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_the_step_is_the_largest_power_of_two_within_its_bound(bound: Fraction) -> None:
    step = step_of(exponent_below(bound))
    assert step <= bound < 2 * step


def test_no_step_fits_a_bound_of_nothing() -> None:
    with pytest.raises(InvariantError):
        exponent_below(Fraction(0))


def test_the_whole_grid_is_for_whole_sensitivities() -> None:
    assert read_grid(None, Fraction(3)) == "whole"
    assert read_grid(None, Fraction(1, 3)) == "fine"
    assert read_grid("fine", Fraction(3)) == "fine"
    for wrong, sensitivity in (("whole", Fraction(1, 3)), ("coarse", Fraction(1)), (1, Fraction(1)), ([], Fraction(1))):
        with pytest.raises(BadParameter, match="grid must be"):
            read_grid(wrong, sensitivity)


@pytest.mark.parametrize("wrong", [0, 1, -1, 2, 95, "0.9", True, None, float("nan"), 1 - Fraction(1, 10**301)])
def test_a_confidence_lies_between_0_and_1(wrong: object) -> None:
    with pytest.raises(BadParameter, match="confidence must be"):
        tail_of(wrong)


def test_a_tail_is_rounded_down() -> None:
    assert Fraction(tail_of(0.95)) <= 1 - Fraction(0.95)
    assert tail_of(Fraction(19, 20)) < 0.05


@settings(deadline=None)
@given(reals, st.floats(0, 1e300))
def test_an_interval_is_rounded_outwards(center: float, half: float) -> None:
    low, high = around(read_numbers(center), half)
    assert low == -math.inf or Fraction(low) <= Fraction(center) - Fraction(half)
    assert high == math.inf or Fraction(high) >= Fraction(center) + Fraction(half)
    lows, highs = around(read_numbers(np.array([center])), half)
    assert (lows[0], highs[0]) == (low, high)


def test_an_interval_of_whole_numbers_is_whole_and_never_wraps() -> None:
    assert around(read_numbers(7), 2) == (5, 9)
    ends = np.array([-(2**63), 2**63 - 1, 0])
    low, high = around(read_numbers(ends), 5)
    assert low.dtype == high.dtype == np.int64
    assert low.tolist() == [-(2**63), 2**63 - 6, -5]
    assert high.tolist() == [-(2**63) + 5, 2**63 - 1, 5]
