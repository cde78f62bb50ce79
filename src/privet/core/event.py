"""Computations in an accountant's terms, and a ledger's records of them: an entry, and a receipt.

Events answer questions; accountants ask them. An event never changes and never looks at data. `Composed` and `Repeated`
are events too, and `Repeated` is the only place that knows a count.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol, Union, cast, runtime_checkable

from .errors import RequestError, Unsupported
from .given import is_a, listed, read_fields, set_fields
from .numbers import float_up, read_order, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


# Dominating pairs: two distributions P and Q such that no pair of neighbours is easier to distinguish.
#
# All that an accountant ever needs of a pair is its hockey-stick divergence, in both directions: H(epsilon) = sup over
# sets S of P(S) - e**epsilon Q(S).


class Pair(Protocol):
    """Two distributions, known by how well they can be distinguished.

    Both methods take an array of non-negative epsilons and return, entry by entry, an upper bound on the
    divergence that is accurate to a relative error of about 1e-12, tails included. A negative epsilon follows
    from the other direction: H(P, Q)(-e) = 1 - exp(-e) + exp(-e) H(Q, P)(e).
    """

    def forward(self, epsilon: Floats) -> Floats:
        """Return H of (P, Q), where P comes from the data with the unit in question."""
        ...

    def backward(self, epsilon: Floats) -> Floats:
        """Return H of (Q, P)."""
        ...

    def reach(self) -> tuple[float, float]:
        """Return epsilons beyond which `forward` and `backward` no longer fall (infinite if they always do).

        A loss distribution with bounded support is constant from its largest finite loss on; what remains
        there is the probability of an infinite loss.
        """
        ...


class NoPair(Unsupported):
    """The event has no single dominating pair that is known."""

    code = "request.no_pair"


Exact = Fraction | float
"""An exact rational, or `math.inf`."""


@runtime_checkable
class Event(Protocol):
    """One private computation, as its privacy cost depends on it.

    Every answer is an upper bound for both orders of every pair of neighbours. The event is
    indistinguishable within the curve `rdp` except with probability `slack`; `pure` and `rho` bound that same
    curve, so an event with slack is (pure, slack)-DP and slack-approximate rho-zCDP.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> isinstance(laplace, accounting.Event), laplace.pure()
        (True, Fraction(1, 2))
    """

    def pure(self) -> Exact:
        """Return the least known epsilon that is valid outside the slack; infinite if none is."""
        ...

    def rho(self) -> Exact:
        """Return the zCDP parameter: rdp(order) <= rho * order for every order above 1."""
        ...

    def slack(self) -> Fraction:
        """Return the delta that no Renyi curve carries; 0 for most events."""
        ...

    def rdp(self, order: float) -> float:
        """Return the Renyi divergence of this order (above 1), rounded up."""
        ...

    def pair(self) -> Pair:
        """Return a pair of distributions that dominates the event, slack included."""
        ...

    def atoms(self) -> dict[Event, int]:
        """Return the events that make this one up, each with how often it happened."""
        ...


class Atom:
    """An event that is not made of others."""

    def atoms(self) -> dict[Event, int]:
        """Return this event, once."""
        return {self: 1}  # type: ignore[dict-item]  # every subclass is an Event


@dataclass(frozen=True)
class Composed:
    """Several events on the same data, each possibly chosen after seeing the answers before it.

    Args:
        events: the events.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.Composed((laplace, laplace)).pure()
        Fraction(1, 1)

    Guarantee: pure epsilons, zCDP parameters, Renyi curves of one order and slacks add.
    Cites: [DR14, Thm 3.16], [BS16, Lemma 1.7], [Mir17, Prop. 1].
    """

    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        set_fields(self, events=read_events(self.events))

    def pure(self) -> Exact:
        return _sum(event.pure() for event in self.events)

    def rho(self) -> Exact:
        return _sum(event.rho() for event in self.events)

    def slack(self) -> Fraction:
        return min(Fraction(1), sum((event.slack() for event in self.events), Fraction(0)))

    def rdp(self, order: float) -> float:
        at = read_order(order)
        return add_up(event.rdp(at) for event in self.events)

    def pair(self) -> Pair:
        raise NoPair("a composition has no single pair; its privacy loss distribution composes its atoms")

    def atoms(self) -> dict[Event, int]:
        total: dict[Event, int] = {}
        for event in self.events:
            for atom, times in event.atoms().items():
                total[atom] = total.get(atom, 0) + times
        return total


@dataclass(frozen=True)
class Repeated:
    """The same event, a number of times, on the same data, adaptively.

    Args:
        event: an `Event`, such as `mechanism.event`.
        times: how often the event is repeated.

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> accounting.Repeated(laplace, 10).pure()
        Fraction(5, 1)

    Guarantee: as `Composed` of that many copies.
    """

    event: Event
    times: int

    def __post_init__(self) -> None:
        read_event(self.event)
        set_fields(self, times=whole(self.times, "times", most=10**18))

    def pure(self) -> Exact:
        return _times(self.times, self.event.pure())

    def rho(self) -> Exact:
        return _times(self.times, self.event.rho())

    def slack(self) -> Fraction:
        return min(Fraction(1), self.times * self.event.slack())

    def rdp(self, order: float) -> float:
        at = read_order(order)
        if self.times == 0:
            return 0.0
        once = self.event.rdp(at)
        return once if math.isinf(once) else float_up(self.times * Fraction(once))

    def pair(self) -> Pair:
        if self.times == 1:
            return self.event.pair()
        return Composed((self.event,)).pair()

    def atoms(self) -> dict[Event, int]:
        if self.times == 0:
            return {}
        return {atom: times * self.times for atom, times in self.event.atoms().items()}


def read_event(event: object) -> Event:
    """Return an event, and refuse any other value, a class of events included."""
    if isinstance(event, type):
        raise RequestError(f"events must be Events; got the class {event.__name__} itself")
    if not is_a(event, Event):
        raise RequestError(f"events must be Events; got a {type(event).__name__}")
    return cast(Event, event)


def read_events(events: object) -> tuple[Event, ...]:
    """Return a collection of events, and refuse any other value."""
    return tuple(read_event(event) for event in listed(events, "events", "a collection of Events"))


def add_up(terms: Iterable[float]) -> float:
    """Return the sum of non-negative doubles, rounded up."""
    values = list(terms)
    if any(math.isinf(value) for value in values):
        return math.inf
    return float_up(sum(map(Fraction, values), Fraction(0)))


def _sum(costs: Iterable[Exact]) -> Exact:
    # Adding an infinity to a Fraction converts the Fraction, which overflows where it exceeds every double.
    total = Fraction(0)
    for cost in costs:
        if isinstance(cost, float):
            return math.inf
        total += cost
    return total


def _times(times: int, cost: Exact) -> Exact:
    if times == 0:
        return Fraction(0)
    return times * cost


# A ledger's results: one charge as it is shown, and the receipt without which no noise is drawn on data. Both are
# public, complete, and never changed once written.


Plain = Union[None, bool, int, str, Fraction, datetime.date, tuple["Plain", ...]]  # noqa: UP007  # it names itself
"""The values that a ledger can store of an answer: plain values and tuples of them, which it returns unchanged."""


@dataclass(frozen=True)
class Entry:
    """A charge: the event, the plan, the account and the time.

    `shared` is the number of the charge whose answer this one repeats: such a charge counts against the account's own
    cap and not again against the data set's. `versions` are the declared labels of the tables that were read; `text` is
    the plan in words, and `facts` is the same as plain data for JSON.
    """

    number: int
    time: str
    account: str
    digest: str
    event: Event
    key: str | None = None
    shared: int | None = None
    versions: tuple[tuple[str, str], ...] = field(default=())
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Receipt:
    """The entry of a ledger that paid for a plan: its number, the plan's digest, and who paid.

    `head` is the ledger's head after that entry, and after its answer once there is one. Kept outside the ledger, as a
    certificate does, it shows whether an old copy of the ledger was put back. `answered` is False where the plan had no
    answer yet; a ledger that does not know leaves it True. Both are evidence, and no part of what a receipt is.
    """

    entry: int
    digest: str
    account: str
    head: str = field(default="", compare=False)
    answered: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        read_fields(self)
