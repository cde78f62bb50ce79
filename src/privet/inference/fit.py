"""Is a released histogram what a hypothesis says? A chi-square test that knows the noise; it sees released numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.given import read_fields
from privet.core.numbers import Number, float_near, positive, whole
from privet.mechanisms.lattice import read_floats

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
        raise BadParameter("variance", variance, "of a size that can be told from the sampling of so many people")
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
        raise BadParameter("variance", variance, "of a size that can be told from the sampling of the rows")
    return Fit(statistic, p.size - 1, float(chdtrc(p.size - 1, max(statistic, 0.0))))


def _numbers(values: Sequence[Number] | Floats) -> Floats | None:
    """Return a list of finite numbers as an array, or None if it is something else."""
    import numpy as np

    try:
        read: Floats = read_floats(values, "values")
    except BadValue:
        return None
    return read if read.ndim == 1 and np.isfinite(read).all() else None
