"""Who is protected, in the owner's words."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import BadParameter
from .exact import whole


@dataclass(frozen=True)
class Rows:
    """Each row by itself is protected (event level); `group` rows together, if more than one."""

    group: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", whole(self.group, "group", least=1, most=10**6))

    def __str__(self) -> str:
        return "each row" if self.group == 1 else f"any {self.group} rows together"


@dataclass(frozen=True)
class Person:
    """All rows that carry the same value in `column` are protected together (user level).

    Rows whose value there is NULL belong to nobody and are dropped before anything else.
    """

    column: str
    group: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column:
            raise BadParameter("column", self.column, "the name of the column that says whose row it is")
        object.__setattr__(self, "group", whole(self.group, "group", least=1, most=10**6))

    def __str__(self) -> str:
        who = f"all rows of each {self.column}"
        return who if self.group == 1 else f"{who}, {self.group} of them together"


Unit = Rows | Person
