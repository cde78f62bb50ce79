"""Questions whose conditions exclude each other, as one grouping: which condition a row meets is the key of its group.

That no row meets two is read from the questions, and only decides that they are put together. The scan gives each row
to the first condition that it meets, and to no other, so that a row counts in one block at most, whatever is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import Schema
from privet.core.wire import canonical
from privet.query.conditions import ValueSet, disjoint, regions_of
from privet.query.nodes import Key, Query, distinct_name
from privet.query.normal import call, conjunction, text
from privet.query.shape import schema_of

if TYPE_CHECKING:
    from privet.core.event import Floats


@dataclass(frozen=True)
class SharedRelease:
    """Questions that are read from one release: which of a list, how each reads it, and how that is said in words.

    `terms` has the number of released cells that a number of each answer is the sum of, on average over its rows.
    """

    places: tuple[int, ...]
    queries: tuple[Query, ...]
    terms: tuple[float, ...]
    words: str
    blocks: tuple[int, ...] | None
    """Of which block each question reads the rows; None where it reads sums of cells."""
    how: OneOf["disjoint", "cells"] = "disjoint"
    matrices: tuple[Floats, ...] = field(default=(), compare=False, repr=False)
    """Of sums of cells: of which each number of each question is the sum, the last key of the release fastest."""
    levels: tuple[tuple[int, ...], ...] = ()
    """Of sums of cells: how many rows of its matrix each grouping of each question has, one after the other."""

    @property
    def grouped_several_times(self) -> bool:
        """Whether a question has several groupings, as ROLLUP, CUBE and GROUPING SETS have."""
        return any(len(sizes) > 1 for sizes in self.levels)

    def error(self, question: int, variances: Floats) -> float:
        """Return the error of a question from the variances of its numbers: the mean of each grouping, all together."""
        first, total = 0, 0.0
        for size in self.levels[question]:
            total += float(variances[first : first + size].mean())
            first += size
        return total


def plain(query: Query) -> bool:
    """Return whether a question has one grouping of its own, by declared keys, and releases nothing but sums."""
    return not query.levels and plain_at_each_level(query)


def plain_at_each_level(query: Query) -> bool:
    """Return whether a question is so at each of its groupings, if it has several."""
    ways = query.others or query.find or query.each
    first = query.steps[0] if query.steps else None
    return bool(query.aggregates) and not ways and query.other is None and first is not None and not first.beside


def disjoint_blocks(questions: Sequence[Query], tables: Mapping[str, Schema]) -> list[SharedRelease]:
    """Return the questions that can be asked as one, by conditions on one expression that exclude each other."""
    alike: dict[str, list[int]] = {}
    for place, query in enumerate(questions):
        if plain(query) and query.where is not None:
            keys = sorted(canonical(key.expression) for key in query.keys)
            alike.setdefault(canonical([query.table, keys]), []).append(place)
    found: list[SharedRelease] = []
    for alike_as in sorted(alike):
        places = alike[alike_as]
        columns = schema_of(questions[places[0]].table, tables).columns
        regions = {place: regions_of(questions[place].where, columns)[0] for place in places}
        left = list(places)
        while classes := _classes(left, questions, regions):
            subject, members = max(classes, key=lambda one: (len(_wheres(one[1], questions)), canonical(one[0])))
            found.append(_as_one(members, questions, subject))
            left = [place for place in left if place not in members]
    return found


def _wheres(places: Sequence[int], questions: Sequence[Query]) -> list[Expression]:
    """Return the different conditions of questions, in an order of their own."""
    different = {canonical(where): where for place in places if (where := questions[place].where) is not None}
    return [different[one] for one in sorted(different)]


def _classes(
    places: Sequence[int], questions: Sequence[Query], regions: Mapping[int, Mapping[Expression, ValueSet]]
) -> list[tuple[Expression, list[int]]]:
    """Return for each expression the questions whose regions of it have nothing in common, where there are several."""
    found = []
    for subject in {one for place in places for one in regions[place]}:
        members: list[int] = []
        kept: dict[str, ValueSet] = {}
        for place in sorted(places, key=lambda one: canonical(questions[one].where)):
            region, where = regions[place].get(subject), canonical(questions[place].where)
            if region is None or region.empty:
                continue
            if where in kept or all(disjoint(region, other) for other in kept.values()):
                kept[where] = region
                members.append(place)
        if len(kept) > 1:
            found.append((subject, sorted(members)))
    return found


def _as_one(members: Sequence[int], questions: Sequence[Query], subject: Expression) -> SharedRelease:
    wheres = _wheres(members, questions)
    conditions = [set(_parts(where)) for where in wheres]
    common = set.intersection(*conditions)
    own = [conjunction(*(part for part in _parts(where) if part not in common)) for where in wheres]
    blocks = [one for one in own if one is not None]
    key = which_of(blocks)
    where = conjunction(*sorted(common, key=canonical), call("or", *blocks))
    numbers = {canonical(one): place for place, one in enumerate(wheres)}
    block_of = tuple(numbers[canonical(questions[place].where)] for place in members)
    made = tuple(in_block(questions[place], key, block, where) for place, block in zip(members, block_of, strict=True))
    words = f"have conditions on {text(subject)} that exclude each other"
    return SharedRelease(tuple(members), made, (1.0,) * len(made), words, block_of)


def _parts(where: Expression) -> tuple[Expression, ...]:
    return where.arguments if where.function == "and" else (where,)


def which_of(conditions: Sequence[Expression]) -> Expression:
    """Return the number of the first condition that a row meets; the last one's, where it meets none before it.

    Guarantee: every row has one number, whichever of the conditions are true of it.
    """
    cases = [part for place, one in enumerate(conditions[:-1]) for part in (one, Literal(place))]
    return Call("case", (*cases, Literal(len(conditions) - 1)))


def in_block(query: Query, key: Expression, block: int, where: Expression | None) -> Query:
    """Return a question as one of a grouping by block: it sees the rows of its own block, and no others."""
    taken = {key.name.casefold() for key in query.keys} | {one.name.casefold() for one in query.aggregates}
    name = distinct_name("block", taken)
    chosen = Call("equal", (ColumnRef(name), Literal(block)))
    first, later = query.steps[0], query.steps[1:]
    step = replace(first, where=conjunction(first.where, chosen))
    return replace(query, keys=(*query.keys, Key(name, key)), where=where, steps=(step, *later))
