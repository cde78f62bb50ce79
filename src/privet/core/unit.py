"""Who is protected, in the owner's words, and how far one unit can move an answer.

Every unit answers whether each row is one (`rowwise`), whether no row is anyone's (`public`), and whether it is bounded
in time (`timed`). A sensitivity always names the neighbouring relation that it is for: most published mistakes with
sensitivities are silent mixes of the two relations, so neither is a default here. Everything is exact; the L2 norm is
kept squared so that it stays rational.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import ClassVar, Literal, TypeVar, cast, get_args

from .errors import BadParameter, InvariantError, RequestError, quote
from .given import called, check_fields, choice, given_name, listed, set_fields
from .given import function as function_given
from .numbers import Number, rational, whole
from .wire import wired


def read_day(value: object, parameter: str) -> datetime.date:
    """Return a date, from itself or from its text."""
    day = value
    if isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        with contextlib.suppress(ValueError):
            day = datetime.date.fromisoformat(value)
    if isinstance(day, datetime.datetime) or not isinstance(day, datetime.date):
        raise BadParameter(parameter, value, 'a datetime.date, or text such as "2024-01-31"')
    return day


@wired("Rows", "group")
@dataclass(frozen=True)
class Rows:
    """Each single row is protected (event level); `group` rows together, if more than one.

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
        given_name(self.column, "column", "the name of the column that identifies the person")
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
    """No row belongs to a person: the table is public, to be joined to private ones, and not queried alone."""

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
    """Raise `BadParameter` unless a table whose columns are of these kinds has the columns that identify its unit."""
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
    """Return the columns that identify the unit of a row; none where rows are units, or public."""
    match unit:
        case Person(column=column):
            return (column,)
        case Window(person=person, time=time):
            return (person, time)
    return ()


def in_buckets(unit: Unit) -> str:
    """Return the words after a person's name: in each bucket of time, where a window is protected."""
    match unit:
        case Window():
            return f", in each bucket of {unit.duration},"
    return ""


def person_column(unit: Unit) -> str | None:
    """Return the column that identifies the person of a row; None where rows are units, or public."""
    return next(iter(unit_columns(unit)), None)


# How far one unit can move an answer.


Neighbors = Literal["add-remove", "change-one"]
"""`add-remove`: neighbours differ by one unit present or absent. `change-one`: same size, one unit differs."""

T = TypeVar("T")
_MOST_EVALUATIONS = 2_000_000
_MOST_UNITS = 10**18
_LEAST_BOUND = Fraction(1, 2**1100)


@wired("Sensitivity", "neighbors", "l1", "l2_squared")
@dataclass(frozen=True, init=False)
class Sensitivity:
    """The largest change of an answer between neighbours, in the L1 norm and in the L2 norm, squared.

    Args:
        neighbors: "add-remove" or "change-one"; there is no default.
        l1: a bound in the L1 norm.
        l2_squared: a bound in the L2 norm, squared.

    Raises:
        BadParameter: if a number is out of range.

    Example:
        >>> privet.Sensitivity.sum(0, 120, neighbors="add-remove").l1
        Fraction(120, 1)

    Guarantee: for all neighbours x, y under `neighbors`, |f(x) - f(y)|_1 <= l1 and |f(x) - f(y)|_2^2 <= l2_squared.
    Cites: [DMNS06, L1 sensitivity], [KM11, bounded and unbounded].
    """

    neighbors: Neighbors
    l1: Fraction
    l2_squared: Fraction

    def __init__(self, *, neighbors: Neighbors, l1: Number, l2_squared: Number) -> None:
        relation = read_neighbors(neighbors)
        set_fields(self, neighbors=relation, l1=_size(l1, "l1"), l2_squared=_size(l2_squared, "l2_squared"))

    @classmethod
    def count(cls, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of counting the rows that meet a condition: 1 under both relations."""
        return cls._scalar(Fraction(1), neighbors)

    @classmethod
    def sum(cls, low: Number, high: Number, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of a sum of values clamped to [low, high].

        A row that comes or goes moves the sum by at most max(|low|, |high|); a row that changes, by high - low.
        """
        bottom, top = _bounds(low, high)
        if read_neighbors(neighbors) == "add-remove":
            return cls._scalar(max(abs(bottom), abs(top)), neighbors)
        return cls._scalar(top - bottom, neighbors)

    @classmethod
    def mean(cls, low: Number, high: Number, *, size: int, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of the mean of `size` values clamped to [low, high], where `size` is public."""
        bottom, top = _bounds(low, high)
        n = whole(size, "size", least=1, most=_MOST_UNITS)
        if read_neighbors(neighbors) == "add-remove":
            raise RequestError(
                "under add-remove neighbours the number of rows is private, so a mean with public size does not "
                "exist; release a sum and a count and divide them, or declare neighbors='change-one'"
            )
        return cls._scalar((top - bottom) / n, neighbors)

    @classmethod
    def histogram(cls, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of a histogram: one cell moves under add-remove, two under change-one."""
        cells = 1 if read_neighbors(neighbors) == "add-remove" else 2
        return cls(neighbors=neighbors, l1=Fraction(cells), l2_squared=Fraction(cells))

    @classmethod
    def counts(cls, queries: int, *, neighbors: Neighbors) -> Sensitivity:
        """Return the sensitivity of that many arbitrary counting queries: a row may move each of them by 1."""
        k = Fraction(whole(queries, "queries", least=1, most=_MOST_UNITS))
        return cls(neighbors=neighbors, l1=k, l2_squared=k)

    def of_group(self, size: int) -> Sensitivity:
        """Return the sensitivity towards that many units changing together: a chain of this many neighbours."""
        k = whole(size, "size", least=1, most=_MOST_UNITS)
        if k == 1:
            return self
        return Sensitivity(neighbors=self.neighbors, l1=self.l1 * k, l2_squared=self.l2_squared * k * k)

    @classmethod
    def _scalar(cls, most: Fraction, neighbors: Neighbors) -> Sensitivity:
        return cls(neighbors=neighbors, l1=most, l2_squared=most * most)


def sensitivity_by_enumeration(
    function: Callable[[tuple[T, ...]], object],
    domain: Iterable[T],
    size: int,
    *,
    neighbors: Neighbors,
    least: int = 0,
) -> Sensitivity:
    """Return the exact sensitivity of `function` over every data set from a small domain.

    Data sets are multisets, passed as tuples; the function must not depend on their order. Under add-remove
    they have `least` to `size` rows; under change-one exactly `size`. The function returns a number or a sequence
    of numbers, always of the same length.

    Args:
        function: returns a number, or a sequence of them, for a tuple of rows.
        domain: the values that a row can have.
        size: the largest number of rows.
        neighbors: "add-remove" or "change-one".
        least: the least number of rows, under add-remove.

    Raises:
        RequestError: if there are too many data sets to enumerate.

    Example:
        >>> privet.sensitivity_by_enumeration(max, [0, 5, 9], 2, neighbors="change-one").l1
        Fraction(9, 1)

    Guarantee: exact for data sets of those sizes over that domain, and for nothing else: a larger domain or
    size may have a larger sensitivity.
    """
    computed = function_given(function, "function")
    values = tuple(listed(domain, "domain", "a non-empty collection of values", most=_MOST_EVALUATIONS, texts=True))
    if not values:
        raise BadParameter("domain", values, "a non-empty collection of values")
    most = whole(size, "size", least=1, most=_MOST_EVALUATIONS)
    fewest = whole(least, "least", most=most)
    sizes = range(fewest, most + 1) if read_neighbors(neighbors) == "add-remove" else range(most, most + 1)
    work = sum(comb(len(values) + n - 1, n) for n in sizes) * len(values)
    if work > _MOST_EVALUATIONS:
        raise RequestError(
            f"enumerating {len(values)} values in up to {most} rows takes about {work:,} comparisons; "
            f"the most allowed is {_MOST_EVALUATIONS:,}: use a smaller domain or size"
        )
    indices = range(len(values))
    answers = {
        rows: _vector(called(computed, "function", tuple(values[i] for i in rows)))
        for n in sizes
        for rows in combinations_with_replacement(indices, n)
    }
    l1 = l2_squared = Fraction(0)
    for rows, answer in answers.items():
        for position in range(len(rows)):
            rest = rows[:position] + rows[position + 1 :]
            if neighbors == "add-remove":
                others = [rest]
            else:
                others = [tuple(sorted((*rest, i))) for i in indices]
            for other in others:
                if other in answers:
                    moves = _moves(answer, answers[other])
                    l1 = max(l1, sum(moves, Fraction(0)))
                    l2_squared = max(l2_squared, sum((move * move for move in moves), Fraction(0)))
    return Sensitivity(neighbors=neighbors, l1=l1, l2_squared=l2_squared)


def l1_of(sensitivity: Number | Sensitivity) -> Number:
    """Return the bound in the L1 norm, of a Sensitivity or as it was passed."""
    return sensitivity.l1 if isinstance(sensitivity, Sensitivity) else sensitivity


def read_neighbors(neighbors: object) -> Neighbors:
    """Return the neighbouring relation of this name, or raise with the list of all."""
    return cast(Neighbors, choice(neighbors, "neighbors", get_args(Neighbors)))


def _size(value: Number, parameter: str) -> Fraction:
    fraction = rational(value, parameter)
    if fraction < 0:
        raise BadParameter(parameter, value, "at least 0")
    return fraction


def _bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    bottom, top = rational(low, "low"), rational(high, "high")
    for name, end in (("low", bottom), ("high", top)):
        if end and not _LEAST_BOUND <= abs(end) <= 1 / _LEAST_BOUND:
            raise BadParameter(name, end, "0, or of a size from 2**-1100 to 2**1100, whose square is still a number")
    if bottom > top:
        raise BadParameter("low", low, f"at most high, which is {quote(high)}")
    return bottom, top


def _vector(answer: object) -> tuple[Fraction, ...]:
    listed = answer.tolist() if hasattr(answer, "tolist") else answer  # an array's entries, a scalar itself
    parts: Sequence[object] = listed if isinstance(listed, (tuple, list)) else (listed,)
    return tuple(rational(part, "the function's answer") for part in parts)


def _moves(first: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> list[Fraction]:
    if len(first) != len(other):
        raise RequestError("the function must return the same number of answers for every data set")
    return [abs(a - b) for a, b in zip(first, other, strict=True)]
