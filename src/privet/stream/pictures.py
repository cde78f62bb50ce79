"""Pictures of a stream: each sum over its steps, with the band of its intervals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Literal

from privet.plots.canvas import COLOURS, canvas, finish, read_theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .sums import Floats, Integers


def plot_stream(
    steps: Integers,
    values: Floats,
    widths: Floats,
    names: Sequence[str],
    confidence: float,
    *,
    path: str | os.PathLike[str] | None = None,
    theme: Literal["light", "dark"] = "light",
) -> Figure:
    """Return a picture of released sums: a line for each, and its intervals as a band."""
    chosen = read_theme(theme)
    figure, axes = canvas(f"Running sums, with {confidence:.0%} intervals for the noise", "step", "sum")
    for place, (name, colour) in enumerate(zip(names, cycle(COLOURS), strict=False)):
        line = values[:, place]
        axes.plot(steps, line, color=colour, lw=1.6, label=name)
        axes.fill_between(steps, line - widths, line + widths, color=colour, alpha=0.22, lw=0)
    if len(names) > 1:
        axes.legend(frameon=False)
    return finish(figure, path, chosen)
