"""Answers as pictures: bars for groups, a line over dates and numbers, always with error bars."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, Protocol

from privet.core.errors import RequestError

from .canvas import COLOURS, Path, finish, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS = 40


class PlottedSeries(Protocol):
    """A column of an answer: its name and values, and the ends of their intervals, which keys do not have."""

    @property
    def name(self) -> str: ...
    @property
    def values(self) -> tuple[Any, ...]: ...
    @property
    def low(self) -> tuple[float, ...] | None: ...
    @property
    def high(self) -> tuple[float, ...] | None: ...


def plot_answer(columns: Sequence[PlottedSeries], *, confidence: float, path: Path | None = None) -> Figure:
    """Return a picture of an answer's columns: each noisy one on axes of its own, with its interval."""
    noisy = [series for series in columns if series.low is not None]
    keys = [series for series in columns if series.low is None]
    rows = len(noisy[0].values) if noisy else 0
    if not rows:
        raise RequestError("there is nothing to draw: the answer has no noisy numbers")
    labels = [", ".join(str(key.values[row]) for key in keys) for row in range(rows)] or [""]
    ordered = len(keys) == 1 and all(isinstance(v, (int, float, datetime.date)) for v in keys[0].values)
    names = [series.name for series in noisy]
    title = f"{', '.join(names)} with {confidence:.0%} intervals"
    height = 4.2 if len(noisy) == 1 else 1.2 + 2.2 * len(noisy)
    figure, several = panels(title, ", ".join(key.name for key in keys), names, width=6.4, height=height)
    for series, axes, colour in zip(noisy, several, cycle(COLOURS), strict=False):
        if ordered and rows > 2:
            _line(axes, list(keys[0].values), series, colour)
        else:
            _bars(axes, series, colour)
    if not (ordered and rows > 2) and rows <= _MOST_BARS:
        tilted = max(map(len, labels)) > 6
        several[-1].set_xticks(range(rows), labels, rotation=30 if tilted else 0, ha="right" if tilted else "center")
    return finish(figure, path)


def _line(axes: Axes, places: list[Any], series: PlottedSeries, colour: str) -> None:
    low, high = _ends(series)
    axes.plot(places, _numbers(series), color=colour, lw=1.6, marker="o", ms=3)
    axes.fill_between(places, low, high, color=colour, alpha=0.18, lw=0)


def _bars(axes: Axes, series: PlottedSeries, colour: str) -> None:
    low, high = _ends(series)
    values = _numbers(series)
    below = [max(0.0, value - end) for value, end in zip(values, low, strict=True)]
    above = [max(0.0, end - value) for value, end in zip(values, high, strict=True)]
    axes.bar(range(len(values)), values, width=0.74, color=colour, alpha=0.85)
    axes.errorbar(range(len(values)), values, yerr=[below, above], fmt="none", ecolor="#333333", capsize=3, lw=1.1)


def _numbers(series: PlottedSeries) -> list[float]:
    """Return the values, with a gap where one is NULL."""
    return [math.nan if value is None else float(value) for value in series.values]


def _ends(series: PlottedSeries) -> tuple[list[float], list[float]]:
    return list(series.low or ()), list(series.high or ())
