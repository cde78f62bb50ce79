"""What the mechanisms that choose one of several options share: a rate, scores that are read exactly, sizes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.exact import Number, positive, rational, whole
from privet.core.rounding import float_up
from privet.core.sensitivity import Sensitivity

from .mechanism import Mechanism, shown
from .reading import read_numbers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_OPTIONS = 10**7


@dataclass(frozen=True, init=False, repr=False)
class Selection(Mechanism):
    """A choice among finitely many options, by noise of scale 1 on rate * score.

    Guarantee: `cost`, 2 rate * sensitivity, or rate * sensitivity where monotone, is what the sensitivity can move the
    noisy comparison of two options by. What follows from that is for each mechanism to say.
    Cites: [MT07, Thm 6].
    """

    sensitivity: Fraction
    rate: Fraction
    monotone: bool

    def __init__(
        self, *, sensitivity: Number | Sensitivity, epsilon: object = None, rate: object = None, monotone: bool = False
    ) -> None:
        if isinstance(sensitivity, Sensitivity):
            sensitivity = sensitivity.l1
        if (epsilon is None) == (rate is None):
            name = type(self).__name__
            raise RequestError(f"{name} takes exactly one of epsilon and rate, beside the sensitivity")
        if not isinstance(monotone, bool):
            raise BadParameter("monotone", monotone, "True or False")
        distance = positive(sensitivity, "sensitivity")
        if rate is None:
            speed = positive(epsilon, "epsilon") / ((1 if monotone else 2) * distance)
            positive(speed, "the rate epsilon / sensitivity")
        else:
            speed = positive(rate, "rate")
        object.__setattr__(self, "sensitivity", distance)
        object.__setattr__(self, "rate", speed)
        object.__setattr__(self, "monotone", monotone)

    @property
    def cost(self) -> Fraction:
        """How far one unit can move the noisy comparison of two options, in units of the noise."""
        return self.rate * self.sensitivity * (1 if self.monotone else 2)

    def _behind(self, scores: Any) -> NDArray[np.float64]:
        """Return rate * (best - score) for each score, in float64, 1e4 at most."""
        import numpy as np

        values = read_scores(scores)
        best = values.max()
        if values.dtype == object:
            return np.array([min(float_up(self.rate * Fraction(best - score)), 1e4) for score in values])
        with np.errstate(over="ignore", under="ignore"):
            below = best - values  # of int64 it may wrap; read as unsigned it is right
            gap = below.view(np.uint64).astype(np.float64) if values.dtype == np.int64 else below
            scaled = np.where(gap > 0, min(float_up(self.rate), 1e300) * gap, 0.0)
        return np.asarray(np.minimum(scaled, 1e4))

    def _read_sizes(self, size: object, best: object) -> tuple[int, int]:
        options = whole(size, "size", least=1, most=10**300)
        return options, whole(best, "best", least=1, most=options)

    def __repr__(self) -> str:
        options = ", monotone=True" if self.monotone else ""
        name, distance = type(self).__name__, shown(self.sensitivity)
        return f"{name}(sensitivity={distance}, epsilon={float_up(self.cost):.6g}{options})"


def read_scores(scores: Any) -> NDArray[Any]:
    """Return private scores exactly, as an array, or refuse without quoting them."""
    numbers = read_numbers(scores, "scores", wide=True)
    if numbers.shape is None or len(numbers.shape) != 1:
        raise BadValue("scores", "something else", "a list or one-dimensional array of finite numbers")
    if numbers.size == 0:
        raise BadValue("scores", "an empty one", "a list with at least one score")
    values: NDArray[Any] = numbers.values
    return values


def evenly(low: object, high: object, *, options: int) -> list[Fraction]:
    """Return so many evenly spaced options from low to high, exactly: a grid for a range that is infinite.

    The grid is public. Whatever it leaves out between two options costs accuracy only, at most half of its step where
    the score is best in between.
    """
    count = whole(options, "options", least=2, most=_MOST_OPTIONS)
    bottom, top = rational(low, "low"), rational(high, "high")
    if bottom >= top:
        raise BadParameter("low", low, "below high")
    step = (top - bottom) / (count - 1)
    return [bottom + place * step for place in range(count)]
