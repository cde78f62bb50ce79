"""A mechanism from outside the package: all of it, in one file."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.accounting.events import PureEvent
from privet.core.errors import RequestError
from privet.mechanisms import Mechanism

LN_2 = Fraction(6_931_471_806, 10**10)
"""At least ln 2."""


def heads() -> int:
    """Return how many times a fair coin shows heads before it first shows tails."""
    count = 0
    while secrets.randbits(1):
        count += 1
    return count


@dataclass(frozen=True)
class FairCoins(Mechanism):
    """A count plus the heads of one series of fair coins, minus those of another.

    Guarantee: the noise k has chance 2**-|k| / 3, so counts that differ by 1 have chances within a factor of 2:
    epsilon = ln 2.
    """

    @property
    def event(self) -> PureEvent:
        """The cost of one release."""
        return PureEvent(LN_2)

    def release(self, value: Any) -> int:
        """Return a count with noise."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise RequestError("a count is a whole number")
        return value + heads() - heads()


COINS = FairCoins()
"""For `privet audit fair_coins:COINS`."""


@dataclass(frozen=True)
class CheapCoins(FairCoins):
    """The same noise for a count, and a claim of half of its cost.

    Guarantee: none that holds.
    """

    @property
    def event(self) -> PureEvent:
        """Less than the cost of one release."""
        return PureEvent(LN_2 / 2)
