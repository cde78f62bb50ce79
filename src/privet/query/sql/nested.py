"""Reads sub-queries: those in expressions, and released rows in FROM and UNION.

A sub-query in an expression, EXISTS, IN (SELECT ...) or one of one value, becomes a column of the rows that it is asked
for: what they find among rows of the same person, or public ones. A released value may occur where released rows are
computed with. Where it would choose, weigh or bound private rows it is refused by name: nothing here ever passes one to
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from privet.core.errors import InvariantError, RequestError, UnknownName, Unsupported
from privet.core.relation import ColumnRef, Expression, Literal
from privet.query.build import refined
from privet.query.expressions import evaluate_row, mentions
from privet.query.join import kept_by
from privet.query.lookups import Others, Wanted, among, exists, has_outer, is_among, is_met, looked_up, ownerless
from privet.query.nodes import (
    MARK,
    PrivateRows,
    ReleasedRows,
    Select,
    Standing,
    has_aggregate,
    is_aggregate,
    is_window,
    scalar,
)
from privet.query.normal import call, conjunction
from privet.query.released import RELEASED_INSIDE, Kind, beside, value_of_released
from privet.query.resolve import substitute
from privet.query.shape import WITHIN, conjuncts, is_public

from .clauses import Node, conjuncts_of, part, parts
from .translate import Scope, translate

Placed = tuple[Standing, str, Node | None]
"""One thing that FROM names: its rows, its name, and its JOIN, if any."""


_FIRST = (
    "a sub-query that aggregates comes first in FROM where it is joined to others by LEFT, RIGHT or FULL JOIN; put it "
    "before the public tables"
)

_ONE_VALUE = (
    "a sub-query that returns a value must return one: aggregate it, such as MAX(x), or ask for the row with one value "
    "of the declared key"
)


def read_released(placed: Sequence[Placed], where: Node | None) -> tuple[ReleasedRows, Scope, frozenset[int]]:
    """Return released rows joined with others, the names that a SELECT may use, and the WHERE conditions it checked.

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
        before = _scope(placed, names, [other for other in here if other != place], merged)
        after = _scope(placed, names, [place], {})
        equal = [(column.name, before.named(column), after.named(column)) for column in shared]
        on = conjunction(on, *(call("equal", mine, theirs) for _, mine, theirs in equal))
        if kind == "inner":
            for node in asked:
                condition = None if id(node) in used else _over_both(node, scope, names[place].values())
                if condition is not None:
                    used.add(id(node))
                    on = conjunction(on, condition)
        for name, mine, theirs in equal:
            merged[name] = {"right": theirs, "full": call("coalesce", mine, theirs)}.get(kind, mine)
        standing = placed[place][0]
        current = beside(current, standing, kind, {new: old for old, new in names[place].items()}, on)
    return current, _scope(placed, names, sorted(here), merged), frozenset(used)


def _check_names(placed: Sequence[Placed]) -> None:
    taken: set[str] = set()
    for _, name, _ in placed:
        if name and name.casefold() in taken:
            raise RequestError(
                f"two tables in FROM are called {name!r}; give each a name of its own: JOIN {name} AS other"
            )
        taken.add(name.casefold())


def _ordered(placed: Sequence[Placed]) -> list[tuple[int, Kind, Node | None]]:
    """Return the places in the order in which they are joined, each with the kind and place of its join."""
    kinds = [_kind(join) for _, _, join in placed]
    listed = [(place, kind, join) for place, (kind, (_, _, join)) in enumerate(zip(kinds, placed, strict=True))]
    if placed[0][0].released:
        return listed
    turned: Mapping[Kind, Kind] = {"left": "right", "right": "left"}
    if placed[1][0].released:
        place, kind, join = listed[1]
        return [(place, "inner", None), (0, turned.get(kind, kind), join), *listed[2:]]
    lead = next(place for place, (standing, _, _) in enumerate(placed) if standing.released)
    if any(kind != "inner" for kind in kinds) or any(join is not None and part(join, "on") for _, _, join in placed):
        raise Unsupported(_FIRST)
    return [(lead, "inner", None), *((place, "inner", None) for place, _, _ in listed if place != lead)]


def _kind(join: Node | None) -> Kind:
    side = "" if join is None else str(join.args.get("side") or "").upper()
    kind = "" if join is None else str(join.args.get("kind") or "").upper()
    if side not in {"", "LEFT", "RIGHT", "FULL"} or kind not in {"", "INNER", "OUTER", "CROSS"}:
        raise Unsupported(f"{kind or side} JOIN is not supported; use JOIN ... ON or LEFT JOIN ... ON")
    kinds: Mapping[str, Kind] = {"LEFT": "left", "RIGHT": "right", "FULL": "full"}
    return kinds.get(side, "inner")


def _scope(
    placed: Sequence[Placed],
    names: Mapping[int, Mapping[str, str]],
    here: Sequence[int],
    merged: Mapping[str, Expression],
) -> Scope:
    tables = tuple((placed[place][1], {old: ColumnRef(new) for old, new in names[place].items()}) for place in here)
    return Scope.over(tables, None, merged)


def _over_both(node: Node, scope: Scope, new: object) -> Expression | None:
    """Return a condition of WHERE that can be checked now and not before, where it is a plain one."""
    if any(inner.key in {"select", "subquery", "window", "exists"} for inner in node.walk()):
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
        """Return the expression of a sub-query: its value, where it is released, or another reader's result."""
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
    """Released rows, of which each separate condition x IN (SELECT ...) in WHERE keeps some."""

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
        raise Unsupported("IN (SELECT ...) returns one column here")
    if isinstance(others, PrivateRows):
        raise Unsupported("IN (SELECT ...) of a public table: join the released rows to it")
    once = refined(others, Select(outputs=((own[0], ColumnRef(own[0])),), distinct=True))
    new = "among"
    while new in rows.facts:
        new += "_"
    return beside(rows, once, "inner", {new: own[0]}, call("equal", mine, ColumnRef(new)))


@dataclass(frozen=True)
class Nested:
    """A sub-query as it was read: its rows, its conditions that name the query around it, and its outputs."""

    rows: PrivateRows
    links: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @property
    def one(self) -> bool:
        """Whether it returns one row, because it aggregates all of its own."""
        return any(map(has_aggregate, self.outputs))


ReadNested = Callable[[Node, Scope], Nested]


@dataclass(eq=False)
class Lookups:
    """The rows of a SELECT, with a column for each sub-query in its expressions, as they are read one by one."""

    rows: PrivateRows
    read: ReadNested
    known: dict[str, Expression] = field(default_factory=dict)

    def __call__(self, node: Node, scope: Scope) -> Expression:
        """Return the expression of a sub-query over the rows, which may have become wider."""
        written = str(node)
        if written not in self.known:
            self.known[written] = self._looked_up(node, scope)
        return self.known[written]

    def members(self, node: Node, scope: Scope) -> Expression | None:
        """Keep the rows for which x IN (SELECT ...) is true, or return that condition."""
        nested, mine = self._read(part(node, "query"), scope), self._compared(node, scope)
        person = [ColumnRef(self.rows.owner or "")]
        owner = [ColumnRef(nested.rows.owner or "")]
        if not nested.links and mine == person and list(nested.outputs) == owner and not is_public(nested.rows.schema):
            self.rows = kept_by(self.rows, replace(nested.rows, columns={nested.rows.owner or "": owner[0]}))
            return None
        if len(mine) == len(nested.outputs) and not nested.one:
            # that it is not false makes no difference here
            self.rows, truth = is_met(self.rows, self._others(nested), tuple(zip(mine, nested.outputs, strict=True)))
            return truth
        return self(node, scope)

    def _looked_up(self, node: Node, scope: Scope) -> Expression:
        if node.key == "exists":
            nested = self._read(part(node, "this"), scope)
            if nested.one:
                return Literal(True)  # an aggregate without groups returns a row even of no rows
            self.rows, truth = exists(self.rows, self._others(nested))
            return truth
        if node.key == "in":
            nested, mine = self._read(part(node, "query"), scope), self._compared(node, scope)
            if len(mine) != len(nested.outputs):
                raise Unsupported(
                    f"IN (SELECT ...) returns {len(mine)} column{'s' * (len(mine) > 1)} here; list as many"
                )
            if nested.one:
                return call("equal", mine[0], self._value(nested))
            pairs = tuple(zip(mine, nested.outputs, strict=True))
            self.rows, truth = is_among(self.rows, self._others(nested), pairs)
            return truth
        return self._value(self._read(node, scope))

    def _compared(self, node: Node, scope: Scope) -> list[Expression]:
        written = part(node, "this")
        sides = parts(written, "expressions") if written.key == "tuple" else [written]
        return [translate(side, scope) for side in sides]

    def _read(self, node: Node, scope: Scope) -> Nested:
        while node.key in {"subquery", "paren"}:
            node = part(node, "this")
        nested = self.read(node, scope)
        if any(map(has_outer, nested.outputs)):
            raise Unsupported(
                "a sub-query names columns of the query around it in conditions of its WHERE only; compute with them "
                "outside of it"
            )
        return nested

    def _others(self, nested: Nested) -> Others:
        others = among(nested.rows, nested.links)
        if not is_public(nested.rows.schema) and is_public(self.rows.schema):
            raise Unsupported(
                "a sub-query of private rows in a query of public ones would reveal which of them are met; put the "
                "private table into FROM"
            )
        return others

    def _value(self, nested: Nested) -> Expression:
        """Return the one value that a sub-query returns; NULL where it returns none."""
        if len(nested.outputs) != 1:
            raise Unsupported("a sub-query that returns a value has one column")
        others, shown = self._others(nested), nested.outputs[0]
        if not is_public(nested.rows.schema) and not nested.links:
            raise Unsupported(RELEASED_INSIDE) if nested.one else ownerless(self.rows)
        wanted: list[Wanted] = []
        if not nested.one:
            if not _gives_one(others):
                raise Unsupported(_ONE_VALUE)
            self.rows, (value,) = looked_up(self.rows, others, [("max", shown)])
        else:
            marks: list[Expression] = []
            for marked in _aggregates(shown):
                if marked not in marks:
                    marks.append(marked)
                    wanted.append(_wanted(marked))
            self.rows, columns = looked_up(self.rows, others, wanted)
            # nothing is found where there are no rows: a count of none is 0
            values = {
                marked: call("coalesce", column, Literal(0)) if "count" in marked.function else column
                for marked, column in zip(marks, columns, strict=True)
            }
            value = substitute(shown, lambda part: values.get(part))
        if others.own:
            raise Unsupported("conditions on the query around a sub-query stand outside of it")
        return value


def _aggregates(expression: Expression) -> list[Expression]:
    if is_aggregate(expression):
        return [expression]
    if expression.column is not None:
        raise Unsupported(f"column {expression.column!r} is not inside an aggregate; {_ONE_VALUE}")
    if is_window(expression):
        raise Unsupported("window functions stand in a sub-query in FROM")
    return [aggregate for argument in expression.arguments for aggregate in _aggregates(argument)]


def _wanted(marked: Expression) -> Wanted:
    function = marked.function.removeprefix(MARK)
    argument, where = marked.arguments[0], marked.arguments[1]
    if function not in WITHIN or where.constant is not True:
        raise Unsupported(
            f"{function.upper()} is not supported in a sub-query that returns a value; use COUNT, SUM, AVG, MIN or "
            f"MAX, with conditions in its WHERE"
        )
    return function, None if function == "count_rows" else argument


def _gives_one(others: Others) -> bool:
    """Return whether at most one row is found: by the declared key, or because a public table has no more rows."""
    rows = others.rows
    if not isinstance(rows.table, str):
        return False
    key = rows.schema.key
    fixed = {theirs.column for _, theirs in others.equal}
    for conjunct in conjuncts(rows.where):
        if conjunct.function == "equal" and any(side.constant is not None for side in conjunct.arguments):
            fixed |= {side.column for side in conjunct.arguments}
    if key is not None and key in fixed:
        return True
    contents = rows.schema.contents
    listed = None if contents is None or others.equal or not others.plain else contents.rows
    if listed is None or not is_public(rows.schema):
        return False
    names, columns = list(rows.schema.columns), rows.schema.columns
    if any(name not in columns for name in (frozenset() if rows.where is None else mentions(rows.where))):
        raise InvariantError("a condition names a column that its table lacks")
    met = 0
    for row in listed:
        values = dict(zip(names, row, strict=True))
        met += rows.where is None or evaluate_row(rows.where, values, columns) is True
    return met <= 1
