"""A ledger in memory: the same rules as any other, and gone with the process."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction

from privet.core.budget import Budget
from privet.core.errors import InvariantError

from .bookkeeping import Bookkeeping, begin_ledger
from .entries import Time
from .history import RULE_KINDS, Row
from .state import KEYS_SHARE, Clock, make_rules, utc_now

_Name = tuple[str, str | None, str | None, str | None]
"""What rows are found by: a kind, an account, a digest and a key."""


class MemoryLedger(Bookkeeping):
    """A ledger that lasts as long as the process."""

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
        store = MemoryStore()
        begin_ledger(store, rules, clock)
        super().__init__(store, analysts=analysts, clock=clock)


class MemoryStore:
    """An append-only list of rows, and where to find them. It is a store and its own only transaction."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.identity = object()
        self._rows: list[Row] = []
        self._filed: dict[_Name, list[int]] = {}
        self._texts: dict[int, str] = {}

    @contextmanager
    def writing(self) -> Iterator[MemoryStore]:
        """Return a transaction; of one that fails nothing is kept."""
        count, texts = len(self._rows), dict(self._texts)
        try:
            yield self
        except BaseException:
            self._remove_after(count)
            self._texts = texts
            raise

    reading = writing

    def close(self) -> None:
        """Do nothing: the rows are kept as long as the ledger is."""

    def rows(self, after: int = 0) -> Iterator[Row]:
        """Return every row after one, oldest first."""
        return iter(self._rows[after:])

    def row(self, number: int) -> Row | None:
        """Return a row by its number."""
        return self._rows[number - 1] if 0 < number <= len(self._rows) else None

    def hash_at(self, number: int) -> bytes | None:
        """Return the hash of a row."""
        row = self.row(number)
        return None if row is None else row.hash

    def numbers(
        self, kind: str, *, account: str | None = None, digest: str | None = None, key: str | None = None
    ) -> list[int]:
        """Return the numbers of the rows that are filed under a kind and all that is named, oldest first."""
        return list(self._filed.get((kind, account, digest, key), ()))

    def nth_last(self, kind: str, count: int) -> int | None:
        """Return the number of the row of a kind that has `count - 1` of its kind after it."""
        numbers = self.numbers(kind)
        return numbers[-count] if count <= len(numbers) else None

    def rules_up_to(self, number: int) -> list[str]:
        """Return the texts of the entries that state what may be spent, up to one entry."""
        return [self._rows[rule - 1].body for rule in sorted(self._rules()) if rule <= number]

    def insert(self, row: Row) -> None:
        """Add the next row."""
        if row.number != len(self._rows) + 1:
            raise InvariantError("entries are only added")
        self._rows.append(row)
        for name in self._names(row):
            self._filed.setdefault(name, []).append(row.number)

    def cached(self) -> None:
        """Return nothing: no other process reads the rows."""

    def cache(self, head: str, balance: str, checksum: bytes) -> None:
        """Keep nothing."""

    def keep(self, charge: int, text: str) -> None:
        """Keep a text for a charge, in place of the one before."""
        self._texts[charge] = text

    def kept(self, charge: int) -> str | None:
        """Return the text that was kept last for a charge."""
        return self._texts.get(charge)

    def check(self) -> None:
        """Find nothing wrong: there is no file that could be damaged."""

    def _rules(self) -> Iterator[int]:
        for kind in RULE_KINDS:
            yield from self.numbers(kind)

    def _remove_after(self, count: int) -> None:
        for row in reversed(self._rows[count:]):
            for name in self._names(row):
                self._filed[name].pop()
        del self._rows[count:]

    def _names(self, row: Row) -> set[_Name]:
        """Return what a row is found by: its kind alone, and with each of the combinations that are asked for."""
        kind, account, digest, key = row.kind, row.account, row.digest, row.key
        names: set[_Name] = {(kind, None, None, None), (kind, account, None, None), (kind, None, digest, None)}
        return names if key is None else names | {(kind, account, None, key)}
