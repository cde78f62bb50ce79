"""The neighbours of the data at hand: tables without a unit, or with it turned into another. Custodians only.

An engine of its own, over copies of the tables. What it reads is private, and nothing of it is released.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from privet.core.scan import Scan
from privet.core.schema import Table
from privet.core.unit import Nobody, Person, Rows, Window
from privet.engines.duckdb import DuckDB
from privet.engines.owners import owner_of
from privet.engines.places import as_counts, counting
from privet.engines.relations import relation_sql
from privet.engines.sql import statement
from privet.engines.text import quoted
from privet.engines.values import physical

from .comparing import Seen

_SECRET = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834
"""One secret for all worlds: an engine draws a fresh one for each question, and the claim holds under any."""

_OTHERS = 3
"""As many other units does a unit turn into, where neighbours change."""

_MICROSECOND = datetime.timedelta(microseconds=1)
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Part:
    """The rows of one unit: those of a person, or of a row by itself, by number; from a time on, if it is a window."""

    number: int
    start: str | None
    name: object
    """What the custodian knows it by."""


@dataclass(frozen=True)
class Change:
    """Units that go, all of their rows or every other one, and what comes in their place, if anything does."""

    gone: tuple[Part, ...]
    instead: tuple[Part, ...] = ()
    half: bool = False

    @property
    def unit(self) -> object:
        """Who it is that goes or changes."""
        return self.gone[0].name if len(self.gone) == 1 else tuple(part.name for part in self.gone)


class Bench(DuckDB):
    """An engine whose tables can lack units, or have them turned into others. All private ones have the same unit."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        super().__init__(tables)
        self._worlds = dict(self._relations)
        self._copies = {
            name: f"copy{index}"
            for index, name in enumerate(self._relations)
            if not isinstance(self._tables[name].unit, Nobody)
        }
        self._unit = next((self._tables[name].unit for name in self._copies), Nobody())
        owners = [f"SELECT {self._owner(name)} AS u FROM {self._known(name)}" for name in self._copies]
        if self._owned:
            known = f"SELECT DISTINCT u FROM ({' UNION ALL '.join(owners)}) WHERE u IS NOT NULL"
            self._fetch(f"CREATE TABLE people AS SELECT u, row_number() OVER (ORDER BY u) AS n FROM ({known})")
        for name, copy in self._copies.items():
            numbered = f"SELECT *, row_number() OVER () AS row FROM {self._relations[name]}"
            joined = f"LEFT JOIN people AS p ON p.u = r.{self._owner(name)}"
            whose = f"SELECT r.*, p.n FROM ({numbered}) AS r {joined}"
            self._fetch(f"CREATE TABLE {copy} AS {whose if self._owned else f'SELECT *, row AS n FROM ({numbered})'}")
            self._fetch(f"CREATE VIEW world_{copy} AS SELECT * EXCLUDE (row, n) FROM {copy}")
            self._worlds[name] = f"world_{copy}"

    def __enter__(self) -> Bench:
        return self

    def changes(self, names: Sequence[str], most: int) -> tuple[int, Iterator[Change]]:
        """Return how many units own rows of these tables, up to `most` of them, and the neighbours that they make."""
        units = self._units([name for name in names if name in self._copies])[:most]
        return len(units), self._neighbours(units)

    def _neighbours(self, units: list[Part]) -> Iterator[Change]:
        several = min(getattr(self._unit, "group", 1), len(units))
        change = any(self._tables[name].neighbors == "change-one" for name in self._copies)
        for place in range(len(units)):
            gone = tuple(units[(place + step) % len(units)] for step in range(several))
            if not (change and isinstance(self._unit, Rows)):  # elsewhere a unit may have no rows
                yield Change(gone)
            if isinstance(self._unit, Window):
                yield Change(gone, half=True)
            for step in range(1, min(_OTHERS, len(units) - several) + 1) if change else ():
                start = place + several - 1 + step * max(1, (len(units) - several) // _OTHERS)
                instead = tuple(units[(start + index) % len(units)] for index in range(several))
                if not {part.number for part in gone} & {part.number for part in instead}:
                    yield Change(gone, instead)

    def enter(self, change: Change) -> None:
        """Let the tables lack units; or let the rows of others stand under their names in place of their own."""
        for name, copy in self._copies.items():
            mine = " OR ".join(self._those(name, part) for part in change.gone)
            half = " AND row % 2 = 0" if change.half else ""
            kept = [f"SELECT * EXCLUDE (row, n) FROM {copy} WHERE (({mine}){half}) IS NOT TRUE"]
            for part, other in zip(change.gone, change.instead, strict=False):
                kept.append(
                    f"SELECT * EXCLUDE (row, n){self._named(name, part)} FROM {copy} WHERE {self._those(name, other)}"
                )
            self._fetch(f"CREATE OR REPLACE VIEW {self._worlds[name]} AS {' UNION ALL '.join(kept)}")

    def read(self, scan: Scan) -> Seen:
        """Return what a scan gives in the world that was entered."""
        relation = relation_sql(scan.table, self._tables, self._worlds, _SECRET)
        if scan.places is not None:
            # place by place: blocks of places are a matter of what is looked at, not of what a unit weighs
            counted = counting(replace(scan, near=None), relation, _SECRET)
            found = as_counts(self._fetch_arrays(counted.sql, counted.parameters), counted.kinds)
            return Seen(
                places={cell: dict(zip(map(int, at), map(int, n), strict=True)) for cell, (at, n) in found.items()}
            )
        asked = statement(scan, relation, _SECRET)
        rows = self._fetch(asked.sql, asked.parameters)
        return Seen({row[: asked.keys]: row[asked.keys :] for row in rows})

    # --- whose rows -------------------------------------------------------------------------------------------------

    @property
    def _owned(self) -> bool:
        return isinstance(self._unit, (Person, Window))

    def _column(self, name: str, column: str) -> str:
        return physical(self._tables[name])[column]

    def _owner(self, name: str) -> str:
        unit = self._tables[name].unit
        if isinstance(unit, (Person, Window)):
            return self._column(name, unit.column if isinstance(unit, Person) else unit.person)
        return "row"

    def _known(self, name: str) -> str:
        """Return the rows of a table that are somebody's."""
        schema = self._tables[name]
        return self._relations[name] + (f" WHERE {owner_of(schema)[1]}" if self._owned else "")

    def _units(self, names: list[str]) -> list[Part]:
        """Return who owns rows of tables: people, each row, or people from each time on at which they have a row."""
        if isinstance(self._unit, Rows):
            return [
                Part(row, None, (name, row))
                for name in names
                for (row,) in self._fetch(f"SELECT row FROM {self._copies[name]} ORDER BY row")
            ]
        time = self._unit.time if isinstance(self._unit, Window) else None
        found: dict[tuple[int, str | None], Part] = {}
        for name in names:
            start = "NULL" if time is None else f"CAST({self._column(name, time)} AS VARCHAR)"
            finite = "true" if time is None else f"isfinite({self._column(name, time)})"
            listed = (
                f"SELECT DISTINCT n, {start} AS s, u FROM {self._copies[name]} JOIN people USING (n) WHERE {finite}"
            )
            for number, moment, who in self._fetch(f"{listed} ORDER BY n, s"):
                found[number, moment] = Part(number, moment, who if moment is None else (who, moment))
        return list(found.values())

    def _those(self, name: str, part: Part) -> str:
        """Return the condition that a row of a table's copy is one of a unit's."""
        if part.start is None or not isinstance(self._unit, Window):
            return f"n = {part.number}"
        time, start = self._column(name, self._unit.time), self._moment(name, part.start)
        if self._tables[name].columns[self._unit.time].kind == "date":
            passed, length = f"({time} - {start})", self._unit.length // _DAY
        else:
            passed, length = f"(epoch_us({time}) - epoch_us({start}))", self._unit.length // _MICROSECOND
        return f"(n = {part.number} AND CASE WHEN isfinite({time}) THEN {passed} >= 0 AND {passed} < {length} END)"

    def _named(self, name: str, part: Part) -> str:
        """Return the words by which rows that are read are given to a unit, and moved to its time."""
        if not self._owned:
            return ""
        given = [f"(SELECT u FROM people WHERE n = {part.number}) AS {self._owner(name)}"]
        if part.start is not None and isinstance(self._unit, Window):
            given.append(f"{self._moment(name, part.start)} AS {self._column(name, self._unit.time)}")
        return f" REPLACE ({', '.join(given)})"

    def _moment(self, name: str, start: str) -> str:
        time = self._unit.time if isinstance(self._unit, Window) else ""
        kind = "DATE" if self._tables[name].columns[time].kind == "date" else "TIMESTAMP"
        return f"CAST({quoted(start)} AS {kind})"
