"""The exact law of integer noise: its probabilities, quantiles and moments, and draws from it.

A law is public: it depends on the scale of the noise and on its grid, never on data. Probabilities are computed with
more digits than a double has and rounded once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from privet import noise
from privet.core.errors import BadParameter
from privet.core.given import set_fields, truth
from privet.core.numbers import Number, float_near, float_up, open_probability, positive
from privet.core.numbers import whole as _whole
from privet.core.unit import Sensitivity
from privet.noise.source import Size

from .lattice import Grid, objects_of, read_numbers, step_of
from .mechanism import Mechanism, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DIGITS = 30
"""Digits of a probability before it is rounded to a double, which has sixteen."""

_RAREST = Fraction(1, 10**301)
_FURTHEST = 60
"""Beyond this many standard deviations a Gaussian tail is below every double."""

_SUMMED = 64**2
"""Below this variance the terms of a discrete Gaussian are added up; above it, by the Euler-Maclaurin formula."""

_TERMS = 12
_SMOOTH = 3
"""From this many grid steps per standard deviation on, moments of the rounded noise are those of smooth noise."""

_MOST_FINER = 2**2300
_MOST_NUMBERS = 2**40


class NoiseLaw(ABC):
    """The law of symmetric integer noise: `step` times an integer that is drawn.

    Where the draw lies on a grid that is `finer` this many times, it is rounded to the nearest step, halves up.

    Example:
        >>> law = mechanisms.DiscreteLaplace(scale=2)
        >>> law.quantile(0.975)
        6
    """

    step: Fraction
    finer: int
    family: ClassVar[str]

    @property
    @abstractmethod
    def parameter(self) -> tuple[str, Fraction]:
        """The name and the value of the parameter of the draw."""

    @property
    @abstractmethod
    def _size(self) -> Fraction:
        """About how many integers wide the law is."""

    @abstractmethod
    def _tail(self, k: int) -> Decimal:
        """Return P[draw >= k] for k >= 1, to the digits of the context."""

    @abstractmethod
    def _moments(self) -> tuple[Decimal, Decimal]:
        """Return the mean of the integer, and of its square."""

    @abstractmethod
    def _draws(self, size: Size) -> Any:
        """Return the noise that is drawn."""

    def pmf(self, value: Any) -> Any:
        """Return the probability of one value or of each of an array: 0 for a value that is not a multiple of the step.

        Guarantee: within one unit in the last place of a double; 0 below the least double.
        """
        return _each(value, self._mass)

    def cdf(self, value: Any) -> Any:
        """Return the probability of noise of at most a value, or at most each of an array.

        Guarantee: within one unit in the last place of a double; 0 below the least double.
        """
        return _each(value, self._below)

    def quantile(self, share: Any) -> Any:
        """Return the least value with cdf(value) >= share: whole where the step is, else the nearest double.

        Args:
            share: a probability from 1e-301 to 1 - 1e-301, or an array of them, which yields an array of doubles.

        Guarantee: compared to 20 digits, four more than a double has.
        """
        numbers = read_numbers(share, "share")
        if numbers.shape is None:
            return self._value(self._least(_share(numbers.values)))
        return _each(share, lambda number: float_near(self._least(_share(number)) * self.step), "share")

    @cached_property
    def mean(self) -> float:
        """The mean: 0, but for halves that are rounded up."""
        with _context(3 * len(str(int(self._size)))):
            return float(self._moments()[0] * _decimal(self.step))

    @property
    def variance(self) -> float:
        """The variance."""
        return _variance(self)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self.variance)

    def sample(self, size: Size = None) -> Any:
        """Return exact draws from the operating system's secure source: one, or an array of a shape.

        Whole numbers where the step is one, in 64 bits where these suffice; else the nearest doubles.

        Guarantee: draws are independent and have exactly this law, given a uniform operating system source.
        """
        drawn = self._draws(size)
        if self.finer > 1:
            if not isinstance(drawn, int) and self.finer > 2**60:
                drawn = drawn.astype(object)
            drawn = (drawn + self.finer // 2) // self.finer
        if self.step == 1:
            return drawn
        if isinstance(drawn, int):
            return self._value(drawn)
        values = [self._value(number) for number in drawn.ravel().tolist()]
        return objects_of(values, drawn.shape) if self.step.denominator == 1 else _floats(values, drawn.shape)

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data; exact numbers as text, such as "1/3"."""
        name, value = self.parameter
        return {
            "law": self.family,
            name: str(value),
            "step": str(self.step),
            "finer": self.finer,
            "mean": self.mean,
            "standard_deviation": self.deviation,
        }

    def __repr__(self) -> str:
        name, value = self.parameter
        grid = "" if self.step == 1 else f", step={shown(self.step)}"
        rounded = "" if self.finer == 1 else f", finer={shown(Fraction(self.finer))}"
        return f"{type(self).__name__}({name}={shown(value)}{grid}{rounded}, deviation={self.deviation:.6g})"

    def _value(self, integer: int) -> int | float:
        exact = integer * self.step
        return int(exact) if self.step.denominator == 1 else float_near(exact)

    @property
    def _lost(self) -> int:
        """How many digits cancel in the difference of two probabilities that are one step apart."""
        return max(0, len(str(int(self._size / self.finer))))

    def _mass(self, value: Fraction) -> float:
        place = value / self.step
        if place.denominator != 1:
            return 0.0
        first = int(place) * self.finer - self.finer // 2
        last = first + self.finer - 1
        with _context(self._lost):
            if first > 0:
                return float(self._tail(first) - self._tail(last + 1))
            if last < 0:
                return float(self._tail(-last) - self._tail(1 - first))
            return float(1 - self._tail(last + 1) - self._tail(1 - first))

    def _below(self, value: Fraction) -> float:
        last = math.floor(value / self.step) * self.finer - self.finer // 2 + self.finer - 1
        with _context():
            return float(1 - self._tail(last + 1) if last >= 0 else self._tail(-last))

    def _least(self, share: Fraction) -> int:
        """Return the integer at a share: rounding keeps the order of draws, so it is that of the least draw."""
        upper = share > Fraction(1, 2)
        with _context():
            tail = _decimal(1 - share if upper else share)
            last = self._last(lambda k: self._tail(k) > tail if upper else self._tail(k) >= tail)
        drawn = last if upper else -last
        return int((drawn + self.finer // 2) // self.finer)

    @staticmethod
    def _last(holds: Callable[[int], bool]) -> int:
        """Return the last k up to which a condition is true that fails from some k on; 0 where it fails at 1."""
        low, high = 0, 1
        while holds(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low


@dataclass(frozen=True, init=False, repr=False)
class DiscreteLaplace(NoiseLaw):
    """Integer noise k with probability proportional to exp(-|k| / scale), times a step.

    Args:
        scale: the scale of the integer that is drawn.
        step: what one integer is worth.
        finer: where the draw is rounded, how many drawn integers make one step: a power of two.

    Example:
        >>> mechanisms.DiscreteLaplace(scale=2).pmf([0, 1, 2]).round(6).tolist()
        [0.244919, 0.148551, 0.090101]

    Cites: [GRS12, the geometric mechanism].
    """

    scale: Fraction
    step: Fraction
    finer: int
    family = "discrete Laplace"

    def __init__(self, *, scale: Number, step: Number = 1, finer: int = 1) -> None:
        set_fields(self, scale=positive(scale, "scale"), step=positive(step, "step"), finer=_finer(finer))

    @property
    def parameter(self) -> tuple[str, Fraction]:
        """The scale."""
        return "scale", self.scale

    @property
    def _size(self) -> Fraction:
        return self.scale

    def _tail(self, k: int) -> Decimal:
        return _exp(-k / self.scale) / (1 + _exp(-1 / self.scale))

    def _moments(self) -> tuple[Decimal, Decimal]:
        # P[j] = a^(m j - m/2) (1 - a^m) / (1 + a) for j > 0, and a times that for -j, with m drawn integers to a step
        a, all_of = _exp(-1 / self.scale), _exp(-self.finer / self.scale)
        if self.finer == 1:
            return Decimal(0), 2 * a / (1 - a) ** 2
        half = _exp(Fraction(-self.finer, 2) / self.scale)
        return half / (1 - all_of) * (1 - a) / (1 + a), half * (1 + all_of) / (1 - all_of) ** 2

    def _draws(self, size: Size) -> Any:
        return noise.discrete_laplace(self.scale, size)


@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussian(NoiseLaw):
    """Integer noise k with probability proportional to exp(-k**2 / (2 sigma_squared)), times a step.

    Args:
        sigma_squared: the parameter of the integer that is drawn, about its variance.
        step: what one integer is worth.
        finer: where the draw is rounded, how many drawn integers make one step: a power of two.

    Example:
        >>> f"{mechanisms.DiscreteGaussian(sigma_squared=4).cdf(-10):.4g}"
        '8.004e-07'

    Cites: [CKS20, Def. 1].
    """

    sigma_squared: Fraction
    step: Fraction
    finer: int
    family = "discrete Gaussian"

    def __init__(self, *, sigma_squared: Number, step: Number = 1, finer: int = 1) -> None:
        variance = positive(sigma_squared, "sigma_squared")
        set_fields(self, sigma_squared=variance, step=positive(step, "step"), finer=_finer(finer))

    @property
    def parameter(self) -> tuple[str, Fraction]:
        """The parameter sigma squared."""
        return "sigma_squared", self.sigma_squared

    @property
    def _size(self) -> Fraction:
        return Fraction(math.isqrt(int(self.sigma_squared)) + 1)

    def _tail(self, k: int) -> Decimal:
        """Return P[draw >= k].

        With y = k - 1/2, t = y / sigma and phi the normal density, the sum over the integers from k on is
        Q(t) + phi(t) times the sum over j of B_2j(1/2) / (2j)! He_(2j-1)(t) / sigma^2j, by the Euler-Maclaurin formula
        at midpoints. Its remainder after 2j = 24 is at most 4 / (2 pi)^24 times the integral of the derivative of that
        order: below 1e-22 of the tail for sigma >= 64 and t <= 40. The weights add up to sigma sqrt(2 pi), but for a
        part of exp(-2 pi^2 sigma^2).
        """
        if self.sigma_squared < _SUMMED:
            tails = _tails(self.sigma_squared)
            return tails[k] if k < len(tails) else Decimal(0)
        squared = (k - Fraction(1, 2)) ** 2 / self.sigma_squared
        if squared > _FURTHEST**2:
            return Decimal(0)
        with _context(int(squared / 4) + self._lost):
            sigma = _decimal(self.sigma_squared).sqrt()
            t = (Decimal(k) - Decimal(1) / 2) / sigma
            density = (-t * t / 2).exp() / (2 * _pi()).sqrt()
            tail = Decimal(1) / 2 - density * _series(t)
            before, here, power = Decimal(1), t, 1 / (sigma * sigma)
            for order, factor in enumerate(_midpoints()):
                tail += density * _decimal(factor) * here * power
                power /= sigma * sigma
                for n in (2 * order + 1, 2 * order + 2):
                    before, here = here, t * here - n * before
        return +tail

    def _moments(self) -> tuple[Decimal, Decimal]:
        m, variance = self.finer, _decimal(self.sigma_squared)
        if m == 1:
            return Decimal(0), variance if self.sigma_squared >= _SUMMED else self._added(1)[1]
        if self.sigma_squared >= max(_SUMMED, (_SMOOTH * m) ** 2):
            # the rounding is uniform and independent of its argument, but for a part of exp(-2 pi^2 sigma^2 / m^2)
            mean = 1 / Decimal(2 * m)
            return mean, variance / m**2 + (1 - 1 / Decimal(m) ** 2) / 12 + mean * mean
        return self._added(m)

    def _added(self, m: int) -> tuple[Decimal, Decimal]:
        """Return the mean and the mean square from E[R] = sum P[R >= j] - P[R <= -j], and alike for the square."""
        mean, square = Decimal(0), Decimal(0)
        j = 1
        while True:
            above, below = self._tail(m * j - m // 2), self._tail(m * j - m // 2 + (m > 1))
            mean, square = mean + above - below, square + (2 * j - 1) * (above + below)
            if above * j * j <= square.scaleb(-_DIGITS - 10):
                return mean, square
            j += 1

    def _draws(self, size: Size) -> Any:
        return noise.discrete_gaussian(self.sigma_squared, size)


class AdditiveNoise(Mechanism):
    """A mechanism that adds integer noise on a grid, and whose law is known exactly.

    `pmf`, `cdf`, `quantile`, `mean`, `variance` and `sample` are those of the noise on one number, of the kind that the
    grid is for; `law` has them for any other.

    Example:
        >>> privet.Laplace(sensitivity=1, epsilon=0.5).law()
        DiscreteLaplace(scale=2, deviation=2.79918)
    """

    grid: Grid
    family: ClassVar[Literal["laplace", "gaussian"]]
    name: ClassVar[str]
    norm: ClassVar[Literal["L1", "L2"]]
    """The norm in which its sensitivity is."""

    @property
    @abstractmethod
    def distance(self) -> Fraction:
        """The sensitivity that the noise is for, in its own norm; of L2, squared."""

    @property
    @abstractmethod
    def width(self) -> float:
        """The scale of Laplace noise, the sigma of Gaussian noise."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, before it is rounded to a grid; `law` has that of the drawn noise."""
        return math.sqrt(self.variance)

    @abstractmethod
    def moved(self, sensitivity: Number | Sensitivity) -> Fraction:
        """Return a sensitivity in the norm of this noise; of L2, squared."""

    @abstractmethod
    def _drawn(self, size: int, on_integers: bool) -> tuple[int, Fraction]:
        """Return the exponent of the grid, and the parameter of the integers that are drawn on it."""

    @abstractmethod
    def _law(self, parameter: Fraction, step: Fraction, finer: int) -> NoiseLaw:
        """Return the law of integers with this parameter."""

    def law(self, size: int = 1, *, whole: bool | None = None) -> NoiseLaw:
        """Return the exact law of the noise that `release` adds to each number.

        Args:
            size: how many numbers are released together: the grid of a long vector is a little finer.
            whole: whether they are whole numbers, which stay whole; by default, where the grid is.
        """
        many = _whole(size, "size", least=1, most=_MOST_NUMBERS)
        on_integers = self.grid == "whole" if whole is None else truth(whole, "whole")
        exponent, parameter = self._drawn(many, on_integers)
        if on_integers and exponent > 0:
            return self._law(parameter, Fraction(1), 2**exponent)
        return self._law(parameter, step_of(exponent), 1)

    @cached_property
    def _own(self) -> NoiseLaw:
        return self.law()

    def pmf(self, value: Any) -> Any:
        """Return the probability of noise of exactly this value, or of each of an array."""
        return self._own.pmf(value)

    def cdf(self, value: Any) -> Any:
        """Return the probability of noise of at most this value, or at most each of an array."""
        return self._own.cdf(value)

    def quantile(self, share: Any) -> Any:
        """Return the least value that the noise stays at or below with this probability, or each of an array."""
        return self._own.quantile(share)

    def sample(self, size: Size = None) -> Any:
        """Return exact draws of the noise alone: one, or an array of a shape."""
        return self._own.sample(size)

    @property
    def mean(self) -> float:
        """The mean of the noise."""
        return self._own.mean

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        return self._own.variance


@lru_cache(maxsize=256)
def _variance(law: NoiseLaw) -> float:
    """Return the variance of a law, which many plans of one account ask for."""
    with _context(3 * len(str(int(law._size)))):
        mean, square = law._moments()
        return float((square - mean * mean) * _decimal(law.step) ** 2)


def _finer(finer: int) -> int:
    many = _whole(finer, "finer", least=1, most=_MOST_FINER)
    if many & (many - 1):
        raise BadParameter("finer", finer, "a power of two")
    return many


def _share(share: Any) -> Fraction:
    exact = open_probability(share, "share")
    if not _RAREST <= exact <= 1 - _RAREST:
        raise BadParameter("share", float_up(exact), "from 1e-301 to 1 - 1e-301")
    return exact


def _each(value: Any, read: Callable[[Fraction], float], parameter: str = "value") -> Any:
    """Return a function of one number, or of each of an array; equal ones are computed once."""
    numbers = read_numbers(value, parameter, wide=True)
    if numbers.shape is None:
        return read(Fraction(numbers.values))
    listed = numbers.values.ravel().tolist()
    known = {number: read(Fraction(number)) for number in set(listed)}
    return _floats([known[number] for number in listed], numbers.shape)


def _floats(values: list[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    import numpy as np

    return np.array(values, dtype=np.float64).reshape(shape)


def _context(more: int = 0) -> Any:
    """Return a context of enough digits, and `more` of them, within which no number is too large or too small."""
    return localcontext(Context(prec=_DIGITS + more + 10, Emin=-(10**17), Emax=10**17, traps=[]))


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _exp(exact: Fraction) -> Decimal:
    """Return an exponential: 0 where it is below every double by far."""
    if exact < -(10**12):
        return Decimal(0)
    return _decimal(exact).exp()


def _series(t: Decimal) -> Decimal:
    """Return the sum of t^(2n+1) / (2n+1)!!, whose product with the normal density is P[0 < X < t]."""
    term = total = t
    squared, n = t * t, 1
    while True:
        n += 2
        term = term * squared / n
        if total + term == total:
            return total
        total += term


@lru_cache(maxsize=64)
def _tails(sigma_squared: Fraction) -> tuple[Decimal, ...]:
    """Return P[draw >= k] for k = 0, 1, ... until they are below every double."""
    far = _FURTHEST * (math.isqrt(int(sigma_squared)) + 1)
    with _context(20):
        # e^(-(k+1)^2 r) = e^(-k^2 r) e^(-(2k+1) r), and each such ratio is e^(-2r) times the one before
        ratio = _exp(-1 / (2 * sigma_squared))
        square, weight = ratio * ratio, Decimal(1)
        weights = []
        for _ in range(far):
            weights.append(weight)
            weight, ratio = weight * ratio, ratio * square
        tails, beyond = [], Decimal(0)
        for term in reversed(weights):
            beyond += term
            tails.append(beyond)
        every = 2 * beyond - 1
        return tuple(tail / every for tail in reversed(tails))


@lru_cache(maxsize=1)
def _midpoints() -> tuple[Fraction, ...]:
    """Return B_2j(1/2) / (2j)! = (2^(1-2j) - 1) B_2j / (2j)! for j = 1, ..., 12, from sum of C(n+1, i) B_i = 0."""
    numbers = [Fraction(1)]
    for n in range(1, 2 * _TERMS + 1):
        numbers.append(-sum(math.comb(n + 1, i) * numbers[i] for i in range(n)) / Fraction(n + 1))
    return tuple((Fraction(2, 4**j) - 1) * numbers[2 * j] / math.factorial(2 * j) for j in range(1, _TERMS + 1))


def _pi() -> Decimal:
    """Return pi to the digits of the context: 16 arctan(1/5) - 4 arctan(1/239)."""
    from decimal import getcontext

    return _machin(getcontext().prec + 5)


@lru_cache(maxsize=256)
def _machin(digits: int) -> Decimal:
    scale: int = 10**digits

    def arctan(inverse: int) -> int:
        term = total = scale // inverse
        n, sign = 1, -1
        while term:
            term //= inverse * inverse
            n += 2
            total += sign * (term // n)
            sign = -sign
        return total

    return Decimal(16 * arctan(5) - 4 * arctan(239)).scaleb(-digits, Context(prec=digits + 10))
