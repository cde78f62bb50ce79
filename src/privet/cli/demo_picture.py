"""The demo's picture: what was released, with its intervals, over the truth that only made-up data may show."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privet.answer import Answer


def draw(answer: Answer, truth: Mapping[tuple[Any, ...], tuple[Any, ...]], path: Path) -> None:
    """Write the picture of an answer by day; raise `RequestError` where it cannot be drawn or written."""
    from privet.core.errors import RequestError
    from privet.plots.canvas import COLOURS, canvas, finish

    (days,) = (series for series in answer.series if not series.noisy)
    (counts,) = (series for series in answer.series if series.noisy)
    right = [truth.get((day,), (0,))[0] for day in days.values]
    figure, axes = canvas("", "", f"{counts.name} visits per day", width=8.0)
    from matplotlib.dates import ConciseDateFormatter

    low, high = list(counts.low or ()), list(counts.high or ())
    colour, other = COLOURS[0], COLOURS[1]
    axes.fill_between(days.values, low, high, color=colour, alpha=0.22, lw=0, label=f"{answer.confidence:.0%} interval")
    axes.plot(days.values, counts.values, ".", color=colour, ms=4, label="released")
    axes.plot(days.values, right, color=other, lw=1.2, label="truth")
    inside = sum(bottom <= value <= top for bottom, value, top in zip(low, right, high, strict=True))
    axes.set_title(
        f"A year of flu, released day by day: {inside} of {len(right)} intervals hold the truth",
        loc="left",
        fontsize=11,
    )
    axes.set_ylim(bottom=min(0, *low))
    formatter: Any = ConciseDateFormatter
    axes.xaxis.set_major_formatter(formatter(axes.xaxis.get_major_locator()))
    axes.legend(frameon=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        finish(figure, path)
    except (OSError, ValueError):
        raise RequestError(f"the picture cannot be written to {str(path)!r}; give a file such as demo.png") from None
