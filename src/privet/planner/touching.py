"""Which blocks a question is about: its conditions are moved down to the tables that are divided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from privet.core.errors import RequestError
from privet.core.relation import ColumnRef, Derive, Expression, GroupWithin, Join, Rank, Relation, Union, tables_of
from privet.core.schema import Schema
from privet.query.block_reads import block_count, block_names, blocks_read, cuts_of, divided, members_of, ranges_of
from privet.query.conditions import EVERY, FIRST, LAST, ValueSet, possible, regions_of
from privet.query.expressions import typed
from privet.query.nodes import Query
from privet.query.shape import schema_of

from .groupings import Several
from .plan import Plan

Regions = Mapping[str, ValueSet]
"""Of some columns, the values that a row must have to count at all."""


def with_blocks(query: Query, tables: Mapping[str, Schema]) -> Query:
    """Return a question that reads the blocks which its conditions name, and no others, where its table has blocks.

    Conditions with =, IN and ranges on the column of the blocks name some of them; any other names none, and then all
    are read. Where blocks follow a calendar, all are those up to its end. Where they are all that the table has, or the
    conditions also let through values below or above all ranges, the question is left as it is, and charged for all
    data; so is one on several releases.

    Guarantee: no row that would have counted is dropped, but those in no block of a calendar, and those of people in
    another block than their own. What is read is decided from the result again, by `blocks_read`.
    """
    private = [name for name in tables_of(query.table) if not tables[name].unit.public]
    if query.others:  # they are over relations of their own, so all of it is charged for all data
        return query
    if len(private) != 1 or tables[private[0]].blocks is None or members_of(tables[private[0]]) is None:
        return query
    (name,) = private
    schema = tables[name]
    column = "" if schema.blocks is None else schema.blocks.column
    top = _regions(query.where, query.table, tables)
    region = ValueSet(())
    for part in _at(query.table, top, tables, name, column):
        region = region.either(part)
    if _beyond(region, schema):
        return query
    ranges = ranges_of(region, schema)
    every = ((0, block_count(schema)),)
    if ranges == every and not (schema.blocks and schema.blocks.timed):
        return query
    if not ranges:
        raise RequestError(f"the conditions on {column} name no block of {name}; ask about values within its blocks")
    return replace(query, table=_replaced(query.table, name, divided(name, ranges, schema)))


def _beyond(region: ValueSet, schema: Schema) -> bool:
    """Return whether a region has values that the column may have, below or above all ranges that are blocks."""
    blocks = schema.blocks
    if blocks is None or not blocks.edges:
        return False
    cuts = cuts_of(schema)
    outside = region.both(ValueSet(((FIRST, cuts[0][0]), (cuts[-1][1], LAST))))
    facts = typed(ColumnRef(blocks.column), schema.columns)
    return any(possible(start, end, facts) for start, end in outside.spans)


def block_lines(relation: Relation, tables: Mapping[str, Schema]) -> tuple[str, ...]:
    """Return lines on the blocks that are read and charged, and the rows dropped; nothing where no table is divided."""
    named = [name for name in tables_of(relation) if tables[name].blocks is not None]
    if not named:
        return ()
    touched = blocks_read(relation, tables)
    if touched is None:
        return (f"Reads all of {' and '.join(named)}: the charge counts in every block.",)
    schema = tables[touched.table]
    first = 0 if schema.blocks is None else schema.blocks.first
    if touched.ranges == ((first, block_count(schema)),):
        reads = f"Reads all blocks of {touched.table} so far"
    else:
        reads = f"Reads these blocks of {touched.table}: {', '.join(block_names(touched, schema))}"
    line = f"{reads}; the charge counts for {_MEMBERS[touched.members]} in them alone."
    if touched.members != "people" or schema.blocks is None:
        return (line,)
    dropped = (
        f"Each person is in one block, the first {schema.blocks.column} that any of their rows has; their other rows "
        f"are dropped, and intervals do not cover this."
    )
    return line, dropped


def with_block_lines(plan: Plan, tables: Mapping[str, Schema]) -> Plan:
    """Return a plan that also lists the blocks it reads, where a table is divided; of several releases, each does."""
    if isinstance(plan, Several):
        plans = tuple(with_block_lines(part, tables) for part in plan.plans)
        return plan.again(plans) if any(part.told for part in plans) else plan
    lines = block_lines(plan.query.table, tables)
    return replace(plan, told=lines) if lines else plan


_MEMBERS = {"rows": "rows", "people": "people", "windows": "windows that have rows"}


def block_promise(name: str, schema: Schema) -> str:
    """Return in words the promise of a table's blocks to each protected unit; nothing where it has none."""
    if schema.blocks is None:
        return ""
    by, changes = f"{name} is divided by {schema.blocks.column}", schema.neighbors == "change-one"
    match members_of(schema):
        case "rows", 1:
            return f"{by}: a row is in one block, and has paid what that block was charged."
        case "rows", reach:
            moves = "may change from one block to another" if changes else "are in several blocks"
            which = "two" if reach == 2 else str(reach)
            return (
                f"{by}: what is protected together {moves}, and has paid at most what the {which} largest were charged."
            )
        case "people", _:
            both = ", or the two largest together, as a person may change" if changes else ""
            return f"{by}: each person is in one block by their own rows, and has paid what it was charged{both}."
        case "windows", _:
            return f"{by}: a window lies in two adjacent blocks, and has paid at most what both were charged."
    return (
        f"{by}: a person's rows are in any number of blocks, so blocks bring no new budget; every question is charged "
        f"in full."
    )


def _regions(where: Expression | None, source: Relation, tables: Mapping[str, Schema]) -> dict[str, ValueSet]:
    regions = regions_of(where, schema_of(source, tables).columns)[0]
    return {expression.column: region for expression, region in regions.items() if expression.column}


def _at(relation: Relation, above: Regions, tables: Mapping[str, Schema], name: str, column: str) -> Iterator[ValueSet]:
    """Yield the values of a table's column that can count, for each place where the table is."""
    match relation:
        case str():
            if relation == name:
                yield above.get(column, EVERY)
        case Derive(source=source, columns=columns, where=where):
            below = _regions(where, source, tables)
            for made, expression in columns:
                if expression.column is not None and made in above:
                    below[expression.column] = below.get(expression.column, EVERY).both(above[made])
            yield from _at(source, below, tables, name, column)
        case Join(left=left, right=right, kind=kind, names=names):
            own = schema_of(left, tables).columns
            yield from _at(
                left, {named: region for named, region in above.items() if named in own}, tables, name, column
            )
            # a row that an outer join keeps without its match is not to be kept because the match was dropped
            theirs = {source: above[made] for made, source in names if made in above} if kind == "inner" else {}
            yield from _at(right, theirs, tables, name, column)
        case Union(sources=sources):
            for part in sources:
                yield from _at(part, {}, tables, name, column)
        case _:
            yield from _at(relation.source, {}, tables, name, column)


def _replaced(relation: Relation, name: str, by: Relation) -> Relation:
    match relation:
        case str():
            return by if relation == name else relation
        case Join(left=left, right=right):
            return replace(relation, left=_replaced(left, name, by), right=_replaced(right, name, by))
        case Union(sources=sources):
            return Union(tuple(_replaced(part, name, by) for part in sources))
        case Derive(source=source) | GroupWithin(source=source) | Rank(source=source):
            return replace(relation, source=_replaced(source, name, by))
