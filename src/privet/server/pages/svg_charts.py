"""How pages show numbers: cells with intervals, plots as SVG, and invented values for an answer that is not asked yet.

Bars with error bars are for groups, a line with a band for numbers and dates. Colours and fonts come from the page's
style sheet by class, as the pages allow no styles of their own. Text is escaped. The widths and groups of an answer
that is not asked yet come from the plan. Its values are made up, from hashes of the groups' names, and show nothing of
the data; every place that shows them labels them so.
"""

from __future__ import annotations

import datetime
import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from privet.answer import Series
from privet.display import figures, labels
from privet.planner.accuracy import Width, widths
from privet.planner.groupings import levels_in
from privet.planner.plan import Plan
from privet.results.output_columns import output_columns

MOST_BARS = 60
_WIDTH, _BAR, _GAP, _TOP, _BOTTOM, _RIGHT = 480, 18, 8, 8, 26, 14


@dataclass(frozen=True)
class ChartPoint:
    """One number of a plot, with the ends of its interval, and its place along the axis if it has one."""

    label: str
    value: float
    low: float
    high: float
    place: float | None = None


def is_line(points: Sequence[ChartPoint]) -> bool:
    """Return whether numbers are drawn as a line: more than two, each with a place along the axis."""
    return len(points) > 2 and all(point.place is not None for point in points)


def draw_chart(
    points: Sequence[ChartPoint],
    *,
    title: str,
    invented: bool = False,
    marked: tuple[float, float] | None = None,
) -> str:
    """Return a plot of numbers with their intervals; empty where there is nothing to draw.

    `marked` are two places along the axis of a line; what lies between them is shaded.
    """
    known = [point for point in points if math.isfinite(point.value)]
    if not known:
        return ""
    if is_line(known):
        return _line(known, title, invented, marked)
    return _bars(known[:MOST_BARS], title, invented)


def _ends(points: Sequence[ChartPoint]) -> tuple[float, float]:
    finite = [end for point in points for end in (point.value, point.low, point.high) if math.isfinite(end)]
    low, high = min(0.0, *finite), max(0.0, *finite)
    if high <= low:
        return low, low + 1
    over = 0.03 * (high - low)  # the end of an error bar is not the edge of the plot
    return low - over * (low < 0), high + over * (high > 0)


def ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between two."""
    step = 10 ** math.floor(math.log10((high - low) / 4))
    step = next((step * times for times in (1, 2, 5, 10) if (high - low) / (step * times) <= 5), step * 10)
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def short(value: float) -> str:
    """Return a number as an axis shows it."""
    if value and abs(value) < 0.001:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _opened(height: float, title: str, invented: bool) -> list[str]:
    label = f"{title} (invented values)" if invented else title
    kind = "chart invented" if invented else "chart"
    return [
        f'<svg class="{kind}" viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{escape(label, quote=True)}">'
    ]


def _bars(points: Sequence[ChartPoint], title: str, invented: bool) -> str:
    low, high = _ends(points)
    left = min(200, 18 + 9 * max(len(point.label) for point in points))
    height = _TOP + len(points) * (_BAR + _GAP) + _BOTTOM
    scale = (_WIDTH - left - _RIGHT) / (high - low)

    def x(value: float) -> float:
        return round(left + (min(max(value, low), high) - low) * scale, 1)

    parts = _opened(height, title, invented)
    foot = height - _BOTTOM
    for tick in ticks(low, high):
        parts.append(f'<line class="grid" x1="{x(tick)}" x2="{x(tick)}" y1="{_TOP}" y2="{foot}"/>')
        parts.append(f'<text class="tick" x="{x(tick)}" y="{height - 8}" text-anchor="middle">{short(tick)}</text>')
    for row, bar in enumerate(points):
        top = _TOP + row * (_BAR + _GAP)
        middle = top + _BAR / 2
        start, end = sorted((x(0), x(bar.value)))
        label = bar.label if len(bar.label) <= 22 else bar.label[:21] + "…"
        parts.append(f'<text x="{left - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect class="bar" x="{start}" y="{top}" width="{max(end - start, 0):.1f}" height="{_BAR}"/>')
        if bar.low == bar.high:
            continue  # a number without noise has no error bar
        parts.append(f'<line class="whisker" x1="{x(bar.low)}" x2="{x(bar.high)}" y1="{middle}" y2="{middle}"/>')
        for side in (bar.low, bar.high):
            if math.isfinite(side):
                parts.append(
                    f'<line class="whisker" x1="{x(side)}" x2="{x(side)}" y1="{middle - 5}" y2="{middle + 5}"/>'
                )
    parts.append(f'<line class="axis" x1="{x(0)}" x2="{x(0)}" y1="{_TOP}" y2="{foot}"/></svg>')
    return "".join(parts)


def _line(points: Sequence[ChartPoint], title: str, invented: bool, marked: tuple[float, float] | None = None) -> str:
    points = sorted(points, key=lambda point: point.place or 0)
    low, high = _ends(points)
    left, height = 62, 260
    first, last = points[0].place or 0.0, points[-1].place or 0.0
    across = (_WIDTH - left - _RIGHT) / ((last - first) or 1)
    down = (height - _TOP - _BOTTOM) / (high - low)

    def along(place: float) -> float:
        return round(left + (min(max(place, first), last) - first) * across, 1)

    def x(point: ChartPoint) -> float:
        return along(point.place or 0)

    def y(value: float) -> float:
        return round(height - _BOTTOM - (min(max(value, low), high) - low) * down, 1)

    parts = _opened(height, title, invented)
    for tick in ticks(low, high):
        parts.append(f'<line class="grid" x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{y(tick)}" y2="{y(tick)}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y(tick) + 4}" text-anchor="end">{short(tick)}</text>')
    if marked is not None:
        start, wide = along(marked[0]), max(along(marked[1]) - along(marked[0]), 1)
        down_to = height - _TOP - _BOTTOM
        parts.append(f'<rect class="marked" x="{start}" y="{_TOP}" width="{wide:.1f}" height="{down_to}"/>')
    upper = " ".join(f"{x(point)},{y(point.high)}" for point in points)
    lower = " ".join(f"{x(point)},{y(point.low)}" for point in reversed(points))
    parts.append(f'<polygon class="band" points="{upper} {lower}"/>')
    parts.append(f'<polyline class="line" points="{" ".join(f"{x(point)},{y(point.value)}" for point in points)}"/>')
    for shown in (points[0], points[len(points) // 2], points[-1]):
        anchor = "start" if shown is points[0] else "end" if shown is points[-1] else "middle"
        parts.append(
            f'<text class="tick" x="{x(shown)}" y="{height - 8}" text-anchor="{anchor}">{escape(shown.label)}</text>'
        )
    parts.append(f'<line class="axis" x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{y(0)}" y2="{y(0)}"/></svg>')
    return "".join(parts)


def place_of(key: Any) -> float | None:
    """Return the place of a key along an axis: numbers and dates have one, texts have none."""
    if isinstance(key, bool) or key is None:
        return None
    if isinstance(key, (int, float)):
        return float(key)
    if isinstance(key, datetime.datetime):
        return (key - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    return float(key.toordinal()) if isinstance(key, datetime.date) else None


_LINES = ("one", "two", "three", "four", "five", "six")
MOST_LINES = len(_LINES)


def draw_lines(lines: Mapping[str, Sequence[ChartPoint]], *, title: str) -> str:
    """Return rising lines over the same places, each with its name in a legend; empty without two places."""
    every = [point for points in lines.values() for point in points]
    places = sorted({point.place for point in every if point.place is not None})
    if len(places) < 2 or len(lines) > MOST_LINES:
        return ""
    low, high = _ends(every)
    left, legend = 62, 20 * len(lines)
    height = 240 + legend
    foot = height - _BOTTOM - legend
    across = (_WIDTH - left - _RIGHT) / (places[-1] - places[0])
    down = (foot - _TOP) / (high - low)

    def at(point: ChartPoint) -> str:
        return f"{left + ((point.place or 0) - places[0]) * across:.1f},{foot - (point.value - low) * down:.1f}"

    parts = _opened(height, title, False)
    for tick in ticks(low, high):
        y = round(foot - (tick - low) * down, 1)
        parts.append(f'<line class="grid" x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="tick" x="{left - 8}" y="{y + 4}" text-anchor="end">{short(tick)}</text>')
    named = {point.place: point.label for point in every}
    for place, anchor, x in ((places[0], "start", left), (places[-1], "end", _WIDTH - _RIGHT)):
        parts.append(f'<text class="tick" x="{x}" y="{foot + 18}" text-anchor="{anchor}">{escape(named[place])}</text>')
    for row, (name, points) in enumerate(lines.items()):
        kind = f"line {_LINES[row]}" + (" dash" if row % 2 else "")
        drawn = " ".join(map(at, sorted(points, key=lambda point: point.place or 0)))
        y = foot + 40 + 20 * row
        parts.append(f'<polyline class="{kind}" points="{drawn}"/>')
        parts.append(f'<line class="{kind}" x1="{left}" x2="{left + 26}" y1="{y - 4}" y2="{y - 4}"/>')
        parts.append(f'<text x="{left + 34}" y="{y}">{escape(name if len(name) <= 48 else name[:47] + "…")}</text>')
    parts.append(f'<line class="axis" x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{foot}" y2="{foot}"/></svg>')
    return "".join(parts)


def table_rows(columns: tuple[Series, ...], confidence: float) -> list[list[dict[str, Any]]]:
    """Return the rows of a table: each cell's text, its interval if it has one, and its sort key.

    Numbers are rounded as in a shell: an error to two digits, and upwards; a value as finely as its error.
    """
    shown = [column_cells(column, confidence) for column in columns]
    return [list(row) for row in zip(*shown, strict=True)]


def column_cells(series: Series, confidence: float) -> list[dict[str, Any]]:
    """Return the cells of one column."""
    keys = series.low is None or series.high is None
    texts, bars = (labels(series).cells, ()) if keys else (figure.cells for figure in figures(series, confidence))
    cells = []
    for row, value in enumerate(series.values):
        bar = bars[row] if bars else ""
        text = str(texts[row]).removeprefix(series.mark).strip() if bars else texts[row]
        cells.append({"text": text, "error": bar, "sort": "" if value is None else value})
    return cells


def series_point(series: Series, keys: list[Series], row: int) -> ChartPoint | None:
    """Return a number of a column as a point of a plot; None where there is none."""
    value = series.values[row]
    if not isinstance(value, (int, float)) or series.low is None or series.high is None:
        return None
    label = " · ".join("NULL" if key.values[row] is None else str(key.values[row]) for key in keys) or "all rows"
    low, high = series.low[row], series.high[row]
    place = place_of(keys[0].values[row]) if len(keys) == 1 else None
    return ChartPoint(label, float(value), float(low), float(high), place)


MOST_GROUPS = 24
SIZES = (100, 1_000, 10_000, 100_000)
_NAMES = ("group A", "group B", "group C", "group D")


@dataclass(frozen=True)
class InventedPicture:
    """A column of an answer, how wide its intervals will be in words, and a picture on invented values."""

    column: str
    width: str
    picture: str


def invented_pictures(plan: Plan, *, size: int) -> tuple[InventedPicture, ...]:
    """Return each noisy column with its planned width, drawn on invented groups of about `size` rows."""
    shown = {column.name: column.kind for column in output_columns(plan)}
    pictures = []
    seen = set()
    for _, part in levels_in(plan):
        for width in widths(part):
            if width.column in seen or width.note == "without noise" or shown.get(width.column) == "text":
                continue
            seen.add(width.column)
            half = _half(width, size)
            picture = "" if half is None else _drawn(plan, width, half, size)
            pictures.append(InventedPicture(width.column, width.words(), picture))
    return tuple(pictures)


def _half(width: Width, size: int) -> float | None:
    if width.half_width is not None:
        return width.half_width
    return min(width.at, key=lambda pair: abs(pair[0] - size))[1] if width.at else None


def _drawn(plan: Plan, width: Width, half: float, size: int) -> str:
    """Return a picture: counts near the size of a group; other columns a few widths tall, as their scale is unknown."""
    scale = float(size) if width.half_width is not None and not width.at else max(12 * half, 1e-9)
    points = []
    for key in _groups(plan):
        label = " · ".join("none" if value is None else str(value) for value in key) or "all rows"
        made = scale * (0.55 + 0.45 * (zlib.crc32(f"{width.column} {label}".encode()) % 1000) / 1000)
        place = place_of(key[0]) if len(key) == 1 else None
        points.append(ChartPoint(label, made, made - half, made + half, place))
    return draw_chart(points, title=width.column, invented=True)


def _groups(plan: Plan) -> Sequence[tuple[Any, ...]]:
    """Return some groups that the answer may have: the declared ones, or made-up names where they are found."""
    if not plan.passes or not plan.query.keys:
        return [()]
    try:
        keys = [plan.groups[place] for place in plan.key_places]
    except (ValueError, IndexError):  # groups of several levels are not those of one pass
        return [(name,) for name in _NAMES]
    values = [key.values if key.values is not None else _NAMES for key in keys]
    return list(itertools.islice(itertools.product(*values), MOST_GROUPS if len(values) > 1 else 400))
