"""How the rows of a table are divided into blocks, each with its own budget, and which blocks a question reads."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from .errors import BadParameter
from .given import check_fields, given_name, listed, set_fields
from .numbers import Number, float_near, rational, whole
from .unit import Person, Rows, Unit, Window, read_day
from .wire import canonical, wired

if TYPE_CHECKING:
    from .schema import ColumnFacts


Members = Literal["rows", "people", "windows"]
"""The contents of a block: rows, whole people, or the rows of people within a window of time."""

MOST_BLOCKS = 10**6


@dataclass(frozen=True)
class Touched:
    """Some blocks of one division of a table: ranges of their numbers, each from its first to before its end.

    `division` identifies the table's division into blocks, so that two divisions of one table differ. `reach`
    is how many of its blocks one unit can be in between neighbours: 1 where a row comes or goes, 2 where one moves. Of
    windows it is the number of windows, each of which lies in two adjacent blocks.
    """

    table: str
    division: str
    members: Members
    reach: int
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if self.members not in get_args(Members):
            raise BadParameter("members", self.members, "rows, people or windows")
        if not 1 <= self.reach <= MOST_BLOCKS:
            raise BadParameter("reach", self.reach, "at least 1")
        ends = [end for pair in self.ranges for end in pair]
        rising = all(end < other for end, other in pairwise(ends))
        if not ends or ends[0] < 0 or ends[-1] > MOST_BLOCKS or not rising:
            raise BadParameter("ranges", self.ranges, "ranges of blocks that rise and do not touch")


Day = datetime.date
Span = Literal["days", "months"]
Edge = Fraction | Day

_LENGTH = re.compile(r"\s*([0-9]{1,5})\s+(day|week|month|quarter|year)s?\s*")
_LENGTHS: Mapping[str, tuple[Span, int]] = {
    "day": ("days", 1),
    "week": ("days", 7),
    "month": ("months", 1),
    "quarter": ("months", 3),
    "year": ("months", 12),
}
_ADVICE = 'a length such as "1 month", "2 weeks" or "7 days"'


@wired("Blocks", "column", "edges", "span", "length", "origin", "through", "since")
@dataclass(frozen=True, init=False)
class Blocks:
    """A division of a table's rows into blocks by one column, each row in one: parallel composition across questions.

    A question that reads some blocks is charged to these alone. Without `edges` and `length`, each declared value of
    the column is a block. Rows without a value there, or with one outside all blocks, are in none: only questions about
    the whole table read them.

    Args:
        column: a category, a boolean, a number or a date of the row itself; not nullable.
        edges: where blocks of numbers or dates begin, rising; the last one is the end of the last block.
        length: of blocks of time, such as "1 month", "2 weeks" or "7 days".
        origin: the public date on which the first block of time begins.
        through: the public date up to which there are blocks of time; the block that contains it is still growing.
            Today, if left out: the date on which the session is opened.
        since: the public date before which blocks of time are retired: they are never read again, by any question.

    Raises:
        BadParameter: if edges do not rise, or the arguments do not go together.

    Example:
        >>> privet.Blocks("day", length="1 month", origin="2025-01-01", through="2025-03-15").name(1)
        '2025-02-01'
    """

    column: str
    edges: tuple[Edge, ...] = ()
    span: Span | None = None
    length: int = 0
    origin: Day | None = None
    through: Day | None = None
    since: Day | None = None

    def __init__(
        self,
        column: str,
        *,
        edges: Sequence[Number | Day] | None = None,
        length: str | None = None,
        origin: Day | str | None = None,
        through: Day | str | None = None,
        since: Day | str | None = None,
    ) -> None:
        given_name(column, "column", "the name of a column")
        for name, day in (("origin", origin), ("through", through), ("since", since)):
            if length is None and day is not None:
                raise BadParameter(name, day, f"left out, or beside {_ADVICE}")
        if length is not None and (edges is not None or origin is None):
            raise BadParameter("origin", origin, "a date beside length, and no edges")
        span, many = (None, 0) if length is None else _read_length(length)
        first = None if origin is None else read_day(origin, "origin")
        if span == "months" and first is not None and first.day != 1:
            raise BadParameter("origin", str(first), "the first day of a month, for blocks of months")
        last = None if through is None else read_day(through, "through")
        if first is not None and last is not None and last < first:
            raise BadParameter("through", str(last), f"on or after the origin, {first}")
        set_fields(
            self,
            column=column,
            edges=() if edges is None else _read_edges(edges),
            span=span,
            length=many,
            origin=first,
            through=last,
            since=None if since is None else read_day(since, "since"),
        )
        check_fields(self)
        if span is not None and last is not None and self.count(()) > MOST_BLOCKS:
            raise BadParameter("length", length, f"so long that there are at most {MOST_BLOCKS:,} blocks")

    @property
    def timed(self) -> bool:
        """Whether blocks follow a calendar, and new ones come."""
        return self.span is not None

    def until(self, today: Day) -> Blocks:
        """Return the division with its calendar up to a date, unless it declares one itself."""
        if self.span is None or self.through is not None:
            return self
        made = object.__new__(Blocks)
        set_fields(made, **{**vars(self), "through": max(today, self.origin or today)})
        return made

    @property
    def first(self) -> int:
        """The number of the first block that may be read: those before it are retired."""
        if self.since is None or self.origin is None or self.since <= self.origin:
            return 0
        return self._number(self.since, self.origin)

    def _number(self, day: Day, origin: Day) -> int:
        """Return the number of the block of time that a date is in."""
        if self.span == "days":
            return (day - origin).days // self.length
        return ((day.year - origin.year) * 12 + day.month - origin.month) // self.length

    def start(self, number: int) -> Day:
        """Return the date on which a block of time begins; the last date there is, if it would begin after that."""
        if self.origin is None:
            raise BadParameter("number", number, "of a block of time")
        if self.span == "days":
            return self.origin + min(datetime.timedelta(days=self.length * number), Day.max - self.origin)
        months = self.origin.year * 12 + self.origin.month - 1 + self.length * number
        return Day.max if months // 12 > Day.max.year else Day(months // 12, months % 12 + 1, 1)

    def count(self, values: Sequence[Any]) -> int:
        """Return the number of blocks, of a column with these declared values."""
        if self.span is None:
            return len(self.edges) - 1 if self.edges else len(values)
        origin, through = self.origin, self.through
        if origin is None or through is None:
            return 0
        return self._number(through, origin) + 1

    def name(self, number: int, values: Sequence[Any] = ()) -> str:
        """Return a block's name: its value, its range, or the date on which it begins."""
        if self.span is not None:
            return self.start(number).isoformat()
        if self.edges:
            return f"{_shown(self.edges[number])} to {_shown(self.edges[number + 1])}"
        return str(values[number])

    @cached_property
    def starts(self) -> tuple[Edge, ...]:
        """Where the blocks of numbers or dates begin, and where the last one ends."""
        return self.edges or tuple(self.start(number) for number in range(self.count(()) + 1))

    def identity(self, table: str, unit: Unit, facts: ColumnFacts, values: Sequence[Any]) -> str:
        """Return a name by which ledgers know this division: another one has another, while a calendar only grows.

        Guarantee: under one name a unit is in the same blocks in every session. Values beyond the bounds of the column
        are clamped into the outermost blocks, and people are put into a block by their rows: with other bounds, or
        other people, the blocks of a unit are others.
        """
        whose = unit.column if isinstance(unit, Person) else None
        place = [self.column, list(self.edges), self.span, self.length, self.origin, list(values)]
        written = canonical([*place, facts.kind, facts.low, facts.high, whose])
        return f"{table} by {self.column} {hashlib.sha256(written.encode()).hexdigest()[:16]}"


def check_blocks(blocks: Blocks, unit: Unit, columns: Mapping[str, ColumnFacts]) -> None:
    """Raise `BadParameter` unless a table with this unit and these columns can be divided so."""
    facts = columns.get(blocks.column)
    if facts is None:
        raise BadParameter("blocks", blocks.column, f"by one of the listed columns: {', '.join(columns)}")
    if facts.nullable:
        raise BadParameter("blocks", blocks.column, "by a column that is not nullable: each row is in one block")
    moments = ("date", "timestamp")
    if blocks.timed and facts.kind not in moments:
        raise BadParameter("blocks", blocks.column, "by a column of dates or timestamps, where they have a length")
    if blocks.edges and facts.kind not in ("integer", "number", "date"):
        raise BadParameter("blocks", blocks.column, "by a column of numbers or dates, where they have edges")
    if blocks.edges and (facts.kind == "date") != isinstance(blocks.edges[0], Day):
        raise BadParameter(
            "edges", str(blocks.edges[0]), f"values of the column {blocks.column}, which is {facts.kind}"
        )
    if not blocks.timed and not blocks.edges and facts.kind != "boolean" and facts.values is None:
        raise BadParameter("blocks", blocks.column, "by a category with declared values, a boolean, edges or a length")
    if isinstance(unit, Window) and blocks.timed:
        if unit.time != blocks.column:
            raise BadParameter("blocks", blocks.column, f"by {unit.time}, the time of the windows that are protected")
        shortest = datetime.timedelta(days=blocks.length * (1 if blocks.span == "days" else 28))
        if shortest < unit.length:
            raise BadParameter("length", str(shortest), f"no shorter than the protected window, {unit.duration}")
    if blocks.since is not None and not isinstance(unit, (Rows, Window)):
        raise BadParameter("since", str(blocks.since), "left out: a person's rows in all blocks are protected together")
    if not isinstance(unit, (Rows, Person, Window)):
        raise BadParameter("blocks", blocks.column, "left out: the rows of this table are linked to another's people")


def _read_length(length: object) -> tuple[Span, int]:
    match = _LENGTH.fullmatch(length) if isinstance(length, str) and len(length) < 40 else None
    if match is None:
        raise BadParameter("length", length, _ADVICE)
    span, size = _LENGTHS[match[2]]
    return span, whole(int(match[1]), "length", least=1, most=10**4) * size


def _read_edges(edges: object) -> tuple[Edge, ...]:
    allowed = "at least two numbers or dates that rise"
    read = listed(edges, "edges", allowed)
    made: list[Edge] = []
    for edge in read:
        if isinstance(edge, str) or (isinstance(edge, Day) and not isinstance(edge, datetime.datetime)):
            made.append(read_day(edge, "edges"))
        else:
            made.append(Fraction(float_near(rational(edge, "edges"))))
    if len(made) < 2 or len({type(edge) for edge in made}) > 1 or len(made) > MOST_BLOCKS:
        raise BadParameter("edges", edges, allowed)
    if any(edge >= other for edge, other in pairwise(made)):  # type: ignore[operator]
        raise BadParameter("edges", edges, allowed)
    return tuple(made)


def _shown(edge: Edge) -> str:
    return f"{float(edge):g}" if isinstance(edge, Fraction) else edge.isoformat()
