"""Answers: released rows with an interval for every number, the cost, and a certificate. Reads no data."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .core.receipt import Receipt
from .planner.plan import Plan

if TYPE_CHECKING:
    from rich.table import Table as RichTable


@dataclass(frozen=True)
class Series:
    """One column of an answer. `low`, `high` and `error` are None for keys, which carry no noise."""

    name: str
    values: tuple[Any, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    error: tuple[float, ...] | None = None

    @property
    def noisy(self) -> bool:
        """Whether the column carries noise, and so an interval."""
        return self.low is not None


@dataclass(frozen=True)
class Answer:
    """A private answer: columns with intervals, what they cover, what they cost, and the plan behind them."""

    series: tuple[Series, ...]
    confidence: float
    plan: Plan
    receipt: Receipt
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.series[0].values) if self.series else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over rows: each column's value, and for noisy ones its `_low`, `_high` and `_error`."""
        flat = self.to_dict()
        for index in range(len(self)):
            yield {name: values[index] for name, values in flat.items()}

    def __getitem__(self, name: str) -> Series:
        for series in self.series:
            if series.name == name:
                return series
        raise KeyError(name)

    @property
    def value(self) -> Any:
        """The one released number of a one-row answer."""
        return self._only().values[0]

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the one released number of a one-row answer."""
        only = self._only()
        if only.low is None or only.high is None:
            raise KeyError("this column is a key and has no interval")
        return only.low[0], only.high[0]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, with `_low`, `_high` and `_error` beside each noisy one."""
        columns: dict[str, list[Any]] = {}
        for series in self.series:
            columns[series.name] = list(series.values)
            if series.low is not None and series.high is not None and series.error is not None:
                columns[f"{series.name}_low"] = list(series.low)
                columns[f"{series.name}_high"] = list(series.high)
                columns[f"{series.name}_error"] = list(series.error)
        return columns

    def to_json(self) -> str:
        """Return rows, confidence, notes and certificate as JSON."""
        return json.dumps(
            {
                "rows": list(self),
                "confidence": self.confidence,
                "notes": list(self.notes),
                "certificate": self.certificate(),
            },
            default=_plain,
        )

    def to_arrow(self) -> Any:
        """Return the columns as an Arrow table (needs pyarrow)."""
        import pyarrow

        return pyarrow.table(self.to_dict())

    def to_pandas(self) -> Any:
        """Return the columns as a pandas frame (needs pandas)."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """Return the columns as a Polars frame (needs polars)."""
        import polars

        return polars.DataFrame(self.to_dict(), strict=False)

    def certificate(self) -> dict[str, Any]:
        """Return what was protected, how, and at what cost: public, for anyone who reads the numbers."""
        from . import __version__
        from .planner.explain import facts

        return {
            "privet": __version__,
            "entry": self.receipt.entry,
            "account": self.receipt.account,
            "digest": self.plan.digest,
            **facts(self.plan),
        }

    def __rich__(self) -> RichTable:
        from rich.table import Table as RichTable

        table = RichTable(caption="; ".join(self.notes), caption_justify="left")
        for series in self.series:
            table.add_column(series.name, justify="right" if series.noisy else "left")
        for index in range(len(self)):
            table.add_row(*(_cell(series, index) for series in self.series))
        return table

    def __repr__(self) -> str:
        from io import StringIO

        from rich.console import Console

        out = StringIO()
        Console(file=out, width=120).print(self)
        return out.getvalue().rstrip()

    def _repr_html_(self) -> str:
        from html import escape

        heads = "".join(f"<th>{escape(series.name)}</th>" for series in self.series)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_cell(series, index))}</td>" for series in self.series) + "</tr>"
            for index in range(len(self))
        )
        caption = escape("; ".join(self.notes))
        return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def plot(self, path: Any = None) -> Any:
        """Return a picture of the noisy columns with error bars (needs matplotlib); save it if a path is given."""
        from .plots.answers import plot_answer

        return plot_answer(self, path)

    def _only(self) -> Series:
        noisy = [series for series in self.series if series.noisy]
        if len(self) != 1 or len(noisy) != 1:
            raise KeyError("the answer has more than one number; name the column and take its values")
        return noisy[0]


def _cell(series: Series, index: int) -> str:
    value = series.values[index]
    if series.low is None or series.high is None:
        return "NULL" if value is None else str(value)
    return f"{_short(value)} [{_short(series.low[index])}, {_short(series.high[index])}]"


def _short(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int) or (isinstance(value, float) and value == int(value) and abs(value) >= 1000):
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.1f}"


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    return str(value)
