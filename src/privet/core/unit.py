"""Who is protected, in the owner's words."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import BadParameter, InvariantError
from .exact import whole


@dataclass(frozen=True)
class Rows:
    """Each row by itself is protected (event level); `group` rows together, if more than one."""

    group: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", whole(self.group, "group", least=1, most=10**6))

    @property
    def touches(self) -> int:
        """How many units of the computation differ between neighbours."""
        return self.group

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

    @property
    def touches(self) -> int:
        """How many units of the computation differ between neighbours."""
        return self.group

    def __str__(self) -> str:
        who = f"all rows of each {self.column}"
        return who if self.group == 1 else f"{who}, {self.group} of them together"


@dataclass(frozen=True)
class Link:
    """A row belongs to whoever owns the row of table `to` whose `column` has the value of this table's `via`.

    Values in that column are declared to be unique: a row has one owner. Rows that lead nowhere belong to nobody and
    are dropped before anything else. A link that leads to a person column itself only says that it is the same person.
    """

    via: str
    to: str
    column: str

    def __post_init__(self) -> None:
        for name, value in (("via", self.via), ("to", self.to), ("column", self.column)):
            if not isinstance(value, str) or not value:
                raise BadParameter(name, value, "a name, as in Link('visit_id', to='visits', column='id')")

    @property
    def touches(self) -> int:
        """A link is followed to its owner before anything is computed."""
        raise InvariantError("a link that was not followed reached a plan")

    def __str__(self) -> str:
        return f"who owns the {self.to} with {self.column} = {self.via}"


@dataclass(frozen=True)
class Nobody:
    """No row is anybody's: the table is public. It is joined to private ones, and never asked about by itself."""

    @property
    def touches(self) -> int:
        """A public table has no units."""
        raise InvariantError("a public table reached a plan as if it were private")

    def __str__(self) -> str:
        return "nobody: the table is public"


Unit = Rows | Person | Link | Nobody


def unit_columns(unit: Unit) -> tuple[str, ...]:
    """Return the columns that say to which unit a row belongs; none where rows are units, or nobody's."""
    return (unit.column,) if isinstance(unit, Person) else ()
