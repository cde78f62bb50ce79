"""Reads sub-queries that stand in expressions: EXISTS, IN (SELECT ...), and those that give one value.

Each becomes a column of the rows that it is asked for: what they find among rows of the same person, or public ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from privet.core.errors import InvariantError, Unsupported
from privet.core.relation import ColumnRef, Expression, Literal
from privet.query.functions import evaluate_row, mentions
from privet.query.join import kept_by
from privet.query.lookups import Others, Wanted, among, exists, has_outer, is_among, is_met, looked_up, ownerless
from privet.query.nodes import MARK, PrivateRows, has_aggregate, is_aggregate, is_window
from privet.query.normal import call
from privet.query.resolve import substitute
from privet.query.several import RELEASED_INSIDE
from privet.query.shape import WITHIN, conjuncts, is_public

from .clauses import Node, part, parts
from .translate import Scope, translate

_ONE_VALUE = (
    "a sub-query that gives a value must give one: aggregate it, such as MAX(x), or ask for the row with one value of "
    "the declared key"
)


@dataclass(frozen=True)
class Nested:
    """A sub-query as it was read: its rows, its conditions that name the query around it, and what it gives."""

    rows: PrivateRows
    links: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @property
    def one(self) -> bool:
        """Whether it gives one row, because it aggregates all of its own."""
        return any(map(has_aggregate, self.outputs))


ReadNested = Callable[[Node, Scope], Nested]


@dataclass(eq=False)
class Lookups:
    """The rows of a SELECT, with a column for each sub-query in its expressions, as they are read one by one."""

    rows: PrivateRows
    read: ReadNested
    known: dict[str, Expression] = field(default_factory=dict)

    def __call__(self, node: Node, scope: Scope) -> Expression:
        """Return what stands for a sub-query: an expression over the rows, which may have become wider."""
        written = str(node)
        if written not in self.known:
            self.known[written] = self._looked_up(node, scope)
        return self.known[written]

    def members(self, node: Node, scope: Scope) -> Expression | None:
        """Keep the rows for which x IN (SELECT ...) holds, or return that condition."""
        nested, mine = self._read(part(node, "query"), scope), self._compared(node, scope)
        person = [ColumnRef(self.rows.owner or "")]
        owner = [ColumnRef(nested.rows.owner or "")]
        if not nested.links and mine == person and list(nested.outputs) == owner and not is_public(nested.rows.schema):
            self.rows = kept_by(self.rows, replace(nested.rows, columns={nested.rows.owner or "": owner[0]}))
            return None
        if len(mine) == len(nested.outputs) and not nested.one:
            # that it is not false makes no difference here
            self.rows, found = is_met(self.rows, self._others(nested), tuple(zip(mine, nested.outputs, strict=True)))
            return found
        return self(node, scope)

    def _looked_up(self, node: Node, scope: Scope) -> Expression:
        if node.key == "exists":
            nested = self._read(part(node, "this"), scope)
            if nested.one:
                return Literal(True)  # an aggregate without groups gives a row of none as well
            self.rows, found = exists(self.rows, self._others(nested))
            return found
        if node.key == "in":
            nested, mine = self._read(part(node, "query"), scope), self._compared(node, scope)
            if len(mine) != len(nested.outputs):
                raise Unsupported(f"IN (SELECT ...) gives {len(mine)} column{'s' * (len(mine) > 1)} here; list as many")
            if nested.one:
                return call("equal", mine[0], self._value(nested))
            pairs = tuple(zip(mine, nested.outputs, strict=True))
            self.rows, found = is_among(self.rows, self._others(nested), pairs)
            return found
        return self._value(self._read(node, scope))

    def _compared(self, node: Node, scope: Scope) -> list[Expression]:
        written = part(node, "this")
        several = parts(written, "expressions") if written.key == "tuple" else [written]
        return [translate(one, scope) for one in several]

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
                "a sub-query of private rows in a query of public ones would tell which of them are met; put the "
                "private table into FROM"
            )
        return others

    def _value(self, nested: Nested) -> Expression:
        """Return the one value that a sub-query gives; NULL where it gives none."""
        if len(nested.outputs) != 1:
            raise Unsupported("a sub-query that gives a value has one column")
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
            self.rows, found = looked_up(self.rows, others, wanted)
            # nothing is found where there are no rows: a count of none is 0
            values = {
                marked: call("coalesce", one, Literal(0)) if "count" in marked.function else one
                for marked, one in zip(marks, found, strict=True)
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
    return [found for one in expression.arguments for found in _aggregates(one)]


def _wanted(marked: Expression) -> Wanted:
    function = marked.function.removeprefix(MARK)
    argument, where = marked.arguments[0], marked.arguments[1]
    if function not in WITHIN or where.constant is not True:
        raise Unsupported(
            f"{function.upper()} is not supported in a sub-query that gives a value; use COUNT, SUM, AVG, MIN or MAX, "
            f"with conditions in its WHERE"
        )
    return function, None if function == "count_rows" else argument


def _gives_one(others: Others) -> bool:
    """Return whether at most one row is found: by the declared key, or because a public table holds no more."""
    rows = others.rows
    if not isinstance(rows.table, str):
        return False
    key = rows.schema.key
    fixed = {theirs.column for _, theirs in others.equal}
    for one in conjuncts(rows.where):
        if one.function == "equal" and any(side.constant is not None for side in one.arguments):
            fixed |= {side.column for side in one.arguments}
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
