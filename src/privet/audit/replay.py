"""The worst neighbours of the data at hand, for one plan: its own SQL, with and without each unit. Custodians only.

What comes back is private: it names a person and shows how much that person moves. It is for practice tables and for
the custodian's eyes, and no analyst's request reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from privet.core.errors import BadParameter, RequestError, UnknownName
from privet.core.given import mapping, read_fields
from privet.core.numbers import whole
from privet.core.relation import tables_of
from privet.core.scan import Scan, asks
from privet.core.schema import Table, followed
from privet.core.wire import canonical
from privet.planner.batch import Batch
from privet.planner.contributions import largest_limit, with_limit
from privet.planner.groupings import Several
from privet.planner.keys import with_found
from privet.planner.plan import Pass, Plan

from .neighbours import Bench, Claim, Norm, Seen, claims_of

_WORDS: Mapping[Norm, str] = {
    "L1": "moved by {} of {} in L1",
    "L2": "moved by {} of {} in L2",
    "range": "moved within {} of {}, added over groups",
    "most": "moved by {} of {} at most",
    "number": "{} of {}",
    "part": "{} of {} of what its threshold is made for",
}
_FOUND = 100
"""As many values are taken for found, at most, where the rest is one more group."""


@dataclass(frozen=True)
class Moved:
    """How far one thing that a plan releases moved at most, of what its noise is made for, and by whom. Private.

    Example:
        >>> audit.Moved("the sum", "L1", claimed=2.0, moved=1.0, unit=7, holds=True).share
        0.5
    """

    what: str
    norm: Norm
    claimed: float
    moved: float
    unit: Any
    holds: bool
    """Whether no unit moved it by more than is claimed, compared exactly."""

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def share(self) -> float:
        """The part of the claim that the worst unit used."""
        return self.moved / self.claimed if self.claimed else math.inf if self.moved else 0.0

    def __str__(self) -> str:
        how = _WORDS[self.norm].format(f"{self.moved:.6g}", f"{self.claimed:.6g}")
        return f"{self.what}: {how}, {'holds' if self.holds else 'FAILS'}; the worst: {self.unit}"


@dataclass(frozen=True)
class Replay:
    """What became of a plan's claims on these very data, unit by unit. Private: not for release.

    Example:
        >>> plan = session.plan("SELECT COUNT(*) FROM visits", epsilon=0.5)
        >>> audit.replay({"visits": visits}, plan, most=3).holds
        True
    """

    moves: tuple[Moved, ...]
    units: int
    worlds: int

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def holds(self) -> bool:
        """Whether every claim held."""
        return all(move.holds for move in self.moves)

    @property
    def worst(self) -> Moved:
        """What came closest to its claim, or exceeded it by most."""
        return max(self.moves, key=lambda move: (not move.holds, move.share))

    def __str__(self) -> str:
        lines = [f"PRIVATE, for the custodian alone: {self.units} units, {self.worlds} neighbouring worlds replayed"]
        return "\n".join([*lines, *(f"  {move}" for move in self.moves)])


def replay(tables: Mapping[str, Table], plan: Plan | Batch, *, most: int = 200) -> Replay:
    """Return how far each unit moves what a plan releases, by running the plan's own SQL with and without that unit.

    Each of up to `most` units is dropped in turn, or, under change-one neighbours, also turned into some of the others;
    a window of time from each moment at which a unit has a row, whole and in part. All that the plan's events rest on
    is compared with what its noise is made for: integer sums, the ranks of quantiles, the counts of frequent values,
    the keys that are found. A plan of rounds or levels, and a batch of several plans, is replayed whole.

    Args:
        tables: the tables of the plan, by name.
        plan: what `Session.plan` or `plan_all` returned.
        most: how many units are tried.

    Example:
        >>> plan = session.plan("SELECT COUNT(*) FROM visits", epsilon=0.5)
        >>> audit.replay({"visits": visits}, plan, most=3).holds
        True

    Guarantee: none. What comes back is a function of private rows, without noise: for practice tables, or for the
    custodian who may see the rows anyway. A claim that fails here is refuted; one that holds was seen on these data.
    """
    count = whole(most, "most", least=1, most=10**6)
    _check_tables(tables)
    together: dict[tuple[str, ...], list[Plan]] = {}
    for release in _releases(plan):
        if any(asks(pass_.scan) for pass_ in release.passes):
            used = {name for pass_ in release.passes for name in tables_of(pass_.scan.table)}
            together.setdefault(tuple(sorted(used)), []).append(release)
    if not together:
        raise RequestError(
            "this plan asks nothing of the data: declared facts fix its answer, and no unit can move it; replay a "
            "question that reads rows"
        )
    moves: list[Moved] = []
    units = worlds = 0
    for names, plans in together.items():
        for name in names:
            if name not in tables:
                raise UnknownName("table", name, tables, advice="pass all tables that the plan is about")
        with Bench({name: tables[name] for name in tables if name in names or _linked(name, tables, names)}) as bench:
            own, replayed = _replay(bench, names, plans, count)
        moves, units, worlds = [*moves, *replayed.moves], max(units, own), worlds + replayed.worlds
    return Replay(tuple(moves), units, worlds)


def _check_tables(tables: Mapping[str, Table]) -> None:
    mapping(tables, "tables", "a mapping of names to Tables, those that the plan is about", Table)


def _releases(plan: Plan | Batch) -> Sequence[Plan]:
    match plan:
        case Several():
            return plan.batch.releases
        case Batch():
            return plan.releases
        case Plan():
            return (plan,)
    raise BadParameter("plan", type(plan).__name__, "a plan, or a batch of them, of a session over these tables")


def _replay(bench: Bench, names: Sequence[str], plans: Sequence[Plan], most: int) -> tuple[int, Replay]:
    units, changes = bench.changes(names, most)
    if not units:
        raise RequestError("these tables have no rows of people, so there is no unit to drop")
    sought = [claims for plan in plans for claims in _sought(plan, bench)]
    honest = _Readings(bench)
    before = [[honest.of(scan) for scan in claims.scans] for claims in sought]
    worlds = 0
    for change in changes:
        bench.enter(change)
        worlds += 1
        readings = _Readings(bench)
        for claimed, seen in zip(sought, before, strict=True):
            for scan, first in zip(claimed.scans, seen, strict=True):
                claimed.compare(change.unit, first, readings.of(scan))
    return units, Replay(tuple(move for claims in sought for move in claims.moves()), units, worlds)


def _linked(name: str, tables: Mapping[str, Table], used: Sequence[str]) -> bool:
    """Return whether a table stands on the way from a used one to who owns its rows."""
    schemas = followed({each: table.schema for each, table in tables.items()})
    waiting, seen = list(used), set()
    while waiting:
        link = schemas[waiting.pop()].link
        if link is not None and link.to not in seen:
            seen.add(link.to)
            waiting.append(link.to)
    return name in seen


class _Readings:
    """What one world yields: scans that several rounds ask are read once."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._found: dict[str, Seen] = {}

    def of(self, scan: Scan) -> Seen:
        text = canonical(replace(scan, near=None))
        if text not in self._found:
            self._found[text] = self._bench.read(scan)
        return self._found[text]


class _Sought:
    """The claims of one pass, the scans that it may read by, and the farthest that each claim was used."""

    def __init__(self, one: Pass, scans: Sequence[Scan]) -> None:
        self.scans = tuple(scans)
        self._claims = claims_of(one)
        self._worst: list[tuple[Fraction | int, Any]] = [(0, None)] * len(self._claims)

    def compare(self, unit: Any, before: Seen, after: Seen) -> None:
        """Take note of how much of each claim two readings use."""
        for place, claim in enumerate(self._claims):
            far = claim.measured(before, after)
            if far > self._worst[place][0] or self._worst[place][1] is None:
                self._worst[place] = (far, unit)

    def moves(self) -> Iterator[Moved]:
        """Yield the results."""
        for claim, (far, unit) in zip(self._claims, self._worst, strict=True):
            yield _as_moved(claim, far, unit)


def _as_moved(claim: Claim, far: Fraction | int, unit: Any) -> Moved:
    return Moved(claim.what, claim.norm, claim.read(claim.size), claim.read(far), unit, far <= claim.size)


def _sought(plan: Plan, bench: Bench) -> Iterator[_Sought]:
    """Yield the passes of a plan, each with what it may read.

    Where values are found first, they depend on noise, and the claims of later passes hold whatever they are: they are
    replayed for all values that occur, for every other one, and for none. Where a limit is chosen first, the claims of
    the pass that it bounds are replayed at several.
    """
    founds: list[list[Any]] = [[]]
    if plan.finds_first:
        held = sorted(
            (cell[0] for cell in bench.read(plan.passes[0].scan).cells), key=lambda value: (value is None, value)
        )
        founds = [held[:_FOUND], held[: 2 * _FOUND : 2], []]
    for place, pass_ in enumerate(plan.passes):
        if place - 1 in plan.choosing:
            for limit in sorted({1, 3, largest_limit(plan.passes[place - 1])}):
                chosen = with_limit(pass_, limit)
                yield _Sought(chosen, [chosen.scan])
        elif asks(pass_.scan):
            others = not pass_.finds_first and plan.finds_first
            yield _Sought(pass_, [with_found(pass_.scan, values) for values in founds] if others else [pass_.scan])
