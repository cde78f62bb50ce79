"""The one way from a plan to its release: find it, or charge, scan, draw and store."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from privet.answer import Answer
from privet.core.division import Touched
from privet.core.errors import EngineError, InvariantError, PrivetError, RequestError, Unsupported, bare
from privet.core.event import Event, Plain, Receipt
from privet.core.numbers import Number, open_probability
from privet.core.ports import CountsBlocks, Engine, Ledger, Left, ListsPublicRows, TakesSnapshots
from privet.core.relation import Relation, tables_of
from privet.core.scan import Scan, SealedSums, asks
from privet.core.schema import Key, Schema, has_blocks
from privet.planner.accuracy import CONFIDENCE
from privet.planner.batch import Batch, MadeBatch, editions_of_batch
from privet.planner.comparison_plans import ChoicePlan
from privet.planner.contributions import largest_limit
from privet.planner.explain import facts
from privet.planner.keys import with_found
from privet.planner.measures import Columns
from privet.planner.plan import Plan, editions_of
from privet.planner.public_plan import PublicPlan, listings, verify_public
from privet.planner.verify import verify
from privet.query.block_reads import block_names, touched_by
from privet.release import Released, choose_one, found_first, release, release_all, sizes_first
from privet.results.read import read_answer, read_public

from .pace import Pace

Result = TypeVar("Result")


class Kept(NamedTuple):
    """The stored release of a plan, and the plan by which it was released, which also reads it."""

    receipt: Receipt
    released: Released
    plan: Plan


class KeptBatch(NamedTuple):
    """The stored release of a batch: each release by the digest of its plan, and the plans that read them."""

    receipt: Receipt
    released: Mapping[str, Released]
    plans: tuple[Plan, ...]


class Turns:
    """One thread at a time for each digest: threads that ask the same wait for each other, and for no others."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._changing = threading.Lock()
        self._turns: dict[str, tuple[threading.Lock, list[None]]] = {}

    @contextmanager
    def turn(self, digest: str) -> Iterator[None]:
        """Wait until no other thread is at this digest, and keep others out."""
        if os.getpid() != self._process:  # threads that hold turns are not copied into a forked child
            Turns.__init__(self)
        with self._changing:
            lock, waiting = self._turns.setdefault(digest, (threading.Lock(), []))
            waiting.append(None)
        try:
            with lock:
                yield
        finally:
            with self._changing:
                waiting.pop()
                if not waiting:
                    self._turns.pop(digest, None)


_TURNS: WeakKeyDictionary[Ledger, Turns] = WeakKeyDictionary()
_MAKING = threading.Lock()


def turns_of(ledger: Ledger) -> Turns:
    """Return the turns at a ledger, the same for all sessions that charge it.

    A ledger that cannot be referred to weakly has turns for each session; it still stores one answer for each digest.
    """
    try:
        with _MAKING:
            return _TURNS.setdefault(ledger, Turns())
    except TypeError:
        return Turns()


class Executor:
    """Tables, the engine that scans them, and the account of a ledger that is charged before each scan."""

    def __init__(
        self, schemas: Mapping[str, Schema], engine: Engine, ledger: Ledger, account: str, *, pace: Pace
    ) -> None:
        self.schemas, self.engine, self.ledger, self.account = schemas, engine, ledger, account
        self.pace = pace
        self._turns = turns_of(ledger)
        self._changed = threading.Condition()
        self._running: list[int] = []
        self._closed = False

    def close(self) -> None:
        """Refuse questions from now on, before they are charged; questions in progress finish first."""
        self._closed = True
        here = os.getpid()
        with self._changed:
            self._changed.wait_for(lambda: here not in self._running)

    def check_open(self) -> None:
        """Raise unless questions are still accepted."""
        if self._closed:
            raise RequestError("this session is closed and reads nothing any more; open a new one")

    @contextmanager
    def turn(self, digest: str) -> Iterator[None]:
        """Keep out other threads that ask the same: it would be scanned and drawn twice.

        The time spent waiting depends on the duration of another scan, so the result follows the pace.
        """
        if self.pace.step is not None:
            self.pace.fresh()
        here = os.getpid()
        with self._turns.turn(digest):
            with self._changed:
                self.check_open()
                self._running.append(here)
            try:
                yield
            finally:
                with self._changed:
                    self._running.remove(here)
                    self._changed.notify_all()

    def find(self, plan: Plan, key: str | None = None) -> Kept | None:
        """Return the release of a plan, by this or an earlier edition of the planner, and the plan that it belongs to.

        Waits for no scan.
        """
        return next(filter(None, (self.stored(made.plan, made.digests[0], key) for made in editions_of(plan))), None)

    def find_batch(self, batch: Batch, key: str | None = None) -> KeptBatch | None:
        """Return the release of a batch, as `find` does for one plan."""
        return next(filter(None, (self._stored_batch(made, key) for made in editions_of_batch(batch))), None)

    def stored(self, plan: Plan, digest: str | None = None, key: str | None = None) -> Kept | None:
        """Return the stored release of a plan, under its own digest or that of an earlier edition.

        A key is charged with it, which is free as the plan was paid for and answered, and refuses the key of another
        question.
        """
        digest = plan.digest if digest is None else digest
        entry = self.ledger.find(digest, self.account)
        if entry is not None and key is not None:
            self.charge(plan, digest, key)
        return None if entry is None else Kept(entry[0], _unpacked(entry[1]), plan)

    def _stored_batch(self, made: MadeBatch, key: str | None = None) -> KeptBatch | None:
        entry = self.ledger.find(made.digest, self.account)
        if entry is not None and key is not None:
            self._charge_batch(made, key)
        return None if entry is None else _kept_all(entry[0], entry[1], made)

    def _versions(self, plans: Sequence[Plan]) -> dict[str, str]:
        names = {name for plan in plans for pass_ in plan.passes for name in tables_of(pass_.scan.table)}
        names |= {name for plan in plans if isinstance(plan, PublicPlan) for name in plan.names}
        return self.versions(names)

    def versions(self, tables: Iterable[str]) -> dict[str, str]:
        """Return the labels of tables, by their names."""
        return {name: self.schemas[name].version for name in sorted(set(tables))}

    def _read_exacts(
        self, plan: Plan, receipt: Receipt, charged: Plan | Batch
    ) -> tuple[list[SealedSums], tuple[Key, ...]]:
        """Return the data read by the passes of a plan, and the values used for it, where the first one finds them."""
        if plan.choosing:
            raise InvariantError("a plan that chooses its limits is read in two stages")
        if not plan.finds_first:
            return self._read_scans([pass_.scan for pass_ in plan.passes], receipt), ()
        first = self._read_scans([plan.passes[0].scan], receipt)
        values = found_first(first[0], plan, receipt, charged)
        return first + self._read_scans([with_found(pass_.scan, values) for pass_ in plan.passes[1:]], receipt), values

    def _read_sizes(self, plan: Plan, receipt: Receipt) -> tuple[list[SealedSums], dict[int, Columns]]:
        """Return the data read by a plan's passes at the limits that are chosen first, and the sizes that chose them.

        Guarantee: both stages were charged before the first; sizes are drawn once, and nothing of them is kept unless
        all is. A failure between the stages leaves the charge as it is.
        """
        first = self._read_scans([plan.passes[place].scan for place in plan.choosing], receipt)
        by_place = dict(zip(plan.choosing, first, strict=True))
        sizes = sizes_first(by_place, plan, receipt, plan)
        final = plan.at_limits(plan.limits(sizes))
        others = [place for place in range(len(final.passes)) if place not in by_place]
        rest = self._read_scans([final.passes[place].scan for place in others], receipt)
        by_place.update(zip(others, rest, strict=True))
        return [by_place[place] for place in range(len(final.passes))], sizes

    def _read_scans(self, scans: Sequence[Scan], receipt: Receipt) -> list[SealedSums]:
        try:
            # a pass whose sums are all known has nothing to ask of the data
            return [self._scan(scan) if asks(scan) else SealedSums({}) for scan in scans]
        except EngineError:
            self.ledger.fail(receipt)
            raise

    def _read_together(self, scans: Sequence[Scan], receipt: Receipt) -> list[SealedSums]:
        with self._snapshot():
            return self._read_scans(scans, receipt)

    def _snapshot(self) -> AbstractContextManager[object]:
        """Return the context in which all passes of one release read the same rows, where the engine's may change.

        Guarantee: a weight and a sum that another pass weighs by it are of the same rows, and so are keys and what is
        summed by them.
        """
        return self.engine.snapshot() if isinstance(self.engine, TakesSnapshots) else nullcontext()

    def read_scan(self, scan: Scan, receipt: Receipt) -> SealedSums:
        """Return the exact sums of one scan, sealed, for a charge that a receipt shows."""
        return self._read_scans([scan], receipt)[0]

    def _check_scans(self, plans: Sequence[Plan]) -> None:
        """Refuse scans that an engine would refuse, before they are charged."""
        self.check_open()
        for plan in plans:
            widest = plan.at_limits({place: largest_limit(plan.passes[place]) for place in plan.choosing})
            for pass_ in (*plan.passes, *(widest.passes if plan.choosing else ())):
                if asks(pass_.scan):
                    self.engine.check(pass_.scan)

    def _charge_batch(self, made: MadeBatch, key: str | None) -> Receipt:
        batch = made.batch
        return self._charged(
            batch.event,
            made.digest,
            blocks=self.touched(made.releases),
            key=key,
            versions=self._versions(batch.releases),
            text=batch.explain(),
            facts=batch.facts(),
        )

    def touched(self, plans: Sequence[Plan]) -> Touched | None:
        """Return the blocks that plans read, where they read only blocks of one table; None for all data."""
        return self._blocks_of([pass_.scan.table for plan in plans for pass_ in plan.passes])

    def _blocks_of(self, relations: Sequence[Relation]) -> Touched | None:
        return touched_by(relations, self.schemas) if has_blocks(self.schemas) else None

    def admits(self, event: Event, plans: Sequence[Plan] = ()) -> bool:
        """Return whether an event of some plans would fit now. Charges nothing."""
        blocks = self.touched(plans)
        if blocks is None or not isinstance(self.ledger, CountsBlocks):
            return self.ledger.admits(event, account=self.account)
        return self.ledger.admits(event, account=self.account, blocks=blocks)

    def remaining(self, plans: Sequence[Plan] = ()) -> Left:
        """Return the budget that is left, about all data or about the blocks that plans read."""
        return self.remaining_for([pass_.scan.table for plan in plans for pass_ in plan.passes])

    def remaining_for(self, relations: Sequence[Relation]) -> Left:
        """Return the budget that is left, about all data or about the blocks that relations read."""
        blocks = self._blocks_of(relations)
        if blocks is None or not isinstance(self.ledger, CountsBlocks):
            return self.ledger.remaining(self.account)
        return self.ledger.remaining(self.account, blocks=blocks)

    def _charged(self, event: Event, digest: str, *, blocks: Touched | None, **details: Any) -> Receipt:
        """Charge an event to the blocks that are read, or for all data where the ledger counts no blocks."""
        if blocks is None or not isinstance(self.ledger, CountsBlocks):
            return self.ledger.charge(event, digest, account=self.account, **details)
        names = block_names(blocks, self.schemas[blocks.table])
        facts = {**(details.pop("facts") or {}), "blocks": {"table": blocks.table, "names": names}}
        return self.ledger.charge(event, digest, account=self.account, blocks=blocks, facts=facts, **details)

    def release_batch(self, batch: Batch, key: str | None) -> KeptBatch:
        """Charge for a batch, then scan, draw and store each of its releases; return the stored batch."""
        self._check_scans(batch.releases)
        now = MadeBatch(batch, batch.digest, batch.releases)
        receipt = self._charge_batch(now, key)
        stored = self._stored_batch(now) if receipt.answered else None
        if stored is not None:
            return stored
        released = _alone(lambda: self._drawn_batch(batch, receipt), _unreleased)
        return _kept_all(*self.ledger.store(receipt, tuple(map(_packed, released))), now)

    def find_choice(self, plan: ChoicePlan, key: str | None = None) -> tuple[Receipt, int] | None:
        """Return which option was chosen for a plan, if it was; a key is charged with it, which is free."""
        entry = self.ledger.find(plan.digest, self.account)
        if entry is not None and key is not None:
            self._charge_choice(plan, key)
        return None if entry is None else (entry[0], cast(int, entry[1]))

    def release_choice(self, plan: ChoicePlan, key: str | None) -> tuple[Receipt, int]:
        """Charge for a choice, then scan, draw and store; return the stored choice."""
        self.check_open()
        for scan in plan.scans:
            self.engine.check(scan)
        receipt = self._charge_choice(plan, key)
        stored = self.find_choice(plan) if receipt.answered else None
        if stored is not None:
            return stored
        place = _alone(lambda: choose_one(self._read_together(plan.scans, receipt), plan, receipt), _unreleased)
        receipt, kept = self.ledger.store(receipt, place)
        return receipt, cast(int, kept)

    def _charge_choice(self, plan: ChoicePlan, key: str | None) -> Receipt:
        return self.ledger.charge(
            plan.event,
            plan.digest,
            account=self.account,
            key=key,
            versions=self.versions(plan.tables),
            text=plan.explain(),
            facts=plan.facts(),
        )

    def charge(self, plan: Plan, digest: str, key: str | None) -> Receipt:
        """Charge for a plan, under its own digest or that of an earlier edition."""
        return self._charged(
            plan.event,
            digest,
            blocks=self.touched([plan]),
            key=key,
            versions=self._versions([plan]),
            text=plan.explain(),
            facts=plan.facts() if isinstance(plan, PublicPlan) else facts(plan),
        )

    def release(self, plan: Plan, key: str | None) -> Kept:
        """Charge for a plan, then scan, draw and store; return the stored release."""
        self._check_scans([plan])
        receipt = self.charge(plan, plan.digest, key)
        # by another thread, process or account that asked the same
        stored = self.stored(plan) if receipt.answered else None
        if stored is not None:
            return stored
        released = _alone(lambda: self._drawn(plan, receipt), _unreleased)
        receipt, kept = self.ledger.store(receipt, _packed(released))
        return Kept(receipt, _unpacked(kept), plan)

    def _drawn(self, plan: Plan, receipt: Receipt) -> Released:
        if plan.choosing:
            with self._snapshot():
                exacts, sizes = self._read_sizes(plan, receipt)
            return release(exacts, plan, receipt, sizes=sizes)
        with self._snapshot():
            exacts, values = self._read_exacts(plan, receipt, plan)
        return release(exacts, plan, receipt, values)

    def _drawn_batch(self, batch: Batch, receipt: Receipt) -> tuple[Released, ...]:
        with self._snapshot():
            read = [self._read_exacts(plan, receipt, batch) for plan in batch.releases]
        return release_all([exacts for exacts, _ in read], batch, receipt, [values for _, values in read])

    def _scan(self, scan: Scan) -> SealedSums:
        # whatever an engine or a source raises may quote a row
        return _alone(lambda: self.engine.scan(scan), EngineError)


def run_plan(executor: Executor, plan: Plan, *, confidence: Number | None, key: str | None) -> Answer:
    """Return the answer to a plan of one round: from the ledger, or else charge, scan and draw."""
    if confidence is None:
        confidence = plan.target.confidence if plan.target else CONFIDENCE
    level = float(open_probability(confidence, "confidence"))
    verify(plan, executor.schemas)
    kept = executor.find(plan, key)
    if kept is None:
        with executor.turn(plan.digest):
            kept = executor.release(plan, key)
    return read_answer(kept.released, kept.plan, kept.receipt, confidence=level)


MOST_LISTED = 200_000
"""The most rows of public tables that make up an answer."""


def run_public(executor: Executor, plan: PublicPlan, *, key: str | None) -> Answer:
    """Return the answer to a question about public tables only: read as they are, for nothing.

    Guarantee: nothing private is read, whatever made the plan. The ledger keeps that it was asked, at no cost.
    """
    verify_public(plan, executor.schemas)
    engine = executor.engine
    if not isinstance(engine, ListsPublicRows):
        raise Unsupported("this engine lists no public tables by themselves; read them where they are, without noise")
    rows = []
    for listing in listings(plan.query):
        listed = engine.list_public(listing.table, MOST_LISTED)
        if listed is None:
            raise Unsupported(
                f"this asks about public tables only, and of more than {MOST_LISTED:,} of their rows; add a WHERE, or "
                f"read them where they are, without noise"
            )
        rows.append(listed)
    kept = executor.stored(plan, key=key)
    if kept is not None:
        return read_public(rows, plan, kept.receipt)
    with executor.turn(plan.digest):
        receipt, _ = executor.ledger.store(executor.charge(plan, plan.digest, key), ((), ()))
    return read_public(rows, plan, receipt)


def _alone(work: Callable[[], Result], failure: Callable[[], PrivetError]) -> Result:
    """Return the result of work on private rows; any exception leaves without its text, its frames and its notes.

    Guarantee: from what is raised here nothing can be reached that a foreign error said, nor a frame that held rows.
    """
    raised: PrivetError | None
    try:
        return work()
    except PrivetError as error:
        raised = bare(error)
    except Exception:  # which one it is may depend on the rows
        raised = None
    raise failure() if raised is None else raised  # out here nothing is being handled that it could carry


def without_private_words(work: Callable[[], Result]) -> Result:
    """Return the result of work on private rows; its exceptions contain nothing that depends on rows."""
    return _alone(work, _unreleased)


def _unreleased() -> PrivetError:
    return InvariantError("noise could not be drawn for what was read; the charge stands")


def _kept_all(receipt: Receipt, stored: Plain, made: MadeBatch) -> KeptBatch:
    each = zip(made.releases, cast(Any, stored), strict=True)
    return KeptBatch(receipt, {plan.digest: _unpacked(release_of) for plan, release_of in each}, made.batch.plans)


def _packed(released: Released) -> Plain:
    return released.keys, released.sums, released.word


def _unpacked(stored: Plain) -> Released:
    """Return the stored release; releases from before words were drawn have none."""
    return Released(*cast(Any, stored))
