"""Expressions over the columns of one table: three kinds of node, and a closed list of total functions.

Every node answers the same questions: which `function` it applies to which `arguments`, which `constant` it is, which
`column`; a node of another kind answers with nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .given import check_fields, set_fields
from .wire import wired

Value = int | Fraction | str | bool | datetime.date | datetime.datetime | None


@wired("Column", "name")
@dataclass(frozen=True)
class ColumnRef:
    """A column of the table, or of the released rows, by name."""

    name: str

    def __post_init__(self) -> None:
        if isinstance(self.name, str):  # names of columns come from anywhere: an enum's, or NumPy's
            set_fields(self, name=str.__str__(self.name))
        check_fields(self)

    function: ClassVar[str] = ""
    arguments: ClassVar[tuple[Expression, ...]] = ()
    constant: ClassVar[Value] = None

    @property
    def column(self) -> str | None:
        """The name of the column."""
        return self.name


@wired("Literal", "value")
@dataclass(frozen=True, eq=False)
class Literal:
    """A constant. Decimals are exact Fractions. Equal only to a constant of the same type: 1, 1.0 and true differ."""

    value: Value

    def __post_init__(self) -> None:
        check_fields(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))

    function: ClassVar[str] = ""
    arguments: ClassVar[tuple[Expression, ...]] = ()
    column: ClassVar[str | None] = None

    @property
    def constant(self) -> Value:
        """The value of the constant."""
        return self.value


@wired("Call", "function", "arguments")
@dataclass(frozen=True)
class Call:
    """A function of the closed list, applied."""

    function: str
    arguments: tuple[Expression, ...]

    constant: ClassVar[Value] = None
    column: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        check_fields(self)


Expression = ColumnRef | Literal | Call


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it, from the outside."""
    yield expression
    for argument in expression.arguments:
        yield from parts_of(argument)
