"""The ledgers that a privet.toml declares, opened by their kind. To add a kind, write its store and add a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privet.core.errors import RequestError
from privet.core.ports import LedgerAdmin
from privet.ledger.sqlite.place import locate
from privet.ledger.sqlite.store import SqliteLedger

from .declared import Config


@dataclass(frozen=True)
class LedgerKind:
    """How ledgers of one kind are opened, made of exported lines, and found to be there."""

    open: Callable[..., LedgerAdmin]
    restore: Callable[..., LedgerAdmin]
    exists: Callable[[Path], bool]


LEDGERS: Mapping[str, LedgerKind] = {
    "sqlite": LedgerKind(SqliteLedger, SqliteLedger.restore, lambda path: locate(path).exists()),
}
"""Every kind of ledger, by the word for it."""

USUAL = "sqlite"


def open_ledger(config: Config) -> LedgerAdmin:
    """Return the ledger of a privet.toml, made if there is none, with the rules and the accounts of the file.

    A ledger keeps the rules that it was made with: where those of the file differ, it is refused. An analyst without a
    budget of their own is capped by the data set's.
    """
    caps = {name: analyst.budget or config.rules.budget for name, analyst in config.analysts.items()}
    return _opened(config, analysts=caps)


def check_ledger(config: Config) -> None:
    """Raise unless the ledger, where there is one, keeps to the file's rules and contains the head that is pinned."""
    place = config.ledger
    if LEDGERS[USUAL].exists(place.path) or place.head is not None:
        _opened(config).close()


def existing_ledger(config: Config) -> LedgerAdmin:
    """Return the ledger of a privet.toml, checked against the head that is pinned, if one is; none is made."""
    place = config.ledger
    if not LEDGERS[USUAL].exists(place.path):
        raise RequestError(
            f"there is no ledger {str(place.path)!r} yet: the first question about {config.path} makes it"
        )
    return ledger_at(place.path, head=place.head)


def ledger_at(path: Path, *, head: str | None = None) -> LedgerAdmin:
    """Return a ledger that exists, by its path, whatever its rules."""
    return LEDGERS[USUAL].open(path, head=head)


def restore_ledger(path: Path, lines: Iterable[str], *, head: str | None = None) -> LedgerAdmin:
    """Return a new ledger at a path from the lines of an export, checked from the first to the last."""
    return LEDGERS[USUAL].restore(path, lines, head=head)


def _opened(config: Config, **accounts: Any) -> LedgerAdmin:
    rules = config.rules
    return LEDGERS[USUAL].open(
        config.ledger.path,
        rules.budget,
        per_query=rules.per_query,
        expires=rules.expires,
        keys_share=rules.keys_share,
        head=config.ledger.head,
        **accounts,
    )
