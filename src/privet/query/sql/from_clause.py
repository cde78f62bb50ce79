"""Reads FROM: its tables, the order and kind of its joins, and PIVOT, into rows and the names to use.

The order of a, b, c WHERE ..., and the anti-joins among LEFT JOINs, follow from names and declared facts only: the
result is that of JOIN ... ON and ANTI JOIN. Nothing here decides about privacy.

PIVOT groups by the future columns as well, then puts the released numbers of each value into its column. The numbers
are released once, in disjoint groups; turning them costs nothing. The columns are listed, or declared.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from privet.core.errors import InvariantError, RequestError, UnknownName, Unsupported
from privet.core.relation import ColumnRef, Expression, Literal
from privet.core.schema import Schema
from privet.core.unit import unit_columns
from privet.query.build import aggregated, refined
from privet.query.expressions import mentions, typed
from privet.query.join import Columns, full, join, pair
from privet.query.lookups import among, exists, has_outer, outer
from privet.query.nodes import MARK, PrivateRows, ReleasedRows, Select, Standing, aggregate, is_aggregate, label
from privet.query.normal import call, conjunction
from privet.query.released import FirstValues
from privet.query.resolve import condition
from privet.query.shape import conjuncts, is_public, only_match, place_of, says_owner

from .calls import NAMES
from .clauses import Node, conjuncts_of, part, parts, refusal
from .nested import read_released
from .rewrites import DECLARED, NATURAL
from .translate import Scope, find, translate

Side = typing.Literal["inner", "left", "right", "full", "semi", "anti"]

Plain = typing.Literal["inner", "left", "right"]

MOST_COLUMNS = 200
"""The most values that become columns."""

_FORM = "write PIVOT (COUNT(*) FOR sex IN ('F', 'M')), or PIVOT t ON sex IN ('F', 'M') USING COUNT(*) GROUP BY city"


# Tables of FROM a, b, c WHERE ... are put in an order in which each joins those before it, by equalities of WHERE.


@dataclass(frozen=True)
class Item:
    """One thing that FROM names: its rows, the name by which its columns may be qualified, and its JOIN, if any."""

    rows: PrivateRows
    name: str
    join: Node | None = None
    hidden: frozenset[str] = frozenset()
    """Columns, in small letters, that a link added: another table's own column of that name goes before them."""

    @property
    def plain(self) -> bool:
        """Whether it is joined by a comma, or by an inner JOIN whose condition is in ON."""
        return self.join is None or not (self.join.args.get("side") or parts(self.join, "using"))

    @property
    def crossed(self) -> bool:
        """Whether it is joined without a condition."""
        return self.join is not None and self.plain and part(self.join, "on") is None


@dataclass(frozen=True)
class Arranged:
    """The order in which tables are joined, by their places in FROM, with the conditions of each join."""

    order: tuple[tuple[int, tuple[Node, ...]], ...]
    used: frozenset[int] = field(default_factory=frozenset)
    """The conditions of WHERE, by identity, that are conditions of joins and need not be checked again."""


def arranged(items: Sequence[Item], where: Node | None) -> Arranged:
    """Return an order for the tables of FROM.

    Tables that are all joined by JOIN ... ON stay as they are written. Where some are listed beside others without a
    condition, equalities of WHERE join them, also those that every part of an OR repeats; then private tables come
    first, each after one that has the same owner, then public ones on their keys, then others.
    """
    own = [conjuncts_of(None if item.join is None else part(item.join, "on")) for item in items]
    if not any(item.crossed for item in items):
        return Arranged(tuple((place, tuple(own[place])) for place in range(len(items))))
    reader = Reader(items)
    asked = conjuncts_of(where)
    equal = [node for node in asked if node.key == "eq" and reader.links(node)]
    shared = [node for either in asked if either.key == "or" for node in reader.shared(either)]
    free = next((place for place, item in enumerate(items) if not item.plain), len(items))
    pool = [*equal, *shared, *(node for place in range(free) for node in own[place])]
    order = _ordered(reader, range(free), pool)
    placed = {place for place, _ in order}
    for place in range(free, len(items)):
        placed.add(place)
        met = [node for node in (*equal, *shared) if items[place].crossed and reader.joins(node, place, placed)]
        order.append((place, (*own[place], *met)))
    met_by = {id(node) for _, nodes in order for node in nodes}
    return Arranged(tuple(order), frozenset(id(node) for node in equal if id(node) in met_by))


def _ordered(reader: Reader, places: Iterable[int], pool: Sequence[Node]) -> list[tuple[int, tuple[Node, ...]]]:
    """Return the places in the order of their joins, each with the conditions that can then be checked."""
    left = list(places)
    private = [place for place in left if not is_public(reader.items[place].rows.schema)]
    # a row that leads on to others meets one of each, so that the rows of a person are as many as of that table alone
    owning = {place for node in pool if node.key == "eq" for place in reader.led_to(node)}
    first = next((place for place in (*(other for other in private if other not in owning), *private)), left[0])
    left.remove(first)
    placed, waiting = {first}, list(pool)
    order: list[tuple[int, tuple[Node, ...]]] = [(first, ())]
    while left:
        place = min(left, key=lambda candidate: (reader.distance(candidate, placed, waiting), candidate))
        left.remove(place)
        placed.add(place)
        met = [node for node in waiting if reader.joins(node, place, placed)]
        waiting = [node for node in waiting if not any(node is other for other in met)]
        order.append((place, tuple(met)))
    return order


class Reader:
    """Which tables the columns of a condition are of."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.owners: dict[str, int | None] = {}
        for hidden in (False, True):
            added: dict[str, int | None] = {}
            for place, item in enumerate(items):
                for name in item.rows.columns:
                    folded = name.casefold()
                    if (folded in item.hidden) == hidden and folded not in self.owners:
                        added[folded] = None if folded in added else place
            self.owners |= added

    def place(self, column: Node) -> int | None:
        """Return the place of the table that a column is of; None if that is not clear."""
        table, name = part(column, "table"), part(column, "this")
        if table is None:
            return self.owners.get(str(name.name).casefold())
        wanted = str(table.name).casefold()
        return next((place for place, item in enumerate(self.items) if item.name.casefold() == wanted), None)

    def places(self, node: Node) -> set[int | None]:
        """Return the places of all tables that an expression uses, and None where one cannot be found."""
        places: set[int | None] = set()
        for inner in node.walk():
            if inner.key in {"select", "subquery", "exists"}:
                return {None}
            if inner.key == "column":
                places.add(self.place(inner))
        return places

    def links(self, equal: Node) -> bool:
        """Return whether an equality is between two tables."""
        sides = [self.places(part(equal, name)) for name in ("this", "expression")]
        return all(sides) and None not in sides[0] | sides[1] and not sides[0] & sides[1]

    def joins(self, one: Node, place: int, placed: set[int]) -> bool:
        """Return whether a condition can be checked once a table is joined, and not before."""
        places = self.places(one)
        return None not in places and place in places and places <= placed

    def shared(self, either: Node) -> list[Node]:
        """Return the equalities between tables that each part of an OR repeats."""
        branches, node = [], either
        while node.key == "or":
            branches.append(part(node, "expression"))
            node = part(node, "this")
        branches.append(node)
        listed = [
            {self._named(equal): equal for equal in conjuncts_of(branch) if equal.key == "eq" and self.links(equal)}
            for branch in branches
        ]
        return [equal for name, equal in listed[-1].items() if all(name in other for other in listed)]

    def _named(self, equal: Node) -> frozenset[tuple[int | None, str]]:
        """Return a name for an equality of two columns, whatever their order and qualifiers."""
        sides = [part(equal, name) for name in ("this", "expression")]
        if any(side.key != "column" for side in sides):
            return frozenset({(None, str(equal))})
        return frozenset((self.place(side), str(part(side, "this").name).casefold()) for side in sides)

    def distance(self, place: int, placed: set[int], pool: Sequence[Node]) -> int:
        """Return how well a table can be joined now: by its owner, by its key, by something equal, by nothing."""
        rows = self.items[place].rows
        met = [eq for eq in pool if eq.key == "eq" and self.joins(eq, place, placed | {place}) and self.links(eq)]
        if not is_public(rows.schema):
            if not self._owned(place, met):
                return 4
            return 0 if any(place in self.led_to(eq) for eq in met) else 1
        keys = [(place, (rows.schema.key or "").casefold())]
        if rows.schema.key is not None and any(key in self._named(eq) for eq in met for key in keys):
            return 2
        return 3 if met else 5

    def led_to(self, equal: Node) -> set[int]:
        """Return the places of the private tables in which an equality between tables finds at most one row."""
        sides = [part(equal, name) for name in ("this", "expression")]
        columns = [self._column(side) for side in sides] if self.links(equal) else []
        return {
            place
            for side, column in zip(sides, columns, strict=False)
            if column is not None and only_match(column[0].table, column[1], column[0].tables)
            if (place := self.place(side)) is not None
        }

    def _owned(self, place: int, equal: Sequence[Node]) -> bool:
        """Return whether equalities imply that the rows of a table have the owner of those already joined."""
        rows, met = self.items[place].rows, set()
        for node in equal:
            first, second = (self._column(part(node, name)) for name in ("this", "expression"))
            if first is None or second is None:
                continue
            if first[1] == second[1] and all(side[1] in unit_columns(side[0].schema.unit) for side in (first, second)):
                met.add(first[1])
                continue
            mine, other = (place_of(side[0].table, side[1], rows.tables) for side in (first, second))
            if says_owner(mine, other, rows.tables):
                return True
        return met >= set(unit_columns(rows.schema.unit))

    def _column(self, side: Node) -> tuple[PrivateRows, str] | None:
        """Return the rows and the column of their relation that one side of an equality is; None if it is more."""
        place = self.place(side) if side.key == "column" else None
        if place is None:
            return None
        rows, wanted = self.items[place].rows, str(part(side, "this").name).casefold()
        named = (expression.column for name, expression in rows.columns.items() if name.casefold() == wanted)
        column = next(named, None)
        return None if column is None else (rows, column)


# Anti-joins as people write them: LEFT JOIN b ON ... WHERE b.key IS NULL keeps the rows that meet none of b.
#
# Read as such, no rows are paired, and the noise is that of the table itself.


def read_anti_joins(items: Sequence[Item], select: Node) -> tuple[list[Item], frozenset[int]]:
    """Return the tables of FROM with the joins that keep unmatched rows as ANTI JOIN, and the conditions that state it.

    A join is one where a column of its table, which is never NULL in a row that is met, must be NULL, and nothing else
    of that table is used. Conditions are known by their identity.
    """
    where = part(select, "where")
    if where is None:
        return list(items), frozenset()
    written = [item.join for item in items]
    if len(items) == 2 and _side(items[1]) == "RIGHT":
        turned = [replace(items[1], join=None), replace(items[0], join=_joining(items[1], ""))]
        made, used = _read(turned, written[::-1], conjuncts_of(part(where, "this")), select)
        return (made, used) if used else (list(items), frozenset())
    return _read(items, written, conjuncts_of(part(where, "this")), select)


def _read(
    items: Sequence[Item], written: Sequence[Node | None], asked: Sequence[Node], select: Node
) -> tuple[list[Item], frozenset[int]]:
    """Return the tables and the conditions that were read; `written` are their joins as in the SELECT."""
    reader, result, used = Reader(items), list(items), set[int]()
    for place, item in enumerate(items):
        before = [other.rows.schema for other in items[:place]]
        if _side(item) != "LEFT" or (all(map(is_public, before)) and not is_public(item.rows.schema)):
            continue
        said = [node for node in asked if _says_none(node, place, item, reader)]
        own = [node for node in written if node is not None and (node is item.join or len(items) == 2)]
        if said and not _used_elsewhere(select, place, reader, [*own, *said]):
            result[place] = replace(item, join=_joining(item, "ANTI"))
            used |= {id(node) for node in said}
    return result, frozenset(used)


def _side(item: Item) -> str:
    """Return the side of a plain outer join."""
    join = item.join
    if join is None or str(join.args.get("kind") or "").upper() not in {"", "OUTER"}:
        return ""
    return str(join.args.get("side") or "").upper()


def _joining(item: Item, kind: str) -> Node:
    """Return the join of an item as a LEFT JOIN of some kind, on the same condition."""
    if item.join is None:
        raise InvariantError("what is read as another join is joined")
    made = item.join.copy()
    made.set("side", "LEFT")
    made.set("kind", kind)
    return made


def _says_none(condition: Node, place: int, item: Item, reader: Reader) -> bool:
    """Return whether a condition is true exactly where a row meets none of a table's."""
    column = part(condition, "this") if condition.key == "is" else None
    if column is None or column.key != "column" or part(condition, "expression").key != "null":
        return False
    if reader.place(column) != place:
        return False
    name = part(column, "this").name.casefold()
    shown = {own.casefold(): expression for own, expression in item.rows.columns.items()}
    return name in shown and (
        not typed(shown[name], item.rows.schema.columns).nullable or name in _equated(item, place, reader)
    )


def _equated(item: Item, place: int, reader: Reader) -> set[str]:
    """Return the columns of a table, in small letters, that its join compares by plain equality: none is NULL there."""
    names = {column.name.casefold() for column in parts(item.join, "using")} if item.join is not None else set()
    for node in conjuncts_of(None if item.join is None else part(item.join, "on")):
        sides = (part(node, "this"), part(node, "expression")) if node.key == "eq" else ()
        names |= {part(side, "this").name.casefold() for side in sides if _is_of(side, place, reader)}
    return names


def _is_of(node: Node, place: int, reader: Reader) -> bool:
    return bool(node.key == "column" and reader.place(node) == place)


def _used_elsewhere(select: Node, place: int, reader: Reader, apart: Sequence[Node]) -> bool:
    """Return whether a column of a table is used anywhere but in some parts, or may be used unnamed."""
    waiting = [select]
    while waiting:
        node = waiting.pop()
        if any(node is other for other in apart):
            continue
        if node.key == "star" and (node.parent is select or node.parent is None or node.parent.key == "column"):
            return True
        if node.key == "column" and reader.place(node) in {place, None} and not _is_alias(node, select):
            return True
        waiting += [child for child in node.iter_expressions() if child.key not in {"from", "with"}]
    return False


def _is_alias(column: Node, select: Node) -> bool:
    """Return whether a name is one that the SELECT assigns to an output, as ORDER BY and HAVING use them."""
    names = {output.alias.casefold() for output in parts(select, "expressions") if output.key == "alias"}
    return part(column, "table") is None and part(column, "this").name.casefold() in names


def pivoted(standing: Standing, node: Node) -> ReleasedRows:
    """Return rows with a column for each listed value of one column, and for each aggregate."""
    scope = Scope(standing.columns, owner=standing.owner)
    fields = parts(node, "fields") or parts(node, "expressions")
    wanted = parts(node, "using") or (parts(node, "expressions") if parts(node, "fields") else [])
    if len(fields) != 1 or not wanted:
        raise Unsupported(f"PIVOT turns one column, by some aggregates; {_FORM}")
    field = fields[0]
    over = translate(part(field, "this") if field.key == "in" else field, scope)
    values = _values(field, over, standing, scope)
    asked = [_aggregate(written, scope) for written in wanted]
    groups = _groups(node, standing, scope, {over, *(expression for _, expression in asked)})
    names = _names(node, values, asked)
    listed = [*((name, expression) for name, expression in groups), ("privet column", over)]
    numbers = [(f"privet {place}", expression) for place, (_, expression) in enumerate(asked)]
    inner = Select(
        outputs=(*listed, *numbers),
        keys=tuple(expression for _, expression in listed),
        where=call("in", over, *(Literal(value) for _, value in values)),  # type: ignore[arg-type]
    )
    rows = aggregated(standing, inner) if isinstance(standing, PrivateRows) else refined(standing, inner)
    cells = iter(names)
    outputs: list[tuple[str | None, Expression]] = [(name, ColumnRef(name)) for name, _ in groups]
    for _, value in values:
        here = call("equal", ColumnRef("privet column"), Literal(value))  # type: ignore[arg-type]
        for (own, _), (_, marked) in zip(numbers, asked, strict=True):
            cell: Expression = aggregate("any_value", ColumnRef(own), here)
            # a count of no rows is 0
            cell = call("coalesce", cell, Literal(0)) if marked.function.startswith(f"{MARK}count") else cell
            outputs.append((next(cells), cell))
    return refined(rows, Select(outputs=tuple(outputs), keys=tuple(ColumnRef(name) for name, _ in groups)))


def _values(field: Node, over: Expression, standing: Standing, scope: Scope) -> list[tuple[str, object]]:
    """Return the values that become columns, each with its name: those that are listed, or else declared."""
    values: list[tuple[str, object]] = []
    if field.key == "in":
        for node in parts(field, "expressions"):
            said = translate(part(node, "this") if node.key == "pivotalias" else node, scope)
            if said.constant is None:
                raise Unsupported(f"the values that become columns are constants; {_FORM}")
            shown = part(node, "alias").name if node.key == "pivotalias" else _shown(said.constant)
            values.append((shown, said.constant))
    else:
        facts = standing.facts
        declared = typed(over, facts).values
        if declared is None:
            raise Unsupported(
                f"the values of {label(over)} are not declared, and private ones cannot become columns; list them: ON "
                f"{label(over)} IN ('a', 'b')"
            )
        values = [(_shown(value), value) for value in sorted(value for value in declared if value is not None)]
    if not 1 <= len(values) <= MOST_COLUMNS:
        raise Unsupported(f"PIVOT makes columns of 1 to {MOST_COLUMNS} values; list those that you need")
    if len({value for _, value in values}) < len(values):
        raise RequestError("a value comes twice in the list of PIVOT; name each once")
    return values


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _aggregate(node: Node, scope: Scope) -> tuple[str | None, Expression]:
    name = part(node, "alias").name if node.key == "alias" else None
    made = translate(part(node, "this") if node.key == "alias" else node, scope)
    if not is_aggregate(made):
        raise Unsupported(f"PIVOT takes aggregates by themselves; {_FORM}")
    return name, made


def _groups(node: Node, standing: Standing, scope: Scope, used: set[Expression]) -> list[tuple[str, Expression]]:
    """Return the columns of the rows: those that are listed, or all that are not named elsewhere."""
    group = part(node, "group")
    if group is not None:
        made = [(item, translate(item, scope)) for item in parts(group, "expressions")]
        return [(item.name if item.key == "column" else label(expression), expression) for item, expression in made]
    hidden: set[str] = set().union(*map(mentions, used))
    return [(name, expression) for name, expression in standing.columns.items() if not mentions(expression) & hidden]


def _names(node: Node, values: list[tuple[str, object]], asked: list[tuple[str | None, Expression]]) -> list[str]:
    """Return the names of the new columns: the value's, with the aggregate's where there are several or it has one."""
    if len(asked) == 1 and asked[0][0] is None:
        return [name for name, _ in values]
    return [f"{name}_{own or label(expression)}" for name, _ in values for own, expression in asked]


@dataclass(frozen=True)
class FromTables:
    """What FROM can name: the tables, and the CTEs and views in sight; `used` gathers the CTEs that were named.

    A question that names only public tables is `exact`: rows are listed, and nothing is released.
    """

    tables: Mapping[str, Schema]
    ctes: Mapping[str, Standing]
    used: set[str]
    exact: bool = False
    first: FirstValues | None = None
    """Takes the values that are released before the question is asked, where any are allowed."""


ReadRelation = Callable[[Node, FromTables], Standing]


def read_from(node: Node, places: FromTables, read: ReadRelation) -> tuple[Standing, Scope, frozenset[int]]:
    """Return the rows under a SELECT, the names it may use, and the conditions of WHERE that its joins have checked.

    `read` reads a sub-query. Conditions are known by their identity.
    """
    origin = part(node, "from")
    if origin is None:
        raise Unsupported("a query reads a table: SELECT ... FROM " + (next(iter(sorted(places.tables)), "...")))
    first, name = standing_at(part(origin, "this"), places, read)
    joins = parts(node, "joins")
    if not joins:
        return first, Scope.over(((name, first.columns),), first.owner), frozenset()
    placed = [(first, name, None), *((*standing_at(part(joined, "this"), places, read), joined) for joined in joins)]
    _settle_natural(placed)
    where = part(node, "where")
    if any(standing.released for standing, _, _ in placed):
        return read_released(placed, None if where is None else part(where, "this"))
    for joined in joins:
        _kind(joined)
    items, none = read_anti_joins([item_of(*source) for source in placed], node)
    _check_different(items)
    arrangement = arranged(items, None if where is None else part(where, "this"))
    (start, _), *others = arrangement.order
    standing = items[start].rows
    sides: list[tuple[Item, Columns]] = [(items[start], standing.columns)]
    merged: dict[str, Expression] = {}
    for place, conditions in others:
        standing, sides, merged = _joined(items[place], conditions, standing, sides, merged)
    written = [side for item in items for side in sides if side[0] is item]
    every = {column: made for _, columns in reversed(written) for column, made in columns.items()}
    return with_columns(standing, every), _scope(written, standing.owner, merged), arrangement.used | none


def _settle_natural(placed: Sequence[tuple[Standing, str, Node | None]]) -> None:
    """Make each NATURAL JOIN one by USING, with the columns that its tables themselves have in common."""
    known: set[str] = set()
    for standing, name, node in placed:
        added = item_of(standing, name, None).hidden if isinstance(standing, PrivateRows) else frozenset()
        own = {column.casefold(): column for column in standing.columns if column.casefold() not in added}
        if node is not None and node.args.get(NATURAL):
            shared = [column for key, column in own.items() if key in known]
            if not shared:
                raise Unsupported(f"NATURAL JOIN finds no column that {name!r} and a table before it have; write ON")
            node.set(NATURAL, None)
            node.set("using", [_identifier(column) for column in shared])
        known |= own.keys()


def _identifier(name: str) -> Node:
    from sqlglot.expressions import to_identifier

    return to_identifier(name, quoted=False)


def item_of(standing: Standing, name: str, node: Node | None) -> Item:
    rows = private_rows(standing)
    # a sub-query names its columns itself
    stored = (
        isinstance(rows.table, str) and rows.columns == PrivateRows.of(rows.table, rows.schema, rows.tables).columns
    )
    link = rows.schema.link if stored else None
    owners = () if link is None else (column for column in unit_columns(rows.schema.unit) if column != link.via)
    added = (own for own in owners if rows.columns.get(own) == ColumnRef(own))  # else a column of the table's own
    return Item(rows, name, node, frozenset(column.casefold() for column in added))


def _check_different(items: list[Item]) -> None:
    taken: set[str] = set()
    for item in items:
        if item.name and item.name.casefold() in taken:
            name = item.name
            raise RequestError(
                f"two tables in FROM are called {name!r}; give each a name of its own: JOIN {name} AS other"
            )
        taken.add(item.name.casefold())


def _scope(
    sides: Sequence[tuple[Item, Columns]], owner: str | None, merged: Mapping[str, Expression] | None = None
) -> Scope:
    hidden = {item.name: item.hidden for item, _ in sides}
    return Scope.over(tuple((item.name, columns) for item, columns in sides), owner, merged, hidden)


def _joined(
    item: Item,
    conditions: tuple[Node, ...],
    left: PrivateRows,
    sides: list[tuple[Item, Columns]],
    merged: dict[str, Expression],
) -> tuple[PrivateRows, list[tuple[Item, Columns]], dict[str, Expression]]:
    kind: Side = "inner" if item.join is None else _kind(item.join)
    if kind in {"semi", "anti"}:
        return _matched(item, conditions, left, sides, merged), sides, merged
    if kind == "full":
        return _full(item, conditions, left, sides, merged)
    return _paired(item, conditions, left, sides, merged, typing.cast(Plain, kind))


def _matched(
    item: Item,
    conditions: tuple[Node, ...],
    left: PrivateRows,
    sides: list[tuple[Item, Columns]],
    merged: dict[str, Expression],
) -> PrivateRows:
    """Return the rows that meet another one, or those that meet none: SEMI JOIN and ANTI JOIN."""
    if item.join is None:
        raise InvariantError("what is matched is joined")
    mine = _scope(sides, None, merged)
    known = {name.casefold() for _, columns in sides for name in columns}
    added = item.hidden & known  # a table's own column takes precedence over one that a link added
    shown = {name: expression for name, expression in item.rows.columns.items() if name.casefold() not in added}
    theirs = replace(_scope([(item, shown)], None), outer=mine)
    asked = [conjunct for node in conditions for conjunct in conjuncts(translate(node, theirs))]
    whole = _scope([(item, item.rows.columns)], None)
    asked += [call("equal", outer(mine.named(column)), whole.named(column)) for column in parts(item.join, "using")]
    facts = item.rows.schema.columns
    own = conjunction(item.rows.where, *(condition(test, facts, "ON") for test in asked if not has_outer(test)))
    others = among(replace(item.rows, where=own), [test for test in asked if has_outer(test)])
    made, met = exists(left, others)
    kept = met if _kind(item.join) == "semi" else call("not", met)
    return replace(made, where=conjunction(made.where, kept))


def _full(
    item: Item,
    conditions: tuple[Node, ...],
    left: PrivateRows,
    sides: list[tuple[Item, Columns]],
    merged: dict[str, Expression],
) -> tuple[PrivateRows, list[tuple[Item, Columns]], dict[str, Expression]]:
    """Return the rows of a FULL JOIN, with their columns as each side names them."""
    halves = [_paired(item, conditions, left, sides, merged, kind) for kind in ("left", "right")]
    made = []
    for standing, pairs, kept in halves:
        flat = {f"{place} {column}": own for place, (_, columns) in enumerate(pairs) for column, own in columns.items()}
        made.append(with_columns(standing, flat | {f"using {name}": value for name, value in kept.items()}))
    both = full(*made)
    return both, _unflat(both.columns, [*sides, (item, item.rows.columns)]), _using(both.columns)


def _paired(
    item: Item,
    conditions: tuple[Node, ...],
    left: PrivateRows,
    sides: list[tuple[Item, Columns]],
    merged: dict[str, Expression],
    kind: Plain,
) -> tuple[PrivateRows, list[tuple[Item, Columns]], dict[str, Expression]]:
    # all columns so far are in one mapping, so that the join can rename them together
    flat = {f"{place} {column}": value for place, (_, columns) in enumerate(sides) for column, value in columns.items()}
    flat |= {f"using {column}": value for column, value in merged.items()}
    both = pair(with_columns(left, flat), item.rows, kind)
    mine, theirs = both.sides
    old = _unflat(mine, sides)
    scope = _scope((*old, (item, theirs)), None, _using(mine))
    on = conjunction(*(translate(node, scope) for node in conditions))
    using = [] if item.join is None else parts(item.join, "using")
    shared: dict[str, tuple[Expression, Expression]] = {}
    for identifier in using:
        before = _scope(old, None, _using(mine)).named(identifier)
        after = _scope([(item, theirs)], None).named(identifier)
        shared[identifier.name] = (before, after)
    on = conjunction(on, *(call("equal", *two) for two in shared.values()))
    standing, mine, theirs = join(both, on)
    pairs = [*_unflat(mine, sides), (item, theirs)]
    kept = _using(mine)
    for identifier in using:
        scope = _scope(pairs[-1:], None) if kind == "right" else _scope(pairs[:-1], None, kept)
        kept[identifier.name] = scope.named(identifier)
    return standing, pairs, kept


def _unflat(flat: Columns, sides: list[tuple[Item, Columns]]) -> list[tuple[Item, Columns]]:
    return [
        (item, {column: flat[f"{place} {column}"] for column in columns}) for place, (item, columns) in enumerate(sides)
    ]


def _using(flat: Columns) -> dict[str, Expression]:
    return {name.removeprefix("using "): value for name, value in flat.items() if name.startswith("using ")}


def _kind(node: Node) -> Side:
    side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
    if kind in {"SEMI", "ANTI"} and side in {"", "LEFT"}:
        return "semi" if kind == "SEMI" else "anti"
    if side not in {"", "LEFT", "RIGHT", "FULL"} or kind not in {"", "INNER", "OUTER" if side else "", "CROSS"}:
        written = " ".join(word for word in (side, kind) if word)
        raise Unsupported(f"{written} JOIN is not supported; use JOIN ... ON, LEFT JOIN ... ON or FULL JOIN ... ON")
    if side and part(node, "on") is None and not parts(node, "using"):
        raise Unsupported(f"{side} JOIN needs an ON")
    return typing.cast(Side, side.lower() or "inner")


def standing_at(place: Node, places: FromTables, read: ReadRelation) -> tuple[Standing, str]:
    """Return one thing that FROM names, and the name by which its columns may be qualified."""
    alias = part(place, "alias")
    name = None if alias is None or part(alias, "this") is None else part(alias, "this").name
    pivots = parts(place, "pivots")
    if pivots:
        if len(pivots) > 1:
            raise Unsupported("one PIVOT stands after a table; put others into a sub-query")
        bare = place.copy()
        bare.set("pivots", None)
        turned = pivoted(standing_at(bare, places, read)[0], pivots[0])
        own = part(pivots[0], "alias")
        return turned, "" if own is None or part(own, "this") is None else part(own, "this").name
    if place.key == "subquery":
        return renamed(read(part(place, "this"), places), alias), name or ""
    if place.key == "table" and part(place, "this").key == "identifier":
        standing, own = _named(part(place, "this"), places)
        return renamed(standing, alias), name or own
    if place.key == "table":
        raise Unsupported("functions cannot stand in FROM; name a declared table: " + ", ".join(sorted(places.tables)))
    raise refusal(place, NAMES)


def _named(identifier: Node, places: FromTables) -> tuple[Standing, str]:
    name = None if identifier.args.get(DECLARED) else find(places.ctes, identifier)
    if name is not None:
        places.used.add(name)
        return places.ctes[name], name
    name = find(places.tables, identifier)
    if name is None:
        raise UnknownName("table", identifier.name, (*places.tables, *places.ctes))
    return PrivateRows.of(name, places.tables[name], places.tables), name


def renamed(standing: Standing, alias: Node | None) -> Standing:
    """Return rows whose first columns have the names that an alias lists: AS t(a, b)."""
    given = [] if alias is None else [str(column.name) for column in parts(alias, "columns")]
    if not given:
        return standing
    old = list(standing.columns)
    if len(given) > len(old):
        raise RequestError(f"{len(given)} names are listed after an alias, and there are {len(old)} columns")
    names = [*given, *old[len(given) :]]
    if len({name.casefold() for name in names}) < len(names):
        raise RequestError("two columns have one name after the alias; list other names")
    if isinstance(standing, PrivateRows):
        return with_columns(standing, dict(zip(names, standing.columns.values(), strict=True)))
    outputs = tuple(zip(names, standing.columns.values(), strict=True))
    return refined(standing, Select(outputs=outputs))


def private_rows(standing: Standing) -> PrivateRows:
    if not isinstance(standing, PrivateRows):
        raise InvariantError("released rows are joined by themselves")
    return standing


def with_columns(standing: PrivateRows, columns: Columns) -> PrivateRows:
    return replace(standing, columns=columns)
