"""Replies to questions that an account has paid for and was answered: kept in memory, and sent again at once.

A stored answer needs neither a plan nor the ledger, whose lock is held while charges become durable. What is kept is
bounded by its size; what is not kept any more is planned and found in the ledger, as ever.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Any

from privet.answer import Answer
from privet.planner.public_plan import PublicPlan

_MOST_BYTES = 64_000_000


class OwnReplies:
    """The replies of all accounts, each for its account and for the rights with which it was asked.

    Guarantee: a reply is found by the account that was handed it, with the rights under which it was admitted, and by
    no one else.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[Hashable, bytes]] = OrderedDict()

    def find(self, account: str, identifier: str, rights: Hashable) -> bytes | None:
        """Return the reply to an account's own question, if it is kept."""
        with self._lock:
            kept = self._kept.get((account, identifier))
            if kept is None or kept[0] != rights:
                return None
            self._kept.move_to_end((account, identifier))
            return kept[1]

    def keep(self, account: str, identifier: str, rights: Hashable, reply: bytes) -> None:
        """Keep a reply that was handed over; those that were not sent for the longest time make room."""
        with self._lock:
            before = self._kept.pop((account, identifier), None)
            self._size -= 0 if before is None else len(before[1])
            self._kept[account, identifier] = rights, reply
            self._size += len(reply)
            while self._size > self._most:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._size -= len(dropped)


def repeats(operation: str, body: Mapping[str, Any]) -> bool:
    """Return whether asking again must give the same reply, whatever the ledger contains by then.

    A question without a cost of its own costs a share of the budget, and one with a width may go on where it stopped.
    """
    stated = {name for name, value in body.items() if value is not None}
    return operation == "ask" and bool(stated & {"epsilon", "rho"}) and not stated & {"within", "at_most"}


def is_released(result: Any) -> bool:
    """Return whether a result was made of what is stored for good: public tables are read each time."""
    return isinstance(result, Answer) and not isinstance(result.plan, PublicPlan)
