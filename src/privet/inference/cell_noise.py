"""The noise on the cells of a released table, as tests need it: its variance, its tails, and simulated draws."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.errors import BadParameter, RequestError
from privet.core.numbers import float_near
from privet.mechanisms.laws import AdditiveNoise, DiscreteGaussian, DiscreteLaplace, NoiseLaw

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator

    from privet.core.event import Floats

Noise = AdditiveNoise | NoiseLaw
"""What a caller may pass for the noise: the mechanism that released the numbers, or its law."""

_SMOOTH = 40.0
"""From this many drawn integers per standard deviation on, a rounded normal number is a discrete Gaussian one."""

_FAR = 40


@dataclass(frozen=True)
class CellNoise:
    """Independent noise on each cell: `law` is that of the released integer, which is worth `worth`."""

    law: NoiseLaw
    worth: Fraction = Fraction(1)

    @property
    def variance(self) -> float:
        """The variance of the noise in a cell."""
        return self.law.variance * float_near(self.worth) ** 2

    @property
    def excess(self) -> float:
        """The excess kurtosis: 0 for Gaussian noise, and 3 for Laplace noise of any but the smallest scale."""
        return 0.0 if isinstance(self.law, DiscreteGaussian) else 3.0

    def draws(self, points: Generator, shape: tuple[int, ...]) -> Floats:
        """Return simulated noise, from points that are not secret: for null laws, never for a release."""
        drawn = _integers(self.law, points, shape)
        if self.law.finer > 1:
            drawn = (drawn + self.law.finer // 2) // self.law.finer
        return drawn * (float_near(self.law.step) * float_near(self.worth))

    def times(self, factor: Fraction) -> CellNoise:
        """Return the same noise in another unit."""
        return replace(self, worth=self.worth * factor)


def _integers(law: NoiseLaw, points: Generator, shape: tuple[int, ...]) -> Floats:
    """Return simulated integers of a law, as doubles; a Laplace one is a difference of two geometric ones."""
    import numpy as np

    if isinstance(law, DiscreteLaplace):
        scale = float_near(law.scale)
        first, second = (np.floor(scale * points.standard_exponential(shape)) for _ in range(2))
        return np.asarray(first - second)
    if not isinstance(law, DiscreteGaussian):
        raise RequestError("tests of tables know Laplace and Gaussian noise; release the counts with one of them")
    sigma = math.sqrt(float_near(law.sigma_squared))
    if sigma > _SMOOTH:
        return np.rint(sigma * points.standard_normal(shape))
    places = np.arange(-math.ceil(_FAR * max(sigma, 1)), math.ceil(_FAR * max(sigma, 1)) + 1)
    below = np.cumsum(np.exp(-(places**2) / (2 * sigma**2)))
    return np.asarray(places[np.searchsorted(below, points.random(shape) * below[-1], side="right")], dtype=np.float64)


def read_noise(noise: object, cells: int) -> CellNoise:
    """Return the noise on this many cells that were released together."""
    if isinstance(noise, CellNoise):
        return noise
    if isinstance(noise, AdditiveNoise):
        return CellNoise(noise.law(cells, whole=True))
    if isinstance(noise, (DiscreteGaussian, DiscreteLaplace)):
        return CellNoise(noise)
    allowed = "the mechanism that released the counts, such as Gaussian(...) or Laplace(...), or its law"
    raise BadParameter("noise", type(noise).__name__, allowed)


def fixed_points(*parts: object) -> Generator:
    """Return points that are fixed by what was released: asking again finds the same p-value, and none to choose from.

    The stream is that of a NumPy version: its release notes tell when one changes.
    """
    import numpy as np

    seed = hashlib.sha256(repr(parts).encode()).digest()
    made: np.random.Generator = np.random.Generator(np.random.PCG64(int.from_bytes(seed, "little")))
    return made
