"""Several counting questions as one grouping: by which of exclusive conditions a row meets, or by cells of all of them.

Cells are the finest pieces that questions over the same expressions distinguish: between the ends of their ranges, and
the values that they group by; each question is a sum of some. That conditions exclude each other is read from the
questions, and only decides that they are put together: the scan sorts each row into one cell by a key that it computes
itself, the first condition that the row meets, so that it counts in one cell at most, whatever is stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any
from typing import Literal as OneOf

from privet.core.relation import Call, ColumnRef, Expression, Literal
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Schema
from privet.core.wire import canonical
from privet.query.conditions import Cut, ValueSet, disjoint, elementary, points_of, possible, regions_of, within
from privet.query.expressions import typed
from privet.query.nodes import Key, Output, OverRows, Query, Step, distinct_name
from privet.query.normal import call, conjunction, text
from privet.query.shape import schema_of

from .keys import group_key

if TYPE_CHECKING:
    from privet.core.event import Floats

MOST_CELLS = 1024
"""Questions that distinguish more cells are not put together."""

_MOST_AXES = 4


@dataclass(frozen=True)
class SharedRelease:
    """Questions that are read from one release: which of a list, how each reads it, and a description in words.

    `terms` has the number of released cells that a number of each answer is the sum of, on average over its rows.
    """

    places: tuple[int, ...]
    queries: tuple[Query, ...]
    terms: tuple[float, ...]
    words: str
    blocks: tuple[int, ...] | None
    """The block whose rows each question reads; None where it reads sums of cells."""
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
    releases: list[SharedRelease] = []
    for alike_as in sorted(alike):
        places = alike[alike_as]
        columns = schema_of(questions[places[0]].table, tables).columns
        regions = {place: regions_of(questions[place].where, columns)[0] for place in places}
        left = list(places)
        while classes := _classes(left, questions, regions):
            subject, members = max(classes, key=lambda entry: (len(_wheres(entry[1], questions)), canonical(entry[0])))
            releases.append(_as_one(members, questions, subject))
            left = [place for place in left if place not in members]
    return releases


def _wheres(places: Sequence[int], questions: Sequence[Query]) -> list[Expression]:
    """Return the different conditions of questions, in an order of their own."""
    different = {canonical(where): where for place in places if (where := questions[place].where) is not None}
    return [different[key] for key in sorted(different)]


def _classes(
    places: Sequence[int], questions: Sequence[Query], regions: Mapping[int, Mapping[Expression, ValueSet]]
) -> list[tuple[Expression, list[int]]]:
    """Return each expression with the questions whose regions of it are disjoint, where there are several."""
    classes = []
    for subject in {expression for place in places for expression in regions[place]}:
        members: list[int] = []
        kept: dict[str, ValueSet] = {}
        for place in sorted(places, key=lambda at: canonical(questions[at].where)):
            region, where = regions[place].get(subject), canonical(questions[place].where)
            if region is None or region.empty:
                continue
            if where in kept or all(disjoint(region, other) for other in kept.values()):
                kept[where] = region
                members.append(place)
        if len(kept) > 1:
            classes.append((subject, sorted(members)))
    return classes


def _as_one(members: Sequence[int], questions: Sequence[Query], subject: Expression) -> SharedRelease:
    wheres = _wheres(members, questions)
    conditions = [set(_parts(where)) for where in wheres]
    common = set.intersection(*conditions)
    own = [conjunction(*(part for part in _parts(where) if part not in common)) for where in wheres]
    blocks = [part for part in own if part is not None]
    key = which_of(blocks)
    where = conjunction(*sorted(common, key=canonical), call("or", *blocks))
    numbers = {canonical(condition): place for place, condition in enumerate(wheres)}
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
    cases = [part for place, condition in enumerate(conditions[:-1]) for part in (condition, Literal(place))]
    return Call("case", (*cases, Literal(len(conditions) - 1)))


def in_block(query: Query, key: Expression, block: int, where: Expression | None) -> Query:
    """Return a question as one of a grouping by block: it is about the rows of its own block only."""
    taken = {key.name.casefold() for key in query.keys} | {aggregate.name.casefold() for aggregate in query.aggregates}
    name = distinct_name("block", taken)
    chosen = Call("equal", (ColumnRef(name), Literal(block)))
    first, later = query.steps[0], query.steps[1:]
    step = replace(first, where=conjunction(first.where, chosen))
    return replace(query, keys=(*query.keys, Key(name, key)), where=where, steps=(step, *later))


@dataclass(frozen=True)
class CellPiece:
    """Values of one expression that no question distinguishes: pieces, NULL or not, and the value grouped by."""

    pieces: tuple[tuple[Cut, Cut], ...]
    null: bool
    value: tuple[Any, ...]
    """The one value that is grouped by; none where no question groups by it."""
    inside: tuple[bool, ...]
    """Whether it is in each of the regions."""


@dataclass(frozen=True)
class Axis:
    """An expression, and its atoms; where they leave some values out, rows with these count in no cell."""

    expression: Expression
    atoms: tuple[CellPiece, ...]
    conditions: tuple[Expression, ...]
    whole: bool
    """Whether the last atom is all that the others leave."""

    @property
    def key(self) -> Expression:
        """The number of the atom that a row is in.

        Guarantee: every row has one number.
        """
        cases = [
            part
            for place, condition in enumerate(self.conditions[: len(self.atoms) - 1])
            for part in (condition, Literal(place))
        ]
        return Call("case", (*cases, Literal(len(self.atoms) - 1)))

    @property
    def where(self) -> Expression | None:
        """The condition that a row is in some atom; None where each is."""
        return None if self.whole else call("or", *self.conditions)


@dataclass(frozen=True)
class Counted:
    """A question that counts rows: by which expressions it groups, and which of their values it is about."""

    place: int
    query: Query
    keys: tuple[Expression, ...]
    regions: Mapping[Expression, ValueSet]
    rest: tuple[Expression, ...]

    @cached_property
    def about(self) -> frozenset[Expression]:
        """The expressions that it is about."""
        return frozenset((*self.keys, *self.regions))

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """The places of the keys that it groups by: at each of its levels, or all of them, once."""
        return self.query.levels or (tuple(range(len(self.keys))),)


def counted(place: int, query: Query, columns: Mapping[str, Facts]) -> Counted | None:
    """Return a question as one that counts rows, where it is one."""
    alone = len(query.aggregates) == 1 and query.aggregates[0].function == "count_rows"
    if not alone or not plain_at_each_level(query) or query.aggregates[0].where is not None:
        return None
    regions, rest = regions_of(query.where, columns)
    keys = tuple(key.expression for key in query.keys)
    if len(set(keys)) < len(keys) or any(region.empty for region in regions.values()):
        return None
    return Counted(place, query, keys, regions, tuple(sorted(rest, key=canonical)))


def shared_cells(
    questions: Sequence[Query], groups: Mapping[int, frozenset[tuple[Any, ...]]], tables: Mapping[str, Schema]
) -> list[SharedRelease]:
    """Return counting questions that can be read from the cells of one release; `groups` are those that each has."""
    families: dict[str, list[Counted]] = {}
    for place, query in enumerate(questions):
        question = counted(place, query, schema_of(query.table, tables).columns) if place in groups else None
        if question is not None:
            families.setdefault(canonical([query.table, question.rest]), []).append(question)
    releases: list[SharedRelease] = []
    for name in sorted(families):
        columns = schema_of(families[name][0].query.table, tables).columns
        for members in _together(families[name]):
            made = _over_cells(members, groups, columns)
            if made is not None:
                releases.append(made)
    return releases


def _together(family: Sequence[Counted]) -> list[list[Counted]]:
    """Return which questions may share cells: those about some of the same expressions, and all that are linked so."""
    sets = sorted({question.about for question in family}, key=lambda about: sorted(map(canonical, about)))
    wanted = dict.fromkeys(sets)
    for about in sets:
        linked, grown = about, True
        while grown:
            more = linked.union(*(other for other in sets if other & linked))
            grown, linked = more != linked, more
        wanted[linked] = None
    together: dict[tuple[int, ...], list[Counted]] = {}
    for about in wanted:
        inside = [asked for asked in family if asked.about <= about]
        some, same = [asked for asked in inside if asked.about], [asked for asked in inside if asked.about == about]
        for members in (inside, some, same):
            different = {
                canonical([question.query.where, [question.keys[place] for place in level]])
                for question in members
                for level in question.levels
            }
            if 0 < len(about) <= _MOST_AXES and len(different) > 1:
                together.setdefault(tuple(question.place for question in members), members)
    return list(together.values())


def _over_cells(
    members: Sequence[Counted], groups: Mapping[int, frozenset[tuple[Any, ...]]], columns: Mapping[str, Facts]
) -> SharedRelease | None:
    about = sorted(frozenset().union(*(question.about for question in members)), key=canonical)
    axes = []
    for expression in about:
        axis = _axis(expression, members, columns)
        if axis is None:
            return None
        axes.append(axis)
    if math.prod(len(axis.atoms) for axis in axes) > MOST_CELLS:
        return None
    axes.sort(key=lambda axis: canonical(axis.key))
    asked = [_Asked.of(question, axes) for question in members]
    fitting = [question for question in asked if question.groups == groups[question.counted.place]]
    if len(fitting) < len(asked):
        left = [question.counted for question in fitting]
        enough = len(left) > 1 or any(question.query.levels for question in left)
        return _over_cells(left, groups, columns) if enough else None
    if any(not question.terms for question in asked):
        return None
    where = conjunction(*members[0].rest, *(axis.where for axis in axes))
    words = f"count cells of {' x '.join(text(axis.expression) for axis in axes)}, of which each is a sum"
    return SharedRelease(
        tuple(question.counted.place for question in asked),
        tuple(question.rewritten(where) for question in asked),
        tuple(question.terms for question in asked),
        words,
        None,
        "cells",
        tuple(question.matrix() for question in asked),
        tuple(question.sizes for question in asked),
    )


def _axis(expression: Expression, members: Sequence[Counted], columns: Mapping[str, Facts]) -> Axis | None:
    """Return the atoms of an expression that some questions distinguish; None where its values cannot be listed."""
    facts = typed(expression, columns)
    regions = list({question.regions[expression]: None for question in members if expression in question.regions})
    grouped, free = (
        any(expression in question.keys for question in members),
        any(expression not in question.about for question in members),
    )
    listed = group_key(expression, columns).values if grouped else ()
    if listed is None:
        return None
    points = points_of(listed, facts.kind)
    if len(points) < sum(value is not None for value in listed) or len(listed) > MOST_CELLS:
        return None
    truths = points_of((False, True), "boolean") if facts.kind == "boolean" else {}
    spans = [ValueSet((piece,)) for piece in (*points, *truths)]
    pieces: dict[tuple[tuple[Any, ...], tuple[bool, ...]], list[tuple[Cut, Cut]]] = {}
    for piece in elementary([*regions, *spans]):
        if possible(*piece, facts):
            value = (points[piece],) if piece in points else ()
            pieces.setdefault((value, tuple(region.has(*piece) for region in regions)), []).append(piece)
    # a value declared never to be NULL may still be NULL, and is counted by a question that does not name it
    missing = ((None,) if None in listed else (), tuple(region.null for region in regions))
    pieces.setdefault(missing, [])
    rest = ((), (False,) * len(regions))
    if not free:
        pieces.pop(rest, None)
    ranks = {(value,): place for place, value in enumerate(listed)}
    order = sorted(pieces, key=lambda key: (key == rest, ranks.get(key[0], len(ranks)), pieces[key][:1], key[1]))
    atoms = tuple(CellPiece(tuple(pieces[key]), key == missing, *key) for key in order)
    whole = bool(order) and order[-1] == rest
    conditions = []
    for atom in atoms[:-1] if whole else atoms:
        made = _condition(expression, atom, facts.kind)
        if made is None:
            return None
        conditions.append(made)
    if len(atoms) < 2:
        return None
    return Axis(expression, atoms, tuple(conditions), whole)


def _condition(expression: Expression, atom: CellPiece, kind: Any) -> Expression | None:
    parts = [within(expression, *piece, kind) for piece in atom.pieces]
    if any(part is None for part in parts):
        parts = [call("not", Call("is_null", (expression,)))]
    if atom.null:
        parts.append(Call("is_null", (expression,)))
    given = [part for part in parts if part is not None]
    return call("or", *given) if given else None


@dataclass(frozen=True)
class _Asked:
    """A counting question over axes: the atoms of each that it is about."""

    counted: Counted
    axes: tuple[Axis, ...]
    allowed: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, question: Counted, axes: Sequence[Axis]) -> _Asked:
        allowed = []
        for axis in axes:
            region = question.regions.get(axis.expression)
            grouped = axis.expression in question.keys
            places = [
                place
                for place, atom in enumerate(axis.atoms)
                if (region is None or _is_in(atom, region)) and (atom.value or not grouped)
            ]
            allowed.append(tuple(places))
        return cls(question, tuple(axes), tuple(allowed))

    @property
    def _grouped(self) -> list[int]:
        """The axes that are grouped by, in the order in which the question names them."""
        places = {axis.expression: place for place, axis in enumerate(self.axes)}
        return [places[key] for key in self.counted.keys]

    @property
    def groups(self) -> frozenset[tuple[Any, ...]]:
        """The groups that it answers."""
        values = [[self.axes[axis].atoms[place].value[0] for place in self.allowed[axis]] for axis in self._grouped]
        return frozenset(product(*values))

    @property
    def _levels(self) -> list[list[int]]:
        """The axes that are grouped by at each level, in the order in which the question names them."""
        return [[self._grouped[place] for place in level] for level in self.counted.levels]

    @property
    def terms(self) -> float:
        """The number of cells in each of its groups; of several groupings, all together."""
        each = (
            math.prod(len(places) for place, places in enumerate(self.allowed) if place not in grouped)
            for grouped in self._levels
        )
        return float(sum(each))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of groups at each level."""
        return tuple(math.prod(len(self.allowed[axis]) for axis in grouped) for grouped in self._levels)

    def matrix(self) -> Floats:
        """Return which cells each of its groups is the sum of, level by level, the last axis running fastest."""
        import numpy as np

        rows = []
        for grouped in self._levels:
            for chosen in product(*(self.allowed[axis] for axis in grouped)):
                fixed = dict(zip(grouped, chosen, strict=True))
                row: Any = np.ones(1)
                for place, axis in enumerate(self.axes):
                    mark = np.zeros(len(axis.atoms))
                    mark[[fixed[place]] if place in fixed else list(self.allowed[place])] = 1
                    row = np.kron(row, mark)
                rows.append(row)
        return np.array(rows)

    def rewritten(self, where: Expression | None) -> Query:
        """Return the question as one over cells: it counts them all, and sums those of each of its groups.

        Several groupings are not rows of one step: `FromStrategy` sums their cells.
        """
        if self.counted.query.levels:
            return self._counting_cells(where)
        query, name = self.counted.query, self.counted.query.aggregates[0].name
        taken = {key.name.casefold() for key in query.keys} | {name.casefold()}
        names = [distinct_name("cell", taken) for _ in self.axes]
        order = [*self._grouped, *(place for place in range(len(self.axes)) if place not in self._grouped)]
        keys = tuple(Key(names[place], self.axes[place].key) for place in order)
        chosen = [
            call("in", ColumnRef(names[place]), *map(Literal, allowed))
            for place, allowed in enumerate(self.allowed)
            if len(allowed) < len(self.axes[place].atoms)
        ]
        shown = tuple(
            Key(key.name, self._value(place, ColumnRef(names[place])))
            for key, place in zip(query.keys, self._grouped, strict=True)
        )
        outputs = tuple(Output(column, ColumnRef(column)) for column in (*(key.name for key in shown), name))
        total = OverRows(name, "sum", (ColumnRef(name),))
        step = Step(outputs, where=conjunction(*chosen), keys=shown, aggregates=(total,))
        return replace(query, keys=keys, where=where, steps=(step, *query.steps))

    def _counting_cells(self, where: Expression | None) -> Query:
        """Return the question that counts all cells, and shows them."""
        query, name = self.counted.query, self.counted.query.aggregates[0].name
        taken = {key.name.casefold() for key in query.keys} | {name.casefold()}
        keys = tuple(Key(distinct_name("cell", taken), axis.key) for axis in self.axes)
        step = Step(tuple(Output(column, ColumnRef(column)) for column in (*(key.name for key in keys), name)))
        return Query(query.table, keys, query.aggregates, where, (step,))

    def _value(self, place: int, cell: Expression) -> Expression:
        """Return the value that is grouped by, from the number of its atom."""
        atoms = self.axes[place].atoms
        values = [(number, atoms[number].value[0]) for number in self.allowed[place]]
        if len(values) == 1:
            return Literal(values[0][1])
        cases = [
            part for number, value in values[:-1] for part in (Call("equal", (cell, Literal(number))), Literal(value))
        ]
        return Call("case", (*cases, Literal(values[-1][1])))


def _is_in(atom: CellPiece, region: ValueSet) -> bool:
    """Return whether an atom is in a region: it is as a whole, or not at all."""
    if atom.pieces:
        return region.has(*atom.pieces[0])
    return region.null
