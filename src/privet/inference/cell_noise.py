"""The noise on the cells of a released table, as tests need it: its variance, its tails, and simulated draws."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.errors import BadParameter, RequestError
from privet.core.numbers import float_near
from privet.mechanisms.laws import AdditiveNoise, DiscreteGaussian, DiscreteLaplace, NoiseLaw

if TYPE_CHECKING:
    from privet.core.event import Floats

Noise = AdditiveNoise | NoiseLaw
"""What a caller may pass for the noise: the mechanism that released the numbers, or its law."""

_SMOOTH = 40.0
"""From this many drawn integers per standard deviation on, a rounded normal number is a discrete Gaussian one."""

_FAR = 40
_MANY = 10_000.0


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

    def at(self, shares: Floats) -> Floats:
        """Return the noise at these shares of its law: simulated noise where they are uniform numbers.

        It is for null laws, never for a release.
        """
        drawn = _integers(self.law, shares)
        if self.law.finer > 1:
            drawn = (drawn + self.law.finer // 2) // self.law.finer
        return drawn * (float_near(self.law.step) * float_near(self.worth))


def _integers(law: NoiseLaw, shares: Floats) -> Floats:
    """Return the integers at some shares of a law, as doubles.

    For Laplace noise P[|k| >= m] = 2 a^m / (1 + a) with a = e^(-1/scale).
    """
    import numpy as np
    from scipy.special import ndtri

    if isinstance(law, DiscreteLaplace):
        rate = 1 / float_near(law.scale)
        tail = np.minimum(shares, 1 - shares)
        size = np.floor((math.log(2 / (1 + math.exp(-rate))) - np.log(2 * tail)) / rate)
        return np.asarray(np.where(shares < 0.5, -1, 1) * np.maximum(size, 0.0))
    if not isinstance(law, DiscreteGaussian):
        raise RequestError("tests of tables know Laplace and Gaussian noise; release the counts with one of them")
    sigma = math.sqrt(float_near(law.sigma_squared))
    if sigma > _SMOOTH:
        return np.asarray(np.rint(sigma * ndtri(shares)))
    places = np.arange(-math.ceil(_FAR * max(sigma, 1)), math.ceil(_FAR * max(sigma, 1)) + 1)
    below = np.cumsum(np.exp(-(places**2) / (2 * sigma**2)))
    return np.asarray(places[np.searchsorted(below, shares * below[-1], side="right")], dtype=np.float64)


def poisson_at(mean: float, shares: Floats) -> Floats:
    """Return the numbers at some shares of a Poisson law; of a large mean, to the third moment.

    Cites: [CF38].
    """
    import numpy as np
    from scipy.special import ndtri, pdtr

    if mean > _MANY:
        z = ndtri(shares)
        return np.asarray(np.rint(mean + math.sqrt(mean) * z + (z**2 - 1) / 6))
    reach = 9 * math.sqrt(mean) + 40
    places = np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach))
    return np.asarray(places[np.searchsorted(pdtr(places[:-1], mean), shares)], dtype=np.float64)


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


class FixedPoints:
    """Uniform numbers that are fixed by what was released: asking again finds the same p-value, with none to choose.

    They are the output of a hash function in order, the same everywhere and for ever.
    """

    def __init__(self, *released: object) -> None:
        self._seed = hashlib.sha256(repr(released).encode()).digest()
        self._used = 0

    def uniform(self, shape: tuple[int, ...]) -> Floats:
        """Return the next numbers, each strictly between 0 and 1."""
        import numpy as np

        self._used += 1
        size = math.prod(shape)
        words = hashlib.shake_256(self._seed + self._used.to_bytes(8, "little")).digest(8 * size)
        whole = np.frombuffer(words, dtype="<u8") >> np.uint64(11)
        return np.asarray((whole.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)
