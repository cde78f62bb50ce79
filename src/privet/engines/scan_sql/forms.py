"""The functions that standard SQL has, and writes alike in every dialect: comparisons, conditions, choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privet.query.typed import unify

from .dialect import Bind, Form, Several, as_kind, unified


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
