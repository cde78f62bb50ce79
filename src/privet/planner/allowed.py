"""Which of the declared groups a question can have rows in: its conditions, and public tables, rule out the others.

Nothing here looks at private data. Conditions are evaluated over the public values of columns, by the engine's own SQL
on a connection without private tables; a column without public values may have any value. For this a relation is traced
over the columns of the tables that it is made of: its columns there, and the conditions on each row. Columns that
cannot be followed, such as a count of a person's rows or the far side of a left join, stand for themselves.
"""

from __future__ import annotations

import datetime
import math
import threading
import weakref
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from typing import Any

from privet.core.errors import RequestError
from privet.core.relation import (
    ColumnRef,
    Derive,
    Expression,
    GroupWithin,
    Join,
    Rank,
    Relation,
    Union,
    tables_of,
)
from privet.core.scan import GroupKey
from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Key, Kind, Schema
from privet.engines.duckdb.public import Domain, possible
from privet.query.expressions import mentions, typed
from privet.query.resolve import MOST_PARTS, parts_in, substitute
from privet.query.shape import conjuncts, is_public, schema_of

from .keys import MOST_KEYS, TooManyGroups, group_key, listed_values

MOST_WAYS = 16
"""The most ways in which a row may come about, by the parts of UNION ALL, that are followed."""

Columns = Mapping[str, Expression]

_SIDES = {"less": (False, True), "less_equal": (False, True), "greater": (True, False), "greater_equal": (True, False)}
"""Whether a comparison bounds a column from below, and from above."""

MOST_TRIED = 2_000_000
"""The most combinations of values that are evaluated; columns beyond this limit may have any value."""

_KEPT = 64

Cells = tuple[tuple[Key, ...], ...]

Groups = tuple[tuple[GroupKey, ...], Cells | None]

Factor = tuple[tuple[int, ...], frozenset[tuple[Key, ...]]]
"""Some keys, by their places, and the combinations of their values that are possible, whatever the other keys are."""


@dataclass(frozen=True)
class PublicRow:
    """A public table that takes part in each row: its name, and the names of its columns."""

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
    """Return the rows of a relation that meet a condition, over the columns of its sources.

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
                ways = []
                for way in self.of(relation.source):
                    kept = self.kept(way, relation.where)
                    ways.append(Way(self._made(relation, relation.columns, way), kept.conditions, kept.public))
                return ways
            case Join(kind="inner"):
                return self._joined(relation)
            case Join():
                names = [name for name, _ in relation.names]
                return [self._with_unknown(way, relation, names) for way in self.of(relation.left)]
            case GroupWithin():
                names = [aggregate.name for aggregate in relation.aggregates]
                ways = []
                for way in self.of(relation.source):
                    kept = self.kept(way, relation.where)
                    made = Way(self._made(relation, relation.keys, way), kept.conditions, kept.public)
                    ways.append(self._with_unknown(made, relation, names))
                return ways
            case Rank():
                return [self._with_unknown(way, relation, [relation.name]) for way in self.of(relation.source)]
            case Union():
                return self._united(relation)

    def kept(self, way: Way, where: Expression | None) -> Way:
        """Return a way with one more condition; one that grows too large is left out."""
        conditions = list(way.conditions)
        for condition in conjuncts(where):
            over = _over(condition, way.columns)
            conditions += [] if over is None else [*conjuncts(over)]
        return Way(way.columns, tuple(conditions), way.public)

    def _stored(self, name: str) -> Way:
        schema = self.tables[name]
        called = {column: self._variable(facts) for column, facts in schema.columns.items()}
        columns = {column: ColumnRef(variable) for column, variable in called.items()}
        return Way(columns, (), (PublicRow(name, called),) if is_public(schema) else ())

    def _joined(self, join: Join) -> list[Way]:
        ways = []
        for left, right in product(self.of(join.left), self.of(join.right)):
            theirs = {name: right.columns[column] for name, column in join.names}
            both = Way({**left.columns, **theirs}, (*left.conditions, *right.conditions), (*left.public, *right.public))
            ways.append(self.kept(both, join.on))
        return ways if len(ways) <= MOST_WAYS else self._opaque(join)

    def _united(self, relation: Union) -> list[Way]:
        made = schema_of(relation, self.tables).columns
        ways = []
        for source in relation.sources:
            kinds = [column.kind for column in schema_of(source, self.tables).columns.values()]
            for way in self.of(source):
                columns: dict[str, Expression] = {}
                for (name, facts), own, kind in zip(made.items(), way.columns.values(), kinds, strict=True):
                    columns[name] = own if kind == facts.kind else ColumnRef(self._variable(facts))
                ways.append(Way(columns, way.conditions, way.public))
        return ways if len(ways) <= MOST_WAYS else self._opaque(relation)

    def _opaque(self, relation: Relation) -> list[Way]:
        """Return a relation of which only the facts of its columns are known."""
        facts = schema_of(relation, self.tables).columns
        return [Way({name: ColumnRef(self._variable(column)) for name, column in facts.items()})]

    def _made(self, relation: Derive | GroupWithin, columns: tuple[tuple[str, Expression], ...], way: Way) -> Columns:
        facts, source = schema_of(relation, self.tables).columns, schema_of(relation.source, self.tables).columns
        made: dict[str, Expression] = {}
        for name, expression in columns:
            over = None if _may_be_clamped(expression, facts[name], source) else _over(expression, way.columns)
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


def _may_be_clamped(expression: Expression, facts: Facts, source: Mapping[str, Facts]) -> bool:
    """Return whether an engine that clamps a computed column to its facts may change a value.

    The ends of numbers are what people would write, 0.3 for 3 * 0.1, which is more in doubles.
    """
    if expression.column is not None or facts.kind != "number" or facts.low is None or facts.high is None:
        return False
    low, high = typed(expression, source).doubles
    return low is None or high is None or low < float(facts.low) or high > float(facts.high)  # type: ignore[arg-type]


def _over(expression: Expression, columns: Columns) -> Expression | None:
    """Return an expression over the meanings of columns; None if it becomes too large."""
    made = substitute(expression, lambda part: None if part.column is None else columns[part.column])
    return made if parts_in(made, {}) <= MOST_PARTS else None


# The bounds that plain conditions leave a column: x >= 3, x < 7, x = 5, x IN (1, 2). From the question alone.


def narrowed(facts: Mapping[str, Facts], conditions: Iterable[Expression]) -> dict[str, Facts]:
    """Return the facts of columns in rows of which all conditions are true: narrower bounds, where there are some.

    Guarantee: where each condition is true, the value of a column within its facts is within what is returned.
    """
    narrower = dict(facts)
    for condition in conditions:
        name = condition.arguments[0].column if condition.arguments else None
        if name is None:
            continue
        ends = _ends(condition, narrower[name])
        if ends is None:
            continue
        low, high = ends
        known = narrower[name]
        bottom, top = max(known.low, low), min(known.high, high)
        if known.kind == "integer":
            bottom, top = Fraction(math.ceil(bottom)), Fraction(math.floor(top))
        if bottom <= top:
            narrower[name] = replace(known, low=bottom, high=top)
    return narrower


def _ends(condition: Expression, facts: Facts) -> tuple[Any, Any] | None:
    """Return the ends of a bounded column between which a condition can be true; None where it sets no bounds."""
    if facts.low is None or facts.high is None or facts.values is not None:
        return None
    constants = [part.constant for part in condition.arguments[1:] if part.is_constant]
    if len(constants) != len(condition.arguments) - 1 or not constants:
        return None
    values = [_as(facts, value) for value in constants]
    if any(value is None for value in values):
        return None
    if condition.function in {"equal", "in"}:
        return min(values), max(values)
    if condition.function not in _SIDES:
        return None
    below, above = _SIDES[condition.function]
    (value,) = values
    if condition.function in {"less", "greater"}:
        value = _beyond(facts, value, up=below)
    return (value if below else facts.low), (value if above else facts.high)


def _as(facts: Facts, value: Any) -> Any:
    """Return a constant as the column compares with it; None where that is another kind."""
    match facts.kind, value:
        case _, bool():
            return None
        case "integer", int():
            return Fraction(value)
        case "integer" | "number", int() | Fraction():
            try:  # as doubles: a value compared with a number is one, and a whole number beside a decimal becomes one
                nearest = Fraction(float(value))
            except OverflowError:
                return None
            return nearest if facts.kind == "number" or abs(nearest) < 2**53 else None
        case "timestamp", datetime.datetime():
            return value
        case "timestamp", datetime.date():
            return datetime.datetime.combine(value, datetime.time())
        case "date", datetime.date() if type(value) is datetime.date:
            return value
    return None


def _beyond(facts: Facts, value: Any, *, up: bool) -> Any:
    """Return the next value of a column's kind, above or below."""
    if facts.kind == "integer":
        return Fraction(math.floor(value) + 1 if up else math.ceil(value) - 1)
    if facts.kind == "number":
        return Fraction(math.nextafter(float(value), math.inf if up else -math.inf))
    step = datetime.timedelta(days=1) if facts.kind == "date" else datetime.timedelta(microseconds=1)
    try:
        return value + step if up else value - step
    except OverflowError:
        return value


def allowed_groups(
    keys: tuple[GroupKey, ...],
    relation: Relation,
    where: Expression | None,
    tables: Mapping[str, Schema],
    *,
    held: bool = True,
) -> Groups:
    """Return public keys with the values that rows can have, and their combinations where not all are possible.

    Where nothing is declared about a column of a public table, its values are those stored in it, if `held`.

    Guarantee: decided by the question, declared facts and public tables. A group is left out only if no row that meets
    the conditions of the question has its values, as long as what is stored keeps to the kinds that are declared. Rows
    of groups that are left out do not count, so that what is released is a part of what would have been.
    """
    if not keys:
        return keys, None
    schemas = tuple(tables[name] for name in tables_of(relation))
    asked = (keys, relation, where, held, tuple(map(id, schemas)))
    with _FINDING:
        known = _FOUND.get(asked)
    # an id may be another schema's by now: those of a closed session are not kept alive here
    if known is not None and all(ref() is schema for ref, schema in zip(known[0], schemas, strict=True)):
        return known[1]
    groups = _allowed(keys, traced(relation, where, tables), tables, held=held)
    with _FINDING:
        _FOUND[asked] = tuple(map(weakref.ref, schemas)), groups
        _FOUND.move_to_end(asked)
        while len(_FOUND) > _KEPT:
            _FOUND.popitem(last=False)
    return groups


_FOUND: OrderedDict[Any, tuple[tuple[weakref.ref[Schema], ...], Groups]] = OrderedDict()
_FINDING = threading.Lock()


def _allowed(keys: tuple[GroupKey, ...], rows: Traced, tables: Mapping[str, Schema], *, held: bool) -> Groups:
    keys = tuple(_bounded(key, rows, tables if held else {}) for key in keys)
    places = tuple(place for place, key in enumerate(keys) if key.values is not None)
    hidden = len(places) < len(keys)
    if not places or (hidden and all(key.other is None for key in keys)):
        return keys, None  # groups that are found have rows
    public = [keys[place] for place in places]
    by_way = [_Groups(public, way, rows.facts, tables).factors() for way in rows.ways]
    by_way = [factors for factors in by_way if all(values for _, values in factors)]
    if not by_way:
        raise RequestError(
            "the conditions of this question rule out every group, by the values that are declared and those of public "
            "tables; nothing would be counted: check what it compares"
        )
    factors = by_way[0] if len(by_way) == 1 else _either(by_way, public)
    result = list(keys)
    for places_of, values in factors:
        for index, place in enumerate(places_of):
            kept = {value[index] for value in values}
            key = public[place]
            left = tuple(value for value in key.values or () if value in kept)
            result[places[place]] = key if left == key.values else replace(key, values=left, nullable=None in left)
    made = tuple(result)
    if hidden or all(_is_product(factor) for factor in factors):
        return made, None
    count = math.prod(len(values) for _, values in factors)
    if count > MOST_KEYS:
        raise TooManyGroups(count)
    return made, _in_order(factors, made)


def _is_product(factor: Factor) -> bool:
    places, values = factor
    return len(values) == math.prod(len({value[index] for value in values}) for index in range(len(places)))


def _either(by_way: Sequence[Sequence[Factor]], keys: Sequence[GroupKey]) -> list[Factor]:
    """Return the groups of rows that come about in several ways: of any of them."""
    sizes = [math.prod(len(values) for _, values in factors) for factors in by_way]
    every = tuple(range(len(keys)))
    if sum(sizes) <= MOST_KEYS:
        return [(every, frozenset(cell for factors in by_way for cell in _combined(factors)))]
    alone: list[set[tuple[Key, ...]]] = [set() for _ in keys]
    for factors in by_way:
        for places, values in factors:
            for index, place in enumerate(places):
                alone[place] |= {(value[index],) for value in values}
    return [((place,), frozenset(values)) for place, values in enumerate(alone)]


def _combined(factors: Sequence[Factor]) -> Iterator[tuple[Key, ...]]:
    places = [place for own, _ in factors for place in own]
    order = sorted(range(len(places)), key=lambda index: places[index])
    for parts in product(*(values for _, values in factors)):
        flat = [value for part in parts for value in part]
        yield tuple(flat[index] for index in order)


def _in_order(factors: Sequence[Factor], keys: Sequence[GroupKey]) -> Cells:
    ranks = [{value: rank for rank, value in enumerate(key.values or ())} for key in keys]
    return tuple(
        sorted(_combined(factors), key=lambda cell: [rank[value] for rank, value in zip(ranks, cell, strict=True)])
    )


def _bounded(key: GroupKey, rows: Traced, tables: Mapping[str, Schema]) -> GroupKey:
    """Return a key with the values that are left once the bounds of its columns are narrowed by plain conditions.

    A column of a public table about which nothing is declared has the values stored there.
    """
    if key.other is not None:
        return key
    kept: dict[Key, None] = {}
    for way in rows.ways:
        over = _along(key.expression, way)
        values = group_key(over, narrowed(rows.facts, way.conditions)).values
        if values is None and key.values is None:
            values = _held(over, way, tables)
        if values is None:
            return key
        kept |= dict.fromkeys(values)
    if key.values is None:
        return replace(
            key, values=(*(value for value in kept if value is not None), *((None,) if key.nullable else ()))
        )
    left = tuple(value for value in key.values if value in kept or value is None)
    return key if left == key.values else replace(key, values=left, nullable=None in left)


def _held(over: Expression, way: Way, tables: Mapping[str, Schema]) -> tuple[Key, ...] | None:
    """Return the values of a column of a public table, as stored there; None for others, and of too many."""
    for row in way.public:
        names = list(row.columns.values())
        contents = tables[row.table].contents if row.table in tables else None
        if over.column not in names or contents is None or contents.rows is None:
            continue
        place = names.index(over.column)
        values = {stored[place] for stored in contents.rows}
        if len(values) > MOST_KEYS or not all(
            isinstance(value, str | int | datetime.date) for value in values - {None}
        ):
            return None
        return tuple(sorted(values - {None}))
    return None


def _along(expression: Expression, way: Way) -> Expression:
    return substitute(expression, lambda part: None if part.column is None else way.columns[part.column])


@dataclass(frozen=True)
class _Node:
    """Columns whose values are listed together: one column, a key, or the columns of a public row that are used."""

    domain: Domain
    table: bool = False

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.domain.columns)

    @property
    def size(self) -> int:
        return max(1, len(self.domain.rows))

    def repeats(self, name: str) -> int:
        """Return how often a value comes in a column, at most."""
        place = self.domain.columns.index(name)
        return max(Counter(row[place] for row in self.domain.rows).values(), default=1)


class _Groups:
    """The possible groups of rows that come about in one way."""

    def __init__(
        self, keys: Sequence[GroupKey], way: Way, facts: Mapping[str, Facts], tables: Mapping[str, Schema]
    ) -> None:
        self.keys, self.way, self.tables = keys, way, tables
        self.over = [_along(key.expression, way) for key in keys]
        self.conditions = list(way.conditions)
        self.facts = dict(facts)
        self.near = narrowed(facts, way.conditions)
        self.nodes: list[_Node] = []

    def factors(self) -> list[Factor]:
        """Return the combinations of values that are possible, in parts that do not depend on each other."""
        used = frozenset().union(*map(mentions, (*self.over, *self.conditions)))
        self._read_public(used)
        known = frozenset(name for node in self.nodes for name in node.names)
        for name in sorted(used - known):
            values = self._values(name)
            if values is not None:
                self.nodes.append(_Node(Domain((name,), tuple((value,) for value in values))))
        known = frozenset(name for node in self.nodes for name in node.names)
        for place, over in enumerate(self.over):
            if not mentions(over) <= known:
                self._as_column(place, over)
        factors: list[Factor] = []
        left = list(range(len(self.keys)))
        for names, conditions in self._parts():
            places = tuple(place for place in left if mentions(self.over[place]) <= names)
            left = [place for place in left if place not in places]
            public = any(node.table for node in self.nodes if node.names & names)
            if conditions or (public and places):
                factors += self._possible(places, names, conditions)
            else:  # nothing is asked of these keys, which may stand together in any way
                factors += [((place,), _alone(self.keys[place])) for place in places]
        return [factor for factor in factors if factor[0] or not factor[1]]

    def _read_public(self, used: frozenset[str]) -> None:
        for row in self.way.public:
            contents = self.tables[row.table].contents
            rows = None if contents is None else contents.rows
            names = [name for name in row.columns.values() if name in used]
            if rows is None or not names:
                continue
            at = [list(row.columns.values()).index(name) for name in names]
            listed = tuple(dict.fromkeys(tuple(stored[place] for place in at) for stored in rows))
            self.nodes.append(_Node(Domain(tuple(names), listed), table=True))

    def _values(self, name: str) -> tuple[Key, ...] | None:
        """Return every value that a column can have in a row that has a group; None where they are not listed."""
        for key, over in zip(self.keys, self.over, strict=True):
            if over == ColumnRef(name) and key.values is not None:
                return key.values
        facts = self.near[name]
        if facts.kind == "text":
            return self._equated(name, "text")
        if facts.kind == "integer" and facts.values is not None:
            # between the ends any value may be stored, whatever is declared
            ends = [value for value in facts.values if isinstance(value, int)]
            facts = replace(facts, values=None, low=Fraction(min(ends)), high=Fraction(max(ends)))
        values = listed_values(facts)
        if values is None and facts.kind == "integer":
            return self._equated(name, "integer")
        return None if values is None else (*values, None)

    def _equated(self, name: str, kind: Kind) -> tuple[Key, ...] | None:
        """Return values of a column that stand for all, if it is only ever compared for equality with listed values.

        Any two values that are equal to none of those make the same conditions true.
        """
        compared: set[Key] = set()
        for expression in (*self.conditions, *self.over):
            if not self._compared(expression, name, kind, compared):
                return None
        if kind == "text":
            return (*sorted(compared, key=str), "".join(map(str, compared)) + "?", None)
        rest = next(value for value in count() if value not in compared)
        return (*sorted(compared, key=int), rest, None)  # type: ignore[arg-type]

    def _compared(self, expression: Expression, name: str, kind: Kind, compared: set[Key]) -> bool:
        """Return whether a column is compared with listed values for equality only, and collect these."""
        if not expression.function:
            return expression.column != name
        if ColumnRef(name) not in expression.arguments:
            return all(self._compared(part, name, kind, compared) for part in expression.arguments)
        others = [part for part in expression.arguments if part != ColumnRef(name)]
        if expression.function == "is_null":
            return True
        if expression.function not in {"equal", "not_equal", "in"} or len(others) < len(expression.arguments) - 1:
            return False
        for other in others:
            values = self._listed(other, kind)
            if values is None:
                return False
            compared.update(values)
        return True

    def _listed(self, other: Expression, kind: Kind) -> list[Key] | None:
        """Return the values that a constant, or a column of a public table, can have; None of any other kind."""
        if other.is_constant:
            fits = type(other.constant) is (str if kind == "text" else int)
            return [other.constant] if fits else None  # type: ignore[list-item]
        name = other.column
        node = next((node for node in self.nodes if name in node.names), None)
        if name is None or node is None or self.facts[name].kind != kind:
            return None
        place = node.domain.columns.index(name)
        return [row[place] for row in node.domain.rows if row[place] is not None]

    def _as_column(self, place: int, over: Expression) -> None:
        """Treat a key as a column of its own, with its public values; the columns that it is made of stay unknown."""
        name = f"key {place}"
        kind = typed(over, self.facts).kind
        if kind is None:
            return
        self.facts[name] = Facts(kind=kind, nullable=True)
        values = self.keys[place].values or ()
        self.nodes.append(_Node(Domain((name,), tuple((value,) for value in values))))
        self.over[place] = ColumnRef(name)
        self.conditions = [
            substitute(condition, lambda part: ColumnRef(name) if part == over else None)
            for condition in self.conditions
        ]

    def _parts(self) -> list[tuple[frozenset[str], list[Expression]]]:
        """Return sets of listed columns that nothing ties to each other, each with the conditions on it."""
        known = frozenset(name for node in self.nodes for name in node.names)
        ties = [
            *(node.names for node in self.nodes),
            *(mentions(expression) & known for expression in (*self.conditions, *self.over)),
        ]
        parts: list[frozenset[str]] = []
        for tie in ties:
            together = frozenset(tie).union(*(part for part in parts if part & tie))
            parts = [part for part in parts if not part & tie] + ([together] if together else [])
        tied = [(part, [condition for condition in self.conditions if mentions(condition) & part]) for part in parts]
        return [*tied, (frozenset(), [condition for condition in self.conditions if not mentions(condition) & known])]

    def _possible(self, places: tuple[int, ...], names: frozenset[str], conditions: list[Expression]) -> list[Factor]:
        nodes = [node for node in self.nodes if node.names & names]
        wanted = frozenset().union(*(mentions(self.over[place]) for place in places))
        if _tried(nodes, conditions) > MOST_TRIED:
            nodes = [self._by_itself(node, conditions) for node in nodes]
        while _tried(nodes, conditions) > MOST_TRIED:
            spare = [node for node in nodes if not node.names & wanted]
            if not spare:
                return self._one_by_one(places, conditions)
            nodes.remove(max(spare, key=lambda node: node.size))
        return [(places, self._evaluated(places, nodes, conditions))]

    def _by_itself(self, node: _Node, conditions: Sequence[Expression]) -> _Node:
        """Return the values of some columns for which conditions may be true, whatever all others are."""
        if node.size > MOST_TRIED:
            return node
        names = node.domain.columns
        rows = possible([node.domain], conditions, [ColumnRef(name) for name in names], self.facts, most=MOST_TRIED)
        return replace(node, domain=Domain(names, tuple(rows)))

    def _one_by_one(self, places: tuple[int, ...], conditions: list[Expression]) -> list[Factor]:
        """Return the possible values of each key separately, whatever the others are."""
        factors: list[Factor] = []
        for place in places:
            own = [node for node in self.nodes if node.names & mentions(self.over[place])]
            if _tried(own, conditions) <= MOST_TRIED:
                factors.append(((place,), self._evaluated((place,), own, conditions)))
            else:
                factors.append(((place,), _alone(self.keys[place])))
        return factors

    def _evaluated(
        self, places: tuple[int, ...], nodes: Sequence[_Node], conditions: Sequence[Expression]
    ) -> frozenset[tuple[Key, ...]]:
        """Return the values that keys can have together; of no keys, whether the conditions can be true at all."""
        over = [self.over[place] for place in places]
        rows = possible([node.domain for node in nodes], conditions, over, self.facts, most=MOST_TRIED)
        if not places:
            return frozenset(((),)) if rows else frozenset()
        allowed = [frozenset(self.keys[place].values or ()) for place in places]
        return frozenset(row for row in rows if all(value in known for value, known in zip(row, allowed, strict=True)))


def _alone(key: GroupKey) -> frozenset[tuple[Key, ...]]:
    return frozenset((value,) for value in key.values or ())


def _tried(nodes: Sequence[_Node], conditions: Iterable[Expression]) -> int:
    """Return about how many combinations are looked at: equal columns are found, and others all tried."""
    pairs = [condition.arguments for condition in conditions if condition.function == "equal"]
    left, taken, size = sorted(nodes, key=lambda node: node.size), frozenset[str](), 1
    while left:
        best, factor = left[0], left[0].size
        for node in left:
            for pair in pairs:
                for mine, other in (pair, pair[::-1]):
                    name = mine.column
                    if name in node.names and mentions(other) and mentions(other) <= taken:
                        repeats = node.repeats(name)
                        best, factor = (node, repeats) if repeats < factor else (best, factor)
        left.remove(best)
        taken, size = taken | best.names, size * factor
    return size
