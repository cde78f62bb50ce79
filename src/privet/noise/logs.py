"""The one primitive: E = -ln U for whole arrays in float64, with a proven bound on the error.

Two questions are answered here, floor(scale * E) and "is E >= x?", each together with the lanes that float64
cannot decide; those go to `lazy`, which can. Nothing here may decide a lane that lies inside the band.

The proof. Let eps = 2**-53, so that a correctly rounded operation has a relative error of at most eps.

* A word gives an integer W below 2**63 (its top bit is left for a sign). U lies in [W, W + 1] / 2**63, and where
  in there is for later words to say.
* u = fl(W) / 2**63, where only fl rounds, so |u - U| <= eps u + 2**-63. Lanes with u < 2**-20 are never decided
  here. In the others, |ln u - ln U| <= r (1 + r) with r = eps + 2**-63 / u <= eps + 2**-43. It is an absolute
  error: near U = 1, E has no correct digit at all.
* -ln u <= 20 ln 2 < 13.8630, and the computed logarithm is off by at most LOG_ACCURACY eps relative to that.
  Good libraries reach 1 or 2, but neither NumPy nor C (whose logarithm serves single draws) promises anything,
  so 8 is assumed, and tested.
* Rounding the scale and the product adds 2 eps relative.

Together |scale * E - computed| <= scale * BAND with

    BAND = 2**-43 + eps + 13.87 (LOG_ACCURACY + 2) eps,

where 13.87 in place of 13.8630 pays for the terms of second order (below 2**-80) and for the rounding of
scale * BAND itself. So a computed value further than that from every integer has the floor of the true value.
A scale below 2**-60 is replaced by 2**-60: for U >= 2**-20 the floor is 0 either way.

For "is E >= x?" the caller adds the error of its own x. Once x exceeds 14 no lane with U >= 2**-20 reaches it, so
an x that large needs no accuracy beyond being computed as more than 14.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .source import Words

Floats = NDArray[np.float64]
Lanes = NDArray[np.intp]
Log = Callable[..., Floats]

UNIFORM_BITS = 63
MASK = 2**UNIFORM_BITS - 1
ULP = 2.0**-UNIFORM_BITS
LOG_ACCURACY = 8
LEAST_UNIFORM = 2.0**-20
LARGEST_EXPONENTIAL = 13.87
BAND = 2.0**-43 + 2.0**-53 + LARGEST_EXPONENTIAL * (LOG_ACCURACY + 2) * 2.0**-53
BLOCK = 2**13
"""Lanes computed at a time, so that a block's arrays stay in the cache and come from memory already mapped."""

_MASK_WORD = np.uint64(MASK)
_SMALLEST_FACTOR = Fraction(1, 2**60)


def factor_of(scale: Fraction) -> float:
    """Return the double that stands for a scale of at most 2**20 in `floors`."""
    return float(max(scale, _SMALLEST_FACTOR))


def logs(words: Words, *, log: Log = np.log) -> Floats:
    """Return ln U for each word, computed; NaN, which decides nothing, where U is too small for the band."""
    uniform = np.empty(words.shape)
    np.copyto(uniform, np.bitwise_and(words, _MASK_WORD).view(np.int64), casting="unsafe")
    uniform *= ULP
    if uniform.size and uniform.min() < LEAST_UNIFORM:
        uniform[uniform < LEAST_UNIFORM] = math.nan
    return log(uniform, out=uniform)


def floors(words: Words, factor: float, *, log: Log = np.log) -> tuple[Floats, Lanes]:
    """Return floor(factor * E) for each word, and the lanes where that is not known."""
    product = logs(words, log=log)
    product *= -factor
    whole = np.floor(product)
    distance = np.rint(product)
    np.subtract(product, distance, out=distance)
    np.abs(distance, out=distance)
    decided = distance > factor * BAND
    return whole, undecided(decided)


def reach(words: Words, x: Floats | float, slack: float, *, log: Log = np.log) -> tuple[NDArray[np.bool_], Lanes]:
    """Return whether E >= x for each word, and the lanes where that is not known.

    Each x must be within `slack` of the number it stands for, or both must exceed 16.
    """
    excess = logs(words, log=log)
    np.negative(excess, out=excess)
    excess -= x
    answer = excess > 0.0
    np.abs(excess, out=excess)
    return answer, undecided(excess > BAND + slack)


def undecided(decided: NDArray[np.bool_]) -> Lanes:
    """Return the lanes that are not decided."""
    return _NONE if decided.all() else np.flatnonzero(~decided)


_NONE: Lanes = np.empty(0, dtype=np.intp)
