"""REGR_SLOPE, REGR_INTERCEPT and REGR_R2 of y by x: centred sums of both, of their product and squares, and a count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

from privet.core.scan import Sum
from privet.inference.bars import Bars, Law
from privet.inference.linear import LinearFit, NoisyMoments

from .aggregate import Aggregate, Argument, squares
from .covariance import Covariance

if TYPE_CHECKING:
    from privet.core.event import Floats

Form = Literal["regr_slope", "regr_intercept", "regr_r2"]

_MOST_INVERTED = 300
"""For more groups than this, intervals are simulated: inverting takes a few milliseconds each."""

_NO_SPREAD = 1e-12
"""A variance of x below this part of the squared half range is none."""


@dataclass(frozen=True)
class RegressionLine(Aggregate):
    """The line that explains y by x, or how well it does, over rows in which neither is NULL; 0 without a spread."""

    first: Argument
    """What is explained."""
    second: Argument
    form: Form
    names = MappingProxyType({name: (name.upper(),) for name in ("regr_slope", "regr_intercept", "regr_r2")})
    arity = 2
    typical = "slopes, intercepts and explained shares"
    unsampled: ClassVar[str | None] = "its sums say nothing of the errors of single rows; use session.regress"

    @cached_property
    def _both(self) -> Covariance:
        return Covariance(self.second, self.first, "corr")

    def sums(self) -> tuple[Sum, ...]:
        """Return the sums of x, of y, of their product, of squares of x, for R2 of y, and the count."""
        x, y, product, x_squared, y_squared, count = self._both.sums()
        return (x, y, product, x_squared, *((y_squared,) if self.form == "regr_r2" else ()), count)

    def _moments(self, released: Sequence[Floats]) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the means of x and y off their middles, their covariance and the variance of x."""
        import numpy as np

        x, y, product = self._both.sums()[:3]
        n = np.where(released[-1] >= 1.0, released[-1], np.inf)
        means = released[0] / n * float(x.step), released[1] / n * float(y.step)
        shared = released[2] / n * float(product.step) - means[0] * means[1]
        spread = (released[3] / n + np.where(np.isfinite(n), squares(x).offset, 0.0)) * float(x.step) ** 2
        return *means, shared, spread - means[0] ** 2

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        mean_x, mean_y, shared, spread = self._moments(released)
        least = _NO_SPREAD * self._half(self.second) ** 2
        slope = np.divide(shared, spread, out=np.zeros_like(shared), where=spread > least)
        match self.form:
            case "regr_slope":
                return np.asarray(slope)
            case "regr_intercept":
                middle = float(self.first.middle) + mean_y
                return np.asarray(middle - slope * (float(self.second.middle) + mean_x))
        other = self.divisors(*released)[1]
        known = (other > _NO_SPREAD * self._half(self.first) ** 2) & (spread > least)
        both = np.where(known, other, 1.0)
        return np.asarray(np.clip(np.where(known, slope * shared / both, 0.0), 0.0, 1.0))

    def divisors(self, *released: Floats) -> tuple[Floats, ...]:
        import numpy as np

        spread = self._moments(released)[3]
        if self.form != "regr_r2":
            return (spread,)
        y = self._both.sums()[1]
        n = np.where(released[-1] >= 1.0, released[-1], np.inf)
        squared = released[4] / n + np.where(np.isfinite(n), squares(y).offset, 0.0)
        return spread, (squared - (released[1] / n) ** 2) * float(y.step) ** 2

    def bars(self, released: Sequence[Floats], laws: Sequence[Law], tail: float) -> Bars:
        """Return intervals by inversion: they may have no ends, where the noise leaves the spread of x unknown."""
        import numpy as np

        mixed = any(law.mixed for law in laws)
        families = {law.family for law in laws if law.scale}
        simple = self.form != "regr_r2" and not mixed and len(families) <= 1 and self._half(self.second) > 0
        if not simple or len(released[-1]) > _MOST_INVERTED:
            return super().bars(released, laws, tail)
        family = families.pop() if families else "gaussian"
        scales = np.array([law.deviation / (2**0.5 if family == "laplace" else 1.0) for law in laws])
        found = [self._bar([float(one[place]) for one in released], scales, family, tail)
                 for place in range(len(released[-1]))]  # fmt: skip
        low, high, error = (np.array([one[side] for one in found]) for side in range(3))
        values = self.read(*released)
        return Bars(np.minimum(low, values), np.maximum(high, values), error)

    def _bar(
        self, released: Sequence[float], scales: Floats, family: Literal["laplace", "gaussian"], tail: float
    ) -> tuple[float, float, float]:
        """Return the interval of one group, from the sums of 1, x, y, x squared and x y, each from -1 to 1."""
        import numpy as np

        x, y, product = self._both.sums()[:3]
        half_x, half_y = self._half(self.second), self._half(self.first) or 1.0
        to_x, to_y = float(x.step) / half_x, float(y.step) / half_y
        # rows: 1, x, y, x x, x y; columns: what was released. A square is released less its offset
        sources = np.zeros((5, len(released)))
        sources[0, -1], sources[1, 0], sources[2, 1] = 1.0, to_x, to_y
        sources[3, 3], sources[3, -1] = to_x**2, squares(x).offset * to_x**2
        sources[4, 2] = float(product.step) / (half_x * half_y)
        places = np.array([[0, 1, 2], [1, 3, 4], [2, 4, -1]])
        values = sources @ np.array(released)
        moments = NoisyMoments(values, scales, family, places, 0, 0, sources)
        fit = LinearFit(moments, (0, 1), 2)
        if self.form == "regr_slope":
            found = fit.along([0.0, half_y / half_x], 1 - tail)
        else:
            away = half_y * float(self.second.middle) / half_x
            found = fit.along([half_y, -away], 1 - tail, float(self.first.middle))
        return found.low, found.high, found.error

    @staticmethod
    def _half(argument: Argument) -> float:
        return float(argument.high - argument.low) / 2

    @property
    def ends(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.form == "regr_r2" else (float("-inf"), float("inf"))
