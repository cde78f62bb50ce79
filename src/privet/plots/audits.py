"""What an audit measured, beside what was claimed: false positives against false negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from .canvas import COLOURS, Path, canvas, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Measured(Protocol):
    """A report: the claim that was put to the test, and the rates of tests as measured."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def points(self) -> tuple[tuple[float, float], ...]: ...


def plot_audit(report: Measured, *, path: Path | None = None) -> Figure:
    """Return a picture of the tests that an audit made and of the curve below which the claim allows none."""
    figure, axes = canvas(
        "What was measured, and what the claim allows", "false alarms", "misses", width=4.8, height=4.6
    )
    alarms = np.linspace(0, 1, 401)
    left = 1 - report.delta
    least = np.maximum(0, np.maximum(left - np.exp(report.epsilon) * alarms, np.exp(-report.epsilon) * (left - alarms)))
    axes.fill_between(alarms, 0, least, color=COLOURS[1], alpha=0.15, lw=0, label="the claim forbids")
    axes.plot(alarms, least, color=COLOURS[1], lw=1.4)
    axes.plot([0, 1], [1, 0], color="#999999", lw=0.9, ls="--", label="knowing nothing")
    x, y = zip(*report.points, strict=True)
    axes.plot(x, y, "o", color=COLOURS[0], ms=3, label="measured")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False)
    return finish(figure, path)
