"""Whatever cannot be shown is not written. An entry stays for good, and each command after it has to show what it did.

Amounts are shown as floats, and exact rationals go further than floats do: so every budget is held to what a float can
say, and before a rule is written all that would be shown afterwards is worked out once.
"""

from __future__ import annotations

import math

from privet.accounting.filters import open_filter
from privet.core.errors import PrivetError, RequestError
from privet.core.rounding import float_down, float_up

from .account import check_amounts
from .entries import Answered, Charged, Rule, Written, read_entry
from .state import State, balances_of


def check_shown(state: State, written: Written, body: str) -> None:
    """Raise `RequestError` unless an entry can be read back, and all that it leads to can be shown.

    `state` is the balance after the entry, and `body` its text. An answer is read back by who stores it.
    """
    record = written.record
    if isinstance(record, Answered):
        return
    try:
        whole = read_entry(body) == written
        if isinstance(record, Charged):
            written.entry()
        elif isinstance(record, Rule):
            whole = whole and _told(state, written)
    except (PrivetError, ArithmeticError, ValueError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise RequestError(
            "what is to be recorded could not be shown afterwards, so it is not recorded; use amounts from 1e-300 to "
            "1e300, also in sum, and plain text"
        )


def _told(state: State, written: Written) -> bool:
    """Return whether every balance, and the most that one query may cost, can be put as finite numbers."""
    numbers: list[float] = []
    for balance in balances_of(state, written.time):
        balance.to_dict()
        check_amounts(balance.budget, "budget")
        numbers += [balance.spent, balance.largest_epsilon, balance.largest_rho or 0.0, float_down(balance.keys_delta)]
        for amount in vars(balance.budget).values():
            numbers += [float_up(amount), float_down(amount)]
    if (most := state.opened.per_query) is not None:
        left = open_filter(most).remaining()
        numbers += [left.largest_epsilon, float_up(left.amount)]
    return all(map(math.isfinite, numbers))
