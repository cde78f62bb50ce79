"""A stream of histograms in an account of its own: each step is opened in the ledger, drawn, closed there, and shown.

All that such a stream remembers was released, so the ledger itself keeps it. There is no second file that could be
lost, copied or put back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain, groupby, repeat
from typing import Any, Literal, Protocol, cast

from privet.core.errors import BadParameter, LedgerError, RequestError, UnknownName
from privet.core.given import given_name, is_a
from privet.core.numbers import Number
from privet.core.ports import KeepsSteps, LedgerAdmin, OpensPromises
from privet.core.promise import WEvent
from privet.core.records import Plain, Receipt
from privet.core.sensitivity import Neighbors
from privet.ledger import codec
from privet.ledger.entries import Stepped

from .w_event import WEventPlan, WEventRelease, WEventState, WEventStream, advance, first_state
from .w_event_rule import Algorithm

FORMAT = 1
_LEDGER = "a ledger that keeps steps, such as SqliteLedger(path)"


class StreamLedger(LedgerAdmin, KeepsSteps, OpensPromises, Protocol):
    """A ledger that keeps steps, and in which accounts can be opened for streams."""


class KeptWEventStream(WEventStream):
    """A stream of histograms whose every window of steps is protected, kept in a ledger; `open_w_event` makes one.

    Guarantee: of each step at most one release is ever shown, across processes, restarts and crashes. A step is opened
    in the ledger before it is drawn, from the state that the step before was closed with, and closed with what it
    released before that is shown; a process that was overtaken can close nothing.
    """

    def __init__(self, ledger: StreamLedger, plan: WEventPlan, receipt: Receipt) -> None:
        self._plan, self._ledger, self._receipt = plan, ledger, receipt
        self._state = _last_state(ledger, plan, receipt)

    @property
    def account(self) -> str:
        """The account that was opened for the stream."""
        return self._receipt.account

    def _advance(self, steps: Sequence[Sequence[int]]) -> tuple[WEventRelease, ...]:
        if not steps:
            return ()
        state, releases, states = self._state, list[WEventRelease](), list[WEventState]()
        opening = self._ledger.open_steps(
            self._receipt, after=state.step, upto=state.step + len(steps), state=_hash(self._plan, state)
        )
        for counts in steps:
            state, release = advance(self._plan, state, counts)
            releases.append(release)
            states.append(state)
        shown = tuple(_write_state(one) for one in states)
        self._ledger.close_steps(self._receipt, opening=opening, state=_hash(self._plan, state), released=shown)
        self._state = state
        return tuple(releases)

    def __repr__(self) -> str:
        promise, step = self._plan.promise.describe(), self._state.step
        return f"KeptWEventStream({self.account!r}, {promise}, {self._plan.algorithm}, step {step:,})"


def open_w_event(
    ledger: StreamLedger,
    account: str,
    *,
    epsilon: Number | None = None,
    window: int | None = None,
    cells: int | Sequence[str] = 1,
    contribution: int = 1,
    neighbors: Neighbors = "add-remove",
    algorithm: Algorithm | Literal["auto"] = "auto",
    change: Number | None = None,
    every: int = 1,
) -> KeptWEventStream:
    """Return a stream of histograms that a ledger keeps, in an account opened for it: a new one, or as it was left.

    The account promises something of any window of steps and has no budget: it pays for no questions, and no part of it
    is counted as an epsilon of people or rows. A custodian opens it; what it costs people over time is `promise.over`.

    Args:
        ledger: where steps are kept, such as `SqliteLedger(path)`.
        account: the name of the account, one for each stream.
        epsilon: the largest privacy loss of any window; left out, with the window, to go on with a stream.
        window: how many consecutive steps are protected together.
        cells: the names of the counts of each step, or how many there are.
        contribution: how many rows one person adds to one step at most.
        neighbors: "add-remove" or "change-one".
        algorithm: "uniform", "sample", "distribution", "absorption", or "auto" for the least predicted error.
        change: how far a count typically moves when it moves, as publicly known; it decides only which algorithm runs.
        every: the counts move at the first step and then every this many steps.

    Raises:
        RequestError: if an argument is out of range, or the account was opened for another stream.
        LedgerError: if the ledger cannot be trusted.

    Example:
        >>> hours = privet.stream.open_w_event(session.ledger, "hourly", epsilon=1, window=24)
        >>> hours.step(1200).step
        1
    """
    if not all(is_a(ledger, port) for port in (LedgerAdmin, KeepsSteps, OpensPromises)):
        raise BadParameter("ledger", type(ledger).__name__, _LEDGER)
    given_name(account, "account")
    if epsilon is None and window is None:
        found = ledger.promises()
        if account not in found:
            raise UnknownName("account", account, tuple(found), advice="pass epsilon= and window= to open it")
        promise, receipt, facts = found[account]
        return KeptWEventStream(ledger, _read_plan(promise, facts), receipt)
    if epsilon is None or window is None:
        raise RequestError("a new stream needs epsilon= and window=; to go on with one that is there, leave out both")
    plan = WEventPlan(
        WEvent(epsilon=epsilon, window=window),
        cells=cells,
        contribution=contribution,
        neighbors=neighbors,
        algorithm=algorithm,
        change=change,
        every=every,
    )
    facts = _facts(plan)
    digest = hashlib.sha256(codec.canonical([account, str(plan.promise.epsilon), facts]).encode()).hexdigest()
    receipt = ledger.open_promise(account, plan.promise, digest=digest, facts=facts)
    return KeptWEventStream(ledger, plan, receipt)


def _facts(plan: WEventPlan) -> dict[str, Any]:
    """Return what is public about a stream and needed to go on with it."""
    return {
        "w-event stream": FORMAT,
        "window": plan.promise.window,
        "cells": list(plan.cells),
        "contribution": plan.contribution,
        "neighbors": plan.neighbors,
        "algorithm": plan.algorithm,
    }


def _read_plan(promise: WEvent, facts: Mapping[str, Any]) -> WEventPlan:
    try:
        if facts["w-event stream"] == FORMAT:
            given = {name: facts[name] for name in ("cells", "contribution", "neighbors", "algorithm")}
            return WEventPlan(promise, **given)
    except (KeyError, TypeError, RequestError):
        pass
    raise LedgerError("the account was opened for a stream that this version of Privet does not know")


def _write_state(state: WEventState) -> tuple[Plain, ...]:
    """Return a state as the ledger keeps it; what was spent in runs of equal steps, as most are."""
    runs = tuple((parts, len(list(steps))) for parts, steps in groupby(state.spent))
    return state.step, state.values, state.measured, state.parts, runs


def _read_state(plan: WEventPlan, data: Any) -> WEventState:
    try:
        step, values, measured, parts, runs = data
        spent = tuple(chain.from_iterable(repeat(parts, times) for parts, times in runs))
        state = WEventState(step, values, measured, parts, spent)
        if len(values) == len(plan.cells) and len(spent) == min(step, plan.promise.window - 1):
            return state
    except (RequestError, TypeError, ValueError):
        pass
    raise LedgerError("what the ledger keeps of the stream is not as Privet writes it: the file was changed")


def _hash(plan: WEventPlan, state: WEventState) -> str:
    written = [_facts(plan), str(Fraction(plan.promise.epsilon)), codec.write_plain(_write_state(state))]
    return hashlib.sha256(codec.canonical(written).encode()).hexdigest()


def _last_state(ledger: StreamLedger, plan: WEventPlan, receipt: Receipt) -> WEventState:
    """Return the state after the last step that was closed, checked against the hash that it was closed with."""
    first = first_state(plan)
    progress = ledger.progress(receipt) or ledger.begin_steps(receipt, state=_hash(plan, first))
    state = first if not progress.step else _closed_state(ledger, plan, receipt)
    if (state.step, _hash(plan, state)) != (progress.step, progress.state):
        raise LedgerError("what the ledger keeps of the stream is not what its last step was closed with")
    return state


def _closed_state(ledger: StreamLedger, plan: WEventPlan, receipt: Receipt) -> WEventState:
    number = int(ledger.head().partition(":")[0])
    while number > receipt.entry:
        record = ledger.entry(number).record
        if isinstance(record, Stepped) and (record.charge, record.phase) == (receipt.entry, "close"):
            return _read_state(plan, cast(tuple[Any, ...], record.released)[-1])
        number -= 1
    raise LedgerError("the ledger has no entry with the last step of the stream: the file was changed")
