"""The one road from a plan to what is released: look it up, charge, read, draw, store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Self, TypeVar, cast

from privet.core.errors import EngineError, InvariantError, PrivetError, RequestError, bare
from privet.core.given import function
from privet.core.ports import Engine, Ledger
from privet.core.records import Plain, Receipt
from privet.core.relation import tables_of
from privet.core.scan import Scan, SealedSums, asks
from privet.core.schema import Key, Schema
from privet.engines.scan_sql.fits import check_scan
from privet.planner.batch import Batch, MadeBatch, editions_of_batch
from privet.planner.editions import editions_of
from privet.planner.explain import facts
from privet.planner.keys import with_found
from privet.planner.plan import Plan
from privet.release import Released, found_first, release, release_all

from .pace import Pace

Result = TypeVar("Result")


class Kept(NamedTuple):
    """What a ledger keeps of a plan, and the plan by which it was released: it is read by that one."""

    receipt: Receipt
    released: Released
    plan: Plan


class KeptBatch(NamedTuple):
    """What a ledger keeps of a batch: each release by the digest of its plan, and the plans that read them."""

    receipt: Receipt
    released: Mapping[str, Released]
    plans: tuple[Plan, ...]


class Road:
    """Tables, the engine that reads them, and the account of a ledger that is charged before each reading."""

    def __init__(
        self, schemas: Mapping[str, Schema], engine: Engine, ledger: Ledger, account: str, *, pace: Pace
    ) -> None:
        self._schemas, self._engine, self._ledger, self._account = schemas, engine, ledger, account
        self._pace = pace
        self._closing = ExitStack()
        self._closing.callback(self._engine.close)
        self._asking = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Close the engine's connection, and what else the session was given to close; what is asked is finished first.

        A closed session refuses questions before they are charged.
        """
        with self._asking:
            self._closed = True
        self._closing.close()

    def closing(self, close: Callable[[], object]) -> Self:
        """Return this session, which calls `close` when it is closed itself."""
        self._closing.callback(function(close, "close", "a function without arguments"))
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Keep others out who ask: the same question, asked twice at once, would be read and drawn twice.

        How long one waits for its turn says how long another's reading took: what comes of it is held to the pace.
        """
        self._pace.fresh()
        with self._asking:
            yield

    def _find(self, plan: Plan, key: str | None = None) -> Kept | None:
        """Return what was released for a plan, by this or an earlier edition of the planner, and the plan it is of.

        With a key, its charge is looked up as well: it may have been used for another question. What this edition
        released is then left to be found by its charge.
        """
        earlier = editions_of(plan)[1:]
        found = self._stored(plan) if key is None or earlier else None
        if found is not None:
            return found if key is None else None
        for made in earlier:
            found = self._stored(made.plan, made.digests[0])
            if found is not None:
                if key is not None:
                    self._charge(made.plan, made.digests[0], key)  # was paid for and answered, so it is free
                return found
        return None

    def _found(self, batch: Batch, key: str | None = None) -> KeptBatch | None:
        """Return what was released for a batch, as `_find` does for one plan."""
        now, *earlier = editions_of_batch(batch)
        found = self._stored_all(now) if key is None or earlier else None
        if found is not None:
            return found if key is None else None
        for made in earlier:
            found = self._stored_all(made)
            if found is not None:
                if key is not None:
                    self._charge_all(made, key)
                return found
        return None

    def _stored(self, plan: Plan, digest: str | None = None) -> Kept | None:
        """Return what is stored for a plan, under its own digest or the one that an earlier edition gave it."""
        found = self._ledger.find(plan.digest if digest is None else digest, self._account)
        return None if found is None else Kept(found[0], _unpacked(found[1]), plan)

    def _stored_all(self, made: MadeBatch) -> KeptBatch | None:
        found = self._ledger.find(made.digest, self._account)
        return None if found is None else _kept_all(found[0], found[1], made)

    def _versions(self, plans: Sequence[Plan]) -> dict[str, str]:
        names = {name for plan in plans for one in plan.passes for name in tables_of(one.scan.table)}
        return {name: self._schemas[name].version for name in sorted(names)}

    def _read_exacts(
        self, plan: Plan, receipt: Receipt, charged: Plan | Batch
    ) -> tuple[list[SealedSums], tuple[Key, ...]]:
        """Return what the passes of a plan read, and the values by which they did, where the first one finds them."""
        if not plan.finds_first:
            return self._read_scans([one.scan for one in plan.passes], receipt), ()
        first = self._read_scans([plan.passes[0].scan], receipt)
        found = found_first(first[0], plan, receipt, charged)
        return first + self._read_scans([with_found(one.scan, found) for one in plan.passes[1:]], receipt), found

    def _read_scans(self, scans: Sequence[Scan], receipt: Receipt) -> list[SealedSums]:
        try:
            # a pass whose sums are all known has nothing to ask of the data
            return [self._scan(scan) if asks(scan) else SealedSums({}) for scan in scans]
        except EngineError:
            self._ledger.fail(receipt)
            raise

    def _check_scans(self, plans: Sequence[Plan]) -> None:
        """Refuse what an engine would refuse, before it is charged."""
        self._check_open()
        for one in (one for plan in plans for one in plan.passes):
            if asks(one.scan):
                check_scan(one.scan, self._schemas)

    def _check_open(self) -> None:
        if self._closed:
            raise RequestError("this session is closed and reads nothing any more; open a new one")

    def _charge_all(self, made: MadeBatch, key: str | None) -> Receipt:
        batch = made.batch
        return self._ledger.charge(
            batch.event,
            made.digest,
            account=self._account,
            key=key,
            versions=self._versions(batch.releases),
            text=batch.explain(),
            facts=batch.facts(),
        )

    def _release_all(self, batch: Batch, key: str | None) -> KeptBatch:
        self._check_scans(batch.releases)
        now = MadeBatch(batch, batch.digest, batch.releases)
        receipt = self._charge_all(now, key)
        stored = self._stored_all(now)
        if stored is not None:
            return stored
        released = _alone(lambda: self._drawn_all(batch, receipt), _unreleased())
        kept = self._ledger.store(receipt, tuple((one.keys, one.sums) for one in released))
        return self._stored_all(now) or _kept_all(receipt, kept, now)

    def _charge(self, plan: Plan, digest: str, key: str | None) -> Receipt:
        return self._ledger.charge(
            plan.event,
            digest,
            account=self._account,
            key=key,
            versions=self._versions([plan]),
            text=plan.explain(),
            facts=facts(plan),
        )

    def _release(self, plan: Plan, key: str | None) -> Kept:
        self._check_scans([plan])
        receipt = self._charge(plan, plan.digest, key)
        stored = self._stored(plan)  # by somebody else who asked the same, or by the try that a key repeats
        if stored is not None:
            return stored
        released = _alone(lambda: self._drawn(plan, receipt), _unreleased())
        kept = self._ledger.store(receipt, (released.keys, released.sums))
        return self._stored(plan) or Kept(receipt, _unpacked(kept), plan)

    def _drawn(self, plan: Plan, receipt: Receipt) -> Released:
        exacts, found = self._read_exacts(plan, receipt, plan)
        return release(exacts, plan, receipt, found)

    def _drawn_all(self, batch: Batch, receipt: Receipt) -> tuple[Released, ...]:
        read = [self._read_exacts(plan, receipt, batch) for plan in batch.releases]
        return release_all([exacts for exacts, _ in read], batch, receipt, [found for _, found in read])

    def _scan(self, scan: Scan) -> SealedSums:
        # whatever an engine or a source raises may quote a row
        return _alone(lambda: self._engine.scan(scan), EngineError())


def _alone(work: Callable[[], Result], failure: PrivetError) -> Result:
    """Return what work on private rows gives; whatever it raises leaves without its text, its frames and its notes.

    Guarantee: from what is raised here nothing can be reached that a foreign error said, nor a frame that held rows.
    """
    try:
        return work()
    except PrivetError as error:
        failure = bare(error)
    except Exception:  # which one it is may depend on the rows
        bare(failure)
    raise failure  # out here nothing is being handled that it could carry


def _unreleased() -> PrivetError:
    return InvariantError("noise could not be drawn for what was read; the charge stands")


def _kept_all(receipt: Receipt, stored: Plain, made: MadeBatch) -> KeptBatch:
    each = zip(made.releases, cast(Any, stored), strict=True)
    return KeptBatch(receipt, {plan.digest: _unpacked(one) for plan, one in each}, made.batch.plans)


def _unpacked(stored: Plain) -> Released:
    keys, sums = cast(Any, stored)
    return Released(keys, sums)
