"""The worst neighbours of the data at hand, for one plan: its own SQL, with and without each unit. Custodians only.

What comes back is private: it names a person and tells how much that person moves. It is for practice tables and for
the custodian's eyes, and no analyst's request reaches it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from privet.core.errors import RequestError, Unsupported
from privet.core.exact import whole
from privet.core.relation import tables_of
from privet.core.scan import Scan, asks
from privet.core.schema import Table
from privet.core.unit import Nobody, Person
from privet.core.unit import Rows as EachRow
from privet.engines.duckdb import DuckDB
from privet.engines.owners import owner_of
from privet.engines.places import as_counts, counting
from privet.engines.relations import relation_sql
from privet.engines.sql import statement
from privet.mechanisms import Laplace
from privet.planner.plan import Pass, Plan
from privet.planner.selections import norm_of
from privet.planner.stability import key_sensitivity, shift_of

_SECRET = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834
"""One secret for all worlds: an engine draws a fresh one for each question, and the claim holds under any."""

_OTHERS = 3
"""As many other units does a unit turn into, where neighbours change."""

Cells = dict[tuple[Any, ...], tuple[int, ...]]
Norm = Literal["L1", "L2"]


@dataclass(frozen=True)
class Moved:
    """How far one of a plan's sums moved at most, of what its noise is made for, and by whom. Private."""

    what: str
    norm: Norm
    claimed: float
    moved: float
    unit: object
    holds: bool
    """Whether no unit moved it by more than is claimed, compared exactly."""

    @property
    def share(self) -> float:
        """The part of the claim that the worst unit used."""
        return self.moved / self.claimed if self.claimed else math.inf if self.moved else 0.0


@dataclass(frozen=True)
class Replay:
    """What became of a plan's claims on these very data, unit by unit. Private: not for release."""

    moves: tuple[Moved, ...]
    units: int
    worlds: int

    @property
    def holds(self) -> bool:
        """Whether every claim held."""
        return all(one.holds for one in self.moves)

    @property
    def worst(self) -> Moved:
        """The sum that came closest to its claim, or exceeded it by most."""
        return max(self.moves, key=lambda one: (not one.holds, one.share))

    def __str__(self) -> str:
        lines = [f"PRIVATE, for the custodian alone: {self.units} units, {self.worlds} neighbouring worlds replayed"]
        for one in self.moves:
            verdict = "holds" if one.holds else "FAILS"
            lines.append(
                f"  {one.what}: moved by {one.moved:.6g} of {one.claimed:.6g} in {one.norm}, {verdict}; "
                f"the worst: {one.unit}"
            )
        return "\n".join(lines)


def replay(tables: Mapping[str, Table], plan: Plan, *, most: int = 200) -> Replay:
    """Return how far each unit moves what a plan sums, by running the plan's own SQL with and without that unit.

    Each of up to `most` units is dropped in turn, or, under change-one neighbours, turned into some of the others, and
    every integer that the plan would add noise to is compared with what its noise is made for.

    Guarantee: none. What comes back is a function of private rows, without noise: for practice tables, or for the
    custodian who may see the rows anyway. A claim that fails here is refuted; one that holds was seen on these data.
    """
    count = whole(most, "most", least=1, most=10**6)
    used = {name for one in plan.passes for name in tables_of(one.scan.table)}
    with _Bench(
        {name: table for name, table in tables.items() if name in used or _linked(name, tables, used)}
    ) as bench:
        units = bench.units(sorted(used))[:count]
        if not units:
            raise RequestError("these tables hold no rows, so there is nobody to drop")
        sought = [_Sought(one) for one in plan.passes if asks(one.scan)]
        if not sought:
            raise RequestError("this plan asks nothing of the data")
        honest = [bench.read(one.scan) for one in sought]
        worlds = 0
        for unit, other in _changes(units, change=bench.changes):
            bench.enter(unit, other)
            worlds += 1
            for one, before in zip(sought, honest, strict=True):
                one.compare(unit, before, bench.read(one.scan))
    return Replay(tuple(move for one in sought for move in one.moves()), len(units), worlds)


def _linked(name: str, tables: Mapping[str, Table], used: set[str]) -> bool:
    """Return whether a table stands on the way from a used one to who owns its rows."""
    from privet.core.links import followed

    schemas = followed({each: table.schema for each, table in tables.items()})
    waiting, seen = list(used), set()
    while waiting:
        link = schemas[waiting.pop()].link
        if link is not None and link.to not in seen:
            seen.add(link.to)
            waiting.append(link.to)
    return name in seen


def _changes(units: list[Any], *, change: bool) -> Iterator[tuple[Any, Any]]:
    for place, unit in enumerate(units):
        if not change:
            yield unit, None
            continue
        for step in range(1, min(_OTHERS, len(units) - 1) + 1):
            yield unit, units[(place + step * max(1, len(units) // (_OTHERS + 1))) % len(units)]


class _Sought:
    """The claims of one pass, and the farthest that each of its sums moved."""

    def __init__(self, one: Pass) -> None:
        self.scan = one.scan
        self._claims: list[_Claim] = []
        for measure in one.measures:
            noise = measure.mechanism
            norm: Norm = "L1" if isinstance(noise, Laplace) else "L2"
            counted = measure.sum.expression is None
            size = noise.sensitivity if isinstance(noise, Laplace) else noise.sensitivity_squared
            unit = (Fraction(1) if counted else measure.sum.step) / 2**measure.shift
            self._claims.append(_Claim("a count" if counted else "a sum", norm, size, unit))
        if one.scan.discovery is not None:
            weight = Fraction(1, 2**one.scan.discovery.shift)
            self._claims.append(_Claim("the people of a key", "L1", key_sensitivity(one.scan).l1, weight))
        if one.scan.places is not None:
            weight = Fraction(1, 2 ** shift_of(one.scan.bounding))
            self._claims.append(_Claim("the rows of a quantile", "L1", norm_of(one.scan), weight))
        self._worst: list[tuple[int, Any]] = [(0, None)] * len(self._claims)

    def compare(self, unit: Any, before: Cells, after: Cells) -> None:
        """Take note of how far each sum moved."""
        nothing = (0,) * len(self._claims)
        cells = [(before.get(cell, nothing), after.get(cell, nothing)) for cell in before.keys() | after.keys()]
        for place, claim in enumerate(self._claims):
            steps = [abs(int(one[place]) - int(other[place])) for one, other in cells]
            far = sum(steps) if claim.norm == "L1" else sum(step * step for step in steps)
            if far > self._worst[place][0] or self._worst[place][1] is None:
                self._worst[place] = (far, unit)

    def moves(self) -> Iterator[Moved]:
        """Yield what was found."""
        for claim, (far, unit) in zip(self._claims, self._worst, strict=True):
            yield Moved(claim.what, claim.norm, claim.read(claim.size), claim.read(far), unit, far <= claim.size)


@dataclass(frozen=True)
class _Claim:
    """How far a unit may move a sum, L2 squared, in integers that are worth `unit` each."""

    what: str
    norm: Norm
    size: Fraction
    unit: Fraction

    def read(self, size: Fraction | int) -> float:
        """Return an L1 norm, or the root of a squared L2 norm, in the units of the column."""
        return float(size * self.unit) if self.norm == "L1" else math.sqrt(size) * float(self.unit)


class _Bench(DuckDB):
    """An engine whose tables can lack a unit, or have it turned into another."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self._worlds = dict(self._relations)
        self._copies: dict[str, str] = {}
        for index, (name, relation) in enumerate(self._relations.items()):
            if isinstance(self._tables[name].unit, Nobody):
                continue
            if not isinstance(self._tables[name].unit, (EachRow, Person)):
                raise Unsupported("only rows and people can be replayed, not windows of time")
            self._copies[name] = f"copy{index}"
            self._fetch(f"CREATE TABLE copy{index} AS SELECT *, row_number() OVER () AS row FROM {relation}")
            self._fetch(f"CREATE VIEW world{index} AS SELECT * EXCLUDE (row) FROM copy{index}")
            self._worlds[name] = f"world{index}"

    def __enter__(self) -> _Bench:
        return self

    @property
    def changes(self) -> bool:
        """Whether neighbours change a unit, rather than drop it."""
        return any(self._tables[name].moves == "change-one" for name in self._copies)

    def units(self, names: list[str]) -> list[Any]:
        """Return who owns rows of these tables: people, or the table and the number of each row."""
        found: dict[Any, None] = {}
        for name in names:
            if name in self._copies:
                for (unit,) in self._fetch(
                    f"SELECT DISTINCT {self._owner(name)} AS u FROM {self._copies[name]} ORDER BY u"
                ):
                    if unit is not None:
                        found[(name, unit) if self._by_row(name) else unit] = None
        return list(found)

    def enter(self, unit: Any, other: Any) -> None:
        """Let the tables lack a unit; or let another one's rows stand under its name in place of its own."""
        for name, copy in self._copies.items():
            mine, theirs = (self._literal(name, each) for each in (unit, other))
            if mine is None:
                continue
            owner, world = self._owner(name), self._worlds[name]
            kept = f"SELECT * EXCLUDE (row) FROM {copy} WHERE {owner} IS DISTINCT FROM {mine}"
            if theirs is not None:
                named = "" if self._by_row(name) else f" REPLACE ({mine} AS {owner})"
                kept += f" UNION ALL SELECT * EXCLUDE (row){named} FROM {copy} WHERE {owner} = {theirs}"
            self._fetch(f"CREATE OR REPLACE VIEW {world} AS {kept}")

    def read(self, scan: Scan) -> Cells:
        """Return the integers of a scan by cell, in the world that was entered."""
        relation = relation_sql(scan.table, self._tables, self._worlds)
        if scan.places is not None:
            # place by place: blocks of places are a matter of what is looked at, not of what a unit weighs
            counted = counting(replace(scan, near=None), relation, _SECRET)
            cells = as_counts(self._fetch_arrays(counted.sql, counted.parameters), counted.kinds)
            return {
                (*key, place): (weight,)
                for key, (places, weights) in cells.items()
                for place, weight in zip(places, weights, strict=True)
            }
        asked = statement(scan, relation, _SECRET)
        rows = self._fetch(asked.sql, asked.parameters)
        return {row[: asked.keys]: row[asked.keys :] for row in rows}

    def _by_row(self, name: str) -> bool:
        return isinstance(self._tables[name].unit, EachRow)

    def _owner(self, name: str) -> str:
        return "row" if self._by_row(name) else owner_of(self._tables[name])[0]

    def _literal(self, name: str, unit: Any) -> str | None:
        """Return a unit as SQL, where it may own rows of a table."""
        if unit is None:
            return None
        if self._by_row(name):
            return str(unit[1]) if isinstance(unit, tuple) and unit[0] == name else None
        if isinstance(unit, tuple):
            return None
        place = f"SELECT {self._owner(name)} AS u FROM {self._copies[name]}"
        quoted = "'" + str(unit).replace("'", "''") + "'"
        kind = self._fetch(f"SELECT typeof(u) FROM ({place}) LIMIT 1")
        return None if not kind else f"CAST({quoted} AS {kind[0][0]})"
