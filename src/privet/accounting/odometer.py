"""Odometers: a running total of privacy loss that may be read, and acted upon, at any time.

A filter promises a cap that was fixed in advance; an odometer promises nothing in advance and is looser for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from privet.core.errors import BadParameter, RequestError
from privet.core.event import Event, Exact, read_event
from privet.core.exact import Number, failure_probability, read_order
from privet.core.given import listed, read_fields
from privet.core.rounding import float_up

from .filters import add_exact, compact
from .gdp import log_down

DEFAULT_ORDERS = (1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0, 129.0, 257.0)


@dataclass(frozen=True)
class Odometer:
    """Running sums of pure epsilon, of slack and of the Renyi divergences of a few orders fixed at opening.

    At order a, exp((a - 1)(loss - sum of divergences)) is a supermartingale that starts at 1, so by Ville's inequality
    the loss ever exceeds the sum plus ln(m / delta)/(a - 1) with probability at most delta / m; with m orders, the
    least over them holds except with probability delta, at all times at once. The sum of pure epsilons always holds.

    Guarantee: outside an event of probability delta plus the slack so far, the loss is at no time above `epsilon()`.
    Cites: [WRRW23], [RRUV16].
    """

    delta: Fraction
    orders: tuple[float, ...]
    sums: tuple[Exact, ...]
    pure: Exact = Fraction(0)
    slack: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        read_fields(self)
        failure_probability(self.delta)
        if len(self.orders) != len(self.sums):
            raise BadParameter("sums", self.sums, "one for each of the orders")

    def spend(self, event: Event) -> Odometer:
        """Return the odometer after one more event, chosen in any way from what came before."""
        read_event(event)
        costs = (event.rdp(order) for order in self.orders)
        return replace(
            self,
            sums=tuple(add_exact(total, cost) for total, cost in zip(self.sums, costs, strict=True)),
            pure=add_exact(self.pure, event.pure()),
            slack=min(Fraction(1), compact(self.slack + event.slack())),
        )

    def epsilon(self) -> float:
        """Return the running bound on the loss, rounded up."""
        candidates = [float_up(self.pure)]
        if self.delta > 0:
            penalty = Fraction(-log_down(self.delta / len(self.orders)))
            for order, total in zip(self.orders, self.sums, strict=True):
                if isinstance(total, Fraction):
                    candidates.append(float_up(total + penalty / (Fraction(order) - 1)))
        return min(candidates)

    def failure(self) -> Fraction:
        """Return the probability with which `epsilon` may not hold: delta, and the slack so far."""
        return min(Fraction(1), self.delta + self.slack)


def open_odometer(delta: Number, *, orders: tuple[float, ...] = DEFAULT_ORDERS) -> Odometer:
    """Return an odometer at zero, its delta and Renyi orders fixed here; at delta 0 it counts pure epsilon only."""
    allowed = failure_probability(delta)
    chosen = tuple(read_order(order) for order in listed(orders, "orders", "a list of Renyi orders", most=1000))
    if allowed > 0 and not chosen:
        raise RequestError("orders must be one or more Renyi orders, for an odometer with a delta above 0")
    chosen = chosen if allowed > 0 else ()
    return Odometer(allowed, chosen, tuple(Fraction(0) for _ in chosen))
