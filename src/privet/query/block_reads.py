"""Which blocks a relation reads: those that its own conditions, one above each stored table, let through.

A table's rows are divided by conditions directly above the table, below joins, groups and windows, in one
form that is made and recognised here. Nothing else decides which budget a charge counts against.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from privet.core.division import Touched
from privet.core.errors import Unsupported
from privet.core.relation import ColumnRef, Derive, Expression, Join, Literal, Rank, Relation, Union, tables_of
from privet.core.schema import Schema
from privet.core.unit import Person, Rows, Window, unit_columns

from .conditions import EVERY, Cut, ValueSet, regions_of, within
from .normal import call, conjunction

Ranges = tuple[tuple[int, int], ...]

OWN_BLOCK = "privet_block"
"""The column in which each person's block is found, among that person's own rows."""


def block_values(schema: Schema) -> tuple[Any, ...]:
    """Return the declared values that are blocks; none where blocks are ranges."""
    blocks = schema.blocks
    if blocks is None or blocks.timed or blocks.edges:
        return ()
    facts = schema.columns[blocks.column]
    return (False, True) if facts.kind == "boolean" else tuple(facts.values or ())


def block_count(schema: Schema) -> int:
    """Return how many blocks a table has."""
    return 0 if schema.blocks is None else schema.blocks.count(block_values(schema))


def cuts_of(schema: Schema) -> list[tuple[Cut, Cut]]:
    """Return the places between which the values of each block lie."""
    blocks = schema.blocks
    if blocks is None:
        return []
    kind = schema.columns[blocks.column].kind
    if blocks.timed or blocks.edges:
        return list(pairwise((0, _edge(start, kind), 0) for start in blocks.starts))
    return [((0, value, 0), (0, value, 1)) for value in block_values(schema)]


def _edge(edge: Fraction | datetime.date, kind: str) -> Any:
    if kind == "integer" and isinstance(edge, Fraction):
        return Fraction(math.ceil(edge))  # the first whole number of a block: conditions are in whole numbers
    if kind == "timestamp" and isinstance(edge, datetime.date):
        return datetime.datetime.combine(edge, datetime.time())
    return edge


def ranges_of(region: ValueSet, schema: Schema) -> Ranges:
    """Return the blocks that have values in a region and are not retired, as ranges of their numbers."""
    live = 0 if schema.blocks is None else schema.blocks.first
    numbers = [
        number
        for number, (low, high) in enumerate(cuts_of(schema))
        if number >= live and any(max(low, first) < min(high, last) for first, last in region.spans)
    ]
    return as_ranges(numbers)


def as_ranges(numbers: Sequence[int]) -> Ranges:
    """Return rising numbers as ranges, each from its first to before its end."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number:
            ranges[-1][1] = number + 1
        else:
            ranges.append([number, number + 1])
    return tuple((first, end) for first, end in ranges)


def in_blocks(ranges: Ranges, schema: Schema) -> Expression:
    """Return the condition of being in some blocks, over the columns of the table."""
    blocks = schema.blocks
    if blocks is None:
        raise ValueError("a table without blocks")
    column, kind = ColumnRef(blocks.column), schema.columns[blocks.column].kind
    if blocks.timed or blocks.edges:
        cuts = cuts_of(schema)
        parts = [within(column, cuts[first][0], cuts[end - 1][1], kind) for first, end in ranges]
        return call("or", *(part for part in parts if part is not None))
    values = [value for first, end in ranges for value in block_values(schema)[first:end]]
    if kind == "boolean":
        parts = [column if value else call("not", column) for value in values]
        return call("or", *(part for part in parts if part is not None))
    return call("in", column, *map(Literal, values)) if len(values) > 1 else call("equal", column, Literal(values[0]))


def _place(schema: Schema) -> Expression:
    """Return the number of a row's own block, over the columns of the table; NULL where it is in none."""
    many = block_count(schema)
    cases = [part for number in range(many) for part in (in_blocks(((number, number + 1),), schema), Literal(number))]
    return call("case", *cases, Literal(None))


def members_of(schema: Schema) -> tuple[str, int] | None:
    """Return the contents of a block of a table, and the reach of one unit; None where blocks bring no budget.

    Guarantee: a row is in one block, so `group` rows are in as many, and in twice as many where they change. A window
    that is no longer than a block lies in two adjacent ones. A person is put into one block by their own rows where
    blocks are categories or ranges; over time a person's rows are in any number of blocks, and pay in each.
    """
    blocks, unit = schema.blocks, schema.unit
    moves = 2 if schema.neighbors == "change-one" else 1
    if blocks is None or schema.link is not None:
        return None
    match unit:
        case Rows(group=group):
            return "rows", group * moves
        case Person(group=group) if not blocks.timed:
            return "people", group * moves
        case Window(group=group) if blocks.timed:
            return "windows", group * moves
    return None


def divided(table: str, ranges: Ranges, schema: Schema) -> Relation:
    """Return the rows of a table that are in some of its blocks, with all of its columns.

    Of people, those whose own block is among them: the first, in the declared order, that any of their rows is in. Rows
    of other blocks are dropped, so that each person is in one.
    """
    every = tuple((name, ColumnRef(name)) for name in schema.columns)
    inside = in_blocks(ranges, schema)
    if not isinstance(schema.unit, Person):
        return Derive(table, every, inside)
    place = _place(schema)
    partition = tuple(ColumnRef(name) for name in unit_columns(schema.unit))
    own = Rank(table, OWN_BLOCK, "min", partition, argument=place)
    same = call("equal", place, ColumnRef(OWN_BLOCK))
    return Derive(own, every, conjunction(inside, same))


def blocks_read(relation: Relation, tables: Mapping[str, Schema]) -> Touched | None:
    """Return the blocks that a relation reads, where all its private rows come from some of one table; else None.

    Guarantee: every row of the relation is made of rows in these blocks, and of public ones. For each place at which
    it names the private table, a condition in the one form stands directly above it; the form is made anew from what
    it is found to let through, and must be the same.
    """
    reads: set[tuple[str, Ranges]] = set()
    for read in _reads(relation, tables):
        if read is None:
            return None
        reads.add(read)
    names = {name for name, _ in reads}
    if len(names) != 1:
        return None
    (name,) = names
    schema = tables[name]
    among = members_of(schema)
    if among is None or schema.blocks is None:
        return None
    numbers = sorted({number for _, ranges in reads for first, end in ranges for number in range(first, end)})
    return Touched(name, division_of(name, schema), among[0], among[1], as_ranges(numbers))  # type: ignore[arg-type]


def division_of(name: str, schema: Schema) -> str:
    """Return the name by which ledgers know the division of a table into blocks of its units."""
    among = members_of(schema)
    if schema.blocks is None or among is None:
        return ""
    facts = schema.columns[schema.blocks.column]
    return f"{among[0]} of {schema.blocks.identity(name, schema.unit, facts, block_values(schema))}"


def touched_by(relations: Sequence[Relation], tables: Mapping[str, Schema]) -> Touched | None:
    """Return the blocks that several relations read together, where all of them are of one division; else None."""
    parts: list[Touched] = []
    for rows in dict.fromkeys(relations):
        touched = None if all(tables[name].blocks is None for name in tables_of(rows)) else blocks_read(rows, tables)
        if touched is None or (parts and touched.division != parts[0].division):
            return None
        parts.append(touched)
    if not parts:
        return None
    numbers = sorted({number for part in parts for first, end in part.ranges for number in range(first, end)})
    return replace(parts[0], ranges=as_ranges(numbers))


def _reads(relation: Relation, tables: Mapping[str, Schema]) -> Iterator[tuple[str, Ranges] | None]:
    """Yield each private table that a relation names with the blocks that are let through, or None for all of it."""
    match relation:
        case str():
            if not tables[relation].unit.public:
                yield None
        case Derive() if (name := _divides(relation, tables)) is not None:
            yield name
        case Join(left=left, right=right):
            yield from _reads(left, tables)
            yield from _reads(right, tables)
        case Union(sources=sources):
            for inner in sources:
                yield from _reads(inner, tables)
        case _:
            yield from _reads(relation.source, tables)


def _divides(relation: Derive, tables: Mapping[str, Schema]) -> tuple[str, Ranges] | None:
    """Return the table and the blocks of a result of `divided`; None for any other relation."""
    source = relation.source.source if isinstance(relation.source, Rank) else relation.source
    if not isinstance(source, str) or tables[source].blocks is None or relation.where is None:
        return None
    schema = tables[source]
    blocks = schema.blocks
    if blocks is None or members_of(schema) is None:
        return None
    region = regions_of(relation.where, schema.columns)[0].get(ColumnRef(blocks.column), EVERY)
    ranges = ranges_of(region, schema)
    return (source, ranges) if ranges and divided(source, ranges, schema) == relation else None


def check_retired(relation: Relation, tables: Mapping[str, Schema]) -> None:
    """Raise `Unsupported` where a relation would read blocks that are retired.

    Guarantee: each place at which it names a table with retired blocks lets through others alone.
    """
    named = [name for name in tables_of(relation) if (blocks := tables[name].blocks) is not None and blocks.first]
    if not named:
        return
    every = list(_reads(relation, tables))
    kept = {read[0] for read in every if read is not None}
    if None in every or not kept.issuperset(named):
        raise Unsupported(
            f"some blocks of {', '.join(named)} are retired, and this would read them; ask one question about "
            f"that table alone, which reads the others"
        )


def is_growing(touched: Touched, schema: Schema) -> bool:
    """Return whether some of the blocks that are read are not closed yet: the last one of a calendar."""
    return schema.blocks is None or not schema.blocks.timed or touched.ranges[-1][1] == block_count(schema)


def block_names(touched: Touched, schema: Schema) -> list[str]:
    """Return the names of the blocks that are read; of long runs, the first and the last."""
    blocks = schema.blocks
    if blocks is None:
        return []
    values = block_values(schema)
    names = []
    for first, end in touched.ranges:
        if end - first > 3:
            names.append(f"{blocks.name(first, values)} to {blocks.name(end - 1, values)}")
        else:
            names += [blocks.name(number, values) for number in range(first, end)]
    return names
