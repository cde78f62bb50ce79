"""How the tables of FROM are joined: the order of a, b, c WHERE ..., and the anti-joins among LEFT JOINs.

Reads names and declared facts only. What it gathers is what JOIN ... ON and ANTI JOIN would say; nothing here decides
about privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from privet.core.errors import InvariantError
from privet.core.unit import unit_columns
from privet.query.functions import typed
from privet.query.nodes import PrivateRows
from privet.query.shape import is_public, only_match, place_of, says_owner

from .clauses import Node, part, parts

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
        """Whether it is joined without a condition of its own."""
        return self.join is not None and self.plain and part(self.join, "on") is None


@dataclass(frozen=True)
class Arranged:
    """The order in which tables are joined, by their places in FROM, with the conditions of each join."""

    order: tuple[tuple[int, tuple[Node, ...]], ...]
    used: frozenset[int] = field(default_factory=frozenset)
    """The conditions of WHERE, by identity, that are conditions of joins and need not be asked again."""


def conjuncts_of(node: Node | None) -> list[Node]:
    """Return the conditions that must all hold, in the order in which they are written."""
    waiting, found = [] if node is None else [node], []
    while waiting:
        one = waiting.pop()
        while one.key == "paren":
            one = part(one, "this")
        if one.key == "and":
            waiting += [part(one, "expression"), part(one, "this")]
        else:
            found.append(one)
    return found


def arranged(items: Sequence[Item], where: Node | None) -> Arranged:
    """Return an order for the tables of FROM.

    Tables that are all joined by JOIN ... ON stay as they are written. Where some stand beside others without a
    condition, equalities of WHERE join them, also those that every part of an OR repeats; then private tables come
    first, each after one that has the same owner, then public ones on their keys, then others.
    """
    own = [conjuncts_of(None if item.join is None else part(item.join, "on")) for item in items]
    if not any(item.crossed for item in items):
        return Arranged(tuple((place, tuple(own[place])) for place in range(len(items))))
    reader = Reader(items)
    asked = conjuncts_of(where)
    equal = [one for one in asked if one.key == "eq" and reader.links(one)]
    shared = [one for several in asked if several.key == "or" for one in reader.shared(several)]
    free = next((place for place, item in enumerate(items) if not item.plain), len(items))
    pool = [*equal, *shared, *(one for place in range(free) for one in own[place])]
    order = _ordered(reader, range(free), pool)
    placed = {place for place, _ in order}
    for place in range(free, len(items)):
        placed.add(place)
        met = [one for one in (*equal, *shared) if items[place].crossed and reader.joins(one, place, placed)]
        order.append((place, (*own[place], *met)))
    met_by = {id(one) for _, several in order for one in several}
    return Arranged(tuple(order), frozenset(id(one) for one in equal if id(one) in met_by))


def _ordered(reader: Reader, places: Iterable[int], pool: Sequence[Node]) -> list[tuple[int, tuple[Node, ...]]]:
    """Return the places in the order of their joins, each with the conditions that then can be asked."""
    left = list(places)
    private = [place for place in left if not is_public(reader.items[place].rows.schema)]
    # a row that leads on to others meets one of each, so that the rows of a person are as many as of that table alone
    owning = {place for one in pool if one.key == "eq" for place in reader.led_to(one)}
    first = next((place for place in (*(one for one in private if one not in owning), *private)), left[0])
    left.remove(first)
    placed, waiting = {first}, list(pool)
    found: list[tuple[int, tuple[Node, ...]]] = [(first, ())]
    while left:
        place = min(left, key=lambda one: (reader.distance(one, placed, waiting), one))
        left.remove(place)
        placed.add(place)
        met = [one for one in waiting if reader.joins(one, place, placed)]
        waiting = [one for one in waiting if not any(one is other for other in met)]
        found.append((place, tuple(met)))
    return found


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
        """Return the place of the table that a column is of; None if that cannot be said."""
        table, name = part(column, "table"), part(column, "this")
        if table is None:
            return self.owners.get(str(name.name).casefold())
        wanted = str(table.name).casefold()
        return next((place for place, item in enumerate(self.items) if item.name.casefold() == wanted), None)

    def places(self, node: Node) -> set[int | None]:
        """Return the places of all tables that an expression uses, and None where one cannot be found."""
        found: set[int | None] = set()
        for one in node.walk():
            if one.key in {"select", "subquery", "exists"}:
                return {None}
            if one.key == "column":
                found.add(self.place(one))
        return found

    def links(self, equal: Node) -> bool:
        """Return whether an equality is between two tables."""
        sides = [self.places(part(equal, name)) for name in ("this", "expression")]
        return all(sides) and None not in sides[0] | sides[1] and not sides[0] & sides[1]

    def joins(self, one: Node, place: int, placed: set[int]) -> bool:
        """Return whether a condition can be asked once a table is there, and not before."""
        found = self.places(one)
        return None not in found and place in found and found <= placed

    def shared(self, either: Node) -> list[Node]:
        """Return the equalities between tables that each part of an OR repeats."""
        branches, node = [], either
        while node.key == "or":
            branches.append(part(node, "expression"))
            node = part(node, "this")
        branches.append(node)
        listed = [
            {self._named(one): one for one in conjuncts_of(branch) if one.key == "eq" and self.links(one)}
            for branch in branches
        ]
        return [one for name, one in listed[-1].items() if all(name in other for other in listed)]

    def _named(self, equal: Node) -> frozenset[tuple[int | None, str]]:
        """Return what names an equality of two columns, whichever stands first and however it is qualified."""
        sides = [part(equal, name) for name in ("this", "expression")]
        if any(side.key != "column" for side in sides):
            return frozenset({(None, str(equal))})
        return frozenset((self.place(side), str(part(side, "this").name).casefold()) for side in sides)

    def distance(self, place: int, placed: set[int], pool: Sequence[Node]) -> int:
        """Return how well a table can be joined now: by its owner, by its key, by something equal, by nothing."""
        rows = self.items[place].rows
        met = [one for one in pool if one.key == "eq" and self.joins(one, place, placed | {place}) and self.links(one)]
        if not is_public(rows.schema):
            if not self._owned(place, met):
                return 4
            return 0 if any(place in self.led_to(one) for one in met) else 1
        keys = [(place, (rows.schema.key or "").casefold())]
        if rows.schema.key is not None and any(key in self._named(one) for one in met for key in keys):
            return 2
        return 3 if met else 5

    def led_to(self, equal: Node) -> set[int]:
        """Return the places of the private tables in which an equality between tables finds at most one row."""
        sides = [part(equal, name) for name in ("this", "expression")]
        found = [self._column(side) for side in sides] if self.links(equal) else []
        return {
            place
            for side, one in zip(sides, found, strict=False)
            if one is not None and only_match(one[0].table, one[1], one[0].tables)
            if (place := self.place(side)) is not None
        }

    def _owned(self, place: int, equal: Sequence[Node]) -> bool:
        """Return whether equalities say that the rows of a table have the owner of those that are there."""
        rows, met = self.items[place].rows, set()
        for one in equal:
            first, second = (self._column(part(one, name)) for name in ("this", "expression"))
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
        named = (one.column for name, one in rows.columns.items() if name.casefold() == wanted)
        found = next(named, None)
        return None if found is None else (rows, found)


# Anti-joins as people write them: LEFT JOIN b ON ... WHERE b.key IS NULL keeps the rows that meet none of b.
#
# Read as such, no rows are paired, and the noise is that of the table itself.


def read_anti_joins(items: Sequence[Item], select: Node) -> tuple[list[Item], frozenset[int]]:
    """Return the tables of FROM with the joins that keep what meets none as ANTI JOIN, and the conditions that say so.

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
    """Return the tables and the conditions that were read; `written` are their joins as they stand in the SELECT."""
    reader, found, used = Reader(items), list(items), set[int]()
    for place, item in enumerate(items):
        before = [one.rows.schema for one in items[:place]]
        if _side(item) != "LEFT" or (all(map(is_public, before)) and not is_public(item.rows.schema)):
            continue
        said = [one for one in asked if _says_none(one, place, item, reader)]
        own = [one for one in written if one is not None and (one is item.join or len(items) == 2)]
        if said and not _used_elsewhere(select, place, reader, [*own, *said]):
            found[place] = replace(item, join=_joining(item, "ANTI"))
            used |= {id(one) for one in said}
    return found, frozenset(used)


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
    shown = {own.casefold(): one for own, one in item.rows.columns.items()}
    return name in shown and (
        not typed(shown[name], item.rows.schema.columns).nullable or name in _equated(item, place, reader)
    )


def _equated(item: Item, place: int, reader: Reader) -> set[str]:
    """Return the columns of a table, in small letters, that its join compares by plain equality: none is NULL there."""
    found = {one.name.casefold() for one in parts(item.join, "using")} if item.join is not None else set()
    for one in conjuncts_of(None if item.join is None else part(item.join, "on")):
        sides = (part(one, "this"), part(one, "expression")) if one.key == "eq" else ()
        found |= {part(side, "this").name.casefold() for side in sides if _is_of(side, place, reader)}
    return found


def _is_of(node: Node, place: int, reader: Reader) -> bool:
    return bool(node.key == "column" and reader.place(node) == place)


def _used_elsewhere(select: Node, place: int, reader: Reader, apart: Sequence[Node]) -> bool:
    """Return whether a column of a table stands anywhere but in some parts, or may do so unnamed."""
    waiting = [select]
    while waiting:
        one = waiting.pop()
        if any(one is other for other in apart):
            continue
        if one.key == "star" and (one.parent is select or one.parent is None or one.parent.key == "column"):
            return True
        if one.key == "column" and reader.place(one) in {place, None} and not _is_alias(one, select):
            return True
        waiting += [child for child in one.iter_expressions() if child.key not in {"from", "with"}]
    return False


def _is_alias(column: Node, select: Node) -> bool:
    """Return whether a name is one that the SELECT assigns to an output, as ORDER BY and HAVING use them."""
    names = {one.alias.casefold() for one in parts(select, "expressions") if one.key == "alias"}
    return part(column, "table") is None and part(column, "this").name.casefold() in names
