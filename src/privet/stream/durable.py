"""A durable stream of running sums: charged once, opened and closed step by step in the ledger, safe across restarts.

A step goes this way: the ledger opens it and keeps its noise, which is drawn in the same transaction; the next state,
with its release, becomes durable under another name; the ledger closes the step and forgets the noise; the next
state takes the place of the last; the estimate is shown. Whenever the process dies in between, what the ledger has
closed is there, what it has not closed was never shown, and the noise of an open step is used when the stream goes on.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from privet.core.errors import BadParameter, LedgerError, RequestError, raise_alone
from privet.core.estimate import Estimate
from privet.core.event import Receipt
from privet.core.given import given_name, is_a, truth
from privet.core.given import path as given_path
from privet.core.numbers import Number, float_near, open_probability, whole
from privet.core.ports import KeepsSecrets, Ledger, StepProgress
from privet.core.unit import Neighbors
from privet.ledger.steps import hash_of_text

from .arrivals import (
    FOLLOWS,
    NO_CLOCK,
    Arrival,
    Bounding,
    Layout,
    StepClock,
    Value,
    given_clock,
    read_arrivals,
    read_value,
    read_values,
)
from .files import NEXT, PEOPLE, RECEIPT, STATE, PeopleFile, StreamFiles, hash_of, moved_total
from .noise_ahead import NoiseAhead, draw_ahead, kept_noise, read_ahead
from .stream_state import (
    BEGINNING,
    Method,
    StreamPlan,
    StreamState,
    begin,
    choose_sums,
    read_kept,
    read_spend,
    write_kept,
)
from .sums import LONGEST, Floats, Integers, RunningSums

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHUNK = 2**16
"""How many steps are opened, drawn and closed at once by `extend`; with groups, that many numbers."""

COVERS = "noise"
_POINTS = 400
_RECORD = np.dtype("<f8")

StreamAnswer = Estimate | dict[str, Estimate]


class RunningStream:
    """Sums of rows as they arrive, released after each step of a public clock; one charge pays for all of them.

    Made by `open_stream`, and reopened with `resume_stream`. One process at a time steps through a stream. Its
    folder is private: keep it where the ledger is.

    Guarantee: of each step one noise is drawn, and one release shown, across processes, restarts, copies and crashes;
    `NoiseAhead` has the argument for rows that are passed again after a crash. Each person's rows count once for each
    step that is closed: the table of people and the state are of the same step, or nothing is drawn.
    """

    def __init__(self, files: StreamFiles, ledger: Ledger, receipt: Receipt, kept: StreamState, digest: str) -> None:
        self._files, self._ledger, self._receipt = files, ledger, receipt
        self._kept, self._hash, self._unsure = kept, digest, False
        self._people = None if kept.plan.layout.rows is None else PeopleFile(files.folder / PEOPLE)
        if self._people is not None:
            self._people.settle(kept.people)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed = False

    # The output of a stream: all of it is public.

    @property
    def horizon(self) -> int:
        """The number of steps."""
        return self._kept.plan.sums.horizon

    @property
    def steps(self) -> int:
        """How many steps were closed."""
        return self._kept.step

    @property
    def groups(self) -> tuple[str, ...] | None:
        """The names of the groups; None where there is one sum."""
        return self._kept.plan.layout.groups

    @property
    def sums(self) -> RunningSums[Any]:
        """The mechanism."""
        return self._kept.plan.sums

    @property
    def receipt(self) -> Receipt:
        """The receipt of the charge."""
        return self._receipt

    def describe(self) -> dict[str, Any]:
        """Return the stream's parameters and progress, as plain data."""
        plan = self._kept.plan
        facts = plan.to_dict()
        del facts["identity"]
        error = plan.sums.deviation(plan.sums.horizon) * float_near(plan.layout.grid)
        return {**facts, "steps": self.steps, "entry": self._receipt.entry, "standard_error_at_horizon": error}

    # Steps

    def step(
        self,
        value: Value | None = None,
        *,
        rows: Iterable[Arrival] | None = None,
        number: int | None = None,
        confidence: Number = 0.95,
    ) -> StreamAnswer:
        """Release the sum after one more step, and return it with its interval.

        Args:
            value: the total of the step's rows, a whole number, or one for each group. One row must move it by no more
                than the declared bounds allow.
            rows: the step's rows instead, of which each is clamped, and each person's first ones are kept.
            number: which step this is; it must be the next one.
            confidence: the confidence level of the interval.

        Raises:
            RequestError: if the step is not the next one, or past the horizon. Nothing is drawn.
            LedgerError: if the stream went on elsewhere. Nothing is drawn.
        """
        tail = 1 - open_probability(confidence, "confidence")
        with self._lock:
            self._settle()
            following = self._following()
            if self._kept.plan.clock is not None:
                raise RequestError(FOLLOWS)
            if number is not None and (type(number) is not int or number != following):
                raise BadParameter("number", number, f"the next step, {following}: a step is out of order")
            return self._step(0, value, rows, tail)

    def step_at(
        self,
        moment: datetime.datetime,
        value: Value | None = None,
        *,
        rows: Iterable[Arrival] | None = None,
        confidence: Number = 0.95,
    ) -> StreamAnswer:
        """Release the sum after the step that a moment is in, for a stream with a clock.

        Args:
            moment: a time within the step. Steps before it that were not released yet are released as well, empty.
            value: the total of the step's rows, as for `step`.
            rows: the step's rows instead. Rows that come late are passed with the current step.
            confidence: the confidence level of the interval.

        Raises:
            RequestError: if the moment is in a step that is closed, or past the horizon. Nothing is drawn.
        """
        tail = 1 - open_probability(confidence, "confidence")
        with self._lock:
            self._settle()
            clock, following = self._kept.plan.clock, self._following()
            if clock is None:
                raise RequestError(NO_CLOCK)
            empty = clock.empty_before(moment, self.steps)
            if (now := following + empty) > self.horizon:
                raise RequestError(f"the moment is in step {now}, past the stream's horizon of {self.horizon} steps")
            return self._step(empty, value, rows, tail)

    def _following(self) -> int:
        """Return the number of the next step, or raise where there is none."""
        if self.steps >= self.horizon:
            raise RequestError(f"all {self.horizon} steps of the stream are released: open a new one, charged anew")
        return self.steps + 1

    def _step(self, empty: int, value: Any, rows: Any, tail: Fraction) -> StreamAnswer:
        """Release some empty steps and one more."""
        with self._lock:
            bounding = self._bounding()
            totals = self._totals(value, rows, bounding)
            width = self._kept.plan.layout.width
            most = max(1, CHUNK // width)
            for _ in range(empty // most):
                self._advance(np.zeros((most, width), dtype=np.int64), Bounding(self._kept.plan.layout, b"", _nobody))
            vectors = np.zeros((empty % most + 1, width), dtype=np.int64)
            vectors[-1] = totals
            released = self._advance(vectors, bounding)
            return self._answers(self.steps, released[-1], tail)

    def extend(
        self,
        values: Iterable[Value] | None = None,
        *,
        rows: Iterable[Iterable[Arrival]] | None = None,
        confidence: Number = 0.95,
    ) -> StreamAnswer:
        """Release the sums after many more steps, and return the last one with its interval.

        Args:
            values: the total of each step, or totals for each group.
            rows: the rows of each step instead.
            confidence: the confidence level of the interval.

        Up to 65,536 steps are opened, drawn and closed at a time. `estimate` returns any of them afterwards.
        """
        tail = 1 - open_probability(confidence, "confidence")
        with self._lock:
            self._settle()
            if self._kept.plan.clock is not None:
                raise RequestError(FOLLOWS)
            released: Floats | None = None
            for vectors, bounding in self._chunks(values, rows):
                released = self._advance(vectors, bounding)
            if released is None:
                raise RequestError("there is nothing to extend the stream by: pass the values of at least one step")
            return self._answers(self.steps, released[-1], tail)

    def estimate(self, at: int | None = None, *, confidence: Number = 0.95) -> StreamAnswer:
        """Return the sum after a step as it was released, at no cost; after the last one if left out."""
        tail = 1 - open_probability(confidence, "confidence")
        last = self.steps
        if not last:
            raise RequestError("the stream has no steps yet")
        step = last if at is None else at
        if type(step) is not int or not 1 <= step <= last:
            raise BadParameter("at", at, f"a step that was released, from 1 to {last}")
        return self._answers(step, self._read(step, step)[0], tail)

    def values(self, first: int = 1, last: int | None = None) -> Floats:
        """Return the sums after some steps as they were released: a row for each step, a column for each group."""
        end = self.steps if last is None else whole(last, "last", least=1, most=max(1, self.steps))
        return self._read(whole(first, "first", least=1, most=max(1, end)), end)

    def plot(
        self,
        *,
        confidence: Number = 0.95,
        path: str | os.PathLike[str] | None = None,
        theme: Literal["light", "dark"] = "light",
    ) -> Figure:
        """Return a picture of the sums so far, each with its band; of a long stream some hundred points."""
        from privet.plots.answers import plot_bands

        tail = 1 - open_probability(confidence, "confidence")
        if not self.steps:
            raise RequestError("the stream has no steps yet")
        places = np.unique(np.linspace(1, max(1, self.steps), min(_POINTS, max(1, self.steps))).astype(int))
        values = np.concatenate([self._read(int(place), int(place)) for place in places])
        widths = np.array([self._half_width(int(place), tail) for place in places])
        names = self.groups or ("sum",)
        return plot_bands(places, values, widths, names, float(1 - tail), path=path, theme=theme)

    def verify(self) -> None:
        """Raise `LedgerError` unless all that was released is as it was, and the state is the latest by the ledger."""
        with self._lock:
            self._check()
            progress = _stepping(self._ledger).progress(self._receipt)
            body = self._files.read(STATE)
            if progress is None or body is None or (progress.step, progress.state) != (self.steps, hash_of(body)):
                raise LedgerError("the stream's state is not the latest by the ledger: it was changed, or put back")
            kept, chain = read_kept(body), bytes.fromhex(BEGINNING)
            for start in range(1, kept.step + 1, CHUNK):
                chain = _chained(chain, self._read(start, min(kept.step, start + CHUNK - 1)))
            if chain.hex() != kept.shown:
                raise LedgerError("what the stream has released was changed; put back the latest copy of its folder")
            if self._people is not None:
                self._people.settle(kept.people)
                if self._people.total(bytes.fromhex(kept.secret)) != kept.counted:
                    raise LedgerError(
                        "the stream's table of people was changed; put back the latest copy of its folder"
                    )

    def close(self) -> None:
        """Let another process step through the stream; closing it again does nothing."""
        self._closed = True
        if self._people is not None:
            self._people.close()
        self._files.unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _check(self) -> None:
        if self._closed:
            raise LedgerError("the stream was closed; resume it")
        if os.getpid() != self._process:
            raise LedgerError("the stream was opened by another process, from which this one was forked; resume it")

    def _settle(self) -> None:
        """Finish a step that failed halfway, before another one: its durable part is released as it was."""
        self._check()
        if not self._unsure:
            return
        book, before = _stepping(self._ledger), self.steps
        progress, body = book.progress(self._receipt), self._files.read(STATE)
        if progress is None or body is None:
            raise LedgerError("a file of the stream is gone; put back the latest copy of its folder")
        body = _recovered(self._files, book, self._receipt, body, progress)
        self._kept, self._hash = read_kept(body), hash_of(body)
        self._files.write_released(self._kept.batch_start, self._kept.batch)
        if self._people is not None:
            self._people.settle(self._kept.people)
        self._unsure = False
        if self.steps != before:
            raise LedgerError(
                f"step {self.steps} was interrupted, and is released now with what was passed then: read it with "
                f"estimate(), and go on with step {self.steps + 1}"
            )

    def _bounding(self) -> Bounding:
        before = self._people.rows_of if self._people is not None else _nobody
        return Bounding(self._kept.plan.layout, bytes.fromhex(self._kept.secret), before)

    def _totals(self, value: Any, rows: Any, bounding: Bounding) -> list[int]:
        if (value is None) == (rows is None):
            raise RequestError("a step takes its total, or its rows: pass value or rows=")
        return read_value(value, self._kept.plan.layout) if rows is None else bounding.totals(read_arrivals(rows))

    def _chunks(self, values: Any, rows: Any) -> Iterator[tuple[Integers, Bounding]]:
        """Return the vectors of some steps at a time, and whose rows were in them; all of them fit or none is drawn."""
        if (values is None) == (rows is None):
            raise RequestError("steps take their totals, or their rows: pass values or rows=")
        layout, left = self._kept.plan.layout, self.horizon - self.steps
        most = max(1, CHUNK // layout.width)
        plain = None if rows is not None else read_values(values, layout)
        if plain is not None:
            self._fits(len(plain), left)
            for start in range(0, len(plain), most):
                yield plain[start : start + most], self._bounding()
            return
        given = rows if values is None else values
        if not is_a(given, Iterable) or isinstance(given, str | bytes | Mapping):
            name = "rows" if values is None else "values"
            raise BadParameter(name, type(given).__name__, "a list of what each step has")
        if hasattr(given, "__len__"):
            self._fits(len(given), left)
        steps = iter(given)
        while chunk := list(islice(steps, most)):
            self._fits(len(chunk), self.horizon - self.steps)
            bounding = self._bounding()
            if values is None:
                vectors = [bounding.totals(read_arrivals(step)) for step in chunk]
            else:
                vectors = [read_value(step, layout) for step in chunk]
            yield np.array(vectors, dtype=np.int64), bounding

    def _fits(self, count: int, left: int) -> None:
        if count > left:
            raise RequestError(
                f"{count} more steps do not fit: {left} of the stream's {self.horizon} are left. Open a new stream, "
                "which is charged anew"
            )

    def _advance(self, vectors: Integers, bounding: Bounding) -> Floats:
        """Open steps and draw their noise, make them durable, close them, and return their releases."""
        kept, book, sums = self._kept, _stepping(self._ledger), self.sums
        upto, rows = kept.step + len(vectors), sums.noise_rows(kept.step, len(vectors))
        self._unsure = True
        opening, text = book.draw_steps(
            self._receipt,
            after=kept.step,
            upto=upto,
            state=self._hash,
            draw=draw_ahead(
                kept.step, rows * sums.width, lambda count: sums.draw(count // sums.width), left=kept.noise
            ),
        )
        ahead = read_ahead(text)
        drawn = ahead.numbers[: rows * sums.width].reshape(rows, sums.width)
        state, estimates = sums.advance(kept.state, vectors, drawn)
        left = _left(ahead.after(upto, rows * sums.width))
        released = estimates * float_near(kept.plan.layout.grid)
        people, counted = self._count(bounding)
        following = replace(
            kept,
            state=state,
            shown=_chained(bytes.fromhex(kept.shown), released).hex(),
            batch=_records(released),
            before=self._hash,
            opening=opening,
            noise=hash_of_text(left) if left else None,
            people=people,
            counted=counted,
        )
        body = write_kept(following)
        self._files.write_next(body)
        try:
            book.close_steps(self._receipt, opening=opening, state=hash_of(body), kept=left)
        except LedgerError:
            self._leave_to_others(book)
            raise
        self._files.adopt_next()
        self._files.write_released(following.batch_start, following.batch)
        self._kept, self._hash, self._unsure = following, hash_of(body), False
        return released

    def _leave_to_others(self, book: KeepsSecrets) -> None:
        """Remove the next state where another copy of the stream closed its step, from the same noise."""
        with suppress(LedgerError):
            last = book.progress(self._receipt)
            if last is not None and last.step > self.steps and last.state != hash_of(self._files.read(NEXT) or b""):
                self._files.drop_next()

    def _count(self, bounding: Bounding) -> tuple[str, int]:
        """Make the counts of people durable that a batch changes, and return the mark and the hash of the table."""
        kept = self._kept
        if self._people is None or not bounding.changed:
            return kept.people, kept.counted
        mark, secret = secrets.token_hex(16), bytes.fromhex(kept.secret)
        self._people.write(bounding.changed, before=kept.people, mark=mark)
        return mark, moved_total(kept.counted, secret, bounding.known, bounding.changed)

    def _read(self, first: int, last: int) -> Floats:
        width = self._kept.plan.layout.width
        record = width * _RECORD.itemsize
        body = self._files.read_released((first - 1) * record, (last - first + 1) * record)
        return np.frombuffer(body, dtype=_RECORD).reshape(-1, width).astype(np.float64)

    def _half_width(self, step: int, tail: Fraction) -> float:
        return self.sums.half_width(step, 1 - tail) * float_near(self._kept.plan.layout.grid)

    def _answers(self, step: int, values: Floats, tail: Fraction) -> StreamAnswer:
        width = self._half_width(step, tail)
        error = self.sums.deviation(step) * float_near(self._kept.plan.layout.grid)
        least = 0.0 if self._kept.plan.layout.low >= 0 else -math.inf
        estimates = [
            Estimate(
                value=value,
                low=max(least, value - width),
                high=max(least, value + width),
                confidence=float(1 - tail),
                standard_error=error,
                covers=COVERS,
            )
            for value in values.tolist()
        ]
        return estimates[0] if self.groups is None else dict(zip(self.groups, estimates, strict=True))


# Opening a stream, and coming back to it


def open_stream(
    path: str | os.PathLike[str],
    ledger: Ledger,
    *,
    horizon: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    method: Method | None = None,
    groups: Sequence[str] | None = None,
    low: Number = 0,
    high: Number = 1,
    grid: Number = 1,
    rows_per_person: int | None = None,
    neighbors: Neighbors = "add-remove",
    clock: StepClock | None = None,
    account: str = "session",
    refine: bool = True,
) -> RunningStream:
    """Charge a new stream to a ledger and return it, in a new folder.

    Args:
        path: the folder; it must not be there yet.
        ledger: the ledger that is charged, and that counts the steps.
        horizon: the number of steps.
        epsilon: the privacy loss of all steps together; with `delta`, Gaussian noise is used.
        delta: the probability with which the loss may exceed epsilon.
        rho: the zCDP parameter of all steps together, in place of epsilon.
        method: "tree", "square-root" or "buffered"; chosen from the cost and the horizon if left out.
        groups: the names of the groups, if there is a sum for each.
        low: the least value of a row.
        high: the largest value of a row; 1, with 0 as the least, counts rows.
        grid: the step to which values are rounded.
        rows_per_person: how many rows of each person are kept, its first ones; None protects single rows.
        neighbors: "add-remove" or "change-one".
        clock: a `StepClock`, if moments determine the step; otherwise steps are counted.
        account: the account in the ledger that pays.
        refine: whether the tree's sums use the nodes below as well, at no cost.

    Raises:
        BudgetError: if the account cannot pay. Nothing is left behind.
        RequestError: if the parameters do not fit together.

    Example:
        >>> running = stream.open_stream(folder, ledger, horizon=100, epsilon=1)
        >>> running.step(3).confidence
        0.95
    """
    layout = Layout(low=low, high=high, grid=grid, groups=groups, rows=rows_per_person)  # type: ignore[arg-type]
    spend = read_spend(epsilon, delta, rho)
    length = whole(horizon, "horizon", least=1, most=LONGEST)
    sums = choose_sums(length, spend, layout, neighbors, method, refine=truth(refine, "refine"))
    plan = StreamPlan(
        identity=secrets.token_hex(16),
        account=given_name(account, "account"),
        sums=sums,
        layout=layout,
        clock=given_clock(clock),
    )
    return start_stream(path, ledger, plan)


def start_stream(path: str | os.PathLike[str], ledger: Ledger, plan: StreamPlan) -> RunningStream:
    """Charge a plan of a stream and return the stream, in a new folder."""
    book = _stepping(ledger)
    folder = Path(given_path(path, "path", "the folder of the stream")).absolute()
    body = write_kept(kept := begin(plan))
    files = StreamFiles.create(folder, body, people=plan.layout.rows is not None)
    try:
        files.lock()
        receipt = _charge(ledger, plan)
    except BaseException:
        files.remove()
        raise
    files.write_receipt(_write_receipt(receipt))
    book.begin_steps(receipt, state=hash_of(body))
    return RunningStream(files, ledger, receipt, kept, hash_of(body))


def resume_stream(path: str | os.PathLike[str], ledger: Ledger) -> RunningStream:
    """Return a stream that was opened before, at its last closed step.

    Steps that were open when a process died are closed now, if their state was durable, with the rows that they had.
    Otherwise they were never shown, and are released when they are asked for again, from the noise that was drawn.

    Args:
        path: the folder that the stream was opened in.
        ledger: the ledger that was charged.

    Raises:
        LedgerError: if the folder is not the latest of this stream, by the ledger: it was rolled back, copied, cut
            short or changed. It is refused, and never repaired.

    Example:
        >>> with stream.open_stream(folder, ledger, horizon=100, epsilon=1) as running:
        ...     before = running.extend([1, 0, 2])
        >>> with stream.resume_stream(folder, ledger) as again:
        ...     again.steps, again.estimate() == before
        (3, True)
    """
    book = _stepping(ledger)
    files = StreamFiles(Path(given_path(path, "path", "the folder of the stream")).absolute())
    files.lock()
    try:
        body = files.read(STATE)
        if body is None:
            raise LedgerError(f"there is no stream {str(files.folder)!r}; check the path, or open one")
        kept = read_kept(body)
        receipt = _read_receipt(files.read(RECEIPT), kept.plan)
        if receipt is None:  # it died between the charge and its receipt: the same charge is found again
            receipt = _charge(ledger, kept.plan)
            files.write_receipt(_write_receipt(receipt))
        progress = book.progress(receipt)
        if progress is None and kept.step == 0:
            progress = book.begin_steps(receipt, state=hash_of(body))
        if progress is None:
            raise LedgerError("the ledger does not know this stream: it is another ledger, or an old copy of it")
        body = _recovered(files, book, receipt, body, progress)
        kept = read_kept(body)
        files.write_released(kept.batch_start, kept.batch)
        return RunningStream(files, ledger, receipt, kept, hash_of(body))
    except BaseException:
        files.unlock()
        raise


# The ledger's side


def _stepping(ledger: Any) -> KeepsSecrets:
    if not is_a(ledger, Ledger) or not is_a(ledger, KeepsSecrets):
        raise BadParameter("ledger", type(ledger).__name__, "a ledger that counts steps, such as SqliteLedger(path)")
    return cast(KeepsSecrets, ledger)


def _left(ahead: NoiseAhead | None) -> str:
    """Return the text of the noise that is left; empty where none is, so that nothing is kept."""
    return "" if ahead is None else ahead.text()


def _nobody(person: bytes) -> int:
    """Return that a person is new: where rows are protected, people are not counted."""
    return 0


def _charge(ledger: Ledger, plan: StreamPlan) -> Receipt:
    described = plan.to_dict()
    digest = hashlib.sha256(json.dumps(["privet stream", described], sort_keys=True).encode()).hexdigest()
    spend, layout = plan.sums.spend, plan.layout
    cost = {spend.measure: float(spend.amount)}
    level = "one row" if layout.rows is None else f"one person, {layout.rows} rows at most"
    counts = layout.low == 0 and layout.high == layout.grid == 1
    text = f"a running {'count' if counts else 'sum'} over {plan.sums.horizon} steps, by {plan.sums.method}"
    facts = {
        "rules": "2",
        "table": "a stream",
        "protects": level,
        "neighbors": plan.sums.neighbors,
        "releases": [{"sum": text}],
        "cost": cost,
        "stream": {name: value for name, value in described.items() if name != "identity"},
    }
    return ledger.charge(plan.event, digest, account=plan.account, text=text, facts=facts)


def _recovered(files: StreamFiles, book: KeepsSecrets, receipt: Receipt, body: bytes, progress: StepProgress) -> bytes:
    """Return the latest state by the ledger, after finishing the durable step of a process that died.

    A next state is closed where the ledger has it open from this very state, and adopted where the ledger has closed
    it; any other was never shown, and is removed. A state that the ledger does not know as the latest is refused; where
    another copy of the stream went on, the next state here is removed, as the other may have used the same noise.
    """
    files.finish_next()
    kept, following = read_kept(body), files.read(NEXT)
    if following is not None and (progress.state == hash_of(following) and progress.opened is None):
        files.adopt_next()
        return following
    if (progress.step, progress.state) != (kept.step, hash_of(body)):
        if kept.step < progress.step:
            files.drop_next()
        raise _differs(kept.step, progress)
    if following is not None and progress.opening is not None:
        later = _readable(following)
        if later is not None and (later.before, later.opening, later.step) == (
            progress.state,
            progress.opening,
            progress.opened,
        ):
            ahead = read_ahead(kept_noise(book.kept_text(receipt), progress.about or ""))
            used = later.plan.sums.noise_rows(kept.step, later.step - kept.step) * later.plan.layout.width
            left = _left(ahead.after(later.step, used))
            book.close_steps(receipt, opening=progress.opening, state=hash_of(following), kept=left)
            files.adopt_next()
            return following
    files.drop_next()
    return body


def _readable(body: bytes) -> StreamState | None:
    try:
        return read_kept(body)
    except LedgerError:
        return None


def _differs(step: int, last: StepProgress) -> LedgerError:
    if step < last.step:
        return LedgerError(
            f"the stream's folder is at step {step}, and the ledger has closed step {last.step}: an old copy was put "
            "back, or another copy went on. It is refused, since its next step was shown before; put back the latest"
        )
    return LedgerError(
        f"the stream's state is not the one after step {last.step} that the ledger knows: it was changed, or it is a "
        "fork or another stream's; put back the latest copy of its folder, and of the ledger"
    )


def _write_receipt(receipt: Receipt) -> bytes:
    return json.dumps({"entry": receipt.entry, "digest": receipt.digest, "account": receipt.account}).encode()


def _read_receipt(body: bytes | None, plan: StreamPlan) -> Receipt | None:
    if body is None:
        return None
    try:
        data = json.loads(body)
        receipt = Receipt(data["entry"], data["digest"], data["account"])
    except (ValueError, KeyError, TypeError, RequestError):
        raise_alone(LedgerError("the stream's receipt is damaged; put back the latest copy of its folder"))
    if receipt.account != plan.account:
        raise LedgerError("the stream's receipt is that of another account: the folder was changed")
    return receipt


def _records(released: Floats) -> bytes:
    return released.astype(_RECORD).tobytes()


def _chained(chain: bytes, released: Floats) -> bytes:
    """Return the hash over all that was shown, after more steps."""
    body, size = _records(released), released.shape[1] * _RECORD.itemsize
    for start in range(0, len(body), size):
        chain = hashlib.sha256(chain + body[start : start + size]).digest()
    return chain
