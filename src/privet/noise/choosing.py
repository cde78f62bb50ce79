"""An exact choice by one pass and one uniform number: index i with probability proportional to w_i exp(-x_i).

The weights are irrational, so they are not summed. Each is rounded up to an integer V_i in a common unit, an index is
drawn in proportion to the V_i with exact integers, and it is kept with probability w_i exp(-x_i) / V_i, which is
decided exactly; otherwise all is drawn again. Weights are private: the number of attempts is independent of the
index that is kept, and nothing here may quote them.

That V_i is no smaller than the weight, with eps = 2**-53 and K = LOG_ACCURACY allowed to the exponential function: the
exponent is a product of a rounded rate and a rounded integer, off by 3 eps of itself; where it is at most 745 the
exponential is off by at most (3 * 745 + K + 6) eps < 2**-41 relative, less than the 2**-40 that is added. Beyond, it
is below 2**-1022, and in the common unit below 1, which is added too. Unless some weight is far above all others
together, V_i exceeds the weight by a part in 2**39, so an attempt fails about that often.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from privet.core.errors import BadValue, InvariantError
from privet.core.numbers import Number, positive

from .coins import Below
from .source import MASK, SYSTEM, ULP, UNIFORM_BITS, LazyUniform, Source, read_size

Integers64 = NDArray[np.int64]

TOP_BITS = 61
ROUND_UP = 1 + 2.0**-40
SLACK = 2.0**-48
FAR = 2**40


@overload
def choose(widths: Integers64, gaps: Integers64, rate: Number) -> int: ...
@overload
def choose(widths: Integers64, gaps: Integers64, rate: Number, size: int) -> Integers64: ...
def choose(widths: Integers64, gaps: Integers64, rate: Number, size: int | None = None) -> int | Integers64:
    """Return index i with probability exactly proportional to widths[i] * exp(-rate * gaps[i]).

    With a size, this many independent choices.

    Widths and gaps are int64 and not negative, below 2**62; some width is above zero.

    Args:
        widths: a weight for each option.
        gaps: how far each option is behind.
        rate: how much a gap counts.
        size: how many draws, as an array of that shape; one number if left out.

    Example:
        >>> import numpy as np
        >>> noise.choose(np.array([1, 0]), np.array([0, 3]), 1)
        0

    Guarantee: the index has exactly this distribution, given a uniform operating system source.
    Cites: [MT07, Def. 2] for the distribution, [Dev86, Sec. II.3] for rejection.
    """
    scores, pace = read_weights(widths, gaps), positive(rate, "rate")
    if not scores[0].size:
        raise BadValue("widths", "an empty array", "a width for each of one or more options")
    if size is None:
        return choose_from(SYSTEM, *scores, pace)
    return choose_many(SYSTEM, *scores, pace, read_size(size))


def read_weights(widths: Integers64, gaps: Integers64) -> tuple[Integers64, Integers64]:
    """Return widths and gaps as choices take them: int64, as many of the one as of the other, from 0 to 2**62 - 1."""
    wide, behind = read_integers(widths, "widths"), read_integers(gaps, "gaps")
    if wide.size != behind.size:
        raise BadValue("gaps", "another number of them", "as many as there are widths")
    return wide, behind


def read_integers(values: Integers64, parameter: str, *, least: int = 0) -> Integers64:
    """Return a one-dimensional array of int64 within 2**62; refuse any other value without quoting it."""
    allowed = f"a one-dimensional int64 array of numbers from {least} to 2**62 - 1"
    if type(values) is not np.ndarray or values.ndim != 1 or values.dtype != np.int64:
        raise BadValue(parameter, f"a {type(values).__name__}", allowed)
    if values.size and (values.min() < least or values.max() >= 2**62):
        raise BadValue(parameter, "numbers outside that", allowed)
    return values


def choose_from(source: Source, widths: Integers64, gaps: Integers64, rate: Fraction) -> int:
    """Return the same as `choose`, with the bits of a given source."""
    bounds, behind, unit = envelope(widths, gaps, rate)
    drawer = Below(int(bounds[-1]))
    while True:
        index = int(np.searchsorted(bounds, drawer.draw(source), side="right"))
        ratio = _ratio(widths, bounds, unit, index)
        if accepts(ratio, rate * int(behind[index]), source=source):
            return index


def choose_many(source: Source, widths: Integers64, gaps: Integers64, rate: Fraction, size: int) -> Integers64:
    """Return this many choices: draws by the same envelope, kept or drawn again by the same coins."""
    bounds, behind, unit = envelope(widths, gaps, rate)
    drawer = Below(int(bounds[-1]))
    chosen = np.searchsorted(bounds, drawer.fill(size, source), side="right")
    open_ = np.ones(size, dtype=np.bool_)
    while open_.any():
        refused = np.zeros(size, dtype=np.bool_)
        for index in np.unique(chosen[open_]).tolist():
            lanes = np.flatnonzero(open_ & (chosen == index))
            kept = accepts_many(_ratio(widths, bounds, unit, index), rate * int(behind[index]), lanes.size, source)
            refused[lanes[~kept]] = True
        again = int(np.count_nonzero(refused))
        chosen[refused] = np.searchsorted(bounds, drawer.fill(again, source), side="right")
        open_ = refused
    return np.asarray(chosen, dtype=np.int64)


def _ratio(widths: Integers64, bounds: Integers64, unit: int, index: int) -> Fraction:
    bound = int(bounds[index]) - (int(bounds[index - 1]) if index else 0)
    return Fraction(int(widths[index]), bound) * Fraction(2) ** unit


def envelope(widths: Integers64, gaps: Integers64, rate: Fraction) -> tuple[Integers64, Integers64, int]:
    """Return the V_i, cumulated; each gap less the least; and the exponent of the power of two that is the unit."""
    present = widths > 0
    if not present.any() or rate < 0:
        raise InvariantError("a choice needs a positive width, and a rate of at least 0")
    behind = gaps - gaps[present].min()
    weights = behind.astype(np.float64)
    weights *= -float(min(rate, Fraction(2**60)))
    np.minimum(weights, 0.0, out=weights)  # where nothing is, a gap may be below the least
    np.exp(weights, out=weights)
    weights *= widths
    unit = TOP_BITS - math.frexp(float(weights.sum()))[1]
    weights *= math.ldexp(ROUND_UP, unit)
    bounds = weights.astype(np.int64)
    bounds += present
    np.cumsum(bounds, out=bounds)
    if not 0 < int(bounds[-1]) < 2**62:
        raise InvariantError("the weights of a choice do not fit their unit")
    return bounds, behind, unit


def accepts(ratio: Fraction, x: Fraction, *, source: Source = SYSTEM) -> bool:
    """Return True with probability ratio * exp(-x), for rationals of any size for which that is at most 1.

    It tests whether E = -ln U reaches t = x - ln(ratio): in floats where they lie further apart than the error, and
    otherwise by the lazy uniform, with correctly rounded logarithms of exact integers.

    Guarantee: tosses are independent and have exactly this probability, given a uniform operating system source.
    """
    numerator = source.word() & MASK
    uniform = numerator * ULP
    if x < FAR and uniform > 2.0**-20:
        above, below = math.log(ratio.numerator), math.log(ratio.denominator)
        excess = -math.log(uniform) - (float(x) - above + below)
        # U is known to 2**-63 / u < 2**-43, the logarithms and the sums to a few units of 2**-53 of their sizes
        if abs(excess) > 2.0**-42 + SLACK * (16 + float(x) + abs(above) + abs(below)):
            return excess > 0.0
    return reaches(LazyUniform(numerator, UNIFORM_BITS, source), ratio, x)


def accepts_many(ratio: Fraction, x: Fraction, count: int, source: Source) -> NDArray[np.bool_]:
    """Return this many tosses of `accepts`, by the same comparison and the same error, on whole arrays."""
    numerators = source.words(count) & np.uint64(MASK)
    uniform = numerators.view(np.int64) * ULP
    answers, certain = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    if x < FAR:
        above, below = math.log(ratio.numerator), math.log(ratio.denominator)
        with np.errstate(divide="ignore"):
            excess = -np.log(uniform) - (float(x) - above + below)
        # NumPy's logarithm may be off by LOG_ACCURACY units of a value below 14, far less than the slack of 16 * 2**-48
        certain = (uniform > 2.0**-20) & (np.abs(excess) > 2.0**-42 + SLACK * (16 + float(x) + abs(above) + abs(below)))
        answers = certain & (excess > 0.0)
    for lane in np.flatnonzero(~certain).tolist():
        answers[lane] = reaches(LazyUniform(int(numerators[lane]), UNIFORM_BITS, source), ratio, x)
    return answers


def reaches(uniform: LazyUniform, ratio: Fraction, x: Fraction) -> bool:
    """Return whether -ln of a uniform number is x - ln(ratio) or more, from as many of its bits as that takes."""
    while True:
        low_above, high_above = uniform.log_of(ratio.numerator)
        low_below, high_below = uniform.log_of(ratio.denominator)
        least, most = uniform.exponential()
        if Fraction(least) >= x - Fraction(low_above) + Fraction(high_below):
            return True
        if most is not None and Fraction(most) < x - Fraction(high_above) + Fraction(low_below):
            return False
        uniform.refine()


# One exact choice in each of many groups at once: `choosing` for one, on whole arrays.
#
# The options of all groups lie side by side. Each group has a separate unit for its V_i, and all of them are added
# up in one run of 64-bit integers, so that a group's uniform number is found among its own options by one search. For
# that a group gets fewer bits the more groups there are; then an attempt fails a little more often, and nothing else
# changes.
#
# That V_i is no smaller than the weight is shown at `choosing`, and holds for any unit of at most 2**61. A toss
# compares E = -ln U with t = x - ln w - unit ln 2 + ln V. Each of these terms is off by less than 12 of 2**-53 of
# itself; floats decide only at 32 of it from t, and more. The others are decided as single tosses are, on
# more bits.


MOST_GROUPS = 2**16
"""The most groups that have a choice at once; at least 45 bits remain for each."""

_NOTHING = np.iinfo(np.int64).max
_LAST_WORD = np.uint64(2**64 - 1)


def choose_each(widths: Integers64, gaps: Integers64, sizes: Integers64, rate: Number) -> Integers64:
    """Return for each group an index i with probability exactly proportional to widths[i] * exp(-rate * gaps[i]).

    The first sizes[0] options are those of the first group, and so on; indices count through all of them. Widths and
    gaps are as for `choose`, and each group has a width above zero.

    Args:
        widths: a weight for each option.
        gaps: how far each option is behind.
        sizes: how many options each group has.
        rate: how much a gap counts.

    Example:
        >>> import numpy as np
        >>> noise.choose_each(np.array([1, 0, 1]), np.array([0, 3, 0]), np.array([2, 1]), 1).tolist()
        [0, 2]

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
    """Return the same as `choose_each`, with the bits of a given source."""
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

    Args:
        bounds: an int64 array.

    Example:
        >>> import numpy as np
        >>> (noise.below_each(np.array([1, 1])) == 0).all()
        np.True_

    Guarantee: draws are independent and exactly uniform, given uniform words: those beyond the last multiple of a bound
    are drawn again.
    """
    return below_each_from(SYSTEM, read_integers(bounds, "bounds", least=1))


def below_each_from(source: Source, bounds: Integers64) -> Integers64:
    """Return the same as `below_each`, with the bits of a given source."""
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
    certain = (uniform > 2.0**-20) & (x < FAR) & (np.abs(excess) > slack)
    kept = certain & (excess > 0.0)
    for lane in np.flatnonzero(~certain).tolist():
        ratio = Fraction(int(wide[lane]), int(bound[lane])) * Fraction(2) ** int(units[lane])
        kept[lane] = reaches(LazyUniform(int(numerators[lane]), UNIFORM_BITS, source), ratio, rate * int(far[lane]))
    return np.asarray(kept)
