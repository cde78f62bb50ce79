"""What an audit measured, beside what was claimed: false alarms against misses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from scipy.special import betainccinv, betaincinv

from privet.core.errors import BadParameter
from privet.core.given import is_a, plain_text

from .canvas import COLOURS, Path, canvas, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privet.core.event import Floats

_WRONG = 0.01
"""How often any of the bars may miss its true rates."""
_SHOWN = 24
"""Points that are drawn, spread evenly along the curve."""
_GRID = 1001


class CountedAudit(Protocol):
    """How many releases of each neighbour were counted."""

    @property
    def trials(self) -> int: ...


@runtime_checkable
class Measured(Protocol):
    """A report: the claim that was put to the test, what was found, and the rates of tests as measured."""

    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def found(self) -> float: ...
    @property
    def refuted(self) -> bool: ...
    @property
    def counts(self) -> CountedAudit: ...
    @property
    def points(self) -> tuple[tuple[float, float], ...]: ...
    @property
    def claims(self) -> tuple[tuple[float, float], ...]: ...


def plot_audit(report: Measured, *, title: str = "", path: Path | None = None) -> Figure:
    """Return a picture of the tests that an audit made and of the curve below which the claim allows none.

    A test says "the second input" wherever the witness's score is high; its false alarms and its misses are a point,
    with bars that hold all true rates together but for once in a hundred pictures. Points that lie below the curve
    with all of their bars are marked: no test may do as well if the claim holds.

    Args:
        report: what an audit returned.
        title: a title.
        path: the file to write, too; none if left out.

    Example:
        >>> report = audit.audit(privet.Laplace(sensitivity=1, epsilon=1), (10, 11), 1, 2000)
        >>> figure = plots.plot_audit(report)
        >>> len(figure.axes)
        1
    """
    if not is_a(report, Measured):
        raise BadParameter("report", type(report).__name__, "what an audit returned")
    figure, axes = canvas(
        plain_text(title, "title", most=1000) or "What was measured, and what the claim allows",
        "",
        "",
        width=5.6,
        height=5.6,
    )
    axes.set_xlabel("false alarms: how often the other input is taken for this one")
    axes.set_ylabel("misses: how often this input is not seen")
    claims = report.claims or ((report.epsilon, report.delta),)
    grid = np.linspace(0, 1, _GRID)
    least = _least(grid, claims)
    claimed = _claimed(report, claims)
    axes.fill_between(grid, 0, least, color=COLOURS[1], alpha=0.13, lw=0, label="forbidden by the claim")
    axes.plot(grid, least, color=COLOURS[1], lw=1.8, label=f"claimed: {claimed}")
    axes.plot([0, 1], [1, 0], color="#9a9a9a", lw=1.0, ls="--", label="telling nothing")
    spread = _spread(np.array(sorted(report.points)))
    rates, low, high = _bars(spread, report.counts.trials)
    below = high[:, 1] < _least(high[:, 0], claims)  # the bars' far corner is still forbidden
    for chosen, colour, size, label in (
        (~below, COLOURS[0], 5, "measured, with error bars"),
        (below, "#8b0000", 8, "refutes the claim"),
    ):
        if chosen.any():
            errors = np.stack([rates[chosen] - low[chosen], high[chosen] - rates[chosen]])
            axes.errorbar(
                rates[chosen, 0],
                rates[chosen, 1],
                xerr=errors[:, :, 0],
                yerr=errors[:, :, 1],
                fmt="X" if colour != COLOURS[0] else "o",
                color=colour,
                ms=size,
                lw=1.1,
                label=label,
                clip_on=False,
                zorder=4,
            )
    verdict = "REFUTED" if report.refuted else "not refuted"
    axes.annotate(
        f"{verdict}: epsilon at least {report.found:.3g}" + (f"\nat delta {report.delta:.3g}" if report.delta else ""),
        (0.98, 0.75),
        xycoords="axes fraction",
        ha="right",
        va="top",
        fontsize=12,
        fontweight="bold",
        color="#8b0000" if report.refuted else COLOURS[5],
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.legend(frameon=False, loc="upper right", fontsize=10)
    return finish(figure, path)


def _least(alarms: Floats, claims: tuple[tuple[float, float], ...]) -> Floats:
    """Return the least misses that claims of (epsilon, delta) leave a test with this many false alarms.

    f(a) = max(0, 1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)), the largest over the claims.

    Cites: [DRS22, Prop. 2.5].
    """
    curves = [np.zeros_like(alarms)]
    for epsilon, delta in claims:
        kept = 1 - delta
        with np.errstate(over="ignore", invalid="ignore"):
            curves.append(np.nan_to_num(kept - np.exp(epsilon) * alarms, nan=kept))
            curves.append(np.exp(-epsilon) * (kept - alarms))
    return np.asarray(np.max(curves, axis=0))


def _claimed(report: Measured, claims: tuple[tuple[float, float], ...]) -> str:
    if len(claims) > 1:
        return f"a curve, {len(claims)} points of it tested"
    return f"epsilon {report.epsilon:.3g}" + (f", delta {report.delta:.3g}" if report.delta else "")


def _spread(points: Floats) -> Floats:
    """Return some of the points, as far apart along the curve as may be."""
    steps = np.abs(np.diff(points, axis=0)).sum(axis=1)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = np.linspace(0, along[-1], _SHOWN)
    return np.asarray(points[np.unique(np.abs(along[:, None] - wanted[None, :]).argmin(axis=0))])


def _bars(rates: Floats, trials: int) -> tuple[Floats, Floats, Floats]:
    """Return rates with the ends of their bars: Clopper and Pearson's, for all of them together.

    Cites: [CP34].
    """
    wrong = _WRONG / (2 * rates.size)
    hits = rates * trials
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), trials - np.maximum(hits, 1) + 1, wrong), 0.0)
    high = np.where(hits < trials, betainccinv(hits + 1, np.maximum(trials - hits, 1), wrong), 1.0)
    return rates, np.minimum(low, rates), np.maximum(high, rates)
