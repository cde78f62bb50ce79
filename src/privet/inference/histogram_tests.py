"""Tests of released histograms that know the noise: one against stated shares, and two by their ranks.

The statistic of Mann and Whitney itself cannot be released: one person moves it by the size of the other group, which
is private. Nothing here reads data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.estimate import Estimate
from privet.core.given import read_fields
from privet.core.numbers import Number, float_near, open_probability, positive, whole
from privet.mechanisms.lattice import read_floats

from .finding import Finding
from .noisy_tables import Noise
from .table_tests import MOST_CELLS, NoisyTable, read_table

if TYPE_CHECKING:
    from privet.core.event import Floats


_LEAST = 5
"""A category that is expected less often than this is too rare for its count to be nearly normal."""

_SUM = 1e-9


@dataclass(frozen=True)
class Fit:
    """A test of fit: the statistic, its degrees of freedom, and the p-value, small where the hypothesis is doubtful."""

    statistic: float
    degrees: int
    p_value: float

    def __post_init__(self) -> None:
        read_fields(self)


def goodness_of_fit(
    released: Sequence[float] | Floats, shares: Sequence[float] | Floats, *, size: int, variance: Number
) -> Fit:
    """Return the test of whether noisy counts of `size` people come from categories with these shares.

    `variance` is that of the Gaussian noise on each count. Take change-one neighbours: `size` is public.
    With x the counts, n the size, v the variance and p the shares of d categories,

        u = (x - n p)/sqrt(n),   S = diag(p) - p p' + (v/n) I,   T = (P u)' S^-1 (P u),   P u = u - mean(u).

    Guarantee: post-processing of released numbers, which costs nothing. If the hypothesis is true, u has mean 0 and
    variance S, and is normal for many people. The ones vector is an eigenvector of S, with eigenvalue v/n, so P and S
    commute and P u is normal in d - 1 dimensions: T is chi-square with d - 1 degrees of freedom. Along that vector
    there is noise and nothing else, which is why it is left out.
    Cites: [KR17, the projected statistic].
    """
    import numpy as np
    from scipy.special import chdtrc

    n, noise = whole(size, "size", least=1, most=2**53), float_near(positive(variance, "variance"))
    p = _numbers(shares)
    if p is None or p.size < 2 or not (p > 0).all() or abs(math.fsum(p) - 1) > _SUM:
        raise BadParameter("shares", shares, "at least two numbers above 0 that sum to 1")
    counts = _numbers(released)
    if counts is None or counts.shape != p.shape:
        raise BadValue("released", "something else", f"{p.size} finite numbers, one for each share")
    if n * p.min() < _LEAST:
        raise RequestError(
            f"size is too small: a category with a share of {p.min():g} is "
            f"expected {n * p.min():g} times among {n} people, which is too "
            f"seldom for a chi-square test; join categories until each is expected {_LEAST} times"
        )
    u = (counts - n * p) / math.sqrt(n)
    u = u - u.mean()
    covariance = np.diag(p) - np.outer(p, p) + noise / n * np.eye(p.size)
    try:
        statistic = float(u @ np.linalg.solve(covariance, u))
    except np.linalg.LinAlgError:
        statistic = math.nan
    if not math.isfinite(statistic):
        raise BadParameter(
            "variance", variance, "of a size that can be distinguished from the sampling of this many people"
        )
    return Fit(statistic, p.size - 1, float(chdtrc(p.size - 1, statistic)))


def fit_of_noisy_total(
    released: Sequence[float] | Floats, shares: Sequence[float] | Floats, *, variance: Number
) -> Fit:
    """Return the test of whether noisy counts come from categories with these shares, where their total is noisy too.

    With x the counts, m their sum or 1 if that is less, v the variance of the noise and p the shares of d categories,

        r = (I - p 1') x,   V = m (diag(p) - p p') + v (I - p 1')(I - 1 p'),   T = r' V^+ r.

    Guarantee: post-processing of released numbers, which costs nothing. Under the hypothesis the counts are m p plus
    sampling and noise, (I - p 1') p = 0, and r has variance V, of rank d - 1 as 1'(I - p 1') = 0: T is chi-square with
    d - 1 degrees of freedom for many people and noise that is nearly normal. Putting the noisy total into the statistic
    for a public one instead rejects true hypotheses too often where the shares are unequal.
    Cites: [KR17, the projected statistic].
    """
    import numpy as np
    from scipy.special import chdtrc

    noise, p = float_near(positive(variance, "variance")), _numbers(shares)
    if p is None or p.size < 2 or not (p > 0).all() or abs(math.fsum(p) - 1) > _SUM:
        raise BadParameter("shares", shares, "at least two numbers above 0 that sum to 1")
    counts = _numbers(released)
    if counts is None or counts.shape != p.shape:
        raise BadValue("released", "something else", f"{p.size} finite numbers, one for each share")
    project = np.eye(p.size) - np.outer(p, np.ones(p.size))
    size = max(float(counts.sum()), 1.0)
    rest = project @ counts
    covariance = size * (np.diag(p) - np.outer(p, p)) + noise * project @ project.T
    statistic = float(rest @ np.linalg.pinv(covariance, hermitian=True) @ rest)
    if not math.isfinite(statistic):
        raise BadParameter("variance", variance, "of a size that can be distinguished from the sampling of the rows")
    return Fit(statistic, p.size - 1, float(chdtrc(p.size - 1, max(statistic, 0.0))))


def _numbers(values: Sequence[Number] | Floats) -> Floats | None:
    """Return a list of finite numbers as an array, or None if it is something else."""
    import numpy as np

    try:
        read: Floats = read_floats(values, "values")
    except BadValue:
        return None
    return read if read.ndim == 1 and np.isfinite(read).all() else None


_LEAST_SPREAD = 0.02
"""The least variance of ranks, as a part of their range: of values of which nearly all are the same."""

_GRID = 2000


def rank_test(
    released: Sequence[Sequence[Number]] | Floats,
    *,
    noise: Noise,
    each: int = 1,
    confidence: Number = 0.95,
) -> Finding:
    """Return the test of whether values of one group tend to be larger than those of another, from two histograms.

    Args:
        released: the noisy counts of both groups, over the same bins in rising order.
        noise: the mechanism that released the counts, or the law of its noise.
        each: the most rows that one person has among them.
        confidence: the confidence level of the interval.

    Returns:
        A `Finding` whose estimate is the probability that a value of the first group is larger; ties count half.

    Example:
        >>> noise = privet.Laplace(sensitivity=1, epsilon=0.5)
        >>> found = inference.rank_test([[100, 200, 300], [300, 200, 100]], noise=noise)
        >>> found.estimate.low > 0.5
        True
    """
    level = float_near(open_probability(confidence, "confidence"))
    return finding_of_ranks(read_table(released, noise, None, each), confidence=level)


def finding_of_ranks(table: NoisyTable, *, confidence: float, larger: str = "first larger") -> Finding:
    """Return the test of two released histograms, the rows of a table.

    With a and b the counts of both, and K the matrix of the signs of i - j,

        W = a' K b / 2,   Z = W / sqrt(V),   V = C m n (m + n) s / 4 + v (|K b|^2 + |K a|^2) / 4 - v^2 k (k - 1) / 4,

    for m and n values in k bins, noise of variance v, the most rows C of a person, and s the mean over the pooled
    values of the squared difference of the shares below and above. W + m n / 2 is the statistic of Mann and Whitney,
    ties counting half.

    Guarantee: post-processing of released numbers. The noises of both groups are independent with mean 0, so W is
    unbiased, and its mean is 0 if both groups have one law. The first part of V is the variance of sampling under the
    hypothesis (times C at most); the rest has the variance of the noise as its mean, which is
    v (|K b|^2 + |K a|^2) / 4 + v^2 k (k - 1) / 4 for the true counts. Z is nearly normal; where the noise is as large
    as the counts it is conservative.
    Cites: [MW47]; [BK57, for the interval].
    """
    from scipy.special import ndtr

    if table.counts.shape[0] != 2 or table.counts.shape[1] < 2:
        raise RequestError("a rank test compares two groups over at least two bins")
    if table.counts.size > MOST_CELLS:
        raise RequestError(f"a rank test takes at most {MOST_CELLS // 2} bins; make them wider")
    statistic = float(standard_ranks(table.counts[None, :, :], table.noise.variance, table.each)[0])
    conservative = "" if table.each == 1 else f"; each has at most {table.each} rows, which may depend: conservative"
    return Finding(
        name="Rank test of two groups",
        hypothesis="values of both groups have the same law",
        p_value=float(2 * ndtr(-abs(statistic))),
        statistic=statistic,
        estimates={larger: _probability(table, confidence)},
        method="Mann and Whitney's statistic of two noisy histograms, ties by bin, normal law",
        assumptions=(f"people are independent of each other{conservative}",),
    )


def standard_ranks(tables: Floats, variance: float, each: int = 1) -> Floats:
    """Return the statistic of many tables, each of two histograms, divided by its standard deviation."""
    import numpy as np

    first, second = tables[:, 0, :], tables[:, 1, :]
    bins = tables.shape[2]
    ranks = (first * _signed(second)).sum(1) / 2
    m, n = np.maximum(first.sum(1), 1.0), np.maximum(second.sum(1), 1.0)
    pooled = (first + second) / (m + n)[:, None]
    spread = (pooled * _signed(pooled) ** 2).sum(1) - 2 * variance * (bins - 1) / (m + n) ** 2  # less what noise adds
    spread = np.clip(spread, _LEAST_SPREAD, 1 / 3)
    least = variance**2 * bins * (bins - 1)
    noise = variance * ((_signed(first) ** 2).sum(1) + (_signed(second) ** 2).sum(1)) - least
    return np.asarray(2 * ranks / np.sqrt(each * m * n * (m + n) * spread + np.maximum(noise, least)))


def _signed(counts: Floats) -> Floats:
    """Return for each bin the counts below it less those above it."""
    import numpy as np

    below = np.cumsum(counts, axis=-1)
    return np.asarray(2 * below - counts - below[..., -1:])


def _probability(table: NoisyTable, confidence: float) -> Estimate:
    """Return the probability that a value of the first group is larger, ties counting half, by inversion.

    The values q are kept at which a' M b is no further from 0 than its deviation, with M = K / 2 - (q - 1/2) 1 1'. The
    variance of sampling is at most that of q (1 - q) / min(m, n), whatever the laws [BK57].
    """
    import numpy as np
    from scipy.special import ndtri

    first, second = table.counts
    variance, bins = table.noise.variance, first.size
    m, n = float(first.sum()), float(second.sum())
    covers = "noise and sampling: that a value of one is larger, ties counting half"
    if m <= 1 or n <= 1:
        return Estimate(value=0.5, low=0.0, high=1.0, confidence=confidence, standard_error=0.5, covers=covers)
    shares = np.linspace(0, 1, _GRID + 1)
    off = shares - 0.5
    ranks = float(first @ _signed(second)) / 2
    left = (_signed(second)[None, :] / 2 - off[:, None] * n) ** 2
    right = (-_signed(first)[None, :] / 2 - off[:, None] * m) ** 2
    squares = variance**2 * (bins * (bins - 1) / 4 + off**2 * bins**2)
    noise = np.maximum(variance * (left.sum(1) + right.sum(1)) - squares, squares)
    sampled = table.each * (m * n) ** 2 * shares * (1 - shares) / min(m, n)
    deviation = np.sqrt(noise + sampled)
    kept = shares[np.abs(ranks - off * m * n) <= -ndtri((1 - confidence) / 2) * deviation]
    value = min(max(0.5 + ranks / (m * n), 0.0), 1.0)
    low, high = (float(kept[0]), float(kept[-1])) if kept.size else (0.0, 1.0)
    low, high = max(low - 1 / _GRID, 0.0), min(high + 1 / _GRID, 1.0)  # the ends lie between two of the grid
    error = float(deviation[round(value * _GRID)]) / (m * n)
    return Estimate(
        value=min(max(value, low), high),
        low=low,
        high=high,
        confidence=confidence,
        standard_error=min(error, 0.5) if math.isfinite(error) else 0.5,
        covers=covers,
    )
