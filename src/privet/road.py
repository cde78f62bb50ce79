"""The one road from a plan to what is released: look it up, charge, read, draw, store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self, TypeVar, cast

from .core.entry import Plain
from .core.errors import EngineError, InvariantError, PrivetError, RequestError, bare
from .core.given import function
from .core.ports import Engine, Ledger
from .core.receipt import Receipt
from .core.relation import tables_of
from .core.scan import Exact, Scan, asks
from .core.schema import Key, Schema
from .engines.fits import check_scan
from .pace import Pace
from .planner.batch import Batch
from .planner.explain import facts
from .planner.others import with_found
from .planner.plan import Plan
from .release import Released, found_first, release, release_all

Result = TypeVar("Result")


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

    def _find(self, plan: Plan) -> tuple[Receipt, Released] | None:
        found = self._ledger.find(plan.digest, self._account)
        return None if found is None else (found[0], _unpacked(found[1]))

    def _found(self, batch: Batch) -> tuple[Receipt, tuple[Released, ...]] | None:
        found = self._ledger.find(batch.digest, self._account)
        return None if found is None else (found[0], tuple(_unpacked(one) for one in cast(Any, found[1])))

    def _versions(self, plans: Sequence[Plan]) -> dict[str, str]:
        names = {name for plan in plans for one in plan.passes for name in tables_of(one.scan.table)}
        return {name: self._schemas[name].version for name in sorted(names)}

    def _read_exacts(self, plan: Plan, receipt: Receipt, charged: Plan | Batch) -> tuple[list[Exact], tuple[Key, ...]]:
        """Return what the passes of a plan read, and the values by which they did, where the first one finds them."""
        if not plan.finds_first:
            return self._read_scans([one.scan for one in plan.passes], receipt), ()
        first = self._read_scans([plan.passes[0].scan], receipt)
        found = found_first(first[0], plan, receipt, charged)
        return first + self._read_scans([with_found(one.scan, found) for one in plan.passes[1:]], receipt), found

    def _read_scans(self, scans: Sequence[Scan], receipt: Receipt) -> list[Exact]:
        try:
            # a pass whose sums are all known has nothing to ask of the data
            return [self._scan(scan) if asks(scan) else Exact({}) for scan in scans]
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

    def _release_all(self, batch: Batch, key: str | None) -> tuple[Receipt, tuple[Released, ...]]:
        self._check_scans(batch.releases)
        receipt = self._ledger.charge(
            batch.event,
            batch.digest,
            account=self._account,
            key=key,
            versions=self._versions(batch.releases),
            text=batch.explain(),
            facts=batch.facts(),
        )
        stored = self._found(batch)
        if stored is not None:
            return stored
        released = _alone(lambda: self._drawn_all(batch, receipt), _unreleased())
        kept = self._ledger.store(receipt, tuple((one.keys, one.sums) for one in released))
        return self._found(batch) or (receipt, tuple(_unpacked(one) for one in cast(Any, kept)))

    def _release(self, plan: Plan, key: str | None) -> tuple[Receipt, Released]:
        self._check_scans([plan])
        receipt = self._ledger.charge(
            plan.event,
            plan.digest,
            account=self._account,
            key=key,
            versions=self._versions([plan]),
            text=plan.explain(),
            facts=facts(plan),
        )
        stored = self._find(plan)  # by somebody else who asked the same, or by the try that a key repeats
        if stored is not None:
            return stored
        released = _alone(lambda: self._drawn(plan, receipt), _unreleased())
        kept = self._ledger.store(receipt, (released.keys, released.sums))
        return self._find(plan) or (receipt, _unpacked(kept))

    def _drawn(self, plan: Plan, receipt: Receipt) -> Released:
        exacts, found = self._read_exacts(plan, receipt, plan)
        return release(exacts, plan, receipt, found)

    def _drawn_all(self, batch: Batch, receipt: Receipt) -> tuple[Released, ...]:
        read = [self._read_exacts(plan, receipt, batch) for plan in batch.releases]
        return release_all([exacts for exacts, _ in read], batch, receipt, [found for _, found in read])

    def _scan(self, scan: Scan) -> Exact:
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


def _unpacked(stored: Plain) -> Released:
    keys, sums = cast(Any, stored)
    return Released(keys, sums)
