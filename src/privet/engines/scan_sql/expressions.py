"""Expressions of the closed list as SQL that never raises: what is undefined is NULL. Forms of standard SQL first.

Each argument appears once in the text: `bind` names what is needed twice, so that nesting cannot blow a query up.
Integer arithmetic goes unchecked only on operands that the engine itself has clamped, so that it cannot leave 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from privet.core.errors import InvariantError, Unsupported
from privet.core.expression import ColumnRef, Expression, Literal
from privet.query.functions import FUNCTIONS
from privet.query.typed import INT64, TypedArgument, of_column, of_literal, unify

from .dialect import Bind, Dialect, Form, Rendered, RowSource, Several, as_kind, unified

# The functions that standard SQL has, and writes alike in every dialect: comparisons, conditions, choices.


def _infix(operator: str) -> Form:
    def method(bind: Bind, name: str, several: Several, safe: bool) -> str:
        _, (x, y) = unified(name, several)
        return f"({x} {operator} {y})"

    return method


def _chain(operator: str) -> Form:
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


FORMS: Mapping[str, Form] = {
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


# Expressions, by the forms above and by those of a dialect.


@dataclass
class Renderer:
    """Renders expressions over some columns."""

    columns: Mapping[str, RowSource]
    dialect: Dialect
    _names: Iterator[int] = field(default_factory=count)

    def render(self, expression: Expression) -> Rendered:
        """Return an expression as SQL."""
        if isinstance(expression, Literal):
            value = expression.value
            if type(value) is int and not INT64[0] <= value <= INT64[1]:
                raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
            sql = self.dialect.constant(value)
            return Rendered(sql, TypedArgument(expression, of_literal(value)), self.dialect)
        if isinstance(expression, ColumnRef):
            source = self.columns.get(expression.name)
            if source is None:
                raise InvariantError("an expression names a column that the table does not have")
            return Rendered(source.sql, TypedArgument(expression, of_column(source.facts)), self.dialect)
        if expression.function not in FUNCTIONS:
            raise InvariantError("an expression is not of the closed list")
        several = [self.render(argument) for argument in expression.arguments]
        function = FUNCTIONS[expression.function]
        rule = function.rule
        arguments = [rendered.argument for rendered in several]
        known = rule(expression.function, arguments)
        # what would be NULL although no argument is must be checked for; what cannot be, need not
        full = [TypedArgument(a.expression, replace(a.typed, nullable=a.typed.kind is None)) for a in arguments]
        held = all(rendered.held for rendered in several)
        safe = held and not rule(expression.function, full).nullable
        if not function.sees_null and any(rendered.kind is None for rendered in several):
            sql = "NULL" if known.kind is None else self.dialect.null(known.kind)
        else:
            sql = self.dialect.form(expression.function)(self.bind, expression.function, several, safe)
        kept = known.kind != "integer" or (held and function.exact)
        return Rendered(sql, TypedArgument(expression, known), self.dialect, kept)

    def bind(self, sql: str, body: Callable[[str], str]) -> str:
        """Return `body` over a name for `sql`, which is computed once."""
        if self.dialect.is_atom(sql):
            return body(sql)
        name = f"x{next(self._names)}"
        return self.dialect.bound(sql, name, body(name))
