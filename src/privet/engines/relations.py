"""Relation -> SQL: what is made of tables before a scan bounds and sums. Made of generated names and constants only.

Each step gives its columns as c0, c1, ... in the order of its schema, held to their facts, and the unit as u. Nothing
here looks across units: rows of two units never meet in a join, and groups and ranks are taken within a unit.
"""

from __future__ import annotations

from collections.abc import Mapping

from privet.core.errors import InvariantError
from privet.core.expression import Column, Expression
from privet.core.relation import Derive, Group, Join, Rank, Relation, Union
from privet.core.schema import Schema
from privet.core.unit import unit_columns
from privet.query.origin import equal_sides
from privet.query.shape import schema_of

from .expressions import Renderer
from .owners import owner_of
from .pairs import Side, join_sql
from .rendered import unified
from .text import TYPES
from .values import clamped, physical, sources
from .within import group_sql, rank_sql


def relation_sql(relation: Relation, tables: Mapping[str, Schema], names: Mapping[str, str], secret: int) -> str:
    """Return what stands after FROM: a table's own name, or a sub-query with columns u, c0, c1, ...

    `tables` are the stored ones, with their links followed, and `names` what the engine calls them. `secret` is 128
    fresh random bits, by which pairs are chosen where a unit's rows make too many.

    Guarantee: that of `privet.query.shape.schema_of`, which is asked for every step.
    """
    if isinstance(relation, str):
        return names[relation]
    return f"({_Writer(tables, names, secret).write(relation)})"


class _Writer:
    def __init__(self, tables: Mapping[str, Schema], names: Mapping[str, str], secret: int) -> None:
        self.tables = tables
        self.names = names
        self.secret = secret

    def write(self, relation: Relation) -> str:
        match relation:
            case str():
                return self._stored(relation)
            case Derive():
                return self._derive(relation)
            case Join():
                return self._join(relation)
            case Group():
                source, made = self.schema(relation.source), self.schema(relation)
                return group_sql(relation, source, made, self.write(relation.source), owner=_carried(source))
            case Rank():
                source, made = self.schema(relation.source), self.schema(relation)
                return rank_sql(relation, source, made, self.write(relation.source), owner=_carried(source))
            case Union():
                return self._union(relation)
        raise InvariantError("an unknown kind of relation")

    def schema(self, relation: Relation) -> Schema:
        return schema_of(relation, self.tables)

    def _stored(self, name: str) -> str:
        schema = self.tables[name]
        columns = [f"{clamped(f'r.{c}', schema.columns[n])} AS {c}" for n, c in physical(schema).items()]
        if not _carried(schema):
            return f"SELECT {', '.join(columns)} FROM {self.names[name]} AS r"
        owner, known = owner_of(schema, "r.")
        return f"SELECT {owner} AS u, {', '.join(columns)} FROM {self.names[name]} AS r WHERE {known}"

    def _derive(self, relation: Derive) -> str:
        source, made = self.schema(relation.source), self.schema(relation)
        renderer, unit = Renderer(sources(source)), _carried(source)
        first, last = list(unit), list(unit)
        for index, (name, one) in enumerate(relation.columns):
            first.append(f"{renderer.render(one).sql} AS c{index}")
            # a column of the source is held to its facts there; what is computed is held to them here
            last.append(
                f"c{index}" if isinstance(one, Column) else f"{clamped(f'c{index}', made.columns[name])} AS c{index}"
            )
        where = "" if relation.where is None else f" WHERE {renderer.render(relation.where).sql}"
        sql = f"SELECT {', '.join(first)} FROM ({self.write(relation.source)}){where}"
        return f"SELECT {', '.join(last)} FROM ({sql})"

    def _join(self, join: Join) -> str:
        left, right = self.schema(join.left), self.schema(join.right)
        both = bool(_carried(left) and _carried(right))
        mine, theirs = physical(left), physical(right)
        made = physical(self.schema(join))
        renamed = [f"{theirs[column]} AS {made[name]}" for name, column in join.names]
        other = f"SELECT {', '.join((['u AS v'] if both else []) + renamed)} FROM ({self.write(join.right)})"
        renderer = Renderer(sources(self.schema(join)))
        on = "" if join.on is None else renderer.render(join.on).sql
        columns = [*_carried(left), *mine.values(), *(made[name] for name, _ in join.names)]
        rows = self.write(join.left)
        if join.most is None or not _carried(left):
            conditions = [*(["u = v"] if both else []), *([on] if on else [])]
            kind = "JOIN" if join.kind == "inner" else "LEFT JOIN"
            return f"SELECT {', '.join(columns)} FROM ({rows}) {kind} ({other}) ON {' AND '.join(conditions) or 'true'}"
        alike = [_alike(renderer, one, other) for one, other in equal_sides(join, left)]
        first = Side(
            rows, "u", list(mine.values()), _numbers(left, mine), [x for x, _ in alike], isinstance(join.left, str)
        )
        called = {column: made[name] for name, column in join.names}
        second = Side(
            other,
            "v" if both else None,
            list(called.values()),
            _numbers(right, called),
            [y for _, y in alike],
            isinstance(join.right, str),
        )
        return join_sql(first, second, kind=join.kind, on=on, columns=columns, most=join.most, secret=self.secret)

    def _union(self, relation: Union) -> str:
        made = self.schema(relation)
        parts = []
        for source in relation.sources:
            schema = self.schema(source)
            columns = _carried(schema)
            for index, (own, column) in enumerate(zip(schema.columns.values(), made.columns.values(), strict=True)):
                wider = f"CAST(c{index} AS {TYPES[column.kind]}) AS c{index}"
                columns.append(f"c{index}" if own.kind == column.kind else wider)
            parts.append(f"SELECT {', '.join(columns)} FROM ({self.write(source)})")
        return " UNION ALL ".join(parts)


def _alike(renderer: Renderer, one: Expression, other: Expression) -> tuple[str, str]:
    """Return two sides of an equality, of one kind; 0 and -0 are equal."""
    kind, (x, y) = unified("equal", [renderer.render(one), renderer.render(other)])
    return (f"({x} + 0e0)", f"({y} + 0e0)") if kind == "number" else (x, y)


def _numbers(schema: Schema, names: Mapping[str, str]) -> list[str]:
    """Return the generated names of the columns that hold doubles."""
    return [names[name] for name, column in schema.columns.items() if column.kind == "number" and name in names]


def _carried(schema: Schema) -> list[str]:
    """Return the unit's column, where the rows of a relation have a unit."""
    return ["u"] if unit_columns(schema.unit) else []
