"""What is left of each budget, for people: how much of it is spent, what still fits, who may not spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.accounting.filters import Filter, PureFilter, RenyiFilter, ZcdpFilter
from privet.core.budget import Budget, Pure, Zcdp
from privet.core.event import Exact
from privet.core.rounding import float_down

from . import codec
from .account import Account
from .records import Time, write_time
from .state import FREEZES, State


@dataclass(frozen=True)
class Balance:
    """One budget at one time. `account` is None for the data set's own.

    `spent` is a share of what there is: of the measure in which the account counts, or of the delta for keys where
    that is nearer to its end. `largest_epsilon` is the most that one more pure question can cost, under the
    data set's budget as well; `largest_rho` the same for an account that counts rho, and None for others.
    """

    account: str | None
    budget: Budget
    spent: float
    largest_epsilon: float
    largest_rho: float | None
    keys_delta: Fraction
    expires: Time | None
    expired: bool
    frozen: bool

    @property
    def state(self) -> str:
        """Whether the account may spend: open, expired or frozen."""
        return "frozen" if self.frozen else "expired" if self.expired else "open"

    def to_dict(self) -> dict[str, Any]:
        """Return the balance as plain data."""
        return {
            "account": self.account,
            "budget": codec.write_budget(self.budget),
            "spent_share": self.spent,
            "largest_epsilon": self.largest_epsilon,
            "largest_rho": self.largest_rho,
            "keys_delta": float_down(self.keys_delta),
            "expires": None if self.expires is None else write_time(self.expires),
            "state": self.state,
        }


def balances_of(state: State, now: Time) -> tuple[Balance, ...]:
    """Return the balance of the data set, and then of each account, by name."""
    whole = _balance(None, state.whole, state, now)
    return whole, *(_balance(name, state.accounts[name], state, now) for name in sorted(state.accounts))


def _balance(name: str | None, account: Account, state: State, now: Time) -> Balance:
    left, whole = account.remaining(), state.whole
    over = whole.remaining()
    ends = [end for end in (account.expires, whole.expires) if end is not None]
    return Balance(
        name,
        account.budget(),
        min(spent_share(one) for one in account.filters),
        min(left.largest_epsilon, over.largest_epsilon),
        _rho(account, whole) if isinstance(account.budget(), Zcdp) else None,
        min(left.delta, over.delta),
        min(ends, default=None),
        any(now >= end for end in ends),
        name is not None and state.failures.get(name, 0) >= FREEZES,
    )


def _rho(*accounts: Account) -> float:
    """Return the largest rho that Gaussian noise may still cost under all of these accounts, rounded down."""
    return max(0.0, float_down(min(max(map(_rho_left, account.filters)) for account in accounts)))


def _rho_left(one: Filter) -> Fraction:
    match one:
        case ZcdpFilter(budget=Zcdp(rho=most), spent=spent):
            return most - spent
        case RenyiFilter(order=order, spent=spent) if not math.isinf(spent):
            # a divergence enters the sum as a float that is rounded up, so a little less than all of it fits
            return (one.allowed - Fraction(spent)) / Fraction(order) * (1 - Fraction(1, 2**40))
    return Fraction(0)


def spent_share(one: Filter) -> float:
    """Return which part of a filter's room was taken, from 0 to 1."""
    match one:
        case PureFilter(budget=Pure(epsilon=most), spent=spent) | ZcdpFilter(budget=Zcdp(rho=most), spent=spent):
            return _share(spent, most)
        case RenyiFilter(spent=spent, spent_pure=pure, spent_delta=delta):
            charged = min(_share(spent, one.allowed), _share(pure, one.budget.epsilon))
            return max(charged, _share(delta, one.keys_delta))
    return 1.0


def _share(spent: Exact, most: Fraction) -> float:
    return 1.0 if math.isinf(spent) or spent >= most else float(Fraction(spent) / most)
