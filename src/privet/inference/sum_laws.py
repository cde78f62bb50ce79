"""Tails of weighted sums of binomial counts and known integer noise, by Fourier series, rounded against ourselves.

The characteristic function of such a sum is a product of closed forms. What is computed is the tail of the sum plus a
little normal noise, read a little further out, so that it is never below the tail that is meant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from privet.mechanisms.laws import DiscreteLaplace, NoiseLaw

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats

_BLUR = 1 / 300
"""The standard deviation of the normal noise that is added, in those of the sum."""

_COARSE = 1 / 120
"""The same where few people are sampled, and the law has large atoms anyway."""

_FURTHER, _MISSED = 4.0, 1 + 4e-5
"""How many deviations of that noise further out the tail is read: it reaches beyond once in 30,000 times."""

_LOST = 5.0
"""Beyond this multiple of its inverse deviation waves of the added noise sum to less than 1e-7."""

_VANISHED = 36.0
"""Waves below exp(-36), about 1e-16, are left out."""

_REACH, _SCALES = 6.5, 17.0
"""The sum stays within this many deviations, and scales of its Laplace noise, but for 1e-7."""


@dataclass(frozen=True)
class BinomialPart:
    """A binomial count less its mean, times a weight."""

    people: int
    share: float
    weight: float

    @property
    def variance(self) -> float:
        """The variance."""
        return self.weight**2 * self.people * self.share * (1 - self.share)

    @property
    def scale(self) -> float:
        """The rate of its tails, where they are no lighter than exponential."""
        return 0.0

    @property
    def coarse(self) -> bool:
        """Whether few people are sampled."""
        return self.people * self.share * (1 - self.share) < 50

    def matters(self, frequencies: Floats) -> NDArray[np.bool_]:
        """Return where the wave is not next to nothing: its size is at most exp(-2 n p (1 - p) sin^2(s w / 2))."""
        import numpy as np

        spread = 2 * self.people * self.share * (1 - self.share)
        return np.asarray(spread * np.sin(frequencies * self.weight / 2) ** 2 < _VANISHED)

    def waves(self, frequencies: Floats) -> tuple[Floats, Floats]:
        """Return the characteristic function, ((1 - p + p e^(i a)) e^(-i p a))^n: its modulus, and its angle."""
        import numpy as np

        angle, p = frequencies * self.weight, self.share
        lost = np.sin(angle / 2) ** 2
        with np.errstate(divide="ignore"):  # a modulus of 0 is what a half and a half turned by pi are
            size = np.exp(self.people / 2 * np.log1p(np.maximum(-4 * p * (1 - p) * lost, -1.0)))
        turned = np.arctan2(p * np.sin(angle), 1 - 2 * p * lost) - p * angle
        return size, self.people * turned


@dataclass(frozen=True)
class NoisePart:
    """Integer noise of a known law, times a weight."""

    law: NoiseLaw
    weight: float

    @property
    def variance(self) -> float:
        """The variance."""
        return self.weight**2 * self.law.variance

    @property
    def scale(self) -> float:
        """The scale of Laplace noise; 0 for normal tails."""
        return abs(self.weight) * float(self.law.parameter[1]) / self.law.finer if self._laplace else 0.0

    @property
    def _laplace(self) -> bool:
        return isinstance(self.law, DiscreteLaplace)

    @property
    def coarse(self) -> bool:
        """Whether it may stand beside few people: always."""
        return True

    def matters(self, frequencies: Floats) -> NDArray[np.bool_]:
        """Return where the wave is not next to nothing: anywhere."""
        import numpy as np

        return np.ones(frequencies.shape, dtype=np.bool_)

    def waves(self, frequencies: Floats) -> tuple[Floats, None]:
        """Return the characteristic function, which is real: no angle.

        That of rounded noise is that of what was drawn times that of the rounding.
        """
        import numpy as np

        angle = frequencies * self.weight
        parameter = float(self.law.parameter[1])
        if self.law.finer > 1:
            parameter /= self.law.finer if self._laplace else self.law.finer**2
            rounding = np.sinc(angle / (2 * math.pi))
            plain = 1 / (1 + (parameter * angle) ** 2) if self._laplace else np.exp(-parameter * angle**2 / 2)
            return np.asarray(plain * rounding), None
        if self._laplace:
            a, drop = math.exp(-1 / parameter), -math.expm1(-1 / parameter)
            return 1 / (1 + 4 * a / drop**2 * np.sin(angle / 2) ** 2), None
        near = angle - 2 * math.pi * np.round(angle / (2 * math.pi))
        turns = [2 * math.pi * turn for turn in (-1, 0, 1)]
        every = sum(math.exp(-parameter * turn**2 / 2) for turn in turns)
        return np.asarray(sum(np.exp(-parameter * (near - turn) ** 2 / 2) for turn in turns) / every), None


Part = BinomialPart | NoisePart


@dataclass(frozen=True)
class SumLaw:
    """The law of a sum of independent parts, each of mean 0.

    Guarantee: with D the sum and G standard normal, D >= x implies D + b G >= x - 4 b but for 1 in 30,000, which is
    added; the law of D + b G is the Fourier series of its characteristic function, on a circle that D leaves with a
    probability of 1e-7, which is added too. Waves below 1e-16 are left out, and those that the blur makes small: they
    sum to 2/pi times the integral of exp(-t^2/2)/t from 5 on, less than 1e-7, which is added as well.
    """

    parts: tuple[Part, ...]

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the sum."""
        return math.sqrt(max(sum(part.variance for part in self.parts), 1e-300))

    def at_least(self, x: float) -> float:
        """Return no less than P[D >= x]."""
        return self._above(x - _FURTHER * self._blur, 1)

    def at_most(self, x: float) -> float:
        """Return no less than P[D <= x]."""
        return self._above(-x - _FURTHER * self._blur, -1)

    @property
    def _blur(self) -> float:
        coarse = all(part.coarse for part in self.parts)
        return (_COARSE if coarse else _BLUR) * self.deviation

    @cached_property
    def _half(self) -> float:
        return _REACH * self.deviation + _SCALES * max(part.scale for part in self.parts) + self._blur * 8

    @cached_property
    def _series(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The frequencies, whether each is an odd multiple of the first (-1) or an even one, and the waves there.

        Of the waves the moduli are divided by the frequencies, and angles follow.
        """
        import numpy as np

        step = math.pi / self._half
        number: Floats = np.arange(1, math.ceil(_LOST / self._blur / step) + 1, dtype=np.float64)
        for part in self.parts:
            number = number[part.matters(number * step)]
        s = number * step
        sizes, angles = np.exp(-((s * self._blur) ** 2) / 2) / s, np.zeros(s.shape)
        for part in self.parts:
            size, angle = part.waves(s)
            sizes *= size
            if angle is not None:
                angles += angle
        return s, 1 - 2 * (number % 2), sizes, angles

    def _above(self, x: float, side: int) -> float:
        """Return P[side D + b G >= x] by the integral of the series from x to the end of the circle.

        The wave of size r and angle t at the frequency s integrates to r / s (sin(t - s x) - sin(t - s h)), and s h is
        a multiple of pi there.
        """
        import numpy as np

        half = self._half
        if x >= half:
            return 2e-7
        if x <= -half:
            return 1.0
        s, even, sizes, angles = self._series
        facing = side * angles
        inside = (half - x) / (2 * half) + float(np.dot(sizes, np.sin(facing - s * x) - even * np.sin(facing))) / half
        return min(1.0, max(0.0, inside) * _MISSED + 2e-7)
