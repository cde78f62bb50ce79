"""Covariances, correlations and principal components from noisy sums of products, with intervals where these exist.

Everything here sees released numbers and public facts only.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .linear import NoisyMoments
from .mixed_noise import width_of

if TYPE_CHECKING:
    from privet.core.event import Floats

_CLEAR = 4.0
"""A variance below this many standard deviations of its noise says nothing of a correlation."""

_DRAWS = 400
"""The law of the noise is looked at in this many points, which a seed fixes, to find its size as an operator."""


@dataclass(frozen=True, eq=False)
class NoisyCovariance:
    """The covariance matrix of some factors, and how it moves with the noise of each released sum."""

    matrix: Floats
    weights: Floats
    """For each two factors, the factor of each noise in their covariance: factors x factors x noises."""
    moments: NoisyMoments


def covariance_of(moments: NoisyMoments, columns: Sequence[int], constant: int) -> NoisyCovariance:
    """Return the covariances of some factors: c = p/n - (s/n)(t/n), and its first derivatives.

    It moves by (N_p - k N_s - m N_t + (2 m k - p/n) N_n) / n, with the means m and k of s and t.
    """
    import numpy as np

    places, values = moments.places, moments.values
    count = int(places[constant, constant])
    n = max(float(values[count]), 1.0)
    means = values[places[constant, list(columns)]] / n
    size = len(columns)
    matrix = np.zeros((size, size))
    weights = np.zeros((size, size, len(values)))
    for i, first in enumerate(columns):
        for j, second in enumerate(columns):
            place = int(places[first, second])
            product = float(values[place]) / n if place >= 0 else 0.0
            matrix[i, j] = product - means[i] * means[j]
            if place >= 0:
                weights[i, j, place] += 1 / n
            weights[i, j, places[constant, second]] -= means[i] / n
            weights[i, j, places[constant, first]] -= means[j] / n
            weights[i, j, count] += (2 * means[i] * means[j] - product) / n
    return NoisyCovariance(matrix, weights, moments)


@dataclass(frozen=True)
class CorrelationBound:
    """A correlation with an interval: the whole range where the noise hides the spread of a column."""

    value: float
    low: float
    high: float


def correlation_of(found: NoisyCovariance, first: int, second: int, confidence: float) -> CorrelationBound:
    """Return the correlation of two columns, with noise and sampling error in its interval.

    On the scale z = atanh r its noise is dr / (1 - r^2), to first order, and its sampling variance 1 / (n / C - 3) for
    columns that are about normal.
    """
    import numpy as np

    matrix, moments = found.matrix, found.moments
    variances = [float(matrix[place, place]) for place in (first, second)]
    for place, variance in zip((first, second), variances, strict=True):
        noise = math.sqrt(float(np.sum(found.weights[place, place] ** 2 * moments.variances)))
        if variance <= _CLEAR * noise:
            return CorrelationBound(_within(matrix[first, second], variances), -1.0, 1.0)
    product = math.sqrt(variances[0] * variances[1])
    value = min(max(float(matrix[first, second]) / product, -0.999999), 0.999999)
    gradient = found.weights[first, second] / product - value / 2 * (
        found.weights[first, first] / variances[0] + found.weights[second, second] / variances[1]
    )
    scales = gradient * moments.scales / (1 - value**2)
    rows = (moments.rows or 1.0) / max(moments.rows_each, 1)
    sampled = 1 / max(rows - 3, 1.0)
    wide = width_of(scales, sampled, moments.family, confidence)
    centre = math.atanh(value)
    return CorrelationBound(value, math.tanh(centre - wide), math.tanh(centre + wide))


def _within(shared: float, variances: Sequence[float]) -> float:
    """Return a correlation where a variance may have come out at 0 or below: 0 there, and never beyond 1."""
    if min(variances) <= 0:
        return 0.0
    return min(max(float(shared) / math.sqrt(variances[0] * variances[1]), -1.0), 1.0)


@dataclass(frozen=True)
class PrincipalComponent:
    """A direction of the largest spread that is left: its variance, its share of all, and the weight of each column.

    `low` and `high` bound the variance and `angle`, in degrees, how far the noise turns the direction, at the
    confidence asked for; they are NaN where the gap to the next variance is below twice the noise.
    """

    variance: float
    share: float
    loadings: tuple[float, ...]
    low: float
    high: float
    angle: float

    @property
    def bounded(self) -> bool:
        """Whether the noise leaves the direction known."""
        return not math.isnan(self.low)


def components_of(
    found: NoisyCovariance, *, confidence: float, seed: int, scaled: bool
) -> tuple[PrincipalComponent, ...]:
    """Return the principal components of covariances, or where they are `scaled`, of correlations.

    Guarantee: where the noise has an operator norm of at most e, each eigenvalue moves by at most e (Weyl), and a
    direction whose variance is at least g away from all others turns by an angle of sine at most e / (g - e)
    (Davis and Kahan). e is a quantile of the norm of noise of the same law; sampling error is not covered.
    Cites: [DK70, sin theta].
    """
    import numpy as np

    matrix, weights = found.matrix, found.weights
    if scaled:
        spreads = np.sqrt(np.maximum(np.diag(matrix), 1e-12))
        matrix, weights = matrix / np.outer(spreads, spreads), weights / np.outer(spreads, spreads)[:, :, None]
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    error = _noise_norm(weights, found.moments, confidence, seed)
    total = float(np.sum(np.maximum(values, 0.0))) or 1.0
    made = []
    for place, value in enumerate(values):
        others = np.delete(values, place)
        gap = float(np.min(np.abs(others - value))) if len(others) else math.inf
        direction = vectors[:, place]
        direction = direction * (1.0 if direction[int(np.argmax(np.abs(direction)))] > 0 else -1.0)
        known = gap >= 2 * error
        turned = math.degrees(math.asin(min(1.0, error / max(gap - error, 1e-300)))) if known else math.nan
        ends = (max(float(value) - error, 0.0), float(value) + error) if known else (math.nan, math.nan)
        share = max(float(value), 0.0) / total
        made.append(PrincipalComponent(max(float(value), 0.0), share, tuple(map(float, direction)), *ends, turned))
    return tuple(made)


def _noise_norm(weights: Floats, moments: NoisyMoments, confidence: float, seed: int) -> float:
    """Return a quantile of the operator norm of the noise, at points that the seed fixes."""
    import numpy as np
    from scipy.special import ndtri

    many = _DRAWS * len(moments.scales)
    words = np.frombuffer(hashlib.shake_256(str(seed).encode()).digest(8 * many), dtype=np.uint64)
    shares = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    if moments.family == "laplace":
        points = -np.sign(shares - 0.5) * np.log(2 * np.minimum(shares, 1 - shares))
    else:
        points = ndtri(shares)
    noises = points.reshape(_DRAWS, len(moments.scales)) * moments.scales
    norms = [float(np.max(np.abs(np.linalg.eigvalsh(weights @ one)))) for one in noises]
    return float(np.quantile(norms, confidence))
