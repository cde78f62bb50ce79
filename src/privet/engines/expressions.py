"""Expressions of the closed list as DuckDB SQL that never raises: what is undefined is NULL.

Each argument appears once in the text: `bind` names what is needed twice, so that nesting cannot blow a query up.
Checks that public facts make needless are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count

from privet.core.errors import InvariantError, Unsupported
from privet.core.expression import Call, Column, Expression, Literal
from privet.core.schema import Column as Facts
from privet.core.schema import Kind
from privet.query.functions import FUNCTIONS, LONGEST
from privet.query.typed import Argument, of_column, of_literal, unify

from . import moments
from .text import INT64, TYPES, constant, double, quoted, whole

_ATOM = re.compile(r"[a-z][a-z0-9]*|'?-?[0-9]+'?::BIGINT|\(?-?[0-9]+(\.[0-9]+)?e[+-]?[0-9]+\)?")
"""A name or a constant: as cheap to write twice as to name."""

_SEES_NULL = frozenset(("is_null", "and", "or", "case", "coalesce", "nullif", "least", "greatest"))
"""The functions that can give something for a NULL; all others give NULL."""


@dataclass(frozen=True)
class Source:
    """A column as it can be read: its SQL, and the declared facts that its values already keep to."""

    sql: str
    facts: Facts


@dataclass(frozen=True)
class Rendered:
    """An expression as SQL, of the engine's type for its kind."""

    sql: str
    argument: Argument

    @property
    def kind(self) -> Kind | None:
        """The kind of the value; None for a bare NULL."""
        return self.argument.typed.kind


@dataclass
class Renderer:
    """Renders expressions over some columns."""

    columns: Mapping[str, Source]
    _names: Iterator[int] = field(default_factory=count)

    def render(self, expression: Expression) -> Rendered:
        """Return an expression as SQL."""
        if isinstance(expression, Literal):
            value = expression.value
            if isinstance(value, int) and not isinstance(value, bool) and not INT64[0] <= value <= INT64[1]:
                raise Unsupported("a whole number must fit into 64 bits; write a decimal, such as 1e30")
            return Rendered(constant(value), Argument(expression, of_literal(value)))
        if isinstance(expression, Column):
            source = self.columns.get(expression.name)
            if source is None:
                raise InvariantError("an expression names a column that the table does not have")
            return Rendered(source.sql, Argument(expression, of_column(source.facts)))
        if not isinstance(expression, Call) or expression.function not in FUNCTIONS:
            raise InvariantError("an expression is not of the closed list")
        several = [self.render(argument) for argument in expression.arguments]
        rule = FUNCTIONS[expression.function].rule
        arguments = [rendered.argument for rendered in several]
        known = rule(expression.function, arguments)
        # what would be NULL although no argument is must be checked for; what cannot be, need not
        full = [Argument(a.expression, replace(a.typed, nullable=a.typed.kind is None)) for a in arguments]
        safe = not rule(expression.function, full).nullable
        if expression.function not in _SEES_NULL and any(rendered.kind is None for rendered in several):
            sql = "NULL" if known.kind is None else f"NULL::{TYPES[known.kind]}"
        else:
            sql = _RENDERERS[expression.function](self, expression.function, several, safe)
        return Rendered(sql, Argument(expression, known))

    def bind(self, sql: str, body: Callable[[str], str]) -> str:
        """Return `body` over a name for `sql`, which is computed once."""
        if _ATOM.fullmatch(sql):
            return body(sql)
        name = f"x{next(self._names)}"
        return f"list_transform([{sql}], lambda {name}: {body(name)})[1]"

    def finite(self, sql: str) -> str:
        """Return a double, or NULL where it is not finite."""
        return self.bind(sql, lambda x: f"CASE WHEN isfinite({x}) THEN {x} END")


def as_kind(rendered: Rendered, kind: Kind | None) -> str:
    """Return the SQL of a value as a wider kind: a whole number as a number, a date as its midnight."""
    if rendered.kind is None:
        return "NULL" if kind is None else f"NULL::{TYPES[kind]}"
    if rendered.kind == kind:
        return rendered.sql
    if kind == "number" and isinstance(rendered.argument.constant, int):
        return double(Fraction(rendered.argument.constant))
    return f"CAST({rendered.sql} AS {TYPES[kind]})" if kind is not None else rendered.sql


Several = Sequence[Rendered]
Method = Callable[[Renderer, str, Several, bool], str]


def _unified(name: str, several: Several) -> tuple[Kind | None, list[str]]:
    kind = unify(name, [rendered.argument.typed for rendered in several])
    return kind, [as_kind(rendered, kind) for rendered in several]


def _numbers(several: Several) -> list[str]:
    return [as_kind(rendered, "number") for rendered in several]


def _fit(sql: str) -> str:
    return f"TRY_CAST({sql} AS BIGINT)"


def _arithmetic(operator: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        kind, (x, y) = _unified(name, several)
        if kind == "integer" and not safe:  # two 64-bit numbers cannot leave 128 bits by one of these operations
            return _fit(f"(CAST({x} AS HUGEINT) {operator} CAST({y} AS HUGEINT))")
        return f"({x} {operator} {y})" if safe or kind is None else renderer.finite(f"({x} {operator} {y})")

    return method


def _divide(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    x, y = _numbers(several)
    return f"({x} / {y})" if safe else renderer.finite(f"({x} / {y})")


def _modulo(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    kind, (x, y) = _unified(name, several)
    if kind == "number":
        return f"({x} % {y})" if safe else renderer.finite(f"({x} % {y})")
    wide = f"CAST({x} AS HUGEINT)"  # the least 64-bit number divided by -1 does not fit into 64 bits
    return renderer.bind(y, lambda y: _fit(f"CASE WHEN {y} <> 0 THEN {wide} % {y} END"))


def _negate(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    return _fit(f"(0::HUGEINT - {x})") if several[0].kind == "integer" and not safe else f"(- {x})"


def _abs(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    return _fit(f"abs(CAST({x} AS HUGEINT))") if several[0].kind == "integer" and not safe else f"abs({x})"


def _rounding(form: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        x = several[0].sql
        return x if several[0].kind == "integer" else _fit(form.format(x))

    return method


def _round_to(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    digits = several[1].argument.constant
    power = double(10 ** abs(int(str(digits))))
    up, down = ("*", "/") if int(str(digits)) >= 0 else ("/", "*")
    x = as_kind(several[0], "number")
    return renderer.finite(f"(floor({x} {up} {power} + 0.5e0) {down} {power})")


def _sign(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    return f"CAST(sign({several[0].sql}) AS BIGINT)"


def _sqrt(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    x = _numbers(several)[0]
    return f"sqrt({x})" if safe else renderer.finite(f"sqrt({x})")


def _real(form: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        return renderer.finite(form.format(*_numbers(several)))

    return method


def _extreme(which: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        _, values = _unified(name, several)
        return f"{which}({', '.join(values)})"  # which leaves NULLs out, and is NULL only if all are

    return method


def _infix(operator: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        _, (x, y) = _unified(name, several)
        return f"({x} {operator} {y})"

    return method


def _chain(operator: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        return "(" + f" {operator} ".join(as_kind(rendered, "boolean") for rendered in several) + ")"

    return method


def _in(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    _, values = _unified(name, several)
    return f"({values[0]} IN ({', '.join(values[1:])}))"


def _like(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    escape = f" ESCAPE {several[2].sql}" if len(several) == 3 else ""
    return f"({as_kind(several[0], 'text')} LIKE {several[1].sql}{escape})"


def _case(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    _, values = _unified(name, [*several[1::2], several[-1]])
    conditions = [as_kind(rendered, "boolean") for rendered in several[:-1:2]]
    when = " ".join(f"WHEN {c} THEN {v}" for c, v in zip(conditions, values[:-1], strict=True))
    return f"CASE {when} ELSE {values[-1]} END"


def _coalesce(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    _, values = _unified(name, several)
    return f"coalesce({', '.join(values)})"


def _nullif(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    kind = unify(name, [rendered.argument.typed for rendered in several])
    y = as_kind(several[1], kind)

    def body(x: str) -> str:
        return f"CASE WHEN {as_kind(replace(several[0], sql=x), kind)} = {y} THEN NULL ELSE {x} END"

    return renderer.bind(as_kind(several[0], several[0].kind), body)


def _bin(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    width = several[1].argument.constant
    if several[0].kind == "number" or isinstance(width, Fraction):
        size = double(Fraction(str(width)))
        if float(Fraction(str(width))) == 0.0:
            raise Unsupported("the width of a bin is too small for a double")
        steps = f"floor({as_kind(several[0], 'number')} / {size})"
        if isinstance(width, Fraction):
            return renderer.finite(f"({steps} * {size} + 0e0)")
        return _fit(f"(CAST({_fit(steps)} AS HUGEINT) * {whole(int(str(width)))})")
    size, x = whole(int(str(width))), as_kind(several[0], "integer")
    low, high = several[0].argument.typed.ends
    # // cuts towards zero, so negative numbers are first moved up by a multiple of the width
    least = INT64[0] if low is None else int(low)
    move = max(0, -(least // int(str(width)))) * int(str(width))
    top = (INT64[1] if high is None else int(high)) + move
    if safe and top <= INT64[1] and least + move >= 0:
        moved = f"({x} + {whole(move)})" if move else x
        return f"({moved} // {size} * {size} - {whole(move)})" if move else f"({moved} // {size} * {size})"
    return _fit(f"((CAST({x} AS HUGEINT) + {whole(move)}) // {size} * {size} - {whole(move)})")


def _bucket(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    low, high = (Fraction(str(rendered.argument.constant)) for rendered in several[1:3])
    bins = int(str(several[3].argument.constant))
    place = f"floor(({as_kind(several[0], 'number')} - {double(low)}) * {double(bins)} / {double(high - low)})"
    if float(high - low) == 0.0:
        raise Unsupported("the ends of a histogram are too close for doubles")
    top = double(bins - 1)

    def body(x: str) -> str:
        inside = f"WHEN {x} <= {top} THEN CAST({x} AS BIGINT)"
        return f"CASE WHEN {x} < 0e0 THEN 0 {inside} WHEN {x} > {top} THEN {bins - 1} END"

    return renderer.bind(place, lambda x: f"CAST({body(x)} AS BIGINT)")


def _texts(form: str) -> Method:
    def method(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        return form.format(*(as_kind(rendered, "text") for rendered in several))

    return method


def _substring(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    return f"substring({as_kind(several[0], 'text')}, {several[1].sql}, {several[2].sql})"


def _concat(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    """Return texts put together, each and all of them cut: no row may become so large that it exhausts the engine."""
    return _cut(" || ".join(_cut(as_kind(rendered, "text")) for rendered in several))


def _cut(sql: str) -> str:
    return f"substring({sql}, 1, {LONGEST})"


_WHOLE_TEXT = quoted("^ *([+-]?[0-9]+) *$")
_NUMBER_TEXT = quoted(r"^ *([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?) *$")


def _to_integer(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    match several[0].kind:
        case "text":
            return _fit(f"regexp_extract({x}, {_WHOLE_TEXT}, 1)")
        case "boolean":
            return f"CAST({x} AS BIGINT)"
        case "number":
            return _fit(f"floor({x} + 0.5e0)")
    return as_kind(several[0], "integer")


def _to_number(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    if several[0].kind == "text":
        return renderer.finite(f"TRY_CAST(regexp_extract({several[0].sql}, {_NUMBER_TEXT}, 1) AS DOUBLE)")
    return as_kind(several[0], "number")


def _to_text(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    return as_kind(several[0], "text")


_TRUTHS = "['false', 'f', '0', 'true', 't', '1']"


def _to_boolean(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
    x = several[0].sql
    match several[0].kind:
        case "text":
            return f"(list_position({_TRUTHS}, lower({x})) > 3)"
        case "integer":
            return f"({x} <> 0)"
    return as_kind(several[0], "boolean")


def _moment(method: moments.Method) -> Method:
    def inner(renderer: Renderer, name: str, several: Several, safe: bool) -> str:
        return method(renderer.bind, name, [(r.sql, r.kind, r.argument.constant) for r in several], safe)

    return inner


_RENDERERS: Mapping[str, Method] = {
    "add": _arithmetic("+"),
    "subtract": _arithmetic("-"),
    "multiply": _arithmetic("*"),
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "floor": _rounding("floor({})"),
    "ceil": _rounding("ceil({})"),
    "round": _rounding("floor({} + 0.5e0)"),
    "round_to": _round_to,
    "sign": _sign,
    "sqrt": _sqrt,
    "ln": _real("ln({})"),
    "exp": _real("exp({})"),
    "power": _real("pow({}, {})"),
    "least": _extreme("least"),
    "greatest": _extreme("greatest"),
    "equal": _infix("="),
    "not_equal": _infix("<>"),
    "less": _infix("<"),
    "less_equal": _infix("<="),
    "greater": _infix(">"),
    "greater_equal": _infix(">="),
    "is_null": lambda renderer, name, several, safe: f"({several[0].sql} IS NULL)",
    "not": lambda renderer, name, several, safe: f"(NOT {as_kind(several[0], 'boolean')})",
    "and": _chain("AND"),
    "or": _chain("OR"),
    "in": _in,
    "like": _like,
    "lower": _texts("lower({})"),
    "upper": _texts("upper({})"),
    "length": _texts("length({})"),
    "trim": _texts("trim({}, ' ')"),
    "substring": _substring,
    "starts_with": _texts("starts_with({}, {})"),
    "contains": _texts("contains({}, {})"),
    "concat": _concat,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "to_integer": _to_integer,
    "to_number": _to_number,
    "to_text": _to_text,
    "to_boolean": _to_boolean,
    "bin": _bin,
    "bucket": _bucket,
    **{name: _moment(method) for name, method in moments.METHODS.items()},
}
