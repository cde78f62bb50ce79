"""Anti-joins as people write them: LEFT JOIN b ON ... WHERE b.key IS NULL keeps the rows that meet none of b.

Read as such, no rows are paired, and the noise is that of the table itself. Reads names and declared facts only: what
is promised rests on the relation that is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privet.core.errors import InvariantError
from privet.query.functions import typed
from privet.query.shape import is_public

from .clauses import Node, part, parts
from .comma_joins import Item, Reader, conjuncts_of


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
    """Return whether a name is one that the SELECT gives to an output, as ORDER BY and HAVING use them."""
    names = {one.alias.casefold() for one in parts(select, "expressions") if one.key == "alias"}
    return part(column, "table") is None and part(column, "this").name.casefold() in names
