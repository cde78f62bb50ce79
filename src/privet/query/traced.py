"""A relation over the columns of the tables that it is made of: what its columns are there, and what holds of each row.

What cannot be followed, such as a count of a person's rows or the far side of a left join, stands for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count, product

from privet.core.relation import ColumnRef, Derive, Expression, GroupWithin, Join, Rank, Relation, Union
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema

from .functions import typed
from .resolve import MOST_PARTS, parts_in, substitute
from .shape import conjuncts, is_public, schema_of

MOST_WAYS = 16
"""The most ways in which a row may come about, by the parts of UNION ALL, that are followed."""

Columns = Mapping[str, Expression]


@dataclass(frozen=True)
class PublicRow:
    """A public table that takes part in each row: its name, and what its columns are called."""

    table: str
    columns: Mapping[str, str]


@dataclass(frozen=True)
class Way:
    """One way in which rows come about: columns and conditions over `facts`, and the public rows that take part."""

    columns: Columns
    conditions: tuple[Expression, ...] = ()
    public: tuple[PublicRow, ...] = ()


@dataclass(frozen=True)
class Traced:
    """A relation's rows: each comes about in one of the ways. `facts` are those of all columns that ways are over."""

    ways: tuple[Way, ...]
    facts: Mapping[str, Facts]


def traced(relation: Relation, where: Expression | None, tables: Mapping[str, Schema]) -> Traced:
    """Return the rows of a relation that meet a condition, over the columns of what it is made of.

    Guarantee: for every row of the relation that meets the condition there is a way, and values of the columns that
    it is over, each within its facts or NULL, so that all conditions of the way are true, the row's columns have the
    values that the way says, and those of each public row are together in one row of its table.
    """
    tracer = _Tracer(tables)
    ways = [tracer.kept(way, where) for way in tracer.of(relation)]
    return Traced(tuple(ways), tracer.facts)


@dataclass
class _Tracer:
    tables: Mapping[str, Schema]
    facts: dict[str, Facts] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=count)

    def of(self, relation: Relation) -> list[Way]:
        match relation:
            case str():
                return [self._stored(relation)]
            case Derive():
                found = []
                for way in self.of(relation.source):
                    kept = self.kept(way, relation.where)
                    found.append(Way(self._made(relation, relation.columns, way), kept.conditions, kept.public))
                return found
            case Join(kind="inner"):
                return self._joined(relation)
            case Join():
                names = [name for name, _ in relation.names]
                return [self._with_unknown(way, relation, names) for way in self.of(relation.left)]
            case GroupWithin():
                names = [one.name for one in relation.aggregates]
                found = []
                for way in self.of(relation.source):
                    kept = self.kept(way, relation.where)
                    made = Way(self._made(relation, relation.keys, way), kept.conditions, kept.public)
                    found.append(self._with_unknown(made, relation, names))
                return found
            case Rank():
                return [self._with_unknown(way, relation, [relation.name]) for way in self.of(relation.source)]
            case Union():
                return self._united(relation)

    def kept(self, way: Way, where: Expression | None) -> Way:
        """Return a way with one more condition; one that grows too large is left out."""
        found = list(way.conditions)
        for one in conjuncts(where):
            over = _over(one, way.columns)
            found += [] if over is None else [*conjuncts(over)]
        return Way(way.columns, tuple(found), way.public)

    def _stored(self, name: str) -> Way:
        schema = self.tables[name]
        called = {column: self._variable(facts) for column, facts in schema.columns.items()}
        columns = {column: ColumnRef(variable) for column, variable in called.items()}
        return Way(columns, (), (PublicRow(name, called),) if is_public(schema) else ())

    def _joined(self, join: Join) -> list[Way]:
        found = []
        for left, right in product(self.of(join.left), self.of(join.right)):
            theirs = {name: right.columns[column] for name, column in join.names}
            both = Way({**left.columns, **theirs}, (*left.conditions, *right.conditions), (*left.public, *right.public))
            found.append(self.kept(both, join.on))
        return found if len(found) <= MOST_WAYS else self._opaque(join)

    def _united(self, relation: Union) -> list[Way]:
        made = schema_of(relation, self.tables).columns
        found = []
        for source in relation.sources:
            kinds = [column.kind for column in schema_of(source, self.tables).columns.values()]
            for way in self.of(source):
                columns: dict[str, Expression] = {}
                for (name, facts), own, kind in zip(made.items(), way.columns.values(), kinds, strict=True):
                    columns[name] = own if kind == facts.kind else ColumnRef(self._variable(facts))
                found.append(Way(columns, way.conditions, way.public))
        return found if len(found) <= MOST_WAYS else self._opaque(relation)

    def _opaque(self, relation: Relation) -> list[Way]:
        """Return a relation of whose rows no more is known than the facts of their columns."""
        facts = schema_of(relation, self.tables).columns
        return [Way({name: ColumnRef(self._variable(column)) for name, column in facts.items()})]

    def _made(self, relation: Derive | GroupWithin, columns: tuple[tuple[str, Expression], ...], way: Way) -> Columns:
        facts, source = schema_of(relation, self.tables).columns, schema_of(relation.source, self.tables).columns
        made: dict[str, Expression] = {}
        for name, one in columns:
            over = None if _may_be_clamped(one, facts[name], source) else _over(one, way.columns)
            made[name] = over or ColumnRef(self._variable(facts[name]))
        return made

    def _with_unknown(self, way: Way, relation: Relation, names: list[str]) -> Way:
        facts = schema_of(relation, self.tables).columns
        more = {name: ColumnRef(self._variable(facts[name])) for name in names}
        return Way({**way.columns, **more}, way.conditions, way.public)

    def _variable(self, facts: Facts) -> str:
        name = f"v{next(self.numbers)}"
        self.facts[name] = facts
        return name


def _may_be_clamped(one: Expression, facts: Facts, source: Mapping[str, Facts]) -> bool:
    """Return whether an engine that holds a computed column to its facts may change a value.

    The ends of numbers are what people would write, 0.3 for 3 * 0.1, which is more in doubles.
    """
    if one.column is not None or facts.kind != "number" or facts.low is None or facts.high is None:
        return False
    low, high = typed(one, source).doubles
    return low is None or high is None or low < float(facts.low) or high > float(facts.high)  # type: ignore[arg-type]


def _over(expression: Expression, columns: Columns) -> Expression | None:
    """Return an expression over what columns stand for; None if it becomes too large."""
    made = substitute(expression, lambda part: None if part.column is None else columns[part.column])
    return made if parts_in(made, {}) <= MOST_PARTS else None
