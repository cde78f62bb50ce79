"""A third store, in one file: a ledger as lines of JSON. It shows what a store needs, and serves the tests only.

It keeps whole rows, in order, and finds them by looking at all of them. No other process may open the file.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from privet.ledger.bookkeeping import Bookkeeping, begin_ledger
from privet.ledger.history import RULE_KINDS, Row
from privet.ledger.state import KEYS_SHARE, make_rules, utc_now


class JsonLinesLedger(Bookkeeping):
    """A ledger in a file of JSON lines."""

    def __init__(self, path: Path, budget: Any = None, *, clock: Any = utc_now, head: str | None = None, **rules: Any):
        store = JsonLinesStore(path)
        if not path.exists():
            opened = {name: value for name, value in rules.items() if name != "analysts"}
            share = opened.pop("keys_share", KEYS_SHARE)
            begin_ledger(store, make_rules(budget, keys_share=share, ledger=secrets.token_hex(16), **opened), clock)
        super().__init__(store, budget, head=head, clock=clock, **rules)


class JsonLinesStore:
    """Rows in a file, read and written whole. It is a store and its own transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self.identity = path
        self._rows: list[Row] = []
        self._cached: tuple[str, str, bytes] | None = None

    @contextmanager
    def reading(self) -> Iterator[JsonLinesStore]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self._rows = [Row(*fields, bytes.fromhex(hashed)) for *fields, hashed in map(json.loads, lines)]
        yield self

    @contextmanager
    def writing(self) -> Iterator[JsonLinesStore]:
        with self.reading():
            yield self
            self.path.write_text("".join(json.dumps([*row[:-1], row.hash.hex()]) + "\n" for row in self._rows))

    def close(self) -> None:
        self._rows = []

    def rows(self, after: int = 0) -> list[Row]:
        return self._rows[after:]

    def row(self, number: int) -> Row | None:
        return next((row for row in self._rows if row.number == number), None)

    def hash_at(self, number: int) -> Any:
        row = self.row(number)
        return None if row is None else row.hash

    def numbers(
        self, kind: str, *, account: str | None = None, digest: str | None = None, key: str | None = None
    ) -> list[int]:
        named = {"kind": kind, "account": account, "digest": digest, "key": key}
        wanted = [(name, value) for name, value in named.items() if value is not None]
        return [row.number for row in self._rows if all(getattr(row, name) == value for name, value in wanted)]

    def nth_last(self, kind: str, count: int) -> int | None:
        found = self.numbers(kind)
        return found[-count] if count <= len(found) else None

    def rules_up_to(self, number: int) -> list[str]:
        return [row.body for row in self._rows if row.kind in RULE_KINDS and row.number <= number]

    def insert(self, row: Row) -> None:
        self._rows.append(row)

    def cached(self) -> tuple[str, str, bytes] | None:
        return self._cached

    def cache(self, head: str, balance: str, checksum: bytes) -> None:
        self._cached = (head, balance, checksum)

    def check(self) -> None:
        """Nothing beyond the rows can be wrong."""
