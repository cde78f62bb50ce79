"""A ledger in memory: the same rules as any other, and gone with the process."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction

from privet.core.budget import Budget
from privet.core.errors import LedgerError
from privet.core.given import function

from .bookkeeping import Bookkeeping
from .chain import Head, link
from .checks import Checks
from .entries import Answered, Charged, Failed, Record, Time, Written, read_entry, write_entry
from .limits import KEYS_SHARE, Clock, make_rules, next_time, read_caps, utc_now
from .shown import check_shown
from .state import State


class MemoryLedger(Bookkeeping):
    """An append-only list of entries that lasts as long as the process."""

    def __init__(
        self,
        budget: Budget,
        *,
        analysts: Mapping[str, Budget] | None = None,
        per_query: Budget | None = None,
        expires: Time | None = None,
        keys_share: Fraction = KEYS_SHARE,
        clock: Clock = utc_now,
    ) -> None:
        rules = make_rules(
            budget, per_query=per_query, expires=expires, keys_share=keys_share, ledger=secrets.token_hex(16)
        )
        self._clock = function(clock, "clock", "a function that returns the time")
        self._lock = threading.Lock()
        self._page = _Pages(clock)
        self._page.append(rules)
        for name, cap in read_caps(analysts).items():
            self.open_account(name, cap)

    @contextmanager
    def _writing(self) -> Iterator[_Pages]:
        with self._lock:
            yield self._page

    _reading = _writing

    def verify(self) -> None:
        """Raise `LedgerError` unless the record is whole and what it shows was allowed."""
        with self._lock:
            state, checks = State(), Checks()
            for body in self._page.bodies:
                written = read_entry(body)
                state = state.apply(Head(state.head.number + 1, link(state.head.hash, body)), written)
                checks.add(written, state)
            state.check_spent()
            if not state.agrees(self._page.state):
                raise LedgerError("the balance is not what the history adds up to")


class _Pages:
    """The entries, and where to find them. Each method either does all it says or nothing."""

    def __init__(self, clock: Clock) -> None:
        self.state = State()
        self.bodies: list[str] = []
        self._clock = clock
        self._heads: list[Head] = []
        self._charges: dict[str, list[int]] = {}
        self._failures: dict[str, list[int]] = {}
        self._keys: dict[tuple[str, str], int] = {}
        self._answers: dict[str, int] = {}

    def now(self) -> Time:
        return next_time(self._clock, self.state)

    def append(self, record: Record, time: Time | None = None) -> int:
        written = Written(self.state.head.number + 1, time or self.now(), record)
        body = write_entry(written.number, written.time, record)
        state = self.state.apply(Head(written.number, link(self.state.head.hash, body)), written)
        check_shown(state, written, body)
        self.state = state
        self.bodies.append(body)
        self._heads.append(self.state.head)
        if isinstance(record, Charged):
            self._charges.setdefault(record.digest, []).append(written.number)
            if record.key is not None:
                self._keys[record.key, record.account] = written.number
        if isinstance(record, Answered):
            self._answers[record.digest] = written.number
        if isinstance(record, Failed):
            self._failures.setdefault(record.account, []).append(written.number)
        return written.number

    def read(self, number: int) -> Written:
        return read_entry(self.bodies[number - 1])

    def head_at(self, number: int) -> Head | None:
        return self._heads[number - 1] if 0 < number <= len(self._heads) else None

    def charges_of(self, digest: str) -> tuple[int, ...]:
        return tuple(self._charges.get(digest, ()))

    def failures_of(self, account: str) -> Iterator[Written]:
        return map(self.read, self._failures.get(account, ()))

    def charge_with(self, key: str, account: str) -> int | None:
        return self._keys.get((key, account))

    def answer_to(self, digest: str) -> int | None:
        return self._answers.get(digest)

    def entries(self, after: int = 0) -> Iterator[Written]:
        return map(read_entry, self.bodies[after:])

    def charges(self, after: int = 0) -> Iterator[Written]:
        return (written for written in self.entries(after) if isinstance(written.record, Charged))

    def nth_last(self, count: int, *, charges: bool) -> int:
        if not charges:
            return max(0, len(self.bodies) - count)
        numbers = sorted(number for every in self._charges.values() for number in every)
        return numbers[-count] - 1 if count <= len(numbers) else 0
