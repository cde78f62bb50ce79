"""Answers: released rows with an interval for every number, the cost, and a certificate. Reads no data."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from privet.core.event import Receipt
from privet.core.relation import Call, ColumnRef, Expression
from privet.core.relation import Literal as Constant
from privet.planner.accuracy import Accuracy

from .core.errors import BadParameter, RequestError, UnknownName, Unsupported
from .core.estimate import Covers, Estimate
from .core.given import choice, optional_package, truth
from .core.numbers import Number, float_near, positive
from .display import (
    MARKS,
    MOST_ROWS,
    Figures,
    answer_columns,
    draw_columns,
    draw_text,
    html_lines,
    html_table,
    is_moments,
    written,
)
from .inference.contrast import ALTERNATIVES, Alternative
from .inference.finding import Finding
from .planner.contributions import covered_in_words
from .planner.groupings import Combined, Levels, Several, levels_in, parts_of
from .planner.measurements import Measurements, measurements_of
from .planner.plan import Plan
from .planner.public_plan import PublicPlan
from .query.nodes import bin_widths
from .query.resolve import BESIDE, OVER_ROWS, meanings
from .release import Released

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Series:
    """One column of an answer. `low`, `high` and `error` are None for keys and labels, which have no interval.

    They are NaN in a row that is NULL whatever the noise.
    """

    name: str
    values: tuple[Any, ...]
    low: tuple[Any, ...] | None = None
    """The low ends of the intervals: numbers, or dates and timestamps where the values are, None for NaN there."""
    high: tuple[Any, ...] | None = None
    error: tuple[float, ...] | None = None
    """The standard errors; in days where the values are dates or timestamps."""
    may_be_low: bool = False
    """Whether contribution bounding can make the numbers too low: intervals do not cover that."""
    may_be_high: bool = False
    """Whether it can make them too high: sums of values below zero, and differences, move the other way."""

    @property
    def mark(self) -> str:
        """The mark before the numbers where bounding can move them: ≥ (at least), ≤ (at most), ≈, or nothing."""
        return MARKS[self.may_be_low, self.may_be_high]

    @property
    def noisy(self) -> bool:
        """Whether the column has intervals."""
        return self.low is not None


RECONSTRUCTED = (
    "intervals for a population are of aggregates as they were released, and rows of this answer were "
    "summed, joined, reconciled or reconstructed afterwards; ask for the aggregates by themselves"
)
"""Why no population interval is known of some answers."""


class Sampling(Protocol):
    """An answer's knowledge of the population that its rows were drawn from."""

    def estimates(self, column: str) -> tuple[Estimate, ...]:
        """Return each number of a column with an interval that covers the population."""
        ...

    def compare(
        self,
        one: ComparedNumber,
        other: ComparedNumber,
        *,
        covers: Covers,
        alternative: Alternative,
        margin: float | None,
    ) -> Finding:
        """Return how two numbers compare."""
        ...


@dataclass(frozen=True, eq=False)
class ComparedNumber:
    """One number of an answer to compare: its column, its row, its name, and the identity of its release."""

    sampled: Sampling
    column: str
    row: int
    label: str
    charge: tuple[int, str]
    """The entry of the ledger that paid for it, and its digest."""
    digest: str
    """The digest of the plan: one charge may pay for several."""


class Ends(tuple[Any, Any]):
    """The two ends of an interval; called, the same number's interval that covers more."""

    _widened: Callable[[Covers], Estimate]

    def __new__(cls, ends: tuple[Any, Any], widened: Callable[[Covers], Estimate]) -> Self:
        made = super().__new__(cls, ends)
        made._widened = widened
        return made

    def __call__(self, *, covers: Covers = "noise") -> Estimate:
        """Return the number with an interval for the noise, or for a population as well. See `Answer.estimates`."""
        return self._widened(covers)

    def __reduce__(self) -> Any:
        return tuple, (tuple(self),)


Summed = Callable[[str, tuple[str, ...]], tuple[Series, ...]]
"""Returns the sums of a column over the rows of an answer that have some columns in common: these, and the sums."""


@dataclass(frozen=True, repr=False)
class Answer:
    """A private answer: columns with intervals, their coverage and cost, and the plan behind them."""

    series: tuple[Series, ...]
    confidence: float
    plan: Plan
    receipt: Receipt
    notes: tuple[str, ...]
    accuracy: Accuracy | None = None
    """Whether a width that was asked for was reached, where that depends on the data."""
    limits: tuple[int, ...] = ()
    """The contribution limits that the answer chose for itself, where it was asked to: `contribution="auto"`."""
    released: tuple[Released, ...] = field(default=(), repr=False)
    """The release: for each grouping of the question, the groups and their numbers."""
    summed: Summed | None = field(default=None, repr=False, compare=False)
    """Sums the answer's rows, with intervals by the law of the noise that they share."""
    sampled: Sampling | None = field(default=None, repr=False, compare=False)
    """Adds sampling error to the noise; None where rows were summed, joined or reconciled after their release."""

    def __len__(self) -> int:
        return len(self.series[0].values) if self.series else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over rows: each column's value, and for noisy ones its `_low`, `_high` and `_error`."""
        flat = self.to_dict()
        for index in range(len(self)):
            yield {name: values[index] for name, values in flat.items()}

    def __getitem__(self, name: str) -> Series:
        """Return a column by name."""
        return _find(self.series, name)

    @property
    def value(self) -> Any:
        """The one released number of a one-row answer, or the one value that it has."""
        if len(self) == 1 and len(self.series) == 1:
            return self.series[0].values[0]
        return self._only().values[0]

    @property
    def interval(self) -> Ends:
        """The interval of the one released number of a one-row answer; of a date, two dates.

        `answer.interval(covers="population")` returns the number with an interval that covers sampling as well, as an
        `Estimate` whose `covers` names what is estimated. It costs nothing. See `estimates`.

        Example:
            >>> wide = session.ask("SELECT AVG(age) FROM visits", epsilon=1).interval(covers="population")
            >>> wide.covers
            'the noise, and sampling from a population, of the weighted mean, each person counting at most 3 rows'
        """
        only = self._only()
        ends = (only.low or (math.nan,))[0], (only.high or (math.nan,))[0]
        return Ends(ends, lambda covers: self.estimates(only.name, covers=covers)[0])

    def estimates(self, column: str, *, covers: Covers = "noise") -> tuple[Estimate, ...]:
        """Return the numbers of a column, each with its interval and coverage. It costs nothing.

        With covers="population" intervals cover the number of the population that the people were drawn from,
        independently of each other. Rows of one person may have anything in common: a limit of C rows per person makes
        variances C times as large. Means, counts and sums need a bound on the variance, which declared bounds yield;
        where the question asks for VAR(x) beside AVG(x) or SUM(x), the released squares make it narrower.

        Args:
            column: the name of a column with intervals.
            covers: "noise", for the rows that were asked about; or "population".

        Raises:
            Unsupported: no such interval is known for this column; the message states why, and an alternative.

        Example:
            >>> answer = session.ask("SELECT ward, AVG(age) AS age FROM visits GROUP BY ward", epsilon=1)
            >>> len(answer.estimates("age", covers="population")) == len(answer)
            True
        """
        choice(covers, "covers", ("noise", "population"))
        series = self._named(column, "column")
        if covers == "population":
            return self._sampled().estimates(series.name)
        if not series.noisy or is_moments(series):
            raise RequestError(f"{series.name!r} has no numbers with intervals; take its values")
        words = covered_in_words(self.plan) + (", not what bounding removes" if series.mark else "")
        ends = zip(series.values, series.low or (), series.high or (), series.error or (), strict=True)
        return tuple(
            Estimate(
                value=math.nan if value is None else float(value),
                low=low,
                high=high,
                confidence=self.confidence,
                standard_error=error,
                covers=words,
            )
            for value, low, high, error in ends
        )

    def compare(
        self,
        one: Any = None,
        other: Any = None,
        *,
        column: str | None = None,
        to: Answer | None = None,
        covers: Covers = "noise",
        alternative: Alternative = "two-sided",
        margin: Number | None = None,
    ) -> Finding:
        """Return how two groups of this answer compare, or two answers: difference, ratio and p-value, at no cost.

        Args:
            one: the key of a group, or a tuple of its keys; left out where the answer has one row.
            other: the key of the other group.
            column: the column of numbers; left out where there is one.
            to: another answer, which the other number is taken from.
            covers: "noise", for the rows that were asked about; "population" for the people they were drawn from.
            alternative: "two-sided"; "greater" where only a larger first number counts as evidence, or "less".
            margin: if passed, the p-value is of the hypothesis that the two differ by that much or more (equivalence).

        Returns:
            A finding. Ends of intervals may be infinite: the data and the noise do not bound them.

        Raises:
            RequestError: there is no such group, or no law of such a difference is known.

        Example:
            >>> answer = session.ask("SELECT ward, AVG(age) AS age FROM visits GROUP BY ward", epsilon=1)
            >>> list(answer.compare("A", "B", covers="population").estimates)
            ['difference', 'ratio']
        """
        choice(covers, "covers", ("noise", "population"))
        choice(alternative, "alternative", ALTERNATIVES)
        if to is not None and not isinstance(to, Answer):
            raise BadParameter("to", to, "another answer")
        width = None if margin is None else float_near(positive(margin, "margin"))
        if width is not None and alternative != "two-sided":
            raise BadParameter("alternative", alternative, "left out where margin= is given: both sides are tested")
        first, second = self._number(one, column, "one"), (self if to is None else to)._number(other, column, "other")
        if to is not None:
            second = replace(second, label=f"{second.label} in the other answer")
        return first.sampled.compare(first, second, covers=covers, alternative=alternative, margin=width)

    def _number(self, key: Any, column: str | None, parameter: str) -> ComparedNumber:
        """Return the number of a group, by its key."""
        noisy = [series.name for series in self.series if series.noisy]
        if column is None and len(noisy) != 1:
            raise BadParameter("column", column, f"one of the columns with intervals: {', '.join(noisy)}")
        name = noisy[0] if column is None else self._named(column, "column").name
        if name not in noisy:
            raise BadParameter("column", column, f"one of the columns with intervals: {', '.join(noisy)}")
        keys = [series for series in self.series if not series.noisy]
        rows = list(zip(*(series.values for series in keys), strict=True)) if keys else [()] * len(self)
        wanted = () if key is None else key if isinstance(key, tuple) else (key,)
        matching = [place for place, row in enumerate(rows) if _same_keys(row, wanted)]
        if not matching and key is None and len(rows) == 1:
            matching, wanted = [0], rows[0]
        if len(matching) != 1:
            listed = ", ".join(str(row[0] if len(row) == 1 else row) for row in rows[:10])
            raise BadParameter(parameter, key, f"the key of one group of the answer: {listed}")
        label = f"{name} of {', '.join(map(str, wanted))}" if wanted else name
        sampled = self._sampled()
        charge = (self.receipt.entry, self.receipt.digest)
        return ComparedNumber(sampled, name, matching[0], label, charge, self.plan.digest)

    def _sampled(self) -> Sampling:
        if self.sampled is None:
            raise Unsupported(RECONSTRUCTED)
        return self.sampled

    @property
    def estimate(self) -> Estimate:
        """The one released number of a one-row answer, with its interval and coverage."""
        only = self._only()
        if is_moments(only):
            raise RequestError(
                "the answer is a date or a timestamp, and an estimate is a number; take value and interval"
            )
        value = math.nan if only.values[0] is None else float(only.values[0])
        low, high = self.interval
        error = (only.error or (math.nan,))[0]
        covers = covered_in_words(self.plan) + (", not what bounding removes" if only.mark else "")
        return Estimate(
            value=value, low=low, high=high, confidence=self.confidence, standard_error=error, covers=covers
        )

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, with `_low`, `_high` and `_error` beside each noisy one.

        A column that contribution bounding can lower has True in `_may_be_understated` beside it; likewise
        `_may_be_overstated` where bounding can raise it.
        """
        return _flat(self.series, len(self))

    def to_json(self) -> str:
        """Return rows, confidence, notes and certificate as JSON; dates are text, and NULL is null."""
        return json.dumps(
            {
                "rows": [{name: _plain(value) for name, value in row.items()} for row in self],
                "confidence": self.confidence,
                "notes": list(self.notes),
                "certificate": self.certificate(),
            },
            allow_nan=False,
        )

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table (needs pyarrow)."""
        return optional_package("pyarrow", "to_arrow needs").table(self.to_dict())

    def to_pandas(self) -> Any:
        """Return the columns as a pandas frame (needs pandas)."""
        return optional_package("pandas", "to_pandas needs").DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """Return the columns as a Polars frame (needs polars)."""
        return optional_package("polars", "to_polars needs").DataFrame(self.to_dict(), strict=False)

    def measurements(self) -> Measurements:
        """Return every number that was released for this answer, with its group, its grid and the law of its noise.

        They have been paid for: the noisy sum and the noisy count behind an average are among them. Estimates of your
        own, computed from them and from the laws of their noise, cost nothing more.

        Example:
            >>> session.ask("SELECT AVG(age) FROM visits", epsilon=1).measurements()[0].kind
            'sum'
        """
        if isinstance(self.plan, PublicPlan):
            return Measurements(())
        asked = self.plan.query
        together = isinstance(self.plan, Combined)
        return Measurements(
            tuple(
                row
                for (level, _), plan, released in zip(
                    levels_in(self.plan), parts_of(self.plan), self.released, strict=True
                )
                for row in measurements_of(
                    _drawn(plan, released),
                    (released.keys, released.sums),
                    plan.query if together else asked,
                    level=level,
                )
            )
        )

    def certificate(self) -> dict[str, Any]:
        """Return the protection, the method and the cost: public, for anyone who reads the numbers."""
        from .planner.explain import facts

        stated = self.plan.facts() if isinstance(self.plan, Several | PublicPlan) else facts(self.plan)
        stated = {**stated, "measurements": self.measurements().to_list()}
        stated.pop("measured", None)
        return {
            "entry": self.receipt.entry,
            "account": self.receipt.account,
            "head": self.receipt.head,
            "digest": self.receipt.digest,
            "confidence": self.confidence,
            **stated,
            "may_be_low": [series.name for series in self.series if series.may_be_low],
            "may_be_high": [series.name for series in self.series if series.may_be_high],
            **({} if self.accuracy is None else {"accuracy": self.accuracy.to_dict()}),
            **({"contribution_limits": list(self.limits)} if self.limits else {}),
            "notes": list(self.notes),
        }

    def pivot(self, index: str, columns: str, values: str, *, totals: bool = False) -> CrossTab:
        """Return a cross-tab of the answer's rows: the released numbers in a new layout, at no cost.

        It has a row for each value of one column, and a column for each value of another. Columns of numbers and dates
        rise; those of texts stand in the order of the answer. A pair that the answer has no row for is None.

        Args:
            index: the column whose values become rows.
            columns: the column whose values become columns.
            values: the column whose numbers stand where they meet, with their intervals.
            totals: whether to add a row and a column of totals. They are sums of the very numbers beside them, so all
                of them agree. Their intervals come from the law of the noise of the sum, and are infinite where none
                is known. Only numbers that add up have totals: counts of rows, and sums.

        Example:
            >>> answer = session.ask("SELECT ward, sex, COUNT(*) AS n FROM visits GROUP BY ward, sex", epsilon=1)
            >>> answer.pivot("ward", "sex", "n", totals=True)["total"].values  # doctest: +SKIP
            (812, 1204, 2016)
        """
        totals = truth(totals, "totals")
        down, across, cells = (
            self._named(name, parameter)
            for parameter, name in (("index", index), ("columns", columns), ("values", values))
        )
        for parameter, series in (("index", down), ("columns", across)):
            if series.noisy:
                raise BadParameter(parameter, series.name, "a column of groups, which has no intervals")
        if len({down.name, across.name, cells.name}) < 3:
            raise BadParameter("columns", across.name, "three different columns, together with index and values")
        if totals:
            _check_totals(self, cells)
        return _crossed(self, down, across, cells, totals=totals)

    def _named(self, name: Any, parameter: str) -> Series:
        if not isinstance(name, str):
            raise BadParameter(parameter, name, "the name of a column of the answer")
        return self[name]

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the noisy columns with error bars (needs matplotlib); save it if a path is given.

        Bars for groups, side by side for two keys or a heat map where there are many, a line with a band along dates
        and numbers. A notebook shows it automatically.

        Args:
            path: the file to write, too: .png, .svg or .pdf; none if left out.
            theme: "light" or "dark", for the page that it stands on.
        """
        from .plots.answers import plot_answer

        bins = bin_widths(self.plan.query)
        return plot_answer(self.series, confidence=self.confidence, bins=bins, path=path, theme=theme)

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_columns(console, *self._shown(), rows=len(self), most=MOST_ROWS)
            for note in ("", *self.notes):
                draw_text(console, note)

        return written(draw)

    def _repr_html_(self) -> str:
        keys, groups = self._shown()
        columns = [*keys, *(column for group in groups for column in group)]
        return f"<div>{html_table(columns, rows=len(self))}{html_lines(self.notes)}</div>"

    def _shown(self) -> tuple[list[Figures], list[list[Figures]]]:
        return answer_columns(self.series, self.confidence)

    def _only(self) -> Series:
        noisy = [series for series in self.series if series.noisy]
        if len(self) != 1 or len(noisy) != 1:
            many = "more than one number" if noisy else "no number with an interval"
            raise RequestError(f"the answer has {many}; name the column and take its values")
        return noisy[0]


@dataclass(frozen=True, repr=False)
class CrossTab:
    """Released rows as a cross-tab: a column of labels, then one for each value of a column of the answer.

    A cell that the answer has no row for is None.
    """

    series: tuple[Series, ...]
    confidence: float
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.series[0].values)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over rows: the label, and each column's value with its `_low`, `_high` and `_error`."""
        flat = self.to_dict()
        for index in range(len(self)):
            yield {name: values[index] for name, values in flat.items()}

    def __getitem__(self, name: str) -> Series:
        """Return a column by name."""
        return _find(self.series, name)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, with `_low`, `_high` and `_error` beside each noisy one, as an answer does."""
        return _flat(self.series, len(self))

    def to_pandas(self) -> Any:
        """Return the columns as a pandas frame (needs pandas)."""
        return optional_package("pandas", "to_pandas needs").DataFrame(self.to_dict())

    def __repr__(self) -> str:
        def draw(console: Console) -> None:
            draw_columns(console, *answer_columns(self.series, self.confidence), rows=len(self), most=len(self))
            for note in ("", *self.notes):
                draw_text(console, note)

        return written(draw)

    def _repr_html_(self) -> str:
        keys, groups = answer_columns(self.series, self.confidence)
        columns = [*keys, *(column for group in groups for column in group)]
        return f"<div>{html_table(columns, rows=len(self), most=len(self))}{html_lines(self.notes)}</div>"


TOTAL = "total"
"""The name of the row and the column of totals, where no value of the answer has it."""

_SHOWN_ONLY = "Totals are of the groups that are shown; those too rare to be found are in none."
_NO_INTERVAL = (
    "Of some totals no interval can be stated: noise chose which rows they are of, or what is known cannot be summed."
)


def _check_totals(answer: Answer, cells: Series) -> None:
    """Refuse totals of numbers that do not add up, or are added up already."""
    plain = all(value is None or type(value) in (int, float) for value in cells.values)
    if isinstance(answer.plan, Levels):
        raise RequestError("the answer has totals of its own, in the rows whose key is NULL; leave out totals=True")
    if not plain or not _adds_up(meanings(answer.plan.query).get(cells.name), answer.plan):
        raise RequestError(
            f"{cells.name!r} does not add up: totals are of numbers of rows and of sums. Leave out totals=True, or ask "
            f"for the totals themselves: GROUP BY CUBE (...) answers averages, people and quantiles over all"
        )


def _adds_up(meaning: Expression | None, plan: Plan) -> bool:
    """Whether a column's meaning for several groups is the sum of its meanings for each."""
    own = {reading.name: reading.aggregate for reading in plan.readings}
    match meaning:
        case ColumnRef(name=name):
            return name in own and own[name].additive and (own[name].linear is not None or own[name].steady)
        case Call(function="add" | "subtract" | "negate" | "to_number", arguments=parts):
            return all(_adds_up(part, plan) for part in parts)
        case Call(function="multiply" | "divide", arguments=(part, Constant())):
            return _adds_up(part, plan)
        case Call(function="multiply", arguments=(Constant(), part)):
            return _adds_up(part, plan)
        case Call(function="coalesce", arguments=(part, Constant(value=0))):
            return _adds_up(part, plan)
        case Call(function=function):
            return function in (OVER_ROWS, BESIDE)
    return False


def _crossed(answer: Answer, down: Series, across: Series, cells: Series, *, totals: bool) -> CrossTab:
    rows, columns = tuple(dict.fromkeys(down.values)), _in_order(across.values)
    pairs = list(zip(down.values, across.values, strict=True))
    if len(set(pairs)) < len(pairs):
        others = [
            series.name for series in answer.series if not series.noisy and series.name not in (down.name, across.name)
        ]
        raise BadParameter(
            "columns",
            across.name,
            f"a column that tells the rows of the answer apart, together with {down.name!r}; several rows have the "
            f"same two values{', and differ in ' + ', '.join(others) if others else ''}: group by these two alone",
        )
    places = {pair: place for place, pair in enumerate(pairs)}
    names = _labels(columns, taken=(down.name,))
    crossed = [
        _picked(cells, name, [places.get((row, key)) for row in rows]) for key, name in zip(columns, names, strict=True)
    ]
    if not totals:
        return CrossTab((Series(down.name, rows), *crossed), answer.confidence, answer.notes)
    below = _totals(answer, cells, across, columns)
    beside, all_of = _totals(answer, cells, down, rows), _totals(answer, cells, None, ((),))
    right = _labels((TOTAL,), taken=(down.name, *names))[0]
    table = [
        *(_stacked(column, _picked(below, column.name, [place])) for place, column in enumerate(crossed)),
        _stacked(_picked(beside, right, list(range(len(rows)))), _picked(all_of, right, [0])),
    ]
    label = _labels((TOTAL,), taken=tuple(row for row in rows if isinstance(row, str)))[0]
    ends = [end for column in table for end in (*(column.low or ()), *(column.high or ()))]
    unknown = any(math.isinf(end) for end in ends)
    notes = (
        *answer.notes,
        *([_SHOWN_ONLY] if answer.plan.discovers else []),
        *([_NO_INTERVAL] if unknown else []),
    )
    return CrossTab((Series(down.name, (*rows, label)), *table), answer.confidence, notes)


def _in_order(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return different values: numbers and dates rising, texts as they come, NULL last."""
    different = list(dict.fromkeys(value for value in values if value is not None))
    if not any(isinstance(value, str) for value in different):
        different.sort()
    return (*different, None) if None in values else tuple(different)


def _labels(values: Sequence[Any], taken: Sequence[str]) -> list[str]:
    """Return a name for each value, none of which is taken."""
    labels: list[str] = []
    for value in values:
        name = "NULL" if value is None else str(value)
        while name in labels or name in taken:
            name += "_"
        labels.append(name)
    return labels


def _picked(series: Series, name: str, places: Sequence[int | None]) -> Series:
    """Return a column of some rows of another, None where there is no such row."""
    none = None if is_moments(series) else math.nan
    values = tuple(None if place is None else series.values[place] for place in places)
    low, high = (
        None if ends is None else tuple(none if place is None else ends[place] for place in places)
        for ends in (series.low, series.high)
    )
    error = None if series.error is None else tuple(math.nan if at is None else series.error[at] for at in places)
    return Series(name, values, low, high, error, series.may_be_low, series.may_be_high)


def _stacked(above: Series, below: Series) -> Series:
    low, high, error = (
        None if upper is None or lower is None else (*upper, *lower)
        for upper, lower in ((above.low, below.low), (above.high, below.high), (above.error, below.error))
    )
    sides = (above.may_be_low or below.may_be_low, above.may_be_high or below.may_be_high)
    return Series(above.name, (*above.values, *below.values), low, high, error, *sides)


def _totals(answer: Answer, cells: Series, by: Series | None, groups: Sequence[Any]) -> Series:
    """Return the sums of a column over the rows of each group: of the numbers as shown, with the law of their noise."""
    parts: dict[Any, list[Any]] = {group: [] for group in groups}
    for row, value in enumerate(cells.values):
        if value is not None:
            parts[() if by is None else by.values[row]].append(value)
    values = tuple(_sum(values_of) for values_of in parts.values())
    if not cells.noisy:
        return Series(cells.name, values)
    if answer.summed is None:
        ends = tuple(math.nan if value is None else math.inf for value in values)
        return Series(cells.name, values, tuple(-end for end in ends), ends, (math.nan,) * len(values))
    *keys, summed = answer.summed(cells.name, () if by is None else (by.name,))
    places = {key: place for place, key in enumerate(keys[0].values if keys else ((),))}
    total = _picked(summed, cells.name, [places[group] for group in groups])
    sides = (summed.may_be_low or cells.may_be_low, summed.may_be_high or cells.may_be_high)
    return replace(total, values=values, may_be_low=sides[0], may_be_high=sides[1])


def _sum(values: Sequence[Any]) -> Any:
    if not values:
        return None
    return sum(values) if all(type(value) is int for value in values) else math.fsum(values)


def _same_keys(row: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    return len(row) == len(wanted) and all(type(a) is type(b) and a == b for a, b in zip(row, wanted, strict=True))


def _find(series: Sequence[Series], name: Any) -> Series:
    if not isinstance(name, str):
        raise BadParameter("name", name, "the name of a column")
    for column in series:
        if str.__eq__(column.name, name):
            return column
    raise UnknownName("column", str(name), (column.name for column in series))


def _flat(columns: Sequence[Series], size: int) -> dict[str, list[Any]]:
    """Return columns as lists, with the ends of intervals, errors and marks beside them."""
    taken = {series.name for series in columns}
    flat: dict[str, list[Any]] = {}
    for series in columns:
        flat[series.name] = list(series.values)
        marks = {"may_be_understated": series.may_be_low, "may_be_overstated": series.may_be_high}
        beside = {"low": series.low, "high": series.high, "error": series.error}
        beside |= {suffix: (True,) * size for suffix, marked in marks.items() if marked}
        for suffix, ends in beside.items():
            if ends is not None:
                name = f"{series.name}_{suffix}"
                while name in taken:  # a column of the answer may have that very name
                    name += "_"
                taken.add(name)
                flat[name] = [None if end != end else end for end in ends]
    return flat


def _drawn(plan: Plan, released: Released) -> Plan:
    """Return a plan with the noise that was drawn: where it chose a contribution limit, for that."""
    return plan.at_limits(plan.limits(released.sums))


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can represent."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
