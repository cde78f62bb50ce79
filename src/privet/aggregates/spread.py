"""VAR and STDDEV, of the population and of a sample: centred sums of x and of its squares, and a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from privet.core.scan import Sum

from .aggregate import Aggregate, Argument, squares

if TYPE_CHECKING:
    from privet.core.pair import Floats

Form = Literal["var_pop", "var_samp", "stddev_pop", "stddev_samp"]


@dataclass(frozen=True)
class Spread(Aggregate):
    """The variance of x or its root, no larger than bounded values can have; the middle of that without rows."""

    argument: Argument
    form: Form
    name = "spread"
    typical = "variances and deviations"

    def sums(self) -> tuple[Sum, ...]:
        centred = self.argument.centred()
        return centred, squares(centred), self.argument.present()

    def read(self, *released: Floats) -> Floats:
        import numpy as np

        centred = self.argument.centred()
        fewest = 2.0 if self.form.endswith("samp") else 1.0
        total, square = (np.where(released[2] >= fewest, sums, 0.0) for sums in released[:2])
        n = np.maximum(released[2], fewest)
        mean = total / n
        variance = (square / n + squares(centred).offset - mean * mean) * float(centred.step) ** 2
        if self.form.endswith("samp"):
            variance = variance * n / (n - 1.0)
        low, high = self.ends
        if self.form.startswith("var"):
            return np.clip(variance, low, high)
        return np.clip(np.sqrt(np.maximum(variance, 0.0)), low, high)

    @property
    def ends(self) -> tuple[float, float]:
        half = float(self.argument.high - self.argument.low) / 2
        most = half if self.form.startswith("stddev") else half * half
        return 0.0, most * (2.0 if self.form == "var_samp" else 2.0**0.5 if self.form == "stddev_samp" else 1.0)
