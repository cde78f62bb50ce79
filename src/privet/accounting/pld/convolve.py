"""Composes losses on a lattice by Fourier transform, and says how wrong the result can be, term by term.

The masses are first tilted: multiplied by exp(tilt loss) and normalised. With the tilt near the saddle point of the
tail that is asked for, that tail becomes the bulk, so that errors are relative to delta and not to 1. Nothing here
knows what a pair is; nothing here hides an error in a rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .discretise import Lattice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.core.event import Floats

    Complexes = NDArray[np.complex128]

_UNIT = 2.0**-53
_PER_LEVEL = 8 * _UNIT
"""Relative error of one level of butterflies, in each output, against the sum of the inputs' magnitudes."""
_MANY = 32
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
    """Tilted, normalised masses of a composition, the log of what they were divided by, and three errors.

    `above` and `below` bound the tilted mass beyond either end of the window, which wraps around to the other end.
    `rounding` bounds the Euclidean norm of what floating point does to the masses.
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
    """Return the window that holds every finite loss of the composition."""
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
    masses, lost = _multiplied(_grouped(factors, size) if len(factors) >= _MANY else factors, size)
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
    """Return fewer factors with the same product: short ones are multiplied on circles that hold all of it."""
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
