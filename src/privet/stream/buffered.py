"""Running sums in memory that does not grow with the horizon: a few buffers in place of the square root's columns.

The entries of C are c_0 = 1 and c_j = sum over i of w_i a_i^j, so that (C x)_t is x_t and a sum of buffers, each of
which decays by its own factor a_i. With four to eight of them the error is that of the square root, within a percent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from privet import noise
from privet.core.errors import BadParameter, InvariantError, LedgerError
from privet.core.given import listed, set_fields
from privet.core.numbers import sqrt_up

from .sums import Floats, Integers, RunningSums, normal_width, read_rho

FACTOR_BITS = 44
"""The binary digits of the factors by which buffers decay."""

WEIGHT_BITS = 40
"""The binary digits of the weights of buffers in a measurement."""

GUARD_BITS = 64
"""The binary digits that buffers have below the grid."""

SCALE_BITS = 36
"""The binary digits of a measurement below one bound, so that rounding is far below the noise."""


class BufferedState(NamedTuple):
    """The exact buffers, in fixed point, and those of the estimates."""

    step: int
    buffers: tuple[tuple[int, ...], ...]
    estimates: Floats
    totals: Floats


@dataclass(frozen=True, kw_only=True)
class BufferedSums(RunningSums[BufferedState]):
    """Running sums with a few buffers, for long horizons, with Gaussian noise.

    Its state has exact weighted sums of all values so far: a reader of it learns them. Where that matters more than
    memory, use `TreeSums` or `RootSums`, which keep no sum without its noise.

    It cannot keep noisy ones instead. A state without any drawn noise of a later step contains the exact
    (C x) of that step: go on from copies of it with empty steps, and the mean of their measurements is exact. So the
    noise of every later step must be in the state, and independent from step to step. `RootSums` keeps as many numbers
    as there are steps for that. A few could do if the noise were continuous: its part along the buffers can be
    drawn first, and the rest, which is independent of that part, as steps come. Noise on whole numbers has no such
    parts: given the one along the buffers, the rest is not independent, and no exact draw of it is known that keeps few
    numbers. So the state is protected as private data, in files of mode 0600.

    Args:
        factors: the decay of each buffer, in units of 2**-44; chosen for the horizon if left out.
        weights: the weight of each buffer, in units of 2**-40; chosen with the factors.

    Example:
        >>> sums = stream.BufferedSums(horizon=1_000_000, spend=privet.Zcdp(rho=0.5))
        >>> round(sums.deviation(1_000_000), 2), len(sums.factors)
        (5.48, 6)

    Guarantee: what is measured at each step differs from the exact (C x)_t by at most `rounding`, for any values. So
    two streams that differ in the rows of one unit differ by at most moves |c| + 2 rounding sqrt(steps * touched) in
    L2, where `touched` sums see any of its rows: in the others all is equal. Noise is discrete Gaussian with that over
    sqrt(2 rho) as its deviation, and fresh at each step: rho-zCDP, also for values that depend on what was released.
    Rounding: a buffer decays by floor(f b / 2^44), which is below the exact value by less than 1 and loses less than
    1 / (1 - a) in all; weighted, shifted and rounded once more, that is at most
    1/2 + sum of w_i / (1 - a_i) 2^-64 grid steps.
    Cites: [DMPRT24, Sec. 4], [CKS20, Thm 14], [BS16, Lemma 1.7].
    """

    factors: tuple[int, ...] = ()
    weights: tuple[int, ...] = ()
    method = "buffered"

    def __post_init__(self) -> None:
        super().__post_init__()
        read_rho(self.spend, "buffers")
        factors = tuple(listed(self.factors, "factors", "a list of whole numbers"))
        weights = tuple(listed(self.weights, "weights", "a list of whole numbers"))
        if not factors and not weights:
            factors, weights = chosen_buffers(self.horizon)
        for name, given, most in (("factors", factors, FACTOR_BITS), ("weights", weights, WEIGHT_BITS + 2)):
            if not all(type(number) is int and 0 < number < 2**most for number in given):
                raise BadParameter(name, given, f"whole numbers above 0 and below 2**{most}")
        if len(factors) != len(weights):
            raise BadParameter("factors", factors, "as many as weights")
        set_fields(self, factors=factors, weights=weights)

    @property
    def shift(self) -> int:
        """The binary digits of a measurement below the grid of the values."""
        return max(0, SCALE_BITS - self.bound.bit_length())

    @property
    def touched(self) -> int:
        """How many of the sums one unit's rows can be in."""
        rows = self.rows * (2 if self.neighbors == "change-one" else 1)
        return min(self.width, rows * self.entries)

    @property
    def rounding(self) -> Fraction:
        """How far a measurement can be from the exact one, in its own steps."""
        lost = sum(
            (
                Fraction(weight, 2**WEIGHT_BITS) * 2**self.shift / (1 - Fraction(factor, 2**FACTOR_BITS))
                for factor, weight in zip(self.factors, self.weights, strict=True)
            ),
            Fraction(0),
        )
        bound: Fraction = Fraction(1, 2) + lost / 2**GUARD_BITS
        return bound

    @cached_property
    def column_squared(self) -> Fraction:
        """At least the sum of the squares of C's first column, which is the largest."""
        total = Fraction(1)
        for weight, f in zip(self.weights, self.factors, strict=True):
            for other, g in zip(self.weights, self.factors, strict=True):
                ratio = Fraction(f * g, 2 ** (2 * FACTOR_BITS))
                terms = ratio * (1 - power_down(ratio, self.horizon - 1)) / (1 - ratio)
                total += Fraction(weight * other, 2 ** (2 * WEIGHT_BITS)) * terms
        return total

    @property
    def sensitivity(self) -> Fraction:
        """At least how far one unit moves the measurements, in L2 and in their own steps, rounding included."""
        exact: Fraction = self.moves * 2**self.shift * sqrt_up(self.column_squared)
        return exact + 2 * self.rounding * sqrt_up(Fraction(self.horizon * self.touched))

    @cached_property
    def _variance(self) -> Fraction:
        variance = self.sensitivity**2 / (2 * read_rho(self.spend, "buffers"))
        # rounded up: a short fraction is drawn faster
        return Fraction(math.ceil(variance * 2**20), 2**20)

    def begin(self) -> BufferedState:
        """Return the state before the first step."""
        count = len(self.factors)
        none = tuple((0,) * self.width for _ in range(count))
        return BufferedState(0, none, np.zeros((count, self.width)), np.zeros(self.width))

    def step_of(self, state: BufferedState) -> int:
        """Return how many steps a state has behind it."""
        return state.step

    def drawn_before(self, step: int) -> int:
        """Return how many rows of noise all steps up to one use: one each."""
        return step

    def draw(self, rows: int) -> Any:
        """Return this many rows of fresh noise."""
        return noise.discrete_gaussian(self._variance, (rows, self.width))

    def advance(self, state: BufferedState, values: Integers, drawn: Any = None) -> tuple[BufferedState, Floats]:
        """Return the state after more steps, and the estimated sums after each."""
        given = self.checked(state, values)
        measured, buffers = self.measure(state.buffers, given)
        fresh = self.noise_of(state, given, drawn).tolist()
        noisy = np.empty(given.shape)
        unit = 2.0**-self.shift
        for index, (row, added) in enumerate(zip(measured, fresh, strict=True)):
            noisy[index] = [(value + number) * unit for value, number in zip(row, added, strict=True)]
        return self._estimated(state, noisy, buffers)

    def measure(
        self, buffers: tuple[tuple[int, ...], ...], values: Integers
    ) -> tuple[list[list[int]], tuple[tuple[int, ...], ...]]:
        """Return C x for more steps, in whole numbers and without noise, and the buffers after them."""
        low, half = WEIGHT_BITS + GUARD_BITS - self.shift, 1 << (WEIGHT_BITS + GUARD_BITS - self.shift - 1)
        pairs = tuple(zip(self.factors, self.weights, strict=True))
        measured = np.empty(values.shape, dtype=object)
        columns = []
        for place in range(self.width):
            kept = [row[place] for row in buffers]
            column = []
            for value in values[:, place].tolist():
                fine, total = value << GUARD_BITS, value << (GUARD_BITS + WEIGHT_BITS)
                for index, (factor, weight) in enumerate(pairs):
                    decayed = (factor * kept[index]) >> FACTOR_BITS
                    total += weight * decayed
                    kept[index] = decayed + fine
                column.append((total + half) >> low)
            measured[:, place] = column
            columns.append(kept)
        return measured.tolist(), tuple(zip(*columns, strict=True))

    def _estimated(
        self, state: BufferedState, noisy: Floats, buffers: tuple[tuple[int, ...], ...]
    ) -> tuple[BufferedState, Floats]:
        """Return the state and the sums, from noisy measurements: x_t = m_t - sum of w_i a_i b_i, added up."""
        rates = np.array(self.factors) * 2.0**-FACTOR_BITS
        weights = np.array(self.weights) * 2.0**-WEIGHT_BITS
        kept, totals = state.estimates.copy(), state.totals.copy()
        released = np.empty(noisy.shape)
        for index, row in enumerate(noisy):
            kept *= rates[:, None]
            estimate = row - weights @ kept
            kept += estimate
            totals = totals + estimate
            released[index] = totals
        return BufferedState(state.step + len(noisy), buffers, kept, totals), released

    @cached_property
    def _modes(self) -> tuple[Floats, Floats, float]:
        return modes_of(*self._rates())

    def _rates(self) -> tuple[Floats, Floats]:
        return np.array(self.factors) * 2.0**-FACTOR_BITS, np.array(self.weights) * 2.0**-WEIGHT_BITS

    def _deviation(self, step: int) -> float:
        """Return the standard deviation of each sum after a step."""
        return math.sqrt(errors_squared(self._modes, step)) * math.sqrt(self._variance) * 2.0**-self.shift

    def _half_width(self, step: int, tail: float) -> float:
        """Return by how much a sum after a step errs with a probability; rounding is far below the noise."""
        return normal_width(self._deviation(step), tail)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the mechanism, as plain data."""
        return {**super().parameters(), "factors": list(self.factors), "weights": list(self.weights)}

    def write_state(self, state: BufferedState) -> dict[str, Any]:
        """Return a state as plain data."""
        return {
            "step": state.step,
            "buffers": [[str(number) for number in row] for row in state.buffers],
            "estimates": state.estimates.tolist(),
            "totals": state.totals.tolist(),
        }

    def read_state(self, data: dict[str, Any]) -> BufferedState:
        """Return the state that was written."""
        try:
            buffers = tuple(tuple(map(int, row)) for row in data["buffers"])
            estimates, totals = np.array(data["estimates"], dtype=float), np.array(data["totals"], dtype=float)
            shape = len(self.factors), self.width
            sound = np.isfinite(estimates).all() and np.isfinite(totals).all() and totals.shape == (self.width,)
            if sound and estimates.shape == shape and [len(row) for row in buffers] == [self.width] * shape[0]:
                return BufferedState(int(data["step"]), buffers, estimates, totals)
        except (KeyError, TypeError, ValueError):
            pass
        raise LedgerError("the state of the stream does not fit its buffers: the file was changed or damaged")


def power_down(ratio: Fraction, exponent: int) -> Fraction:
    """Return at most ratio**exponent, for a ratio from 0 to 1: each product is rounded down to 256 digits."""
    result, square = 1 << 256, math.floor(ratio * 2**256)
    while exponent:
        if exponent & 1:
            result = (result * square) >> 256
        square = (square * square) >> 256
        exponent >>= 1
    return Fraction(result, 1 << 256)


# Which buffers: those with the least error after the last step, found from a start that follows f_j.


def modes_of(rates: Floats, weights: Floats) -> tuple[Floats, Floats, float]:
    """Return m, r and k such that the noise of s steps ago is in a sum with factor k + sum of r_i m_i^s.

    With o_i = w_i a_i the estimates obey b' = (diag(a) - 1 o') b + m, similar to diag(a) - sqrt(o) sqrt(o)'.
    """
    roots = np.sqrt(rates * weights)
    decay, vectors = np.linalg.eigh(np.diag(rates) - np.outer(roots, roots))
    shares = (vectors.T @ roots) ** 2 / (1 - decay)
    return decay, shares, float(1 - shares.sum())


def errors_squared(modes: tuple[Floats, Floats, float], step: int) -> float:
    """Return the variance of the sum after a step, for measurements of variance 1."""
    decay, shares, rest = modes
    pairs = np.outer(decay, decay)
    single = (1 - decay**step) / (1 - decay)
    double = (1 - pairs**step) / (1 - pairs)
    return float(rest**2 * step + 2 * rest * (shares * single).sum() + shares @ double @ shares)


@lru_cache(maxsize=64)
def chosen_buffers(horizon: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return factors and weights for a horizon, as whole numbers: public, and any of them are sound."""
    from scipy.optimize import minimize

    count = 4 if horizon <= 2**12 else 5 if horizon <= 2**16 else 6 if horizon <= 2**20 else 8

    def error(logs: Floats) -> float:
        rates, weights = np.exp(-np.exp(logs[:count])), np.exp(logs[count:])
        if not (rates * weights).sum() < count or not (rates < 1).all():
            return 1e3
        pairs = np.log(np.outer(rates, rates))
        terms = np.exp(pairs) * np.expm1((horizon - 1) * pairs) / np.expm1(pairs)
        squared = errors_squared(modes_of(rates, weights), horizon)
        return float(np.log1p(weights @ terms @ weights) + np.log(squared)) if squared > 0 else 1e3

    start = _start(horizon, count)
    with np.errstate(all="ignore"):
        logs = minimize(error, start, method="BFGS", options={"maxiter": 300, "gtol": 1e-7}).x
        if not error(logs) <= error(start):
            logs = start
    factors = np.clip(np.rint(np.exp(-np.exp(logs[:count])) * 2**FACTOR_BITS), 1, 2**FACTOR_BITS - 1)
    weights = np.clip(np.rint(np.exp(logs[count:]) * 2**WEIGHT_BITS), 1, 2 ** (WEIGHT_BITS + 1))
    if not np.isfinite(factors).all() or not np.isfinite(weights).all():
        raise InvariantError("no buffers were found for a horizon")
    return tuple(int(factor) for factor in factors), tuple(int(weight) for weight in weights)


def _start(horizon: int, count: int) -> Floats:
    """Return logarithms of rates that are spread evenly over the horizon, and of weights that then follow f_j."""
    from scipy.optimize import nnls
    from scipy.special import gammaln

    rates = np.geomspace(1.0, 0.4 / horizon, count + 1)[1:]
    steps = np.unique(np.round(np.geomspace(1, max(2, horizon), 400)))
    entries = np.exp(gammaln(steps + 0.5) - gammaln(steps + 1) - 0.5 * math.log(math.pi))
    weights, _ = nnls(np.exp(-np.outer(steps, rates)) / entries[:, None], np.ones(len(steps)))
    return np.concatenate([np.log(rates), np.log(np.maximum(weights, 1e-9))])
