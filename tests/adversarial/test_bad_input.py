"""Hostile parameters and hostile private values, against every parameter of every mechanism and event.

A parameter is taken as exactly the rational that it is, or refused with its name and what is allowed. A private value
that is refused is never quoted: not in the message, the fields, the repr, nor anywhere up the chain of errors.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privet.accounting.events import ApproximateEvent, PureEvent, ThresholdEvent, ZcdpEvent
from privet.core.errors import RequestError
from privet.core.event import Repeated
from privet.core.unit import Sensitivity
from privet.mechanisms import (
    AboveThreshold,
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    Exponential,
    ExponentialEvent,
    FiniteMechanism,
    Gaussian,
    GaussianEvent,
    Laplace,
    LaplaceEvent,
    NoisyMax,
    NumericSparse,
    PermuteAndFlip,
    RandomizedResponse,
    ResponseEvent,
    Sparse,
    TopK,
    TopKWithGaps,
    best_price,
    best_threshold,
)

F = Fraction


class Sub(Fraction):
    """A subclass of Fraction."""


class Int(int):
    """A subclass of int."""


class Float(float):
    """A subclass of float."""


class Level(IntEnum):
    """An integer with a name."""

    ONE = 1


class OnlyFloat:
    """Converts to a float, and to nothing exact."""

    def __float__(self) -> float:
        return 0.5


class OnlyIndex:
    """Converts to an integer exactly."""

    def __index__(self) -> int:
        return 1


class Raising:
    """Fails at everything, each time with another kind of error."""

    def __float__(self) -> float:
        raise RuntimeError("float")

    def __index__(self) -> int:
        raise KeyError("index")

    def __gt__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __eq__(self, other: object) -> bool:
        raise OSError

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise ValueError("repr")

    @property
    def as_integer_ratio(self) -> object:
        raise MemoryError


class Crooked:
    """Claims a ratio that is none."""

    def __init__(self, *ratio: object) -> None:
        self.ratio = ratio

    def as_integer_ratio(self) -> tuple[object, ...]:
        return self.ratio


WHOLE = "whole"
HOSTILE: list[tuple[str, Any, Fraction | None, str]] = [
    # name, value, the rational that it is (None: refused everywhere), and whether an integer parameter may take it
    ("one", 1, F(1), WHOLE),
    ("half", 0.5, F(1, 2), ""),
    ("third", F(1, 3), F(1, 3), ""),
    ("zero", 0, F(0), WHOLE),
    ("zero float", 0.0, F(0), ""),
    ("minus zero", -0.0, F(0), ""),
    ("minus one", -1, F(-1), WHOLE),
    ("minus tiny", -5e-324, F(-1, 2**1074), ""),
    ("least subnormal", 5e-324, F(1, 2**1074), ""),
    ("subnormal", 1e-310, F(1e-310), ""),
    ("least normal", 2.0**-1022, F(1, 2**1022), ""),
    ("largest", 1.7976931348623157e308, F(1.7976931348623157e308), ""),
    ("infinity", math.inf, None, ""),
    ("minus infinity", -math.inf, None, ""),
    ("nan", math.nan, None, ""),
    ("true", True, None, ""),
    ("false", False, None, ""),
    ("none", None, None, ""),
    ("text", "1", None, ""),
    ("text half", "0.5", None, ""),
    ("text inf", "inf", None, ""),
    ("text nan", "nan", None, ""),
    ("empty text", "", None, ""),
    ("arabic digit", "١", None, ""),
    ("bytes", b"1", None, ""),
    ("bytearray", bytearray(b"1"), None, ""),
    ("complex", 1 + 0j, None, ""),
    ("huge integer", 10**400, F(10**400), WHOLE),
    ("huger integer", 10**5000, None, "whole if allowed"),
    ("minus huge", -(10**400), F(-(10**400)), WHOLE),
    ("tiny fraction", F(1, 10**400), F(1, 10**400), ""),
    ("tinier fraction", F(1, 10**5000), None, ""),
    ("fraction subclass", Sub(1, 2), F(1, 2), ""),
    ("int subclass", Int(1), F(1), WHOLE),
    ("float subclass", Float(0.5), F(1, 2), ""),
    ("int enum", Level.ONE, F(1), WHOLE),
    ("decimal", Decimal("0.1"), F(1, 10), ""),
    ("decimal one", Decimal(1), F(1), ""),
    ("decimal zero", Decimal("-0.00"), F(0), ""),
    ("decimal minus", Decimal("-0.1"), F(-1, 10), ""),
    ("decimal nan", Decimal("NaN"), None, ""),
    ("decimal signalling nan", Decimal("sNaN"), None, ""),
    ("decimal infinity", Decimal("Infinity"), None, ""),
    ("decimal huge", Decimal("1E+1000000000"), None, ""),
    ("decimal tiny", Decimal("1E-1000000000"), None, ""),
    ("decimal huge zero", Decimal("0E+1000000000"), F(0), ""),
    ("numpy true", np.bool_(True), None, ""),
    ("int8", np.int8(1), F(1), WHOLE),
    ("int16", np.int16(-1), F(-1), WHOLE),
    ("int32", np.int32(1), F(1), WHOLE),
    ("int64", np.int64(2**40), F(2**40), WHOLE),
    ("uint8", np.uint8(1), F(1), WHOLE),
    ("uint64", np.uint64(2**64 - 1), F(2**64 - 1), WHOLE),
    ("float16", np.float16(0.1), F(819, 8192), ""),
    ("float32", np.float32(0.1), F(13421773, 134217728), ""),
    ("float64", np.float64(0.1), F(0.1), ""),
    ("long double", np.longdouble(1) / 3, F(*(np.longdouble(1) / 3).as_integer_ratio()), ""),
    ("tiny long double", np.longdouble("1e-4000"), None, ""),
    ("float16 infinity", np.float16("inf"), None, ""),
    ("float32 nan", np.float32("nan"), None, ""),
    ("long double nan", np.longdouble("nan"), None, ""),
    ("complex64", np.complex64(1), None, ""),
    ("complex128", np.complex128(1), None, ""),
    ("numpy text", np.str_("1"), None, ""),
    ("numpy bytes", np.bytes_(b"1"), None, ""),
    ("timedelta", np.timedelta64(1, "s"), None, ""),
    ("bare timedelta", np.timedelta64(1), None, ""),
    ("datetime", np.datetime64(1, "s"), None, ""),
    ("not a time", np.timedelta64("NaT"), None, ""),
    ("void", np.void(b"\x01"), None, ""),
    ("array", np.array([1.0, 2.0]), None, ""),
    ("array of one", np.array([1.0]), None, ""),
    ("array without dimensions", np.array(1), None, ""),
    ("array of true", np.array(True), None, ""),
    ("object array", np.array(F(1, 2), dtype=object), None, ""),
    ("masked", np.ma.masked, None, ""),
    ("masked array", np.ma.masked_array(1, mask=True), None, ""),
    ("list", [1], None, ""),
    ("tuple", (1,), None, ""),
    ("set", {1}, None, ""),
    ("dict", {1: 1}, None, ""),
    ("range", range(1, 2), None, ""),
    ("generator", (x for x in (1,)), None, ""),
    ("function", abs, None, ""),
    ("class", int, None, ""),
    ("only float", OnlyFloat(), None, ""),
    ("only index", OnlyIndex(), F(1), WHOLE),
    ("raising", Raising(), None, ""),
    ("crooked floats", Crooked(0.5, 1.0), None, ""),
    ("crooked zero", Crooked(1, 0), None, ""),
    ("crooked three", Crooked(1, 2, 3), None, ""),
    ("crooked infinite", Crooked(math.inf, 1), None, ""),
    ("object", object(), None, ""),
    ("ellipsis", ..., None, ""),
    ("not implemented", NotImplemented, None, ""),
]
POSITIVE, NONNEGATIVE, CHANCE, DELTA, BETWEEN = "(0, inf)", "[0, inf)", "[0, 1]", "[0, 1)", "(0, 1)"
INSIDE: dict[str, Callable[[Fraction], bool]] = {
    POSITIVE: lambda x: x > 0,
    NONNEGATIVE: lambda x: x >= 0,
    CHANCE: lambda x: 0 <= x <= 1,
    DELTA: lambda x: 0 <= x < 1,
    BETWEEN: lambda x: 0 < x < 1,
}


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, its range, how to use it and, where it is kept as it is, how to read it back."""

    name: str
    allowed: str
    use: Callable[[Any], Any]
    read: Callable[[Any], Fraction] | None = None
    least: int | None = None  # for an integer parameter
    most: int | None = None


E = Fraction(1)
PARAMETERS = {
    "Laplace sensitivity": Parameter(
        "sensitivity", POSITIVE, lambda v: Laplace(sensitivity=v, epsilon=1), lambda m: m.sensitivity
    ),
    "Laplace sensitivity beside scale": Parameter(
        "sensitivity", NONNEGATIVE, lambda v: Laplace(sensitivity=v, scale=1), lambda m: m.sensitivity
    ),
    "Laplace epsilon": Parameter(
        "epsilon", POSITIVE, lambda v: Laplace(sensitivity=1, epsilon=v), lambda m: m.event.pure()
    ),
    "Laplace scale": Parameter("scale", POSITIVE, lambda v: Laplace(sensitivity=1, scale=v), lambda m: m.scale),
    "Laplace confidence": Parameter("confidence", BETWEEN, lambda v: Laplace(sensitivity=1, scale=1).error(v)),
    "Laplace interval": Parameter("confidence", BETWEEN, lambda v: Laplace(sensitivity=1, scale=1).interval(3, v)),
    "Gaussian sensitivity": Parameter(
        "sensitivity", POSITIVE, lambda v: Gaussian(sensitivity=v, rho=1), lambda m: m.sensitivity_squared
    ),
    "Gaussian sensitivity beside sigma": Parameter(
        "sensitivity", NONNEGATIVE, lambda v: Gaussian(sensitivity=v, sigma=1)
    ),
    "Gaussian epsilon": Parameter("epsilon", POSITIVE, lambda v: Gaussian(sensitivity=1, epsilon=v, delta=1e-6)),
    "Gaussian delta": Parameter(
        "delta", BETWEEN, lambda v: Gaussian(sensitivity=1, epsilon=1, delta=v), lambda m: m.delta
    ),
    "Gaussian rho": Parameter("rho", POSITIVE, lambda v: Gaussian(sensitivity=1, rho=v), lambda m: m.event.rho()),
    "Gaussian sigma": Parameter(
        "sigma", POSITIVE, lambda v: Gaussian(sensitivity=1, sigma=v), lambda m: m.sigma_squared
    ),
    "Gaussian sigma and delta": Parameter(
        "delta", DELTA, lambda v: Gaussian(sensitivity=1, sigma=1, delta=v), lambda m: m.delta
    ),
    "Gaussian confidence": Parameter("confidence", BETWEEN, lambda v: Gaussian(sensitivity=1, sigma=1).error(v)),
    "classical epsilon": Parameter(
        "epsilon", BETWEEN, lambda v: Gaussian.classical(sensitivity=1, epsilon=v, delta=1e-6)
    ),
    "classical delta": Parameter(
        "delta", BETWEEN, lambda v: Gaussian.classical(sensitivity=1, epsilon=0.5, delta=v), lambda m: m.delta
    ),
    "Exponential sensitivity": Parameter(
        "sensitivity", POSITIVE, lambda v: Exponential(sensitivity=v, epsilon=1), lambda m: m.sensitivity
    ),
    "Exponential epsilon": Parameter(
        "epsilon", POSITIVE, lambda v: Exponential(sensitivity=1, epsilon=v), lambda m: m.event.epsilon
    ),
    "Exponential rate": Parameter("rate", POSITIVE, lambda v: Exponential(sensitivity=1, rate=v), lambda m: m.rate),
    "Exponential confidence": Parameter(
        "confidence", BETWEEN, lambda v: Exponential(sensitivity=1, rate=1).error(v, size=5)
    ),
    "Exponential size": Parameter("size", "", lambda v: Exponential(sensitivity=1, rate=1).error(size=v), least=1),
    "Exponential best": Parameter(
        "best", "", lambda v: Exponential(sensitivity=1, rate=1).error(size=5, best=v), least=1, most=5
    ),
    "response p": Parameter("p", CHANCE, lambda v: RandomizedResponse(p=v), lambda m: m.p),
    "response q": Parameter("q", CHANCE, lambda v: RandomizedResponse(p=0.75, q=v), lambda m: m.q),
    "response epsilon": Parameter("epsilon", POSITIVE, lambda v: RandomizedResponse(epsilon=v)),
    "response categories": Parameter(
        "categories", "", lambda v: RandomizedResponse(epsilon=1, categories=v), least=2, most=2**31
    ),
    "response confidence": Parameter(
        "confidence", BETWEEN, lambda v: RandomizedResponse(p=0.75).estimate([1, 0], confidence=v)
    ),
    "response share": Parameter("share", CHANCE, lambda v: RandomizedResponse(p=0.75).variance(v, size=5)),
    "response size": Parameter("size", "", lambda v: RandomizedResponse(p=0.75).variance(0.5, size=v), least=1),
    "coin truth": Parameter("truth", CHANCE, lambda v: RandomizedResponse.two_coins(truth=v)),
    "coin yes": Parameter("yes", CHANCE, lambda v: RandomizedResponse.two_coins(yes=v)),
    "finite delta": Parameter("epsilon", NONNEGATIVE, lambda v: FiniteMechanism([[0.5, 0.5], [1, 0]]).delta(v)),
    "LaplaceEvent sensitivity": Parameter(
        "sensitivity", NONNEGATIVE, lambda v: LaplaceEvent(sensitivity=v, scale=1), lambda e: e.sensitivity
    ),
    "LaplaceEvent scale": Parameter(
        "scale", NONNEGATIVE, lambda v: LaplaceEvent(sensitivity=1, scale=v), lambda e: e.scale
    ),
    "DiscreteLaplaceEvent steps": Parameter(
        "steps", "", lambda v: DiscreteLaplaceEvent(steps=v, scale=E), lambda e: e.steps, least=0
    ),
    "DiscreteLaplaceEvent scale": Parameter(
        "scale", NONNEGATIVE, lambda v: DiscreteLaplaceEvent(steps=1, scale=v), lambda e: e.scale
    ),
    "GaussianEvent sensitivity": Parameter(
        "sensitivity_squared",
        NONNEGATIVE,
        lambda v: GaussianEvent(sensitivity_squared=v, sigma_squared=E),
        lambda e: e.sensitivity_squared,
    ),
    "GaussianEvent sigma": Parameter(
        "sigma_squared",
        NONNEGATIVE,
        lambda v: GaussianEvent(sensitivity_squared=E, sigma_squared=v),
        lambda e: e.sigma_squared,
    ),
    "GaussianEvent blur": Parameter(
        "blur", NONNEGATIVE, lambda v: GaussianEvent(sensitivity_squared=E, sigma_squared=E, blur=v), lambda e: e.blur
    ),
    "DiscreteGaussianEvent steps": Parameter(
        "steps", "", lambda v: DiscreteGaussianEvent(steps=v, sigma_squared=E), lambda e: e.steps, least=0, most=2**60
    ),
    "DiscreteGaussianEvent sigma": Parameter(
        "sigma_squared",
        NONNEGATIVE,
        lambda v: DiscreteGaussianEvent(steps=1, sigma_squared=v),
        lambda e: e.sigma_squared,
    ),
    "ExponentialEvent epsilon": Parameter(
        "epsilon", NONNEGATIVE, lambda v: ExponentialEvent(epsilon=v), lambda e: e.epsilon
    ),
    "ResponseEvent p": Parameter("p", CHANCE, lambda v: ResponseEvent(p=v), lambda e: e.p),
    "ResponseEvent categories": Parameter(
        "categories", "", lambda v: ResponseEvent(p=E, categories=v), lambda e: e.categories, least=2, most=2**31
    ),
    "PureEvent epsilon": Parameter("epsilon", NONNEGATIVE, lambda v: PureEvent(v), lambda e: e.epsilon),
    "ApproximateEvent epsilon": Parameter(
        "epsilon", NONNEGATIVE, lambda v: ApproximateEvent(v, F(0)), lambda e: e.epsilon
    ),
    "ApproximateEvent delta": Parameter("delta", DELTA, lambda v: ApproximateEvent(E, v), lambda e: e.delta),
    "ZcdpEvent rho": Parameter("rho", NONNEGATIVE, lambda v: ZcdpEvent(v), lambda e: e.rho()),
    "ThresholdEvent delta": Parameter("delta", DELTA, lambda v: ThresholdEvent(PureEvent(E), v), lambda e: e.delta),
    "Repeated times": Parameter(
        "times", "", lambda v: Repeated(PureEvent(E), v), lambda e: e.times, least=0, most=10**18
    ),
    "Sensitivity l1": Parameter(
        "l1", NONNEGATIVE, lambda v: Sensitivity(neighbors="add-remove", l1=v, l2_squared=E), lambda s: s.l1
    ),
    "Sensitivity l2": Parameter(
        "l2_squared",
        NONNEGATIVE,
        lambda v: Sensitivity(neighbors="add-remove", l1=E, l2_squared=v),
        lambda s: s.l2_squared,
    ),
    "Sensitivity size": Parameter(
        "size", "", lambda v: Sensitivity.mean(0, 1, size=v, neighbors="change-one"), least=1, most=10**18
    ),
}
SQUARED = {"Gaussian sensitivity", "Gaussian sigma"}
ORDINARY = (F(1, 2**60), F(2**60))


def test_the_table_is_hostile_enough() -> None:
    assert len(HOSTILE) >= 73
    fooled = 0
    for name, value, exact, _ in HOSTILE:
        try:
            passes = bool(float(value) > 0)  # type: ignore[arg-type]
        except Exception:
            passes = False
        wrong = exact is None or exact <= 0 or (passes and F(float(value)) != exact)  # type: ignore[arg-type]
        fooled += passes and wrong
        assert name
    assert fooled >= 20


def attempt(call: Callable[[Any], Any], value: object) -> tuple[Any, RequestError | None]:
    """Return what came of a call, or the error that says why nothing did."""
    try:
        return call(value), None
    except RequestError as error:
        return None, error


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=PARAMETERS)
def test_a_parameter_is_taken_exactly_or_refused_by_name(parameter: Parameter, request: pytest.FixtureRequest) -> None:
    squared = request.node.callspec.id in SQUARED
    for name, value, exact, kind in HOSTILE:
        if value is None and parameter.use.__code__.co_names[0] in {
            "Laplace",
            "Gaussian",
            "Exponential",
            "RandomizedResponse",
        }:
            continue  # there None means "not given", which has its own message
        if parameter.least is not None:
            integer = exact if kind == WHOLE else None
            fits = (
                integer is not None
                and parameter.least <= integer
                and (parameter.most is None or integer <= parameter.most)
            )
            must_take = fits and integer is not None and integer <= ORDINARY[1]
            must_refuse = not fits and kind != "whole if allowed"
        else:
            fits = exact is not None and INSIDE[parameter.allowed](exact)
            must_refuse = not fits
            must_take = fits and exact is not None and (exact == 0 or ORDINARY[0] <= exact <= ORDINARY[1])
        if parameter.name == "categories" and name in {"list", "tuple", "range"}:
            must_refuse = True  # a list of one label
        made, error = attempt(parameter.use, value)
        if error is not None:
            assert not must_take, f"{name} was refused: {error}"
            assert parameter.name in str(error), f"{name}: {error}"
            assert " must be " in str(error)
            assert len(str(error)) < 300
        else:
            assert not must_refuse, f"{name} was taken"
            if parameter.read is not None and exact is not None:
                assert parameter.read(made) == (exact**2 if squared else exact), name


@pytest.mark.parametrize("name", ["list of one", "matrix"])
def test_matrix_entries_are_taken_exactly_or_refused(name: str) -> None:
    for _, value, exact, _ in HOSTILE:
        matrix = [[value]] if name == "list of one" else [[value, 1], [0, 1]]
        made, error = attempt(FiniteMechanism, matrix)
        if error is not None:
            assert "matrix must be" in str(error)
        else:
            assert exact is not None
            assert abs(sum(F(x) for x in ([exact] if name == "list of one" else [exact, 1])) - 1) <= F(1, 10**9)
            assert all(sum(row) == 1 for row in made.matrix)


SECRETS: list[Any] = [
    "secret-77",
    b"secret-77",
    ["secret-77"],
    [123456789.125, "secret-77"],
    {"secret-77": 123456789.125},
    {123456789.125},
    np.array(["secret-77"]),
    np.array([123456789.125, np.nan]),
    np.array([123456789.125, np.inf]),
    np.array([123456789.125 + 1j]),
    [123456789.125, math.nan],
    [123456789.125, None],
    [[123456789.125], [1, 2]],
    [[123456789.125, 1.0]],
    (123456789.125, True),
    np.array([123456789.125, "secret-77"], dtype=object),
    np.array([123456789], dtype="m8[s]"),
    np.ma.masked_array([123456789.125], mask=[True]),
    np.rec.array([(123456789.125,)], dtype=[("secret-77", float)]),
    Decimal("sNaN123456789"),
    123456789.125 + 1j,
    math.nan,
    -math.inf,
    [123456789 * 10**30],
    123456789.125,
    123456789,
    Raising(),
    object(),
]
TAKERS = {
    "Laplace": Laplace(sensitivity=1, epsilon=1).release,
    "fine Laplace": Laplace(sensitivity=0.5, epsilon=1).release,
    "Gaussian": Gaussian(sensitivity=1, rho=1).release,
    "whole Gaussian": Gaussian(sensitivity=1, rho=1, grid="whole").release,
    "interval": Laplace(sensitivity=1, epsilon=1).interval,
    "Exponential": Exponential(sensitivity=1, epsilon=1).release,
    "probabilities": Exponential(sensitivity=1, epsilon=1).probabilities,
    "PermuteAndFlip": PermuteAndFlip(sensitivity=1, epsilon=1).release,
    "NoisyMax": NoisyMax(sensitivity=1, epsilon=1, law="laplace").probabilities,
    "TopK": TopK(k=1, sensitivity=1, epsilon=1).release,
    "TopKWithGaps": TopKWithGaps(k=1, sensitivity=1, epsilon=1).release,
    "AboveThreshold": AboveThreshold(threshold=0, sensitivity=1, epsilon=1).release,
    "NumericSparse": NumericSparse(threshold=0, limit=2, sensitivity=1, epsilon=1).release,
    "response": RandomizedResponse(p=0.75).release,
    "named response": RandomizedResponse(p=0.75, categories=["no", "yes"]).release,
    "estimate": RandomizedResponse(p=0.75).estimate,
    "named estimate": RandomizedResponse(p=0.75, categories=["no", "yes"]).estimate,
    "finite": FiniteMechanism([[0.5, 0.5], [1, 0]]).release,
    "mapped": Laplace(sensitivity=1, epsilon=1).map(str).release,
}


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
def test_a_private_value_that_is_refused_is_never_quoted(taker: Callable[[Any], Any]) -> None:
    refused = 0
    for secret in SECRETS:
        _, error = attempt(taker, secret)
        if error is not None:
            refused += 1
            told = "".join(traceback.format_exception(error, chain=True))
            link: BaseException | None = error
            while link is not None:
                told += (
                    f"{link!s} {link!r} {link.args} {getattr(link, 'to_dict', dict)()} {getattr(link, '__notes__', '')}"
                )
                link = link.__cause__ or link.__context__
            own_lines = [line for line in told.splitlines() if "tests/adversarial" not in line]
            assert "secret-77" not in "\n".join(own_lines)
            assert "123456789" not in "\n".join(own_lines)
            assert error.__cause__ is None
            assert error.__context__ is None
    assert refused >= 15


def test_a_stream_never_quotes_a_query() -> None:
    mechanism = Sparse(threshold=0, limit=9, sensitivity=1, epsilon=1)
    for secret in SECRETS:
        _, error = attempt(lambda value: list(mechanism.stream([value])), secret)
        told = f"{error} {error.to_dict() if error else ''}"
        assert "secret-77" not in told
        assert "123456789" not in told
        assert error is None or (error.__cause__ is None and error.__context__ is None)


def test_the_worked_selections_never_quote_the_data() -> None:
    for secret in SECRETS:
        for call in (
            lambda value: best_price(value, [1, 2], 1),
            lambda value: best_threshold(value, [1], [1, 2], 1),
            lambda value: best_threshold([1.0], value, [1, 2], 1),
        ):
            _, error = attempt(call, secret)
            told = f"{error} {error.to_dict() if error else ''}"
            assert "secret-77" not in told
            assert "123456789" not in told
            assert error is None or (error.__cause__ is None and error.__context__ is None)


def test_reprs_of_mechanisms_never_hold_what_they_released() -> None:
    for taker in TAKERS.values():
        owner = getattr(taker, "__self__", None)
        before = repr(owner)
        for value in (123456789.125, 123456789, [123456789.125]):
            try:
                taker(value)
            except RequestError:
                continue
        assert repr(owner) == before
        assert "123456789" not in f"{vars(owner)}"
