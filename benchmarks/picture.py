"""The figures of a benchmark as a picture: a row for each case, a point for each figure, less to the left."""

from __future__ import annotations

from pathlib import Path


def draw(file: Path, title: str, label: str, figures: dict[str, dict[str, float]]) -> Path:
    """Write a picture of the figures of each case, on a scale of powers of ten, and return its file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    image = Figure(figsize=(9, 1.5 + 0.35 * len(figures)), layout="constrained")
    FigureCanvasSVG(image)
    axes = image.add_subplot()
    names = list(dict.fromkeys(name for found in figures.values() for name in found))
    for number, name in enumerate(names):
        places = [place for place, found in enumerate(figures.values()) if name in found]
        values = [found[name] for found in figures.values() if name in found]
        axes.plot(values, places, "osD^vPX*dh<>"[number % 12], label=name, markersize=6)
    axes.set_yticks(range(len(figures)), list(figures))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(label)
    axes.set_title(title, loc="left", fontsize=10)
    axes.grid(True, alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
    image.savefig(file)
    return file
