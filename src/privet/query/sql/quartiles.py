"""Quantiles that are written by ranks over all people: ROW_NUMBER() OVER (ORDER BY x) beside the number of all rows.

Before there were quantiles in SQL, people numbered all rows in the order of x, counted them, and took the value of the
row at a share of the count. The rank of one row among all people's would reveal its place; the quantile that is
meant is answered privately. A question is read so only if nothing else uses the ranks. Which share is meant follows
from the condition itself, computed for tables of several sizes: at which rank does it become true, or false?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privet.core.errors import PrivetError
from privet.core.relation import ColumnRef, Expression
from privet.core.schema import integer, number
from privet.query.expressions import prepared
from privet.query.normal import decimal
from privet.query.resolve import checked

from .clauses import Node, function_name, part, parts
from .translate import Scope, translate

_FACTS = {"rank": integer(), "size": integer(), "share": number()}
_KINDS = {
    "ROW_NUMBER": "rank",
    "RANK": "rank",
    "PERCENT_RANK": "share",
    "CUME_DIST": "share",
}
_LARGE = (1_000, 1_000_000)
_SMALL = (40, 41, 43, 200)
_CLOSE = 2
_LITTLE = Fraction(1, 2**20)
"""Of two values in the middle, the greatest whose rank is at most a half is the lesser."""
_PLAIN = frozenset(("expressions", "from", "where", "joins"))


@dataclass(frozen=True)
class _Ranked:
    """A SELECT whose rows are ranked: the names of its ranks and counts, and of the column that orders them."""

    select: Node
    kinds: Mapping[str, str]
    values: frozenset[str]
    groups: frozenset[Any]
    falling: bool
    shapes: Mapping[str, Any]


def read_quantiles(nodes: Sequence[Node]) -> bool:
    """Replace quantiles that are written by ranks by quantiles, in place; return whether there were any."""
    ctes = {part(part(node, "alias"), "this").name.casefold(): node for node in nodes if node.key == "cte"}
    named = [part(node, "this").name.casefold() for node in nodes if node.key == "table"]
    once = {name: cte for name, cte in ctes.items() if named.count(name) == 1}
    changed = [_read(node, once) for node in nodes if node.key == "select"]
    return any(changed)


def _read(outer: Node, ctes: Mapping[str, Node]) -> bool:
    origin, joins = part(outer, "from"), parts(outer, "joins")
    if origin is None or len(joins) > 1 or (part(outer, "with") is not None and not parts(outer, "expressions")):
        return False
    inner = _select_of(part(origin, "this"), ctes)
    size: dict[str, str] = {}
    if joins:
        size = {} if inner is None else _joined_size(joins[0], inner, ctes)
        if not size:
            return False
    ranked = None if inner is None else _ranked(inner, size)
    if ranked is None:
        return False
    where = part(outer, "where")
    asked = None if where is None else part(where, "this")
    if asked is not None and not _uses(asked, ranked):
        return False
    if _grouped(outer, ranked) != ranked.groups:
        return False
    pairs: list[tuple[Node, Node]] = []
    for item in (*parts(outer, "expressions"), part(outer, "having"), part(outer, "order")):
        for node in [] if item is None else list(item.walk()):
            if hasattr(node, "sql_name") and function_name(node) in {"MIN", "MAX", "AVG", "MEDIAN"}:
                made = _quantile(node, ranked, asked)
                if made is not None:
                    pairs.append((node, made))
                elif asked is not None or _uses(node, ranked):
                    return False
    if not pairs or (asked is not None and _counts(outer, pairs)):
        return False
    before = sum(_used_in(old, ranked) for old, _ in pairs) + (0 if asked is None else _used_in(asked, ranked))
    if before != _used_in(outer, ranked, but=ranked.select):
        return False
    for node, made in pairs:
        node.replace(made)
    if asked is not None:
        outer.set("where", None)
    if joins:
        outer.set("joins", None)
        _forget(part(joins[0], "this"), ctes)
    kept = [output for output in parts(ranked.select, "expressions") if _name_of(output) not in ranked.kinds]
    ranked.select.set("expressions", kept)
    return True


def _select_of(place: Node, ctes: Mapping[str, Node]) -> Node | None:
    """Return the SELECT behind a sub-query, or behind a CTE that is named once."""
    if place.key == "subquery" and part(place, "this").key == "select":
        return part(place, "this")
    if place.key == "table" and part(place, "db") is None and part(place, "this").key == "identifier":
        cte = ctes.get(part(place, "this").name.casefold())
        if cte is not None and not parts(part(cte, "alias"), "columns") and part(cte, "this").key == "select":
            return part(cte, "this")
    return None


def _forget(place: Node, ctes: Mapping[str, Node]) -> None:
    """Take a CTE away that nothing names any more."""
    cte = ctes.get(part(place, "this").name.casefold()) if place.key == "table" else None
    if cte is not None:
        cte.pop()


def _ranked(select: Node, size: Mapping[str, str]) -> _Ranked | None:
    if any(value and name.rstrip("_") not in _PLAIN | {"with"} for name, value in select.args.items()):
        return None
    kinds: dict[str, str] = dict(size)
    orders: set[Any] = set()
    groups: set[Any] = set()
    falling: set[bool] = set()
    shapes: dict[str, Any] = {}
    order: Node | None = None
    for item in parts(select, "expressions"):
        name, what = _name_of(item), part(item, "this") if item.key == "alias" else item
        if what.key == "window":
            kind = _kind(what)
            terms = parts(part(what, "order"), "expressions") if part(what, "order") is not None else []
            if kind is None or name is None or part(what, "spec") is not None or len(terms) != (kind != "size"):
                return None
            kinds[name] = kind
            groups.add(frozenset(_shape(key) for key in parts(what, "partition_by")))
            for term in terms:
                order = part(term, "this")
                orders.add(_shape(order))
                falling.add(bool(term.args.get("desc")))
        elif _is_size(what, select) and name is not None:
            kinds[name] = "size"
            groups.add(frozenset())
        elif name is not None:
            shapes[name] = _shape(what)
    if len(orders) != 1 or len(groups) != 1 or order is None or len(falling) != 1:
        return None
    if size and groups != {frozenset()}:
        return None
    wanted = next(iter(orders))
    values = {name for name, shape in shapes.items() if shape == wanted}
    if order.key == "column" and (part(order, "this").name.casefold() in shapes or _has_star(select)):
        values.add(part(order, "this").name.casefold())
    return _Ranked(select, kinds, frozenset(values), next(iter(groups)), next(iter(falling)), shapes)


def _kind(window: Node) -> str | None:
    of = part(window, "this")
    name = function_name(of) if hasattr(of, "sql_name") else ""
    if name in {"COUNT", "COUNT_BIG"} and part(window, "order") is None:
        return "size"
    return _KINDS.get(name)


def _is_size(node: Node, select: Node) -> bool:
    """Return whether a sub-query counts the rows of the same table, under the same condition."""
    if node.key != "subquery" or part(node, "this").key != "select":
        return False
    return _counts_same(part(node, "this"), select)


def _counts_same(inner: Node, select: Node) -> bool:
    items = parts(inner, "expressions")
    if len(items) != 1 or any(value and name.rstrip("_") not in _PLAIN for name, value in inner.args.items()):
        return False
    what = part(items[0], "this") if items[0].key == "alias" else items[0]
    if what.key != "count" or (part(what, "this") is not None and part(what, "this").key not in {"star", "literal"}):
        return False
    return all(_source(inner, name) == _source(select, name) for name in ("from", "where", "joins"))


def _source(select: Node, name: str) -> Any:
    nodes = parts(select, name) if name == "joins" else [part(select, name)]
    return [None if node is None else _shape(node) for node in nodes]


def _joined_size(join: Node, select: Node, ctes: Mapping[str, Node]) -> dict[str, str]:
    """Return the name of the count of all rows, where it is joined as a separate row; otherwise nothing."""
    inner = _select_of(part(join, "this"), ctes)
    if inner is None or part(join, "on") is not None or parts(join, "using") or join.args.get("side"):
        return {}
    name = _name_of(parts(inner, "expressions")[0]) if len(parts(inner, "expressions")) == 1 else None
    return {name: "size"} if name is not None and _counts_same(inner, select) else {}


def _name_of(item: Node) -> str | None:
    if item.key == "alias":
        return str(part(item, "alias").name).casefold()
    if item.key == "column" and part(item, "this").key == "identifier":
        return str(part(item, "this").name).casefold()
    return None


def _has_star(select: Node) -> bool:
    return any(output.key == "star" for output in parts(select, "expressions"))


def _shape(node: Node) -> Any:
    """Return the meaning of a node, independent of the names of its tables and aliases."""
    if node.key == "column" and part(node, "this").key == "identifier":
        return "column", str(part(node, "this").name).casefold()
    if node.key == "identifier":
        return "identifier", str(node.name).casefold()
    while node.key == "paren":
        node = part(node, "this")
    args = []
    for name, value in sorted(node.args.items()):
        if value is None or value is False or name in {"alias", "quoted", "big_int"} or value == []:
            continue
        item = value if isinstance(value, list) else [value]
        args.append((name, tuple(_shape(items) if hasattr(items, "args") else str(items).casefold() for items in item)))
    said = str(node.args["this"]) if node.key == "literal" else ""
    return node.key, said, tuple(args)


def _uses(node: Node, ranked: _Ranked) -> bool:
    return _used_in(node, ranked) > 0


def _used_in(node: Node, ranked: _Ranked, but: Node | None = None) -> int:
    """Return how many columns in a tree are ranks or counts, without one part of it."""
    if node is but:
        return 0
    if node.key == "column":
        return int(_name_of(node) in ranked.kinds)
    if node.key in {"with", "from"}:
        return 0
    count = 0
    for value in node.args.values():
        for item in value if isinstance(value, list) else [value]:
            count += _used_in(item, ranked, but) if hasattr(item, "args") else 0
    return count


def _grouped(outer: Node, ranked: _Ranked) -> frozenset[Any] | None:
    """Return the keys of the grouped rows, under their names in the ranked rows."""
    group = part(outer, "group")
    if group is None:
        return frozenset()
    keys = set()
    outputs = parts(outer, "expressions")
    for item in parts(group, "expressions"):
        if item.key == "literal" and str(item.args["this"]).isdigit() and 0 < int(item.args["this"]) <= len(outputs):
            item = outputs[int(item.args["this"]) - 1]
            item = part(item, "this") if item.key == "alias" else item
        name = _name_of(item)
        if name is None:
            return None
        keys.add(ranked.shapes.get(name, ("column", name)))
    return frozenset(keys)


def _counts(outer: Node, pairs: Sequence[tuple[Node, Node]]) -> bool:
    """Return whether another aggregate would cover other rows once the condition on ranks is removed."""
    mine = {id(node) for node, _ in pairs}
    keys = [_name_of(key) for key in parts(part(outer, "group"), "expressions")] if part(outer, "group") else []
    for item in parts(outer, "expressions"):
        what = part(item, "this") if item.key == "alias" else item
        if id(what) not in mine and _name_of(what) not in keys:
            return True
    return part(outer, "having") is not None


def _quantile(node: Node, ranked: _Ranked, asked: Node | None) -> Node | None:
    """Return the quantile that an aggregate expresses, or None."""
    name = function_name(node)
    given = part(node, "this") if node.key != "anonymous" else next(iter(parts(node, "expressions")), None)
    if given is None or not hasattr(given, "args"):
        return None
    sentinel: Node | None = None
    if asked is not None:
        value, condition, kept = given, asked, True
    else:
        branches = parts(given, "ifs") if given.key == "case" and part(given, "this") is None else []
        if len(branches) != 1:
            return None
        condition, then, other = part(branches[0], "this"), part(branches[0], "true"), part(given, "default")
        kept = _is_value(then, ranked)
        value, sentinel = (then, other) if kept else (other, then)
        if sentinel is not None and sentinel.key not in {"literal", "null", "neg"}:
            return None
    if value is None or not _is_value(value, ranked):
        return None
    share = _share(condition, ranked, kept=kept, name=name)
    if share is None:
        return None
    return _made(value, 1 - share if ranked.falling else share, sentinel, name)


def _is_value(node: Node | None, ranked: _Ranked) -> bool:
    return node is not None and node.key == "column" and _name_of(node) in ranked.values


def _made(value: Node, share: Fraction, sentinel: Node | None, name: str) -> Node:
    from sqlglot.expressions import Greatest, Least, Literal, Quantile

    made: Node = Quantile(this=value.copy(), quantile=Literal.number(decimal(share)))
    if sentinel is None or sentinel.key == "null" or _is_far(sentinel, name):
        return made
    # a constant in place of the rows below, or above, is the answer where it lies on this side of the quantile
    bound = Least if name == "MIN" else Greatest
    return bound(this=made, expressions=[sentinel.copy()], ignore_nulls=True)


def _is_far(sentinel: Node, name: str) -> bool:
    """Return whether a constant is one of those that people take for infinity."""
    written = str(part(sentinel, "this").args["this"] if sentinel.key == "neg" else sentinel.args["this"])
    return len(written) > 2 and set(written) == {"9"} and (sentinel.key == "neg") == (name == "MAX")


def _share(condition: Node, ranked: _Ranked, *, kept: bool, name: str) -> Fraction | None:
    """Return the share of the rows at which a condition on ranks becomes true or false, if there is one."""
    refs: dict[str, Expression] = {column: ColumnRef(kind) for column, kind in ranked.kinds.items()}
    try:
        test = prepared(checked(translate(_plain_columns(condition), Scope(refs)), _FACTS), _FACTS)

        def holds(rank: int, size: int) -> bool:
            return (test({"rank": rank, "size": size, "share": rank / size}) is True) is kept

        return _edge(holds, name) or _narrow(holds)
    except PrivetError:
        return None


def _plain_columns(condition: Node) -> Node:
    made = condition.copy()
    for node in made.walk():
        if node.key == "column":
            node.set("table", None)
    return made


def _edge(holds: Callable[[int, int], bool], name: str) -> Fraction | None:
    """Return the share at which a condition becomes true, for a minimum, or false, for a maximum."""
    if name not in {"MIN", "MAX"}:
        return None
    lasts = name == "MAX"
    places = []
    for size in _LARGE:
        low, high = 1, size  # the condition is true at one end and not at the other, and changes once between
        if holds(size if lasts else 1, size) or not holds(1 if lasts else size, size):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if holds(middle, size) is lasts:
                low = middle
            else:
                high = middle
        place = low if lasts else high
        if any(holds(rank, size) is not ((rank <= place) if lasts else (rank >= place)) for rank in _tries(size)):
            return None
        places.append((place, size))
    place, size = places[-1]
    share = Fraction(place, size).limit_denominator(1000)
    if any(abs(at - share * of) > _CLOSE for at, of in places):
        return None
    return share - _LITTLE if lasts and share else share


def _tries(size: int) -> list[int]:
    return [1 + (size - 1) * part // 16 for part in range(17)]


def _narrow(holds: Callable[[int, int], bool]) -> Fraction | None:
    """Return the only share around which a condition is true, for one rank or two."""
    centres = []
    for size in _SMALL:
        ranks = [rank for rank in range(1, size + 1) if holds(rank, size)]
        if not ranks or len(ranks) > 2 or ranks[-1] - ranks[0] > 1:
            return None
        centres.append((Fraction(sum(ranks), len(ranks)), size))
    centre, size = centres[-1]
    share = (centre / size).limit_denominator(20)
    return share if all(abs(at - share * of) <= _CLOSE for at, of in centres) else None
