"""A stream of histograms in its own account: each step is opened in the ledger, drawn, closed there, and shown.

All that such a stream remembers was released, so the ledger itself keeps it, and beside it, never exported, the noise
of a step that is open. There is no second file that could be lost, copied or put back.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain, groupby, repeat
from typing import Any, Literal, Protocol, cast

from privet.core.budget import WEvent
from privet.core.errors import BadParameter, LedgerError, RequestError, UnknownName
from privet.core.event import Plain, Receipt
from privet.core.given import given_name, is_a
from privet.core.numbers import Number
from privet.core.ports import KeepsSecrets, LedgerAdmin, OpensPromises
from privet.core.unit import Neighbors
from privet.ledger import codec
from privet.ledger.entries import Stepped

from .arrivals import FOLLOWS, NO_CLOCK, StepClock, given_clock, read_clock
from .noise_ahead import draw_ahead, read_ahead, whole_numbers
from .w_event import (
    WEventPlan,
    WEventRelease,
    WEventState,
    WEventStream,
    advance,
    count_rows,
    draw_noise,
    first_state,
    numbers_drawn,
    read_counts,
    released_again,
)
from .w_event_rule import Algorithm

FORMAT = 1
_MOST_EMPTY = 10**5
_PAGE = 256
_LEDGER = "a ledger that keeps steps, such as SqliteLedger(path)"


class StreamLedger(LedgerAdmin, KeepsSecrets, OpensPromises, Protocol):
    """A ledger that keeps steps, and in which accounts can be opened for streams."""


class KeptWEventStream(WEventStream):
    """A stream of histograms whose every window of steps is protected, kept in a ledger; `open_w_event` makes one.

    Guarantee: of each step one noise is drawn, and at most one release shown, across processes, restarts and crashes. A
    step is opened in the ledger from the state that the step before was closed with; its noise is drawn in that
    transaction and kept until the step is closed with what it released, before that is shown. A process that was
    overtaken can close nothing. `NoiseAhead` has the argument for counts that are passed again after a crash: of those
    that were passed first nothing was kept.
    """

    def __init__(
        self, ledger: StreamLedger, plan: WEventPlan, receipt: Receipt, clock: StepClock | None = None
    ) -> None:
        self._plan, self._ledger, self._receipt, self._clock = plan, ledger, receipt, clock
        self._state = _last_state(ledger, plan, receipt)

    @property
    def account(self) -> str:
        """The account that was opened for the stream."""
        return self._receipt.account

    @property
    def clock(self) -> StepClock | None:
        """The public clock that steps follow; None where they are counted."""
        return self._clock

    def step_at(
        self,
        moment: datetime.datetime,
        counts: Any = None,
        *,
        rows: Iterable[tuple[str | int, str | int]] | None = None,
    ) -> WEventRelease:
        """Return the release of the step that a moment is in, for a stream with a clock.

        Args:
            moment: a time within the step. Steps before it that were not released yet are released as well, empty.
            counts: the counts of the step, as for `step`.
            rows: the step's rows instead, as for `step_rows`. Rows that come late are passed with the current step.

        Raises:
            RequestError: if the moment is in a step that is closed. Nothing is drawn.
        """
        if self._clock is None:
            raise RequestError(NO_CLOCK)
        if (counts is None) == (rows is None):
            raise RequestError("a step takes its counts, or its rows: pass counts or rows=")
        histogram = read_counts(self._plan, counts) if rows is None else count_rows(self._plan, rows)
        empty = self._clock.empty_before(moment, self._state.step)
        if empty > _MOST_EMPTY:
            raise RequestError(
                f"the moment is {empty:,} empty steps ahead, and at most {_MOST_EMPTY:,} are released at once: pass an "
                "earlier moment first, or open a stream whose steps are longer"
            )
        return self._ticked([*([0] * len(self._plan.cells) for _ in range(empty)), histogram])[-1]

    def release(self, at: int | None = None) -> WEventRelease:
        """Return the release of a step, at no cost; the last one if left out."""
        last = self._state.step
        if not last:
            raise RequestError("the stream has no steps yet")
        step = last if at is None else at
        if type(step) is not int or not 1 <= step <= last:
            raise BadParameter("at", at, f"a step that was released, from 1 to {last}")
        states = _closed_states(self._ledger, self._plan, self._receipt, max(step - 1, 1), step)
        return released_again(self._plan, states.get(step - 1, first_state(self._plan)), states[step])

    def verify(self) -> None:
        """Raise `LedgerError` unless the ledger is intact and no window of steps has spent more than was promised."""
        self._ledger.verify()
        state = _last_state(self._ledger, self._plan, self._receipt)
        if state.step != self._state.step:
            raise LedgerError("the stream went on in another process; open it again")
        states = _closed_states(self._ledger, self._plan, self._receipt, 1, state.step)
        before, spent = first_state(self._plan), list[Fraction]()
        for step in range(1, state.step + 1):
            if step not in states:
                raise LedgerError(f"the ledger has no entry with step {step} of the stream: the file was changed")
            spent.append(released_again(self._plan, before, states[step]).epsilon)
            before = states[step]
            if sum(spent[-self._plan.promise.window :]) > self._plan.promise.epsilon:
                raise LedgerError(f"the steps up to step {step} have spent more than the stream promised")

    def _advance(self, steps: Sequence[Sequence[int]]) -> tuple[WEventRelease, ...]:
        if self._clock is not None:
            raise RequestError(FOLLOWS)
        return self._ticked(steps)

    def _ticked(self, steps: Sequence[Sequence[int]]) -> tuple[WEventRelease, ...]:
        return tuple(self._stepped(counts) for counts in steps)

    def _stepped(self, counts: Sequence[int]) -> WEventRelease:
        """Open a step and draw its noise, close it with its release, and return that."""
        plan, state, ledger = self._plan, self._state, self._ledger
        opening, text = ledger.draw_steps(
            self._receipt,
            after=state.step,
            upto=state.step + 1,
            state=_hash(plan, state),
            draw=draw_ahead(state.step, numbers_drawn(plan, state), lambda _: whole_numbers(draw_noise(plan, state))),
        )
        after, release = advance(plan, state, counts, read_ahead(text).numbers.tolist())
        ledger.close_steps(
            self._receipt, opening=opening, state=_hash(plan, after), released=(_write_state(after),), kept=""
        )
        self._state = after
        return release

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
    clock: StepClock | None = None,
) -> KeptWEventStream:
    """Return a stream of histograms that a ledger keeps, in an account opened for it: a new one, or as it was left.

    The account promises something of any window of steps and has no budget: it pays for no questions, and no part of it
    is counted as an epsilon of people or rows. A custodian opens it; its cost to people over time is `promise.over`.

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
        clock: a `StepClock`, if moments determine the step; otherwise steps are counted.

    Raises:
        RequestError: if an argument is out of range, or the account was opened for another stream.
        LedgerError: if the ledger cannot be trusted.

    Example:
        >>> hours = privet.stream.open_w_event(session.ledger, "hourly", epsilon=1, window=24)
        >>> hours.step(1200).step
        1
    """
    if not all(is_a(ledger, port) for port in (LedgerAdmin, KeepsSecrets, OpensPromises)):
        raise BadParameter("ledger", type(ledger).__name__, _LEDGER)
    given_name(account, "account")
    if epsilon is None and window is None:
        promises = ledger.promises()
        if account not in promises:
            raise UnknownName("account", account, tuple(promises), advice="pass epsilon= and window= to open it")
        promise, receipt, facts = promises[account]
        return KeptWEventStream(ledger, *_read_plan(promise, facts, receipt))
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
    timed = given_clock(clock)
    facts = _facts(plan, timed)
    digest = hashlib.sha256(codec.canonical([account, str(plan.promise.epsilon), facts]).encode()).hexdigest()
    receipt = ledger.open_promise(account, plan.promise, digest=digest, facts=facts)
    return KeptWEventStream(ledger, plan, receipt, timed)


def _facts(plan: WEventPlan, clock: StepClock | None = None) -> dict[str, Any]:
    """Return the public facts of a stream that are needed to go on with it."""
    return {
        **({} if clock is None else {"clock": clock.to_dict()}),
        "w-event stream": FORMAT,
        "window": plan.promise.window,
        "cells": list(plan.cells),
        "contribution": plan.contribution,
        "neighbors": plan.neighbors,
        "algorithm": plan.algorithm,
    }


def _read_plan(
    promise: WEvent, facts: Mapping[str, Any], receipt: Receipt
) -> tuple[WEventPlan, Receipt, StepClock | None]:
    try:
        if facts["w-event stream"] == FORMAT:
            given = {name: facts[name] for name in ("cells", "contribution", "neighbors", "algorithm")}
            return WEventPlan(promise, **given), receipt, read_clock(facts.get("clock"))
    except (KeyError, TypeError, RequestError):
        pass
    raise LedgerError("the account was opened for a stream that this version of Privet does not know")


def _write_state(state: WEventState) -> tuple[Plain, ...]:
    """Return a state as the ledger keeps it, with spending in runs of equal steps, as most are."""
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
    state = first
    if progress.step:
        state = _closed_states(ledger, plan, receipt, progress.step, progress.step).get(progress.step, first)
    if (state.step, _hash(plan, state)) != (progress.step, progress.state):
        raise LedgerError("what the ledger keeps of the stream is not what its last step was closed with")
    return state


def _closed_states(
    ledger: StreamLedger, plan: WEventPlan, receipt: Receipt, first: int, last: int
) -> dict[int, WEventState]:
    """Return the states after some steps from their entries, read from the last entry back."""
    closed, end = dict[int, WEventState](), int(ledger.head().partition(":")[0])
    while end > receipt.entry and first not in closed:
        begin = max(receipt.entry, end - _PAGE)
        for entry in ledger.entries(after=begin, limit=end - begin):
            record = entry.record
            if isinstance(record, Stepped) and (record.charge, record.phase) == (receipt.entry, "close"):
                states = (_read_state(plan, data) for data in cast(tuple[Any, ...], record.released))
                closed |= {state.step: state for state in states if first <= state.step <= last}
        end = begin
    return closed
