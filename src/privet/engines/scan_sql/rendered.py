"""An expression as DuckDB SQL with what is publicly known of it, and the ways to write one that never raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from privet.core.schema import ColumnFacts as Facts
from privet.core.schema import Kind
from privet.query.typed import TypedArgument, unify

from .text import TYPES, double

Bind = Callable[[str, Callable[[str], str]], str]
"""Gives a piece of SQL a name, so that a text over it can use it twice and it is computed once."""


@dataclass(frozen=True)
class RowSource:
    """A column as it can be read: its SQL, and the declared facts that its values already keep to."""

    sql: str
    facts: Facts


@dataclass(frozen=True)
class Rendered:
    """An expression as SQL, of the engine's type for its kind."""

    sql: str
    argument: TypedArgument
    held: bool = True
    """Whether a whole number is certain to keep to its facts: it is exact arithmetic of what the engine has clamped.

    What is made whole of doubles, texts or dates is not: arithmetic with it is checked, whatever the facts say.
    """

    @property
    def kind(self) -> Kind | None:
        """The kind of the value; None for a bare NULL."""
        return self.argument.typed.kind


Several = Sequence[Rendered]
Method = Callable[[Bind, str, Several, bool], str]
"""How a function is written: its name, its arguments, and whether its result cannot overflow.

That is so where facts imply it to which the engine holds all whole arguments; arithmetic of doubles raises nothing.
"""


def as_kind(rendered: Rendered, kind: Kind | None) -> str:
    """Return the SQL of a value as a wider kind: a whole number as a number, a date as its midnight."""
    if rendered.kind is None:
        return "NULL" if kind is None else f"NULL::{TYPES[kind]}"
    if rendered.kind == kind:
        return rendered.sql
    if kind == "number" and isinstance(rendered.argument.constant, int):
        return double(Fraction(rendered.argument.constant))
    return f"CAST({rendered.sql} AS {TYPES[kind]})" if kind is not None else rendered.sql


def unified(name: str, several: Several) -> tuple[Kind | None, list[str]]:
    """Return the kind that all of several values have in common, and their SQL as that kind."""
    kind = unify(name, [rendered.argument.typed for rendered in several])
    return kind, [as_kind(rendered, kind) for rendered in several]


def numbers(several: Several) -> list[str]:
    """Return the SQL of several values as numbers."""
    return [as_kind(rendered, "number") for rendered in several]


def fit(sql: str) -> str:
    """Return a whole number of 64 bits, or NULL where it does not fit."""
    return f"TRY_CAST({sql} AS BIGINT)"


def finite(bind: Bind, sql: str) -> str:
    """Return a double, or NULL where it is not finite."""
    return bind(sql, lambda x: f"CASE WHEN isfinite({x}) THEN {x} END")
