"""AVG(x): a sum centred in the bounds, which one row moves by half as much, over the shared count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from privet.core.scan import Sum
from privet.inference.bars import Bars, Law, half_width, ratio_bars
from privet.inference.equation import Equation, NoiseTerm

from .aggregate import Aggregate, Argument, SampleSums, allowed_for, squares, squares_in

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of x, within its bounds; the middle of the bounds where less than one row is left to tell."""

    argument: Argument
    names = MappingProxyType({"avg": ("AVG", "MEAN")})
    typical = "means"
    additive = True
    exactly = True
    unsampled: ClassVar[str | None] = None
    estimand = "mean"

    def sums(self) -> tuple[Sum, ...]:
        return self.argument.centred(), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        total, count = released
        known = np.where(count >= 1.0, total, 0.0)  # noise over less than one row says nothing
        shift = known * float(self.argument.centred().step) / np.maximum(count, 1.0)
        return np.clip(float(self.argument.middle) + shift, *self.ends)

    def bars(self, released: Sequence[Floats], laws: Sequence[Law], tail: float) -> Bars:
        """Return intervals in closed form."""
        import numpy as np

        (low, high), step = self.ends, float(self.argument.centred().step)
        count = laws[1] if laws[1].mixed else replace(laws[0], scale=laws[1].scale, step=laws[1].step)
        scaled = (laws[0].times(step), count)
        found = ratio_bars(released[0] * step, released[1], scaled, most=(high - low) / 2, tail=tail)
        bottom, top = (np.clip(float(self.argument.middle) + end, low, high) for end in (found.low, found.high))
        return Bars(bottom, top, found.error)

    def beside(self) -> tuple[Sum, ...]:
        return (squares(self.argument.centred()),)

    def equation(self, sampled: SampleSums) -> Equation:
        """Return the weighted mean, by Fieller's residual: total - theta * count.

        With w_u n_u <= C, (sum over the rows of u of w (x - theta))^2 <= C sum w (x - theta)^2, so sampling moves the
        residual by a variance of at most C times the sum over all rows of w (x - theta)^2. That is known where the sum
        of squares was released. Else, for x within [low, high], (x - low)(x - high) <= 0 bounds it by
        C N (high - theta)(theta - low).
        """
        import numpy as np

        total, count = sampled.sums
        middle, half = float(self.argument.middle), (self.ends[1] - self.ends[0]) / 2
        total = total * float(self.argument.centred().step)
        one, none, rows = np.ones_like(count), np.zeros_like(count), np.maximum(count, 0.0)
        terms = (
            NoiseTerm(sampled.laws[0].times(float(self.argument.centred().step)), one, none),
            NoiseTerm(sampled.laws[1], np.full_like(count, middle), -one),
        )
        spread = (rows * (half**2 - middle**2), 2 * middle * rows, -rows)
        if sampled.beside and sampled.beside[0] is not None:
            square, law = sampled.beside[0]
            mean = np.clip(total / np.maximum(rows, 1.0), -half, half)
            squared = np.clip(squares_in(self.argument, square, rows), 0.0, half**2 * rows)
            about = squared - 2 * mean * total + mean**2 * rows
            doubt = np.sqrt(
                (law.deviation * float(self.argument.centred().step) ** 2) ** 2
                + (2 * mean * terms[0].law.deviation) ** 2
                + ((half**2 / 2 + mean**2) * terms[1].law.deviation) ** 2
            )
            known = squared + np.minimum(allowed_for(about, doubt), (half**2 - mean**2) * rows) - about
            spread = (known + 2 * middle * total + middle**2 * rows, -2 * total - 2 * middle * rows, rows)
        most = sampled.most
        scaled = (most * spread[0], most * spread[1], most * spread[2])
        return Equation(total + middle * count, count, terms, scaled, *self.ends)

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return the widest interval of a mean over n rows: that of a mean at an end of its bounds."""
        import numpy as np

        low, high = self.ends
        total, count = laws
        scaled = total.times(float(self.argument.centred().step))
        other = replace(total, scale=count.scale, step=count.step)
        width = half_width(scaled, other, np.array([(high - low) / 2]), tail)[0]
        return min(float(width) / n, high - low)

    def narrowest_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return how narrow the interval of a mean is where all rows are in one group, and their mean in the middle."""
        import numpy as np

        law = laws[0].times(float(self.argument.centred().step))
        return float(half_width(law, replace(law, scale=0.0, step=0.0), np.zeros(1), tail)[0]) / n

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.argument.low), float(self.argument.high)
