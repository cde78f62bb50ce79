"""Audits of choices and thresholds over tables: plans of a session, drawn by the very functions that release them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet.audit.blackbox import DELTAS
from privet.audit.entry import AuditEntry
from privet.audit.exact import Curve, exact_curve
from privet.audit.releases import Draw
from privet.core.budget import Pure
from privet.core.event import Receipt
from privet.core.scan import SealedSums
from privet.core.schema import Table, integer
from privet.core.unit import Rows
from privet.planner.scalars import scalar_question
from privet.query.sql.parse import parse
from privet.release import choose_one, compare, draw_bar, draw_noise

_EPSILON = 2
_SAMPLES = 20_000
_FINE = 1.0001
"""Allowance for the grid on which numbers and noise are rounded."""

_COUNTS = "SELECT COUNT(*) FROM t WHERE x = :option"


def _session() -> Any:
    from privet.session import Session

    tables = {"t": Table([], unit=Rows(), columns={"x": integer(0, 3)})}
    return Session(tables, budget=Pure(epsilon=1000), engine=_Nothing())


class _Nothing:
    """An engine that reads nothing: what a scan would give is the audit's to say."""

    def check(self, scan: object) -> None:
        """Take every scan."""

    def scan(self, scan: object) -> SealedSums:
        """Return no sums."""
        return SealedSums({})

    def close(self) -> None:
        """Do nothing."""


def _chosen(leak: Fraction) -> Draw:
    with _session() as session:
        plan = session.plan_choice([0, 1, 2], _COUNTS, epsilon=_EPSILON * leak, mechanism="exponential")
    receipt = Receipt(1, plan.digest, "audit")

    def draw(counts: Any, many: int) -> Any:
        exact = SealedSums({(): tuple(counts)})
        return np.array([choose_one([exact], plan, receipt) for _ in range(many)])

    return draw


def _crossed(leak: Fraction) -> Draw:
    with _session() as session:
        plan = session.plan_above(1, limit=1, epsilon=_EPSILON * leak)
        schemas = session._executor.schemas
    asked = scalar_question(parse("SELECT COUNT(*) FROM t", schemas), schemas)
    receipt = Receipt(1, plan.digest, "audit")

    def run(counts: Any) -> int:
        """Return which of several questions is the first above; as many as there are where none is."""
        bar = draw_bar(plan, receipt)
        for place, one in enumerate(counts):
            noises = draw_noise(plan, receipt)
            if compare(SealedSums({(): (one,)}), plan, asked, receipt, bar=bar, noises=noises)[0]:
                return place
        return len(counts)

    return lambda counts, many: np.array([run(counts) for _ in range(many)])


def _softmax(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of the exponential mechanism where counts move one way: proportional to exp(epsilon count)."""
    weights = [math.exp(epsilon * one) for one in counts]
    return {place: weight / sum(weights) for place, weight in enumerate(weights)}


def _first_above(epsilon: float, counts: Any) -> dict[Any, float]:
    """Return the law of the first of several counts above 1: one threshold noise of scale 2 / epsilon, and for each
    question one of the same scale, by integrating over the threshold's.
    """
    scale = 2 / epsilon
    points, weights = np.polynomial.legendre.leggauss(60)
    edges = np.unique(np.concatenate([np.linspace(-40, 40, 161) * scale, np.array(counts, dtype=float) - 1, [0.0]]))
    half = np.diff(edges)[:, None] / 2
    r, dr = (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()
    left = dr * np.exp(-np.abs(r) / scale) / (2 * scale)
    found: dict[Any, float] = {}
    for place, one in enumerate(counts):
        need = (1 + r - one) / scale
        above = np.where(need < 0, 1 - np.exp(-np.abs(need)) / 2, np.exp(-np.abs(need)) / 2)
        found[place] = float((left * above).sum())
        left = left * (1 - above)
    found[len(counts)] = float(left.sum())
    total = math.fsum(found.values())
    return {place: chance / total for place, chance in found.items()}


def _compared(
    name: str, make: Callable[[Fraction], Draw], law: Callable[[float, Any], dict[Any, float]], neighbours: Any
) -> AuditEntry:
    def curve(leak: Fraction, deltas: tuple[float, ...] = (0.0, *DELTAS)) -> Curve:
        spent = float(_EPSILON * leak)
        exact = exact_curve(law(spent, neighbours[0]), law(spent, neighbours[1]), deltas)
        return Curve(tuple((loss * _FINE, delta) for loss, delta in exact.points))

    return AuditEntry(
        name=name,
        mechanism=Rows,
        make=make,
        neighbours=neighbours,
        claimed=lambda: curve(Fraction(1)),
        stated=_EPSILON,
        loss=lambda leak: curve(leak, (0.0,)).points[0][0],
        samples=_SAMPLES,
        fault=Fraction(2),
    )


COMPARED: tuple[AuditEntry, ...] = (
    _compared("Session, an option by counts", _chosen, _softmax, ((0, 0, 0), (1, 0, 0))),
    _compared("Session, the first question above", _crossed, _first_above, ((0, 1), (1, 2))),
)
"""A row that comes raises one count, or all of them: what it may at most."""
