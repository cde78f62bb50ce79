"""Privacy as curves: delta against epsilon, trade-offs, the loss itself, composition, and measurements of audits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable

import numpy as np
from scipy.special import betainccinv, betaincinv

from privet.accounting.cost import delta as delta_of
from privet.accounting.summaries import by_theorem
from privet.accounting.tradeoff import privacy_loss, tradeoff
from privet.core.errors import BadParameter
from privet.core.event import Event, Repeated
from privet.core.given import is_a, plain_text
from privet.core.numbers import Number, float_up, open_probability, positive, whole

from .canvas import COLOURS, Path, Theme, canvas, finish, read_theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privet.core.event import Floats


# Pictures of what events cost: delta against epsilon, the attacker's trade-off, the loss itself, composition.


_LARGEST = 1e6
"""The largest epsilon that a picture shows."""

Events = Event | Mapping[str, Event]


def plot_delta(events: Events, *, most: Number = 5, path: Path | None = None, theme: Theme = "light") -> Figure:
    """Return delta as a function of epsilon, up to `most`, for one event or several by name.

    Args:
        events: one event, or several by name.
        most: the largest epsilon.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> figure = plots.plot_delta({"Laplace": laplace}, most=2)
        >>> len(figure.axes)
        1
    """
    top = float_up(positive(most, "most"))
    if top > _LARGEST:
        raise BadParameter("most", most, f"at most {_LARGEST:g}")
    figure, axes = canvas("What is left beyond epsilon", "epsilon", "delta")
    grid = [top * k / 80 for k in range(81)]
    for (name, event), colour in zip(_named(events).items(), _colours(events), strict=False):
        axes.plot(grid, [max(delta_of(event, epsilon), 1e-20) for epsilon in grid], color=colour, label=name, lw=1.8)
    axes.set_yscale("log")
    axes.set_ylim(1e-12, 1.5)
    _legend(axes, events)
    return finish(figure, path, read_theme(theme))


def plot_tradeoff(events: Events, *, path: Path | None = None, theme: Theme = "light") -> Figure:
    """Return the least miss rate of any attacker at each false-alarm rate, against guessing at random.

    Args:
        events: one event, or several by name.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> figure = plots.plot_tradeoff(laplace)
        >>> len(figure.axes)
        1
    """
    figure, axes = canvas("What the best attacker can do", "false alarms", "misses, at least", width=4.8, height=4.6)
    grid = [(k / 80) ** 2 for k in range(81)]
    axes.plot([0, 1], [1, 0], color="#9a9a9a", lw=1.2, ls="--", label="random guess")
    for (name, event), colour in zip(_named(events).items(), _colours(events), strict=False):
        curve = tradeoff(event)
        axes.plot(grid, [curve(alpha) for alpha in grid], color=colour, label=name, lw=1.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.legend(frameon=False)
    return finish(figure, path, read_theme(theme))


def plot_loss(event: Event, *, epsilon: Number = 1, path: Path | None = None, theme: Theme = "light") -> Figure:
    """Return the distribution of the privacy loss, with the part beyond epsilon shaded.

    Args:
        event: the privacy event: an `Event`, such as `mechanism.event`.
        epsilon: where the shaded part begins.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> figure = plots.plot_loss(laplace)
        >>> len(figure.axes)
        1
    """
    at = float_up(positive(epsilon, "epsilon"))
    if at > _LARGEST:
        raise BadParameter("epsilon", epsilon, f"at most {_LARGEST:g}")
    loss = privacy_loss(event)
    beyond, excess = loss.exceeds(at), loss.delta(at)
    figure, axes = canvas(
        f"Pr[loss > {at:g}] = {beyond:.4g}, delta({at:g}) = {excess:.4g}", "privacy loss", "probability"
    )
    edges, heights = _bins(loss.losses, loss.masses, at)
    colours = [COLOURS[1] if left + right > 2 * at else COLOURS[0] for left, right in pairwise(edges)]
    axes.bar(edges[:-1], heights, width=edges[1] - edges[0], align="edge", color=colours)
    axes.axvline(at, color="#3d3d3d", lw=1, ls=":")
    if loss.infinite > 0:
        axes.annotate(
            f"infinite loss: {loss.infinite:.3g}", (0.98, 0.95), xycoords="axes fraction", ha="right", va="top"
        )
    return finish(figure, path, read_theme(theme))


def plot_composition(
    event: Event, *, times: int = 100, delta: Number = 1e-6, path: Path | None = None, theme: Theme = "light"
) -> Figure:
    """Return epsilon against the number of repetitions, by every theorem that applies, on one picture.

    Args:
        event: the privacy event: an `Event`, such as `mechanism.event`.
        times: how often the event is repeated.
        delta: the probability with which the loss may exceed epsilon.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

    Example:
        >>> laplace = privet.Laplace(sensitivity=1, epsilon=0.5).event
        >>> figure = plots.plot_composition(laplace, times=4)
        >>> len(figure.axes)
        1
    """
    most, allowed = whole(times, "times", least=2, most=10**6), open_probability(delta, "delta")
    counts = sorted({max(1, round(most * k / 24)) for k in range(25)})
    curves: dict[str, list[tuple[int, float]]] = {}
    for count in counts:
        for name, figure_at in by_theorem(Repeated(event, count), allowed).items():
            curves.setdefault(name, []).append((count, figure_at))
    figure, axes = canvas(f"Cost of repetition at delta = {float(allowed):g}", "repetitions", "epsilon")
    ends = sorted(curves.items(), key=lambda item: -item[1][-1][1])
    for (name, points), colour in zip(ends, (*COLOURS, *COLOURS), strict=False):
        axes.plot([x for x, _ in points], [y for _, y in points], label=name, color=colour, lw=1.8)
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(frameon=False)
    return finish(figure, path, read_theme(theme))


def _bins(losses: Floats, masses: Floats, at: float) -> tuple[Floats, Floats]:
    """Return about eighty equal bins over the losses that matter, one of which ends at `at`, and their masses."""
    import numpy as np

    kept = masses > 1e-9 * masses.max()
    low, high = float(losses[kept][0]), float(losses[kept][-1])
    width = max((high - low) / 80, 1e-6)
    first, last = math.floor((low - at) / width), math.ceil((high - at) / width)
    edges = at + width * np.arange(first, last + 1 + (first == last), dtype=np.float64)
    # a loss at an edge belongs below it: losses beyond epsilon are those above epsilon
    heights, _ = np.histogram(losses[kept], bins=edges + 1e-9 * width, weights=masses[kept])
    return edges, heights


def _named(events: Events) -> Mapping[str, Event]:
    if is_a(events, Event):
        return {"": cast(Event, events)}
    if not isinstance(events, Mapping) or not events or not all(is_a(e, Event) for e in events.values()):
        raise BadParameter("events", type(events).__name__, "an Event, or a mapping of names to Events")
    return events


def _colours(events: Events) -> tuple[str, ...]:
    return COLOURS * (1 + len(_named(events)) // len(COLOURS))


def _legend(axes: Axes, events: Events) -> None:
    if isinstance(events, Mapping):
        axes.legend(frameon=False)


# The measurements of an audit beside its claim: false alarms against misses.


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
    """A report: the claim under test, the result, and the rates of tests as measured."""

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


def plot_audit(report: Measured, *, title: str = "", path: Path | None = None, theme: Theme = "light") -> Figure:
    """Return a picture of the tests that an audit made and of the curve below which the claim allows none.

    A test picks the second input wherever the witness's score is high; its false alarms and its misses are a point,
    with bars that cover all true rates at once but for once in a hundred pictures. Points that lie below the curve
    with all of their bars are marked: no test may do as well if the claim is true.

    Args:
        report: the result of an audit.
        title: a title.
        path: the file to write, too; none if left out.
        theme: "light" or "dark".

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
    axes.set_ylabel("misses: how often this input is not recognised")
    claims = report.claims or ((report.epsilon, report.delta),)
    grid = np.linspace(0, 1, _GRID)
    least = _least(grid, claims)
    claimed = _claimed(report, claims)
    axes.fill_between(grid, 0, least, color=COLOURS[1], alpha=0.13, lw=0, label="forbidden by the claim")
    axes.plot(grid, least, color=COLOURS[1], lw=1.8, label=f"claimed: {claimed}")
    axes.plot([0, 1], [1, 0], color="#9a9a9a", lw=1.0, ls="--", label="no information")
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
    return finish(figure, path, read_theme(theme))


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
