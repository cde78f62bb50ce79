"""What a sparse vector tells: which queries crossed, by how much, and the values that were measured beside it.

Everything here is made of released numbers alone. Nothing here may see a query's true answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privet.core.errors import BadValue, RequestError
from privet.core.given import read_fields
from privet.core.rounding import float_near

from .reading import read_floats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Above:
    """A query that came out above the threshold: its noisy distance to the noisy threshold, and its value if measured.

    The answer to a query that came out below is `None`, so that `if answer:` asks the natural question.
    """

    gap: float
    value: int | float | None = None

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True)
class Crossings:
    """The answers to a list of queries: how many were answered, and for each that crossed its index and its gap.

    `gaps` are noisy distances to the noisy threshold, free beside the crossings. `values` are separate measurements,
    and `estimates` the values improved by the gaps; both are empty where nothing was measured.
    """

    answered: int
    halted: bool
    indices: tuple[int, ...]
    gaps: tuple[float, ...]
    values: tuple[int | float, ...] = ()
    estimates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def above(self) -> NDArray[np.bool_]:
        """One answer for each query that was answered: True where it came out above the threshold."""
        import numpy as np

        answers = np.zeros(self.answered, dtype=np.bool_)
        answers[list(self.indices)] = True
        return answers

    @property
    def first(self) -> int | None:
        """The index of the first query that came out above the threshold, or None."""
        return self.indices[0] if self.indices else None

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.indices[:8])) + (", ..." if len(self.indices) > 8 else "")
        halted = ", halted" if self.halted else ""
        return f"Crossings({len(self.indices)} above of {self.answered} answered{halted}: [{shown}])"


def read_released(numbers: object, parameter: str) -> tuple[float, ...]:
    """Return released numbers as doubles, or refuse them by name."""
    read = read_floats(numbers, parameter)
    if read.ndim != 1:
        raise BadValue(parameter, "something else", "a list of numbers")
    return tuple(read.tolist())


def improve(
    measured: tuple[int | float, ...],
    shown: tuple[float, ...],
    *,
    measured_variance: float,
    shown_variance: float,
    offset_variance: float,
) -> tuple[float, ...]:
    """Return the best linear unbiased estimates from measurements and from noisy values that share an unknown offset.

    measured[i] = x[i] + e[i] and shown[i] = x[i] + n[i] - r with independent noises of these variances, the offset r
    being one draw for all. Deviations from the mean are weighted by inverse variance, and so is the mean itself,
    whose second source has the variance of r on top. With an infinite offset variance only differences are used.

    Guarantee: post-processing of released numbers. Each estimate has the variance
    m/k + (k - 1)/k times m s/(m + s) at most, where m and s are the variances; selection is not accounted for.
    Cites: [DWZK19, measuring with gaps] for differences; weighted least squares with one shared effect otherwise.
    """
    if len(measured) != len(shown):
        raise RequestError(f"there must be as many values as gaps; got {len(measured)} and {len(shown)}")
    if not measured:
        return ()
    k = len(measured)
    mean, other = (sum(map(Fraction, numbers), Fraction(0)) / k for numbers in (measured, shown))
    weight = Fraction(_share(measured_variance, shown_variance))
    along = Fraction(_share(measured_variance / k, shown_variance / k + offset_variance))
    center = mean + along * (other - mean)
    return tuple(
        float_near(center + (1 - weight) * (Fraction(y) - mean) + weight * (Fraction(g) - other))
        for y, g in zip(measured, shown, strict=True)
    )


def _share(mine: float, other: float) -> float:
    """Return the weight of the other source under inverse variance."""
    return mine / (mine + other)
