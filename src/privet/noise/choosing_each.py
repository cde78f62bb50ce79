"""One exact choice in each of many groups at once: what `choosing` does for one, on whole arrays.

The options of all groups lie side by side. Each group has a unit of its own for its V_i, and all of them are added up
in one run of 64-bit integers, so that a group's uniform number is found among its own options by one search. For that a
group gets fewer bits the more groups there are; then an attempt fails a little more often, and nothing else changes.

That V_i is no smaller than the weight is shown at `choosing`, and holds for any unit of at most 2**61. A toss compares
E = -ln U with t = x - ln w - unit ln 2 + ln V. Each of these terms is off by less than 12 of 2**-53 of itself; what
floats may tell lies 32 of it away from t, and more. The others are decided as single tosses are, on more bits.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadValue, InvariantError
from privet.core.exact import positive

from .choosing import FAR, ROUND_UP, SLACK, TOP_BITS, Integers64, reaches, read_integers, read_weights
from .exponential import MASK, ULP, UNIFORM_BITS
from .lazy import LazyUniform
from .source import SYSTEM, Source

MOST_GROUPS = 2**16
"""So many groups have a choice at once; what is left for each is at least 45 bits."""

_NOTHING = np.iinfo(np.int64).max
_LAST_WORD = np.uint64(2**64 - 1)


def choose_each(widths: Integers64, gaps: Integers64, sizes: Integers64, rate: Fraction) -> Integers64:
    """Return for each group an index i with probability exactly proportional to widths[i] * exp(-rate * gaps[i]).

    The first sizes[0] options are those of the first group, and so on; indices count through all of them. Widths and
    gaps are as for `choose`, and each group has a width above zero.

    Guarantee: choices are independent and have exactly this distribution, given a uniform operating system source.
    Cites: [MT07, Def. 2] for the distribution, [Dev86, Sec. II.3] for rejection.
    """
    wide, behind = read_weights(widths, gaps)
    groups = read_integers(sizes, "sizes", least=1)
    if sum(groups.tolist()) != wide.size or groups.size > MOST_GROUPS:
        raise BadValue("sizes", "another number", f"sizes of at most {MOST_GROUPS} groups that add up to all widths")
    return choose_each_from(SYSTEM, wide, behind, groups, positive(rate, "rate"))


def choose_each_from(
    source: Source, widths: Integers64, gaps: Integers64, sizes: Integers64, rate: Fraction
) -> Integers64:
    """Return what `choose_each` returns, with the bits of a given source."""
    bounds, behind, units = envelopes(widths, gaps, sizes, rate)
    through = bounds[np.cumsum(sizes) - 1]
    before = np.concatenate(([0], through[:-1]))
    chosen = np.empty(sizes.size, dtype=np.int64)
    left = np.arange(sizes.size)
    while left.size:
        drawn = before[left] + below_each_from(source, through[left] - before[left])
        index = np.searchsorted(bounds, drawn, side="right")
        kept = accepts_each(widths, bounds, behind, rate, index, units[left], source)
        chosen[left[kept]] = index[kept]
        left = left[~kept]
    return chosen


def envelopes(
    widths: Integers64, gaps: Integers64, sizes: Integers64, rate: Fraction
) -> tuple[Integers64, Integers64, Integers64]:
    """Return the V_i of all groups, cumulated; each gap less its group's least; each group's unit, a power of two."""
    if sizes.size > MOST_GROUPS or rate < 0 or (sizes.size and int(sizes.min()) < 1):
        raise InvariantError("choices need options in each group, a rate of at least 0, and not too many groups")
    if not sizes.size:
        return (np.empty(0, dtype=np.int64),) * 3
    starts, present = np.cumsum(sizes) - sizes, widths > 0
    least = np.minimum.reduceat(np.where(present, gaps, _NOTHING), starts)
    if (least == _NOTHING).any():
        raise InvariantError("a choice needs a positive width")
    behind = gaps - np.repeat(least, sizes)
    weights = behind.astype(np.float64)
    weights *= -float(min(rate, Fraction(2**60)))
    np.minimum(weights, 0.0, out=weights)  # where nothing is, a gap may be below the least
    np.exp(weights, out=weights)
    weights *= widths
    units = TOP_BITS - int(sizes.size).bit_length() - np.frexp(np.add.reduceat(weights, starts))[1].astype(np.int64)
    weights *= np.repeat(np.ldexp(ROUND_UP, units), sizes)
    bounds = weights.astype(np.int64)
    bounds += present
    np.cumsum(bounds, out=bounds)
    if not 0 < int(bounds[-1]) < 2**62:
        raise InvariantError("the weights of choices do not fit their units")
    return bounds, behind, units


def below_each(bounds: Integers64) -> Integers64:
    """Return for each bound, which is above 0, a uniform integer from 0 to below it.

    Guarantee: draws are independent and exactly uniform, given uniform words: those beyond the last multiple of a bound
    are drawn again.
    """
    return below_each_from(SYSTEM, read_integers(bounds, "bounds", least=1))


def below_each_from(source: Source, bounds: Integers64) -> Integers64:
    """Return what `below_each` returns, with the bits of a given source."""
    n = bounds.astype(np.uint64)
    last = ((_LAST_WORD - (n - 1)) // n + 1) * n - 1  # modulo 2**64: where 2**64 is a multiple, the last word
    words = source.words(n.size).copy()
    while (again := np.flatnonzero(words > last)).size:
        words[again] = source.words(again.size)
    return (words % n).view(np.int64)


def accepts_each(
    widths: Integers64,
    bounds: Integers64,
    behind: Integers64,
    rate: Fraction,
    index: Integers64,
    units: Integers64,
    source: Source,
) -> NDArray[np.bool_]:
    """Return which of some options are kept, each with probability w exp(-x) 2**unit / V."""
    numerators = source.words(index.size) & np.uint64(MASK)
    uniform = numerators.view(np.int64) * ULP
    wide, far = widths[index], behind[index]
    bound = bounds[index] - np.where(index, bounds[index - 1], 0)
    x = far * float(min(rate, Fraction(2**60)))
    above, below, unit = np.log(wide), np.log(bound), units * math.log(2)
    with np.errstate(divide="ignore"):
        excess = -np.log(uniform) - (x - above - unit + below)
    slack = 2.0**-42 + SLACK * (16 + x + above + np.abs(unit) + below)
    told = (uniform > 2.0**-20) & (x < FAR) & (np.abs(excess) > slack)
    kept = told & (excess > 0.0)
    for lane in np.flatnonzero(~told).tolist():
        ratio = Fraction(int(wide[lane]), int(bound[lane])) * Fraction(2) ** int(units[lane])
        kept[lane] = reaches(LazyUniform(int(numerators[lane]), UNIFORM_BITS, source), ratio, rate * int(far[lane]))
    return np.asarray(kept)
