"""Pictures of findings: estimates with error bars, p-values against their law, power against size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from privet.core.errors import BadParameter, BadValue
from privet.core.estimate import Estimate
from privet.core.given import mapping
from privet.core.numbers import Number, float_near, open_probability
from privet.mechanisms.lattice import read_floats

from .canvas import COLOURS, Path, Theme, canvas, finish, read_theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privet.core.event import Floats


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
        estimates: the estimates, by their names.
        title: the title of the picture.
        reference: where to draw an upright line, such as 0 for "no effect".
        path: the file to write, too; none if left out.
        theme: "light" or "dark".
    """
    theme = read_theme(theme)
    rows = list(estimates.items())
    level = f"estimate and {rows[0][1].confidence * 100:g}% interval" if rows else "estimate"
    figure, axes = canvas(title, level, "", height=1.3 + _ROW * max(len(rows), 2))
    finite = [x for _, row in rows for x in (row.value, row.low, row.high) if math.isfinite(x)] or [0.0, 1.0]
    if reference is not None:
        finite.append(reference)
        axes.axvline(reference, color="#3d3d3d", linewidth=1, linestyle=":")
    room = 0.06 * ((max(finite) - min(finite)) or 1.0)
    left, right = min(finite) - room, max(finite) + room
    for place, (_, bar) in enumerate(rows):
        low, high = (end if math.isfinite(end) else edge for end, edge in ((bar.low, left), (bar.high, right)))
        axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=2, alpha=0.6)
        for end, at, arrow in ((bar.low, low, "<"), (bar.high, high, ">")):
            axes.plot([at], [place], color=COLOURS[0], marker="|" if math.isfinite(end) else arrow, markersize=8)
        if math.isfinite(bar.value):
            axes.plot([bar.value], [place], color=COLOURS[0], marker="o", markersize=6)
    axes.set_xlim(left, right)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    return finish(figure, path, theme)


# Pictures of tests: p-values of true hypotheses against the law that they should have, and power against size.


_SHOWN = 400


def plot_p_values(
    p_values: Mapping[str, Sequence[float] | Floats], *, path: Path | None = None, theme: Theme = "light"
) -> Figure:
    """Return a QQ plot of p-values under true hypotheses: those of a test that keeps its level lie on the diagonal.

    A curve below it rejects too often; one above it is conservative. The band contains 95 of 100 points of a test that
    keeps its level, pointwise, for the shortest of the lists.

    Args:
        p_values: p-values of one test on many tables, by the name of the test.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

    Example:
        >>> figure = plots.plot_p_values({"uniform": [k / 100 for k in range(1, 100)]})
        >>> len(figure.axes)
        1
    """
    from scipy.special import betaincinv

    ordered = {name: np.sort(_numbers(values, name, 0, 1)) for name, values in _mapping(p_values, "p_values").items()}
    figure, axes = canvas("p-values of true hypotheses", "share of tests", "p-value", width=4.8, height=4.6)
    fewest = min(values.size for values in ordered.values())
    places = np.linspace(0, fewest + 1, _SHOWN + 2)[1:-1]
    low, high = (betaincinv(places, fewest + 1 - places, tail) for tail in (0.025, 0.975))
    axes.fill_between(places / (fewest + 1), low, high, color="#9a9a9a", alpha=0.25, lw=0)
    axes.plot([0, 1], [0, 1], color="#9a9a9a", lw=1.2, ls="--", label="as it should be")
    for (name, values), colour in zip(ordered.items(), COLOURS * len(ordered), strict=False):
        chosen = np.unique(np.linspace(0, values.size - 1, min(values.size, _SHOWN)).astype(int))
        axes.plot((chosen + 1) / (values.size + 1), values[chosen], color=colour, lw=1.8, label=name)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.legend(frameon=False)
    return finish(figure, path, read_theme(theme))


def plot_power(
    powers: Mapping[str, Sequence[float] | Floats],
    sizes: Sequence[float] | Floats,
    *,
    level: Number = 0.05,
    path: Path | None = None,
    theme: Theme = "light",
) -> Figure:
    """Return how often tests reject a false hypothesis, against the number of people.

    Args:
        powers: the power of a test at each size, by its name.
        sizes: the numbers of people.
        level: the level of the tests, which is drawn as a line.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

    Example:
        >>> figure = plots.plot_power({"a test": [0.1, 0.4, 0.9]}, [100, 1000, 10_000])
        >>> len(figure.axes)
        1
    """
    alpha = float_near(open_probability(level, "level"))
    people = _numbers(sizes, "sizes", 1e-9, 1e18)
    shares = _mapping(powers, "powers")
    figure, axes = canvas("Power against the number of people", "people", "share of tests that reject")
    for (name, values), colour in zip(shares.items(), COLOURS * len(shares), strict=False):
        heights = _numbers(values, name, 0, 1)
        if heights.shape != people.shape:
            raise BadParameter("powers", name, f"lists of {people.size} shares, one for each size")
        axes.plot(people, heights, color=colour, lw=1.8, marker="o", ms=4, label=name)
    axes.axhline(alpha, color="#9a9a9a", lw=1.2, ls="--", label=f"level {alpha:g}")
    axes.set_xscale("log")
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False)
    return finish(figure, path, read_theme(theme))


def _mapping(given: object, parameter: str) -> Mapping[str, Sequence[float] | Floats]:
    allowed = "a mapping of names to lists of numbers"
    lists = mapping(given, parameter, allowed)
    if not lists:
        raise BadParameter(parameter, "nothing", allowed)
    return lists


def _numbers(values: object, name: str, least: float, most: float) -> Floats:
    """Return a list of numbers in a range as an array, or refuse it."""
    try:
        read: Floats = read_floats(values, name)
    except BadValue:
        read = np.zeros(0)
    if read.ndim != 1 or not read.size or not ((read >= least) & (read <= most)).all():
        raise BadParameter(name, "something else", f"a list of numbers from {least:g} to {most:g}")
    return read
