"""Tulap noise: discrete Laplace noise and one uniform number, truncated where a delta allows it.

With it the best tests of a proportion are private ones. The release is an exact fraction with 64 binary digits
behind the point, never the float of a formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from privet import noise
from privet.accounting.events import ApproximateEvent
from privet.core.errors import BadParameter, BadValue
from privet.core.event import Event
from privet.core.given import set_fields
from privet.core.numbers import Number, failure_probability, float_near, positive
from privet.core.wire import wired

from .laplace import DiscreteLaplaceEvent
from .lattice import objects_of, read_floats, read_numbers
from .mechanism import Mechanism, read_times, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats

BITS = 64
"""Binary digits of the uniform part."""

_CELLS: int = 2**BITS
_SMALLEST_LOSS = Fraction(1, 2**900)
_LARGEST_LOSS = Fraction(64)
"""A larger epsilon gets the noise of this one, which is rarely any: the digits of exp(-epsilon) stay few."""

_SPARE_DIGITS = 20
_HALF = Fraction(1, 2)


@wired("Tulap", "loss", "delta")
@dataclass(frozen=True, init=False, repr=False)
class Tulap(Mechanism):
    """Add noise to a count so that the best private tests of a proportion can be read from it.

    The noise is K + U with K discrete Laplace of scale 1/epsilon and U uniform from -1/2 to 1/2. With a delta it is
    truncated to the middle 1 - q of its law, q = 2 delta b / (1 - b + 2 delta b) and b = exp(-epsilon). An epsilon
    above 64 gets the noise of 64.

    Args:
        epsilon: the privacy loss of one release.
        delta: the probability with which the loss may exceed epsilon; 0 if left out.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.mechanisms.Tulap(epsilon=1)
        >>> round(mechanism.cdf(0.5), 9)
        0.731058579
        >>> mechanism.release(40).denominator <= 2**64
        True

    Guarantee: (epsilon, delta)-DP for a count that one unit moves by at most 1, and no release of the same count that
    is (epsilon, delta)-DP permits a more powerful one-sided test of a binomial proportion. Without a delta the integer
    next to the release is the count plus discrete Laplace noise, and the rest is a uniform number drawn independently:
    post-processing. With one, K and U are drawn together and rejected beyond the truncation by a comparison that reads
    on in the digits of U until it is decided; the 64 digits that are released are a function of what was accepted. Its
    event is the worst pair of the same epsilon and delta, which the noise and its shift by 1 attain at every threshold.
    Cites: [AS18, Def. 4.1 and Thm 4.5], [AS20], [GRS12, the geometric mechanism], [KOV15, the worst pair].
    """

    loss: Fraction
    delta: Fraction

    def __init__(self, *, epsilon: Number, delta: Number = 0) -> None:
        loss = positive(epsilon, "epsilon")
        if loss < _SMALLEST_LOSS:
            raise BadParameter("epsilon", epsilon, "at least 2**-900")
        none = isinstance(delta, int | float | Fraction) and not isinstance(delta, bool) and delta == 0
        set_fields(self, loss=loss, delta=Fraction(0) if none else failure_probability(delta))

    @cached_property
    def event(self) -> Event:
        """The event of one release: that of discrete Laplace noise, or the worst of this epsilon and delta."""
        if self.delta == 0:
            return DiscreteLaplaceEvent(steps=1, scale=1 / self.loss)
        return ApproximateEvent(self.loss, self.delta)

    def release(self, value: Any) -> Fraction:
        """Return a whole number plus fresh noise, as an exact fraction whose denominator divides 2**64."""
        count = _read_count(value)
        place, digits = self._drawn()
        return _joined(count + place, digits)

    def simulate(self, value: Any, times: int) -> NDArray[np.object_]:
        """Return this many releases of the same count. Each costs the event once more."""
        count, many = _read_count(value), read_times(times)
        drawn: list[tuple[int, int]] = []
        while len(drawn) < many:
            drawn += self._several(many - len(drawn))
        return objects_of([_joined(count + place, digits) for place, digits in drawn], (many,))

    def cdf(self, value: Any) -> Any:
        """Return the probability of noise of at most this value, or at most each of an array."""
        import numpy as np

        numbers = read_numbers(value, "value", wide=True)
        at = np.atleast_1d(read_floats(value, "value"))
        nearest = np.floor(at + 0.5)
        shares = probability_below(self, nearest, nearest - at)
        return float(shares[0]) if numbers.shape is None else shares.reshape(numbers.shape)

    @cached_property
    def truncated(self) -> float:
        """The share q of the law that is cut off, both ends together."""
        b, delta = math.exp(-float_near(self._rate)), float_near(self.delta)
        return 2 * delta * b / (-math.expm1(-float_near(self._rate)) + 2 * delta * b)

    @cached_property
    def variance(self) -> float:
        """The variance of the noise: 2 b / (1 - b)^2 + 1/12 where nothing is cut off."""
        e = float_near(self._rate)
        b, drop = math.exp(-e), -math.expm1(-e)
        if self.delta == 0:
            return 2 * b / drop / drop + 1 / 12
        import numpy as np

        # E[N^2] = integral of 2 x P[|N| > x]; within a cell the tail is linear in x
        edges = np.arange(0, self._cut.last + 1, dtype=np.float64) if self._cut.last < 10**6 else None
        if edges is None:
            return 2 * b / drop / drop + 1 / 12  # an upper bound, where the law has very many cells
        ends = np.unique(np.append(np.concatenate([edges, edges + 0.5]), self.most))
        ends = ends[ends <= self.most]
        x0, x1 = ends[:-1], ends[1:]
        t0, t1 = 2 * np.asarray(self.cdf(-x0)), 2 * np.asarray(self.cdf(-x1))
        slope = (t1 - t0) / np.where(x1 > x0, x1 - x0, 1.0)
        level = t0 - slope * x0
        return float(np.sum(level * (x1**2 - x0**2) + slope * (x1**3 - x0**3) * 2 / 3))

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(self.variance)

    @cached_property
    def most(self) -> float:
        """The largest size of the noise: infinite without a delta."""
        if self.delta == 0:
            return math.inf
        return self._cut.last + 0.5 - float_near(Fraction(self._cut.digits(BITS), _CELLS))

    @cached_property
    def _rate(self) -> Fraction:
        """The epsilon that the noise is drawn for."""
        return min(self.loss, _LARGEST_LOSS)

    @cached_property
    def _cut(self) -> _Cut:
        return _Cut(self._rate, self.delta, _last_place(self._rate, self.delta))

    def _drawn(self) -> tuple[int, int]:
        """Return K, and the first 64 binary digits of U + 1/2."""
        while True:
            place, digits = self._proposed(), noise.uniform_below(_CELLS)
            if self._keeps(place, digits):
                return place, digits

    def _several(self, many: int) -> list[tuple[int, int]]:
        """Return up to this many draws, proposed together where that is simple."""
        if self.truncated > 0.5:
            return [self._drawn() for _ in range(many)]
        places, uniforms = noise.discrete_laplace(1 / self._rate, many), noise.uniform_below(_CELLS, many)
        pairs = zip(places.tolist(), uniforms.tolist(), strict=True)
        return [(place, digits) for place, digits in pairs if self._keeps(place, digits)]

    def _keeps(self, place: int, digits: int) -> bool:
        """Return whether K + U is within the truncation; U is read to more digits where these do not decide it."""
        if self.delta == 0:
            return True
        cut = self._cut
        return abs(place) < cut.last or (abs(place) == cut.last and cut.keeps(digits, above=place < 0))

    def _proposed(self) -> int:
        """Return a draw of K, up to the last place where more than half of all draws would lie beyond.

        There a uniform integer is kept with probability exp(-epsilon |k|), which is at least 1/6: q > 1/2 means
        2 delta b > 1 - b, so that b > 1/3 and b^(last - 1) > delta (1 + b) / (1 - b + 2 delta b) > 1/2.
        """
        if self.truncated <= 0.5:
            return int(noise.discrete_laplace(1 / self._rate))
        last = self._cut.last
        while True:
            place = noise.uniform_below(2 * last + 1) - last
            if noise.bernoulli_exp(self._rate * abs(place)):
                return place

    def __repr__(self) -> str:
        delta = "" if self.delta == 0 else f", delta={shown(self.delta)}"
        return f"Tulap(epsilon={shown(self.loss)}{delta})"


def probability_below(tulap: Tulap, place: Floats, part: Floats | float) -> Floats:
    """Return the probability of noise of at most `place` - `part`, for whole places and parts from -1/2 to 1/2.

    With G the distribution function of K and g its probabilities, G(d - 1) + (1/2 - u) g(d) at d - u, to all
    digits in the lower tail; then the truncation.
    """
    import numpy as np

    e = float_near(tulap._rate)
    b, drop = math.exp(-e), -math.expm1(-e)
    with np.errstate(under="ignore"):
        power = np.exp(-e * np.abs(place))
        if tulap.delta == 0:
            lower, upper = (b + (0.5 - part) * drop) / (1 + b), (b + (0.5 + part) * drop) / (1 + b)
            return np.asarray(np.where(place <= 0, power * lower, 1 - power * upper))
        # 1/2 + (F - 1/2) / (1 - q) with 1 - q = drop / (drop + 2 delta b), where nothing small is divided by drop
        side = np.where(place < 0, -1.0, 1.0)
        whole_cells = -np.expm1(-e * np.abs(place)) / drop
        half = side * (whole_cells / 2 - side * part * power / (1 + b)) * (drop + 2 * float_near(tulap.delta) * b)
    return np.clip(0.5 + half, 0.0, 1.0)


class _Cut(NamedTuple):
    """Where the law is cut off: within the cell of the integers `last` and -`last`, a share c of it."""

    loss: Fraction
    delta: Fraction
    last: int

    def digits(self, bits: int) -> int:
        """Return floor(c 2**bits)."""
        return _digits(self.loss, self.delta, self.last, bits)

    def keeps(self, word: int, *, above: bool) -> bool:
        """Return whether a uniform number W that begins with a word has W > c, or else W < 1 - c.

        c is no multiple of any 2**-bits, so that reading on ends with probability 1.
        """
        bits = BITS
        while True:
            edge = self.digits(bits)
            if not above:
                edge = 2**bits - 1 - edge
            if word != edge:
                return word > edge if above else word < edge
            word, bits = word << BITS | noise.uniform_below(_CELLS), bits + BITS


@lru_cache(maxsize=256)
def _digits(loss: Fraction, delta: Fraction, last: int, bits: int) -> int:
    """Return floor(c 2**bits) for the cut c = (delta (1 + b) b^(1-m) / (1 - b + 2 delta b) - b) / (1 - b), m = `last`.

    It is q/2 - P[K < -m] as a share of P[K = -m]. Digits are added until the error, far below the last of them,
    cannot move the floor: c is rational only for delta = 1/2, where it is 1/2, as an equation with a rational c would
    otherwise make b a root of a polynomial with rational coefficients. That c is read as 0.0111..., its other digits.
    """
    if delta == _HALF:
        return (1 << (bits - 1)) - 1
    more = _SPARE_DIGITS
    while True:
        with _digits_of(loss, int(bits * 0.302) + 2 * more):
            share = _share(loss, delta, last) * 2**bits
            edge: int = math.floor(share)
            away = min(share - edge, edge + 1 - share)
            if away > Decimal(10) ** -more:
                return edge
        more *= 2


@lru_cache(maxsize=256)
def _last_place(loss: Fraction, delta: Fraction) -> int:
    """Return the least m with b^m <= delta (1 + b) / (1 - b + 2 delta b): beyond it all of the law is cut off.

    Equality would make b a root of a polynomial with rational coefficients, and exp(-epsilon) is none.
    """
    more = _SPARE_DIGITS
    while True:
        with _digits_of(loss, 2 * more):
            b, drop = _decay(loss)
            ratio = (drop + 2 * _decimal(delta) * b) / (_decimal(delta) * (1 + b))
            places = ratio.ln() / _decimal(loss)
            least = int(places.to_integral_value(ROUND_CEILING))
            if min(least - places, places - (least - 1)) > Decimal(10) ** -more:
                return least
        more *= 2


def _share(loss: Fraction, delta: Fraction, last: int) -> Decimal:
    b, drop = _decay(loss)
    exact = _decimal(delta)
    kept = exact * (1 + b) / (drop + 2 * exact * b)
    return (kept * _decimal(loss * (last - 1)).exp() - b) / drop


def _decay(loss: Fraction) -> tuple[Decimal, Decimal]:
    """Return b = exp(-loss) and 1 - b."""
    b = _decimal(-loss).exp()
    return b, 1 - b


def _digits_of(loss: Fraction, more: int) -> Any:
    """Return a context of this many digits, and of those that are lost where the loss is small and 1 - b cancels."""
    lost = 2 * len(str(math.ceil(1 / loss)))
    return localcontext(Context(prec=40 + lost + more, Emin=-(10**17), Emax=10**17, traps=[]))


def _decimal(exact: Fraction) -> Decimal:
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def _joined(place: int, digits: int) -> Fraction:
    """Return place + U with U = digits / 2**64 - 1/2."""
    return Fraction(place * _CELLS + digits - _CELLS // 2, _CELLS)


def _read_count(value: Any) -> int:
    numbers = read_numbers(value)
    if numbers.shape is not None or not numbers.whole:
        raise BadValue("value", "something else", "one whole number")
    return int(numbers.values)
