"""The base of every mechanism: a frozen value that can release, and whose event is the cost of a release.

A mechanism object is outside any ledger: nothing counts how often it is used. Compose its events yourself
(`privet.accounting`), or ask through a session, which charges before it reads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.event import Event
from privet.core.given import function, instance
from privet.core.numbers import float_up, whole

_MOST_RELEASES = 10**9


def shown(number: Fraction) -> str:
    """Return a public number for a repr: exact where that is short."""
    exact = str(number) if number.denominator.bit_length() + number.numerator.bit_length() <= 40 else ""
    return exact if 0 < len(exact) <= 12 else f"{float_up(number):.6g}"


def read_times(times: int) -> int:
    """Return how many releases are simulated."""
    return whole(times, "times", most=_MOST_RELEASES)


class Mechanism(ABC):
    """A randomised function of private data with a known privacy cost.

    Example:
        >>> isinstance(privet.Laplace(sensitivity=1, epsilon=1), mechanisms.Mechanism)
        True
    """

    @property
    @abstractmethod
    def event(self) -> Event:
        """The privacy event of one release: all that an accountant needs."""

    @abstractmethod
    def release(self, value: Any) -> Any:
        """Return a private answer, drawn afresh each time."""

    def simulate(self, value: Any, times: int) -> Any:
        """Return this many releases of the same value, drawn by the same sampler, together where that is faster.

        For audits and simulations. Each costs the event once more: all of them, `Repeated(event, times)`.
        """
        return [self.release(value) for _ in range(read_times(times))]

    @property
    def epsilon(self) -> float:
        """The pure epsilon of one release, rounded up; infinite where only (epsilon, delta) holds."""
        return float_up(self.event.pure())

    def map(self, function: Callable[[Any], Any]) -> Mapped:
        """Return this mechanism followed by a function that uses only the release."""
        return Mapped(self, function)


@dataclass(frozen=True)
class Mapped(Mechanism):
    """A mechanism whose releases pass through a function of the released value alone.

    Args:
        mechanism: the mechanism that releases.
        function: a function of one released value.

    Example:
        >>> rounded = privet.Laplace(sensitivity=1, epsilon=1).map(lambda value: max(0, value))
        >>> rounded.release(3) >= 0, rounded.epsilon
        (True, 1.0)

    Guarantee: the event of the mechanism, unchanged, provided the function does not touch the data.
    Cites: [DR14, Prop. 2.1].
    """

    mechanism: Mechanism
    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        instance(self.mechanism, Mechanism, "mechanism", "a Mechanism")
        function(self.function, "function", "a function of one released value")

    @property
    def event(self) -> Event:
        return self.mechanism.event

    def release(self, value: Any) -> Any:
        """Return the function of a fresh release."""
        return self.function(self.mechanism.release(value))
