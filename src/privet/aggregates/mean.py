"""AVG(x): a sum centred in the bounds, which one row moves by half as much, over the shared count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privet.core.scan import Sum

from .aggregate import Aggregate, Argument

if TYPE_CHECKING:
    from privet.core.pair import Floats


@dataclass(frozen=True)
class Mean(Aggregate):
    """The mean of x, within its bounds; the middle of the bounds where less than one row is left to tell."""

    argument: Argument
    name = "avg"
    typical = "means"

    def sums(self) -> tuple[Sum, ...]:
        return self.argument.centred(), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        total, count = released
        known = np.where(count >= 1.0, total, 0.0)  # noise over less than one row says nothing
        shift = known * float(self.argument.centred().step) / np.maximum(count, 1.0)
        return np.clip(float(self.argument.middle) + shift, *self.ends)

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.argument.low), float(self.argument.high)
