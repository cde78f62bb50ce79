"""The one look of all pictures: a figure with light axes, colours that survive grey print, direct titles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING, Any

from privet.core import given
from privet.core.errors import BadParameter, RequestError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b5fa5", "#d1495b", "#2e8b57", "#8d5a97", "#e08e0b", "#3d3d3d", "#00a6a6", "#9c6644")
"""Blue, red, green, violet, orange, grey, teal, brown: distinct for most eyes and by lightness."""

Path = str | PathLike[str]


def canvas(title: str, x: str, y: str, *, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes, titled and labelled."""
    figure, (axes,) = panels(title, x, (y,), width=width, height=height)
    return figure, axes


def panels(title: str, x: str, ys: Sequence[str], *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with axes above each other over the same x, one for each y; the title is the top's."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise RequestError("pictures need Matplotlib: pip install 'privet[plot]'") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]  # a notebook shows it without magic
    several: list[Axes] = list(figure.subplots(len(ys), 1, sharex=True, squeeze=False)[:, 0])
    several[0].set_title(title, loc="left", fontsize=11)
    several[-1].set_xlabel(x)
    for axes, y in zip(several, ys, strict=True):
        axes.set_ylabel(y)
        axes.grid(True, color="#e3e3e3", linewidth=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure, several


def _png(figure: Figure) -> bytes:
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def finish(figure: Figure, path: Path | None) -> Figure:
    """Return the figure, saved if there is somewhere to save it."""
    if path is not None:
        place = given.path(path, "path", "where to save the picture: a path that ends in .png, .svg or .pdf")
        options: dict[str, Any] = {"dpi": 150}
        kinds = figure.canvas.get_supported_filetypes()
        kind = os.path.splitext(place)[1].removeprefix(".").lower() or "png"
        if kind not in kinds:
            raise BadParameter(
                "path", place, f"a path that ends in one of {', '.join(sorted(kinds))}, or it cannot be written"
            )
        try:
            figure.savefig(place, **options)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        else:
            return figure
        raise BadParameter("path", place, f"a place for a picture; this one cannot be written ({reason})")
    return figure
