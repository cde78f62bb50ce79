"""An aggregate that is no part of the package: the root mean square, in one file, made known by one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.aggregates import Aggregate, Argument
from privet.aggregates.aggregate import deviations_in, squares
from privet.core.scan import Sum
from privet.inference.bars import Law

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class Rms(Aggregate):
    """The root of the mean of the squares of x; the middle of what it can be without rows."""

    argument: Argument
    names = {"rms": ("RMS", "QUADRATIC_MEAN")}  # noqa: RUF012
    typical = "root mean squares"

    def sums(self) -> tuple[Sum, ...]:
        return squares(self.argument.plain()), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        square, count = released
        total = squares(self.argument.plain())
        known = np.where(count >= 1.0, square, 0.0)
        mean = known / np.maximum(count, 1.0) + total.offset
        return np.clip(np.sqrt(np.maximum(mean, 0.0)) * float(total.step), *self.ends)

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return a rough bound to first order, at half of the largest value: rms^2 moves by (N_q - (q/n) N_n) / n."""
        most, step = self.ends[1], float(self.argument.plain().step)
        parts = (laws[0].deviation * step**2, most**2 / 2 * laws[1].deviation)
        width = deviations_in(laws[0], tail) * sum(part**2 for part in parts) ** 0.5 / n / (most or 1.0)
        return min(width, most)

    @property
    def ends(self) -> tuple[float, float]:
        low, high = float(self.argument.low), float(self.argument.high)
        return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
