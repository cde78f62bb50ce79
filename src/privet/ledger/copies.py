"""Copies of a ledger from one store into another, of any kind: the same entries, the same chain, the same head."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from privet.core.given import is_address

from .history import KeepsText, Transaction


@runtime_checkable
class ListsTexts(Protocol):
    """The rows of a store that can list the secret texts that it keeps."""

    def texts(self) -> Iterable[tuple[int, str]]:
        """Return every text that is kept, with its charge."""


def copy_rows(source: Transaction, target: Transaction) -> None:
    """Add every row of one ledger to an empty one, with the secret texts. The caller verifies the copy."""
    for row in source.rows():
        target.insert(row)
    if isinstance(source, ListsTexts) and isinstance(target, KeepsText):
        for charge, text in source.texts():
            target.keep(charge, text)


def copy_ledger(source: Transaction, target: str | os.PathLike[str]) -> None:
    """Copy the rows of a ledger to a new file, or to empty tables at an address, and verify the copy."""
    if is_address(target):
        from .postgres.postgres_ledger import fill_from

        fill_from(str(target), source)
    else:
        from .sqlite.store import make_from

        make_from(target, source)
