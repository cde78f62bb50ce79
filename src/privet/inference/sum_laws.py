"""Tails of weighted sums of binomial counts and known integer noise, by Fourier series, rounded against ourselves.

The characteristic function of such a sum is a product of closed forms. What is computed is the tail of the sum plus a
little normal noise, read a little further out, so that it is never below the tail that is meant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from privet.mechanisms.laws import DiscreteLaplace, NoiseLaw

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from privet.core.event import Floats

    Waves = NDArray[np.complex128]

_BLUR = 1 / 300
"""The standard deviation of the normal noise that is added, in those of the sum."""

_COARSE = 1 / 120
"""The same where few people are sampled, and the law has large atoms anyway."""

_FURTHER, _MISSED = 4.0, 1 + 4e-5
"""How many deviations of that noise further out the tail is read: it reaches beyond once in 30,000 times."""

_LOST = 6.0
"""Beyond this multiple of its inverse deviation a wave of the added noise is below 1e-7."""

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

    def waves(self, frequencies: Floats) -> Waves:
        """Return the characteristic function."""
        import numpy as np

        angle = frequencies * self.weight
        logs = np.log1p(self.share * (np.cos(angle) - 1 + 1j * np.sin(angle)))
        return np.asarray(np.exp(self.people * (logs - 1j * self.share * angle)))


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

    def waves(self, frequencies: Floats) -> Waves:
        """Return the characteristic function; of rounded noise, that of what was drawn times that of the rounding."""
        import numpy as np

        angle = frequencies * self.weight
        parameter = float(self.law.parameter[1])
        if self.law.finer > 1:
            parameter /= self.law.finer if self._laplace else self.law.finer**2
            rounding = np.sinc(angle / (2 * math.pi))
            plain = 1 / (1 + (parameter * angle) ** 2) if self._laplace else np.exp(-parameter * angle**2 / 2)
            return np.asarray(plain * rounding, dtype=np.complex128)
        if self._laplace:
            a, drop = math.exp(-1 / parameter), -math.expm1(-1 / parameter)
            return np.asarray(1 / (1 + 4 * a * (np.sin(angle / 2) / drop) ** 2), dtype=np.complex128)
        near = angle - 2 * math.pi * np.round(angle / (2 * math.pi))
        turns = [2 * math.pi * turn for turn in (-1, 0, 1)]
        every = sum(math.exp(-parameter * turn**2 / 2) for turn in turns)
        return np.asarray(sum(np.exp(-parameter * (near - turn) ** 2 / 2) for turn in turns) / every, np.complex128)


Part = BinomialPart | NoisePart


@dataclass(frozen=True)
class SumLaw:
    """The law of a sum of independent parts, each of mean 0.

    Guarantee: with D the sum and G standard normal, D >= x implies D + b G >= x - 4 b but for 1 in 30,000, which is
    added; the law of D + b G is the Fourier series of its characteristic function, on a circle that D leaves with a
    probability of 1e-7, which is added too. Waves below 1e-16 are left out.
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
    def _series(self) -> tuple[Floats, Waves]:
        import numpy as np

        step = math.pi / self._half
        s: Floats = np.arange(1, math.ceil(_LOST / self._blur / step) + 1, dtype=np.float64) * step
        for part in self.parts:
            s = s[part.matters(s)]
        waves: Any = np.exp(-((s * self._blur) ** 2) / 2)
        for part in self.parts:
            waves = waves * part.waves(s)
        return s, np.asarray(waves, dtype=np.complex128)

    def _above(self, x: float, side: int) -> float:
        """Return P[side D + b G >= x] by the integral of the series from x to the end of the circle."""
        import numpy as np

        half = self._half
        if x >= half:
            return 1e-7
        if x <= -half:
            return 1.0
        s, waves = self._series
        facing = waves if side > 0 else waves.conj()
        ends = (np.exp(-1j * s * x) - np.exp(-1j * s * half)) / (1j * s)
        inside = (half - x) / (2 * half) + float(np.sum((facing * ends).real)) / half
        return min(1.0, max(0.0, inside) * _MISSED + 1e-7)
