"""A forest plot: named estimates with error bars, one below the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from privet.core.estimate import Estimate

from .canvas import COLOURS, Path, Theme, canvas, finish, read_theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 0.42


def plot_estimates(
    estimates: Mapping[str, Estimate],
    *,
    title: str,
    reference: float | None = None,
    path: Path | None = None,
    theme: Theme = "light",
) -> Figure:
    """Return a picture of estimates with their intervals; an interval without an end runs to the edge, with an arrow.

    Args:
        estimates: the estimates, by what they are of.
        title: what stands above the picture.
        reference: where to draw an upright line, such as 0 for "no effect".
        path: where to save it, if anywhere.
        theme: "light" or "dark".
    """
    theme = read_theme(theme)
    several = list(estimates.items())
    level = f"estimate and {several[0][1].confidence * 100:g}% interval" if several else "estimate"
    figure, axes = canvas(title, level, "", height=1.3 + _ROW * max(len(several), 2))
    finite = [x for _, one in several for x in (one.value, one.low, one.high) if math.isfinite(x)] or [0.0, 1.0]
    if reference is not None:
        finite.append(reference)
        axes.axvline(reference, color="#3d3d3d", linewidth=1, linestyle=":")
    room = 0.06 * ((max(finite) - min(finite)) or 1.0)
    left, right = min(finite) - room, max(finite) + room
    for place, (_, one) in enumerate(several):
        low, high = (end if math.isfinite(end) else edge for end, edge in ((one.low, left), (one.high, right)))
        axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=2, alpha=0.6)
        for end, at, arrow in ((one.low, low, "<"), (one.high, high, ">")):
            axes.plot([at], [place], color=COLOURS[0], marker="|" if math.isfinite(end) else arrow, markersize=8)
        if math.isfinite(one.value):
            axes.plot([one.value], [place], color=COLOURS[0], marker="o", markersize=6)
    axes.set_xlim(left, right)
    axes.set_yticks(range(len(several)), [name for name, _ in several])
    axes.set_ylim(len(several) - 0.5, -0.5)
    return finish(figure, path, theme)
