"""From the rows of one step to a vector of whole numbers: clamped, put on the grid, and bounded for each person.

Each row is taken or dropped alone, or by its own person's earlier rows. No row raises an error: that would show it.
"""

from __future__ import annotations

import datetime
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from privet.core.errors import BadParameter, RequestError
from privet.core.given import is_a, listed, mapping, set_fields
from privet.core.given import moment as read_moment
from privet.core.numbers import Number, positive, rational, whole

from .sums import LARGEST_TOTAL, LONGEST, Integers

_MOST_GROUPS = 2**16
_LARGEST_BOUND = 2**32


@dataclass(frozen=True)
class Arrival:
    """One row that arrives in a step: its value, its group and its person.

    Args:
        value: the row's contribution to the sum; 1 counts it.
        group: its group, where the stream has groups.
        person: whose row it is: text or a whole number, spelt the same way each time.

    Example:
        >>> stream.Arrival(2.5, group="A", person="p7").value
        2.5
    """

    value: Any = 1
    group: Any = None
    person: Any = None


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The terms of a stream: the bounds and the grid of one row's value, the groups, and the rows of one person.

    `rows` is None at event level, where one row is protected; otherwise each person's first `rows` rows are kept.
    """

    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    grid: Fraction = Fraction(1)
    groups: tuple[str, ...] | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        low, high, grid = rational(self.low, "low"), rational(self.high, "high"), positive(self.grid, "grid")
        if not low < high:
            raise BadParameter("high", self.high, "above low")
        for name, end in (("low", low), ("high", high)):
            if abs(end) / grid > _LARGEST_BOUND:
                raise BadParameter(name, end, f"at most {_LARGEST_BOUND} grid steps from 0; a coarser grid has fewer")
        groups = None if self.groups is None else tuple(listed(self.groups, "groups", "a list of names", texts=True))
        plain = groups is None or all(type(group) is str and group for group in groups)
        if groups is not None and not (plain and 0 < len(set(groups)) == len(groups) <= _MOST_GROUPS):
            raise BadParameter("groups", self.groups, f"1 to {_MOST_GROUPS} different names")
        rows = None if self.rows is None else whole(self.rows, "rows_per_person", least=1, most=LONGEST)
        set_fields(self, low=low, high=high, grid=grid, groups=groups, rows=rows)
        if self.bound == 0:
            raise BadParameter("grid", self.grid, "at most the larger of the bounds")

    @property
    def width(self) -> int:
        """How many sums run at once."""
        return 1 if self.groups is None else len(self.groups)

    @property
    def lowest(self) -> int:
        """The least value of a row, in grid steps."""
        return math.ceil(self.low / self.grid)

    @property
    def highest(self) -> int:
        """The largest value of a row, in grid steps."""
        return math.floor(self.high / self.grid)

    @property
    def bound(self) -> int:
        """The largest size of a row's value, in grid steps."""
        return max(abs(self.lowest), abs(self.highest))

    def on_grid(self, value: Any) -> int | None:
        """Return a row's value in grid steps, clamped; None for a value that is no number, which is dropped."""
        if isinstance(value, bool | np.bool_):
            value = int(value)
        try:
            if isinstance(value, int | np.integer):
                steps = round(Fraction(int(value)) / self.grid)
            elif isinstance(value, Fraction):
                steps = round(value / self.grid)
            else:
                near = float(value)
                if math.isnan(near):
                    return None
                if math.isinf(near):
                    return self.highest if near > 0 else self.lowest
                steps = round(Fraction(near) / self.grid)
        except Exception:  # a foreign number may raise anything, and an error would show the row
            return None
        return min(max(steps, self.lowest), self.highest)


class Bounding:
    """Keeps the first rows of each person, by arrival, and counts them: a function of that person's rows alone.

    The counts are private and exact. People are kept under a keyed hash. `before` returns how many rows of a person
    were kept so far; `known` are its results, and `changed` the counts that differ now.

    No table with noise could replace it. Whether the next row of a person is kept must be known for sure, or some
    person would have more rows than the noise is made for. And a process with a state that knows it for sure, for any
    person, can ask it: go on from a copy with a row of that person, and check whether it counts. So the table is
    protected as private data, in files of mode 0600.

    Guarantee: over the whole stream, no person has more than `rows` rows in the sums, and whether a row is kept depends
    on that person's own earlier rows alone: adding or removing a person moves no other's.
    """

    def __init__(self, layout: Layout, secret: bytes, before: Callable[[bytes], int]) -> None:
        self._layout, self._secret, self._before = layout, secret, before
        self._places = {name: place for place, name in enumerate(layout.groups or ())}
        self.known: dict[bytes, int] = {}
        self.changed: dict[bytes, int] = {}

    def totals(self, arrivals: Iterable[Arrival]) -> list[int]:
        """Return the totals of one step, and count its rows."""
        totals = [0] * self._layout.width
        for row in arrivals:
            place = self._place(row.group)
            value = self._layout.on_grid(row.value)
            if place is not None and value is not None and self._takes(row.person):
                totals[place] += value
        return [min(max(total, -LARGEST_TOTAL), LARGEST_TOTAL) for total in totals]

    def _place(self, group: Any) -> int | None:
        if self._layout.groups is None:
            return 0
        return self._places.get(group) if type(group) is str else None

    def _takes(self, person: Any) -> bool:
        most = self._layout.rows
        if most is None:
            return True
        if type(person) not in (str, int):
            return False
        name = f"{type(person).__name__}:{person}".encode(errors="surrogatepass")
        hashed = hashlib.blake2b(name, key=self._secret, digest_size=16).digest()
        if hashed not in self.known:
            self.known[hashed] = self._before(hashed)
        before = self.changed.get(hashed, self.known[hashed])
        if before >= most:
            return False
        self.changed[hashed] = before + 1
        return True


def read_arrivals(rows: Any) -> list[Arrival]:
    """Return the rows of a step, or raise where they are not a list of arrivals; the message quotes none."""
    if isinstance(rows, list | tuple) and all(type(row) is Arrival for row in rows):
        return list(rows)
    raise BadParameter("rows", type(rows).__name__, "a list of Arrivals, such as [Arrival(1, person='p7')]")


def read_value(value: Any, layout: Layout) -> list[int]:
    """Return the totals of one step that were added up elsewhere, clamped.

    Totals are whole numbers, and the grid is 1: a total that is rounded after adding up would move by one more step.
    """
    if layout.rows is not None:
        raise RequestError(
            "this stream protects people, so each row needs its person: pass rows=[Arrival(value, person=...)]"
        )
    if layout.grid != 1:
        raise RequestError("totals on a grid cannot be passed as one number: pass rows=[Arrival(value)] instead")
    if layout.groups is None:
        return [_total(value)]
    given = mapping(value, "value", "a mapping of groups to whole numbers")
    if not layout.groups or not set(given) <= set(layout.groups):  # a name that is not declared is data: not quoted
        raise BadParameter("value", "another", f"a mapping of these groups: {', '.join(layout.groups[:20])}")
    return [_total(given.get(name, 0)) for name in layout.groups]


def read_values(values: Any, layout: Layout) -> Integers | None:
    """Return the totals of many steps at once where they are plain whole numbers in an array or a list of them."""
    if layout.rows is not None or layout.grid != 1 or layout.groups is not None:
        return None
    try:
        array = np.asarray(values)
    except Exception:  # anything may be passed
        return None
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        return None
    return np.asarray(np.clip(array, -LARGEST_TOTAL, LARGEST_TOTAL), dtype=np.int64)[:, None]


def _total(value: Any) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise BadParameter("value", type(value).__name__, "the total of a step, as a whole number")
    return min(max(int(value), -LARGEST_TOTAL), LARGEST_TOTAL)


@dataclass(frozen=True)
class StepClock:
    """Which step a moment is in: steps of equal length from a public start. It never depends on arrivals.

    Args:
        start: when the first step begins, with its time zone.
        every: how long each step is.

    Example:
        >>> import datetime
        >>> start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        >>> stream.StepClock(start, datetime.timedelta(days=1)).step_at(start + datetime.timedelta(hours=30))
        2
    """

    start: datetime.datetime
    every: datetime.timedelta

    def __post_init__(self) -> None:
        set_fields(self, start=read_moment(self.start, "start"))
        if not is_a(self.every, datetime.timedelta) or not self.every > datetime.timedelta(0):
            raise BadParameter("every", self.every, "the length of a step, as a timedelta above 0")

    def step_at(self, moment: datetime.datetime) -> int:
        """Return the number of the step that a moment is in, from 1."""
        number = (read_moment(moment, "moment") - self.start) // self.every + 1
        if number < 1:
            raise BadParameter("moment", moment, f"not before the stream's start, {self.start.isoformat()}")
        return number

    def empty_before(self, moment: datetime.datetime, closed: int) -> int:
        """Return how many empty steps lie between the last closed one and the step that a moment is in.

        Raises:
            RequestError: if that step is closed: the clock went back, or the rows are late.
        """
        now = self.step_at(moment)
        if now <= closed:
            raise RequestError(
                f"the moment is in step {now}, and step {closed} is closed: a clock went back, or the rows are late; "
                "pass late rows with the current step"
            )
        return now - closed - 1

    def to_dict(self) -> dict[str, Any]:
        """Return the clock as plain data."""
        return {"start": self.start.isoformat(), "microseconds": self.every // datetime.timedelta(microseconds=1)}


def read_clock(data: Any) -> StepClock | None:
    """Return the clock that was written; None where there is none."""
    if data is None:
        return None
    length = datetime.timedelta(microseconds=data["microseconds"])
    return StepClock(datetime.datetime.fromisoformat(data["start"]), length)


def given_clock(clock: Any) -> StepClock | None:
    """Return a clock that was passed, or raise where it is none."""
    if clock is not None and not is_a(clock, StepClock):
        raise BadParameter("clock", type(clock).__name__, "a StepClock(start, every), or left out")
    timed: StepClock | None = clock
    return timed


FOLLOWS = "this stream follows a clock: pass a moment within each step, with step_at(moment)"
NO_CLOCK = "this stream has no clock: use step, or open a stream with clock=StepClock(start, every)"


Value = Number | Mapping[str, int]
