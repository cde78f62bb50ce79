"""Who is protected, in the owner's words.

Every unit answers whether each row is one (`rowwise`), whether no row is anyone's (`public`), and whether it is bounded
in time (`timed`).
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .errors import BadParameter, InvariantError
from .given import check_fields, given_name, set_fields
from .numbers import whole
from .wire import wired


def read_day(value: object, parameter: str) -> datetime.date:
    """Return a date, from itself or from its text."""
    found = value
    if isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        with contextlib.suppress(ValueError):
            found = datetime.date.fromisoformat(value)
    if isinstance(found, datetime.datetime) or not isinstance(found, datetime.date):
        raise BadParameter(parameter, value, 'a datetime.date, or text such as "2024-01-31"')
    return found


@wired("Rows", "group")
@dataclass(frozen=True)
class Rows:
    """Each row by itself is protected (event level); `group` rows together, if more than one.

    Args:
        group: how many rows are protected together.

    Example:
        >>> str(privet.Rows())
        'each row'
    """

    group: int = 1
    rowwise: ClassVar[bool] = True
    public: ClassVar[bool] = False
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        set_fields(self, group=whole(self.group, "group", least=1, most=10**6))
        check_fields(self)

    @property
    def touches(self) -> int:
        """How many units of the computation differ between neighbours."""
        return self.group

    def __str__(self) -> str:
        return "each row" if self.group == 1 else f"any {self.group} rows together"


@wired("Person", "column", "group")
@dataclass(frozen=True)
class Person:
    """All rows that carry the same value in `column` are protected together (user level).

    Rows whose value there is NULL belong to no unit and are dropped before anything else.

    Args:
        column: the column that identifies the person.
        group: how many people are protected together.

    Example:
        >>> str(privet.Person("patient"))
        'all rows of each patient'
    """

    column: str
    group: int = 1
    rowwise: ClassVar[bool] = False
    public: ClassVar[bool] = False
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        given_name(self.column, "column", "the name of the column that says whose row it is")
        set_fields(self, group=whole(self.group, "group", least=1, most=10**6))
        check_fields(self)

    @property
    def touches(self) -> int:
        """How many units of the computation differ between neighbours."""
        return self.group

    def __str__(self) -> str:
        who = f"all rows of each {self.column}"
        return who if self.group == 1 else f"{who}, {self.group} of them together"


@wired("Window", "person", "time", "length", "origin", "group")
@dataclass(frozen=True, init=False)
class Window:
    """All rows of a person within any window of time of that length are protected together (w-event level).

    `length` is a whole number of days, or a timedelta. The computation has a unit for each person and each bucket of
    that length since `origin`, a public date. Rows without a person or a time belong to no unit and are dropped first.

    Args:
        person: the column that identifies the person.
        time: a column of dates or timestamps.
        length: a whole number of days, or a timedelta.
        origin: a public date at which a bucket begins, or its text, such as "2024-01-31".
        group: how many windows are protected together.

    Example:
        >>> str(privet.Window("patient", "day", 7))
        'all rows of each patient within any 7 days of day'
    """

    person: str
    time: str
    length: datetime.timedelta
    origin: datetime.date = datetime.date.min
    group: int = 1
    rowwise: ClassVar[bool] = False
    public: ClassVar[bool] = False
    timed: ClassVar[bool] = True

    def __init__(
        self,
        person: str,
        time: str,
        length: datetime.timedelta | int,
        origin: datetime.date | str = datetime.date.min,
        group: int = 1,
    ) -> None:
        given_name(person, "person", "the name of a column")
        given_name(time, "time", "the name of a column")
        long = length
        if not isinstance(long, datetime.timedelta):
            long = datetime.timedelta(days=whole(long, "length", least=1, most=100_000))
        if not datetime.timedelta(0) < long <= datetime.timedelta(days=100_000):
            raise BadParameter("length", length, "a number of days, or a timedelta, above 0")
        start = read_day(origin, "origin")
        together = whole(group, "group", least=1, most=10**6)
        set_fields(self, person=person, time=time, length=long, origin=start, group=together)
        check_fields(self)

    @property
    def touches(self) -> int:
        """How many units of the computation differ between neighbours: a window lies in two buckets at most."""
        return 2 * self.group

    @property
    def duration(self) -> str:
        """The length in words."""
        days, rest = divmod(self.length, datetime.timedelta(days=1))
        if not rest:
            return "1 day" if days == 1 else f"{days:,} days"
        return str(self.length)

    def __str__(self) -> str:
        who = f"all rows of each {self.person} within any {self.duration} of {self.time}"
        return who if self.group == 1 else f"{who}, {self.group} of them together"


@wired("Link", "via", "to", "column")
@dataclass(frozen=True)
class Link:
    """A row belongs to the owner of the row of table `to` whose `column` has the value of this table's `via`.

    Values in that column are declared to be unique: a row has one owner. Rows that lead nowhere have no owner and are
    dropped before anything else. A link to a person column itself only declares that it is the same person.

    Args:
        via: the column of this table.
        to: the other table.
        column: the column of the other table.

    Example:
        >>> privet.Link("visit", to="visits", column="id")
        Link(via='visit', to='visits', column='id')
    """

    via: str
    to: str
    column: str
    rowwise: ClassVar[bool] = False
    public: ClassVar[bool] = False
    timed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, value in (("via", self.via), ("to", self.to), ("column", self.column)):
            given_name(value, name, "a name, as in Link('visit_id', to='visits', column='id')")
        check_fields(self)

    @property
    def touches(self) -> int:
        """A link is followed to its owner before anything is computed."""
        raise InvariantError("a link that was not followed reached a plan")

    def __str__(self) -> str:
        return f"who owns the {self.to} with {self.column} = {self.via}"


@wired("Nobody")
@dataclass(frozen=True)
class Nobody:
    """No row is anybody's: the table is public. It is joined to private ones, and never asked about by itself."""

    rowwise: ClassVar[bool] = False
    public: ClassVar[bool] = True
    timed: ClassVar[bool] = False

    @property
    def touches(self) -> int:
        """A public table has no units."""
        raise InvariantError("a public table reached a plan as if it were private")

    def __str__(self) -> str:
        return "nobody: the table is public"


Unit = Rows | Person | Window | Link | Nobody


def check_unit(unit: Unit, kinds: Mapping[str, str]) -> None:
    """Raise `BadParameter` unless a table whose columns are of these kinds has what its unit is found by."""
    match unit:
        case Person(column=column) if column not in kinds:
            raise BadParameter("unit", column, "a listed column that identifies the person, or Rows() for each row")
        case Link(via=via) if via not in kinds:
            raise BadParameter("unit", via, "a link from a column that is listed among the columns")
        case Window(person=person, time=time):
            for name in (person, time):
                if name not in kinds:
                    raise BadParameter("unit", name, "a person and a time column that are listed among the columns")
            if kinds[time] not in ("date", "timestamp") or person == time:
                raise BadParameter("unit", time, "a window over a column of dates or timestamps")
            if kinds[time] == "date" and unit.length % datetime.timedelta(days=1):
                raise BadParameter("unit", unit.duration, "a whole number of days, as the time column holds dates")


def unit_columns(unit: Unit) -> tuple[str, ...]:
    """Return the columns that say to which unit a row belongs; none where rows are units, or public."""
    match unit:
        case Person(column=column):
            return (column,)
        case Window(person=person, time=time):
            return (person, time)
    return ()


def in_buckets(unit: Unit) -> str:
    """Return what follows a person's name in words: in each bucket of time, where a window is protected."""
    match unit:
        case Window():
            return f", in each bucket of {unit.duration},"
    return ""


def person_column(unit: Unit) -> str | None:
    """Return the column that says which person a row is about; None where rows are units, or public."""
    return next(iter(unit_columns(unit)), None)
