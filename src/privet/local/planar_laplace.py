"""Noisy locations: noise on an infinite grid of metres, whose odds fall with the distance in one of two metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from privet import noise
from privet.core.errors import BadParameter, BadValue, Unsupported
from privet.core.event import Event
from privet.core.given import choice, instance, listed, plain_text, set_fields
from privet.core.numbers import (
    Number,
    float_up,
    nonnegative,
    open_probability,
    positive,
    probability,
    rational,
    sqrt_up,
    whole,
)
from privet.noise.draws import PlanarSampler

from .estimates import COVERS, MeanEstimate
from .map_projection import MapProjection
from .mean_oracle import numbers_of
from .randomizer import Bytes, Integers, Randomizer, Words, read_epsilon, written_odds
from .reports import Reports, from_bytes, to_bytes

Floats = NDArray[np.float64]

_WIDE = 20.0
"""From this scale on, sums over the lattice are those of the plane, up to the first correction of Poisson's formula."""

_BEYOND = 45
_LATTICE = 9.0336 / (2 * math.pi) ** 3
"""The sum of 1 / |k|^3 over the other points of the dual lattice, by which the total weight exceeds the plane's."""


@dataclass(frozen=True)
class LatticeLaw:
    """The law with odds proportional to exp(-|v| / scale) on the integer lattice, in one of two metrics."""

    metric: str
    scale: float

    @property
    def variance(self) -> float:
        """The variance of one coordinate, in steps squared, to a part in a million."""
        if self.metric == "manhattan":
            a = math.exp(-1 / self.scale)
            return 2 * a / (1 - a) ** 2
        if self.scale >= _WIDE:
            return 3 * self.scale**2 / (1 + _LATTICE / self.scale**3)
        lengths, weights = self._quarter
        return float((weights @ lengths**2) / weights.sum() / 2)

    def error(self, confidence: float) -> float:
        """Return a radius, in steps, that contains noise and snapping with this probability or more."""
        if self.metric == "manhattan":
            return self._along(confidence)
        if self.scale >= _WIDE:
            from scipy.special import gammaincinv

            return float(gammaincinv(2, confidence)) * self.scale + 2.5  # each point of the lattice is a cell's
        lengths, weights = self._quarter
        order = np.argsort(lengths, kind="stable")
        total = np.cumsum(weights[order])
        place = int(np.searchsorted(total, confidence * total[-1]))
        return float(lengths[order][min(place, len(order) - 1)]) + math.sqrt(0.5)

    def _along(self, confidence: float) -> float:
        """Return the quantile of |a| + |b|, no less than the distance; half a step for either axis is added."""
        a = math.exp(-1 / self.scale)
        low, high = 0, math.ceil(_BEYOND * self.scale) + 1
        while low < high:
            middle = (low + high) // 2  # |a| + |b| = k for 4 k pairs
            beyond = 4 * a ** (middle + 1) * (1 + middle * (1 - a)) / (1 + a) ** 2
            low, high = (low, middle) if beyond <= 1 - confidence else (middle + 1, high)
        return low + 1.0

    @cached_property
    def _quarter(self) -> tuple[Floats, Floats]:
        """The lengths of the points with a > 0 and b >= 0, and of zero, with the weight of all four turns."""
        side = np.arange(math.ceil(_BEYOND * self.scale) + 2, dtype=np.float64)
        lengths = np.hypot(side[1:, None], side[None, :]).reshape(-1)
        held = lengths <= side[-1]
        weights = 4 * np.exp(-lengths[held] / self.scale)
        return np.append(lengths[held], 0.0), np.append(weights, 1.0)


METRICS = ("euclidean", "manhattan")
_SNAPPED = 1 + Fraction(1, 2**16)
"""How much further than to the nearest point of the grid a place may be moved, as floats compute that."""


@dataclass(frozen=True)
class MetricPromise:
    """A bound on the privacy loss between two places at a distance: `rate` for each metre, and for snapping to a grid.

    Places that are far apart can be distinguished. This promise differs from epsilon, which is for any two answers, so
    it is no event: accountants and budgets refuse it. Repeated reports of one person add their rates.

    Args:
        rate: the loss for each metre on the plane: along either axis, or along the straight line.
        step: the metres between neighbouring points of the grid, to which places are moved first.
        metric: `manhattan` for a rate along either axis, `euclidean` for one along the straight line.
        stretch: the metres on the plane that one metre on the ground can be, where places are projected.

    Example:
        >>> local.MetricPromise(rate=0.01, step=10).loss(0)
        0.0

    Guarantee: places d metres apart on the ground are at most stretch d apart on the plane, and after snapping
    stretch d + sqrt(2) step. Manhattan distances are at most sqrt(2) times that; loss <= rate times the distance. (A
    step counts 2^-16 of itself more, for the rounding of floats before snapping.)
    Cites: [ABCP13, geo-indistinguishability], [CABP13].
    """

    rate: Fraction
    step: Fraction
    metric: str = "manhattan"
    stretch: Fraction = Fraction(1)

    def __init__(self, rate: Number, step: Number, metric: str = "manhattan", stretch: Number = 1) -> None:
        longer = positive(stretch, "stretch")
        if longer < 1:
            raise BadParameter("stretch", stretch, "at least 1")
        set_fields(
            self,
            rate=positive(rate, "rate"),
            step=positive(step, "step"),
            metric=choice(metric, "metric", METRICS),
            stretch=longer,
        )

    def loss(self, distance: Number) -> float:
        """Return the largest privacy loss between two places this many metres apart, rounded up."""
        far = nonnegative(distance, "distance")
        return float_up(self.rate * self.reach(far)) if far else 0.0

    def reach(self, distance: Number) -> Fraction:
        """Return how far apart, in the metric, two places this many metres apart are on the grid, at most."""
        far = self.stretch * nonnegative(distance, "distance")
        along = far if self.metric == "euclidean" else sqrt_up(2 * far**2)
        return along + self._snapping

    @property
    def _snapping(self) -> Fraction:
        """What moving two places to the grid adds to their distance."""
        return _SNAPPED * (sqrt_up(2 * self.step**2) if self.metric == "euclidean" else 2 * self.step)

    def repeated(self, reports: int) -> MetricPromise:
        """Return the promise of this many independent reports of one person."""
        times = whole(reports, "reports", least=1, most=10**9)
        return MetricPromise(self.rate * times, self.step, self.metric, self.stretch)

    def __str__(self) -> str:
        factor = float_up(self.stretch if self.metric == "euclidean" else sqrt_up(2 * self.stretch**2))
        ground = "" if self.stretch == 1 else f" on the ground, stretched by up to {self._percent} by the projection,"
        return (
            f"two places within d metres{ground} are told apart with a loss of at most {float_up(self.rate):.3g} "
            f"({factor:.4g} d + {float_up(self._snapping):.4g}); this is no epsilon"
        )

    @property
    def _percent(self) -> str:
        return f"{float_up(100 * (self.stretch - 1)):.2f}%"


_TAIL = 45
_LEAST_EPSILON = Fraction(1, 100)
_MOST_STEPS = 2**30
_FARTHEST = 2**34
_FINEST_ON_A_MAP = Fraction(1, 100)
_HALF = 4


@dataclass(frozen=True, repr=False, eq=False, init=False)
class PlanarLaplace(Randomizer):
    """Randomise a place, such that places near each other can hardly be distinguished (geo-indistinguishability).

    Places are (x, y) in metres on a plane that everyone knows, within a declared box; those outside count as its
    nearest point. With a `MapProjection` in the place of a box, they are (latitude, longitude) in degrees, and the
    radius and the promise are about metres on the ground.

    Args:
        box: the bounds (x low, y low, x high, y high), in metres, or a `MapProjection`.
        radius: the metres within which places are to be protected.
        epsilon: the largest loss between two places within this radius, at least 0.01.
        step: the metres between neighbouring points of the grid.
        metric: `euclidean`, the planar Laplace law; or `manhattan`, independent noise along both axes.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> places = local.PlanarLaplace((0, 0, 10_000, 10_000), radius=200, epsilon=1)
        >>> round(places.promise.loss(200), 3)
        1.0
        >>> len(places.client.report((2_000, 3_000)))
        1

    Guarantee: the `promise`: noise v has odds proportional to exp(-rate step |v|) on all points of the lattice, in the
    metric, wherever the place is; cutting what lies beyond the box and 45 scales of noise is post-processing.
    Cites: [ABCP13, geo-indistinguishability].
    """

    kind: ClassVar[str] = "planar Laplace"
    box: tuple[Fraction, Fraction, Fraction, Fraction]
    projection: MapProjection | None
    promise: MetricPromise
    """The promise of a report: a loss for each metre. It is no epsilon."""

    def __init__(
        self,
        box: Sequence[Number] | MapProjection,
        *,
        radius: Number,
        epsilon: Number,
        step: Number = 10,
        metric: str = "euclidean",
        survey: str = "",
    ) -> None:
        projection = box if isinstance(box, MapProjection) else None
        ends = _box(box) if projection is None else projection.box
        asked, within = read_epsilon(epsilon, least=_LEAST_EPSILON), positive(radius, "radius")
        stretch = 1 if projection is None else Fraction(projection.stretch)
        unit = MetricPromise(1, step, metric, stretch)
        promise = MetricPromise(asked / unit.reach(within), step, metric, stretch)
        set_fields(self, box=ends, projection=projection, promise=promise, survey=plain_text(survey, "survey"))
        far = max(abs(end) for end in ends) / self.step  # beyond, floats could move a place to another point
        fine = projection is not None and self.step < _FINEST_ON_A_MAP
        if max(self._steps) + 2 * self.reach > _MOST_STEPS or far > _FARTHEST or fine:
            raise BadParameter("step", step, "larger, for a box and a radius of this size")

    @property
    def rate(self) -> Fraction:
        """The loss for each metre on the plane."""
        return self.promise.rate

    @property
    def step(self) -> Fraction:
        """The metres between neighbouring points of the grid."""
        return self.promise.step

    @property
    def event(self) -> Event:
        """Nothing: a metric promise cannot be added to epsilons.

        Raises:
            Unsupported: always.
        """
        self._refuse()

    @cached_property
    def epsilon(self) -> float:
        """Nothing: the loss depends on the distance; see `promise`.

        Raises:
            Unsupported: always.
        """
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise Unsupported(
            "a noisy location has no epsilon: its promise grows with the distance between two places, and cannot be "
            "added to budgets; use promise.loss(distance), or KaryResponse over points of interest"
        )

    def repeated(self, reports: int) -> Any:
        """Return the promise of several reports of one person: rates add.

        Args:
            reports: the number of reports.
        """
        return self.promise.repeated(reports)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise along either axis, in steps of the grid."""
        return 1 / (self.rate * self.step)

    @property
    def reach(self) -> int:
        """How many steps beyond the box reports are kept."""
        return math.ceil(_TAIL * self.scale)

    @cached_property
    def _steps(self) -> tuple[int, int]:
        low_x, low_y, high_x, high_y = self.box
        return math.ceil((high_x - low_x) / self.step), math.ceil((high_y - low_y) / self.step)

    @property
    def width(self) -> int:
        return 2 * _HALF

    @property
    def _told(self) -> list[Any]:
        corner = [] if self.projection is None else [self.projection.south, self.projection.west]
        return [self.promise.metric, *written_odds((*self.box, self.rate, self.step, *corner)), self.survey]

    def _read(self, answers: Any, parameter: str = "answer") -> Any:
        """Return the nearest point of the grid for each place."""
        array = numbers_of(answers)
        if array is None or array.ndim not in (1, 2) or array.shape[-1] != 2:
            pair = "x, y" if self.projection is None else "latitude, longitude"
            raise BadValue(parameter, "something else", f"two finite numbers ({pair}), or a list of such pairs")
        if self.projection is not None:
            array = self.projection.to_metres(np.clip(array, *self.projection.corners))
        points = np.zeros(array.shape[:-1], dtype=[("f0", np.int64), ("f1", np.int64)])
        for axis in range(2):
            low, high, most = float(self.box[axis]), float(self.box[axis + 2]), self._steps[axis]
            inside = np.clip(array[..., axis], low, high)  # first: differences of huge numbers overflow
            points[f"f{axis}"] = np.clip(np.rint((inside - low) / float(self.step)), 0, most)
        return points

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        sides, drawn = [], self._noise(len(answers))
        for axis in range(2):
            moved = answers[f"f{axis}"] + drawn[:, axis]
            kept = np.clip(moved, -self.reach, self._steps[axis] + self.reach)
            sides.append(to_bytes(kept + self.reach, _HALF))
        return np.concatenate(sides, axis=1)

    def _noise(self, count: int) -> Integers:
        if self.promise.metric == "euclidean":
            return PlanarSampler(1 / self.scale).fill(count)
        return noise.discrete_laplace(self.scale, (count, 2))

    def _points(self, data: Bytes) -> tuple[Integers, Integers]:
        return from_bytes(data[:, :_HALF]) - self.reach, from_bytes(data[:, _HALF:]) - self.reach

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        x, y = self._points(data)
        inside: NDArray[np.bool_] = (x <= self._steps[0] + self.reach) & (y <= self._steps[1] + self.reach)
        return inside

    def places(self, reports: Reports) -> Floats:
        """Return the noisy places of reports, in metres or in degrees as they were given, one in each row.

        Args:
            reports: reports of this survey.
        """
        instance(reports, Reports, "reports", "reports of this survey")
        if reports.digest != self.digest or reports.data.shape[1] != self.width:
            raise BadParameter("reports", reports, "reports of this survey")
        sides = enumerate(self._points(reports.data))
        points = np.stack([float(self.box[axis]) + float(self.step) * side for axis, side in sides], 1)
        return points if self.projection is None else self.projection.to_degrees(points)

    def error(self, confidence: Number = 0.95) -> float:
        """Return the metres on the plane within which a report lies of the place, with this probability.

        Args:
            confidence: the probability.

        Guarantee: no less than the quantile of the law on the grid; moving the place to the grid is added.
        """
        return float(self.step) * self._law.error(float(open_probability(confidence, "confidence")))

    @cached_property
    def _law(self) -> LatticeLaw:
        return LatticeLaw(self.promise.metric, float(self.scale))

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (2,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        for axis, side in enumerate(self._points(data)):
            tally[axis] += int(side.sum())

    def variance(self, n: int) -> float:
        """Return the variance of the mean of either coordinate among n people, in square metres.

        Guarantee: that of fixed places on the grid, to a part in a million, up to what lies beyond 45 scales of noise.
        """
        return self._law.variance * float(self.step) ** 2 / whole(n, "n", least=1)

    def robustness(self, fraction: Number) -> float:
        """Return how many metres this fraction of liars, who may send any bytes, can move the mean of a coordinate.

        Guarantee: a forged report lies at most at the far end of what reports may hold.
        """
        far = (max(self._steps) + self.reach) * self.step
        return float_up(probability(fraction, "fraction") * far)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> dict[str, MeanEstimate]:
        """Return the mean of both coordinates, in metres or degrees; intervals cover those who reported."""
        from scipy.special import ndtri

        level = float(open_probability(confidence, "confidence"))
        if choice(covers, "covers", COVERS) != "reports":
            raise BadParameter("covers", covers, "'reports': places vary in ways that noisy ones do not show")
        error = math.sqrt(self.variance(n))
        half = -float(ndtri((1 - level) / 2)) * error + float(self.step) / 2
        estimates = {}
        middle = [float(self.box[axis]) + float(self.step) * int(tally[axis]) / n for axis in range(2)]
        for axis, name in enumerate(("x", "y")):
            value, unit = middle[axis], 1.0
            if self.projection is not None:  # the projection is linear in either angle
                name = ("longitude", "latitude")[axis]
                here, there = (self.projection.to_degrees(point)[1 - axis] for point in (middle, _moved(middle, axis)))
                value, unit = float(here), float(there - here)
            ends = value - half * unit, value + half * unit
            estimates[name] = MeanEstimate(value, *ends, error * unit, n, level, covers, rejected)
        return estimates

    def __repr__(self) -> str:
        rate = f"{self.promise.metric}, {float(self.rate):.3g} a metre"
        return f"PlanarLaplace({rate}, step {float(self.step):g} m, {self.width} bytes)"


def _box(given: Any) -> tuple[Fraction, ...]:
    ends = [rational(end, "box") for end in listed(given, "box", "x low, y low, x high, y high, in metres")]
    if len(ends) != 4 or not (ends[0] < ends[2] and ends[1] < ends[3]):
        raise BadParameter("box", given, "x low, y low, x high, y high, in metres, the high ones above the low ones")
    return tuple(ends)


def _moved(point: list[float], axis: int) -> list[float]:
    return [side + (place == axis) for place, side in enumerate(point)]
