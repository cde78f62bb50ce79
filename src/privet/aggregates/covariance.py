"""COVAR, CORR and the REGR functions of two columns: centred sums of both, of their product and squares, and a count.

All are over the rows that have both. The product of the distances from the middles is put on a grid of its own, like
any other number that is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

from privet.core.errors import Unsupported
from privet.core.relation import Call, Expression
from privet.core.relation import Literal as Constant
from privet.core.scan import Sum
from privet.inference.bars import Bars, Law
from privet.inference.linear import LinearFit, NoisyMoments

from .aggregate import GRID, Aggregate, Argument, deviations_in, rows, squares

if TYPE_CHECKING:
    from privet.core.event import Floats


CovarianceForm = Literal["covar_pop", "covar_samp", "corr"]

_FINEST = GRID**2
"""Declared steps are kept for products of at most this many of them, which doubles hold exactly."""

_NARROWEST, _WIDEST = Fraction(1, 10**250), Fraction(10**250)

_MOST_INVERTED = 300
"""For more groups than this, intervals are simulated: inverting takes a few milliseconds each."""

_NO_SPREAD = 1e-12
"""A variance of x below this part of the squared half range is none."""


@dataclass(frozen=True)
class _Scale:
    """The factors of released sums: those of products, the product of two, and of squares with their offsets.

    Sums are simulated block by block, and this is the same for all.
    """

    product: float
    both: float
    spreads: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Covariance(Aggregate):
    """The covariance of x and y, or their correlation, over rows in which neither is NULL; 0 without rows."""

    first: Argument
    second: Argument
    form: CovarianceForm
    names = MappingProxyType({name: (name.upper(),) for name in ("covar_pop", "covar_samp", "corr")})
    arity = 2
    symmetric = True
    typical = "covariances and correlations"
    unsampled = "how far sampling moves covariances and correlations depends on moments that are not released"

    def __post_init__(self) -> None:
        most = self._most
        if most and not _NARROWEST <= most <= _WIDEST:
            raise Unsupported(f"{self.form.upper()} of columns so wide or so narrow is beyond the range of numbers")

    def sums(self) -> tuple[Sum, ...]:
        x, y = self._x.centred(), self._y.centred()
        spreads = (squares(x), squares(y)) if self.form == "corr" else ()
        return x, y, self.products(), *spreads, rows(_all((*self._known, self.first.where)))

    def products(self) -> Sum:
        """Return the sum of (x - its middle) (y - its middle), which lies within the product of the half ranges."""
        fine = (self.first.step or Fraction(0)) * (self.second.step or Fraction(0)) / 4
        if not fine or self._most / fine > _FINEST:
            fine = self._most / GRID if self._most else Fraction(1)
        ends = int(self._most / fine)
        product = Call("multiply", tuple(_moved(argument) for argument in (self.first, self.second)))
        nullable = self.first.nullable or self.second.nullable
        return Sum(product, -ends, ends, step=fine, where=self.first.where, null_as=None if nullable else -ends)

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        scale = self._scale
        n = self._rows(released[-1])
        means = [sums / n for sums in released[:3]]
        shared = means[2] * scale.product - means[0] * means[1] * scale.both
        low, high = self.ends
        if self.form != "corr":
            n = np.maximum(released[-1], self._fewest)
            sampled = shared * n / (n - 1.0) if self.form == "covar_samp" else shared
            return np.asarray(np.clip(sampled, low, high))
        spreads = [np.sqrt(np.maximum(spread, 0.0)) for spread in self.divisors(*released)]
        both = spreads[0] * spreads[1]
        # without a spread there is nothing to go together
        return np.asarray(np.clip(np.divide(shared, both, out=np.zeros_like(shared), where=both > 0), low, high))

    def divisors(self, *released: Floats) -> tuple[Floats, ...]:
        n = self._rows(released[-1])
        spreads = zip(self._scale.spreads, released[:2], released[3:-1], strict=False)
        return tuple(
            (squared / n + offset - (total / n) ** 2) * squared_step
            for (offset, squared_step), total, squared in spreads
        )

    def _rows(self, count: Floats) -> Floats:
        """Return the number of rows to divide sums by: infinite where it is uninformative, so that means are 0."""
        import numpy as np

        return np.where(count >= self._fewest, count, np.inf)

    @property
    def _fewest(self) -> float:
        return 2.0 if self.form == "covar_samp" else 1.0

    @cached_property
    def _scale(self) -> _Scale:
        x, y = self._x.centred(), self._y.centred()
        spread = (x, y) if self.form == "corr" else ()  # the squares of others may be too large to be summed
        spreads = tuple((squares(centred).offset, float(centred.step) ** 2) for centred in spread)
        return _Scale(float(self.products().step), float(x.step * y.step), spreads)

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float | None:
        """Return a rough bound for a covariance over n rows, to first order; a correlation's depends on the data.

        cov = p/n - (s/n)(t/n) moves by (N_p - k N_s - m N_t + (2 m k - p/n) N_n) / n, with the means m and k of s and t
        at most the half ranges, and p/n their product.
        """
        if self.form == "corr":
            return None
        sums = self.sums()
        x, y, product, count = laws
        halves = [float(argument.high - argument.low) / 2 for argument in (self.first, self.second)]
        parts = (
            product.deviation * float(sums[2].step),
            halves[1] * x.deviation * float(sums[0].step),
            halves[0] * y.deviation * float(sums[1].step),
            3 * halves[0] * halves[1] * count.deviation,
        )
        width = deviations_in(x, tail) * sum(part**2 for part in parts) ** 0.5 / n
        low, high = self.ends
        return float(min(width, high - low))

    @property
    def ends(self) -> tuple[float, float]:
        most = 1.0 if self.form == "corr" else float(self._most) * (2.0 if self.form == "covar_samp" else 1.0)
        return -most, most

    @property
    def _most(self) -> Fraction:
        return (self.first.high - self.first.low) / 2 * (self.second.high - self.second.low) / 2

    @property
    def _known(self) -> tuple[Expression, ...]:
        """The conditions that neither is NULL."""
        expressions = (argument.expression for argument in (self.first, self.second) if argument.nullable)
        return tuple(dict.fromkeys(Call("not", (Call("is_null", (expression,)),)) for expression in expressions))

    @property
    def _x(self) -> Argument:
        return replace(self.first, where=_all((*self._known, self.first.where)))

    @property
    def _y(self) -> Argument:
        return replace(self.second, where=_all((*self._known, self.second.where)))


def _moved(argument: Argument) -> Expression:
    x = argument.expression
    if not argument.held:
        bottom, top = Constant(argument.low), Constant(argument.high)
        x = Call("case", (Call("less", (x, bottom)), bottom, Call("greater", (x, top)), top, x))
    return Call("subtract", (x, Constant(argument.middle)))


def _all(conditions: tuple[Expression | None, ...]) -> Expression | None:
    given = tuple(condition for condition in conditions if condition is not None)
    return (given[0] if len(given) == 1 else Call("and", given)) if given else None


LineForm = Literal["regr_slope", "regr_intercept", "regr_r2"]


@dataclass(frozen=True)
class RegressionLine(Aggregate):
    """The line that explains y by x, or how well it does, over rows in which neither is NULL; 0 without a spread."""

    first: Argument
    """The column that is explained."""
    second: Argument
    form: LineForm
    names = MappingProxyType({name: (name.upper(),) for name in ("regr_slope", "regr_intercept", "regr_r2")})
    arity = 2
    typical = "slopes, intercepts and explained shares"
    unsampled: ClassVar[str | None] = "its sums show nothing of the errors of single rows; use session.regress"

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
        bars = [self._bar([float(sums[place]) for sums in released], scales, family, tail)
                 for place in range(len(released[-1]))]  # fmt: skip
        low, high, error = (np.array([ends[side] for ends in bars]) for side in range(3))
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
        # rows: 1, x, y, x x, x y; columns: the released sums. A square is released less its offset
        sources = np.zeros((5, len(released)))
        sources[0, -1], sources[1, 0], sources[2, 1] = 1.0, to_x, to_y
        sources[3, 3], sources[3, -1] = to_x**2, squares(x).offset * to_x**2
        sources[4, 2] = float(product.step) / (half_x * half_y)
        places = np.array([[0, 1, 2], [1, 3, 4], [2, 4, -1]])
        values = sources @ np.array(released)
        moments = NoisyMoments(values, scales, family, places, 0, 0, sources)
        fit = LinearFit(moments, (0, 1), 2)
        if self.form == "regr_slope":
            interval = fit.along([0.0, half_y / half_x], 1 - tail)
        else:
            away = half_y * float(self.second.middle) / half_x
            interval = fit.along([half_y, -away], 1 - tail, float(self.first.middle))
        return interval.low, interval.high, interval.error

    @staticmethod
    def _half(argument: Argument) -> float:
        return float(argument.high - argument.low) / 2

    @property
    def ends(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.form == "regr_r2" else (float("-inf"), float("inf"))
