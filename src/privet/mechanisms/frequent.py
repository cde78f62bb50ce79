"""The most frequent values of each group: the options with the largest scores, or nothing where there is no row.

A mechanism of queries: its scores are weights that a scan bounded, and the span is proven where scans are planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from privet import noise
from privet.accounting.events import PureEvent
from privet.core.errors import BadParameter
from privet.core.event import Event, Repeated
from privet.core.given import check_fields
from privet.core.numbers import Number, float_up, whole
from privet.core.wire import wired

from .lattice import tail_of
from .mechanism import Mechanism
from .selection import ExponentialEvent, flip_depth, gumbel_depth

MOST_WINNERS = 100
"""So many values can be asked for at once."""


@wired("Frequent", "k", "span", "rate", "law", "one")
@dataclass(frozen=True)
class Frequent(Mechanism):
    """Choose in each group the `k` options with the largest scores, in order.

    Beside the options of a group there are k more that stand for nothing, each with the score of half a row, `one`
    being what a row weighs: without noise, what no row holds is not chosen. By `"exponential"` noise it is
    permute-and-flip, for one choice; by `"gumbel"` noise, k exponential mechanisms, each among what is left.

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
        whole(self.k, "k", least=1, most=MOST_WINNERS)
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
