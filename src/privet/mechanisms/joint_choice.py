"""An exact joint choice of several ranks: quantiles at once, with probability falling in the miscounts between them.

What is drawn is a list of places o_1 <= ... <= o_m, any m places put in order, with probability proportional to
exp(-kappa * sum over j of |n_j - T_j|), n_j the rows after o_(j-1) and up to o_j, T_j what there should be. All places
with t rows at or below them are alike; there are W_t of them. So ranks are drawn first, by a recursion over ranks
that takes O(m n + m^2 n) steps in float64, and then places.

Floats only propose. Every step of a proposal is drawn from integers, so its probability q is a known rational; the
target weight w is a rational times exp(-rational); and the proposal is kept with probability w / (M q), exactly.
That this is at most 1 needs M to be no less than any w / q. Each step's integers are rounded up from the floats, and
what remains is the ratio of a sum, as drawn from, to the same sum as the recursion computed it: all terms are
positive, each is a product of at most 4 n + 4000 rounded factors, and floors lift what would vanish. So each ratio
and each rounding up is below 1 + 2**-30 + 16 n / 2**50, there are fewer than 4 m + 2 of them in a proposal, and M
leaves room for as many. So a proposal is refused about once in a million.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import InvariantError
from privet.noise.choosing import accepts
from privet.noise.coins import Below
from privet.noise.source import SYSTEM, Source

Floats = NDArray[np.float64]
Integers64 = NDArray[np.int64]

_FLOOR = 2.0**-880
_LARGEST_UNIT = 950
_TOP_BITS = 61
_ROUND_UP = 1 + 2.0**-38
_MOST_ATTEMPTS = 10_000


class JointRanks:
    """The law of m ranks for given widths, targets and kappa, prepared once.

    Guarantee: draws have exactly the distribution of the module's first paragraph, given a uniform system source.
    Cites: [GJK21, JointExp] for a joint choice by recursion, [Dev86, Sec. II.3] for rejection.
    """

    def __init__(self, widths: Integers64, targets: list[Fraction], kappa: Fraction) -> None:
        self._widths, self._targets, self._kappa = widths, targets, kappa
        self._n, self._m = widths.size - 1, len(targets) - 1
        self._places = int(widths.sum())
        self._present = widths > 0
        with np.errstate(divide="ignore"):
            self._log_shares: Floats = np.log(widths / float(self._places))
        self._room = (1 + Fraction(1, 2**30) + Fraction(16 * self._n, 2**50)) ** (4 * self._m + 2)
        self._entries: list[tuple[Floats, int]] = []  # for a quantile that starts a group at rank t, times a power of 2
        self._ends: list[tuple[Floats, int]] = []  # for the quantiles so far, the last of them at rank t
        for a in range(self._m):
            self._entries.append(self._enter(a))
            self._ends.append(self._end(a))

    def draw(self, *, source: Source = SYSTEM) -> list[int]:
        """Return m ranks in order."""
        for _ in range(_MOST_ATTEMPTS):
            ranks, ratio = self._propose(source)
            if accepts(ratio / self._room, self._exponent(ranks), source=source):
                return ranks
        raise InvariantError("a joint choice keeps none of its proposals")

    def _exponent(self, ranks: list[int]) -> Fraction:
        steps = np.diff([0, *ranks, self._n]).tolist()
        misses = [abs(step - target) for step, target in zip(steps, self._targets, strict=True)]
        return self._kappa * sum(misses, Fraction(0))

    def _propose(self, source: Source) -> tuple[list[int], Fraction]:
        """Return ranks and the rational part of w / q, up to a constant that M makes good."""
        last, exponent = self._ends[-1]
        weights = last * self._decay(self._n - np.arange(self._n + 1), self._targets[-1])
        t, bound, _, unit = _pick(weights, self._present, source)
        ratio = Fraction(2) ** (unit - exponent) / bound
        ranks: list[int] = []
        j = self._m
        while True:
            k, share = self._group(j, t, source)
            ranks = [t] * k + ranks
            ratio *= share * Fraction(int(self._widths[t]), self._places) ** k / math.factorial(k)
            j -= k
            if j == 0:
                return ranks, ratio
            ends, exponent = self._ends[j - 1]
            weights = ends[:t] * self._decay(t - np.arange(t), self._targets[j])
            t, bound, total, _ = _pick(weights, self._present[:t], source)
            ratio *= Fraction(total, bound)

    def _group(self, j: int, t: int, source: Source) -> tuple[int, Fraction]:
        """Return how many of the first j quantiles lie at rank t together, and one over the chance of that number."""
        exponent = self._ends[j - 1][1]
        weights, allowed = np.zeros(j), np.zeros(j, dtype=np.bool_)
        before = bool(self._present[:t].any())
        for k in range(1, j + 1):
            entry, shift = self._entries[j - k]
            allowed[k - 1] = before or k == j  # where no place lies before, all of them are here
            if allowed[k - 1]:
                weights[k - 1] = entry[t] * self._together(j, k, self._log_shares[t : t + 1], shift - exponent)[0]
        picked, bound, total, _ = _pick(weights, allowed, source)
        return picked + 1, Fraction(total, bound)

    def _together(self, j: int, k: int, log_shares: Floats, shift: int) -> Floats:
        """Return share**k / k! and the cost of the empty gaps inside a group, times 2**shift, for each rank."""
        empty = float(self._kappa * sum(self._targets[j - k + 1 : j], Fraction(0)))
        return np.asarray(np.exp(k * log_shares + (shift * math.log(2) - empty - math.lgamma(k + 1))))

    def _enter(self, a: int) -> tuple[Floats, int]:
        if a == 0:
            return _scaled(self._decay(np.arange(self._n + 1), self._targets[0]), self._present, 0)
        ends, exponent = self._ends[a - 1]
        return _scaled(_spread(ends, self._targets[a], float(self._kappa)), self._present, exponent)

    def _end(self, a: int) -> tuple[Floats, int]:
        j = a + 1
        exponent = self._entries[a][1]
        total: Floats = np.zeros(self._n + 1)
        for k in range(1, j + 1):
            entry, shift = self._entries[j - k]
            total += entry * self._together(j, k, self._log_shares, shift - exponent)
        return _scaled(total, self._present, exponent)

    def _decay(self, steps: Integers64, target: Fraction) -> Floats:
        """Return exp(-kappa |step - target|)."""
        misses = steps - float(target)
        np.abs(misses, out=misses)
        misses *= -float(self._kappa)
        return np.asarray(np.exp(misses, out=misses))


def _pick(weights: Floats, allowed: NDArray[np.bool_], source: Source) -> tuple[int, int, int, int]:
    """Return an index drawn in proportion to weights rounded up to integers, its integer, their sum, and the unit."""
    total = float(weights.sum())
    unit = min(_TOP_BITS - math.frexp(total)[1], _LARGEST_UNIT) if total > 0 else _LARGEST_UNIT
    bounds = (weights * math.ldexp(_ROUND_UP, unit)).astype(np.int64)
    bounds += allowed
    np.cumsum(bounds, out=bounds)
    index = int(np.searchsorted(bounds, Below(int(bounds[-1])).draw(source), side="right"))
    return index, int(bounds[index]) - (int(bounds[index - 1]) if index else 0), int(bounds[-1]), unit


def _scaled(values: Floats, present: NDArray[np.bool_], exponent: int) -> tuple[Floats, int]:
    """Return values, in units of 2**exponent, scaled so that the largest is about 1; none that counts vanishes."""
    shift = math.frexp(float(values[present].max()))[1]
    scaled = np.where(present, np.maximum(np.ldexp(values, -shift), _FLOOR), 0.0)
    return scaled, exponent + shift


def _spread(ends: Floats, target: Fraction, kappa: float) -> Floats:
    """Return, for each rank t, the sum over s < t of ends[s] exp(-kappa |t - s - target|), from positive terms alone.

    Steps d = t - s from the target on decay from there: a recursion. Shorter ones form a window of the last `span`
    ranks, whose weights rise with d. Cut into blocks of that length, a window is the end of one block, a recursion
    from the right, and the beginning of the next, a running sum.
    """
    from scipy.signal import lfilter

    n = ends.size
    entry = np.zeros(n)
    decay = [1.0, -math.exp(-kappa)]
    start = max(math.ceil(target), 1)
    if start < n:
        tail = lfilter([1.0], decay, ends[: n - start])
        entry[start:] = tail * math.exp(-kappa * float(start - target))
    span = min(start - 1, n - 1)
    if span > 0:
        blocks = -(-n // span) + 1
        padded = np.zeros((blocks + 1) * span)
        padded[span : span + n] = ends
        table = padded.reshape(-1, span)
        falling = np.exp(-kappa * np.arange(span))
        left = lfilter([1.0], decay, table[:, ::-1], axis=1)[:, ::-1].reshape(-1)
        right = np.cumsum(table * falling, axis=1).reshape(-1)
        t = np.arange(n)
        within = t % span
        reach = kappa * float(target - span)
        entry += math.exp(-reach) * left[:n]
        entry += np.where(within > 0, np.exp(-reach - kappa * (span - within)) * right[t + span - 1], 0.0)
    return entry
