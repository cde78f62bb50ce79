"""Expressions over the columns of one table: three kinds of node, and a closed list of total functions."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

Value = int | Fraction | str | bool | datetime.date | datetime.datetime | None


@dataclass(frozen=True)
class Column:
    """A column of the table, or of the released rows, by name."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant. Decimals are exact Fractions."""

    value: Value


@dataclass(frozen=True)
class Call:
    """A function of the closed list, applied.."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Column | Literal | Call
