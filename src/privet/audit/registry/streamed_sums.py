"""Audits of streams: running sums between two streams that differ in the first row, and histograms over one window.

Many streams run at once, each as a separate group. Of their releases the number is looked at in which the row shows
best: with the tree the lesser of both sums, otherwise all measurements together, weighted by the row's column.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet.accounting.events import ZcdpEvent
from privet.audit.blackbox import DELTAS
from privet.audit.entry import AuditEntry
from privet.audit.exact import gaussian_curve_of
from privet.audit.releases import Draw
from privet.core.budget import Pure, Zcdp
from privet.stream import BufferedSums, RootSums, TreeSums, WEvent, WEventPlan
from privet.stream.sums import RunningSums
from privet.stream.w_event import advance, first_state

_AT_ONCE = 2**14
_STEPS = 3
_RHO = Fraction(1, 2)
_ROOTS = (1.0, 0.5, 0.375)
"""The first entries of the column of the square root: 1, 1/2 and 1/2 3/4."""

_WINDOW = 2
_SHOWN = 12


def _streams(make: Callable[[int], RunningSums[Any]], look: Callable[[Any], Any]) -> Draw:
    """Return the draws of streams whose first step has a number of rows, and the others none."""

    def drawn(first: int, count: int) -> Any:
        parts = []
        for start in range(0, count, _AT_ONCE):
            sums = make(min(_AT_ONCE, count - start))
            values = np.zeros((sums.horizon, sums.width), dtype=np.int64)
            values[0] = first
            parts.append(look(sums.advance(sums.begin(), values)[1]))
        return np.concatenate(parts)

    return drawn


def _likeliest(released: Any) -> Any:
    """Return the sum of measurements C x, each by its entry of the first column, from the sums that were released."""
    steps = np.diff(released, axis=0, prepend=0.0)
    measured = [sum(_ROOTS[t - s] * steps[s] for s in range(t + 1)) for t in range(_STEPS)]
    return sum(entry * number for entry, number in zip(_ROOTS, measured, strict=True))


def _gaussian(name: str, kind: type[RootSums] | type[BufferedSums]) -> AuditEntry:
    """Return the entry of a mechanism whose noise is Gaussian: what a number that moves by 1 discloses at that rho."""

    def make(leak: Fraction) -> Draw:
        spend = Zcdp(rho=_RHO * leak**2)
        return _streams(lambda width: kind(horizon=_STEPS, spend=spend, width=width), _likeliest)

    return AuditEntry(
        name=name,
        mechanism=kind,
        make=make,
        neighbours=(1, 0),
        claimed=gaussian_curve_of(float(1 / (2 * _RHO)) ** 0.5, DELTAS),
        event=ZcdpEvent(_RHO),
        samples=400_000,
    )


def _tree(leak: Fraction) -> Draw:
    spend = Pure(epsilon=leak)
    # the first row is in both sums, and what moves most is the chance that both are at least 1
    return _streams(lambda width: TreeSums(horizon=2, spend=spend, width=width, refine=False), lambda sums: sums.min(0))


def _every_step(leak: Fraction) -> Draw:
    """Return the draws of one window of steps in which every count is released: in each cell separately."""
    promise = WEvent(epsilon=leak, window=_WINDOW)

    def drawn(rows: int, count: int) -> Any:
        parts = []
        for start in range(0, count, _AT_ONCE):
            plan = WEventPlan(promise, cells=min(_AT_ONCE, count - start), algorithm="uniform")
            state, least = first_state(plan), np.full(len(plan.cells), np.inf)
            for _ in range(_WINDOW):
                state, release = advance(plan, state, [rows] * len(plan.cells))
                least = np.minimum(least, release.values)
            parts.append(least)
        return np.concatenate(parts)

    return drawn


def _absorbed(leak: Fraction) -> Draw:
    """Return the draws of one window of steps that are compared with the last release: what is released, and when."""
    plan = WEventPlan(WEvent(epsilon=leak, window=_WINDOW), algorithm="absorption")

    def label(rows: int) -> int:
        state, seen = first_state(plan), 0
        for _ in range(_WINDOW):
            state, release = advance(plan, state, [rows])
            seen = 100 * seen + 2 * (min(max(release.values[0], -_SHOWN), _SHOWN) + _SHOWN) + release.fresh
        return seen

    return lambda rows, count: np.array([label(rows) for _ in range(count)])


STREAMS: tuple[AuditEntry, ...] = (
    AuditEntry(name="Running sums, tree", mechanism=TreeSums, make=_tree, neighbours=(1, 0), claimed=1),
    _gaussian("Running sums, square root", RootSums),
    _gaussian("Running sums, buffers", BufferedSums),
    AuditEntry(
        name="w-event, uniform",
        mechanism=WEventPlan,
        make=_every_step,
        neighbours=(1, 0),
        claimed=1,
        samples=300_000,
        fault=Fraction(5, 4),
    ),
    AuditEntry(
        name="w-event, absorption",
        mechanism=WEventPlan,
        make=_absorbed,
        neighbours=(1, 0),
        claimed=1,
        samples=10_000,  # which are drawn one by one
        fault=Fraction(4),  # of one window no more than three quarters show in any outcome
    ),
)
