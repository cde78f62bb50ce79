"""The privacy loss distribution of a composition: masses on a lattice, convolved, and every error beside them.

`LossDistribution` answers with upper bounds, `OptimisticLoss` with lower ones. Neither answers without its error terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privet.core.numbers import MARGIN

from .discretise import Lattice

if TYPE_CHECKING:
    from privet.core.event import Floats


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.core.event import Floats

    Complexes = NDArray[np.complex128]

# Composes losses on a lattice by Fourier transform, and bounds how wrong the result can be, term by term.
#
# The masses are first tilted: multiplied by exp(tilt loss) and normalised. With the tilt near the saddle point of the
# requested tail, that tail becomes the bulk, so that errors are relative to delta and not to 1. Nothing here
# depends on pairs; nothing here hides an error in a rounding.


_UNIT = 2.0**-53
_PER_LEVEL = 8 * _UNIT
"""Relative error of one level of butterflies, in each output, against the sum of the inputs' magnitudes."""
_MIN_GROUPED = 32
"""From here on, factors are multiplied in groups first: short transforms for many, long ones for few."""


@dataclass(frozen=True, eq=False)
class LossPart:
    """One event's lattice and how often it happened."""

    lattice: Lattice
    times: int


@dataclass(frozen=True, eq=False)
class LossWindow:
    """The stretch of lattice points, `lowest` to `highest`, on which a composition is computed."""

    lowest: int
    highest: int


@dataclass(frozen=True, eq=False)
class Composition:
    """Tilted, normalised masses of a composition, the log of their divisor, and three errors.

    `above` and `below` bound the tilted mass beyond either end of the window, which wraps around to the other end.
    `rounding` bounds the Euclidean norm of the floating-point error of the masses.
    """

    masses: Floats
    log_total: float
    above: float
    below: float
    rounding: float


@dataclass(frozen=True, eq=False)
class _Factor:
    """Masses of sum 1 from lattice point `lowest` on, off by at most `blemish` in sum, to be taken `times` times."""

    weights: Floats
    lowest: int
    times: int
    blemish: float

    @property
    def extent(self) -> int:
        return self.times * (len(self.weights) - 1)


class Moments:
    """The log moments of a composition as a function of the tilt, for all parts in one sweep over their masses."""

    def __init__(self, parts: Sequence[LossPart]) -> None:
        kept = [part.lattice.masses > 0 for part in parts]
        counts = np.array([int(np.count_nonzero(mask)) for mask in kept])
        self._starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        self._counts = counts
        self._times = np.array([float(part.times) for part in parts])
        self._losses = np.concatenate([part.lattice.losses()[mask] for part, mask in zip(parts, kept, strict=True)])
        self._logs = np.log(np.concatenate([part.lattice.masses[mask] for part, mask in zip(parts, kept, strict=True)]))
        self._apart = np.concatenate([part.lattice.losses()[[0, -1]] for part in parts]).reshape(-1, 2)

    def log_moment(self, tilt: float) -> float:
        """Return the sum over parts of times log E[exp(tilt loss)], losses finite."""
        return self._weighed(tilt)[0]

    def spread(self, tilt: float) -> float:
        """Return the standard deviation of the tilted composition."""
        _, weights, sums = self._weighed(tilt)
        means = np.add.reduceat(weights * self._losses, self._starts) / sums
        centred = self._losses - np.repeat(means, self._counts)
        variances = np.add.reduceat(weights * centred * centred, self._starts) / sums
        return math.sqrt(float(np.dot(self._times, variances)))

    def ends(self) -> tuple[float, float]:
        """Return the least and the greatest finite loss of the composition."""
        low, high = (self._times @ self._apart).tolist()
        return low, high

    def window(self, tilt: float, level: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return losses beyond which less than e**-level of the tilted mass lies, and the probes that show it."""
        here, spread = self.log_moment(tilt), max(self.spread(tilt), 1e-300)
        high, low = (math.inf, 1.0), (-math.inf, 1.0)
        # for a Gaussian the best probe is sqrt(2 level) spreads; long tails want less, bounded losses more
        for factor in np.geomspace(0.08, 4.0, 12) * math.sqrt(2 * level):
            probe = float(factor) / spread
            high = min(high, ((self.log_moment(tilt + probe) - here + level) / probe, probe))
            low = max(low, (-(self.log_moment(tilt - probe) - here + level) / probe, probe))
        return (low[0], high[0]), (high[1], low[1])

    def _weighed(self, tilt: float) -> tuple[float, Floats, Floats]:
        exponents = self._logs + tilt * self._losses
        peaks = np.maximum.reduceat(exponents, self._starts)
        with np.errstate(under="ignore"):
            weights = np.exp(exponents - np.repeat(peaks, self._counts))
        sums = np.add.reduceat(weights, self._starts)
        return float(np.dot(self._times, peaks + np.log(sums))), weights, sums


def support(parts: Sequence[LossPart]) -> LossWindow:
    """Return the window that contains every finite loss of the composition."""
    low = sum(part.times * part.lattice.lowest for part in parts)
    high = sum(part.times * (part.lattice.lowest + len(part.lattice.masses) - 1) for part in parts)
    return LossWindow(low, high)


def compose(parts: Sequence[LossPart], window: LossWindow, tilt: float, probes: tuple[float, float]) -> Composition:
    """Return the composition of all parts on a window, as if it were a circle, with bounds on every error.

    The mass beyond the window is bounded by Chernoff's inequality at the two `probes`, any positive numbers. Each
    output of a transform of length n is a sum of its inputs over paths of log2 n butterflies, so its error is at most
    c = log2 n times that of a level, relative to the sum of the inputs' magnitudes, which is 1 after tilting. With
    m = |f| + c a bound on a coefficient before and after, powers and products are off by at most the product of
    m**times, times the sum of times (c/m + 3 units). By Parseval's equality that bounds the norm of the
    error of the result.

    Guarantee: the true masses differ from the returned ones by mass wrapped around, at most `above` and `below`, and
    by a vector of norm at most `rounding`.
    Cites: [KJPH21, convolution by FFT], [Hig02, Thm 24.2], [GH99, exponential tilting].
    """
    from scipy.fft import next_fast_len

    size = next_fast_len(max(2, window.highest - window.lowest + 1), real=True)
    factors, log_total = [], 0.0
    for part in parts:
        weights, log_mass = _tilted(part.lattice, tilt)
        log_total += part.times * log_mass
        factors.append(_Factor(weights, part.lattice.lowest, part.times, 0.0))
    masses, lost = _multiplied(_grouped(factors, size) if len(factors) >= _MIN_GROUPED else factors, size)
    above = below = 0.0
    whole = support(parts)
    if window.highest < whole.highest or window.lowest > whole.lowest:
        moments, step = Moments(parts), parts[0].lattice.step
        here = moments.log_moment(tilt)
        if window.highest < whole.highest:
            reached = moments.log_moment(tilt + probes[0]) - here - probes[0] * step * (window.highest + 1)
            above = math.exp(min(0.0, reached))
        if window.lowest > whole.lowest:
            reached = moments.log_moment(tilt - probes[1]) - here + probes[1] * step * (window.lowest - 1)
            below = math.exp(min(0.0, reached))
    # the circle starts at loss 0; turn it so that it starts at the window's lowest loss
    turned = np.roll(masses, -(window.lowest % size))[: window.highest - window.lowest + 1]
    return Composition(turned, log_total, above, below, lost)


def _tilted(lattice: Lattice, tilt: float) -> tuple[Floats, float]:
    """Return masses proportional to mass exp(tilt loss), summing to 1, and the logarithm of their former sum."""
    if tilt == 0:
        total = float(np.sum(lattice.masses))
        return lattice.masses / total, math.log(total)
    exponents = tilt * lattice.losses()
    peak = float(np.max(exponents[lattice.masses > 0]))
    with np.errstate(under="ignore"):
        weights = lattice.masses * np.exp(np.minimum(exponents - peak, 0.0))
        total = float(np.sum(weights))
        return weights / total, peak + math.log(total)


def _multiplied(factors: Sequence[_Factor], size: int) -> tuple[Floats, float]:
    """Return the composition of factors on a circle, and a bound on the norm of its error."""
    from scipy.fft import irfft, rfft

    level = _PER_LEVEL * math.ceil(math.log2(size) + 1)
    spectrum: Complexes = np.ones(size // 2 + 1, dtype=np.complex128)
    bound, relative = np.ones(size // 2 + 1), np.zeros(size // 2 + 1)
    with np.errstate(under="ignore"):
        for factor in factors:
            coefficients: Complexes = rfft(_folded(factor, size))
            error = level + factor.blemish
            magnitude = np.abs(coefficients) + error
            relative += factor.times * (error / magnitude + 3 * _UNIT)
            bound *= magnitude if factor.times == 1 else magnitude**factor.times
            spectrum *= coefficients if factor.times == 1 else _power(coefficients, factor.times)
        masses: Floats = irfft(spectrum, size)
        lost = math.sqrt(_energy(bound * relative, size) / size)
        lost += level * math.sqrt(_energy(np.abs(spectrum), size) / size)
    return np.maximum(masses, 0.0), lost


def _grouped(factors: Sequence[_Factor], size: int) -> list[_Factor]:
    """Return fewer factors with the same product: short ones are multiplied on circles that contain all of it."""
    from scipy.fft import next_fast_len

    made: list[_Factor] = []
    waiting: list[_Factor] = []
    extent = 0
    for factor in sorted(factors, key=lambda factor: factor.extent):
        if factor.extent > size // 8:
            made.append(factor)
            continue
        if extent + factor.extent > size // 8:
            made.append(_joined(waiting, next_fast_len(extent + 1, real=True)))
            waiting, extent = [], 0
        waiting.append(factor)
        extent += factor.extent
    if waiting:
        made.append(_joined(waiting, next_fast_len(max(2, extent + 1), real=True)))
    return made


def _joined(factors: Sequence[_Factor], size: int) -> _Factor:
    lowest = sum(factor.times * factor.lowest for factor in factors)
    extent = sum(factor.extent for factor in factors)
    masses, lost = _multiplied(factors, size)
    return _Factor(np.roll(masses, -(lowest % size))[: extent + 1], lowest, 1, lost * math.sqrt(size))


def _folded(factor: _Factor, size: int) -> Floats:
    """Return the factor's weights around a circle of that many lattice points."""
    circle = np.zeros(size)
    start, placed = factor.lowest % size, 0
    while placed < len(factor.weights):
        piece = factor.weights[placed : placed + size - start]
        circle[start : start + len(piece)] += piece
        placed, start = placed + len(piece), 0
    return circle


def _power(base: Complexes, times: int) -> Complexes:
    """Return the power by repeated squaring, whose relative error is known: each product adds less than 3 units."""
    result: Complexes | None = None
    square = base
    while True:
        if times & 1:
            result = square if result is None else result * square
        times >>= 1
        if not times:
            return base if result is None else result
        square = square * square


def _energy(magnitudes: Floats, size: int) -> float:
    """Return the sum of squares over the whole circle of frequencies, given the half that a real transform keeps."""
    squares = magnitudes * magnitudes
    doubled = 2 * float(np.sum(squares)) - float(squares[0])
    return doubled - (float(squares[-1]) if size % 2 == 0 else 0.0)


# The result, as a frozen value.


_HALVINGS = 34
_TALLEST = 600.0


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """An upper bound on how well two data sets can be distinguished: masses at (lowest + i) step, and the rest.

    delta(epsilon) is the sum of mass (1 - exp(epsilon - loss))+, plus `infinite` (losses without end), plus
    `truncation` (tails of single events that were cut off), plus exp(-tilt (epsilon - anchor)) times `aliasing` (mass
    that wrapped around the Fourier window) and `rounding` (floating point in the transform). `ceiling` is Chernoff's
    bound on all but `infinite` and `truncation`, at the anchor. Without a tilt, every term is constant.

    Guarantee: delta(epsilon) and epsilon(delta) are upper bounds for the composition of the dominating pairs.
    Cites: [DGKKM22, connect the dots], [SMM19].
    """

    step: float
    lowest: int
    masses: Floats
    infinite: float = 0.0
    truncation: float = 0.0
    aliasing: float = 0.0
    rounding: float = 0.0
    ceiling: float = math.inf
    tilt: float = 0.0
    anchor: float = 0.0

    def losses(self) -> Floats:
        """Return the losses that carry the masses."""
        return self.step * np.arange(self.lowest, self.lowest + len(self.masses), dtype=np.float64)

    def errors(self, epsilon: float) -> dict[str, float]:
        """Return the three error terms at this epsilon."""
        factor = self._factor(epsilon)
        return {
            "truncation": self.truncation,
            "aliasing": self.aliasing * factor,
            "rounding": self.rounding * factor,
        }

    def delta(self, epsilon: float) -> float:
        """Return a proven delta for this epsilon, rounded up."""
        seen = self.seen(epsilon) + (self.aliasing + self.rounding) * self._factor(epsilon)
        finite = min(seen, self.ceiling * self._factor(epsilon))
        return min(1.0, (finite + self.infinite + self.truncation) * (1 + MARGIN))

    def epsilon(self, delta: float) -> float:
        """Return a proven epsilon of at least 0 for this delta, rounded up; infinite if there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, max(self.step, (self.lowest + len(self.masses)) * self.step)
        while self.delta(high) > delta:
            if self.infinite + self.truncation >= delta or not self.tilt or high > 1e9:
                return math.inf
            low, high = high, 2 * high + 1 / self.tilt
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high

    def seen(self, epsilon: float) -> float:
        """Return the part of delta that the masses themselves account for."""
        start = max(0, math.floor(epsilon / self.step) - self.lowest)
        losses = self.step * np.arange(self.lowest + start, self.lowest + len(self.masses), dtype=np.float64)
        with np.errstate(under="ignore"):
            return float(np.sum(self.masses[start:] * -np.expm1(np.minimum(epsilon - losses, 0.0))))

    def seen_and_infinite(self, epsilon: float) -> float:
        """Return delta without the error terms: the lattice's value, not a bound."""
        return self.seen(epsilon) + self.infinite

    def at_lattice_points(self) -> tuple[Floats, Floats]:
        """Return all epsilons = 0, step, ... within the window and the deltas proven there.

        With T(i) the sum of mass e**-loss over losses from point i on, the part that is seen falls from point i to the
        next by (e**step - 1) e**(i step) T(i + 1): a sum of positive terms, from the far end.
        """
        start = max(0, -self.lowest)
        count = min(len(self.masses) - start, math.floor(_TALLEST / self.step))
        epsilons = self.step * np.arange(count, dtype=np.float64)
        masses = np.zeros(count)
        masses[max(0, self.lowest) :] = self.masses[start : start + count - max(0, self.lowest)]
        with np.errstate(under="ignore"):
            tails = np.cumsum((masses * np.exp(-epsilons))[::-1])[::-1]
            falls = math.expm1(self.step) * np.exp(epsilons[:-1]) * tails[1:]
        seen = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
        over = float(np.sum(self.masses[start + count :]))
        terms = sum(self.errors(0.0).values())
        return epsilons, np.minimum(1.0, (seen + self.infinite + over + terms) * (1 + MARGIN))

    def _factor(self, epsilon: float) -> float:
        return math.exp(min(600.0, -self.tilt * (epsilon - self.anchor)))


class OptimisticLoss(LossDistribution):
    """A lower bound on how well two data sets can be distinguished; its error terms are subtracted.

    Guarantee: no true delta or epsilon of the composition of the dominating pairs is smaller.
    """

    def delta(self, epsilon: float) -> float:
        """Return a delta that any valid bound for this epsilon must reach, rounded down."""
        seen = self.seen(epsilon) - (self.aliasing + self.rounding) * self._factor(epsilon)
        return max(0.0, (max(0.0, seen) + self.infinite) * (1 - MARGIN))

    def epsilon(self, delta: float, *, below: float = math.inf) -> float:
        """Return an epsilon that any valid bound for this delta must reach, rounded down; 0 if none is certain.

        With a tilt, errors grow to the left of where it aims, so the search comes from the right, from `below` on.
        """
        if self.infinite * (1 - MARGIN) > delta:
            return math.inf
        high = min(below, (self.lowest + len(self.masses)) * self.step)
        for low in (*(high * (1 - 2.0**-k) for k in range(30, 0, -1)), 0.0):
            if self.delta(low) > delta:
                break
            high = low
        else:
            return 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return max(0.0, low)


def compose_upper(
    parts: Sequence[LossPart], window: LossWindow, tilt: float, probes: tuple[float, float]
) -> LossDistribution:
    """Return the composition of upper lattices: mass that may have wrapped away from the top is added."""
    made = compose(parts, window, tilt, probes)
    excess = math.exp(sum(part.times * max(0.0, math.log(_total(part))) for part in parts))
    infinite = -math.expm1(sum(part.times * _log_kept(part.lattice.infinite) for part in parts)) * excess
    truncation = sum(part.times * part.lattice.truncated for part in parts) * excess
    anchor, masses, scale = _untilted(made, parts, window, tilt)
    weight = _weight(parts[0].lattice.step, tilt, len(masses))
    chernoff = math.exp(tilt * math.log(tilt) - (tilt + 1) * math.log1p(tilt)) if tilt else 1.0
    return LossDistribution(
        step=parts[0].lattice.step,
        lowest=window.lowest,
        masses=masses,
        infinite=min(1.0, infinite),
        truncation=min(1.0, truncation),
        aliasing=scale * made.above,
        rounding=scale * made.rounding * weight,
        ceiling=scale * chernoff,
        tilt=tilt,
        anchor=anchor,
    )


def compose_lower(
    parts: Sequence[LossPart], window: LossWindow, tilt: float, probes: tuple[float, float]
) -> OptimisticLoss:
    """Return the composition of lower lattices: mass that may have wrapped up from the bottom is taken off."""
    made = compose(parts, window, tilt, probes)
    infinite = -math.expm1(sum(part.times * _log_kept(part.lattice.infinite) for part in parts))
    anchor, masses, scale = _untilted(made, parts, window, tilt)
    return OptimisticLoss(
        step=parts[0].lattice.step,
        lowest=window.lowest,
        masses=masses * (1 - MARGIN),
        infinite=infinite * math.exp(sum(part.times * min(0.0, math.log(_total(part))) for part in parts)),
        aliasing=scale * made.below,
        rounding=scale * made.rounding * _weight(parts[0].lattice.step, tilt, len(masses)),
        tilt=tilt,
        anchor=anchor,
    )


def _total(part: LossPart) -> float:
    return float(np.sum(part.lattice.masses)) + part.lattice.infinite + part.lattice.truncated


def _log_kept(infinite: float) -> float:
    return math.log1p(-infinite) if infinite < 1 else -math.inf


def _untilted(
    made: Composition, parts: Sequence[LossPart], window: LossWindow, tilt: float
) -> tuple[float, Floats, float]:
    """Return the anchor, the true masses, and exp(log_total - tilt anchor), all rounded up.

    The logarithms and exponentials of tilting are off by a few units, relative to their arguments, in every factor.
    """
    step = parts[0].lattice.step
    losses = step * np.arange(window.lowest, window.highest + 1, dtype=np.float64)
    widest = max(len(part.lattice.masses) for part in parts) * step
    slack = sum(part.times for part in parts) * _UNIT * (32 + 8 * abs(tilt) * widest) + _UNIT * abs(made.log_total)
    log_total = made.log_total + slack
    anchor = log_total / tilt if tilt else 0.0
    with np.errstate(under="ignore", over="ignore"):
        masses = np.minimum(2.0, made.masses * np.exp(np.minimum(700.0, log_total - tilt * losses)))
    return anchor, masses, math.exp(log_total - tilt * anchor)


def _weight(step: float, tilt: float, count: int) -> float:
    """Return a bound on the norm of exp(-tilt (loss - epsilon)) (1 - exp(epsilon - loss)) over losses above epsilon."""
    return math.sqrt(min(count, 1 / -math.expm1(-2 * tilt * step) if tilt else count))
