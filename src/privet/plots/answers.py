"""Answers as pictures: bars for groups, a line over dates and numbers, always with error bars."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from privet.core.errors import RequestError

from .canvas import COLOURS, Path, canvas, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privet.answer import Answer, Series

_MOST_BARS = 40


def plot_answer(answer: Answer, path: Path | None = None) -> Figure:
    """Return a picture of an answer: each noisy column against the keys, with its interval."""
    noisy = [series for series in answer.series if series.noisy]
    keys = [series for series in answer.series if not series.noisy]
    if not noisy or len(answer) == 0:
        raise RequestError("there is nothing to draw: the answer has no noisy numbers")
    labels = [", ".join(str(key.values[row]) for key in keys) for row in range(len(answer))] or [""]
    ordered = len(keys) == 1 and all(isinstance(v, (int, float, datetime.date)) for v in keys[0].values)
    title = f"{', '.join(series.name for series in noisy)} with {answer.confidence:.0%} intervals"
    figure, axes = canvas(title, ", ".join(key.name for key in keys), noisy[0].name if len(noisy) == 1 else "")
    if ordered and len(answer) > 2:
        for series, colour in zip(noisy, COLOURS, strict=False):
            low, high = _ends(series)
            axes.plot(
                list(keys[0].values), list(series.values), color=colour, lw=1.6, marker="o", ms=3, label=series.name
            )
            axes.fill_between(list(keys[0].values), low, high, color=colour, alpha=0.18, lw=0)
    else:
        width = 0.8 / len(noisy)
        for index, (series, colour) in enumerate(zip(noisy, COLOURS, strict=False)):
            low, high = _ends(series)
            places = [row + (index - (len(noisy) - 1) / 2) * width for row in range(len(answer))]
            values = [float(value) for value in series.values]
            below = [max(0.0, value - end) for value, end in zip(values, low, strict=True)]
            above = [max(0.0, end - value) for value, end in zip(values, high, strict=True)]
            axes.bar(places, values, width=width * 0.92, color=colour, alpha=0.85, label=series.name)
            axes.errorbar(places, values, yerr=[below, above], fmt="none", ecolor="#333333", capsize=3, lw=1.1)
        if len(answer) <= _MOST_BARS:
            axes.set_xticks(range(len(answer)), labels, rotation=30 if max(map(len, labels)) > 6 else 0)
    if len(noisy) > 1:
        axes.legend(frameon=False)
    return finish(figure, path)


def _ends(series: Series) -> tuple[list[float], list[float]]:
    return list(series.low or ()), list(series.high or ())
