"""Error bars for released sums and numbers computed from them: the law of the noise, closed forms, simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Literal

from privet.core.errors import InvariantError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats


# The known law of a released number's noise, as far as intervals need it.


_NODES = 513
_LAW_HALVINGS = 60
_DIGITS = 9
"""Relative scales of averaged noises are kept to this many digits, so that equal ones are seen to be equal."""

_FINE = 1e-3
"""A grid whose step is below this part of the noise's scale is as good as none."""


@dataclass(frozen=True)
class Law:
    """Symmetric noise of a known family: `scale` is Laplace's scale or the Gaussian's standard deviation.

    `step` is the grid on which the noise lies: discrete Laplace noise, or Gaussian noise that was rounded. Noise that
    was averaged is `scale` times a sum of independent noises, each `parts` times as large as that of scale 1.
    """

    family: Literal["laplace", "gaussian"]
    scale: float
    step: float = 0.0
    parts: tuple[float, ...] = (1.0,)

    @property
    def deviation(self) -> float:
        """The standard deviation, of the noise before it was rounded."""
        return self.scale * math.hypot(*self.parts) * (math.sqrt(2) if self.family == "laplace" else 1.0)

    @property
    def coarse(self) -> bool:
        """Whether the grid can be felt beside the noise."""
        return self.step > self.scale * _FINE

    @property
    def chance(self) -> float:
        """The probability that the noise is not 0, or 1."""
        if not self.scale or not self.step or len(self.parts) > 1:
            return 0.0 if not self.scale else 1.0
        rate = self.step / self.scale
        if self.family == "gaussian":
            return math.erfc(rate / 2 / math.sqrt(2))
        return 2 * math.exp(-rate) / (1 + math.exp(-rate))

    @property
    def mixed(self) -> bool:
        """Whether the noise is a sum of several, of no one family."""
        return False

    def reach(self, tail: float) -> float:
        """Return t with P[|noise| > t] = tail, for noise without a grid."""
        from scipy.special import ndtri

        return self.scale * (-math.log(tail) if self.family == "laplace" else -float(ndtri(tail / 2)))

    def times(self, factor: float) -> Law:
        """Return the law of this many times the noise."""
        return Law(self.family, self.scale * factor, self.step * factor, self.parts)

    def quantile(self, share: Floats) -> Floats:
        """Return the value below which the noise falls with these probabilities."""
        import numpy as np
        from scipy.special import ndtri

        if len(self.parts) > 1:
            return self._averaged_quantile(share)
        if self.family == "gaussian":
            values = self.scale * ndtri(share)
            return np.asarray(np.floor(values / self.step + 0.5) * self.step if self.coarse else values)
        tail, sign = np.minimum(share, 1 - share), np.sign(share - 0.5)
        if not self.coarse:
            return np.asarray(-sign * self.scale * np.log(2 * tail))
        # P[noise <= -k steps] = a^k / (1 + a), so the quantile is the largest such k at which it is still the share
        rate = self.step / self.scale
        steps = np.floor(-(np.log(tail) + math.log1p(math.exp(-rate))) / rate)
        return np.asarray(sign * np.maximum(steps, 0.0) * self.step)

    def _averaged_quantile(self, share: Floats) -> Floats:
        """Return the same for averaged noise, which is on no grid: half a step further out where one is felt."""
        import numpy as np
        from scipy.special import ndtri

        tail, sign = np.minimum(share, 1 - share), np.sign(share - 0.5)
        if self.family == "gaussian":
            away = -math.hypot(*self.parts) * ndtri(tail)
        else:
            low, high = np.zeros_like(tail), -len(self.parts) * np.log(tail) + 1
            for _ in range(_LAW_HALVINGS):
                t = (low + high) / 2
                beyond = sum(weight * np.exp(-t / part) for weight, part in _mixture(self.parts)) / 2
                low, high = np.where(beyond > tail, t, low), np.where(beyond > tail, high, t)
            away = high
        return np.asarray(sign * (self.scale * away + (self.step / 2 if self.coarse else 0.0)))


def averaged(laws: Sequence[Law]) -> tuple[Law, list[float]]:
    """Return the law of the average of independent noises that errs least, and the weight of each in it.

    The weights are w_j = b_j^-2 / sum b_k^-2 for scales b_j: inverse to the variances. All noises lie on one grid, of
    step s: each is at most s/2 from noise without a grid, in distribution, and so is their average, as weights add up
    to 1. Scales that differ only in a common factor have the same parts.
    """
    first = laws[0]
    if any((law.family, law.step, law.parts) != (first.family, first.step, (1.0,)) for law in laws):
        raise InvariantError("only noises of one family and one grid are averaged")
    if len(laws) == 1 or not all(law.scale for law in laws):
        return first, [1.0] + [0.0] * (len(laws) - 1)
    precise = [(first.scale / law.scale) ** 2 for law in laws]
    weights = [precision / sum(precise) for precision in precise]
    scales = sorted((weight * law.scale for weight, law in zip(weights, laws, strict=True)), reverse=True)
    parts = tuple(round(scale / scales[0], _DIGITS) for scale in scales)
    return Law(first.family, scales[0] * (1 + 10.0 ** (1 - _DIGITS)), first.step, parts), weights


def _mixture(parts: tuple[float, ...]) -> list[tuple[float, float]]:
    """Return A_j, some negative, with P[|sum c_j L_j| > t] = sum A_j e^(-t / c_j) for Laplace noises L_j.

    The characteristic function is the product of 1 / (1 + c_j^2 s^2), and its partial fractions have the weights
    A_j = product over k != j of c_j^2 / (c_j^2 - c_k^2), for parts that differ.
    """
    if len(set(parts)) < len(parts):
        raise InvariantError("noises of one scale are not averaged")
    return [
        (math.prod(part**2 / (part**2 - other**2) for other in parts if other != part), part)
        for part in parts
        if part > 0
    ]


def half_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    """Return t with P[|X + factor Y| > t] <= tail, for independent noise X and Y of one family.

    Guarantee: with equality for noise without a grid. On a grid of step s, noise in absolute value is at most s/2
    above that without one, in distribution: for rounding plainly, and P[|noise| > t + s/2] <= e^(-t/scale) /
    cosh(s / (2 scale)) for discrete Laplace noise. So half a step of each is added, unless both are 0 often enough.
    """
    import numpy as np

    steps = one.step + np.abs(factor) * other.step
    if one.chance + other.chance <= tail:
        return np.asarray(_FINE * steps)
    return np.asarray(_smooth_width(one, other, factor, tail) + steps / 2)


_COARSE_STEPS = 50.0
"""Steps of a grid within one standard deviation, beyond which half a step more is hardly felt."""


def beside_rounded(one: Law, other: Law, factor: float, tail: float) -> float:
    """Return t with P[|X + factor Y| > t] <= tail, where Y lies on a grid that is coarse beside its noise.

    Guarantee: that of `half_width`, and for Gaussian noise, Y rounded to its grid, with equality but for half a step of
    X: P[|X + factor Y| > t] is the sum over the grid's points y of P[Y = y] P[|X + factor y| > t].
    """
    import numpy as np

    plain = one.family == other.family == "gaussian" and one.parts == other.parts == (1.0,) and not one.mixed
    if not plain or other.mixed or not 0 < other.scale <= _COARSE_STEPS * other.step or not one.scale or not factor:
        return float(half_width(one, other, np.array([factor]), tail)[0])
    within = half_width(one, replace(other, step=0.0), np.array([factor]), tail)[0]
    return _rounded_width(one.scale, abs(factor) * other.scale, abs(factor) * other.step, tail, float(within)) + (
        one.step / 2
    )


@lru_cache(maxsize=256)
def _rounded_width(first: float, second: float, step: float, tail: float, start: float) -> float:
    import numpy as np
    from scipy.special import ndtr

    most = math.ceil(10 * second / step) + 1
    places = np.arange(-most, most + 1)
    chances = ndtr((places + 0.5) * step / second) - ndtr((places - 0.5) * step / second)
    low, high = 0.0, start + step
    for _ in range(_LAW_HALVINGS):
        middle = (low + high) / 2
        beyond = 2 * float(chances @ ndtr((places * step - middle) / first))
        low, high = (middle, high) if beyond > tail * (1 - 1e-9) else (low, middle)
    return high


def _smooth_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    import numpy as np

    if (one.family, one.parts) != (other.family, other.parts):
        raise InvariantError("the sums of one plan have noise of one family")
    if one.mixed or other.mixed:
        return _mixed_width(one, other, factor, tail)
    second = np.abs(factor) * other.scale
    if one.family == "gaussian":
        from scipy.special import ndtri

        both = np.hypot(one.scale, second) * math.hypot(*one.parts)
        return np.asarray(-ndtri(tail / 2) * both, dtype=np.float64)
    return _of_two(one.scale, second, tail, one.parts)


def _of_two(first: float, second: Floats, tail: float, parts: tuple[float, ...]) -> Floats:
    """Return the half-width of the sum of two noises of these scales, each a sum of Laplace noises."""
    import numpy as np

    large, small = np.maximum(first, second), np.minimum(first, second)
    ratio = np.divide(small, large, out=np.zeros_like(large), where=large > 0)
    nodes, widths = _laplace_widths(tail, parts)
    return np.asarray(large * np.interp(ratio, nodes, widths), dtype=np.float64)


def _mixed_width(one: Law, other: Law, factor: Floats, tail: float) -> Floats:
    """Return the half-width of the sum of two noises that lie between Laplace and Gaussian: the wider of both."""
    import numpy as np

    first, second = one.reach(tail), np.abs(factor) * other.reach(tail)
    unit = -math.log(tail)
    return np.asarray(np.maximum(np.hypot(first, second), _of_two(first / unit, second / unit, tail, one.parts)))


@lru_cache(maxsize=32)
def _laplace_widths(tail: float, parts: tuple[float, ...] = (1.0,)) -> tuple[Floats, Floats]:
    """Return half-widths of X + r Y for r in [0, 1], where X and Y are sums of Laplace noises of these scales.

    P[|X + r Y| > t] = sum A_j A_k T(c_j, r c_k) with the weights A of `_mixture`, and for two Laplace noises of scales
    a > b: T(a, b) = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (a^2 - b^2), which is (1 + t/(2a)) e^(-t/a) at a = b.
    """
    import numpy as np

    ratios = np.linspace(0.0, 1.0, _NODES)
    low, high = np.zeros(_NODES), np.full(_NODES, len(parts) * (2 * -math.log(tail) + 10))
    pairs = []
    for (weight, first), (another, other) in product(_mixture(parts), repeat=2):
        large, small = np.maximum(first, ratios * other), np.minimum(first, ratios * other)
        pairs.append((weight * another, large, np.clip(small / large, 1e-9, 1 - 1e-6)))
    for _ in range(80):
        t = (low + high) / 2
        beyond = np.zeros(_NODES)
        with np.errstate(under="ignore"):
            for weight, large, inner in pairs:
                away = t / large
                beyond += weight * (np.exp(-away) - inner**2 * np.exp(-away / inner)) / (1 - inner**2)
        low, high = np.where(beyond > tail, t, low), np.where(beyond > tail, high, t)
    return ratios, high


# Error bars for released sums and numbers read from them: in closed form, or by simulating the known noise.


POINTS = 4096
"""How many points simulate the noise."""

_FEWEST, _MOST_VALUES = 511, 1_000_000
_USUAL = 0.05
"""How few points there may be for this tail; for a smaller one it is more, so that as many lie beyond an end."""

_HALVINGS = 45
"""How often the search for the end of an interval halves its range: to the last digits of a double."""

_BLOCK = 2**13
"""How many points are simulated at a time, for as many rows as that is enough for: a processor's cache holds them."""


@dataclass(frozen=True)
class Bars:
    """Low and high ends and the standard error, one for each released number."""

    low: Floats
    high: Floats
    error: Floats


def ratio_bars(total: Floats, count: Floats, laws: tuple[Law, Law], *, most: float, tail: float) -> Bars:
    """Return bars for total / count, a ratio known to lie within [-most, most].

    Guarantee: Fieller's: theta belongs to the interval iff total - theta * count is no further from 0 than its noise
    would be, so the coverage is exact wherever the set is one interval, which is taken from the estimate outwards.
    Cites: [Fie54].
    """
    import numpy as np

    def outside(theta: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.abs(total - theta * count) > half_width(laws[0], laws[1], theta, tail))

    center = np.clip(total / np.where(count > 0, count, np.inf), -most, most)
    sides = np.array([[-most], [most]]) * np.ones_like(center)  # both ends at once
    inner, outer = np.array([center, center]), sides
    free = ~outside(outer)
    for _ in range(_HALVINGS):
        middle = (inner + outer) / 2
        out = outside(middle)
        inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
    ends = np.where(free, sides, outer)
    whole = outside(center) | (count <= 0)  # the estimate was cut at an end, or the count is uninformative
    low, high = np.where(whole, -most, ends[0]), np.where(whole, most, ends[1])
    spread = np.hypot(laws[0].deviation, center * laws[1].deviation) / np.maximum(count, 1.0)
    return Bars(low, high, np.minimum(spread, most))


def simulated_bars(
    read: Callable[..., Floats], released: Sequence[Floats], laws: Sequence[Law], *, tail: Floats
) -> Bars:
    """Return bars for a function of released sums, by adding their known noise again and reading each time.

    The noise is symmetric, so released minus noise is distributed as released plus noise: the quantiles of the function
    over it are those of the function of the true sums, given the release. Each row has its tail.
    """
    import numpy as np

    low, high, error = (np.empty(len(tail)) for _ in range(3))
    for rows, parts in _noisy(released, laws, tail):
        values = np.sort(read(*parts), axis=1)
        low[rows] = quantile_of(values, tail[rows] / 2)
        high[rows] = quantile_of(values, 1 - tail[rows] / 2)
        error[rows] = values.std(axis=1)
    return Bars(low, high, error)


def simulated_errors(
    read: Callable[..., Sequence[Floats]], released: Sequence[Floats], laws: Sequence[Law], *, tail: Floats
) -> tuple[Floats, ...]:
    """Return the standard error of each of several functions of released sums, simulated as their bars are."""
    import numpy as np

    blocks = [[part.std(axis=1) for part in read(*parts)] for _, parts in _noisy(released, laws, tail)]
    return tuple(np.concatenate(errors) for errors in zip(*blocks, strict=True))


def _noisy(released: Sequence[Floats], laws: Sequence[Law], tail: Floats) -> Iterator[tuple[slice, list[Floats]]]:
    """Return block after block of rows, and their released numbers with every point of the noise added."""
    import numpy as np

    noise = noise_points(laws, points_for(len(tail), float(np.max(tail, initial=0.0))))
    size = max(1, _BLOCK // max(1, max((len(points) for points in noise), default=1)))
    for start in range(0, len(tail), size):
        rows = slice(start, start + size)
        yield rows, [sums[rows, None] + noise[index][None, :] for index, sums in enumerate(released)]


def points_for(rows: int, tail: float) -> int:
    """Return how many points simulate the noise of this many rows: fewer for many, and never few beyond an end."""
    fewest = min(POINTS, int(_FEWEST * max(1.0, _USUAL / max(tail, 1e-9))))
    return max(fewest, min(POINTS, _MOST_VALUES // max(1, rows)))


def quantile_of(values: Floats, share: Floats | float, size: NDArray[np.int64] | int | None = None) -> Floats:
    """Return a quantile of each row of sorted values, or of the given number of its first."""
    import numpy as np

    last = (values.shape[1] if size is None else size) - 1
    place = np.broadcast_to(share * last, len(values))
    first = np.floor(place).astype(np.int64)
    rows, next_one = np.arange(len(values)), np.minimum(first + 1, last)
    below = values[rows, first]
    return np.asarray(below + (place - first) * (values[rows, next_one] - below))


def noise_points(laws: Sequence[Law], points: int) -> list[Floats]:
    """Return for each law the same number of noise values, spread evenly and jointly over their distribution.

    Hammersley's points: evenly spaced in the first direction, the digits of the index mirrored in a prime base in each
    other. No random numbers are needed to simulate noise on numbers that are already public.
    """
    return [law.quantile(share) for law, share in zip(laws, _shares(len(laws), points), strict=True)]


@lru_cache(maxsize=16)
def _shares(count: int, points: int) -> tuple[Floats, ...]:
    import numpy as np

    places = np.arange(points)
    shares = [(places + 0.5) / points] if count else []
    shares.extend(_mirrored(places, base) for base in _primes(count - 1))
    return tuple(_inside(share) for share in shares)


def _mirrored(places: NDArray[np.int64], base: int) -> Floats:
    """Return 0.d1 d2 d3 ... for each index ... d3 d2 d1, both in this base."""
    import numpy as np

    rest, share, weight = places + 1, np.zeros(places.size), 1.0
    while rest.any():
        weight /= base
        share += weight * (rest % base)
        rest //= base
    return share


def _primes(count: int) -> list[int]:
    primes: list[int] = []
    candidate = 2
    while len(primes) < count:
        if all(candidate % prime for prime in primes):
            primes.append(candidate)
        candidate += 1
    return primes


def _inside(share: Floats) -> Floats:
    import numpy as np

    return np.asarray(np.clip(share, 1e-12, 1 - 1e-12), dtype=np.float64)


# Error bars for numbers derived from released sums by any formula, straight or not.
#
# Where a formula moves in proportion to the noise, the middle part of its values under fresh noise is an interval as
# good as the noise's own. Where it has a corner within reach of the noise (clamped at zero, an absolute difference, the
# larger of two) or bends, that part leaves out the true value: there the interval is all that the formula makes of
# every noise that is not improbable, which covers it whatever the formula.


_STRAIGHT = 0.02
"""How far, as a part of its moves, a formula may be off from moving as much one way as the other."""

_SPARE = 10
"""The ends of a set are moved outwards by this many mean distances between points, for what lies between."""


def depths(laws: Sequence[Law], points: Sequence[Floats]) -> Floats:
    """Return how improbable each point of the noise is: minus the logarithm of its density, up to a constant."""
    import numpy as np

    deep = np.zeros(points[0].size)
    for law, point in zip(laws, points, strict=False):
        if law.deviation > 0:
            away = np.abs(point) / law.deviation
            deep += away * np.sqrt(2) if law.family == "laplace" else away * away / 2
    return deep


def derived_bars(values: Floats, improbable: Floats, *, tail: float) -> Bars:
    """Return bars for rows of values: under points of noise, then under their opposites, and last under none.

    Values that are not numbers are left out.

    Guarantee: the true sums are the released ones less a noise that belongs, but for `tail`, to the least improbable
    points; so what the formula makes of these holds what it makes of the true sums, up to how finely they lie.
    """
    import numpy as np

    ordered = np.sort(values, axis=1)  # NaN comes last
    known = (~np.isnan(ordered)).sum(axis=1)
    none = known == 0
    size = np.maximum(known, 1)
    ends = [np.where(none, np.nan, quantile_of(ordered, share, size)) for share in (tail / 2, 1 - tail / 2)]
    held = np.nan_to_num(ordered, nan=0.0)
    with np.errstate(over="ignore"):  # values near the largest double have an infinite error
        middle = held.sum(axis=1) / size
        away = np.where(np.isnan(ordered), 0.0, held - middle[:, None])
        error = np.where(none, np.nan, np.sqrt((away * away).sum(axis=1) / size))
    bent = ~none & ~_straight(values)
    if bent.any():
        low, high = _reached(values[bent], improbable, tail)
        ends[0][bent], ends[1][bent] = np.fmin(ends[0][bent], low), np.fmax(ends[1][bent], high)
    return Bars(ends[0], ends[1], error)


def _straight(values: Floats) -> NDArray[np.bool_]:
    """Return which rows move as much under a noise as under its opposite, the other way."""
    import numpy as np

    half = values.shape[1] // 2
    ahead, back, still = values[:, :half], values[:, half : 2 * half], values[:, -1:]
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(ahead + back - 2 * still).sum(axis=1)
        moved = np.abs(ahead - back).sum(axis=1)
    return np.asarray((off <= _STRAIGHT * moved) | ((off == 0) & (moved == 0)))


def _reached(values: Floats, improbable: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the least and the greatest that rows come to under the noise that is not improbable, and a little more."""
    import numpy as np

    likely = improbable <= np.quantile(improbable, 1 - tail)
    kept = values[:, likely]
    low = np.fmin.reduce(kept, axis=1)
    high = np.fmax.reduce(kept, axis=1)
    with np.errstate(invalid="ignore"):
        spare = _SPARE * (high - low) / kept.shape[1]
    return low - spare, high + spare
