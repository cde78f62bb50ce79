"""VAR and STDDEV, of the population and of a sample: centred sums of x and of its squares, and a count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

from privet.core.scan import Sum
from privet.inference.bars import Law
from privet.inference.equation import Equation, NoiseTerm

from .aggregate import Aggregate, Argument, SampleSums, deviations_in, squares, squares_in

if TYPE_CHECKING:
    from privet.core.event import Floats

Form = Literal["var_pop", "var_samp", "stddev_pop", "stddev_samp"]


@dataclass(frozen=True)
class Spread(Aggregate):
    """The variance of x or its root, no larger than bounded values can have; the middle of that without rows."""

    argument: Argument
    form: Form
    names = MappingProxyType(
        {
            "var_pop": ("VAR_POP", "VARIANCE_POP", "VARP"),
            "var_samp": ("VAR_SAMP", "VARIANCE", "VAR", "VARIANCE_SAMP"),
            "stddev_pop": ("STDDEV_POP", "STDEVP"),
            "stddev_samp": ("STDDEV_SAMP", "STDDEV", "STDEV", "STD"),
        }
    )
    typical = "variances and deviations"
    unsampled: ClassVar[str | None] = None
    estimand = "variance"

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

    def equation(self, sampled: SampleSums) -> Equation:
        """Return the weighted variance v, by the residual sum of w (x - m)^2 - v N at the estimated mean m.

        (x - m)^2 lies within [0, B^2], with B the larger distance of m from an end, and its mean is v: so its variance
        is at most v (B^2 - v), and sampling moves the residual by at most C N v (B^2 - v). The estimated mean makes the
        sum too small by N (m - its truth)^2: twice its expected value is allowed for.
        """
        import numpy as np

        total, square, count = sampled.sums
        step, half = float(self.argument.centred().step), float(self.argument.high - self.argument.low) / 2
        one, none, rows = np.ones_like(count), np.zeros_like(count), np.maximum(count, 1.0)
        mean = np.clip(total * step / rows, -half, half)
        squared = squares_in(self.argument, square, count)
        offset = squares(self.argument.centred()).offset * step**2
        terms = (
            NoiseTerm(sampled.laws[1].times(step**2), one, none),
            NoiseTerm(sampled.laws[0].times(step), -2 * mean, none),
            NoiseTerm(sampled.laws[2], mean**2 + offset, -one),
        )
        top = np.asarray(squared) - 2 * mean * total * step + mean**2 * count
        widest = (half + np.abs(mean)) ** 2
        spread = (none, sampled.most * rows * widest, -sampled.most * rows)
        own = np.clip(top / rows, 0.0, half**2)
        doubt = (sampled.laws[0].deviation * step) ** 2 + (mean * sampled.laws[2].deviation) ** 2
        slack = 2 * (doubt / rows + sampled.most * own)
        return Equation(top, count, terms, spread, 0.0, half**2, slack)

    @property
    def curved(self) -> bool:
        return self.form.startswith("stddev")

    def from_equation(self, values: Floats) -> Floats:
        import numpy as np

        return np.sqrt(np.maximum(values, 0.0)) if self.curved else values

    def predicted_width(self, laws: Sequence[Law], n: int, tail: float) -> float:
        """Return a rough bound for a variance over n rows, to first order; for its root, at a quarter of the range.

        var = q/n + c - (s/n)^2 moves by (N_q - 2 m N_s + (2 m^2 - q/n) N_n) / n, with |m| and q/n at most the half
        range and its square.
        """
        step = float(self.argument.centred().step)
        half = float(self.argument.high - self.argument.low) / 2
        total, square, count = laws
        parts = (square.deviation * step**2, 2 * half * total.deviation * step, 2.5 * half**2 * count.deviation)
        width = deviations_in(total, tail) * sum(part**2 for part in parts) ** 0.5 / n
        if self.form.startswith("stddev"):
            width /= 2 * (half / 2) if half else 1.0
        low, high = self.ends
        return float(min(width, high - low))

    @property
    def ends(self) -> tuple[float, float]:
        half = float(self.argument.high - self.argument.low) / 2
        most = half if self.form.startswith("stddev") else half * half
        return 0.0, most * (2.0 if self.form == "var_samp" else 2.0**0.5 if self.form == "stddev_samp" else 1.0)
