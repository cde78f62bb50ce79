"""Columns of a public table that a grouped key of it determines: looked up for released groups, and free.

A key has one row in its table, so each of its columns is a public function of the key. Nothing private is read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from privet.core.relation import ColumnRef, Expression, Join, Relation
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema

from .nodes import Beside, PrivateRows, distinct_name
from .normal import call
from .several import public_rows
from .shape import conjuncts, is_public


@dataclass(frozen=True)
class PublicSide:
    """A public table in a join, by the names that its columns have there."""

    table: str
    names: tuple[tuple[str, str], ...]
    equal: tuple[Expression, ...]
    """What its key equals in every row of the join that has a row of it."""


@dataclass(eq=False)
class DeterminedColumns:
    """The columns of public tables that a query's keys determine, as they are asked for one by one."""

    source: PrivateRows
    keys: Collection[Expression]
    taken: set[str]
    found: dict[int, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def sides(self) -> list[PublicSide]:
        """The public tables of the join, each with what its key equals."""
        return _sides(self.source.table, self.source.tables)

    def determines(self, column: str) -> bool:
        """Return whether a column of the join has one public value in each group."""
        return self._side(column) is not None

    def named(self, column: str) -> tuple[str, Facts]:
        """Return the name under which released rows have a column that is determined, and what it holds."""
        found = self._side(column)
        if found is None:
            raise LookupError(column)
        place, _ = found
        own = dict(self.sides[place].names)[column]
        several = self.found.setdefault(place, {})
        if own not in several:
            several[own] = distinct_name(column, self.taken)
        return several[own], self.source.tables[self.sides[place].table].columns[own]

    def beside(self, names: Mapping[Expression, str]) -> tuple[Beside, ...]:
        """Return what puts the columns beside released rows, whose keys have these names."""
        made = []
        for place, several in self.found.items():
            side = self.sides[place]
            schema = self.source.tables[side.table]
            key = next(one for one in side.equal if one in self.keys)
            own = distinct_name("key", self.taken)
            listed = {**{name: column for column, name in several.items()}, own: schema.key or ""}
            rows = public_rows(PrivateRows.of(side.table, schema, self.source.tables))
            on = call("equal", ColumnRef(names[key]), ColumnRef(own))
            made.append(Beside(rows, "left", tuple(listed.items()), on))
        return tuple(made)

    def _side(self, column: str) -> tuple[int, PublicSide] | None:
        for place, side in enumerate(self.sides):
            if column in dict(side.names) and any(one in self.keys for one in side.equal):
                return place, side
        return None


def _sides(relation: Relation, tables: Mapping[str, Schema]) -> list[PublicSide]:
    """Return the public tables of a join whose key is declared and whose rows are at hand."""
    found: list[PublicSide] = []
    while isinstance(relation, Join):
        name = relation.right
        if isinstance(name, str) and is_public(tables[name]) and tables[name].contents is not None:
            key = next((new for new, own in relation.names if own == tables[name].key), None)
            if key is not None:
                found.append(PublicSide(name, relation.names, (ColumnRef(key), *_equals(relation, key))))
        relation = relation.left
    return found


def _equals(join: Join, key: str) -> list[Expression]:
    """Return what a key equals by the condition of its join."""
    sides = [one.arguments for one in conjuncts(join.on) if one.function == "equal" and ColumnRef(key) in one.arguments]
    return [other for pair in sides for other in pair if other != ColumnRef(key)]
