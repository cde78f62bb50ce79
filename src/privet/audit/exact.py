"""What two known laws imply for epsilon and delta, exactly: the white box for mechanisms with finitely many outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.core.errors import BadParameter
from privet.core.given import listed, read_fields
from privet.core.numbers import Number, exp_down, failure_probability, float_up, log_up, nonnegative, read_rational

if TYPE_CHECKING:
    from privet.core.event import Floats


_TOLERANCE = Fraction(1, 10**9)
_ALLOWED = "the probabilities of all outputs: a list, or a mapping from outputs, that sum to one (to 1e-9)"

Law = Mapping[Any, Any] | Iterable[Any]
"""The probabilities of a mechanism's outputs under one input, by output or in the same order for both inputs."""


@dataclass(frozen=True)
class Curve:
    """A claim that was computed from two laws: points (epsilon, delta), each of which holds with nothing to spare.

    Example:
        >>> audit.Curve(((1.0, 0.0),)).points
        ((1.0, 0.0),)
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        read_fields(self)


def exact_epsilon(p: Law, q: Law, delta: Number = 0) -> float:
    """Return the least epsilon with which two laws are (epsilon, delta)-close, in both directions, rounded up.

    Where p_i / q_i falls with i, delta(e^x) = sum over p_i > e^x q_i of (p_i - e^x q_i); so for the right number of
    outputs k, e^x = (p_1 + ... + p_k - delta) / (q_1 + ... + q_k), which is the largest of these ratios over all k.

    Args:
        p: the probability of each output on one data set.
        q: the same on the other.
        delta: the probability with which it may be exceeded.

    Example:
        >>> round(audit.exact_epsilon([0.75, 0.25], [0.25, 0.75]), 4)
        1.0986

    Guarantee: exact for rational laws but for the last rounding, up; floats are taken as the rationals that they are.
    Cites: [BBG18, privacy profiles].
    """
    allowed = failure_probability(delta)
    pairs = _aligned(p, q)
    return max(_epsilon(pairs, allowed), _epsilon([(b, a) for a, b in pairs], allowed))


def exact_delta(p: Law, q: Law, epsilon: Number) -> float:
    """Return the least delta with which two laws are (epsilon, delta)-close, in both directions, rounded up.

    Args:
        p: the probability of each output on one data set.
        q: the same on the other.
        epsilon: the privacy loss.

    Example:
        >>> round(audit.exact_delta([0.75, 0.25], [0.25, 0.75], 0.5), 4)
        0.3378

    Guarantee: the hockey-stick divergence, sum over outputs of max(0, p - e^epsilon q), rounded up.
    Cites: [BBG18, privacy profiles].
    """
    grown = exp_down(min(nonnegative(epsilon, "epsilon"), Fraction(2000)))
    pairs = _aligned(p, q)
    excess = (sum((max(Fraction(0), a - grown * b) for a, b in each), Fraction(0)) for each in (pairs, _turned(pairs)))
    return min(1.0, float_up(max(excess)))


def exact_curve(p: Law, q: Law, deltas: Iterable[float]) -> Curve:
    """Return the claim that two laws make at each of these deltas; those at which epsilon is infinite are left out.

    Args:
        p: the probability of each output on one data set.
        q: the same on the other.
        deltas: the deltas of the points.

    Example:
        >>> audit.exact_curve([0.75, 0.25], [0.25, 0.75], [0.5]).points
        ((0.0, 0.5),)
    """
    given = [failure_probability(delta, "deltas") for delta in listed(deltas, "deltas", "a list of deltas")]
    pairs = _aligned(p, q)
    points = [(max(_epsilon(pairs, delta), _epsilon(_turned(pairs), delta)), float_up(delta)) for delta in given]
    return Curve(tuple((epsilon, delta) for epsilon, delta in points if math.isfinite(epsilon)))


def _epsilon(pairs: list[tuple[Fraction, Fraction]], delta: Fraction) -> float:
    above = below = best = Fraction(0)
    for a, b in sorted(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True):
        above, below = above + a, below + b
        if below:
            best = max(best, (above - delta) / below)
        elif above > delta:
            return math.inf
    return float_up(log_up(best)) if best > 1 else 0.0


def _turned(pairs: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    return [(b, a) for a, b in pairs]


def _aligned(p: Law, q: Law) -> list[tuple[Fraction, Fraction]]:
    """Return the two probabilities of each output that has any."""
    ours, theirs = _read(p, "p"), _read(q, "q")
    if isinstance(p, Mapping) != isinstance(q, Mapping) or (not isinstance(p, Mapping) and len(ours) != len(theirs)):
        raise BadParameter("q", type(q).__name__, "probabilities of the same outputs as p")
    zero = Fraction(0)
    pairs = [(ours.get(label, zero), theirs.get(label, zero)) for label in {**ours, **theirs}]
    return [(a, b) for a, b in pairs if a or b]


def _read(law: Law, parameter: str) -> dict[Hashable, Fraction]:
    items = law.items() if isinstance(law, Mapping) else enumerate(listed(law, parameter, _ALLOWED))
    read = {label: read_rational(chance) for label, chance in items}
    exact = {label: chance for label, chance in read.items() if chance is not None and chance >= 0}
    total = sum(exact.values(), Fraction(0))
    if len(exact) < len(read) or abs(total - 1) > _TOLERANCE:
        raise BadParameter(parameter, "something else", _ALLOWED)
    return {label: chance / total for label, chance in exact.items()}


# Exact laws of what some mechanisms release, written from their definitions: what an audit compares counts with.
#
# They share no code with the samplers. Sums over integer noise stop where less than 1e-20 of it is left.


Pattern = tuple[int | None, ...]
"""The answers of a sparse vector: None below, a number above (0, or the gap or the value that is shown)."""

_SCALES = 50


def integers(scale: float) -> dict[int, float]:
    """Return the law of discrete Laplace noise; a scale of 0 is no noise."""
    reach = math.ceil(_SCALES * scale)
    return {k: float(mass(k, scale)) for k in range(-reach, reach + 1)}


def mass(k: Any, scale: float) -> Floats:
    """Return P[noise = k] for discrete Laplace noise; a scale of 0 is no noise."""
    places = np.asarray(k)
    if scale == 0:
        return np.asarray(places == 0, dtype=np.float64)
    a = math.exp(-1 / scale)
    return np.asarray((1 - a) / (1 + a) * np.exp(-np.abs(places) / scale))


def tail(k: Any, scale: float) -> Floats:
    """Return P[noise >= k] for discrete Laplace noise."""
    places = np.asarray(k)
    if scale == 0:
        return np.asarray(places <= 0, dtype=np.float64)
    a = math.exp(-1 / scale)
    with np.errstate(over="ignore"):
        return np.where(places > 0, np.exp(-places / scale) / (1 + a), 1 - np.exp((places - 1) / scale) / (1 + a))


def clamped_cauchy(centre: int, scale: float, last: int) -> list[float]:
    """Return the law of round(centre + scale Z) on the places 0 to last, for a Cauchy Z, clamped at both ends."""
    edges = np.concatenate([[-np.inf], np.arange(last) + 0.5, [np.inf]])
    below = 0.5 + np.arctan((edges - centre) / scale) / math.pi
    return [float(part) for part in np.diff(below)]


def quantile_law(values: Any, last: int, *, q: float, rate: float) -> list[float]:
    """Return the law of a place from 0 to last that is chosen with probability proportional to exp(-rate ranks off).

    With L values below a place and T at or below it, it is off by max(0, L - q n, q n - T).

    Cites: [Smi11, Alg. 2].
    """
    places, rows = np.arange(last + 1), np.sort(np.asarray(values, dtype=np.float64))
    below, through = (np.searchsorted(rows, places, side=side) for side in ("left", "right"))
    target = q * rows.size
    off = np.maximum(np.maximum(below - target, target - through), 0.0)
    weights = np.exp(-rate * (off - off.min()))
    return [float(part) for part in weights / weights.sum()]


@dataclass(frozen=True)
class SparseLaw:
    """A sparse vector on whole numbers: scales of the threshold's and the queries' noise, when it stops, what it shows.

    `shows` is "crossing", "gap" (the noisy query less the noisy threshold) or "value" (the noisy query itself, whose
    noise has decided the comparison). `limit` None never stops.

    Guarantee: `chance` is the probability of the pattern under the definition, whether the variant is private or not.
    Cites: [LSL17, six variants].
    """

    threshold_scale: float
    query_scale: float
    limit: int | None = 1
    refresh: bool = False
    shows: str = "crossing"

    def law(self, queries: tuple[int, ...], *, threshold: int = 0, shown: tuple[int, ...] = (0,)) -> dict[Any, float]:
        """Return the chance of each pattern whose crossings show one of these numbers; of all others under None."""
        chances = {pattern: self.chance(queries, pattern, threshold) for pattern in self.patterns(len(queries), shown)}
        rest = 1 - math.fsum(chances.values())
        return {**chances, None: rest} if rest > 1e-12 else chances

    def chance(self, queries: tuple[int, ...], pattern: Pattern, threshold: int = 0) -> float:
        """Return the probability of this pattern of answers."""
        queries = queries[: len(pattern)]
        if not self.refresh:
            return float((self._bars() * self._given(queries, pattern, threshold)).sum())
        total, start = 1.0, 0
        for place, answer in enumerate(pattern):
            if answer is not None or place == len(pattern) - 1:
                part = slice(start, place + 1)
                total *= float((self._bars() * self._given(queries[part], pattern[part], threshold)).sum())
                start = place + 1
        return total

    def patterns(self, length: int, shown: tuple[int, ...] = (0,)) -> Iterator[Pattern]:
        """Yield every pattern of answers to that many queries, crossings showing one of these numbers."""
        waiting: list[Pattern] = [()]
        while waiting:
            answers = waiting.pop()
            crossings = sum(answer is not None for answer in answers)
            if len(answers) == length or crossings == self.limit:
                yield answers
            else:
                waiting += [(*answers, answer) for answer in (None, *shown)]

    def _reach(self) -> Any:
        reach = math.ceil(_SCALES * self.threshold_scale)
        return np.arange(-reach, reach + 1)

    def _bars(self) -> Floats:
        return mass(self._reach(), self.threshold_scale)

    def _given(self, queries: tuple[int, ...], pattern: Pattern, threshold: int) -> Floats:
        """Return the chance of the pattern given each value of the threshold's noise."""
        bars = self._reach() + threshold
        chance = np.ones(bars.size)
        for query, answer in zip(queries, pattern, strict=True):
            if answer is None:
                chance *= 1 - tail(bars - query, self.query_scale)
            elif self.shows == "crossing":
                chance *= tail(bars - query, self.query_scale)
            elif self.shows == "gap":
                chance *= mass(bars + answer - query, self.query_scale) * (answer >= 0)
            else:
                chance *= mass(answer - query, self.query_scale) * (answer >= bars)
        return chance


# What Gaussian noise must be and may disclose, from the analytic condition alone: shares no code with the mechanism.
#
# The noise of a release is the least that keeps (epsilon, delta), and what it leaks at other deltas follows from it.


_HALVINGS = 80


def least_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma, in units of the sensitivity, that keeps (epsilon, delta).

    Cites: [BW18, Thm 8].
    """
    return _least(lambda sigma: gaussian_delta(epsilon, sigma) <= delta, 1e-3, 1e6)


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """Return Phi(1 / (2 s) - epsilon s) - e^epsilon Phi(-1 / (2 s) - epsilon s) for s = sigma.

    Cites: [BW18, Thm 8].
    """
    from scipy.special import log_ndtr, ndtr

    half = 1 / (2 * sigma)
    beyond = math.exp(epsilon + float(log_ndtr(-half - epsilon * sigma)))
    return float(ndtr(half - epsilon * sigma)) - beyond


def gaussian_curve(epsilon: float, delta: float, deltas: Iterable[float]) -> Curve:
    """Return what the least noise for (epsilon, delta) leaks at other deltas."""
    return gaussian_curve_of(least_sigma(epsilon, delta), deltas)


def gaussian_curve_of(sigma: float, deltas: Iterable[float]) -> Curve:
    """Return what noise of this sigma discloses of a number that moves by 1."""
    points = [(_least(lambda x: gaussian_delta(x, sigma) <= at, 0.0, 1e3), at) for at in deltas]  # noqa: B023
    return Curve(tuple(points))


@lru_cache(maxsize=64)
def least_whole_sigma(epsilon: float, delta: float, moves: int) -> float:
    """Return the least sigma of noise on the whole numbers that keeps (epsilon, delta) for this many moves.

    Cites: [CKS20, Def. 1].
    """

    def kept(sigma: float) -> bool:
        here, there = whole_gaussian(sigma, 0), whole_gaussian(sigma, moves)
        return float(np.maximum(here - math.exp(epsilon) * there, 0.0).sum()) <= delta

    return _least(kept, moves / 100, 1e3)


def whole_gaussian(sigma: float, centre: int, reach: int = 400) -> Floats:
    """Return the law of noise on the whole numbers from -reach to reach around a centre."""
    weights = np.exp(-((np.arange(-reach, reach + 1) - centre) ** 2) / (2 * sigma**2))
    return np.asarray(weights / weights.sum())


def _least(holds: Callable[[Any], bool], low: float, high: float) -> float:
    """Return where a condition begins to hold that holds from some number on."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
