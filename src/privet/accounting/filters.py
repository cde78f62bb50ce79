"""Filters: may this event still be charged, when each was chosen after seeing the answers before it?

A filter is a value of constant size; spending returns a new one. Sums are exact, so no charge is too small to count.
Privacy loss distributions have no place here: they compose costs that were fixed in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from privet.core.budget import Approximate, Budget, Pure, Zcdp
from privet.core.errors import BadParameter, BudgetExceeded, RequestError, Unsupported
from privet.core.event import Event, Exact, read_event
from privet.core.given import listed, read_fields
from privet.core.numbers import (
    Number,
    compact,
    failure_probability,
    float_down,
    float_up,
    most,
    open_probability,
    read_order,
)
from privet.display import room, round_down

from .convert import best_order, order_budget, rho_from
from .events import response_rdp, response_rho
from .gdp import log_down


@dataclass(frozen=True, repr=False)
class Remaining:
    """The remainder of a budget, in the filter's own measure, and the largest pure epsilon that still fits.

    Example:
        >>> accounting.open_filter(privet.Pure(epsilon=1)).remaining().largest_epsilon
        1.0
    """

    measure: str
    amount: Exact
    delta: Fraction
    largest_epsilon: float

    def __post_init__(self) -> None:
        read_fields(self)

    def __repr__(self) -> str:
        rho = float_down(self.amount) if self.measure == "rho" else None
        delta = f"; delta {round_down(float_down(self.delta))} for finding groups" if self.delta else ""
        return f"{room(self.largest_epsilon, rho)} for one more question{delta}"


class Filter(Protocol):
    """An account's gate: admits an event, or not, by the spending before it.

    Example:
        >>> gate = accounting.open_filter(privet.Pure(epsilon=1))
        >>> gate.spend(accounting.PureEvent(0.75)).remaining().largest_epsilon
        0.25
    """

    def admits(self, event: Event) -> bool:
        """Return whether the event fits."""
        ...

    def spend(self, event: Event) -> Filter:
        """Return the filter after the event; raise `BudgetExceeded` or `Unsupported` if it does not fit."""
        ...

    def remaining(self) -> Remaining:
        """Return the remainder."""
        ...


@dataclass(frozen=True)
class PureFilter:
    """Admits while the sum of pure epsilons stays within the budget.

    Guarantee: all that was admitted is together epsilon-DP, however each event was chosen.
    Cites: [RRUV16].
    """

    budget: Pure
    spent: Fraction = Fraction(0)

    def admits(self, event: Event) -> bool:
        return read_event(event).slack() == 0 and add_exact(self.spent, event.pure()) <= self.budget.epsilon

    def spend(self, event: Event) -> PureFilter:
        if not self.admits(event):
            raise _refusal(event, "pure epsilon", event.pure(), self.remaining())
        return replace(self, spent=compact(self.spent + Fraction(event.pure())))

    def remaining(self) -> Remaining:
        left = max(Fraction(0), self.budget.epsilon - self.spent)
        return Remaining("pure epsilon", left, Fraction(0), float_down(left))


@dataclass(frozen=True)
class ZcdpFilter:
    """Admits while the sum of zCDP parameters stays within the budget.

    Guarantee: all that was admitted is together rho-zCDP, however each event was chosen.
    Cites: [FZ21, the Renyi filter], [WRRW23].
    """

    budget: Zcdp
    spent: Fraction = Fraction(0)

    def admits(self, event: Event) -> bool:
        return read_event(event).slack() == 0 and add_exact(self.spent, event.rho()) <= self.budget.rho

    def spend(self, event: Event) -> ZcdpFilter:
        if not self.admits(event):
            raise _refusal(event, "rho", event.rho(), self.remaining())
        return replace(self, spent=compact(self.spent + Fraction(event.rho())))

    def remaining(self) -> Remaining:
        left = max(Fraction(0), self.budget.rho - self.spent)
        # e tanh(e/2) exceeds r at e = r + 3, whatever r.
        epsilon = most(lambda e: response_rho(Fraction(e)) <= left, 0.0, float_up(left + 3))
        return Remaining("rho", left, Fraction(0), epsilon)


@dataclass(frozen=True)
class RenyiFilter:
    """Admits while the Renyi divergences of one order, fixed at opening, add up to the allowance of (epsilon, delta).

    Slack is counted apart, against the share of delta set aside for keys. While the sum of pure epsilons is within
    epsilon an event is admitted too: on those histories the loss never exceeds epsilon, so they take nothing of
    delta, and on all others the supermartingale of the one order bounds delta as if they did not exist.

    Guarantee: all that was admitted is together (epsilon, delta)-DP, however each event was chosen.
    Cites: [FZ21, the Renyi filter], [WRRW23], [CKS20, Prop. 12], [RRUV16].
    """

    budget: Approximate
    order: float
    keys_share: Fraction
    spent: Exact = Fraction(0)
    spent_pure: Exact = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    @property
    def keys_delta(self) -> Fraction:
        """Return the part of delta that pays for thresholds."""
        return self.budget.delta * self.keys_share

    @property
    def allowed(self) -> Fraction:
        """Return the sum of divergences that the tight conversion turns into epsilon at the rest of delta."""
        rest = self.budget.delta - self.keys_delta
        return Fraction(max(0.0, order_budget(self.budget.epsilon, self.order, log_down(rest))))

    @property
    def kept(self) -> bool:
        """Return whether the spending is within the budget."""
        return self.spent_delta <= self.keys_delta and (
            self.spent <= self.allowed or self.spent_pure <= self.budget.epsilon
        )

    def admits(self, event: Event) -> bool:
        return self._after(event).kept

    def spend(self, event: Event) -> RenyiFilter:
        after = self._after(event)
        if after.kept:
            return after
        if after.spent_delta > self.keys_delta:
            raise self._out_of_delta(event)
        requested = event.rdp(self.order)
        measure = f"Renyi divergence of order {self.order:g}"
        raise _refusal(event, measure, requested, self.remaining(), countable=False)

    def _after(self, event: Event) -> RenyiFilter:
        return replace(
            self,
            spent=add_exact(self.spent, read_event(event).rdp(self.order)),
            spent_pure=add_exact(self.spent_pure, event.pure()),
            spent_delta=compact(self.spent_delta + event.slack()),
        )

    def remaining(self) -> Remaining:
        left = max(Fraction(0), self.allowed - self.spent)
        # The curve of randomised response is above e - ln(2)/(order - 1).
        enough = float_up(left) + 1 / (self.order - 1) + 1
        by_order = most(lambda e: response_rdp(Fraction(e), self.order) <= left, 0.0, enough)
        by_pure = max(Fraction(0), self.budget.epsilon - self.spent_pure)
        return Remaining(
            f"Renyi divergence of order {self.order:g}",
            left,
            self.keys_delta - self.spent_delta,
            max(by_order, float_down(by_pure)),
        )

    def _out_of_delta(self, event: Event) -> BudgetExceeded:
        left = self.keys_delta - self.spent_delta
        return BudgetExceeded(
            measure="the delta set aside for keys",
            requested=float_up(event.slack()),
            remaining=float_down(left),
            largest_epsilon=self.remaining().largest_epsilon,
        )


def open_filter(budget: Budget, *, keys_share: Number = Fraction(1, 100), order: float | None = None) -> Filter:
    """Return a fresh filter for a budget.

    For (epsilon, delta) the order is fixed here, from the budget alone: unless given, the one at which the most
    Gaussian noise fits. `keys_share` is the part of delta that pays for thresholds, and nothing else can.

    Args:
        budget: a `Pure`, an `Approximate` or a `Zcdp`.
        keys_share: the part of delta that may be spent on finding groups.
        order: the Renyi order to count in; chosen if left out.

    Example:
        >>> gate = accounting.open_filter(privet.Pure(epsilon=1))
        >>> gate.remaining().largest_epsilon
        1.0

    Guarantee: whatever the filter admits keeps the budget's promise.
    """
    share = open_probability(keys_share, "keys_share")
    at = None if order is None else read_order(order)
    match budget:
        case Pure():
            return PureFilter(budget)
        case Zcdp():
            return ZcdpFilter(budget)
        case Approximate():
            chosen = best_filter_order(budget, share) if at is None else at
            return RenyiFilter(budget, chosen, share)
    raise BadParameter("budget", budget, "Pure, Approximate or Zcdp")


def best_filter_order(budget: Approximate, keys_share: Fraction) -> float:
    """Return the order at which the most zCDP fits into (epsilon, delta): that of the tight conversion."""
    rest = budget.delta * (1 - keys_share)
    rho = rho_from(budget.epsilon, rest)
    return best_order(lambda order: rho * order, rest)[1]


def _refusal(
    event: Event, measure: str, requested: Exact, left: Remaining, *, countable: bool = True
) -> RequestError | BudgetExceeded:
    if event.slack() > 0 and left.delta == 0:
        return Unsupported(
            "this has a delta, and the account promises an epsilon or a rho without exception; "
            "declare the keys so that none need be discovered, or open an (epsilon, delta) account"
        )
    if requested == math.inf:
        return Unsupported(f"this has no finite cost in {measure}, the account's measure; choose other noise")
    return BudgetExceeded(
        measure=measure,
        requested=float_up(requested),
        remaining=float_down(left.amount),
        largest_epsilon=left.largest_epsilon,
        largest_rho=float_down(left.amount) if measure == "rho" else None,
        countable=countable,
    )


def add_exact(total: Exact, charge: Exact) -> Exact:
    """Return the exact sum of two charges, infinite if either is; a Renyi divergence enters as the rational it is."""
    if math.isinf(total) or math.isinf(charge):
        return math.inf
    return compact(Fraction(total) + Fraction(charge))


# Odometers: a running total of privacy loss that may be read, and acted upon, at any time.
#
# A filter promises a cap that was fixed in advance; an odometer promises nothing in advance and is looser for it.


DEFAULT_ORDERS = (1.5, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0, 65.0, 129.0, 257.0)


@dataclass(frozen=True)
class Odometer:
    """Running sums of pure epsilon, of slack and of the Renyi divergences of a few orders fixed at opening.

    At order a, exp((a - 1)(loss - sum of divergences)) is a supermartingale that starts at 1, so by Ville's inequality
    the loss ever exceeds the sum plus ln(m / delta)/(a - 1) with probability at most delta / m; with m orders, the
    least over them holds except with probability delta, at all times at once. The sum of pure epsilons always holds.

    Example:
        >>> meter = accounting.open_odometer(1e-6).spend(accounting.PureEvent(0.5))
        >>> meter.epsilon()
        0.5

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
        """Return the odometer after one more event, chosen in any way from the earlier ones."""
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
        """Return the probability with which `epsilon` may fail: delta, and the slack so far."""
        return min(Fraction(1), self.delta + self.slack)


def open_odometer(delta: Number, *, orders: tuple[float, ...] = DEFAULT_ORDERS) -> Odometer:
    """Return an odometer at zero, its delta and Renyi orders fixed here; at delta 0 it counts pure epsilon only.

    Args:
        delta: the probability with which the loss may exceed epsilon.
        orders: the Renyi orders to count in.

    Example:
        >>> accounting.open_odometer(1e-6).epsilon()
        0.0
    """
    allowed = failure_probability(delta)
    chosen = tuple(read_order(order) for order in listed(orders, "orders", "a list of Renyi orders", most=1000))
    if allowed > 0 and not chosen:
        raise RequestError("orders must be one or more Renyi orders, for an odometer with a delta above 0")
    chosen = chosen if allowed > 0 else ()
    return Odometer(allowed, chosen, tuple(Fraction(0) for _ in chosen))
