"""What an answer may look like before it is asked for: invented values, with intervals as wide as planned.

The widths and the groups come from the plan. The values are made up, from hashes of the groups' names, and say nothing
about the data; whoever shows them labels them so.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privet.planner.groupings import levels_in
from privet.planner.plan import Plan
from privet.planner.widths import Width, widths
from privet.results.output_columns import output_columns

from .svg_charts import ChartPoint, draw_chart, place_of

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
    shown = {one.name: one.kind for one in output_columns(plan)}
    found = []
    seen = set()
    for _, part in levels_in(plan):
        for width in widths(part):
            if width.column in seen or width.note == "without noise" or shown.get(width.column) == "text":
                continue
            seen.add(width.column)
            half = _half(width, size)
            picture = "" if half is None else _drawn(plan, width, half, size)
            found.append(InventedPicture(width.column, width.words(), picture))
    return tuple(found)


def _half(width: Width, size: int) -> float | None:
    if width.half_width is not None:
        return width.half_width
    return min(width.at, key=lambda pair: abs(pair[0] - size))[1] if width.at else None


def _drawn(plan: Plan, width: Width, half: float, size: int) -> str:
    """Return a picture: counts near the size of a group; other columns a few widths tall, as their scale is unknown."""
    scale = float(size) if width.half_width is not None and not width.at else max(12 * half, 1e-9)
    points = []
    for key in _groups(plan):
        label = " · ".join("none" if one is None else str(one) for one in key) or "all rows"
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
    values = [one.values if one.values is not None else _NAMES for one in keys]
    return list(itertools.islice(itertools.product(*values), MOST_GROUPS if len(values) > 1 else 400))
