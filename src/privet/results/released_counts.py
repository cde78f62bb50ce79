"""Counts that one release answers again and again: released numbers, public facts and a digest, and nothing else.

It keeps no session, engine or plan: answers cost nothing, and do not change with the tables.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Literal

from privet.answer import CrossTab, Series
from privet.core.errors import BadParameter, RequestError, UnknownName, quote, raise_alone
from privet.core.estimate import Estimate
from privet.core.given import optional_package, set_fields
from privet.core.numbers import Number, open_probability, read_rational
from privet.core.schema import Key
from privet.display import cost_words, draw_text, html_lines, written

if TYPE_CHECKING:
    from rich.console import Console

    from privet.strategy import Reconstruction, StrategyMeasure, Workload
    from privet.strategy.reconstruction import Answers

Place = Key | tuple[Any, Any]
"""A declared value, or the ends of a range of such."""

COUNT = "n"
"""What the column of counts is called, unless a key is."""


@dataclass(frozen=True, repr=False)
class CountTable(CrossTab):
    """Counts with intervals, one row for each cell, as a table."""

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the counts with error bars (needs matplotlib); save it if a path is given.

        Two keys make a heat map; one key makes bars, or a line with a band along numbers and dates.

        Args:
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            theme: "light" or "dark", for the page that it stands on.
        """
        from privet.plots.answers import plot_answer

        return plot_answer(self.series, confidence=self.confidence, path=path, theme=theme, heat=True)


@dataclass(frozen=True, repr=False, eq=False)
class ReleasedCounts:
    """What a strategy released over the cells of some columns, and how it is read. Every answer from it is free.

    It has released numbers, public facts about them, and their digest and version.
    """

    table: str
    names: tuple[str, ...]
    """The columns, in the order in which they were named."""
    values: tuple[tuple[Key, ...], ...]
    """The declared values of each of them."""
    axes: tuple[int, ...]
    """Which attribute of the strategy each of them is."""
    measure: StrategyMeasure
    """The measurements and their noise."""
    released: tuple[int, ...]
    """The noisy integers; each is worth 2**-exponent rows."""
    digest: str
    """The digest of the plan that was charged."""
    version: str
    """The version of the tables that were read, as declared; "" where there is none."""
    price: Mapping[str, float]
    """The cost of the release alone."""
    nonnegative: bool = False
    whole: bool = False
    total: int | None = None
    """The number of all rows, where it is declared and public."""
    may_be_low: bool = False
    """Whether contribution bounding can make counts too low: intervals do not cover that."""
    notes: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """Return the contents of a file: the release and public facts, and nothing that follows from them."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}
        measure, strategy = bare(self.measure), bare(self.measure.strategy)
        if bases := getattr(strategy, "bases", ()):
            set_fields(strategy, bases=tuple(None if basis is None else bare(basis) for basis in bases))
        set_fields(measure, strategy=strategy)
        return {**held, "measure": measure}

    @cached_property
    def _reconstruction(self) -> Reconstruction:
        from privet.strategy import reconstruct

        # weighted rows of people are not whole; there intervals are rounded outwards, and not cut
        whole = self.whole and not self.measure.shift
        noisy = self.measure.worth(self.released)
        return reconstruct(self.measure, noisy, nonnegative=self.nonnegative, whole=whole, total=self.total)

    def _answers(self, workload: Workload, confidence: Number) -> Answers:
        """Return the answers to a workload over the strategy's cells, as whole numbers where these are asked for."""
        from privet.strategy.reconstruction import Answers

        answers = self._reconstruction.answers(workload, confidence=confidence)
        if not self.whole or not self.measure.shift:
            return answers
        import numpy as np

        low, high = np.floor(answers.low + 1e-9), np.ceil(answers.high - 1e-9)
        values = np.clip(np.rint(answers.values), low, high)
        return Answers(values, low, high, answers.plain, answers.deviations, answers.confidence)

    def _whole_difference(self, value: float, low: float, high: float) -> tuple[float, float, float]:
        """Return the difference of two counts and its interval as whole numbers.

        Weighted rows of people are not whole, and neither is their difference: its interval is rounded outwards.
        """
        inner = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        outer = math.floor(low + 1e-9), math.ceil(high - 1e-9)
        first, last = map(float, outer if self.measure.shift or inner[0] > inner[1] else inner)
        return min(max(float(round(value)), first), last), first, last

    def _series(self, name: str, answers: Answers, order: Any = None) -> Series:
        """Return answers as a column, in another order where one is given."""

        def column(array: Any) -> tuple[Any, ...]:
            plain = array if order is None else array[order]
            return tuple(map(int, plain)) if self.whole else tuple(map(float, plain))

        errors = answers.deviations if order is None else answers.deviations[order]
        ends = column(answers.low), column(answers.high)
        return Series(name, column(answers.values), *ends, tuple(map(float, errors)), may_be_low=self.may_be_low)

    def _notes(self, level: float) -> tuple[str, ...]:
        covered = f"Each interval covers the added noise with probability {level:.3g} (pointwise, not simultaneously)."
        return (covered, *self.notes)

    def _count_name(self, taken: Sequence[str]) -> str:
        name = COUNT
        while name in taken:
            name += "_"
        return name

    def _facts(self) -> str:
        version = f", version {self.version}" if self.version else ""
        return f"{self.table}{version}; released once for {cost_words(self.price)}; every answer from it is free."

    def _words(self) -> list[str]:
        return [self._facts()]

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            for line in self._words():
                draw_text(console, line)

        return written(draw)

    def _repr_html_(self) -> str:
        return f"<div>{html_lines(self._words())}</div>"


@dataclass(frozen=True, repr=False, eq=False)
class Marginals(ReleasedCounts):
    """Counts by some columns together, for every set of columns that was measured and each part of one, for free.

    Example:
        >>> found = session.marginals("visits", ["ward", "age"], ways=2, epsilon=1)
        >>> found.counts("ward").series[0].name
        'ward'
        >>> len(found.counts("ward", "age")) == 111 * len(found.counts("ward"))
        True
    """

    asked: tuple[tuple[str, ...], ...] = ()
    """The sets of columns that were asked for."""

    def counts(self, *columns: str, confidence: Number = 0.95) -> CountTable:
        """Return the counts by some columns, one row for each combination of their declared values; of none, all rows.

        Args:
            columns: some of the columns that were measured together.
            confidence: the pointwise confidence level of the intervals.

        Raises:
            RequestError: if these columns were not measured together.

        Example:
            >>> session.marginals("visits", ["ward", "age"], epsilon=1).counts().series[0].name
            'n'
        """
        from privet.strategy import marginals
        from privet.strategy.covariances import NotMeasured

        level = float(open_probability(confidence, "confidence"))
        places = [self._place(name) for name in columns]
        if len(set(places)) < len(places):
            raise BadParameter("columns", ", ".join(columns), "different columns")
        axes = [self.axes[place] for place in places]
        try:
            answers = self._answers(marginals(self.measure.strategy.shape, [sorted(axes)]), confidence)
        except NotMeasured:
            measured = "; ".join(", ".join(names) for names in self.asked)
            raise_alone(
                RequestError(
                    f"{', '.join(columns)} were not measured together; these were, and any part of them: {measured}"
                )
            )
        values = [self.values[place] for place in places]
        keys = tuple(
            Series(name, column) for name, column in zip(columns, zip(*product(*values), strict=True), strict=True)
        )
        return CountTable(
            (*keys, self._series(self._count_name(columns), answers, self._order(axes))), level, self._notes(level)
        )

    def count(self, rows: Mapping[str, Place], *, confidence: Number = 0.95) -> Estimate:
        """Return how many rows have some values, or lie in ranges of a column whose values are numbers or dates.

        A range is a pair of ends, both included; None stands for the least or the largest value that is declared, so
        that (None, 17) is a prefix. Of bins, the values are those that tables show: where each bin starts. A range of
        bins has whole bins: (20, 40) of tens is all from 20 to 49, and so is (20, 49); an end inside a bin is refused.

        Args:
            rows: a declared value or a range for some of the columns that were measured together; none for all rows.
            confidence: the confidence level of the interval.

        Raises:
            RequestError: if columns were not measured together, a value is not declared, or a range has none.

        Example:
            >>> found = session.marginals("visits", ["ward", "age"], epsilon=1)
            >>> young = found.count({"ward": "heart", "age": (None, 17)})
            >>> young.low <= young.value <= young.high
            True

        Guarantee: the variance is that of the sum of cells by least squares, from their joint covariance.
        """
        from privet.strategy.covariances import NotMeasured
        from privet.strategy.reconstruction import workload_of_spans

        level = float(open_probability(confidence, "confidence"))
        spans = self._places_of(rows, "rows")
        try:
            answers = self._answers(workload_of_spans(self.measure.strategy.shape, spans), level)
        except NotMeasured:
            measured = "; ".join(", ".join(columns) for columns in self.asked)
            raise_alone(
                RequestError(
                    f"{', '.join(rows)} were not measured together; these were, and any part of them: {measured}"
                )
            )
        return self._estimate_of(answers, float(answers.values[0]), level)

    def difference(
        self, one: Mapping[str, Place], other: Mapping[str, Place], *, confidence: Number = 0.95
    ) -> Estimate:
        """Return how many more rows have the values of one than those of another, which may be of other columns.

        Counts of one release share their noise: the interval is that of the difference itself, which may be much
        narrower than the two counts' own, or wider.

        Args:
            one: a declared value or a range, as for `count`, for some of the columns that were measured together.
            other: the same for the rows that are subtracted.
            confidence: the confidence level of the interval.

        Raises:
            RequestError: if columns were not measured together, or a value is not declared.

        Example:
            >>> found = session.marginals("visits", ["ward", "age"], epsilon=1)
            >>> found.difference({"ward": "heart"}, {"ward": "heart"}).standard_error
            0.0
        """
        from privet.strategy.covariances import NotMeasured
        from privet.strategy.reconstruction import difference_of_counts

        level = float(open_probability(confidence, "confidence"))
        places = [self._places_of(given, name) for given, name in ((one, "one"), (other, "other"))]
        try:
            answers = difference_of_counts(self._reconstruction, places[0], places[1], level)
        except NotMeasured:
            measured = "; ".join(", ".join(columns) for columns in self.asked)
            raise_alone(
                RequestError(
                    f"each of the two counts is by columns that were measured together; these were, and any part of "
                    f"them: {measured}"
                )
            )
        low, high = float(answers.low[0]), float(answers.high[0])
        value = min(max(float(answers.plain[0]), low), high)
        if self.whole:
            value, low, high = self._whole_difference(value, low, high)
        return self._estimate_of(answers, value, level, ends=(low, high))

    def _estimate_of(
        self, answers: Answers, value: float, level: float, ends: tuple[float, float] | None = None
    ) -> Estimate:
        low, high = (float(answers.low[0]), float(answers.high[0])) if ends is None else ends
        return Estimate(
            value=value,
            low=low,
            high=high,
            confidence=level,
            standard_error=float(answers.deviations[0]),
            covers="the noise, not what bounding removes" if self.may_be_low else "the noise",
        )

    def _places_of(self, given: object, parameter: str) -> dict[int, tuple[int, int]]:
        """Return where declared values are, by the attributes of the strategy."""
        if not isinstance(given, Mapping):
            example = f"{{{self.names[0]!r}: {self.values[0][0]!r}}}"
            raise BadParameter(parameter, type(given).__name__, f"a value for each of some columns, such as {example}")
        spans = {}
        for name, value in given.items():
            place = self._place(name)
            if isinstance(value, (tuple, list)):
                spans[self.axes[place]] = self._span(name, self.values[place], value, parameter)
                continue
            plain = _plain(value)
            number = None if plain is None or isinstance(plain, bool) else read_rational(plain)
            known = [
                at
                for at, key in enumerate(self.values[place])
                if (type(key) is type(plain) and key == plain)
                or (number is not None and _is_number(key) and number == key)
            ]
            if not known:
                raise BadParameter(parameter, value, f"a declared value of {name}: {_some(self.values[place])}")
            spans[self.axes[place]] = known[0], known[0]
        return spans

    def _span(self, name: str, values: Sequence[Key], ends: Sequence[Any], parameter: str) -> tuple[int, int]:
        """Return the first and the last place of the values in a range."""
        known: Any = [value for value in values if value is not None]
        if not rising(known):
            raise BadParameter(parameter, ends, f"a declared value of {name}, whose values are in no order for ranges")
        allowed = f"a pair of ends of {name}, from {known[0]} to {known[-1]}, the lower one first; None for no end"
        if len(ends) != 2:
            raise BadParameter(parameter, ends, allowed)
        low, high = (None if end is None else _end(_plain(end), known[0], parameter, allowed) for end in ends)
        if _cuts(known, low, high):
            shown = f"{known[0]}, {known[1]} ... {known[-1]}"
            raise BadParameter(
                parameter, ends, f"a pair of values of {name}, which are {shown}, and count whole; None for no end"
            )
        inside = [
            place
            for place, value in enumerate(known)
            if (low is None or value >= low) and (high is None or value <= high)
        ]
        if not inside:
            raise BadParameter(parameter, ends, allowed)
        return inside[0], inside[-1]

    def _order(self, axes: Sequence[int]) -> Any:
        """Return where each cell is among those of the strategy's order, for cells in the order of these axes."""
        import numpy as np

        order = sorted(axes)
        sizes = [self.measure.strategy.shape[axis] for axis in order]
        places = np.arange(math.prod(sizes)).reshape(sizes)
        return places.transpose([order.index(axis) for axis in axes]).ravel()

    def _place(self, name: object) -> int:
        if not isinstance(name, str):
            raise BadParameter("columns", type(name).__name__, f"names of columns: {', '.join(self.names)}")
        if name not in self.names:
            raise UnknownName("column", name, self.names)
        return self.names.index(name)

    def __iter__(self) -> Iterator[CountTable]:
        """Iterate over the tables that were asked for."""
        return (self.counts(*columns) for columns in self.asked)

    def to_dict(self, *columns: str, confidence: Number = 0.95) -> dict[str, list[Any]]:
        """Return counts as lists: by these columns, or all tables that were asked for, one below the other.

        In a row of a table that is not by a column, that column is "(all)".
        """
        if columns:
            return self.counts(*columns, confidence=confidence).to_dict()
        tables = [self.counts(*asked, confidence=confidence).to_dict() for asked in self.asked]
        count = self._count_name(self.names)
        listed: dict[str, list[Any]] = {name: [] for name in self.names}
        for names, table in zip(self.asked, tables, strict=True):
            own = self._count_name(names)
            size = len(table[own])
            for name in self.names:
                listed[name] += table[name] if name in names else [ALL] * size
            for name, column in table.items():
                if name not in names:
                    listed.setdefault(count + name.removeprefix(own), []).extend(column)
        return listed

    def to_pandas(self, *columns: str, confidence: Number = 0.95) -> Any:
        """Return the counts by these columns, or all tables that were asked for, as a pandas frame (needs pandas)."""
        return optional_package("pandas", "to_pandas needs").DataFrame(self.to_dict(*columns, confidence=confidence))

    def plot(self, *columns: str, path: Any = None, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the counts by one column or two, a heat map for two (needs matplotlib).

        Args:
            columns: one or two columns; the first table that was asked for if left out.
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            theme: "light" or "dark", for the page that it stands on.
        """
        chosen = columns or self.asked[0]
        if not 1 <= len(chosen) <= 2:
            raise RequestError(f"a picture is of one column or two; name them, of {', '.join(self.names)}")
        return self.counts(*chosen).plot(path, theme=theme)

    def _words(self) -> list[str]:
        tables = "; ".join(", ".join(columns) or "all rows" for columns in self.asked)
        use = f"Use .counts('{self.names[0]}'), .to_pandas(), .plot()."
        return [self._facts(), f"Counts by any part of: {tables}. {use}"]


def _cuts(values: Sequence[Any], low: Any, high: Any) -> bool:
    """Return whether an end of a range lies inside a bin: between where two bins start, or inside the last.

    Whole numbers and days that follow each other are no bins. A bin of them ends one before the next starts: 29 ends
    that from 20 to 29. What ends a bin of other values is not a value, so that only where bins start can be named.
    """
    first = values[0]
    whole = {int: 1, datetime.date: datetime.timedelta(days=1)}.get(type(first))
    if whole is not None and all(after - before == whole for before, after in pairwise(values)):
        return False
    last = values[-1] + (values[-1] - values[-2]) if len(values) > 1 else first
    starts = low is None or low <= first or low in values
    ends = high is None or high in values or high >= last or (whole is not None and high + whole in {*values, last})
    return not (starts and ends)


def rising(values: Sequence[Key]) -> bool:
    """Return whether values are numbers or dates, each above the one before."""
    dates = {type(value) for value in values if isinstance(value, datetime.date)}
    numbers = {type(value) for value in values if _is_number(value)}
    kinds = set(map(type, values))
    if not values or not (kinds <= numbers or (kinds <= dates and len(kinds) == 1)):
        return False
    pairs: Any = pairwise(values)
    return all(left < other for left, other in pairs)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plain(value: object) -> object:
    """Return the plain value of a scalar of NumPy, as frames have them; anything else as it is."""
    import numpy as np

    if isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]")
        return day.item() if day == value else value
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.timedelta64) else value


_SHOWN = 4


def _some(values: Sequence[Key]) -> str:
    """Return a few values, and the last of more."""
    shown = ["NULL" if value is None else quote(value) if isinstance(value, str) else str(value) for value in values]
    return ", ".join(shown if len(shown) <= _SHOWN + 1 else [*shown[:_SHOWN], "...", shown[-1]])


def _end(end: object, like: Key, parameter: str, allowed: str) -> Any:
    """Return an end of a range, as a number or a date that values are compared with."""
    if isinstance(like, datetime.date):
        if type(end) is not type(like):
            raise BadParameter(parameter, end, allowed)
        return end
    number = None if isinstance(end, bool) else read_rational(end)
    if number is None:
        raise BadParameter(parameter, end, allowed)
    return number


ALL = "(all)"
"""What stands for a column that a table is not by."""


def bare(value: Any) -> Any:
    """Return a copy of a value that has its fields, and nothing that was computed from them."""
    copied = object.__new__(type(value))
    set_fields(copied, **{field.name: getattr(value, field.name) for field in fields(value)})
    return copied
