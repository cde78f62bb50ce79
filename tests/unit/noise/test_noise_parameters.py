"""Every parameter is taken as the number that it is, or refused by name."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from privet import noise
from privet.core.errors import BadParameter, RequestError

NEVER = [
    None,
    "1",
    b"1",
    True,
    False,
    np.True_,
    1j,
    np.complex128(1),
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    np.float32("inf"),
    np.longdouble("inf"),
    Decimal("NaN"),
    Decimal("Infinity"),
    Decimal("1e999999999"),
    10**1000,
    Fraction(1, 10**1000),
    [1],
    (1,),
    {1},
    np.array(1),
    np.array(1.5),
    np.array([1.0]),
    np.datetime64("2020-01-01"),
    np.timedelta64(1, "s"),
    np.str_("1"),
    object(),
]
FUNCTIONS = [
    (noise.geometric, "scale"),
    (noise.discrete_laplace, "scale"),
    (noise.discrete_gaussian, "sigma_squared"),
    (noise.bernoulli_exp, "x"),
    (noise.bernoulli, "p"),
    (noise.uniform_below, "n"),
]


@pytest.mark.parametrize(("function", "name"), FUNCTIONS)
@pytest.mark.parametrize("size", [None, 3])
@pytest.mark.parametrize("value", NEVER, ids=lambda value: f"{type(value).__name__} {str(value)[:12]}")
def test_what_is_not_a_number_is_refused_by_name(function, name, size, value):
    if name == "n" and type(value) is int:
        assert 0 <= function(value) < value
        return
    with pytest.raises(BadParameter) as caught:
        function(value, size)
    assert caught.value.parameter == name
    assert isinstance(caught.value, RequestError)
    assert name in str(caught.value)


@pytest.mark.parametrize("value", [0, 0.0, -0.0, -1, -5e-324, Fraction(-1, 3), Decimal(0), np.int8(-1)])
@pytest.mark.parametrize("function", [noise.geometric, noise.discrete_laplace, noise.discrete_gaussian])
def test_a_scale_must_be_positive(function, value):
    with pytest.raises(BadParameter):
        function(value)


@pytest.mark.parametrize("value", [-1, -5e-324, Fraction(-1, 10**9)])
def test_an_exponent_must_not_be_negative(value):
    with pytest.raises(BadParameter, match="x must be"):
        noise.bernoulli_exp(value)


@pytest.mark.parametrize("value", [-1, -5e-324, math.nextafter(1, 2), 2, Fraction(10**20 + 1, 10**20)])
def test_a_probability_must_lie_between_zero_and_one(value):
    with pytest.raises(BadParameter, match="p must be"):
        noise.bernoulli(value)


@pytest.mark.parametrize("value", [0, -1, 1.0, 2.5, Fraction(2), Decimal(2), np.float64(2)])
def test_a_bound_must_be_a_positive_integer(value):
    with pytest.raises(BadParameter, match="n must be"):
        noise.uniform_below(value)


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.0,
        Fraction(1),
        Decimal("1.0"),
        *(kind(1) for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)),
        *(kind(1) for kind in (np.float16, np.float32, np.float64, np.longdouble)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_of_every_type_are_taken_exactly(value):
    assert isinstance(noise.discrete_laplace(value), int)
    assert noise.discrete_gaussian(value, 2).dtype == np.int64
    assert noise.bernoulli(value) is True
    assert noise.geometric(value, 1).shape == (1,)
    assert noise.bernoulli_exp(value) in (True, False)


def test_a_float_is_the_rational_that_it_is():
    from privet.noise.draws import _coin, _geometric

    assert _coin(0.1).sampler.p == Fraction(0.1) != Fraction(1, 10)
    assert _geometric(np.float32(0.1)).sampler.scale == Fraction(float(np.float32(0.1)))
    assert _geometric(Decimal("0.1")).sampler.scale == Fraction(1, 10)


def test_remembering_never_confuses_types():
    noise.bernoulli(1)
    with pytest.raises(BadParameter):
        noise.bernoulli(True)
    noise.uniform_below(2)
    with pytest.raises(BadParameter):
        noise.uniform_below(2.0)
    noise.bernoulli(1.0)
    with pytest.raises(BadParameter):
        noise.bernoulli(np.True_)


@pytest.mark.parametrize("tiny", [5e-324, Fraction(1, 2**1074), 1e-300])
def test_a_subnormal_scale_gives_zeros_at_once(tiny):
    assert not noise.geometric(tiny, 10_000).any()
    assert not noise.discrete_laplace(tiny, 10_000).any()
    assert not noise.discrete_gaussian(tiny, 10_000).any()
    assert noise.discrete_laplace(tiny) == noise.discrete_gaussian(tiny) == noise.geometric(tiny) == 0


def test_certain_coins_never_fail():
    assert noise.bernoulli(1, 10_000).all()
    assert not noise.bernoulli(0, 10_000).any()
    assert noise.bernoulli_exp(0, 10_000).all()
    assert not noise.bernoulli_exp(1e308, 10_000).any()
    assert noise.bernoulli(1) is noise.bernoulli_exp(0) is True
    assert noise.bernoulli(0) is noise.bernoulli_exp(10**300) is False
    assert not noise.uniform_below(1, 10).any()


def test_the_type_of_an_array_follows_from_the_parameter_alone():
    assert noise.discrete_laplace(2**52, 5).dtype == np.int64
    assert noise.discrete_laplace(2**52 + 1, 5).dtype == object
    assert noise.geometric(10**300, 5).dtype == object
    assert noise.discrete_gaussian(2**104, 5).dtype == np.int64
    assert noise.discrete_gaussian(2**106, 5).dtype == object
    assert noise.discrete_gaussian(10**300, 0).dtype == object
    assert noise.uniform_below(2**63, 5).dtype == np.int64
    assert noise.uniform_below(2**63 + 1, 5).dtype == object
    for array in (
        noise.discrete_laplace(10**40, 3),
        noise.discrete_gaussian(10**90, 3),
        noise.uniform_below(10**40, 3),
    ):
        assert all(type(value) is int for value in array)
    assert noise.bernoulli(0.5, 3).dtype == noise.bernoulli_exp(1, 3).dtype == np.bool_


def test_a_scalar_is_a_plain_python_value():
    assert type(noise.geometric(3)) is type(noise.discrete_laplace(2**60)) is type(noise.discrete_gaussian(9)) is int
    assert type(noise.uniform_below(5)) is int
    assert type(noise.bernoulli(0.5)) is type(noise.bernoulli_exp(0.5)) is bool


@pytest.mark.parametrize("function", [function for function, _ in FUNCTIONS])
@pytest.mark.parametrize(
    "size", [-1, 1.0, 2.5, True, "3", (2, -1), (2, 1.5), (True,), 10**12, 2**31 + 1, (2**16, 2**16), np.array(3), [[2]]]
)
def test_a_size_that_is_not_a_shape_is_refused(function, size):
    with pytest.raises(BadParameter, match="size must be"):
        function(1, size)


@pytest.mark.parametrize("function", [function for function, _ in FUNCTIONS])
@pytest.mark.parametrize(
    ("size", "shape"),
    [(0, (0,)), (4, (4,)), ((2, 3), (2, 3)), ([2, 3], (2, 3)), ((), ()), ((3, 0), (3, 0)), (np.int16(4), (4,))],
)
def test_a_size_gives_an_array_of_that_shape(function, size, shape):
    assert function(1, size).shape == shape


def test_every_public_name_is_listed_and_takes_no_seed():
    import inspect

    for name in noise.__all__:
        parameters = inspect.signature(getattr(noise, name)).parameters
        assert not {"seed", "rng", "source", "random_state", "generator"} & set(parameters)
        assert not any(parameter.startswith("_") for parameter in parameters)
