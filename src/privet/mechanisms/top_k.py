"""The best k of many options: by Gumbel noise, by Laplace noise that also shows gaps, or in every group of a scan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from privet import noise
from privet.accounting.cost import calibrate
from privet.accounting.events import PureEvent
from privet.core.budget import Approximate
from privet.core.errors import BadParameter, BadValue, RequestError
from privet.core.event import Event, Repeated
from privet.core.given import check_fields, instance, read_fields, set_fields
from privet.core.numbers import Number, failure_probability, float_near, float_up, positive, whole
from privet.core.unit import Sensitivity
from privet.core.wire import wired

from .lattice import Numbers, exponent_below, from_grid, objects_of, read_numbers, step_of, tail_of
from .mechanism import Mechanism, read_times, shown
from .selection import ExponentialEvent, SelectionMechanism, flip_depth, gumbel_depth, read_scores
from .sparse_vector import improve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# The best k of many options: one shot of Gumbel noise, or Laplace noise that also shows the gaps between them.


_MOST_WINNERS = 10**6
_GAP_BITS = 20
_REAL = Numbers(None, None, False)


@dataclass(frozen=True, init=False, repr=False)
class TopK(SelectionMechanism):
    """Choose the best `k` of finitely many options, in order, by one shot of Gumbel noise on all scores.

    Args:
        k: how many options are chosen.
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        delta: the probability with which the loss may exceed epsilon.
        monotone: whether one unit moves all scores in the same direction, which costs less.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.TopK(k=2, sensitivity=1, epsilon=1)
        >>> mechanism.k, mechanism.event.pure()
        (2, Fraction(1, 1))

    Guarantee: the law is that of k exponential mechanisms, each among the options that are left, so the event is
    theirs: k choices of bounded range. With epsilon alone each gets epsilon / k; with a delta, as much as the exact
    composition of k such choices allows.
    Cites: [DR19, Gumbel noise and peeling], [DDR20, composition], [CR21, bounded range in zCDP].
    """

    k: int

    def __init__(
        self, *, k: int, sensitivity: Number | Sensitivity, epsilon: Number, delta: Number = 0, monotone: bool = False
    ) -> None:
        winners = whole(k, "k", least=1, most=_MOST_WINNERS)
        total, chance = positive(epsilon, "epsilon"), failure_probability(delta)
        each = total / winners
        if chance:
            calibrated = calibrate(
                lambda loss: ExponentialEvent(epsilon=Fraction(loss)),
                Approximate(epsilon=total, delta=chance),
                times=winners,
                more="cost",
                start=float(each),
                relative=1e-7,
            )
            each = max(each, Fraction(calibrated))
        super().__init__(sensitivity=sensitivity, epsilon=each, monotone=monotone)
        set_fields(self, k=winners)

    @cached_property
    def event(self) -> Event:
        """The event of one release: this many choices of bounded range."""
        return Repeated(ExponentialEvent(epsilon=self.cost), self.k)

    def release(self, scores: Any) -> tuple[int, ...]:
        """Return the indices of the k options that were chosen, the best one first."""
        return tuple(self._top(scores).tolist())

    def simulate(self, scores: Any, times: int) -> NDArray[np.int64]:
        """Return this many releases for the same scores, a row for each. Each costs the event once more."""
        return self._top(scores, size=read_times(times))

    def _top(self, scores: Any, *, size: int | None = None) -> NDArray[np.int64]:
        values = read_scores(scores)
        _enough(values.size, self.k)
        return noise.noisy_top(values, self.rate, law="gumbel", winners=self.k, size=size)

    def error(self, confidence: Number = 0.95, *, size: int) -> float:
        """Return how far each choice stays below the best score among those left, at most, all k together.

        Guarantee: each of the k choices falls short with probability at most (1 - confidence) / k.
        Cites: [DR14, Thm 3.11], [DR19, Gumbel noise and peeling].
        """
        options = whole(size, "size", least=self.k)
        return float_up(Fraction(gumbel_depth(options, 1, tail_of(confidence) / self.k)) / self.rate)

    def __repr__(self) -> str:
        options = ", monotone=True" if self.monotone else ""
        spent = f"{float_up(self.cost):.6g} each"
        return f"TopK(k={self.k}, sensitivity={shown(self.sensitivity)}, epsilon={spent}{options})"


@dataclass(frozen=True)
class Ranking:
    """The best options of a list in order, and the noisy distance of each to the next one.

    Example:
        >>> mechanisms.Ranking(indices=(2, 0), gaps=(3.5, 1.0)).indices
        (2, 0)
    """

    indices: tuple[int, ...]
    gaps: tuple[float, ...]

    def __post_init__(self) -> None:
        read_fields(self)


@dataclass(frozen=True, init=False, repr=False)
class TopKWithGaps(SelectionMechanism):
    """Choose the best `k` options by Laplace noise, and show how far each was ahead of the next, at no further cost.

    With k = 1 it is report-noisy-max with its gap to the runner-up. There must be more than k options.

    Args:
        k: how many options are chosen.
        sensitivity: how far one unit can move a score: a number, or a `Sensitivity`.
        epsilon: the privacy loss of one release, above 0.
        monotone: whether one unit moves all scores in the same direction, which costs less.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> mechanism = privet.TopKWithGaps(k=2, sensitivity=1, epsilon=1)
        >>> mechanism.event.pure()
        Fraction(1, 1)

    Guarantee: epsilon-DP, with Laplace noise of scale 2 k sensitivity / epsilon, or half of that where monotone. Fix
    the noise of all options that were not chosen, and let m be the best noisy score among them. Pair the noise n of
    each winner, of score q, with n + (q - q') + (m' - m): all gaps stay the same, hence the winners and their order
    too, and each noise moves by at most 2 sensitivity, or by the sensitivity where all scores move one way. The noise
    is real-valued and compared exactly; a gap is rounded down to a public step afterwards.
    Cites: [DWZK19, top-k with gaps].
    """

    k: int

    def __init__(self, *, k: int, sensitivity: Number | Sensitivity, epsilon: Number, monotone: bool = False) -> None:
        winners = whole(k, "k", least=1, most=_MOST_WINNERS)
        super().__init__(sensitivity=sensitivity, epsilon=positive(epsilon, "epsilon") / winners, monotone=monotone)
        set_fields(self, k=winners)

    @cached_property
    def event(self) -> PureEvent:
        """The event of one release, gaps included."""
        return PureEvent(self.k * self.cost)

    @property
    def variance(self) -> float:
        """The variance of the noise on each score; that of a gap is twice as much."""
        return float_up(2 / self.rate**2)

    def release(self, scores: Any) -> Ranking:
        """Return the indices of the k best noisy scores, and the gap of each to the next one."""
        order, steps = self._top(scores)
        return Ranking(tuple(order.tolist()), tuple(map(self._number, steps)))

    def simulate(self, scores: Any, times: int) -> NDArray[np.float64]:
        """Return this many releases for the same scores: rows of k indices and k gaps. Each costs the event again."""
        import numpy as np

        orders, steps = self._top(scores, size=read_times(times))
        exact = [gap for row in steps for gap in row]
        narrow = max(exact, default=0) < 2**62
        gaps = (np.array(exact, dtype=np.int64) if narrow else objects_of(exact, (len(exact),))).reshape(orders.shape)
        return np.hstack([orders, from_grid(gaps, self._exponent, like=Numbers(gaps, gaps.shape, False))])

    def _top(self, scores: Any, *, size: int | None = None) -> tuple[NDArray[np.int64], list[Any]]:
        values = read_scores(scores)
        _enough(values.size, self.k + 1)
        step = step_of(self._exponent)
        return noise.noisy_top_with_gaps(values, self.rate, law="laplace", winners=self.k, step=step, size=size)

    def _number(self, gap: int) -> float:
        return float(from_grid(gap, self._exponent, like=_REAL))

    def improve(self, ranking: Ranking, measured: Any, *, variance: Number) -> tuple[float, ...]:
        """Return measured values of the winners, in their order, improved by the gaps between them.

        `variance` is that of each measurement's own noise. With measurements as noisy as the selection, the error
        falls to (1 + k) / (2 k) of what it was.

        Guarantee: post-processing of released numbers.
        Cites: [DWZK19, measuring with gaps].
        """
        instance(ranking, Ranking, "ranking", "what release returned")
        numbers = read_numbers(measured, "measured", wide=True)
        if numbers.shape != (len(ranking.indices),):
            raise RequestError(f"measured must hold one number for each of the {len(ranking.indices)} winners")
        noisy = [math.fsum(ranking.gaps[place:-1]) for place in range(len(ranking.indices))]
        return improve(
            tuple(float_near(Fraction(number)) for number in numbers.values.tolist()),
            tuple(noisy),
            measured_variance=_variance(variance),
            shown_variance=self.variance,
            offset_variance=math.inf,
        )

    @cached_property
    def _exponent(self) -> int:
        return exponent_below(1 / self.rate / 2**_GAP_BITS)

    def __repr__(self) -> str:
        options = ", monotone=True" if self.monotone else ""
        return f"TopKWithGaps(k={self.k}, sensitivity={shown(self.sensitivity)}, epsilon={self.epsilon:.6g}{options})"


def _enough(size: int, needed: int) -> None:
    if size < needed:
        raise BadValue("scores", "fewer", f"a list of at least {needed} options, to choose this many from")


def _variance(variance: Number) -> float:
    exact = positive(variance, "variance")
    if not Fraction(1, 10**200) <= exact <= 10**200:
        raise BadParameter("variance", variance, "from 1e-200 to 1e200")
    return float_up(exact)


# The most frequent values of each group: the options with the largest scores, or nothing where there is no row.
#
# A mechanism of queries: its scores are weights that a scan bounded, and the span is proven where scans are planned.


MOST_FREQUENT = 100
"""The most values that can be chosen at once."""


@wired("Frequent", "k", "span", "rate", "law", "one")
@dataclass(frozen=True)
class Frequent(Mechanism):
    """Choose in each group the `k` options with the largest scores, in order.

    Beside the options of a group there are k more that mean nothing, each with the score of half a row, `one`
    being a row's weight: without noise, a value of no row is not chosen. By `"exponential"` noise it is
    permute-and-flip, for one choice; by `"gumbel"` noise, k exponential mechanisms, each among the remaining options.

    Guarantee: if between neighbours the moves of a group's scores lie in a range of length r, and the r of all groups
    add up to at most `span`, then with exponential noise all groups together are epsilon-DP for epsilon = rate * span:
    scores may all be moved by a constant, so that each moves by r / 2 at most, and the losses of groups add up. With
    Gumbel noise each of the k choices has a privacy loss of that range in all groups together, a product of choices
    with ranges rate * r. What stands for nothing has a constant score.
    Cites: [MS20, privacy], [DKSSWXZ21]; [DR19, Gumbel noise and peeling], [DDR20, bounded range].
    """

    k: int
    span: Fraction
    rate: Fraction
    law: Literal["exponential", "gumbel"]
    one: int

    def __post_init__(self) -> None:
        check_fields(self)
        whole(self.k, "k", least=1, most=MOST_FREQUENT)
        whole(self.one, "one", least=1)
        if self.span <= 0 or self.rate <= 0:
            raise BadParameter("span", self.span, "above 0, as is the rate")
        if self.law != "gumbel" and (self.k > 1 or self.law != "exponential"):
            raise BadParameter("law", self.law, "'gumbel', or for one choice 'exponential'")

    @cached_property
    def event(self) -> Event:
        """The event of one release: the choices in all groups."""
        if self.law == "exponential":
            return PureEvent(self.rate * self.span)
        return Repeated(ExponentialEvent(epsilon=self.rate * self.span), self.k)

    def error(self, confidence: Number = 0.95, *, size: int) -> float:
        """Return how far below the best score that is left a choice of `size` options stays, at most, all k together.

        Guarantee: each of the k choices falls short with probability at most (1 - confidence) / k.
        Cites: [MS20, never worse]; [DR14, Thm 3.11].
        """
        options = whole(size, "size", least=1) + self.k
        depth = flip_depth if self.law == "exponential" else gumbel_depth
        return float_up(Fraction(depth(options, 1, tail_of(confidence) / self.k)) / self.rate)

    def release(self, groups: Sequence[Sequence[int]]) -> list[tuple[int | None, ...]]:
        """Return for each group the indices of its k best options, from their scores; None, last, for nothing."""
        return [self._choose(scores) for scores in groups]

    def _choose(self, scores: Sequence[int]) -> tuple[int | None, ...]:
        # everything is doubled, so that half a row is whole
        doubled = [*(2 * score for score in scores), *[self.one] * self.k]
        order = noise.noisy_top(doubled, self.rate / 2, law=self.law, winners=self.k).tolist()
        held = [index for index in order if index < len(scores)]
        return (*held, *[None] * (self.k - len(held)))

    def __repr__(self) -> str:
        return f"Frequent(k={self.k}, law={self.law!r}, epsilon={self.epsilon:.6g})"
