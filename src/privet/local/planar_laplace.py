"""Noisy locations: independent two-sided geometric noise along both axes of an infinite grid of metres."""

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
from privet.core.numbers import Number, float_up, open_probability, positive, probability, rational, sqrt_up, whole

from .mean_estimate import MeanEstimate
from .mean_oracle import numbers_of
from .metric_promise import MetricPromise
from .packing import from_bytes, to_bytes
from .randomizer import Bytes, Integers, Randomizer, Words, read_epsilon, written_odds
from .reports import Reports

Floats = NDArray[np.float64]

_TAIL = 45
_LEAST_EPSILON = Fraction(1, 100)
_MOST_STEPS = 2**30
_HALF = 4
_COVERS = ("reports", "population")


@dataclass(frozen=True, repr=False, eq=False, init=False)
class PlanarLaplace(Randomizer):
    """Randomise a place, such that places near each other can hardly be told apart (geo-indistinguishability).

    Places are (x, y) in metres on a plane that everyone knows, within a declared box; those outside count as its
    nearest point. Projecting degrees to metres is up to the survey: where a projection stretches distances by a
    factor, the promise holds for stretched ones.

    Args:
        box: the bounds (x low, y low, x high, y high), in metres.
        radius: the metres within which places are to be protected.
        epsilon: the largest loss between two places within this radius, at least 0.01.
        step: the metres between neighbouring points of the grid.
        survey: a name; reports to a survey of another name are not accepted.

    Example:
        >>> places = local.PlanarLaplace((0, 0, 10_000, 10_000), radius=200, epsilon=1)
        >>> round(places.promise.loss(200), 3)
        1.0
        >>> len(places.client.report((2_000, 3_000)))
        1

    Guarantee: the `promise`: noise along either axis has odds proportional to exp(-rate step |k|) on all integers k,
    wherever the place is; cutting what lies beyond the box and 45 scales of noise is post-processing.
    Cites: [ABCP13, geo-indistinguishability].
    """

    kind: ClassVar[str] = "planar Laplace"
    box: tuple[Fraction, Fraction, Fraction, Fraction]
    rate: Fraction
    step: Fraction

    def __init__(
        self, box: Sequence[Number], *, radius: Number, epsilon: Number, step: Number = 10, survey: str = ""
    ) -> None:
        ends = [rational(one, "box") for one in listed(box, "box", "x low, y low, x high, y high, in metres")]
        if len(ends) != 4 or not (ends[0] < ends[2] and ends[1] < ends[3]):
            raise BadParameter("box", box, "x low, y low, x high, y high, in metres, the high ones above the low ones")
        asked, within, grid = (
            read_epsilon(epsilon, least=_LEAST_EPSILON),
            positive(radius, "radius"),
            positive(step, "step"),
        )
        # within the radius, |dx| + |dy| and what snapping adds are at most sqrt(2) radius + 2 step
        rate = asked / (sqrt_up(2 * within**2) + 2 * grid)
        set_fields(self, box=tuple(ends), rate=rate, step=grid, survey=plain_text(survey, "survey"))
        if max(self._steps) + 2 * self.reach > _MOST_STEPS:
            raise BadParameter("step", step, "larger, for a box and a radius of this size")

    @property
    def promise(self) -> MetricPromise:
        """What a report promises: a loss for each metre. It is no epsilon."""
        return MetricPromise(self.rate, self.step)

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
        return [*written_odds((*self.box, self.rate, self.step)), self.survey]

    def _read(self, answers: Any, parameter: str = "answer") -> Any:
        """Return the nearest point of the grid for each place."""
        array = numbers_of(answers)
        if array is None or array.ndim not in (1, 2) or array.shape[-1] != 2:
            raise BadValue(parameter, "something else", "two finite numbers (x, y), or a list of such pairs")
        found = np.zeros(array.shape[:-1], dtype=[("f0", np.int64), ("f1", np.int64)])
        for axis in range(2):
            low, most = float(self.box[axis]), self._steps[axis]
            found[f"f{axis}"] = np.clip(np.rint((array[..., axis] - low) / float(self.step)), 0, most)
        return found

    def _randomise(self, answers: Any, ids: Words) -> Bytes:
        sides = []
        for axis in range(2):
            moved = answers[f"f{axis}"] + noise.discrete_laplace(self.scale, len(answers))
            kept = np.clip(moved, -self.reach, self._steps[axis] + self.reach)
            sides.append(to_bytes(kept + self.reach, _HALF))
        return np.concatenate(sides, axis=1)

    def _points(self, data: Bytes) -> tuple[Integers, Integers]:
        return from_bytes(data[:, :_HALF]) - self.reach, from_bytes(data[:, _HALF:]) - self.reach

    def _allowed(self, data: Bytes, ids: Words) -> NDArray[np.bool_]:
        x, y = self._points(data)
        found: NDArray[np.bool_] = (x <= self._steps[0] + self.reach) & (y <= self._steps[1] + self.reach)
        return found

    def places(self, reports: Reports) -> Floats:
        """Return the noisy places of reports, in metres, one in each row.

        Args:
            reports: reports of this survey.
        """
        instance(reports, Reports, "reports", "reports of this survey")
        if reports.digest != self.digest or reports.data.shape[1] != self.width:
            raise BadParameter("reports", reports, "reports of this survey")
        sides = enumerate(self._points(reports.data))
        return np.stack([float(self.box[axis]) + float(self.step) * side for axis, side in sides], 1)

    def error(self, confidence: Number = 0.95) -> float:
        """Return the metres within which a report lies of the place, with this probability.

        Args:
            confidence: the probability.

        Guarantee: exact for the law of |dx| + |dy| on the grid, which is no less than the distance; half a step for
        either axis is added.
        """
        level, a = float(open_probability(confidence, "confidence")), math.exp(-1 / float(self.scale))
        # |dx| + |dy| = k for 4 k pairs, one for k = 0
        total, far, weight = 0.0, 0, ((1 - a) / (1 + a)) ** 2
        while True:
            total += weight * (4 * far if far else 1) * a**far
            if total >= level or far > 100 * self.reach:
                return (far + 1) * float(self.step)
            far += 1

    @property
    def _tally_shape(self) -> tuple[int, ...]:
        return (2,)

    def _count_into(self, tally: Integers, data: Bytes, ids: Words) -> None:
        for axis, side in enumerate(self._points(data)):
            tally[axis] += int(side.sum())

    def variance(self, n: int) -> float:
        """Return the variance of the mean of either coordinate among n people, in square metres.

        Guarantee: exact for fixed places on the grid, up to what lies beyond 45 scales of noise.
        """
        a = math.exp(-1 / float(self.scale))
        return 2 * a / (1 - a) ** 2 * float(self.step) ** 2 / whole(n, "n", least=1)

    def robustness(self, fraction: Number) -> float:
        """Return how many metres this fraction of liars, who may send any bytes, can move the mean of a coordinate.

        Guarantee: a forged report lies at most at the far end of what reports may hold.
        """
        far = (max(self._steps) + self.reach) * self.step
        return float_up(probability(fraction, "fraction") * far)

    def _estimate(
        self, tally: Integers, n: int, confidence: Number, covers: str, rejected: Mapping[str, int]
    ) -> dict[str, MeanEstimate]:
        """Return the mean of both coordinates; intervals cover those who reported."""
        from scipy.special import ndtri

        level = float(open_probability(confidence, "confidence"))
        if choice(covers, "covers", _COVERS) != "reports":
            raise BadParameter("covers", covers, "'reports': places vary in ways that noisy ones do not show")
        error = math.sqrt(self.variance(n))
        half = -float(ndtri((1 - level) / 2)) * error + float(self.step) / 2
        found = {}
        for axis, name in enumerate(("x", "y")):
            value = float(self.box[axis]) + float(self.step) * int(tally[axis]) / n
            found[name] = MeanEstimate(value, value - half, value + half, error, n, level, covers, rejected)
        return found

    def __repr__(self) -> str:
        return f"PlanarLaplace({float(self.rate):.3g} a metre, step {float(self.step):g} m, {self.width} bytes)"
