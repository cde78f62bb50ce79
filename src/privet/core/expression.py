"""Expressions over the columns of one table: three kinds of node, and a closed list of total functions."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

from .complete import check_fields
from .wire import wired

Value = int | Fraction | str | bool | datetime.date | datetime.datetime | None


@wired("Column", "name")
@dataclass(frozen=True)
class ColumnRef:
    """A column of the table, or of the released rows, by name."""

    name: str

    def __post_init__(self) -> None:
        if isinstance(self.name, str):  # names of columns come from anywhere: an enum's, or NumPy's
            object.__setattr__(self, "name", str.__str__(self.name))
        check_fields(self)


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


@wired("Call", "function", "arguments")
@dataclass(frozen=True)
class Call:
    """A function of the closed list, applied."""

    function: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        check_fields(self)


Expression = ColumnRef | Literal | Call
