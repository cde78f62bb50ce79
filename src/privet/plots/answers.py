"""Answers as pictures: bars for groups, side by side for two keys, a line with a band for time or steps, a heat map.

Every value is drawn with its interval; a heat map, without space for one, writes the value with its error, or above
all of its cells how wide their intervals are.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

from privet.core.errors import RequestError
from privet.core.numbers import in_full
from privet.display import ShownSeries, is_moments, shown_error, shown_estimate

from .canvas import COLOURS, Path, Theme, canvas, finish, panels, read_theme

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from privet.core.event import Floats

_MOST_BARS = 40
_MOST_SIDES = 6
"""At most this many bars are drawn side by side at one place; more of them make a heat map."""

_MOST_CELLS = 40
"""Up to this many values of a key each have a name and an inch; of more of them on a map, some are named."""

_NAMED = 24
"""About how many values are named along a side of a map that has more of them than fit."""

_MOST_DATES = 6
"""This many dates are named along an axis at most."""

_MOST_WRITTEN = 12 * 12
"""This many cells of a map have their number and its error written in them."""

_LONG = 9
_WRITTEN = "{x:,.10g}"
"""The format of numbers beside an axis."""

_LONGEST = 24


class Grid(NamedTuple):
    """The values of two keys, in the order in which they come, and the row of the answer for each pair of them."""

    first: list[Any]
    second: list[Any]
    rows: dict[tuple[Any, Any], int]


def plot_answer(
    columns: Sequence[ShownSeries],
    *,
    confidence: float,
    bins: Mapping[str, float] | None = None,
    path: Path | None = None,
    theme: Theme = "light",
    heat: bool = False,
) -> Figure:
    """Return a picture of an answer's columns: each noisy one on its own axes, with its interval.

    `bins` are the widths of keys whose values are the low ends of bins. With `heat`, two keys make a heat map however
    few values they have.
    """
    chosen = read_theme(theme)
    noisy = [series for series in columns if series.low is not None and not is_moments(series)]
    keys = _binned([series for series in columns if series.low is None], bins or {})
    rows = len(noisy[0].values) if noisy else 0
    if not rows:
        raise RequestError("there is nothing to draw: the answer has no noisy numbers, or only dates")
    grid = _grid(keys, any_size=heat)
    heat = grid is not None and (heat or (len(grid.second) > _MOST_SIDES and not _over_time(keys[:1])))
    names = [series.name for series in noisy]
    level = f"{confidence * 100:.4g}%"
    title = f"{', '.join(names)} with {level} intervals"
    if heat and grid is not None and not _written(grid):
        title = f"{', '.join(names)}; {level} intervals are {_widths_in_words(noisy)}"
    if any(series.mark for series in noisy):
        title += "\n(≥ at least, ≤ at most, ≈ about: intervals do not cover bounding)"
        names = [f"{series.mark} {series.name}".strip() for series in noisy]
    x, ys = _titles(keys, names, heat=heat)
    tall = 2.2 if not heat or grid is None else max(2.2, 0.36 * _room(grid.first) + 0.8)
    height = max(4.2 if len(noisy) == 1 else 0.0, 1.2 + tall * len(noisy))
    wide = 6.4 if grid is None or not heat else max(6.4, 1.6 + 0.85 * _room(grid.second))
    figure, all_axes = panels(title, x, ys, width=wide, height=height)
    for series, axes, colour in zip(noisy, all_axes, cycle(COLOURS), strict=False):
        if heat and grid is not None:
            _heat(figure, axes, series, grid)
        elif grid is not None and _over_time(keys[:1]):
            _lines(axes, series, grid)
        elif grid is not None:
            _grouped(axes, series, grid)
        elif _over_time(keys) and rows > 2:
            _line(axes, list(keys[0].values), series, colour)
        else:
            _bars(axes, series, colour)
    if grid is not None and not heat and len(grid.second) > 1:
        all_axes[0].legend(
            title=keys[1].name,
            frameon=False,
            fontsize=9,
            loc="upper left",
            bbox_to_anchor=(1, 1),
            borderaxespad=0.3,
        )
    _name_places(all_axes, keys, rows, grid, heat=heat)
    return finish(figure, path, chosen)


def _binned(keys: list[ShownSeries], bins: Mapping[str, float]) -> list[ShownSeries]:
    """Return the keys, with bins as texts from their low ends to their high ones."""
    named = {key.name: key for key in keys}
    labels: list[ShownSeries] = []
    for key in keys:
        if key.name == "bin_high" and "bin_low" in named:
            continue
        if key.name == "bin_low" and "bin_high" in named:
            ends = zip(key.values, named["bin_high"].values, strict=True)
            labels.append(_Labels("bin", [_bin(low, high) for low, high in ends]))
        elif key.name in bins:
            width = bins[key.name]
            labels.append(_Labels(key.name, [_bin(low, None if low is None else low + width) for low in key.values]))
        else:
            labels.append(key)
    return labels


def _bin(low: Any, high: Any) -> str:
    """Return a bin by its ends; of whole numbers, by its first and its last."""
    if low is None or high is None:
        return "NULL"
    if isinstance(low, int) and float(high).is_integer():
        return f"{low:,}" if high == low + 1 else f"{low:,} to {int(high) - 1:,}"
    return f"{in_full(low)} to {in_full(high)}"


class _Labels:
    """A key whose values are shown as texts."""

    def __init__(self, name: str, values: Sequence[str]) -> None:
        self.name, self.values, self.mark = name, tuple(values), ""
        self.low: tuple[float, ...] | None = None
        self.high: tuple[float, ...] | None = None


def _titles(keys: Sequence[ShownSeries], names: list[str], *, heat: bool) -> tuple[str, list[str]]:
    if heat:
        return keys[1].name, [f"{keys[0].name}: {name}" if len(names) > 1 else keys[0].name for name in names]
    return keys[0].name if len(keys) == 2 else ", ".join(key.name for key in keys), names


def _room(values: Sequence[Any]) -> int:
    """Return how many values of a map's side are named: all of a few, and some of many."""
    return len(values) if len(values) <= _MOST_CELLS else _NAMED // 2


def _written(grid: Grid) -> bool:
    """Return whether each cell of a map has its number written in it."""
    return len(grid.first) * len(grid.second) <= _MOST_WRITTEN


def _widths_in_words(columns: Sequence[ShownSeries]) -> str:
    """Return how wide the intervals of some columns are, the narrowest and the widest of each."""
    widths = []
    for series in columns:
        low, high = _ends(series)
        halves = [(upper - lower) / 2 for upper, lower in zip(high, low, strict=True) if math.isfinite(upper - lower)]
        ends = [shown_error(end) for end in (min(halves, default=math.inf), max(halves, default=math.inf))]
        widths.append(f"± {ends[0]}" if ends[0] == ends[1] else f"± {ends[0]} to ± {ends[1]}")
    return ", ".join(widths)


def _grid(keys: Sequence[ShownSeries], *, any_size: bool) -> Grid | None:
    """Return the values of two keys that make a grid; None for other keys, and for pairs that come twice.

    Unless it may be of any size, it has few values of each key, or of the second along numbers and dates.
    """
    if len(keys) != 2:
        return None
    pairs = list(zip(keys[0].values, keys[1].values, strict=True))
    first, second = (list(dict.fromkeys(key.values)) for key in keys)
    rows = {pair: row for row, pair in enumerate(pairs)}
    many = len(second) > _MOST_CELLS or (len(first) > _MOST_CELLS and not _over_time(keys[:1]))
    if len(rows) != len(pairs) or (many and not any_size):
        return None
    return Grid(first, second, rows)


def _over_time(keys: Sequence[ShownSeries]) -> bool:
    """Return whether an answer goes along dates or numbers, of which there are several."""
    values = [value for key in keys for value in key.values]
    numbers = all(isinstance(value, (int, float, datetime.date)) and not isinstance(value, bool) for value in values)
    return len(keys) == 1 and numbers and len(set(values)) > 2


def _line(axes: Axes, places: list[Any], series: ShownSeries, colour: str, label: str | None = None) -> None:
    low, high = _ends(series)
    order = sorted(range(len(places)), key=lambda row: places[row])
    along, values = [places[row] for row in order], _numbers(series)
    axes.plot(along, [values[row] for row in order], color=colour, lw=1.6, marker="o", ms=3, label=label)
    axes.fill_between(along, [low[row] for row in order], [high[row] for row in order], color=colour, alpha=0.22, lw=0)


def _lines(axes: Axes, series: ShownSeries, grid: Grid) -> None:
    for value, colour in zip(grid.second, cycle(COLOURS), strict=False):
        rows = [(place, grid.rows[place, value]) for place in grid.first if (place, value) in grid.rows]
        part = _SomeRows(series, [row for _, row in rows])
        _line(axes, [place for place, _ in rows], part, colour, _label(value))


class _SomeRows:
    """Some rows of a column."""

    def __init__(self, series: ShownSeries, rows: Sequence[int]) -> None:
        self.name, self.mark = series.name, series.mark
        self.values = tuple(series.values[row] for row in rows)
        low, high = series.low or (), series.high or ()
        self.low: tuple[float, ...] | None = tuple(low[row] for row in rows)
        self.high: tuple[float, ...] | None = tuple(high[row] for row in rows)


def _bars(
    axes: Axes,
    series: ShownSeries,
    colour: str,
    *,
    places: Sequence[float] | None = None,
    width: float = 0.74,
    label: str | None = None,
) -> None:
    low, high = _ends(series)
    values = _numbers(series)
    below = [max(0.0, value - end) for value, end in zip(values, low, strict=True)]
    above = [max(0.0, end - value) for value, end in zip(values, high, strict=True)]
    at = list(range(len(values))) if places is None else list(places)
    axes.bar(at, values, width=width, color=colour, alpha=0.85, label=label)
    size = 3 if width > 0.3 else 2
    axes.errorbar(at, values, yerr=[below, above], fmt="none", ecolor="#333333", capsize=size, lw=1.1)
    axes.grid(False, axis="x")
    if len(at) == 1 and places is None:
        axes.set_xlim(-1.5, 1.5)


def _grouped(axes: Axes, series: ShownSeries, grid: Grid) -> None:
    """Draw a bar for each pair of keys, those of the first key beside each other."""
    width = 0.8 / len(grid.second)
    for side, (value, colour) in enumerate(zip(grid.second, cycle(COLOURS), strict=False)):
        rows = [(place, grid.rows[key, value]) for place, key in enumerate(grid.first) if (key, value) in grid.rows]
        at = [place + (side - (len(grid.second) - 1) / 2) * width for place, _ in rows]
        part = _SomeRows(series, [row for _, row in rows])
        _bars(axes, part, colour, places=at, width=0.92 * width, label=_label(value))


def _heat(figure: Figure, axes: Axes, series: ShownSeries, grid: Grid) -> None:
    """Draw two keys as rows and columns of a map, each cell with its value and error while they fit."""
    values, (low, high) = _numbers(series), _ends(series)
    cells = [
        [values[grid.rows[first, second]] if (first, second) in grid.rows else math.nan for second in grid.second]
        for first in grid.first
    ]
    shown = axes.imshow(cells, aspect="auto", cmap="Blues")
    figure.colorbar(shown, ax=axes, label=series.name, fraction=0.05, pad=0.02, format=_WRITTEN)
    axes.grid(False)
    known = [value for row in cells for value in row if math.isfinite(value)]
    middle = (min(known, default=0.0) + max(known, default=0.0)) / 2
    if not _written(grid):
        return
    for (down, across), row in grid.rows.items():
        if math.isfinite(values[row]):
            error = max(high[row] - values[row], values[row] - low[row])
            text = shown_estimate(values[row], error).replace(" ± ", "\n± ")
            dark = values[row] > middle
            place = grid.second.index(across), grid.first.index(down)
            axes.text(*place, text, ha="center", va="center", fontsize=7, color="white" if dark else "#1a1a1a")


def _name_places(
    all_axes: Sequence[Axes], keys: Sequence[ShownSeries], rows: int, grid: Grid | None, *, heat: bool
) -> None:
    """Write the names of groups below the bars, in lines where they are long, and numbers as people write them."""
    last = all_axes[-1]
    if heat and grid is not None:
        down, across = _named_places(grid.first), _named_places(grid.second)
        for axes in all_axes:
            axes.set_yticks(down, [_label(grid.first[place]) for place in down])
            axes.set_xticks(across, [_label(grid.second[place]) for place in across])
        _tilt(last, [_label(grid.second[place]) for place in across])
        return
    for axes in all_axes:
        axes.yaxis.set_major_formatter(_WRITTEN)
    if _over_time(keys[:1]) and (grid is not None or len(keys) == 1) and rows > 2:
        if isinstance(keys[0].values[0], datetime.date):
            _few_dates(last, keys[0].values)
        return
    names = [_label(value) for value in grid.first] if grid is not None else _row_names(keys, rows)
    if len(names) <= _MOST_BARS:
        last.set_xticks(range(len(names)), names)
        _tilt(last, names)
    else:
        last.set_xticks([])
        last.set_xlabel(f"{last.get_xlabel()} ({len(names):,} groups)")


def _few_dates(axes: Axes, values: Sequence[Any]) -> None:
    """Name as many dates along an axis as have room beside each other; of a few days, each."""
    from matplotlib.dates import AutoDateFormatter, AutoDateLocator

    moments = sorted(set(values))
    short = moments[-1] - moments[0] < datetime.timedelta(days=_MOST_DATES)
    # over longer times, days of the month would come too close at its end
    places: Any = AutoDateLocator(minticks=3, maxticks=_MOST_DATES, interval_multiples=short)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(places)
    axes.xaxis.set_major_formatter(AutoDateFormatter(places))  # type: ignore[no-untyped-call]
    if short and not isinstance(moments[0], datetime.datetime):
        axes.set_xticks(moments)


def _named_places(values: Sequence[Any]) -> range:
    """Return which values of a map's side are named: all of a few; of many, every second, fifth, tenth and so on."""
    if len(values) <= _MOST_CELLS:
        return range(len(values))
    steps = (digit * 10**power for power in range(len(str(len(values)))) for digit in (2, 5, 10))
    return range(0, len(values), next(step for step in steps if step * _NAMED >= len(values)))


def _row_names(keys: Sequence[ShownSeries], rows: int) -> list[str]:
    return [", ".join(_label(key.values[row]) for key in keys) for row in range(rows)]


def _tilt(axes: Axes, names: Sequence[str]) -> None:
    tilted = max(map(len, names), default=0) * len(names) > 60 or max(map(len, names), default=0) > _LONG + 6
    if tilted:
        axes.tick_params(axis="x", rotation=30)
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")


def _label(value: Any) -> str:
    """Return a key as a picture shows it: midnights as dates, long texts cut, and no formula of Matplotlib's."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    text = "NULL" if value is None else str(value)
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...").replace("$", r"\$")


def _numbers(series: ShownSeries) -> list[float]:
    """Return the values, with a gap where one is NULL."""
    return [math.nan if value is None else float(value) for value in series.values]


def _ends(series: ShownSeries) -> tuple[list[float], list[float]]:
    return list(series.low or ()), list(series.high or ())


def plot_bands(
    steps: NDArray[np.int64],
    values: Floats,
    widths: Floats,
    names: Sequence[str],
    confidence: float,
    *,
    path: Path | None = None,
    theme: Theme = "light",
) -> Figure:
    """Return a picture of running sums as they were released: a line for each, and its intervals as a band."""
    chosen = read_theme(theme)
    figure, axes = canvas(f"Running sums, with {confidence:.0%} intervals for the noise", "step", "sum")
    for place, (name, colour) in enumerate(zip(names, cycle(COLOURS), strict=False)):
        line = values[:, place]
        axes.plot(steps, line, color=colour, lw=1.6, label=name)
        axes.fill_between(steps, line - widths, line + widths, color=colour, alpha=0.22, lw=0)
    if len(names) > 1:
        axes.legend(frameon=False)
    return finish(figure, path, chosen)
