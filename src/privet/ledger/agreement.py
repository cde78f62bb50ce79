"""Whether a ledger's file has the rules that its opener names."""

from __future__ import annotations

from privet.core.budget import Budget
from privet.core.errors import BadParameter
from privet.core.exact import open_probability

from .account import make_cap
from .records import Time
from .rules import read_expiry, read_limit
from .state import State


def check_rules(
    state: State, budget: Budget | None, *, per_query: Budget | None, expires: Time | None, keys_share: object
) -> None:
    """Raise `BadParameter` unless a ledger has the rules that were named: with a budget all of them, else those given.

    The budget is the one that the ledger was opened with, or that and all top-ups together.
    """
    rules = state.opened
    if keys_share is not None and (share := open_probability(keys_share, "keys_share")) != rules.cap.keys_share:
        raise _other("keys_share", share, rules.cap.keys_share, "it cannot be changed")
    if budget is not None:
        held = (rules.cap.budget, state.whole.budget())
        if make_cap(budget, rules.cap.keys_share).budget not in held:
            raise _other("budget", budget, held[1], "top_up adds to a budget")
    limit, until = read_limit(per_query), read_expiry(expires)
    if limit != rules.per_query and (limit, budget) != (None, None):
        raise _other("per_query", limit, rules.per_query, "limit changes it")
    if until != rules.expires and (until, budget) != (None, None):
        raise _other("expires", until, rules.expires, "reschedule changes it")


def check_account(name: str, cap: Budget, opened_with: Budget, now: Budget) -> None:
    """Raise `BadParameter` unless a cap is the one that an account was opened with, or that and all its top-ups."""
    if cap not in (opened_with, now):
        raise _other(f"analysts[{name!r}]", cap, now, "top_up adds to a budget")


def _other(parameter: str, wanted: object, held: object, advice: str) -> BadParameter:
    return BadParameter(parameter, _told(wanted), f"what the ledger has, which is {_told(held)} ({advice})")


def _told(rule: object) -> object:
    return rule.describe() if isinstance(rule, Budget) else str(rule)
