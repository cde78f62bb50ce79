"""Answers: released rows with an interval for every number, the cost, and a certificate. Reads no data."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .core.errors import BadParameter, RequestError, UnknownName
from .core.estimate import Estimate
from .core.given import optional_package
from .core.records import Receipt
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
from .planner.contributions import covered_in_words
from .planner.groupings import Combined, Several, levels_in, parts_of
from .planner.measurements import Measurements, measurements_of
from .planner.plan import Plan
from .planner.target import Accuracy
from .query.nodes import bin_widths
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
        """What stands before the numbers where bounding can move them: ≥ (at least), ≤ (at most), ≈, or nothing."""
        return MARKS[self.may_be_low, self.may_be_high]

    @property
    def noisy(self) -> bool:
        """Whether the column has intervals."""
        return self.low is not None


@dataclass(frozen=True, repr=False)
class Answer:
    """A private answer: columns with intervals, what they cover, what they cost, and the plan behind them."""

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
    """What was released: for each grouping of the question, the groups and their numbers."""

    def __len__(self) -> int:
        return len(self.series[0].values) if self.series else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over rows: each column's value, and for noisy ones its `_low`, `_high` and `_error`."""
        flat = self.to_dict()
        for index in range(len(self)):
            yield {name: values[index] for name, values in flat.items()}

    def __getitem__(self, name: str) -> Series:
        """Return a column by name."""
        if not isinstance(name, str):
            raise BadParameter("name", name, "the name of a column")
        for series in self.series:
            if str.__eq__(series.name, name):
                return series
        raise UnknownName("column", str(name), (series.name for series in self.series))

    @property
    def value(self) -> Any:
        """The one released number of a one-row answer, or the one value that it has."""
        if len(self) == 1 and len(self.series) == 1:
            return self.series[0].values[0]
        return self._only().values[0]

    @property
    def interval(self) -> tuple[Any, Any]:
        """The interval of the one released number of a one-row answer; of a date, two dates."""
        only = self._only()
        return (only.low or (math.nan,))[0], (only.high or (math.nan,))[0]

    @property
    def estimate(self) -> Estimate:
        """The one released number of a one-row answer, with its interval and what that covers."""
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
        columns: dict[str, list[Any]] = {series.name: [] for series in self.series}
        flat: dict[str, list[Any]] = {}
        for series in self.series:
            flat[series.name] = list(series.values)
            marks = {"may_be_understated": series.may_be_low, "may_be_overstated": series.may_be_high}
            beside = {"low": series.low, "high": series.high, "error": series.error}
            beside |= {suffix: (True,) * len(self) for suffix, marked in marks.items() if marked}
            for suffix, ends in beside.items():
                if ends is not None:
                    name = f"{series.name}_{suffix}"
                    while name in columns:  # a column of the answer may have that very name
                        name += "_"
                    columns[name] = flat[name] = [None if end != end else end for end in ends]
        return flat

    def to_json(self) -> str:
        """Return rows, confidence, notes and certificate as JSON; dates are text, and what is NULL is null."""
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
        asked = self.plan.query
        together = isinstance(self.plan, Combined)
        return Measurements(
            tuple(
                row
                for (level, _), plan, one in zip(levels_in(self.plan), parts_of(self.plan), self.released, strict=True)
                for row in measurements_of(
                    _drawn(plan, one), (one.keys, one.sums), plan.query if together else asked, level=level
                )
            )
        )

    def certificate(self) -> dict[str, Any]:
        """Return what was protected, how, and at what cost: public, for anyone who reads the numbers."""
        from .planner.explain import facts

        told = self.plan.facts() if isinstance(self.plan, Several) else facts(self.plan)
        told = {**told, "measurements": self.measurements().to_list()}
        told.pop("measured", None)
        return {
            "entry": self.receipt.entry,
            "account": self.receipt.account,
            "head": self.receipt.head,
            "digest": self.receipt.digest,
            "confidence": self.confidence,
            **told,
            "may_be_low": [series.name for series in self.series if series.may_be_low],
            "may_be_high": [series.name for series in self.series if series.may_be_high],
            **({} if self.accuracy is None else {"accuracy": self.accuracy.to_dict()}),
            **({"contribution_limits": list(self.limits)} if self.limits else {}),
            "notes": list(self.notes),
        }

    def plot(self, path: Any = None, *, theme: Literal["light", "dark"] = "light") -> Any:
        """Return a picture of the noisy columns with error bars (needs matplotlib); save it if a path is given.

        Bars for groups, side by side for two keys or a heat map where there are many, a line with a band along dates
        and numbers. A notebook shows it by itself.

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


def _drawn(plan: Plan, released: Released) -> Plan:
    """Return a plan with the noise that was drawn: where it chose a contribution limit, for that."""
    return plan.at_limits(plan.limits(released.sums))


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
