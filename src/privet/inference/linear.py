"""What noisy sums of products yield: linear regression, covariances, correlations and principal components.

Coefficients have regions that keep their level under noise. Everything here uses released numbers and public facts
only. Sums of products have independent noise of known scales; one that stands at several places of a matrix has the
same noise at each of them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from privet.core.errors import BadParameter, InvariantError

from .mixed_noise import tail_of, width_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privet.core.event import Floats


NOWHERE = -1
"""Stands for a product that is 0 in every row, and is not measured."""

_ROUNDS = 4
"""How often the other coefficients are found again for each value of one that is tried."""

_DOUBLINGS = 40
_HALVINGS = 40
_CLOSE = 1e-3
"""Ends are found to this part of the distance from the estimate, outwards."""

_MOST_HELD = 2_000_000
_FAR = 2.0**30
"""This many standard errors away a coefficient is as good as at infinity."""


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy sums of products of factors, each within -1 and 1, and the noise of each.

    Args:
        values: the released sums, in products of factors.
        scales: the scale of Laplace noise, or the standard deviation of Gaussian noise, of each.
        family: the kind of noise.
        places: for each two factors, where their product is among the values, or `NOWHERE`.
        count: where the number of rows is among the values; None where it is not measured.
        rows_each: how many rows one unit counts as, at most: the design factor of sampling errors; 0 leaves these out.
        sources: where values share their noise, the factor of each noise in each value; `scales` are of the noises.
    """

    values: Floats
    scales: Floats
    family: Literal["laplace", "gaussian"]
    places: NDArray[Any]
    count: int | None
    rows_each: int = 1
    sources: Floats | None = None

    def __post_init__(self) -> None:
        if self.places.ndim != 2 or self.places.shape[0] != self.places.shape[1]:
            raise InvariantError("the places of products are a square matrix")
        noises = len(self.values) if self.sources is None else self.sources.shape[1]
        if noises != len(self.scales) or int(self.places.max()) >= len(self.values):
            raise InvariantError("every product has a value and a scale")

    @cached_property
    def variances(self) -> Floats:
        """The variance of each noise."""
        return self.scales**2 * (2.0 if self.family == "laplace" else 1.0)

    @cached_property
    def matrix(self) -> Floats:
        """The noisy sums of all products, as a symmetric matrix."""
        import numpy as np

        return np.where(self.places >= 0, self.values[self.places], 0.0)

    @property
    def rows(self) -> float | None:
        """The noisy number of rows, at least 1."""
        return None if self.count is None else max(float(self.values[self.count]), 1.0)


@dataclass(frozen=True)
class CoefficientBound:
    """What the data and the noise imply about a number: an estimate, its standard error, an interval and a p-value.

    `p_value` is of the hypothesis that the number is 0. `privacy` is the share of the variance that is due to noise.
    """

    estimate: float
    error: float
    low: float
    high: float
    p_value: float
    privacy: float

    @property
    def bounded(self) -> bool:
        """Whether the interval has two ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A linear model of one factor by others, fitted to noisy sums of products.

    Args:
        moments: the noisy sums.
        columns: the factors that explain.
        target: the factor that is explained.
        ridge: the term that is added to the squares of each factor before coefficients are estimated; "auto" where it
            is chosen by the noise. It changes estimates only.

    Guarantee: for the true coefficients b, X'y - X'X b has mean 0; its variance is that of the noise of one symmetric
    draw at b, plus C s^2 X'X for rows with independent errors of variance s^2 of which one unit has C at most. A value
    of one coefficient is in its interval if the best values of the others leave a residual that this law allows. No
    repaired matrix and no ridge enters an interval.
    Cites: [AR49, Sec. 3], [Fie54, ratios].
    """

    moments: NoisyMoments
    columns: tuple[int, ...]
    target: int
    ridge: float | Literal["auto", "adassp"] = 0.0

    def __post_init__(self) -> None:
        if not self.columns or self.target in self.columns or len(set(self.columns)) < len(self.columns):
            raise BadParameter("columns", self.columns, "different factors, without the one that they explain")

    @cached_property
    def gram(self) -> Floats:
        """The noisy X'X."""
        import numpy as np

        return self.moments.matrix[np.ix_(self.columns, self.columns)]

    @cached_property
    def cross(self) -> Floats:
        """The noisy X'y."""
        return self.moments.matrix[list(self.columns), self.target]

    @cached_property
    def _noise_norm(self) -> float:
        """About how large the noise is as an operator on coefficients: the root of its largest row of squares."""
        import numpy as np

        places = self.moments.places[np.ix_(self.columns, self.columns)]
        sources, variances = self.moments.sources, self.moments.variances
        each = variances if sources is None else sources**2 @ variances
        squares = np.where(places >= 0, each[places], 0.0)
        return float(math.sqrt(squares.sum(axis=1).max()))

    @cached_property
    def least_eigenvalue(self) -> float:
        """The least eigenvalue of the noisy X'X."""
        import numpy as np

        return float(np.linalg.eigvalsh(self.gram)[0])

    @property
    def repaired(self) -> bool:
        """Whether the noise leaves X'X so small in some direction that estimates are drawn towards 0 there."""
        return self.least_eigenvalue <= self._noise_norm

    @cached_property
    def plain(self) -> Floats:
        """The coefficients that solve the noisy equations as they are: what regions are built around."""
        import numpy as np

        return np.asarray(np.linalg.lstsq(self.gram, self.cross, rcond=None)[0])

    @cached_property
    def coefficients(self) -> Floats:
        """The estimates: the plain solution, unless a ridge is asked for or the noise calls for one."""
        import numpy as np

        values, vectors = np.linalg.eigh(self.gram)
        along = vectors.T @ self.cross
        match self.ridge:
            case "adassp":
                added = max(0.0, 2 * self._noise_norm - float(values[0]))
                return np.asarray(vectors @ (along / (np.maximum(values, 0.0) + max(added, 1e-9))))
            case "auto":
                return np.asarray(vectors @ (along * values / (values**2 + self._noise_norm**2)))
            case float() | int() as given if given > 0:
                return np.asarray(vectors @ (along / (np.maximum(values, 0.0) + given)))
        if not self.repaired:
            return self.plain
        floor = max(self._noise_norm, 1e-9)
        return np.asarray(vectors @ (along / np.maximum(values, floor)))

    # --- the law of the residual -------------------------------------------------------------------------------------

    def _weights(self, b: Floats) -> Floats:
        """Return for each equation of X'y - X'X b the factor of each value's noise in it."""
        import numpy as np

        made = self._every_weight
        if made is not None:
            return np.asarray(made[0] - np.tensordot(made[1], b, axes=1))
        return self._added_weights(b)

    @cached_property
    def _every_weight(self) -> tuple[Floats, Floats] | None:
        """The weights at b = 0, and how they change with each coefficient; None where that is too much to keep."""
        import numpy as np

        size = len(self.columns)
        if size * size * len(self.moments.values) > _MOST_HELD:
            return None
        none = self._added_weights(np.zeros(size))
        each = [none - self._added_weights(unit) for unit in np.eye(size)]
        return none, np.ascontiguousarray(np.stack(each, axis=-1))

    def _added_weights(self, b: Floats) -> Floats:
        import numpy as np

        places = self.moments.places
        weights = np.zeros((len(self.columns), len(self.moments.values)))
        for row, column in enumerate(self.columns):
            own = np.append(places[column, list(self.columns)], places[column, self.target])
            factors = np.append(-b, 1.0)
            np.add.at(weights[row], own[own >= 0], factors[own >= 0])
        return weights if self.moments.sources is None else weights @ self.moments.sources

    def residual_variance(self, b: Floats) -> float:
        """Return an estimate of the variance of y - x b: from the released sums, and its own noise on top."""
        moments = self.moments
        rows = moments.rows
        own = int(moments.places[self.target, self.target])
        if rows is None or own < 0:
            raise InvariantError("what intervals need was not measured")
        squares = float(moments.values[own] - 2 * b @ self.cross + b @ self.gram @ b)
        left = max(rows - len(self.columns), 1.0)
        return max(squares, 0.0) / left

    @cached_property
    def _sampled(self) -> Floats:
        """The noisy X'X without its negative directions: a variance cannot be below 0."""
        import numpy as np

        values, vectors = np.linalg.eigh(self.gram)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)

    def _parts(self, b: Floats, wide: float) -> tuple[Floats, Floats]:
        """Return the factors of each value's noise in the equations, and the variance of sampling in them."""
        if not self.moments.rows_each:
            return self._weights(b), self._sampled * 0.0
        variance = self.residual_variance(b) * self.moments.rows_each * wide**2
        return self._weights(b), self._sampled * variance

    def along(self, direction: Sequence[float] | Floats, confidence: float, offset: float = 0.0) -> CoefficientBound:
        """Return the bound on a linear function of the coefficients, plus a constant.

        Args:
            direction: the factor of each coefficient.
            confidence: the confidence level of the interval.
            offset: a constant that is added.
        """
        import numpy as np

        weights = np.asarray(direction, dtype=np.float64)
        return _Profile(self, weights, confidence, offset).bound()

    def explained(self) -> float:
        """Return the share of the target's variance that the model explains, between 0 and 1; 0 where it is unknown.

        The first factor is the constant.
        """
        moments = self.moments
        rows, own = moments.rows, int(moments.places[self.target, self.target])
        if rows is None or own < 0:
            return 0.0
        mean = float(moments.matrix[self.columns[0], self.target])
        total = float(moments.values[own]) - mean**2 / rows
        b = self.coefficients
        left = float(moments.values[own] - 2 * b @ self.cross + b @ self.gram @ b)
        return 0.0 if total <= 0 else min(max(1 - left / total, 0.0), 1.0)


class _Profile:
    """One linear function of the coefficients, with all others at the values that suit it best."""

    def __init__(self, fit: LinearFit, direction: Floats, confidence: float, offset: float) -> None:
        import numpy as np
        from scipy.special import ndtri, stdtrit

        self.fit, self.offset, self.confidence = fit, offset, confidence
        size = len(fit.columns)
        pivot = int(np.argmax(np.abs(direction)))
        # new coordinates, of which the first is the function itself
        rows = np.vstack([direction, np.delete(np.eye(size), pivot, axis=0)])
        self.back = np.linalg.inv(rows)
        self.solved = np.linalg.pinv(fit.gram @ self.back, rcond=1e-13)
        self.found = rows @ fit.plain
        self.estimate = float(direction @ fit.coefficients)
        degrees = max((fit.moments.rows or 1.0) - size, 1.0)
        tail = (1 - confidence) / 2
        # few rows: the estimated variance is uncertain itself, and sampling errors count for as much as t does
        self.wide = float(stdtrit(degrees, tail) / ndtri(tail))

    def spread(self, value: float) -> tuple[Floats, float]:
        """Return the factors of the values' noise in the function at one value of it, and its sampling variance."""
        import numpy as np

        away = value - self.found[0]
        point = self.found.copy()
        point[0] = value
        for _ in range(_ROUNDS):
            weights, sampled = self.fit._parts(self.back @ point, self.wide)
            made = self.solved @ weights
            covariance = (made * self.fit.moments.variances) @ made.T + self.solved @ sampled @ self.solved.T
            if covariance[0, 0] <= 0 or not np.isfinite(covariance[0, 0]):
                break
            moved = self.found + covariance[0] / covariance[0, 0] * away
            if np.allclose(moved, point, rtol=1e-6, atol=1e-12):
                break
            point = moved
        first = made[0] * self.fit.moments.scales
        return first, float((self.solved @ sampled @ self.solved.T)[0, 0])

    def ratio(self, value: float) -> float:
        """Return how far a value is from the plain estimate, in half-widths that its own law has."""
        noise, sampled = self.spread(value)
        return abs(value - float(self.found[0])) / self._width(noise, sampled)

    def _width(self, noise: Floats, sampled: float) -> float:
        return max(width_of(noise, sampled, self.fit.moments.family, self.confidence), 1e-300)

    def bound(self) -> CoefficientBound:
        import numpy as np

        centre = float(self.found[0])
        noise, sampled = self.spread(centre)
        own = float(np.sum(noise**2)) * (2.0 if self.fit.moments.family == "laplace" else 1.0)
        plain = sampled / self.wide**2
        error = math.sqrt(own + plain)
        step = self._width(noise, sampled)
        low, high = self._end(-1, centre, step), self._end(1, centre, step)
        if not (math.isfinite(low) and math.isfinite(high)):
            low, high = -math.inf, math.inf
        estimate = min(max(self.estimate, low), high)
        p_value = self._p_value(-self.offset)
        share = own / (own + plain) if own + plain > 0 else 0.0
        return CoefficientBound(
            estimate + self.offset, error, low + self.offset, high + self.offset, p_value, min(max(share, 0.0), 1.0)
        )

    def _p_value(self, value: float) -> float:
        noise, sampled = self.spread(value)
        return tail_of(abs(value - float(self.found[0])), noise, sampled, self.fit.moments.family)

    def _end(self, side: int, centre: float, step: float) -> float:
        """Return where values stop being allowed on one side; infinity where they do not."""
        if self.ratio(centre + side * step * _FAR) <= 1:
            return side * math.inf
        inside, outside = 0.0, 1.05 * step
        for _ in range(_DOUBLINGS):
            if self.ratio(centre + side * outside) > 1:
                break
            inside, outside = outside, 2 * outside
        near = 0.95 * outside
        if inside < near and self.ratio(centre + side * near) <= 1:
            inside = near
        for _ in range(_HALVINGS):
            if outside - inside <= _CLOSE * outside:
                break
            middle = (inside + outside) / 2
            if self.ratio(centre + side * middle) > 1:
                outside = middle
            else:
                inside = middle
        return centre + side * outside


_CLEAR = 4.0
"""A variance below this many standard deviations of its noise implies nothing about a correlation."""

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
    norms = [float(np.max(np.abs(np.linalg.eigvalsh(weights @ noise)))) for noise in noises]
    return float(np.quantile(norms, confidence))
