"""Reads FROM, sub-queries in expressions and UNION where released rows are among what they name.

A released value may stand wherever released rows are computed with. Where it would choose, weigh or bound private rows
it is refused by name: nothing here ever passes one to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from privet.core.errors import RequestError, UnknownName, Unsupported
from privet.core.relation import ColumnRef, Expression
from privet.query.build import refined
from privet.query.nodes import PrivateRows, ReleasedRows, Select, Standing, scalar
from privet.query.normal import call, conjunction
from privet.query.several import RELEASED_INSIDE, Kind, beside, value_of_released
from privet.query.shape import is_public

from .clauses import Node, part, parts
from .joins import conjuncts_of
from .translate import Scope, translate

Placed = tuple[Standing, str, Node | None]
"""One thing that FROM names: its rows, its name, and its JOIN, if any."""


def read_released(placed: Sequence[Placed], where: Node | None) -> tuple[ReleasedRows, Scope, frozenset[int]]:
    """Return released rows joined with others, the names that a SELECT may use, and the conditions of WHERE it asked.

    The first released rows lead, and what is written before them comes to them, which is the same where all joins are
    inner ones; of two, the kind of the join is turned round.
    """
    _check_names(placed)
    order = _ordered(placed)
    lead = placed[order[0][0]][0]
    if not isinstance(lead, ReleasedRows):
        raise Unsupported(_FIRST)
    names: dict[int, dict[str, str]] = {}
    for place, (standing, _, _) in enumerate(placed):
        names[place] = {column: f"{place} {column}" for column in standing.columns}
    first = order[0][0]
    current = refined(lead, Select(outputs=tuple((new, ColumnRef(old)) for old, new in names[first].items())))
    here, used = [first], set()
    merged: dict[str, Expression] = {}
    asked = conjuncts_of(where) if all(kind == "inner" for _, kind, _ in order[1:]) else []
    for place, kind, join in order[1:]:
        here.append(place)
        scope = _scope(placed, names, here, merged)
        on = None if join is None or part(join, "on") is None else translate(part(join, "on"), scope)
        shared = [] if join is None else parts(join, "using")
        before = _scope(placed, names, [one for one in here if one != place], merged)
        after = _scope(placed, names, [place], {})
        equal = [(one.name, before.named(one), after.named(one)) for one in shared]
        on = conjunction(on, *(call("equal", mine, theirs) for _, mine, theirs in equal))
        if kind == "inner":
            for one in asked:
                found = None if id(one) in used else _over_both(one, scope, names[place].values())
                if found is not None:
                    used.add(id(one))
                    on = conjunction(on, found)
        for name, mine, theirs in equal:
            merged[name] = {"right": theirs, "full": call("coalesce", mine, theirs)}.get(kind, mine)
        standing = placed[place][0]
        current = beside(current, standing, kind, {new: old for old, new in names[place].items()}, on)
    return current, _scope(placed, names, sorted(here), merged), frozenset(used)


_FIRST = (
    "a sub-query that aggregates comes first in FROM where it is joined to others by LEFT, RIGHT or FULL JOIN; put it "
    "before the public tables"
)


def _check_names(placed: Sequence[Placed]) -> None:
    taken: set[str] = set()
    for _, name, _ in placed:
        if name and name.casefold() in taken:
            raise RequestError(
                f"two tables in FROM are called {name!r}; give each a name of its own: JOIN {name} AS other"
            )
        taken.add(name.casefold())


def _ordered(placed: Sequence[Placed]) -> list[tuple[int, Kind, Node | None]]:
    """Return the places in the order in which they are joined, each with the kind of its join and where it is said."""
    kinds = [_kind(join) for _, _, join in placed]
    listed = [(place, kind, join) for place, (kind, (_, _, join)) in enumerate(zip(kinds, placed, strict=True))]
    if isinstance(placed[0][0], ReleasedRows):
        return listed
    turned: Mapping[Kind, Kind] = {"left": "right", "right": "left"}
    if isinstance(placed[1][0], ReleasedRows):
        place, kind, join = listed[1]
        return [(place, "inner", None), (0, turned.get(kind, kind), join), *listed[2:]]
    lead = next(place for place, (standing, _, _) in enumerate(placed) if isinstance(standing, ReleasedRows))
    if any(kind != "inner" for kind in kinds) or any(join is not None and part(join, "on") for _, _, join in placed):
        raise Unsupported(_FIRST)
    return [(lead, "inner", None), *((place, "inner", None) for place, _, _ in listed if place != lead)]


def _kind(join: Node | None) -> Kind:
    side = "" if join is None else str(join.args.get("side") or "").upper()
    kind = "" if join is None else str(join.args.get("kind") or "").upper()
    if side not in {"", "LEFT", "RIGHT", "FULL"} or kind not in {"", "INNER", "OUTER", "CROSS"}:
        raise Unsupported(f"{kind or side} JOIN is not supported; use JOIN ... ON or LEFT JOIN ... ON")
    found: Mapping[str, Kind] = {"LEFT": "left", "RIGHT": "right", "FULL": "full"}
    return found.get(side, "inner")


def _scope(
    placed: Sequence[Placed],
    names: Mapping[int, Mapping[str, str]],
    here: Sequence[int],
    merged: Mapping[str, Expression],
) -> Scope:
    tables = tuple((placed[place][1], {old: ColumnRef(new) for old, new in names[place].items()}) for place in here)
    return Scope.over(tables, None, merged)


def _over_both(node: Node, scope: Scope, new: object) -> Expression | None:
    """Return a condition of WHERE that can be asked by now and was not before, where it is a plain one."""
    if any(one.key in {"select", "subquery", "window", "exists"} for one in node.walk()):
        return None
    try:
        return translate(node, scope)
    except UnknownName:
        return None


@dataclass(eq=False)
class Values:
    """The values of released sub-queries in the expressions of one SELECT, as they are read one by one."""

    read: Callable[[Node], Standing]
    otherwise: Callable[[Node, Scope], Expression] | None = None
    found: list[ReleasedRows] = field(default_factory=list)
    known: dict[str, Expression] = field(default_factory=dict)

    def __call__(self, node: Node, scope: Scope) -> Expression:
        """Return what stands for a sub-query: its value, where it is released, or what another reader makes of it."""
        if node.key in {"exists", "in"}:
            return self._otherwise(node, scope)
        inner = node
        while inner.key in {"subquery", "paren"}:
            inner = part(inner, "this")
        written = str(inner)
        if written in self.known:
            return self.known[written]
        try:
            made = self.read(inner)
        except (UnknownName, Unsupported):
            if self.otherwise is None:
                raise
            return self.otherwise(node, scope)
        if not isinstance(made, ReleasedRows):
            return self._otherwise(node, scope)
        self.found.append(value_of_released(made))
        self.known[written] = scalar(len(self.found) - 1)
        return self.known[written]

    def _otherwise(self, node: Node, scope: Scope) -> Expression:
        if self.otherwise is None:
            raise Unsupported(
                "EXISTS and IN (SELECT ...) of released rows are not supported here; IN stands by itself in WHERE, or "
                "join the rows"
            )
        return self.otherwise(node, scope)


class KeptMembers:
    """Released rows, of which each x IN (SELECT ...) that stands by itself in WHERE keeps some."""

    def __init__(self, rows: ReleasedRows, read: Callable[[Node], Standing]) -> None:
        self.rows, self.read = rows, read

    def members(self, node: Node, scope: Scope) -> Expression | None:
        """Keep the rows whose value is among those of a sub-query."""
        self.rows = members(self.rows, translate(part(node, "this"), scope), self.read(part(node, "query")))
        return None


def members(rows: ReleasedRows, mine: Expression, others: Standing) -> ReleasedRows:
    """Return the released rows whose value is among those of a sub-query, which is released as well, or public."""
    if isinstance(others, PrivateRows) and not is_public(others.schema):
        raise Unsupported(
            "IN (SELECT ...) of released rows needs a sub-query that is released, or of a public table; aggregate it"
        )
    own = list(others.columns)
    if len(own) != 1:
        raise Unsupported("IN (SELECT ...) gives one column here")
    if isinstance(others, PrivateRows):
        raise Unsupported("IN (SELECT ...) of a public table: join the released rows to it")
    once = refined(others, Select(outputs=((own[0], ColumnRef(own[0])),), distinct=True))
    new = "among"
    while new in rows.facts:
        new += "_"
    return beside(rows, once, "inner", {new: own[0]}, call("equal", mine, ColumnRef(new)))


__all__ = ["RELEASED_INSIDE", "KeptMembers", "Placed", "Values", "read_released"]
