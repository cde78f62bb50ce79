"""Expressions of the closed list as DuckDB SQL that never raises: what is undefined is NULL.

Each argument appears once in the text: `bind` names what is needed twice, so that nesting cannot blow a query up.
Integer arithmetic goes unchecked only on operands that the engine itself has clamped, so that it cannot leave 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from privet.core.errors import InvariantError, Unsupported
from privet.core.expression import Call, ColumnRef, Expression, Literal
from privet.query.functions import FUNCTIONS
from privet.query.typed import TypedArgument, of_column, of_literal, unify

from . import arithmetic, moments, strings
from .rendered import Bind, Method, Rendered, RowSource, Several, as_kind, unified
from .text import INT64, TYPES, constant

_ATOM = re.compile(r"[a-z][a-z0-9]*|'?-?[0-9]+'?::BIGINT|\(?-?[0-9]+(\.[0-9]+)?e[+-]?[0-9]+\)?")
"""A name or a constant: as cheap to write twice as to name."""

SEES_NULL = frozenset(("is_null", "and", "or", "case", "coalesce", "nullif", "least", "greatest"))
"""The functions that can give something for a NULL; all others give NULL."""

_EXACT = frozenset(
    ("add", "subtract", "multiply", "modulo", "negate", "abs", "least", "greatest", "case", "coalesce", "nullif")
)
"""The functions that engines compute exactly in whole numbers, so that a result keeps to its facts if arguments do."""


@dataclass
class Renderer:
    """Renders expressions over some columns."""

    columns: Mapping[str, RowSource]
    _names: Iterator[int] = field(default_factory=count)

    def render(self, expression: Expression) -> Rendered:
        """Return an expression as SQL."""
        if isinstance(expression, Literal):
            value = expression.value
            if isinstance(value, int) and not isinstance(value, bool) and not INT64[0] <= value <= INT64[1]:
                raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
            return Rendered(constant(value), TypedArgument(expression, of_literal(value)))
        if isinstance(expression, ColumnRef):
            source = self.columns.get(expression.name)
            if source is None:
                raise InvariantError("an expression names a column that the table does not have")
            return Rendered(source.sql, TypedArgument(expression, of_column(source.facts)))
        if not isinstance(expression, Call) or expression.function not in FUNCTIONS:
            raise InvariantError("an expression is not of the closed list")
        several = [self.render(argument) for argument in expression.arguments]
        rule = FUNCTIONS[expression.function].rule
        arguments = [rendered.argument for rendered in several]
        known = rule(expression.function, arguments)
        # what would be NULL although no argument is must be checked for; what cannot be, need not
        full = [TypedArgument(a.expression, replace(a.typed, nullable=a.typed.kind is None)) for a in arguments]
        held = all(rendered.held for rendered in several)
        safe = held and not rule(expression.function, full).nullable
        if expression.function not in SEES_NULL and any(rendered.kind is None for rendered in several):
            sql = "NULL" if known.kind is None else f"NULL::{TYPES[known.kind]}"
        else:
            sql = _METHODS[expression.function](self.bind, expression.function, several, safe)
        return Rendered(
            sql, TypedArgument(expression, known), known.kind != "integer" or (held and expression.function in _EXACT)
        )

    def bind(self, sql: str, body: Callable[[str], str]) -> str:
        """Return `body` over a name for `sql`, which is computed once."""
        if _ATOM.fullmatch(sql):
            return body(sql)
        name = f"x{next(self._names)}"
        return f"list_transform([{sql}], lambda {name}: {body(name)})[1]"


def _infix(operator: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        _, (x, y) = unified(name, several)
        return f"({x} {operator} {y})"

    return method


def _chain(operator: str) -> Method:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        return "(" + f" {operator} ".join(as_kind(rendered, "boolean") for rendered in several) + ")"

    return method


def _in(bind: Bind, name: str, several: Several, safe: bool) -> str:
    _, values = unified(name, several)
    return f"({values[0]} IN ({', '.join(values[1:])}))"


def _like(bind: Bind, name: str, several: Several, safe: bool) -> str:
    escape = f" ESCAPE {several[2].sql}" if len(several) == 3 else ""
    return f"({as_kind(several[0], 'text')} LIKE {several[1].sql}{escape})"


def _case(bind: Bind, name: str, several: Several, safe: bool) -> str:
    _, values = unified(name, [*several[1::2], several[-1]])
    conditions = [as_kind(rendered, "boolean") for rendered in several[:-1:2]]
    when = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(conditions, values[:-1], strict=True))
    return f"CASE {when} ELSE {values[-1]} END"


def _coalesce(bind: Bind, name: str, several: Several, safe: bool) -> str:
    _, values = unified(name, several)
    return f"coalesce({', '.join(values)})"


def _nullif(bind: Bind, name: str, several: Several, safe: bool) -> str:
    kind = unify(name, [rendered.argument.typed for rendered in several])
    y = as_kind(several[1], kind)

    def body(x: str) -> str:
        return f"CASE WHEN {as_kind(replace(several[0], sql=x), kind)} = {y} THEN NULL ELSE {x} END"

    return bind(as_kind(several[0], several[0].kind), body)


def _moment(method: moments.Method) -> Method:
    def inner(bind: Bind, name: str, several: Several, safe: bool) -> str:
        return method(bind, name, [(r.sql, r.kind, r.argument.constant) for r in several], safe)

    return inner


_METHODS: Mapping[str, Method] = {
    **arithmetic.METHODS,
    **strings.METHODS,
    **{name: _moment(method) for name, method in moments.METHODS.items()},
    "equal": _infix("="),
    "not_equal": _infix("<>"),
    "less": _infix("<"),
    "less_equal": _infix("<="),
    "greater": _infix(">"),
    "greater_equal": _infix(">="),
    "is_null": lambda bind, name, several, safe: f"({several[0].sql} IS NULL)",
    "not": lambda bind, name, several, safe: f"(NOT {as_kind(several[0], 'boolean')})",
    "and": _chain("AND"),
    "or": _chain("OR"),
    "in": _in,
    "like": _like,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
}
