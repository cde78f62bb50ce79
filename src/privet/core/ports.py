"""The ports: Privet's needs of the outside world, as protocols."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import Any, Protocol, Self, runtime_checkable

from .budget import Budget, WEvent
from .division import Touched
from .event import Entry, Event, Plain, Receipt
from .event import Exact as Amount
from .relation import Relation
from .scan import Scan, SealedSums
from .schema import Table


@runtime_checkable
class Engine(Protocol):
    """Where the data is. It answers scans and nothing else."""

    def check(self, scan: Scan) -> None:
        """Raise a `RequestError` where the engine cannot run a scan: its numbers may not fit, or it lacks a function.

        It is called before a scan is charged, and depends on declared facts alone: it reads no data.
        """

    def scan(self, scan: Scan) -> SealedSums:
        """Return the exact sums of a scan, sealed.

        With `places`, the weights of the rows at each place come back, for the groups that have rows. With `discovery`,
        each group's last integer is the weight by which its key may be released, and only groups
        that some unit keeps come back. Raises `EngineError` with a constant message if the engine fails.
        """

    def close(self) -> None:
        """Let go of the data."""


@runtime_checkable
class TakesSnapshots(Protocol):
    """An engine whose data may change between scans, and that can take a snapshot for several."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context in which all scans of this thread read the same rows; it raises no error of its own."""


@runtime_checkable
class OpensTables(Protocol):
    """Where an engine is found, such as the address of a cluster: a session opens it over its own tables."""

    def over(self, tables: Mapping[str, Table]) -> Engine:
        """Return an engine over some tables, which the caller closes."""


@runtime_checkable
class HoldsPublicRows(Protocol):
    """An engine that can list the rows of public tables, so that groups which none of them has need no answer."""

    def public_rows(self, name: str) -> Sequence[tuple[Any, ...]] | None:
        """Return the distinct rows of a public table, clamped to its facts, or None where there are too many.

        Raises `InvariantError` for a private table, before it is read.
        """


@runtime_checkable
class ListsPublicRows(Protocol):
    """An engine that can list relations of public tables: such questions are answered exactly, and free of charge."""

    def list_public(self, relation: Relation, most: int) -> Sequence[tuple[Any, ...]] | None:
        """Return the rows of a relation over public tables, or None where there are more than `most`.

        Raises `InvariantError` where any table in it is private, before anything is read.
        """


class Left(Protocol):
    """The remainder of a budget: an amount in some measure, the delta for keys, the largest epsilon that fits."""

    @property
    def measure(self) -> str: ...
    @property
    def amount(self) -> Amount: ...
    @property
    def delta(self) -> Fraction: ...
    @property
    def largest_epsilon(self) -> float: ...


@runtime_checkable
class Ledger(Protocol):
    """The port of a session: charges and answers, each recorded before its method returns, as durably as it ever will.

    Raises `BudgetError` where the budget does not allow a charge, and `LedgerError` where nothing may be released
    because the record cannot be kept or cannot be trusted.
    """

    def charge(
        self,
        event: Event,
        digest: str,
        *,
        account: str,
        key: str | None = None,
        versions: Mapping[str, str] | None = None,
        text: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> Receipt:
        """Record an event and return the receipt, or record nothing and raise.

        The same `key` again returns the first receipt. A plan whose answer is stored is free to who paid for it, and
        is charged to another account's own cap only. `text` and `facts` describe the plan, in words and as plain data.
        """

    def store(self, receipt: Receipt, released: Plain) -> tuple[Receipt, Plain]:
        """Store the release of a charge, before it is shown, and return the result of `find` from then on."""

    def find(self, digest: str, account: str) -> tuple[Receipt, Plain] | None:
        """Return the stored answer to a plan that the account has paid for, with its receipt."""

    def fail(self, receipt: Receipt) -> None:
        """Record that the engine failed after a charge, which stands; three in a row freeze the account."""

    def admits(self, event: Event, *, account: str) -> bool:
        """Return whether an event would fit now. Charges nothing."""

    def history(self) -> tuple[Entry, ...]:
        """Return every charge, oldest first."""

    def budget_of(self, account: str | None = None) -> Budget:
        """Return the budget that an account may spend: its own cap, or else the data set's."""

    def remaining(self, account: str | None = None) -> Left:
        """Return the remaining budget of an account under both caps, or of the data set."""

    def verify(self) -> None:
        """Raise `LedgerError` unless the record is intact and all that it charges was allowed."""


class StepProgress(Protocol):
    """How far a release in several steps has come: the last closed step, and the hash of the state after it."""

    @property
    def step(self) -> int: ...
    @property
    def state(self) -> str: ...
    @property
    def opened(self) -> int | None: ...
    @property
    def opening(self) -> int | None: ...
    @property
    def about(self) -> str | None: ...
    @property
    def over(self) -> bool: ...


@runtime_checkable
class KeepsSteps(Protocol):
    """A ledger that counts the steps of a release that is charged once, such as a stream."""

    def begin_steps(self, receipt: Receipt, *, state: str) -> StepProgress:
        """Tie the hash of a first state to a charge, once."""

    def open_steps(self, receipt: Receipt, *, after: int, upto: int, state: str, about: str | None = None) -> int:
        """Open steps before they are drawn and return the number of the opening.

        Raises `LedgerError` unless `after` is the last closed step and `state` the hash that it was closed with.
        """

    def close_steps(
        self, receipt: Receipt, *, opening: int, state: str, released: Plain = None, last: bool = False
    ) -> StepProgress:
        """Close the steps of the last opening with the hash of the state after them, before anything is shown.

        `released` is kept in the record; after the `last` steps none can be opened.
        """

    def progress(self, receipt: Receipt) -> StepProgress | None:
        """Return how far the steps of a charge have come; None where they have not begun."""


@runtime_checkable
class OpensPromises(Protocol):
    """A ledger in which an account can be opened for a stream that protects windows of steps."""

    def open_promise(
        self, account: str, promise: WEvent, *, digest: str, facts: Mapping[str, Any] | None = None
    ) -> Receipt:
        """Open an account for one stream that promises something of any window of its steps."""

    def promises(self) -> Mapping[str, tuple[WEvent, Receipt, dict[str, Any]]]:
        """Return the accounts that were opened for streams: promise, receipt, and public facts of each."""


@runtime_checkable
class KeepsSecrets(KeepsSteps, Protocol):
    """A ledger that also stores a secret text for a release in several steps, in the transaction of a step.

    The text is no part of the record, is never exported, and is readable only by who may read the ledger's store.
    """

    def begin_steps(self, receipt: Receipt, *, state: str, kept: str | None = None) -> StepProgress:
        """Tie the hash of a first state to a charge, once, and keep a text."""

    def open_steps(
        self, receipt: Receipt, *, after: int, upto: int, state: str, about: str | None = None, kept: str | None = None
    ) -> int:
        """Open steps as `KeepsSteps` does, and keep a text in place of the one before."""

    def close_steps(
        self,
        receipt: Receipt,
        *,
        opening: int,
        state: str,
        released: Plain = None,
        last: bool = False,
        kept: str | None = None,
    ) -> StepProgress:
        """Close steps as `KeepsSteps` does, and keep a text in place of the one before; an empty one removes it."""

    def draw_steps(
        self,
        receipt: Receipt,
        *,
        after: int,
        upto: int,
        state: str,
        draw: Callable[[StepProgress, str | None], str],
    ) -> tuple[int, str]:
        """Open steps, and keep what `draw` returns from how far they have come and from the text that is kept so far.

        It is called in the transaction that opens the steps, and only where they may be opened.
        """

    def kept_text(self, receipt: Receipt) -> str | None:
        """Return the text that was kept last for a charge."""


class BlockBalance(Protocol):
    """The remainder for the units of some blocks with equal charges: their numbers, and how much was spent."""

    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def spent(self) -> float: ...


@runtime_checkable
class CountsBlocks(Protocol):
    """A ledger that charges some blocks of a table alone; in any other, questions about blocks are charged for all."""

    def charge(
        self,
        event: Event,
        digest: str,
        *,
        account: str,
        key: str | None = None,
        versions: Mapping[str, str] | None = None,
        text: str = "",
        facts: Mapping[str, Any] | None = None,
        blocks: Touched | None = None,
    ) -> Receipt:
        """Record an event as `Ledger.charge` does, for units in some blocks alone."""

    def admits(self, event: Event, *, account: str, blocks: Touched | None = None) -> bool:
        """Return whether an event about some blocks would fit now. Charges nothing."""

    def remaining(self, account: str | None = None, *, blocks: Touched | None = None) -> Left:
        """Return the remaining budget of an account for some blocks."""

    def block_balances(self, division: str, account: str | None = None) -> Sequence[BlockBalance]:
        """Return how much of a budget the blocks of a division have spent, in runs of equal ones."""


class LedgerEntry(Protocol):
    """One entry of a ledger, of any kind: `record` is its content."""

    @property
    def number(self) -> int: ...
    @property
    def time(self) -> datetime.datetime: ...
    @property
    def kind(self) -> str: ...
    @property
    def account(self) -> str | None: ...
    @property
    def record(self) -> Any: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the entry as it is written, as plain data."""


class AccountBalance(Protocol):
    """One budget at one time; `account` is None for the data set's own, and `spent` is a share of the whole."""

    @property
    def account(self) -> str | None: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def spent(self) -> float: ...
    @property
    def largest_epsilon(self) -> float: ...
    @property
    def largest_rho(self) -> float | None: ...
    @property
    def expires(self) -> datetime.datetime | None: ...
    @property
    def expired(self) -> bool: ...
    @property
    def state(self) -> str: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the balance as plain data."""


class SuspectRelease(Protocol):
    """A release that may have leaked more than it was charged for."""

    @property
    def entry(self) -> int: ...
    @property
    def time(self) -> str: ...
    @property
    def account(self) -> str: ...
    @property
    def sure(self) -> bool: ...
    @property
    def why(self) -> str: ...
    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""


@runtime_checkable
class LedgerAdmin(Ledger, Protocol):
    """The port of a custodian and the command line: a ledger whose rules change, which is inspected, proven and copied.

    Every change of a rule is a separate entry, with its reason. None undoes spending.
    """

    def remaining_after(self, event: Event, account: str, *, blocks: Touched | None = None) -> Left:
        """Return the remaining budget of an account after a charge for an event. Charges nothing."""

    def top_up(self, budget: Budget, *, reason: str, account: str | None = None) -> None:
        """Add to an account's budget, or to the data set's."""

    def open_account(self, account: str, budget: Budget, *, expires: datetime.datetime | None = None) -> None:
        """Open an account with its own cap under the data set's."""

    def limit(self, per_query: Budget | None, *, reason: str) -> None:
        """Set the most that one query may cost from now on, or remove the limit with None."""

    def reschedule(self, expires: datetime.datetime | None, *, reason: str, account: str | None = None) -> None:
        """Set when an account's spending ends, or the data set's, or never with None."""

    def clear(self, account: str, *, reason: str) -> None:
        """Let a frozen account spend again."""

    def freeze(self, account: str, *, reason: str) -> None:
        """Let an account spend nothing more until it is cleared."""

    def note_act(self, act: str, *, actor: str, role: str, account: str | None = None, note: str = "") -> None:
        """Record an action other than spending, and its author, in the chain. It changes no balance."""

    def accounts(self) -> tuple[str, ...]:
        """Return the names of the accounts that have their own cap."""

    def expires(self, account: str | None = None) -> datetime.datetime | None:
        """Return when spending ends for an account, by its own rule or the data set's; None for never."""

    def per_query(self) -> Budget | None:
        """Return the most that one query may cost; None where there is no such limit."""

    def frozen(self) -> tuple[str, ...]:
        """Return the names of the accounts that may not spend until they are cleared."""

    def balances(self) -> Sequence[AccountBalance]:
        """Return the remainder of the data set's budget, and then of each account's, by name."""

    def entries(
        self, *, after: int = 0, limit: int | None = None, last: int | None = None, account: str | None = None
    ) -> Sequence[LedgerEntry]:
        """Return every entry of any kind, oldest first, or a page of them."""

    def entry(self, number: int) -> LedgerEntry:
        """Return one entry by its number."""

    def certificate(self, number: int) -> dict[str, Any]:
        """Return the unit, the method and the cost of a charge, with the ledger's head: public, as plain data."""

    def review(self) -> Sequence[SuspectRelease]:
        """Return the releases that an earlier version made with a form of question that leaked, oldest first."""

    def head(self) -> str:
        """Return the number and the hash of the last entry. Kept elsewhere, it shows whether entries were lost."""

    def pin(self, head: str) -> None:
        """Raise `LedgerError` unless the entry of a head that was kept elsewhere is in the ledger's chain."""

    def export(self) -> Iterator[str]:
        """Return every entry with its hash, oldest first, each as a line of JSON without its line end."""

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the ledger to a new one at a path; raise `Unsupported` where its store cannot be copied."""

    def close(self) -> None:
        """Release the store."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
