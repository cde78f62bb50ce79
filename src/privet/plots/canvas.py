"""The common style of all pictures: a figure with light axes, colours that survive grey print, direct titles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

from privet.core import given
from privet.core.errors import BadParameter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0b5fa5", "#d1495b", "#2e8b57", "#8d5a97", "#e08e0b", "#3d3d3d", "#00a6a6", "#9c6644")
"""Blue, red, green, violet, orange, grey, teal, brown: distinct for most eyes and by lightness."""

Path = str | PathLike[str]
Theme = Literal["light", "dark"]


def canvas(title: str, x: str, y: str, *, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    """Return an empty figure and its axes, titled and labelled."""
    figure, (axes,) = panels(title, x, (y,), width=width, height=height)
    return figure, axes


def panels(title: str, x: str, ys: Sequence[str], *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return an empty figure with axes above each other over the same x, one for each y; the title is the top's."""
    figure: Figure = given.optional_package("matplotlib.figure", "pictures need").Figure(
        figsize=(width, height), layout="constrained"
    )
    figure._repr_png_ = partial(_png, figure)  # type: ignore[attr-defined]  # a notebook shows it without magic
    all_axes: list[Axes] = list(figure.subplots(len(ys), 1, sharex=True, squeeze=False)[:, 0])
    all_axes[0].set_title(title, loc="left", fontsize=11)
    all_axes[-1].set_xlabel(x)
    for axes, y in zip(all_axes, ys, strict=True):
        axes.set_ylabel(y)
        axes.grid(True, color="#e3e3e3", linewidth=0.8)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return figure, all_axes


def _png(figure: Figure) -> bytes:
    out = BytesIO()
    figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def read_theme(theme: object) -> Theme:
    """Return a theme by its name, or raise `BadParameter`."""
    return cast(Theme, given.choice(theme, "theme", ("light", "dark")))


_LIGHTER = ("#5aa9ea", "#f08a98", "#6cc492", "#c49ad0", "#f5b652", "#c8c8c8", "#4fd0d0", "#cf9d80")
"""The colours on a dark page, in their order."""


def _on_dark(colour: Any, ink: str) -> Any:
    """Return a colour as it is drawn on a dark page: lighter, and greys in the colour of the text."""
    from matplotlib.colors import to_hex, to_rgba

    alpha = to_rgba(colour)[3]
    known = {**dict(zip(COLOURS, _LIGHTER, strict=True)), "#333333": ink, "#3d3d3d": ink}
    return to_rgba(known.get(to_hex(colour), colour), alpha)


def _patches_of(legend: Any) -> Sequence[Any]:
    return () if legend is None else tuple(legend.get_patches())


def _darken(figure: Figure) -> None:
    """Recolour what surrounds the data for a dark page."""
    from matplotlib.colors import Normalize

    page, ink, lines = "#16181d", "#e6e6e6", "#343842"
    figure.set_facecolor(page)
    for axes in figure.axes:
        axes.set_facecolor(page)
        axes.tick_params(colors=ink)
        for text in (axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label):  # type: ignore[attr-defined]
            text.set_color(ink)
        for spine in axes.spines.values():
            spine.set_color(lines)
        for line in (*axes.get_xgridlines(), *axes.get_ygridlines()):
            line.set_color(lines)
        for line in axes.lines:
            line.set_color(_on_dark(line.get_color(), ink))
            line.set_markeredgecolor(_on_dark(line.get_markeredgecolor(), ink))
            line.set_markerfacecolor(_on_dark(line.get_markerfacecolor(), ink))
        for patch in (*axes.patches, *_patches_of(axes.get_legend())):
            patch.set_facecolor(_on_dark(patch.get_facecolor(), ink))
        for collection in axes.collections:
            if not isinstance(collection.norm, Normalize) or collection.get_array() is None:
                collection.set_color([_on_dark(colour, ink) for colour in collection.get_facecolor()] or [ink])
        legend = axes.get_legend()
        for text in () if legend is None else (*legend.get_texts(), legend.get_title()):
            text.set_color(ink)
        for line in () if legend is None else legend.get_lines():
            line.set_color(_on_dark(line.get_color(), ink))


def kind_of(place: Any, figure: Figure) -> str:
    """Return the kind of file that a place is for, refusing those that no picture can be saved as."""
    kinds = figure.canvas.get_supported_filetypes()
    kind = os.path.splitext(place)[1].removeprefix(".").lower() or "png"
    if kind not in kinds:
        raise BadParameter(
            "path", place, f"a path that ends in one of {', '.join(sorted(kinds))}, or it cannot be written"
        )
    return kind


def finish(figure: Figure, path: Path | None, theme: Theme = "light") -> Figure:
    """Return the figure in its theme, saved if a path is given."""
    if theme == "dark":
        _darken(figure)
    if path is not None:
        place = given.path(path, "path", "where to save the picture: a path that ends in .png, .svg or .pdf")
        options: dict[str, Any] = {"dpi": 150}
        kind_of(place, figure)
        try:
            figure.savefig(place, **options)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        else:
            return figure
        raise BadParameter("path", place, f"a place for a picture; this one cannot be written ({reason})")
    return figure
